import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from catalogue_samples import exclude
from dance_samples import MODEL, dance, digest, random_words, recorded, shipped
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.sql.rows import words_row
from dancematch.catalogue.stats import count_stats
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import CatalogueProblem, find_problems
from dancematch.cli import main
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.types import Span
from databases import PASSWORD, fetch, run_sql


@pytest.fixture
def path(address) -> str:
    """Three dances of four dancers."""
    return filled(address)


def filled(path: str) -> str:
    store = Store(path, MODEL)
    store.add(
        recorded("duet", "a", digest("a"), 20.0, "Halloween", "pop"),
        [
            StoredTrack(random_words(40, 1), dance(1), 1.5, 0.9),
            StoredTrack(random_words(40, 2), None, None, 0.1),
        ],
    )
    store.add(recorded("polka", "b", digest("b"), 10.5, "folk", "pop"), [StoredTrack(random_words(20, 3))])
    store.add(recorded("waltz", "c", digest("c"), 5.0), [StoredTrack(random_words(10, 4))])
    exclude(store, "polka", Span(0, 1))
    store.close()
    return path


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line as the console script does: exit code, stdout, stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dancematch", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return int(left.value.code or 0), captured.out, captured.err

    return run


def problems(path: str) -> list[CatalogueProblem]:
    store = Store(path, None)
    try:
        return list(find_problems(store))
    finally:
        store.close()


def test_stats_count_everything(path):
    store = Store(path, None)
    found = count_stats(store)

    assert (3, 4, 1, 35.5, 110 * 2, 1) == (
        found.dances,
        found.dancers,
        found.with_skeletons,
        found.seconds,
        found.words,
        found.exclusions,
    )
    assert (MODEL, 1, 4, 0.25) == (found.model_id, found.version, found.generation, found.periodic_share)
    assert {"pop": 2, "": 1} == found.by_collection
    assert {"": 1, "Halloween": 1, "folk": 1} == found.by_label
    assert found.bytes_on_disk is not None
    assert found.bytes_on_disk > sum(len(blob_of(path, key, "words")) for key in range(1, 5))
    store.close()


def test_stats_of_nothing(tmp_path):
    store = Store(tmp_path / "empty.db", MODEL)
    found = count_stats(store)

    assert (0, 0, 0.0, 0, None, {}, {}) == (
        found.dances,
        found.dancers,
        found.seconds,
        found.words,
        found.periodic_share,
        found.by_collection,
        found.by_label,
    )
    assert [] == list(find_problems(store))
    store.close()


def test_nothing_is_wrong_with_a_whole_catalogue(path):
    assert [] == problems(path)


DAMAGES = [
    ("UPDATE tracks SET words = X'01' WHERE key = 3", "polka", "dancer 1: the words are damaged: "),
    ("UPDATE tracks SET words = X'FFFF0000' WHERE key = 3", "polka", "dancer 1: the words are damaged: "),
    ("UPDATE tracks SET visibility = X'FF' WHERE key = 2", "duet", "dancer 2: the words are damaged: "),
    ("UPDATE tracks SET seconds_per_word = 0 WHERE key = 2", "duet", "dancer 2: a word lasts more than"),
    ("UPDATE tracks SET channels = 0 WHERE key = 2", "duet", "dancer 2: the words are damaged: "),
    ("UPDATE tracks SET joints = X'00' WHERE key = 1", "duet", "dancer 1: the skeletons are damaged: "),
    (
        "UPDATE tracks SET joints = CAST(X'FF7B' || substr(joints, 3) AS BLOB) WHERE key = 1",
        "duet",
        "a joint is more than 200 m away",
    ),
    ("UPDATE tracks SET fps = -1 WHERE key = 1", "duet", "dancer 1: the skeletons are damaged: "),
    ("UPDATE tracks SET joint_visibility = NULL WHERE key = 1", "duet", "dancer 1: the skeletons are"),
    ("UPDATE tracks SET vocabulary = 9 WHERE key = 1", "duet", "they are not those that were added"),
    ("UPDATE tracks SET start = start + 1 WHERE key = 1", "duet", "they are not those that were added"),
    ("UPDATE tracks SET words_checksum = 7 WHERE key = 4", "waltz", "not those that were added"),
    ("UPDATE tracks SET fps = 29 WHERE key = 1", "duet", "the skeletons are damaged: they are not those"),
    ("UPDATE tracks SET joints = NULL WHERE key = 1", "duet", "the skeletons are damaged: they are not"),
    ("DELETE FROM states WHERE generation = 4", None, "generation 4, the latest, has no token"),
    ("INSERT INTO states VALUES (99, 'x')", None, "1 row(s) of states are of a later generation than 4"),
    ("UPDATE tracks SET period_seconds = -1 WHERE key = 1", "duet", "dancer 1: the period is -1.0 s"),
    ("UPDATE tracks SET period_strength = -1 WHERE key = 1", "duet", "of strength -1.0"),
    ("UPDATE tracks SET dancer = 0 WHERE key = 1", "duet", "dancers are counted from 1"),
    (
        "UPDATE tracks SET generation = 99 WHERE key = 1",
        None,
        "1 row(s) of tracks are of a later generation",
    ),
    ("INSERT INTO removals VALUES (99, 1)", None, "1 row(s) of removals are of a later generation"),
    ("UPDATE recordings SET seconds = 0 WHERE key = 1", "duet", "at most 1000000 seconds, got 0.0"),
    (
        "UPDATE recordings SET recording_id = '' WHERE key = 1",
        "duet",
        "64 hex digits of a SHA-256, got ''",
    ),
    ("DELETE FROM tracks WHERE recording = 3", "waltz", "c: it has no dancer"),
    (
        "DELETE FROM recordings WHERE key = 3; DELETE FROM tracks WHERE recording = 3",
        "waltz",
        "it has no recording",
    ),
    ("DELETE FROM dances WHERE key = 3", None, "1 row(s) of recordings belong to no dance"),
    ("INSERT INTO labels VALUES (77, 'x')", None, "1 row(s) of labels belong to no dance"),
    (
        "INSERT INTO exclusions VALUES (77, 0, 1, NULL)",
        None,
        "1 row(s) of exclusions belong to no recording",
    ),
    ("UPDATE edits SET after = '['", None, "the last edit is damaged"),
    ("UPDATE recordings SET poster = X'00' WHERE key = 2", "polka", "b: "),
    ('UPDATE exclusions SET "end" = -1', "polka", "a segment from 0.0 to -1.0 s is excluded"),
    ("UPDATE facts SET value = '' WHERE name = 'model_id'", None, "no model is named"),
    ("DELETE FROM facts WHERE name = 'model_id'", None, "no model is named"),
    ("UPDATE facts SET value = 'x' WHERE name = 'log_start'", None, "the log_start is 'x', not a number"),
    ("DELETE FROM facts WHERE name = 'generation'", None, "the generation is '', not a number"),
    ("UPDATE facts SET value = '99' WHERE name = 'log_start'", None, "starts after generation 4"),
]


@pytest.mark.parametrize(("statement", "dance", "problem"), DAMAGES)
def test_every_damage_is_found_and_named(tmp_path, statement, dance, problem):
    """One damage, one problem: neither silence nor a flood."""
    check_damage(filled(str(tmp_path / "dances.db")), statement, dance, problem)


# What is found by counting rows of tables, and some of the others.
@pytest.mark.parametrize(
    ("statement", "dance", "problem"),
    dict.fromkeys([*(one for one in DAMAGES if "row(s)" in one[2]), *DAMAGES[::6]]),
)
def test_damage_is_found_on_a_server(postgresql, statement, dance, problem):
    check_damage(filled(postgresql.new_schema()), statement, dance, problem)


def check_damage(path: str, statement: str, dance: str | None, problem: str) -> None:
    run_sql(path, *statement.split("; "))
    (found,) = problems(path)

    assert dance == found.dance
    assert problem in found.problem


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE tracks SET dancer = 'first' WHERE key = 1", "counted from 1 to 1000000, got 'first'"),
        ("UPDATE tracks SET start = 'now' WHERE key = 1", "dancer 1: the words start at 0 to"),
        ("UPDATE tracks SET words = 'first' WHERE key = 1", "dancer 1: the words are damaged: "),
        ("UPDATE recordings SET seconds = 'long' WHERE key = 1", "at most 1000000 seconds, got 'long'"),
        ("UPDATE labels SET label = X'00' WHERE dance = 1", r"a label is text, got b'\x00'"),
        ("INSERT INTO exclusions VALUES (1, 'a', 'b', NULL)", "a segment from 'a' to 'b' s is excluded"),
    ],
)
def test_a_value_of_another_kind_is_found(tmp_path, statement, problem):
    """SQLite keeps any text where a number should be; the dance that has it is named."""
    path = filled(str(tmp_path / "dances.db"))
    run_sql(path, statement)
    (found,) = problems(path)

    assert "duet" == found.dance
    assert problem in found.problem


def blob_of(path: str, key: int, column: str) -> bytes:
    ((value,),) = fetch(path, f"SELECT {column} FROM tracks WHERE key = {key}")  # noqa: S608
    return bytes(value)


@pytest.mark.parametrize(
    ("column", "what"),
    [("words", "words"), ("visibility", "words"), ("joints", "skeletons"), ("joint_visibility", "skeletons")],
)
@pytest.mark.parametrize(("is_on_server", "place"), [(False, 0), (False, 6), (False, -2), (True, 6)])
def test_a_flipped_bit_is_found(request, tmp_path, column, what, is_on_server, place):
    """Where every row still reads well: one word is another, one joint a little elsewhere."""
    where = request.getfixturevalue("postgresql").new_schema() if is_on_server else tmp_path / "dances.db"
    path = filled(str(where))
    changed = bytearray(blob_of(path, 1, column))
    changed[place] ^= 1
    run_sql(path, f"UPDATE tracks SET {column} = X'{changed.hex()}' WHERE key = 1")  # noqa: S608  (our own)

    assert [
        CatalogueProblem(f"dancer 1: the {what} are damaged: they are not those that were added", "duet")
    ] == (problems(path))


def test_a_bit_that_the_disk_flipped_is_found(tmp_path):
    """In the file itself, of which SQLite's own check says that it is whole."""
    path = Path(filled(str(tmp_path / "dances.db")))
    content, blob = bytearray(path.read_bytes()), blob_of(path, 3, "words")
    assert 1 == content.count(blob)
    content[content.find(blob) + 10] ^= 1
    path.write_bytes(content)

    assert [
        CatalogueProblem("dancer 1: the words are damaged: they are not those that were added", "polka")
    ] == (problems(path))


def test_words_of_several_kinds_are_found(path):
    """Well kept, but not what one model makes."""
    store = Store(path, MODEL)
    words = random_words(10, 4)
    checksum = words_row(replace(words, vocabulary=9))["words_checksum"]
    store.add(recorded("odd", "d", digest("d"), 5.0), [StoredTrack(words)])
    store.close()
    of_odd = "recording = (SELECT key FROM recordings WHERE file = 'd')"
    run_sql(path, f"UPDATE tracks SET vocabulary = 9, words_checksum = {checksum} WHERE {of_odd}")  # noqa: S608

    unlike = "its words are of another kind than the others: 2 channels of 9 words, each of 0.5 s, not 2"
    assert [("odd", True)] == [(one.dance, unlike in one.problem) for one in problems(path)]


def test_a_damaged_file_is_found(tmp_path):
    """Bytes changed in the middle of a file, where no row needs to look wrong."""
    path = Path(filled(str(tmp_path / "dances.db")))
    rng = np.random.default_rng(0)
    content = bytearray(path.read_bytes())
    page = 4096
    for (number,) in fetch(path, "SELECT rootpage FROM sqlite_master WHERE tbl_name = 'tracks'"):
        content[(number - 1) * page : (number - 1) * page + 64] = rng.bytes(64)
    path.write_bytes(content)
    found = problems(path)

    assert found
    assert all("damaged" in problem.problem for problem in found)


def test_doctor_says_what_a_catalogue_holds(run, path):
    """In numbers that a dance teacher knows; those of words and the model only as JSON."""
    code, out, err = run("doctor", path, "--quick")
    as_json = json.loads(run("doctor", path, "--quick", "--json")[1].splitlines()[-1])

    assert (0, "all is well\n") == (code, err)
    assert "dances: 3\nrecordings: 3\ndancers: 4, 1 with skeletons\nseconds: 35.5\n" in out
    assert MODEL not in out
    assert ("numbers", 220) == (as_json["what"], as_json["words"])
    assert "periodic: 25% of dancers\n" in out
    assert re.search(r"^\(none\) +1$", out, re.MULTILINE)
    assert (3, {"pop": 2, "": 1}, MODEL) == (as_json["dances"], as_json["by_collection"], as_json["model_id"])


def test_doctor_reads_every_dance(run, path):
    """One line per problem on stdout, and exit code 1 if there is any."""
    run_sql(path, "UPDATE recordings SET seconds = 0 WHERE key = 1", "DELETE FROM tracks WHERE recording = 3")
    code, out, err = run("doctor", path)

    assert (1, "2 problem(s)\n") == (code, err)
    assert PASSWORD not in out
    lasts = "duet: a: a recording lasts more than 0 and at most 1000000 seconds, got 0.0"
    told = [f"problem  catalogue  {one}" for one in (lasts, "waltz: c: it has no dancer")]
    assert told == [line for line in out.splitlines() if line.startswith("problem")]
    found = [json.loads(line) for line in run("doctor", path, "--json")[1].splitlines()]
    (problem,) = [one for one in found if one.get("dance") == "waltz"]
    assert ("problem", "c: it has no dancer") == (problem["state"], problem["says"])


def test_a_damaged_file_has_as_many_problems_as_lines(run, tmp_path):
    """SQLite tells of its pages in one text with a heading: each line is a problem, the heading none."""
    path = tmp_path / "damaged.db"
    Store(path, MODEL).close()
    content = bytearray(path.read_bytes())
    content[36:40] = (5).to_bytes(4, "big")  # free pages, by the file's header; there is none
    content[28:32] = (int.from_bytes(content[28:32], "big") + 1).to_bytes(4, "big")  # pages in all
    path.write_bytes(content + bytes(int.from_bytes(content[16:18], "big")))
    code, out, err = run("doctor", path)

    assert (1, "2 problem(s)\n") == (code, err)
    told = [line for line in out.splitlines() if line.startswith("problem")]
    assert 2 == len(told)
    assert all(line.startswith("problem  catalogue  the database is damaged: ") for line in told)
    assert "***" not in out


def test_the_verb_edit_excludes_segments(run, path):
    """Clipped and merged as the catalogue does; what is wrong is one sentence, and nothing is changed."""
    assert 0 == run("edit", path, "waltz", "--exclude", "1", "2.5", "--reason", "bows")[0]
    assert 0 == run("edit", path, "waltz", "--exclude", "2", "9")[0]
    assert [(1.0, 5.0, "bows")] == segments(path, "waltz")
    for arguments, complaint in [
        (["polka!", "--exclude", 0, 1], "has no dance named 'polka!'"),
        (["waltz", "--exclude", 2, 1], "a segment ends after it starts, got"),
        (["waltz", "--exclude", 7, 8], "is not in 'c', it lasts 5.0 s"),
    ]:
        code, out, err = run("edit", path, *arguments)
        assert (1, "") == (code, out)
        assert complaint in err.splitlines()[-1]
    assert [(1.0, 5.0, "bows")] == segments(path, "waltz")
    assert 0 == run("edit", path, "waltz", "--clear-exclusions")[0]
    assert [] == segments(path, "waltz")


def segments(path: str, dance: str) -> list[tuple[float, float, str | None]]:
    store = Store(path, None)
    try:
        return [(one.start, one.end, one.reason) for one in store.exclusions(dance)]
    finally:
        store.close()


@pytest.mark.parametrize("verb", ["list", "copy"])
def test_a_catalogue_that_is_not_there_is_one_sentence(run, tmp_path, verb):
    code, out, err = run(verb, tmp_path / "none.db", *([] if verb == "list" else ["x/"]))

    assert (1, "") == (code, out)
    assert f"dancematch: there is no catalogue at {tmp_path / 'none.db'}; 'dancematch add' makes one\n" == err
    assert [] == list(tmp_path.iterdir())


@pytest.fixture
def labelled(tmp_path) -> Path:
    """Dances of two collections, in the words of the model that the command line takes by default."""
    path = tmp_path / "labelled.db"
    words = shipped().fingerprint(dance(1))
    store = Store(path, shipped().model_id)
    for name, label, collection in [("a", "red", "one"), ("b", "blue", "one"), ("c", "red", None)]:
        store.add(
            recorded(name, name, digest(name), 9.0, label, collection), [StoredTrack(words, None, 2.25, 0.8)]
        )
    store.close()
    return path


def listed(run, path: Path, *options: str) -> list[str]:
    return [json.loads(line)["name"] for line in run("list", path, "--json", *options)[1].splitlines()]


def test_the_list_is_filtered_and_has_a_period(run, labelled):
    assert ["a", "b"] == listed(run, labelled, "--collection", "one")
    assert ["a"] == listed(run, labelled, "--collection", "one", "--label", "red")
    code, out, err = run("list", labelled, "--collection", "three")
    assert (1, "") == (code, out)
    assert "has the collection 'three'; 'dancematch list' names all" in err
    heading, first, *_ = run("list", labelled)[1].splitlines()
    columns = "dance recordings seconds dancers period labels collection notes added"
    assert columns.split() == heading.split()
    assert "2.2 s" in first


def test_dances_are_removed_by_label_and_collection_only_if_that_is_meant(run, labelled):
    code, out, err = run("remove", labelled, "--collection", "one")
    assert (1, "") == (code, out)
    assert err.endswith("dancematch: this is 2 dance(s), and nothing was removed; say --yes to do it\n")
    assert ["a", "b", "c"] == listed(run, labelled)
    code, out, err = run("remove", labelled, "--collection", "one", "--label", "red", "--yes")
    assert (0, "", "a: removed") == (code, out, err.splitlines()[0])
    code, out, err = run("remove", labelled, "b", "c", "b")
    assert (0, "", ["b: removed", "c: removed"]) == (code, out, err.splitlines()[:-1])
    assert "has no such dance" in run("remove", labelled, "--collection", "one", "--yes")[2]
    for arguments in ([], ["a", "--collection", "one", "--yes"]):
        code, _, err = run("remove", labelled, *arguments)
        assert 2 == code
        assert "name dances or recordings, or choose dances by --label and --collection" in err


def test_a_catalogue_tells_of_itself_in_python_too(labelled):
    """The same answers as the verbs give, and an excluded segment no longer counts in a search."""
    with open_catalogue(labelled, create=False) as known:
        known.exclude("a", Span(0, 99), "all of it")

        assert (3, 1) == (known.stats().dances, known.stats().exclusions)
        assert [] == known.verify()
        assert ["a", "c"] == [found.name for found in known.dances(label="red")]
        assert {"a": False, "b": True, "c": True} == {
            known.names()[dance_id]: bool(words.visibility.any()) for dance_id, words in known.fingerprints()
        }
        known.remove_many(["a", "b"])
        assert ["c"] == [found.name for found in known.dances()]
    run_sql(labelled, "UPDATE recordings SET seconds = 0")
    with open_catalogue(labelled, create=False) as known:
        lasts = "c: a recording lasts more than 0 and at most 1000000 seconds, got 0.0"
        assert [CatalogueProblem(lasts, "c")] == known.verify()

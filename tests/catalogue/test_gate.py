"""The one gate for names and values: every door to a catalogue refuses the same."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalogue_samples import exclude
from cli_samples import run_main
from dance_samples import MODEL, digest, random_words, recorded, save_small_model, write_dance
from dancematch.catalogue.editing.edit import CatalogueEditor
from dancematch.catalogue.editing.requests import EditRecording
from dancematch.catalogue.records import (
    MAX_FILE_NAME_LENGTH,
    MAX_NAME_LENGTH,
    MAX_NOTES_LENGTH,
    MAX_REASON_LENGTH,
    MAX_SECONDS,
    MAX_URL_LENGTH,
    Exclusion,
    NewRecording,
    StoredTrack,
    find_name_problem,
)
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer.copying import copy_catalogue
from dancematch.catalogue.transfer.plain_folder import HEADER, LINES
from dancematch.catalogue.transfer.recording_rows import Copied
from dancematch.catalogue.verify import find_problems
from dancematch.control_characters import has_controls
from dancematch.errors import DanceMatchError, InputError
from dancematch.types import Span
from databases import run_sql

GOOD = recorded("polka", "b.npz", digest("b"), 5.0, "folk", "pop", "2020-01-01T00:00:00+00:00")
NO_NAMES = (
    "", " ", "\u200b", "a\nb", "\x1b[31mred", "\x9b31m", "\x7f", "a\u2028b", "a\u2029b", "\u202egnp.exe",
    "\u2066a", "\u2069", "a\u061cb", "a\u200eb", "a\u200fb", "a\ufdd0b", "\ufdef", "a\ufffe", "a\U0010ffff",
    "\u3164", "\u115f", "\u1160", "\uffa0 \u3164",
)  # fmt: skip
NAMES = ("Thriller (1983)", "Ägypten", "踊り", "a b", "💃🏽", "می‌خواهم", "שלום", "x" * MAX_NAME_LENGTH)

LONG_URL = "https://a/" + "x" * MAX_URL_LENGTH
# what a dance or a recording has -> values that it cannot have
WRONG = {
    "name": (*NO_NAMES, "x" * (MAX_NAME_LENGTH + 1)),
    "dance_id": ("1", "d012", "e0123456789abcde", "D0123456789ABCDE", "d0123456789abcde\n"),
    "collection": ("", "\u202e", "x" * (MAX_NAME_LENGTH + 1)),
    "notes": ("", "a\nb", "x" * (MAX_NOTES_LENGTH + 1)),
    "label": ("", "a\nb", "a;b", "\x1b]0;title\x07", "x" * (MAX_NAME_LENGTH + 1)),
    "file": ("", "a\x1b[31mred\n.mp4", "x" * (MAX_FILE_NAME_LENGTH + 1)),
    "performer": ("", "a\nb", "x" * (MAX_NAME_LENGTH + 1)),
    "url": ("", "ftp://host/x", "javascript:alert(1)", "https://", "http://a b", LONG_URL),
    "date": ("", "2020-13", "2020-02-30", "20-01-01", "2020-1-1", "٢٠٢٠", "yesterday"),
    "recording_id": ("", "abc", digest("b").upper(), digest("b") + "0", digest("b")[:-1] + "\n"),
    "seconds": (0.0, -1.0, float("nan"), float("inf"), MAX_SECONDS + 1),
    "added": ("yesterday", "2020-13-01", "2020-01-01T00:00:00\x1b"),
}
OF_RECORDING = ("file", "performer", "url", "date", "recording_id", "seconds")
CASES = [(column, value) for column, values in WRONG.items() for value in values]
# column of `tracks` -> values that it cannot have
WRONG_OF_TRACK = {
    "dancer": (-1, 1_000_001),
    "period_seconds": (0.0, -1.0, float("nan"), float("inf")),
    "period_strength": (-1.0, float("nan"), float("inf")),
}
TRACK_CASES = [(column, value) for column, values in WRONG_OF_TRACK.items() for value in values]


def changed(column: str, value: Any) -> NewRecording:
    """The polka with one value changed."""
    if column in OF_RECORDING:
        return replace(GOOD, recording=replace(GOOD.recording, **{column: value}))
    of_dance = {"labels": (value,)} if column == "label" else {column: value}
    return replace(GOOD, dance=replace(GOOD.dance, **of_dance))


def table_of(column: str) -> str:
    return "recordings" if column in OF_RECORDING else "labels" if column == "label" else "dances"


def id_of(value: object) -> str:
    return ascii(value)[:30]


@pytest.fixture
def source(address) -> str:
    """A catalogue of two dances."""
    fill(address)
    return address


def fill(address: str) -> None:
    store = Store(address, MODEL)
    store.add(recorded("waltz", "c.npz", digest("c"), 4.0), [StoredTrack(random_words(8, 3))])
    store.add(GOOD, [StoredTrack(random_words(4, 2))])
    exclude(store, "polka", Span(0.1, 1.3), "walks on")
    store.close()


def copied(source: object, target: object) -> Copied:
    return sum(copy_catalogue(str(source), str(target)), Copied())


def names(address: object) -> list[str]:
    store = Store(address, None, create=False)
    try:
        return [dance.name for dance in store.dances()]
    finally:
        store.close()


@pytest.mark.parametrize(("column", "value"), CASES, ids=id_of)
def test_a_dance_that_is_added_passes_the_gate(tmp_path, column, value):
    """What cannot be kept is one printable sentence, and no file is made."""
    store = Store(tmp_path / "dances.db", MODEL, lazily=True)
    with pytest.raises(InputError) as caught:
        store.add(changed(column, value), [StoredTrack(random_words(4, 0))])
    store.close()

    assert str(caught.value).isprintable()
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("column", ["name", "label", "collection", "notes", "file", "performer", "date"])
def test_half_a_character_is_no_name(tmp_path, column):
    store = Store(tmp_path / "dances.db", MODEL)
    with pytest.raises(InputError, match=r"control characters, got 'half\\ud800'"):
        store.add(changed(column, "half\ud800"), [StoredTrack(random_words(4, 0))])
    store.close()


def test_names_of_every_script_pass(address):
    store = Store(address, MODEL)
    for name in NAMES:
        store.add(recorded(name, name, digest(name), 1.0, name, name), [StoredTrack(random_words(4, 0))])

    assert sorted(NAMES) == [dance.name for dance in store.dances()]
    assert [] == list(find_problems(store))
    store.close()


@pytest.mark.parametrize(("column", "value"), TRACK_CASES, ids=id_of)
def test_a_dancer_that_is_added_passes_the_gate(column, value):
    with pytest.raises(InputError):
        StoredTrack(random_words(4, 0), **{column: value})


def test_a_clock_beyond_all_recordings_is_refused():
    late = replace(random_words(4, 0), start=1e300)
    with pytest.raises(InputError, match="the words start at 0 to 1000000 seconds, got 1e"):
        StoredTrack(late)


@pytest.mark.parametrize("reason", ["", "a\nb", "\x1b[1m", "x" * (MAX_REASON_LENGTH + 1)], ids=id_of)
def test_the_reason_of_an_exclusion_passes_the_gate(source, reason):
    store = Store(source, MODEL)
    with pytest.raises(InputError, match=r"^'b.npz': a reason (is one line|needs|has at most)"):
        exclude(store, "polka", Span(2, 3), reason)

    assert [Exclusion("polka", 0.1, 1.3, "walks on")] == store.exclusions()
    store.close()


def test_reasons_that_are_merged_stay_within_the_limit(source):
    store = Store(source, MODEL)
    for end in (3.0, 4.0):
        made = exclude(store, "polka", Span(1, end), f"{end}" + "x" * (MAX_REASON_LENGTH - 3))

    assert (MAX_REASON_LENGTH, "...") == (len(made.reason), made.reason[-3:])
    store.close()


def test_a_dance_of_a_folder_passes_the_gate(tmp_path, folder):
    """Copying a folder is no way round it: each dance is reported with the reason, the rest is copied."""
    good, polka = read_lines(folder)
    wrong = [numbered_line(polka, number, *case) for number, case in enumerate(CASES)]
    write_lines(folder, [*wrong, good])
    done = copied(f"{folder}/", tmp_path / "new.db")

    assert (1, 1, ["waltz"]) == (done.copied, done.verified, names(tmp_path / "new.db"))
    assert {f"{line['dance']['name']} ({line['file']})" for line in wrong} == set(done.failed)
    assert len(CASES) == len(done.failed)
    assert all(why.isprintable() for why in done.failed.values())


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """A folder of the two dances."""
    place = tmp_path_factory.mktemp("exported")
    store = Store(place / "old.db", MODEL)
    for new in (GOOD, recorded("waltz", "c.npz", digest("c"), 4.0)):
        store.add(new, [StoredTrack(random_words(4, len(new.dance.name)))])
    store.close()
    copied(place / "old.db", f"{place}/folder/")
    return place / "folder"


@pytest.fixture
def folder(exported, tmp_path) -> Path:
    """Such a folder, to be changed."""
    return shutil.copytree(exported, tmp_path / "folder")


def read_lines(folder: Path) -> list[dict]:
    """What the folder says of the waltz, and of the polka."""
    lines = [json.loads(line) for line in (folder / LINES).read_text(encoding="utf-8").splitlines()]
    return sorted(lines, key=lambda line: line["dance"]["name"], reverse=True)


def write_lines(folder: Path, lines: list[dict]) -> None:
    (folder / LINES).write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")


def numbered_line(polka: dict, number: int, column: str, value: Any) -> dict:
    """A dance like the polka, its words and all, with one value changed."""
    dance = polka["dance"] | {"name": f"polka{number}", "dance_id": f"d{digest(number)[:15]}"}
    line = polka | {"file": f"b{number}.npz", "recording_id": digest(f"b{number}")}
    if column in (*OF_RECORDING, "added"):
        return line | {"dance": dance, column: value}
    return line | {"dance": dance | ({"labels": [value]} if column == "label" else {column: value})}


def change_line(folder: Path, of_dancer: dict | None = None, **changes: Any) -> None:
    good, polka = read_lines(folder)
    polka["dancers"][0] |= of_dancer or {}
    write_lines(folder, [polka | changes, good])


@pytest.mark.parametrize(("column", "value"), [*TRACK_CASES, ("dancer", float("inf"))], ids=id_of)
def test_a_dancer_of_a_folder_passes_the_gate(tmp_path, folder, column, value):
    change_line(folder, {column: value})
    done = copied(f"{folder}/", tmp_path / "new.db")

    assert (["polka (b.npz)"], ["waltz"]) == (list(done.failed), names(tmp_path / "new.db"))


@pytest.mark.parametrize(
    "excluded",
    [
        {"start": 0.0, "end": float("inf"), "reason": None},
        {"start": 0.0, "end": MAX_SECONDS + 1, "reason": None},
        {"start": 0.0, "end": 1.0, "reason": "\x1b[1m"},
        {"start": 0.0, "end": 1.0, "reason": 7},
    ],
    ids=id_of,
)
def test_an_exclusion_of_a_folder_passes_the_gate(tmp_path, folder, excluded):
    change_line(folder, exclusions=[excluded])
    done = copied(f"{folder}/", tmp_path / "new.db")

    assert (["polka (b.npz)"], ["waltz"]) == (list(done.failed), names(tmp_path / "new.db"))


def test_a_model_of_a_folder_passes_the_gate(tmp_path, folder):
    header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    (folder / HEADER).write_text(json.dumps(header | {"model_id": "\x1b[1m"}), encoding="utf-8")
    with pytest.raises(DanceMatchError, match=r"names no model: a model's id is one line") as caught:
        copied(f"{folder}/", tmp_path / "new.db")

    assert str(caught.value).isprintable()
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("model_id", ["", "\x1b[1m", "x" * (MAX_NAME_LENGTH + 1)], ids=id_of)
def test_a_catalogue_is_made_for_a_model_that_can_be_named(source, new_address, model_id):
    """Without an id a catalogue is only opened; put into words of another model it needs one."""
    if model_id:
        with pytest.raises(InputError, match="a model's id"):
            Store(new_address(), model_id)
    store = Store(source, MODEL)
    with pytest.raises(InputError, match="a model's id"):
        store.replace_words(model_id, [], generation=store.generation)
    store.close()


EDITS = [(table_of(column), column, value) for column, value in CASES]
EDITS += [("tracks", column, value) for column, value in TRACK_CASES]
NAN_EDITS = [(table, column, value) for table, column, value in EDITS if str(value) == "nan"]
EDITS += [("exclusions", "reason", "\x1b[1m"), ("exclusions", "end", float("inf"))]


def test_a_database_that_was_edited_by_hand(address, tmp_path):
    """The doctor names what would not pass; a copy leaves those dances out and says why; they can be removed.

    One dance per value. Numbers that are none cannot be held by SQLite.
    """
    cases = EDITS if "://" in address else [one for one in EDITS if one not in NAN_EDITS]
    fill_many(address, len(cases))
    run_sql(address, *(change(address, number, *case) for number, case in enumerate(cases)))
    store = Store(address, None)
    found = list(find_problems(store))
    problems = {one.dance: one.problem for one in found}
    done = copied(address, tmp_path / "new.db")
    store.remove_many([name for name, _ in named(cases)])

    assert len(cases) == len(found)
    assert {name for name, _ in named(cases)} == set(problems)
    assert all(problem.isprintable() for problem in problems.values())
    assert {f"{name} ({file})" for name, file in named(cases)} == set(done.failed)
    for name, file in named(cases):
        assert problems[name].endswith(done.failed[f"{name} ({file})"])
    assert (len(cases), 1, 1) == (len(done.failed), done.copied, done.verified)
    assert ["waltz"] == names(tmp_path / "new.db")
    assert ["waltz"] == [dance.name for dance in store.dances()]
    store.close()


def fill_many(address: str, count: int) -> None:
    """The waltz, and so many dances like the polka."""
    store = Store(address, MODEL)
    store.add(recorded("waltz", "c.npz", digest("c"), 4.0), [StoredTrack(random_words(8, 3))])
    of_polka = GOOD.dance.labels[0], GOOD.dance.collection, GOOD.dance.added
    store.add_many(
        [
            (
                recorded(f"polka{n}", f"b{n}.npz", digest(f"b{n}"), 5.0, *of_polka),
                [StoredTrack(random_words(4, 2))],
            )
            for n in range(count)
        ]
    )
    walks_on = [EditRecording(f"b{n}.npz", exclude=Span(0.1, 1.3), reason="walks on") for n in range(count)]
    CatalogueEditor(store).edit(walks_on)
    store.close()


def change(address: str, number: int, table: str, column: str, value: object) -> str:
    """The statement that changes a value of a dance by hand."""
    which = f"name = 'polka{number}'"
    if table in ("recordings", "labels"):
        which = f"dance = (SELECT key FROM dances WHERE {which})"  # noqa: S608  (our own)
    elif table != "dances":
        which = f"recording = (SELECT key FROM recordings WHERE file = 'b{number}.npz')"  # noqa: S608
    said = str(value) if isinstance(value, int) else f"'{value}'"
    if value == float("inf") and "://" not in address:
        said = "9e999"  # SQLite's way to write it
    return f'UPDATE {table} SET "{column}" = {said} WHERE {which}'  # noqa: S608


def named(cases: list[tuple[str, str, Any]]) -> list[tuple[str, str]]:
    """What dances and their files are called after the changes."""
    return [
        (value if column == "name" else f"polka{n}", value if column == "file" else f"b{n}.npz")
        for n, (_, column, value) in enumerate(cases)
    ]


def test_a_listing_in_json_has_no_number_that_is_none(tmp_path):
    """Of a database edited by hand; JSON has null for it, and the listing goes on."""
    model = save_small_model(tmp_path / "model")
    store = Store(tmp_path / "dances.db", model.model_id)
    for name in "ab":
        words = model.fingerprint(write_and_read(tmp_path, name))
        store.add(recorded(name, name, digest(name), 5.0), [StoredTrack(words)])
    store.close()
    run_sql(tmp_path / "dances.db", "UPDATE recordings SET seconds = 9e999 WHERE file = 'a'")
    answer = run_main("list", tmp_path / "dances.db", "--model", tmp_path / "model", "--json")

    assert (0, [None, 5.0]) == (answer.code, [line["seconds"] for line in answer.objects])


def write_and_read(tmp_path: Path, name: str):
    from dancematch import formats

    return formats.read(write_dance(tmp_path / f"{name}.npz", ord(name)))[0]


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (("--dance", "x" * 300), "a dance's name has at most 200 characters, got 300: 'xxx"),
        (("--label", "a\nb"), r"a label is one line without control characters, got 'a\nb'"),
        (
            ("--collection", "\x1b[1m"),
            r"a collection's name is one line without control characters, got '\x1b",
        ),
        (("--label", ""), "a label needs a character that can be seen, got ''"),
    ],
    ids=id_of,
)
def test_add_refuses_a_name_before_the_work(tmp_path, option, complaint):
    clip = write_dance(tmp_path / "in" / "clip.npz", 1)
    answer = run_main("add", tmp_path / "dances.db", clip, "--jobs", 1, *option)

    assert (1, "") == (answer.code, answer.out)
    assert answer.complaint.startswith(complaint)
    assert not (tmp_path / "dances.db").exists()


def test_exclude_refuses_a_reason_that_cannot_be_read(source):
    answer = run_main("edit", source, "polka", "--exclude", 2, 3, "--reason", "\x1b[1m")

    assert (1, r"'b.npz': a reason is one line without control characters, got '\x1b[1m'; give another") == (
        answer.code, answer.complaint,
    )  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES, ids=id_of)
def test_what_is_no_name_is_so_for_every_kind(name):
    kinds = ("name", "label", "collection", "notes", "file", "performer", "url", "date", "model_id", "reason")

    assert [] == [kind for kind in kinds if find_name_problem(kind, name) is None]


def test_control_characters_are_told_from_letters():
    """Joiners, which some scripts need, are none; marks and overrides of direction are."""
    assert not any(map(has_controls, (*NAMES, "\u200d", "\xa0", "\xad")))
    assert all(map(has_controls, ("\0", "\t", "\x1b", "\x7f", "\x80", "\x9f", "\u202a", "\u2067", "\udcff")))

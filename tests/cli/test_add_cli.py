"""dancematch add: recordings of dances, by name, by folder and by an index; and what list and remove say."""

import csv
import io
import json
import shlex
import shutil
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import save_small_model, write_dance
from pose_samples import write_clip


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    """A small model, and two recordings of one dance and one of another, in folders."""
    folder = tmp_path_factory.mktemp("add")
    save_small_model(folder / "model")
    write_dance(folder / "clips" / "loona" / "anna.npz", 1, dancer=1)
    write_dance(folder / "clips" / "loona" / "ben.npz", 1, dancer=2)
    write_dance(folder / "clips" / "waltz" / "cleo.npz", 2)
    return folder


@pytest.fixture
def here(samples, tmp_path, monkeypatch) -> Path:
    """A folder of one's own with these clips."""
    shutil.copytree(samples / "clips", tmp_path / "clips")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(samples, here):
    """Run a verb with the small model, `add` in one process."""

    def run(verb: str, *arguments: object):
        jobs = ("--jobs", 1) if verb == "add" else ()
        return run_main(verb, here / "dances.db", *arguments, *jobs, "--model", samples / "model")

    return run


def listed(answer) -> dict[str, list]:
    return {one["file"]: [one["dance"], one["performer"], one["date"]] for one in answer.objects}


def test_all_files_are_recordings_of_the_dance_that_is_named(run):
    """The first makes it, the others join; also later."""
    first = run("add", "clips/loona", "--dance", "Loona", "--label", "pop", "--label", "2020", "--note", "n")
    later = run("add", "clips/waltz/cleo.npz", "--dance", "Loona", "--performer", "Cleo")
    (dance,) = run("list", "--json").objects

    assert (0, 0) == (first.code, later.code)
    assert first.err.startswith("clips/loona/anna.npz: Loona, 8.6 s, 1 dancer(s)\n")
    assert first.err.splitlines()[1].startswith("clips/loona/ben.npz: Loona, recording 2, ")
    assert later.err.splitlines()[0].startswith("clips/waltz/cleo.npz: Loona, recording 3, ")
    assert ("Loona", ["2020", "pop"], "n", 3) == tuple(
        dance[name] for name in ("name", "labels", "notes", "recordings")
    )


def test_folders_are_dances(run):
    run("add", "clips", "--dance-from", "folder")

    assert {"anna.npz": "loona", "ben.npz": "loona", "cleo.npz": "waltz"} == {
        file: dance for file, (dance, *_) in listed(run("list", "--recordings", "--json")).items()
    }


def test_a_file_is_a_dance_of_its_own_unless_said_otherwise(run):
    run("add", "clips")

    assert ["anna", "ben", "cleo"] == [one["name"] for one in run("list", "--json").objects]


def test_what_is_known_is_skipped_whatever_dance_is_named(run, here):
    run("add", "clips/loona", "--dance", "loona")
    again = run("add", "clips/loona/ben.npz", "--dance", "other")

    edit = f"dancematch edit {here / 'dances.db'} loona"

    assert 0 == again.code
    assert [
        "clips/loona/ben.npz: skipped, its very content is known as loona",
        f"  it was said to be of 'other'; to correct it: {edit} --name other (all its recordings), "
        f"or {edit} --recording ben.npz --new-dance other (this one)",
        "what was known already stays as it is; 'dancematch edit' changes it",
        "0 added, 1 skipped, 0 failed",
    ] == again.err.splitlines()


@pytest.mark.parametrize("others", ["loona", "Waltz"])
@pytest.mark.parametrize("said", ["Valse", "loona"])
def test_what_is_advised_on_a_corrected_name_works(run, others, said):
    """A new name, and that of another dance; the recording is the only one of its dance, or one of three."""
    run("add", "clips/loona", "--dance", others)
    run("add", "clips/waltz", "--dance", "Waltz")
    note = run("add", "clips/waltz", "--dance", said).err.splitlines()[1]
    for advice in note.partition("to correct it: ")[2].split(", or "):
        verb, *arguments = shlex.split(advice.partition(" (")[0])[1:]

        assert 0 == run_main(verb, *arguments).code
        assert said == listed(run("list", "--recordings", "--json"))["cleo.npz"][0]
        run_main("edit", arguments[0], "--undo")


def test_what_differs_of_known_recordings_is_said(run, here):
    """In one line, with the way to correct it; nothing is changed."""
    index = here / "clips" / "index.csv"
    index.write_text(INDEX, encoding="utf-8")
    run("add", "--index", "clips/index.csv")
    index.write_text(INDEX.replace("Anna", "Anne").replace("2020", "2021"), encoding="utf-8")
    again = run("add", "--index", "clips/index.csv")
    db = here / "dances.db"

    assert [
        "1 known otherwise (anna.npz: performer, date): what was known already stays as it is; to correct "
        f"it: 'dancematch list {db} --recordings --csv FILE', then 'dancematch edit {db} --csv FILE'",
        "0 added, 2 skipped, 0 failed",
    ] == again.err.splitlines()[-2:]
    assert ["Loona", "Anna", "2020"] == listed(run("list", "--recordings", "--json"))["anna.npz"]


def test_two_files_of_one_name_are_told_how_to_be_named(run, here):
    """Nothing that is known has to be removed for it."""
    (here / "tape").mkdir()
    shutil.copy(here / "clips" / "waltz" / "cleo.npz", here / "tape" / "anna.npz")
    answer = run("add", "clips/loona/anna.npz", "tape")

    assert (1, "1 added, 0 skipped, 1 failed") == (answer.code, answer.err.splitlines()[-1])
    assert "say so (--dance 'anna'), else give it another name (--dance NAME, or for many" in answer.err
    assert "remove" not in answer.err


INDEX = "file,dance,performer,labels,date\nloona/anna.npz,Loona,Anna,pop; k,2020\nloona/ben.npz,Loona,Ben,,\n"


def test_an_index_says_what_files_are(run, here):
    """Without places the files of the index are added; what is said of a dance is said of all its rows."""
    (here / "clips" / "index.csv").write_text(INDEX, encoding="utf-8")
    answer = run("add", "--index", "clips/index.csv")

    assert (0, "2 added, 0 skipped, 0 failed") == (answer.code, answer.err.splitlines()[-1])
    assert {"anna.npz": ["Loona", "Anna", "2020"], "ben.npz": ["Loona", "Ben", None]} == listed(
        run("list", "--recordings", "--json")
    )
    assert ["k", "pop"] == run("list", "--json").objects[0]["labels"]


def test_with_places_the_index_is_about_these(run, here):
    """What it says of others is not added, and that is said; files that it does not name are added."""
    (here / "clips" / "index.csv").write_text(INDEX, encoding="utf-8")
    places = ["clips/loona/ben.npz", "clips/waltz"]
    answer = run("add", *places, "--index", "clips/index.csv", "--collection", "studio")

    assert 0 == answer.code
    assert "1 of the 2 files in clips/index.csv are not among those named: not added" in answer.err
    assert {"ben.npz": ["Loona", "Ben", None], "cleo.npz": ["cleo", None, None]} == listed(
        run("list", "--recordings", "--json", "--collection", "studio")
    )


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("file,dance\nloona/anna.npz,A\nloona/anna.npz,B\n", "lines 2 and 3 contradict each other"),
        ("file,dance\nloona/anna.npz,A\ngone.npz,A\n", "line 3 of the index names 'gone.npz', but"),
        ("file,dance\nhttps://example.org/a.mp4,A\n", "is a web address, but a file is needed"),
        ("file,date\nloona/anna.npz,yesterday\n", "line 2: a date is a year, a month or a day"),
        ("file,dancer\nloona/anna.npz,A\n", "there is no column 'dancer'"),
        ("dance\nA\n", "has no column file"),
        ("file,dance\n", "names no file"),
    ],
)  # fmt: skip
def test_a_wrong_index_is_one_sentence_and_nothing_is_added(run, here, rows, complaint):
    run("add", "clips/waltz")
    before = run("list", "--recordings", "--json").out
    (here / "clips" / "index.csv").write_text(rows, encoding="utf-8")
    answer = run("add", "--index", "clips/index.csv")

    assert (1, "") == (answer.code, answer.out)
    assert complaint in answer.complaint
    assert before == run("list", "--recordings", "--json").out


def test_one_dance_for_all_and_an_index_of_others_contradict_each_other(run, here):
    (here / "clips" / "index.csv").write_text(INDEX, encoding="utf-8")
    answer = run("add", "--index", "clips/index.csv", "--dance", "Waltz")

    assert 1 == answer.code
    assert "line 2: loona/anna.npz is of the dance 'Loona', but --dance says 'Waltz'" in answer.complaint
    assert not (here / "dances.db").exists()


def test_what_a_downloader_wrote_is_left_out_where_a_shell_names_it(run, here):
    """Beside a clip of its name, or of a playlist; a lone odd file is refused with its reason."""
    folder = here / "clips" / "waltz"
    info = {"title": "The waltz", "uploader": "Cleo", "upload_date": "20190713"}
    (folder / "cleo.info.json").write_text(json.dumps(info), encoding="utf-8")
    for name in ("cleo.description", "cleo.webp", "cleo.en.vtt", "cleo.live_chat.json", "list.info.json"):
        (folder / name).write_text("anything")
    answer = run("add", *sorted(folder.iterdir()))
    (folder / "odd.description").write_text("anything")
    odd = run("add", *sorted(folder.iterdir()))

    assert (0, "1 added, 0 skipped, 0 failed") == (answer.code, answer.err.splitlines()[-1])
    assert {"cleo.npz": ["The waltz", "Cleo", "2019-07-13"]} == listed(run("list", "--recordings", "--json"))
    assert (1, "0 added, 1 skipped, 1 failed") == (odd.code, odd.err.splitlines()[-1])
    assert "odd.description" in odd.err


def test_pictures_are_kept_where_they_are_asked_for(run, here, monkeypatch):
    """The option reaches the analysis; without it no picture is made."""
    asked = []

    def add_planned(_catalogue, plans, **options):
        asked.append((list(plans), options["posters"]))
        return iter(())

    monkeypatch.setattr("dancematch.pipeline.catalogue.Catalogue.add_planned", add_planned)
    clip = write_clip(here / "a.mp4")
    run("add", clip)
    run("add", clip, "--posters")

    assert [([clip], False), ([clip], True)] == asked


def test_the_list_shows_dances_or_recordings(run):
    run("add", "clips", "--dance-from", "folder", "--label", "b", "--label", "a", "--performer", "Anna")
    dances, recordings = run("list"), run("list", "loona", "--recordings")

    assert ["loona", "2"] == dances.out.splitlines()[1].split()[:2]
    assert "a, b" in dances.out
    assert "2 dance(s), 3 recording(s)" == dances.err.strip()
    assert ["loona", "anna.npz"] == recordings.out.splitlines()[1].split()[:2]
    assert "2 recording(s) of 1 dance(s)" == recordings.err.strip()


def test_tables_are_what_edit_takes_back(run):
    """Printed or written; what was not corrected changes nothing."""
    run("add", "clips", "--dance-from", "folder")
    printed = list(csv.DictReader(io.StringIO(run("list", "--recordings", "--csv", "-").out)))
    run("list", "--csv", "d.csv")

    assert ["anna.npz", "ben.npz", "cleo.npz"] == [row["file"] for row in printed]
    assert "nothing to change\n" == run_main("edit", "dances.db", "--csv", "d.csv").err
    assert 1 == run("list", "--csv", "d.csv").code


def test_what_never_matches_is_listed(run):
    run("add", "clips", "--dance-from", "folder")
    run_main("edit", "dances.db", "waltz", "--exclude", 1, 2, "--reason", "walks on")
    (told,) = run("list", "--exclusions", "--json").objects

    assert ("waltz", "cleo.npz", 1, 2, "walks on") == tuple(
        told[name] for name in ("dance", "file", "start", "end", "reason")
    )
    assert ["waltz", "cleo.npz", "1.00", "s", "2.00", "s", "walks", "on"] == run(
        "list", "--exclusions"
    ).out.splitlines()[1].split()
    assert [] == run("list", "loona", "--exclusions", "--json").objects


def test_single_recordings_are_removed_and_a_dance_with_its_last(run):
    run("add", "clips", "--dance-from", "folder")
    one = run("remove", "loona", "--recording", "anna.npz")
    last = run("remove", "--recording", "ben.npz", "--recording", "cleo.npz")

    assert (0, "anna.npz: removed from loona") == (one.code, one.err.splitlines()[0])
    assert "this cannot be undone" in one.err
    assert [
        "ben.npz: removed from loona",
        "cleo.npz: removed from waltz",
        "loona: removed with its last recording",
        "waltz: removed with its last recording",
    ] == last.err.splitlines()[:-1]
    assert [] == run("list", "--json").objects


def test_a_removal_of_something_unknown_removes_nothing(run):
    run("add", "clips", "--dance-from", "folder")
    before = run("list", "--recordings", "--json").out
    for arguments in (
        ["loona", "polka"],
        ["--recording", "anna.npz", "--recording", "gone.npz"],
        ["waltz", "--recording", "anna.npz"],
    ):
        answer = run("remove", *arguments)
        assert 1 == answer.code
        assert "nothing was removed" in answer.complaint
    assert before == run("list", "--recordings", "--json").out


def test_a_search_lists_the_recordings_of_each_dance_if_asked(run, here):
    """Below the dance; the verdict and the dances are the same."""
    run("add", "clips", "--dance-from", "folder")
    clip = write_dance(here / "query.npz", 1, dancer=3)
    plain, told = run("search", clip), run("search", clip, "--recordings")
    lines = told.out.splitlines()
    heading = next(number for number, line in enumerate(lines) if line.startswith("verdict"))

    assert plain.code == told.code
    assert [line.split()[-1] for line in plain.out.splitlines()] == [
        line.split()[-1] for line in lines if "alone: " not in line
    ]
    first = next(number for number, line in enumerate(lines) if number > heading and " loona " in line)
    assert {"anna.npz", "ben.npz"} == {line.split()[0] for line in lines[first + 1 : first + 3]}
    (found,) = run("search", clip, "--json").objects
    best = next(one for one in found["dancers"][0]["candidates"] if one["dance"] == "loona")
    assert {"anna.npz", "ben.npz"} == {one["recording"] for one in best["recordings"]}
    assert best["recordings"][0]["recording"] == best["recording"]

"""Several clips at once: a sentence each, a table, a summary, and going on after an interruption."""

import csv
import io
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import Puppet, dance, standing, write_dance, write_puppets
from dancematch import formats
from dancematch.errors import CatalogueError, InputError
from dancematch.motion import mirror
from dancematch.pipeline.analysis import analyse_files as analyse_files_module
from dancematch.pipeline.batch_search import BatchSearch, SearchedClip, hash_clips
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.search_table import COLUMNS, header_line, row_lines

ONE_JOB = ("--jobs", 1)
VERDICTS = {  # of the clips in the folder
    "again.npz": "match", "bad.npz": None, "copy.npz": "match", "photo.npz": None, "two.npz": "match",
    "unknown.npz": "no match", "words.npz": "match",
}  # fmt: skip
SUMMARY = "7 clips: 4 match, 0 possible match, 1 no match, 1 without a dancer, 1 could not be read."


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Five known dances, and clips of all outcomes."""
    folder = tmp_path_factory.mktemp("batch")
    for number in range(1, 6):
        write_dance(folder / "known" / f"dance{number}.npz", number)
    clips = folder / "clips"
    write_dance(clips / "again.npz", 3, dancer=4)
    (clips / "bad.npz").write_bytes(b"PK\x03\x04 and no more")
    shutil.copy(clips / "again.npz", clips / "copy.npz")
    formats.write(clips / "photo.npz", [standing(120)])
    formats.write(clips / "two.npz", [dance(2, dancer=4), dance(77)])
    write_dance(clips / "unknown.npz", 77)
    formats.write(folder / "mirrored.npz", [mirror(dance(4, dancer=4))])
    run_main("extract", folder / "mirrored.npz", "--words", "-o", clips / "words.npz")
    run_main("add", folder / "dances.db", folder / "known", *ONE_JOB)
    return folder


@pytest.fixture
def db(folder) -> Path:
    return folder / "dances.db"


@pytest.fixture
def clips(folder) -> Path:
    return folder / "clips"


def read_table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def searches(monkeypatch) -> list[int]:
    """The number of dancers of every search that the test makes; appended to as they come."""
    counts: list[int] = []
    search = Catalogue.search

    def counted(self, query, **options):
        counts.append(len(query.dancers))
        return search(self, query, **options)

    monkeypatch.setattr(Catalogue, "search", counted)
    return counts


def break_off_after(monkeypatch, answers: int) -> None:
    """Let the database be gone after so many searches."""
    search, left = Catalogue.search, iter(range(answers))

    def breaking(self, query, **options):
        if next(left, None) is None:
            raise CatalogueError("the catalogue is gone")
        return search(self, query, **options)

    monkeypatch.setattr(Catalogue, "search", breaking)


def test_a_folder_is_answered_clip_by_clip_in_order(db, clips, searches):
    """One sentence per dancer; failures and the summary on stderr; the same content is searched for once."""
    answer = run_main("search", db, clips, *ONE_JOB)
    expected = [
        ("again.npz: ", "Match: dance3, "),
        ("copy.npz: ", "Match: dance3, "),
        ("two.npz, dancer 1, ", ": Match: dance2, "),
        ("two.npz, dancer 2, ", ": No match; the nearest is "),
        ("unknown.npz: ", "No match; the nearest is "),
        ("words.npz: ", "Match: dance4, "),
    ]

    assert (1, SUMMARY) == (answer.code, answer.err.splitlines()[-1])
    for line, (start, verdict) in zip(answer.out.splitlines(), expected, strict=True):
        assert line.startswith(f"{clips}/{start}")
        assert verdict in line
    assert all(f"{clips / name}" in answer.err for name in ("bad.npz", "photo.npz"))
    assert "1 of them hold words alone" in answer.err
    assert [1, 2, 1, 1] == searches


def test_json_is_one_object_per_clip(db, clips):
    """Each has what it has alone, and where it is; the same with several processes."""
    found = run_main("search", db, clips, "--json", "--jobs", 2).objects
    alone = run_main("search", db, clips / "two.npz", "--json").objects[0]

    assert VERDICTS == {one["clip"]: one["verdict"] for one in found}
    assert [str(clips / name) for name in VERDICTS] == [one["file"] for one in found]
    two = next(one for one in found if one["clip"] == "two.npz")
    assert alone == two
    assert all(one["file"] in one["error"] for one in found if one["verdict"] is None)


def test_a_single_file_is_answered_as_ever(db, clips):
    """Verdict and table of candidates, no summary; a folder with one clip is a folder."""
    alone = run_main("search", db, clips / "again.npz")
    pattern = run_main("search", db, clips / "aga*.npz")

    assert (0, "") == (alone.code, alone.err)
    assert alone.out.startswith("Match: dance3, ")
    assert "where in it" in alone.out
    assert (0, "1 clip: 1 match, 0 possible match, 0 no match.\n") == (pattern.code, pattern.err)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["again", "unknown"], 0),
        (["unknown", "unknown-too"], 3),
        (["again", "bad"], 1),
        (["unknown", "photo"], 1),
    ],
)
def test_the_exit_code_says_what_the_clips_are_together(db, clips, tmp_path, names, code):
    """A match among them is 0 and none is 3, unless a clip failed: then the answer is not complete."""
    write_dance(tmp_path / "unknown-too.npz", 78)
    places = [(tmp_path if "too" in name else clips) / f"{name}.npz" for name in names]

    assert code == run_main("search", db, *places, *ONE_JOB).code


def test_a_table_has_one_row_per_clip_and_dancer(db, clips, tmp_path):
    """With the values of --json; without a match the dance stays empty."""
    target = tmp_path / "found.csv"
    answer = run_main("search", db, clips, "--csv", target, "--json", *ONE_JOB)
    rows = read_table(target.read_text(encoding="utf-8-sig"))
    again, bad, _copy, photo, two, other, unknown, words = rows

    assert sorted([*VERDICTS, "two.npz"]) == [Path(row["file"]).name for row in rows]
    assert list(COLUMNS) == list(again)
    match = answer.objects[0]["dancers"][0]["candidates"][0]
    assert ("match", "dance3", "dance3.npz", "1") == tuple(
        again[name] for name in ("verdict", "dance", "recording", "dancer")
    )
    assert float(again["reference.end"]) == pytest.approx(match["reference"]["end"], abs=1e-3)
    assert float(again["evalue"]) == pytest.approx(match["evalue"], rel=1e-3)
    assert float(again["log_ratio"]) == pytest.approx(match["log_ratio"], abs=1e-3)
    assert ("false", "true") == (again["mirrored"], words["mirrored"])
    assert answer.objects[0]["sha256"] == again["sha256"]
    assert [("1", "match"), ("2", "no match")] == [(row["dancer"], row["verdict"]) for row in (two, other)]
    assert "" == other["dance"] == unknown["dance_id"] == unknown["evalue"]
    assert [answer.objects[1]["error"], answer.objects[3]["error"]] == [bad["error"], photo["error"]]
    assert "" == bad["verdict"] == bad["dancer"]
    assert [target] == list(tmp_path.iterdir())


def test_a_table_may_go_to_stdout(db, clips, tmp_path):
    """In place of the sentences, with the rows of the file."""
    target = tmp_path / "found.csv"
    run_main("search", db, clips, "--csv", target, *ONE_JOB)
    printed = run_main("search", db, clips, "--csv", "-", *ONE_JOB)

    assert target.read_text(encoding="utf-8-sig") == printed.out
    assert SUMMARY == printed.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("=1+1.npz", "'=1+1.npz"),
        ("+1.npz", "'+1.npz"),
        ("-1.npz", "'-1.npz"),
        ("@SUM(A1).npz", "'@SUM(A1).npz"),
        ("\uff1d1.npz", "'\uff1d1.npz"),
        ("'=1.npz", "''=1.npz"),
        ("\t=1.npz", "\\t=1.npz"),
        ("\x1b[2J\r\n.npz", "\\x1b[2J\\r\\n.npz"),
        ('a,"b".npz', 'a,"b".npz'),
        ("Été.npz", "Été.npz"),
        ("\udcff.npz", "\\udcff.npz"),
    ],
)
def test_a_name_is_neither_formula_nor_control(name, cell):
    """A formula gets an apostrophe, an apostrophe another; commas and quotation marks are quoted."""
    (line,) = row_lines(SearchedClip(Path(name), error=InputError("=HYPERLINK(1)")), "q0")
    ((read, *_, error, _sha256, _question_id),) = csv.reader([line])

    assert (cell, "'=HYPERLINK(1)") == (read, error)
    line.encode()


def test_numbers_stay_numbers(db, clips):
    """A negative one too, which begins as a formula does."""
    with open_catalogue(db, create=False) as known:
        answer = known.search(clips / "again.npz")
    (one,) = answer.dancers
    changed = replace(one.candidates[0], log_ratio=-0.5)
    answer = replace(answer, dancers=(replace(one, candidates=(changed,)),))
    (line,) = row_lines(SearchedClip(Path("a"), answer=answer), "q0")
    (row,) = read_table(f"{header_line()}\n{line}\n")

    assert "-0.5" == row["log_ratio"]


def test_a_table_replaces_nothing_unasked(db, clips, tmp_path, searches):
    """That is told before the work."""
    target = tmp_path / "found.csv"
    target.write_text("mine")
    refused = run_main("search", db, clips, "--csv", target)

    assert (1, "mine", []) == (refused.code, target.read_text(), searches)
    assert "exists already" in refused.complaint
    assert 0 == run_main("search", db, clips / "again.npz", "--csv", target, "--force").code
    assert ["dance3"] == [row["dance"] for row in read_table(target.read_text(encoding="utf-8-sig"))]


def test_an_interrupted_run_goes_on(db, clips, tmp_path, monkeypatch, searches):
    """No table is left by half; what was found is not searched again, what failed is; nothing is missing."""
    target, part = tmp_path / "found.csv", tmp_path / "found.csv.part"
    with monkeypatch.context() as patch:
        break_off_after(patch, 2)
        cut_short = run_main("search", db, clips, "--csv", target, *ONE_JOB)
    assert (1, [part]) == (cut_short.code, list(tmp_path.iterdir()))
    assert f"{part} has what was found so far; say --resume to go on with it" in cut_short.err
    with part.open("a") as file:
        file.write('{"clip": ["un')  # as a killed process leaves it
    refused = run_main("search", db, clips, "--csv", target, *ONE_JOB)
    assert (1, f"{part} was left by a run that was interrupted") == (
        refused.code,
        refused.complaint.partition(";")[0],
    )
    searches.clear()
    resumed = run_main("search", db, clips, "--csv", target, "--resume", *ONE_JOB)
    whole = run_main("search", db, clips, "--csv", "-", *ONE_JOB)

    assert [1, 1] == searches[:2]  # unknown and words
    assert "3 of 7 clips were searched before" in resumed.err
    assert SUMMARY == resumed.err.splitlines()[-1]
    assert (whole.out, [target]) == (target.read_text(encoding="utf-8-sig"), list(tmp_path.iterdir()))


@pytest.mark.parametrize("change", ["options", "dances", "clip"])
def test_no_table_is_made_of_two_questions(db, clips, tmp_path, monkeypatch, change):
    """Other options or dances are refused; a clip that has changed is searched for again."""
    own, inside, target = tmp_path / "dances.db", tmp_path / "clips", tmp_path / "found.csv"
    shutil.copy(db, own)
    inside.mkdir()
    for name in ("again.npz", "unknown.npz"):
        shutil.copy(clips / name, inside)
    with monkeypatch.context() as patch:
        break_off_after(patch, 1)
        run_main("search", own, inside, "--csv", target, *ONE_JOB)
    if change == "dances":
        run_main("add", own, clips / "unknown.npz", *ONE_JOB)
    if change == "clip":
        write_dance(tmp_path / "other.npz", 1, dancer=4).replace(inside / "again.npz")
    options = ("--max-evalue", 0.1) if change == "options" else ()
    resumed = run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB, *options)

    if change == "clip":
        assert ["dance1", ""] == [row["dance"] for row in read_table(target.read_text(encoding="utf-8-sig"))]
    else:
        assert (1, False) == (resumed.code, target.exists())
        assert "was begun with other dances, another model or other options" in resumed.err


@pytest.fixture
def finished(db, clips, tmp_path) -> tuple[Path, Path, Path]:
    """A catalogue and a folder with three clips, one of them bad, and the finished table of them."""
    own, inside, target = tmp_path / "dances.db", tmp_path / "clips", tmp_path / "found.csv"
    shutil.copy(db, own)
    inside.mkdir()
    for name in ("again.npz", "bad.npz", "two.npz"):
        shutil.copy(clips / name, inside)
    assert 1 == run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB).code
    return own, inside, target


def test_a_finished_table_is_continued(finished, clips, searches):
    """The same line searches for what is new or failed; all rows are those of one run, sorted ones too."""
    own, inside, target = finished
    header, *lines = target.read_text(encoding="utf-8-sig").splitlines()
    target.write_text("\n".join([header, *reversed(lines)]), encoding="utf-8")
    shutil.copy(clips / "unknown.npz", inside)
    write_dance(inside.parent / "good.npz", 1, dancer=4).replace(inside / "bad.npz")
    again = run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB)

    assert (0, [1, 1]) == (again.code, searches)  # bad and unknown
    assert "2 of 4 clips were searched before" in again.err
    assert "4 clips: 3 match, 0 possible match, 1 no match." == again.err.splitlines()[-1]
    whole = run_main("search", own, inside, "--csv", "-", *ONE_JOB)
    assert sorted(whole.out.splitlines()) == sorted(target.read_text(encoding="utf-8-sig").splitlines())
    assert not target.with_name("found.csv.part").exists()


def test_a_finished_table_with_nothing_new_is_left_alone(finished, searches):
    """As people sorted it; the exit code is that of its rows."""
    own, inside, target = finished
    (inside / "bad.npz").unlink()
    before = target.read_bytes(), target.stat().st_mtime_ns
    again = run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB)

    assert (0, []) == (again.code, searches)
    assert [f"{target}: nothing new", "2 clips: 2 match, 0 possible match, 0 no match."] == (
        again.err.splitlines()[-2:]
    )
    assert before == (target.read_bytes(), target.stat().st_mtime_ns)
    assert not target.with_name("found.csv.part").exists()


def test_rows_of_clips_that_went_elsewhere_stay(finished, clips, searches):
    """An inbox that is emptied and filled again: what was found in it stays in the table."""
    own, inside, target = finished
    for clip in inside.iterdir():
        clip.unlink()
    shutil.copy(clips / "unknown.npz", inside)
    again = run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB)
    rows = read_table(target.read_text(encoding="utf-8-sig"))

    assert (3, [1]) == (again.code, searches)
    assert ["again.npz", "bad.npz", "two.npz", "two.npz", "unknown.npz"] == [
        Path(row["file"]).name for row in rows
    ]
    assert ["match", "", "match", "no match", "no match"] == [row["verdict"] for row in rows]


def test_a_continuation_that_was_interrupted_goes_on(finished, clips, monkeypatch, searches):
    own, inside, target = finished
    before = target.read_bytes()
    (inside / "bad.npz").unlink()
    for name in ("unknown.npz", "words.npz"):
        shutil.copy(clips / name, inside)
    with monkeypatch.context() as patch:
        break_off_after(patch, 1)
        assert 1 == run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB).code
    assert before == target.read_bytes()
    searches.clear()
    again = run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB)

    assert (0, [1]) == (again.code, searches)
    assert "4 clips: 3 match, 0 possible match, 1 no match." == again.err.splitlines()[-1]


@pytest.mark.parametrize("change", ["options", "dances", "column", "text"])
def test_a_table_that_would_be_spoilt_is_not_continued(finished, clips, searches, change):
    """One of another question, with columns that people added, or of something else: it stays as it is."""
    own, inside, target = finished
    if change == "dances":
        run_main("add", own, clips / "unknown.npz", *ONE_JOB)
    if change == "column":
        text = target.read_text(encoding="utf-8-sig").replace("question_id", "question_id,seen by")
        target.write_text(text, encoding="utf-8")
    if change == "text":
        target.write_text("mine")
    before = target.read_bytes()
    options = ("--max-evalue", 0.1) if change == "options" else ()
    refused = run_main("search", own, inside, "--csv", target, "--resume", *ONE_JOB, *options)
    reason = {"column": "no column 'seen by'", "text": "a header was expected"}

    assert (1, [], before) == (refused.code, searches, target.read_bytes())
    assert reason.get(change, "was made with other dances, another model or other options") in refused.err
    assert "--force" in refused.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--report", "e.html"], "--report is about one clip; give a single file, without --csv"),
        (["--plot", "e.png"], "--plot is about one clip; give a single file, without --csv"),
        (["--explain"], "--explain is about one clip; give a single file, without --csv"),
        (["--limit", "2"], "of several clips only --json shows more than one dance; leave out --limit"),
        (["--csv", "-", "--json"], "--csv - and --json would both be printed"),
        (["--resume"], "--resume goes on with the table that --csv writes; give --csv FILE too"),
        (["--resume", "--csv", "-"], "--resume goes on with the table that --csv writes"),
    ],
)
def test_what_is_about_one_clip_is_refused_for_several(db, clips, options, complaint, searches):
    answer = run_main("search", db, clips, *options)

    assert (2, "", []) == (answer.code, answer.out, searches)
    assert complaint in " ".join(answer.err.split())


def test_a_name_that_is_not_there_is_told_before_the_work(db, clips, searches):
    answer = run_main("search", db, clips / "again.npz", clips / "gone.npz")

    assert (1, "", []) == (answer.code, answer.out, searches)
    assert f"{clips / 'gone.npz'} does not exist" == answer.complaint


def test_a_pattern_that_fits_the_table_means_the_clips(db, clips, tmp_path):
    """A table of an earlier run lies among them."""
    shutil.copy(clips / "again.npz", tmp_path)
    for _ in range(2):
        answer = run_main("search", db, tmp_path / "*", "--csv", tmp_path / "found.csv", "--force")

        assert (0, "1 clip: 1 match, 0 possible match, 0 no match.") == (
            answer.code,
            answer.err.splitlines()[-1],
        )


def test_an_empty_catalogue_is_no_match_for_all(clips, tmp_path):
    empty, names = tmp_path / "empty.db", ("again.npz", "unknown.npz")
    run_main("add", empty, clips / "again.npz", *ONE_JOB)
    run_main("remove", empty, "again")
    answer = run_main("search", empty, *(clips / name for name in names), *ONE_JOB)

    assert 3 == answer.code
    assert [
        f"{clips / name}: No match: there is no dance to compare with." for name in names
    ] == answer.out.splitlines()


def test_videos_are_read_in_several_processes_and_answered_in_order(db, tmp_path):
    """One that kills its process spoils only its own result, and no skeletons are kept."""
    videos = write_puppets(tmp_path, first=3, deadly="deadly", empty="nobody", copy=3, last=2)
    shares: list[float] = []
    with open_catalogue(db, create=False) as known:
        batch = BatchSearch(known.tokeniser, known.search, jobs=2, make_estimator=Puppet)
        found = list(batch.run(hash_clips(videos), shares.append))

    assert videos == [one.path for one in found]
    assert ["match", None, None, "match", "match"] == [one.verdict for one in found]
    assert "died" in str(found[1].error)
    assert [(), ()] == [found[n].answer.query.dancers for n in (0, 4)]
    assert 1.0 == max(shares)


def test_skeletons_of_clips_to_come_do_not_pile_up(tmp_path, monkeypatch):
    """Files are analysed ahead of the one that is asked for, but only so many."""
    videos = write_puppets(tmp_path, **{f"clip{n:02}": 1 for n in range(20)})
    monkeypatch.setattr(analyse_files_module, "_AHEAD", 2)
    begun: list[Path] = []

    class Idle:
        def __init__(self, setup): ...

        def analyse(self, path, **_):
            begun.append(path)
            return analyse_files_module.Analysis(path)

        def close(self): ...

    monkeypatch.setattr(analyse_files_module, "Worker", Idle)
    analyses = analyse_files_module.analyse_files(videos, jobs=2, make_estimator=Puppet)
    seen = []
    for number, found in enumerate(analyses, start=1):
        seen.append(found.path)

        assert len(begun) <= number + 4
    assert videos == seen


def test_the_same_bytes_under_another_suffix_are_another_clip(db, clips, tmp_path):
    """The suffix says how a file is read."""
    shutil.copy(clips / "again.npz", tmp_path / "a.npz")
    shutil.copy(clips / "again.npz", tmp_path / "b.bvh")
    answer = run_main("search", db, tmp_path, "--json", *ONE_JOB)

    assert ["match", None] == [one["verdict"] for one in answer.objects]
    assert 1 == len({one["sha256"] for one in answer.objects})


def test_a_link_that_leads_nowhere_is_left_out_of_a_folder(db, clips, tmp_path):
    (tmp_path / "gone.mp4").symlink_to(tmp_path / "nowhere.mp4")
    shutil.copy(clips / "again.npz", tmp_path)
    answer = run_main("search", db, tmp_path, "--json", *ONE_JOB)

    assert (0, ["match"]) == (answer.code, [one["verdict"] for one in answer.objects])

import dataclasses
import json
import pickle
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from cli_samples import Answer
from dance_samples import dance, save_small_model, standing, write_dance
from dancematch import formats
from dancematch.cli import main
from dancematch.cli.research.eval import eval_command
from dancematch.cli.research.train import train_command
from dancematch.evaluation.suites.registry import SUITES
from dancematch.model.parts import LAYOUTS
from dancematch.motion import mirror
from dancematch.skeletons import COCO17, recipe_for
from dancematch.types import Match
from pose_samples import write_clip, write_sound

DANCEMATCH = str(Path(sys.executable).with_name("dancematch"))


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line as the console script does."""

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["dancematch", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        code = left.value.code or 0
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Answer(int(code), captured.out, captured.err)

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Five known dances in a catalogue, and clips to search for."""
    folder = tmp_path_factory.mktemp("cli")
    for number in range(1, 6):
        write_dance(folder / "known" / f"dance{number}.npz", number)
    write_dance(folder / "again.npz", 3)
    write_dance(folder / "unknown.npz", 77)
    formats.write(folder / "mirrored.npz", [mirror(dance(2))])
    subprocess.run(
        [DANCEMATCH, "add", "dances.db", "known", "--jobs", "1"], cwd=folder, check=True, capture_output=True
    )
    return folder


@pytest.fixture
def db(folder) -> Path:
    return folder / "dances.db"


def test_version_is_the_packages(run):
    assert f"dancematch, version {metadata.version('dancematch')}\n" == run("--version").out


def test_the_module_is_the_command():
    """Where no script was installed, `python -m dancematch` does the same."""
    command = [sys.executable, "-m", "dancematch", "--version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)

    assert f"dancematch, version {metadata.version('dancematch')}\n" == answer.stdout


@pytest.mark.parametrize("line", ["dance", "search", "search a b --limit 0", "--dance", "add a b --jobs two"])
def test_wrong_usage_is_2(run, line):
    answer = run(*line.split())

    assert 2 == answer.code
    assert "Usage: dancematch" in answer.err
    assert "" == answer.out


def test_a_known_dance_is_found(run, db, folder):
    answer = run("search", db, folder / "again.npz")
    sentence, heading, first, *_ = answer.out.splitlines()

    assert 0 == answer.code
    assert sentence.startswith("Match: dance3, 0:00-0:0")
    assert heading.startswith("verdict")
    assert ["match", "dance3"] == first.split()[:2]


def test_json_is_one_object_per_clip(run, db, folder):
    """The names are those of Match and Span, in Python and JSON alike."""
    answer = run("search", db, folder / "mirrored.npz", "--json", "--limit", "2")
    (found,) = answer.objects
    best, other = found["dancers"][0]["candidates"]

    assert 0 == answer.code
    assert ("mirrored.npz", "match") == (found["clip"], found["verdict"])
    assert [field.name for field in dataclasses.fields(Match)] == list(best)
    assert ("dance2", True, 1) == (best["dance"], best["mirrored"], best["dancer"])
    assert ["start", "end"] == list(best["query"]) == list(best["reference"])
    assert best["log_ratio"] > other["log_ratio"]


def test_no_match_is_3_and_shows_the_nearest(run, db, folder):
    answer = run("search", db, folder / "unknown.npz")

    assert 3 == answer.code
    assert answer.out.startswith("No match; the nearest is dance")
    assert "none of them near enough" in answer.out


def test_no_match_in_json_has_its_nearest_too(run, db, folder):
    answer = run("search", db, folder / "unknown.npz", "--json")
    (found,) = answer.objects

    assert (3, "no match") == (answer.code, found["verdict"])
    assert found["dancers"][0]["candidates"]


def test_an_empty_catalogue_has_no_match(run, tmp_path, folder):
    known = tmp_path / "dances.db"
    run("add", known, folder / "again.npz", "--jobs", 1)
    run("remove", known, "again")

    assert 3 == run("search", known, folder / "again.npz").code
    assert (0, "") == run("list", known, "--json")[:2]


def test_errors_are_one_line_and_1(run, db, folder, tmp_path):
    for arguments, complaint in [
        (["search", tmp_path / "none.db", folder / "again.npz"], "there is no catalogue at"),
        (["search", db, tmp_path / "gone.npz"], "does not exist"),
        (["search", db, tmp_path / "gone.mp4"], "does not exist"),
        (["search", db, tmp_path], "there is no video or motion file"),
        (["search", folder / "again.npz", folder / "again.npz"], "is not a catalogue"),
        (["list", folder / "known"], "is a folder, not a catalogue"),
        (["list", db, "--model", "no-such-model"], "neither a shipped model"),
        (["list", db, "--model", "floor-whole"], "holds words of the model"),
        (["remove", db, "polka"], "has no dance named 'polka'"),
        (["add", db, tmp_path / "gone.npz"], "does not exist"),
        (["add", db, tmp_path], "there is no video or motion file"),
        (["add", db, folder / "again.npz", "--dance", ""], "needs a character that can be seen"),
        (["edit", db, "polka", "--label", "x"], "has no dance named 'polka'; nothing was changed"),
        (["list", db, "polka"], "has no dance named 'polka'"),
        (["extract", tmp_path / "gone.mp4", "-o", tmp_path / "out"], "does not exist"),
        (["extract", folder / "again.npz", "-o", db], "choose another"),
        (["info", tmp_path / "gone.bvh"], "does not exist"),
        (["info", tmp_path], "is a folder; a video, a motion file or"),
        (["train", tmp_path, "-o", tmp_path / "m"], "there is no motion file"),
        (["train", tmp_path / "gone", "-o", tmp_path / "m"], "is not a folder"),
        (["eval", "aist-genre", "--data", tmp_path], "no AIST"),
    ]:
        answer = run(*arguments)
        assert (1, "") == (answer.code, answer.out), arguments
        assert complaint in answer.err.splitlines()[-1], arguments
        assert answer.err.splitlines()[-1].startswith("dancematch: ")


def test_a_failure_is_told_to_programs_with_its_reason(run, tmp_path):
    """One object per file, failed ones too; the reason of the others is null."""
    write_dance(tmp_path / "in" / "good.npz", 1)
    formats.write(tmp_path / "in" / "photo.npz", [standing(90)])
    answer = run("add", tmp_path / "a.db", tmp_path / "in", "--jobs", 1, "--json")
    good, photo = answer.objects

    assert (1, None, "failed") == (answer.code, good["reason"], photo["state"])
    assert f"no dancer in {tmp_path / 'in' / 'photo.npz'}: 3.0 s, does not move" == photo["reason"]
    assert photo["reason"] in answer.err.splitlines()


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        (
            "mysql://me:hushhush@h/db",
            "mysql:// is not supported: a catalogue is a file (dances.db) or a",
        ),
        ("mssql+pyodbc://me:hushhush@h/db", "mssql+pyodbc:// is not supported: a catalogue is a file"),
        ("http://me:hushhush@h/db", "http:// is not supported: a catalogue is a file (dances.db) or a"),
        (
            "postgresql://me:hushhush@h:port/db",
            "expected postgresql://USER@HOST:PORT/DATABASE, the port a",
        ),
        ("postgresql://me:hushhush", "expected postgresql://USER@HOST:PORT/DATABASE, the port a number"),
        ("postgresql://me:hushhush@h:99999/db", "a URL's port must be 1 to 65535, this one's is not"),
        (
            "postgresql://me:4815162342",
            "a URL's port must be 1 to 65535, this one's is not",
        ),  # host forgotten
        ("postgresql://me:hushhush@127.0.0.1:1/db", "no server answers at 127.0.0.1, port 1; is it running"),
    ],
)
def test_a_database_url_that_cannot_be_used_is_said_plainly(run, url, complaint):
    """What is supported, or what could not be reached, in one line; never the password."""
    answer = run("list", url)

    assert 1 == answer.code
    assert complaint in answer.complaint
    assert "hush" not in answer.err
    assert "4815162342" not in answer.err


def test_a_model_that_does_not_fit_is_called_by_its_name(run, tmp_path):
    """Beside the id, which says little to people, and with the verb that helps."""
    known = tmp_path / "dances.db"
    run("add", known, write_dance(tmp_path / "a.npz", 1), "--model", "floor", "--jobs", 1)
    complaint = run("list", known).complaint

    assert re.search(r"words of the model kmeans-\S+ \(floor\), not of network-\S+ \(network\); ", complaint)
    assert f"dancematch retokenise {known} --model MODEL" in complaint


def test_options_that_contradict_each_other_are_wrong_usage(run, db, tmp_path):
    for arguments, complaint in [
        (["add", db], "say what to add: PLACES, or an --index of files"),
        (["add", db, "a", "--dance", "c", "--dance-from", "folder"], "leave out --dance-from"),
        (["eval", "aist-genre", "--data", tmp_path, "--refit"], "--refit needs --query-genres"),
        (["eval", "aist-genre", "--data", tmp_path, "--method", "magic"], "no method 'magic'"),
    ]:
        answer = run(*arguments)
        assert (2, "") == (answer.code, answer.out), arguments
        assert complaint in answer.err


def test_the_suites_offered_are_the_suites_there_are():
    (suite,) = [p for p in eval_command.params if p.name == "suites"]
    layout = next(p for p in train_command.params if p.name == "layout")

    assert list(SUITES) == list(suite.type.choices)
    assert list(LAYOUTS) == list(layout.type.choices)


def test_adding_tells_of_each_and_counts(run, tmp_path):
    """One bad file makes the exit code 1; the good ones are there all the same."""
    write_dance(tmp_path / "in" / "good.npz", 1)
    write_dance(tmp_path / "in" / "twin.npz", 1)
    (tmp_path / "in" / "bad.bvh").write_bytes(b"garbage")
    known = tmp_path / "dances.db"
    answer = run("add", known, tmp_path / "in", "--jobs", 1, "--label", "class", "--collection", "studio")
    again = run("add", known, tmp_path / "in" / "good.npz", "--jobs", 1)

    assert (1, "") == (answer.code, answer.out)
    assert "1 added, 1 skipped, 1 failed" == answer.err.splitlines()[-1]
    assert (0, "0 added, 1 skipped, 0 failed") == (again.code, again.err.splitlines()[-1])
    (listed,) = run("list", known, "--json").objects
    assert ("good", ["class"], "studio", 1) == tuple(
        listed[name] for name in ("name", "labels", "collection", "dancers")
    )


def test_adding_in_json_has_a_state_for_each_file(run, tmp_path):
    """A script that reads the lines learns of the failed ones too."""
    good = write_dance(tmp_path / "in" / "good.npz", 1)
    (tmp_path / "in" / "bad.bvh").write_bytes(b"garbage")
    answer = run("add", tmp_path / "dances.db", tmp_path / "in", "--jobs", 1, "--json")
    states = {Path(line["file"]).name: line["state"] for line in answer.objects}

    assert {"good.npz": "added", "bad.bvh": "failed"} == states
    assert {"skipped"} == {
        line["state"] for line in run("add", tmp_path / "dances.db", good, "--jobs", 1, "--json").objects
    }


def test_a_dance_may_be_given_its_name(run, tmp_path, folder):
    known = tmp_path / "dances.db"

    assert 0 == run("add", known, folder / "again.npz", "--dance", "Thriller (1983)").code
    assert "Thriller (1983)" in run("list", known).out
    assert 0 == run("remove", known, "Thriller (1983)").code
    assert "0 dance(s), 0 recording(s)\n" == run("list", known).err


def test_extract_writes_and_resumes(run, tmp_path, folder):
    command = ["extract", folder / "again.npz", "-o", tmp_path / "out", "--jobs", 1, "--json"]
    first, second = run(*command), run(*command)

    assert (0, 0) == (first.code, second.code)
    assert first.objects == second.objects
    assert [str(tmp_path / "out" / "again.npz")] == [line["output"] for line in first.objects]


def test_extract_says_what_gave_nothing(run, tmp_path):
    (tmp_path / "bad.mp4").write_bytes(b"garbage")
    answer = run("extract", tmp_path / "bad.mp4", "-o", tmp_path / "out", "--jobs", 1)

    assert 1 == answer.code
    assert "1 of the videos gave nothing" in answer.err


def test_info_explains_motion_and_video(run, tmp_path, folder):
    formats.write(tmp_path / "a.bvh", [dance(1)])
    motion = run("info", tmp_path / "a.bvh", "--json").objects[0]
    video = run("info", write_clip(tmp_path / "v.mp4"), "--quick", "--json").objects[0]
    plain = run("info", folder / "again.npz").out

    assert (1, 30.0) == (len(motion["dancers"]), round(motion["dancers"][0]["fps"], 3))
    assert ("video", 64, 48) == (video["format"], video["width"], video["height"])
    assert "dancer 1: start 0.0" in plain


def test_info_names_dancers_and_what_is_ignored(run, tmp_path):
    """A photograph beside a dancer is listed with the reason, for people and for programs."""
    formats.write(tmp_path / "a.npz", [standing(90), dance(1)])
    found, plain = run("info", tmp_path / "a.npz", "--json").objects[0], run("info", tmp_path / "a.npz").out

    assert [2] == [one["dancer"] for one in found["dancers"]]
    assert [{"start": 0.0, "end": 3.0, "reason": "3.0 s, does not move"}] == found["ignored"]
    assert "dancer 2: start 0.0" in plain
    assert "ignored: 0.0 to 3.0 s: 3.0 s, does not move" in plain.splitlines()


@pytest.mark.parametrize(
    "name",
    ["a.npz", "a.bvh", "a.pkl", "a.json", "a.csv", "a.pt", "a.mp4", "a.webm", "a.txt", "a", "sound.mp4"],
)
@pytest.mark.parametrize("content", [b"", b"\x00\xff garbage \n" * 50])
def test_info_on_garbage_is_one_line(run, tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    answer = run("info", path)

    assert (1, "") == (answer.code, answer.out)
    assert name in answer.complaint


def test_info_on_sound_alone_is_one_line(run, tmp_path):
    assert "video" in run("info", write_sound(tmp_path / "song.m4a")).complaint


def test_train_makes_a_model_that_serves(run, tmp_path):
    for number in range(4):
        write_dance(tmp_path / "in" / f"{number}.npz", number)
    (tmp_path / "in" / "bad.bvh").write_bytes(b"garbage")
    formats.write(tmp_path / "in" / "short.npz", [standing(2)])
    options = ["--tokeniser", "kmeans", "--vocabulary", 16]
    command = ["train", tmp_path / "in", "-o", tmp_path / "model", *options]
    answer = run(*command)
    known = tmp_path / "dances.db"

    assert 0 == answer.code
    assert "left out" in answer.err
    assert f"{tmp_path / 'model'}: kmeans-parts7-16-" in answer.out
    assert 0 == run("add", known, tmp_path / "in" / "1.npz", "--model", tmp_path / "model", "--jobs", 1).code
    assert "holds words of the model kmeans-parts7-16" in run("list", known).complaint
    assert "already holds a model" in run(*command).complaint


def test_train_on_nothing_usable_is_one_line(run, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "bad.bvh").write_bytes(b"garbage")
    write_dance(tmp_path / "few" / "a.npz", 1)
    few = run("train", tmp_path / "few", "-o", tmp_path / "m", "--tokeniser", "kmeans")
    none = run("train", tmp_path / "bad", "-o", tmp_path / "m", "--tokeniser", "kmeans")

    assert (1, 1) == (few.code, none.code)
    assert "give more motions or a smaller vocabulary" in few.err
    assert none.err.splitlines()[-1].startswith("dancematch: ")
    assert not (tmp_path / "m").exists()


def as_aist(seed: int, dancer: int) -> dict[str, np.ndarray]:
    """A procedural dance in the layout of AIST++: COCO-17 in centimetres, 60 frames per second."""
    body = dance(seed, dancer)
    joints = np.zeros((len(body.joints), 17, 3))
    for place, joint in enumerate(COCO17.joints):
        source = joint if joint in body.skeleton.joints else "head"
        joints[:, place] = body.joints[:, body.skeleton.index(source)]
    assert set(recipe_for(COCO17)) == set(body.skeleton.joints)
    return {"keypoints3d_optim": np.repeat(joints, 2, axis=0) * 100}


@pytest.fixture(scope="module")
def aist(tmp_path_factory) -> Path:
    """Two genres of two choreographies, each by two dancers."""
    folder = tmp_path_factory.mktemp("aist") / "keypoints3d"
    folder.mkdir()
    for g, genre in enumerate(("BR", "PO")):
        for dance_number in (1, 2):
            for dancer in (1, 2):
                name = f"g{genre}_sBM_cAll_d{dancer:02}_m{genre}0_ch{dance_number:02}"
                content = as_aist(10 * g + dance_number, dancer)
                (folder / f"{name}.pkl").write_bytes(pickle.dumps(content))
    return folder


@pytest.mark.parametrize("suite", ["aist-genre", "aist-cross-dancer"])
def test_eval_measures(run, aist, suite):
    """The dances of two procedural dancers are distinguished, and the result says what it was measured on."""
    answer = run("eval", suite, "--data", aist, "--method", "kmeans", "--json")
    (result,) = answer.objects

    assert 0 == answer.code
    assert (suite, "kmeans", ["BR", "PO"], [0]) == tuple(
        result[name] for name in ("suite", "method", "query_genres", "seeds")
    )
    assert 0 < result["chance"] < 1
    assert result["queries"] == (8 if suite == "aist-cross-dancer" else 160)
    if suite == "aist-cross-dancer":
        assert 1.0 == result["rank1"] == result["mean_score"]


def test_eval_prints_a_table(run, aist):
    answer = run("eval", "aist-cross-dancer", "--data", aist, "--method", "kmeans", "--query-genres", "PO")

    assert "aist-cross-dancer  kmeans  1.000" in answer.out.splitlines()[1]
    unknown = run("eval", "aist-genre", "--data", aist, "--query-genres", "XX")
    assert "no clip of the genre(s) XX" in unknown.err


def test_a_reader_who_has_seen_enough_is_no_error(db):
    """As in `dancematch list --json | head -n 0`: no traceback when the pipe is closed early."""
    listing = subprocess.Popen(
        [DANCEMATCH, "list", str(db), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert listing.stdout is not None
    listing.stdout.close()
    assert listing.stderr is not None
    complaints = listing.stderr.read()
    listing.stderr.close()
    listing.wait(timeout=180)

    assert "" == complaints


def test_results_and_progress_do_not_mix(db, folder):
    """In a pipe stdout holds nothing but JSON, and stderr no progress bar."""
    done = subprocess.run(
        [DANCEMATCH, "search", str(db), str(folder / "again.npz"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode
    assert "" == done.stderr
    assert "dance3" == json.loads(done.stdout)["dancers"][0]["candidates"][0]["dance"]


def test_a_model_of_ones_own_is_used_throughout(run, tmp_path, folder):
    save_small_model(tmp_path / "model")
    known = tmp_path / "dances.db"
    own = ("--model", tmp_path / "model")
    run("add", known, folder / "known", "--jobs", 1, *own)
    answer = run("search", known, folder / "again.npz", "--json", *own)

    assert "dance3" == answer.objects[0]["dancers"][0]["candidates"][0]["dance"]


def test_removing_is_all_or_nothing(run, tmp_path):
    write_dance(tmp_path / "in" / "a.npz", 1)
    catalogue = tmp_path / "some.db"
    run("add", catalogue, tmp_path / "in")
    answer = run("remove", catalogue, "a", "polka")

    assert 1 == answer.code
    assert "nothing was removed" in answer.err
    assert "a" in run("list", catalogue).out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_output_is_one_sentence(db):
    command = [str(Path(sys.executable).with_name("dancematch")), "list", str(db)]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert 1 == answer.returncode
    assert "dancematch: the output cannot be written: no space left" in answer.stderr
    assert "Traceback" not in answer.stderr

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from dance_samples import (
    dance,
    digest,
    recorded,
    save_small_model,
    shipped,
    small_model,
    standing,
    write_dance,
)
from dancematch.catalogue.editing.requests import EditDance
from dancematch.catalogue.records import NewRecording
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.cli import dancematch
from dancematch.errors import CatalogueError, ModelMismatchError
from dancematch.pipeline.catalogue import Catalogue, open_catalogue
from dancematch.pipeline.retokenise import Retokenised, retokenise, retokenise_into
from dancematch.types import Span

KNOWN = 6
PICTURE = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8))[1].tobytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A catalogue in the shipped model's words, and another model."""
    folder = tmp_path_factory.mktemp("retokenise")
    save_small_model(folder / "own")
    clips = [write_dance(folder / "clips" / f"dance{number}.npz", number) for number in range(KNOWN)]
    with open_catalogue(folder / "dances.db") as known:
        assert all(added.error is None for added in known.add_many(clips, labels=["class"]))
    return folder


@pytest.fixture
def own(folder) -> Path:
    return folder / "own"


@pytest.fixture
def path(folder, tmp_path) -> Path:
    """A catalogue of its own for each test."""
    return Path(shutil.copy(folder / "dances.db", tmp_path / "dances.db"))


def vocabularies(path: Path) -> tuple[str, set[int]]:
    """Which model the catalogue says its words are of, and how many words the stored ones were made with."""
    connection = sqlite3.connect(path)
    (model,) = connection.execute("SELECT value FROM facts WHERE name = 'model_id'").fetchone()
    found = {row[0] for row in connection.execute("SELECT vocabulary FROM tracks")}
    connection.close()
    return model, found


OLD = (shipped().model_id, {shipped().vocabulary})
NEW = (small_model().model_id, {small_model().vocabulary})


def add_without_skeletons(path: Path, name: str) -> None:
    store = Store(path, shipped().model_id)
    store.add(recorded(name, name, digest(name), 5.0), [StoredTrack(shipped().fingerprint(dance(9)))])
    store.close()


def test_words_are_those_that_the_new_model_gives_the_skeletons(path, own):
    done = retokenise(path, small_model())
    with open_catalogue(path, model=own, create=False) as known:
        for name, words in known.fingerprints():
            expected = small_model().fingerprint(known.motions(name)[0])
            np.testing.assert_array_equal(expected.words, words.words)
            np.testing.assert_allclose(expected.visibility, words.visibility, atol=1 / 255)
            assert expected.model_id == words.model_id

    assert Retokenised(shipped().model_id, small_model().model_id, KNOWN) == done
    assert NEW == vocabularies(path)


def test_dances_stay_what_they_were_and_are_found(path, own):
    with open_catalogue(path) as known:
        before = known.dances()
    retokenise(path, small_model())
    with open_catalogue(path, model=own, create=False) as known:
        assert before == known.dances()
        assert "dance3" == known.search(dance(3)).candidates[0].name


@pytest.fixture
def several(tmp_path) -> Path:
    """Two dances; one has two recordings, everything that can be said of it, a picture and an exclusion."""
    where = tmp_path / "several.db"
    facts = {"labels": ["b", "a"], "collection": "films", "notes": "from the film"}
    with open_catalogue(where) as known:
        new = recorded("Thriller", "anna.npz", digest("anna"))
        said = replace(new.recording, performer="Anna", url="https://example.org/1", date="2021-05")
        about = replace(new.dance, labels=("a", "b"), collection="films", notes="from the film")
        known.learn(NewRecording(about, said, PICTURE), [dance(1)])
        known.add(write_dance(tmp_path / "ben.npz", 1, dancer=2), dance="Thriller", performer="Ben", **facts)
        known.add(write_dance(tmp_path / "Waltz.npz", 2))
        known.exclude("Thriller", Span(0, 1), "walks on", recording="ben.npz")
    return where


def everything_said(known: Catalogue) -> tuple[object, ...]:
    posters = [known.poster(one.recording_id) for one in known.recordings()]
    segments = [(one.recording_id, one.start, one.end, one.reason) for one in known.exclusions()]
    return known.dances(), known.recordings(), posters, segments


@pytest.mark.parametrize("into", [False, True])
def test_all_that_is_said_of_dances_and_recordings_stays(several, own, tmp_path, into):
    """Ids, names, labels, notes, pictures and exclusions; and each dance has its recordings."""
    target = tmp_path / "new.db" if into else several
    with open_catalogue(several) as known:
        before = everything_said(known)
    done = retokenise_into(several, target, small_model()) if into else retokenise(several, small_model())

    assert 3 == done.recordings
    assert [(2, ("a", "b"), "from the film"), (1, (), None)] == [
        (one.recordings, one.labels, one.notes) for one in before[0]
    ]
    assert (PICTURE, [PICTURE, None, None]) == (before[2][0], before[2])
    with open_catalogue(target, model=own, create=False) as known:
        # Which dancers repeat themselves is a matter of the model's words.
        assert without_periods(before) == without_periods(everything_said(known))
        assert [] == known.verify()


def without_periods(said: tuple[object, ...]) -> list[object]:
    dances, recordings, *rest = said
    return [
        [replace(one, period_seconds=None, period_strength=None) for one in (*dances, *recordings)],
        *rest,
    ]


def test_a_dance_that_was_renamed_since_is_the_same_in_the_other_catalogue(several, own, tmp_path):
    """A new recording of it goes to the dance of its id, which keeps what is said of it there."""
    retokenise_into(several, tmp_path / "new.db", small_model())
    with open_catalogue(several) as known:
        known.edit([EditDance("Thriller", {"name": "Zombies", "notes": "other"})])
        known.add(write_dance(tmp_path / "cleo.npz", 1, dancer=3), dance="Zombies")
    retokenise_into(several, tmp_path / "new.db", small_model())
    with open_catalogue(tmp_path / "new.db", model=own) as known:
        assert ["anna.npz", "ben.npz", "cleo.npz"] == [one.file for one in known.recordings("Thriller")]
        assert "from the film" == known.dance("Thriller").notes


def test_there_and_back_gives_the_old_words(path):
    with open_catalogue(path) as known:
        before = [(name, words.words.tolist()) for name, words in known.fingerprints()]
    retokenise(path, small_model())
    retokenise(path, shipped())
    with open_catalogue(path) as known:
        after = [(name, words.words.tolist()) for name, words in known.fingerprints()]
    same = [np.mean(np.equal(a, b)) for (_, a), (_, b) in zip(before, after, strict=True)]

    assert min(same) > 0.97  # skeletons are stored to two millimetres


def test_progress_is_told_dance_by_dance(path):
    told: list[float] = []
    retokenise(path, small_model(), on_progress=told.append)

    assert pytest.approx([number / KNOWN for number in range(1, KNOWN + 1)]) == told


def test_a_catalogue_of_that_model_is_left_alone(path):
    before = path.read_bytes()
    done = retokenise(path, shipped())

    assert not done.changed
    assert KNOWN == done.recordings
    assert before == path.read_bytes()


def test_another_models_catalogue_is_refused_with_the_way_out(path, own):
    with pytest.raises(ModelMismatchError) as caught:
        open_catalogue(path, model=own, create=False)

    assert f"{path} holds words of the model {shipped().model_id}" in str(caught.value)
    assert f"dancematch retokenise {path} --model MODEL" in str(caught.value)


def test_dances_without_skeletons_are_named_and_nothing_is_lost(path):
    add_without_skeletons(path, "ghost")
    with pytest.raises(
        CatalogueError, match=r"1 of the 7 recordings .* keep no skeletons .*\(ghost \(ghost\)\); nothing"
    ):
        retokenise(path, small_model())

    assert OLD == vocabularies(path)
    with open_catalogue(path) as known:
        assert "ghost" in [found.name for found in known.dances()]


def test_dances_without_skeletons_are_dropped_if_asked(path, own):
    add_without_skeletons(path, "ghost")
    done = retokenise(path, small_model(), drop_missing=True)

    assert (KNOWN, ("ghost (ghost)",)) == (done.recordings, done.dropped)
    with open_catalogue(path, model=own) as known:
        assert [f"dance{number}" for number in range(KNOWN)] == [found.name for found in known.dances()]


def test_a_dance_too_short_for_the_new_model_is_named(path):
    """Too short for a word is as good as no skeleton: nobody's dance vanishes without a word."""
    store = Store(path, shipped().model_id)
    words = shipped().fingerprint(dance(9))
    store.add(recorded("blink", "blink", digest("blink"), 0.1), [StoredTrack(words, standing(2))])
    store.close()

    with pytest.raises(CatalogueError, match=r"\(blink \(blink\)\)"):
        retokenise(path, small_model())


def test_only_a_catalogue_that_is_there_is_retokenised(tmp_path):
    with pytest.raises(CatalogueError, match="there is no catalogue at"):
        retokenise(tmp_path / "none.db", small_model())

    assert not (tmp_path / "none.db").exists()


def test_a_change_in_between_is_noticed(path):
    """A dance that is added while the words are made would keep its old ones: nothing is replaced."""

    def add_one(share: float) -> None:
        if share == 1:
            add_without_skeletons(path, "late")

    with pytest.raises(CatalogueError, match="was changed meanwhile; no words are replaced"):
        retokenise(path, small_model(), on_progress=add_one)

    assert OLD == vocabularies(path)


def test_whoever_had_it_open_does_not_take_new_words_for_old_ones(path):
    """An open reader or writer of the old model is refused from then on, and does no harm."""
    with open_catalogue(path) as reader:
        assert reader.search(dance(3)).candidates
        retokenise(path, small_model())
        with pytest.raises(ModelMismatchError, match="dancematch retokenise"):
            reader.search(dance(3))
        clip = write_dance(path.parent / "new.npz", 20)
        with pytest.raises(ModelMismatchError, match="dancematch retokenise"):
            reader.add(clip)

    assert NEW == vocabularies(path)


def test_words_of_a_third_model_are_not_put_in(path):
    store = Store(path, None)
    foreign = ("dance0", StoredTrack(shipped().fingerprint(dance(0)), dancer=1))
    with pytest.raises(ModelMismatchError, match="only words of the model third"):
        store.replace_words("third", [foreign], generation=store.generation)
    store.close()


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start another process that knows these tests' builders."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
    )


HALTING = """
import sys, time
from dancematch.catalogue import store
from dancematch.model.tokeniser import load_model
from dancematch.pipeline.retokenise import retokenise

path, model, stage, halt = sys.argv[1:]
reached = 0

def halting(stage_here):
    global reached
    if stage_here == stage:
        reached += 1
        if reached == int(halt):
            print("halted", flush=True)
            time.sleep(60)

def write(words, original=store.words_row):
    halting("writing")
    return original(words)

store.words_row = write
retokenise(path, load_model(model), on_progress=lambda _share: halting("making"))
halting("done")
"""


@pytest.mark.parametrize(
    ("stage", "halt", "expected"),
    [("making", 3, OLD), ("writing", 1, OLD), ("writing", KNOWN, OLD), ("done", 1, NEW)],
)
def test_kill_9_leaves_all_old_words_or_all_new(path, own, stage, halt, expected):
    """Killed while words are made, between the first and last of them being written, or afterwards.

    Until then others read the old ones, and afterwards the catalogue works and takes another try.
    """
    process = start(HALTING, path, own, stage, halt)
    assert process.stdout is not None
    assert "halted\n" == process.stdout.readline()
    with open_catalogue(path, model=own if expected is NEW else None, create=False) as reader:
        assert KNOWN == len(reader.fingerprints())
        process.kill()
        process.communicate()
        assert "dance3" == reader.search(dance(3)).candidates[0].name

    assert expected == vocabularies(path)
    assert (expected is OLD) == retokenise(path, small_model()).changed
    assert NEW == vocabularies(path)


def test_the_command_says_what_it_did(path, own):
    def run(*arguments: str) -> str:
        done = CliRunner().invoke(dancematch, ["retokenise", str(path), "--model", str(own), *arguments])
        assert 0 == done.exit_code, done.exception
        return done.output

    add_without_skeletons(path, "ghost")
    first = run("--drop-missing")

    assert "ghost (ghost): dropped" in first
    assert f"{KNOWN} recording(s) are in words of {own} now" in first
    assert f"holds words of {own} already; nothing to do" in run()
    assert {
        "old_model": small_model().model_id, "new_model": small_model().model_id,
        "recordings": KNOWN, "dropped": [], "changed": False,
    } == json.loads(run("--json"))  # fmt: skip


def test_the_command_refuses_to_lose_dances(path, own):
    add_without_skeletons(path, "ghost")
    done = CliRunner().invoke(dancematch, ["retokenise", str(path), "--model", str(own)])

    assert isinstance(done.exception, CatalogueError)
    assert "--drop-missing" in str(done.exception)
    assert OLD == vocabularies(path)


def test_new_words_in_another_catalogue_leave_the_old_ones_at_work(path, own, new_address):
    """A run that is repeated brings along what has come since; labels and exclusions go along."""
    target = new_address()
    old = Store(path, None)
    with open_catalogue(path) as known:
        known.exclude("dance1", Span(0, 1), "walks on")
    first = retokenise_into(path, target, small_model())
    write_dance(path.parent / "late.npz", 9)
    with open_catalogue(path) as known:
        known.add(path.parent / "late.npz")
        again = retokenise_into(path, target, small_model())
        assert "dance3" == known.search(dance(3)).candidates[0].name

    assert Retokenised(shipped().model_id, small_model().model_id, KNOWN) == first
    assert KNOWN + 1 == again.recordings
    assert OLD == vocabularies(path)
    with open_catalogue(target, model=own, create=False) as new:
        assert "dance3" == new.search(dance(3)).candidates[0].name
        assert old.exclusions() == new.exclusions()
        assert [] == new.verify()
        assert old.dances() == new.dances()
        assert old.recordings() == new.recordings()
    old.close()


def test_what_cannot_come_along_is_named_at_the_end(path, tmp_path):
    """All others are in the new catalogue by then."""
    add_without_skeletons(path, "ghost")
    with pytest.raises(CatalogueError, match=r"\(ghost \(ghost\)\); all others are in the new catalogue"):
        retokenise_into(path, tmp_path / "new.db", small_model())

    assert NEW == vocabularies(tmp_path / "new.db")
    assert ("ghost (ghost)",) == retokenise_into(
        path, tmp_path / "new.db", small_model(), drop_missing=True
    ).dropped


def test_the_command_writes_into_another_catalogue(path, own, tmp_path):
    target = tmp_path / "new.db"
    done = CliRunner().invoke(dancematch, ["retokenise", str(path), "--model", str(own), "--to", str(target)])

    assert 0 == done.exit_code, done.exception
    assert f"{target}: has the {KNOWN} recording(s) in words of {own}" in done.output
    assert (OLD, NEW) == (vocabularies(path), vocabularies(target))

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from catalogue_samples import POSTER, edit, exclude, of_dance
from cli_samples import run_main
from dance_samples import MODEL, SECONDS_PER_WORD, dance, digest, random_words, recorded
from dancematch.catalogue.editing.requests import EditDance, EditRecording
from dancematch.catalogue.records import StoredTrack
from dancematch.catalogue.store import Store
from dancematch.catalogue.transfer import database_rows
from dancematch.catalogue.transfer.copying import copy_catalogue
from dancematch.catalogue.transfer.recording_rows import Copied
from dancematch.catalogue.verify import find_problems
from dancematch.errors import ModelMismatchError
from dancematch.motion import FPS
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, Motion, Span
from databases import PASSWORD, contents, fetch, run_sql

DANCES = 12  # recordings; two are of one dance


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch):
    monkeypatch.setattr(database_rows, "BATCH", 4)


@pytest.fixture
def source(address) -> str:
    """A catalogue with everything that one may hold."""
    store = Store(address, MODEL)
    unseen = dance(3).joints.copy()
    unseen[5, 4] = np.nan
    partly = np.linspace(0, 1, 20).reshape(10, 2)
    duet = [
        StoredTrack(
            Fingerprint(np.arange(20).reshape(10, 2) % 8, 8, SECONDS_PER_WORD, MODEL, 3.1, partly),
            Motion(unseen, FPS, BODY15, start=3.1),
            1.5,
            0.75,
        ),
        StoredTrack(random_words(7, 1), None, None, 0.1, dancer=3),
    ]
    store.add(
        recorded("ünï/1983", "a.mp4", digest("hash"), 20.0, "Halloween", "pop", "2020-01-01T00:00:00+00:00"),
        duet,
    )
    again = of_dance(
        "ünï/1983", "b.mp4", labels=("Halloween", "sung"), notes="Ünder the moon",
        performer="José", url="https://example.org/ü?v=1", date="1983-12", poster=POSTER,
    )  # fmt: skip
    store.add(again, [StoredTrack(random_words(9, 50))], join=True)
    for number in range(2, DANCES):
        store.add(
            recorded(f"d{number}", "x", digest(f"hash {number}"), 5.0), [StoredTrack(random_words(4, number))]
        )
    exclude(store, "d5", Span(0.1, 1.3), "walks on")
    edit(store, EditRecording("a.mp4", exclude=Span(4, 5)))
    store.close()
    return address


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request, tmp_path) -> str:
    """Where to; every engine with every other."""
    if request.param == "sqlite":
        return str(tmp_path / "target.db")
    return request.getfixturevalue("postgresql").new_schema()


def copied(source: str, target: str) -> Copied:
    return sum(copy_catalogue(source, target), Copied())


def test_a_copy_is_the_same_to_the_byte(source, target):
    """Words, visibility, skeletons, periods, exclusions, checksums, posters, and all that people say."""
    done = copied(source, target)
    store = Store(target, MODEL, create=False)

    assert Copied(DANCES, DANCES, 0, DANCES + 1, DANCES) == done
    assert [(1,)] == fetch(target, "SELECT count(*) FROM recordings WHERE poster IS NOT NULL")
    assert contents(source) == contents(target)
    assert [] == list(find_problems(store))
    original = Store(source, MODEL)
    assert original.identity != store.identity
    original.close()
    store.close()


def test_what_is_there_is_skipped_and_compared(source, target):
    """What came meanwhile is added, all else left as it is."""
    copied(source, target)
    store = Store(source, MODEL)
    store.add(recorded("new", "x", digest("new"), 5.0), [StoredTrack(random_words(4, 99))])
    store.close()

    assert Copied(DANCES + 1, 1, DANCES, 1, DANCES + 1) == copied(source, target)
    assert Copied(DANCES + 1, 0, DANCES + 1, 0, DANCES + 1) == copied(source, target)
    assert contents(source) == contents(target)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_rename_on_one_side_is_told_and_changes_nothing(source, target, side):
    """By every recording of the dance, on whichever side it was renamed."""
    copied(source, target)
    store = Store(source if side == "source" else target, MODEL)
    edit(store, EditDance("ünï/1983", {"name": "other"}))
    store.close()
    before = contents(target)
    done = copied(source, target)
    here = "other" if side == "source" else "ünï/1983"

    assert (DANCES - 2, [f"{here} (a.mp4)", f"{here} (b.mp4)"]) == (done.verified, sorted(done.failed))
    assert all("names, labels or segments are not the same in" in why for why in done.failed.values())
    assert before == contents(target)


def test_a_damaged_recording_spoils_none_of_the_same_file_name(source, target):
    """Two recordings of one dance, both called a.mp4: one is damaged, the other is copied."""
    run_sql(
        source,
        "UPDATE recordings SET file = 'a.mp4' WHERE file = 'b.mp4'",
        "UPDATE tracks SET words_checksum = 7 WHERE recording = 1",
    )
    done = copied(source, target)

    assert (DANCES - 1, ["ünï/1983 (a.mp4)"]) == (done.copied, list(done.failed))


def test_a_taken_name_spoils_nothing_else(source, target):
    other = Store(target, MODEL)
    other.add(recorded("d3", "x", digest("of other content"), 5.0), [StoredTrack(random_words(4, 99))])
    done = copied(source, target)

    assert (DANCES - 1, DANCES - 1, ["d3 (x)"]) == (done.copied, done.verified, list(done.failed))
    assert "'d3' is already the name of another dance in" in done.failed["d3 (x)"]
    assert [digest("of other content")] == [d.recording_id for d in other.recordings() if d.dance == "d3"]
    other.close()


def test_damage_is_not_copied(source, target):
    """Neither words that another word has taken the place of, nor a dance without dancers."""
    run_sql(
        source,
        "UPDATE tracks SET words = X'00000000000000000000000000000000' WHERE recording = 3",
        "DELETE FROM tracks WHERE recording = 5",
    )
    done = copied(source, target)

    assert (DANCES - 2, ["d2 (x)", "d4 (x)"]) == (done.verified, sorted(done.failed))
    assert "is damaged; 'dancematch doctor' says more" == done.failed["d2 (x)"]


@pytest.mark.parametrize(
    "change",
    ["words = X'00000000000000000000000000000000'", "start = 1", "dancer = 2"],
)
def test_what_differs_in_the_target_is_found(source, target, change):
    """By the bytes that are there, not by what is noted of them."""
    copied(source, target)
    run_sql(
        target,
        f"UPDATE tracks SET {change} WHERE recording = "  # noqa: S608  (our own)
        f"(SELECT key FROM recordings WHERE recording_id = '{digest('hash 7')}')",
    )
    done = copied(source, target)

    assert (DANCES - 1, ["d7 (x)"]) == (done.verified, list(done.failed))
    assert done.failed["d7 (x)"].startswith("is there, but is not the same in ")


def test_words_of_another_model_are_refused(source, target):
    Store(target, "new").close()
    with pytest.raises(ModelMismatchError, match="holds words of the model new, not of toy"):
        copied(source, target)


KILLED = """
import os, signal, sys
from dancematch.catalogue.transfer import copying, database_rows
database_rows.BATCH = 4
for number, _ in enumerate(copying.copy_catalogue(sys.argv[1], sys.argv[2])):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_copy_that_was_killed_goes_on(source, target):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", KILLED, source, target], env=environment, check=False)
    ((there,),) = fetch(target, "SELECT count(*) FROM recordings")
    done = copied(source, target)

    assert -9 == killed.returncode
    assert 0 < there < DANCES
    assert (DANCES - there, there, DANCES) == (done.copied, done.skipped, done.verified)
    assert contents(source) == contents(target)


def test_the_verb(source, target):
    """Counts, what was compared, exit code 1 if not all is there; and no password."""
    first, again = run_main("copy", source, target), run_main("copy", source, target, "--json")
    told = again.objects[0]

    assert (0, "") == (first.code, first.out)
    assert f"{DANCES} copied, 0 skipped, 0 failed" == first.err.splitlines()[0]
    assert f"{DANCES} of {DANCES} recordings are in " in first.err
    assert (0, DANCES, DANCES, {}) == (told["copied"], told["skipped"], told["verified"], told["failed"])
    store = Store(source, MODEL)
    store.remove("d2")
    store.add(recorded("d2", "x", digest("another"), 5.0), [StoredTrack(random_words(4, 99))])
    store.close()
    third = run_main("copy", source, target)
    assert (1, "d2 (x): 'd2' is already the name of another dance in") == (third.code, third.err[:52])
    assert not any(PASSWORD in answer.out + answer.err for answer in (first, again, third))


def test_nothing_is_copied_from_nowhere(tmp_path, target):
    answer = run_main("copy", tmp_path / "none.db", target)

    assert (1, f"there is no catalogue at {tmp_path / 'none.db'}; 'dancematch add' makes one") == (
        answer.code,
        answer.complaint,
    )
    assert not Path(target).exists()


def test_a_catalogue_is_not_copied_into_itself(source):
    """It would look like a backup, however the file is spelt."""
    spelt = (
        source
        if "://" in str(source)
        else f"{Path(source).parent}/../{Path(source).parent.name}/{Path(source).name}"
    )
    answer = run_main("copy", source, spelt)

    assert (1, True) == (
        answer.code,
        answer.complaint.endswith("cannot be copied into itself; name another target"),
    )
    assert [(DANCES,)] == fetch(source, "SELECT count(*) FROM recordings")

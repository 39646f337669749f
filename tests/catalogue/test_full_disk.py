"""A catalogue's file on a disk without any room: a file system of the test's own, filled to the last byte."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from test_catalogue_crash import MODEL, lines_of_a_killed_child, made

from catalogue_samples import exclude
from cli_samples import run_main
from dance_samples import dance, small_model, write_dance
from dancematch.catalogue.records import NewRecording, StoredTrack
from dancematch.catalogue.sql.full_disk import BALLAST_BYTES
from dancematch.catalogue.store import Store
from dancematch.catalogue.verify import find_problems
from dancematch.errors import DiskFullError
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.pipeline.catalogue import Catalogue
from dancematch.pipeline.tokenise import tokenise_motions
from dancematch.skeletons import BODY15
from dancematch.types import Fingerprint, Motion, Span

DISK_BYTES = 48 << 20
TEN_MINUTES = 600 * 30  # frames
FLOOR = ("--model", "floor")


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A small file system; nothing else is on it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system (root)")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Leave no byte free."""
    with (disk / "filler").open("ab", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            assert 0 == shutil.disk_usage(disk).free


def long_dance(name: str, frames: int = TEN_MINUTES) -> tuple[NewRecording, list[StoredTrack]]:
    """A dance with skeletons, of ten minutes if not told otherwise."""
    seed = int(name.rpartition("-")[2])
    rng = np.random.default_rng(seed)
    words = Fingerprint(rng.integers(256, size=(frames // 4, 14)), 256, 4 / 30, MODEL)
    return made(name)[0], [StoredTrack(words, Motion(rng.normal(size=(frames, 15, 3)), 30.0, BODY15))]


def names(store: Store) -> list[str]:
    return [dance.name for dance in store.dances()]


def files(disk: Path) -> set[str]:
    return {path.name for path in disk.iterdir() if path.stat().st_size > 4}  # SQLite leaves stumps of `-shm`


def test_every_verb_but_add_works_on_a_full_disk(disk, tmp_path):
    """List, search, doctor, exclude and remove, again and again; add says why not, and loses nothing."""
    catalogue = disk / "dances.db"
    clips = [write_dance(tmp_path / f"dance{seed}.npz", seed) for seed in range(5)]
    assert 0 == run_main("add", catalogue, *clips[:4], "--jobs", 1, *FLOOR).code
    fill(disk)
    done = [
        run_main("list", catalogue, "--json", *FLOOR),
        run_main("search", catalogue, clips[0], "--json", *FLOOR),
        run_main("doctor", catalogue),
        run_main("edit", catalogue, "dance2", "--exclude", 0, 1),
        run_main("remove", catalogue, "dance1", *FLOOR),
        run_main("remove", catalogue, "dance3", *FLOOR),
    ]
    refused = run_main("add", catalogue, clips[4], "--jobs", 1, *FLOOR)
    left = run_main("list", catalogue, "--json", *FLOOR)

    assert [(0, "")] * 6 == [(answer.code, answer.err if answer.code else "") for answer in done]
    assert 4 == len(done[0].objects)
    assert "dance0" == done[1].objects[0]["dancers"][0]["candidates"][0]["dance"]
    reason = "cannot be changed: there is no room left on the disk; nothing was changed: make room, then try"
    assert (1, 2) == (refused.code, len(refused.err.splitlines()))
    assert reason in refused.err
    assert ["dance0", "dance2"] == [line["name"] for line in left.objects]
    assert {"dances.db", "dances.db.ballast", "filler"} == files(disk)
    assert 0 == run_main("doctor", catalogue).code


def test_three_dances_of_ten_minutes_are_removed_from_a_full_disk_without_a_trace(disk):
    """At once; neither the file nor its log has a byte of their joints, and the room is held again."""
    catalogue = disk / "dances.db"
    dances = [long_dance(f"long-{number}") for number in range(3)]
    with closing(Store(catalogue, MODEL)) as store:
        store.add_many(dances)
        store.add(*made("short-1"))
    traces = [np.float16(tracks[0].motion.joints[9000:9002]).tobytes() for _, tracks in dances]
    assert all(trace in catalogue.read_bytes() for trace in traces)
    fill(disk)
    with closing(Store(catalogue, MODEL, create=False)) as store:
        store.remove_many(["long-0", "long-1", "long-2"])
        assert ["short-1"] == names(store)
        everything = b"".join(path.read_bytes() for path in disk.iterdir())

    assert [False] * 3 == [trace in everything for trace in traces]
    assert {"dances.db", "dances.db.ballast", "filler"} == files(disk)


def test_more_than_the_ballast_holds_is_refused_with_the_room_it_takes(disk):
    """Nothing is removed then; a part at a time goes, and in the end all."""
    catalogue = disk / "dances.db"
    wanted = [f"long-{number}" for number in range(6)]
    with closing(Store(catalogue, MODEL)) as store:
        for name in wanted:
            store.add(*long_dance(name))
    fill(disk)
    with closing(Store(catalogue, MODEL, create=False)) as store:
        with pytest.raises(DiskFullError, match=r"takes about 1[2-4] MB for a moment; nothing was removed"):
            store.remove_many(wanted)
        assert wanted == names(store)
        assert BALLAST_BYTES == (disk / "dances.db.ballast").stat().st_size
        store.remove_many(wanted[:3])
        store.remove_many(wanted[3:])

        assert [] == names(store)


def test_the_index_cache_gives_its_room(disk, monkeypatch):
    """It has to go with the dance in any case; then a removal may be larger than the ballast."""
    monkeypatch.setattr("dancematch.pipeline.cached_engine.MIN_CACHED_TRACKS", 1)
    model = small_model()
    monkeypatch.setattr("dancematch.pipeline.catalogue.load_model", lambda _: model)
    monkeypatch.setattr("dancematch.pipeline.catalogue.load_background", lambda *_: [])
    catalogue, cache = disk / "dances.db", disk / "dances.db.cache"
    words = tokenise_motions(model, {1: dance(0)})[1]
    dances = [long_dance(f"long-{number}") for number in range(6)]
    with closing(Store(catalogue, model.model_id)) as store:
        store.add_many([(one, [StoredTrack(words, tracks[0].motion)]) for one, tracks in dances])
    with closing(Catalogue(catalogue)) as known:
        known.engine()
    (cache / "more.npy").write_bytes(bytes(8 << 20))
    fill(disk)
    with closing(Catalogue(catalogue, create=False)) as known:
        known.remove_many(one.dance.name for one, _ in dances)

        assert [] == known.dances()
    assert not cache.exists()
    assert BALLAST_BYTES == (disk / "dances.db.ballast").stat().st_size


def remove_two(catalogue: Path, say: Callable[[str], object]) -> None:
    store = Store(catalogue, MODEL, create=False)
    say("open")
    store.remove_many(names(store)[:2])
    say("done")
    store.close()
    signal.pause()


def test_kill_9_while_dances_are_removed_from_a_full_disk_leaves_both_or_none(disk):
    """At random moments of the time that it takes; what is left is whole, and the next removal finds room."""
    catalogue = disk / "dances.db"
    chance = random.Random(0)  # noqa: S311  (moments, not secrets)
    known = [f"dance-{number:03}" for number in range(40)]
    with closing(Store(catalogue, MODEL)) as store:
        store.add_many([long_dance(name, frames=1500) for name in known])
        fill(disk)
        began = time.perf_counter()
        store.remove_many(known[:2])
        usual, known = time.perf_counter() - began, known[2:]
    # At once, somewhere in the middle, and after the child said "done": a busy machine has all three.
    moments = [(1, 0.0)] * 4 + [(1, chance.uniform(0, usual)) for _ in range(8)] + [(2, 0.0)] * 4
    interrupted = 0
    for lines, delay in moments:
        lines_of_a_killed_child(lambda say: remove_two(catalogue, say), lines, delay)
        with closing(Store(catalogue, MODEL, create=False)) as store:
            left, problems = names(store), list(find_problems(store))
            assert left in ((known, known[2:]) if lines == 1 else (known[2:],))
            assert [] == problems
            if left == known:
                interrupted += 1
                store.remove_many(known[:2])
        known = known[2:]
    with closing(Store(catalogue, MODEL, create=False)) as store:
        assert known == names(store)
    assert interrupted > 0  # the test itself: some were killed before the end


def test_the_ballast_is_made_by_the_first_dance_and_not_by_looking(tmp_path):
    """Where it is in the way it can be deleted; one that is half made is completed; it is no clip."""
    catalogue, ballast = tmp_path / "dances.db", tmp_path / "dances.db.ballast"
    with closing(Store(catalogue, MODEL)) as store:
        names(store)
        assert not ballast.exists()
        store.add(*made("a-1"))
        assert BALLAST_BYTES == ballast.stat().st_size <= 512 * ballast.stat().st_blocks
        ballast.write_bytes(b"half")
        store.add(*made("a-2"))
        assert BALLAST_BYTES == ballast.stat().st_size
        ballast.unlink()
        store.remove("a-1")
        assert not ballast.exists()
    clip = write_dance(tmp_path / "clip.npz", 1)

    assert [clip] == find_clips([tmp_path])


def test_where_the_ballast_does_not_fit_dances_are_added_without(disk):
    with (disk / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, DISK_BYTES - BALLAST_BYTES)
    with closing(Store(disk / "dances.db", MODEL)) as store:
        store.add(*made("a-1"))

        assert ["a-1"] == names(store)
    assert {"dances.db", "filler"} == files(disk)


def test_a_catalogue_that_was_opened_on_a_full_disk_goes_on_as_usual_when_there_is_room(disk):
    """Until then it is kept from others only for the moments in which it is read."""
    catalogue = disk / "dances.db"
    with closing(Store(catalogue, MODEL)) as store:
        store.add(*made("a-1"))
    fill(disk)
    with closing(Store(catalogue, MODEL, create=False)) as first:
        assert ["a-1"] == names(first)
        with closing(Store(catalogue, MODEL, create=False)) as second:
            assert ["a-1"] == names(second) == names(first)
        with pytest.raises(DiskFullError):
            first.add(*made("a-2"))
        (disk / "filler").unlink()
        first.add(*made("a-2"))
        with closing(Store(catalogue, MODEL, create=False)) as second:
            exclude(second, "a-2", Span(0, 1))

            assert ["a-1", "a-2"] == names(second) == names(first)

"""The engine as it lives: changed, kept in a folder, opened again, searched by several threads at once."""

import itertools
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dance_samples import random_words, toy_codebook, words
from dancematch.errors import CatalogueError, InputError
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import DEFAULT_SETTINGS, DanceFilter
from dancematch.search.stage1 import shortlist
from dancematch.search.words import array_folder as folder_parts
from dancematch.search.words.index_cache import read_stamp
from dancematch.tracks import KnownTrack, pack_tracks
from dancematch.types import Fingerprint, Match

CROWD = [random_words(30, 900 + n) for n in range(25)]
MANY = replace(DEFAULT_SETTINGS, shortlist="all")


def known(key: int, seed: int | None = None, name: str | None = None) -> KnownTrack:
    """A dancer whose words are the key's or another seed's; every third is long enough for windows."""
    made = random_words(12 if key % 3 else 40, key if seed is None else seed)
    return KnownTrack(
        key, name or f"dance {key % 7}-{key}", 1, made, ("even", "all") if key % 2 == 0 else ("all", "odd"),
        collection="b" if key % 5 == 0 else None, period_seconds=2.0 if key % 4 == 0 else None,
    )  # fmt: skip


def engine(*dancers: KnownTrack) -> Engine:
    made = Engine(toy_codebook(), background=CROWD)
    made.add(dancers)
    return made


def asked(seed: int) -> list[Query]:
    clip = random_words(14, seed)
    return [Query(clip), Query(words(clip.words[:, ::-1]), mirrored=True)]


def answers(made: Engine, seed: int = 5) -> list[list[Match]]:
    filters = (DanceFilter(), DanceFilter(label="odd"), DanceFilter(collection="b", periodic=True))
    return [made.search(asked(seed), limit=30, only=only) for only in filters]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 15)), max_size=14), st.integers(0, 1000))
def test_whatever_came_and_went_the_matches_are_a_fresh_engines(tmp_path, steps, seed):
    """Added, removed, saved and opened in any order: as if entered just now, in the order of their coming."""
    changed, living = engine(), {}
    for number, (adds, key) in enumerate(steps):
        if adds and key not in living:
            living[key] = known(key)
            changed.add([living[key]])
        elif not adds:
            living.pop(key, None)
            changed.remove([key])
        if number % 4 == 3:
            changed.save(tmp_path / "cache", str(number))
            changed = Engine.load(tmp_path / "cache", str(number), toy_codebook(), background=CROWD)

    assert answers(engine(*living.values()), seed) == answers(changed, seed)
    assert len(living) == changed.tracks


def test_many_at_once_or_one_by_one_is_the_same():
    dancers = [known(key) for key in range(40)]
    at_once, one_by_one = engine(), engine()
    at_once.enter(pack_tracks(dancers))
    for one in dancers:
        one_by_one.add([one])

    assert answers(at_once) == answers(one_by_one)


def test_packed_words_of_other_channels_are_refused():
    strange = KnownTrack(1, "a", 1, random_words(12, 1, channels=3))

    with pytest.raises(InputError, match="words of 2 channels were expected, got 3"):
        engine().enter(pack_tracks([strange]))


@pytest.mark.parametrize("seed", range(6))
def test_the_shortlist_leaves_out_nothing_better(monkeypatch, seed):
    """Ten of four hundred dances: those with the ten best histograms of all, as brute force finds them."""
    monkeypatch.setattr("dancematch.search.settings.CAP", 10)
    monkeypatch.setattr(shortlist, "PROPOSED_TRACKS", 1)
    rng = np.random.default_rng(seed)
    dances = [(f"d{n % 300}", random_words(int(rng.integers(8, 20)), 1000 * seed + n)) for n in range(400)]
    made = Engine(toy_codebook(), dances, background=CROWD)
    every = {match.dance_id: match for match in made.search(asked(seed), limit=400, settings=MANY)}
    capped = {match.dance_id: match for match in made.search(asked(seed), limit=400)}
    best = best_histograms(made, asked(seed))[:10]
    names = [name for name, _ in dances]
    plain = [name for name in best if names.count(name) == 1 and len(dict(dances)[name]) < 18]

    assert set(best) <= set(capped)
    assert len(capped) <= 12  # and one more a reading by three words in a row
    assert plain  # of one entry: these have the very score that looking at everything gives them
    assert [every[name].score for name in plain] == [capped[name].score for name in plain]


def best_histograms(made: Engine, queries: list[Query]) -> list[str]:
    """Dances by their best entry for either reading, by the plain scores of all entries."""
    index, best = made._index, {}
    for query in queries:
        reading = shortlist.Variant(query.fingerprint, toy_codebook(), made._word_statistics())
        top = index.columns.scores(reading.counts, reading.seen)
        for row, score in zip(top.rows.tolist(), top.scores.tolist(), strict=True):
            track = int(index.entries.bounds(np.array([row])).tracks[0])
            if track >= 0:
                name = index.entries.names[int(index.entries.dances_of(np.array([track]))[0])]
                best[name] = max(best.get(name, -1.0), score)
    return sorted(best, key=lambda name: -best[name])


def test_filtered_searches_are_those_of_a_smaller_catalogue_in_which_words_are_as_rare(monkeypatch):
    """With a short list, too, a filter finds the best of its own dances and all of them if they are few."""
    monkeypatch.setattr("dancematch.search.settings.CAP", 5)
    made = engine(*(known(key) for key in range(200)))
    odd = made.search(asked(3), limit=300, only=DanceFilter(label="odd"), settings=MANY)
    few = made.search(asked(3), limit=300, only=DanceFilter(label="odd"))

    assert 100 == len(odd)
    assert {match.dance_id for match in few} <= {match.dance_id for match in odd}
    assert 5 <= len(few) <= 5 + 2 * shortlist.PROPOSED_TRACKS


def test_threads_search_while_another_adds_and_removes():
    """What was there from the beginning is found first by every search, whatever comes and goes meanwhile."""
    target = KnownTrack(10_000, "the one", 1, random_words(20, 4242))
    made = engine(target, *(known(key) for key in range(30)))
    done = Event()

    def search() -> int:
        count = 0
        while not done.is_set() or count < 3:
            assert "the one" == made.search([Query(target.fingerprint)], limit=3)[0].dance_id
            count += 1
        return count

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(search) for _ in range(3)]
        try:
            for key in range(100, 160):
                made.add([known(key)])
                made.remove([key - 10])
        finally:
            done.set()

    assert all(reader.result() >= 3 for reader in readers)


@pytest.fixture
def kept(tmp_path) -> tuple[Engine, Path]:
    made = engine(*(known(key) for key in range(40)))
    made.remove([3, 17])
    made.save(tmp_path / "cache", "7")
    return made, tmp_path / "cache"


def opened(folder: Path, stamp: str = "7", background: list[Fingerprint] = CROWD) -> Engine | None:
    return Engine.load(folder, stamp, toy_codebook(), background=background)


def test_an_opened_engine_goes_on_where_the_saved_one_was(kept):
    made, folder = kept
    found = opened(folder)

    assert answers(made) == answers(found)
    for one in (made, found):
        one.remove([5])
        one.add([known(50), known(3)])
    assert answers(made) == answers(found)


def test_only_the_same_state_model_and_background_are_opened(kept, tmp_path):
    folder = kept[1]

    assert opened(folder, "8") is None
    assert opened(tmp_path / "nowhere") is None
    assert opened(folder, background=CROWD[1:]) is None
    assert Engine.load(folder, "7", toy_codebook(("arms", "feet")), background=CROWD) is None
    assert ("7", None) == (read_stamp(folder), read_stamp(tmp_path / "nowhere"))


def test_an_engine_without_dances_can_be_kept(tmp_path):
    engine().save(tmp_path / "cache", "0")
    found = opened(tmp_path / "cache", "0")

    assert [] == found.search(asked(1))
    found.add([known(1)])
    assert answers(engine(known(1))) == answers(found)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_missing_or_short_file_counts_as_no_cache(kept):
    """Whichever file it is."""
    made, folder = kept
    for name in files(folder):
        path = folder / name
        whole = path.read_bytes()
        for left in (whole[: len(whole) // 2], b"", None):
            path.unlink() if left is None else path.write_bytes(left)
            if name == "names.json" and left == whole[: len(whole) // 2]:
                continue
            assert opened(folder) is None, (name, left)
        path.write_bytes(whole)
    assert answers(made) == answers(opened(folder))


@pytest.mark.parametrize("large", [None, 0])
def test_damage_never_breaks_anything(kept, monkeypatch, large):
    """A damaged file is no cache; a large one may be one that can be searched and changed."""
    if large is not None:
        monkeypatch.setattr(folder_parts, "LARGE", large)
    folder = kept[1]
    checked = set()
    arrays = {name for name in files(folder) if name.endswith(".npy")}
    arrays -= {name for name in arrays if not np.load(folder / name).size}  # nothing there to be damaged
    for name in sorted(arrays):
        path = folder / name
        whole = path.read_bytes()
        middle = max(128, len(whole) // 2)
        path.write_bytes(whole[:middle] + bytes(255 - byte for byte in whole[middle:]))
        found = opened(folder)
        if found is None:
            checked.add(name)
        else:
            found.search(asked(1), limit=50)
            found.add([known(60)])
            found.remove([1, 2, 4, 5, 6, 7, 8])
            found.search(asked(1), limit=50)
        path.write_bytes(whole)
    trusted = {
        f"engine-{n}.npy" for n in ("words", "seen", "bones", "keys", "starts", "occurrences", "times")
    }
    expected = arrays & (trusted | {"places.npy", "nibbles.npy"}) if large == 0 else set()
    assert "nibbles.npy" in arrays
    assert expected == arrays - checked


@pytest.mark.parametrize("place", range(10, 128, 7))
def test_a_damaged_header_counts_as_no_cache(kept, place):
    """Whatever numpy makes of it: its headers are Python, which can break in many ways."""
    for name in (name for name in files(kept[1]) if name.endswith(".npy")):
        path = kept[1] / name
        whole = bytearray(path.read_bytes())
        whole[place] ^= 1
        path.write_bytes(whole)
        opened(kept[1])
        whole[place] ^= 1
        path.write_bytes(whole)

    assert opened(kept[1]) is not None


@pytest.mark.parametrize("change", [{"format": 9}, {"tracks": 7}, {"runs": [[1, 2, 3]]}, {"background": "x"}])
def test_a_document_that_says_otherwise_counts_as_no_cache(kept, change):
    path = kept[1] / "engine.json"
    folder_parts.write_json(path, folder_parts.read_json(path) | change)

    assert opened(kept[1]) is None


@pytest.mark.parametrize("name", ["engine.json", "dances.json", "columns.json"])
def test_a_flipped_bit_in_a_document_counts_as_no_cache(kept, name):
    """Wherever it is: another letter of a name would be as good a name."""
    path = kept[1] / name
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 50)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        assert opened(kept[1]) is None, place
    path.write_bytes(whole)

    assert opened(kept[1]) is not None


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CatalogueError, match="holds other things"):
        engine().save(tmp_path, "1")

    assert ["thesis.txt"] == files(tmp_path)


def test_who_has_the_old_cache_open_goes_on_with_it(kept):
    made, folder = kept
    found = opened(folder)
    before = answers(found)
    made.add([known(70)])
    made.save(folder, "8")

    assert before == answers(found)
    assert (None, 39) == (opened(folder), opened(folder, "8").tracks)
    assert ["cache"] == files(folder.parent)


SAVING = """
import sys
sys.path[:0] = sys.argv[2:]
from test_engine_kept import engine, known, opened
from pathlib import Path
made = opened(Path(sys.argv[1]))
made.add([known(key) for key in range(100, 130)])
print("now", flush=True)
while True:
    made.save(sys.argv[1], "8")
"""


def test_a_process_killed_while_saving_leaves_a_whole_cache_or_none(kept):
    """Six kills at any moment: each time what can be opened is the old state or the new one, in full."""
    _, folder = kept
    states = {"7": answers(opened(folder)), "8": None}
    later = opened(folder)
    later.add([known(key) for key in range(100, 130)])
    states["8"] = answers(later)
    for delay in (0.0, 0.004, 0.01, 0.02, 0.04, 0.07):
        command = [sys.executable, "-c", SAVING, str(folder), *map(str, Path(__file__).parents[:2])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as saver:
            assert b"now\\n" == saver.stdout.readline().replace(b"\n", b"\\n")
            time.sleep(delay)
            saver.kill()
        stamp = read_stamp(folder)
        if stamp is None:  # killed between the two renames: nothing is there, and it is made again
            later.save(folder, "8")
            stamp = "8"
        assert states[stamp] == answers(opened(folder, stamp))
        kept[0].save(folder, "7")
    for left in itertools.chain(folder.parent.glob(".cache.*.part")):
        os.utime(left, (0, 0))
    kept[0].save(folder, "7")
    assert ["cache"] == files(folder.parent)

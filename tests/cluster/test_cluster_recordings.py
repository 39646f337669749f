"""Shards answer as one engine does where dances have several recordings; engines without a catalogue."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dance_samples import random_words, toy_codebook
from dancematch.catalogue.records import ShardOf
from dancematch.catalogue.sql.database import State
from dancematch.cluster.shard import CatalogueSource, Shard
from dancematch.cluster.sharded_search import ask_all, prepare_shards, search_shards
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import ALL_DANCES, DEFAULT_SETTINGS, SETTINGS, DanceFilter
from dancematch.tracks import KnownTrack
from dancematch.types import BONE_NUMBERS, Fingerprint

CODEBOOK = toy_codebook()


def moving(steps: int, seed: int) -> Fingerprint:
    """Random words, and bones that point anywhere."""
    bones = np.random.default_rng(seed).integers(-60, 60, (steps, BONE_NUMBERS)).astype(np.int8)
    return replace(random_words(steps, seed), bones=bones)


BACKGROUND = [moving(12, 10_000 + number) for number in range(30)]


class FilledEngine:
    """Stands in for the engine of a catalogue's shard: filled, and never changed."""

    def __init__(self, tracks: Sequence[KnownTrack], background: Sequence[Fingerprint]) -> None:
        self.state = State(1, "filled")
        self._engine = Engine(CODEBOOK, background=background)
        self._engine.add(tracks)

    def latest(self) -> Engine:
        """The engine."""
        return self._engine


class FilledShards:
    """Shards in this process, each with its share of the dances."""

    def __init__(self, tracks: Sequence[KnownTrack], count: int) -> None:
        self.count, self.shards = count, []
        for number in range(count):
            own = [track for track in tracks if ShardOf(number, count).holds(track.dance_key)]
            shard = Shard(CatalogueSource("nowhere", CODEBOOK, BACKGROUND), ShardOf(number, count))
            shard._cached_engine = FilledEngine(own, () if number else BACKGROUND)
            self.shards.append(shard)

    def ask(self, method, arguments):
        """As Ray would, one after the other."""
        return {number: getattr(self.shards[number], method)(*given) for number, given in arguments.items()}


def recordings(seed: int) -> list[KnownTrack]:
    """Sixty dances with one to thirty recordings in any order, some of two dancers, some the same twice."""
    rng, tracks = np.random.default_rng(seed), []
    counts = rng.choice([1, 1, 2, 5, 30], 60)
    places = [(number, place) for number, count in enumerate(counts.tolist()) for place in range(count)]
    for number, place in (places[at] for at in rng.permutation(len(places)).tolist()):
        for dancer in range(1, int(rng.integers(2, 4))):
            made = moving(int(rng.integers(6, 30)), int(rng.integers(300)))
            one = KnownTrack(
                len(tracks), f"d{number}", dancer, made, ("even", "all") if number % 2 else ("all",),
                period_seconds=1.0 if number % 3 else None, dance_key=number, recording_key=place,
            )  # fmt: skip
            tracks.append(one)
    return tracks


FILTERS = (ALL_DANCES, DanceFilter(label="even"), DanceFilter(periodic=True), DanceFilter(label="none"))


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("chosen", ["default", "paper"])
def test_shards_find_what_one_engine_finds(monkeypatch, count, chosen):
    """To the last bit, whatever is filtered; the shortlist is short and trigrams and synchrony add to it."""
    monkeypatch.setattr("dancematch.search.settings.CAP", 12)
    tracks = recordings(count)
    whole = FilledEngine(tracks, BACKGROUND).latest()
    shards = FilledShards(tracks, count)
    view = prepare_shards(shards, ask_all(shards, "report"), CODEBOOK, BACKGROUND, DEFAULT_SETTINGS)

    several = 0
    for seed, only in enumerate(FILTERS):
        asked = [Query(moving(15, seed)), Query(moving(15, seed + 1), mirrored=True)]
        expected = whole.search(asked, limit=60, settings=SETTINGS[chosen], only=only)
        assert expected == search_shards(shards, view, asked, 60, SETTINGS[chosen], only)
        several += sum(len(match.recordings) > 1 for match in expected)
    assert several > 10


def test_recordings_are_counted_over_all_shards():
    tracks = recordings(9)
    shards = FilledShards(tracks, 3)
    view = prepare_shards(shards, ask_all(shards, "report"), CODEBOOK, BACKGROUND, DEFAULT_SETTINGS)
    entries = FilledEngine(tracks, BACKGROUND).latest().index.entries
    allowed = entries.recordings_among(entries.allowed(ALL_DANCES), ALL_DANCES, 4)

    expected = (entries.dances, entries.recordings, allowed, entries.tracks_count)
    assert expected == view.index_size[2:]

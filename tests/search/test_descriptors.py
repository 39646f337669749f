"""Descriptors in an approximate index: against slow references, and what they put on the shortlist."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import random_words, toy_codebook, words
from dancematch.search import engine as engine_module
from dancematch.search import settings as search_settings
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import CAP, DanceFilter
from dancematch.search.stage1 import descriptor_index
from dancematch.search.stage1.descriptor_index import FLOOR, LAG_STEPS, count_votes
from dancematch.search.stage1.descriptors import AVERAGED, HOP, LENGTH, describe_tracks
from dancematch.search.stage1.shortlist import find_candidates
from dancematch.search.words.word_store import Bones
from dancematch.tracks import KnownTrack
from dancematch.types import BONE_NUMBERS, BONES_UNSEEN, Fingerprint

LIMIT = CAP + 40  # tracks from which on there is an index, in these tests


@pytest.fixture(autouse=True)
def _low_limit(monkeypatch):
    monkeypatch.setattr(search_settings, "SYNCHRONY_TRACKS", LIMIT)
    monkeypatch.setattr(engine_module, "SYNCHRONY_TRACKS", LIMIT)


def draw_bones(rng: np.random.Generator, steps: int, unseen: float = 0.0) -> np.ndarray:
    """Bones that swing, some of them unseen."""
    times, turns = np.arange(steps)[:, None], rng.uniform(0.2, 1.2, (3, 1, BONE_NUMBERS))
    phases = rng.uniform(0, 7, turns.shape)
    bones = np.round(25 * np.sin(times * turns + phases).sum(axis=0)).astype(np.int8)
    hidden = np.repeat(rng.random((steps, BONE_NUMBERS // 2)) < unseen, 2, axis=1)
    return np.where(hidden, BONES_UNSEEN, bones).astype(np.int8)


def test_a_descriptor_is_the_averaged_bones_of_unit_length() -> None:
    """Of every track long enough, one every few steps; an unseen bone is 0, a still second has none."""
    rng = np.random.default_rng(1)
    tracks = [draw_bones(rng, steps, 0.2) for steps in (40, LENGTH - 1, LENGTH)]
    tracks.append(np.zeros((40, BONE_NUMBERS), np.int8))
    offsets = np.cumsum([0, *map(len, tracks)])
    found = describe_tracks(Bones(np.concatenate(tracks), offsets), HOP)

    expected = [(0, first) for first in range(0, 40 - LENGTH + 1, HOP)] + [(2, 0)]
    assert expected == list(zip(found.tracks.tolist(), found.firsts.tolist(), strict=True))
    for values, (track, first) in zip(found.values, expected, strict=True):
        part = tracks[track][first : first + LENGTH].astype(float).reshape(-1, AVERAGED, BONE_NUMBERS)
        part[part == BONES_UNSEEN] = np.nan
        seen = np.isfinite(part).sum(axis=1)
        rows = np.where(seen > 0, np.nansum(part, axis=1) / np.maximum(seen, 1), 0).ravel()
        np.testing.assert_allclose(rows / np.linalg.norm(rows), values, atol=1e-5)


def slow_votes(firsts: list[int], hits: list[list[tuple[int, int, float]]]) -> dict[int, float]:
    """The best sum of any lag per track, by plain loops over (track, step, similarity) per descriptor."""
    of_tracks: dict[int, list[tuple[int, int, float]]] = {}
    for first, own in zip(firsts, hits, strict=True):
        for track, step, similar in own:
            if similar > FLOOR:
                of_tracks.setdefault(track, []).append((step - first, step, (similar - FLOOR) ** 2))
    best = {}
    for track, votes in of_tracks.items():
        sums = []
        for anchor, _, _ in votes:
            by_step: dict[int, float] = {}
            for lag, step, weight in votes:
                if anchor <= lag <= anchor + LAG_STEPS:
                    by_step[step] = max(by_step.get(step, 0), weight)
            sums.append(sum(by_step.values()))
        best[track] = max(sums)
    return best


HIT = st.tuples(st.integers(0, 3), st.integers(0, 6).map(lambda n: HOP * n), st.floats(0, 1, width=16))


@given(st.lists(st.lists(HIT, min_size=4, max_size=4), min_size=1, max_size=8))
@settings(deadline=None, max_examples=60)
def test_votes_for_one_lag_add_up_as_in_a_slow_reference(hits) -> None:
    """Each descriptor of a track counts once per lag, by its best hit; the tracks come best first."""
    firsts = np.arange(len(hits), dtype=np.int64) * 3
    ids = np.array([[(track << 16) + step for track, step, _ in own] for own in hits], np.int64)
    similar = np.array([[value for *_, value in own] for own in hits], np.float32)
    found = count_votes(firsts, similar, ids)

    expected = slow_votes(firsts.tolist(), hits)
    assert expected == pytest.approx(
        dict(zip(found.tracks.tolist(), found.scores.tolist(), strict=True)), abs=1e-4
    )
    assert sorted(found.scores.tolist(), reverse=True) == found.scores.tolist()


def other_words_same_bones(count: int = LIMIT + 60) -> tuple[Engine, Query, str]:
    """An engine in which the last dance has the query's bones and none of its words."""
    rng = np.random.default_rng(9)
    made = [replace(random_words(100, n), bones=draw_bones(rng, 100)) for n in range(count)]
    last = replace(words(np.zeros((100, 2), int)), bones=draw_bones(rng, 100))
    query = Query(replace(words(rng.integers(1, 8, size=(60, 2))), bones=last.bones[20:80]))
    engine = Engine(toy_codebook(), [(f"dance{n}", one) for n, one in enumerate([*made, last])])
    return engine, query, f"dance{count}"


def shortlisted(
    engine: Engine, query: Query, only: DanceFilter = search_settings.ALL_DANCES
) -> dict[str, int]:
    """The dances on the shortlist, and where in each the query is looked for."""
    found = find_candidates(engine.index, engine._variants([query]), search_settings.DEFAULT_SETTINGS, only)
    names = [engine.index.entries.names[dance] for dance in found.dances.tolist()]
    return dict(zip(names, found.segments[0].firsts.tolist(), strict=True))


def test_what_moves_alike_in_other_words_is_shortlisted_once_the_index_is_built(tmp_path: Path) -> None:
    """At its place; not before, not where a filter leaves it out, and again from the index cache."""
    engine, query, name = other_words_same_bones()

    assert name not in shortlisted(engine, query)
    engine.build_descriptors()
    assert abs(shortlisted(engine, query)[name] - 20) <= LAG_STEPS
    assert name not in shortlisted(engine, query, DanceFilter(but=frozenset({name})))
    engine.save(tmp_path / "cache", "stamp")
    opened = Engine.load(tmp_path / "cache", "stamp", toy_codebook())
    assert opened is not None
    assert shortlisted(engine, query) == shortlisted(opened, query)
    assert not opened.wants_descriptors


def test_tracks_are_added_and_removed_while_the_index_is_there() -> None:
    engine, query, name = other_words_same_bones()
    engine.build_descriptors()
    like = replace(words(np.zeros((80, 2), int)), bones=query.fingerprint.bones[np.arange(80) % 60])
    engine.add([KnownTrack(10**6, "new", 1, like, recording_key=10**6)])

    assert {"new", name} <= set(shortlisted(engine, query))
    engine.remove([10**6])
    assert "new" not in shortlisted(engine, query)
    assert name in shortlisted(engine, query)


def test_tracks_that_come_while_the_index_is_built_are_in_it(monkeypatch) -> None:
    engine, query, _ = other_words_same_bones()
    like: Fingerprint = replace(words(np.zeros((60, 2), int)), bones=query.fingerprint.bones)
    train = descriptor_index._train

    def add_meanwhile(*arguments):
        engine.add([KnownTrack(10**6, "new", 1, like, recording_key=10**6)])
        return train(*arguments)

    monkeypatch.setattr(descriptor_index, "_train", add_meanwhile)
    engine.build_descriptors()

    assert "new" in shortlisted(engine, query)


def test_without_faiss_words_propose_alone(tmp_path: Path, monkeypatch) -> None:
    """Also on an index cache that was written with it."""
    engine, query, name = other_words_same_bones()
    before = shortlisted(engine, query)
    engine.build_descriptors()
    engine.save(tmp_path / "cache", "stamp")
    monkeypatch.setattr(descriptor_index, "can_index", lambda: False)
    monkeypatch.setattr(engine_module, "can_index", lambda: False)
    opened = Engine.load(tmp_path / "cache", "stamp", toy_codebook())
    assert opened is not None
    opened.build_descriptors()

    assert before == shortlisted(opened, query)
    assert name not in before


def test_a_small_catalogue_has_no_index() -> None:
    """Up to the limit synchrony is measured with every track."""
    engine, query, name = other_words_same_bones(LIMIT - 1)
    engine.build_descriptors()

    assert not engine.index.descriptors.ready
    assert name in shortlisted(engine, query)

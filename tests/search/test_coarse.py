"""The coarse pass by synchrony: against a slow reference, and what it puts on the shortlist."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import random_words, toy_codebook, words
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import CAP, DEFAULT_SETTINGS, Settings
from dancematch.search.stage1.coarse_synchrony import STEPS, average_steps, score_coarsely
from dancematch.search.stage2.synchrony import LEAST_SECONDS, LEAST_SHARE, TREMBLE
from dancematch.search.words.word_store import Bones
from dancematch.tracks import PackedWords
from dancematch.types import BONE_NUMBERS, BONE_SCALE, BONES_UNSEEN

SECONDS = 4 / 30


def draw_bones(rng: np.random.Generator, steps: int, unseen: float = 0.0) -> np.ndarray:
    """Bones that wander, some of them unseen."""
    walk = np.cumsum(rng.normal(0, 12, (steps, BONE_NUMBERS)), axis=0)
    bones = np.clip(np.round(walk - walk.mean(axis=0)), -127, 127).astype(np.int8)
    hidden = np.repeat(rng.random((steps, BONE_NUMBERS // 2)) < unseen, 2, axis=1)
    return np.where(hidden, BONES_UNSEEN, bones).astype(np.int8)


def pack_bones(tracks: list[np.ndarray]) -> PackedWords:
    """Tracks with bones alone."""
    offsets = np.cumsum([0, *map(len, tracks)]).astype(np.int64)
    words = np.zeros((offsets[-1], 1), np.uint8)
    clocks = np.tile([0.0, SECONDS], (len(tracks), 1))
    return PackedWords(words, words.copy(), offsets, clocks, np.concatenate(tracks))


def slow_rows(bones: np.ndarray) -> np.ndarray:
    """Averages by plain loops."""
    rows = []
    for first in range(0, len(bones) - STEPS + 1, STEPS):
        part = bones[first : first + STEPS].astype(float)
        columns = [column[column != BONES_UNSEEN] for column in part.T]
        rows.append([round(column.mean()) if len(column) else 0 for column in columns])
    return np.array(rows, float).reshape(-1, BONE_NUMBERS)


def slow_score(query: np.ndarray, track: np.ndarray) -> tuple[float, set[int]]:
    """The best score, and every offset that has it."""
    own, theirs = slow_rows(query), slow_rows(track)
    if not len(own) or not len(theirs):
        return 0.0, {0}
    shorter = min(len(own), len(theirs))
    needed = int(np.ceil(min(LEAST_SECONDS / (SECONDS * STEPS), LEAST_SHARE * shorter) - 1e-3))
    tremble, scores = TREMBLE * BONE_SCALE**2, {}
    for lag in range(-len(own) + 1, len(theirs)):
        first, end = max(0, -lag), min(len(own), len(theirs) - lag)
        if end - first < needed:
            continue
        a, b = own[first:end], theirs[first + lag : end + lag]
        product = (a * b).sum()
        energy = ((a**2).sum(axis=1) + tremble).sum() * ((b**2).sum(axis=1) + tremble).sum()
        scores[STEPS * lag] = max(0.0, product) ** 2 / energy * (end - first) if product > 0 else 0.0
    best = max(scores.values())
    return best, {lag for lag, score in scores.items() if score >= best * (1 - 1e-5)} | (
        {0} if not best else set()
    )


@given(seed=st.integers(0, 2**32 - 1), lengths=st.lists(st.integers(1, 150), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_agrees_with_a_slow_reference(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    tracks = [draw_bones(rng, steps, 0.2) for steps in lengths]
    queries = [draw_bones(rng, int(rng.integers(1, 90)), 0.2) for _ in range(2)]
    chunks = [pack_bones(tracks[:1])] + ([pack_bones(tracks[1:])] if tracks[1:] else [])
    for query, found in zip(queries, score_coarsely(queries, chunks, SECONDS), strict=True):
        for number, track in enumerate(tracks):
            best, offsets = slow_score(query, track)
            assert found.scores[number] == pytest.approx(best, rel=1e-4, abs=1e-6)
            assert int(found.offsets[number]) in offsets


def test_a_score_does_not_depend_on_the_other_tracks() -> None:
    rng = np.random.default_rng(3)
    tracks = [draw_bones(rng, int(steps), 0.1) for steps in rng.integers(20, 400, 300)]
    query = draw_bones(rng, 90)
    together = score_coarsely([query, query[::-1]], [pack_bones(tracks)], SECONDS)[0]
    alone = np.concatenate(
        [score_coarsely([query], [pack_bones([one])], SECONDS)[0].scores for one in tracks]
    )
    np.testing.assert_array_equal(together.scores, alone)


def test_an_excerpt_is_found_where_it_was_cut() -> None:
    rng = np.random.default_rng(5)
    tracks = [draw_bones(rng, 200) for _ in range(50)]
    found = score_coarsely([tracks[7][60:140]], [pack_bones(tracks)], SECONDS)[0]
    assert found.scores.argmax() == 7
    assert found.offsets[7] == 60


def test_no_tracks_and_short_queries_score_nothing() -> None:
    rng = np.random.default_rng(6)
    assert len(score_coarsely([draw_bones(rng, 60)], [], SECONDS)[0].scores) == 0
    short = score_coarsely([draw_bones(rng, STEPS - 1)], [pack_bones([draw_bones(rng, 60)])], SECONDS)[0]
    assert short.scores.tolist() == [0.0]


def test_unseen_bones_are_left_out_of_averages() -> None:
    bones = np.full((STEPS, BONE_NUMBERS), BONES_UNSEEN, np.int8)
    bones[0, :2] = 40, -20
    rows = average_steps(Bones(bones, np.array([0, STEPS])))
    assert rows.values[0, :3].tolist() == [40, -20, 0]


def test_what_moves_alike_in_other_words_is_shortlisted() -> None:
    """Among more dances than are looked at: words have nothing in common, the bones everything."""
    rng = np.random.default_rng(9)
    made = [replace(random_words(100, n), bones=draw_bones(rng, 100)) for n in range(CAP + 59)]
    last = replace(words(np.zeros((100, 2), int)), bones=draw_bones(rng, 100))
    query = replace(words(rng.integers(1, 8, size=(60, 2))), bones=last.bones[20:80])
    engine = Engine(toy_codebook(), [(f"dance{n}", one) for n, one in enumerate([*made, last])])

    def proposed(settings: Settings) -> list[str]:
        return [match.dance_id for match in engine.search([Query(query)], limit=2 * CAP, settings=settings)]

    assert f"dance{len(made)}" in proposed(DEFAULT_SETTINGS)
    assert f"dance{len(made)}" not in proposed(
        replace(DEFAULT_SETTINGS, ranked_by="score")
    )  # by words alone, as before

"""The correlation over time lag that a report draws: what plain loops give, and what a search measures."""

import numpy as np
import pytest

from dance_samples import LEGS, dance, shipped, without
from dancematch.motion import excerpt
from dancematch.search.stage2.synchrony import SynchronyQuery, lag_curve
from dancematch.search.words.word_store import Bones
from dancematch.types import BONE_NUMBERS, BONES_UNSEEN, BoneArray

STEP = 0.5  # seconds; of random bones
TREMBLE = 0.02  # energy per step that both sides are given


def random_bones(steps: int, seed: int, unseen: float = 0.1) -> BoneArray:
    rng = np.random.default_rng(seed)
    bones = rng.integers(-63, 64, size=(steps, BONE_NUMBERS)).astype(np.int8)
    bones[np.repeat(rng.random((steps, BONE_NUMBERS // 2)) < unseen, 2, axis=1)] = BONES_UNSEEN
    return bones


def slow_correlation(query: BoneArray, reference: BoneArray, tempo: float, offset: int) -> float | None:
    """Step by step and bone by bone; None where the two overlap too briefly to count."""
    shares = [(one[:, ::2] != BONES_UNSEEN).mean(axis=0) for one in (query, reference)]
    places = [offset + int(np.round(step * tempo)) for step in range(len(query))]
    inside = [step for step, place in enumerate(places) if 0 <= place < len(reference)]
    longest = min(len(query), len(reference) * len(query) / (int(np.round((len(query) - 1) * tempo)) + 1))
    if STEP * len(inside) < min(3.0, 0.4 * STEP * longest):
        return None
    product = own = theirs = 0.0
    for step in inside:
        for bone in range(BONE_NUMBERS):
            one, other = float(query[step, bone]) / 63, float(reference[places[step], bone]) / 63
            seen = query[step, bone] != BONES_UNSEEN, reference[places[step], bone] != BONES_UNSEEN
            product += one * other if all(seen) else 0.0
            own += shares[1][bone // 2] * one**2 if seen[0] else 0.0
    covered = range(places[inside[0]], places[inside[-1]] + 1)
    for place in covered:
        for bone in range(BONE_NUMBERS):
            if reference[place, bone] != BONES_UNSEEN:
                theirs += shares[0][bone // 2] * (float(reference[place, bone]) / 63) ** 2
    noise = TREMBLE * len(inside)
    return product / np.sqrt((own + noise) * (theirs * len(inside) / len(covered) + noise))


@pytest.mark.parametrize("tempo", [1.0, 0.8, 1.25])
@pytest.mark.parametrize(("steps", "others"), [(12, 30), (30, 12)])
def test_the_curve_is_what_plain_loops_give(steps, others, tempo):
    """At every lag that counts, and at no other."""
    query, reference = random_bones(steps, 1), random_bones(others, 2)
    lags, correlation = lag_curve(query, reference, tempo, STEP)
    last = int(np.round((steps - 1) * tempo))
    expected = {
        STEP * offset: value
        for offset in range(-last, others)
        if (value := slow_correlation(query, reference, tempo, offset)) is not None
    }

    assert list(expected) == pytest.approx(lags.tolist())
    assert list(expected.values()) == pytest.approx(correlation.tolist(), abs=1e-4)


def test_the_peak_is_the_one_that_a_search_measures():
    """A part of a dance by another dancer: the same height, where the part was taken from."""
    query = shipped().fingerprint(excerpt(dance(3, dancer=4), 2.0, 8.0))
    reference = shipped().fingerprint(dance(3))
    lags, correlation = lag_curve(query.bones, reference.bones, 1.0, reference.seconds_per_word)
    found = SynchronyQuery(query.bones, np.ones(1), query.seconds_per_word).compare(
        Bones(reference.bones, np.array([0, len(reference)]))
    )
    at = int(np.abs(lags - found.offsets[0] * query.seconds_per_word).argmin())

    assert 2.0 == pytest.approx(float(lags[at]), abs=0.2)
    assert float(found.heights[0]) == pytest.approx(float(correlation[at]), abs=1e-3)


def test_a_curve_needs_bones_that_both_show():
    """Of one who shows no bone there is none; legs that are hidden leave the rest."""
    seen, hidden = random_bones(20, 1), np.full((20, BONE_NUMBERS), BONES_UNSEEN, np.int8)
    half = shipped().fingerprint(without(dance(3), LEGS)).bones

    assert [0, 0] == [len(one) for one in lag_curve(seen, hidden, 1.0, STEP)]
    assert 0.9 < lag_curve(half, shipped().fingerprint(dance(3)).bones, 1.0, STEP)[1].max()

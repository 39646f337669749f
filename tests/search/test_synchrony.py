"""Synchrony: the fast lines against a plain reference, and what it must find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance
from dancematch.directions import bone_directions, mirror_bones
from dancematch.motion import change_tempo, excerpt
from dancematch.search.stage2.synchrony import LEAST_SECONDS, LEAST_SHARE, SynchronyQuery
from dancematch.search.words.word_store import Bones
from dancematch.types import BONE_NUMBERS, BONE_SCALE, BONES_UNSEEN

STEP = 4 / 30
PLAIN = np.ones(1)


def bones_of(motion):
    return bone_directions(motion, 4)


def packed(*tracks):
    return Bones(np.concatenate(tracks), np.cumsum([0, *map(len, tracks)]).astype(np.int64))


def noise(rng, steps):
    """Bones that wander as somebody's do."""
    walk = np.cumsum(rng.normal(size=(steps + 8, BONE_NUMBERS)), axis=0)
    smooth = walk[8:] - walk[:-8]
    return np.clip(np.round(20 * smooth), -127, 127).astype(np.int8)


def reference_heights(query, candidate):
    """The correlation at every lag that is long enough, by definition, where all bones are seen."""
    ours, theirs = (bones / BONE_SCALE for bones in (query, candidate))
    least = min(LEAST_SECONDS, LEAST_SHARE * STEP * min(len(ours), len(theirs)))
    found = {}
    for lag in range(-len(ours) + 1, len(theirs)):
        steps = [i for i in range(len(ours)) if 0 <= i + lag < len(theirs)]
        if STEP * len(steps) < least - 1e-3:
            continue
        one, other = ours[steps], theirs[[i + lag for i in steps]]
        noise_energy = 0.02 * len(steps)
        energies = ((one**2).sum() + noise_energy) * ((other**2).sum() + noise_energy)
        found[lag] = (one * other).sum() / np.sqrt(energies), STEP * len(steps)
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(20, 90), st.integers(20, 90))
def test_lines_are_the_correlation_at_every_lag(seed, query_steps, steps):
    """The kernel's peak is the best of all lags by definition."""
    rng = np.random.default_rng(seed)
    query, candidate = noise(rng, query_steps), noise(rng, steps)
    found = SynchronyQuery(query, PLAIN, STEP).compare(packed(candidate))
    heights = reference_heights(query, candidate)
    lag, (height, overlap) = max(heights.items(), key=lambda one: one[1][0] * np.sqrt(one[1][1]))

    if height > 0:
        assert height == pytest.approx(found.heights[0], abs=2e-3)
        assert overlap == pytest.approx(found.overlaps[0], abs=1e-3)
        assert lag == pytest.approx(found.offsets[0], abs=0.51)


@pytest.mark.parametrize("number", range(4))
def test_the_same_dance_by_another_body_peaks_where_it_lies(number):
    """Six seconds by another dancer are found where they were cut from, far above other dances."""
    whole = dance(number, eight_counts=4)
    another = dance(number, dancer=2, eight_counts=4)
    part = excerpt(another, 4.0, 10.0)
    others = [bones_of(dance(other, eight_counts=4)) for other in range(5, 9)]
    found = SynchronyQuery(bones_of(part), PLAIN, STEP).compare(packed(bones_of(whole), *others))

    assert 0 == found.strengths.argmax()
    same_moment = 4.0 * whole.seconds / another.seconds  # each has a tempo of their own
    assert same_moment == pytest.approx(STEP * found.offsets[0], abs=0.2)
    assert found.strengths[0] > 2 * found.strengths[1:].max()


def test_another_tempo_is_found_among_those_tried():
    """A fifth faster: at one tempo nothing fits, at the right one it does."""
    whole, fast = dance(2, eight_counts=4), change_tempo(dance(2, dancer=1, eight_counts=4), 1.2)
    tempi = np.array([0.8, 1.0, 1.2])
    found = SynchronyQuery(bones_of(fast), tempi, STEP).compare(packed(bones_of(whole)))
    plain = SynchronyQuery(bones_of(fast), PLAIN, STEP).compare(packed(bones_of(whole)))

    assert 2 == found.tempi[0]
    assert found.strengths[0] > 2 * plain.strengths[0]


def test_what_is_not_seen_in_both_is_no_evidence():
    """Without bones, or with a single one in common, there is no synchrony."""
    seen = bones_of(dance(0))
    unseen = np.full_like(seen, BONES_UNSEEN)
    arm = unseen.copy()
    arm[:, 4:6] = seen[:, 4:6]
    found = SynchronyQuery(seen, PLAIN, STEP).compare(packed(unseen, arm, seen))

    assert [0, 0] == found.heights[:2].tolist() == found.overlaps[:2].tolist()
    assert found.heights[2] > 0.95  # of a copy: the noise that is allowed for takes a little


def test_a_bone_that_one_side_never_shows_does_not_count_for_the_other():
    """An upper body alone correlates with the whole body as with itself."""
    whole = bones_of(dance(3))
    upper = whole.copy()
    upper[:, [2 * bone + axis for bone in (4, 5, 8, 9) for axis in (0, 1)]] = BONES_UNSEEN
    found = SynchronyQuery(upper, PLAIN, STEP).compare(packed(whole, upper))

    assert found.heights[1] == pytest.approx(found.heights[0], abs=1e-3)
    assert found.overlaps[0] == pytest.approx(0.6 * STEP * len(whole), rel=0.01)


def test_the_order_of_candidates_does_not_matter():
    """Each candidate's numbers are its own, wherever it stands and however many there are."""
    tracks = [bones_of(dance(number)) for number in range(6)]
    query = SynchronyQuery(mirror_bones(tracks[2]), np.array([0.9, 1.0, 1.1]), STEP)
    together, backwards = query.compare(packed(*tracks)), query.compare(packed(*tracks[::-1]))

    for one, other in zip(together, backwards, strict=True):
        assert np.allclose(one, other[::-1], atol=1e-5)

"""Whether two tracks show one performance."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance, shipped, shipped_background
from dancematch.directions import mirror_bones
from dancematch.motion import change_tempo, excerpt, mirror, perturb
from dancematch.search.engine import Engine, Query
from dancematch.search.stage2.timing import (
    LEAST_CORRELATION,
    LEAST_SECONDS,
    MOST_JITTER,
    Timing,
    measure_timing,
)
from dancematch.types import BONES_UNSEEN

SOURCE, OTHER = dance(1, 1, 4), dance(2, 1, 4)


def search(motion):
    known = [("source", shipped().fingerprint(SOURCE)), ("other", shipped().fingerprint(OTHER))]
    engine = Engine(shipped().codebook, known, background=shipped_background())
    queries = [
        Query(shipped().fingerprint(motion)),
        Query(shipped().fingerprint(mirror(motion)), mirrored=True),
    ]
    return engine.search(queries)


@pytest.mark.parametrize(
    "changed",
    [
        SOURCE,
        excerpt(SOURCE, 1.3, 8.9),
        mirror(SOURCE),
        mirror(excerpt(SOURCE, 2.1, 9.9)),
        change_tempo(SOURCE, 1.15),
        perturb(SOURCE, "noise", 0.5, seed=1),
    ],
    ids=["itself", "excerpt", "mirrored", "mirrored excerpt", "faster", "noise"],
)
def test_a_copy_is_the_same_performance(changed):
    """However it was cut, turned around or sped up."""
    first = search(changed)[0]

    assert ("source", True) == (first.dance_id, first.same_performance)
    assert first.parts["timing_jitter"] <= MOST_JITTER


def test_another_dancer_gives_another_performance():
    """The same dance by another body with a timing of its own is a match, and not the same performance."""
    performed = dance(1, 2, 4)
    times = np.arange(len(performed.joints)) / performed.fps
    late = np.interp(times + 0.06 * np.sin(2 * np.pi * times / 3.1), times, np.arange(len(times)))
    swung = replace(performed, joints=performed.joints[np.round(late).astype(int)])
    first = search(swung)[0]

    assert ("source", "match", False) == (first.dance_id, first.verdict, first.same_performance)


def test_two_dances_are_not_the_same_performance():
    """Whatever the verdict, another dance is another performance."""
    assert [("source", True), ("other", False)] == [(m.dance_id, m.same_performance) for m in search(SOURCE)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 20), st.integers(50, 70))
def test_a_segment_keeps_time_with_its_source(first, steps):
    """Any segment of a track lies on its source without jitter; mirroring both changes nothing."""
    bones = shipped().fingerprint(SOURCE).bones
    segment = bones[first : first + steps]
    found = measure_timing(segment, bones, float(first), 1.0, 2 / 15)
    glass = measure_timing(mirror_bones(segment), mirror_bones(bones), float(first), 1.0, 2 / 15)

    assert found.correlation > 0.95
    assert found.jitter < MOST_JITTER / 2
    assert pytest.approx(found.jitter, abs=1e-6) == glass.jitter
    assert pytest.approx(len(segment) * 2 / 15, abs=0.5) == found.seconds


def test_what_is_not_seen_in_both_is_not_timed():
    """No window in common: nothing is said."""
    bones = shipped().fingerprint(SOURCE).bones

    assert measure_timing(bones, bones, float(len(bones) + 9), 1.0, 2 / 15) is None
    assert measure_timing(bones, np.full_like(bones, BONES_UNSEEN), 0.0, 1.0, 2 / 15) is None


@pytest.mark.parametrize(
    ("change", "expected"),
    [({}, True), ({"correlation": LEAST_CORRELATION - 0.01}, False), ({"jitter": MOST_JITTER + 0.001}, False),
     ({"seconds": LEAST_SECONDS - 0.1}, False)],
)  # fmt: skip
def test_all_three_limits_hold(change, expected):
    """Alike, in time, and for long enough."""
    assert (
        expected == replace(Timing(LEAST_CORRELATION, MOST_JITTER, LEAST_SECONDS), **change).same_performance
    )

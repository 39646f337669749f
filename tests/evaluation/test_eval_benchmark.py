"""A benchmark's clips as questions: other people's performances of the same dance are to be found."""

from dataclasses import replace

import numpy as np
import pytest

from dance_samples import dance, standing
from dancematch.cli.research.eval import USUAL_METHODS
from dancematch.errors import InputError
from dancematch.evaluation.methods.feature_comparison import DynamicTimeWarping
from dancematch.evaluation.suites.benchmark import BenchmarkSuite, LabelledClip
from dancematch.motion import change_tempo, mirror
from dancematch.types import Motion

LABELS = range(4)


def clip(label: int, performer: int, split: str, *motions: Motion, kind: str = "") -> LabelledClip:
    """A clip of a dance by somebody; more motions are others in the frame, who stand before the dancer."""
    shown = dance(label, dancer=performer)
    return LabelledClip(f"dance{label}", f"performer{performer}", split, (*motions, shown), kind)


def clips() -> list[LabelledClip]:
    """Four dances: two performers are known, one asks and one is for somebody else's tuning."""
    splits = {1: "train", 2: "train", 3: "test", 4: "validation"}
    return [clip(label, performer, split) for label in LABELS for performer, split in splits.items()]


@pytest.mark.parametrize("method", USUAL_METHODS["benchmark"])
def test_a_dance_is_found_among_other_peoples(method):
    """Every method knows four procedural dances apart, and says all that is needed to judge it."""
    found = BenchmarkSuite(clips()).evaluate(method)

    assert ("benchmark", method, 4, 0.25) == (found.suite, found.method, found.queries, found.chance)
    assert found.rank1 >= 0.75
    assert found.rank1 <= found.match_rate <= 1
    assert found.mean_average_precision > 0.5
    assert 1 == pytest.approx(sum(found.rank_distribution.values()))
    assert found.intervals["rank1"][0] <= found.rank1 <= found.intervals["rank1"][1]
    assert {"labels": 4, "references": 8, "unanswerable": 0} == found.facts
    assert ("none" == found.model_id) == (method == "dtw")


def test_the_dancer_is_found_whoever_else_is_seen_and_in_a_mirror():
    """A mirrored query, and one behind somebody who stands still, are found as the plain ones are."""
    known = [one for one in clips() if one.split == "train"]
    shown = dance(1, dancer=3)
    asked = [
        replace(clip(1, 3, "test"), motions=(mirror(shown),), kind="mirrored"),
        clip(2, 3, "test", standing(120), kind="onlooker"),
        clip(0, 3, "test", kind="alone"),
    ]
    found = BenchmarkSuite([*known, *asked]).evaluate("two-stage")

    assert 1.0 == found.rank1
    assert {"alone", "mirrored", "onlooker"} == set(found.parts)


def test_clips_are_as_alike_as_their_most_alike_dancers():
    """A slow reference: every reading of the query with every dancer of a clip, one by one."""
    known = [clip(0, 1, "train", standing(90)), clip(1, 1, "train"), clip(2, 2, "train", dance(9), dance(8))]
    asked = clip(1, 3, "test", change_tempo(dance(7), 1.1))
    likeness, *_ = BenchmarkSuite([*known, asked])._likeness("dtw")
    slow = [
        max(
            float(DynamicTimeWarping([other], lambda _number, own=own: own).scores(0, np.array([0]))[0])
            for motion in asked.motions
            for own in (motion, mirror(motion))
            for other in reference.motions
        )
        for reference in known
    ]

    np.testing.assert_allclose(likeness.scores(0), slow, rtol=1e-5)


def test_a_dance_that_nobody_else_dances_is_not_asked_for():
    made = BenchmarkSuite([*clips(), clip(7, 3, "test")])

    assert (4, 1) == (len(made.queries), made.unanswerable)


def test_what_cannot_be_measured_is_refused():
    """No common label; a performer on both sides; a method that is none."""
    with pytest.raises(InputError, match="nothing to ask"):
        BenchmarkSuite([clip(1, 1, "train"), clip(2, 2, "test")])
    with pytest.raises(InputError, match="in both splits"):
        BenchmarkSuite([clip(1, 1, "train"), clip(1, 1, "test")])
    with pytest.raises(InputError, match="got 'magic'"):
        BenchmarkSuite(clips()).evaluate("magic")

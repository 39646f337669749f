"""The suite benchmark: performances of the same dance by other people are found."""

from dataclasses import replace

import numpy as np
import pytest

from dance_samples import dance, standing
from dancematch.errors import InputError
from dancematch.evaluation.methods.feature_comparison import DynamicTimeWarping
from dancematch.evaluation.suites.benchmark import BenchmarkSuite, LabelledClip
from dancematch.evaluation.suites.registry import SUITES
from dancematch.motion import change_tempo, mirror
from dancematch.types import Motion

LABELS = range(4)


def clip(label: int, performer: int, split: str, *motions: Motion, kind: str = "") -> LabelledClip:
    """A clip of a dance; more motions are other people in the frame, before the dancer."""
    shown = dance(label, dancer=performer)
    return LabelledClip(f"dance{label}", f"performer{performer}", split, (*motions, shown), kind)


def clips() -> list[LabelledClip]:
    """Four dances: two performers are references, one is the query and one is for validation."""
    splits = {1: "train", 2: "train", 3: "test", 4: "validation"}
    return [clip(label, performer, split) for label in LABELS for performer, split in splits.items()]


@pytest.mark.parametrize("method", SUITES["benchmark"].methods)
def test_a_dance_by_other_performers_is_found(method):
    """Every method finds four procedural dances, and its result has all figures."""
    found = BenchmarkSuite(clips()).evaluate(method)

    assert ("benchmark", method, 4, 0.25) == (found.suite, found.method, found.queries, found.chance)
    assert found.rank1 >= 0.75
    assert found.rank1 <= found.match_rate <= 1
    assert found.mean_average_precision > 0.5
    assert 1 == pytest.approx(sum(found.rank_distribution.values()))
    assert found.intervals["rank1"][0] <= found.rank1 <= found.intervals["rank1"][1]
    assert {"labels": 4, "references": 8, "unanswerable": 0} == found.facts
    assert ("none" == found.model_id) == (method == "dtw")


def test_the_dancer_is_found_beside_others_and_mirrored():
    """A mirrored query, and one behind a person who stands still, are found as plain ones are."""
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


def test_the_score_of_clips_is_that_of_their_best_dancers():
    """Every variant of the query with every dancer of a clip, one by one."""
    known = [clip(0, 1, "train", standing(90)), clip(1, 1, "train"), clip(2, 2, "train", dance(9), dance(8))]
    asked = clip(1, 3, "test", change_tempo(dance(7), 1.1))
    comparison, *_ = BenchmarkSuite([*known, asked]).prepare("dtw")
    slow = [
        max(
            float(DynamicTimeWarping([other], lambda _number, own=own: own).scores(0, np.array([0]))[0])
            for motion in asked.motions
            for own in (motion, mirror(motion))
            for other in reference.motions
        )
        for reference in known
    ]

    np.testing.assert_allclose(comparison.scores(0), slow, rtol=1e-5)


def test_a_dance_by_one_performer_is_no_query():
    made = BenchmarkSuite([*clips(), clip(7, 3, "test")])

    assert (4, 1) == (len(made.queries), made.unanswerable)


def test_invalid_releases_are_refused():
    """No common label; a performer on both sides; a method that is none."""
    with pytest.raises(InputError, match="nothing to ask"):
        BenchmarkSuite([clip(1, 1, "train"), clip(2, 2, "test")])
    with pytest.raises(InputError, match="in both splits"):
        BenchmarkSuite([clip(1, 1, "train"), clip(1, 1, "test")])
    with pytest.raises(InputError, match="got 'magic'"):
        BenchmarkSuite(clips()).evaluate("magic")

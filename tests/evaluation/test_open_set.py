"""The suite open-set: known dances are accepted, unknown ones rejected."""

import numpy as np
import pytest

from dance_samples import dance, write_dance
from dancematch.errors import InputError
from dancematch.evaluation.methods.word_methods import WordMethod
from dancematch.evaluation.suites.open_set import OpenSetSuite, cut_segments, outside_cohort
from dancematch.evaluation.suites.retrieval import EvaluationCache, track_silently
from dancematch.model.tokeniser import load_model
from dancematch.search.settings import DEFAULT_SETTINGS


def test_known_dances_are_accepted_and_unknown_ones_are_counted(clips, own_model):
    """Unknown are other dances by another dancer; the figures of the known agree with each other."""
    unknown = [dance(number, 9) for number in range(50, 54)]
    asked = OpenSetSuite(clips, unknown, queries=8)
    results = {
        r.query: r
        for r in asked.evaluate(
            WordMethod(own_model, settings=DEFAULT_SETTINGS), EvaluationCache(), track_silently
        )
    }
    known = results["excerpt"]

    assert {"excerpt", "another dancer", "another dancer, 3 s", "several recordings"} == set(results)
    assert known.rank1 > 0.8 > 3 * known.chance
    assert (8, len(list(cut_segments(unknown, np.random.default_rng(0))))) == (
        known.queries,
        known.unknown,
    )
    for result in results.values():
        assert sorted(result.true_accepts.values()) == list(result.true_accepts.values())
        assert max(result.true_accepts.values()) <= result.rank1
        assert result.curve["true_accepts"][-1] <= result.rank1
    assert 8 == results["another dancer"].queries == results["another dancer"].unknown


def test_an_unknown_dance_in_the_background_is_not_asked(own_model):
    """Whole or only its beginning; a dance that merely begins like a shorter member is asked."""
    model, motions = load_model(own_model), [dance(number, 9) for number in range(50, 54)]
    words = [model.fingerprint(motion) for motion in motions]
    least = min(map(len, words))
    cut = [words[0].segment(0, least - 1), words[1].segment(0, least - 1), words[2].segment(0, 2)]

    assert motions[2:] == outside_cohort(motions, model, cut)
    assert motions == outside_cohort(motions, model, [])


def test_without_unknown_dances_the_dance_left_out_is_the_unknown_one(clips, own_model):
    results = list(
        OpenSetSuite(clips, []).evaluate(
            WordMethod(own_model, settings=DEFAULT_SETTINGS), EvaluationCache(), track_silently
        )
    )

    kinds = ["another dancer", "another dancer, 3 s", "several recordings"]

    assert kinds == [result.query for result in results]


def test_views_are_known_queries_too(clips, own_model, tmp_path):
    write_dance(tmp_path / "view_gBR_sBM_cAll_d01_mBR0_ch02.npz", 2, 1)
    asked = OpenSetSuite(clips, [dance(50)], views=tmp_path, queries=2)
    results = {
        r.query: r
        for r in asked.evaluate(
            WordMethod(own_model, settings=DEFAULT_SETTINGS), EvaluationCache(), track_silently
        )
    }

    assert (1, 1.0) == (results["video"].queries, results["video"].rank1)


def test_no_more_views_than_queries_are_drawn(clips, tmp_path):
    """Three views, two queries: two of them, the same ones for the same seed."""
    for number in range(3):
        write_dance(tmp_path / f"view_gBR_sBM_cAll_d01_mBR0_ch{number:02}.npz", number, 1)
    suite = OpenSetSuite(clips, [], views=tmp_path, queries=2)
    drawn = [suite.draw_views() for _ in range(2)]

    assert 2 == len(set(drawn[0]))
    assert drawn[0] == drawn[1]


def test_one_stage_gives_no_verdict(clips):
    with pytest.raises(InputError, match="kmeans has one, say two-stage"):
        next(OpenSetSuite(clips, []).evaluate("kmeans", EvaluationCache(), track_silently))

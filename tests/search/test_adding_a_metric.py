"""CONTRIBUTING's way to add a metric: one function, one row; a toy one counts and is explained."""

from dataclasses import replace

import numpy as np
import pytest

from dance_samples import write_dance
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.search.metrics import registry
from dancematch.search.metrics.registry import WordMetric
from dancematch.search.metrics.weights import read_weights, write_weights
from dancematch.search.settings import DEFAULT_SETTINGS


def shortness(channel) -> np.ndarray:
    """A toy: the shorter a known dance, the more alike."""
    return 1 / np.maximum(channel.words.lengths, 1)


@pytest.fixture
def toy():
    """The registry with one more row, for a while."""
    registry.register(WordMetric("shortness", shortness))
    yield
    registry._REGISTERED.pop("shortness")  # a program never takes one away


@pytest.mark.usefixtures("toy")
def test_a_toy_metric_counts_in_a_search_and_is_explained(tmp_path):
    """With all the weight it ranks the shorter dance first, though the query is the longer one."""
    write_weights(tmp_path / "weights.json", {"shortness": 1.0})
    weights = read_weights(tmp_path / "weights.json")
    settings = replace(DEFAULT_SETTINGS, weights=weights, ranked_by="score")
    with open_catalogue(tmp_path / "dances.db") as known:
        for name, seed, counts in (("long", 1, 4), ("short", 2, 2)):
            path = tmp_path / f"{name}.npz"
            known.add(write_dance(path, seed, eight_counts=counts))
        answer = known.search(tmp_path / "long.npz", settings=settings)
        best = answer.dancers[0].candidates[0]
        why, _ = known.explain(answer.query, best, settings)

    assert "short" == best.dance
    assert best.score == pytest.approx(best.parts["shortness"])
    assert 1.0 == why.metrics["shortness"].weight

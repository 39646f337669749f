"""Clips compared by their words: phases, soft words, names of methods, and the ranking of a search."""

import numpy as np
import pytest

from dance_samples import dance, save_small_model, shipped, small_model
from dancematch.evaluation.methods.word_comparison import WordComparison, tokenise_query
from dancematch.evaluation.methods.word_methods import SEARCHES, WordMethod
from dancematch.evaluation.suites.retrieval_tasks import make_task
from dancematch.model.parts import LAYOUTS
from dancematch.model.patches import soft_assignment
from dancematch.motion import canonicalise, excerpt
from dancematch.search.stage1.histogram import Histograms, word_counts
from dancematch.training.kmeans import fit_kmeans
from dancematch.types import SEEN_FROM
from evaluation_samples import evaluate


def test_phases_count_the_words_of_every_beginning():
    motion = dance(1)
    phases = small_model().phases(motion, 2)
    expected = sum(word_counts(phase).astype(int) for phase in phases)

    assert (
        expected.tolist() == tokenise_query(small_model(), motion, WordMethod("", phases=2)).counts.tolist()
    )


def test_soft_words_share_out_each_patch():
    """All that is seen counts once in all, and mostly as the word that it is."""
    motion = dance(1)
    hard, soft = (tokenise_query(small_model(), motion, WordMethod("", soft=soft)) for soft in (False, True))
    model = small_model()
    words, weights = soft_assignment(model.latents(canonicalise(motion)), model.vectors, 3)
    expected = np.zeros_like(soft.counts)
    for step, channel, rank in np.ndindex(*words.shape):
        if hard.fingerprint.visibility[step, channel] >= SEEN_FROM:
            expected[channel, words[step, channel, rank]] += weights[step, channel, rank]

    np.testing.assert_allclose(expected, soft.counts, atol=1e-3)
    np.testing.assert_allclose(hard.counts.sum(axis=1), soft.counts.sum(axis=1), rtol=1e-4)
    assert (hard.counts != soft.counts).any()


def test_soft_phases_add_up():
    """A first phase alone counts less than two, and two as much as their patches."""
    motion = dance(1)
    both = tokenise_query(small_model(), motion, WordMethod("", phases=2, soft=True)).counts
    patches = sum(len(phase) for phase in small_model().phases(motion, 2))

    np.testing.assert_allclose(np.full(len(both), patches), both.sum(axis=1), rtol=1e-4)


def test_a_query_may_count_in_parts():
    """Counts and any multiple of them point the same way."""
    known = [np.array([[3, 0, 1]], np.uint8), np.array([[0, 2, 2]], np.uint8)]
    histograms = Histograms(known, "cosine")
    halves = np.array([[1.5, 0, 0.5]], np.float32)

    np.testing.assert_allclose(histograms.cosines(known[0]), histograms.cosines(halves), atol=1e-6)


def test_methods_are_named_by_what_they_do(long_clips):
    task = make_task("aist-cross-dancer", long_clips).sample(2)
    plain = evaluate(task, WordMethod("floor"))
    every = evaluate(task, WordMethod("floor", "cosine", settings=SEARCHES["two-stage"], phases=2, soft=True))
    whole = evaluate(task, WordMethod("floor-whole"))

    assert ("kmeans", "kmeans-cosine-two-stage-phases2-soft") == (plain.method, every.method)
    assert "kmeans-whole" == whole.method
    assert plain.rank1_dance is None


def test_a_model_of_ones_own_is_evaluated(tmp_path, long_clips):
    model = save_small_model(tmp_path / "own")
    result = evaluate(make_task("aist-cross-dancer", long_clips), WordMethod(tmp_path / "own"))

    assert (model.model_id, 6) == (result.model_id, result.queries)


def test_trained_genres_are_not_unseen(long_clips, monkeypatch):
    """A model's own record of its training decides."""
    taught = fit_kmeans([dance(1)], vocabulary=8, trained_on={"aist_genres": ["BR"]})
    monkeypatch.setattr("dancematch.evaluation.methods.word_methods.load_model", lambda _: taught)

    assert [] == evaluate(make_task("aist-cross-dancer", long_clips), WordMethod("any")).unseen


@pytest.mark.parametrize("phases", [1, 2])
def test_a_query_is_asked_with_its_bones(long_clips, phases):
    """As a search reads it: without bones there is no synchrony."""
    motion = long_clips[0].motion
    expected, asked = (
        shipped().fingerprint(motion),
        tokenise_query(shipped(), motion, WordMethod("network", phases=phases)),
    )

    np.testing.assert_array_equal(expected.bones, asked.fingerprint.bones)
    np.testing.assert_array_equal(expected.words, asked.fingerprint.words)


def test_by_likelihood_a_suite_ranks_as_a_search_does(long_clips, monkeypatch):
    """Two seconds, which say too little for any ratio: the score decides; what is not proposed comes last."""
    monkeypatch.setattr("dancematch.search.settings.CAP", 3)
    motions, every = [clip.motion for clip in long_clips], np.arange(len(long_clips))
    two_seconds = [excerpt(motion, 1.0, 2.8) for motion in motions]
    for search in ("likelihood", "two-stage"):
        method = WordMethod("network", settings=SEARCHES[search])
        compared = WordComparison(
            shipped(), motions, method, motion_of=two_seconds.__getitem__, windowed=True
        )
        scores = np.array([compared.scores(query, every) for query in every])

        assert 3 * len(long_clips) == np.isfinite(scores).sum()
        assert every.tolist() == scores.argmax(axis=1).tolist()


def test_another_layout_is_part_of_the_name(long_clips, monkeypatch):
    """The name of a method has the layout where it is not that of the words without a network."""
    other = next(layout for layout in LAYOUTS if layout not in (shipped().layout, "whole"))
    model = fit_kmeans([dance(1)], layout=other, vocabulary=8)
    monkeypatch.setattr(
        "dancematch.evaluation.methods.word_methods.load_model",
        lambda name: shipped() if name == "floor" else model,
    )
    result = evaluate(make_task("aist-cross-dancer", long_clips), WordMethod("other"))

    assert f"kmeans-{other}" == result.method

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_metrics_kernels import BOOK, ONE_PART, SEQUENCE, VOCABULARY, clip, likeness, small

from dance_samples import MODEL, random_words, toy_codebook, words
from dancematch.errors import InputError, ModelMismatchError
from dancematch.search.metrics import registry as metrics
from dancematch.search.metrics.registry import (
    METRICS,
    PAPER,
    PRESETS,
    PackedCandidates,
    WordMetric,
    combine,
    measure_distances,
)
from dancematch.search.metrics.weights import WEIGHTS_PAPER, checked_weights, read_weights, write_weights
from dancematch.types import SEEN_FROM, Codebook, Fingerprint

ALL = [*METRICS.values(), *(metric for name, metric in PAPER.items() if metric is not METRICS[name])]

# What every metric promises.


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
@small
@given(one=SEQUENCE, other=SEQUENCE)
def test_every_metric_is_symmetric_bounded_and_1_for_the_same(metric, one, other):
    """A run needs two words: of a single one the n-grams say nothing."""
    there, back = likeness(metric, one, other), likeness(metric, other, one)
    if metric.name == "ngram" and min(len(one), len(other)) < 2:
        assert math.isnan(there)
        assert math.isnan(back)
        return
    assert pytest.approx(there, abs=1e-5) == back
    assert 0 <= there <= 1
    assert pytest.approx(1, abs=1e-5) == likeness(metric, one, one)


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
@small
@given(one=SEQUENCE, other=SEQUENCE, order=st.permutations(range(VOCABULARY)))
def test_numbering_the_words_otherwise_changes_no_default(metric, one, other, order):
    expected = metric.similarities(clip(one), [clip(other)], ONE_PART)
    vectors, similarity = np.empty_like(ONE_PART.vectors), np.empty_like(ONE_PART.similarity)
    vectors[:, order] = ONE_PART.vectors
    similarity[:, np.array(order)[:, None], order] = ONE_PART.similarity
    renamed = Codebook(MODEL, ONE_PART.channels, vectors, similarity)
    query, known = (clip([order[word] for word in sequence]) for sequence in (one, other))

    np.testing.assert_allclose(expected, metric.similarities(query, [known], renamed), atol=1e-5)


def test_the_papers_erp_depends_on_the_numbering():
    """Which is why it is not the default: the same two unlike words, two numbers."""
    assert likeness(PAPER["erp"], [1, 1, 1], [2, 2, 2]) > 2 * likeness(PAPER["erp"], [1, 1, 1], [7, 7, 7])


@pytest.mark.parametrize("name", ["erp", "dtw", "late"])
def test_a_nearby_word_counts_for_more_than_a_distant_one(name):
    nearest, furthest = np.argsort(measure_distances(ONE_PART).distances[0, 0])[[1, -1]]
    beside, away = ([0, int(word), 0] for word in (nearest, furthest))

    assert likeness(METRICS[name], [0, 0, 0], beside) > likeness(METRICS[name], [0, 0, 0], away)


def test_codebook_distances_have_the_median_1():
    ground = measure_distances(BOOK)
    mean = BOOK.vectors[1].mean(axis=0)
    scale = np.median(
        np.linalg.norm(BOOK.vectors[1][:, None] - BOOK.vectors[1], axis=2)[np.triu_indices(8, 1)]
    )

    for distances in ground.distances:
        assert pytest.approx(1, rel=1e-5) == np.median(distances[np.triu_indices(8, 1)])
    np.testing.assert_allclose(
        np.linalg.norm(BOOK.vectors[1] - mean, axis=1) / scale, ground.gaps[1], rtol=1e-5
    )
    assert ground is measure_distances(BOOK)


def test_a_codebook_of_one_place_has_no_distances():
    alike = Codebook(MODEL, ("all",), np.ones((1, 4, 2)), np.ones((1, 4, 4)))

    assert not measure_distances(alike).distances.any()


# Words that were not seen.


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_unseen_words_do_not_count(metric):
    """A clip with guessed words put in is the clip without them, on either side."""
    plain, other = random_words(12, 3), random_words(10, 4)
    places = [0, 3, 3, 9, 12]
    guessed = words(
        np.insert(plain.words, places, 5, axis=0),
        visibility=np.insert(np.full((12, 2), SEEN_FROM), places, SEEN_FROM - 0.01, axis=0),
    )

    assert 17 == len(guessed)
    for one, two in ((plain, guessed), (guessed, plain)):
        np.testing.assert_array_equal(
            metric.similarities(one, [other], BOOK), metric.similarities(two, [other], BOOK)
        )
        np.testing.assert_array_equal(
            metric.similarities(other, [one], BOOK), metric.similarities(other, [two], BOOK)
        )


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_a_channel_that_is_not_seen_says_nothing(metric):
    full, whole = random_words(6, 1), random_words(9, 2)
    legless = words(full.words, visibility=np.tile([1.0, 0.0], (6, 1)))
    asked = metric.similarities(legless, [whole, legless, whole], BOOK)
    known = metric.similarities(whole, [full, legless], BOOK)

    assert [[False] * 3, [True] * 3] == np.isnan(asked).tolist()
    assert [[False, False], [False, True]] == np.isnan(known).tolist()


# Packing.


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: metric.name)
def test_packing_changes_nothing(metric):
    query, known = random_words(15, 0), [random_words(length, length) for length in (3, 40, 8, 21)]
    alone = np.hstack([metric.similarities(query, [one], BOOK) for one in known])

    np.testing.assert_allclose(alone, metric.similarities(query, PackedCandidates.of(known), BOOK), rtol=1e-6)
    np.testing.assert_allclose(alone, metric.similarities(query, known, BOOK), rtol=1e-6)


def test_packed_candidates_are_still_the_fingerprints():
    known = [random_words(4, seed) for seed in range(3)]
    held = PackedCandidates.of(known)

    assert known == list(held)
    assert (3, known[2], (known[0], known[1])) == (len(held), held[2], held[:2])
    assert held is PackedCandidates.of(held)
    np.testing.assert_array_equal(known[1].words[:, 1], held.channels[1].flat[4:8])


def test_another_models_words_are_refused():
    mine = random_words(5, 0)
    others = Fingerprint(mine.words, mine.vocabulary, mine.seconds_per_word, "another")
    larger = Fingerprint(mine.words, 9, mine.seconds_per_word, MODEL)
    wider = random_words(5, 0, channels=3)

    for stranger in (others, larger, wider):
        with pytest.raises(ModelMismatchError, match="put the dance into words"):
            METRICS["lcss"].similarities(stranger, [mine], BOOK)
        with pytest.raises(ModelMismatchError, match="put the dance into words"):
            METRICS["lcss"].similarities(mine, [stranger], BOOK)
        with pytest.raises(ModelMismatchError, match="of one model"):
            PackedCandidates.of([mine, stranger])


# The registry, and scores of several metrics.


def test_presets_have_all_that_the_papers_weights_name():
    assert {"default", "paper"} == set(PRESETS)
    assert all(set(WEIGHTS_PAPER) <= set(preset) for preset in PRESETS.values())
    assert all(name == metric.name for preset in PRESETS.values() for name, metric in preset.items())
    assert pytest.approx(1) == sum(WEIGHTS_PAPER.values())


def test_a_metric_of_ones_own_can_be_registered(monkeypatch):
    monkeypatch.setattr(metrics, "_REGISTERED", dict(METRICS))
    monkeypatch.setattr(metrics, "METRICS", metrics._REGISTERED)
    metrics.register(WordMetric("lengths", lambda channel: len(channel.query) / channel.words.lengths))
    found = metrics.METRICS["lengths"].similarities(random_words(3, 0), [random_words(6, 1)], BOOK)

    assert [[0.5], [0.5]] == found.tolist()
    with pytest.raises(InputError, match="'lengths' already"):
        metrics.register(WordMetric("lengths", lambda channel: channel.mean_lengths))
    with pytest.raises(InputError, match="needs a name"):
        metrics.register(WordMetric("", lambda channel: channel.mean_lengths))


def test_the_registry_is_written_by_register_alone():
    with pytest.raises(TypeError):
        METRICS["mine"] = METRICS["lcss"]  # type: ignore[index]


def test_a_score_is_the_weighted_mean_of_what_has_a_value():
    parts = {
        "lcss": np.array([0.5, np.nan, np.nan, 1.0]),
        "edr": np.array([1.0, 0.25, np.nan, 0.0]),
        "dtw": np.array([0.0, 0.0, 0.0, 0.0]),
    }
    found = combine(parts, {"lcss": 0.6, "edr": 0.2, "erp": 0.2, "dtw": 0.0})

    np.testing.assert_allclose([(0.3 + 0.2) / 0.8, 0.25, np.nan, 0.75], found, rtol=1e-6)


def test_scores_keep_their_channels():
    query, known = random_words(15, 0), PackedCandidates.of([random_words(15, seed) for seed in range(4)])
    parts = {name: PAPER[name].similarities(query, known, BOOK) for name in WEIGHTS_PAPER}
    found = combine(parts, WEIGHTS_PAPER)

    np.testing.assert_allclose(sum(WEIGHTS_PAPER[name] * parts[name] for name in parts), found, rtol=1e-5)
    np.testing.assert_allclose([1, 1], found[:, 0], rtol=1e-5)
    assert (2, 4) == found.shape


def test_no_weighted_metric_has_no_score():
    with pytest.raises(InputError, match="at least one"):
        combine({"dtw": np.zeros(3)}, WEIGHTS_PAPER)


def test_weights_are_kept(tmp_path):
    path = tmp_path / "weights.json"
    write_weights(path, WEIGHTS_PAPER)

    assert dict(WEIGHTS_PAPER) == read_weights(path)
    with pytest.raises(InputError, match="there already"):
        write_weights(path, {"late": 1.0})
    write_weights(path, {"late": 1.0}, replace=True)
    assert {"late": 1.0} == read_weights(path)


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        ({"lcss": 1.5, "edr": -0.5}, "from 0 to 1"),
        ({"lcss": 0.5}, "sum to 1, got 0.5"),
        ({}, "sum to 1, got 0"),
        ({"lcss": math.nan}, "from 0 to 1"),
        ({"lcss": True}, "from 0 to 1"),
        ({"lcss": 1e308, "edr": 1e308}, "from 0 to 1"),
        ({"lcss": "1"}, "from 0 to 1"),
        ({"lcss": 0.5, "moonwalk": 0.5}, "got moonwalk too"),
    ],
)
def test_wrong_weights_are_refused(tmp_path, weights, complaint):
    """Given, written or read: and nothing is written."""
    path = tmp_path / "weights.json"
    with pytest.raises(InputError, match=complaint):
        checked_weights(weights)
    with pytest.raises(InputError, match=complaint):
        write_weights(path, weights)
    assert not path.exists()
    path.write_text(json.dumps({"format": 1, "weights": weights}), encoding="utf-8")
    with pytest.raises(InputError, match=complaint):
        read_weights(path)


@pytest.mark.parametrize("text", ["", "[]", '{"weights": {"lcss": 1}}', '{"format": 1}', "\xff"])
def test_what_holds_no_weights_is_refused(tmp_path, text):
    path = tmp_path / "weights.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"weights\.json"):
        read_weights(path)


def test_missing_weights_are_reported(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the weights none\.json"):
        read_weights(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"cannot write the weights w\.json"):
        write_weights(tmp_path / "none" / "w.json", {"late": 1.0})


def test_late_interaction_does_not_mind_the_order():
    assert pytest.approx(1) == likeness(METRICS["late"], [1, 2, 3], [3, 1, 2, 2])
    assert 0 == METRICS["late"].similarities(words([[1, 1]]), [words([[2, 2]])], toy_codebook()).max()

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance, random_words, shipped, toy_codebook, words
from dancematch.errors import InputError
from dancematch.motion import change_tempo, excerpt, perturb
from dancematch.search.stage2.local_alignment import (
    AlignedSegment,
    Profile,
    Rules,
    align_segments,
    group_repeats,
)
from dancematch.search.stage2.word_alignment import expected_similarity, word_evidence
from dancematch.synthetic.dance.choreography import compose_dance, perform
from dancematch.types import SEEN_FROM

BOOK = toy_codebook(vocabulary=64)
USUAL = expected_similarity(BOOK, np.ones((2, 64), int))
# Everything counts: to compare with definitions that know no limits.
LAX = Rules(expected=0, deepest_drop=np.inf, least_score=0, least_length=1, slowest=0, fastest=np.inf)


def evidence_matrix(query, reference, book, usual):
    return Profile(query, book, usual).evidence(reference)


def gotoh(gain, gap_open: float, gap_extend: float) -> float:
    """The best local score by the textbook: matches, gaps in one clip, gaps in the other."""
    rows, columns = gain.shape
    never = -np.inf
    match = np.full((rows + 1, columns + 1), never)
    aside = np.full((rows + 1, columns + 1), never)
    down = np.full((rows + 1, columns + 1), never)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            before = max(0.0, match[i - 1, j - 1], aside[i - 1, j - 1], down[i - 1, j - 1])
            match[i, j] = before + gain[i - 1, j - 1]
            aside[i, j] = max(match[i, j - 1] - gap_open, aside[i, j - 1] - gap_extend)
            down[i, j] = max(match[i - 1, j] - gap_open, down[i - 1, j] - gap_extend)
    return max(0.0, match.max())


def path_score(gain, path, rules: Rules) -> float:
    """What a path gains, less its gaps."""
    total = gain[path[:, 0], path[:, 1]].sum()
    for step in np.diff(path, axis=0):
        skipped = step.max() - 1
        if skipped:
            total -= rules.gap_open + rules.gap_extend * (skipped - 1)
    return float(total)


def noise(query: int, reference: int, seed: int, mean: float = -0.3):
    return np.random.default_rng(seed).normal(mean, 0.5, size=(query, reference)).astype(np.float32)


def blank(query: int, reference: int):
    """Words that have nothing to do with one another."""
    return np.full((query, reference), -0.2, dtype=np.float32)


def with_run(evidence, query: int, reference: int, length: int, value: float = 0.8):
    for step in range(length):
        evidence[query + step, reference + step] = value
    return evidence


shapes = st.tuples(st.integers(1, 14), st.integers(1, 14), st.integers(0, 100_000))


@settings(max_examples=80, deadline=None)
@given(shapes, st.floats(0, 1), st.floats(0, 0.5))
def test_the_best_score_is_the_textbooks(shape, gap_open, gap_extend):
    """Gotoh's three tables, where gaps may be as long as the clips."""
    rules = replace(LAX, gap_open=gap_open, gap_extend=gap_extend, longest_gap=14)
    gain = noise(*shape)
    found = align_segments(gain, rules, limit=1)

    assert pytest.approx(gotoh(gain, gap_open, gap_extend), abs=1e-4) == sum(one.score for one in found)


@settings(max_examples=80, deadline=None)
@given(shapes)
def test_segments_are_monotone_apart_and_worth_their_score(shape):
    gain = noise(*shape, mean=-0.1)
    found = align_segments(gain, LAX)
    taken = np.zeros(gain.shape, dtype=bool)

    for one in found:
        steps = np.diff(one.path, axis=0)
        assert one.score > 0
        assert pytest.approx(path_score(gain, one.path, LAX), abs=1e-4) == one.score
        assert (steps >= 1).all()
        assert (steps.min(axis=1, initial=1) == 1).all()
        assert (steps.max(axis=1, initial=1) <= LAX.longest_gap + 1).all()
        assert not taken[one.path[:, 0], one.path[:, 1]].any()
        taken[one.query[0] : one.query[1] + 1, one.reference[0] : one.reference[1] + 1] = True
    assert sorted((one.score for one in found), reverse=True) == [one.score for one in found]


@settings(max_examples=60, deadline=None)
@given(shapes)
def test_swapping_the_clips_swaps_the_segments(shape):
    gain = noise(*shape, mean=-0.1)
    there, back = align_segments(gain, LAX), align_segments(gain.T, LAX)

    assert [one.path[:, ::-1].tolist() for one in there] == [one.path.tolist() for one in back]
    assert pytest.approx([1 / one.tempo for one in there]) == [one.tempo for one in back]


@settings(max_examples=60, deadline=None)
@given(shapes)
def test_each_segment_is_the_best_of_what_is_left(shape):
    """Refilling only what a barred segment can have changed gives what starting anew would."""
    gain = noise(*shape, mean=0.1)
    found = align_segments(gain, LAX)
    rest = gain.copy()

    for one in found:
        (best,) = align_segments(rest, LAX, limit=1)
        assert best.path.tolist() == one.path.tolist()
        rest[one.query[0] : one.query[1] + 1, one.reference[0] : one.reference[1] + 1] = -1e9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(8, 30), st.integers(0, 29))
def test_an_identical_stretch_is_found_exactly(seed, length, first):
    whole = random_words(60, seed, vocabulary=64)
    passage = whole.segment(first, first + length - 1)
    best = align_segments(evidence_matrix(passage, whole, BOOK, USUAL))[0]

    assert ((0, length - 1), (first, first + length - 1)) == (best.query, best.reference)
    assert 1.0 == best.tempo
    assert [[i, first + i] for i in range(length)] == best.path.tolist()


def test_unrelated_clips_have_no_segment_to_speak_of():
    """Not a fifth of what a copy scores."""
    asked = [random_words(40, seed, vocabulary=64) for seed in range(20)]
    others = [random_words(300, 500 + seed, vocabulary=64) for seed in range(20)]
    copies = [align_segments(evidence_matrix(query, query, BOOK, USUAL), limit=1) for query in asked]
    found = [
        align_segments(evidence_matrix(*pair, BOOK, USUAL), limit=1)
        for pair in zip(asked, others, strict=True)
    ]

    assert max(one.score for every in found for one in every) < 0.2 * min(one.score for (one,) in copies)


def test_two_shared_passages_are_two_segments():
    found = align_segments(with_run(with_run(blank(40, 200), 2, 150, 12), 20, 30, 18))

    assert [((20, 37), (30, 47)), ((2, 13), (150, 161))] == [(one.query, one.reference) for one in found]
    assert 2 == len(group_repeats(found))


def test_a_repeated_eight_count_is_one_passage_in_several_places():
    """Ten rounds of one eight-count: ten segments, one group; no echoes beside them."""
    eight = random_words(30, 3, vocabulary=64).words
    reference = words(np.tile(eight, (10, 1)), vocabulary=64)
    found = align_segments(evidence_matrix(words(eight, vocabulary=64), reference, BOOK, USUAL), limit=20)
    (group,) = group_repeats(found)

    assert [(30 * i, 30 * i + 29) for i in range(10)] == sorted(one.reference for one in group)


def test_a_loop_asked_for_in_two_rounds_is_told_by_its_places():
    """Two rounds asked, six danced: every word of the reference is accounted for once."""
    eight = random_words(20, 3, vocabulary=64).words
    evidence = evidence_matrix(
        words(np.tile(eight, (2, 1)), vocabulary=64),
        words(np.tile(eight, (6, 1)), vocabulary=64),
        BOOK,
        USUAL,
    )
    long = [one for one in align_segments(evidence, limit=20) if one.query == (0, 39)]

    assert 3 <= len(align_segments(evidence, limit=20))
    assert 1 <= len(long) == len(group_repeats(long)[0])


@pytest.mark.parametrize("tempo", [0.65, 0.8, 1.0, 1.25, 1.6])
def test_tempo_is_measured(tempo):
    """The reference goes `tempo` words a word of the query."""
    whole = random_words(120, 2, vocabulary=64)
    steps = np.round(np.arange(40) * tempo).astype(int)
    best = align_segments(evidence_matrix(words(whole.words[10 + steps], vocabulary=64), whole, BOOK, USUAL))[
        0
    ]

    assert pytest.approx(tempo, rel=0.06) == best.tempo
    assert 10 == best.reference[0]


@pytest.mark.parametrize("slope", [3, 1 / 3])
def test_a_tempo_nobody_dances_is_no_match(slope):
    query, reference = (40, 120) if slope > 1 else (120, 40)
    evidence = blank(query, reference)
    for step in range(40):
        evidence[(step, 3 * step) if slope > 1 else (3 * step, step)] = 0.8

    assert [] == align_segments(evidence)
    assert pytest.approx(slope) == align_segments(evidence, Rules(slowest=0.1, fastest=10))[0].tempo


def test_a_path_cannot_leap_from_one_chorus_to_the_next():
    """The query's first half here and its second half there are two segments, not one with a long gap."""
    found = align_segments(with_run(with_run(blank(40, 200), 0, 20, 20), 20, 60, 20))

    assert [(0, 19), (20, 39)] == sorted(one.query for one in found)


def test_a_few_words_missed_do_not_break_a_match():
    evidence = with_run(blank(40, 100), 5, 40, 30)
    evidence[15:17, 50:52] = -0.2
    (best,) = align_segments(evidence)

    assert ((5, 34), (40, 69)) == (best.query, best.reference)


def test_many_are_aligned_as_each():
    several = [noise(20, 50, seed, mean=0.1) for seed in range(4)]

    assert [align_segments(one, limit=1)[0].path.tolist() for one in several] == [
        one.path.tolist() for (one,) in (align_segments(each, limit=1) for each in several)
    ]


def test_repeats_are_grouped_by_what_they_are_of():
    def segment(query, reference, score):
        steps = np.arange(query[1] - query[0] + 1)
        return AlignedSegment(np.stack([query[0] + steps, reference + steps], axis=1), score, 1.0)

    best, again, other = segment((0, 19), 5, 9.0), segment((3, 21), 70, 8.0), segment((25, 39), 120, 8.5)

    assert [[best, again], [other]] == group_repeats([again, other, best])
    assert [] == group_repeats([])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 40), st.integers(1, 16))
def test_evidence_is_that_of_the_plain_way(seed, query_words, reference_words, channels):
    """Any number of channels, any of them unseen at any moment, on either side."""
    rng = np.random.default_rng(seed)
    book = toy_codebook([str(i) for i in range(channels)])
    table = rng.uniform(size=book.similarity.shape)
    book = type(book)(book.model_id, book.channels, book.vectors, (table + table.transpose(0, 2, 1)) / 2)
    usual = expected_similarity(book, rng.integers(50, size=(channels, 8)))
    query, reference = (
        words(
            rng.integers(8, size=(n, channels)), visibility=rng.uniform(0, 2 * SEEN_FROM, size=(n, channels))
        )
        for n in (query_words, reference_words)
    )
    fast = Profile(query, book, usual).evidence(reference)

    assert (query_words, reference_words) == fast.shape
    np.testing.assert_allclose(word_evidence(query, reference, book, usual), fast, atol=1e-5)


@pytest.mark.parametrize(("change", "tempo"), [(None, 1.0), ("tilt", 1.0), ("noise", 1.0), (None, 1.2)])
def test_two_seconds_of_a_three_minute_dance_are_found_at_their_place(change, tempo):
    """From joints on, changed as a camera, an estimator or the dancer would."""
    model = shipped()
    whole = perform(compose_dance(11, eight_counts=42, bpm=112))
    at = 97.0
    clip = change_tempo(excerpt(whole, at, at + 2), tempo)
    clip = clip if change is None else perturb(clip, change, seed=1)
    book = model.codebook
    usual = expected_similarity(book, np.ones((len(book.channels), book.vocabulary), int))
    reference = model.fingerprint(whole)
    found = align_segments(evidence_matrix(model.fingerprint(clip), reference, book, usual), limit=30)
    starts = [reference.span(*one.reference).start for one in found]

    assert whole.seconds > 175
    assert min(abs(start - at) for start in starts) < 0.5
    assert found[0].score < 2 * max(
        o.score for o, start in zip(found, starts, strict=True) if abs(start - at) < 0.5
    )


def test_a_real_passage_has_its_place_and_tempo():
    """From joints on: four seconds danced a fifth faster, in a dance that does not repeat them."""
    model = shipped()
    whole = dance(5, eight_counts=1)
    clip = change_tempo(excerpt(whole, 0.4, 3.8), 1.2)
    book = model.codebook
    usual = expected_similarity(book, np.ones((len(book.channels), book.vocabulary), int))
    reference = model.fingerprint(whole)
    best = align_segments(evidence_matrix(model.fingerprint(clip), reference, book, usual))[0]
    when = reference.span(*best.reference)

    assert pytest.approx((0.4, 3.8), abs=0.4) == (when.start, when.end)
    assert pytest.approx(1.2, rel=0.1) == best.tempo


@pytest.mark.parametrize(
    "order",
    [
        lambda: align_segments(np.zeros((0, 5), np.float32)),
        lambda: align_segments(np.zeros(5, np.float32)),
        lambda: align_segments(blank(3, 3), limit=0),
        lambda: Rules(gap_open=-1),
        lambda: Rules(slowest=2, fastest=1),
    ],
)
def test_senseless_orders_are_refused(order):
    with pytest.raises(InputError):
        order()

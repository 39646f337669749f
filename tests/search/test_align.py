import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import SECONDS_PER_WORD, dance, random_words, shipped, toy_codebook, words
from dancematch.motion import FPS, change_tempo, excerpt
from dancematch.search.stage2.word_alignment import TEMPI, expected_similarity, word_evidence
from dancematch.types import SEEN_FROM, Codebook, Fingerprint
from plain_lines import find_line

BOOK = toy_codebook()
USUAL = expected_similarity(BOOK, np.ones((2, 8), int))


def located(query: Fingerprint, reference: Fingerprint):
    return find_line(query, reference, BOOK, USUAL)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(8, 30), st.integers(0, 29))
def test_a_copied_passage_is_found_where_it_came_from(seed, length, first):
    whole = random_words(60, seed)
    passage = whole.segment(first, first + length - 1)
    found = located(words(passage.words), whole)

    assert pytest.approx(1.0, abs=1e-3) == found.agreement
    assert (whole.span(first, first + length - 1), 1.0) == (found.reference, found.tempo)
    assert (0.0, length * SECONDS_PER_WORD) == (found.query.start, found.query.end)


def test_times_are_on_each_clips_own_clock():
    whole = words(random_words(40, 1).words, start=100.0)
    found = located(words(whole.words[10:30], start=7.0), whole)

    assert (7.0, 105.0) == (found.query.start, found.reference.start)


@pytest.mark.parametrize("overhang", [2, 5])
def test_a_clip_that_begins_before_the_dance_is_placed_by_what_they_share(overhang):
    whole = random_words(40, 1)
    before = random_words(overhang, 99).words
    found = located(words(np.concatenate([before, whole.words[:20]])), whole)

    assert overhang * SECONDS_PER_WORD == found.query.start
    assert (0.0, 20 * SECONDS_PER_WORD) == (found.reference.start, found.reference.end)


def test_a_dance_inside_a_longer_clip_is_found():
    """The query may be the longer one."""
    whole = random_words(20, 3)
    clip = np.concatenate([random_words(15, 4).words, whole.words, random_words(15, 5).words])
    found = located(words(clip), whole)

    assert (15 * SECONDS_PER_WORD, 35 * SECONDS_PER_WORD) == (found.query.start, found.query.end)
    assert whole.span(0, 19) == found.reference


@pytest.mark.parametrize("tempo", [TEMPI[0], TEMPI[3], TEMPI[-1]])
def test_another_tempo_is_measured(tempo):
    """The reference goes `tempo` words a word of the query: the query is danced so much faster."""
    whole = random_words(80, 2)
    steps = np.round(np.arange(40) * tempo).astype(int)
    found = located(words(whole.words[10 + steps]), whole)

    assert pytest.approx(tempo) == found.tempo
    assert 10 * SECONDS_PER_WORD == found.reference.start


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.25])
def test_a_faster_dancer_is_placed_and_timed(factor):
    """From joints on: an excerpt of four seconds, danced faster or slower, is found within a word or two."""
    whole = dance(5, eight_counts=4)
    part = change_tempo(excerpt(whole, 6.0, 12.0), factor)
    reference = shipped().fingerprint(whole)
    codebook = shipped().codebook
    usual = expected_similarity(codebook, np.ones((len(codebook.channels), codebook.vocabulary), int))
    found = find_line(shipped().fingerprint(part), reference, codebook, usual)

    assert pytest.approx(factor, rel=0.08) == found.tempo
    assert pytest.approx(6.0, abs=8 / FPS) == found.reference.start
    assert pytest.approx(12.0, abs=8 / FPS) == found.reference.end
    assert found.agreement > 0.5


def test_unrelated_words_do_not_agree():
    found = [located(random_words(40, seed), random_words(60, 500 + seed)).agreement for seed in range(20)]

    assert np.mean(found) < 0.3


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_renaming_the_words_changes_nothing(seed):
    """The numbers of the words mean nothing: only the codebook's similarity does."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(size=(2, 8, 8))
    table = (table + table.transpose(0, 2, 1)) / 2
    table[:, range(8), range(8)] = 1
    order = rng.permutation(8)
    new_name = np.argsort(order)
    plain = Codebook("toy", ("a", "b"), np.zeros((2, 8, 1)), table)
    renamed = Codebook("toy", ("a", "b"), np.zeros((2, 8, 1)), table[:, order][:, :, order])
    query, reference = random_words(12, seed), random_words(30, seed + 1)
    counts = np.ones((2, 8), int)
    before = find_line(query, reference, plain, expected_similarity(plain, counts))
    after = find_line(
        words(new_name[query.words]),
        words(new_name[reference.words]),
        renamed,
        expected_similarity(renamed, counts),
    )

    assert pytest.approx(before.agreement, abs=1e-5) == after.agreement


def test_a_part_that_only_one_shows_says_nothing():
    """Legs that the query does not show may differ without harm."""
    whole = random_words(40, 1)
    query = np.stack([whole.words[10:30, 0], random_words(20, 9).words[:, 1]], axis=1)
    hidden = np.tile([1.0, SEEN_FROM - 0.1], (20, 1))
    found = located(words(query, visibility=hidden), whole)

    assert pytest.approx(1.0, abs=1e-3) == found.agreement
    assert whole.span(10, 29) == found.reference
    assert 0 == np.abs(word_evidence(words(query, visibility=hidden * 0), whole, BOOK, USUAL)).max()


def test_common_words_are_weak_evidence():
    """A word that is like what everybody does says less than a word of one's own."""
    table = np.array([[[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]]])
    book = Codebook("toy", ("body",), np.zeros((1, 3, 1)), table)
    usual = expected_similarity(book, np.array([[50, 50, 1]]))

    assert usual[0, 0] > 0.9 > 0.1 > usual[0, 2]


@pytest.mark.parametrize(("query", "reference"), [(1, 1), (1, 30), (30, 1), (2, 3)])
def test_very_short_clips_are_placed(query, reference):
    found = located(random_words(query, 0), random_words(reference, 1))

    assert 0 <= found.reference.start < found.reference.end <= reference * SECONDS_PER_WORD
    assert 0 <= found.query.start < found.query.end <= query * SECONDS_PER_WORD


def test_agreement_never_exceeds_a_word_for_word_copy():
    """A long query of one repeated word shares more words than the reference has: still no more than all."""
    still, short = words(np.zeros((30, 2), dtype=int)), words(np.zeros((10, 2), dtype=int))

    assert located(still, short).agreement <= 1

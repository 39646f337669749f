import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import toy_codebook, words
from dancematch.search.stage2.line_search import _bound
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.stage2.word_alignment import (
    LEAST_SHARED,
    TEMPI,
    expected_similarity,
    full_evidence,
    word_evidence,
)
from dancematch.search.words.word_store import unpack_words
from dancematch.tracks import pack_words
from dancematch.types import SEEN_FROM, Codebook, Fingerprint
from plain_lines import find_line

VOCABULARY = 64


def steps_of(query_words: int, tempo: float):
    return np.round(np.arange(query_words) * tempo).astype(np.int64)


class Model:
    """Any number of channels, words that are more or less alike, and clips that show some of them."""

    def __init__(self, seed: int, channels: int) -> None:
        self._rng = np.random.default_rng(seed)
        book = toy_codebook([str(number) for number in range(channels)], VOCABULARY)
        alike = self._rng.uniform(size=book.similarity.shape)
        alike = np.where(book.similarity > 0, 1, (alike + alike.transpose(0, 2, 1)) / 2)
        self.book = Codebook(book.model_id, book.channels, book.vectors, alike)
        counts = self._rng.integers(50, size=(channels, VOCABULARY))
        self.usual = expected_similarity(self.book, counts)

    def clip(self, length: int) -> Fingerprint:
        """Words at random, a quarter of them unseen."""
        shape = length, len(self.book.channels)
        seen = self._rng.choice([0.0, 1.0, 1.0, 1.0], size=shape)
        seen[self._rng.integers(length)] = 1  # something must be seen
        rows = self._rng.integers(VOCABULARY, size=shape)
        return words(rows, vocabulary=VOCABULARY, visibility=seen)

    def variant(self, query: Fingerprint) -> Variant:
        """The clip, ready to be compared."""
        worth = np.ones((len(self.book.channels), VOCABULARY), np.float32)
        return Variant(query, self.book, WordStatistics("sqrt-idf", worth, self.usual))

    def along(self, query: Fingerprint, reference: Fingerprint, offset: int, tempo: float) -> float:
        """The agreement along one line, from the definition."""
        columns = offset + steps_of(len(query), tempo)
        shared = np.flatnonzero((columns >= 0) & (columns < len(reference)))
        said = word_evidence(query, reference, self.book, self.usual)[shared, columns[shared]]
        longer = max(1.0, min(len(query), len(reference)) / len(shared))
        full = float(full_evidence(query, self.usual)[shared].sum()) * longer
        return min(1.0, float(said.sum(dtype=float)) / max(full, 1e-6))


def check(model: Model, query: Fingerprint, references: list[Fingerprint]) -> None:
    variant = model.variant(query)
    found = variant.best_lines(unpack_words(pack_words(references)))
    for number, reference in enumerate(references):
        plain = find_line(query, reference, model.book, model.usual)
        tempo, offset = int(found.tempi[number]), int(found.offsets[number])

        assert pytest.approx(plain.agreement, abs=1e-5) == found.agreements[number]
        own = model.along(query, reference, offset, TEMPI[tempo])
        assert pytest.approx(own, abs=1e-5) == found.agreements[number]
        spans = variant.line_spans(reference, offset, tempo)
        if plain.tempo == TEMPI[tempo] and plain.query.start == spans[0].start:
            assert (plain.query, plain.reference) == spans


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([1, 2, 7, 8, 14, 15]),
    st.integers(1, 40),
    st.lists(st.integers(1, 60), min_size=1, max_size=20),
)
def test_lines_are_those_of_the_plain_way(seed, channels, query_words, lengths):
    """For several references at once, of any lengths, the line that a search takes is as good as the best."""
    model = Model(seed, channels)
    check(model, model.clip(query_words), [model.clip(length) for length in lengths])


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("query_words", [127, 300])
def test_a_long_clip_is_taken_a_part_at_a_time(channels, query_words):
    """Beside long references its words do not fit in at once; the lines are the same."""
    model = Model(query_words, channels)
    check(model, model.clip(query_words), [model.clip(length) for length in (1, 40, 350, 1500)])


def test_a_passage_is_found_wherever_others_stand_beside_it():
    """Eight are looked at side by side: nothing of one is taken for another's."""
    model = Model(3, 2)
    whole = model.clip(90)
    query = words(whole.words[30:60], vocabulary=VOCABULARY, visibility=whole.visibility[30:60])
    others = [model.clip(length) for length in range(20, 130, 5)]
    alone = model.variant(query).best_lines(unpack_words(pack_words([whole])))
    for number in range(len(others) + 1):
        found = model.variant(query).best_lines(
            unpack_words(pack_words([*others[:number], whole, *others[number:]]))
        )

        assert [column[0] for column in alone] == [column[number] for column in found]
        assert (30, 1.0) == (found.offsets[number], TEMPI[found.tempi[number]])


def test_no_stretches_have_no_lines():
    """Nothing to compare with is no mistake."""
    model = Model(0, 2)
    nothing = unpack_words(pack_words([model.clip(5)]))
    nothing = type(nothing)(nothing.words[:0], nothing.seen[:0], nothing.offsets[:1])

    assert [0, 0, 0] == [len(column) for column in model.variant(model.clip(9)).best_lines(nothing)]


@pytest.mark.parametrize("query_words", [1, 2, 3, 4, 5, 8, 13, 31, 66, 130])
def test_the_places_that_share_enough_words_are_all_those_between_two(query_words):
    """Counted one by one, for stretches of any length; of one step, tempi above 1 keep some of them."""
    ways = np.stack([steps_of(query_words, tempo) for tempo in TEMPI])
    for length in range(1, 150):
        bounds = np.zeros((len(TEMPI), 2), np.float32)
        _bound(ways, length, LEAST_SHARED, bounds)
        for way, (first, end) in zip(ways, bounds.astype(int).tolist(), strict=True):
            columns = np.arange(length + way[-1])[:, None] - way[-1] + way
            shared = ((columns >= 0) & (columns < length)).sum(axis=1)
            enough = np.flatnonzero(shared >= LEAST_SHARED * min(query_words, length)).tolist()
            inside = list(range(first, end))

            assert inside == enough or (length == 1 and way[-1] >= query_words and set(inside) < set(enough))


def test_unseen_words_say_nothing():
    """A clip of which nothing is seen agrees with nobody; one that shows a part goes by that part."""
    model = Model(5, 2)
    reference = model.clip(40)
    hidden = words(reference.words, vocabulary=VOCABULARY, visibility=np.zeros_like(reference.visibility))
    half = words(
        np.stack([reference.words[:, 0], np.zeros(40, int)], axis=1),
        vocabulary=VOCABULARY,
        visibility=np.stack([reference.visibility[:, 0], np.full(40, SEEN_FROM / 2)], axis=1),
    )
    found = model.variant(reference).best_lines(unpack_words(pack_words([hidden])))

    assert 0 == found.agreements[0]
    check(model, half, [reference])

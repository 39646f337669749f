import itertools
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance, random_words, shipped, words
from dancematch.errors import InputError
from dancematch.motion import FPS, excerpt, perturb
from dancematch.search.stage1 import postings
from dancematch.search.stage1.postings import TOLERANCE, Postings, choose_channels
from dancematch.types import SEEN_FROM, Fingerprint


def indexed(*fingerprints: Fingerprint, channels=(0, 1)) -> Postings:
    index = Postings(fingerprints[0].vocabulary, channels)
    index.append(fingerprints)
    return index


def trigrams(fingerprint: Fingerprint, channels):
    """Every (time, channel and words) whose three words are seen and not all the same."""
    for channel in channels:
        for time in range(len(fingerprint) - 2):
            gram = fingerprint.words[time : time + 3, channel].tolist()
            if len(set(gram)) > 1 and (fingerprint.visibility[time : time + 3, channel] >= SEEN_FROM).all():
                yield time, (channel, *gram)


def slow_scores(entries: dict[int, Fingerprint], query: Fingerprint, channels=(0, 1)) -> dict[int, float]:
    """The definition: rarity of the trigrams whose offsets lie within the tolerance, at best."""
    places = defaultdict(list)
    for entry, fingerprint in entries.items():
        for time, gram in trigrams(fingerprint, channels):
            places[gram].append((entry, time))
    total = sum(map(len, places.values()))
    votes = defaultdict(list)
    for time, gram in trigrams(query, channels):
        if gram not in places:
            continue
        weight = round(64 * (0.1 + np.log(total / len(places[gram])))) / 64
        for entry, at in places[gram]:
            votes[entry].append((at - time, weight))
    return {
        entry: max(
            sum(weight for offset, weight in cast if first <= offset <= first + TOLERANCE)
            for first, _ in cast
        )
        for entry, cast in votes.items()
    }


def ranked(scores: dict[int, float]) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def found(index: Postings, query: Fingerprint, limit: int = 10) -> list[tuple[int, float]]:
    votes = index.search(query, limit)
    return list(zip(votes.entries.tolist(), votes.scores.tolist(), strict=True))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(2, 4), st.integers(1, 6))
def test_votes_are_counted_as_defined(seed, entries, vocabulary, limit):
    """Few words, so that everything meets everything: entries, order and scores of a plain count."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 40, size=entries)
    known = {i: random_words(n, seed + i, vocabulary=vocabulary) for i, n in enumerate(lengths)}
    query = random_words(int(rng.integers(1, 25)), seed + 999, vocabulary=vocabulary)

    assert ranked(slow_scores(known, query))[:limit] == found(indexed(*known.values()), query, limit)


def test_a_long_shortlist_of_many_entries_is_exact(monkeypatch):
    """Far more entries than are looked at by place at first: the first look is widened until it is enough."""
    monkeypatch.setattr(postings, "_POOL", 2)
    known = {i: random_words(30, i, vocabulary=3) for i in range(300)}
    query = random_words(20, 4242, vocabulary=3)

    assert ranked(slow_scores(known, query))[:7] == found(indexed(*known.values()), query, 7)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_growing_bit_by_bit_or_at_once_is_the_same(seed, portions):
    dances = [random_words(25, seed + i, vocabulary=4) for i in range(sum(portions))]
    grown = Postings(4, (0, 1))
    rest = iter(dances)
    numbers = [number for portion in portions for number in grown.append(itertools.islice(rest, portion))]
    query = random_words(15, seed + 77, vocabulary=4)
    whole = indexed(*dances)

    assert list(range(len(dances))) == numbers
    assert found(whole, query) == found(grown, query)
    assert whole.search(query, 10).offsets.tolist() == grown.search(query, 10).offsets.tolist()
    assert len(grown._runs) <= 1 + np.log2(max(2, grown.occurrences))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sets(st.integers(0, 9)))
def test_deleted_entries_are_found_no_more_and_the_others_keep_their_numbers(seed, gone):
    known = {i: random_words(25, seed + i, vocabulary=3) for i in range(10)}
    index = indexed(*known.values())
    index.delete(gone)
    query = random_words(20, seed + 77, vocabulary=3)
    kept = sorted(set(known) - gone)

    assert len(kept) == len(index)
    assert kept == sorted(index.search(query, 20).entries.tolist())
    index.append([query])
    assert 10 == index.search(query, 1).entries[0]


def test_who_was_deleted_changes_nothing_about_what_is_rare():
    """The votes are those of an index that never had the others, weight for weight."""
    known = [random_words(25, seed, vocabulary=3) for seed in range(10)]
    thinned, query = indexed(*known), random_words(20, 77, vocabulary=3)
    thinned.delete([0, 3, 4])
    fresh = indexed(*(known[number] for number in (1, 2, 5, 6, 7, 8, 9)))
    expected, found = fresh.search(query, 7), thinned.search(query, 7)

    assert expected.scores.tolist() == found.scores.tolist()
    assert expected.offsets.tolist() == found.offsets.tolist()


def test_searches_go_on_while_dances_are_added():
    """A reader sees what stood when it began: the first dance is found however much is merged meanwhile."""
    dances = [random_words(40, seed, vocabulary=64) for seed in range(400)]
    index = indexed(dances[0])
    done = Event()

    def search() -> int:
        count = 0
        while not done.is_set() or not count:
            assert 0 == index.search(dances[0], 3).entries[0]
            count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(search) for _ in range(2)]
        try:
            for one in dances[1:]:
                index.append([one])
        finally:
            done.set()

    assert all(reader.result() > 0 for reader in readers)


def test_deleting_frees_memory():
    index = indexed(*(random_words(50, i) for i in range(20)))
    before = index.nbytes
    index.delete(range(19))

    assert index.nbytes < before / 10


def test_a_passage_is_found_with_its_place():
    dances = [random_words(80, i, vocabulary=64) for i in range(30)]
    passage = words(dances[17].words[40:60], vocabulary=64)
    best = indexed(*dances).search(passage, 1)

    assert ([17], [40]) == (best.entries.tolist(), best.offsets.tolist())


def test_a_clip_that_begins_before_the_dance_has_a_negative_offset():
    known = random_words(40, 1, vocabulary=64)
    clip = np.concatenate([random_words(9, 2, vocabulary=64).words, known.words[:20]])
    best = indexed(known).search(words(clip, vocabulary=64), 1)

    assert [-9] == best.offsets.tolist()


def test_trigrams_out_of_order_do_not_add_up():
    """The same trigrams scattered over the dance are worth less than in their place."""
    passage = random_words(12, 1, vocabulary=64).words
    filler = [random_words(20, 50 + i, vocabulary=64).words for i in range(4)]
    pieces = [passage[9:12], passage[6:9], passage[3:6], passage[:3]]
    scattered = np.concatenate([part for pair in zip(pieces, filler, strict=True) for part in pair])
    together = np.concatenate([*filler, passage])
    known = indexed(words(scattered, vocabulary=64), words(together, vocabulary=64))
    (first, best), (_, second) = found(known, words(passage, vocabulary=64))

    assert 1 == first
    assert best > 2 * second


def test_holding_still_is_no_trigram():
    still = words(np.zeros((30, 2), dtype=int))

    assert 0 == indexed(still).occurrences
    assert [] == found(indexed(still, random_words(30, 1)), still)


def test_unseen_words_neither_enter_nor_ask():
    rows = random_words(20, 1, vocabulary=64)
    hidden = np.ones((20, 2))
    hidden[:, 1] = SEEN_FROM - 0.1
    half = words(rows.words, vocabulary=64, visibility=hidden)

    assert indexed(rows, channels=(0,)).occurrences == indexed(half).occurrences
    assert [] == found(indexed(rows, channels=(1,)), half)


def test_the_commonest_trigrams_are_left_out_when_votes_are_too_many(monkeypatch):
    """A vote budget of one: the one rare trigram decides, not the common ones."""
    common = [[0, 0], [1, 1], [2, 2]]
    rare = [[5, 5], [6, 6], [7, 7]]
    dances = [words(common * 3) for _ in range(5)] + [words(rare)]
    monkeypatch.setattr(postings, "MOST_VOTES", 1)

    assert [5] == [entry for entry, _ in found(indexed(*dances, channels=(0,)), words(common + rare))]


def test_large_vocabularies_have_wider_keys():
    """Two channels of 2,000 words make more trigrams than 32 bits hold."""
    known = [random_words(30, i, vocabulary=2000) for i in range(3)]
    index = indexed(*known)

    assert np.uint64 == index._runs[0].keys.dtype
    assert 2 == index.search(words(known[2].words[5:25], vocabulary=2000), 1).entries[0]


@pytest.mark.parametrize("change", ["tilt", "noise", "drift", "phase"])
def test_two_seconds_of_a_real_motion_are_found(change):
    """From joints on: two changed seconds of one of a dozen dances come first, at their place."""
    model = shipped()
    dances = [model.fingerprint(dance(seed, eight_counts=1)) for seed in range(12)]
    index = indexed(*dances, channels=choose_channels(model.codebook.channels))
    clip = perturb(excerpt(dance(7, eight_counts=1), 1.5, 3.5), change, seed=3)
    best = index.search(model.fingerprint(clip), 1)

    assert [7] == best.entries.tolist()
    assert pytest.approx(1.5, abs=12 / FPS) == best.offsets[0] * dances[7].seconds_per_word


def test_channels_whose_trigrams_keep_best_are_chosen():
    assert (3, 1) == choose_channels(("torso", "arms", "left_leg", "body"), 2)
    assert (1, 0, 2) == choose_channels(("tail", "arms", "ears"), 5)


@pytest.mark.parametrize(
    "wrong",
    [random_words(9, 0, vocabulary=9), random_words(9, 0, channels=1), words(np.zeros((70_000, 2), int))],
)
def test_fingerprints_that_do_not_fit_are_refused(wrong):
    index = indexed(random_words(20, 1))

    with pytest.raises(InputError, match="these postings take fingerprints of 8 words, 2 channels"):
        index.append([wrong])


def test_senseless_orders_are_refused():
    index = indexed(random_words(20, 1))

    with pytest.raises(InputError, match="at least one channel"):
        Postings(8, ())
    with pytest.raises(InputError, match="numbered 0 to 0"):
        index.delete([1])
    with pytest.raises(InputError, match="limit of 1 or more"):
        index.search(random_words(5, 1), 0)


def test_nothing_known_nothing_found():
    empty = Postings(8, (0, 1))

    assert range(0) == empty.append([])
    assert [] == found(empty, random_words(20, 1))
    assert [] == found(indexed(random_words(20, 1)), random_words(2, 1))

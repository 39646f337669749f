"""How fast short clips are looked up, placed and aligned, beside plain ways to do the same.

    python bench/postings.py [--entries 20000 1000000]

Dances of about a hundred words, one channel of 512: from every word a dozen others follow, some
far oftener than others, and a word is often held. Queries are three seconds (22 words) of a dance, a
fifth of the words changed. `postings`: the trigram route, and up to 20,000 entries a dict of lists in
plain Python with the same votes. `pair`: evidence, straight line and local alignment of one pair of
clips of the shipped model's fourteen channels, and the plain `align_segments` functions. One JSON object
a line; milliseconds are medians.
"""

import argparse
import json
import time
from collections import defaultdict

import numpy as np

from dancematch.model.tokeniser import load_background, load_model
from dancematch.search.stage1.postings import TOLERANCE, Postings
from dancematch.search.stage2 import local_alignment as localise
from dancematch.search.stage2 import word_alignment as plain
from dancematch.search.stage2.variant import Variant, WordStatistics
from dancematch.search.words.word_store import unpack_words
from dancematch.tracks import pack_words
from dancematch.types import Fingerprint

VOCABULARY = 512
STEPS = 100
QUERY = 22
CHUNK = 20_000
PLAIN_UP_TO = 20_000
LIMIT = 200


def median_ms(work, repeats: int = 15) -> float:
    work()  # whatever is made at the first call is not counted
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1000 * float(np.median(times))


def dances(count: int, rng: np.random.Generator) -> np.ndarray:
    """Words [count, STEPS] of a chain: a third of the words are held, a dozen others may follow."""
    follow = np.random.default_rng(512).integers(VOCABULARY, size=(VOCABULARY, 12))
    likely = 1 / np.arange(1, 13)
    words = np.empty((count, STEPS), dtype=np.uint16)
    words[:, 0] = rng.integers(VOCABULARY, size=count)
    for step in range(1, STEPS):
        before = words[:, step - 1]
        after = follow[before, rng.choice(12, size=count, p=likely / likely.sum())]
        words[:, step] = np.where(rng.random(count) < 0.33, before, after)
    return words


def fingerprint(words: np.ndarray) -> Fingerprint:
    return Fingerprint(words.reshape(len(words), -1), VOCABULARY, 4 / 30, "bench")


def questions(words: np.ndarray, count: int, rng: np.random.Generator) -> list[tuple[int, Fingerprint]]:
    asked = []
    for entry in rng.integers(len(words), size=count):
        first = rng.integers(STEPS - QUERY)
        part = words[entry, first : first + QUERY].copy()
        changed = rng.random(QUERY) < 0.2
        part[changed] = rng.integers(VOCABULARY, size=changed.sum())
        asked.append((int(entry), fingerprint(part)))
    return asked


class PlainPostings:
    """The same votes with a dict of lists."""

    def __init__(self, words: np.ndarray) -> None:
        self.table = defaultdict(list)
        for entry, row in enumerate(words.tolist()):
            for time_, gram in self.trigrams(row):
                self.table[gram].append((entry, time_))
        self.size = sum(map(len, self.table.values()))

    @staticmethod
    def trigrams(row):
        """Times and trigrams, without those of one word."""
        grams = enumerate(zip(row, row[1:], row[2:], strict=False))
        return [(time_, gram) for time_, gram in grams if len(set(gram)) > 1]

    def search(self, query: Fingerprint, limit: int) -> list[int]:
        """The entries with the heaviest votes for one place."""
        votes = defaultdict(list)
        for time_, gram in self.trigrams(query.words[:, 0].tolist()):
            found = self.table.get(gram, ())
            weight = 0.1 + np.log(self.size / max(1, len(found)))
            for entry, at in found:
                votes[entry].append((at - time_, weight))
        scores = {entry: self.heaviest(sorted(cast)) for entry, cast in votes.items()}
        return sorted(scores, key=lambda entry: (-scores[entry], entry))[:limit]

    @staticmethod
    def heaviest(cast) -> float:
        """The most weight within the tolerance."""
        best = total = left = 0
        for offset, weight in cast:
            total += weight
            while offset - cast[left][0] > TOLERANCE:
                total -= cast[left][1]
                left += 1
            best = max(best, total)
        return best


def measure_postings(entries: int, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    words = dances(entries, rng)
    asked = questions(words, 50, rng)
    index = Postings(VOCABULARY, (0,))
    began = time.perf_counter()
    for first in range(0, entries, CHUNK):
        index.append(map(fingerprint, words[first : first + CHUNK]))
    built = time.perf_counter() - began
    every = [median_ms(lambda query=query: index.search(query, LIMIT), 3) for _, query in asked]
    found = [index.search(query, LIMIT).entries.tolist() for _, query in asked]
    one = fingerprint(dances(1, rng)[0])
    facts = {
        "bench": "postings",
        "entries": entries,
        "postings": index.occurrences,
        "megabytes": round(index.nbytes / 1e6),
        "runs": len(index._runs),
        "build_seconds": round(built, 1),
        "search_ms": round(float(np.median(every)), 3),
        "search_ms_worst": round(max(every), 3),
        "right_first": np.mean([ids[:1] == [entry] for ids, (entry, _) in zip(found, asked, strict=True)]),
        "right_in_200": np.mean([entry in ids for ids, (entry, _) in zip(found, asked, strict=True)]),
        "append_one_ms": round(median_ms(lambda: index.append([one])), 3),
        "seed": seed,
    }
    if entries <= PLAIN_UP_TO:
        peer = PlainPostings(words)
        times = [median_ms(lambda query=query: peer.search(query, LIMIT), 3) for _, query in asked]
        facts["dict_of_lists_ms"] = round(float(np.median(times)), 3)
    return facts


def measure_pair(query_words: int, reference_words: int, seed: int) -> dict:
    model = load_model()
    background = load_background(model)
    book = model.codebook
    counts = np.ones((len(book.channels), book.vocabulary), dtype=int)
    usual = plain.expected_similarity(book, counts)
    pool = np.concatenate([one.words for one in background])
    start = np.random.default_rng(seed).integers(len(pool) - reference_words)
    words = pool[start : start + reference_words]
    reference = Fingerprint(words, book.vocabulary, background[0].seconds_per_word, book.model_id)
    query = reference.segment(10, 9 + query_words)
    profile = localise.Profile(query, book, usual)
    evidence = profile.evidence(reference)
    rarity = WordStatistics("sqrt-idf", np.ones((len(book.channels), book.vocabulary), np.float32), usual)
    variant, packed = Variant(query, book, rarity), unpack_words(pack_words([reference]))
    ours = median_ms(lambda: variant.best_lines(packed))
    theirs = median_ms(lambda: plain.place(query, reference, book, usual))
    return {
        "bench": "pair",
        "query_words": query_words,
        "reference_words": reference_words,
        "profile_ms": round(median_ms(lambda: localise.Profile(query, book, usual)), 3),
        "evidence_ms": round(median_ms(lambda: profile.evidence(reference)), 3),
        "word_evidence_ms": round(median_ms(lambda: plain.word_evidence(query, reference, book, usual)), 3),
        "evidence_and_line_ms": round(ours, 3),
        "place_ms": round(theirs, 3),
        "evidence_and_line_times_faster_than_place": round(theirs / ours, 1),
        "align_ms": round(median_ms(lambda: localise.align_segments(evidence)), 3),
        "seed": seed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, nargs="+", default=[20_000, 1_000_000])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for query_words, reference_words in ((40, 100), (40, 1400)):
        print(json.dumps(measure_pair(query_words, reference_words, options.seed)), flush=True)
    for entries in options.entries:
        print(json.dumps(measure_postings(entries, options.seed)), flush=True)


if __name__ == "__main__":
    main()

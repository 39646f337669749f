"""How often the right dance of a short clip is on the shortlist, by either way onto it, and what each holds.

    python bench/shortlisted.py [--entries 100000] [--queries 200]

Dances of shuffled_dances.py in the default words. A query is two or three seconds of one of them; a share of
its words is replaced by others, per channel. `histogram`: among the 200 dances of the best
histograms; `trigrams N`: among the 20 of three words in a row, N channels entered; `either N`: both.
"""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import json

import numpy as np
from shuffled_dances import STEPS, ShuffledDances, load_shuffled_dances

from dancematch.search.settings import CAP, PROPOSED_TRACKS
from dancematch.search.stage1.columns import HistogramColumns
from dancematch.search.stage1.histogram import channels_seen, word_counts
from dancematch.search.stage1.postings import Postings, choose_channels

CHANNELS = (1, 2, 4)


def build(made: ShuffledDances, count: int) -> tuple[HistogramColumns, dict[int, Postings]]:
    channels, vocabulary = made.codebook.similarity.shape[:2]
    columns = HistogramColumns(channels, vocabulary)
    postings = {n: Postings(vocabulary, choose_channels(made.codebook.channels, n)) for n in CHANNELS}
    for piece in made.pieces(count):
        packed = piece.packed
        columns.append_words(packed.words, packed.seen, packed.offsets[:-1], packed.offsets[1:] - 1)
        for one in postings.values():
            one.enter(packed)
    return columns, postings


def measure(made: ShuffledDances, known, options, words: int, replaced: float) -> dict:
    columns, postings = known
    rng = np.random.default_rng(options.seed)
    hits: dict[str, list[bool]] = {}
    for number in rng.integers(options.entries, size=options.queries).tolist():
        begin = int(rng.integers(STEPS - words + 1))
        # Drawn as the dance itself is, so that a share of at least the dance's own is the same words.
        clip = made.fingerprint(made.words(number, 1, replaced)[0, begin : begin + words])
        top = columns.top(word_counts(clip), channels_seen(clip), CAP)
        by_histogram = number in top.rows
        hits.setdefault("histogram", []).append(by_histogram)
        for count, one in postings.items():
            voted = number in one.search(clip, PROPOSED_TRACKS).entries
            hits.setdefault(f"trigrams {count}", []).append(voted)
            hits.setdefault(f"either {count}", []).append(voted or by_histogram)
    shares = {name: round(float(np.mean(values)), 3) for name, values in hits.items()}
    return {"seconds": round(words * 4 / 30, 1), "replaced": replaced, **shares}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    made = load_shuffled_dances("parts")
    known = build(made, options.entries)
    sizes = {f"trigrams_{count}_mb": round(one.nbytes / 1e6) for count, one in known[1].items()}
    print(json.dumps({"bench": "shortlisted", "entries": options.entries, **sizes}), flush=True)
    for words in (15, 22):
        for replaced in (0.3, 0.5, 0.7):
            print(json.dumps(measure(made, known, options, words, replaced)), flush=True)


if __name__ == "__main__":
    main()

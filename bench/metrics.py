"""How fast one clip's words are compared with a shortlist's, beside the best library for each metric.

    python bench/metrics.py [--candidates 200] [--length 100] [--vocabulary 256]

One channel, random words, our similarities against what aeon, tsdistances and rapidfuzz need for the same
metric, all in this process, one thread, taking turns; processor time, the median of the rounds. None of them
counts n-grams: there the peer is Python's own `Counter`, and the total is also given without.
Each library gets the words in its best form, made beforehand (`pack` says what ours takes).
The peers have the easier task where they cannot do ours: TWED, ERP and DTW over plain numbers instead of
distances between words. One JSON object per metric with the fastest peer, then the total.

Needs the extra `bench`.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version

import numpy as np
import tsdistances
from aeon.distances import (
    dtw_pairwise_distance,
    edr_pairwise_distance,
    erp_pairwise_distance,
    lcss_pairwise_distance,
    twe_pairwise_distance,
)
from rapidfuzz import process
from rapidfuzz.distance import LCSseq, Levenshtein

from dancematch.search.metrics.registry import METRICS, ComparedChannel, PackedCandidates
from dancematch.types import Codebook, Fingerprint

Work = Callable[[], object]
TIMED = ("twed", "lcss", "edr", "erp", "ngram", "dtw")
BESIDE = ("histogram", "twed-marteau", "late")  # without a peer
LIBRARIES = ("numba", "aeon", "rapidfuzz", "tsdistances")


def fingerprints(options: argparse.Namespace) -> list[Fingerprint]:
    """The query and its candidates."""
    rng = np.random.default_rng(options.seed)
    shape = (options.candidates + 1, options.length, 1)
    words = rng.integers(options.vocabulary, size=shape)
    return [Fingerprint(clip, options.vocabulary, 4 / 30, "random") for clip in words]


def random_codebook(vocabulary: int, seed: int) -> Codebook:
    vectors = np.random.default_rng(seed).normal(size=(1, vocabulary, 16)).astype(np.float32)
    apart = ((vectors[0, :, None] - vectors[0]) ** 2).sum(axis=2)
    return Codebook("random", ("all",), vectors, np.exp(-apart / np.median(apart))[None])


def our_work(clips: Sequence[Fingerprint], codebook: Codebook) -> dict[str, Work]:
    packed = PackedCandidates.of(clips[1:])
    channel = ComparedChannel(clips[0].words[:, 0].copy(), packed.channels[0], codebook, 0)
    named = {name: METRICS[name].compare for name in (*TIMED, *BESIDE)}
    return {name: (lambda compare=compare: compare(channel)) for name, compare in named.items()}


def peer_work(clips: Sequence[Fingerprint]) -> dict[str, dict[str, Work]]:
    """What each library does for each metric."""
    sequences = [clip.words[:, 0].tolist() for clip in clips]
    texts = ["".join(chr(256 + word) for word in sequence) for sequence in sequences]
    numbers = np.array(sequences, dtype=np.float64)
    one, many = numbers[:1], numbers[1:]
    lists, text = (sequences[:1], sequences[1:]), (texts[:1], texts[1:])
    one3, many3 = one[:, None], many[:, None]  # aeon: [cases, channels, steps]
    return {
        "twed": {
            "tsdistances": lambda: tsdistances.twe_distance(one, many, par=False),
            "aeon": lambda: twe_pairwise_distance(one3, many3),
        },
        "erp": {
            "tsdistances": lambda: tsdistances.erp_distance(one, many, par=False),
            "aeon": lambda: erp_pairwise_distance(one3, many3),
        },
        "dtw": {
            "tsdistances": lambda: tsdistances.dtw_distance(one, many, par=False),
            "aeon": lambda: dtw_pairwise_distance(one3, many3),
        },
        "lcss": {
            "rapidfuzz (lists)": lambda: process.cdist(*lists, scorer=LCSseq.similarity),
            "rapidfuzz (text)": lambda: process.cdist(*text, scorer=LCSseq.similarity),
            "tsdistances": lambda: tsdistances.lcss_distance(one, many, epsilon=0.5, par=False),
            "aeon": lambda: lcss_pairwise_distance(one3, many3, epsilon=0.5),
        },
        "edr": {
            "rapidfuzz (lists)": lambda: process.cdist(*lists, scorer=Levenshtein.distance),
            "rapidfuzz (text)": lambda: process.cdist(*text, scorer=Levenshtein.distance),
            "aeon": lambda: edr_pairwise_distance(one3, many3, epsilon=0.5),
        },
        "ngram": {"Counter": lambda: count_ngrams(sequences)},
    }


def count_ngrams(sequences: list[list[int]]) -> np.ndarray:
    """The cosines of bigrams and trigrams, [2, candidates]."""
    cosines = []
    for order in (2, 3):
        counts = [Counter(zip(*(s[k:] for k in range(order)), strict=False)) for s in sequences]
        norms = np.sqrt([sum(n * n for n in count.values()) for count in counts])
        asked = counts[0]
        shared = [sum(n * asked[g] for g, n in count.items() if g in asked) for count in counts[1:]]
        cosines.append(np.array(shared) / (norms[0] * norms[1:]))
    return np.array(cosines)


def median_ms(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Each work's median processor time, in turns so that a busy moment hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()  # compiled, or read from the compiler's cache
    for _ in range(rounds):
        for name, work in works.items():
            work()  # so that none finds the caches as the one before left them
            began = time.process_time()
            work()
            times[name].append(time.process_time() - began)
    return {name: 1000 * float(np.median(own)) for name, own in times.items()}


def say(**figures: object) -> None:
    rounded = {
        name: round(value, 3) if isinstance(value, float) else value for name, value in figures.items()
    }
    print(json.dumps({"bench": "metrics"} | rounded), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    clips = fingerprints(options)
    ours = our_work(clips, random_codebook(options.vocabulary, options.seed))
    peers = peer_work(clips)
    pack = median_ms({"pack": lambda: PackedCandidates.of(clips[1:])}, options.rounds)["pack"]
    setting = {name: getattr(options, name) for name in ("candidates", "length", "vocabulary", "seed")}
    own_ms, peer_ms = {}, {}
    for name in TIMED:
        taken = median_ms({"ours": ours[name]} | peers[name], options.rounds)
        own_ms[name] = taken.pop("ours")
        best = min(taken, key=taken.__getitem__)
        peer_ms[name] = taken[best]
        every = {peer: round(ms, 3) for peer, ms in taken.items()}
        ratio = taken[best] / own_ms[name]
        say(metric=name, ours_ms=own_ms[name], peer=best, peer_ms=taken[best], ratio=ratio, peers_ms=every)
    for name, taken_ms in median_ms({name: ours[name] for name in BESIDE}, options.rounds).items():
        say(metric=name, ours_ms=taken_ms)
    say(metric="pack", ours_ms=pack)
    report_total(own_ms, peer_ms, pack, setting)


def report_total(
    own: dict[str, float], peers: dict[str, float], pack: float, setting: dict[str, int]
) -> None:
    """All six; with the packing; and without the n-grams, which no library of the peers has."""
    total, best = sum(own.values()), sum(peers.values())
    ratios = {
        "ratio": best / total,
        "ratio_with_pack": best / (total + pack),
        "ratio_without_ngram": (best - peers["ngram"]) / (total - own["ngram"]),
    }
    versions = {index: version(index) for index in LIBRARIES}
    say(metric="total", ours_ms=total, peer_ms=best, **ratios, **setting, versions=versions)


if __name__ == "__main__":
    main()

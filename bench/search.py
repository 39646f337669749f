"""How long a search takes and how that grows with the catalogue.

    python bench/search.py [--dances 100 1000 5000]

Catalogues of random dances (words drawn from the shipped background, shuffled), queries of ten
seconds. Beside each time stands that of a plain dense product over the same histograms, the
simplest exact stage one, measured in the same run. One JSON object a catalogue size.
"""

import argparse
import json
import time

import numpy as np

from dancematch.index.engine import Engine, Query
from dancematch.index.histogram import word_counts
from dancematch.model.tokeniser import load_background, load_model
from dancematch.types import Fingerprint


def random_dance(background: list[Fingerprint], seconds: float, rng: np.random.Generator) -> Fingerprint:
    """A dance in ordinary words, in an order that nobody has danced."""
    pool = np.concatenate([f.words for f in (background[i] for i in rng.choice(len(background), 3))])
    steps = round(seconds / background[0].seconds_per_word)
    words = pool[rng.integers(len(pool), size=steps)]
    return Fingerprint(
        words, background[0].vocabulary, background[0].seconds_per_word, background[0].model_id
    )


def median_seconds(work, repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def measure(count: int, seed: int) -> dict:
    model = load_model()
    background = load_background(model)
    rng = np.random.default_rng(seed)
    dances = [(str(i), random_dance(background, 12.0, rng)) for i in range(count)]
    began = time.perf_counter()
    engine = Engine(model.codebook, dances, background=background)
    built = time.perf_counter() - began
    query = random_dance(background, 10.0, rng)
    dense = np.stack([word_counts(entry.fingerprint).ravel() for entry in engine._entries]).astype(np.float32)
    asked = word_counts(query).ravel().astype(np.float32)
    return {
        "bench": "search",
        "dances": count,
        "entries": len(engine._entries),
        "build_seconds": round(built, 2),
        "stage_one_ms": round(1000 * median_seconds(lambda: engine._compare(query)), 2),
        "dense_product_ms": round(1000 * median_seconds(lambda: dense @ asked), 2),
        "search_ms": round(1000 * median_seconds(lambda: engine.search([Query(query)]), 3), 1),
        "seed": seed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dances", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for count in options.dances:
        print(json.dumps(measure(count, options.seed)), flush=True)


if __name__ == "__main__":
    main()

"""Open-set check of the E-value: how often is an unknown dance accepted, and a known one refused?

    python eval/calibration.py AISTPP_FOLDER [--queries 100] [--seed 0]

Each query is a basic AIST++ clip, whole and as its middle three seconds. The catalogue holds
one take of every basic choreography by another dancer: with the query's own choreography, and
without it. Prints a JSON object a query length: the shares accepted at several E-values.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from dancematch.evaluation.aist import Clip, load_clips
from dancematch.index.engine import Engine, Query
from dancematch.model.tokeniser import load_background, load_model
from dancematch.types import Fingerprint, Match

LIMITS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2)


def references(clips: list[Clip], query: Clip, rng: np.random.Generator) -> dict[str, int]:
    """A take of every choreography by somebody who is not the query's dancer."""
    found: dict[str, int] = {}
    for place in rng.permutation(len(clips)):
        name = clips[place].name
        if (name.genre, name.dancer) != (query.name.genre, query.name.dancer):
            found.setdefault("/".join(name.choreography), int(place))
    return found


def lengths(fingerprint: Fingerprint) -> Iterator[tuple[str, Fingerprint]]:
    """The query as a whole and as its middle three seconds."""
    yield "whole", fingerprint
    words = round(3 / fingerprint.seconds_per_word)
    first = (len(fingerprint) - words) // 2
    yield "3 s", fingerprint.stretch(first, first + words - 1)


def main() -> None:
    """Run the check and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model = load_model()
    background = load_background(model)
    clips = [clip for clip in load_clips(options.data) if clip.name.kind == "BM"]
    prints = [model.fingerprint(clip.motion) for clip in tqdm(clips, desc="words")]
    rng = np.random.default_rng(options.seed)
    known: dict[str, list[tuple[Match, bool]]] = {}
    unknown: dict[str, list[Match]] = {}
    for place in tqdm(rng.choice(len(clips), options.queries, replace=False), desc="queries"):
        own = "/".join(clips[place].name.choreography)
        takes = references(clips, clips[place], rng)
        for length, query in lengths(prints[place]):
            for present in (True, False):
                dances = [(name, prints[take]) for name, take in takes.items() if present or name != own]
                best = Engine(model.codebook, dances, background=background).search([Query(query)], limit=1)[
                    0
                ]
                if present:
                    known.setdefault(length, []).append((best, best.dance_id == own))
                else:
                    unknown.setdefault(length, []).append(best)
    for length, matches in known.items():
        report = {
            "check": "open-set",
            "model_id": model.model_id,
            "query": length,
            "queries": options.queries,
            "seed": options.seed,
            "rank1": round(sum(right for _, right in matches) / len(matches), 3),
            "false_accepts": _accepted(unknown[length]),
            "true_accepts": _accepted([match if right else None for match, right in matches]),
        }
        print(json.dumps(report))


def _accepted(matches: list[Match | None]) -> dict[str, float]:
    """The share of matches with an E-value within each limit; None counts as refused."""
    evalues = [match.evalue if match and match.evalue is not None else np.inf for match in matches]
    return {str(limit): round(float(np.mean(np.array(evalues) <= limit)), 3) for limit in LIMITS}


if __name__ == "__main__":
    main()

"""Where in the dance: how well the place of a changed excerpt is found.

    python eval/places.py AISTPP_FOLDER [--seconds 5] [--queries 200] [--seed 0]

Excerpts as in the suite `excerpt`, searched among all clips. Of those whose clip is among the first
ten: the overlap (intersection over union, in time) of the stretch found with the true one. Basic
dances repeat their moves, so an excerpt may truly lie in several places: `any_passage` takes the best
of all stretches that the match names. Prints a JSON object for basic dances and one for advanced ones.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from tqdm import tqdm

from dancematch.evaluation.aist import load_clips
from dancematch.evaluation.tasks import EXCERPT_SECONDS, changed_excerpt
from dancematch.index.engine import Engine, Query
from dancematch.model.tokeniser import load_background, load_model
from dancematch.types import Match, Span


def overlap(one: Span, other: Span) -> float:
    """Intersection over union."""
    shared = max(0.0, min(one.end, other.end) - max(one.start, other.start))
    return shared / (one.seconds + other.seconds - shared)


def found_overlaps(match: Match, true: Span) -> tuple[float, float]:
    """Of the match's own stretch, and of the best of its passages."""
    first = overlap(match.reference, true)
    return first, max([first, *(overlap(passage.reference, true) for passage in match.passages)])


def main() -> None:
    """Ask, and measure the overlaps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    model, clips = load_model(), load_clips(options.data)
    words = [model.fingerprint(clip.motion) for clip in tqdm(clips, desc="words")]
    known = [(str(place), one) for place, one in enumerate(words)]
    engine = Engine(model.codebook, known, background=load_background(model))
    drawn = np.random.default_rng(options.seed).permutation(len(clips))[: options.queries]
    results: dict[str, list[tuple[float, float]]] = {"BM": [], "FM": []}
    asked = dict.fromkeys(results, 0)
    for place in tqdm(drawn.tolist(), desc="asking"):
        clip, seed = clips[place], (options.seed, place)
        if clip.name.kind not in results:
            continue
        asked[clip.name.kind] += 1
        length = min(EXCERPT_SECONDS, clip.motion.seconds)
        start = float(np.random.default_rng(seed).uniform(0, clip.motion.seconds - length))  # as it was drawn
        matches = engine.search([Query(model.fingerprint(changed_excerpt(clip.motion, seed)))])
        for match in matches:
            if match.dance_id == str(place):
                results[clip.name.kind].append(found_overlaps(match, Span(start, start + length)))
    for kind, pairs in results.items():
        if pairs:
            print(json.dumps(report(kind, pairs, asked[kind], options.seed, model.model_id)))


def report(kind: str, pairs: list[tuple[float, float]], asked: int, seed: int, model_id: str) -> dict:
    """Means of the overlaps of one kind of dance."""
    first, best = np.array(pairs).T
    return {
        "check": "places", "kind": {"BM": "basic", "FM": "advanced"}[kind],
        "model_id": model_id, "seed": seed,
        "queries": asked, "clip_among_ten": len(pairs), "overlap": round(float(first.mean()), 3),
        "overlap_above_half": round(float((first > 0.5).mean()), 3),
        "any_passage": round(float(best.mean()), 3),
        "any_passage_above_half": round(float((best > 0.5).mean()), 3),
    }  # fmt: skip


if __name__ == "__main__":
    main()

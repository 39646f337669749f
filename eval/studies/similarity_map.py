"""A map of AIST++ clips by the similarity of their words.

    python eval/studies/similarity_map.py AISTPP_FOLDER [--model network]

Classical multidimensional scaling of stage one's similarities: the two directions in which the clips
differ most. Prints a JSON object with each genre's places, basic and advanced clips apart, and the
share of the variance that the two directions show.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from tqdm import tqdm

from dancematch.evaluation.methods.word_methods import WordMethod
from dancematch.evaluation.suites.aist import load_clips
from dancematch.evaluation.suites.retrieval import EvaluationCache, Evaluator
from dancematch.evaluation.suites.retrieval_tasks import KINDS, make_task


def scale_to_plane(similarity: np.ndarray) -> tuple[np.ndarray, float]:
    """Places in the plane with distances as near as possible to those of the clips, and the share shown."""
    squares = 2 * (1 - (similarity + similarity.T) / 2)
    centred = -(squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    best = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
    signs = np.sign(best[np.abs(best).argmax(axis=0), [0, 1]])  # a mirror image is the same map
    return best * signs, float(values[[-1, -2]].sum() / values[values > 0].sum())


def main() -> None:
    """Compare all pairs of clips, and print the map."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="network")
    options = parser.parse_args()
    clips = load_clips(options.data)
    prepared = Evaluator(EvaluationCache()).prepare(make_task("aist-genre", clips), WordMethod(options.model))
    every = np.arange(len(clips))
    rows = [prepared.comparison.scores(place, every) for place in tqdm(every.tolist(), desc="comparing")]
    places, shown = scale_to_plane(np.stack(rows).astype(np.float64))
    found: dict[str, dict[str, list]] = {}
    for clip, place in zip(clips, places.round(3).tolist(), strict=True):
        kind = KINDS.get(clip.name.kind, clip.name.kind)
        found.setdefault(clip.name.genre, {}).setdefault(kind, []).append(place)
    print(json.dumps({
        "check": "map", "model_id": prepared.model_id, "clips": len(clips), "shown": round(shown, 3),
        "places": found,
    }))  # fmt: skip


if __name__ == "__main__":
    main()

"""Quality of a model's words, apart from any search.

    python eval/studies/word_quality.py MODEL... --data AISTPP_FOLDER [--clips 60] [--seed 0]

On a seeded sample of AIST++ clips, of genres the model was not trained on if there are any. One
JSON object per model: usage and perplexity of each channel's words, how many words stay the same
(edit distance) under each change of the motion, and how far the decoded motion is from the true one.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from tqdm import tqdm

from dancematch.evaluation.measures.word_quality import measure_words
from dancematch.evaluation.suites.aist import AistClip, load_clips
from dancematch.model.patches import PatchTokeniser
from dancematch.model.tokeniser import load_model


def unseen_genres(clips: Sequence[AistClip], model: PatchTokeniser) -> list[str]:
    """The genres that the model has not seen."""
    seen = model.trained_on.get("aist_genres", [])
    return sorted({clip.name.genre for clip in clips} - set(seen))


def measure(path: str, clips: Sequence[AistClip], count: int, seed: int) -> dict:
    """The quality of one model's words."""
    model = load_model(path)
    unseen = unseen_genres(clips, model)
    fit = [clip for clip in clips if not unseen or clip.name.genre in unseen]
    chosen = np.random.default_rng(seed).permutation(len(fit))[:count]
    found = asdict(measure_words(model, [fit[place].motion for place in chosen], seed=seed))
    mean = {name: float(np.mean(list(found[name].values()))) for name in ("usage", "perplexity", "agreement")}
    return {
        "model_id": model.model_id, "kind": model.kind, "layout": model.layout,
        "channels": len(model.channels), "vocabulary": model.vocabulary, "unseen_genres": unseen,
        "clips": len(chosen), "seed": seed, "mean": round_figures(mean), **round_figures(found),
    }  # fmt: skip


def round_figures(value: object) -> object:
    """The figures with three decimals."""
    if isinstance(value, dict):
        return {name: round_figures(inner) for name, inner in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def main() -> None:
    """Measure and print every model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    clips = load_clips(options.data)
    for model in tqdm(options.models, desc="models"):
        print(json.dumps(measure(model, clips, options.clips, options.seed)), flush=True)


if __name__ == "__main__":
    main()

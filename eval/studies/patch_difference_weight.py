"""Weight of the change within a patch, in words without a network, on genres they were not fitted on.

    python eval/studies/patch_difference_weight.py AISTPP_FOLDER

Rank 1 on aist-cross-dancer, the tokeniser refitted without the queried genres, for three folds of
genres; one JSON object per variant. `difference` is the weight of the change within a patch beside
its mean.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dancematch.evaluation.measures.ranking import rank_of, recall_at
from dancematch.evaluation.methods.word_comparison import WordComparison
from dancematch.evaluation.methods.word_methods import WORD_METHODS
from dancematch.evaluation.suites.aist import AistClip, ask_cross_dancer, load_clips
from dancematch.model import kmeans
from dancematch.training import kmeans as fitting

FOLDS = (("LH", "PO"), ("KR", "LO"), ("BR", "JB", "JS"))
VARIANTS = (
    {"layout": "parts7", "vocabulary": 256, "difference": 0.5},
    {"layout": "parts7", "vocabulary": 256, "difference": 1.0},
    {"layout": "parts7", "vocabulary": 256, "difference": 2.0},
)
plain_features = kmeans.patch_features


def weighted_features(weight: float):
    """The patch features with their second half, the difference, scaled."""

    def features(canonical, joints):
        values = plain_features(canonical, joints)
        half = values.shape[1] // 2
        return np.concatenate([values[:, :half], weight * values[:, half:]], axis=1)

    return features


def rank1(clips: Sequence[AistClip], genres: Sequence[str], variant: dict) -> float:
    """Rank 1 on `genres` with a tokeniser that has not seen them."""
    kmeans.patch_features = fitting.patch_features = weighted_features(variant["difference"])
    seen = [clip.motion for clip in clips if clip.name.genre not in genres]
    model = fitting.fit_kmeans(seen, layout=variant["layout"], vocabulary=variant["vocabulary"])
    comparison = WordComparison(model, [clip.motion for clip in clips], WORD_METHODS["kmeans"])
    questions = ask_cross_dancer([clip.name for clip in clips], genres)
    ranks = [rank_of(comparison.scores(one.query, one.candidates), one.right) for one in questions]
    return recall_at(ranks, 1)


def main() -> None:
    """Measure every variant and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    clips = [clip for clip in load_clips(parser.parse_args().data) if clip.name.kind == "BM"]
    for variant in VARIANTS:
        folds = {",".join(genres): round(rank1(clips, genres, variant), 4) for genres in FOLDS}
        print(
            json.dumps(
                {**variant, "seed": 0, "rank1": folds, "mean": round(np.mean(list(folds.values())), 4)}
            )
        )


if __name__ == "__main__":
    main()

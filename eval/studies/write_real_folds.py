"""Folders to learn from real clips by, cross-validated by dance.

    python eval/studies/write_real_folds.py REAL SKELETONS OUTPUT
    dancematch train --sources sources.toml -o runs/fold-0    (one source is OUTPUT/fold-0, and so on)
    dancematch eval real --data REAL --skeletons SKELETONS --model runs/fold-0/model ... --json
    python eval/studies/write_real_folds.py REAL SKELETONS OUTPUT --join RESULTS_0 RESULTS_1 RESULTS_2

OUTPUT/fold-<n> holds the dancers of all dances of REAL but those of fold n, with an index of who dances
what at which lag. The dances are dealt to `FOLDS` folds as in `word_features.py`. With --join, prints from
the results of the suite `real`, one file per fold, what is about queries of that fold's own dances: every
answer is by words that saw no clip of the dance. SKELETONS is a store of REAL's skeletons.
"""

import argparse
import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dancematch.evaluation.real.clip_index import INDEX, IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.formats import npz

FOLDS = 3


def deal_folds(clips: Sequence[IndexedClip]) -> dict[str, int]:
    """The fold of each dance."""
    dances = sorted({clip.dance for clip in clips if clip.kind == "dance"})
    drawn = np.random.default_rng(0).permutation(dances).tolist()
    return {dance: place % FOLDS for place, dance in enumerate(drawn)}


def write_folds(real: Path, skeletons: Path, output: Path) -> None:
    """Write each fold's folder: the dancers of all other folds, and their index."""
    clips = read_index(real)
    folds = deal_folds(clips)
    recordings = load_recordings(real, clips, skeletons)
    for fold in range(FOLDS):
        folder = output / f"fold-{fold}"
        folder.mkdir(parents=True)
        with (folder / INDEX).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("file", "group", "performer", "lag_s"))
            for clip, recording in zip(clips, recordings, strict=True):
                if clip.kind != "dance" or folds[clip.dance] == fold or not recording.motions:
                    continue
                name = clip.file.replace("/", "-") + ".npz"
                npz.write(folder / name, recording.motions)
                lag = "" if clip.lag_seconds is None else clip.lag_seconds
                rows.writerow((name, clip.dance, clip.performance, lag))


def join_results(real: Path, results: Sequence[Path]) -> None:
    """Print each fold's answers to queries of its own dances, and to unknown dances those of the first."""
    folds = deal_folds(read_index(real))
    for fold, path in enumerate(results):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("line") == "query" and folds.get(row["dance"], 0) == fold:
                print(json.dumps({**row, "fold": fold}))


def main() -> None:
    """Write the folders, or join what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for folder in ("real", "skeletons", "output"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("--join", type=Path, nargs=FOLDS)
    options = parser.parse_args()
    if options.join:
        join_results(options.real, options.join)
    else:
        write_folds(options.real, options.skeletons, options.output)


if __name__ == "__main__":
    main()

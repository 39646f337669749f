"""What words gain by learning from real clips, cross-validated by dance.

    python eval/studies/real_folds.py REAL SKELETONS --write FOLDS
    dancematch train --sources sources.toml -o runs/fold-0    (one source is FOLDS/fold-0, and so on)
    python eval/studies/real_folds.py REAL SKELETONS --models RUN_0 RUN_1 RUN_2 [--aistpp AISTPP]

FOLDS/fold-<n> holds the dancers of all dances of REAL but those of fold n, with an index of who dances
what at which lag. The dances are dealt to `FOLDS` folds as in `word_features.py`. With --models, one model
per fold (or one and the same three times), prints how the clips of each fold's own dances are answered, among
all clips, by words that saw none of them: by words alone and as `search` does it. SKELETONS is a store of
REAL's skeletons, as for `dancematch eval real`. --aistpp adds its sequences to the clips; with fewer models
there are fewer folds; --learnt says in the summary what the models learnt from.
"""

import argparse
import csv
import dataclasses
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dancematch.evaluation.methods.search_recogniser import SearchMethod
from dancematch.evaluation.real.clip_index import INDEX, IndexedClip, read_index
from dancematch.evaluation.real.clip_skeletons import load_distractors, load_recordings
from dancematch.evaluation.real.suite import QueryLine, RealSuite
from dancematch.formats import npz

FOLDS = 3
METHODS = ("words", "both")


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


def measure(real: Path, skeletons: Path, aistpp: Path | None, models: Sequence[Path], learnt: str) -> None:
    """Print one JSON object per query, and sums per method, catalogue and part."""
    clips = read_index(real)
    folds = deal_folds(clips)
    recordings = load_recordings(real, clips, skeletons)
    others = load_distractors(aistpp) if aistpp else []
    lines = defaultdict(list)
    for fold, model in enumerate(models):
        own = [clip for clip in clips if folds.get(clip.dance) == fold]
        suite = RealSuite(own, recordings, others, sizes=())
        for kind in METHODS:
            for line in suite.evaluate(SearchMethod(kind, model=str(model))):
                if isinstance(line, QueryLine):
                    print(json.dumps({**dataclasses.asdict(line), "method": kind, "fold": fold}), flush=True)
                    lines[kind, line.catalogue, line.part].append(line)
    for (kind, catalogue, part), found in lines.items():
        ratios = [one.answer["confidence"] or 0.0 for one in found if one.rank1 and one.answer]
        summary = {
            "line": "summary", "learnt": learnt, "folds": len(models), "method": kind,
            "catalogue": catalogue, "part": part, "queries": len(found),
            "first": sum(one.rank1 for one in found), "match": sum(one.right_accepted for one in found),
            "wrong": sum(one.wrong_accepted for one in found), "log_ratios": round(sum(ratios), 1),
        }  # fmt: skip
        print(json.dumps(summary), flush=True)


def main() -> None:
    """Write the folders, or measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for folder in ("real", "skeletons"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--aistpp", type=Path)
    parser.add_argument("--models", type=Path, nargs="+")
    parser.add_argument("--learnt", default="")
    options = parser.parse_args()
    if options.write:
        write_folds(options.real, options.skeletons, options.write)
    else:
        measure(options.real, options.skeletons, options.aistpp, options.models, options.learnt)


if __name__ == "__main__":
    main()

"""Are the misses of aist-cross-dancer spread over all clips, or are they certain dancers' versions?

    python eval/studies/misses_by_dancer.py AISTPP_FOLDER --model MODEL... [--query-genres LH,PO]

A cell is one dancer's version of one choreography, usually four recordings to music of different tempo.
Misses by noise are spread; where every recording of a cell misses, that dancer dances it unlike the two
others. Prints one JSON object per model, by histogram.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

from tqdm import tqdm

from dancematch.evaluation.measures.ranking import rank_of
from dancematch.evaluation.methods.word_methods import WordMethod
from dancematch.evaluation.suites.aist import load_clips
from dancematch.evaluation.suites.retrieval import EvaluationCache, Evaluator
from dancematch.evaluation.suites.retrieval_tasks import make_task


def main() -> None:
    """Rank every query and count the misses by cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--query-genres")
    options = parser.parse_args()
    clips = load_clips(options.data)
    genres = options.query_genres.split(",") if options.query_genres else None
    task = make_task("aist-cross-dancer", clips, query_genres=genres)
    for model in options.model:
        prepared = Evaluator(EvaluationCache()).prepare(task, WordMethod(model))
        missed: dict[tuple, list[bool]] = defaultdict(list)
        for candidates, right, query in tqdm(task.questions, desc="asking"):
            name = clips[query].name
            rank = rank_of(prepared.comparison.scores(query, candidates), right)
            missed[(*name.choreography, name.dancer)].append(rank > 1)
        misses = sum(sum(cell) for cell in missed.values())
        whole = [cell for cell in missed.values() if all(cell)]
        most = sorted(missed.values(), key=lambda cell: -sum(cell))[: len(missed) // 10]
        print(json.dumps({
            "check": "cells", "model_id": prepared.model_id, "query_genres": task.genres,
            "queries": len(task.questions), "misses": misses, "cells": len(missed),
            "cells_without_a_miss": sum(not any(cell) for cell in missed.values()),
            "cells_all_missed": len(whole), "misses_in_those": sum(map(len, whole)),
            "share_of_misses_in_a_tenth_of_the_cells": round(sum(map(sum, most)) / max(misses, 1), 3),
        }))  # fmt: skip


if __name__ == "__main__":
    main()

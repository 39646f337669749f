"""Real clips of one choreography by different people, among all AIST++ sequences.

    dancematch extract CLIPS -o SKELETONS
    python eval/real.py SKELETONS AISTPP_FOLDER

SKELETONS holds clips named WHAT_WHO.npz; clips of the same WHAT show the same motion. Each of
them is searched for among all other clips and all AIST++ sequences. A WHAT danced once is a
query without a right answer. Prints a JSON object a query.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from dancematch.evaluation.aist import load_clips
from dancematch.formats import npz
from dancematch.index.verdict import MAX_EVALUE
from dancematch.index.engine import Engine, Query
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror


def main() -> None:
    """Search for every clip and print what came back."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("skeletons", type=Path)
    parser.add_argument("aistpp", type=Path)
    different = ["dance", "walk_turn"]
    parser.add_argument("--different", nargs="*", default=different, help="WHATs that are not one motion")
    options = parser.parse_args()
    model = load_model()
    background = load_background(model)
    motions = {path.stem: npz.read(path)[0] for path in sorted(options.skeletons.glob("*.npz"))}
    clips = load_clips(options.aistpp)
    others = [
        (f"aist-{i}", model.fingerprint(clip.motion)) for i, clip in enumerate(tqdm(clips, desc="words"))
    ]
    what = {name: name.rpartition("_")[0] for name in motions}
    what |= {name: name for name, kind in what.items() if kind in options.different}
    takes = Counter(what.values())
    for name, motion in motions.items():
        known = [(other, model.fingerprint(m)) for other, m in motions.items() if other != name]
        engine = Engine(model.codebook, [*known, *others], background=background)
        readings = ((False, motion), (True, mirror(motion)))
        queries = [Query(model.fingerprint(seen), mirrored) for mirrored, seen in readings]
        best = engine.search(queries, limit=1)[0]
        answerable = takes[what[name]] > 1
        accepted = best.evalue is not None and best.evalue <= MAX_EVALUE
        right = answerable and what.get(best.dance_id) == what[name]
        report = {
            "query": name, "answerable": answerable, "answer": best.dance_id, "rank1": right,
            "accepted": accepted, "correct": accepted == answerable and right == answerable,
            "score": round(best.score, 3), "evalue": float(f"{best.evalue:.2g}"),
            "among": len(known) + len(others), "model_id": model.model_id,
        }  # fmt: skip
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()

"""A training run as far as it came at several times: losses, use of words, and how well dances are found.

    cp -r runs/paper runs/paper-600      (while it trains; and so on)
    dancematch train AISTPP CMU -o runs/paper-600 --finish --without-genres LH,PO
    python eval/studies/learning_curve.py AISTPP LH,PO runs/paper-600 runs/paper-1200 runs/paper

Each RUN holds a log and a model that was made with --finish, without the genres that are asked about. One
JSON object per run: the last row of its log up to then, and rank 1 between dancers by histogram.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from dancematch.training.run.run_log import RunLog

SUITE = "aist-cross-dancer"
KEPT = ("step", "seconds", "loss_total", "held_out_total", "held_out_reconstruction", "usage", "perplexity")


def main() -> None:
    """Ask each run's model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("aistpp", type=Path)
    parser.add_argument("genres")
    parser.add_argument("runs", type=Path, nargs="+")
    options = parser.parse_args()
    for run in options.runs:
        row = RunLog(run).read()[-1]
        asked = ["eval", SUITE, "--data", str(options.aistpp), "--query-genres", options.genres]
        command = [sys.executable, "-m", "dancematch", *asked, "--model", str(run / "model"), "--json"]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        (found,) = map(json.loads, answer.stdout.splitlines())
        told = {name: row[name] for name in KEPT}
        names = ("suite", "model_id", "unseen", "rank1", "match_rate", "queries", "chance")
        print(json.dumps(told | {name: found[name] for name in names}), flush=True)


if __name__ == "__main__":
    main()

"""How long a catalogue takes to be put into another model's words, against filling it from motion files.

    python bench/retokenise.py MOTIONS MODEL

Every motion file below MOTIONS is added in the shipped words; then the catalogue is put into those of MODEL
(a shipped name or a folder), into a second catalogue and in place. One JSON object.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    """Fill, put into other words twice, and print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("motions", type=Path)
    parser.add_argument("model")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder) / "old.db", Path(folder) / "new.db"
        filled, _ = run("add", old, options.motions)
        beside, done = run("retokenise", old, "--model", options.model, "--to", new)
        in_place, _ = run("retokenise", old, "--model", options.model)
    report = {
        "bench": "retokenise", "model": options.model, "recordings": done["recordings"],
        "add_seconds": round(filled, 1), "into_another_seconds": round(beside, 1),
        "in_place_seconds": round(in_place, 1),
        "of_filling": round(in_place / filled, 2),
        "recordings_per_second": round(done["recordings"] / in_place, 1),
    }  # fmt: skip
    print(json.dumps(report))


def run(*arguments: object) -> tuple[float, dict]:
    """The seconds that a command of ours takes, and the last line of its JSON."""
    command = [sys.executable, "-m", "dancematch", *map(str, arguments), "--json"]
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return time.perf_counter() - began, json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()

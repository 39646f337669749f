"""Draw a programme's timeline: what is danced when above what a scan found.

    python eval/studies/draw_programme.py RESULTS.jsonl PICTURE.png [--source S] [--part P] [--seed N]

RESULTS.jsonl is what `dancematch eval medley --json` prints, with or without the header of eval/results. A
dance has one colour in both lanes; what is not in the catalogue is grey, gaps are white. Possible
matches are hatched. Below the truth stands what became of it, where it was not found.
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

ROW_SECONDS = 150.0
GREYS = {"unknown dance": "0.6", "not dancing": "0.8", "gap": "1"}
MARKS = {"misplaced": "placed", "misnamed": "name", "possible": "possible", "unnoticed": "missed"}
TRUTH, FOUND = 1.1, 0.0  # heights of the lanes


def read_programme(path: Path, source: str, part: str, seed: int) -> dict:
    """The line of one programme."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line.get("line") == "programme" and (line["source"], line["part"], line["seed"]) == (
            source, part, seed,
        ):  # fmt: skip
            return line
    raise SystemExit(f"{path} has no programme of {source}, {part}, seed {seed}")


def choose_colours(line: dict) -> dict[str, tuple]:
    """A colour per dance, neighbours far apart on the circle of colours."""
    names = dict.fromkeys(one["dance"] for one in (*line["truth"], *line["found"]) if one["dance"])
    turns = (np.arange(len(names)) * 0.618) % 1
    return {name: plt.get_cmap("hsv")(turn) for name, turn in zip(names, turns, strict=True)}


def draw_row(axes: Axes, line: dict, start: float, colours: dict[str, tuple]) -> None:
    """One row of the timeline."""
    for item in line["truth"]:
        colour = colours[item["dance"]] if item["dance"] else GREYS[item["kind"]]
        axes.broken_barh([(item["start"], item["end"] - item["start"])], (TRUTH, 1), color=colour, alpha=0.7)
        axes.axvline(item["start"], TRUTH / 2.3, 1, color="black", linewidth=0.4)
        middle = (item["start"] + item["end"]) / 2
        if start <= middle <= start + ROW_SECONDS:
            text = item["dance"] or item["kind"]
            note = "" if item["change"] == "as it is" else f"\n{item['change']}"
            axes.text(middle, TRUTH + 0.5, f"{text}{note}", ha="center", va="center", fontsize=4)
            if item["outcome"] in MARKS:
                axes.text(middle, TRUTH + 0.02, MARKS[item["outcome"]], ha="center", fontsize=5, color="red")
    for one in line["found"]:
        hatch = "////" if one["verdict"] == "possible match" else None
        bar = [(one["start"], one["end"] - one["start"])]
        colour = colours[one["dance"]]
        axes.broken_barh(bar, (FOUND, 1), facecolor=colour, alpha=0.7, hatch=hatch, edgecolor="black")
        middle = (one["start"] + one["end"]) / 2
        if start <= middle <= start + ROW_SECONDS:
            axes.text(middle, FOUND + 0.5, one["dance"], ha="center", va="center", fontsize=4)
    axes.set(xlim=(start, start + ROW_SECONDS), ylim=(-0.1, 2.2))
    axes.set_yticks([FOUND + 0.5, TRUTH + 0.5], ["found", "danced"], fontsize=6)
    axes.tick_params(axis="x", labelsize=6)


def main() -> None:
    """Draw one programme."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--source", default="motions")
    parser.add_argument("--part", default="changed")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    line = read_programme(arguments.results, arguments.source, arguments.part, arguments.seed)
    colours = choose_colours(line)
    starts = np.arange(0, line["seconds"], ROW_SECONDS)
    figure, rows = plt.subplots(len(starts), figsize=(14, 1.5 * len(starts)), squeeze=False)
    for axes, start in zip(rows[:, 0], starts, strict=True):
        draw_row(axes, line, float(start), colours)
    rows[-1, 0].set_xlabel("seconds of the programme", fontsize=7)
    figure.suptitle(f"{line['source']}, {line['part']}, programme {line['seed']}", fontsize=8)
    figure.tight_layout()
    figure.savefig(arguments.picture, dpi=110)


if __name__ == "__main__":
    main()

"""Known or unknown: how many known dances are named and sure, when how many strangers are let in?

    python eval/open_set.py AISTPP_FOLDER STRANGERS_FOLDER [--views FOLDER] [--plot calibration.png]

The catalogue is all of AIST++. Known queries are changed five-second excerpts of its clips (as in the
suite `excerpt`) and, with --views, what a pose estimator saw of them. Strangers are stretches of four
to nine seconds of motions that are not in it, such as CMU's (some of which stand in the shipped model's
background), and as many procedural dances. Prints a JSON object a kind of known
query: the shares accepted at several E-values, and the true accepts where one stranger in a hundred
is let in.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from dancematch import formats
from dancematch.benchmark.choreography import Dancer, choreography, perform
from dancematch.evaluation.aist import load_clips
from dancematch.evaluation.tasks import VIEW, changed_excerpt
from dancematch.formats.aist_names import parse_name
from dancematch.index.engine import Engine, Query
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import excerpt, mirror
from dancematch.training.data import motion_files, read_motions
from dancematch.types import Motion

LIMITS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2)
STRANGER = "stranger"
FIRST = 9000  # of the procedural dances: nothing was chosen on them
STEP_SECONDS, MOST_STRETCHES = 3.0, 8  # of one stranger's motion


class Asked(NamedTuple):
    """A query, and the choreography that it is of."""

    kind: str
    motion: Motion
    dance: str


class Answer(NamedTuple):
    """What the search said."""

    kind: str
    right: bool
    evalue: float


def strangers(folder: Path, rng: np.random.Generator) -> Iterator[Asked]:
    """Stretches of motions that the catalogue does not have."""
    for _, motions in read_motions(motion_files([folder])):
        if isinstance(motions, Exception):
            continue
        motion = motions[0]
        starts = np.arange(0, max(motion.seconds - 5, 0.1), STEP_SECONDS)[:MOST_STRETCHES]
        for start in starts.tolist():
            end = min(motion.seconds, start + rng.uniform(4, 9))
            yield Asked(STRANGER, excerpt(motion, start, end), "")


def procedural(count: int, rng: np.random.Generator) -> Iterator[Asked]:
    """Stretches of made-up dances."""
    for number in range(count):
        motion = perform(choreography(FIRST + number, eight_counts=3), Dancer.random(FIRST + number))
        start = float(rng.uniform(0, motion.seconds - 9))
        yield Asked(STRANGER, excerpt(motion, start, start + float(rng.uniform(4, 9))), "")


def main() -> None:
    """Ask, and say how often the answer was right and sure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("strangers", type=Path)
    parser.add_argument("--views", type=Path)
    parser.add_argument("--queries", type=int, default=250)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    model, clips = load_model(), load_clips(options.data)
    dances = ["/".join(clip.name.choreography) for clip in clips]
    asked = [
        Asked("excerpt", changed_excerpt(clips[place].motion, [options.seed, place]), dances[place])
        for place in rng.permutation(len(clips))[: options.queries].tolist()
    ]
    places = {clip.name: place for place, clip in enumerate(clips)}
    for path in sorted(options.views.glob(f"{VIEW}*.npz")) if options.views else ():
        place = places.get(parse_name(path.stem.removeprefix(VIEW)))
        if place is not None:
            asked.append(Asked("video", formats.read(path)[0], dances[place]))
    unknown = list(strangers(options.strangers, rng))
    asked += [*unknown, *procedural(len(unknown), rng)]
    words = [model.fingerprint(clip.motion) for clip in tqdm(clips, desc="words")]
    known = [(str(place), one) for place, one in enumerate(words)]
    engine = Engine(model.codebook, known, background=load_background(model))
    answers = []
    for one in tqdm([one for one in asked if model.is_long_enough(one.motion)], desc="asking"):
        plain, mirrored = model.fingerprint(one.motion), model.fingerprint(mirror(one.motion))
        found = engine.search([Query(plain), Query(mirrored, mirrored=True)], limit=1)
        right = bool(found) and dances[int(found[0].dance_id)] == one.dance
        evalue = found[0].evalue if found and found[0].evalue is not None else np.inf
        answers.append(Answer(one.kind, right, evalue))
    for kind in dict.fromkeys(one.kind for one in answers if one.kind != STRANGER):
        print(json.dumps(report(kind, answers, model.model_id, options.seed)))
    if options.plot:
        draw(answers, options.plot)


def accepted(answers: list[Answer], kind: str, limit: float) -> float:
    """The share of a kind's queries that are answered surely, and rightly where there is a right answer."""
    own = [one for one in answers if one.kind == kind]
    return float(np.mean([one.evalue <= limit and (one.right or kind == STRANGER) for one in own]))


def report(kind: str, answers: list[Answer], model_id: str, seed: int) -> dict:
    """One kind of known query against the strangers."""
    own = [one for one in answers if one.kind == kind]
    unknown = sorted(one.evalue for one in answers if one.kind == STRANGER)
    let_in = unknown[len(unknown) // 100]  # one in a hundred lies below it
    sure = sum(one.right and one.evalue < let_in for one in own)
    return {
        "check": "strangers-among-aist", "model_id": model_id, "query": kind, "queries": len(own),
        "strangers": len(unknown), "seed": seed,
        "rank1": round(sum(one.right for one in own) / len(own), 3),
        "false_accepts": {str(limit): round(accepted(answers, STRANGER, limit), 3) for limit in LIMITS},
        "true_accepts": {str(limit): round(accepted(answers, kind, limit), 3) for limit in LIMITS},
        "true_accepts_at_1_percent": round(sure / len(own), 3),
    }  # fmt: skip


def draw(answers: list[Answer], path: Path) -> None:
    """Shares accepted against the limit of the E-value."""
    from matplotlib import pyplot as plt

    limits = np.geomspace(1e-6, 100, 200)
    figure, axes = plt.subplots(figsize=(7, 4))
    for kind in dict.fromkeys(one.kind for one in answers):
        label = "unknown, let in" if kind == STRANGER else f"{kind}: named rightly and sure"
        axes.plot(limits, [accepted(answers, kind, limit) for limit in limits], label=label)
    axes.axvline(0.05, color="grey", linestyle=":", label="the default limit")
    axes.set(xscale="log", xlabel="E-value that counts as sure", ylabel="share accepted", ylim=(0, 1.02))
    axes.legend(loc="center left", frameon=False)
    figure.savefig(path, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()

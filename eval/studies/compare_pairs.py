"""One dance or two: the answers of `compare` and `dedup` to pairs of clips with known answers.

    dancematch extract CLIPS -o SKELETONS
    python eval/studies/compare_pairs.py SKELETONS AISTPP_FOLDER [--pairs 50] [--genre LO] [--seed 0]

SKELETONS holds clips named WHAT_WHO.npz; clips of the same WHAT show the same motion. Prints a JSON
object per kind of pairs (rendered dances by two dancers, clips of characters and people, AIST++ basic dances
by two dancers of a genre), two on mirrored dances (with skeletons, by words alone), and one on the
duplicates of a genre.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dancematch import formats
from dancematch.formats.motion_capture.aist_names import list_sequences, parse_name
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.pipeline.dedup import find_duplicates
from dancematch.pipeline.query import query_of_motions, query_of_words
from dancematch.report.compare import MATCHED_SHARE, Comparison, compare
from dancematch.search.engine import Engine
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.types import Motion

MODEL = load_model()
BACKGROUND = load_background(MODEL)
DIFFERENT = ("dance", "walk_turn")  # WHATs that are not one motion
Pairs = Iterator[tuple[bool, Motion, Motion]]  # whether they are one dance, and both motions


def perform_dance(number: int, dancer: int) -> Motion:
    """A procedural dance by one dancer."""
    return perform(compose_dance(number, eight_counts=2), Dancer.random(dancer))


def rendered_pairs(count: int) -> Pairs:
    """The same choreography by two dancers, and two choreographies."""
    for number in range(count):
        yield True, perform_dance(number, 1), perform_dance(number, 2)
        yield False, perform_dance(number, 1), perform_dance(number + count, 2)


def clip_pairs(folder: Path) -> Pairs:
    """All pairs of clips of the folder."""
    motions = {path.stem: formats.read(path)[0] for path in sorted(folder.glob("*.npz"))}
    names = list(motions)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            what, same = one.rpartition("_")[0], one.rpartition("_")[0] == other.rpartition("_")[0]
            if not (same and what in DIFFERENT):
                yield same, motions[one], motions[other]


def aist_pairs(folder: Path, count: int, rng: random.Random) -> Pairs:
    """A basic dance by two dancers, and two basic dances of one genre by two dancers."""
    named = [
        (name, path)
        for path in list_sequences(folder)
        if (name := parse_name(path.stem)) and name.kind == "BM"
    ]
    for name, path in rng.sample(named, count):
        others = [(n, p) for n, p in named if n.genre == name.genre and n.dancer != name.dancer]
        motion = formats.read(path)[0]
        for same in (True, False):
            fits = [p for n, p in others if (n.choreography == name.choreography) == same]
            if fits:
                yield same, motion, formats.read(rng.choice(fits))[0]


def report(kind: str, pairs: Pairs) -> None:
    """Print the figures of one kind of pairs, same and different dances apart."""
    found: dict[bool, list[Comparison]] = {True: [], False: []}
    for same, *both in pairs:
        one, other = (query_of_motions([motion], MODEL, kind).dancers for motion in both)
        found[same].append(compare(one, other, MODEL, BACKGROUND))
    for same, compared in found.items():
        measured = {
            "matched": [one.matched for one in compared],
            "degrees": [float(np.nanmean(one.mean)) for one in compared],
        }
        verdicts = [one.match.verdict for one in compared]
        print(json.dumps({
            "check": "compare", "kind": kind, "same": same, "pairs": len(compared),
            "called_same": round(float(np.mean([one.same for one in compared])), 3),
            "by_matched_alone": round(float((np.array(measured["matched"]) >= MATCHED_SHARE).mean()), 3),
            **{verdict: round(verdicts.count(verdict) / len(compared), 3)
               for verdict in ("match", "possible match")},
            **{f"{name}_{share}": round(float(np.quantile(values, share / 100)), 3)
               for name, values in measured.items() for share in (0, 10, 50, 90, 100)},
            "model_id": MODEL.model_id,
        }), flush=True)  # fmt: skip


def report_mirrored_words(count: int) -> None:
    """Print how mirrored dances are found, with skeletons and with words alone."""
    known = [(str(number), MODEL.fingerprint(perform_dance(number, 1))) for number in range(count)]
    engine = Engine(MODEL.codebook, known, background=BACKGROUND)
    for words_alone in (False, True):
        right, scores = 0, []
        for number in range(count):
            (read,) = query_of_motions([mirror(perform_dance(number, 2))], MODEL, "a dance").dancers
            (asked,) = query_of_words([read.words], MODEL).dancers if words_alone else [read]
            (best,) = engine.search(asked.queries(), limit=1)
            right += best.dance_id == str(number) and best.mirrored and best.verdict == "match"
            scores.append(best.score)
        print(json.dumps({
            "check": "mirrored", "words_alone": words_alone, "queries": count, "found": right / count,
            "score": round(float(np.mean(scores)), 3), "model_id": MODEL.model_id,
        }), flush=True)  # fmt: skip


def report_duplicates(folder: Path, genre: str) -> None:
    """Print the pairs that `dedup` names among the basic dances of a genre, and how many are one dance."""
    paths = [path for path in list_sequences(folder) if path.stem.startswith(f"g{genre}_sBM")]
    with TemporaryDirectory() as place, open_catalogue(Path(place) / "dances.db") as known:
        list(known.add_many(paths))
        known.engine()
        began = time.process_time()
        groups = find_duplicates(known)
        seconds = time.process_time() - began
    pairs = [pair for group in groups for pair in group.pairs]
    right = sum(pair.one.rpartition("_")[2] == pair.other.rpartition("_")[2] for pair in pairs)
    print(json.dumps({
        "check": "dedup", "genre": genre, "dances": len(paths), "groups": len(groups), "pairs": len(pairs),
        "of_one_choreography": right, "cpu_seconds_a_dance": round(seconds / len(paths), 3),
        "model_id": MODEL.model_id,
    }), flush=True)  # fmt: skip


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("skeletons", type=Path)
    parser.add_argument("aistpp", type=Path)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--genre", default="LO")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    report("rendered", rendered_pairs(options.pairs // 2))
    report("clips", clip_pairs(options.skeletons))
    report("aist", aist_pairs(options.aistpp, options.pairs, random.Random(options.seed)))  # noqa: S311
    report_mirrored_words(options.pairs // 2)
    report_duplicates(options.aistpp, options.genre)


if __name__ == "__main__":
    main()

"""Choreographies that are nearly one dance: how many are there, and do they cause the false accepts?

    python eval/studies/twins.py AISTPP_FOLDER [--recordings 4] [--queries 300] [--seed 0]

First without any words: two basic choreographies are called twins if clips of one and the other, by two
dancers, are as similar (late interaction of patches, `methods/feature_comparison.py`) as two dancers'
recordings of one of them. Then the question `another dancer` of the suite open-set: a clip is searched among
one recording of every basic choreography by others, its own left out. Of the false accepts, how many name a
twin? Prints one JSON object each.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np
from tqdm import tqdm

from dancematch.evaluation.methods.feature_comparison import LateInteraction
from dancematch.evaluation.suites.aist import AistClip, dance_of, load_clips
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.search.engine import Engine, Query
from dancematch.types import Verdict


def dancer_of(clip: AistClip) -> tuple[str, str]:
    """The genre and number of a dancer: numbers are not unique."""
    return clip.name.genre, clip.name.dancer


def draw_recordings(clips: list[AistClip], most: int, rng: np.random.Generator) -> list[AistClip]:
    """At most so many recordings of each choreography, by different dancers as far as there are."""
    order = [clips[place] for place in rng.permutation(len(clips)).tolist()]
    drawn: dict[str, list[AistClip]] = {}
    for again in (False, True):
        for clip in order:
            own = drawn.setdefault(dance_of(clip.name), [])
            known = clip in own or dancer_of(clip) in map(dancer_of, own)
            if len(own) < most and (again or not known) and clip not in own:
                own.append(clip)
    return [clip for own in drawn.values() for clip in own]


def find_twins(clips: list[AistClip]) -> tuple[set[frozenset[str]], int]:
    """The pairs of choreographies as similar as recordings of one, and the number of all pairs."""
    comparison, every = LateInteraction([clip.motion for clip in clips]), np.arange(len(clips))
    similarity = np.stack([comparison.scores(query, every) for query in tqdm(every.tolist(), desc="pairs")])
    similarity = (similarity + similarity.T) / 2
    dances = np.array([dance_of(clip.name) for clip in clips])
    dancers = np.array(["".join(dancer_of(clip)) for clip in clips])
    by_two_dancers = dancers[:, None] != dancers

    def median_similarity(one: str, other: str) -> float:
        return float(np.median(similarity[(dances[:, None] == one) & (dances == other) & by_two_dancers]))

    names = sorted(set(dances.tolist()))
    own = {name: median_similarity(name, name) for name in names}
    pairs = list(combinations(names, 2))
    twins = [pair for pair in pairs if median_similarity(*pair) >= min(own[name] for name in pair)]
    return set(map(frozenset, twins)), len(pairs)


def search(
    clips: list[AistClip], queries: list[int], rng: np.random.Generator
) -> list[tuple[str, str, Verdict]]:
    """For each query, its own dance left out: its dance, the first answer, and the verdict on it."""
    model = load_model()
    background = load_background(model)
    words = [model.fingerprint(clip.motion) for clip in tqdm(clips, desc="words")]
    dances, answers = [dance_of(clip.name) for clip in clips], []
    for place in tqdm(queries, desc="another dancer"):
        recordings: dict[str, int] = {}
        for other in rng.permutation(len(clips)).tolist():
            if dances[other] != dances[place] and dancer_of(clips[other]) != dancer_of(clips[place]):
                recordings.setdefault(dances[other], other)
        engine = Engine(model.codebook, [(d, words[n]) for d, n in recordings.items()], background=background)
        mirrored = Query(model.fingerprint(mirror(clips[place].motion)), mirrored=True)
        best = engine.search([Query(words[place]), mirrored], limit=1)[0]
        answers.append((dances[place], best.dance_id, best.verdict))
    return answers


def main() -> None:
    """Find the twins, search, and print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("aistpp", type=Path)
    parser.add_argument("--recordings", type=int, default=4)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    clips = [clip for clip in load_clips(options.aistpp) if clip.name.kind == "BM"]
    twins, pairs = find_twins(draw_recordings(clips, options.recordings, rng))
    report = {
        "check": "twins", "choreographies": len({dance_of(clip.name) for clip in clips}), "pairs": pairs,
        "twins": len(twins), "with_a_twin": len(set().union(*twins)), "seed": options.seed,
    }  # fmt: skip
    print(json.dumps(report), flush=True)
    answers = search(clips, rng.permutation(len(clips))[: options.queries].tolist(), rng)
    accepted = [frozenset((own, other)) for own, other, verdict in answers if verdict == "match"]
    most = {" = ".join(sorted(pair)): accepted.count(pair) for pair in set(accepted)}
    report = {
        "check": "unknown dances and twins", "queries": len(answers), "accepted": len(accepted),
        "possible": sum(verdict == "possible match" for *_, verdict in answers),
        "accepted_as_a_twin": sum(pair in twins for pair in accepted),
        "answered_with_a_twin": sum(frozenset(one[:2]) in twins for one in answers),
        "most_often": dict(sorted(most.items(), key=lambda one: (-one[1], one[0]))[:6]), "seed": options.seed,
    }  # fmt: skip
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()

"""Small catalogues: are dances that were never learnt refused, and known ones by other dancers found?

    python eval/strangers.py

Procedural dances as skeletons. Catalogues of 3, 6, 12 and 30 dances; 60 dances that are in none of
them; 60 performances of known ones by other dancers, every second one mirrored. One JSON object a
catalogue, with the shares accepted at several E-values.
"""

import json

import numpy as np

from dancematch.benchmark.choreography import Dancer, choreography, perform
from dancematch.index.engine import Engine, Query
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.types import Motion

QUERIES = 60
FIRST = 5000  # dances that nothing was chosen on
LIMITS = (0.001, 0.01, 0.05, 0.1)


def danced(dance: int, dancer: int) -> Motion:
    """A performance of three eight-counts."""
    return perform(choreography(dance, eight_counts=3), Dancer.random(dancer))


def accepted(evalues: list[float]) -> dict[str, float]:
    """The share within each limit."""
    return {str(limit): round(float(np.mean(np.array(evalues) <= limit)), 3) for limit in LIMITS}


def main() -> None:
    """Ask every catalogue and print what it accepts."""
    model = load_model()
    background = load_background(model)

    def ask(engine: Engine, motion: Motion):
        readings = ((False, motion), (True, mirror(motion)))
        return engine.search([Query(model.fingerprint(m), flag) for flag, m in readings], limit=1)[0]

    for count in (1, 3, 6, 12, 30):
        known = [(str(seed), model.fingerprint(danced(FIRST + seed, seed))) for seed in range(count)]
        engine = Engine(model.codebook, known, background=background)
        strangers = [ask(engine, danced(FIRST + 1000 + i, 1000 + i)).evalue for i in range(QUERIES)]
        friends, mirrors = [], 0
        for i in range(QUERIES):
            motion = danced(FIRST + i % count, 2000 + i)
            match = ask(engine, mirror(motion) if i % 2 else motion)
            right = match.dance_id == str(i % count)
            mirrors += right and match.mirrored == bool(i % 2)
            friends.append(match.evalue if right else np.inf)
        report = {
            "check": "strangers", "dances": count, "queries": QUERIES, "model_id": model.model_id,
            "rank1": round(float(np.isfinite(friends).mean()), 3),
            "mirror_right": round(mirrors / QUERIES, 3),
            "true_accepts": accepted(friends), "false_accepts": accepted(strangers),
        }  # fmt: skip
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()

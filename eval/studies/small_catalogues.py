"""Small catalogues: are unknown dances rejected, and known ones by other dancers found?

    python eval/studies/small_catalogues.py

Procedural dances as skeletons. Catalogues of 1, 3, 6, 12 and 30 dances; 60 dances that are in none of
them; 60 performances of known ones by other dancers, every second one mirrored. One JSON object per
catalogue, with the shares of each verdict; a known dance counts only under its own name.
"""

import json
from collections import Counter
from collections.abc import Iterable

from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.search.engine import Engine, Query
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.types import Match, Motion

QUERIES = 60
FIRST = 5000  # dances that nothing was chosen on


def perform_dance(dance: int, dancer: int) -> Motion:
    """A performance of three eight-counts."""
    return perform(compose_dance(dance, eight_counts=3), Dancer.random(dancer))


def count_verdicts(answers: Iterable[Match]) -> dict[str, float]:
    """The shares of all queries that are a match and a possible match."""
    found = Counter(answer.verdict for answer in answers)
    return {verdict: round(found[verdict] / QUERIES, 3) for verdict in ("match", "possible match")}


def main() -> None:
    """Search every catalogue and print its verdicts."""
    model = load_model()
    background = load_background(model)

    def search(engine: Engine, motion: Motion) -> Match:
        variants = ((False, motion), (True, mirror(motion)))
        return engine.search([Query(model.fingerprint(m), flag) for flag, m in variants], limit=1)[0]

    for count in (1, 3, 6, 12, 30):
        known = [(str(seed), model.fingerprint(perform_dance(FIRST + seed, seed))) for seed in range(count)]
        engine = Engine(model.codebook, known, background=background)
        unknown = [search(engine, perform_dance(FIRST + 1000 + i, 1000 + i)) for i in range(QUERIES)]
        right, mirrors = list[Match](), 0
        for i in range(QUERIES):
            motion = perform_dance(FIRST + i % count, 2000 + i)
            match = search(engine, mirror(motion) if i % 2 else motion)
            if match.dance_id == str(i % count):
                right.append(match)
                mirrors += match.mirrored == bool(i % 2)
        report = {
            "check": "small catalogues", "dances": count, "queries": QUERIES, "model_id": model.model_id,
            "rank1": round(len(right) / QUERIES, 3), "mirror_right": round(mirrors / QUERIES, 3),
            "known": count_verdicts(right), "unknown": count_verdicts(unknown),
        }  # fmt: skip
        print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()

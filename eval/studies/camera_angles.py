"""Camera angles: is a dancer who is filmed from the side or from behind found, and accepted?

    python eval/studies/make_views.py MOTIONS VIEWS --count 20 --seed 3 --angles 0,45,90,135,180
    python eval/studies/camera_angles.py AISTPP VIEWS [--model FOLDER]

The catalogue is every sequence of AISTPP; queries are a pose estimator's views of some of them, of which the
same segments and mannequins are in VIEWS/<angle>. Right is the same choreography. One JSON object per angle:
as `search` does it, and as filmed only; then the same queries while the catalogue lacks their choreography.
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from dancematch import formats
from dancematch.directions import BEHIND_DEGREES
from dancematch.evaluation.suites.aist import dance_of, load_clips
from dancematch.formats.motion_capture.aist_names import parse_name
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import camera_angle
from dancematch.pipeline.query import QueryDancer, query_of_motions
from dancematch.search.engine import Engine, Query
from dancematch.types import Fingerprint

Known = Sequence[tuple[str, Fingerprint]]
Asked = Sequence[tuple[str, Sequence[Query]]]  # the right answer, and every variant of the query


def main() -> None:
    """Search for the views of every angle."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("aistpp", type=Path)
    parser.add_argument("views", type=Path)
    parser.add_argument("--model")
    options = parser.parse_args()
    model = load_model(options.model)
    background = load_background(model, options.model)
    clips = load_clips(options.aistpp)
    known = [(dance_of(clip.name), model.fingerprint(clip.motion)) for clip in tqdm(clips, "words")]
    engine = Engine(model.codebook, known, background=background)
    for folder in sorted(options.views.iterdir(), key=lambda path: float(path.name)):
        asked, as_filmed = [], []
        for path in sorted(folder.glob("view_*.npz")):
            (dancer,) = query_of_motions(formats.read(path)[:1], model, path).dancers
            name = dance_of(parse_name(path.stem.removeprefix("view_")))
            asked.append((name, dancer.queries()))
            as_filmed.append((name, keep_as_filmed(dancer)))
        report = {
            "check": "camera angles", "degrees": float(folder.name), "queries": len(asked),
            "model_id": model.model_id, "searched": count_answers(engine, asked),
            "as_filmed": count_answers(engine, as_filmed),
            "unknown": count_unknown(model, known, background, asked),
        }  # fmt: skip
        print(json.dumps(report), flush=True)


def keep_as_filmed(dancer: QueryDancer) -> list[Query]:
    """The variants as the camera saw them; of a dancer filmed from behind, the others are turned round."""
    angle = camera_angle(dancer.motion)
    behind = angle is not None and angle > BEHIND_DEGREES
    return [one for one in dancer.queries() if one.turned == behind]


def count_answers(engine: Engine, asked: Asked) -> dict[str, float]:
    """The shares of queries whose first answer is right, right and accepted, wrong and accepted."""
    found: Counter[str] = Counter()
    for name, variants in asked:
        first = engine.search(variants, limit=1)[0]
        found["rank1"] += first.dance_id == name
        found[f"{'right' if first.dance_id == name else 'wrong'} {first.verdict}"] += 1
    return {
        key: round(found[key] / len(asked), 3)
        for key in ("rank1", "right match", "right possible match", "wrong match", "wrong possible match")
    }


def count_unknown(model, known: Known, background: Sequence[Fingerprint], asked: Asked) -> dict[str, float]:
    """The shares of queries that are a match, or a possible one, where their choreography is not known."""
    absent = {name for name, _ in asked}
    engine = Engine(model.codebook, [one for one in known if one[0] not in absent], background=background)
    found = Counter(engine.search(variants, limit=1)[0].verdict for _, variants in asked)
    return {verdict: round(found[verdict] / len(asked), 3) for verdict in ("match", "possible match")}


if __name__ == "__main__":
    main()

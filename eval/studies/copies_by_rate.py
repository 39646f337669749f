"""Is one performance, posted twice, still called one where poses were estimated at another rate?

    python eval/studies/copies_by_rate.py CLIPS SKELETONS...

CLIPS has an index.csv (eval/README.md), each folder of SKELETONS what `pose_rate.py` made of it. Prints one
JSON line per folder and pair of clips of one dance by people: the timing, and whether it is that of one
performance.
"""

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from dancematch.evaluation.real.clip_index import read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.model.tokeniser import load_background, load_model
from dancematch.motion import mirror
from dancematch.search.engine import Engine, Query
from dancematch.search.stage2.timing import measure_timing
from dancematch.search.stage2.word_alignment import TEMPI
from dancematch.tracks import bones_of
from dancematch.types import Motion


def main() -> None:
    """Measure every pair in every folder."""
    folder = Path(sys.argv[1])
    clips = [clip for clip in read_index(folder) if clip.kind == "dance" and not clip.game_character]
    for skeletons in map(Path, sys.argv[2:]):
        dancers = {one.recording_id: one.motions for one in load_recordings(folder, clips, skeletons)}
        for one, other in combinations(clips, 2):
            if one.dance == other.dance and dancers[one.file] and dancers[other.file]:
                found = compare(dancers[one.file][0], dancers[other.file][0])
                facts = {"one": one.file, "other": other.file, "copy": one.is_copy_of(other), **found}
                print(json.dumps({"skeletons": skeletons.name, **facts}), flush=True)


def compare(query: Motion, reference: Motion) -> dict[str, object]:
    """The timing of two motions, as seen or mirrored, whichever correlates more."""
    model = load_model()
    known = model.fingerprint(reference)
    engine = Engine(model.codebook, [("reference", known)], background=load_background(model))
    timings = []
    for motion in (query, mirror(query)):
        words = model.fingerprint(motion)
        (scored,) = engine.score_tracks([Query(words)], np.array([0]))
        line = float(scored.synchrony.offsets[0]), TEMPI[scored.synchrony.tempi[0]]
        timings.append(measure_timing(bones_of(words), bones_of(known), *line, words.seconds_per_word))
    best = max((timing for timing in timings if timing), key=lambda timing: timing.correlation, default=None)
    if best is None:
        return {"same_performance": False}
    return {
        "correlation": round(best.correlation, 3),
        "jitter": round(best.jitter, 4),
        "same_performance": bool(best.same_performance),
    }


if __name__ == "__main__":
    main()

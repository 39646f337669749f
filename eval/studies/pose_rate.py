"""Estimate the skeletons of a folder's clips at another rate, for the suite real: is retrieval the same?

    python eval/studies/pose_rate.py CLIPS OUTPUT --fps 10
    dancematch eval real --data CLIPS --skeletons OUTPUT --method both

CLIPS has an index.csv (eval/README.md). Without --fps poses are estimated in every frame.
"""

import argparse
from functools import partial
from pathlib import Path

from dancematch.evaluation.real.clip_index import read_index
from dancematch.evaluation.real.clip_skeletons import load_recordings
from dancematch.pose.blazepose import BlazePose


def main() -> None:
    """Estimate and write what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--fps", type=float)
    options = parser.parse_args()
    make = partial(BlazePose, fps=options.fps)
    load_recordings(options.clips, read_index(options.clips), options.output, make_estimator=make)


if __name__ == "__main__":
    main()

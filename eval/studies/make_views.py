"""Render motions as video and estimate their skeletons: a pose estimator's views of known dances.

    python eval/studies/make_views.py AISTPP_FOLDER OUTPUT_FOLDER --count 90

Each output .npz holds one dancer as BlazePose sees a mannequin that dances a segment of one of the
motions, from a random side. The shipped model's background has such views too, because clips from
video are more similar to each other than to motion capture.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from tqdm import tqdm

from dancematch.errors import DanceMatchError
from dancematch.formats import npz
from dancematch.motion import clean, excerpt, to_body15
from dancematch.pipeline.analysis.file_analysis import extract_motions
from dancematch.pose.blazepose import BlazePose
from dancematch.synthetic.rendering.camera import Camera
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.renderer import render
from dancematch.training.data.files import find_motion_files, read_motions


def main() -> None:
    """Render, estimate and write every view."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("motions", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=90)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every-frame", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    files = find_motion_files([options.motions])
    chosen = sorted(rng.choice(len(files), min(options.count, len(files)), replace=False))
    options.output.mkdir(parents=True, exist_ok=True)
    estimator = BlazePose(fps=None) if options.every_frame else BlazePose()
    for number, (path, motions) in enumerate(
        tqdm(read_motions([files[i] for i in chosen]), total=len(chosen))
    ):
        draw = np.random.default_rng([options.seed, number])
        camera = Camera(azimuth=float(draw.uniform(-70, 70)), height=float(draw.uniform(0.8, 1.7)))
        target = options.output / f"view_{path.stem}.npz"
        if isinstance(motions, DanceMatchError) or target.exists():
            continue
        body = clean(to_body15(motions[0]))
        latest = max(0.0, body.seconds - options.seconds)
        start = float(draw.uniform(0, latest))
        part = excerpt(body, start, min(body.seconds, start + options.seconds))
        with tempfile.TemporaryDirectory() as folder:
            clip = Path(folder) / "clip.mp4"
            render(part, clip, appearances=[Appearance.random(number)], camera=camera, size=(640, 480))
            try:
                seen = extract_motions(clip, estimator=estimator)
            except DanceMatchError as error:
                tqdm.write(f"{path}: {error}")
                continue
        npz.write(target, seen[:1], source={"name": path.stem, "azimuth": round(camera.azimuth, 1)})


if __name__ == "__main__":
    main()

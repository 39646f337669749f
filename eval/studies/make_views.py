"""Render motions as video and estimate their skeletons: a pose estimator's views of known dances.

    python eval/studies/make_views.py AISTPP_FOLDER OUTPUT_FOLDER --count 90
    python eval/studies/make_views.py AISTPP_FOLDER OUTPUT_FOLDER --count 24 --angles 0,45,90,135,180

Each output .npz holds one dancer as BlazePose sees a mannequin that dances a segment of one of the
motions, from a random side (`--widest` 180 for all around), or from each of the `--angles`, of which each
has a folder of its own with the same segments and mannequins. The shipped model's background has such views
too, because clips from
video are more similar to each other than to motion capture.
"""

import argparse
import sys
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
from dancematch.types import Motion


def main() -> None:
    """Render, estimate and write every view."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("motions", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=90)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every-frame", action="store_true")
    parser.add_argument("--widest", type=float, default=70.0, help="degrees to either side of the front")
    parser.add_argument("--angles", type=lambda text: [float(one) for one in text.split(",")])
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    files = find_motion_files([options.motions])
    chosen = sorted(rng.choice(len(files), min(options.count, len(files)), replace=False))
    estimator = BlazePose(fps=None) if options.every_frame else BlazePose()
    for number, (path, motions) in enumerate(
        tqdm(read_motions([files[i] for i in chosen]), total=len(chosen))
    ):
        if isinstance(motions, DanceMatchError):
            continue
        draw = np.random.default_rng([options.seed, number])
        azimuth = float(draw.uniform(-options.widest, options.widest))
        height = float(draw.uniform(0.8, 1.7))
        part = _draw_segment(motions[0], options.seconds, draw)
        for angle in options.angles or [azimuth]:
            folder = options.output / f"{angle:g}" if options.angles else options.output
            target = folder / f"view_{path.stem}.npz"
            if not target.exists():
                camera = Camera(azimuth=angle, height=height)
                _write_view(part, target, camera, Appearance.random(number), estimator)


def _draw_segment(motion: Motion, seconds: float, draw: np.random.Generator) -> Motion:
    body = clean(to_body15(motion))
    start = float(draw.uniform(0, max(0.0, body.seconds - seconds)))
    return excerpt(body, start, min(body.seconds, start + seconds))


def _write_view(
    part: Motion, target: Path, camera: Camera, appearance: Appearance, estimator: BlazePose
) -> None:
    """Render a segment and write what the estimator sees of it; a line on stderr if that is no dancer."""
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "clip.mp4"
        render(part, clip, appearances=[appearance], camera=camera, size=(640, 480))
        try:
            seen = extract_motions(clip, estimator=estimator)
        except DanceMatchError as error:
            tqdm.write(f"{target}: {error}", file=sys.stderr)
            return
    target.parent.mkdir(parents=True, exist_ok=True)
    source = {"name": target.stem.removeprefix("view_"), "azimuth": round(camera.azimuth, 1)}
    npz.write(target, seen[:1], source=source)


if __name__ == "__main__":
    main()

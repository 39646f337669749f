"""How fast mannequin videos are made, and how well the pose estimator reads them.

python bench/render.py                     CPU milliseconds per frame
python bench/render.py --check             detection, PCK and confusions by azimuth
python bench/render.py --check --motions FOLDER   with recorded dances as well
--json prints one object per line; --seed chooses other procedural dances
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.motion import to_body15
from dancematch.pose.blazepose import BlazePose
from dancematch.pose.selection import select_dancers
from dancematch.pose.track import Track
from dancematch.skeletons import BODY15
from dancematch.synthetic.dance.choreography import Dancer, compose_dance, perform
from dancematch.synthetic.rendering.camera import Camera
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.renderer import project, render
from dancematch.types import Motion

AZIMUTHS = (0, 30, 60, 180)
SECONDS = 5.0
LIMBS = [i for i, joint in enumerate(BODY15.joints) if "_" in joint]
SWAPPED = [BODY15.mirror[i] for i in LIMBS]


@dataclass(frozen=True)
class Reading:
    """What the estimator made of one clip."""

    detected: float  # share of frames with a pose
    pck: float  # share of limb joints within .2 torso lengths of the truth
    swapped: float  # share of frames that fit better with left and right exchanged
    turned: float  # share of frames whose facing direction is off by more than 90 degrees


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="read the videos with the pose estimator")
    parser.add_argument("--motions", type=Path, metavar="FOLDER", help="of motion files to check as well")
    parser.add_argument("--dances", type=int, default=5, help="procedural dances to use")
    parser.add_argument("--seed", type=int, default=100, help="of the first procedural dance")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--size", type=int, nargs=2, default=(854, 480), metavar=("W", "H"))
    options = parser.parse_args()
    size = (options.size[0], options.size[1])
    motions = dict(procedural(options.dances, options.seed))
    rows = check(motions | dict(recorded(options.motions)), size) if options.check else speed(motions, size)
    for row in rows:
        line = (
            json.dumps(row) if options.json else "  ".join(f"{name} {value}" for name, value in row.items())
        )
        print(line, flush=True)


def procedural(count: int, first: int) -> Iterator[tuple[str, Motion]]:
    for seed in range(first, first + count):
        dance = compose_dance(seed, eight_counts=2)
        yield dance.name, shortened(perform(dance, Dancer.random(seed)))


def recorded(folder: Path | None) -> Iterator[tuple[str, Motion]]:
    for path in sorted(folder.iterdir()) if folder else ():
        yield path.stem, shortened(to_body15(formats.read(path)[0]))


def shortened(motion: Motion) -> Motion:
    """Take the first seconds, at 30 frames a second."""
    step = max(round(motion.fps / 30), 1)
    joints = motion.joints[: int(SECONDS * motion.fps) : step]
    return Motion(joints, motion.fps / step, motion.skeleton)


def speed(motions: dict[str, Motion], size: tuple[int, int]) -> Iterator[dict]:
    with tempfile.TemporaryDirectory() as folder:
        frames, spent, written = 0, 0.0, 0
        for number, (name, motion) in enumerate(motions.items()):
            path = Path(folder) / f"{name}.mp4"
            began = time.process_time()
            render(motion, path, appearances=[Appearance.random(number)], size=size)
            spent += time.process_time() - began
            frames += len(motion.joints)
            written += path.stat().st_size
    yield {
        "size": f"{size[0]}x{size[1]}",
        "cpu_ms_per_frame": round(1000 * spent / frames, 1),
        "kbit_per_second": round(written * 8 / (frames / 30) / 1000),
        "frames": frames,
    }


def check(motions: dict[str, Motion], size: tuple[int, int]) -> Iterator[dict]:
    estimator = BlazePose()
    for azimuth in AZIMUTHS:
        readings = {
            name: read(estimator, motion, Camera(azimuth=azimuth), Appearance.random(number), size)
            for number, (name, motion) in enumerate(motions.items())
        }
        worst = min(readings, key=lambda name: readings[name].pck)
        means = {
            field: round(float(np.mean([getattr(reading, field) for reading in readings.values()])), 3)
            for field in ("detected", "pck", "swapped", "turned")
        }
        yield {
            "azimuth": azimuth,
            "clips": len(motions),
            **means,
            "worst": worst,
            "worst_pck": round(readings[worst].pck, 3),
        }


def read(
    estimator: BlazePose, motion: Motion, camera: Camera, look: Appearance, size: tuple[int, int]
) -> Reading:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        render(motion, path, appearances=[look], camera=camera, size=size, fps=motion.fps)
        tracks = select_dancers(estimator.tracks(path)).dancers
    if not tracks:
        return Reading(0, 0, 0, 0)
    return compare(tracks[0], motion, camera, size)


def compare(track: Track, motion: Motion, camera: Camera, size: tuple[int, int]) -> Reading:
    frames = np.round(track.times * motion.fps).astype(int)
    truth = project(motion, camera, size)[frames]
    seen = to_body15(Motion(np.dstack([track.image * size, track.visibility]), 30, track.skeleton))
    points = seen.joints[..., :2]
    torso = np.linalg.norm(truth[:, 1] - truth[:, 0], axis=-1)[:, None]
    error = np.linalg.norm(points[:, LIMBS] - truth[:, LIMBS], axis=-1)
    swapped = np.linalg.norm(points[:, LIMBS] - truth[:, SWAPPED], axis=-1)
    world = to_body15(Motion(track.world, 30, track.skeleton)).joints
    off = facing(world) - facing(motion.joints[frames]) + np.radians(camera.azimuth)
    return Reading(
        detected=len(set(frames.tolist())) / len(motion.joints),
        pck=float((error < 0.2 * torso).mean()),
        swapped=float((swapped.mean(axis=1) < error.mean(axis=1)).mean()),
        turned=float((np.cos(off) < 0).mean()),
    )


def facing(joints: np.ndarray) -> np.ndarray:
    """Which way hips and shoulders face, radians to the dancer's left of +z."""
    left = joints[:, BODY15.index("left_hip")] - joints[:, BODY15.index("right_hip")]
    left = left + joints[:, BODY15.index("left_shoulder")] - joints[:, BODY15.index("right_shoulder")]
    return np.arctan2(-left[:, 2], left[:, 0])


if __name__ == "__main__":
    main()

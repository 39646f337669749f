"""How fast and how surely dancers are found in videos.

Example: python bench/pose.py clip.mp4 other.mp4 --json
         python bench/pose.py clip.mp4 --mediapipe --json

Per clip and in one run: poses at the usual rate on one thread and on two, poses in every frame on one
thread, and the published landmark network bare, run in between the frames of the very same clip, its time
taken out again. CPU time is the process's own, so that other work on the machine counts little. A "frame"
is a thirtieth of a second of the clip, whatever its own rate. With --mediapipe the package of that name reads
the clips too, frame by frame, in an environment of its own that pip fills in a temporary folder.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dancematch.pose.blazepose import BlazePose
from dancematch.pose.blazepose.interpreter import Network
from dancematch.pose.blazepose.landmarks import SILHOUETTE
from dancematch.pose.blazepose.weights import LANDMARKS, load_weights
from dancematch.pose.sampling import POSE_FPS
from dancematch.pose.selection import select_dancers
from dancematch.pose.video import VideoInfo, probe

BARE_EVERY = 4  # estimated frames between two runs of the bare network
USUAL_FPS, USUAL_SECONDS = 30, 15  # of the clip that figures are scaled to
MEDIAPIPE = "mediapipe==0.10.21"  # the last one whose wheel holds the networks themselves

MEDIAPIPE_SCRIPT = """
import sys, time, json, cv2, mediapipe
pose = mediapipe.solutions.pose.Pose(model_complexity=1, enable_segmentation=False)
for path in sys.argv[1:]:
    clip, frames, seen = cv2.VideoCapture(path), 0, 0
    cpu, wall = time.process_time(), time.perf_counter()
    while True:
        there, image = clip.read()
        if not there:
            break
        frames += 1
        seen += pose.process(cv2.cvtColor(image, cv2.COLOR_BGR2RGB)).pose_landmarks is not None
    used = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps([path, frames, seen, *used]), flush=True)
"""


@dataclass(frozen=True)
class Row:
    """One way of reading one clip."""

    clip: str
    way: str
    size: str
    clip_fps: float
    dancers: int | None
    detection_rate: float  # share of the frames that were looked at in which dancer 1 was seen
    cpu_ms: float  # per thirtieth of a second of the clip, from the file to the tracks
    seconds_for_15: float  # by the wall clock, per 15 seconds of the clip
    bare_ms: float | None = None  # one run of the landmark network alone, as published
    cut_ms: float | None = None  # the same without the silhouette, which is what runs


class Bare:
    """The landmark network alone, as published and cut, run between the frames of a clip."""

    def __init__(self, weights_dir: Path | None) -> None:
        file = load_weights(weights_dir)[LANDMARKS]
        self._networks = [Network(file), Network(file, unwanted=SILHOUETTE)]
        self._picture = np.random.default_rng(0).random((1, 256, 256, 3), dtype=np.float32)
        self.calls = self.runs = 0
        self.seconds = [0.0, 0.0]
        self.wall = 0.0

    def __call__(self, _: float) -> None:
        """Run now and then."""
        if self.calls % BARE_EVERY == 0:
            began_wall = time.perf_counter()
            for i, network in enumerate(self._networks):
                began = time.thread_time()
                network(self._picture)
                self.seconds[i] += time.thread_time() - began
            self.wall += time.perf_counter() - began_wall
            self.runs += 1
        self.calls += 1


def measure(path: Path, fps: float | None, threads: int, weights_dir: Path | None) -> Row:
    """Read a clip once; the bare network runs in between only on one thread."""
    info = probe(path)
    estimator = BlazePose(weights_dir=weights_dir, fps=fps, threads=threads)
    estimator.networks()
    bare = Bare(weights_dir) if threads == 1 else None
    cpu, wall = time.process_time(), time.perf_counter()
    tracks = estimator.tracks(path, on_frame=bare)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if bare is not None:
        cpu, wall = cpu - sum(bare.seconds), wall - bare.wall
    dancers = select_dancers(tracks).dancers
    looked_at = info.frames if fps is None else min(info.frames, info.seconds * fps)
    poses = "every frame" if fps is None else f"{fps:g} poses per second"
    return Row(
        clip=path.stem,
        way=f"{poses}, {threads} thread{'s' * (threads > 1)}",
        **describe(info, cpu, wall),
        dancers=len(dancers),
        detection_rate=round(min(1.0, len(dancers[0].times) / looked_at), 4) if dancers else 0.0,
        bare_ms=None if bare is None else round(1000 * bare.seconds[0] / bare.runs, 2),
        cut_ms=None if bare is None else round(1000 * bare.seconds[1] / bare.runs, 2),
    )


def describe(info: VideoInfo, cpu: float, wall: float) -> dict[str, object]:
    """The columns that every way has."""
    return {
        "size": f"{info.width}x{info.height}",
        "clip_fps": round(info.fps, 2),
        "cpu_ms": round(1000 * cpu / (info.seconds * USUAL_FPS), 2),
        "seconds_for_15": round(wall * USUAL_SECONDS / info.seconds, 2),
    }


def measure_mediapipe(paths: list[Path]) -> Iterator[Row]:
    """Read the clips with the mediapipe package, its own tracking and its own networks."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", MEDIAPIPE], check=True)
        command = [python, "-c", MEDIAPIPE_SCRIPT, *map(str, paths)]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    for path, line in zip(paths, lines, strict=True):
        _, frames, seen, cpu, wall = json.loads(line)
        common = describe(probe(path), cpu, wall)
        yield Row(path.stem, MEDIAPIPE, **common, dancers=None, detection_rate=round(seen / frames, 4))


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    for path in arguments.videos:
        for fps, threads in ((POSE_FPS, 1), (POSE_FPS, 2), (None, 1)):
            yield measure(path, fps, threads, arguments.weights)
    if arguments.mediapipe:
        yield from measure_mediapipe(arguments.videos)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("videos", nargs="+", type=Path)
    parser.add_argument("--weights", type=Path, help="folder that holds the two weights files")
    parser.add_argument("--mediapipe", action="store_true", help="measure that package too; pip fetches it")
    parser.add_argument("--json", action="store_true", help="one object a line")
    arguments = parser.parse_args()
    if not arguments.json:
        sys.stdout.write(f"{'clip':<20}{'way':<32}{'size':>11}{'dancers':>8}{'seen':>7}")
        sys.stdout.write(f"{'CPU ms':>8}{'s for 15':>9}{'bare ms':>8}{'cut ms':>8}\n")
    for row in rows(arguments):
        if arguments.json:
            line = json.dumps(asdict(row))
        else:
            line = (
                f"{row.clip:<20}{row.way:<32}{row.size:>11}{row.dancers or '-':>8}{row.detection_rate:>7.3f}"
            )
            line += f"{row.cpu_ms:>8.1f}{row.seconds_for_15:>9.2f}"
            line += f"{row.bare_ms or 0:>8.1f}{row.cut_ms or 0:>8.1f}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

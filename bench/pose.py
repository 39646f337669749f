"""How fast and how surely dancers are found in videos.

Example: python bench/pose.py clip.mp4 other.mp4 --json

CPU time is the process's own, so that other work on the machine counts little; the bare landmark
network runs in between the frames of the very same clip, and its time is taken out again.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dancematch.pose.blazepose import BlazePose
from dancematch.pose.blazepose.interpreter import Network
from dancematch.pose.blazepose.landmarks import SILHOUETTE
from dancematch.pose.blazepose.weights import LANDMARKS, load_weights
from dancematch.pose.selection import select_dancers
from dancematch.pose.video import probe

BARE_EVERY = 4  # frames between two runs of the bare network


@dataclass(frozen=True)
class Row:
    """One clip's figures."""

    clip: str
    frames: int
    size: str
    dancers: int
    detection_rate: float  # share of the frames in which dancer 1 was seen
    cpu_ms: float  # a frame, from the file to the tracks
    bare_ms: float  # one run of the landmark network alone, as published
    cut_ms: float  # the same without the silhouette, which is what runs
    overhead_percent: float  # what a frame costs beyond one bare run, as published, a dancer and frame


class Bare:
    """The landmark network alone, as published and cut, run between the frames of a clip."""

    def __init__(self, weights_dir: Path | None) -> None:
        file = load_weights(weights_dir)[LANDMARKS]
        self._networks = [Network(file), Network(file, unwanted=SILHOUETTE)]
        self._picture = np.random.default_rng(0).random((1, 256, 256, 3), dtype=np.float32)
        self.calls = self.runs = 0
        self.seconds = [0.0, 0.0]

    def __call__(self, _: float) -> None:
        """Run now and then."""
        if self.calls % BARE_EVERY == 0:
            for i, network in enumerate(self._networks):
                began = time.process_time()
                network(self._picture)
                self.seconds[i] += time.process_time() - began
            self.runs += 1
        self.calls += 1


def measure(path: Path, estimator: BlazePose, weights_dir: Path | None) -> Row:
    info = probe(path)
    bare = Bare(weights_dir)
    began = time.process_time()
    tracks = select_dancers(estimator.tracks(path, on_frame=bare)).dancers
    cpu_ms = 1000 * (time.process_time() - began - sum(bare.seconds)) / info.frames
    bare_ms, cut_ms = (1000 * seconds / bare.runs for seconds in bare.seconds)
    poses = sum(len(track.times) for track in tracks)
    needed_ms = bare_ms * max(1.0, poses / info.frames)
    return Row(
        clip=path.stem,
        frames=info.frames,
        size=f"{info.width}x{info.height}",
        dancers=len(tracks),
        detection_rate=round(len(tracks[0].times) / info.frames, 4) if tracks else 0.0,
        cpu_ms=round(cpu_ms, 2),
        bare_ms=round(bare_ms, 2),
        cut_ms=round(cut_ms, 2),
        overhead_percent=round(100 * (cpu_ms / needed_ms - 1), 1),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("videos", nargs="+", type=Path)
    parser.add_argument("--weights", type=Path, help="folder that holds the two weights files")
    parser.add_argument("--json", action="store_true", help="one object a line")
    arguments = parser.parse_args()
    estimator = BlazePose(weights_dir=arguments.weights)
    estimator.networks()
    if not arguments.json:
        sys.stdout.write(f"{'clip':<20}{'frames':>7}{'size':>11}{'dancers':>8}{'seen':>7}")
        sys.stdout.write(f"{'CPU ms':>8}{'bare ms':>8}{'cut ms':>8}{'overhead':>9}\n")
    for path in arguments.videos:
        row = measure(path, estimator, arguments.weights)
        if arguments.json:
            line = json.dumps(asdict(row))
        else:
            line = f"{row.clip:<20}{row.frames:>7}{row.size:>11}{row.dancers:>8}{row.detection_rate:>7.3f}"
            line += f"{row.cpu_ms:>8.1f}{row.bare_ms:>8.1f}{row.cut_ms:>8.1f}{row.overhead_percent:>8.0f}%"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

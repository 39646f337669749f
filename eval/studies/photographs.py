"""Photographs that are zoomed and shaken: how much a pose estimator's tremble moves, at two rates of poses.

    python eval/studies/photographs.py VIDEO...

The picture at three seconds of each video is shown for three seconds, once zoomed by a quarter, once shaken
by three pixels. Prints one JSON line per kind: the movement of each track that `pose/selection.py` compares
with `TREMBLE_METRES`, and how many tracks are taken for dancers.
"""

import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np

from dancematch.motion import to_body15
from dancematch.pose.blazepose import BlazePose
from dancematch.pose.sampling import POSE_FPS
from dancematch.pose.selection import metres_moved, select_dancers
from dancematch.pose.stills import picture_at

FRAMES, RATE = 90, 30
MOMENT = 3.0  # seconds


def main() -> None:
    """Measure each video's photograph."""
    estimators = {"every frame": BlazePose(fps=None), f"{POSE_FPS:g} per second": BlazePose()}
    for number, path in enumerate(sys.argv[1:]):
        content = picture_at(path, MOMENT, longest_side=960, most_bytes=1 << 24)
        photograph = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
        for kind in ("zoomed", "shaken"):
            with tempfile.TemporaryDirectory() as folder:
                clip = Path(folder) / "clip.mp4"
                write_clip(clip, photograph, kind, np.random.default_rng(number))
                found = {name: measure(clip, estimator) for name, estimator in estimators.items()}
            print(json.dumps({"photograph": Path(path).stem, "kind": kind, **found}), flush=True)


def measure(clip: Path, estimator: BlazePose) -> dict[str, object]:
    """How far the tracks of a clip move, in metres, and how many are dancers."""
    tracks = estimator.tracks(clip)
    moved = [metres_moved(to_body15(track.motion()), axes=2) for track in tracks]
    return {"metres": [round(metres, 4) for metres in moved], "dancers": len(select_dancers(tracks).dancers)}


def write_clip(clip: Path, photograph: np.ndarray, kind: str, rng: np.random.Generator) -> None:
    """Write a photograph as a moving picture."""
    height, width = (side // 2 * 2 for side in photograph.shape[:2])
    with av.open(str(clip), "w") as container:
        stream = container.add_stream("libx264", rate=RATE)
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        for number in range(FRAMES):
            if kind == "zoomed":
                change = cv2.getRotationMatrix2D((width / 2, height / 2), 0, 1 + 0.25 * number / FRAMES)
            else:
                change = np.hstack([np.eye(2), rng.normal(0, 3, (2, 1))])
            image = cv2.warpAffine(np.ascontiguousarray(photograph), change, (width, height))
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


if __name__ == "__main__":
    main()

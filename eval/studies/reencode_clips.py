"""Re-encode clips as others might post them, and write the skeletons of these copies.

    python eval/studies/reencode_clips.py CLIPS OUTPUT_FOLDER FILE...

FILE is a clip's path below CLIPS. Of its first twelve seconds three copies are made: small (360 pixels, 15
frames per second, strongly compressed), mirrored, and cropped, without its beginning, 15 % faster.
Writes `<clip>--<change>.npz`, where `__` stands for a slash; existing files are kept.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from tqdm import tqdm

from dancematch.errors import DanceMatchError
from dancematch.formats import npz
from dancematch.pipeline.analysis.file_analysis import extract_motions
from dancematch.pose.blazepose import BlazePose
from dancematch.pose.video import read_frames

SECONDS = 12.0
LONGEST_SIDE = 640

Frames = Iterator[tuple[float, np.ndarray]]  # seconds and picture


def main() -> None:
    """Re-encode, estimate and write every copy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    estimator = BlazePose()
    for file in tqdm(options.files):
        for change, (remake, quality) in CHANGES.items():
            name = file.rsplit(".", 1)[0].replace("/", "__")
            target = options.output / f"{name}--{change}.npz"
            if target.exists():
                continue
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / "copy.mp4"
                write(copy, remake(read_beginning(options.clips / file)), quality)
                try:
                    npz.write(target, extract_motions(copy, estimator=estimator), source={"name": file})
                except DanceMatchError as error:
                    tqdm.write(f"{file}, {change}: {error}")


def read_beginning(path: Path) -> Frames:
    """The beginning of a clip."""
    for frame in read_frames(path, longest_side=LONGEST_SIDE):
        if frame.seconds > SECONDS:
            break
        yield frame.seconds, frame.image


def small(frames: Frames) -> Frames:
    """360 pixels at 15 frames per second."""
    due = 0.0
    for seconds, image in frames:
        if seconds >= due - 1e-6:
            due += 1 / 15
            scale = 360 / max(image.shape[:2])
            height, width = (int(side * scale) // 2 * 2 for side in image.shape[:2])
            picture = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(width=width, height=height)
            yield seconds, picture.to_ndarray(format="rgb24")


def mirrored(frames: Frames) -> Frames:
    """Left and right swapped."""
    for seconds, image in frames:
        yield seconds, image[:, ::-1]


def cropped_faster(frames: Frames) -> Frames:
    """A narrower picture, a later beginning, 15 % faster."""
    for seconds, image in frames:
        if seconds >= 3:
            height, width = image.shape[:2]
            yield (seconds - 3) / 1.15, image[int(0.04 * height) :, int(0.06 * width) : int(0.97 * width)]


CHANGES: dict[str, tuple[Callable[[Frames], Frames], int]] = {
    "small": (small, 34),
    "mirrored": (mirrored, 26),
    "cropfast": (cropped_faster, 26),
}


def write(path: Path, frames: Frames, quality: int) -> None:
    """H.264 with these time stamps; `quality` is its rate factor, larger is worse."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(
            "libx264", rate=30, options={"crf": str(quality), "preset": "ultrafast"}
        )
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = stream.time_base = Fraction(1, 1000)
        for number, (seconds, image) in enumerate(frames):
            height, width = (side // 2 * 2 for side in image.shape[:2])
            if number == 0:
                stream.width, stream.height = width, height
            cut = np.ascontiguousarray(image[:height, :width])
            picture = av.VideoFrame.from_ndarray(cut, format="rgb24")
            picture.pts, picture.time_base = round(1000 * seconds), Fraction(1, 1000)
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))


if __name__ == "__main__":
    main()

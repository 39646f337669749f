"""Builders of small videos and people for the tests of the pose room."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from dancematch.pose.blazepose.detector import Detection
from dancematch.pose.blazepose.landmarks import Pose
from dancematch.pose.blazepose.regions import Region, SearchWindow

MILLISECOND = Fraction(1, 1000)
EVEN = tuple(range(0, 1000, 40))  # one second at 25 frames per second, in milliseconds


def quarters(width: int = 64, height: int = 48) -> np.ndarray:
    """A picture whose corners are red, green, blue and white, clockwise from the top left."""
    image = np.zeros((height, width, 3), np.uint8)
    top, left = height // 2, width // 2
    image[:top, :left], image[:top, left:] = (255, 0, 0), (0, 255, 0)
    image[top:, left:], image[top:, :left] = (0, 0, 255), (255, 255, 255)
    return image


def corner_names(image: np.ndarray) -> str:
    """The corners' colours, clockwise from the top left, by their letters."""
    height, width = image.shape[:2]
    near, far_x, far_y = 5, width - 6, height - 6
    colours = {"r": (255, 0, 0), "g": (0, 255, 0), "b": (0, 0, 255), "w": (255, 255, 255)}
    places = [(near, near), (near, far_x), (far_y, far_x), (far_y, near)]
    pixels = [image[place].astype(int) for place in places]
    return "".join(min(colours, key=lambda name: np.abs(pixel - colours[name]).sum()) for pixel in pixels)


def write_clip(
    path: Path,
    stamps: Sequence[int] = EVEN,
    *,
    codec: str = "libx264",
    image: np.ndarray | None = None,
    rate: int = 25,
    prepare: Callable[[av.VideoStream], None] | None = None,
) -> Path:
    """Write one picture again and again, at these milliseconds, whatever `rate` claims."""
    picture = quarters() if image is None else image
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = picture.shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = MILLISECOND
        stream.codec_context.thread_count = 1
        if prepare is not None:
            prepare(stream)
        for stamp in stamps:
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = stamp, MILLISECOND
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def write_sound(path: Path) -> Path:
    """Write half a second of silence."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=16000)
        for index in range(8):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
            frame.sample_rate, frame.pts = 16000, 1024 * index
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


class Person:
    """A person on a path: `at(seconds)` gives x and y in pixels, or None while out of view."""

    def __init__(
        self,
        at: Callable[[float], tuple[float, float] | None],
        *,
        size: float = 300.0,
        colour: int = 0,
        swing: float = 0.3,
    ) -> None:
        self.at, self.size, self.swing = at, size, swing
        self.colours = np.zeros(64, np.float32)
        self.colours[colour] = 1

    def pose(self, seconds: float, score: float = 0.99) -> Pose:
        """The true pose, arms swinging."""
        middle = np.array(self.at(seconds))
        joints = np.random.default_rng(7).uniform(-0.3, 0.3, (33, 2))
        joints[15:23, 1] += self.swing * np.sin(6 * seconds)
        world = np.concatenate([joints, np.zeros((33, 1))], axis=1)
        return Pose(
            score=score,
            image=(middle + joints * self.size).astype(np.float32),
            world=(world * (1, -1, 1)).astype(np.float32),
            visibility=np.ones(33, np.float32),
            region=Region(*middle.tolist(), self.size),
            colours=self.colours,
        )


class Stage:
    """Stands in for the networks: sees the people, the first in the list in front of the others."""

    def __init__(self, *people: Person) -> None:
        self.people = people
        self.seconds = 0.0
        self.looks = 0

    def _present(self) -> list[tuple[Person, np.ndarray]]:
        places = ((person, person.at(self.seconds)) for person in self.people)
        return [(person, np.array(place)) for person, place in places if place is not None]

    def detect(self, _image: np.ndarray, view: SearchWindow) -> list[Detection]:
        """People whose middle is in the view, not hidden, and not too small for it."""
        self.looks += 1
        found: list[Detection] = []
        for person, (x, y) in self._present():
            region = Region(float(x), float(y), person.size)
            inside = view.left <= x < view.left + view.width and view.top <= y < view.top + view.height
            hidden = any(region.distance(other.region) < 0.15 for other in found)
            if inside and not hidden and person.size > max(view.width, view.height) / 5:
                found.append(Detection(region, 0.9))
        return found

    def pose(self, _image: np.ndarray, region: Region) -> Pose:
        """The body nearest to the region's middle; the one in front if they overlap."""
        near = [
            (float(np.hypot(*(place - (region.x, region.y)))) / region.size, person)
            for person, place in self._present()
        ]
        near = [(far, person) for far, person in near if far < 0.4]
        if not near:
            return self.people[0].pose(0.0, score=0.0)
        least = min(far for far, _ in near)
        front = next(person for far, person in near if far < least + 0.12)
        return front.pose(self.seconds)

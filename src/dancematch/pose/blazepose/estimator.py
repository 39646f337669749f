"""BlazePose "full" on the CPU, for one dancer or several."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from dancematch.pose.blazepose.detector import Detection, Detector
from dancematch.pose.blazepose.landmarks import Landmarker, Pose
from dancematch.pose.blazepose.regions import Region, SearchWindow
from dancematch.pose.blazepose.stitching import join_fragments
from dancematch.pose.blazepose.tracker import TrackedPerson, Tracker
from dancematch.pose.blazepose.weights import DETECTOR, LANDMARKS, WeightsFile, load_weights
from dancematch.pose.track import Track
from dancematch.pose.video import Image, VideoLimits, read_frames
from dancematch.skeletons import BLAZEPOSE33

_LONGEST_SIDE = 1280  # the network sees 256 pixels per person: more only costs time


class BlazePose:
    """Finds and follows people in a video, in about 20 CPU milliseconds per frame and dancer.

    At most `max_dancers` are followed at a time, the largest ones. New people are searched for every
    `detect_every` frames. The weights are fetched on first use unless `weights_dir` holds them.
    """

    name = "blazepose"

    def __init__(
        self,
        *,
        weights_dir: Path | None = None,
        max_dancers: int = 6,
        threads: int = 1,
        detect_every: int = 10,
        limits: VideoLimits | None = None,
    ) -> None:
        self._files = load_weights(weights_dir)
        self._max_dancers = max_dancers
        self._threads = threads
        self._detect_every = detect_every
        self._limits = limits
        self._networks: PoseNetworks | None = None

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> list[Track]:
        """Return one track per person in the video, also of a person who is lost for a moment.

        `on_frame` is called after each frame with the share of the clip that is done, 0..1; 0 until the
        end where the container does not state its length.
        """
        tracker = Tracker(self.networks(), max_dancers=self._max_dancers, detect_every=self._detect_every)
        size, seconds = (1, 1), 0.0
        with read_frames(path, self._limits, longest_side=_LONGEST_SIDE) as reader:
            for frame in reader:
                tracker.step(frame.seconds, frame.image)
                size, seconds = (frame.image.shape[1], frame.image.shape[0]), frame.seconds
                if on_frame is not None:
                    on_frame(min(1.0, frame.seconds / reader.seconds) if reader.seconds else 0.0)
        if on_frame is not None:
            on_frame(1.0)
        people = join_fragments(tracker.people)
        return [_make_track(person, size, seconds, truncated=reader.truncated) for person in people]

    def networks(self) -> "PoseNetworks":
        """Return the two networks, loaded on first use."""
        if self._networks is None:
            self._networks = PoseNetworks(self._files, self._threads)
        return self._networks


class PoseNetworks:
    """Detector and landmark network together."""

    def __init__(self, files: dict[WeightsFile, Path], threads: int) -> None:
        import cv2

        cv2.setNumThreads(1)  # its pictures here are too small for several threads
        self._detector = Detector(files[DETECTOR], threads=threads)
        self._landmarker = Landmarker(files[LANDMARKS], threads=threads)

    def detect(self, image: Image, view: SearchWindow) -> list[Detection]:
        """Return the people in a part of the frame."""
        return self._detector(image, view)

    def pose(self, image: Image, region: Region) -> Pose:
        """Return the pose of the person in a region."""
        return self._landmarker(image, region)


def _make_track(
    person: TrackedPerson, size: tuple[int, int], clip_seconds: float, *, truncated: bool = False
) -> Track:
    return Track(
        dancer=0,
        times=np.array(person.times),
        world=np.stack([pose.world for pose in person.poses]),
        image=np.divide([pose.image for pose in person.poses], size, dtype=np.float32),
        visibility=np.stack([pose.visibility for pose in person.poses]),
        skeleton=BLAZEPOSE33,
        truncated=truncated,
        aspect=size[0] / size[1],
        clip_seconds=clip_seconds,
    )

"""BlazePose "full" on the CPU, for one dancer or several."""

from collections.abc import Callable, Generator, Sequence
from math import inf
from pathlib import Path
from threading import local

import numpy as np

from dancematch.pose.blazepose.detector import Detection, Detector
from dancematch.pose.blazepose.landmarks import Landmarker, Pose
from dancematch.pose.blazepose.regions import Region, SearchWindow
from dancematch.pose.blazepose.stitching import join_fragments
from dancematch.pose.blazepose.tracker import TrackedPerson, Tracker
from dancematch.pose.blazepose.weights import DETECTOR, LANDMARKS, WeightsFile, load_weights
from dancematch.pose.estimators import TracksSoFar
from dancematch.pose.picture import Image
from dancematch.pose.processor_threads import available_threads
from dancematch.pose.sampling import POSE_FPS, STEADY_FPS
from dancematch.pose.track import Track
from dancematch.pose.video import LONG_VIDEO, VideoLimits, VideoSource, read_frames
from dancematch.skeletons import BLAZEPOSE33

_LONGEST_SIDE = 1280  # the network sees 256 pixels per person: more only costs time
_FIRST_SECONDS = 4.0  # of a video, after which its tracks so far are first told: little is recognised before
_NEXT_SHARE = 0.5  # of what has been read, after which they are told again: a long clip has few ...
_LAST_SHARE = 0.8  # ... and none so near to its end
_MOST_THREADS = 4  # more do not make networks of this size faster

_LOADED = local()  # networks of this thread, by their files and threads


class BlazePose:
    """Finds and follows people in a video, in about 13 CPU milliseconds per pose besides decoding.

    Poses are estimated in at most `fps` frames per second, in `steady_fps` while everybody is firmly
    tracked; None: in every frame. At most `max_dancers` are followed at a time, the largest ones. `threads`
    are by default as many as there are cores; how many there are does not change the poses. The weights are
    fetched on first use unless `weights_dir` holds them.
    """

    name = "blazepose"

    def __init__(
        self,
        *,
        weights_dir: Path | None = None,
        fps: float | None = POSE_FPS,
        steady_fps: float | None = STEADY_FPS,
        max_dancers: int = 6,
        threads: int | None = None,
        limits: VideoLimits | None = None,
    ) -> None:
        self._files = load_weights(weights_dir)
        self._fps = fps
        self._steady_fps = steady_fps if fps is not None and (steady_fps or fps) < fps else None
        self._max_dancers = max_dancers
        self._threads = threads or min(available_threads(), _MOST_THREADS)
        self._limits = limits
        self._networks: PoseNetworks | None = None

    def tracks(self, path: Path, *, on_frame: Callable[[float], None] | None = None) -> list[Track]:
        """Return one track per person in the video, also of a person who is lost for a moment.

        `on_frame` is called after each estimated frame with the share of the clip that is done, 0..1; 0
        until the end where the container does not state its length.
        """
        (whole,) = self._read(path, on_frame, first_seconds=inf)
        return whole.tracks

    def tracks_so_far(
        self, path: Path, *, on_frame: Callable[[float], None] | None = None
    ) -> Generator[TracksSoFar, None, None]:
        """Yield the tracks so far after some seconds of the video, and last those of all of it."""
        return self._read(path, on_frame, first_seconds=_FIRST_SECONDS)

    def recent_tracks(
        self,
        source: VideoSource,
        *,
        start: float,
        every_seconds: float,
        keep_seconds: float,
        on_frame: Callable[[float], None] | None = None,
    ) -> Generator[TracksSoFar, None, None]:
        """Yield the tracks of the last seconds every so many seconds from `start` on, and at the end."""
        tracker = Tracker(self.networks(), max_dancers=self._max_dancers, steady_fps=self._steady_fps)
        size, due = (1, 1), start + every_seconds
        limits = self._limits or LONG_VIDEO
        reader = read_frames(source, limits, longest_side=_LONGEST_SIDE, fps=self._fps, start=start)

        def tell(*, complete: bool) -> TracksSoFar:
            tracker.forget(reader.end - keep_seconds)
            tracks = _make_tracks(tracker.people, size, min(reader.end - start, keep_seconds))
            return TracksSoFar(tracks, reader.end, complete=complete, total_seconds=reader.seconds)

        with reader:
            for frame in tracker.choose(reader):
                tracker.step(frame.seconds, frame.image)
                size = (frame.image.shape[1], frame.image.shape[0])
                if on_frame is not None:
                    on_frame(min(1.0, frame.seconds / reader.seconds) if reader.seconds else 0.0)
                if frame.seconds >= due:
                    due = frame.seconds + every_seconds
                    yield tell(complete=False)
        yield tell(complete=True)

    def _read(
        self, path: Path, on_frame: Callable[[float], None] | None, *, first_seconds: float
    ) -> Generator[TracksSoFar, None, None]:
        tracker = Tracker(self.networks(), max_dancers=self._max_dancers, steady_fps=self._steady_fps)
        size, due = (1, 1), first_seconds
        reader = read_frames(path, self._limits, longest_side=_LONGEST_SIDE, fps=self._fps)
        with reader:
            for frame in tracker.choose(reader):
                tracker.step(frame.seconds, frame.image)
                size = (frame.image.shape[1], frame.image.shape[0])
                if on_frame is not None:
                    on_frame(min(1.0, frame.seconds / reader.seconds) if reader.seconds else 0.0)
                if due <= frame.seconds and not _is_nearly_over(frame.seconds, reader.seconds):
                    due = (1 + _NEXT_SHARE) * frame.seconds
                    tracks = _make_tracks(tracker.people, size, frame.seconds)
                    yield TracksSoFar(tracks, frame.seconds, complete=False)
        if on_frame is not None:
            on_frame(1.0)
        tracks = _make_tracks(tracker.people, size, reader.end, truncated=reader.truncated)
        yield TracksSoFar(tracks, reader.end, complete=True)

    def networks(self) -> "PoseNetworks":
        """Return the two networks, loaded on first use in each thread: only one may run them at a time."""
        if self._networks is None:
            loaded = _LOADED.__dict__
            key = f"{self._files[DETECTOR]}, {self._files[LANDMARKS]}, {self._threads} threads"
            if key not in loaded:
                loaded[key] = PoseNetworks(self._files, self._threads)
            self._networks = loaded[key]
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


def _is_nearly_over(seconds: float, total: float | None) -> bool:
    """Whether a clip ends soon, if its container states when."""
    return total is not None and seconds > _LAST_SHARE * total


def _make_tracks(
    people: Sequence[TrackedPerson], size: tuple[int, int], clip_seconds: float, *, truncated: bool = False
) -> list[Track]:
    whole = join_fragments(people)
    return [_make_track(person, size, clip_seconds, truncated=truncated) for person in whole]


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

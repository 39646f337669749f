"""The skeletons of scanned videos, on disk for as long as the result of their scan.

One folder per scan and one file per dancer, to which poses are appended while the video is read: memory does
not grow with its length.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dancematch.motion import FPS, resample, to_body15
from dancematch.pipeline.scan.feeds import TrackFeed
from dancematch.pipeline.scan.moments import Moment
from dancematch.skeletons import BODY15
from dancematch.types import Motion, Span

_SUFFIX = ".poses"
_JOINTS = len(BODY15.joints)
_POSE = np.dtype([("time", "<f8"), ("joints", "<f4", (_JOINTS, 3)), ("visibility", "<f4", _JOINTS)])


class TrackRecorder:
    """Writes the poses of one scan's dancers as they are read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[int, float] = {}  # by dancer: the time of the last pose

    def record(self, moments: Iterable[Moment]) -> Iterator[Moment]:
        """Yield the moments, each once its new poses are written."""
        for moment in moments:
            for dancer, feed in moment.present.items():
                if isinstance(feed, TrackFeed):
                    self._append(dancer, feed)
            yield moment

    def _append(self, dancer: int, feed: TrackFeed) -> None:
        new = feed.poses_since(self._written.get(dancer, -1.0))
        if not len(new.times):
            return
        body = to_body15(Motion(new.world, FPS, feed.skeleton, new.visibility))
        poses = np.empty(len(new.times), _POSE)
        poses["time"], poses["joints"], poses["visibility"] = new.times, body.joints, body.visibility
        with (self._folder / f"{dancer}{_SUFFIX}").open("ab") as file:
            file.write(poses.tobytes())
        self._written[dancer] = float(new.times[-1])


class TrackFolder:
    """The folders of all scans, each named by its job."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, job_id: str) -> TrackRecorder:
        """Make the folder of a scan, without what an earlier attempt left in it."""
        self.delete(job_id)
        (self._folder / job_id).mkdir(mode=0o700)
        return TrackRecorder(self._folder / job_id)

    def read(self, job_id: str, dancer: int, span: Span) -> Motion | None:
        """The motion of a dancer within a span, on the video's clock; None if nothing of it is kept."""
        path = self._folder / job_id / f"{dancer}{_SUFFIX}"
        if not path.is_file() or not path.stat().st_size:
            return None
        poses = np.memmap(path, _POSE, "r")
        first, last = np.searchsorted(poses["time"], (span.start - 1e-6, span.end + 1e-6))
        chosen = poses[first:last]
        if len(chosen) < 2:
            return None
        return resample(chosen["time"], chosen["joints"], chosen["visibility"], BODY15)

    def dancers(self, job_id: str) -> dict[int, Span]:
        """From when to when each dancer of a scan is seen."""
        found = {}
        for path in sorted((self._folder / job_id).glob(f"*{_SUFFIX}")):
            times = np.memmap(path, _POSE, "r")["time"]
            found[int(path.stem)] = Span(float(times[0]), float(times[-1]) + 1 / FPS)
        return found

    def delete(self, job_id: str) -> None:
        """Remove what is kept of a scan."""
        shutil.rmtree(self._folder / job_id, ignore_errors=True)

    def job_ids(self) -> list[str]:
        """The jobs of which something is kept."""
        return [path.name for path in self._folder.iterdir()]

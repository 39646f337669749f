"""Moments -> segments: every dancer's scan beside the others'."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError
from dancematch.pipeline.analysis.file_analysis import MakeEstimator, Progress
from dancematch.pipeline.scan.access import CatalogueAccess
from dancematch.pipeline.scan.dancer_scan import DancerScan
from dancematch.pipeline.scan.moments import (
    KEEP_SECONDS,
    STEP_SECONDS,
    Moment,
    moments_of_motions,
    moments_of_tracks,
)
from dancematch.pipeline.scan.segments import ScanSegment, SegmentJoiner
from dancematch.pose import PoseEstimator
from dancematch.pose.estimators import FollowingEstimator, TracksSoFar
from dancematch.pose.video import VideoSource
from dancematch.types import Motion

OnRecognised = Callable[[ScanSegment], None]  # receives what a dancer dances now, as far as it was read
ScanSource = str | VideoSource | Motion | Sequence[Motion]


def read_moments(
    source: ScanSource, make_estimator: MakeEstimator, on_progress: Progress
) -> Iterator[Moment]:
    """Yield how far the reading of a source is, again and again."""
    if isinstance(source, Motion):
        return _report(moments_of_motions([source]), on_progress)
    if isinstance(source, Sequence) and not isinstance(source, str):
        return _report(moments_of_motions(source), on_progress)
    video = Path(source) if isinstance(source, str) else source
    if isinstance(video, Path) and formats.is_motion_file(video):
        return _report(moments_of_motions(formats.read(video)), on_progress)
    return moments_of_tracks(_follow(video, make_estimator(), on_progress))


def _follow(video: VideoSource, estimator: PoseEstimator, on_progress: Progress) -> Iterator[TracksSoFar]:
    """The tracks of a video, told while it is read if the estimator can, else once all of it is read."""
    if isinstance(estimator, FollowingEstimator):
        yield from estimator.recent_tracks(
            video, every_seconds=STEP_SECONDS, keep_seconds=KEEP_SECONDS, on_frame=on_progress
        )
        return
    if not isinstance(video, Path):
        raise InputError(f"{video.name} is live, which the estimator {estimator.name} cannot follow")
    tracks = estimator.tracks(video, on_frame=on_progress)
    end = max((float(track.times[-1]) for track in tracks if len(track.times)), default=0.0)
    yield TracksSoFar(tracks, end, complete=True)


def _report(moments: Iterator[Moment], on_progress: Progress) -> Iterator[Moment]:
    for moment in moments:
        on_progress(moment.seconds / moment.total if moment.total else 0.0)
        yield moment


class _Lane:
    """One dancer's scan, with adjoining segments of one dance joined."""

    def __init__(self, scan: DancerScan, on_recognised: OnRecognised | None) -> None:
        self._scan, self._joiner, self._on_recognised = scan, SegmentJoiner(), on_recognised
        self._recognised: str | None = None

    def advance(self) -> Iterator[ScanSegment]:
        """Yield the segments that are settled; tell what is danced now, once."""
        yield from self._joiner.add(self._scan.advance())
        if self._on_recognised is None:
            return
        dancing = self._scan.dancing()
        if dancing is not None and dancing.dance != self._recognised:
            self._on_recognised(dancing)
        self._recognised = None if dancing is None else dancing.dance

    def finish(self) -> Iterator[ScanSegment]:
        """Yield the rest."""
        yield from self._joiner.add(self._scan.finish())
        yield from self._joiner.release()


def scan_moments(
    moments: Iterable[Moment], catalogue: CatalogueAccess, on_recognised: OnRecognised | None = None
) -> Generator[ScanSegment, None, None]:
    """Yield the segments of all dancers as they are settled.

    Where the reading fails, what was found up to there is told before the error is raised.
    """
    lanes: dict[int, _Lane] = {}
    trouble: DanceMatchError | None = None
    try:
        for moment in moments:
            for dancer in [one for one in lanes if one not in moment.present]:
                yield from lanes.pop(dancer).finish()
            for dancer, feed in moment.present.items():
                if dancer not in lanes:
                    lanes[dancer] = _Lane(DancerScan(dancer, feed, catalogue), on_recognised)
                yield from lanes[dancer].advance()
    except DanceMatchError as error:
        trouble = error
    for lane in lanes.values():
        yield from lane.finish()
    if trouble is not None:
        raise trouble

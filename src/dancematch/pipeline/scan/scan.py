"""Source -> moments -> segments: every dancer's scan beside the others'."""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
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
ScanSource = str | VideoSource | Motion | Sequence[Motion] | Iterator[Moment]


@dataclass(frozen=True)
class ScanStart:
    """Where a scan begins: at the beginning, or where another was interrupted."""

    seconds: float = 0.0
    dancers: int = 0  # who have been seen before that


BEGINNING = ScanStart()


def read_moments(
    source: ScanSource,
    make_estimator: MakeEstimator,
    on_progress: Progress,
    start: ScanStart = BEGINNING,
) -> Iterator[Moment]:
    """Yield how far the reading of a source is, again and again."""
    if isinstance(source, Iterator):
        return source
    if isinstance(source, Motion):
        return _report(moments_of_motions([source], start.seconds), on_progress)
    if isinstance(source, Sequence) and not isinstance(source, str):
        return _report(moments_of_motions(source, start.seconds), on_progress)
    video = Path(source) if isinstance(source, str) else source
    if isinstance(video, Path) and formats.is_motion_file(video):
        return _report(moments_of_motions(formats.read(video), start.seconds), on_progress)
    tracks = _follow(video, make_estimator(), on_progress, start.seconds)
    return moments_of_tracks(tracks, start.dancers)


def _follow(
    video: VideoSource, estimator: PoseEstimator, on_progress: Progress, start: float
) -> Iterator[TracksSoFar]:
    """The tracks of a video, told while it is read if the estimator can, else once all of it is read."""
    if isinstance(estimator, FollowingEstimator):
        yield from estimator.recent_tracks(
            video, start=start, every_seconds=STEP_SECONDS, keep_seconds=KEEP_SECONDS, on_frame=on_progress
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


class Scan(Iterator[ScanSegment]):
    """The segments of all dancers, as they are settled; closing it ends the reading.

    Where the reading fails, what was found up to there is told before the error is raised.
    """

    def __init__(
        self,
        moments: Iterator[Moment],
        catalogue: CatalogueAccess,
        on_recognised: OnRecognised | None = None,
        start: ScanStart = BEGINNING,
    ) -> None:
        self.seconds = start.seconds  # how far the source has been read
        self._dancers = start.dancers
        self._catalogue, self._on_recognised = catalogue, on_recognised
        self._lanes: dict[int, _Lane] = {}
        self._stopped = False
        self._segments = self._run(moments)

    def __next__(self) -> ScanSegment:
        return next(self._segments)

    def stop(self) -> None:
        """End the reading soon; what was read up to then is still told."""
        self._stopped = True

    def close(self) -> None:
        """End the reading."""
        self._segments.close()

    @property
    def settled(self) -> ScanStart:
        """Up to where all has been told: a scan that begins there goes on with this one."""
        begun = [lane.settled for lane in self._lanes.values()]
        return ScanStart(min([self.seconds, *begun]), self._dancers)

    def _run(self, moments: Iterator[Moment]) -> Generator[ScanSegment, None, None]:
        trouble: DanceMatchError | None = None
        try:
            for moment in moments:
                yield from self._advance(moment)
                if self._stopped:
                    break
        except DanceMatchError as error:
            trouble = error
        for dancer in list(self._lanes):
            yield from self._end(dancer)
        if trouble is not None:
            raise trouble

    def _advance(self, moment: Moment) -> Iterator[ScanSegment]:
        for dancer in [one for one in self._lanes if one not in moment.present]:
            yield from self._end(dancer)
        for dancer, feed in moment.present.items():
            if dancer not in self._lanes:
                scan = DancerScan(dancer, feed, self._catalogue)
                self._lanes[dancer] = _Lane(scan, self._on_recognised)
                self._dancers = max(self._dancers, dancer)
            yield from self._lanes[dancer].advance()
        self.seconds = moment.seconds

    def _end(self, dancer: int) -> Iterator[ScanSegment]:
        yield from self._lanes[dancer].finish()
        del self._lanes[dancer]


class _Lane:
    """One dancer's scan, with adjoining segments of one dance joined."""

    def __init__(self, scan: DancerScan, on_recognised: OnRecognised | None) -> None:
        self._scan, self._joiner, self._on_recognised = scan, SegmentJoiner(), on_recognised
        self._recognised: str | None = None
        self._looked_until = scan.searched  # what is danced is looked at after each window, once

    @property
    def settled(self) -> float:
        """Up to where all has been told."""
        return self._scan.told if self._joiner.held is None else self._joiner.held.span.start

    def advance(self) -> Iterator[ScanSegment]:
        """Yield the segments that are settled; tell what is danced now, once."""
        yield from self._joiner.add(self._scan.advance())
        if self._on_recognised is None or self._looked_until == self._scan.searched:
            return
        self._looked_until = self._scan.searched
        dancing = self._scan.dancing()
        if dancing is not None and dancing.dance != self._recognised:
            self._on_recognised(dancing)
        self._recognised = None if dancing is None else dancing.dance

    def finish(self) -> Iterator[ScanSegment]:
        """Yield the rest."""
        yield from self._joiner.add(self._scan.finish())
        yield from self._joiner.release()

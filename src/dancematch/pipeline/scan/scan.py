"""Moments -> segments: every dancer's scan beside the others'."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

from dancematch import formats
from dancematch.pipeline.analysis.file_analysis import MakeEstimator, Progress
from dancematch.pipeline.scan.access import CatalogueAccess
from dancematch.pipeline.scan.dancer_scan import DancerScan
from dancematch.pipeline.scan.moments import Moment, moments_of_motions
from dancematch.pipeline.scan.segments import ScanSegment, SegmentJoiner
from dancematch.types import Motion

ScanSource = str | Path | Motion | Sequence[Motion]


def scan_source(
    source: ScanSource, catalogue: CatalogueAccess, make_estimator: MakeEstimator, on_progress: Progress
) -> Generator[ScanSegment, None, None]:
    """Yield the segments of all dancers of a source as they are settled."""
    moments = read_moments(source, make_estimator)
    yield from scan_moments(_report(moments, on_progress), catalogue)


def read_moments(source: ScanSource, make_estimator: MakeEstimator) -> Iterator[Moment]:
    """Yield how far the reading of a source is, again and again."""
    if isinstance(source, Motion):
        return moments_of_motions([source])
    if not isinstance(source, str | Path):
        return moments_of_motions(source)
    if formats.is_motion_file(Path(source)):
        return moments_of_motions(formats.read(Path(source)))
    raise NotImplementedError(make_estimator)


def _report(moments: Iterator[Moment], on_progress: Progress) -> Iterator[Moment]:
    for moment in moments:
        on_progress(moment.seconds / moment.total if moment.total else 0.0)
        yield moment


class _Lane:
    """One dancer's scan, with adjoining segments of one dance joined."""

    def __init__(self, scan: DancerScan) -> None:
        self._scan, self._joiner = scan, SegmentJoiner()

    def advance(self) -> Iterator[ScanSegment]:
        return self._joiner.add(self._scan.advance())

    def finish(self) -> Iterator[ScanSegment]:
        yield from self._joiner.add(self._scan.finish())
        yield from self._joiner.release()


def scan_moments(moments: Iterable[Moment], catalogue: CatalogueAccess) -> Generator[ScanSegment, None, None]:
    """Yield the segments of all dancers as they are settled."""
    lanes: dict[int, _Lane] = {}
    for moment in moments:
        for dancer in [one for one in lanes if one not in moment.present]:
            yield from lanes.pop(dancer).finish()
        for dancer, feed in moment.present.items():
            if dancer not in lanes:
                lanes[dancer] = _Lane(DancerScan(dancer, feed, catalogue))
            yield from lanes[dancer].advance()
    for lane in lanes.values():
        yield from lane.finish()

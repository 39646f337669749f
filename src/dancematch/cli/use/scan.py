"""dancematch scan: which dance when, in long videos and live."""

import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dancematch.cli.exit_codes import ExitCode
from dancematch.cli.options import json_option, model_option, option_group
from dancematch.cli.output import ShareBar, complain, emit, emit_json, require_free, say, share_bar
from dancematch.cli.use.finished_scan import end_if_finished
from dancematch.cli.use.scan_options import (
    STDIN,
    ScanOutputOptions,
    SourceOptions,
    refuse_scan_contradictions,
)
from dancematch.cli.use.search import choose_nodes
from dancematch.cli.use.search_options import SearchFilterOptions, ShardOptions
from dancematch.errors import CatalogueError, DanceMatchError, InputError
from dancematch.pipeline.wording import describe_moment
from dancematch.types import Verdict

if TYPE_CHECKING:
    from dancematch.pipeline.catalogue import Catalogue
    from dancematch.pipeline.scan.journal import ScanJournal
    from dancematch.pipeline.scan.scan import Scan, ScanStart
    from dancematch.pipeline.scan.segments import ScanSegment
    from dancematch.pose.video import VideoSource
    from dancematch.report.scan_files import ScannedVideo
    from dancematch.search.settings import DanceFilter


@click.command("scan")
@click.argument("catalogue")
@click.argument("videos", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@option_group("source", SourceOptions)
@option_group("output", ScanOutputOptions)
@option_group("among", SearchFilterOptions)
@option_group("nodes", ShardOptions)
@model_option
@json_option
def scan_command(
    catalogue: str,
    videos: tuple[Path, ...],
    source: SourceOptions,
    output: ScanOutputOptions,
    among: SearchFilterOptions,
    nodes: ShardOptions,
    model: str | None,
    as_json: bool,
) -> None:
    """Say which dance of CATALOGUE is danced when in VIDEOS, by whom, and where no known one is.

    For shows, lessons and archives: videos of any length, in which one dance follows another. Each dancer is
    followed, dances are told with their beginning and end as soon as they are over, and memory does not grow
    with the length. A dance must last for some six seconds to be found reliably. VIDEOS may also be motion
    files, folders, or - for a stream on stdin that is written in order (MPEG-TS, Matroska, WebM).

    With --camera, - and --follow, a line also tells each dance while it is still danced, and how long after
    its beginning (with --json an object of its own, which has "recognised_after"). Ctrl-C ends the filming;
    what was found is told and written. A file that has not grown for ten seconds is complete.

    With --csv, FILE.part keeps what has been found until all is done; --resume goes on with it, in the middle
    of a video too, and says so where all has been done. Exits with 0 if any dance is known, with 3 if none
    is, with 1 if a video failed.

    \b
    Example:
      dancematch scan dances.db show.mp4
      dancematch scan dances.db show.mp4 --plot show.png --srt show.srt
      dancematch scan dances.db archive/ --csv found.csv
      dancematch scan dances.db archive/ --csv found.csv --resume
      dancematch scan dances.db lesson.mkv --eaf lesson.eaf
      dancematch scan dances.db --camera
      ffmpeg -i rtsp://hall/1 -f mpegts - | dancematch scan dances.db - --json
    """
    from dancematch.pipeline.catalogue import open_catalogue

    refuse_scan_contradictions(videos, source, output)
    sources = _find_sources(videos, source)
    end_if_finished([Path(_file_name(one)).name for one in sources], output)
    _require_outputs_free(sources, output)
    with open_catalogue(catalogue, model=model, create=False) as known:
        known.require_any(among.label, among.collection)
        begun_at = known.generation
        choose_nodes(known, catalogue, nodes)
        run = _Run(known, among.dance_filter(), output, as_json)
        with _open_journal(known, run, output) as journal:
            begun_at = begun_at if journal is None else journal.begun_at
            scanned = [
                video for one in sources if (video := run.scan(one, journal, len(sources))) is not None
            ]
            _write_table(scanned, journal, output)
        if known.generation != begun_at:
            say(
                "the catalogue was changed during the scan: each moment was searched for among the dances "
                "that were known then; scan again to be sure"
            )
    run.end(len(sources))


def _find_sources(videos: Sequence[Path], source: SourceOptions) -> "list[VideoSource]":
    from dancematch.pipeline.analysis.clip_files import find_clips
    from dancematch.pose.live_video import GrowingFile, LiveCamera, Pipe

    if source.camera is not None:
        return [LiveCamera(source.camera)]
    if STDIN in videos:
        return [Pipe(sys.stdin.buffer)]
    if source.follow:
        return [GrowingFile(video) for video in videos]
    return list(find_clips(videos))


def _require_outputs_free(sources: "Sequence[VideoSource]", output: ScanOutputOptions) -> None:
    from dancematch.report.plots import require_drawable

    if output.csv is not None:
        require_free(output.csv, output.force)
    named = [path for path in (output.csv, *output.paths().values()) if path is not None and path.suffix]
    if len(set(named)) < len(named):
        raise InputError("two of the files to write have one name; give each its own")
    for kind, path in output.paths().items():
        if len(sources) > 1:
            if path.suffix and not path.is_dir():
                raise InputError(f"{path} would be written for each of {len(sources)} videos; name a folder")
            path.mkdir(parents=True, exist_ok=True)
        targets = [output.target(kind, _file_name(one), len(sources)) for one in sources]
        if len(set(targets)) < len(targets):
            raise InputError(
                f"two of the videos have one name, and so would their files in {path}; scan them apart"
            )
        for target in targets:
            if kind == "png":
                require_drawable(target)
            require_free(target, output.force)


def _file_name(source: "VideoSource") -> str:
    return str(source) if isinstance(source, Path) else source.name


@contextmanager
def _open_journal(
    known: "Catalogue", run: "_Run", output: ScanOutputOptions
) -> "Iterator[ScanJournal | None]":
    from dancematch.pipeline.scan.journal import ScanJournal
    from dancematch.pipeline.search_table import find_part

    if output.csv is None:
        yield None
        return
    facts = {
        "catalogue": known.identity,
        "generation": known.generation,
        "model_id": known.tokeniser.model_id,
        "options": repr((output.max_evalue, run.only)),
    }
    journal = ScanJournal(find_part(output.csv), facts, resume=output.resume, overwrite=output.force)
    try:
        yield journal
    except BaseException:  # Ctrl-C too
        journal.close()
        if journal.path.exists():
            say(f"{journal.path} has what was found so far; say --resume to go on with it")
        raise


def _write_table(
    scanned: "Sequence[ScannedVideo]", journal: "ScanJournal | None", output: ScanOutputOptions
) -> None:
    from dancematch.formats.files import write_bytes
    from dancematch.pipeline.tables import csv_file, csv_line
    from dancematch.report.scan_files import CSV_COLUMNS, csv_rows

    if output.csv is None or journal is None:
        return
    lines = [csv_line(CSV_COLUMNS), *(row for one in scanned for row in csv_rows(one))]
    write_bytes(output.csv, csv_file(lines), overwrite=output.force)
    journal.remove()
    say(f"{output.csv}: written")


class _Run:
    """The scans of one command: what is printed, written and counted."""

    def __init__(
        self, known: "Catalogue", only: "DanceFilter", output: ScanOutputOptions, as_json: bool
    ) -> None:
        self.only = only
        self._known, self._output, self._as_json = known, output, as_json
        self._verdicts: set[Verdict] = set()
        self._failed = 0

    def scan(self, source: "VideoSource", journal: "ScanJournal | None", count: int) -> "ScannedVideo | None":
        """Scan one source and write its files; None, and a line that says why, if it cannot be read."""
        from dancematch.report.scan_files import ScannedVideo

        name = _file_name(source)
        segments: list[ScanSegment] = []
        if count > 1 and not self._as_json:
            emit(name)
        try:
            with share_bar(Path(name).name) as bar:
                seconds = self._follow(source, journal, segments, bar)
        except CatalogueError:
            raise
        except DanceMatchError as error:
            self._failed += 1
            complain(Path(name), error)
            if not segments:
                return None
            seconds = max(one.span.end for one in segments)
        if not segments and not self._as_json:
            emit("no dancer is seen")
        ordered = tuple(sorted(segments, key=lambda one: (one.span.start, one.dancer)))
        rate = _frame_rate(source) if self._output.edl is not None else {}
        address = source.resolve().as_uri() if isinstance(source, Path) else ""
        scanned = ScannedVideo(Path(name).name, seconds, ordered, address=address, **rate)
        self._write_files(scanned, count)
        return scanned

    def _follow(
        self,
        source: "VideoSource",
        journal: "ScanJournal | None",
        segments: "list[ScanSegment]",
        bar: ShareBar,
    ) -> float:
        """Collect and print the segments as they are found; returns how long the source is."""
        if journal is None or not isinstance(source, Path):
            scan = self._begin(source, bar)
            self._collect(scan, source, segments)
            return scan.seconds
        state = journal.state(source)
        names = self._known.names() if state.segments else {}
        for segment in state.segments:
            self._take(source, segment.renamed(names), segments)
        if state.complete:
            say(f"{source}: scanned before")
            return state.settled.seconds
        if state.settled.seconds:
            say(f"{source}: goes on at {describe_moment(state.settled.seconds)}")
        scan = self._begin(source, bar, state.settled)
        self._collect(scan, source, segments, journal)
        journal.settle(source, scan.settled, complete=True)
        return scan.seconds

    def _begin(self, source: "VideoSource", bar: ShareBar, start: "ScanStart | None" = None) -> "Scan":
        clock = None if isinstance(source, Path) else _LiveClock(bar, _file_name(source), self._as_json)
        return self._known.scan(
            source,
            max_evalue=self._output.max_evalue,
            **vars(self.only),
            on_progress=clock.tick if clock is not None else bar,
            on_recognised=clock.tell if clock is not None else None,
            start=start,
        )

    def _collect(
        self,
        scan: "Scan",
        source: "VideoSource",
        segments: "list[ScanSegment]",
        journal: "ScanJournal | None" = None,
    ) -> None:
        """Take the segments as they come; Ctrl-C ends what has no end of its own."""
        with closing(scan), _ended_by_interrupt(source, scan):
            for segment in scan:
                if journal is not None and isinstance(source, Path):
                    journal.add(source, segment)
                    journal.settle(source, scan.settled)
                self._take(source, segment, segments)

    def _take(self, source: "VideoSource", segment: "ScanSegment", segments: "list[ScanSegment]") -> None:
        """Collect and print a segment, unless it is not wanted."""
        if self._output.matches_only and segment.verdict == "possible match":
            return
        segments.append(segment)
        self._verdicts.add(segment.verdict)
        if self._as_json:
            emit_json({"file": _file_name(source), **segment.described()})
        else:
            emit(_segment_line(segment))

    def _write_files(self, scanned: "ScannedVideo", count: int) -> None:
        from dancematch.report.scan_files import write_scan
        from dancematch.report.scan_plot import draw_scan

        for kind in self._output.paths():
            target = self._output.target(kind, scanned.file, count)
            write: Any = draw_scan if kind == "png" else write_scan
            write(target, scanned, overwrite=self._output.force)
            say(f"{target}: written")

    def end(self, count: int) -> None:
        """Exit with the code of all sources."""
        if self._failed:
            say(f"{self._failed} of {count} could not be scanned to the end")
            sys.exit(ExitCode.FAILED)
        known = self._verdicts & {"match", "possible match"}
        sys.exit(ExitCode.DONE if known else ExitCode.NO_MATCH)


@contextmanager
def _ended_by_interrupt(source: "VideoSource", scan: "Scan") -> Iterator[None]:
    """Let Ctrl-C end live pictures as if nothing came any more; a second one ends the program."""
    if isinstance(source, Path):
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def end(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        source.ended.set()
        scan.stop()

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _LiveClock:
    """Says, of live pictures, how long after its beginning a dance was recognised."""

    def __init__(self, bar: ShareBar, name: str, as_json: bool) -> None:
        self._bar, self._name, self._as_json = bar, name, as_json
        self._began = 0.0

    def tick(self, share: float) -> None:
        """Move the bar; the first time, the clock begins."""
        self._began = self._began or time.monotonic()
        self._bar(share)

    def tell(self, segment: "ScanSegment") -> None:
        """Print what is danced now."""
        # A recording that is piped in may be read faster than it was danced.
        delay = max(segment.span.seconds, time.monotonic() - self._began - segment.span.start)
        if self._as_json:
            emit_json({"file": self._name, "recognised_after": round(delay, 1), **segment.described()})
            return
        say(
            f"{describe_moment(segment.span.start)}  dancer {segment.dancer} dances {segment.dance}, "
            f"recognised after {delay:.0f} s"
        )


def _segment_line(segment: "ScanSegment") -> str:
    """One segment as a line: when, who, verdict, which dance."""
    from dancematch.report.scan_files import NO_KNOWN_DANCE, segment_text

    when = f"{describe_moment(segment.span.start)}-{describe_moment(segment.span.end)}"
    what = (
        NO_KNOWN_DANCE
        if segment.match is None
        else f"{segment.verdict:<14}  {segment_text(segment.match, with_verdict=False)}"
    )
    return f"{when:<15}  dancer {segment.dancer:<3}  {what}"


def _frame_rate(source: "VideoSource") -> dict[str, Any]:
    """The rate that edit lists count frames by, where the file says it."""
    from dancematch import formats
    from dancematch.pose.video import probe

    if not isinstance(source, Path) or formats.is_motion_file(source):
        return {}
    return {"fps": probe(source).fps}

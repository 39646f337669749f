"""What a run of scans has found so far, kept on disk, so that another run can go on with it.

The first line says what was asked of which catalogue, so that no result is made of two. Each further line is
about one video: a segment, up to where all has been told, or that it is complete. A line is whole if it ends.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from dancematch.errors import InputError
from dancematch.pipeline.scan.scan import BEGINNING, ScanStart
from dancematch.pipeline.scan.segments import ScanSegment, segment_of

_GENERATION = "generation"


@dataclass
class ScanState:
    """How far the scan of one video is."""

    segments: list[ScanSegment] = field(default_factory=list)
    settled: ScanStart = BEGINNING
    complete: bool = False


class ScanJournal:
    """The journal of one run; `overwrite` begins it again, `resume` goes on with it.

    What is asked must be the same each time, all but the catalogue's `generation`: a scan of hours goes on
    although a dance was added or renamed, and `begun_at` tells the generation that it began at.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any], *, resume: bool, overwrite: bool) -> None:
        self.path = path
        self.begun_at = asked[_GENERATION]
        self._states: dict[str, ScanState] = {}
        if path.exists() and not resume and not overwrite:
            raise InputError(
                f"{path} was left by a run that was interrupted; say --resume to go on with it, "
                "or --force to begin again"
            )
        try:
            self._file: BinaryIO = path.open("a+b" if resume else "w+b")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
        self._read(asked)

    def state(self, video: Path) -> ScanState:
        """How far a video is; one that has changed since begins anew."""
        return self._states.setdefault(_identify(video), ScanState())

    def add(self, video: Path, segment: ScanSegment) -> None:
        """Keep a segment."""
        self._write(video, {"segment": segment.described()})

    def settle(self, video: Path, settled: ScanStart, *, complete: bool = False) -> None:
        """Keep up to where all segments of a video have been told."""
        self._write(video, {"settled": asdict(settled), "complete": complete})

    def close(self) -> None:
        """Leave the journal as it is, for another run; one without any video is removed."""
        self._file.close()
        if not any(state.segments or state.complete for state in self._states.values()):
            self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        """All is written elsewhere."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, video: Path, entry: dict[str, Any]) -> None:
        line = {"video": _identify(video), **entry}
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        self._enter(line)

    def _read(self, asked: Mapping[str, Any]) -> None:
        """Read what another run kept; what a killed process wrote of one more line is cut off."""
        self._file.seek(0)
        first = self._file.readline()
        if not first.endswith(b"\n"):
            self._file.truncate(0)
            self._file.write(json.dumps(asked).encode() + b"\n")
            self._file.flush()
            return
        begun = _read_facts(first)
        self.begun_at = begun.get(_GENERATION)
        if {**begun, _GENERATION: 0} != {**asked, _GENERATION: 0}:
            raise self._refuse("was begun with other dances, another model or other options")
        place = self._file.tell()
        while (line := self._file.readline()).endswith(b"\n"):
            try:
                self._enter(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise self._refuse("is damaged") from None
            place = self._file.tell()
        self._file.truncate(place)
        self._drop_unsettled()

    def _enter(self, line: Mapping[str, Any]) -> None:
        state = self._states.setdefault(line["video"], ScanState())
        if "segment" in line:
            state.segments.append(segment_of(line["segment"]))
        else:
            state.settled, state.complete = ScanStart(**line["settled"]), bool(line["complete"])

    def _drop_unsettled(self) -> None:
        """Forget segments that are told again: they end after what is settled."""
        for state in self._states.values():
            if not state.complete:
                until = state.settled.seconds
                state.segments = [one for one in state.segments if one.span.end <= until + 1e-6]

    def _refuse(self, problem: str) -> InputError:
        self._file.close()
        return InputError(f"{self.path} {problem}; leave out --resume and say --force to begin again")


def _read_facts(line: bytes) -> Mapping[str, Any]:
    """What a run was asked; nothing if the line says nothing."""
    try:
        facts = json.loads(line)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _identify(video: Path) -> str:
    """A text that another file, or another version of the file, does not have."""
    try:
        found = video.stat()
    except OSError:
        return str(video)
    return f"{video.absolute()}|{found.st_size}|{found.st_mtime_ns}"

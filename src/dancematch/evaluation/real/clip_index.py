"""A folder of clips with an index.csv: which clips show one dance, by which performer, at which time lag.

One row per clip; eval/README.md describes the columns. Clips of one performance are copies of each other,
not answers: unless the column `performance` names it, it is the performer's name up to the first suffix
-mirrored, -slow, -fast or -x with a number. Recordings of one group are left out of each other's catalogue;
without a group, files that differ in a last -reference/-user or -teacher/-student are of one group.
"""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from dancematch.errors import InputError

INDEX = "index.csv"
COLUMNS = ("file", "kind", "group", "performer", "lag_s", "note")
GAME_CHARACTER = "game character"

ClipKind = Literal["dance", "single", "no-dance"]
QueryPart = Literal["people", "game characters", "unknown"]

_COPY_SUFFIX = re.compile(r"-(mirrored|slow|fast|x\d+(\.\d+)?)(?=-|$)")
_ROLE_SUFFIX = re.compile(r"-(reference|user|teacher|student)$")


@dataclass(frozen=True)
class IndexedClip:
    """One row of an index."""

    file: str  # relative to the folder, with forward slashes: the id of the recording
    kind: ClipKind
    dance: str  # recordings of one dance share it
    performance: str  # within the dance; copies of one performance share it
    lag_seconds: float | None  # time in the clip minus time in the dance
    game_character: bool

    @property
    def part(self) -> QueryPart:
        """The table that the clip is counted in when it is the query."""
        if self.kind != "dance":
            return "unknown"
        return "game characters" if self.game_character else "people"

    def is_copy_of(self, other: "IndexedClip") -> bool:
        """Whether both show one performance; every clip is a copy of itself."""
        return (self.dance, self.performance) == (other.dance, other.performance)


def read_index(folder: str | Path) -> list[IndexedClip]:
    """The clips that a folder's index.csv names, in its order."""
    index = Path(folder) / INDEX
    if not index.is_file():
        raise InputError(f"there is no {index}; a folder of clips with an {INDEX} was expected")
    try:
        rows = _read_rows(index)
    except UnicodeDecodeError:
        raise InputError(f"{index} is not UTF-8 text; save it as CSV in UTF-8") from None
    clips = [_read_row(Path(folder), where, row) for where, row in rows]
    _require_consistent(index, clips)
    return clips


def _read_rows(index: Path) -> list[tuple[str, dict[str, str | None]]]:
    """Each row, after its file and line for messages."""
    with index.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(
                f"{index} lacks the column(s) {', '.join(missing)}; expected {', '.join(COLUMNS)}"
            )
        return [(f"{index}, line {reader.line_num}", row) for row in reader]


def _read_row(folder: Path, where: str, row: Mapping[str, str | None]) -> IndexedClip:
    values = {name: (value or "").strip() for name, value in row.items() if isinstance(value, str | None)}
    file, kind, group = values["file"], values["kind"], values["group"]
    if kind not in get_args(ClipKind):
        raise InputError(f"{where}: kind must be one of {', '.join(get_args(ClipKind))}, got {kind!r}")
    if Path(file).is_absolute() or ".." in Path(file).parts:
        raise InputError(f"{where}: file must be a path within {folder}, got {file!r}")
    if not file or not (folder / file).exists():
        raise InputError(f"{where}: there is no file {file!r} in {folder}")
    if kind == "dance" and not (group and values["performer"]):
        raise InputError(f"{where}: a clip of the kind dance needs a group and a performer")
    performer = values.get("performance") or _performance_of(values["performer"])
    return IndexedClip(
        file=file,
        kind=cast(ClipKind, kind),
        dance=group or _group_of(file),
        performance=performer if kind == "dance" else "",
        lag_seconds=_read_lag(where, values["lag_s"]),
        game_character=GAME_CHARACTER in values["note"].lower(),
    )


def _read_lag(where: str, text: str) -> float | None:
    try:
        lag = float(text) if text else None
    except ValueError:
        lag = math.nan
    if lag is not None and not math.isfinite(lag):
        raise InputError(f"{where}: lag_s must be seconds or empty, got {text!r}")
    return lag


def _performance_of(performer: str) -> str:
    """The performer's name up to the first suffix that marks a copy."""
    found = _COPY_SUFFIX.search(performer)
    return performer[: found.start()] if found else performer


def _group_of(file: str) -> str:
    """The path of a file without its suffix and without the role of a pair's member."""
    return _ROLE_SUFFIX.sub("", file.removesuffix(Path(file).suffix))


def _require_consistent(index: Path, clips: Sequence[IndexedClip]) -> None:
    files = [clip.file for clip in clips]
    twice = sorted({file for file in files if files.count(file) > 1})
    if twice:
        raise InputError(f"{index} names {', '.join(twice)} more than once; one row per clip was expected")
    dances = [clip for clip in clips if clip.kind == "dance"]
    for clip in dances:
        if all(other.is_copy_of(clip) for other in dances if other.dance == clip.dance):
            raise InputError(
                f"{index}: {clip.dance} has a single performance; two or more were expected"
                " (a dance with one is of the kind single)"
            )
    mixed = {clip.dance for clip in dances} & {clip.dance for clip in clips if clip.kind != "dance"}
    if mixed:
        raise InputError(f"{index}: {', '.join(sorted(mixed))} is the group of a dance and of another kind")
    if not dances:
        raise InputError(f"{index} has no clip of the kind dance: there is nothing to find")

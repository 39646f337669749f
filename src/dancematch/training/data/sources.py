"""Sources: the folders to learn from, how often each is drawn, and what may be done with what was learnt.

A list of sources is a TOML file with one table `[[sources]]` each:

    [[sources]]
    name = "AIST++"
    folder = "aistpp"        # relative to the file
    weight = 4               # how often its pairs are drawn, against those of the other sources
    licence = "CC BY 4.0"
    commercial = true        # whether it may be used commercially

A folder whose index.csv has the columns file, group and performer says there who moves in which file:
files of one group show the same motion. `lag_s`, if known, is a file's time minus the motion's. Files that
the index does not name are left out. In other folders the files' names say it (`tracks.py`).
"""

import csv
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import permutations
from pathlib import Path
from typing import Any

from dancematch.errors import InputError

INDEX = "index.csv"
COLUMNS = ("file", "group", "performer")


@dataclass(frozen=True)
class TrainingSource:
    """A folder of motion files to learn from."""

    name: str
    folder: Path
    weight: float = 1.0
    licence: str = "not stated"
    commercial: bool = False

    def __post_init__(self) -> None:
        if not (0 < self.weight < math.inf):
            raise InputError(f"the weight of the source {self.name} must be above 0, got {self.weight}")

    def describe(self) -> dict[str, Any]:
        """What to write beside a model about the source."""
        shown = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "folder"}
        return {**shown, "weight": float(self.weight)}


@dataclass(frozen=True)
class IndexedFile:
    """What an index says about a file."""

    group: str
    performer: str
    lag_seconds: float | None  # the file's time minus the motion's


def require_different_folders(sources: Sequence[TrainingSource]) -> None:
    """Refuse a folder that is given twice, or lies in another one: its motions would count twice."""
    places = [(source.folder.resolve(), source) for source in sources]
    for (place, first), (other, second) in permutations(places, 2):
        if place.is_relative_to(other):
            raise InputError(f"{first.folder} is {second.folder} or lies in it; give every folder once")


def has_other_index(folder: Path) -> bool:
    """Whether the folder has an index.csv that does not say who moves in which file."""
    return (folder / INDEX).is_file() and read_index(folder) is None


def name_folders(folders: Sequence[Path]) -> list[TrainingSource]:
    """Folders as sources of the same weight, named as they are."""
    return [TrainingSource(str(folder), folder) for folder in folders]


def read_sources(path: Path) -> list[TrainingSource]:
    """The sources that a TOML file lists; folders are relative to it."""
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"the list of sources {path} does not exist") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable list of sources in TOML: {error}") from None
    tables = listed.get("sources")
    if not isinstance(tables, list) or not tables or set(listed) != {"sources"}:
        raise InputError(f"{path} must hold tables [[sources]] and nothing else")
    sources = [_read_table(table, path) for table in tables]
    names = [source.name for source in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{path} has several sources of the name {twice[0]}")
    return sources


def _read_table(table: Any, path: Path) -> TrainingSource:
    wanted = {item.name: item for item in fields(TrainingSource)}
    required = [name for name, item in wanted.items() if item.default is MISSING]
    if not isinstance(table, dict) or not set(required) <= set(table) <= set(wanted):
        raise InputError(
            f"{path}: a source has {', '.join(required)}, and may have "
            f"{', '.join(name for name in wanted if name not in required)}; got {table!r}"
        )
    kinds = {"weight": (int, float), "commercial": (bool,)}
    for name, value in table.items():
        if type(value) not in kinds.get(name, (str,)):
            raise InputError(f"{path}: {name} of a source cannot be {value!r}")
    return TrainingSource(**{**table, "folder": path.parent / table["folder"]})


def read_index(folder: Path) -> Mapping[Path, IndexedFile] | None:
    """What the folder's index says about each file; None if it has none of this kind."""
    path = folder / INDEX
    if not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not set(COLUMNS) <= set(reader.fieldnames or ()):
                return None
            return {folder / row["file"]: _read_row(row, f"{path}, line {reader.line_num}") for row in reader}
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from None


def _read_row(row: Mapping[str, str | None], where: str) -> IndexedFile:
    file, group, performer, lag = ((row.get(name) or "").strip() for name in (*COLUMNS, "lag_s"))
    if not (file and group and performer):
        raise InputError(f"{where}: file, group and performer are needed")
    try:
        seconds = float(lag) if lag else None
    except ValueError:
        seconds = math.nan
    if seconds is not None and not math.isfinite(seconds):
        raise InputError(f"{where}: lag_s must be seconds or empty, got {lag!r}")
    return IndexedFile(group, performer, seconds)

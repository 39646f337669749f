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
LAG = "lag_s"


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
    """What the folder's index says about each file; None if it has none of this kind.

    An index that is nearly of this kind is refused: with a column misspelt, all would be learnt otherwise
    than was meant.
    """
    path = folder / INDEX
    if not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not _is_of_this_kind(path, reader.fieldnames or ()):
                return None
            found: dict[Path, IndexedFile] = {}
            for row in reader:
                where = f"{path}, line {reader.line_num}"
                described = _read_row(row, where)
                if folder / row["file"] in found:
                    raise InputError(f"{where}: {row['file']} stands in the index twice")
                found[folder / row["file"]] = described
            return found
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from None


def _is_of_this_kind(path: Path, columns: Sequence[str]) -> bool:
    """Whether an index says who moves in which file."""
    if len(columns) == 1 and any(sign in columns[0] for sign in ";\t"):
        raise InputError(f"{path} is not separated by commas; save it as CSV with commas")
    missing = [name for name in COLUMNS if name not in columns]
    if missing and len(missing) < len(COLUMNS) - 1:
        raise InputError(
            f"{path} has no column {missing[0]}; it needs {', '.join(COLUMNS)}, got {', '.join(columns)}"
        )
    lags = [name for name in columns if name.strip().lower().startswith("lag") and name != LAG]
    if not missing and lags and LAG not in columns:
        raise InputError(f"{path}: the column of lags in seconds is called {LAG}, not {lags[0]}")
    return not missing


def _read_row(row: Mapping[str, str | None], where: str) -> IndexedFile:
    file, group, performer, lag = ((row.get(name) or "").strip() for name in (*COLUMNS, LAG))
    if not (file and group and performer):
        raise InputError(f"{where}: file, group and performer are needed")
    try:
        seconds = float(lag) if lag else None
    except ValueError:
        seconds = math.nan
    if seconds is not None and not math.isfinite(seconds):
        raise InputError(f"{where}: lag_s must be seconds or empty, got {lag!r}")
    return IndexedFile(group, performer, seconds)

"""The folder in which a release is built: decisions and intermediate files, most of them unpublished.

build.json       marks the folder as a build's; holds the key of the performers' hashes
review.csv       clips whose label is unclear: a person fills in the column `label_id`
quarantine.csv   clips that cannot be used, and why
clips/           skeletons of the clips that are done, by estimator and content
release/         the release itself: this alone is for publishing
"""

import csv
import io
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from dancematch.errors import DanceMatchError, FormatError, InputError, NoDancerError, VideoError
from dancematch.formats.files import write_bytes

VERSION = 1  # of alignment and files: a folder of another version is not continued
LEAVE_OUT = "-"  # a person's decision that a clip has none of the labels
_MARK, _REVIEW, _QUARANTINE = "build.json", "review.csv", "quarantine.csv"


@dataclass(frozen=True)
class QuarantineRow:
    """A clip that cannot be used, and why."""

    clip: str
    sha256: str
    kind: str
    reason: str
    final: bool = True  # found by analysing the pictures: not repeated unless asked

    @classmethod
    def from_error(cls, clip: Path, sha256: str, error: DanceMatchError) -> Self:
        """The row for an error of analysing a clip."""
        kinds: dict[type[DanceMatchError], str] = {
            NoDancerError: "no dancer is visible",
            VideoError: "the video cannot be read",
            FormatError: "the file cannot be read",
        }
        return cls(str(clip), sha256, kinds.get(type(error), "it cannot be used"), str(error))


@dataclass(frozen=True)
class ReviewRow:
    """A clip whose label a person must decide."""

    clip: str
    clip_id: str
    title: str
    tags: str
    why: str
    candidates: str
    label_id: str = ""  # the answer; "-" to leave the clip out


class BuildFolder:
    """Opens or makes the folder; refuses one that holds anything else."""

    def __init__(self, folder: str | Path, *, secret: str | None = None) -> None:
        self.folder = Path(folder)
        self.secret = _claim(self.folder, secret or secrets.token_hex(16))
        self.release = self.folder / "release"
        self.answered = {
            row["clip_id"]: ReviewRow(**row)
            for row in _read_table(self.folder / _REVIEW, ReviewRow)
            if row["label_id"].strip()
        }
        self.quarantined = {
            entry.sha256: entry
            for row in _read_table(self.folder / _QUARANTINE, QuarantineRow)
            if (entry := QuarantineRow(**{**row, "final": row["final"] == "True"})).final  # type: ignore[arg-type]
        }

    def read_answers(self, names: Mapping[str, str]) -> dict[str, str]:
        """The decisions in review.csv: label id by clip id.

        An answer may also be a label's name; `names` gives the names by id.
        """
        ids_of: dict[str, set[str]] = {LEAVE_OUT: {LEAVE_OUT}}
        for label_id, name in names.items():
            for text in (label_id, name):
                ids_of.setdefault(text.strip().casefold(), set()).add(label_id)
        decisions = {}
        for clip_id, row in self.answered.items():
            answer = row.label_id.strip()
            ids = {answer} if answer in names else ids_of.get(answer.casefold(), set())
            if len(ids) != 1:
                wrong = f"the name of {', '.join(sorted(ids))}" if ids else "no label's id or name"
                raise InputError(
                    f"{self.folder / _REVIEW} says {answer!r} of {row.clip}, which is {wrong}; write one id,"
                    f" or {LEAVE_OUT} to leave the clip out"
                )
            decisions[clip_id] = min(ids)
        return decisions

    def write_review(self, rows: Sequence[ReviewRow]) -> None:
        """List the unclear clips; answers already given stay."""
        merged = {row.clip_id: row for row in (*rows, *self.answered.values())}
        self._write_table(_REVIEW, ReviewRow, sorted(merged.values(), key=lambda row: row.clip))

    def write_quarantine(self, rows: Iterable[QuarantineRow]) -> None:
        """List the clips that cannot be used."""
        self._write_table(_QUARANTINE, QuarantineRow, sorted(rows, key=lambda row: row.clip))

    def skeleton_path(self, estimator: str, clip_id: str) -> Path:
        """Where the skeletons of a clip are saved."""
        return self.folder / "clips" / estimator.replace(" ", "-") / f"{clip_id}.npz"

    def remove_partial_files(self) -> None:
        """Remove files that a killed build left half-written."""
        for path in self.folder.rglob(".*.part"):
            path.unlink(missing_ok=True)

    def _write_table(self, name: str, row_type: type[Any], rows: Sequence[Any]) -> None:
        path = self.folder / name
        if not rows and not path.exists():
            return
        text = io.StringIO()
        writer = csv.DictWriter(text, [field.name for field in fields(row_type)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
        write_bytes(path, text.getvalue().encode(errors="backslashreplace"), overwrite=True)


def _claim(folder: Path, secret: str) -> str:
    """Make the folder, or check that it is a build's; return its secret."""
    mark = folder / _MARK
    try:
        if mark.exists():
            found = json.loads(mark.read_text(encoding="utf-8"))
            if found["benchmark"] != VERSION:
                raise InputError(f"{folder} was begun by another version; choose another folder")
            return str(found["secret"])
        if folder.exists() and any(path.suffix != ".part" for path in folder.iterdir()):
            raise InputError(f"{folder} is not empty and not a benchmark's; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(mark, json.dumps({"benchmark": VERSION, "secret": secret}).encode())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} cannot be used for a benchmark: {error}") from None
    return secret


def _read_table(path: Path, row_type: type[Any]) -> list[Mapping[str, str]]:
    """The rows of a table that `_write_table` wrote and a person may have edited."""
    if not path.exists():
        return []
    names = [field.name for field in fields(row_type)]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = set(names) - set(reader.fieldnames or ())
            if missing:
                raise InputError(
                    f"{path} has lost its column {min(missing)}; put it back, or remove the file"
                )
            return [{name: row[name] or "" for name in names} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None

"""The folder in which a release is made: what a maker sees and decides, and what is not published.

build.json       says that the folder is ours; holds the key of the performers' hashes
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

VERSION = 1  # of how clips are aligned and kept: a folder of another version is not continued
LEAVE_OUT = "-"  # a person's decision that a clip has none of the labels
_MARK, _REVIEW, _QUARANTINE = "build.json", "review.csv", "quarantine.csv"


@dataclass(frozen=True)
class QuarantineRow:
    """A clip that cannot be used, and why."""

    clip: str
    sha256: str
    kind: str
    reason: str
    final: bool = True  # found by looking at the pictures: not looked at again unless asked

    @classmethod
    def of(cls, clip: Path, sha256: str, error: DanceMatchError) -> Self:
        """As an error tells it."""
        kinds: dict[type[DanceMatchError], str] = {
            NoDancerError: "nobody is seen dancing",
            VideoError: "the video cannot be read",
            FormatError: "the file cannot be read",
        }
        return cls(str(clip), sha256, kinds.get(type(error), "it cannot be used"), str(error))


@dataclass(frozen=True)
class ReviewRow:
    """A clip whose label a person must say."""

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
        self.failures = {
            failure.sha256: failure
            for row in _read_table(self.folder / _QUARANTINE, QuarantineRow)
            if (failure := QuarantineRow(**{**row, "final": row["final"] == "True"})).final  # type: ignore[arg-type]
        }

    def answers(self, names: Mapping[str, str]) -> dict[str, str]:
        """What people decided: a label's id by clip id. They may have written its name (`names`, by id)."""
        meant: dict[str, set[str]] = {LEAVE_OUT: {LEAVE_OUT}}
        for label_id, name in names.items():
            for text in (label_id, name):
                meant.setdefault(text.strip().casefold(), set()).add(label_id)
        found = {}
        for clip_id, row in self.answered.items():
            answer = row.label_id.strip()
            ids = {answer} if answer in names else meant.get(answer.casefold(), set())
            if len(ids) != 1:
                wrong = f"the name of {', '.join(sorted(ids))}" if ids else "no label's id or name"
                raise InputError(
                    f"{self.folder / _REVIEW} says {answer!r} of {row.clip}, which is {wrong}; write one id,"
                    f" or {LEAVE_OUT} to leave the clip out"
                )
            found[clip_id] = min(ids)
        return found

    def write_questions(self, questions: Sequence[ReviewRow]) -> None:
        """List what is unclear; answers that were given stay."""
        rows = {row.clip_id: row for row in (*questions, *self.answered.values())}
        self._write_table(_REVIEW, ReviewRow, sorted(rows.values(), key=lambda row: row.clip))

    def write_failures(self, failures: Iterable[QuarantineRow]) -> None:
        """List what cannot be used."""
        self._write_table(_QUARANTINE, QuarantineRow, sorted(failures, key=lambda row: row.clip))

    def skeleton_path(self, estimator: str, clip_id: str) -> Path:
        """Where the skeletons of a clip are kept once it is done."""
        return self.folder / "clips" / estimator.replace(" ", "-") / f"{clip_id}.npz"

    def sweep(self) -> None:
        """SyntheticRecording away what a killed run left half-written."""
        for path in self.folder.rglob(".*.part"):
            path.unlink(missing_ok=True)

    def _write_table(self, name: str, row_type: type[Any], rows: Sequence[Any]) -> None:
        path = self.folder / name
        if not rows and not path.exists():
            return
        text = io.StringIO()
        writer = csv.DictWriter(text, [part.name for part in fields(row_type)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
        write_bytes(path, text.getvalue().encode(errors="backslashreplace"), overwrite=True)


def _claim(folder: Path, secret: str) -> str:
    """Make the folder ours, or see that it already is; return its secret."""
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
    """The rows of a table that we wrote and a person may have edited."""
    if not path.exists():
        return []
    names = [part.name for part in fields(row_type)]
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

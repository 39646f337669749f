"""A release of the benchmark: files that are written once, published, and read back.

    README.md           the dataset card: its header tells Hugging Face `datasets` where the splits are
    DATASHEET.md        where it comes from, what is in it, what was left out
    release.json        format number, edition, model, estimator, counts
    manifest.jsonl      one object per clip; `data/SPLIT.jsonl` are the same lines by split
    labels.csv          ids and names of the labels that occur
    skeletons/ID.npz    the dancers of a clip, `body15` at 30 frames per second
    words/ID.npz        the same dancers in motion words
    checksums.sha256    of every other file, for `sha256sum --check`

It has no video, no face and no person's name: performers are hashes, clips are named by content.
"""

import csv
import dataclasses
import hashlib
import io
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancematch.benchmark.labels import Label
from dancematch.benchmark.splits import order_splits
from dancematch.errors import FormatError, InputError
from dancematch.formats import fingerprint as word_files
from dancematch.formats import npz
from dancematch.formats.files import write_bytes
from dancematch.types import Fingerprint, Motion

FORMAT = 1
MANIFEST, CHECKSUMS, ABOUT = "manifest.jsonl", "checksums.sha256", "release.json"


@dataclass(frozen=True)
class ReleaseEntry:
    """One clip of a release."""

    clip_id: str
    label_id: str
    label: str
    split: str
    performer: str
    seconds: float  # of the longest of the dancers
    dancers: int
    words: int  # steps of the most prominent dancer
    labelled_by: str
    label_score: float
    licence: str | None = None
    conditions: Mapping[str, Any] | None = None  # what a rendered clip shows

    @property
    def skeleton_file(self) -> str:
        """Path of the skeletons within the release."""
        return f"skeletons/{self.clip_id}.npz"

    @property
    def word_file(self) -> str:
        """Path of the words within the release."""
        return f"words/{self.clip_id}.npz"

    def to_row(self) -> dict[str, Any]:
        """The entry as a row of the manifest."""
        files = {"skeleton_file": self.skeleton_file, "word_file": self.word_file}
        return {**dataclasses.asdict(self), **files}


@dataclass(frozen=True)
class Release:
    """A release on disk, its list of clips read and checked."""

    folder: Path
    about: Mapping[str, Any]
    entries: tuple[ReleaseEntry, ...]

    def motions(self, entry: ReleaseEntry) -> list[Motion]:
        """The skeletons of a clip's dancers, the most prominent first."""
        return npz.read(self.folder / entry.skeleton_file)

    def fingerprints(self, entry: ReleaseEntry) -> list[Fingerprint]:
        """The words of a clip's dancers, the most prominent first."""
        return word_files.read(self.folder / entry.word_file)


def release_folder(folder: str | Path) -> Path:
    """The release's own folder, given it or the build folder around it."""
    folder = Path(folder)
    inside = folder / "release"
    return inside if (inside / ABOUT).is_file() and not (folder / ABOUT).is_file() else folder


def read_release(folder: str | Path, *, verify: bool = True) -> Release:
    """The release in a folder or in the build folder around it; `verify` checks every file's SHA-256."""
    folder = release_folder(folder)
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        lines = (folder / MANIFEST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"{folder} holds no release; 'dancematch benchmark' writes one") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"the release in {folder} cannot be read: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise FormatError(f"{folder} has another format than {FORMAT}: update dancematch")
    if verify:
        verify_release(folder)
    try:
        entries = tuple(_entry(json.loads(line)) for line in lines)
    except (ValueError, TypeError, KeyError):
        raise FormatError(f"{folder / MANIFEST} is damaged") from None
    return Release(folder, about, entries)


def _entry(row: dict[str, Any]) -> ReleaseEntry:
    return ReleaseEntry(**{part.name: row[part.name] for part in dataclasses.fields(ReleaseEntry)})


def verify_release(folder: Path) -> None:
    """Raise if any file of a release is missing, changed, or not listed."""
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
        listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
        there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        there.pop(CHECKSUMS, None)
        # Downloaders leave hidden files beside the release's own.
        unlisted = [name for name in there.keys() - listed.keys() if not name.startswith(".")]
        wrong = sorted(listed.keys() - there.keys()) + sorted(unlisted)
        wrong += sorted(name for name in listed.keys() & there.keys() if _sha256(there[name]) != listed[name])
    except OSError as error:
        raise FormatError(f"the release in {folder} cannot be checked: {error}") from None
    if wrong:
        raise FormatError(f"the release in {folder} is damaged: {wrong[0]} is not as its checksum says")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def restore_release(folder: Path) -> None:
    """Put back a release that a killed build had moved aside to replace it."""
    if _old_folder(folder).exists() and not folder.exists():
        _old_folder(folder).rename(folder)


def _old_folder(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.old")


class ReleaseWriter:
    """Writes a release beside its place and moves it there when it is complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.part = folder.with_name(f"{folder.name}.part")
        self.old = _old_folder(folder)
        restore_release(folder)
        for left_over in (self.part, self.old):
            shutil.rmtree(left_over, ignore_errors=True)
        for name in ("skeletons", "words", "data"):
            (self.part / name).mkdir(parents=True)

    def add(self, clip_id: str, motions: Sequence[Motion], words: Sequence[Fingerprint]) -> None:
        """Write the skeletons and words of a clip's dancers."""
        npz.write(self.part / "skeletons" / f"{clip_id}.npz", motions)
        word_files.write(self.part / "words" / f"{clip_id}.npz", words)

    def finish(
        self, entries: Sequence[ReleaseEntry], labels: Iterable[Label], texts: Mapping[str, str]
    ) -> None:
        """Write all lists and `texts` (content by file name), and move the release to its place."""
        entries = sorted(entries, key=lambda entry: entry.clip_id)
        self._write(MANIFEST, _to_json_lines(entries))
        for name in order_splits([entry.split for entry in entries]):
            self._write(
                f"data/{name}.jsonl", _to_json_lines([entry for entry in entries if entry.split == name])
            )
        self._write("labels.csv", _label_table(entries, labels))
        for name, text in texts.items():
            self._write(name, text)
        inside = sorted(path for path in self.part.rglob("*") if path.is_file())
        sums = [f"{_sha256(path)}  {path.relative_to(self.part).as_posix()}\n" for path in inside]
        self._write(CHECKSUMS, "".join(sums))
        if self.folder.exists():
            self.folder.rename(self.old)
        self.part.rename(self.folder)
        shutil.rmtree(self.old, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        write_bytes(self.part / name, text.encode(errors="backslashreplace"))


def _to_json_lines(entries: Iterable[ReleaseEntry]) -> str:
    return "".join(
        json.dumps(entry.to_row(), ensure_ascii=False, allow_nan=False) + "\n" for entry in entries
    )


def _label_table(entries: Iterable[ReleaseEntry], labels: Iterable[Label]) -> str:
    used = {entry.label_id for entry in entries}
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["id", "name", "aliases"])
    for label in labels:
        if label.label_id in used:
            writer.writerow([label.label_id, label.name, "|".join(label.aliases)])
    return table.getvalue()

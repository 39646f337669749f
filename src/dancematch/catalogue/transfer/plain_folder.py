"""A catalogue's plain form: a folder of files for backups, other programs and other databases.

    FOLDER/catalogue.json   format, version, model_id
    FOLDER/recordings.jsonl one line per recording with its dance and reviews, by name; written last:
                            without it nothing is finished
    FOLDER/NAME-DIGEST.npz  the arrays of one recording: words_N (uint16) and visibility_N (uint8), both
                            [steps, channels], of dancer N, bones_N (int8 [steps, 20]) if they were seen,
                            joints_N (float16 [frames, 15, 3]) and joint_visibility_N (uint8 [frames, 15]) if
                            the skeletons are kept, and poster (uint8, the bytes of a JPEG) if there is one

A line has checksums of words, skeletons and the poster, which reading compares. The digest is of
what decides the arrays, and every file is written entirely or not at all: an interrupted copy goes on where
it stopped.
"""

import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dancematch.catalogue.records import Exclusion, find_name_problem
from dancematch.catalogue.sql.checksums import skeletons_checksum, words_checksum
from dancematch.catalogue.sql.rows import fingerprint_of, motion_of
from dancematch.catalogue.sql.schema import (
    DANCE_COLUMNS,
    RECORDING_COLUMNS,
    REVIEW_COLUMNS,
    TRACK_COLUMNS,
)
from dancematch.catalogue.transfer.recording_rows import (
    DIFFERS,
    Copied,
    CopySource,
    RecordingBatch,
    RecordingRows,
)
from dancematch.catalogue.word_kinds import KINDS_SAMPLED, WordKind, most_common_kind
from dancematch.errors import DanceMatchError, FormatError, InputError
from dancematch.formats import limits
from dancematch.formats.archive import Archive
from dancematch.formats.files import clear_parts, read_bytes, read_json, write_bytes
from dancematch.skeletons import BODY15
from dancematch.types import BONE_NUMBERS

FORMAT = "dancematch-catalogue"
VERSION = 1
HEADER = "catalogue.json"
LINES = "recordings.jsonl"
BATCH = 200  # dancers, about: between two reports
_BATCH_BYTES = 64 << 20  # of unpacked arrays, about: small files may unpack to much
_OUR_FILE = re.compile(r"[A-Za-z0-9_-]{1,60}-[0-9a-f]{16}\.npz")  # NAME-DIGEST.npz, as `_describe` makes it

_TRACK_FACTS = (
    "dancer", "start", "seconds_per_word", "vocabulary", "fps", "period_seconds", "period_strength",
)  # fmt: skip
_POSTER = "poster"
_CHECKSUMS = {"words_checksum": words_checksum, "skeletons_checksum": skeletons_checksum}
_ARRAYS = {"words": "<u2", "visibility": "u1", "bones": "i1", "joints": "<f2", "joint_visibility": "u1"}

Line = dict[str, Any]


@contextmanager
def open_folder(folder: Path) -> Iterator[CopySource]:
    """Open a finished folder to be copied."""
    damaged: dict[str, str] = {}
    found = _read_finished(folder, damaged)
    if found is None:
        raise InputError(
            f"{folder} holds no finished copy of a catalogue; 'dancematch copy CATALOGUE {folder}/' makes one"
        )
    header, lines = found
    model_id: str = header["model_id"]

    def batches(size: int) -> Iterator[RecordingBatch]:
        if damaged:
            yield RecordingBatch([], damaged)
        yield from _read_batches(folder, lines, model_id, size)

    kind = most_common_kind(_sample_kinds(folder, lines, model_id))
    yield CopySource(str(folder), model_id, len(lines) + len(damaged), kind, batches)


def _sample_kinds(folder: Path, lines: Sequence[Line], model_id: str) -> Iterator[WordKind]:
    """Yield the kinds of words of the first recordings that can be read; a line alone is no proof."""
    for line in lines[:KINDS_SAMPLED]:
        with suppress(DanceMatchError):
            yield from _read_recording(folder, line, model_id).kinds()


def _read_batches(folder: Path, lines: Sequence[Line], model_id: str, size: int) -> Iterator[RecordingBatch]:
    """Read the recordings in batches that fit into memory well."""
    batch, volume = RecordingBatch([]), 0
    for line in lines:
        try:
            batch.recordings.append(_read_recording(folder, line, model_id))
            volume += batch.recordings[-1].count_bytes()
        except DanceMatchError as error:
            batch.unreadable[f"{line['dance']['name']} ({line['file']})"] = str(error)
        if len(batch.recordings) + len(batch.unreadable) >= size or volume >= _BATCH_BYTES:
            yield batch
            batch, volume = RecordingBatch([]), 0
    if batch.recordings or batch.unreadable:
        yield batch


def _read_recording(folder: Path, line: Line, model_id: str) -> RecordingRows:
    """Read a recording by its line, if the arrays are what it says."""
    try:
        made = _rows_of(line, model_id)
        dancers = [dict(dancer) for dancer in line["dancers"]]
        if len({int(dancer["dancer"]) for dancer in dancers}) != len(dancers):
            raise ValueError  # each would take the memory of one of them
    except (KeyError, TypeError, ValueError, OverflowError):
        raise FormatError(f"its line in {folder / LINES} is damaged") from None
    path = folder / line["arrays"]
    if not path.exists():
        raise FormatError(f"{path} is missing")
    try:
        with Archive(path) as archive:
            made.dancers = [_read_track(archive, one, model_id) for one in dancers]
            if line["poster_checksum"] is not None:
                _require_within_limits(archive, [_POSTER])
                poster = archive.array(_POSTER).astype(np.uint8).tobytes()
                if zlib.crc32(poster) != line["poster_checksum"]:
                    raise ValueError
                made.values = tuple(
                    poster if name == _POSTER else value
                    for name, value in zip(RECORDING_COLUMNS, made.values, strict=True)
                )
            return made
    except FormatError:
        raise
    except OSError as error:  # such as a name that no file can have
        raise FormatError(f"{path} cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, OverflowError, InputError):
        raise FormatError(f"{path} does not hold what {LINES} says of it: it may be damaged") from None


def _rows_of(line: Line, model_id: str) -> RecordingRows:
    """Read what a line says itself; anything odd about it is a KeyError, TypeError or ValueError."""
    own, dance = dict(line), dict(line["dance"])
    texts = [own[name] for name in ("recording_id", "file", "added")]
    texts += [dance[name] for name in ("dance_id", "name", "added")]
    optional = [own[name] for name in ("performer", "url", "date")]
    optional += [dance[name] for name in ("collection", "notes")]
    texts += [*(text for text in optional if text is not None), *dance["labels"]]
    if line["model_id"] != model_id or not all(isinstance(text, str) for text in texts):
        raise ValueError
    own |= {"seconds": float(own["seconds"]), _POSTER: None}
    excluded = [{name: one[name] for name in ("start", "end", "reason")} for one in line["exclusions"]]
    for one in excluded:
        Exclusion(dance["name"], **one)
    reviews = [{name: one[name] for name in REVIEW_COLUMNS} for one in line["reviews"]]
    values, of_dance = (
        tuple(record[name] for name in names)
        for record, names in ((own, RECORDING_COLUMNS), (dance, DANCE_COLUMNS))
    )
    return RecordingRows(values, of_dance, tuple(dance["labels"]), excluded=excluded, reviews=reviews)


def _read_track(archive: Archive, facts: Mapping[str, Any], model_id: str) -> tuple[Any, ...]:
    """Read the values of `TRACK_COLUMNS` of one dancer."""
    number, skeletons = int(facts["dancer"]), facts["skeletons"]
    names = ["words", "visibility", *(("joints", "joint_visibility") if skeletons else ())]
    names += ["bones"] * (f"bones_{number}" in archive.names)
    _require_within_limits(archive, [f"{name}_{number}" for name in names])
    arrays = {name: archive.array(f"{name}_{number}") for name in names}
    if any(arrays[name].dtype != np.dtype(_ARRAYS[name]) for name in names) or arrays["words"].ndim != 2:
        raise ValueError
    row: dict[str, Any] = dict.fromkeys(TRACK_COLUMNS)
    row |= {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}
    row |= {"dancer": number, "channels": arrays["words"].shape[1], "vocabulary": int(facts["vocabulary"])}
    row |= {name: float(facts[name]) for name in ("start", "seconds_per_word", "period_strength")}
    row["period_seconds"] = None if facts["period_seconds"] is None else float(facts["period_seconds"])
    row["fps"] = float(facts["fps"]) if skeletons else None
    fingerprint_of(row, model_id)
    motion_of(row)
    for name, compute in _CHECKSUMS.items():
        row[name] = compute(row)
        if row[name] != facts[name]:
            raise ValueError
    return tuple(row[name] for name in TRACK_COLUMNS)


def _require_within_limits(archive: Archive, names: Sequence[str]) -> None:
    """Refuse more words or joints of one dancer than a motion file may hold, before any is read.

    An hour of dance has 27,000 steps of 14 channels, a thirtieth of that; a packed file of some kilobytes
    can claim a hundred times as many.
    """
    for name in names:
        shape = archive.header(name).shape
        limits.require_positions(math.prod(shape[:2]))


class FolderTarget:
    """A folder to copy into; files that are there and right are kept."""

    kind: WordKind | None = None  # another kind than the source's is of a copy that is replaced, by force

    def __init__(self, folder: Path, model_id: str, *, force: bool = False) -> None:
        self.where, self.batch_size = str(folder), BATCH
        self._folder, self._model_id, self._force = folder, model_id, force
        self._header = {"format": FORMAT, "version": VERSION, "model_id": model_id}
        self._before = _read_finished(folder)
        self._known = {_text(line) for line in self._before[1]} if self._before else set()
        self._lines: list[Line] = []
        _prepare(folder)
        if self._before is None:
            write_bytes(folder / HEADER, json.dumps(self._header).encode(), overwrite=True)
        elif self._before[0] != self._header:
            self._require_force()

    def put(self, batch: Sequence[RecordingRows]) -> Copied:
        """Write the recordings whose files are not there yet; read all of them back and compare."""
        done = Copied()
        for one in batch:
            line = _describe(one, self._model_id)
            if self._before is not None and _text(line) not in self._known:
                self._require_force()
            self._lines.append(line)
            done += self._write(one, line)
        return done

    def _write(self, one: RecordingRows, line: Line) -> Copied:
        path = self._folder / line["arrays"]
        exists = path.exists()
        if exists and self._is_right(line):
            return Copied(skipped=1, verified=1)
        if not exists or self._force:
            write_bytes(path, _pack_arrays(one), overwrite=True)
            if self._is_right(line):
                return Copied(copied=1, fingerprints=len(one.dancers), verified=1)
        return Copied(failed={one.shown: f"{DIFFERS} {path}; delete that file, or say --force"})

    def _is_right(self, line: Line) -> bool:
        try:
            _read_recording(self._folder, line, self._model_id)
        except DanceMatchError:
            return False
        return True

    def _require_force(self) -> None:
        if not self._force:
            raise InputError(
                f"{self.where} holds another catalogue, or this one before it changed; "
                f"choose another folder, or say --force to replace it"
            )

    def finish(self) -> None:
        """Write the lines: the copy is whole. Files of an earlier one that are in it no more are deleted."""
        lines = sorted(
            self._lines, key=lambda line: (line["dance"]["name"], line["file"], line["recording_id"])
        )
        before = self._before[1] if self._before else []
        if self._before == (self._header, lines):
            return
        if self._before is not None:
            self._require_force()
        write_bytes(self._folder / HEADER, json.dumps(self._header).encode(), overwrite=True)
        write_bytes(self._folder / LINES, "".join(map(_text, lines)).encode(), overwrite=True)
        for name in {line["arrays"] for line in before} - {line["arrays"] for line in lines}:
            if (self._folder / name).is_file():
                (self._folder / name).unlink()

    def close(self) -> None:
        """Nothing is held open."""


def _text(line: Line) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"


def _describe(one: RecordingRows, model_id: str) -> Line:
    """Return the line of a recording."""
    own = dict(zip(RECORDING_COLUMNS, one.values, strict=True))
    dance = dict(zip(DANCE_COLUMNS, one.dance, strict=True)) | {"labels": list(one.labels)}
    poster = own.pop(_POSTER)
    poster_checksum = None if poster is None else zlib.crc32(poster)
    tracks = []
    for values in one.dancers:
        row = dict(zip(TRACK_COLUMNS, values, strict=True))
        facts = {name: row[name] for name in (*_TRACK_FACTS, *_CHECKSUMS)}
        tracks.append(facts | {"skeletons": row["joints"] is not None})
    # The name is made of what decides the arrays: corrections of names change none.
    arrays: Line = {
        "recording_id": one.content,
        "model_id": model_id,
        "dancers": tracks,
        "poster_checksum": poster_checksum,
    }
    digest = hashlib.sha256(json.dumps(arrays, sort_keys=True).encode()).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", str(own["file"]))[:60]
    return {
        "model_id": model_id, "dance": dance, **own, "dancers": tracks,
        "poster_checksum": poster_checksum, "arrays": f"{readable}-{digest}.npz", "exclusions": one.excluded,
        "reviews": one.reviews,
    }  # fmt: skip


def _pack_arrays(one: RecordingRows) -> bytes:
    """Return the .npz file of a recording."""
    arrays: dict[str, Any] = {}
    poster = dict(zip(RECORDING_COLUMNS, one.values, strict=True))[_POSTER]
    if poster is not None:
        arrays[_POSTER] = np.frombuffer(poster, np.uint8)
    for values in one.dancers:
        row = dict(zip(TRACK_COLUMNS, values, strict=True))
        shapes = {
            "bones": (-1, BONE_NUMBERS),
            "joints": (-1, len(BODY15.joints), 3),
            "joint_visibility": (-1, len(BODY15.joints)),
        }
        for name, dtype in _ARRAYS.items():
            if row[name] is not None:
                shape = shapes.get(name, (-1, row["channels"]))
                arrays[f"{name}_{row['dancer']}"] = np.frombuffer(row[name], dtype).reshape(shape)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _prepare(folder: Path) -> None:
    """Make the folder, or clear away what killed copies left half-written in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from None
    if not (folder / HEADER).exists() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise InputError(
            f"{folder} holds other files; name a new folder, or a file in it such as {folder / 'dances.db'}"
        )
    clear_parts(folder)


def _read_finished(folder: Path, damaged: dict[str, str] | None = None) -> tuple[Line, list[Line]] | None:
    """Return the header and lines of a finished folder; None if it is not finished.

    Damaged lines are entered in `damaged` with the reason; without it, or where no other is whole, they are
    an error.
    """
    if not ((folder / LINES).exists() or (folder / HEADER).exists()):
        return None
    header = read_json(folder / HEADER)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FormatError(f"{folder / HEADER} is not the header of a catalogue in plain files")
    unnamed = find_name_problem("model_id", header.get("model_id"))
    if unnamed is not None:
        raise FormatError(f"{folder / HEADER} names no model: {unnamed}")
    if header.get("version") != VERSION:
        raise FormatError(
            f"{folder} has format number {header.get('version')}, this version reads {VERSION}: "
            f"update dancematch"
        )
    if not (folder / LINES).exists():
        return None
    lines, unreadable = _read_lines(folder / LINES)
    if unreadable and (damaged is None or not lines):
        number, reason = next(iter(unreadable.items()))
        raise FormatError(f"{number} of {folder / LINES} {reason}")
    if damaged is not None:
        damaged.update((f"{number} of {LINES}", reason) for number, reason in unreadable.items())
    return header, lines


def _read_lines(path: Path) -> tuple[list[Line], dict[str, str]]:
    """Read the recordings of a list, and what is wrong with damaged lines by their number.

    A line that names a file which is not ours is damaged: whatever an old list names is deleted when a new
    copy replaces it.
    """
    if not path.is_file():
        raise FormatError(f"{path} is no ordinary file, as the list of a copy's recordings is")
    text = read_bytes(path) if path.stat().st_size else b""  # a catalogue may be empty
    lines, damaged = list[Line](), dict[str, str]()
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            read = json.loads(line)
            named = (read["dance"]["name"], read["file"], read["recording_id"])
            if not _OUR_FILE.fullmatch(read["arrays"]) or not all(isinstance(one, str) for one in named):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            damaged[f"line {number}"] = "does not describe a recording: it may be damaged"
        else:
            lines.append(read)
    return lines, damaged

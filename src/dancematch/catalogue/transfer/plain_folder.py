"""A catalogue as a folder of plain files, and back: for backups, other programs, other databases.

    FOLDER/catalogue.json   format, version, model_id
    FOLDER/dances.jsonl     a dance a line, by name; written last: without it nothing is finished
    FOLDER/NAME-DIGEST.npz  the arrays of one dance: words_N (uint16) and visibility_N (uint8), both
                            [steps, channels], of dancer N, and joints_N (float16 [frames, 15, 3]) and
                            joint_visibility_N (uint8 [frames, 15]) if the skeletons are kept

A line has checksums of words and skeletons, which importing compares.

The digest is of the dance's line, and every file is written entirely or not at all: a file
that is there is the right one. So an interrupted export goes on where it stopped.
"""

import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from dancematch.catalogue.records import Dance, Exclusion, StoredTrack
from dancematch.catalogue.sql.checksums import Row, skeletons_checksum, words_checksum
from dancematch.catalogue.sql.rows import fingerprint_of, motion_of
from dancematch.catalogue.sql.schema import dances, tracks
from dancematch.catalogue.store import Store
from dancematch.errors import CatalogueError, DanceExistsError, DanceMatchError, FormatError, InputError
from dancematch.formats.archive import Archive
from dancematch.formats.files import read_bytes, read_json, write_bytes
from dancematch.skeletons import BODY15
from dancematch.types import BONE_NUMBERS

FORMAT = "dancematch-catalogue"
VERSION = 1
HEADER = "catalogue.json"
LINES = "dances.jsonl"

_OF_DANCE = ("dance_id", "label", "collection", "source", "content_hash", "seconds", "added")
_OF_DANCER = ("dancer", "start", "seconds_per_word", "vocabulary", "fps", "period_seconds", "period_strength")
_CHECKSUMS = {"words_checksum": words_checksum, "skeletons_checksum": skeletons_checksum}
_ARRAYS = {"words": "<u2", "visibility": "u1", "bones": "i1", "joints": "<f2", "joint_visibility": "u1"}
_BATCH = 200  # dances that are imported in one transaction

Line = dict[str, Any]


@dataclass(frozen=True)
class Exported:
    """What became of a dance that was to be exported."""

    dance_id: str
    file: str
    skipped: bool  # it was there already


@dataclass(frozen=True)
class Imported:
    """What became of a dance that was to be imported."""

    dance_id: str
    known_as: str | None = None  # its very content is known already, by this name
    error: DanceMatchError | None = None


def export_catalogue(store: Store, folder: Path, *, force: bool = False) -> Iterator[Exported]:
    """Write every dance of a catalogue into a folder, telling of each; what is written already is kept.

    A folder that holds another catalogue, or this one as it was before it changed, is replaced
    only with `force`. Dances that others add meanwhile are left to the next time.
    """
    lines = {line["dance_id"]: line for line in _lines(store)}
    header = {"format": FORMAT, "version": VERSION, "model_id": store.model_id}
    before = _finished(folder)
    stands = before == (header, list(lines.values()))
    if before is not None and not stands and not force:
        raise InputError(
            f"{folder} holds an export of another catalogue, or of this one before it changed; "
            f"choose another folder, or say --force to replace it"
        )
    _make(folder)
    _clear(folder)
    for dance_id, line in list(lines.items()):
        path = folder / line["file"]
        there = path.exists()
        if not there and not _write_arrays(store, dance_id, line, path):
            del lines[dance_id]  # somebody removed it while we were busy
            continue
        yield Exported(dance_id, line["file"], there)
    if not stands:
        _finish(folder, header, list(lines.values()), before)


def _lines(store: Store) -> list[Line]:
    """What is to be said of every dance, in order of name."""
    said_of_dancer = (*_OF_DANCER, *_CHECKSUMS)
    wanted = [tracks.c[name] for name in said_of_dancer] + [tracks.c.joints.is_not(None).label("skeletons")]
    query = sa.select(*(dances.c[name] for name in _OF_DANCE), *wanted).join(dances).order_by(tracks.c.dancer)
    excluded: dict[str, list[Line]] = {}
    for stretch in store.exclusions():
        said = {"start": stretch.start, "end": stretch.end, "reason": stretch.reason}
        excluded.setdefault(stretch.dance_id, []).append(said)
    found: dict[str, Line] = {}
    with store.transaction() as connection:
        rows = connection.execute(query).mappings().all()
        store.require_ours(connection)
    for row in sorted(rows, key=lambda row: row["dance_id"]):  # stable: dancers stay in their order
        name = row["dance_id"]
        new = {"model_id": store.model_id, **{key: row[key] for key in _OF_DANCE}, "dancers": []}
        dancer = {key: row[key] for key in said_of_dancer} | {"skeletons": bool(row["skeletons"])}
        found.setdefault(name, new)["dancers"].append(dancer)
    return [
        line | {"file": _file_name(line), "exclusions": excluded.get(name, [])}
        for name, line in found.items()
    ]


def _file_name(line: Line) -> str:
    # Without the exclusions, which change no array.
    digest = hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", line["dance_id"])[:60]
    return f"{readable}-{digest}.npz"


def _write_arrays(store: Store, dance_id: str, line: Line, path: Path) -> bool:
    """Write the words and skeletons of a dance; False if it is not there any more."""
    query = sa.select(tracks).join(dances).where(dances.c.content_hash == line["content_hash"])
    with store.transaction() as connection:
        rows = connection.execute(query).mappings().all()
        store.require_ours(connection)
    if len(rows) != len(line["dancers"]):
        return False
    arrays: dict[str, Any] = {}
    for row in rows:
        try:
            fingerprint_of(row, store.model_id)
            motion_of(row)
            _require_unchanged(row, row)
        except (ValueError, TypeError, InputError):
            raise CatalogueError(
                f"{store.where}: {dance_id!r} is damaged; 'dancematch doctor' says more"
            ) from None
        shapes = {
            "bones": (-1, BONE_NUMBERS),
            "joints": (-1, len(BODY15.joints), 3),
            "joint_visibility": (-1, len(BODY15.joints)),
        }
        for name, dtype in _ARRAYS.items():
            if row[name] is not None:
                flat = np.frombuffer(row[name], dtype)
                arrays[f"{name}_{row['dancer']}"] = flat.reshape(shapes.get(name, (-1, row["channels"])))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    write_bytes(path, buffer.getvalue())
    return True


def _require_unchanged(row: Row, told: Mapping[str, Any] | sa.RowMapping) -> None:
    """Raise a ValueError if words or skeletons are not those whose checksums are told."""
    if any(made(row) != told[name] for name, made in _CHECKSUMS.items()):
        raise ValueError


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from None


def _clear(folder: Path) -> None:
    """Delete what exports that were killed left half-written."""
    for path in folder.glob(".*.part"):
        left = re.fullmatch(r"\..+\.(?:npz|json|jsonl)\.(\d+)\.part", path.name)
        if left and not _is_another_process(int(left[1])):
            path.unlink(missing_ok=True)


def _is_another_process(number: int) -> bool:
    """Whether a process of this number runs, and is not this one."""
    if number == os.getpid() or os.name != "posix":  # elsewhere, asking might end it
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _finish(
    folder: Path, header: Line, lines: Sequence[Line], before: tuple[Line, list[Line]] | None
) -> None:
    """Say that the export is whole; files of an earlier one that are in it no more are deleted."""
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_bytes(folder / HEADER, json.dumps(header).encode(), overwrite=True)
    write_bytes(folder / LINES, text.encode(), overwrite=True)
    kept = {line["file"] for line in lines}
    for line in before[1] if before else ():
        if line["file"] not in kept:
            (folder / line["file"]).unlink(missing_ok=True)


def _finished(folder: Path) -> tuple[Line, list[Line]] | None:
    """The header and lines of a finished export in the folder; None if there is none."""
    if not ((folder / LINES).exists() or (folder / HEADER).exists()):
        return None
    header = read_json(folder / HEADER)
    if not isinstance(header, dict) or header.get("format") != FORMAT or not header.get("model_id"):
        raise FormatError(f"{folder / HEADER} is not the header of an exported catalogue")
    if header.get("version") != VERSION:
        raise FormatError(
            f"{folder} has format number {header.get('version')}, this version reads {VERSION}: "
            f"update dancematch"
        )
    return (header, list(_read_lines(folder / LINES))) if (folder / LINES).exists() else None


def _read_lines(path: Path) -> Iterator[Line]:
    text = read_bytes(path) if path.stat().st_size else b""  # a catalogue may be empty
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            said = json.loads(line)
            # A name with a folder in it would lead to files that are not ours.
            if Path(said["file"]).name != said["file"] or not isinstance(said["dance_id"], str):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FormatError(
                f"line {number} of {path} does not describe a dance: it may be damaged"
            ) from None
        yield said


def import_catalogue(where: str | Path, folder: Path) -> Iterator[Imported]:
    """Add the dances of an exported folder to a catalogue, made if it is not there, telling of each.

    What is known already is skipped; a dance that cannot be added spoils nothing else.
    """
    exported = _finished(folder)
    if exported is None:
        raise InputError(f"{folder} holds no finished export; 'dancematch copy' makes one")
    header, lines = exported
    store = Store(where, str(header["model_id"]), lazily=bool(lines))
    try:
        for first in range(0, len(lines), _BATCH):
            yield from _import_batch(store, folder, lines[first : first + _BATCH])
    finally:
        store.close()


def _import_batch(store: Store, folder: Path, lines: Sequence[Line]) -> Iterator[Imported]:
    batch: list[tuple[Dance, list[StoredTrack]]] = []
    excluded: list[Exclusion] = []
    for line in lines:
        name = line["dance_id"]
        try:
            dance = _dance(line, store.model_id)
            known_as = store.find_content(dance.content_hash)
            if known_as is not None:
                yield Imported(name, known_as)
                continue
            if store.has(name):
                raise DanceExistsError(f"{name!r} is already the name of another dance in {store.where}")
            stretches = [Exclusion(name, e["start"], e["end"], e["reason"]) for e in line["exclusions"]]
            batch.append((dance, _read_arrays(folder / line["file"], line)))
            excluded += stretches
        except (KeyError, TypeError, ValueError):
            yield Imported(name, error=FormatError(f"the line of {name!r} in {folder / LINES} is damaged"))
        except DanceMatchError as error:
            yield Imported(name, error=error)
    store.add_many(batch, excluded)
    yield from (Imported(dance.dance_id) for dance, _ in batch)


def _dance(line: Line, model_id: str) -> Dance:
    """What a line says of a dance, if it says it of this model's words and in the right kinds."""
    texts = [line[name] for name in ("dance_id", "source", "content_hash", "added")]
    texts += [line[name] for name in ("label", "collection") if line[name] is not None]
    if line["model_id"] != model_id or not all(isinstance(text, str) for text in texts):
        raise ValueError
    return Dance(**{key: line[key] for key in _OF_DANCE} | {"seconds": float(line["seconds"])})


def _read_arrays(path: Path, line: Line) -> list[StoredTrack]:
    """The dancers of one file."""
    archive = Archive(path)
    try:
        return [_track(archive, dancer, line["model_id"]) for dancer in line["dancers"]]
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, InputError):
        raise FormatError(f"{path} does not hold what {LINES} says of it: it may be damaged") from None


def _track(archive: Archive, dancer: Mapping[str, Any], model_id: str) -> StoredTrack:
    needed = ["words", "visibility", *(("joints", "joint_visibility") if dancer["skeletons"] else ())]
    names = needed + ["bones"] * (f"bones_{dancer['dancer']}" in archive.names)
    arrays = {name: archive.array(f"{name}_{dancer['dancer']}") for name in names}
    if any(arrays[name].dtype != np.dtype(_ARRAYS[name]) for name in names) or arrays["words"].ndim != 2:
        raise ValueError
    row: dict[str, Any] = {"joints": None, "bones": None, **dancer, "channels": arrays["words"].shape[1]}
    row |= {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}
    period, strength = (None if dancer[key] is None else float(dancer[key]) for key in _OF_DANCER[-2:])
    _require_unchanged(row, dancer)
    words, motion = fingerprint_of(row, model_id), motion_of(row)
    return StoredTrack(words, motion, period, strength, dancer=int(dancer["dancer"]))

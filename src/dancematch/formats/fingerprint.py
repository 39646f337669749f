"""DanceMatch words (.npz): any number of dancers, nothing lost and nothing pickled.

Members: `fingerprint`, a JSON text with the format number and, for each dancer, model,
vocabulary, seconds per word and start; and `words_N` (uint16) and `visibility_N` (float32),
both [steps, channels], for dancer N, counted from 0; `bones_N` (int8, [steps, 20]) if known.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dancematch.control_characters import has_controls
from dancematch.errors import FormatError, InputError
from dancematch.formats import limits
from dancematch.formats.archive import Archive, write_archive
from dancematch.types import Fingerprint

FORMAT = "dancematch-fingerprint"
VERSION = 1
_HEADER = "fingerprint"  # not `metadata` as in npz.py: words must not be taken for motion


def write(path: str | Path, fingerprints: Sequence[Fingerprint], *, overwrite: bool = False) -> None:
    """Write the words of one dancer or more to one .npz file."""
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InputError(f"{path} was not written: words are written as .npz, not {path.suffix!r}")
    if not fingerprints:
        raise InputError(f"{path} was not written: there are no words to write")
    header = {"format": FORMAT, "version": VERSION, "dancers": [_describe(words) for words in fingerprints]}
    arrays: dict[str, Any] = {}
    for number, words in enumerate(fingerprints):
        arrays[f"words_{number}"] = words.words
        arrays[f"visibility_{number}"] = words.visibility
        if words.bones is not None:
            arrays[f"bones_{number}"] = words.bones
    write_archive(path, {_HEADER: header}, arrays, compress=True, overwrite=overwrite)


def _describe(words: Fingerprint) -> dict[str, Any]:
    return {
        "model_id": words.model_id,
        "vocabulary": words.vocabulary,
        "seconds_per_word": words.seconds_per_word,
        "start": words.start,
    }


def is_words(archive: Archive) -> bool:
    """Whether an archive is of this format, in any version."""
    return _HEADER in archive.names


def read(path: str | Path) -> list[Fingerprint]:
    """Return the words of every dancer of the file, as written."""
    path = Path(path)
    with Archive(path) as archive:
        if not is_words(archive):
            raise FormatError(f"{path} holds no motion words; 'dancematch extract --words' writes them")
        return _read_dancers(path, archive)


def _read_dancers(path: Path, archive: Archive) -> list[Fingerprint]:
    try:
        header = archive.json(_HEADER)
        ours, version, dancers = header["format"] == FORMAT, int(header["version"]), header["dancers"]
        if ours and version > VERSION:
            raise FormatError(
                f"{path} has format number {version}, this version reads up to {VERSION}: update dancematch"
            )
        if not (ours and isinstance(dancers, list) and dancers):
            raise ValueError
        _require_within_limits(archive, len(dancers))
        return [_read_dancer(archive, number, dancer) for number, dancer in enumerate(dancers)]
    except FormatError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, MemoryError, InputError):
        raise FormatError(f"{path} is not a readable file of DanceMatch words: it may be damaged") from None


def _require_within_limits(archive: Archive, dancers: int) -> None:
    """Refuse too many words before any is read; a word counts as a joint's position does."""
    limits.require_tracks(dancers)
    shapes = [archive.header(f"words_{number}").shape for number in range(dancers)]
    limits.require_positions(sum(map(math.prod, shapes)))


def _read_dancer(archive: Archive, number: int, dancer: dict[str, Any]) -> Fingerprint:
    model_id = str(dancer["model_id"])
    if len(model_id) > limits.MAX_NAME or has_controls(model_id):
        raise ValueError
    words, visibility = archive.arrays([f"words_{number}", f"visibility_{number}"]).values()
    made = Fingerprint(
        words,
        int(dancer["vocabulary"]),
        float(dancer["seconds_per_word"]),
        model_id,
        float(dancer["start"]),
        visibility,
        archive.array(f"bones_{number}") if f"bones_{number}" in archive.names else None,
    )
    limits.require_seconds(len(made) * made.seconds_per_word, made.start)
    return made

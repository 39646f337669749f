"""Motion files to train on, in any format that the package reads, from any folders.

A folder with an index of who moves in which file (`sources.py`) has the files that it names.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError, NoDancerError
from dancematch.formats.motion_capture.aist_names import list_sequences, parse_name
from dancematch.motion import to_body15
from dancematch.training.data.sources import INDEX, read_index
from dancematch.types import Motion

VIEW = "view_"


def find_motion_files(folders: Sequence[str | Path], *, without_genres: Sequence[str] = ()) -> list[Path]:
    """Every motion file below the folders, by name; AIST++ without its ignore list and these genres."""
    kept = [path for path in _list_files(folders) if _parse_genre(path) not in without_genres]
    if not kept:
        raise InputError(f"all motion files are of the genres left out, {', '.join(without_genres)}")
    return kept


def require_genres(folders: Sequence[str | Path], genres: Sequence[str]) -> None:
    """Refuse genres without a motion file below the folders: a misspelt genre would be trained on."""
    found = _list_genres(_list_files(folders))
    missing = sorted(set(genres) - set(found))
    if missing:
        raise InputError(
            f"there is no clip of the genre(s) {', '.join(missing)}; there are {', '.join(found) or 'none'}"
        )


def read_motions(files: Sequence[Path]) -> Iterator[tuple[Path, list[Motion] | DanceMatchError]]:
    """Each file's motions with a visible dancer, or why it has none."""
    for path in files:
        try:
            visible = [motion for motion in formats.read(path) if shows_dancer(motion)]
        except DanceMatchError as error:
            yield path, error
        else:
            yield path, visible or NoDancerError(f"no dancer is visible in {path}")


def shows_dancer(motion: Motion) -> bool:
    """Whether any joint is seen together with the pelvis, the origin of the canonical frame."""
    seen = np.asarray(np.isfinite(to_body15(motion).joints).all(axis=2))
    return bool((seen[:, 0] & seen[:, 1:].any(axis=1)).any())


def describe_files(files: Sequence[Path]) -> dict[str, object]:
    """What to write beside a model about its training files: their number and AIST++ genres."""
    return {"files": len(files), "aist_genres": _list_genres(files)}


def _list_files(folders: Sequence[str | Path]) -> list[Path]:
    files: list[Path] = []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder; give folders with motion files to train on")
        files += _list_folder(folder)
    if not files:
        raise InputError(f"there is no motion file below {', '.join(map(str, folders))}")
    return files


def _list_folder(folder: Path) -> list[Path]:
    indexed = read_index(folder)
    if indexed is not None:
        missing = [path for path in indexed if not path.is_file()]
        if missing:
            raise InputError(f"{folder / INDEX} names {missing[0].name}, which is not there")
        return list(indexed)
    wanted = set(list_sequences(folder))
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and formats.holds_motion(path) and (path in wanted or not parse_name(path.stem))
    ]


def _parse_genre(path: Path) -> str | None:
    name = parse_name(path.stem.removeprefix(VIEW))
    return name.genre if name else None


def _list_genres(files: Sequence[Path]) -> list[str]:
    return sorted({genre for genre in map(_parse_genre, files) if genre})

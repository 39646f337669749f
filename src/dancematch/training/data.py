"""Motions to train on: whatever the package reads, from any folders."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats.aist_names import parse_name, sequences
from dancematch.types import Motion


def motion_files(folders: Sequence[str | Path]) -> list[Path]:
    """Every motion file below the folders, by name; AIST++ without its ignore list."""
    files: list[Path] = []
    for folder in map(Path, folders):
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder; give folders with motion files to train on")
        wanted = set(sequences(folder))
        files += [
            path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and formats.is_motion_file(path)
            and (path in wanted or not parse_name(path.stem))
        ]
    if not files:
        raise InputError(f"there is no motion file below {', '.join(map(str, folders))}")
    return files


def read_motions(files: Sequence[Path]) -> Iterator[tuple[Path, list[Motion] | DanceMatchError]]:
    """Each file's motions, or why it has none."""
    for path in files:
        try:
            yield path, formats.read(path)
        except DanceMatchError as error:
            yield path, error


def describe_files(files: Sequence[Path]) -> dict[str, object]:
    """What to write beside a model about what it has seen: counts, and the AIST++ genres among it."""
    genres = {name.genre for name in (parse_name(path.stem) for path in files) if name}
    return {"files": len(files), "aist_genres": sorted(genres)}

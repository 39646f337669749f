"""Which files are clips, and what names a file's content."""

import glob
import hashlib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from dancematch import formats
from dancematch.errors import DanceMatchError, InputError
from dancematch.formats.files import changed, no_file, open_regular, unreadable
from dancematch.formats.web_address import refuse_web_address
from dancematch.pipeline.analysis.info_files import SUFFIXES_BESIDE_VIDEOS
from dancematch.pose.video import VIDEO_SUFFIXES

# Folders beside a catalogue: its index cache, whole or unfinished, and the service's working folder.
CACHE_SUFFIX = ".cache"
SERVICE_SUFFIX = ".service"
_UNFINISHED_SUFFIXES = (".part", ".ytdl")  # of downloads
_DOWNLOADED = re.compile(rb"[a-z0-9_.:+-]+ \S+\s*")  # a line of a downloader's list: "youtube dQw4w9WgXcQ"
_NO_CLIPS = (CACHE_SUFFIX, ".part", SERVICE_SUFFIX)

_PIECE_BYTES = 1 << 20  # that are hashed at a time


def content_hash(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, or of the names and bytes of all files in a folder."""
    path = Path(path)
    try:
        if not path.is_dir():
            return _hash_file(path)
        inside = sorted(file for file in path.iterdir() if file.is_file())
    except OSError as error:
        raise unreadable(path, error) from None
    except InputError:
        refuse_web_address(path)
        raise
    hashes = [f"{file.name} {content_hash(file)}" for file in inside]
    return hashlib.sha256("\n".join(hashes).encode(errors="surrogateescape")).hexdigest()


def _hash_file(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        left = os.fstat(file.fileno()).st_size
        while left >= 0 and (piece := file.read(_PIECE_BYTES)):
            digest.update(piece)
            left -= len(piece)
    if left:
        raise changed(path)
    return digest.hexdigest()


def rename_in_error(error: DanceMatchError | None, original: Path, path: Path) -> DanceMatchError | None:
    """The error about `original`, worded for another file with the same content."""
    if error is None:
        return None
    if path.suffix != original.suffix:  # what was expected of the one may not be of the other
        return type(error)(f"{path} has the very content of another file: {error}")
    whole = rf"(?<![\w./-]){re.escape(str(original))}(?![\w/-])"
    return type(error)(re.sub(whole, lambda _: str(path), str(error)))


def find_clips(places: Sequence[str | Path]) -> list[Path]:
    """The files named, and the videos and motion files in the folders named, in order of name.

    A folder of frames (OpenPose) is one clip. A pattern such as "clips/*.mp4" names every file that fits it.
    Pipes, devices, sockets and links that lead nowhere are left out of folders, and refused where named.
    What a downloader wrote beside a clip is left out even where it is named, as a shell does for "clips/*".
    """
    found: dict[
        Path, bool
    ] = {}  # whether it is a clip; anything else that is named is refused when it is read
    for place in [path for given in places for path in _expand(Path(given))]:
        if place.is_file():
            found[place] = _is_clip(place)
            continue
        inside = list(_clips_below(place))
        if not inside:
            raise InputError(f"there is no video or motion file in {place}")
        found.update(dict.fromkeys(inside, True))
    stems = {path.with_suffix("") for path, is_clip in found.items() if is_clip and path.name}
    return [path for path, is_clip in found.items() if is_clip or not _lies_beside(path, stems)]


def _lies_beside(path: Path, stems: Collection[Path]) -> bool:
    """Whether a file that is no clip is called like one, with something after it, or of a whole download."""
    name = path.name.lower()
    if name.endswith((*SUFFIXES_BESIDE_VIDEOS, *_UNFINISHED_SUFFIXES)) or _lists_downloads(path):
        return any(stem.parent == path.parent for stem in stems)
    dots = [place for place, letter in enumerate(path.name) if letter == "." and place]
    return any(path.with_name(path.name[:dot]) in stems for dot in dots)


def _lists_downloads(path: Path) -> bool:
    """Whether a file is the text in which a downloader keeps what it has (yt-dlp's --download-archive)."""
    if path.suffix.lower() != ".txt":
        return False
    try:
        with open_regular(path) as file:
            return _DOWNLOADED.fullmatch(file.readline(200)) is not None
    except (OSError, InputError):
        return False  # which is said when it is read


def _expand(place: Path) -> list[Path]:
    """The place itself or, if it does not exist and is a pattern, the files and folders that fit it."""
    if place.is_file() or place.is_dir():
        return [place]
    if place.exists():
        raise no_file(place)
    refuse_web_address(place)
    if not glob.has_magic(str(place)):
        raise InputError(f"{place} does not exist")
    fitting = map(Path, glob.glob(str(place), recursive=True))  # noqa: PTH207  (Path.glob: no absolute one)
    found = sorted(path for path in fitting if path.is_file() or path.is_dir())
    if not found:
        raise InputError(f"there is no file that fits {place}")
    return found


def _clips_below(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """The clips in a folder and in those below it; a link to one of the folders `above` is not followed."""
    if folder.name.endswith(_NO_CLIPS):
        return
    if formats.is_motion_file(folder):
        yield folder
        return
    try:
        own, inside = folder.resolve(), sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None
    if own in above:
        return
    for path in inside:
        if path.is_dir():
            yield from _clips_below(path, above | {own})
        elif path.is_file() and _is_clip(path):
            yield path


def _is_clip(path: Path) -> bool:
    """Whether a file found in a folder is a clip, and not what a downloader wrote beside one."""
    if path.name.lower().endswith(SUFFIXES_BESIDE_VIDEOS):
        return False
    return path.suffix.lower() in VIDEO_SUFFIXES or formats.holds_motion(path)

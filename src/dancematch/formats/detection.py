"""Which format a file is of: by its suffix and, where several formats share that, by its content."""

import zipfile
from pathlib import Path
from typing import Any

from dancematch.errors import FormatError
from dancematch.formats import registry
from dancematch.formats.registry import Format

_HEAD_BYTES = 512  # more than any signature and the blanks before it
_ARCHIVE = b"PK"


def find_format(path: Path, suffix: str | None = None) -> Format:
    """Return the one format that a file, or a folder of frames, is of, going by `suffix` if it is given."""
    if path.is_dir():
        return next(format_ for format_ in registry.FORMATS if format_.is_folder)
    suffix = path.suffix if suffix is None else suffix
    candidates = list(registry.formats_with(suffix))
    if not candidates:
        raise FormatError(f"{path} is not a motion file: {', '.join(registry.list_suffixes())} are read")
    _require_small(path)
    if len(candidates) == 1:
        return candidates[0]
    content, kind = _read_content(path, suffix.lower())
    fitting = [format_ for format_ in candidates if format_.recognises(content)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = " and of ".join(format_.name for format_ in fitting)
        raise FormatError(f"{path} is {kind} that has the shape of {names}: leave only one of them in it")
    names = ", ".join(format_.name for format_ in candidates)
    raise FormatError(f"{path} is {kind}, but of none of these: {names}")


def _require_small(path: Path) -> None:
    """Refuse, before anything is read, a file that is missing, empty or too large for motion."""
    from dancematch.formats.files import open_file

    open_file(path).close()


def _read_content(path: Path, suffix: str) -> tuple[Any, str]:
    """Return what `recognises` is asked about, and what to call it in a message."""
    from dancematch.formats.archive import Archive
    from dancematch.formats.files import read_bytes, read_json
    from dancematch.formats.fingerprint import is_words
    from dancematch.formats.keypoints.table import read_header

    match suffix:
        case ".json":
            return read_json(path), "JSON"
        case ".csv":
            return read_header(path), "a CSV table"
        case ".npz":
            with Archive(path) as archive:  # its names are enough to recognise it
                pass
            if is_words(archive):
                raise FormatError(
                    f"{path} holds motion words, not motion; 'dancematch extract' makes motion of them"
                )
            return archive, f"an .npz archive of {', '.join(sorted(archive.names)[:5])}"
        case _:
            return read_bytes(path), f"a {suffix} file"


def is_motion_file(path: str | Path) -> bool:
    """Whether `path` looks like a motion file by its name, or a folder like one of frames."""
    path = Path(path)
    if path.is_dir():
        from dancematch.formats.keypoints.openpose import is_folder

        return is_folder(path)
    return any(registry.formats_with(path.suffix))


def holds_motion(path: str | Path) -> bool:
    """Whether `path`, found in a folder, is to be read: a .csv or .json file only if it looks like motion.

    Labels, indexes and settings lie beside recordings too. A file that is named is read, or refused with
    the reason.
    """
    path = Path(path)
    if path.suffix.lower() == ".json":
        from dancematch.formats.json_detection import is_motion_json

        return is_motion_json(path)
    if path.suffix.lower() != ".csv" or path.is_dir():
        return is_motion_file(path)
    return _is_motion_table(path)


def _is_motion_table(path: Path) -> bool:
    from dancematch.formats.keypoints.table import read_header

    header = read_header(path)
    return any(format_.recognises(header) for format_ in registry.formats_with(".csv"))


def detect_suffix(path: Path) -> str | None:
    """Return the suffix that a motion file of this content has; None for anything else, such as a video.

    For uploads, whose names say nothing. The content itself is checked only on reading, but an
    archive that is none, or holds neither arrays nor tensors, is refused: no video begins as one.
    """
    from dancematch.formats.files import open_regular

    with open_regular(path) as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_ARCHIVE):
        return _suffix_of_archive(path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    found = [
        (len(signature), format_.suffix)
        for format_ in registry.FORMATS
        for signature in format_.signatures
        if head.startswith(signature) or text.startswith(signature)
    ]
    if found:
        return max(found)[1]  # a pickle of torch begins as every pickle does, and goes on
    return ".csv" if _is_motion_table(path) else None


def _suffix_of_archive(path: Path) -> str:
    """Return which of the two kinds of archives a file is."""
    from dancematch.formats.archive import open_zip

    try:
        with open_zip(path) as archive:
            members = archive.namelist()
    except FormatError as error:
        raise FormatError(str(error).replace(str(path), "the file")) from None
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, RuntimeError):
        raise FormatError("the file begins as an archive, but is damaged or cut short") from None
    if any(name.endswith(".npy") for name in members):
        return ".npz"
    if any(name.rpartition("/")[2] == "data.pkl" for name in members):
        return ".pt"
    raise FormatError("the file is an archive without arrays; motion as .npz or .pt was expected")

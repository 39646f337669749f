"""What is said of a web address that is given in place of a file."""

import re
from pathlib import Path

from dancematch.errors import InputError

_ADDRESS = re.compile(r"(https?):/+(.+)", re.IGNORECASE | re.DOTALL)
_PLAIN = re.compile(r"[\w:/?&=.%#~+,@-]+", re.ASCII)  # what every shell leaves alone within quotation marks
_DOWNLOAD = 'yt-dlp --write-info-json -o "clips/%(id)s.%(ext)s"'


def refuse_web_address(path: str | Path) -> None:
    """Refuse a web address with the command that downloads it; anything else is none of this function's.

    A `Path` has made one slash of the two after the colon.
    """
    found = _ADDRESS.fullmatch(Path(path).as_posix() if isinstance(path, Path) else path)
    if found is None:
        return
    address = f"{found[1].lower()}://{found[2]}"
    argument = f'"{address}"' if _PLAIN.fullmatch(address) else "URL"
    raise InputError(
        f"{address} is a web address, but a file is needed; "
        f"download it first, then give the file: {_DOWNLOAD} {argument}"
    )

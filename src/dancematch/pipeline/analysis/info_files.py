"""What yt-dlp writes beside a video: `X.info.json` about `X.mp4`, and files that are no motion."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancematch.errors import InputError
from dancematch.formats.files import read_json

INFO_SUFFIX = ".info.json"
SUFFIXES_BESIDE_VIDEOS = (INFO_SUFFIX, ".live_chat.json")  # by their last suffix they might be motion


@dataclass(frozen=True)
class VideoTitle:
    """What a video is called where it was downloaded from; what is unknown is empty."""

    title: str
    uploader: str = ""
    video_id: str = ""

    def proposals(self) -> Iterator[str]:
        """Names for its dance, the best first: the title, and what tells it from others of that title."""
        yield self.title
        for addition in (self.uploader, self.video_id):
            if addition:
                yield f"{self.title} ({addition})"


def info_path(clip: Path) -> Path:
    """Where yt-dlp writes the information about a clip."""
    clip = clip if clip.name else clip.resolve()
    return clip.with_name(clip.stem + INFO_SUFFIX)


def has_info(clip: Path) -> bool:
    """Whether there is information beside a clip; there is none where its name would be too long."""
    try:
        return info_path(clip).is_file()
    except OSError:
        return False


def read_info(path: Path) -> dict[str, Any]:
    """The information of one `.info.json`."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path} does not hold what yt-dlp writes: one JSON object")
    return found


def read_text_field(info: Mapping[str, Any], name: str) -> str:
    """A field of the information, which may be a number; empty if it is not there."""
    value = info.get(name)
    return str(value) if isinstance(value, str | int) else ""


def read_title(clip: Path) -> VideoTitle | None:
    """The title of a clip by the `.info.json` beside it; None if there is none, an error if it is useless."""
    if not has_info(clip):
        return None
    path = info_path(clip)
    info = read_info(path)
    track = " - ".join(filter(None, (_read_line(info, "track"), _read_line(info, "artist"))))
    titles = (_read_line(info, "title"), _read_line(info, "fulltitle"), track if info.get("track") else "")
    title = next(filter(None, titles), None)
    if title is None:
        raise InputError(f"{path} does not hold what yt-dlp writes: it has no title")
    uploader = _read_line(info, "uploader") or _read_line(info, "channel")
    return VideoTitle(title, uploader, _read_line(info, "id"))


def _read_line(info: Mapping[str, Any], name: str) -> str:
    """A field as one line, its blanks made single."""
    return " ".join(read_text_field(info, name).split())

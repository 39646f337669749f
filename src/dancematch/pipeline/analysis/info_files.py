"""What yt-dlp writes beside a video: `X.info.json` about `X.mp4`, and files that are no motion."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancematch.catalogue.records import LABEL_SEPARATOR, MAX_NAME_LENGTH
from dancematch.control_characters import replace_controls
from dancematch.errors import InputError
from dancematch.formats.files import read_json
from dancematch.pipeline.value_checks import find_value_problem

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


@dataclass(frozen=True)
class RecordingInfo:
    """What is known of a recording where it was downloaded from."""

    performer: str | None = None  # its creator, else who posted it
    url: str | None = None
    date: str | None = None  # YYYY-MM-DD
    labels: tuple[str, ...] = ()  # its music, if that has a name


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
    return _text_of(info.get(name))


def read_title(clip: Path) -> VideoTitle | None:
    """The title of a clip by the `.info.json` beside it; None if there is none, an error if it is useless."""
    if not has_info(clip):
        return None
    path = info_path(clip)
    info = read_info(path)
    titles = (_read_line(info, "title"), _read_line(info, "fulltitle"), _read_music(info))
    title = next(filter(None, titles), None)
    if title is None:
        raise InputError(f"{path} does not hold what yt-dlp writes: it has no title")
    uploader = _read_line(info, "uploader") or _read_line(info, "channel")
    return VideoTitle(title, uploader, _read_line(info, "id"))


def read_recording_info(clip: Path) -> RecordingInfo | None:
    """What the `.info.json` beside a clip says of the recording; None if there is none.

    Values that cannot be kept are left out; only a file that is no JSON object is an `InputError`.
    """
    if not has_info(clip):
        return None
    info = read_info(info_path(clip))
    performers = (_read_line(info, name) for name in ("creators", "creator", "uploader", "channel"))
    addresses = (_read_line(info, name) for name in ("webpage_url", "original_url"))
    days = (_read_day(info, name) for name in ("upload_date", "release_date"))
    music = _first_that_fits("label", [_cut(_read_music(info).replace(LABEL_SEPARATOR, ","))])
    return RecordingInfo(
        performer=_first_that_fits("performer", map(_cut, performers)),
        url=_first_that_fits("url", addresses),
        date=_first_that_fits("date", days),
        labels=() if music is None else (music,),
    )


def _first_that_fits(kind: str, values: Iterable[str]) -> str | None:
    return next((one for one in values if one and find_value_problem(kind, one) is None), None)


def _cut(text: str) -> str:
    """A text as a catalogue takes it: U+FFFD for each control character, not too long."""
    return replace_controls(text)[:MAX_NAME_LENGTH].rstrip()


def _read_day(info: Mapping[str, Any], name: str) -> str:
    """A date that is written YYYYMMDD, as YYYY-MM-DD; whether there is such a day is not checked."""
    text = _read_line(info, name)
    return f"{text[:4]}-{text[4:6]}-{text[6:]}"


def _read_music(info: Mapping[str, Any]) -> str:
    """The track that a video is danced to, with its artists; empty if it is not known."""
    track, artist = _read_line(info, "track"), _read_line(info, "artist") or _read_line(info, "artists")
    return " - ".join(filter(None, (track, artist))) if track else ""


def _read_line(info: Mapping[str, Any], name: str) -> str:
    """A field as one line, its blanks made single; a list of texts has commas between them."""
    value = info.get(name)
    text = ", ".join(filter(None, map(_text_of, value))) if isinstance(value, list) else _text_of(value)
    return " ".join(text.split())


def _text_of(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""

"""The information beside a clip: the `.info.json` that yt-dlp writes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dancematch.errors import InputError
from dancematch.pipeline.analysis.info_files import has_info, info_path, read_info, read_text_field

_UPLOADER_FIELDS = ("uploader_id", "channel_id", "uploader")


@dataclass(frozen=True)
class ClipInfo:
    """A clip's texts, which may name a dance, its uploader and its licence."""

    title: str = ""
    tags: tuple[str, ...] = ()
    description: str = ""
    uploaders: frozenset[str] = frozenset()  # every name or id of the uploader; empty: unknown
    video_id: str | None = None  # site and id: equal for two downloads of one video
    licence: str | None = None  # its usual name; any other text is "another"
    conditions: Mapping[str, Any] = field(default_factory=dict)  # what a rendered clip shows


def read_clip_info(clip: Path) -> ClipInfo:
    """The information beside a clip."""
    path = info_path(clip)
    if not has_info(clip):
        raise InputError(f"there is no {path.name} beside it; yt-dlp writes one with --write-info-json")
    found = read_info(path)
    tags = found.get("tags") or ()
    if not isinstance(tags, list | tuple):
        raise InputError(f"{path.name} does not hold what yt-dlp writes: its tags are no list")
    site, video = read_text_field(found, "extractor_key"), read_text_field(found, "id")
    conditions = found.get("dancematch")
    return ClipInfo(
        title=read_text_field(found, "title"),
        tags=tuple(str(tag) for tag in tags),
        description=read_text_field(found, "description"),
        uploaders=frozenset(_uploaders(found)),
        video_id=f"{site}:{video}" if site and video else None,
        licence=normalise_licence(read_text_field(found, "license")),
        conditions=conditions if isinstance(conditions, dict) else {},
    )


_KNOWN_LICENCES = {
    r"\bcc[ -]?0\b|public domain": "CC0",
    r"\bapache[ -](licen[cs]e[, ]*)?(version )?2": "Apache-2.0",
    r"^mit( licen[cs]e)?$": "MIT",
    r"youtube licen[cs]e": "Standard YouTube License",
}
_CC_TERMS = {  # each by its abbreviation or as it is written out
    "BY": r"\bby\b|attribution",
    "NC": r"\bnc\b|non-?commercial",
    "SA": r"\bsa\b|share-? ?alike",
    "ND": r"\bnd\b|no-? ?deriv",
}


def normalise_licence(text: str) -> str | None:
    """The usual name of a licence; "another" for any other text, which may hold a person's name."""
    plain = " ".join(text.casefold().split())
    if not plain:
        return None
    for pattern, name in _KNOWN_LICENCES.items():
        if re.search(pattern, plain):
            return name
    if re.search(r"creative ?commons|\bcc[ -]by\b", plain):
        terms = [name for name, pattern in _CC_TERMS.items() if re.search(pattern, plain)]
        return f"CC {'-'.join(terms)}" if "BY" in terms else "another"
    return "another"


def _uploaders(found: Mapping[str, Any]) -> Iterator[str]:
    """Ids and handles without site-specific spelling: @Ann and ann count as one uploader."""
    for name in _UPLOADER_FIELDS:
        value = read_text_field(found, name).strip().removeprefix("@").casefold()
        if value:
            yield value

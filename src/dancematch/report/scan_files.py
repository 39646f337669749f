"""Scans as files for other programs: tables, subtitles, annotations for ELAN, edit decision lists.

Times are those of the video. Subtitles and edit lists have the dances alone; tables and annotations also say
where no known dance is danced.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from dancematch.control_characters import escape_controls
from dancematch.formats.files import write_bytes
from dancematch.pipeline.scan.segments import ScanSegment
from dancematch.pipeline.tables import csv_line
from dancematch.pipeline.wording import describe_span, list_changes, name_match
from dancematch.types import Match

NO_KNOWN_DANCE = "no known dance"
_EDL_FPS = 30.0  # of a source whose rate is not known
_MILLISECONDS = 1000
_EAF_ATTRIBUTES = {
    "AUTHOR": "DanceMatch",
    "FORMAT": "3.0",
    "VERSION": "3.0",
    "{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation":
        "http://www.mpi.nl/tools/elan/EAFv3.0.xsd",
}  # fmt: skip

CSV_COLUMNS = (
    "file", "dancer", "start", "end", "verdict", "dance", "dance_id", "recording", "reference.start",
    "reference.end", "mirrored", "tempo", "evalue", "log_ratio", "same_performance",
)  # fmt: skip


@dataclass(frozen=True)
class ScannedVideo:
    """All segments of one video, in order of their start."""

    file: str  # its name
    seconds: float
    segments: tuple[ScanSegment, ...]
    fps: float = _EDL_FPS  # frames per second, which an edit list counts in
    address: str = ""  # of the file, by which ELAN finds it
    written: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)

    @property
    def dances(self) -> list[tuple[ScanSegment, Match]]:
        """The segments in which a known dance is danced."""
        return [(segment, segment.match) for segment in self.segments if segment.match is not None]

    @property
    def dancers(self) -> list[int]:
        """Who dances, by number."""
        return sorted({segment.dancer for segment in self.segments})


@dataclass(frozen=True)
class ScanFormat:
    """One row: how a scan is written for one kind of program."""

    suffix: str
    media_type: str
    explanation: str
    render: Callable[[ScannedVideo], str]


def write_scan(path: Path, scanned: ScannedVideo, *, overwrite: bool = False) -> None:
    """Write a scan in the format that the file's suffix says."""
    text = SCAN_FORMATS[path.suffix.lower()[1:]].render(scanned)
    write_bytes(path, text.encode(errors="replace"), overwrite=overwrite)


def segment_text(match: Match, *, with_verdict: bool = True) -> str:
    """What a segment is, in one line: "Thriller (anna.mp4), 0:03-0:11, mirrored, possible match"."""
    possible = [match.verdict] if with_verdict and match.verdict != "match" else []
    return ", ".join([name_match(match), describe_span(match.reference), *list_changes(match), *possible])


def csv_rows(scanned: ScannedVideo) -> Iterator[str]:
    """The rows of a table, without its header."""
    for segment in scanned.segments:
        row = {"file": scanned.file} | describe_row(segment)
        yield csv_line(row.get(name) for name in CSV_COLUMNS)


def describe_row(segment: ScanSegment) -> dict[str, Any]:
    """A segment by the table's columns; those of the dance are missing where none is known."""
    row: dict[str, Any] = {
        "dancer": segment.dancer,
        "start": round(segment.span.start, 3),
        "end": round(segment.span.end, 3),
        "verdict": segment.verdict,
    }
    match = segment.match
    if match is None:
        return row
    return row | {
        "dance": match.name,
        "dance_id": match.dance_id,
        "recording": match.recording,
        "reference.start": round(match.reference.start, 3),
        "reference.end": round(match.reference.end, 3),
        "mirrored": match.mirrored,
        "tempo": None if match.tempo is None else round(match.tempo, 3),
        "evalue": None if match.evalue is None else float(f"{match.evalue:.4g}"),
        "log_ratio": None if match.log_ratio is None else round(match.log_ratio, 3),
        "same_performance": match.same_performance,
    }


def _render_csv(scanned: ScannedVideo) -> str:
    return "".join(f"{line}\r\n" for line in (csv_line(CSV_COLUMNS), *csv_rows(scanned)))


def _cue_text(scanned: ScannedVideo, segment: ScanSegment, match: Match) -> str:
    """The text of a subtitle; who it is about is said where there are several."""
    who = f"Dancer {segment.dancer}: " if len(scanned.dancers) > 1 else ""
    return who + escape_controls(segment_text(match))


def _render_srt(scanned: ScannedVideo) -> str:
    cues = [
        f"{number}\n{_clock(segment.span.start, ',')} --> {_clock(segment.span.end, ',')}\n"
        f"{_cue_text(scanned, segment, match)}\n"
        for number, (segment, match) in enumerate(scanned.dances, start=1)
    ]
    return "\n".join(cues)


def _render_vtt(scanned: ScannedVideo) -> str:
    cues = [
        f"\n{_clock(segment.span.start, '.')} --> {_clock(segment.span.end, '.')}\n"
        f"{escape(_cue_text(scanned, segment, match), quote=False)}\n"
        for segment, match in scanned.dances
    ]
    return "WEBVTT\n" + "".join(cues)


def _clock(seconds: float, point: str) -> str:
    """Hours, minutes, seconds and milliseconds."""
    whole, milliseconds = divmod(round(seconds * _MILLISECONDS), _MILLISECONDS)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{point}{milliseconds:03}"


def _render_eaf(scanned: ScannedVideo) -> str:
    """An annotation document of ELAN: one tier per dancer, and one that says more of each dance."""
    date = scanned.written.isoformat(timespec="seconds")
    root = ElementTree.Element("ANNOTATION_DOCUMENT", {**_EAF_ATTRIBUTES, "DATE": date})
    header = ElementTree.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    ElementTree.SubElement(
        header, "MEDIA_DESCRIPTOR", MEDIA_URL=_xml_text(scanned.address or scanned.file), MIME_TYPE="video/*",
        RELATIVE_MEDIA_URL=f"./{_xml_text(scanned.file)}",
    )  # fmt: skip
    order = ElementTree.SubElement(root, "TIME_ORDER")
    numbers: dict[int, str] = {}
    for moment in sorted(
        {_milliseconds(one) for s in scanned.segments for one in (s.span.start, s.span.end)}
    ):
        numbers[moment] = f"ts{len(numbers) + 1}"
        ElementTree.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=numbers[moment], TIME_VALUE=str(moment))
    annotations = 0
    for dancer in scanned.dancers:
        own = [segment for segment in scanned.segments if segment.dancer == dancer]
        for name, tell in (("dance", _annotate_dance), ("details", _annotate_details)):
            tier = ElementTree.SubElement(
                root, "TIER", LINGUISTIC_TYPE_REF="dance", TIER_ID=f"dancer {dancer} {name}"
            )
            annotations = _add_annotations(tier, own, tell, numbers, annotations)
    ElementTree.SubElement(
        root, "LINGUISTIC_TYPE", GRAPHIC_REFERENCES="false", LINGUISTIC_TYPE_ID="dance", TIME_ALIGNABLE="true"
    )
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _annotate_dance(segment: ScanSegment) -> str:
    if segment.match is None:
        return NO_KNOWN_DANCE
    # Annotations are counted by their texts: a guess must not count as a dance.
    doubt = "" if segment.verdict == "match" else f" ({segment.verdict})"
    return segment.match.name + doubt


def _annotate_details(segment: ScanSegment) -> str | None:
    return (
        None
        if segment.match is None
        else f"{segment.verdict}: {segment_text(segment.match, with_verdict=False)}"
    )


def _add_annotations(
    tier: ElementTree.Element,
    segments: Sequence[ScanSegment],
    tell: Callable[[ScanSegment], str | None],
    slots: Mapping[int, str],
    count: int,
) -> int:
    """Add what is told of each segment to a tier; returns how many annotations there are now."""
    for segment in segments:
        text = tell(segment)
        if text is None:
            continue
        count += 1
        holder = ElementTree.SubElement(tier, "ANNOTATION")
        aligned = ElementTree.SubElement(
            holder, "ALIGNABLE_ANNOTATION", ANNOTATION_ID=f"a{count}",
            TIME_SLOT_REF1=slots[_milliseconds(segment.span.start)],
            TIME_SLOT_REF2=slots[_milliseconds(segment.span.end)],
        )  # fmt: skip
        ElementTree.SubElement(aligned, "ANNOTATION_VALUE").text = _xml_text(text)
    return count


def _milliseconds(seconds: float) -> int:
    return round(seconds * _MILLISECONDS)


def _xml_text(text: str) -> str:
    """The text without what XML cannot hold: control characters are shown, half a pair is a question mark."""
    return escape_controls(text).encode(errors="replace").decode()


def _render_edl(scanned: ScannedVideo) -> str:
    """An edit decision list (CMX 3600): one event per dance, named by comments."""
    lines = [f"TITLE: {_one_line(Path(scanned.file).stem)[:70]}", "FCM: NON-DROP FRAME", ""]
    for number, (segment, match) in enumerate(scanned.dances, start=1):
        begin, end = (_timecode(one, scanned.fps) for one in (segment.span.start, segment.span.end))
        lines += [
            f"{number:03}  AX       V     C        {begin} {end} {begin} {end}",
            f"* FROM CLIP NAME: {_one_line(scanned.file)}",
            f"* COMMENT: DANCER {segment.dancer}: {_one_line(segment_text(match))}",
            "",
        ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return escape_controls(text).encode("ascii", errors="replace").decode()  # all that such lists may hold


def _timecode(seconds: float, fps: float) -> str:
    """The frame that is shown then, counted by the nearest whole rate, as editors count without dropping."""
    rate, frame = max(1, round(fps)), round(seconds * fps)
    whole, rest = divmod(frame, rate)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}:{rest:02}"


SCAN_FORMATS: Mapping[str, ScanFormat] = {
    "csv": ScanFormat(".csv", "text/csv", "a table, one row per segment", _render_csv),
    "srt": ScanFormat(".srt", "application/x-subrip", "subtitles (SubRip) for video players", _render_srt),
    "vtt": ScanFormat(".vtt", "text/vtt", "subtitles (WebVTT) for web pages", _render_vtt),
    "eaf": ScanFormat(".eaf", "application/xml", "annotations for ELAN", _render_eaf),
    "edl": ScanFormat(".edl", "text/plain", "an edit decision list (CMX 3600) for editors", _render_edl),
}
"""What scans are written as, by name; the command line has one option for each, the service one address."""

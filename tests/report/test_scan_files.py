"""Scans as files, read by other people's readers."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pycmx
import pytest
import srt
import webvtt
from pympi.Elan import Eaf

from dancematch.errors import InputError
from dancematch.report.scan_files import CSV_COLUMNS, SCAN_FORMATS, ScannedVideo, segment_text, write_scan
from dancematch.report.scan_plot import draw_scan, pack_lanes
from scan_samples import segment

HOSTILE = 'A <b> & "B" --> ]]> =1+1; \x1b[31m\n\udc80 ünï'
SHOW = ScannedVideo(
    "show.mp4",
    3800.0,
    (
        segment(0.0, 12.345, "Thriller", mirrored=True),
        segment(12.345, 40.0, None),
        segment(40.0, 58.5, "Waltz", verdict="possible match", tempo=1.2),
        segment(3700.0, 3712.0, "Thriller", dancer=2, tempo=1.2),
    ),
    fps=25.0,
    written=datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC),
)
ODD = ScannedVideo(f"{HOSTILE}.mp4", 20.0, (segment(1.0, 9.0, HOSTILE), segment(9.0, 20.0, None)))
NOTHING = ScannedVideo("show.mp4", 20.0, ())


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def read_eaf(folder: Path, scanned: ScannedVideo) -> Eaf:
    write_scan(folder / "scan.eaf", scanned)
    return Eaf(str(folder / "scan.eaf"))


def read_edl(text: str) -> list:
    return [event for event in pycmx.parse_cmx3600(io.StringIO(text)).events if event.edits]


def test_a_table_has_a_row_for_each_segment_also_where_no_dance_is_known():
    rows = read_csv(SCAN_FORMATS["csv"].render(SHOW))

    assert list(CSV_COLUMNS) == list(rows[0])
    assert ["Thriller", "", "Waltz", "Thriller"] == [row["dance"] for row in rows]
    assert ["match", "no match", "possible match", "match"] == [row["verdict"] for row in rows]
    assert ("0.0", "12.345", "true") == (rows[0]["start"], rows[0]["end"], rows[0]["mirrored"].lower())


def test_subtitles_are_those_of_the_dances():
    """Two readers, of SubRip and of WebVTT, find the same times and texts."""
    subtitles = list(srt.parse(SCAN_FORMATS["srt"].render(SHOW)))
    captions = webvtt.from_string(SCAN_FORMATS["vtt"].render(SHOW)).captions

    assert [(0.0, 12.345), (40.0, 58.5), (3700.0, 3712.0)] == [
        (one.start.total_seconds(), one.end.total_seconds()) for one in subtitles
    ]
    assert [one.content for one in subtitles] == [one.text for one in captions]
    assert ["00:00:00.000", "00:00:40.000", "01:01:40.000"] == [one.start for one in captions]
    assert "Dancer 1: Thriller (anna.mp4), 0:00-0:12, mirrored" == subtitles[0].content
    assert "possible match" in subtitles[1].content
    assert ["20 % faster" in one.content for one in subtitles] == [False, False, True]


def test_elan_reads_a_tier_per_dancer(tmp_path):
    document = read_eaf(tmp_path, SHOW)

    assert "2026-05-04T03:02:01+00:00" == document.adocument["DATE"]
    assert {"dancer 1 dance", "dancer 1 details", "dancer 2 dance", "dancer 2 details"} == set(
        document.get_tier_names()
    )
    assert [
        (0, 12345, "Thriller"),
        (12345, 40000, "no known dance"),
        (40000, 58500, "Waltz (possible match)"),
    ] == sorted(one[:3] for one in document.get_annotation_data_for_tier("dancer 1 dance"))
    assert 2 == len(document.get_annotation_data_for_tier("dancer 1 details"))


def test_editors_read_an_event_per_dance():
    """By the frame that the video shows then: 25 per second, not what a rate of 30 would count."""
    events = read_edl(SCAN_FORMATS["edl"].render(SHOW))

    assert [
        ("00:00:00:00", "00:00:12:09"),
        ("00:00:40:00", "00:00:58:12"),
        ("01:01:40:00", "01:01:52:00"),
    ] == [(event.edits[0].source_in, event.edits[0].source_out) for event in events]
    assert {"show.mp4"} == {event.edits[0].clip_name for event in events}


def test_names_that_are_markup_formulas_or_control_characters_stay_text(tmp_path):
    table = read_csv(SCAN_FORMATS["csv"].render(ODD))
    (subtitle,) = srt.parse(SCAN_FORMATS["srt"].render(ODD))
    (caption,) = webvtt.from_string(SCAN_FORMATS["vtt"].render(ODD)).captions
    annotations = read_eaf(tmp_path, ODD).get_annotation_data_for_tier("dancer 1 dance")
    (event,) = read_edl(SCAN_FORMATS["edl"].render(ODD))

    assert 'A <b> & "B" --> ]]> =1+1;' in table[0]["dance"]
    assert "\x1b" not in table[0]["dance"] + subtitle.content + caption.raw_text + annotations[0][2]
    assert "\n" not in subtitle.content
    assert 'A <b> & "B"' in annotations[0][2]
    assert "00:00:01:00" == event.edits[0].source_in


@pytest.mark.parametrize("kind", sorted(SCAN_FORMATS))
def test_a_scan_that_found_nothing_is_a_file_without_segments(kind, tmp_path):
    path = tmp_path / f"scan.{kind}"
    write_scan(path, NOTHING)

    read = {
        "csv": lambda: read_csv(path.read_text()),
        "srt": lambda: list(srt.parse(path.read_text())),
        "vtt": lambda: webvtt.read(str(path)).captions,
        "eaf": lambda: list(Eaf(str(path)).get_tier_names()),
        "edl": lambda: read_edl(path.read_text()),
    }
    assert [] == read[kind]()
    with pytest.raises(InputError):
        write_scan(path, NOTHING)


def test_the_timeline_is_a_picture(tmp_path):
    for scanned in (SHOW, NOTHING):
        draw_scan(tmp_path / "scan.png", scanned, overwrite=True)

        assert (tmp_path / "scan.png").read_bytes().startswith(b"\x89PNG")


def test_dancers_who_are_not_in_view_together_share_a_lane():
    seen = (
        segment(0, 10, dancer=1),
        segment(5, 20, dancer=2),
        segment(10, 30, dancer=3),
        segment(40, 50, dancer=4),
    )

    assert [[1, 3, 4], [2]] == pack_lanes(ScannedVideo("show.mp4", 60.0, seen))


def test_a_segment_is_told_in_a_line():
    assert "Waltz (anna.mp4), 0:00-0:18, possible match" == segment_text(SHOW.segments[2].match)
    assert "Thriller (anna.mp4), 0:00-0:12, 20 % faster" == segment_text(SHOW.segments[3].match)

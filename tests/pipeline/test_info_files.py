"""What the information beside a downloaded video says of the recording."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.errors import InputError
from dancematch.pipeline.analysis import info_files
from dancematch.pipeline.analysis.clip_files import find_clips
from dancematch.pipeline.analysis.info_files import RecordingInfo, info_path, read_recording_info, read_title
from dancematch.pipeline.value_checks import find_value_problem

DOWNLOADED = {
    "title": "Thriller dance",
    "uploader": "anna.dances",
    "channel": "Anna",
    "webpage_url": "https://www.tiktok.com/@anna.dances/video/1",
    "original_url": "https://vm.tiktok.com/x",
    "upload_date": "20240229",
    "release_date": "20200101",
    "track": "Thriller",
    "artist": "Michael Jackson",
    "formats": [{"url": "https://example.org/a.mp4"}],
}


@pytest.fixture
def told(tmp_path):
    """What is read of the information beside a clip."""

    def read(info: object) -> RecordingInfo | None:
        clip = tmp_path / "a.mp4"
        info_path(clip).write_text(json.dumps(info), encoding="utf-8")
        return read_recording_info(clip)

    return read


def test_a_download_tells_who_where_when_and_to_what(told):
    url = "https://www.tiktok.com/@anna.dances/video/1"

    assert RecordingInfo("anna.dances", url, "2024-02-29", ("Thriller - Michael Jackson",)) == told(
        DOWNLOADED
    )


def test_a_clip_without_information_tells_nothing(tmp_path):
    assert read_recording_info(tmp_path / "a.mp4") is None
    assert read_recording_info(tmp_path / f"{'x' * 251}.mp4") is None


@pytest.mark.parametrize(
    ("performer", "info"),
    [
        ("Anna, Ben", {"creators": ["Anna", "", None, " Ben\n"], "creator": "C", "uploader": "U"}),
        ("Anna", {"creators": [], "creator": "Anna", "uploader": "U"}),
        ("Anna", {"creators": ["\u200b"], "uploader": " ", "channel": "Anna"}),
        ("Anna Lee", {"uploader": "Anna\t\n Lee"}),
        ("red\ufffd[31m", {"uploader": "red\x1b[31m"}),
        ("half \ufffd", {"uploader": "half \ud800"}),
        ("1983", {"uploader": 1983}),
        ("x" * 200, {"uploader": "x" * 300}),
        (None, {"uploader": True, "channel": {"name": "Anna"}, "artist": "Michael Jackson"}),
    ],
)
def test_the_performer_is_the_creator_else_who_posted_it(told, performer, info):
    """One line without control characters, not too long; the musician is no dancer."""
    assert RecordingInfo(performer=performer) == told(info)


@pytest.mark.parametrize(
    ("url", "info"),
    [
        ("https://x.org/a", {"webpage_url": "https://x.org/a", "original_url": "https://x.org/b"}),
        ("HTTP://x.org/b", {"webpage_url": "file:///etc/passwd", "original_url": " HTTP://x.org/b\n"}),
        (None, {"webpage_url": "javascript:alert(1)", "original_url": "https://x.org/\x1b"}),
        (None, {"webpage_url": f"https://x.org/{'x' * 2000}", "original_url": ["https://x.org"] * 2}),
        (None, {"webpage_url": "https:///a", "original_url": "https://x.org/a b"}),
    ],
)
def test_the_address_is_one_of_the_web(told, url, info):
    assert RecordingInfo(url=url) == told(info)


@pytest.mark.parametrize(
    ("date", "info"),
    [
        ("2024-05-01", {"upload_date": 20240501}),
        ("2020-01-31", {"upload_date": "20230229", "release_date": "20200131"}),
        (None, {"upload_date": "2024-05-01", "release_date": "202405"}),
        (None, {"upload_date": "00000101", "release_date": "today"}),
    ],
)
def test_a_date_is_a_day_of_the_calendar(told, date, info):
    assert RecordingInfo(date=date) == told(info)


@pytest.mark.parametrize(
    ("labels", "info"),
    [
        (("Thriller",), {"track": "Thriller"}),
        (("Thriller - Anna, Ben",), {"track": "Thriller", "artists": ["Anna", "Ben"]}),
        (("Thriller - Anna, Ben",), {"track": "Thriller", "artist": "Anna; Ben"}),
        ((), {"artist": "Michael Jackson"}),
        ((), {"track": "\u200b"}),
    ],
)
def test_music_with_a_name_is_one_label(told, labels, info):
    """Without the semicolon that separates labels in a table."""
    assert RecordingInfo(labels=labels) == told(info)


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"id": "aa'])
def test_a_file_that_is_no_information_is_refused(tmp_path, text):
    """As for the title: who reads it can say so."""
    info_path(tmp_path / "a.mp4").write_text(text)
    for read in (read_title, read_recording_info):
        with pytest.raises(InputError, match=r"a\.info\.json"):
            read(tmp_path / "a.mp4")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(sorted([*DOWNLOADED, "creators", "creator", "artists"])), VALUES))
def test_whatever_the_values_are_what_is_told_can_be_kept(info):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(info_files, "has_info", lambda _: True)
        patch.setattr(info_files, "read_info", lambda _: info)
        told = read_recording_info(Path("a.mp4"))

    assert told is not None
    values = {"performer": told.performer, "url": told.url, "date": told.date}
    kept = [(kind, one) for kind, one in values.items() if one is not None]
    assert [] == [
        one for one in (*kept, *(("label", label) for label in told.labels)) if find_value_problem(*one)
    ]


def test_an_index_beside_clips_is_no_clip(tmp_path):
    """Nor is any other file that stands beside a video."""
    clip = tmp_path / "a.mp4"
    names = ("a.jpg", "a.webp", "a.description", "a.en.vtt", "a.live_chat.json", "a.info.json", "index.csv")
    for name in names:
        (tmp_path / name).write_text("file,dance,date\na.mp4,Waltz,2020\n")
    clip.touch()

    assert [clip] == find_clips([tmp_path])

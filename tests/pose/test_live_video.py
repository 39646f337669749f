"""Videos that are still being made, and videos that are read from the middle."""

import io
import os
import threading
import time

import pytest

from dancematch.errors import VideoError
from dancematch.pose.live_video import GrowingFile, LiveCamera, Pipe
from dancematch.pose.video import read_frames
from pose_samples import write_clip

STAMPS = range(0, 4000, 40)


def times(source, **options) -> list[float]:
    return [round(frame.seconds, 3) for frame in read_frames(source, **options)]


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A film in a container that is written in order."""
    return write_clip(tmp_path_factory.mktemp("live") / "film.ts", STAMPS)


def test_a_pipe_is_read_like_a_file(film):
    assert times(film) == times(Pipe(io.BytesIO(film.read_bytes())))


def test_a_file_that_grows_is_read_to_its_end(film, tmp_path):
    """Written in pieces by another thread, with pauses in which its end is reached again and again."""
    content, target = film.read_bytes(), tmp_path / "growing.ts"
    target.write_bytes(content[:20_000])

    def grow() -> None:
        with target.open("ab", buffering=0) as file:
            for first in range(20_000, len(content), 20_000):
                time.sleep(0.05)
                file.write(content[first : first + 20_000])

    writer = threading.Thread(target=grow)
    writer.start()
    found = times(GrowingFile(target, patience=2.0))
    writer.join()

    assert times(film) == found


def test_what_is_live_can_be_ended_while_it_is_waited_for(film):
    """A pipe that stays open and a file that may still grow: what has come is a whole video."""
    content = film.read_bytes()
    receiving, sending = os.pipe()
    with os.fdopen(receiving, "rb") as stream, os.fdopen(sending, "wb", buffering=0) as other:
        pipe = Pipe(stream)
        threading.Thread(target=other.write, args=(content,), daemon=True).start()
        threading.Timer(1.0, pipe.ended.set).start()
        assert times(film) == times(pipe)
    growing = GrowingFile(film, patience=60.0)
    threading.Timer(1.0, growing.ended.set).start()
    assert times(film) == times(growing)


def test_a_file_whose_index_comes_last_cannot_be_followed(tmp_path):
    """Not while it grows: a sentence, not a damaged video; with the index first it can."""
    clip = write_clip(tmp_path / "clip.mp4", range(0, 1000, 100))
    with pytest.raises(VideoError, match=r"index comes last.*--follow once it is complete"):
        read_frames(GrowingFile(clip, patience=0.1))


def test_what_is_no_video_is_said_in_a_sentence(tmp_path):
    with pytest.raises(VideoError, match="stdin cannot be read as a video"):
        read_frames(Pipe(io.BytesIO(b"nothing of the kind" * 100)))
    with pytest.raises(VideoError, match="stdin cannot be read"):
        read_frames(Pipe(io.BytesIO()))
    with pytest.raises(VideoError, match="cannot be read"):
        read_frames(GrowingFile(tmp_path / "missing.ts"))
    with pytest.raises(VideoError, match="the camera /nowhere/video9 cannot be opened"):
        read_frames(LiveCamera("/nowhere/video9"))


def test_a_stream_that_breaks_off_gives_the_frames_before(film):
    content = film.read_bytes()
    found = times(Pipe(io.BytesIO(content[: len(content) // 2])))

    assert set(found) < set(times(film))
    assert sorted(found) == found
    assert found[-1] > 1.0


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts", ".avi"])
def test_a_video_read_from_the_middle_has_the_same_clock(suffix, tmp_path):
    """Also where the container has no index to find the middle by."""
    clip = write_clip(tmp_path / f"film{suffix}", STAMPS)
    whole = times(clip)

    assert [one for one in whole if one >= 2.0] == times(clip, start=2.0)
    assert [] == [one for one in times(clip, start=1.99, fps=10.0) if one < 1.99]

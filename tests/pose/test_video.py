from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.errors import VideoError
from dancematch.pose.video import VideoLimits, _FrameClock, frame_times, probe, read_frames
from pose_samples import EVEN, MILLISECOND, corner_names, quarters, write_clip, write_sound

UNEVEN = (0, 33, 67, 200, 210, 500, 900, 1000, 2500)


def test_times_are_the_time_stamps_of_an_uneven_clip(tmp_path):
    """Frames recorded at a variable rate keep the times they were recorded at."""
    clip = write_clip(tmp_path / "uneven.mkv", UNEVEN)

    assert [stamp / 1000 for stamp in UNEVEN] == pytest.approx([frame.seconds for frame in read_frames(clip)])


def test_the_clock_starts_at_the_first_frame(tmp_path):
    """A recording whose stamps start late still starts at 0."""
    clip = write_clip(tmp_path / "late.mkv", [5000 + stamp for stamp in UNEVEN])

    assert [stamp / 1000 for stamp in UNEVEN] == pytest.approx([frame.seconds for frame in read_frames(clip)])


@pytest.mark.parametrize("tag", [8, 60])
def test_a_wrong_rate_tag_is_not_believed(tmp_path, tag):
    """The rate comes from the stamps, whatever the stream claims."""
    info = probe(write_clip(tmp_path / "tagged.mkv", EVEN, rate=tag))

    assert (pytest.approx(info.fps), pytest.approx(info.seconds), info.frames) == (25, 1.0, 25)


def test_frame_times_need_no_decoding_to_be_the_same(tmp_path):
    clip = write_clip(tmp_path / "uneven.mp4", UNEVEN)

    assert [frame.seconds for frame in read_frames(clip)] == pytest.approx(frame_times(clip).tolist())


# What a viewer must see when a clip says it is to be shown turned counter-clockwise by the angle.
@pytest.mark.parametrize(("angle", "corners"), [(0, "rgbw"), (90, "gbwr"), (180, "bwrg"), (-90, "wrgb")])
def test_phone_clips_come_out_upright(tmp_path, angle, corners):
    """The rotation that a phone writes beside the pictures is applied to them."""
    clip = write_clip(tmp_path / "phone.mp4", prepare=lambda s: s.set_display_rotation(angle))
    frame = next(iter(read_frames(clip)))

    assert corners == corner_names(frame.image)
    assert (probe(clip).height, probe(clip).width, 3) == frame.image.shape


def test_mirrored_clips_are_mirrored_back(tmp_path):
    """A display matrix that mirrors is obeyed: left and right matter to a dance."""
    mirror = [-(1 << 16), 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30]
    clip = write_clip(tmp_path / "selfie.mp4", prepare=lambda s: s.set_display_matrix(mirror))

    assert corner_names(next(iter(read_frames(clip))).image) == "grwb"


def test_wide_pixels_are_made_square(tmp_path):
    def widen(stream: av.VideoStream) -> None:
        stream.sample_aspect_ratio = stream.codec_context.sample_aspect_ratio = Fraction(2, 1)

    info = probe(write_clip(tmp_path / "wide.mp4", prepare=widen))

    assert (info.width, info.height) == (128, 48)


@pytest.mark.skipif("libsvtav1" not in av.codecs_available, reason="this FFmpeg has no AV1 encoder")
def test_av1_is_read(tmp_path):
    """AV1, which phones and sites now use, decodes as other codecs do."""
    clip = write_clip(tmp_path / "new.mp4", EVEN[:8], codec="libsvtav1", image=quarters(128, 96))
    frames = list(read_frames(clip))

    assert (corner_names(frames[0].image), len(frames)) == ("rgbw", 8)


def test_large_pictures_shrink_on_request(tmp_path):
    clip = write_clip(tmp_path / "large.mp4", EVEN[:2], image=quarters(320, 240))

    assert next(iter(read_frames(clip, longest_side=80))).image.shape == (60, 80, 3)
    assert next(iter(read_frames(clip, longest_side=1000))).image.shape == (240, 320, 3)


def test_sound_is_noticed_but_is_no_video(tmp_path):
    with pytest.raises(VideoError, match="only sound"):
        read_frames(write_sound(tmp_path / "song.m4a"))


def _missing(folder: Path) -> Path:
    return folder / "missing.mp4"


def _empty(folder: Path) -> Path:
    (folder / "empty.mp4").touch()
    return folder / "empty.mp4"


def _garbage(folder: Path) -> Path:
    (folder / "noise.mp4").write_bytes(np.random.default_rng(1).bytes(50_000))
    return folder / "noise.mp4"


def _playlist(folder: Path) -> Path:
    write_clip(folder / "secret.mkv")
    (folder / "list.mp4").write_text("ffconcat version 1.0\nfile secret.mkv\n")
    return folder / "list.mp4"


def _headless(folder: Path) -> Path:
    whole = write_clip(folder / "whole.mp4").read_bytes()
    (folder / "cut.mp4").write_bytes(whole[: len(whole) // 2])
    return folder / "cut.mp4"


@pytest.mark.parametrize("make", [_missing, _empty, _garbage, _playlist, _headless, lambda folder: folder])
@pytest.mark.parametrize("use", [probe, lambda path: list(read_frames(path))])
def test_a_file_that_is_no_video_is_refused(tmp_path, make, use):
    """Nothing that users may hand in by mistake ends in a traceback of the decoder."""
    path = make(tmp_path)
    with pytest.raises(VideoError, match=path.name):
        use(path)


def test_a_clip_that_breaks_off_is_read_as_far_as_it_goes(tmp_path, caplog):
    """The frames before the break are used, and the break is reported."""
    noise = np.random.default_rng(2).integers(0, 255, (96, 128, 3), dtype=np.uint8)
    stamps = range(0, 8000, 40)
    whole = write_clip(tmp_path / "whole.mkv", stamps, image=noise, prepare=_every_frame_alone).read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    reader = read_frames(tmp_path / "cut.mkv")
    count = len(list(reader))

    assert 60 < count < 140
    assert reader.truncated
    assert "breaks off" in caplog.text


def _every_frame_alone(stream: av.VideoStream) -> None:
    stream.options = {"g": "1", "tune": "zerolatency", "preset": "ultrafast"}


def test_a_whole_clip_is_not_called_truncated(tmp_path):
    reader = read_frames(write_clip(tmp_path / "whole.mp4"))

    assert (len(list(reader)), reader.truncated) == (25, False)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (VideoLimits(max_pixels=1000), "64x48"),
        (VideoLimits(max_seconds=0.5), "above the limit of 0 s|above the limit of 1 s"),
        (VideoLimits(max_decode_seconds=0.0), "to decode"),
    ],
)
def test_a_video_above_the_limits_is_refused(tmp_path, limits, words):
    clip = write_clip(tmp_path / "clip.mp4")
    with pytest.raises(VideoError, match=words):
        list(read_frames(clip, limits))


def test_a_clip_whose_header_says_it_is_too_long_is_not_even_started(tmp_path):
    clip = write_clip(tmp_path / "clip.mp4")
    with pytest.raises(VideoError, match="lasts 1 s"):
        read_frames(clip, VideoLimits(max_seconds=0.5))


def _stamped(stamps: list[int | None]) -> list[SimpleNamespace]:
    return [SimpleNamespace(pts=stamp, dts=None, time_base=MILLISECOND) for stamp in stamps]


def _seconds(stamps: list[int | None]) -> list[float | None]:
    clock = _FrameClock(SimpleNamespace(average_rate=Fraction(10), guessed_rate=None))
    return [clock.seconds(frame) for frame in _stamped(stamps)]


@pytest.mark.parametrize(
    ("stamps", "seconds"),
    [
        ([None, None, None], [0, 0.1, 0.2]),  # no stamps at all: the stated rate must do
        ([0, 40, None, 120], [0, 0.04, 0.14, None]),
        ([0, 40, 40, 80], [0, 0.04, None, 0.08]),  # a repeated stamp is a repeated picture
        ([0, 80, 40, 120], [0, 0.08, None, 0.12]),
        ([9000, 9040, 0, 40], [0, 0.04, 0.14, 0.18]),  # joined recordings go on
    ],
)
def test_broken_stamps_still_make_a_clock(stamps, seconds):
    assert seconds == pytest.approx(_seconds(stamps))


@given(st.lists(st.one_of(st.none(), st.integers(-(10**9), 10**9)), max_size=30))
def test_times_increase(stamps):
    """Whatever a broken file stamps its frames with, times grow from 0."""
    times = [time for time in _seconds(stamps) if time is not None]

    assert (np.diff(times) > 0).all()
    assert not stamps or times[0] == 0

from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.errors import VideoError
from dancematch.pipeline.analysis.extract import extract
from dancematch.pose.blazepose import BlazePose, estimator
from dancematch.pose.picture import Picture
from dancematch.pose.processor_threads import VARIABLE, available_threads, share_of_threads
from dancematch.pose.references import reference_test
from dancematch.pose.sampling import FrameSampler
from dancematch.pose.track import Track
from dancematch.pose.video import VideoLimits, read_frames
from formats_samples import dancer
from pose_samples import Person, Stage, quarters, write_clip


def take(times: list[float], fps: float = 10.0) -> list[float]:
    sampler = FrameSampler(fps)
    return [seconds for seconds in times if sampler.take(seconds)]


def even(fps: float, seconds: float = 3.0) -> list[float]:
    return [number / fps for number in range(round(fps * seconds))]


@pytest.mark.parametrize("fps", [24, 25, 30000 / 1001, 30, 50, 60, 120, 240])
def test_a_faster_clip_is_sampled_at_the_rate(fps):
    """Whatever the clip's rate: ten frames per second, from the first on, nearly a tenth apart."""
    taken = take(even(fps))

    assert 0.0 == taken[0]
    assert 30 <= len(taken) <= 31
    assert np.abs(np.diff(taken) - 0.1).max() <= max(1 / fps, 0.025) + 1e-6


@pytest.mark.parametrize("fps", [1, 7, 8, 10])
def test_every_frame_of_a_slower_clip_is_used(fps):
    assert even(fps) == take(even(fps))


def test_stamps_that_are_rounded_change_nothing():
    """Containers that count milliseconds write 0.033 and 0.067, or 0.099 for a tenth."""
    rounded = [round(1000 * seconds - 0.5) / 1000 for seconds in even(30)]

    assert [rounded[number] for number in range(0, 90, 3)] == take(rounded)


def test_a_variable_rate_is_sampled_by_its_stamps():
    """Dense frames are thinned out, sparse ones are all used."""
    uneven = [0, 0.01, 0.02, 0.05, 0.11, 0.5, 0.9, 0.91, 0.92, 1.0, 2.5]

    assert [0, 0.11, 0.5, 0.9, 1.0, 2.5] == take(uneven)


@given(st.lists(st.integers(0, 5000), min_size=1, unique=True), st.randoms(use_true_random=False))
def test_a_frame_that_is_used_is_never_left_out_by_the_decoder(milliseconds, chance):
    """In whatever order frames are stored, one that is taken when shown is announced as such before."""
    stored = [stamp / 1000 for stamp in milliseconds]
    chance.shuffle(stored)
    sampler = FrameSampler(10.0)
    decoded = {seconds for seconds in stored if sampler.may_take(seconds)}

    assert set(take(sorted(stored))) <= decoded


@given(st.dictionaries(st.integers(0, 5000), st.booleans(), min_size=1), st.randoms(use_true_random=False))
def test_of_each_interval_a_frame_is_decoded(milliseconds, chance):
    """Also where the decoder prefers frames that others refer to, which it decodes in any case."""
    stored = list(milliseconds.items())
    chance.shuffle(stored)
    sampler = FrameSampler(10.0)
    decoded = [
        stamp / 1000
        for stamp, referred in stored
        if sampler.may_take(stamp / 1000, referred=referred) or referred
    ]

    assert len(take(sorted(stamp / 1000 for stamp in milliseconds))) == len(take(sorted(decoded)))


def test_frames_that_are_not_used_are_not_converted(tmp_path, monkeypatch):
    """Of 50 frames in two seconds, twenty become pictures, each once, when they are asked for."""
    converted = []
    render = Picture.render
    monkeypatch.setattr(
        Picture, "render", lambda own, frame: converted.append(frame.pts) or render(own, frame)
    )
    frames = list(read_frames(write_clip(tmp_path / "clip.mp4", range(0, 2000, 40)), fps=10.0))
    assert [] == converted

    pictures = [frame.image for frame in frames + frames]
    assert 20 == len(frames) == len(converted)
    assert all(one is two for one, two in zip(pictures[:20], pictures[20:], strict=True))


def _moving_clip(path: Path, seconds: int = 4) -> Path:
    """Write a picture that moves, in groups of frames some of which no other frame refers to."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30)
        stream.height, stream.width, stream.pix_fmt = 96, 128, "yuv420p"
        stream.options = {"bf": "3", "b-pyramid": "normal", "x264-params": "b-adapt=0"}
        noise = np.random.default_rng(3).integers(0, 255, (96, 128, 3), dtype=np.uint8)
        for number in range(30 * seconds):
            picture = np.roll(noise, number, axis=1) // 2 + quarters(128, 96) // 2
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def test_frames_that_are_left_out_change_no_other_picture(tmp_path):
    """What the decoder skips is no part of what is used: one frame per tenth, with the same pixels."""
    clip = _moving_clip(tmp_path / "clip.mp4")
    every = {frame.seconds: frame.image for frame in read_frames(clip)}
    used = {frame.seconds: frame.image for frame in read_frames(clip, fps=10.0)}

    assert len(take(list(every))) == len(used)
    assert np.abs(np.subtract(take(list(every)), list(used))).max() < 0.1
    assert all(np.array_equal(every[seconds], image) for seconds, image in used.items())


@pytest.mark.parametrize("name", ["clip.mp4", "clip.mkv"])
def test_frames_that_others_refer_to_are_told_from_their_packets(tmp_path, name):
    """They are those that the decoder keeps when it leaves out all others."""
    clip = _moving_clip(tmp_path / name)
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        is_reference = reference_test(stream)
        told = {one.pts for one in container.demux(stream) if one.size and is_reference(one)}
    with av.open(str(clip)) as container:
        container.streams.video[0].codec_context.skip_frame = "NONREF"
        kept = {frame.pts for frame in container.decode(video=0)}

    assert 20 < len(told) < 100
    assert kept == told


def test_of_other_containers_and_codecs_no_reference_is_certain(tmp_path):
    with av.open(str(_moving_clip(tmp_path / "clip.ts", 1))) as container:
        stream = container.streams.video[0]
        is_reference = reference_test(stream)
        assert not any(map(is_reference, container.demux(stream)))


def test_a_limit_met_while_decoding_comes_after_the_frames_before_it(tmp_path):
    clip = write_clip(tmp_path / "clip.mkv", range(0, 3000, 100))
    reader = read_frames(clip)
    reader._limits = VideoLimits(max_seconds=1.0)  # past the header: only the frames tell the length
    with reader:
        seen = [next(reader).seconds for _ in range(11)]
        with pytest.raises(VideoError, match="above the limit of 1 s"):
            next(reader)

    assert [number / 10 for number in range(11)] == pytest.approx(seen)


def test_a_damaged_clip_is_read_as_far_as_it_goes(tmp_path, caplog):
    """A clip that breaks off is called truncated, at any rate."""
    whole = _moving_clip(tmp_path / "whole.mkv", 8).read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    with read_frames(tmp_path / "cut.mkv", fps=10.0) as reader:
        count = len(list(reader))

    assert 20 < count < 60
    assert reader.truncated
    assert "breaks off" in caplog.text


@pytest.mark.parametrize(("fps", "count"), [(10.0, 40), (None, 120)])
def test_the_rate_of_poses_is_a_choice(tmp_path, monkeypatch, fps, count):
    """Ten per second or, for animation, every frame; the clip is as long as its last frame says."""
    monkeypatch.setattr(estimator, "load_weights", lambda _: {})
    network = BlazePose(fps=fps)
    network._networks = Stage(Person(lambda _: (64, 48), size=80))
    (track,) = network.tracks(_moving_clip(tmp_path / "clip.mp4"))

    assert count == len(track.times)
    assert pytest.approx(119 / 30, abs=0.1) == track.clip_seconds


def test_threads_are_those_that_a_process_may_use(monkeypatch):
    """The cores it may run on, unless the usual variable says otherwise; shared among processes."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3, 5, 6, 7}, raising=False)
    assert (5, 2, 1) == (available_threads(), share_of_threads(2), share_of_threads(9))

    monkeypatch.setenv(VARIABLE, "2")
    assert (2, 1) == (available_threads(), share_of_threads(2))
    monkeypatch.setenv(VARIABLE, "many")
    assert 5 == available_threads()


class _Everywhere:
    """Sees one dancer in every video."""

    name = "everywhere"

    def tracks(self, _path, **_):
        motion = dancer(90)
        times = np.arange(len(motion.joints)) / motion.fps
        return [Track(0, times, motion.joints, None, motion.visibility, motion.skeleton)]


def test_skeletons_of_one_rate_are_not_taken_for_those_of_another(tmp_path):
    """What was extracted at the usual rate is refused, not returned, where every frame is asked for."""
    clip, folder = write_clip(tmp_path / "clip.mp4"), tmp_path / "out"
    usual, again, every = (
        next(extract([clip], folder, make_estimator=_Everywhere, every_frame=rate))
        for rate in (False, False, True)
    )

    assert (None, folder / "clip.npz") == (usual[0].error, usual[1])
    assert (None, folder / "clip.npz") == (again[0].error, again[1])
    assert "another rate" in str(every[0].error)

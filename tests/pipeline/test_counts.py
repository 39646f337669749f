import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_samples import run_main
from dance_samples import dance, write_dance
from dancematch.motion import excerpt
from dancematch.pipeline.counts.counts import Counted, Counts, describe_beats, describe_eight_count, units_of
from dancematch.pipeline.counts.movement import count_dance, count_movement
from dancematch.pipeline.counts.music import count_music, count_sound
from dancematch.pipeline.counts.sound import RATE
from dancematch.synthetic.dance.choreography import compose_dance, perform
from dancematch.types import Motion, Span

GRID = Counts(120.0, 0.5, 60.5, 1.0, "music")  # a beat every half second


@pytest.mark.parametrize(
    ("beats", "name"),
    [
        ((0, 7), "bar 1"),
        ((8, 23), "bars 2-3"),
        ((20, 23), "counts 5-8 of bar 3"),
        ((12, 13), "counts 5 and 6 of bar 2"),
        ((4, 4), "count 5 of bar 1"),
        ((4, 11), "bar 1, count 5 to bar 2, count 4"),
    ],
)
def test_beats_have_the_names_that_dancers_give_them(beats, name):
    assert name == describe_beats(*beats)


def test_a_teacher_speaks_of_eight_counts():
    assert "in counts 5 and 6 of the second eight-count" == describe_eight_count(12, 13)
    assert "in the 21st eight-count" == describe_eight_count(160, 167)
    assert "from count 7 of the first eight-count to count 2 of the second" == describe_eight_count(6, 9)


def test_a_span_is_named_by_the_counts_that_lie_mostly_within_it():
    assert "counts 1-4 of bar 1" == GRID.describe(Span(0.3, 2.6))
    assert "count 1 of bar 1" == GRID.describe(Span(0.0, 0.1))


@given(st.floats(0, 20), st.floats(0.1, 60), st.sampled_from([GRID, None]))
def test_units_cover_a_span_without_gaps(start, seconds, counts):
    units = list(units_of(counts, Span(start, start + seconds), 4, 2.0))
    edges = [unit.end for unit in units[:-1]]

    assert (start, start + seconds) == (units[0].start, units[-1].end)
    assert edges == [unit.start for unit in units[1:]]
    assert all(0.99 <= unit.seconds < 3.01 for unit in units[1:-1])


@pytest.mark.parametrize("bpm", [84, 110, 136])
def test_the_tempo_of_a_dance_is_seen_in_its_movement(bpm):
    counts = count_movement(perform(compose_dance(2, eight_counts=3, bpm=bpm))).counts

    assert bpm == pytest.approx(counts.bpm, rel=0.01)
    assert 0 == pytest.approx(counts.first, abs=0.25 * counts.seconds_per_count)
    assert 24 == len(counts.beats)


def test_where_no_beat_can_be_trusted_there_are_no_counts():
    """A still figure, one that only trembles, and a clip of one second."""
    moving = dance(2)
    still = np.repeat(moving.joints[:1], 300, axis=0)
    trembling = still + np.random.default_rng(0).normal(0, 0.001, still.shape).astype(np.float32)
    reasons = [
        count_movement(one).reason
        for one in (
            Motion(still, 30, moving.skeleton),
            Motion(trembling, 30, moving.skeleton),
            excerpt(moving, 0, 1),
        )
    ]

    assert ["there is too little movement to find the beat in"] * 2 == reasons[:2]
    assert "1.0 s of movement are too short to find the beat in; 5 s are needed" == reasons[2]


def drums(bpm: float, first: float, seconds: float = 12.0) -> np.ndarray:
    samples, rng = np.zeros(int(seconds * RATE), np.float32), np.random.default_rng(0)
    for beat in np.arange(first, seconds - 0.1, 60 / bpm):
        begin = int(beat * RATE)
        samples[begin : begin + 2000] += rng.normal(size=2000) * np.exp(-np.arange(2000) / 300)
    return samples


@pytest.mark.parametrize(("bpm", "first"), [(96, 0.1), (128, 0.33)])
def test_the_beat_of_drums_is_heard(bpm, first):
    counts = count_sound(drums(bpm, first), start=2.0).counts

    assert ("music", 14.0) == (counts.source, counts.end)
    assert bpm == pytest.approx(counts.bpm, rel=0.005)
    assert 2.0 + first == pytest.approx(counts.first, abs=0.03)


def test_silence_noise_and_a_second_of_sound_have_no_beat():
    noise = np.random.default_rng(1).normal(0, 0.1, 10 * RATE).astype(np.float32)

    assert "the sound track is silent" == count_sound(np.zeros(10 * RATE, np.float32)).reason
    assert "no tempo stands out in the sound track" == count_sound(noise).reason
    assert "1.0 s of sound are too short to find the beat in" == count_sound(noise[:RATE]).reason


def test_the_sound_track_of_a_file_is_read_and_its_absence_said(tmp_path):
    with av.open(str(tmp_path / "drums.wav"), "w") as file:
        stream = file.add_stream("pcm_s16le", rate=RATE, layout="mono")
        samples = np.clip(drums(100, 0.2) * 8000, -32000, 32000).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate = RATE
        file.mux([*stream.encode(frame), *stream.encode(None)])
    with av.open(str(tmp_path / "silent.mp4"), "w") as file:
        stream = file.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        picture = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
        file.mux([*stream.encode(picture), *stream.encode(None)])
    (tmp_path / "broken.mp4").write_bytes(b"no video")

    assert 100 == pytest.approx(count_music(tmp_path / "drums.wav").counts.bpm, rel=0.005)
    assert "there is no sound track" == count_music(tmp_path / "silent.mp4").reason
    assert count_music(tmp_path / "broken.mp4").reason.startswith("the sound track of ")


def test_music_decides_and_without_it_movement_does():
    heard = Counted(GRID)

    assert heard is count_dance(dance(2), heard)
    assert "movement" == count_dance(dance(2), Counted(None, "there is no sound track")).counts.source
    short = count_dance(excerpt(dance(2), 0, 1), Counted(None, "there is no sound track"))
    assert short.reason.startswith("there is no sound track, and 1.0 s of movement are too short")


def test_info_tells_the_tempo_of_a_dance(tmp_path):
    (told,) = run_main("info", write_dance(tmp_path / "two.npz", 2), "--json").objects

    assert "by the movement" == told["counts"]
    assert 110 == pytest.approx(told["beats_per_minute"], rel=0.02)

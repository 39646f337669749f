"""Which tracks are dancers: enough seconds, enough of a body, movement of its own."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import LEGS, dance, hardly_moving, standing, without
from dancematch.errors import NoDancerError
from dancematch.pose import estimate_dancers
from dancematch.pose.selection import FRAGMENT_SECONDS, find_fault, select_dancers, select_motions
from dancematch.pose.track import Track, seconds_seen
from dancematch.skeletons import BODY15
from dancematch.types import Motion

CLIP_SECONDS = 12.0
ARMS = ("left_elbow", "left_wrist", "right_elbow", "right_wrist")


def track(
    motion: Motion,
    *,
    start: float = 0.0,
    seconds: float = 12.0,
    x: float = 0.5,
    speed: float = 0.0,
    size: float = 0.3,
    clip_seconds: float | None = CLIP_SECONDS,
) -> Track:
    """A person who moves so, at `x` of the picture, `size` frame heights per metre, walking at `speed`."""
    count = min(len(motion.joints), round(seconds * motion.fps))
    times = start + np.arange(count) / motion.fps
    world = np.nan_to_num(motion.joints[:count] - motion.joints[:count, :1])
    image = np.array([0.5, 0.5]) + size * world[..., :2] * [1, -1]
    image[..., 0] += (x - 0.5) + speed * (times - start)[:, None] * size
    return Track(
        dancer=0, times=times, world=world, image=image.astype(np.float32),
        visibility=motion.visibility[:count], skeleton=motion.skeleton, clip_seconds=clip_seconds,
    )  # fmt: skip


def trembling(seed: int, metres: float) -> Motion:
    """A photograph, as a pose estimator reads it."""
    still = standing(360)
    noise = np.random.default_rng(seed).normal(0, metres, still.joints.shape)
    return Motion(still.joints + noise, still.fps, BODY15)


def reasons(*tracks: Track) -> list[str]:
    return [one.reason for one in select_dancers(tracks).ignored]


def test_a_dancer_is_a_dancer():
    chosen = select_dancers([track(dance(1))])

    assert ([1], ()) == ([one.dancer for one in chosen.dancers], chosen.ignored)


@pytest.mark.parametrize(
    ("ignored", "reason"),
    [
        (track(dance(2), start=3, seconds=1.5), "1.5 s, too short"),
        (track(without(dance(2), ARMS + LEGS), start=9.8, seconds=2.2), "2.2 s, head and shoulders only"),
        (track(standing(360), seconds=3), "3.0 s, does not move"),
        (track(trembling(1, 0.02), seconds=3), "3.0 s, does not move"),
        (track(dance(2), size=0.01), "8.7 s, too small"),
        (track(dance(2), size=0.12), "8.7 s, in the background"),
        (track(dance(2), start=2, seconds=3, x=0.1, speed=1.3), "3.0 s, crosses the picture"),
    ],
)
def test_what_is_no_dancer_is_named_with_the_reason(ignored, reason):
    """The dancer beside it stays, and is the first."""
    chosen = select_dancers([ignored, track(dance(1))])

    assert 1 == len(chosen.dancers)
    assert [reason] == [one.reason for one in chosen.ignored]
    assert (ignored.times[0], ignored.times[-1]) == (chosen.ignored[0].span.start, chosen.ignored[0].span.end)


def test_a_single_frame_is_too_short_to_show_movement():
    """As a video and as a motion file, however short the whole clip is."""
    frame = Motion(dance(1).joints[:1], 25.0, BODY15)
    _, ignored = select_motions([frame])

    assert ["0.0 s, too short"] == reasons(track(frame, clip_seconds=0.04))
    assert ["0.0 s, too short"] == [one.reason for one in ignored]
    assert "does not move" == find_fault(standing(120), 2.0)


def test_a_dancer_shown_small_before_a_cut_is_not_in_the_background():
    """A long shot first, then a close-up: both are the foreground of their own picture."""
    shots = track(dance(2), seconds=5, size=0.1), track(dance(1), start=5.5, size=0.4)

    assert 2 == len(select_dancers(shots).dancers)


def test_a_false_detection_that_flickers_is_no_dancer():
    whole = track(dance(2))
    rare = np.flatnonzero(np.arange(len(whole.times)) // 15 % 4 == 0)
    parts = {name: getattr(whole, name)[rare] for name in ("times", "world", "image", "visibility")}

    assert ["2.3 s, seen only now and then"] == reasons(track(dance(1)), replace(whole, **parts))


def test_legs_alone_and_arms_alone_are_a_body():
    """A clip from the waist down, and one of which the legs are out of the picture."""
    below = without(dance(1), (*ARMS, "left_shoulder", "right_shoulder", "neck", "head"))

    assert 2 == len(select_dancers([track(below), track(without(dance(2), LEGS))]).dancers)


def test_in_a_short_clip_half_of_it_is_enough():
    assert 1 == len(select_dancers([track(dance(1), seconds=0.9, clip_seconds=1.6)]).dancers)
    assert ["0.7 s, too short"] == reasons(track(dance(1), seconds=0.7, clip_seconds=1.6))


def test_a_dancer_who_travels_through_a_short_clip_is_no_passer_by():
    assert 1 == len(select_dancers([track(dance(1), seconds=4, speed=1.0, clip_seconds=4)]).dancers)


def test_the_end_screen_is_never_the_first():
    """Whatever its size: the dancer comes first, the avatar is not even second."""
    avatar = track(without(standing(360), ARMS + LEGS), start=12, seconds=3, size=0.9, clip_seconds=15)
    chosen = select_dancers([avatar, track(dance(1), clip_seconds=15)])

    assert [(1, 0.0)] == [(one.dancer, one.times[0]) for one in chosen.dancers]


def test_fragments_are_counted_in_one_entry():
    pieces = [track(dance(2), start=second, seconds=0.2) for second in range(4)]
    chosen = select_dancers([*pieces, track(dance(1))])

    (one,) = chosen.ignored
    assert (0.0, pytest.approx(3.17, abs=0.01)) == (one.span.start, one.span.end)
    assert "4 fragments shorter than 0.5 s" == one.reason


class _Screen:
    """An estimator that sees these tracks."""

    name = "screen"

    def __init__(self, *tracks: Track) -> None:
        self._tracks = list(tracks)

    def tracks(self, path, *, on_frame=None):
        assert ("end.mp4", None) == (path.name, on_frame)
        return self._tracks


def test_a_clip_without_a_dancer_says_why():
    screen = track(without(dance(2), ARMS + LEGS), start=9.8, seconds=2.2)
    with pytest.raises(NoDancerError, match=r"^no dancer in end\.mp4: 2\.2 s, head and shoulders only$"):
        estimate_dancers("end.mp4", _Screen(screen))
    with pytest.raises(NoDancerError, match=r"^no dancer in end\.mp4: no person was seen"):
        estimate_dancers("end.mp4", _Screen())


def test_motions_of_a_file_keep_their_numbers():
    dancing, ignored = select_motions([standing(120), dance(1), without(dance(2), ARMS + LEGS)])

    assert [2] == list(dancing)
    assert ["head and shoulders only", "does not move"] == [one.reason.partition(", ")[2] for one in ignored]


def test_a_waving_hand_is_movement_and_a_breath_is_none():
    """A hand that goes up and down by ten centimetres is enough, of a body far away, tiny or half hidden."""
    waving = without(hardly_moving(120), LEGS).joints

    assert "does not move" == find_fault(hardly_moving(120, metres=0.005), 4.0)
    for changed in (waving, waving + np.array([100, 0, 0]), waving / 100):
        assert find_fault(Motion(changed, 30.0, BODY15), 4.0) is None


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(0, 8), st.floats(0.1, 11), st.floats(0.05, 0.5)), max_size=5
    )
)
def test_every_track_is_either_a_dancer_or_ignored(people):
    """Numbers run from 1, and each person is listed once."""
    kinds = (dance(1), standing(360), trembling(3, 0.02), without(dance(2), ARMS + LEGS))
    tracks = [
        track(kinds[kind], start=start, seconds=seconds, size=size, clip_seconds=20)
        for kind, start, seconds, size in people
    ]
    chosen = select_dancers(tracks)

    fragments = sum(seconds_seen(one) < FRAGMENT_SECONDS for one in tracks)
    listed = len(chosen.dancers) + len(chosen.ignored)
    assert [*range(1, 1 + len(chosen.dancers))] == [one.dancer for one in chosen.dancers]
    assert len(tracks) - fragments <= listed <= len(tracks)
    assert all(find_fault(one.motion(), 20) is None for one in chosen.dancers)

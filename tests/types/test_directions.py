"""How bones point: what synchrony is measured on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance
from dancematch.directions import BONES, bone_directions, fingerprint_bones, mirror_bones, turned_bones
from dancematch.motion import camera_angle, face_camera, mirror, to_body15
from dancematch.types import BONE_SCALE, BONES_UNSEEN, Motion

FRAMES = 4


def moved(motion: Motion, joints: np.ndarray) -> Motion:
    return Motion(joints, motion.fps, motion.skeleton, motion.visibility, motion.start)


@pytest.mark.parametrize("number", range(3))
def test_place_and_size_do_not_count(number):
    """Somebody taller who stands elsewhere points the same way."""
    motion = to_body15(dance(number))
    other = moved(motion, 1.2 * motion.joints + np.array([2.0, 0.1, -1.0], np.float32))

    assert np.abs(bone_directions(motion, FRAMES).astype(int) - bone_directions(other, FRAMES)).max() <= 1


@pytest.mark.parametrize("number", range(3))
def test_mirrored_bones_are_those_of_the_mirrored_motion(number):
    """Mirroring what was kept is mirroring the dancer."""
    motion = dance(number)

    apart = bone_directions(mirror(motion), FRAMES).astype(int) - mirror_bones(
        bone_directions(motion, FRAMES)
    )
    assert np.abs(apart).max() <= 1


@settings(deadline=None)
@given(st.integers(0, 9), st.integers(0, 200), st.integers(1, 60))
def test_what_is_hidden_is_unseen(bone, first, count):
    """A bone whose end is hidden for a while is unseen in just the steps that lack half of their frames."""
    motion = to_body15(dance(1))
    visibility = motion.visibility.copy()
    joint = motion.skeleton.index(BONES[bone][1])
    visibility[first : first + count, joint] = 0
    seen = bone_directions(Motion(motion.joints, motion.fps, motion.skeleton, visibility), FRAMES)[
        :, 2 * bone
    ]

    steps = len(seen)
    hidden = (visibility[: steps * FRAMES, joint] == 0).reshape(steps, FRAMES).sum(axis=1) > FRAMES / 2
    assert (hidden == (seen == BONES_UNSEEN)).all()


def test_a_dancer_who_stands_still_has_no_directions():
    """Without movement nothing is left once the mean is taken out."""
    motion = to_body15(dance(0))
    still = moved(motion, np.repeat(motion.joints[:1], len(motion.joints), axis=0))

    assert np.abs(bone_directions(still, FRAMES)).max() == 0


def test_a_bone_that_swings_is_seen_to_swing():
    """An arm that goes up and down by 90 degrees once per second moves by about the scale."""
    motion = to_body15(dance(0))
    joints = np.repeat(motion.joints[:1], 120, axis=0).copy()
    angle = np.pi / 4 * np.sin(2 * np.pi * np.arange(120) / 30)
    elbow, wrist = motion.skeleton.index("left_elbow"), motion.skeleton.index("left_wrist")
    joints[:, wrist] = joints[:, elbow] + 0.25 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    found = bone_directions(Motion(joints, 30.0, motion.skeleton), FRAMES)
    place = [end for _, end in BONES].index("left_wrist")

    assert np.sin(np.pi / 4) * BONE_SCALE == pytest.approx(found[:, 2 * place + 1].max(), abs=6)


def filmed_from(degrees: float, motion: Motion) -> Motion:
    """The dancer as a camera sees that has gone round."""
    angle = np.radians(degrees)
    around = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    return moved(motion, (motion.joints @ around.T).astype(np.float32))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 3), st.floats(-180, 180))
def test_a_camera_that_goes_round_is_noticed_and_undone(number, degrees):
    """Wherever the camera stands, the dancer faces it in the end, and its angle is what it went by."""
    front = face_camera(to_body15(dance(number)))
    filmed = filmed_from(degrees, front)

    assert abs(degrees) == pytest.approx(camera_angle(filmed), abs=0.5)
    assert np.abs(face_camera(filmed).joints - front.joints).max() < 1e-3


@pytest.mark.parametrize("degrees", [0, 20, 60, 100, 150, 180])
def test_one_of_two_sides_is_the_front(degrees):
    """A fingerprint has the dancer as filmed, from behind turned round; queries from a side have both."""
    front = face_camera(to_body15(dance(1)))
    filmed = filmed_from(degrees, front)
    as_front, as_filmed = bone_directions(front, FRAMES), bone_directions(filmed, FRAMES)
    own, other = fingerprint_bones(filmed, FRAMES), turned_bones(filmed, FRAMES)

    assert np.abs(own.astype(int) - (as_front if degrees > 120 else as_filmed)).max() <= 1
    if degrees < 30:
        assert other is None
    else:
        assert np.abs(other.astype(int) - (as_filmed if degrees > 120 else as_front)).max() <= 1


def test_a_dancer_who_turns_round_and_round_is_filmed_from_no_side():
    motion = to_body15(dance(1))
    frames = len(motion.joints)
    turning = [filmed_from(360 * at / frames, motion).joints[at] for at in range(frames)]
    spun = moved(motion, np.stack(turning))

    assert camera_angle(spun) is None
    assert turned_bones(spun, FRAMES) is None

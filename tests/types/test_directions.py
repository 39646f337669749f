"""How bones point: what synchrony is measured on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dance_samples import dance
from dancematch.directions import BONES, bone_directions, mirror_bones
from dancematch.motion import mirror, to_body15
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

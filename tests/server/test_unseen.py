"""The service says which joints the camera did not see."""

import numpy as np

from dance_samples import dance
from dancematch.pipeline.analysis.file_analysis import ImageTrack
from dancematch.server.schemas.motions import ImageResponse, describe_motions
from dancematch.server.schemas.requests import MotionRequest
from dancematch.skeletons import BODY15
from dancematch.types import SEEN_FROM, Motion

HAND = BODY15.index("left_wrist")


def test_joints_that_were_not_seen_are_numbered_in_each_frame():
    """Below the visibility from which a word counts; their guessed places are sent all the same."""
    motion = dance(3)
    visibility = motion.visibility.copy()
    visibility[10, HAND], visibility[11, HAND] = SEEN_FROM - 0.01, SEEN_FROM
    guessed = Motion(motion.joints, motion.fps, motion.skeleton, visibility)
    (found,) = describe_motions({1: guessed}, MotionRequest(), "it")

    assert [[], [HAND], []] == found.unseen[9:12]
    assert len(found.frames) == len(found.unseen)
    assert None not in found.frames[10]


def test_joints_beyond_the_picture_are_not_seen():
    """However sure the estimator is of them."""
    image, visibility = np.full((2, 15, 2), 0.5, np.float32), np.ones((2, 15), np.float32)
    image[0, HAND], visibility[1, HAND] = (1.1, 0.5), 0.1
    found = ImageResponse.of("id", [ImageTrack(np.array([0.0, 0.1]), image, visibility)], BODY15)

    assert [[HAND], [HAND]] == found.dancers[0].unseen
    assert [1100, 500] == found.dancers[0].frames[0][2 * HAND : 2 * HAND + 2]

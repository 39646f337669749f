import numpy as np
import pytest

from dancematch.errors import InputError
from dancematch.motion import to_body15
from dancematch.skeletons import (
    BODY15,
    COCO17,
    RECIPES,
    SKELETONS,
    make_skeleton,
    recipe_for,
    sided_mirror,
)
from dancematch.types import Motion, Skeleton

COUNTS = {"body15": 15, "coco17": 17, "blazepose33": 33, "smpl24": 24, "openpose25": 25}


def test_layouts_have_the_joints_their_names_promise():
    assert COUNTS == {name: len(skeleton.joints) for name, skeleton in SKELETONS.items()}


@pytest.mark.parametrize("skeleton", SKELETONS.values(), ids=lambda skeleton: skeleton.name)
def test_mirroring_swaps_the_sides_and_nothing_else(skeleton):
    other_side = {"left": "right", "right": "left"}
    for name, other in zip(skeleton.joints, skeleton.mirror, strict=True):
        swapped = "_".join(other_side.get(part, part) for part in name.split("_"))
        assert swapped == skeleton.joints[other]


@pytest.mark.parametrize("skeleton", SKELETONS.values(), ids=lambda skeleton: skeleton.name)
def test_every_layout_hangs_together(skeleton):
    """One root, and both sides hang on the same kind of parent."""
    assert 1 == skeleton.parents.count(-1)
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            assert skeleton.mirror[parent] == skeleton.parents[skeleton.mirror[joint]]


@pytest.mark.parametrize("skeleton", SKELETONS.values(), ids=lambda skeleton: skeleton.name)
def test_every_layout_reaches_body15(skeleton):
    """The recipe names joints of the layout only, and a joint of one side is made from that side."""
    recipe = recipe_for(skeleton)

    assert BODY15.joints == tuple(recipe)
    for joint, parts in recipe.items():
        assert set(parts) <= set(skeleton.joints)
        if joint.startswith(("left", "right")):
            assert {joint.partition("_")[0]} == {part.partition("_")[0] for part in parts}


def test_every_recipe_belongs_to_a_layout():
    assert set(SKELETONS) == set(RECIPES)


def test_the_middle_of_two_joints_is_their_mean():
    joints = np.zeros((1, 17, 3), dtype=np.float32)
    joints[0, COCO17.index("left_hip")] = (0.2, 1, 0)
    joints[0, COCO17.index("right_hip")] = (-0.1, 1, 0.4)
    body = to_body15(Motion(joints, 30, COCO17))

    np.testing.assert_allclose([0.05, 1, 0.2], body.joints[0, BODY15.index("pelvis")], atol=1e-7)


def test_a_middle_is_as_visible_as_its_worse_half():
    joints = np.zeros((1, 17, 3), dtype=np.float32)
    visibility = np.ones((1, 17), dtype=np.float32)
    visibility[0, COCO17.index("left_hip")] = 0.25
    body = to_body15(Motion(joints, 30, COCO17, visibility))

    assert 0.25 == body.visibility[0, BODY15.index("pelvis")]
    assert 1 == body.visibility[0, BODY15.index("right_hip")]


def test_a_layout_of_ones_own_serves_if_it_uses_our_names():
    own = make_skeleton("mocap", " ".join(BODY15.joints) + " tail<pelvis")

    assert ("left_hip", "right_hip") == recipe_for(own)["pelvis"]


def test_a_layout_that_lacks_joints_is_refused_by_name():
    with pytest.raises(InputError, match="'arm' lacks head, left_ankle"):
        recipe_for(Skeleton("arm", ("left_shoulder", "left_elbow"), (-1, 0), (0, 1)))


def test_a_layout_may_lack_legs_and_head():
    """Shoulders, an elbow and the pelvis are enough; the joints that are not there are unseen."""
    half = make_skeleton("half", "pelvis left_shoulder<pelvis right_shoulder<pelvis left_elbow<left_shoulder")
    body = to_body15(Motion(np.ones((2, 4, 3), dtype=np.float32), 30, half))
    seen = [BODY15.joints[joint] for joint in np.flatnonzero(body.visibility[0])]

    assert ["pelvis", "neck", "left_shoulder", "left_elbow", "right_shoulder"] == seen
    assert np.isnan(body.joints[:, BODY15.index("left_knee")]).all()


def test_sides_are_paired_by_name():
    assert (0, 2, 1, 3) == sided_mirror(["hips", "LeftFoot", "RightFoot", "LeftHand"], "Left", "Right")

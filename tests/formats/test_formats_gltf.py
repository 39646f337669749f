"""Motions as .glb files, looked at through pygltflib."""

import json
import struct

import numpy as np
import pytest

import dancematch
from dance_samples import LEGS, dance, without
from dancematch.errors import InputError
from dancematch.formats.motion_capture.gltf_write import APART_METRES, HEAD_METRES, leave_out_unseen
from dancematch.skeletons import BODY15, COCO17
from dancematch.types import Motion
from formats_samples import coco_joints, dancer
from gltf_figures import read_figures


def write_and_read(path, *motions):
    dancematch.write_motions(path, motions)
    return read_figures(path)


def moved(motion, metres, start=0.0):
    return Motion(motion.joints + np.float32([metres, 0, 0]), motion.fps, motion.skeleton, start=start)


def test_a_figure_moves_as_the_dancer_does(tmp_path):
    """Every joint at every frame, in metres and seconds from the motion's start."""
    motion = dancer(40, fps=25.0, start=12.0)
    (figure,) = write_and_read(tmp_path / "x.glb", motion)

    assert ("dancer 1", BODY15.joints) == (figure.name, tuple(figure.joints))
    np.testing.assert_allclose(np.arange(40) / 25, figure.times, atol=1e-6)
    np.testing.assert_allclose(motion.joints, np.stack(list(figure.joints.values()), axis=1), atol=1e-5)


def test_a_body_goes_with_its_joints(tmp_path):
    """In every frame it reaches beyond every joint, and no vertex is farther from one than the head's are."""
    motion = dancer()
    (figure,) = write_and_read(tmp_path / "x.glb", motion)
    far = np.linalg.norm(figure.vertices[:, :, None] - motion.joints[:, None], axis=3).min(axis=2)

    assert (figure.vertices.max(axis=1) > motion.joints.max(axis=1)).all()
    assert (figure.vertices.min(axis=1) < motion.joints.min(axis=1)).all()
    assert far.max() <= HEAD_METRES + 1e-5


def test_bones_join_the_joints(tmp_path):
    """The mesh of a body is in one piece: from any ball every other is reached, but for the head's own."""
    motion = Motion(coco_joints(), 30.0, COCO17)
    (figure,) = write_and_read(tmp_path / "x.glb", motion)
    group = np.arange(figure.vertices.shape[1])
    for _ in range(len(COCO17.joints)):
        for triangle in figure.triangles:
            group[triangle] = group[triangle].min()

    assert 2 == len(np.unique(group))


def test_gaps_are_interpolated_and_ends_are_held(tmp_path):
    joints = dancer(20).joints.copy()
    joints[:5, 5] = joints[8:12, 5] = joints[15:, 5] = np.nan
    (figure,) = write_and_read(tmp_path / "x.glb", Motion(joints, 30.0, BODY15))
    wrist = figure.joints["left_wrist"]

    np.testing.assert_allclose(np.tile(joints[5, 5], (5, 1)), wrist[:5], atol=1e-5)
    np.testing.assert_allclose(np.tile(joints[14, 5], (5, 1)), wrist[15:], atol=1e-5)
    np.testing.assert_allclose(np.linspace(joints[7, 5], joints[12, 5], 6)[1:-1], wrist[8:12], atol=1e-5)


def test_a_joint_that_is_never_seen_is_left_out(tmp_path):
    (figure,) = write_and_read(tmp_path / "x.glb", without(dance(1), LEGS))

    assert [joint for joint in BODY15.joints if joint not in LEGS] == list(figure.joints)
    assert np.isfinite(figure.vertices).all()


def test_what_hangs_from_an_unseen_joint_hangs_from_the_next_above():
    """Or from the first that is seen, so that there is one root still."""
    arm = leave_out_unseen(without(dancer(), ["left_elbow"])).skeleton
    torso = leave_out_unseen(without(dancer(), ["pelvis"])).skeleton

    assert "left_shoulder" == arm.joints[arm.parents[arm.index("left_wrist")]]
    assert ("right_elbow", arm.index("left_wrist")) == (
        arm.joints[arm.mirror[arm.index("right_elbow")]], arm.mirror[arm.index("right_wrist")],
    )  # fmt: skip
    assert (1, "neck") == (torso.parents.count(-1), torso.joints[torso.parents[torso.index("left_hip")]])


def test_dancers_keep_their_places_and_one_clock(tmp_path):
    """The second comes into view a second later, two metres aside."""
    first, second = dancer(40, start=3.0), moved(dancer(40), 2.0, start=4.0)
    figures = write_and_read(tmp_path / "x.glb", first, second)

    assert ["dancer 1", "dancer 2"] == [figure.name for figure in figures]
    assert [0.0, 1.0] == [figure.times[0] for figure in figures]
    np.testing.assert_allclose(second.joints[:, 0], figures[1].joints["pelvis"], atol=1e-5)


def test_dancers_in_one_place_stand_side_by_side(tmp_path):
    """As pose estimators give them, each around the hips; bodies are where the joints are."""
    figures = write_and_read(tmp_path / "x.glb", dancer(), dancer(), dancer())
    middles = [figure.joints["pelvis"][0, 0] for figure in figures]
    bodies = [figure.vertices[0, :12].mean(axis=0)[0] for figure in figures]  # the pelvis's ball

    np.testing.assert_allclose([APART_METRES, APART_METRES], np.diff(middles), atol=1e-5)
    np.testing.assert_allclose(middles, bodies, atol=1e-5)


def test_the_document_says_what_viewers_need(tmp_path):
    """One scene, one animation, bounds of times and positions, a colour per dancer."""
    write_and_read(tmp_path / "x.glb", dancer(), dancer())
    content = (tmp_path / "x.glb").read_bytes()
    (length,) = struct.unpack("<I", content[12:16])
    told = json.loads(content[20 : 20 + length])
    colours = [one["pbrMetallicRoughness"]["baseColorFactor"] for one in told["materials"]]
    clocks = {one["input"] for one in told["animations"][0]["samplers"]}

    assert ("2.0", 1, 1) == (told["asset"]["version"], len(told["scenes"]), len(told["animations"]))
    assert 2 == len(set(map(tuple, colours))) == len(clocks)
    assert all({"min", "max"} <= set(told["accessors"][clock]) for clock in clocks)
    assert all(view["byteOffset"] % 4 == 0 for view in told["bufferViews"])


def test_what_cannot_be_written_leaves_no_file(tmp_path):
    unseen = Motion(np.full((3, 15, 3), np.nan), 30.0, BODY15)
    for motions, complaint in (([], "one dancer or more"), ([unseen], "this dancer has none")):
        with pytest.raises(InputError, match=complaint):
            dancematch.write_motions(tmp_path / "x.glb", motions)

    assert [] == list(tmp_path.iterdir())


def test_another_file_is_kept_unless_it_may_be_replaced(tmp_path):
    (tmp_path / "x.glb").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        dancematch.write_motions(tmp_path / "x.glb", [dancer()])
    assert "mine" == (tmp_path / "x.glb").read_text()
    dancematch.write_motions(tmp_path / "x.glb", [dancer()], overwrite=True)

    assert 1 == len(read_figures(tmp_path / "x.glb"))

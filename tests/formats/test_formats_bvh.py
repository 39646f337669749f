import time

import numpy as np
import pytest

from dancematch import formats
from dancematch.errors import FormatError, InputError
from dancematch.formats.motion_capture.bvh_names import parse_joint_name
from dancematch.motion import canonicalise, to_body15
from dancematch.skeletons import BLAZEPOSE33, BODY15, COCO17, SMPL24, recipe_for
from dancematch.types import Motion, Skeleton
from formats_samples import REST, coco_joints, dancer

CHAIN = "pelvis neck head left_shoulder left_elbow left_wrist right_shoulder right_elbow right_wrist"
CHAIN += " left_hip left_knee left_ankle right_hip right_knee right_ankle"
STYLES = {
    "CMU": "Hips Neck Head LeftArm LeftForeArm LeftHand RightArm RightForeArm RightHand LeftUpLeg LeftLeg"
    " LeftFoot RightUpLeg RightLeg RightFoot",
    "Mixamo": "mixamorig:Hips mixamorig:Neck mixamorig:Head mixamorig:LeftArm mixamorig:LeftForeArm"
    " mixamorig:LeftHand mixamorig:RightArm mixamorig:RightForeArm mixamorig:RightHand"
    " mixamorig:LeftUpLeg mixamorig:LeftLeg mixamorig:LeftFoot mixamorig:RightUpLeg"
    " mixamorig:RightLeg mixamorig:RightFoot",
    "3ds Max": "Bip01~Pelvis Bip01~Neck Bip01~Head Bip01~L~UpperArm Bip01~L~Forearm Bip01~L~Hand"
    " Bip01~R~UpperArm Bip01~R~Forearm Bip01~R~Hand Bip01~L~Thigh Bip01~L~Calf Bip01~L~Foot"
    " Bip01~R~Thigh Bip01~R~Calf Bip01~R~Foot",
    "Blender": "hips neck head upper_arm.L forearm.L hand.L upper_arm.R forearm.R hand.R thigh.L shin.L"
    " foot.L thigh.R shin.R foot.R",
    "Biovision": "Hips Neck Head LeftShoulder LeftElbow LeftWrist RightShoulder RightElbow RightWrist LeftHip"
    " LeftKnee LeftAnkle RightHip RightKnee RightAnkle",
    "Poser": "hip neck head lShldr lForeArm lHand rShldr rForeArm rHand lThigh lShin lFoot rThigh rShin"
    " rFoot",
    "Unreal": "pelvis neck_01 head upperarm_l lowerarm_l hand_l upperarm_r lowerarm_r hand_r thigh_l calf_l"
    " foot_l thigh_r calf_r foot_r",
    "Xsens": "Pelvis Neck Head LeftUpperArm LeftForeArm LeftHand RightUpperArm RightForeArm RightHand"
    " LeftUpperLeg LeftLowerLeg LeftFoot RightUpperLeg RightLowerLeg RightFoot",
    "Rokoko": "Hips Neck Head LeftArm LeftForeArm LeftHand RightArm RightForeArm RightHand LeftThigh LeftShin"
    " LeftFoot RightThigh RightShin RightFoot",
    "ASF": "root lowerneck head lhumerus lradius lhand rhumerus rradius rhand lfemur ltibia lfoot rfemur"
    " rtibia rfoot",
    "an actor's name": "Bob_Hips Bob_Neck Bob_Head Bob_LeftArm Bob_LeftForeArm Bob_LeftHand Bob_RightArm"
    " Bob_RightForeArm Bob_RightHand Bob_LeftUpLeg Bob_LeftLeg Bob_LeftFoot Bob_RightUpLeg"
    " Bob_RightLeg Bob_RightFoot",
    "foot ankles": "Hips Neck Head LeftUpperArm LeftLowerArm LeftHand RightUpperArm RightLowerArm RightHand"
    " LeftUpperLeg LeftLowerLeg LeftFootAnkle RightUpperLeg RightLowerLeg RightFootAnkle",
    "legs and knees": "Center Neck Head LeftArm LeftElbow LeftWrist RightArm RightElbow RightWrist LeftLeg"
    " LeftKnee LeftAnkle RightLeg RightKnee RightAnkle",
}


def bvh(
    names=BODY15.joints, *, unit=0.01, rows=None, period="0.0333333", channels="Zrotation Xrotation Yrotation"
):
    """Make BVH text of the rest pose under other names, depth first, in units of `unit` metres."""

    def block(joint):
        name, parent = BODY15.joints[joint], BODY15.parents[joint]
        base = REST[BODY15.joints[parent]] if parent >= 0 else REST[name]
        offset = " ".join(f"{v / unit:.6e}" for v in np.subtract(REST[name], base))
        places = "" if parent >= 0 else "Xposition Yposition Zposition "
        own = f"{places}{channels}"
        children = [block(child) for child, above in enumerate(BODY15.parents) if above == joint]
        inner = "".join(children) or "End Site\n{\nOFFSET 0 1 0\n}\n"
        kind = "JOINT" if parent >= 0 else "ROOT"
        return (
            f"{kind} {names[joint]}\n{{\n\tOFFSET {offset}\n\tCHANNELS {len(own.split())} {own}\n{inner}}}\n"
        )

    rows = still(3, unit) if rows is None else rows
    numbers = "\n".join(" ".join(f"{v:.6f}" for v in row) for row in rows)
    return f"HIERARCHY\n{block(0)}MOTION\nFrames: {len(rows)}\nFrame Time: {period}\n{numbers}\n"


def still(frames, unit=0.01):
    """Channel values of the rest pose, every rotation zero."""
    rows = np.zeros((frames, 3 + 3 * 15))
    rows[:, :3] = np.array(REST["pelvis"]) / unit
    return rows


def read_text(folder, text):
    (folder / "a.bvh").write_bytes(text.encode())
    return formats.read(folder / "a.bvh")


@pytest.mark.parametrize("style", STYLES)
def test_every_common_naming_reaches_body15(tmp_path, style):
    """Whatever the software calls a joint, it is found under its name in body15."""
    names = [name.replace("~", " ") for name in STYLES[style].split()]
    (motion,) = read_text(tmp_path, bvh(names))
    found = {joint: motion.joints[0, motion.skeleton.joints.index(joint)] for joint in CHAIN.split()[1:]}

    assert recipe_for(motion.skeleton)
    for joint, place in found.items():
        np.testing.assert_allclose(REST[joint], place, atol=1e-4, err_msg=joint)
    left, right = motion.skeleton.index("left_knee"), motion.skeleton.index("right_knee")
    assert motion.skeleton.mirror[left] == right


def test_collar_bones_are_not_shoulders(tmp_path):
    """Where a file has both LeftShoulder and LeftArm, the arm's start is the shoulder."""
    names = ["Hips", "LeftShoulder", *STYLES["CMU"].split()[2:]]
    (motion,) = read_text(tmp_path, bvh(names))

    np.testing.assert_allclose(
        REST["left_shoulder"], motion.joints[0, motion.skeleton.index("left_shoulder")], atol=1e-4
    )
    assert "LeftShoulder" in motion.skeleton.joints


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LHipJoint", ("left", "hip")),
        ("CC_Base_R_Forearm", ("right", "forearm")),
        ("J_Bip_C_Head", ("", "head")),
        ("ValveBiped.Bip01_L_Thigh", ("left", "thigh")),
        ("RIGHTFOOT", ("right", "foot")),
        ("leg", ("", "leg")),
        ("LeftForeArmRoll", ("left", "forearmroll")),
        ("LeftFootAnkle", ("left", "footankle")),
        ("", ("", "")),
    ],
)
def test_names_are_taken_apart(name, expected):
    assert expected == parse_joint_name(name)


@pytest.mark.parametrize("unit", [1.0, 0.0254 / 0.45, 0.0254, 0.01, 0.001])
def test_the_unit_is_inferred(tmp_path, unit):
    """The same body in metres, CMU's unit, inches, centimetres or millimetres has the same size."""
    (motion,) = read_text(tmp_path, bvh(unit=unit, rows=still(3, unit)))

    np.testing.assert_allclose(REST["head"], motion.joints[0, motion.skeleton.index("head")], atol=1e-3)


def test_an_unknown_unit_gives_a_natural_height(tmp_path):
    (motion,) = read_text(tmp_path, bvh(unit=0.3, rows=still(3, 0.3)))

    assert 1.2 < np.ptp(motion.joints[0, :, 1]) < 1.8


@pytest.mark.parametrize("order", ["ZXY", "XYZ", "YZX", "ZYX"])
def test_rotations_apply_in_the_order_of_the_channels(tmp_path, order):
    """The first channel turns last: checked against a product of plain matrices."""
    angles = {"X": 0.4, "Y": -0.7, "Z": 1.1}
    rows = still(3)
    rows[:, 3:6] = [np.degrees(angles[axis]) for axis in order]
    (motion,) = read_text(tmp_path, bvh(rows=rows, channels=" ".join(f"{axis}rotation" for axis in order)))

    def plain(axis):
        c, s = np.cos(angles[axis]), np.sin(angles[axis])
        return {
            "X": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
            "Y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
            "Z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
        }[axis]

    turned = plain(order[0]) @ plain(order[1]) @ plain(order[2])
    expected = np.array(REST["pelvis"]) + turned @ np.subtract(REST["left_wrist"], REST["pelvis"])
    np.testing.assert_allclose(expected, motion.joints[0, motion.skeleton.index("left_wrist")], atol=1e-4)


def test_line_ends_tabs_and_case_do_not_matter(tmp_path):
    """CRLF, old Mac line ends, tabs and braces on the same line are all the same file."""
    text = bvh()
    expected = read_text(tmp_path, text)[0].joints
    crlf, mac = text.replace("\n", "\r\n"), text.replace("\n", "\r")
    for variant in (crlf, mac, text.replace("\n{", " {"), text.replace("rotation", "ROTATION")):
        np.testing.assert_array_equal(expected, read_text(tmp_path, variant)[0].joints)


@pytest.mark.parametrize(
    ("period", "fps"),
    [(".0083333", 120), ("0.033333", 30), ("0.0333667", 29.97), ("0.04", 25), ("1.0e-2", 100)],
)
def test_the_rate_is_the_one_meant(tmp_path, period, fps):
    """A cut-off period means the whole rate; 29.97 is not rounded to 30."""
    assert fps == pytest.approx(read_text(tmp_path, bvh(period=period))[0].fps, rel=1e-5)


def _dance(frames=30):
    rows = still(frames)
    rows[:, 12:15] = np.linspace(50, 60, frames)[:, None] * (1, 0, 0)  # the left upper arm, somewhere else
    return rows


@pytest.mark.parametrize("calibration", ["unturned", "arms out"])
def test_a_calibration_pose_in_front_is_dropped(tmp_path, calibration):
    """A T-pose before the dance is dropped, and the clock goes on as in the file."""
    rows = _dance()
    rows[0] = still(1)[0]
    if calibration == "arms out":
        rows[0, 4] = 25.0  # something is turned, but the arms are level
    (motion,) = read_text(tmp_path, bvh(rows=rows))

    assert (29, pytest.approx(1 / 30)) == (len(motion.joints), motion.start)


def test_a_dance_that_starts_smoothly_keeps_its_first_frame(tmp_path):
    """Arms out is a pose like any other where the second frame continues it."""
    rows = _dance()
    rows[:, 12] = np.linspace(0, 60, len(rows))

    assert len(rows) == len(read_text(tmp_path, bvh(rows=rows))[0].joints)
    assert len(rows) == len(read_text(tmp_path, bvh(rows=_dance()))[0].joints)


def test_a_body_along_z_is_stood_up(tmp_path):
    """A file with z up is read with y up, left still left."""
    rows = still(3)
    rows[:, 3:6] = [0, 90, 0]  # about x: what was up points along z
    (motion,) = read_text(tmp_path, bvh(rows=rows))
    head, ankle, hip = (
        motion.joints[0, motion.skeleton.index(j)] for j in ("head", "left_ankle", "left_hip")
    )

    assert head[1] - ankle[1] > 1.4
    assert hip[0] > motion.joints[0, motion.skeleton.index("right_hip"), 0]


def without(text, *names):
    """BVH text without the joints of these names and what hangs below them, and without their numbers."""
    header, motion = text.split("MOTION\n")
    columns, kept, open_blocks, dropped, lines = 0, [], 0, None, []
    for line in header.splitlines():
        word, _, name = line.strip().partition(" ")
        if dropped is None and word == "JOINT" and name in names:
            dropped = open_blocks
        if word == "CHANNELS":
            count = int(name.split()[0])
            kept += [] if dropped is not None else range(columns, columns + count)
            columns += count
        lines += [] if dropped is not None else [line]
        open_blocks += (word == "{") - (word == "}")
        if word == "}" and open_blocks == dropped:
            dropped = None
    frames, period, *rows = motion.splitlines()
    numbers = [" ".join(np.array(row.split())[kept]) for row in rows]
    return "\n".join([*lines, "MOTION", frames, period, *numbers, ""])


@pytest.mark.parametrize("unit", [1.0, 0.01])
@pytest.mark.parametrize("lost", ["ankle", "knee", "hip"])
def test_a_body_without_legs_is_read_and_searched_by_its_arms(tmp_path, lost, unit):
    """What the file lacks is unseen; size, place and the rest of the body are as with it."""
    whole = bvh(unit=unit, rows=still(3, unit))
    (motion,) = read_text(tmp_path, without(whole, f"left_{lost}", f"right_{lost}"))
    body = to_body15(motion)
    unseen = ["ankle", "knee", "hip"][: ["ankle", "knee", "hip"].index(lost) + 1]

    assert {name for name in BODY15.joints if name.rpartition("_")[2] in unseen} == {
        BODY15.joints[joint] for joint in np.flatnonzero(body.visibility[0] == 0)
    }
    for joint in ("head", "left_wrist", "right_elbow"):
        np.testing.assert_allclose(REST[joint], body.joints[0, BODY15.index(joint)], atol=1e-3)
    canonical = canonicalise(motion)
    assert np.isfinite(canonical.joints[:, canonical.skeleton.index("left_wrist")]).all()


@pytest.mark.parametrize("lost", [("left_shoulder",), ("left_elbow", "right_elbow")])
def test_less_than_shoulders_and_an_elbow_is_refused(tmp_path, lost):
    with pytest.raises(FormatError, match=r"a\.bvh.*recognised as the (shoulders|elbow)"):
        read_text(tmp_path, without(bvh(), *lost))


def test_two_roots_are_two_dancers(tmp_path):
    text = bvh()
    header, motion = text.removeprefix("HIERARCHY\n").split("MOTION\n")
    frames, period, *rows = motion.splitlines()
    doubled = "\n".join([frames, period, *(f"{row} {row}" for row in rows)])
    found = read_text(tmp_path, f"HIERARCHY\n{header}{header}MOTION\n{doubled}\n")

    assert len(found) == 2
    np.testing.assert_array_equal(found[0].joints, found[1].joints)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("Frames: 3", "Frames: 4", "announced"),
        ("Frames: 3", "Frames: 999999999999", "announced"),
        ("Frames: 3", "Frames: 0", "Frames"),
        ("Frames: 3", "Frames: -3", "Frames"),
        ("Time: 0.0333333", "Time: 0", "frame time"),
        ("Time: 0.0333333", "Time: nan", "not finite"),
        (" 0.000000 ", " zero ", "number"),
        (" 0.000000 ", " inf ", "not finite"),
        ("MOTION", "NOTION", "MOTION"),
        ("CHANNELS 6", "CHANNELS 5", "channels"),
        ("Zrotation", "Wrotation", "channels"),
        ("OFFSET", "OFFSET 1", "offset"),
        ("JOINT", "LIMB", "unexpected line"),
        ("left_", "port_", "recognised"),
        ("End Site\n{", "End Site\n", "damaged|unexpected"),
    ],
)
def test_damage_is_named(tmp_path, old, new, complaint):
    """Each kind of damage gives one sentence that names the file and what is wrong."""
    with pytest.raises(FormatError, match=rf"a\.bvh.*({complaint})"):
        read_text(tmp_path, bvh().replace(old, new))


@pytest.mark.parametrize("skeleton", [BODY15, COCO17, SMPL24, BLAZEPOSE33], ids=lambda s: s.name)
def test_what_is_written_is_read_back_within_a_millimetre(tmp_path, skeleton):
    """Places, rate and layout of every named skeleton survive, with rigid bones or without."""
    rng = np.random.default_rng(7)
    if skeleton is BODY15:
        joints = dancer().joints
    elif skeleton is COCO17:
        joints = coco_joints(30)
    else:
        body = {name: np.array(place) for name, place in REST.items()}
        rest = np.array([body.get(joint, np.array([0.0, 1.2, 0.1])) for joint in skeleton.joints])
        joints = rest + np.cumsum(rng.normal(0, 0.01, (30, len(rest), 3)), axis=0)
    written = Motion(joints.astype(np.float32), 25, skeleton)
    formats.write(tmp_path / "a.bvh", [written])
    (found,) = formats.read(tmp_path / "a.bvh")

    assert (skeleton, 25.0, 0.0) == (found.skeleton, found.fps, found.start)
    np.testing.assert_allclose(written.joints, found.joints, atol=1e-3)


def test_a_files_own_layout_survives_another_round(tmp_path):
    """Collar bones and hip bones beside shoulders and hips do not change places with them."""
    names = ["Hips", "LeftShoulder", "Head", *STYLES["CMU"].split()[3:]]
    (first,) = read_text(tmp_path, bvh(names))
    formats.write(tmp_path / "b.bvh", [first])
    (second,) = formats.read(tmp_path / "b.bvh")

    assert first.skeleton == second.skeleton
    np.testing.assert_allclose(first.joints, second.joints, atol=1e-3)


def test_rotations_carry_the_motion_of_rigid_bones(tmp_path):
    """Without its position channels below the root, the file still shows the same dance."""
    formats.write(tmp_path / "a.bvh", [dancer()])
    lines = (tmp_path / "a.bvh").read_text().splitlines()
    start = lines.index("MOTION") + 3
    for number in range(start, len(lines)):
        values = np.array(lines[number].split(), float).reshape(-1, 6)
        values[1:, :3] = 0
        lines[number] = " ".join(f"{value:.5f}" for value in values.ravel())
    (tmp_path / "b.bvh").write_text("\n".join(lines))

    np.testing.assert_allclose(dancer().joints, formats.read(tmp_path / "b.bvh")[0].joints, atol=2e-3)


def test_gaps_are_interpolated_on_writing(tmp_path):
    joints = dancer().joints.copy()
    joints[10, 5] = np.nan
    formats.write(tmp_path / "a.bvh", [Motion(joints, 30, BODY15)])

    expected = (joints[9, 5] + joints[11, 5]) / 2
    np.testing.assert_allclose(expected, formats.read(tmp_path / "a.bvh")[0].joints[10, 5], atol=1e-3)


def test_what_bvh_cannot_hold_is_refused(tmp_path):
    """Two dancers, a joint never seen, or two roots are refused, and nothing is written."""
    unseen = dancer().joints.copy()
    unseen[:, 5] = np.nan
    pair = Skeleton("pair", ("a", "b"), (-1, -1), (0, 1))
    refused = [
        [dancer(), dancer()],
        [Motion(unseen, 30, BODY15)],
        [Motion(np.zeros((3, 2, 3), np.float32), 30, pair)],
    ]
    for motions in refused:
        with pytest.raises(InputError):
            formats.write(tmp_path / "a.bvh", motions)
    assert list(tmp_path.iterdir()) == []


def test_a_long_file_is_read_quickly(tmp_path):
    """A megabyte and a half takes well under a second of this process."""
    formats.write(tmp_path / "a.bvh", [dancer(2200)])
    size = (tmp_path / "a.bvh").stat().st_size
    began = time.process_time()
    formats.read(tmp_path / "a.bvh")

    assert size > 1.4e6
    assert time.process_time() - began < 1.0

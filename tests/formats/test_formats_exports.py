"""Files in the layouts that pose tools and their users write."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dancematch import formats
from dancematch.errors import FormatError, InputError
from dancematch.formats import limits
from dancematch.motion import to_body15
from dancematch.skeletons import BLAZEPOSE33, BODY15, COCO17, OPENPOSE25
from formats_samples import (
    SAMPLES,
    coco_joints,
    landmarks,
    openpose_frame,
    picture_marks,
    pixels,
    posenet_pose,
    practice_track,
    write_named_mediapipe,
)

EXAMPLES = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LIMBS = [joint for joint in BODY15.joints if joint.startswith(("left", "right"))]


def write_json(path, content):
    path.write_text(json.dumps(content))
    return path


def limbs(motion):
    """Places of the limbs [frames, 12, 3] around the mid-hip, in the picture, for a torso of half a metre."""
    body = to_body15(motion).joints
    places = (body - body[:, :1])[:, [BODY15.index(joint) for joint in LIMBS]]
    torso = np.linalg.norm((body[:, 1] - body[:, 0])[:, :2], axis=-1)
    return places * (0.5 / np.median(torso)) * (1, 1, 0)


def true_limbs(frames=12):
    """What `limbs` gives for the dancer of the samples."""
    joints = coco_joints(frames)
    place = {name: joints[:, COCO17.index(name)] for name in LIMBS}
    hips, neck = ((place[f"left_{p}"] + place[f"right_{p}"]) / 2 for p in ("hip", "shoulder"))
    torso = np.median(np.linalg.norm((neck - hips)[:, :2], axis=-1))
    return np.stack([place[name] - hips for name in LIMBS], axis=1) * (0.5 / torso) * (1, 1, 0)


def read_one(path, write, *arguments, **options):
    write(path, *arguments)
    (motion,) = formats.read(path, **options)
    return motion


PICTURES = ["openpose.json", "alphapose.json", "dance_1_keypoints.json", "landmarks.csv", "movenet.csv"]


@pytest.mark.parametrize("name", PICTURES)
def test_the_same_dance_comes_out_of_every_layout(tmp_path, name):
    """Whatever tool wrote it, the dancer has the same limbs in the picture, upright, at 30 a second."""
    motion = read_one(tmp_path / name, SAMPLES[name])

    assert (12, 30.0, 0.0) == (len(motion.joints), motion.fps, motion.start)
    np.testing.assert_allclose(true_limbs(), limbs(motion), atol=1e-3)


@EXAMPLES
@given(
    shape=st.sampled_from([(1080, 1920), (1920, 1080), (640, 640)]),
    numbers=st.integers(2, 4),
    named=st.booleans(),
)
def test_fractions_of_any_usual_picture_give_the_same_body(tmp_path, shape, numbers, named):
    """The picture's shape is found by the body's proportions; lists and names, with depth or not, agree."""
    marks = [picture_marks(pose, *shape)[:, :numbers].tolist() for pose in coco_joints()]
    keys = ("x", "y", "z", "visibility")
    if named:
        marks = [
            {f"PoseLandmark.{joint.upper()}": dict(zip(keys, mark, strict=False))
             for joint, mark in zip(BLAZEPOSE33.joints, frame, strict=True)}
            for frame in marks
        ]  # fmt: skip
    (motion,) = formats.read(write_json(tmp_path / "a.json", marks))

    assert 12 == len(motion.joints)
    np.testing.assert_allclose(true_limbs(), limbs(motion), atol=2e-3)


@EXAMPLES
@given(scale=st.floats(0.2, 5), x=st.floats(-300, 3000), y=st.floats(-300, 3000), ms=st.booleans())
def test_pixels_of_any_size_and_place_give_the_same_body(tmp_path, scale, x, y, ms):
    """PoseNet's places count from any corner in any resolution, its stamps in seconds or milliseconds."""
    moved = pixels() * (scale, scale, 1) + (x, y, 0)
    step = 40 if ms else 0.04
    records = [{"pose": [posenet_pose(p)], "timestamp": 7 + step * n} for n, p in enumerate(moved)]
    (motion,) = formats.read(write_json(tmp_path / "a.json", {"poseRecords": records}))

    assert (12, pytest.approx(25), 0.0) == (len(motion.joints), motion.fps, motion.start)
    np.testing.assert_allclose(true_limbs(), limbs(motion), atol=1e-3)


def test_a_copy_of_y_is_no_depth(tmp_path):
    """One exporter writes y where z belongs: the dancer is flat, not leaning by half a body."""
    motion = read_one(tmp_path / "a.json", write_named_mediapipe)

    assert BLAZEPOSE33 == motion.skeleton
    assert (motion.joints[..., 2] == 0).all()
    assert motion.visibility[0, 0] == pytest.approx(0.8)


def test_a_file_of_names_says_its_rate_and_picture(tmp_path):
    """Beside the frames, fps, width and height are used where they are there."""
    write_named_mediapipe(tmp_path / "a.json", (400, 300), fps=24, width=400, height=300)
    (motion,) = formats.read(tmp_path / "a.json")

    assert 24.0 == motion.fps
    np.testing.assert_allclose(true_limbs(), limbs(motion), atol=1e-3)


def test_landmarks_around_the_hips_are_metres(tmp_path):
    """Nested lists whose mid-hip is the origin are world landmarks: nothing is scaled."""
    poses = coco_joints(5)
    poses = poses - (poses[:, [11]] + poses[:, [12]]) / 2
    lists = [[[m["x"], m["y"], m["z"]] for m in landmarks(pose)] for pose in poses]
    (motion,) = formats.read(write_json(tmp_path / "a.json", lists))

    found = motion.joints[:, BLAZEPOSE33.index("left_wrist")]
    np.testing.assert_allclose(poses[:, COCO17.index("left_wrist")], found, atol=1e-6)


def test_frames_divided_by_their_hips_get_one_size_again(tmp_path):
    """Turning narrows the hips in the picture; the body does not grow by it."""
    motion = read_one(tmp_path / "a.json", SAMPLES["lists.json"])
    body = to_body15(motion).joints
    bones = np.linalg.norm(np.diff(body[:, [9, 10, 11]], axis=1), axis=-1)  # left thigh and shin

    assert 12 == len(motion.joints)
    assert (bones.std(axis=0) / bones.mean(axis=0)).max() < 0.1
    assert (bones > 0.3).all()


def test_a_third_number_that_is_never_negative_is_the_visibility(tmp_path):
    lists = [[[x, y, 0.25] for x, y, *_ in picture_marks(pose).tolist()] for pose in coco_joints(3)]
    (motion,) = formats.read(write_json(tmp_path / "a.json", lists))

    assert (motion.visibility == 0.25).all()
    assert (motion.joints[..., 2] == 0).all()


def test_flat_rows_several_people_and_empty_frames(tmp_path):
    """A frame may be one row of numbers, hold two people, or none."""
    marks = [picture_marks(pose) for pose in coco_joints(4)]
    (flat,) = formats.read(write_json(tmp_path / "a.json", [m.ravel().tolist() for m in marks]))
    pairs = [[m.tolist(), m.tolist()] for m in marks]
    pairs[1:3] = [[], None]

    assert 4 == len(flat.joints)
    motions = formats.read(write_json(tmp_path / "b.json", pairs))
    assert [[True, False, False, True]] * 2 == [m.visibility.any(axis=1).tolist() for m in motions]


def test_landmarks_that_a_file_leaves_out_are_unseen(tmp_path):
    """Names of the upper body are enough; what is null is unseen in its frame."""
    write_named_mediapipe(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    for frame in content["frames"]:
        for name in [name for name in frame if "KNEE" in name or "ANKLE" in name]:
            del frame[name]
    content["frames"][3]["LEFT_WRIST"] = {"x": None, "y": None, "z": None, "visibility": None}
    (motion,) = formats.read(write_json(tmp_path / "a.json", content))

    assert (motion.visibility[:, BLAZEPOSE33.index("left_knee")] == 0).all()
    assert np.isnan(motion.joints[3, BLAZEPOSE33.index("left_wrist")]).all()
    assert np.isfinite(motion.joints[4, BLAZEPOSE33.index("left_wrist")]).all()


def stray(points):
    """Somebody of whom only a knee and an ankle are seen."""
    alone = np.zeros_like(points)
    alone[[13, 15]] = points[[13, 15]] + (900, 0, 0)
    return alone


def test_a_stray_person_does_not_spoil_an_openpose_folder(tmp_path):
    """Somebody without shoulders in any frame has no measure and is left out; alone, the clip is refused."""
    for folder, people in (("both", lambda p: [p, stray(p)]), ("alone", lambda p: [stray(p)])):
        (tmp_path / folder).mkdir()
        for number, points in enumerate(pixels(6)):
            shown = openpose_frame(people(points))
            write_json(tmp_path / folder / f"clip_{number:012d}_keypoints.json", shown)
    (motion,) = formats.read(tmp_path / "both")

    assert (OPENPOSE25, 6) == (motion.skeleton, len(motion.joints))
    with pytest.raises(FormatError, match=r"alone.*shoulders"):
        formats.read(tmp_path / "alone")


def test_clips_called_like_frames_are_clips(tmp_path):
    """`dance_1_keypoints.json` of another tool is a clip, and a folder of them is no OpenPose folder."""
    for number in (1, 2):
        write_named_mediapipe(tmp_path / f"dance_{number}_keypoints.json")

    assert not formats.is_motion_file(tmp_path)
    assert 12 == len(formats.read(tmp_path / "dance_2_keypoints.json")[0].joints)


def test_alphapose_tells_people_apart_by_lists(tmp_path):
    """`idx` is a list with a number; who swaps places stays who they are."""
    entries = [
        {"image_id": f"{n}.jpg", "keypoints": pixels(8, 400.0 * ((who + n // 4) % 2))[n].ravel().tolist(),
         "score": 2.8, "box": [0, 0, 1, 1], "idx": [float(who)]}
        for n in range(8)
        for who in (0, 1)
    ]  # fmt: skip
    motions = formats.read(write_json(tmp_path / "a.json", entries))
    hips = [m.joints[:, COCO17.index("left_hip"), 0] for m in motions]

    assert [8, 8] == [len(hip) for hip in hips]
    assert all(np.abs(np.diff(hip)).max() > 0.9 for hip in hips)


def test_posenet_stamps_are_resampled_from_the_first(tmp_path):
    """As many frames as the file has, over the time that it has, starting at 0."""
    motion = read_one(tmp_path / "a.json", SAMPLES["posenet.json"])

    assert (12, 0.0) == (len(motion.joints), motion.start)
    assert motion.fps == pytest.approx(11 / 0.82)


def test_later_posenet_and_missing_keypoints(tmp_path):
    """Flat keypoints by `name`; two poses per frame are two dancers; no place or no score is unseen."""
    one, two = pixels(4), pixels(4, shift=400)
    frames = []
    for pair in zip(one, two, strict=True):
        poses = [
            [dict(zip(("name", "x", "y", "score"), (j, *p), strict=True)) for j, p in enumerated]
            for enumerated in (zip(COCO17.joints, person.tolist(), strict=True) for person in pair)
        ]
        poses[0][9] |= {"x": None}
        poses[0][10] |= {"score": 0}
        frames.append({"poses": [{"keypoints": points} for points in poses]})
    motions = formats.read(write_json(tmp_path / "a.json", frames), fps=24)
    partial = next(m for m in motions if (m.visibility == 0).any())

    assert [(4, 24.0)] * 2 == [(len(m.joints), m.fps) for m in motions]
    assert ["left_wrist", "right_wrist"] == [
        COCO17.joints[j] for j in np.flatnonzero(partial.visibility[0] == 0)
    ]


def test_the_learner_of_a_practice_track_is_read(tmp_path):
    """The learner in metres, y up, by the time of day; not the dancer of the video."""
    motion = read_one(tmp_path / "a.json", SAMPLES["learner.track.json"])
    wrist = motion.joints[:, BLAZEPOSE33.index("left_wrist")] - (1, 0, 0)

    assert (12, 0.0) == (len(motion.joints), motion.start)
    assert motion.fps == pytest.approx(12.5, abs=0.1)
    np.testing.assert_allclose(coco_joints()[:, COCO17.index("left_wrist")], wrist, atol=0.02)


def test_a_track_without_a_learner_shows_the_video(tmp_path):
    """By the video's clock, from when it plays, as far as its dancer is seen."""
    content = practice_track() | {"user3dPoses": [None] * 12}
    (motion,) = formats.read(write_json(tmp_path / "a.json", content))

    assert (9, pytest.approx(25)) == (len(motion.joints), motion.fps)
    np.testing.assert_allclose(
        coco_joints()[1:10, COCO17.index("nose")], motion.joints[:, BLAZEPOSE33.index("nose")], atol=1e-6
    )


@pytest.mark.parametrize(
    "content",
    [
        practice_track() | {"actualTimesInMs": [1, 2, 3]},
        practice_track() | {"actualTimesInMs": "noon"},
        practice_track() | {"actualTimesInMs": [5] * 12},
        practice_track() | {"user3dPoses": [[{"x": 1}] * 4] * 12},
        practice_track() | {"user3dPoses": 3},
        practice_track() | {"user3dPoses": [[3] * 33] * 12},
        {"user3dPoses": [], "actualTimesInMs": []},
        {"poseRecords": [{"pose": [{"keypoints": [{"part": "nose", "position": None}]}]}]},
        {"poseRecords": [{"pose": [{"keypoints": [{"part": "nose"}, 3]}]}]},
        {"poseRecords": [{"pose": [posenet_pose(pixels(1)[0])], "timestamp": t} for t in (1, 1)]},
        {"poseRecords": [{"pose": [posenet_pose(pixels(1)[0])], "timestamp": t} for t in (0, "soon")]},
        {"frames": [{"pose": [posenet_pose(p * 1e9)]} for p in pixels(2)]},
        {"frames": [[posenet_pose(pixels(1)[0])] * 501]},
        {"frames": [{"LEFT_SHOULDER": 1, "RIGHT_SHOULDER": 2, "LEFT_ELBOW": 3}]},
        [[[0.1, 0.2, 0.3]] * 17],
        [[[0.1] * 9] * 33],
        [[["a", "b"]] * 33],
        [[[1e300, 0, 0]] * 33],
        [[], None, []],
        [[[[0.1, 0.2]] * 33] * 501],
        [[[]]],
    ],
    ids=lambda content: json.dumps(content)[-50:],
)  # fmt: skip
def test_exports_of_another_shape_are_refused(tmp_path, content):
    """Valid JSON that is nearly such an export gives one sentence that names the file."""
    with pytest.raises(FormatError, match=r"a\.json") as refused:
        formats.read(write_json(tmp_path / "a.json", content))
    assert "\n" not in str(refused.value)


def test_too_many_frames_are_refused_before_work_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_FRAMES", 10)
    for name in ("lists.json", "landmarks.csv", "movenet.csv", "dance_1_keypoints.json"):
        with pytest.raises(InputError, match=r"more than 10 are not read"):
            read_one(tmp_path / name, SAMPLES[name])


def test_a_file_of_two_formats_is_refused(tmp_path):
    """Annotations and landmarks in one file: the reader does not choose in silence."""
    content = {"annotations": [], "frames": [{"worldLandmarks": landmarks(coco_joints(1)[0])}]}
    with pytest.raises(FormatError, match="COCO keypoints and of MediaPipe landmarks"):
        formats.read(write_json(tmp_path / "a.json", content))


KEYS = """frames pose poses poseRecords keypoints part name position x y people annotations image_id landmarks
    worldLandmarks user3dPoses actualTimesInMs LEFT_SHOULDER RIGHT_SHOULDER LEFT_ELBOW timestamp"""
NUMBERS = st.integers(-3, 40) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text("xy"),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4)
    ),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=JSON)
def test_no_json_shows_another_librarys_error(tmp_path, content):
    """The keys of all layouts in any arrangement are refused by our own error."""
    with pytest.raises(InputError, match=r"a\.json"):
        formats.read(write_json(tmp_path / "a.json", content))

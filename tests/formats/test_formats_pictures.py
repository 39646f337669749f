import json

import numpy as np
import pytest

from dancematch import formats
from dancematch.errors import FormatError, InputError
from dancematch.skeletons import BLAZEPOSE33, COCO17, OPENPOSE25
from formats_samples import coco_joints, landmarks, openpose_frame, pixels

HIP = COCO17.index("left_hip")


def write_frames(folder, frames, name="clip"):
    """Write OpenPose frames by number: {7: frame}."""
    folder.mkdir(exist_ok=True)
    for number, frame in frames.items():
        (folder / f"{name}_{number:012d}_keypoints.json").write_text(json.dumps(frame))


def write_json(path, content):
    path.write_text(json.dumps(content))
    return path


def test_a_folder_of_frames_is_one_clip(tmp_path):
    """The folder, or any one file in it, gives the whole sequence in order of its numbers."""
    write_frames(tmp_path / "out", {n: openpose_frame([p]) for n, p in enumerate(pixels(12))})
    (motion,) = formats.read(tmp_path / "out", fps=24)
    (again,) = formats.read(tmp_path / "out" / "clip_000000000005_keypoints.json", fps=24)

    assert (motion.skeleton, motion.fps, len(motion.joints)) == (OPENPOSE25, 24.0, 12)
    np.testing.assert_array_equal(motion.joints, again.joints)
    assert formats.is_motion_file(tmp_path / "out")
    assert not formats.is_motion_file(tmp_path)


def test_pictures_are_flat_upright_and_half_a_metre_in_the_torso(tmp_path):
    """Y points up, z is zero, and the torso is half a metre; what has no confidence is unseen."""
    write_frames(tmp_path / "out", {n: openpose_frame([p]) for n, p in enumerate(pixels(9))})
    (motion,) = formats.read(tmp_path / "out")
    seen = {name: motion.joints[:, OPENPOSE25.index(name)] for name in OPENPOSE25.joints}
    shoulders = (seen["left_shoulder"] + seen["right_shoulder"]) / 2
    hips = (seen["left_hip"] + seen["right_hip"]) / 2

    assert np.median(np.linalg.norm(shoulders - hips, axis=-1)) == pytest.approx(0.5, abs=1e-4)
    assert (seen["nose"][:, 1] > seen["left_ankle"][:, 1] + 1).all()
    assert (seen["left_hip"][:, 2] == 0).all()
    assert np.isnan(seen["left_heel"]).all()
    assert motion.visibility[0, OPENPOSE25.index("nose")] == pytest.approx(0.9)


def test_two_people_are_followed_whatever_their_order(tmp_path):
    """OpenPose shuffles people between frames; each dancer still is one track."""
    left, right = pixels(10), pixels(10, shift=400)
    frames = {n: openpose_frame([left[n], right[n]][:: 1 if n % 2 else -1]) for n in range(10)}
    write_frames(tmp_path / "out", frames)
    motions = formats.read(tmp_path / "out")

    assert [len(m.joints) for m in motions] == [10, 10]
    hips = [m.joints[:, OPENPOSE25.index("left_hip"), 0] for m in motions]
    assert max(np.abs(np.diff(hip)).max() for hip in hips) < 0.2
    assert abs(hips[0].mean() - hips[1].mean()) > 1


def test_missing_frames_are_gaps_and_long_ones_new_dancers(tmp_path):
    """A dropped frame is unseen for one frame; after a second away it is a new person."""
    frames = {n: openpose_frame([p]) for n, p in enumerate(pixels(60))}
    write_frames(tmp_path / "out", {n: f for n, f in frames.items() if n != 3 and not 20 <= n < 50})
    first, second = formats.read(tmp_path / "out")

    assert (len(first.joints), first.start) == (20, 0.0)
    assert (len(second.joints), second.start) == (10, pytest.approx(50 / 30))
    assert first.visibility[2:5].any(axis=1).tolist() == [True, False, True]


def test_several_sequences_in_a_folder_are_not_mixed(tmp_path):
    write_frames(tmp_path / "out", {0: openpose_frame([pixels()[0]])}, "one")
    write_frames(tmp_path / "out", {0: openpose_frame([pixels()[0]])}, "two")
    with pytest.raises(InputError, match=r"several sequences \(one, two"):
        formats.read(tmp_path / "out")
    assert len(formats.read(tmp_path / "out" / "two_000000000000_keypoints.json")) == 1


def test_coco18_and_3d_frames_are_read(tmp_path):
    """The 18-joint layout has the same wrists; 3-D frames keep their depth."""
    order = [0, 0, 6, 8, 10, 5, 7, 9, 12, 14, 16, 11, 13, 15, 2, 1, 4, 3]
    flat = [{"people": [{"pose_keypoints_2d": p[order].ravel().tolist()}]} for p in pixels()]
    (eighteen,) = formats.read(write_json(tmp_path / "a.json", flat))
    (twenty_five,) = formats.read(write_json(tmp_path / "b.json", [openpose_frame([p]) for p in pixels()]))
    wrist = OPENPOSE25.index("left_wrist")
    np.testing.assert_allclose(eighteen.joints[:, wrist], twenty_five.joints[:, wrist], atol=1e-6)

    deep = [[*np.column_stack([p[order], np.ones(18)]).ravel()] for p in coco_joints() * (1000, -1000, -1000)]
    frames = [{"people": [{"pose_keypoints_2d": [], "pose_keypoints_3d": d}]} for d in deep]
    (space,) = formats.read(write_json(tmp_path / "c.json", frames))
    assert np.ptp(space.joints[:, wrist, 2]) > 0.1


def coco_file(frames=10, **person):
    images = [{"id": 100 + n, "file_name": f"frame{n}.jpg"} for n in range(frames)][::-1]
    marked = pixels(frames)
    marked[..., 2] = 2
    people = [
        {"id": n, "image_id": 100 + n, "category_id": 1, "keypoints": marked[n].ravel().tolist(), **person}
        for n in range(frames)
        if n != 4
    ]
    return {"images": images, "annotations": people, "categories": [{"id": 1, "name": "person"}]}


def test_coco_pictures_are_frames_in_natural_order(tmp_path):
    """frame9 comes before frame10 however the file lists them; a picture without people is a gap."""
    (motion,) = formats.read(write_json(tmp_path / "a.json", coco_file(12)), fps=25)

    assert (motion.skeleton, motion.fps, len(motion.joints)) == (COCO17, 25.0, 12)
    assert motion.visibility[:, HIP].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
    assert (np.diff(motion.joints[5:, HIP, 0]) > 0).all()


def test_hidden_points_count_half_and_unmarked_ones_nothing(tmp_path):
    content = coco_file(3)
    content["annotations"][0]["keypoints"][3 * HIP + 2] = 1
    content["annotations"][1]["keypoints"][3 * HIP + 2] = 0
    (motion,) = formats.read(write_json(tmp_path / "a.json", content))

    assert motion.visibility[:, HIP].tolist() == [0.5, 0, 1]


@pytest.mark.parametrize("label", ["track_id", "idx"])
def test_track_ids_decide_who_is_who(tmp_path, label):
    """Two people who swap places stay themselves where the file says who they are."""
    one, two = pixels(8), pixels(8, shift=400)
    entries = [
        {"image_id": f"{n}.jpg", "keypoints": p[n].ravel().tolist(), "score": 2.5, label: k}
        for n in range(8)
        for k, p in (("a", one if n < 4 else two), ("b", two if n < 4 else one))
    ]
    motions = formats.read(write_json(tmp_path / "a.json", entries))

    assert [len(m.joints) for m in motions] == [8, 8]
    assert [np.abs(np.diff(m.joints[:, HIP, 0])).max() > 0.9 for m in motions] == [True, True]


def test_results_without_ids_are_linked_by_nearness(tmp_path):
    entries = [
        {"image_id": 10 * n, "keypoints": pixels(8, shift)[n].ravel().tolist(), "score": 1}
        for n in range(8)
        for shift in ((0, 400) if n % 2 else (400, 0))
    ]
    motions = formats.read(write_json(tmp_path / "a.json", entries))

    assert [len(m.joints) for m in motions] == [8, 8]
    assert all(np.abs(np.diff(m.joints[:, HIP, 0])).max() < 0.3 for m in motions)


@pytest.mark.parametrize(
    "key", ["poseWorldLandmarks", "worldLandmarks", "world_landmarks", "pose_world_landmarks"]
)
@pytest.mark.parametrize("nested", [False, True])
def test_world_landmarks_are_turned_y_up(tmp_path, key, nested):
    """Every spelling, one person bare or in a list of people, gives the dancer in metres."""
    poses = [landmarks(pose) for pose in coco_joints(6)]
    frames = [{key: [pose] if nested else pose} for pose in poses]
    (motion,) = formats.read(write_json(tmp_path / "a.json", {"fps": 25, "frames": frames}))
    wrist = BLAZEPOSE33.index("left_wrist")

    assert (motion.skeleton, motion.fps) == (BLAZEPOSE33, 25.0)
    np.testing.assert_allclose(
        motion.joints[:, wrist], coco_joints(6)[:, COCO17.index("left_wrist")], atol=1e-6
    )
    assert motion.visibility[0, wrist] == pytest.approx(0.8)


def test_landmarks_may_be_lists_of_numbers(tmp_path):
    """[x, y, z] and [x, y, z, visibility] serve as well as objects; a bare list of frames has 30 a second."""
    rows = [[[m["x"], m["y"], m["z"]] for m in landmarks(pose)] for pose in coco_joints(4)]
    (motion,) = formats.read(write_json(tmp_path / "a.json", [{"world_landmarks": row} for row in rows]))

    assert (motion.fps, motion.visibility.min()) == (30.0, 1.0)


def test_two_people_in_a_frame_are_two_dancers(tmp_path):
    poses = [landmarks(pose) for pose in coco_joints(5)]
    frames = [{"worldLandmarks": [pose, pose] if n < 3 else [pose]} for n, pose in enumerate(poses)]

    assert [len(m.joints) for m in formats.read(write_json(tmp_path / "a.json", frames))] == [5, 3]


def timed(times, **options):
    poses = coco_joints(2)
    moving = [{"time": float(t), "worldLandmarks": landmarks(poses[0] + [t, 0, 0])} for t in times]
    return {"frames": moving, **options}


def test_uneven_time_stamps_are_resampled(tmp_path):
    """A dancer who moves a metre a second does so whatever the camera's hiccups."""
    times = [1.0, 1.05, 1.1, 1.2, 1.25, 1.3, 1.45, 1.5]
    (motion,) = formats.read(write_json(tmp_path / "a.json", timed(times)), fps=40)

    assert (motion.fps, motion.start, len(motion.joints)) == (40.0, 1.0, 21)
    np.testing.assert_allclose(np.diff(motion.joints[:, 0, 0]), 1 / 40, atol=1e-5)


def test_a_long_pause_is_not_interpolated(tmp_path):
    times = [0.0, 0.1, 0.2, 2.0, 2.1]
    (motion,) = formats.read(write_json(tmp_path / "a.json", timed(times)))

    assert motion.fps == pytest.approx(10)
    assert np.flatnonzero(motion.visibility[:, 0]).tolist() == [0, 1, 2, 20, 21]


def test_rounded_milliseconds_are_an_even_clock(tmp_path):
    poses = coco_joints(30)
    frames = [
        {"timestamp_ms": round(n * 1000 / 30), "worldLandmarks": landmarks(p)} for n, p in enumerate(poses)
    ]
    (motion,) = formats.read(write_json(tmp_path / "a.json", frames))

    assert len(motion.joints) == 30
    assert motion.fps == pytest.approx(30, rel=1e-3)


@pytest.mark.parametrize(("first", "start"), [(0, 0), (2_500, 2.5), (1_700_000_000_000, 0)])
def test_times_of_day_are_counted_from_the_first_frame(tmp_path, first, start):
    """A clip may begin late in its video, but not after ten hours of it."""
    frames = [
        {"timestamp_ms": first + 40 * n, "worldLandmarks": landmarks(p)} for n, p in enumerate(coco_joints())
    ]
    (motion,) = formats.read(write_json(tmp_path / "a.json", frames))

    assert (start, 25) == (motion.start, pytest.approx(motion.fps))


def test_picture_landmarks_serve_where_there_are_no_world_ones(tmp_path):
    """Fractions of the picture become metres by the torso, with the picture's shape undone."""
    frames = []
    for pose in coco_joints(5):
        marks = landmarks(pose)
        frames.append({"landmarks": [{"x": m["x"] / 4, "y": 1 + m["y"] / 2, "z": m["z"] / 4} for m in marks]})
    content = {"width": 400, "height": 200, "frames": frames}
    (motion,) = formats.read(write_json(tmp_path / "a.json", content))
    left, right, ankle = (
        motion.joints[0, BLAZEPOSE33.index(j)] for j in ("left_hip", "right_hip", "left_ankle")
    )

    assert np.linalg.norm(left - right) == pytest.approx(0.2, abs=0.02)
    assert left[1] - ankle[1] > 0.7


FRAME = {"worldLandmarks": landmarks(coco_joints(1)[0])}


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        3,
        None,
        "text",
        {"frames": []},
        [{"worldLandmarks": []}],
        [{"worldLandmarks": [{"x": 1, "y": 2}]}],
        [{"worldLandmarks": [{"x": "a"}] * 33}],
        [{"worldLandmarks": [None] * 33}],
        [{"worldLandmarks": {"a": 1}}],
        [{"worldLandmarks": [{"x": 1e300, "y": 0}] * 33}],
        {"fps": 0, "frames": [FRAME]},
        {"fps": "fast", "frames": [FRAME]},
        [FRAME | {"time": 1}, FRAME | {"time": 1}],
        [FRAME | {"time": time} for time in (0, 1, 2, 1e9)],
        [FRAME | {"time": time} for time in (0, 1, 1e9)],
        [{"image_id": number, "keypoints": [1] * 51} for number in (1, 2, 10**12)],
        [FRAME | {"time": "x"}, FRAME | {"time": []}],
        {"people": []},
        {"people": 3},
        {"people": [3]},
        {"people": [{"pose_keypoints_2d": [1, 2, 3]}]},
        {"people": [{"pose_keypoints_2d": ["a"] * 75}]},
        {"people": [{"pose_keypoints_2d": [0] * 75}]},
        {"people": [{"pose_keypoints_2d": [5] * 75}]},
        {"people": [{"pose_keypoints_2d": [1e200] * 75}]},
        {"people": [{"pose_keypoints_2d": [[1]] * 75}]},
        [{"people": []}, 3],
        {"annotations": []},
        {"annotations": 3},
        {"annotations": [{"image_id": 1, "bbox": []}]},
        {"annotations": [{"image_id": 1, "keypoints": [1] * 51}], "images": [{"id": 2}]},
        {"annotations": [{"image_id": [], "keypoints": [1] * 51}]},
        [{"image_id": 1, "keypoints": [1] * 50}],
        [{"image_id": 1, "keypoints": [0] * 51}],
        [{"image_id": 1, "keypoints": ["x"] * 51}],
        [{"image_id": 1, "keypoints": {"a": 1}}],
    ],
    ids=lambda content: json.dumps(content)[:50],
)
def test_json_of_another_shape_is_refused(tmp_path, content):
    """Valid JSON that holds no usable dancer gives one sentence that names the file."""
    with pytest.raises(FormatError, match=r"a\.json"):
        formats.read(write_json(tmp_path / "a.json", content))


def test_frame_numbers_that_cannot_be_are_refused(tmp_path):
    """Two files a billion frames apart do not make a clip of a billion frames."""
    write_frames(tmp_path / "out", {n: openpose_frame([pixels()[0]]) for n in (0, 10**9)})
    with pytest.raises(FormatError, match=r"out.*only 2 are there"):
        formats.read(tmp_path / "out")

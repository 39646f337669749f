"""One small, sound file of every format, made on the spot; the tests of the formats share them."""

import csv
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancematch import formats
from dancematch.skeletons import BLAZEPOSE33, BODY15, COCO17
from dancematch.types import Motion

REST = {
    "pelvis": (0, 0.95, 0), "neck": (0, 1.42, 0), "head": (0, 1.6, 0.03),
    "left_shoulder": (0.18, 1.42, 0), "left_elbow": (0.45, 1.42, 0), "left_wrist": (0.7, 1.42, 0),
    "right_shoulder": (-0.18, 1.42, 0), "right_elbow": (-0.45, 1.42, 0), "right_wrist": (-0.7, 1.42, 0),
    "left_hip": (0.1, 0.92, 0), "left_knee": (0.1, 0.5, 0.02), "left_ankle": (0.1, 0.08, 0),
    "right_hip": (-0.1, 0.92, 0), "right_knee": (-0.1, 0.5, 0.02), "right_ankle": (-0.1, 0.08, 0),
}  # fmt: skip
_SWING = {"left_shoulder": 1.1, "left_elbow": 0.7, "right_shoulder": -0.9, "left_hip": 0.4, "right_knee": 0.5}


def dancer(frames: int = 40, fps: float = 30.0, start: float = 0.0) -> Motion:
    """Make a body15 dancer facing +z with rigid bones, who swings arms and legs, turns and travels."""
    phase = np.linspace(0.3, 5, frames)
    places = np.empty((frames, 15, 3))
    world = np.empty((frames, 15, 3, 3))
    for joint, (name, parent) in enumerate(zip(BODY15.joints, BODY15.parents, strict=True)):
        swing = _about_z(_SWING.get(name, 0.0) * np.sin(phase))
        if parent < 0:
            world[:, joint] = _about_y(0.5 * np.sin(phase))
            places[:, joint] = np.array(REST[name]) + phase[:, None] * (0.1, 0, 0.05)
        else:
            bone = np.subtract(REST[name], REST[BODY15.joints[parent]])
            places[:, joint] = places[:, parent] + world[:, parent] @ bone
            world[:, joint] = world[:, parent] @ swing
    return Motion(places.astype(np.float32), fps, BODY15, start=start)


def _about_z(angle: np.ndarray) -> np.ndarray:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, -s, o, s, c, o, o, o, i], axis=-1).reshape(-1, 3, 3)


def _about_y(angle: np.ndarray) -> np.ndarray:
    c, s, o, i = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
    return np.stack([c, o, s, o, i, o, -s, o, c], axis=-1).reshape(-1, 3, 3)


def coco_joints(frames: int = 12) -> np.ndarray:
    """Give the dancer's joints in COCO-17 order, metres; the face is where the head is."""
    motion = dancer(frames)
    faces = dict.fromkeys(("nose", "left_eye", "right_eye", "left_ear", "right_ear"), "head")
    return motion.joints[:, [BODY15.index(faces.get(joint, joint)) for joint in COCO17.joints]]


def pixels(frames: int = 12, shift: float = 0.0) -> np.ndarray:
    """COCO-17 keypoints [frames, 17, 3] of x, y down, score in a picture of 200 pixels a metre."""
    joints = coco_joints(frames)
    x, y = 400 + shift + 200 * joints[..., 0], 500 - 200 * joints[..., 1]
    return np.stack([x, y, np.full(x.shape, 0.9)], axis=-1)


def write_aist(path: Path, **changes: Any) -> None:
    arrays = {"keypoints3d": coco_joints() * 100, "keypoints3d_optim": coco_joints() * 100} | changes
    path.write_bytes(pickle.dumps(arrays))


def write_bvh(path: Path) -> None:
    formats.write(path, [dancer(12)])


def write_own(path: Path) -> None:
    formats.write(path, [dancer(12), dancer(8, start=1.5)])


def write_amass(path: Path, **changes: Any) -> None:
    arrays = {
        "poses": np.linspace(-0.5, 0.5, 10 * 156).reshape(10, 156),
        "trans": np.zeros((10, 3)),
        "betas": np.zeros(16),
        "gender": np.array("neutral"),
        "mocap_framerate": np.array(120.0),
    } | changes
    np.savez(path, **arrays)


def write_coco(path: Path) -> None:
    results = [
        {"image_id": n, "keypoints": frame.ravel().tolist(), "score": 1} for n, frame in enumerate(pixels())
    ]
    path.write_text(json.dumps(results))


def write_openpose(path: Path) -> None:
    path.write_text(json.dumps([openpose_frame([frame]) for frame in pixels()]))


def openpose_frame(people: list[np.ndarray]) -> dict[str, Any]:
    """Make a BODY_25 frame of people given as COCO-17 keypoints."""
    order = [0, None, 6, 8, 10, 5, 7, 9, None, 12, 14, 16, 11, 13, 15, 2, 1, 4, 3, *[None] * 6]
    rows = [np.array([p[i] if i is not None else np.zeros(3) for i in order]) for p in people]
    return {"version": 1.3, "people": [{"pose_keypoints_2d": row.ravel().tolist()} for row in rows]}


def landmarks(pose: np.ndarray) -> list[dict[str, float]]:
    """33 world landmarks (y down, z away) of one COCO-17 pose (y up)."""
    order = [0, 1, 1, 1, 2, 2, 2, 3, 4, 0, 0, 5, 6, 7, 8, 9, 10, *[9, 10] * 3, 11, 12, 13, 14, *[15, 16] * 3]
    return [{"x": float(x), "y": float(-y), "z": float(-z), "visibility": 0.8} for x, y, z in pose[order]]


def write_mediapipe(path: Path) -> None:
    frames = [{"timestamp_ms": n * 40, "worldLandmarks": landmarks(p)} for n, p in enumerate(coco_joints())]
    path.write_text(json.dumps({"fps": 25, "frames": frames}))


def picture_marks(pose: np.ndarray, width: float = 320, height: float = 180) -> np.ndarray:
    """33 picture landmarks [33, 4] of one COCO-17 pose: x, y, z as fractions of a picture, and visibility."""
    marks = np.array([[m["x"], m["y"], m["z"], m["visibility"]] for m in landmarks(pose)])
    scale = 0.4 * height  # pixels per metre
    x, y, z = (marks[:, axis] * scale for axis in range(3))
    return np.column_stack([0.5 + x / width, 0.9 + y / height, 3 * z / width, marks[:, 3]])


def write_named_mediapipe(path: Path, size: tuple[float, float] = (320, 180), **changes: Any) -> None:
    """Landmarks under their names, no rate, and z that is a copy of y, as one exporter writes them."""
    names = [joint.upper() for joint in BLAZEPOSE33.joints]
    frames = [
        {
            name: {"x": x, "y": y, "z": y, "visibility": v}
            for name, (x, y, _, v) in zip(names, marks, strict=True)
        }
        for marks in (picture_marks(pose, *size).tolist() for pose in coco_joints())
    ]
    path.write_text(json.dumps({"impt_keypoints": [0.0, 5.0], "frames": frames} | changes))


def write_listed_mediapipe(path: Path) -> None:
    """Nested lists [frames][33][x, y, z], each frame divided by the distance of its hips in the picture."""
    frames = []
    for pose in coco_joints():
        marks = picture_marks(pose)[:, :3]
        frames.append((marks / np.linalg.norm(marks[23, :2] - marks[24, :2])).tolist())
    path.write_text(json.dumps(frames, indent=4))


def write_mediapipe_table(path: Path) -> None:
    """A row per frame from 1 on; a cell is "x,y" of one landmark."""
    rows = [["Frame", *(f"Landmark_{number}" for number in range(33))]]
    for number, pose in enumerate(coco_joints(), start=1):
        rows.append([str(number), *(f"{x},{y}" for x, y, *_ in picture_marks(pose, 225, 400).tolist())])
    write_table(path, rows)


def write_movenet_table(path: Path) -> None:
    """A data frame with its index; a cell is "(y, x, score)" of a joint in a square; other columns follow."""
    rows = [["", *COCO17.joints, "face_center", "face_width"]]
    for number, frame in enumerate(pixels() / (1000, 1000, 1)):
        cells = [f"({y}, {x}, {score})" for x, y, score in frame.tolist()]
        rows.append([str(number), *cells, "(0.2, 0.5, 0.6)", "0.06"])
    write_table(path, rows)


def write_table(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def posenet_pose(frame: np.ndarray) -> dict[str, Any]:
    """Make a pose of COCO-17 keypoints as TensorFlow.js gives it."""
    sides = [joint.split("_") for joint in COCO17.joints]
    parts = [first + "".join(map(str.title, rest)) for first, *rest in sides]
    points = [
        {"score": score, "part": part, "position": {"x": x, "y": y}}
        for part, (x, y, score) in zip(parts, frame.tolist(), strict=True)
    ]
    return {"score": 0.9, "keypoints": points}


def write_posenet(path: Path) -> None:
    times = np.cumsum([0.004, 0.12, *[0.06, 0.08] * 5])
    records = [{"pose": [posenet_pose(p)], "timestamp": t} for p, t in zip(pixels(), times, strict=True)]
    path.write_text(json.dumps({"poseRecords": records, "poseVideo": []}))


def practice_track(frames: int = 12) -> dict[str, Any]:
    """Make a learner (y down, a metre aside) who follows a video (y up, its last frames unseen)."""
    world = [[(m["x"], m["y"], m["z"]) for m in landmarks(pose)] for pose in coco_joints(frames)]
    learner = [[{"x": 1 + x, "y": y, "z": z} for x, y, z in pose] for pose in world]
    video = [[{"x": x, "y": -y, "z": -z, "vis": 0.9} for x, y, z in pose] for pose in world]
    video[-2:] = [[dict.fromkeys(("x", "y", "z", "vis")) for _ in range(33)] for _ in range(2)]
    return {
        "id": "0",
        "videoFrameTimesInSecs": [0, 0, *(0.04 * number for number in range(1, frames - 1))],
        "actualTimesInMs": [1696968172784 + 80 * number + number % 3 for number in range(frames)],
        "user3dPoses": learner,
        "ref3dPoses": video,
        "trackDescription": "half speed",
    }


def write_practice_track(path: Path) -> None:
    path.write_text(json.dumps(practice_track()))


def write_alphapose(path: Path) -> None:
    results = [
        {"image_id": f"{n}.jpg", "category_id": 1, "keypoints": frame.ravel().tolist(), "score": 2.8,
         "box": [1.0, 2.0, 3.0, 4.0], "idx": [0.0]}
        for n, frame in enumerate(pixels())
    ]  # fmt: skip
    path.write_text(json.dumps(results))


def write_comotion(path: Path, **changes: Any) -> None:
    """Two tracks one after the other; the last row is padding. Needs torch, and is no sample therefore."""
    torch = pytest.importorskip("torch")
    pose = torch.zeros(8, 72)
    pose[:, 0] = np.pi  # upright in a camera whose y points down
    betas = torch.ones(8, 10)
    betas[7] = 0
    content = {
        "id": torch.tensor([3, 3, 3, 3, 3, 9, 9, 9]),
        "frame_idx": torch.tensor([0, 1, 2, 4, 5, 2, 3, 4]),
        "pose": pose,
        "trans": torch.tensor([0.0, 1.0, 4.0]).repeat(8, 1),
        "betas": betas,
    }
    torch.save({**content, **changes}, path)


SAMPLES: dict[str, Callable[[Path], None]] = {
    "own.npz": write_own,
    "amass.npz": write_amass,
    "aist.pkl": write_aist,
    "dance.bvh": write_bvh,
    "coco.json": write_coco,
    "openpose.json": write_openpose,
    "mediapipe.json": write_mediapipe,
    "dance_1_keypoints.json": write_named_mediapipe,
    "lists.json": write_listed_mediapipe,
    "landmarks.csv": write_mediapipe_table,
    "movenet.csv": write_movenet_table,
    "posenet.json": write_posenet,
    "learner.track.json": write_practice_track,
    "alphapose.json": write_alphapose,
}

"""One small, sound file of every format, made on the spot; the tests of the formats share them."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dancematch import formats
from dancematch.skeletons import BODY15, COCO17
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


SAMPLES: dict[str, Callable[[Path], None]] = {
    "own.npz": write_own,
    "amass.npz": write_amass,
    "aist.pkl": write_aist,
    "dance.bvh": write_bvh,
    "coco.json": write_coco,
    "openpose.json": write_openpose,
    "mediapipe.json": write_mediapipe,
}

"""Short motions by several people each, as recordings.

- `kinder_gator_adults.npz`: ten adults, 58 named motions, Kinect. Keys `p<person>_<number>_<motion>`, with
  time stamps in milliseconds under the key + `.ms`.
- `msraction3d.npz`: ten people, 20 actions, two or three times each, Kinect, 15 frames per second. Keys
  `a<action>_s<person>_e<time>`, the fourth number of a joint its confidence.
- `bharatanatyam/*.bvh`: steps of a classical dance, three dancers.

A person who faces a Kinect has the left side at -x and looks along -z; here it is +x and +z.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dancematch import formats
from dancematch.evaluation.methods.recogniser import MotionRecording
from dancematch.motion import resample
from dancematch.skeletons import BODY15
from dancematch.types import Motion

MSR_FPS = 15.0
_TO_CAMERA = np.array([-1.0, 1.0, -1.0])

_GATOR_NAMES = {"HipCenter": "pelvis", "ShoulderCenter": "neck", "Head": "head"}
_MSR_ORDER = (
    *("left_shoulder", "right_shoulder", "neck", "spine", "left_hip", "right_hip", "pelvis"),
    *("left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hand", "right_hand"),
    *("left_knee", "right_knee", "left_ankle", "right_ankle", "left_foot", "right_foot", "head"),
)
# Trunk joints are left out: both layouts put them elsewhere than the middle of hips and shoulders.
_MIDDLES = {"pelvis": ("left_hip", "right_hip"), "neck": ("left_shoulder", "right_shoulder")}

# Names that differ in side or effort only are neither one motion nor two: clips are searched for mirrored
# too, and people differ in effort anyway.
_MANNER = re.compile(
    r"-as-(fast|far|high)-as-you-can|-with-(the|your)-other-(leg|arm)|-from-(left|right)-to-(left|right)"
    r"|-to-one-side|-to-the-other-side|-to-the-side|other-"
)


@dataclass(frozen=True, eq=False)
class PersonMotion:
    """One motion by one person."""

    recording: MotionRecording  # its dance is the motion
    person: str
    family: str  # motions that differ in side or effort share it


def load_people(folder: Path) -> Mapping[str, list[PersonMotion]]:
    """Every set of the folder, by name."""
    return {
        "kinder gator": _read_gator(folder / "kinder_gator_adults.npz"),
        "msr action": _read_msr(folder / "msraction3d.npz"),
        "bharatanatyam": _read_steps(folder / "bharatanatyam"),
    }


def _read_gator(path: Path) -> list[PersonMotion]:
    found = []
    with np.load(path, allow_pickle=False) as arrays:
        order = [_gator_joint(str(name)) for name in arrays["joint_names"]]
        for key in arrays.files:
            if key == "joint_names" or key.endswith(".ms"):
                continue
            person, _, motion = key.split("_", 2)
            times = (arrays[f"{key}.ms"] - arrays[f"{key}.ms"][0]) / 1000
            forward = np.concatenate([[True], times[1:] > np.maximum.accumulate(times)[:-1]])
            joints = arrays[key].astype(np.float64)[forward]
            found.append(_make_motion(key, motion, person, _motion(times[forward], joints, order)))
    return found


def _gator_joint(name: str) -> str:
    """`ShoulderLeft` as `left_shoulder`."""
    sided = re.fullmatch(r"(\w+?)(Left|Right)", name)
    return f"{sided[2]}_{sided[1]}".lower() if sided else _GATOR_NAMES.get(name, name.lower())


def _read_msr(path: Path) -> list[PersonMotion]:
    found = []
    with np.load(path, allow_pickle=False) as arrays:
        for key in arrays.files:
            action, person, _ = key.split("_")
            values = arrays[key].astype(np.float64)
            joints = np.where((values[:, :, :3] == 0).all(axis=2, keepdims=True), np.nan, values[:, :, :3])
            times = np.arange(len(values)) / MSR_FPS
            found.append(_make_motion(key, action, person, _motion(times, joints, _MSR_ORDER)))
    return found


def _read_steps(folder: Path) -> list[PersonMotion]:
    found = []
    for path in sorted(folder.glob("*.bvh")):
        step, person = re.fullmatch(r"coordinates_(.+)_(D\d)_end", path.stem).groups()
        found.append(_make_motion(path.stem, step, person, formats.read(path)[0]))
    return found


def _make_motion(key: str, motion: str, person: str, moved: Motion) -> PersonMotion:
    return PersonMotion(MotionRecording(key, motion, (moved,)), person, _MANNER.sub("", motion).strip("-"))


def _motion(times: np.ndarray, joints: np.ndarray, order: "list[str] | tuple[str, ...]") -> Motion:
    """The joints that body15 has, turned to the camera, on an even clock."""
    places = {name: place for place, name in enumerate(order)}
    parts = [[places[part] for part in _MIDDLES.get(joint, (joint,))] for joint in BODY15.joints]
    body = np.stack([joints[:, own].mean(axis=1) for own in parts], axis=1) * _TO_CAMERA
    return resample(times, body, None, BODY15)

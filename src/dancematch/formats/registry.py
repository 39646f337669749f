"""The formats of motion files, one row each: what readers, command line, service and documents know of them.

A new format is one module, with `read(path, fps)` and, where other formats have the same suffix,
`recognises(content)`, and one row here. Names and explanations stand here and not in the modules, so
that a list of formats loads no reader.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from dancematch.types import Motion

_ROOM = "dancematch.formats"
_ZIP = b"PK\x03\x04"
_OLD_TORCH = b"\x80\x02\x8a\x0al\xfc\x9cF"


@dataclass(frozen=True)
class Format:
    """One format of motion files."""

    name: str
    suffix: str
    module: str  # imported when a file of the format is read
    explanation: str  # what reading converts or assumes
    signatures: tuple[bytes, ...] = ()  # how its files begin, blanks left out: tells an upload without a name
    is_folder: bool = False  # one file per frame, so that a folder is one recording too
    is_isolated: bool = False  # loads so much that a service reads it in a process of its own

    def read(self, path: Path, fps: float | None = None) -> list[Motion]:
        """Return one motion per dancer."""
        motions: list[Motion] = import_module(self.module).read(path, fps)
        return motions

    def recognises(self, content: Any) -> bool:
        """Whether content is of this format: parsed JSON, a table's header, an `Archive`, else bytes."""
        return bool(import_module(self.module).recognises(content))


FORMATS: tuple[Format, ...] = (
    Format(
        "DanceMatch motion", ".npz", f"{_ROOM}.npz",
        "our own format: nothing is converted or guessed",
        signatures=(_ZIP,),
    ),
    Format(
        "SMPL or AMASS poses", ".npz", f"{_ROOM}.motion_capture.smpl",
        "joints by forward kinematics over a neutral body, so the dancer's own build is not kept",
        signatures=(_ZIP,),
    ),
    Format(
        "BVH motion capture", ".bvh", f"{_ROOM}.motion_capture.bvh",
        "the unit is inferred from the body's height; a calibration pose in front is dropped",
        signatures=(b"HIERARCHY",),
    ),
    Format(
        "AIST++ keypoints", ".pkl", f"{_ROOM}.motion_capture.aist",
        "centimetres, 60 frames per second unless told otherwise",
        signatures=(b"\x80",),
    ),
    Format(
        "OpenPose keypoints", ".json", f"{_ROOM}.keypoints.openpose",
        "scaled so that the torso is 0.5 m; flat where the file is; "
        "30 frames per second unless told otherwise",
        signatures=(b"{", b"["), is_folder=True,
    ),
    Format(
        "COCO keypoints", ".json", f"{_ROOM}.keypoints.coco",
        "flat, scaled so that the torso is 0.5 m; 30 frames per second unless told otherwise",
        signatures=(b"{", b"["),
    ),
    Format(
        "PoseNet keypoints", ".json", f"{_ROOM}.keypoints.posenet",
        "flat, scaled so that the torso is 0.5 m; by the file's time stamps, otherwise "
        "30 frames per second unless told otherwise",
        signatures=(b"{", b"["),
    ),
    Format(
        "MediaPipe landmarks", ".json", f"{_ROOM}.keypoints.mediapipe",
        "world landmarks in metres around the hips; picture landmarks are scaled to a torso of 0.5 m, the "
        "picture's shape inferred from the body where the file does not say it; 30 frames per second unless "
        "the file or you say otherwise",
        signatures=(b"{", b"["),
    ),
    Format(
        "practice track", ".json", f"{_ROOM}.keypoints.practice_track",
        "the learner's landmarks in metres around the hips, by the time of day; not the followed video's",
        signatures=(b"{", b"["),
    ),
    Format(
        "MediaPipe landmarks as a table", ".csv", f"{_ROOM}.keypoints.mediapipe_csv",
        "world landmarks in metres around the hips; picture landmarks are scaled to a torso of 0.5 m, the "
        "picture's shape inferred from the body; 30 frames per second unless the table or you say otherwise",
    ),
    Format(
        "MoveNet keypoints as a table", ".csv", f"{_ROOM}.keypoints.movenet_csv",
        "flat, scaled so that the torso is 0.5 m, the picture's shape inferred from the body; "
        "30 frames per second unless the table or you say otherwise",
    ),
    Format(
        "CoMotion tracks", ".pt", f"{_ROOM}.motion_capture.comotion",
        "joints by forward kinematics over a neutral body; 30 frames per second unless told otherwise",
        signatures=(_ZIP, _OLD_TORCH), is_isolated=True,
    ),
)  # fmt: skip


def list_suffixes() -> tuple[str, ...]:
    """Return the suffixes of motion files, in the order of the rows."""
    return tuple(dict.fromkeys(format_.suffix for format_ in FORMATS))


def formats_with(suffix: str) -> Iterator[Format]:
    """Yield the formats whose files have this suffix, in upper or lower case."""
    return (format_ for format_ in FORMATS if format_.suffix == suffix.lower())

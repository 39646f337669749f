"""Motions as video: clothed mannequins in a room, drawn on the CPU and written as H.264.

The pictures are made for pose estimators as much as for people: faces, hair, hands and
shoes tell front from back, and `project` gives the joints' true places in the picture.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.motion import to_body15
from dancematch.synthetic.rendering import mannequin, raster
from dancematch.synthetic.rendering.camera import Camera, CameraView, aim
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.room import Room, add_shadows, paint_room
from dancematch.types import Motion

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

SIZE = (854, 480)
FPS = 30.0
_CAMERA = Camera()


@dataclass(frozen=True)
class FrameRenderer:
    """Draws any frame of a clip."""

    room: Room
    view: CameraView
    capsules: raster.Capsules
    table: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.capsules.start)

    def draw(self, number: int) -> Image:
        """One frame, [height, width, 3] RGB."""
        capsules = self.capsules.frame(number)
        picture = add_shadows(self.room, capsules)
        raster.draw_capsules(capsules, self.view, self.table, picture)
        return picture


def prepare_frames(
    motions: Motion | Sequence[Motion],
    *,
    appearances: Sequence[Appearance] = (),
    camera: Camera = _CAMERA,
    size: tuple[int, int] = SIZE,
    fps: float = FPS,
) -> FrameRenderer:
    """A renderer of the dancers' frames.

    All dancers begin with the first frame; one who ends early stands still. Dancers without an
    appearance get a random one; the first appearance decides the room.
    """
    dancers = [motions] if isinstance(motions, Motion) else list(motions)
    if not dancers:
        raise InputError("no dancer to draw: give at least one motion")
    if len(size) != 2 or min(size) < 16 or size[0] % 2 or size[1] % 2:
        raise InputError(f"a video's width and height must be even and 16 or more, got {size}")
    if not 1 <= fps <= 240:
        raise InputError(f"fps must be 1 to 240, got {fps}")
    worn = [
        *appearances[: len(dancers)],
        *(Appearance.random(i) for i in range(len(appearances), len(dancers))),
    ]
    on_floor = [_put_on_floor(dancer) for dancer in dancers]
    view = aim(camera, on_floor, size)
    clips = [_resample(joints, dancer.fps, fps) for joints, dancer in zip(on_floor, dancers, strict=True)]
    length = max(len(clip) for clip in clips)
    clips = [np.concatenate([clip, np.repeat(clip[-1:], length - len(clip), axis=0)]) for clip in clips]
    capsules = [
        mannequin.build_mannequin(clip, appearance) for clip, appearance in zip(clips, worn, strict=True)
    ]
    colours = np.concatenate([mannequin.palette(appearance) for appearance in worn])
    room = paint_room(view, np.stack(clips), worn[0])
    return FrameRenderer(room, view, mannequin.merge_capsules(capsules), raster.build_shade_table(colours))


def render(
    motions: Motion | Sequence[Motion],
    path: str | Path,
    *,
    appearances: Sequence[Appearance] = (),
    camera: Camera = _CAMERA,
    size: tuple[int, int] = SIZE,
    fps: float = FPS,
    on_frame: Callable[[int, int], None] | None = None,
) -> None:
    """Write a video of the dancers; `on_frame(done, total)` is called after every frame.

    The file appears under its name only when it is complete. An existing file is not replaced.
    """
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} exists already: remove it or choose another name")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write {target.name} into: make it first")
    frames = prepare_frames(motions, appearances=appearances, camera=camera, size=size, fps=fps)
    unfinished = target.with_name(f".{target.name}.part")
    try:
        _write_video(frames, unfinished, fps, on_frame)
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)


def render_frame(
    motions: Motion | Sequence[Motion],
    number: int = 0,
    *,
    appearances: Sequence[Appearance] = (),
    camera: Camera = _CAMERA,
    size: tuple[int, int] = SIZE,
) -> Image:
    """One frame of the dancers, [height, width, 3] RGB, with the camera that the whole clip would have."""
    dancers = [motions] if isinstance(motions, Motion) else list(motions)
    fps = dancers[0].fps if dancers else FPS
    frames = prepare_frames(dancers, appearances=appearances, camera=camera, size=size, fps=fps)
    if not 0 <= number < len(frames):
        raise InputError(f"the clip has frames 0 to {len(frames) - 1}, got {number}")
    return frames.draw(number)


def project(motion: Motion, camera: Camera = _CAMERA, size: tuple[int, int] = SIZE) -> Array:
    """The joints of `body15` in the pictures of this one dancer, pixels [frames, 15, 2]."""
    on_floor = _put_on_floor(motion)
    return aim(camera, [on_floor], size).project(on_floor)


def side_by_side(motions: Sequence[Motion], *, spacing: float = 1.6) -> list[Motion]:
    """The dancers in a row along x, their average places `spacing` metres apart."""
    row = []
    for number, motion in enumerate(motions):
        middle = np.nanmean(motion.joints.reshape(-1, 3), axis=0) * (1, 0, 1)
        shift = np.array([(number - (len(motions) - 1) / 2) * spacing, 0, 0]) - middle
        joints = (motion.joints + shift).astype(np.float32)
        row.append(Motion(joints, motion.fps, motion.skeleton, motion.visibility, motion.start))
    return row


def _put_on_floor(motion: Motion) -> Array:
    """The joints of `body15`, the lowest ankle of the clip at an ankle's height, [frames, 15, 3]."""
    body = to_body15(motion)
    joints = body.joints.astype(float)
    ankles = joints[:, [body.skeleton.index(f"{side}_ankle") for side in ("left", "right")], 1]
    seen = ankles[np.isfinite(ankles)]
    if len(seen):
        # The very lowest may be a glitch of the recording.
        joints[..., 1] += mannequin.ANKLE_METRES * mannequin.body_size(joints) - np.percentile(seen, 1)
    return joints


def _resample(joints: Array, fps: float, wanted: float) -> Array:
    """The joints at another frame rate, interpolated linearly."""
    if fps == wanted:
        return joints
    at = np.arange(max(round(len(joints) * wanted / fps), 1)) * fps / wanted
    at = np.minimum(at, len(joints) - 1)
    before = np.floor(at).astype(int)
    after = np.minimum(before + 1, len(joints) - 1)
    share = (at - before)[:, None, None]
    return np.asarray(joints[before] * (1 - share) + joints[after] * share)


def _write_video(
    frames: FrameRenderer, path: Path, fps: float, on_frame: Callable[[int, int], None] | None
) -> None:
    import av  # heavy, and single pictures do not need it

    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1001))
        stream.width, stream.height = frames.view.size
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": "28", "preset": "veryfast"}
        for number in range(len(frames)):
            frame = av.VideoFrame.from_ndarray(frames.draw(number), format="rgb24")
            container.mux(stream.encode(frame))
            if on_frame is not None:
                on_frame(number + 1, len(frames))
        container.mux(stream.encode(None))

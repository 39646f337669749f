"""Rasteriser for capsules: round-ended, tapered, optionally flattened, with depth and light per pixel.

A capsule is a sphere swept from `start` to `end` while its radius changes. Under weak perspective
a ray meets it in closed form, so no mesh is needed and every outline is exact. Flattening is an
affine map: in the capsule's own stretched space all rays are parallel again. Cameras look along z;
x right, y down.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from dancematch.synthetic.rendering.camera import CameraView

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

SUPERSAMPLING = 2  # supersampling factor, for smooth outlines
LIGHTS = 64  # shades of a colour
_KEY = np.array([-0.45, -0.65, -0.61])  # towards the lamp, in the camera's axes
_NEAREST = 0.1  # metres; nothing closer to the lens is drawn


@dataclass(frozen=True)
class Capsules:
    """Capsules in the world, of one frame or of many (then frames are the first axis)."""

    start: Array  # [..., capsules, 3] metres; NaN = not there
    end: Array  # [..., capsules, 3]
    radii: Array  # [capsules, 2] metres, at start and end
    thin: Array  # [..., capsules, 3] unit direction in which it is flattened
    flatness: Array  # [capsules] thickness over width; 1 = round
    paint: NDArray[np.int64]  # [capsules] row of the palette

    def frame(self, number: int) -> "Capsules":
        """The capsules of one frame."""
        return Capsules(
            self.start[number], self.end[number], self.radii, self.thin[number], self.flatness, self.paint
        )


class _ProjectedCapsule(NamedTuple):
    """One capsule in its own stretched space, in fine pixels."""

    box: NDArray[np.int64]  # [4] left, top, right, bottom of the fine picture
    planes: Array  # [3, 3]: times (x, y, 1): along the capsule, aside from it, along the ray
    length: float  # of the capsule across the ray
    rise: float  # of the capsule along the ray
    stretch: float  # of the ray
    lamp: Array  # [3] along, aside, along the ray
    thin: Array  # [3] likewise
    radii: Array  # [2]
    middle: float  # metres from the lens
    pixel: float  # metres, at the capsule's middle
    flatness: float
    paint: int


def build_shade_table(palette: Array) -> NDArray[np.uint32]:
    """Every paint in every light as RGBA, [paints * LIGHTS]; row 0 of the palette is transparent."""
    light = np.linspace(0, 1, LIGHTS)[None, :, None]
    cool = np.array([0.86, 0.92, 1.06])  # shade is bluish, light is warm
    warm = np.array([1.03, 1.0, 0.95])
    colours = palette[:, None] * (0.30 + 0.80 * light) * (cool + (warm - cool) * light)
    table = np.full((len(palette), LIGHTS, 4), 255, dtype=np.uint8)
    table[..., :3] = np.clip(colours * 255, 0, 255)
    table[0] = 0
    return table.reshape(-1, 4).view(np.uint32)[:, 0]


def draw_capsules(capsules: Capsules, view: CameraView, table: NDArray[np.uint32], onto: Image) -> None:
    """Paint the capsules of one frame over the picture `onto`, in place."""
    projected = _project_capsules(capsules, view)
    if not projected:
        return
    boxes = np.array([capsule.box for capsule in projected])
    left, top = boxes[:, :2].min(axis=0) // SUPERSAMPLING * SUPERSAMPLING
    right, bottom = -(-boxes[:, 2:].max(axis=0) // SUPERSAMPLING) * SUPERSAMPLING
    shape = (int(bottom - top), int(right - left))
    depth = np.full(shape, np.inf, dtype=np.float32)
    shade = np.zeros(shape, dtype=np.int32)
    for capsule in projected:
        _draw_capsule(capsule, (int(left), int(top)), depth, shade)
    colours = table[shade].view(np.uint8).reshape(*shape, 4)
    small = cv2.resize(
        colours, (shape[1] // SUPERSAMPLING, shape[0] // SUPERSAMPLING), interpolation=cv2.INTER_AREA
    )
    part = onto[
        top // SUPERSAMPLING : bottom // SUPERSAMPLING, left // SUPERSAMPLING : right // SUPERSAMPLING
    ]
    behind = cv2.multiply(part, cv2.merge([255 - small[..., 3]] * 3), scale=1 / 255)
    cv2.add(behind, np.ascontiguousarray(small[..., :3]), dst=behind)
    part[:] = behind


def _draw_capsule(
    capsule: _ProjectedCapsule, origin: tuple[int, int], depth: NDArray[np.float32], shade: NDArray[np.int32]
) -> None:
    left, top, right, bottom = capsule.box
    x = np.arange(left, right, dtype=np.float32)[None] + np.float32(0.5)
    y = np.arange(top, bottom, dtype=np.float32)[:, None] + np.float32(0.5)

    def plane(row: Array) -> NDArray[np.float32]:
        a, b, c = (np.float32(value) for value in row)
        return np.asarray(a * x + (b * y + c))

    u, v = plane(capsule.planes[0]), plane(capsule.planes[1])
    r0, r1 = capsule.radii
    radius = r0 + (r1 - r0) * np.clip(u * (1 / capsule.length), 0, 1)
    free = radius * radius - v * v  # squared radius that is left at this distance from the axis
    slant = -capsule.rise / np.hypot(capsule.length, capsule.rise)
    along = np.clip((u + slant * np.sqrt(np.maximum(free, 0))) * (1 / capsule.length), 0, 1)
    u -= along * capsule.length
    free -= u * u
    window = np.s_[top - origin[1] : bottom - origin[1], left - origin[0] : right - origin[0]]
    height = np.sqrt(np.maximum(free, 0))
    step = (along * capsule.rise - height - plane(capsule.planes[2])) * (
        capsule.pixel / capsule.stretch
    ) + capsule.middle
    shown = (free > 0) & (step < depth[window])
    light = _light(capsule, (u, v, height), radius)
    np.copyto(depth[window], step, where=shown)
    np.copyto(shade[window], light.astype(np.int32) + capsule.paint * LIGHTS, where=shown)


def _light(
    capsule: _ProjectedCapsule, place: tuple[NDArray[np.float32], ...], radius: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The light on a surface point, 0 to LIGHTS - 1."""
    u, v, height = place
    a, b, c = (np.float32(value) for value in capsule.lamp)
    facing = (a * u + b * v - c * height) / radius
    if capsule.flatness != 1:
        # Flattening tilts the normals towards the thin direction and lengthens them.
        a, b, c = (np.float32(value) for value in capsule.thin)
        tilt = (a * u + b * v - c * height) / radius
        facing /= np.sqrt(1 + np.float32(capsule.flatness**-2 - 1) * tilt * tilt)
    lit = np.float32(0.5) + np.float32(0.38) * facing + np.float32(0.12) * height / radius
    return np.asarray(np.clip(lit, 0, 1) * np.float32(LIGHTS - 1))


def _project_capsules(capsules: Capsules, view: CameraView) -> list[_ProjectedCapsule]:
    """The capsules in fine pixels, without those that are missing or out of the picture."""
    start, end = view.to_camera(capsules.start), view.to_camera(capsules.end)
    there = np.isfinite(start + end + capsules.thin).all(axis=1)
    there &= np.where(there, np.minimum(start[:, 2], end[:, 2]), 0) > _NEAREST
    start, end, thin = start[there], end[there], (capsules.thin @ view.rotation.T)[there]
    flatness, paint = capsules.flatness[there], capsules.paint[there]
    focal = view.focal * SUPERSAMPLING
    middle = (start[:, 2] + end[:, 2]) / 2
    radii = capsules.radii[there] * focal / np.stack([start[:, 2], end[:, 2]], axis=1)
    first, last = (_to_pixels(points, middle, view) for points in (start, end))
    boxes = _bounding_boxes(first, last, radii, view)
    ways = _stretched_spaces(first, last, thin, flatness)
    exact: tuple[Array, ...] = (*ways, radii, middle, middle / focal, flatness)
    columns: tuple[NDArray[Any], ...] = (boxes, *(column.astype(np.float32) for column in exact), paint)
    inside = np.flatnonzero((boxes[:, :2] < boxes[:, 2:]).all(axis=1))
    return [_ProjectedCapsule._make(column[i] for column in columns) for i in inside]


def _to_pixels(points: Array, middle: Array, view: CameraView) -> Array:
    """Fine pixels, and the depth from the capsule's middle in pixels of the middle's size."""
    focal = view.focal * SUPERSAMPLING
    flat = points[:, :2] / points[:, 2:] * focal + np.array(view.size) * SUPERSAMPLING / 2
    return np.column_stack([flat, (points[:, 2] - middle) * focal / middle])


def _bounding_boxes(first: Array, last: Array, radii: Array, view: CameraView) -> NDArray[np.int64]:
    """Left, top, right and bottom of every capsule, within the picture."""
    low = np.minimum(first[:, :2] - radii[:, :1], last[:, :2] - radii[:, 1:])
    high = np.maximum(first[:, :2] + radii[:, :1], last[:, :2] + radii[:, 1:])
    limit = np.array(view.size) * SUPERSAMPLING
    return np.hstack([np.clip(np.floor(low), 0, limit), np.clip(np.ceil(high), 0, limit)]).astype(np.int64)


def _stretched_spaces(first: Array, last: Array, thin: Array, flatness: Array) -> tuple[Array, ...]:
    """The maps into each capsule's own space: fields of `_ProjectedCapsule` from `planes` to `thin`."""
    into = np.eye(3) + (1 / flatness - 1)[:, None, None] * thin[:, :, None] * thin[:, None, :]
    ray = into[:, :, 2]
    stretch = np.linalg.norm(ray, axis=1)
    ray = ray / stretch[:, None]
    axis = np.einsum("nij,nj->ni", into, last - first)
    rise = (axis * ray).sum(axis=1)
    flat = axis - rise[:, None] * ray
    # A capsule that points at the lens has no direction in the picture; take any.
    end_on = np.linalg.norm(flat, axis=1) < 1e-3
    flat[end_on] = 1e-3 * np.cross(ray[end_on], np.roll(ray[end_on], 1, axis=1) + np.array([0.1, 0.2, 0.3]))
    length = np.linalg.norm(flat, axis=1)
    along = flat / length[:, None]
    basis = np.stack([along, np.cross(ray, along), ray], axis=1)  # [capsules, (u, v, ray), 3]
    planes = basis @ into
    planes = np.concatenate([planes[..., :2], -np.einsum("nki,ni->nk", planes, first)[..., None]], axis=2)
    lamp = np.einsum("nki,nij,j->nk", basis, into, _KEY)
    tilt = np.einsum("nki,ni->nk", basis, thin)
    return planes, length, rise, stretch, lamp, tilt

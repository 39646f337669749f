"""The room behind the dancers: floor, walls, and the shadows on the floor."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from dancematch.synthetic.rendering.camera import CameraView
from dancematch.synthetic.rendering.mannequin import Appearance
from dancematch.synthetic.rendering.raster import Capsules

Array = NDArray[np.float64]
Image = NDArray[np.uint8]

_HALF_METRES = 3.4  # half the room's width, beyond the dancers' own
_CEILING = 3.6
_LAMP = (0.35, -0.25)  # sideways shift of a shadow per metre of height: x, z
_CELL = 0.03  # metres of floor per cell of the shadow texture


@dataclass(frozen=True)
class Room:
    """A room from one camera: what stays the same in all frames is painted once."""

    picture: Image  # [height, width, 3]
    shadow_map: tuple[NDArray[np.float32], NDArray[np.float32]]  # each pixel's place on the texture
    corner: Array  # [2] metres: x and z of the texture's first cell
    cells: tuple[int, int]  # of the texture: along x, along z


def paint_room(view: CameraView, joints: Array, appearance: Appearance) -> Room:
    """The empty room around the dancers' joints [..., 3]."""
    low = np.nanmin(joints.reshape(-1, 3), axis=0)
    high = np.nanmax(joints.reshape(-1, 3), axis=0)
    picture = _draw_room(view, ((low + high) / 2, (high - low) / 2), appearance)
    corner = low[[0, 2]] - 1.2
    cells = np.ceil((high - low)[[0, 2]] / _CELL + 2.4 / _CELL).astype(int)
    rays = view.rays()
    with np.errstate(divide="ignore"):
        reach = np.where(rays[..., 1] < 0, -view.position[1] / rays[..., 1], np.inf)
    reach = np.where(reach * view.focal < 50, reach, np.nan)
    floor = view.position[[0, 2]] + reach[..., None] * rays[..., [0, 2]]
    places = np.nan_to_num((floor - corner) / _CELL, nan=-100).astype(np.float32)
    return Room(
        picture, (places[..., 0].copy(), places[..., 1].copy()), corner, (int(cells[0]), int(cells[1]))
    )


def add_shadows(room: Room, capsules: Capsules) -> Image:
    """The room's picture with the shadows of one frame's capsules."""
    texture = np.zeros((room.cells[1], room.cells[0]), dtype=np.uint8)
    ends = [(_project_shadow(points) - room.corner) / _CELL for points in (capsules.start, capsules.end)]
    widths = np.maximum(2 * capsules.radii.mean(axis=1) / _CELL, 1)
    there = np.isfinite(ends[0] + ends[1]).all(axis=1) & (capsules.radii.max(axis=1) > 0.025)
    for i in np.flatnonzero(there):
        first, last = (tuple(np.round(end[i] * 16).astype(int).tolist()) for end in ends)
        cv2.line(texture, first, last, 255, round(widths[i]), cv2.LINE_AA, 4)
    soft = cv2.addWeighted(
        cv2.GaussianBlur(texture, (0, 0), 1.2), 0.5, cv2.GaussianBlur(texture, (0, 0), 5), 0.5, 0
    )
    shade = cv2.remap(255 - (soft // 9 * 4), *room.shadow_map, cv2.INTER_LINEAR, borderValue=255)
    return np.asarray(cv2.multiply(room.picture, cv2.merge([shade] * 3), scale=1 / 255), dtype=np.uint8)


def _project_shadow(points: Array) -> Array:
    """The points' shadows on the floor: x and z."""
    return np.stack([points[:, 0] + _LAMP[0] * points[:, 1], points[:, 2] + _LAMP[1] * points[:, 1]], axis=-1)


def _draw_room(view: CameraView, space: tuple[Array, Array], appearance: Appearance) -> Image:
    """The empty room, drawn at double resolution and averaged."""
    rays = view.rays(2)
    middle, half = space
    box = np.array([half[0] + _HALF_METRES, _CEILING, half[2] + _HALF_METRES])
    centre = np.array([middle[0], 0, middle[2]])
    with np.errstate(divide="ignore", invalid="ignore"):
        walls = np.where(rays > 0, box, -box) + centre
        walls[..., 1] = np.where(rays[..., 1] > 0, _CEILING, 0)
        reach = (walls - view.position) / rays
    reach[~np.isfinite(reach)] = np.inf
    face = reach.argmin(axis=-1)
    hit = view.position + rays * reach.min(axis=-1, keepdims=True)
    colour = np.where(
        (face == 1)[..., None], _floor_colour(hit, centre, appearance), _wall_colour(hit, face, appearance)
    )
    colour[(face == 1) & (hit[..., 1] > 1)] = (0.86, 0.86, 0.84)  # the ceiling
    fine = (np.clip(colour, 0, 1) * 255).astype(np.uint8)
    return np.asarray(cv2.resize(fine, view.size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _floor_colour(hit: Array, centre: Array, appearance: Appearance) -> Array:
    x, z = hit[..., 0], hit[..., 2]
    if appearance.checkered:
        tone = 0.9 + 0.16 * ((np.floor(x / 0.5) + np.floor(z / 0.5)) % 2)
    else:
        board = np.floor(x / 0.18)
        piece = np.floor(z / 1.3 + board * 0.37)
        tone = 0.93 + 0.12 * np.mod(np.sin(board * 12.99 + piece * 78.23) * 43758.5, 1)
        tone = tone * np.where(np.mod(x / 0.18, 1) < 0.05, 0.82, 1)
    distance = np.hypot(x - centre[0], z - centre[2])
    tone = tone * (0.72 + 0.33 * np.exp(-((distance / 2.6) ** 2)))
    return np.asarray(tone[..., None] * appearance.floor)


def _wall_colour(hit: Array, face: NDArray[np.int64], appearance: Appearance) -> Array:
    y = hit[..., 1]
    tone = np.where(face == 0, 0.88, 1.0) * (0.86 + 0.1 * np.clip(y / 2.5, 0, 1))
    tone = np.where(y < 0.95, tone * 0.9, tone)
    tone = np.where((y > 0.93) & (y < 0.97), 0.8, tone)
    plain = tone[..., None] * appearance.wall
    return np.where((y < 0.12)[..., None], np.array([0.92, 0.91, 0.88]) * tone[..., None], plain)

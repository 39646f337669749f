"""Figures of a .glb file, read by a library that is not ours: where each joint and vertex is at each time."""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pygltflib import GLTF2

_TYPES = {5123: "<u2", 5126: "<f4"}
_SIZES = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}


@dataclass
class Figure:
    """One dancer as a viewer shows it."""

    name: str
    joints: dict[str, np.ndarray]  # [frames, 3] in the world
    times: np.ndarray  # [frames] seconds
    vertices: np.ndarray  # [frames, vertices, 3] in the world, by linear blend skinning
    triangles: np.ndarray


def read_figures(path: Path) -> list[Figure]:
    """Pose each figure at its own key frames."""
    kind, number, size = struct.unpack("<4sII", path.read_bytes()[:12])
    assert (b"glTF", 2, path.stat().st_size) == (kind, number, size)
    file = GLTF2().load(path)
    return [_read_figure(file, node) for node in file.nodes if node.mesh is not None]


def _array(file: GLTF2, number: int) -> np.ndarray:
    accessor = file.accessors[number]
    view = file.bufferViews[accessor.bufferView]
    count = accessor.count * _SIZES[accessor.type]
    values = np.frombuffer(file.binary_blob(), _TYPES[accessor.componentType], count, view.byteOffset)
    return (
        values.reshape(accessor.count, -1).squeeze(axis=1)
        if accessor.type == "SCALAR"
        else (values.reshape(accessor.count, -1))
    )


def _read_figure(file: GLTF2, body) -> Figure:
    above = {child: number for number, node in enumerate(file.nodes) for child in node.children or ()}
    (animation,) = file.animations
    moved = {one.target.node: animation.samplers[one.sampler] for one in animation.channels}
    skin = file.skins[body.skin]
    times = _array(file, moved[skin.joints[0]].input)

    def world(number: int) -> np.ndarray:
        still = np.array(file.nodes[number].translation)
        own = _array(file, moved[number].output) if number in moved else np.tile(still, (len(times), 1))
        return own + (world(above[number]) if number in above else 0)

    (primitive,) = file.meshes[body.mesh].primitives
    corners = _array(file, primitive.attributes.POSITION)
    owners = _array(file, primitive.attributes.JOINTS_0)[:, 0]
    bind = _array(file, skin.inverseBindMatrices).reshape(-1, 4, 4)[:, 3, :3]
    places = np.stack([world(number) for number in skin.joints], axis=1)
    root = skin.joints[0]
    while root in above:
        root = above[root]
    return Figure(
        file.nodes[root].name,
        {file.nodes[number].name: places[:, i] for i, number in enumerate(skin.joints)},
        times,
        corners + bind[owners] + places[:, owners],
        _array(file, primitive.indices).reshape(-1, 3),
    )

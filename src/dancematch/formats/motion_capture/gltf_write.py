"""Motions -> glTF 2.0 binary (.glb), for Blender, three.js, <model-viewer> and other viewers.

Each dancer is one skinned figure: a node per joint, moved by translations alone, which give every position
exactly, also where estimated bones change their length; for rotations there is .bvh. A ball stands at each
joint, and a bone is what the ball sweeps on its way to the next joint. Units are metres, y is up, and time
counts in seconds from the start of the dancer who comes first.

- A joint that is unseen for a while is interpolated; before and after it is seen it is held: glTF cannot say
  so. A joint that is never seen is left out.
- Dancers who would stand in one another, because each was measured around their own hips, stand side by side:
  the node of each dancer is shifted, what is below it is as measured.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancematch.errors import InputError
from dancematch.formats.files import write_bytes
from dancematch.types import FloatArray, Motion, Skeleton

APART_METRES = 1.5  # between dancers who stand side by side
SAME_PLACE_METRES = 0.5  # between the middles of two dancers: nearer, they would stand in one another
JOINT_METRES = 0.035  # radius of the ball at a joint, and so of the bones
HEAD_METRES = 0.1
# Blue, orange, green, purple, yellow, told apart by the colour-blind too (Okabe and Ito); linear, not sRGB.
_COLOURS = ((0.0, 0.168, 0.445), (0.665, 0.112, 0.0), (0.0, 0.342, 0.171), (0.604, 0.191, 0.386),
            (0.871, 0.768, 0.054))  # fmt: skip
# Where a layout has no joint between the two sides, nothing else would hold a body together.
_ACROSS = (("neck", "left_shoulder", "right_shoulder"), ("pelvis", "left_hip", "right_hip"))
_HEADS = ("head", "nose")  # the first that a layout has is where the head is drawn
_FLOAT, _SHORT = 5126, 5123  # numbers that glTF has for component types
_VERTICES, _INDICES = 34962, 34963  # and for what a buffer view is for
_KINDS = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}

Triangles = NDArray[np.uint16]


def write(
    path: str | Path, motions: Sequence[Motion], *, names: Sequence[str] = (), overwrite: bool = False
) -> None:
    """Write all dancers into one file, on one clock, by these names or as "dancer 1" and so on."""
    if not motions:
        raise InputError(f"{path} was not written: it needs one dancer or more, got none")
    document = _Document()
    seen = [leave_out_unseen(motion) for motion in motions]
    shifts, first = _shift_dancers(seen), min(motion.start for motion in seen)
    names = names or [f"dancer {number}" for number in range(1, len(seen) + 1)]
    for name, motion, shift in zip(names, seen, shifts, strict=True):
        _add_figure(document, name, motion, shift, first)
    write_bytes(Path(path), document.as_bytes(), overwrite=overwrite)


def _shift_dancers(motions: Sequence[Motion]) -> FloatArray:
    """Return by how much each dancer is shifted [dancers, 3]: not at all if none stands in another."""
    shifts = np.zeros((len(motions), 3), np.float32)
    middles = np.array([np.nanmedian(motion.joints, axis=(0, 1)) for motion in motions])
    near = np.linalg.norm(middles[:, None, [0, 2]] - middles[:, [0, 2]], axis=2) < SAME_PLACE_METRES
    if near.sum() > len(motions):  # each is near itself
        shifts[:, 0] = APART_METRES * (np.arange(len(motions)) - (len(motions) - 1) / 2)
    return shifts


def leave_out_unseen(motion: Motion) -> Motion:
    """Return the motion on a skeleton without the joints that are never seen.

    What hangs from such a joint hangs from the nearest one above that is seen, or else from the first of all.
    """
    seen = np.isfinite(motion.joints).all(axis=2).any(axis=0)
    if seen.all():
        return motion
    if not seen.any():
        raise InputError("a figure needs a joint that is seen, but this dancer has none")
    skeleton, kept = motion.skeleton, np.flatnonzero(seen).tolist()
    places = {joint: place for place, joint in enumerate(kept)}
    parents: list[int] = []
    for joint in kept:
        above = skeleton.parents[joint]
        last = 0 if above >= 0 and parents else -1
        while above >= 0 and above not in places:
            above = skeleton.parents[above]
        parents.append(places.get(above, last))
    smaller = Skeleton(
        f"{skeleton.name} as seen",
        tuple(skeleton.joints[joint] for joint in kept),
        tuple(parents),
        tuple(places.get(skeleton.mirror[joint], places[joint]) for joint in kept),
    )
    return Motion(motion.joints[:, kept], motion.fps, smaller, motion.visibility[:, kept], motion.start)


@dataclass
class _Document:
    """A glTF document that grows: lists of what it has, and the buffer that its numbers are in."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    meshes: list[dict[str, Any]] = field(default_factory=list)
    materials: list[dict[str, Any]] = field(default_factory=list)
    skins: list[dict[str, Any]] = field(default_factory=list)
    samplers: list[dict[str, Any]] = field(default_factory=list)
    channels: list[dict[str, Any]] = field(default_factory=list)
    accessors: list[dict[str, Any]] = field(default_factory=list)
    views: list[dict[str, Any]] = field(default_factory=list)
    buffer: bytearray = field(default_factory=bytearray)

    def add_node(self, **properties: Any) -> int:
        """Add a node; returns its number."""
        self.nodes.append(properties)
        return len(self.nodes) - 1

    def add_array(self, values: NDArray[Any], *, target: int | None = None, bounds: bool = False) -> int:
        """Add an array [count] or [count, components] of float32 or uint16; returns its accessor's number."""
        table = np.ascontiguousarray(values).reshape(len(values), -1)
        view = {"buffer": 0, "byteOffset": len(self.buffer), "byteLength": table.nbytes}
        self.views.append(view if target is None else {**view, "target": target})
        self.buffer += table.astype(table.dtype.newbyteorder("<")).tobytes()
        self.buffer += bytes(-len(self.buffer) % 4)
        accessor = {
            "bufferView": len(self.views) - 1,
            "componentType": _FLOAT if table.dtype == np.float32 else _SHORT,
            "count": len(table),
            "type": _KINDS[table.shape[1]],
        }
        if bounds:
            accessor |= {"min": table.min(axis=0).tolist(), "max": table.max(axis=0).tolist()}
        self.accessors.append(accessor)
        return len(self.accessors) - 1

    def as_bytes(self) -> bytes:
        """Return the file: a header, the document as JSON, the buffer."""
        made = {
            "asset": {"version": "2.0", "generator": f"DanceMatch {version('dancematch')}"},
            "scene": 0,
            "scenes": [{"name": "dance", "nodes": self.roots}],
            "nodes": self.nodes, "meshes": self.meshes, "materials": self.materials, "skins": self.skins,
            "animations": [{"name": "dance", "samplers": self.samplers, "channels": self.channels}],
            "accessors": self.accessors, "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.buffer)}],
        }  # fmt: skip
        text = json.dumps(made, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        chunks = [(b"JSON", text), (b"BIN\0", bytes(self.buffer))]
        body = b"".join(struct.pack("<I4s", len(chunk), kind) + chunk for kind, chunk in chunks)
        return struct.pack("<4sII", b"glTF", 2, 12 + len(body)) + body


def _add_figure(
    document: _Document, name: str, motion: Motion, shift: FloatArray, clock_start: float
) -> None:
    """Add a dancer: the joints' nodes, their animation, and the body that they move."""
    places = _fill_gaps(motion)
    joints = _add_joints(document, motion.skeleton, places[0])
    dancer = document.add_node(
        name=name, translation=shift.tolist(), children=_roots(motion.skeleton, joints)
    )
    document.roots.append(dancer)
    times = (motion.start - clock_start + np.arange(len(places)) / motion.fps).astype(np.float32)
    clock = document.add_array(times, bounds=True)
    for joint, parent in enumerate(motion.skeleton.parents):
        moved = places[:, joint] - (places[:, parent] if parent >= 0 else 0)
        document.samplers.append({"input": clock, "output": document.add_array(moved.astype(np.float32))})
        target = {"node": joints[joint], "path": "translation"}
        document.channels.append({"sampler": len(document.samplers) - 1, "target": target})
    _add_body(document, name, motion.skeleton, places[0] + shift, joints)


def _roots(skeleton: Skeleton, joints: list[int]) -> list[int]:
    return [node for node, parent in zip(joints, skeleton.parents, strict=True) if parent < 0]


def _fill_gaps(motion: Motion) -> FloatArray:
    """Return the joints with gaps interpolated, and held before and after they are seen."""
    joints, frames = motion.joints.copy(), np.arange(len(motion.joints))
    for joint in range(joints.shape[1]):
        known = np.flatnonzero(np.isfinite(joints[:, joint]).all(axis=1))
        for axis in range(3 if len(known) < len(frames) else 0):
            joints[:, joint, axis] = np.interp(frames, known, joints[known, joint, axis])
    return joints


def _add_joints(document: _Document, skeleton: Skeleton, places: FloatArray) -> list[int]:
    """Add a node per joint, at these places; returns their numbers."""
    numbers: list[int] = []
    for joint, parent in enumerate(skeleton.parents):
        offset = places[joint] - (places[parent] if parent >= 0 else 0)
        numbers.append(document.add_node(name=skeleton.joints[joint], translation=offset.tolist()))
        if parent >= 0:
            document.nodes[numbers[parent]].setdefault("children", []).append(numbers[joint])
    return numbers


def _add_body(
    document: _Document, name: str, skeleton: Skeleton, places: FloatArray, joints: list[int]
) -> None:
    """Add what is seen of a dancer: one mesh, each vertex of which goes with one joint."""
    owners, offsets, triangles = _make_body(skeleton)
    weights = np.zeros((len(owners), 4), np.float32)
    weights[:, 0] = 1
    bound = np.zeros((len(owners), 4), np.uint16)
    bound[:, 0] = owners
    inverse = np.tile(np.eye(4, dtype=np.float32), (len(joints), 1, 1))
    inverse[:, 3, :3] = -places  # glTF has matrices by columns
    vertices = (places[owners] + offsets).astype(np.float32)
    attributes = {
        "POSITION": document.add_array(vertices, target=_VERTICES, bounds=True),
        "JOINTS_0": document.add_array(bound, target=_VERTICES),
        "WEIGHTS_0": document.add_array(weights, target=_VERTICES),
    }
    colour = [*_COLOURS[len(document.meshes) % len(_COLOURS)], 1.0]
    document.materials.append(
        {
            "name": name,
            "pbrMetallicRoughness": {"baseColorFactor": colour, "metallicFactor": 0, "roughnessFactor": 0.8},
            "doubleSided": True,  # which side of a swept face is outside changes with the bone's direction
        }
    )
    number = len(document.meshes)
    indices = document.add_array(triangles.reshape(-1), target=_INDICES)
    primitive = {"attributes": attributes, "indices": indices, "material": number}
    document.meshes.append({"name": f"{name} body", "primitives": [primitive]})
    document.skins.append({"joints": joints, "inverseBindMatrices": document.add_array(inverse)})
    # A skinned mesh is placed by its joints alone, so it stands at the root.
    document.roots.append(document.add_node(name=f"{name} body", mesh=number, skin=number))


def _make_body(skeleton: Skeleton) -> tuple[NDArray[np.int64], FloatArray, Triangles]:
    """Return the joint of each vertex, the vertex relative to it, and the triangles of balls and bones."""
    corners, faces = _ball()
    edges = np.unique(np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    count, size = len(skeleton.joints), len(corners)
    owners, offsets = np.repeat(np.arange(count), size), np.tile(JOINT_METRES * corners, (count, 1))
    triangles = [faces + size * joint for joint in range(count)]
    for start, end in _links(skeleton):
        (a, b), (c, d) = edges.T + size * start, edges.T + size * end
        triangles += [np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)]
    head = next((name for name in _HEADS if name in skeleton.joints), None)
    if head is not None:
        triangles.append(faces + len(owners))
        owners = np.append(owners, np.full(size, skeleton.index(head)))
        offsets = np.concatenate([offsets, HEAD_METRES * corners])
    return owners, offsets.astype(np.float32), np.concatenate(triangles).astype(np.uint16)


def _links(skeleton: Skeleton) -> list[tuple[int, int]]:
    """Return the pairs of joints that a bone is drawn between."""
    links = [(parent, joint) for joint, parent in enumerate(skeleton.parents) if parent >= 0]
    there = {name: joint for joint, name in enumerate(skeleton.joints)}
    for middle, left, right in _ACROSS:
        if middle not in there and left in there and right in there:
            links.append((there[left], there[right]))
    return links


def _ball() -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the corners of an icosahedron of radius 1, and its faces, turned outwards."""
    golden = (1 + 5**0.5) / 2
    signed = [(0.0, one, two) for one in (-1, 1) for two in (-golden, golden)]
    corners = np.array([np.roll(corner, turn) for turn in range(3) for corner in signed])
    near = np.linalg.norm(corners[:, None] - corners, axis=2) < 2.1  # an edge is 2 long
    faces = [
        (a, b, c) if np.linalg.det(corners[[a, b, c]]) > 0 else (a, c, b)
        for a, b, c in combinations(range(len(corners)), 3)
        if near[a, b] and near[b, c] and near[a, c]
    ]
    radius = np.linalg.norm(corners[0])
    return (corners / radius).astype(np.float32), np.array(faces)

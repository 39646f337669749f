"""Small files that claim, multiply or nest far more than a motion file has, made on the spot.

`HOSTILE_FILES` has them by name: a function that gives the bytes, and the suffix. All are to be refused
within seconds, in one line, by the command line, the library and the service alike.
"""

import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_HUGE = (1 << 2039) - 1  # the largest whole number of 255 bytes
_ZEROS = bytes(1 << 20)


def pickle_of_huge_shape(sizes: int = 2_000) -> bytes:
    """An array whose shape is a number of 614 digits, 2,000 times: 4.3 kB, a product of millions of bits."""
    number = b"\x8a\xff" + _HUGE.to_bytes(255, "little")  # LONG1
    shape = b"(" + number + b"q\x00" + b"h\x00" * (sizes - 1) + b"t"  # the rest by BINGET
    return pickle_of_array(shape)


def pickle_of_array(shape: bytes, key: bytes = b"U\x0bkeypoints3d") -> bytes:
    """A pickled dictionary with one array, whose shape is given by instructions."""
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
    kind = b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    return b"\x80\x02}" + key + made + b"(K\x01" + shape + kind + b"\x89U\x00tb" + b"s."


def pickle_of_huge_shape_and_size() -> bytes:
    """The same with 18,900 numbers, as many as instructions are allowed: 38 kB."""
    return pickle_of_huge_shape(18_900)


def coco_of_far_frames(tracks: int = 5_000) -> bytes:
    """5,000 people of two pictures each, 1,200 pictures apart: 1.7 MB, six million frames."""
    pose = [*(number % 17 + 1 for number in range(51))]
    results = [
        {"image_id": track + late, "track_id": track, "keypoints": pose}
        for track in range(tracks)
        for late in (0, 1_199)
    ]
    return json.dumps(results, separators=(",", ":")).encode()


def bvh_of_nested_ends(blocks: int = 150_000) -> bytes:
    """150,000 end sites, one within the other, a joint in each: 4.4 MB, whose parents are far up."""
    opened = "".join(f"JOINT joint{number}\nEnd Site\n{{\n" for number in range(blocks))
    header = "HIERARCHY\nROOT hips\n{\n" + opened + "}\n" * blocks + "}\n"
    return f"{header}MOTION\nFrames: 1\nFrame Time: 0.04\n0\n".encode()


def openpose_of_crowds(people: int = 18_000, frames: int = 36) -> bytes:
    """18,000 people over 36 frames, 500 in each, nobody near the place of anybody before: 5.0 MB."""
    crowd = people // frames
    pictures = [
        {"people": [_stranger(frame * crowd + place) for place in range(crowd)]} for frame in range(frames)
    ]
    return json.dumps(pictures, separators=(",", ":")).encode()


def openpose_of_one_crowd() -> bytes:
    """18,000 people in two frames: each would be compared with each."""
    return openpose_of_crowds(frames=2)


def _stranger(number: int) -> dict[str, Any]:
    """A person of OpenPose, 25 keypoints, where nobody else is."""
    across, down = number % 200, number // 200
    points = [(9 * across + joint % 3, 9 * down + joint % 4, 1) for joint in range(25)]
    return {"pose_keypoints_2d": [value for point in points for value in point]}


def amass_of_zeros(frames: int = 1_500_000) -> bytes:
    """Fourteen hours in which nothing moves: 1.9 MB that unpack to 1.9 GB."""
    poses, trans = (
        array_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({frames}, {width}), }}")
        for width in (156, 3)
    )
    return zip_of([member("poses.npy", poses, frames * 156 * 8), member("trans.npy", trans, frames * 3 * 8)])


def array_header(text: str) -> bytes:
    """How a .npy file begins, with any text for its header."""
    line = text.encode() + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(line)) + line


@dataclass(frozen=True)
class Member:
    """One member of a ZIP archive, packed."""

    name: bytes
    packed: bytes
    checksum: int
    size: int  # unpacked


def member(name: str, content: bytes, zeros: int = 0) -> Member:
    """A member of any content and as many zeros after it, which are packed once and repeated."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    begin = deflate.compress(content) + deflate.flush(zlib.Z_FULL_FLUSH)
    block = deflate.compress(_ZEROS) + deflate.flush(zlib.Z_FULL_FLUSH)  # does not look back
    count, rest = divmod(zeros, len(_ZEROS))
    end = deflate.compress(_ZEROS[:rest]) + deflate.flush()
    checksum = zlib.crc32(content)
    for _ in range(count):
        checksum = zlib.crc32(_ZEROS, checksum)
    checksum = zlib.crc32(_ZEROS[:rest], checksum)
    return Member(name.encode(), begin + block * count + end, checksum, len(content) + zeros)


def zip_of(members: Sequence[Member]) -> bytes:
    """A ZIP archive of members, however many and of whatever names."""
    files, directory = bytearray(), bytearray()
    for one in members:
        fields = (20, 0, 8, 0, 33, one.checksum, len(one.packed), one.size, len(one.name), 0)
        directory += b"PK\x01\x02" + struct.pack("<HHHHHHIIIHH", 20, *fields)
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(files)) + one.name
        files += b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", *fields) + one.name + one.packed
    count = min(len(members), 0xFFFF)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(files), 0)
    return bytes(files + directory + end)


HostileFile = tuple[Callable[[], bytes], str]
HOSTILE_FILES: dict[str, HostileFile] = {
    "pickle_of_huge_shape": (pickle_of_huge_shape, ".pkl"),
    "pickle_of_huge_shape_and_size": (pickle_of_huge_shape_and_size, ".pkl"),
    "coco_of_far_frames": (coco_of_far_frames, ".json"),
    "bvh_of_nested_ends": (bvh_of_nested_ends, ".bvh"),
    "openpose_of_crowds": (openpose_of_crowds, ".json"),
    "openpose_of_one_crowd": (openpose_of_one_crowd, ".json"),
    "amass_of_zeros": (amass_of_zeros, ".npz"),
}

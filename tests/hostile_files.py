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


def pickle_of_shared_tuples(depth: int = 60) -> bytes:
    """A name that is a pair of a pair of a pair of one text: printed, it has 2 ** 60 of them."""
    pairs = b"".join(
        b"q" + bytes([n]) + b"h" + bytes([n]) + b"\x86" for n in range(depth)
    )  # PUT, GET, TUPLE2
    return b"\x80\x02}U\x0bkeypoints3dU\x05numpyU\x01x" + pairs + b"\x93s."  # STACK_GLOBAL


def pickle_of_copies(size: int = 4 << 20, copies: int = 390) -> bytes:
    """A text of 4 MB that is encoded 390 times: each time another 4 MB."""
    text = b"X" + struct.pack("<I", size) + b"a" * size
    made = b"c_codecs\nencode\nq\x00" + text + b"q\x01U\x06latin1q\x02"
    return b"\x80\x02" + made + b"h\x00h\x01h\x02\x86R" * copies + b"."


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


def bvh_of_nested_braces(blocks: int = 300_000) -> bytes:
    """Braces alone, 300,000 deep, with a joint at the bottom: 0.6 MB."""
    header = "HIERARCHY\nROOT hips\n" + "{" * blocks + "\nJOINT knee\n{\n}\n" + "}" * blocks
    return f"{header}\nMOTION\nFrames: 1\nFrame Time: 0.04\n0\n".encode()


def bvh_of_joints_without_channels(joints: int = 900, frames: int = 900_000) -> bytes:
    """One channel, 900 joints and 900,000 frames: 1.8 MB, of which 810 million positions would come."""
    names = [
        "LeftArm",
        "RightArm",
        "LeftForeArm",
        "LeftUpLeg",
        "RightUpLeg",
        *(f"j{n}" for n in range(joints)),
    ]
    parts = "".join(f"JOINT {name}\n{{\nOFFSET 1 2 3\n}}\n" for name in names)
    header = f"HIERARCHY\nROOT Hips\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{parts}}}\n"
    return f"{header}MOTION\nFrames: {frames}\nFrame Time: 0.04\n".encode() + b"0\n" * frames


def coco_of_long_names(length: int = 3 << 20) -> bytes:
    """A picture whose name has six million characters, digits and letters in turn: each is compared alone."""
    images = [{"id": 0, "file_name": "1a" * length}]
    return json.dumps(
        {"images": images, "annotations": [{"image_id": 0, "keypoints": [*range(51)]}]}
    ).encode()


def mediapipe_of_crowd_and_nobody(people: int = 500, frames: int = 400_000) -> bytes:
    """500 people in the first frame, nobody in 400,000 more: 1.4 MB, room for 200 million people."""
    crowd = [[[0.1, 0.2]] * 33] * people
    return f"[{json.dumps(crowd, separators=(',', ':'))}{',[]' * frames}]".encode()


def json_of_brackets(count: int = 2_500_000) -> bytes:
    """Empty lists in a list, 7.5 MB: parsed, twenty times as much."""
    return b"[" + b"[]," * count + b"[]]"


def json_of_keys(count: int = 500_000) -> bytes:
    """An object of half a million keys, 6.9 MB: parsed, thirty times as much."""
    return ("{" + ",".join(f'"k{number:08}":1' for number in range(count)) + "}").encode()


def json_of_escapes(count: int = 400_000) -> bytes:
    """One text of 400,000 escaped quotation marks after as many colons as keys are allowed: 0.8 MB."""
    return b'[{"a":"' + b":" * 10_001 + b'"},"' + b'\\"' * count + b'"]'


def json_of_open_escapes() -> bytes:
    """The same, cut short within the text: each of its marks might begin another."""
    return json_of_escapes()[:-2]


def json_of_one_text(characters: int = 30_000_000) -> bytes:
    """One text of 30 MB after as many colons as keys are allowed."""
    return b'[{"a":"' + b":" * 10_001 + b'"},"' + b"x" * characters + b'"]'


def json_of_wide_text(characters: int = 99_000_000) -> bytes:
    """One text of 99 MB that a single escaped character makes four times as large."""
    return b'["' + b"x" * characters + b'\\ud83d\\ude00"]'


def json_of_hidden_texts(count: int = 3_600_000) -> bytes:
    """3.6 million texts of a letter, 32 MB, and as many colons within one text."""
    return b'["' + b":" * count + b'"' + b',"\\u0101"' * count + b"]"


_LANDMARKS = ",".join(f"Landmark_{number}" for number in range(33)).encode()


def csv_of_one_row(lines: int = 140_000) -> bytes:
    """A row that never ends, for each line of it ends within quotes: 6.4 MB, two million cells."""
    return _LANDMARKS + b'\n"' + (b'","' * 15 + b"\n") * lines


def csv_of_empty_rows(rows: int = 200_000) -> bytes:
    """200,000 frames in which no landmark is: 6.8 MB."""
    return _LANDMARKS + b"\n" + (b"," * 32 + b"\n") * rows


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


def own_of_many_dancers(dancers: int = 1_000_000) -> bytes:
    """Our own format with a million dancers, all described alike: 0.3 MB."""
    text = '{"format":"dancematch-motion","version":1,"source":{},"dancers":['
    whole = (text + "{}," * dancers + "{}]}").encode("utf-32-le")
    header = array_header(f"{{'descr': '<U{len(whole) // 4}', 'fortran_order': False, 'shape': (), }}")
    return zip_of([member("metadata.npy", header + whole)])


def own_of_long_text(characters: int = 45_000_000) -> bytes:
    """Our own format whose description is 180 MB of nothing: 0.2 MB."""
    header = array_header(f"{{'descr': '<U{characters}', 'fortran_order': False, 'shape': (), }}")
    return zip_of([member("metadata.npy", header, 4 * characters)])


def own_of_damaged_header() -> bytes:
    """A sound archive with right checksums, in which the header of an array is cut within a bracket."""
    header = array_header("{'descr': '<U2', 'fortran_order': False, 'shape': (")
    return zip_of([member("metadata.npy", header)])


def words_of_zeros(steps: int = 40_000_000) -> bytes:
    """Words for two months in one dancer: 0.2 MB that unpack to 200 MB."""
    described = {"model_id": "m", "vocabulary": 9, "seconds_per_word": 0.1, "start": 0}
    text = json.dumps({"format": "dancematch-fingerprint", "version": 1, "dancers": [described]})
    head = array_header(f"{{'descr': '<U{len(text)}', 'fortran_order': False, 'shape': (), }}")
    words, seen = (
        array_header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({steps}, 1), }}")
        for kind in ("|u1", "<f4")
    )
    members = [
        member("fingerprint.npy", head + text.encode("utf-32-le")),
        member("words_0.npy", words, steps),
    ]
    return zip_of([*members, member("visibility_0.npy", seen, 4 * steps)])


def zip_of_many_members(count: int = 60_000) -> bytes:
    """An archive of 60,000 empty arrays, 6 MB: an object each before anybody can look at them."""
    return zip_of([member(f"{number}.npy", b"") for number in range(count)])


def zip_of_nothing() -> bytes:
    """An archive without members."""
    return zip_of([])


def zip_in_name_only() -> bytes:
    """Begins as an archive does and goes on with noise."""
    return b"PK\x03\x04" + bytes(range(256)) * 20


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
    count, rest = divmod(zeros, len(_ZEROS))
    packed = deflate.compress(content)
    if count:  # a block that does not look back
        packed += deflate.flush(zlib.Z_FULL_FLUSH)
        packed += (deflate.compress(_ZEROS) + deflate.flush(zlib.Z_FULL_FLUSH)) * count
    packed += deflate.compress(_ZEROS[:rest]) + deflate.flush()
    checksum = zlib.crc32(content)
    for _ in range(count):
        checksum = zlib.crc32(_ZEROS, checksum)
    checksum = zlib.crc32(_ZEROS[:rest], checksum)
    return Member(name.encode(), packed, checksum, len(content) + zeros)


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
    "pickle_of_shared_tuples": (pickle_of_shared_tuples, ".pkl"),
    "pickle_of_copies": (pickle_of_copies, ".pkl"),
    "coco_of_far_frames": (coco_of_far_frames, ".json"),
    "coco_of_long_names": (coco_of_long_names, ".json"),
    "bvh_of_nested_ends": (bvh_of_nested_ends, ".bvh"),
    "bvh_of_nested_braces": (bvh_of_nested_braces, ".bvh"),
    "bvh_of_joints_without_channels": (bvh_of_joints_without_channels, ".bvh"),
    "mediapipe_of_crowd_and_nobody": (mediapipe_of_crowd_and_nobody, ".json"),
    "json_of_brackets": (json_of_brackets, ".json"),
    "json_of_keys": (json_of_keys, ".json"),
    "json_of_escapes": (json_of_escapes, ".json"),
    "json_of_open_escapes": (json_of_open_escapes, ".json"),
    "json_of_one_text": (json_of_one_text, ".json"),
    "json_of_wide_text": (json_of_wide_text, ".json"),
    "json_of_hidden_texts": (json_of_hidden_texts, ".json"),
    "csv_of_one_row": (csv_of_one_row, ".csv"),
    "csv_of_empty_rows": (csv_of_empty_rows, ".csv"),
    "openpose_of_crowds": (openpose_of_crowds, ".json"),
    "openpose_of_one_crowd": (openpose_of_one_crowd, ".json"),
    "amass_of_zeros": (amass_of_zeros, ".npz"),
    "own_of_many_dancers": (own_of_many_dancers, ".npz"),
    "own_of_long_text": (own_of_long_text, ".npz"),
    "own_of_damaged_header": (own_of_damaged_header, ".npz"),
    "words_of_zeros": (words_of_zeros, ".npz"),
    "zip_of_many_members": (zip_of_many_members, ".npz"),
    "zip_of_nothing": (zip_of_nothing, ".npz"),
    "zip_in_name_only": (zip_in_name_only, ".npz"),
}

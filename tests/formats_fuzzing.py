"""Damaged motion files without end: each sample of a format changed at random, and changed back into a file.

`mutate` knows how a format is written, so that damage gets past the parser: a header within an archive is
changed and the archive has right checksums again, a value within JSON becomes a huge number, an instruction
of a pickle comes twice. The same seed gives the same file.
"""

import copy
import io
import json
import math
import pickletools
import random
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Mutation = Callable[[bytes, random.Random], bytes]

_UNPARSED = (
    ValueError, LookupError, TypeError, OverflowError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def deep(levels: int, inner: Any = 0) -> Any:
    """A list in a list in a list."""
    for _ in range(levels):
        inner = [inner]
    return inner


VALUES: tuple[Any, ...] = (
    0, 1, -1, 2, 3.5, 255, 2**31, 2**63, -(2**63), 10**18, 10**40, 10**400, 1e-300, 1e38, 1e300, -1e300, 1e6,
    math.nan, math.inf, -math.inf, None, True, False, "", "x", "nan", "1e999", "-5",
    "x" * 100_000, "9" * 5_000,
    "\x1b[2J\x07\r\nalarm\x00", "\u202e\u2028", "\ud800",
    [], {}, [[]], [None] * 40, [0] * 3_000, deep(60), deep(900),
)  # fmt: skip
TEXTS = [value for value in VALUES if isinstance(value, str)]
TOKENS = [
    *(str(value) for value in VALUES if isinstance(value, int | float)),
    *(text for text in TEXTS if "\ud800" not in text),
    "{", "}", "\n", ",", '"', "'", "JOINT j", "ROOT r", "END", "MOTION", "HIERARCHY", "Frames:", "OFFSET 1",
    "CHANNELS 3 Xrotation Xrotation Xrotation", "CHANNELS 9", "CHANNELS 1 Yscale", "(1, 2, 3, 4, 5)", "(,)",
]  # fmt: skip
SHAPES = [
    "()", "(0,)", "(-1, 3)", "(3,)", "(1, 1, 3)", "(12, 15)", "(12, 15, 4)", "(1000000, 15, 3)",
    "(99999999999999999, 3)", f"({'9' * 400},)", f"({'1, ' * 300})", "(12L, 15L, 3L)", "(1.5, 2)",
    "(True,)", "((((", "None", "[12, 15, 3]",
]  # fmt: skip
DTYPES = [
    "<f8",
    ">f4",
    "<f2",
    "|b1",
    "<i8",
    "|u1",
    "<U9",
    "<U1000000",
    "|O",
    "<c16",
    "|V8",
    "<M8",
    "f",
    "",
    "<f0",
    "|S4",
]


def mutate(suffix: str, content: bytes, seed: str) -> bytes:
    """Return another damaged version of a file for each seed."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    own = MUTATIONS[suffix]
    chosen = own if rng.random() < 0.75 else change_bytes
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            content = chosen(content, rng)
        except _UNPARSED:
            content = change_bytes(content, rng)  # damaged too much for its own parser
    return content


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip, cut, double or move bytes."""
    made, size = bytearray(content), len(content)
    first, last = sorted(rng.randrange(size + 1) for _ in range(2))
    match rng.randrange(6):
        case 0 | 1:
            for _ in range(rng.choice([1, 4, 32])):
                if made:
                    made[rng.randrange(len(made))] = rng.randrange(256)
        case 2:
            del made[first:]
        case 3:
            del made[first:last]
        case 4:
            made[first:first] = made[last : last + 1000] * rng.choice([1, 50])
        case 5:
            made[first:last] = rng.randbytes(min(last - first, 64))
    return bytes(made)


def change_json(content: bytes, rng: random.Random) -> bytes:
    """Put other values at random places of JSON."""
    parsed = json.loads(content)
    for _ in range(rng.choice([1, 1, 2, 6])):
        parsed = change_node(parsed, rng)
    return json.dumps(parsed).encode()


def change_node(parsed: Any, rng: random.Random) -> Any:
    """Replace, remove, double or rename one node."""
    if not (isinstance(parsed, dict | list) and parsed):
        return copy.deepcopy(rng.choice(VALUES))
    parent, key = pick_node(parsed, rng)
    match rng.randrange(6):
        case 0 | 1 | 2:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
        case 3:
            del parent[key]
        case 4 if isinstance(parent, list):
            parent[key:key] = [parent[key]] * rng.choice([1, 3, 700])
        case 4:
            parent[rng.choice(TEXTS)] = parent.pop(key)
        case 5:
            other, place = pick_node(parsed, rng)
            parent[key] = copy.deepcopy(other[place])
    return parsed


def pick_node(node: Any, rng: random.Random) -> tuple[Any, Any]:
    """A random place within parsed JSON as its container and key: as likely high up as deep down."""
    while True:
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        inner = node[key]
        if not (isinstance(inner, dict | list) and inner) or rng.random() < 0.25:
            return node, key
        node = inner


def change_archive(content: bytes, rng: random.Random) -> bytes:
    """Change members within a sound archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    place = rng.randrange(len(members))
    name, inner = members[place]
    match rng.randrange(8):
        case 0:
            del members[place]
        case 1:
            members.append((name, rng.choice([inner, members[0][1], b""])))
        case 2:
            members[place] = (
                rng.choice(["x.npy", f"{'n' * 60_000}.npy", "\x1b[2J.npy", "../../a.npy", name[:-4]]),
                inner,
            )
        case 3:
            members[place] = (name, change_bytes(inner, rng))
        case _ if name.endswith(".npy"):
            members[place] = (name, change_array(inner, rng))
        case _:
            members[place] = (
                name,
                change_pickle(inner, rng) if name.endswith(".pkl") else change_bytes(inner, rng),
            )
    return pack(members, rng.random() < 0.5)


def pack(members: list[tuple[str, bytes]], compress: bool) -> bytes:
    """An archive of members with right checksums, the same name twice or not."""
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w") as archive:
        warnings.simplefilter("ignore")  # about names that come twice
        for name, inner in members:
            archive.writestr(name, inner, zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED)
    return made.getvalue()


def change_array(inner: bytes, rng: random.Random) -> bytes:
    """Change the header, the text or the numbers of a .npy member."""
    begin = 10 + int.from_bytes(inner[8:10], "little")
    header, numbers = inner[10:begin].decode("latin-1"), inner[begin:]
    if "'<U" in header and rng.random() < 0.7:
        text = change_json(numbers.decode("utf-32-le").encode("utf-8", "surrogatepass"), rng).decode()
        header = re.sub(r"<U\d+", f"<U{len(text)}", header)
        return join_array(header, text.encode("utf-32-le", "surrogatepass"))
    match rng.randrange(4):
        case 0:
            return join_array(re.sub(r"\(.*?\)", lambda _: rng.choice(SHAPES), header), numbers)
        case 1:
            return join_array(re.sub(r"'[<>|]\w+'", lambda _: f"'{rng.choice(DTYPES)}'", header), numbers)
        case 2:
            damaged = change_bytes(header.encode("latin-1"), rng).decode("latin-1")
            return join_array(damaged, numbers)
    return join_array(header, change_numbers(header, numbers, rng))


def join_array(header: str, numbers: bytes) -> bytes:
    """A .npy member of any header."""
    text = header.encode("latin-1", "replace")
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + numbers


def change_numbers(header: str, numbers: bytes, rng: random.Random) -> bytes:
    """Write extreme numbers into an array, or other bytes where it has none."""
    kind = re.search(r"'([<>|][fiu]\d)'", header)
    if kind is None or not numbers:
        return change_bytes(numbers + b"\0", rng)
    array = np.frombuffer(numbers, kind[1]).copy()
    extremes = [math.nan, math.inf, -math.inf, 1e38, -1e38, 1e7, 0, -1] if kind[1][1] == "f" else [0, 1, 99]
    with np.errstate(all="ignore"):
        for _ in range(rng.choice([1, 5, array.size])):
            array[rng.randrange(array.size)] = rng.choice(extremes)
    return array.tobytes()


def change_pickle(content: bytes, rng: random.Random) -> bytes:
    """Remove, double, move or replace instructions."""
    found = list(pickletools.genops(content))
    ends = [position for _, _, position in found[1:]] + [len(content)]
    parts = [content[start:end] for (_, _, start), end in zip(found, ends, strict=True)]
    for _ in range(rng.choice([1, 1, 2, 5])):
        place = rng.randrange(len(parts))
        match rng.randrange(5):
            case 0:
                del parts[place]
            case 1:
                parts[place:place] = [parts[place]] * rng.choice([1, 10, 3000])
            case 2:
                other = rng.randrange(len(parts))
                parts[place], parts[other] = parts[other], parts[place]
            case _:
                parts[place] = rng.choice(INSTRUCTIONS)
    return b"".join(parts)


INSTRUCTIONS = [
    b"\x8a\xff" + b"\xff" * 254 + b"\x7f", b"J\xff\xff\xff\xff", b"J\xff\xff\xff\x7f", b"M\xff\xff", b"K\x00",
    b"I" + b"9" * 4000 + b"\n", b"F1e999\n", b"Fnan\n", b"U\x04\x1b[2J", b"X\x60\xea\x00\x00" + b"x" * 60_000,
    b"T\xff\xff\xff\x7f", b"N", b"\x88", b"t", b"\x85", b"\x86", b"\x87", b"}", b"]", b")", b"R", b"b", b"s",
    b"(", b"u", b"0", b"2", b"q\x00", b"h\x00", b"h\x63", b".", b"\x93", b"\x81", b"\x94", b"\x80\x05",
    b"cos\nsystem\n", b"c\x1b[2J\n\x07\n", b"cnumpy\nndarray\n", b"cnumpy\ndtype\n",
]  # fmt: skip


def change_tokens(content: bytes, rng: random.Random) -> bytes:
    """Replace, remove or double words and lines of a text."""
    tokens = re.split(r"(\s+|,)", content.decode("utf-8", "replace"))
    for _ in range(rng.choice([1, 1, 3, 20])):
        place = rng.randrange(len(tokens))
        # What a BVH file or a table says of itself stands at the beginning.
        place = place if rng.random() < 0.5 else place % max(1, min(200, len(tokens)))
        match rng.randrange(6):
            case 0:
                del tokens[place]
            case 1:
                tokens[place:place] = tokens[place : place + 20] * rng.choice([1, 30])
            case _:
                tokens[place] = rng.choice(TOKENS)
        tokens = tokens or [""]
    return "".join(tokens).encode("utf-8", "replace")


MUTATIONS: dict[str, Mutation] = {
    ".npz": change_archive,
    ".pt": change_archive,
    ".json": change_json,
    ".pkl": change_pickle,
    ".bvh": change_tokens,
    ".csv": change_tokens,
}

"""Malicious files sent to a real `dancematch serve`: each gets its error, and nothing else happens."""

import io
import json
import re
import socket
import struct
import zipfile
from pathlib import Path

import av
import numpy as np
import pytest

from dance_samples import write_dance
from pose_samples import quarters, write_clip, write_sound
from server_samples import serving, wait_for

LIMITS = ("--max-seconds", 20, "--max-pixels", 1920 * 1080, "--job-seconds", 60, "--max-upload", 8)
TEN_HOURS = 36_000_000  # milliseconds


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("attacked") / "dances.db", *LIMITS, "--sync-mb", 1) as running:
        yield running


def truncated(folder: Path) -> bytes:
    """The index of an .mp4 stands at its end: half a file has none."""
    content = write_clip(folder / "half.mp4").read_bytes()
    return content[: len(content) // 2]


def corrupt(folder: Path) -> bytes:
    """The container is whole, the pictures in it are noise."""
    content = bytearray(write_clip(folder / "corrupt.mp4").read_bytes())
    begin = content.index(b"mdat") + 4
    end = content.index(b"moov") - 4 if content.index(b"moov") > begin else len(content)
    content[begin:end] = np.random.default_rng(0).bytes(end - begin)
    return bytes(content)


def giant(folder: Path) -> bytes:
    """Frames of 4000 by 3000, in a few kilobytes."""
    picture = np.zeros((3000, 4000, 3), np.uint8)
    return write_clip(folder / "giant.mkv", (0, 40), image=picture, codec="mpeg4").read_bytes()


def lying_header(folder: Path) -> bytes:
    """A small clip that claims frames of 65535 by 65535."""
    content = bytearray(write_clip(folder / "lying.mp4").read_bytes())
    at = content.index(b"avc1") + 28
    content[at : at + 4] = struct.pack(">HH", 65535, 65535)
    return bytes(content)


def growing(folder: Path) -> bytes:
    """Pictures that are small at first and then of 4000 by 3000, of which the header says nothing."""
    picture = np.zeros((3000, 4000, 3), np.uint8)
    small = write_clip(folder / "small.ts").read_bytes()
    return small + write_clip(folder / "large.ts", (0, 40), image=picture).read_bytes()


def no_frame(folder: Path) -> bytes:
    """A video whose header promises pictures, and nothing after it."""
    path = folder / "none.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        container.start_encoding()
    return path.read_bytes()


def ten_hours(folder: Path) -> bytes:
    """Three frames, the last ten hours late, and no word of it in the header."""
    return write_clip(folder / "long.ts", (0, 40, TEN_HOURS)).read_bytes()


def ten_hours_declared(folder: Path) -> bytes:
    """The same, and the header says so."""
    return write_clip(folder / "long.mp4", (0, TEN_HOURS)).read_bytes()


def only_sound(folder: Path) -> bytes:
    """No pictures at all."""
    return write_sound(folder / "sound.mp4").read_bytes()


def still_picture(folder: Path) -> bytes:
    """A picture, no video."""
    path = folder / "still.png"
    with av.open(str(path), "w", format="image2") as container:
        stream = container.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "rgb24"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(quarters(), format="rgb24")))
        container.mux(stream.encode())
    return path.read_bytes()


def playlist(_folder: Path) -> bytes:
    """Asks the decoder to open other files and addresses."""
    return b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\nhttp://127.0.0.1:1/x.ts\n"


def concat_script(_folder: Path) -> bytes:
    """Asks FFmpeg to play a file of the server."""
    return b"ffconcat version 1.0\nfile /etc/passwd\n"


def picture_as_text(_folder: Path) -> bytes:
    """An SVG that wants a file of the server."""
    return b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>"


def no_dancer(folder: Path) -> bytes:
    """A sound video without a person in it."""
    return write_clip(folder / "empty.mp4").read_bytes()


def empty_zip(_folder: Path) -> bytes:
    """An archive of nothing."""
    return zipped({})


def bomb(folder: Path) -> bytes:
    """A motion of ninety minutes in which nothing moves: 30 kilobytes that unpack to 30 megabytes."""
    content = write_dance(folder / "still.npz", 0).read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name, shape in (("joints_0", (165_000, 15, 3)), ("visibility_0", (165_000, 15))):
        array = io.BytesIO()
        np.save(array, np.zeros(shape, np.float32))
        members[f"{name}.npy"] = array.getvalue()
    return zipped(members)


def zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return made.getvalue()


def pickle_that_acts(folder: Path) -> bytes:
    """Would make a file, were it run."""
    return b"\x80\x04" + f"cposix\nsystem\n(S'touch {folder / 'acted'}'\ntR.".encode()


def deep_json(_folder: Path) -> bytes:
    """A hundred thousand brackets."""
    return b"[" * 100_000


def lying_array(folder: Path) -> bytes:
    """A motion whose array claims terabytes."""
    content = write_dance(folder / "good.npz", 0).read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 15, 3), }".ljust(117) + "\n"
    members["joints_0.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + bytes(100)
    return zipped(members)


ATTACKS = {
    truncated: "video",
    corrupt: "video",
    giant: "video",
    lying_header: "no_dancer",  # the decoder believes the stream, not the container
    growing: "no_dancer",
    no_frame: "video",
    ten_hours: "video",
    ten_hours_declared: "video",
    only_sound: "video",
    still_picture: "video",
    playlist: "video",
    concat_script: "video",
    picture_as_text: "video",
    no_dancer: "no_dancer",
    empty_zip: "format",
    bomb: "input",
    pickle_that_acts: "format",
    deep_json: "format",
    lying_array: "format",
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_gets_an_error_and_nothing_else(server, tmp_path, attack):
    """By its own kind, in one sentence that names no path; the server answers on and keeps nothing."""
    answer = server.client.post("/search", content=attack(tmp_path), params={"filename": "dance.mp4"})
    described = answer.json()
    if answer.status_code == 202:
        described = server.finished(described["job_id"])["error"]
    else:
        assert 422 == answer.status_code

    assert ATTACKS[attack] == described["error"], described
    assert "dances.db" not in json.dumps(described)
    assert not (tmp_path / "acted").exists()
    assert 200 == server.client.get("/health").status_code


def test_a_file_is_what_it_holds_not_what_it_is_called(server, tmp_path):
    """A motion called a video is read as a motion, a video called a motion is looked at as a video."""
    motion = write_dance(tmp_path / "motion.npz", 1).read_bytes()
    video = write_clip(tmp_path / "clip.mp4").read_bytes()

    assert 200 == server.client.post("/search", content=motion, params={"filename": "x.mp4"}).status_code
    assert 202 == server.client.post("/search", content=video, params={"filename": "x.npz"}).status_code


def test_an_upload_that_breaks_off_leaves_nothing(server):
    """A client that says it sends more than it does, and goes."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\nhalf a")
    uploads = next(Path(server.process.args[2]).parent.glob("*.service")) / "uploads"
    wait_for(lambda: not list(uploads.glob("*.part")))
    assert 200 == server.client.get("/health").status_code


def test_the_document_tells_what_each_attack_gets():
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w ]+) \| (.+) \| `(\w+)` \|$", page.partition("## Attacks")[2], re.MULTILINE)
    described = {
        attack.__name__.replace("_", " "): (attack.__doc__, name) for attack, name in ATTACKS.items()
    }

    assert described == {name: (what, error) for name, what, error in rows}

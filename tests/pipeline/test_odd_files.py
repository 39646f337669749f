"""Pipes, devices, sockets, broken links, changing files: left out of folders, refused where named."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from cli_samples import run_main
from dance_samples import save_small_model, write_dance
from dancematch import formats
from dancematch.errors import InputError
from dancematch.formats import files
from dancematch.pipeline.analysis import clip_files
from dancematch.pipeline.analysis.clip_files import content_hash, find_clips
from formats_samples import SAMPLES, openpose_frame, pixels

SECONDS = 60  # far more than a command takes; a pipe would take forever
FRAME = "clip_000000000000_keypoints.json"
NAMES = ("x.npz", "x.csv", "x.mp4", "x.json", "x.bvh", "x.pkl", "x.pt", FRAME)

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")


@pytest.fixture
def model(tmp_path):
    save_small_model(tmp_path / "model")
    return tmp_path / "model"


def make_odd(kind: str, path: Path) -> Path:
    """Make something that is there, but neither a file nor a folder."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.relpath(path))  # a socket's path is short
    return path


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process of its own, which can be ended where it waits for a pipe."""
    command = [sys.executable, "-m", "dancematch", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
@pytest.mark.parametrize("name", ["x.npz", "x.mp4", FRAME])
def test_what_is_no_file_is_refused_in_one_sentence(tmp_path, monkeypatch, kind, name):
    """It is not waited for, and no link to it is followed."""
    monkeypatch.chdir(tmp_path)
    odd = make_odd(kind, tmp_path / name)
    with pytest.raises(InputError, match="is no file: a pipe, a device or a socket"):
        find_clips([odd])
    with pytest.raises(InputError, match="is no file: a pipe, a device or a socket"):
        files.open_regular(odd)


@pytest.mark.parametrize("name", ["x.npz", "x.mp4"])
def test_a_pipe_is_neither_added_nor_extracted(tmp_path, model, name):
    """Both commands end with code 1 and one line."""
    pipe = make_odd("pipe", tmp_path / name)
    for command in (
        ("add", tmp_path / "new.db", pipe, "--model", model),
        ("extract", pipe, "-o", tmp_path / "out"),
    ):
        done = run(*command)

        assert 1 == done.returncode
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"dancematch: {pipe} is no file: a pipe, a device or a socket; ")


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_what_is_no_file_is_left_out_of_a_folder(tmp_path, monkeypatch, kind):
    """Whatever it is called, the clips beside it are found."""
    monkeypatch.chdir(tmp_path)
    clip = write_dance(tmp_path / "clips" / "a.npz", 1)
    odd = [make_odd(kind, clip.parent / name) for name in NAMES]

    assert [clip] == find_clips([clip.parent])
    assert [clip] == find_clips([f"{clip.parent}/*.npz"])
    assert [] == [path for path in odd if path.suffix in (".csv", ".json") and formats.holds_motion(path)]


def test_a_folder_with_a_pipe_is_added_and_extracted(tmp_path, model):
    """The commands do not wait for it."""
    clip = write_dance(tmp_path / "clips" / "a.npz", 1)
    for name in NAMES:
        make_odd("pipe", clip.parent / name)

    assert 0 == run("add", tmp_path / "new.db", clip.parent, "--model", model).returncode
    assert 0 == run("extract", clip.parent, "-o", tmp_path / "out").returncode


def test_a_pipe_among_frames_is_a_missing_frame(tmp_path):
    """The other frames of the recording are one clip."""
    for number, points in enumerate(pixels(12)):
        frame = tmp_path / f"dance_{number:012}_keypoints.json"
        frame.write_text(json.dumps(openpose_frame([points])))
    frame.unlink()
    make_odd("pipe", frame)
    (motion,) = formats.read(tmp_path)

    assert 11 == len(motion.joints)
    assert [tmp_path] == find_clips([tmp_path])


def test_links_that_lead_nowhere_or_in_a_circle_are_left_out(tmp_path):
    """Each clip is found once, however many links lead back to its folder."""
    clip = write_dance(tmp_path / "clips" / "a.npz", 1)
    (clip.parent / "gone.npz").symlink_to("nowhere.npz")
    (clip.parent / "circle.mp4").symlink_to("circle.mp4")
    (clip.parent / "self").symlink_to(".")
    (clip.parent / "up").symlink_to("..")

    assert [clip] == find_clips([clip.parent])
    for name in ("gone.npz", "circle.mp4"):
        assert (
            f"{clip.parent / name} does not exist"
            == run_main("extract", clip.parent / name, "-o", tmp_path).complaint
        )


def test_a_file_that_became_a_pipe_after_the_look_is_refused(tmp_path, monkeypatch):
    """The open file itself is asked what it is: the path was a file a moment ago."""
    clip = write_dance(tmp_path / "a.npz", 1)
    pipe = make_odd("pipe", tmp_path / "b.npz")
    at_once = files._open_at_once
    monkeypatch.setattr(files, "_open_at_once", lambda _path, flags: at_once(str(pipe), flags))
    for read in (formats.read, content_hash):
        with pytest.raises(InputError, match=r"a\.npz is no file"):
            read(clip)


@pytest.mark.parametrize("change", [lambda file: file.truncate(9), lambda file: file.write(b"more" * 99)])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, change):
    """One that another program still writes has no content yet, and might never end."""
    path = tmp_path / "a.json"
    opened = files.open_regular

    class Changing:
        def __init__(self, path):
            self._file = opened(path)
            self.fileno, self.close = self._file.fileno, self._file.close

        def read(self, size=-1):
            with path.open("ab") as file:
                change(file)
            return self._file.read(size)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

    monkeypatch.setattr(files, "open_regular", Changing)
    monkeypatch.setattr(clip_files, "open_regular", Changing)
    for read in (files.read_bytes, content_hash):
        path.write_bytes(b"[" + b" " * 100_000 + b"]")
        with pytest.raises(InputError, match=r"a\.json changed while it was read; wait until it is complete"):
            read(path)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_file_that_vanishes_is_told_of_in_one_sentence(tmp_path, monkeypatch, name):
    """Found, then gone: the reader says so."""
    SAMPLES[name](tmp_path / name)

    def lose(*_arguments):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("dancematch.formats.registry.Format.read", lose)
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        formats.read(tmp_path / name)
    with pytest.raises(InputError, match="does not exist"):
        content_hash(tmp_path / "gone.npz")


def test_a_folder_that_cannot_be_listed_is_told_of_in_one_sentence(tmp_path, monkeypatch):
    def refuse(_folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    for look in (lambda: find_clips([tmp_path]), lambda: content_hash(tmp_path)):
        with pytest.raises(InputError, match="cannot be read: Permission denied"):
            look()

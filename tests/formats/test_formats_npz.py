import io
import json
import resource
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dancematch import formats
from dancematch.errors import FormatError, InputError
from dancematch.formats import archive as archive_files
from dancematch.formats import limits, npz
from dancematch.types import Motion, Skeleton
from formats_samples import dancer

ODD = Skeleton("tail", ("root", "left fin", "right fin"), (-1, 0, 0), (0, 2, 1))


@given(
    joints=arrays.arrays(np.float32, (3, 3, 3), elements=st.floats(-5, 5, width=32) | st.just(float("nan"))),
    fps=st.floats(1, 1000),
    start=st.floats(0, 1e6),
)
def test_any_motion_comes_back_bit_for_bit(tmp_path_factory, joints, fps, start):
    """Joints, visibility, rate, start and an unknown layout survive unchanged."""
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    written = Motion(joints, fps, ODD, np.full((3, 3), 0.25, np.float32), start)
    formats.write(path, [written])
    (found,) = formats.read(path)

    assert (written.fps, written.start, written.skeleton) == (found.fps, found.start, found.skeleton)
    np.testing.assert_array_equal(written.joints, found.joints)
    np.testing.assert_array_equal(written.visibility, found.visibility)


def test_several_dancers_share_a_file(tmp_path):
    """Each dancer keeps his own length and start, in the order given."""
    formats.write(tmp_path / "a.npz", [dancer(20), dancer(7, start=2.5)])

    assert [(len(m.joints), m.start) for m in formats.read(tmp_path / "a.npz")] == [(20, 0.0), (7, 2.5)]


def test_source_survives(tmp_path):
    npz.write(tmp_path / "a.npz", [dancer()], source={"video": "döner.mp4", "frames": 40})

    assert npz.read_source(tmp_path / "a.npz") == {"video": "döner.mp4", "frames": 40}


def test_nothing_is_overwritten_unasked(tmp_path):
    path = tmp_path / "a.npz"
    formats.write(path, [dancer(5)])
    with pytest.raises(InputError, match="exists already"):
        formats.write(path, [dancer(9)])
    assert len(formats.read(path)[0].joints) == 5

    formats.write(path, [dancer(9)], overwrite=True)
    assert len(formats.read(path)[0].joints) == 9


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    """Where the bytes do not fit, the old file stays, no part remains, and our error says why."""
    path = tmp_path / "a.npz"
    formats.write(path, [dancer(5)])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot be written"):
            formats.write(path, [dancer(2000)], overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert [path] == list(tmp_path.iterdir())
    assert len(formats.read(path)[0].joints) == 5


@pytest.mark.parametrize("name", ["a.txt", "missing/a.npz", "a"])
def test_a_place_that_cannot_be_written_is_said(tmp_path, name):
    with pytest.raises(InputError, match=r"written"):
        formats.write(tmp_path / name, [dancer()])


def test_writing_no_dancer_is_refused(tmp_path):
    with pytest.raises(InputError, match="no motion"):
        formats.write(tmp_path / "a.npz", [])


def _rewrite_metadata(path: Path, **changes: object) -> None:
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["metadata"] = np.array(json.dumps(json.loads(str(arrays["metadata"])) | changes))
    np.savez(path, **arrays)


def test_a_newer_format_number_is_refused(tmp_path):
    """A file of the future asks for an update instead of being misread."""
    formats.write(tmp_path / "a.npz", [dancer()])
    _rewrite_metadata(tmp_path / "a.npz", version=2)
    with pytest.raises(FormatError, match=r"a\.npz has format number 2.*update"):
        formats.read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "changes", [{"dancers": []}, {"dancers": [{"fps": 30}]}, {"dancers": 3}, {"version": "x"}, {"source": 1}]
)
def test_damaged_metadata_are_refused(tmp_path, changes):
    formats.write(tmp_path / "a.npz", [dancer()])
    _rewrite_metadata(tmp_path / "a.npz", **changes)
    with pytest.raises(FormatError, match=r"a\.npz"):
        formats.read(tmp_path / "a.npz")


def test_another_rate_than_the_files_is_refused(tmp_path):
    """A rate that contradicts the file is an error, the same rate is none."""
    formats.write(tmp_path / "a.npz", [dancer(fps=50)])
    assert formats.read(tmp_path / "a.npz", fps=50)[0].fps == 50
    with pytest.raises(FormatError, match="50 frames per second, but 30"):
        formats.read(tmp_path / "a.npz", fps=30)


def _member(header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 3, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3, 3)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
    ],
)
def test_a_header_that_lies_is_refused(tmp_path, header):
    """A member that claims a terabyte, or objects, is refused before anything is allocated."""
    formats.write(tmp_path / "a.npz", [dancer()])
    with zipfile.ZipFile(tmp_path / "a.npz") as old:
        members = {name: old.read(name) for name in old.namelist()}
    members["joints_0.npy"] = _member(header)
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as new:
        for name, content in members.items():
            new.writestr(name, content)
    with pytest.raises(FormatError, match=r"b\.npz: the array 'joints_0' is damaged"):
        formats.read(tmp_path / "b.npz")


def test_a_zip_bomb_is_refused(tmp_path):
    """An archive that declares more than two gigabytes is not unpacked."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("metadata.npy", b"x" * 100)
    content = buffer.getvalue()
    place = content.index(b"PK\x01\x02") + 24  # the uncompressed size in the directory
    (tmp_path / "a.npz").write_bytes(content[:place] + b"\xff\xff\xff\xfe" + content[place + 4 :])
    with pytest.raises(FormatError, match="would unpack to more"):
        formats.read(tmp_path / "a.npz")


def test_our_own_motions_may_be_as_long_as_they_like(tmp_path, monkeypatch):
    """What is not packed cannot multiply; packed, the same motion is beyond the limit."""
    monkeypatch.setattr(limits, "MAX_POSITIONS", 100)
    monkeypatch.setattr(limits, "MAX_BYTES", 1000)
    formats.write(tmp_path / "long.npz", [dancer()])
    with np.load(tmp_path / "long.npz") as members:
        np.savez_compressed(tmp_path / "packed.npz", **members)

    assert len(dancer().joints) == len(formats.read(tmp_path / "long.npz")[0].joints)
    with pytest.raises(FormatError, match="more than 1000 bytes"):
        formats.read(tmp_path / "packed.npz")


def test_members_that_claim_the_same_bytes_are_not_taken_for_plain(tmp_path, monkeypatch):
    """Ten names for one array would be ten times its memory."""
    monkeypatch.setattr(limits, "MAX_BYTES", 10_000)
    formats.write(tmp_path / "own.npz", [dancer()])
    with zipfile.ZipFile(tmp_path / "own.npz") as archive:
        assert archive_files.is_stored(archive)
        archive.filelist *= 10
        assert not archive_files.is_stored(archive)

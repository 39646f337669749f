"""Small files that would cost much: each is refused in one line, before memory is taken or work begins."""

import contextlib
import io
import json
import re
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dancematch import formats
from dancematch.control_characters import has_controls
from dancematch.errors import FormatError, InputError
from dancematch.formats import fingerprint, limits, npz
from dancematch.formats.keypoints.planar import link_people
from dancematch.skeletons import COCO17
from dancematch.types import Motion
from formats_samples import SAMPLES, dancer, pixels, write_comotion
from formats_trial import MEGABYTES, SECONDS, trial_server
from hostile_files import HOSTILE_FILES, array_header, member, pickle_of_array, zip_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "formats.md"


@pytest.fixture(scope="module")
def server():
    with trial_server("dancematch.cli.use.info") as server:
        yield server


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_hostile_file_costs_little_and_is_refused_in_one_line(tmp_path, server, name):
    """The command line says why in one short line, within seconds of work and few megabytes."""
    make, suffix = HOSTILE_FILES[name]
    path = tmp_path / f"hostile{suffix}"
    path.write_bytes(make())
    trial = server.run("info", path)

    assert (1, None) == (trial.code, trial.find_fault(path))
    assert trial.err.startswith(f"dancematch: {path}")
    assert trial.seconds < SECONDS
    assert trial.megabytes < MEGABYTES / 2


@pytest.mark.parametrize("name", [name for name, (_, suffix) in HOSTILE_FILES.items() if suffix == ".npz"])
def test_a_hostile_archive_is_recognised_without_cost(tmp_path, name):
    """The list of an archive's members is not made where it is too long, and nothing is unpacked."""
    (tmp_path / "upload").write_bytes(HOSTILE_FILES[name][0]())
    tracemalloc.start()
    with contextlib.suppress(FormatError):
        formats.detect_suffix(tmp_path / "upload")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("zip_in_name_only", "begins as an archive, but is damaged or cut short"),
        ("zip_of_nothing", "an archive without arrays"),
        ("zip_of_many_members", "an archive of more than 4000 members"),
    ],
)
def test_an_archive_that_is_none_is_no_video(tmp_path, name, told):
    """What begins with PK is refused as an archive, whose path, which is the service's own, is not told."""
    (tmp_path / "upload").write_bytes(HOSTILE_FILES[name][0]())
    with pytest.raises(FormatError, match=told) as refused:
        formats.detect_suffix(tmp_path / "upload")
    assert str(tmp_path) not in str(refused.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_an_upload_is_read_by_the_suffix_of_its_content(tmp_path, name):
    """Under a name that says nothing, a file gives the same motions as under its own."""
    SAMPLES[name](tmp_path / name)
    expected = formats.read(tmp_path / name)
    upload = (tmp_path / name).rename(tmp_path / "0123.upload")
    found = formats.read(upload, suffix=formats.detect_suffix(upload))

    assert [motion.joints.tobytes() for motion in expected] == [motion.joints.tobytes() for motion in found]
    with pytest.raises(FormatError, match="is not a motion file"):
        formats.read(upload)


def test_words_are_recognised_under_any_name(tmp_path):
    """Words that were uploaded are told from motion, and read, whatever their file is called."""
    words = {"model_id": "m", "vocabulary": 9, "seconds_per_word": 0.1, "start": 0}
    text = json.dumps({"format": fingerprint.FORMAT, "version": 1, "dancers": [words]})
    np.savez(
        tmp_path / "a.npz",
        fingerprint=np.array(text),
        words_0=np.ones((5, 2), int),
        visibility_0=np.ones((5, 2)),
    )
    upload = (tmp_path / "a.npz").rename(tmp_path / "0123.upload")

    assert ".npz" == formats.detect_suffix(upload)
    assert (5, 2) == fingerprint.read(upload)[0].words.shape
    with pytest.raises(FormatError, match="holds motion words, not motion"):
        formats.read(upload, suffix=".npz")


def test_hostile_words_are_refused_before_they_are_read(tmp_path):
    """Forty million words in 0.2 MB are counted by the array's header."""
    (tmp_path / "a.npz").write_bytes(HOSTILE_FILES["words_of_zeros"][0]())
    tracemalloc.start()
    with pytest.raises(FormatError, match="not a readable file of DanceMatch words"):
        fingerprint.read(tmp_path / "a.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_messages_are_one_short_plain_line(tmp_path, monkeypatch):
    """Whatever a reader tells of a file is cut and made visible at one place; the advice at the end stays."""
    SAMPLES["coco.json"](tmp_path / "a.json")

    def refuse(*_arguments):
        raise InputError(f"got \x1b[2J{'x' * 100_000}\r\n; send another file")

    monkeypatch.setattr("dancematch.formats.keypoints.coco.read_json", refuse)
    with pytest.raises(
        FormatError, match=r"a\.json: got \\x1b\[2Jxxx.*\.\.\..*; send another file$"
    ) as refused:
        formats.read(tmp_path / "a.json")
    assert len(str(refused.value)) <= len(str(tmp_path / "a.json")) + limits.MAX_MESSAGE
    assert not has_controls(str(refused.value))


@pytest.mark.parametrize(
    "change",
    [
        {"fps": 1e-9},
        {"fps": float("nan")},
        {"start": 1e300},
        {"name": "\x1b[2J"},
        {"name": "n" * 201},
        {"joints": [f"j{n}" for n in range(1001)]},
        {"parents": [-1, *range(300)]},
    ],
    ids=str,
)
def test_a_description_beyond_the_limits_is_refused(tmp_path, change):
    """Our own format may say no more of a dancer than the others: rate, start, names, joints, depth."""
    count = 301 if "parents" in change else len(change.get("joints", "abc"))
    layout = {"name": "own", "joints": [f"j{n}" for n in range(count)], "parents": [-1] * count}
    layout |= {"mirror": [*range(count)]} | {key: value for key, value in change.items() if key in layout}
    dancers = [
        {"fps": 30, "start": 0, "skeleton": layout} | {k: v for k, v in change.items() if k not in layout}
    ]
    text = json.dumps({"format": npz.FORMAT, "version": 1, "source": {}, "dancers": dancers})
    arrays = {"joints_0": np.zeros((5, count, 3), "f4"), "visibility_0": np.ones((5, count), "f4")}
    np.savez(tmp_path / "a.npz", metadata=np.array(text), **arrays)
    with pytest.raises(FormatError, match=r"a\.npz"):
        formats.read(tmp_path / "a.npz")


def test_a_place_beyond_any_stage_is_refused_in_our_own_format(tmp_path):
    """A number that would overflow later sums is damaged in whatever format."""
    formats.write(tmp_path / "a.npz", [Motion(dancer().joints * 1e30, 30, dancer().skeleton)])
    with pytest.raises(FormatError, match="from the origin"):
        formats.read(tmp_path / "a.npz")


def test_a_member_twice_or_packed_strangely_is_refused(tmp_path):
    """Each array is there once, stored or deflated; other packings need much memory to be unpacked."""
    SAMPLES["own.npz"](tmp_path / "own.npz")
    with zipfile.ZipFile(tmp_path / "own.npz") as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    twice = zip_of([member(name, content) for name, content in [*members, members[0]]])
    (tmp_path / "a.npz").write_bytes(twice)
    with pytest.raises(FormatError, match="holds an array twice"):
        formats.read(tmp_path / "a.npz")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(*members[0])
    (tmp_path / "b.npz").write_bytes(packed.getvalue())
    with pytest.raises(FormatError, match="packed in a way"):
        formats.read(tmp_path / "b.npz")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (((((((((1,)))))))), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 5000,
        "{'descr': 'O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': __import__('os').abort(), 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1, " * 40 + "), }",
        "\x00\\N{x}'''",
    ],
)
def test_any_header_of_an_array_is_matched_and_not_evaluated(tmp_path, header):
    (tmp_path / "a.npz").write_bytes(
        zip_of([member("poses.npy", array_header(header)), member("trans.npy", b"")])
    )
    with pytest.raises(FormatError, match=r"a\.npz: the array 'poses' is damaged"):
        formats.read(tmp_path / "a.npz")


def test_a_pickles_shape_is_checked_before_it_is_multiplied(tmp_path):
    """A dozen huge sizes, within the instructions that are allowed, are refused and not printed."""
    huge = b"\x8a\xff" + b"\xff" * 254 + b"\x7f"
    (tmp_path / "a.pkl").write_bytes(pickle_of_array(b"(" + huge * 12 + b"t"))
    with pytest.raises(FormatError, match="an array has at most 8 dimensions") as refused:
        formats.read(tmp_path / "a.pkl")
    assert len(str(refused.value)) < 300


def test_a_tensor_file_may_name_tensors_only(tmp_path):
    """A pickle may ask torch for any amount of zeros; a CoMotion file has no use for it."""
    write_comotion(tmp_path / "a.pt", zeros=bytearray(9))
    with pytest.raises(FormatError, match="it names '__builtin__ bytearray'"):
        formats.read(tmp_path / "a.pt")


def test_warnings_of_torch_about_a_damaged_file_are_not_shown(tmp_path, monkeypatch):
    """One line is said of a damaged file, and that is ours: torch warns of its own insides."""
    torch = pytest.importorskip("torch")
    write_comotion(tmp_path / "a.pt")
    load = torch.load

    def warn_and_load(*arguments, **options):
        warnings.warn("a plain method is deprecated", UserWarning, stacklevel=1)
        return load(*arguments, **options)

    monkeypatch.setattr(torch, "load", warn_and_load)

    assert 2 == len(formats.read(tmp_path / "a.pt"))  # here a warning that is shown is an error


def test_linking_takes_the_nearest_pairs_first():
    """Of two people and two tracks within reach, the closest pair is linked, then the others."""
    one, two = pixels(1, 0)[0], pixels(1, 60)[0]
    frames = [[one, two], [pixels(1, 55)[0], pixels(1, 20)[0]]]
    frames = [[np.insert(person, 2, 0, axis=1) for person in people] for people in frames]
    tracks = link_people(frames, COCO17, 30)

    assert [[0, 1], [0, 1]] == [list(track.frames) for track in tracks]
    assert frames[1][1] is tracks[0].frames[1]
    assert frames[1][0] is tracks[1].frames[1]


def test_one_dancer_is_linked_without_looking_back_at_all_frames():
    """20,000 frames of one person are one track, in work that grows with their number and not its square."""
    person = np.insert(pixels(1)[0], 2, 0, axis=1)
    (track,) = link_people([[person]] * 20_000, COCO17, 30)

    assert 20_000 == len(track.frames)


def test_a_long_motion_is_converted_in_pieces_to_the_same_numbers(tmp_path):
    """Frames do not depend on each other: a long file begins with the very numbers of a short one."""
    poses = np.random.default_rng(0).normal(0, 0.3, (6000, 72))
    for name, count in (("long", 6000), ("short", 50)):
        np.savez(tmp_path / f"{name}.npz", poses=poses[:count], trans=poses[:count, :3])
    (long,), (short,) = (formats.read(tmp_path / f"{name}.npz") for name in ("long", "short"))

    np.testing.assert_array_equal(short.joints, long.joints[:50])


def test_hours_and_crowds_are_within_the_limits():
    """Hours of one dancer of any layout, and a hundred people for a minute, are read."""
    hour = 3600 * 30
    assert 3 * hour * 33 <= limits.MAX_POSITIONS
    assert 100 * 60 * 30 * 25 <= limits.MAX_KEYPOINTS
    assert 2 * hour * 17 <= limits.MAX_KEYPOINTS
    assert hour * 96 <= limits.MAX_CHANNEL_VALUES


def test_the_document_lists_every_limit():
    """The table of docs/formats.md has each number of limits.py, and no other."""
    rows = re.findall(
        r"^\| `(MAX_\w+)` \| ([\d,]+)( MB| kB| s| m)? \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE
    )
    units = {" MB": 1 << 20, " kB": 1 << 10}
    documented = {name: int(number.replace(",", "")) * units.get(unit, 1) for name, number, unit in rows}

    assert {name: value for name, value in vars(limits).items() if name.startswith("MAX_")} == documented

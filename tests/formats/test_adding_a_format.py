"""A new format is one module and one row of the registry: CONTRIBUTING.md, "Add a format"."""

import sys
from types import ModuleType

import pytest

from cli_samples import run_main
from dancematch import formats
from dancematch.formats import registry
from dancematch.formats.registry import Format
from formats_samples import SAMPLES, dancer

# The module: a line of text with the dancer's frames, here only how many.
MODULE = '''
"""Toy motion: the word TOY and a number of frames."""

from formats_samples import dancer


def read(path, fps=None):
    return [dancer(int(path.read_text().split()[1]), fps or 30.0)]


def recognises(content):
    return isinstance(content, dict) and "toy" in content
'''


@pytest.fixture
def add_row(monkeypatch):
    """Add the toy module and its row, as a contributor does."""
    module = ModuleType("toy_format")
    exec(MODULE, module.__dict__)  # noqa: S102 - the text above
    monkeypatch.setitem(sys.modules, "toy_format", module)

    def add(suffix, **fields):
        row = Format("toy motion", suffix, "toy_format", "frames are counted, not read", **fields)
        monkeypatch.setattr(registry, "FORMATS", (*registry.FORMATS, row))

    return add


def test_the_command_line_reads_a_format_once_it_has_a_row(tmp_path, add_row):
    """`info` explains a file of it, and `extract` writes its motion, by name and found in a folder."""
    add_row(".toy")
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "a.toy").write_text("TOY 90")

    (description,) = run_main("info", tmp_path / "clips" / "a.toy", "--json").objects
    extracted = run_main("extract", tmp_path / "clips", "-o", tmp_path / "out", "--json")

    assert ("toy motion", "frames are counted, not read") == (description["format"], description["meaning"])
    assert [90] == [one["frames"] for one in description["dancers"]]
    assert (0, [1]) == (extracted.code, [one["dancers"] for one in extracted.objects])
    (motion,) = formats.read(tmp_path / "out" / "a.npz")
    assert dancer(90).joints.tolist() == motion.joints.tolist()


def test_an_upload_is_recognised_by_the_signature_of_the_row(tmp_path, add_row):
    """A service, which has no name of the file, knows it by how it begins."""
    add_row(".toy", signatures=(b"TOY ",))
    (tmp_path / "upload").write_text("TOY 90")

    assert ".toy" == formats.detect_suffix(tmp_path / "upload")


def test_a_format_with_a_shared_suffix_is_recognised_by_its_content(tmp_path, add_row):
    """Where the suffix is shared, `recognises` decides, and the other formats are read as before."""
    add_row(".json")
    SAMPLES["coco.json"](tmp_path / "coco.json")
    (tmp_path / "a.json").write_text('{"toy": 1}')

    assert "COCO keypoints" == formats.describe(tmp_path / "coco.json").format
    with pytest.raises(formats.FormatError, match=r"a\.json is not a readable file of toy motion"):
        formats.read(tmp_path / "a.json")

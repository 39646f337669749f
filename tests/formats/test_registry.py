"""The registry of formats: every row works, documents agree, uploads are recognised by content."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from cli_samples import run_main
from dancematch import formats
from dancematch.errors import FormatError
from dancematch.formats import registry
from formats_samples import SAMPLES

DOCUMENT = Path(__file__).parents[2] / "docs" / "formats.md"


def test_every_row_has_a_reader():
    """Each module reads, and recognises its content where another format has the same suffix."""
    for row in registry.FORMATS:
        module = import_module(row.module)
        shared = len(list(registry.formats_with(row.suffix))) > 1

        assert callable(module.read)
        assert not shared or callable(module.recognises)


def test_the_document_lists_every_format():
    """The table of docs/formats.md is the registry: name, suffix and explanation, in the same order."""
    rows = re.findall(
        r"^\| ([^|]+?) \| `(\.\w+)`([^|]*?) \| ([^|]+?) \|$",
        DOCUMENT.read_text(encoding="utf-8"),
        re.MULTILINE,
    )

    assert [
        (row.name, row.suffix, ", or a folder of frames" if row.is_folder else "", row.explanation)
        for row in registry.FORMATS
    ] == rows


def test_documents_of_the_service_and_help_list_every_format():
    """docs/service.md names every suffix of a motion file, `info --help` every format."""
    suffixes = ", ".join(f"`{suffix}`" for suffix in formats.list_suffixes())
    told = " ".join(run_main("info", "--help").out.split())

    assert f"a motion file ({suffixes})" in DOCUMENT.with_name("service.md").read_text(encoding="utf-8")
    assert [] == [row.name for row in registry.FORMATS if f"{row.name} ({row.suffix})" not in told]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_suffix_is_detected_by_the_content(tmp_path, name):
    SAMPLES[name](tmp_path / name)

    assert Path(name).suffix == formats.detect_suffix((tmp_path / name).rename(tmp_path / "upload"))


@pytest.mark.parametrize("content", [b"\x00\x00\x00\x18ftypmp42", b"file,label\na.mp4,waltz\n", b"  "])
def test_the_content_of_other_files_has_no_suffix(tmp_path, content):
    (tmp_path / "upload").write_bytes(content)

    assert formats.detect_suffix(tmp_path / "upload") is None


def test_an_archive_of_nothing_known_is_refused_with_what_it_holds(tmp_path):
    np.savez(tmp_path / "a.npz", weights=np.zeros(3), bias=np.zeros(1))
    with pytest.raises(FormatError, match=r"archive of bias, weights, but .*DanceMatch motion, SMPL"):
        formats.read(tmp_path / "a.npz")

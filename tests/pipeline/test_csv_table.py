"""Tables that people write: what they may look like, and what is refused."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.control_characters import has_controls
from dancematch.errors import InputError
from dancematch.pipeline import csv_table
from dancematch.pipeline.csv_table import decode_table, parse_table, read_table_text, unguard_cell
from dancematch.pipeline.tables import csv_line

KNOWN = ("file", "dance", "labels")


def rows_of(text: str) -> list[dict[str, str]]:
    return [dict(line.cells) for line in parse_table(text, "t.csv", KNOWN).lines]


@pytest.mark.parametrize(
    "text",
    [
        "file,dance\na.mp4,Waltz\n",
        "\ufefffile,dance\r\na.mp4,Waltz\r\n",
        "file;dance\na.mp4;Waltz",
        "file\tdance\ra.mp4\tWaltz\r",
        " FILE , Dance \n\n a.mp4 , Waltz \n , \n",
        'file, "dance"\na.mp4, "Waltz"\n',
        "file,dance,,\na.mp4,Waltz,,\n",
    ],
)
def test_a_table_is_read_as_spreadsheets_save_it(text):
    """By comma, semicolon or tab; blanks, empty rows and empty columns to the right say nothing."""
    assert [{"file": "a.mp4", "dance": "Waltz"}] == rows_of(text)


def test_a_cell_in_quotes_holds_the_separator_and_lines():
    """A row is named by the line in which it begins."""
    table = parse_table('file,dance\n"a,b.mp4","one\ntwo"\nc.mp4,x\n', "t.csv", KNOWN)

    assert [(2, "a,b.mp4"), (4, "c.mp4")] == [(one.line, one.cells["file"]) for one in table.lines]


def test_ignored_columns_are_left_out():
    table = parse_table("seconds,file\n1.5,a.mp4\n", "t.csv", KNOWN, ignored=("seconds",))

    assert (("file",), {"file": "a.mp4"}) == (table.columns, table.lines[0].cells)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "t.csv is empty; a header was expected, with columns among file, dance, labels"),
        ("\n \n", "t.csv is empty; a header was expected"),
        ("a.mp4,Waltz\n", "t.csv, line 1: a header was expected, .*; got 'a.mp4'"),
        ("\nfile,dancer\n", "t.csv, line 2: there is no column 'dancer'; known are file, dance, labels"),
        ("file,,dance\n", "t.csv, line 1: there is no column ''"),
        ("file,File\n", "t.csv, line 1: the column file stands twice"),
        ("file\n\na,b.mp4\n", "t.csv, line 3: the row has 2 cells, the header 1"),
        ('file\n"a.mp4\nb.mp4\n', "t.csv, line 2: it cannot be read as CSV: .*quotation mark"),
        ("file\n" + "x" * 200_000, "t.csv, line 2: it cannot be read as CSV"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(text, problem):
    with pytest.raises(InputError, match=problem):
        rows_of(text)


def test_a_table_is_not_larger_than_its_limits(tmp_path, monkeypatch):
    """Of bytes, whether of a file or of a text, and of rows."""
    path = tmp_path / "t.csv"
    path.write_text("file\na\nb\n", encoding="utf-8")
    monkeypatch.setattr(csv_table, "MAX_TABLE_ROWS", 2)
    assert [{"file": "a"}, {"file": "b"}] == rows_of(read_table_text(path))
    with pytest.raises(InputError, match="more than 2 rows"):
        rows_of("file\na\nb\nc\n")

    monkeypatch.setattr(csv_table, "MAX_TABLE_BYTES", 8)
    for take in (
        lambda: read_table_text(path),
        lambda: rows_of("file\nΩΩ"),
        lambda: decode_table(b" " * 9, ""),
    ):
        with pytest.raises(InputError, match="has more than 0 MB; split the table"):
            take()


def test_what_is_not_utf_8_is_refused_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    for content, line in (("file\nüber.mp4\n".encode("latin-1"), 2), ("file\n".encode("utf-16"), 1)):
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"t.csv, line {line}: it is not UTF-8; save the table as CSV"):
            read_table_text(path)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    for path, problem in ((tmp_path, "is a folder; a table"), (tmp_path / "gone.csv", "does not exist")):
        with pytest.raises(InputError, match=problem):
            read_table_text(path)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("file,labels\na,x; y;;x\n", ("x", "y")),
        ("file,labels\na,x|y\n", ("x|y",)),
        ("file;labels\na;x|y\n", ("x", "y")),
        ('file;labels\na;"x; y|z"\n', ("x", "y|z")),
        ("file\tlabels\na\tx;y\n", ("x", "y")),
        ("file,labels\na,\n", ()),
    ],
)
def test_labels_are_separated_by_semicolons(text, labels):
    """By | where semicolons part the cells, unless the spreadsheet has quoted a cell with semicolons."""
    table = parse_table(text, "t.csv", KNOWN)

    assert labels == table.split_labels(table.lines[0].cells["labels"])


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        ("'=1+1", "=1+1"),
        ("''quoted", "'quoted"),
        ("'Round Midnight", "'Round Midnight"),
        ("'", "'"),
        ("=1", "=1"),
    ],
)
def test_only_an_apostrophe_that_guards_is_dropped(cell, meant):
    assert meant == unguard_cell(cell)


@given(st.text().filter(lambda text: not has_controls(text)))
def test_a_cell_that_a_table_of_ours_guards_is_read_as_it_was(text):
    """Whatever a name begins with, the reader drops what the writer added."""
    ((cell,),) = csv.reader(io.StringIO(csv_line([text])), strict=True) if text else [[""]]

    assert text == unguard_cell(cell)

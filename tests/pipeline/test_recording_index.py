"""The index of recordings: what it says of each file, and where it contradicts itself."""

import csv
import io
from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.catalogue.records import LABEL_SEPARATOR
from dancematch.control_characters import has_controls
from dancematch.errors import InputError
from dancematch.pipeline.csv_table import unguard_cell
from dancematch.pipeline.recording_index import (
    INDEX_COLUMNS,
    IndexRow,
    match_rows_to_files,
    parse_index,
    read_index,
)
from dancematch.pipeline.value_checks import find_value_problem

WHOLE = """date,file,dance,performer,labels,url,collection,notes
2024-05,a.mp4,Thriller,Anna,pop; 80s,https://example.org/a,TikTok,"zombies, mostly"
,b.mp4,,,,,,
"""


def test_a_row_says_what_its_cells_hold(tmp_path):
    """In any order of columns; an empty cell says nothing."""
    path = tmp_path / "index.csv"
    path.write_text(WHOLE, encoding="utf-8-sig")
    labels, url = ("pop", "80s"), "https://example.org/a"
    whole = IndexRow(2, "a.mp4", "Thriller", "Anna", labels, url, "2024-05", "TikTok", "zombies, mostly")

    assert [whole, IndexRow(3, "b.mp4")] == read_index(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dance\nWaltz\n", "i.csv has no column file"),
        ("file,dance\na,x\n,y\n", "i.csv, line 3: the cell in the column file is empty"),
        (
            "file,singer\na,x\n",
            "i.csv, line 1: there is no column 'singer'; known are file, dance, performer",
        ),
        (
            "file,date\na,2023-02-29\n",
            "line 2: a date is a year, a month or a day, as in 2020, 2020-12 or 2020-12-31, got '2023-02-29'",
        ),
        ("file,date\na,0000\n", "line 2: a date is"),
        ("file,date\na,01.05.2024\n", "line 2: a date is"),
        ("file,date\na,٢٠٢٤\n", "line 2: a date is"),
        ("file,url\na,ftp://x.org\n", "line 2: a web address begins with http:// or https://"),
        ("file,url\na,https://\n", "line 2: a web address begins"),
        ("file,url\na,http://[x\n", "line 2: a web address begins"),
        ("file,url\na,https://x.org/a b\n", "line 2: a web address .* has no blanks"),
        (f"file,url\na,https://x.org/{'x' * 2000}\n", "line 2: a web address has at most 2000"),
        (f"file,dance\na,{'x' * 201}\n", "line 2: a dance's name has at most 200"),
        ("file,performer\na,\u200b\n", "line 2: a performer's name needs a character that can be seen"),
        ('file,notes\na,"x\ny"\n', "line 2: a dance's notes is one line"),
        ("file,labels\na,x;\x1by\n", "line 2: a label is one line without control characters"),
        ("file,collection\na,\u202ex\n", "line 2: a collection's name is one line"),
        ("file\na\0b\n", r"line 2: no file can be called 'a\\x00b'"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_line(text, problem):
    with pytest.raises(InputError, match=problem):
        parse_index(text, "i.csv")


@pytest.mark.parametrize("date", ["1983", "1983-12", "2024-02-29"])
def test_a_date_may_be_a_year_a_month_or_a_day(date):
    assert [IndexRow(2, "a", date=date)] == parse_index(f"file,date\na,{date}\n", "i.csv")


def test_rows_about_one_file_are_one():
    """However it is spelled, and whichever row says a thing; the first row gives its line and spelling."""
    text = "file,performer,date\na.mp4,,2020\nb.mp4,,\n./a.mp4,Anna,2020\n"

    assert [IndexRow(2, "a.mp4", performer="Anna", date="2020"), IndexRow(3, "b.mp4")] == parse_index(
        text, ""
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "file,performer\nx.mp4,\nx.mp4,A\ny.mp4,A\nx.mp4,B\n",
            "i.csv: lines 3 and 5 contradict each other about the file 'x.mp4': performer 'A' and 'B'",
        ),
        (
            "file,labels\nx.mp4,a;b\nx.mp4,b\n",
            "i.csv: lines 2 and 3 contradict each other about the file 'x.mp4': labels 'a; b' and 'b'",
        ),
        (
            "file,dance,collection\nx,Waltz,\ny,Waltz,A\nz,Waltz,B\n",
            "i.csv: lines 3 and 4 contradict each other about the dance 'Waltz': collection 'A' and 'B'",
        ),
        (
            "file,dance,notes\nx,Waltz,A\ny,Polka,B\nz,Waltz,B\n",
            "i.csv: lines 2 and 4 contradict each other about the dance 'Waltz': notes 'A' and 'B'",
        ),
    ],
)
def test_rows_that_contradict_each_other_are_refused(text, problem):
    with pytest.raises(InputError) as refused:
        parse_index(text, "i.csv")

    assert problem == str(refused.value)


def test_long_names_that_begin_alike_are_two_dances():
    """What a message cuts short is compared whole."""
    text = "".join(f"{end},{'x' * 190}{end},{end}\n" for end in "ab")

    assert ["a", "b"] == [row.collection for row in parse_index(f"file,dance,collection\n{text}", "i.csv")]


def test_rows_are_matched_to_files(tmp_path):
    """A path is relative to the folder or absolute; a folder of frames is a recording, too."""
    (tmp_path / "in").mkdir()
    clip, frames = tmp_path / "a.mp4", tmp_path / "in"
    clip.touch()
    rows = [IndexRow(2, "./a.mp4"), IndexRow(3, str(frames), "Waltz"), IndexRow(4, str(clip), "Polka")]

    assert {clip: replace(rows[0], dance="Polka"), frames: rows[1]} == match_rows_to_files(rows, tmp_path)


def test_a_row_without_its_file_is_refused(tmp_path):
    """Also one of a name that no file system takes, and two names of one file that contradict."""
    (tmp_path / "a").touch()
    gone = [IndexRow(7, "gone.mp4")]
    with pytest.raises(
        InputError, match=r"line 7 of the index names 'gone\.mp4', but .*gone\.mp4 does not exist"
    ):
        match_rows_to_files(gone, tmp_path)
    several = [IndexRow(2, "a"), *(IndexRow(line, f"{line}.mp4") for line in range(3, 7))]
    expected = r"4 files that .* do not exist: line 3 '3\.mp4', line 4 '4\.mp4', line 5 '5\.mp4', \.\.\.; "
    with pytest.raises(InputError, match=expected):
        match_rows_to_files(several, tmp_path)
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        match_rows_to_files([IndexRow(2, "x" * 3000)], tmp_path)
    both = [IndexRow(2, "a", "Waltz"), IndexRow(3, str(tmp_path / "a"), "Polka")]
    with pytest.raises(InputError, match="lines 2 and 3 contradict each other"):
        match_rows_to_files(both, tmp_path)


def fits(kind: str):
    """Texts that an index can hold: without blanks around them or an apostrophe that would be a guard."""

    def is_kept(text: str) -> bool:
        plain = text == text.strip() == unguard_cell(text) and not has_controls(text)
        return bool(text) and plain and find_value_problem(kind, text) is None

    return st.text(max_size=20).map(str.strip).filter(is_kept)


LABELS = st.lists(fits("label").filter(lambda text: LABEL_SEPARATOR not in text), unique=True, max_size=3)
ROWS = st.lists(
    st.builds(
        IndexRow,
        row=st.just(0),
        file=fits("file").map(lambda text: f"in/{text.replace('/', '')}.mp4"),
        dance=st.none() | fits("dance"),
        performer=st.none() | fits("performer"),
        labels=LABELS.map(tuple),
        url=st.none() | st.just("https://example.org/?v=a,b;c"),
        date=st.none() | st.dates().map(str),
        collection=st.none() | fits("collection"),
        notes=st.none() | fits("notes"),
    ),
    max_size=5,
    unique_by=(lambda row: row.file, lambda row: row.dance or row.file),
)


@given(ROWS, st.sampled_from(",;\t"), st.permutations(INDEX_COLUMNS))
def test_what_is_written_as_csv_is_read_again(rows, delimiter, columns):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(columns)
    for row in rows:
        # one label more, so that the separator stands in the cell
        cells = {name: getattr(row, name) for name in columns}
        writer.writerow(
            [cells[name] if name != "labels" else ";".join((*row.labels, "z;")) for name in columns]
        )
    expected = [
        replace(row, row=n, labels=tuple(dict.fromkeys((*row.labels, "z")))) for n, row in enumerate(rows, 2)
    ]

    assert [astuple(row) for row in expected] == [
        astuple(row) for row in parse_index(text.getvalue(), "i.csv")
    ]


@given(st.text() | st.text(alphabet="file,;\t\n\r\"'=dancelabs \0\ud800").map("file,labels\n".__add__))
def test_any_text_is_an_index_or_refused(text):
    """Nothing but an InputError comes of a text, whatever is in it."""
    complaint = "i.csv"
    rows = []
    try:
        rows = parse_index(text, "i.csv")
    except InputError as error:
        complaint = str(error)

    assert complaint.startswith("i.csv")
    assert all(row.file for row in rows)

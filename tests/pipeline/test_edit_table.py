"""A corrected table of dances or recordings: what it changes, what it leaves, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.catalogue.records import LABEL_SEPARATOR
from dancematch.control_characters import has_controls
from dancematch.errors import InputError
from dancematch.pipeline.edit_table import EditRow, parse_edit_table, read_edit_table
from dancematch.pipeline.tables import csv_line
from dancematch.pipeline.value_checks import find_value_problem


def test_a_table_of_dances_changes_dances(tmp_path):
    """An empty cell removes a value, what lists only tell is ignored, and a missing column leaves."""
    path = tmp_path / "dances.csv"
    path.write_text("dance_id,name,labels,collection,seconds,added\nd1,Waltz,a; b,,1.5,x\nd2,Polka,,C,2,y\n")

    assert [
        EditRow(2, "d1", None, {"name": "Waltz", "labels": ("a", "b"), "collection": None}),
        EditRow(3, "d2", None, {"name": "Polka", "labels": (), "collection": "C"}),
    ] == read_edit_table(path)


def test_a_table_of_recordings_changes_recordings_and_their_dances():
    """A filled cell in the column dance moves the recording; an empty one leaves it where it is."""
    text = "recording_id,dance_id,name,performer,url,date,dance,file\n"
    text += "r1,d1,Waltz,Anna,,2020-01,Waltz,a.mp4\nr2,d1,Waltz,,https://x.org/,,Polka,b.mp4\n"
    first = {"name": "Waltz", "performer": "Anna", "url": None, "date": "2020-01", "dance": "Waltz"}
    second = {"name": "Waltz", "performer": None, "url": "https://x.org/", "date": None, "dance": "Polka"}

    assert [EditRow(2, "d1", "r1", first), EditRow(3, "d1", "r2", second)] == parse_edit_table(text, "")


def test_a_table_of_both_has_rows_of_either():
    text = "dance_id,name,recording_id,performer\nd1,Waltz,,\n,,r1,Anna\n"
    expected = [EditRow(2, "d1", None, {"name": "Waltz"}), EditRow(3, None, "r1", {"performer": "Anna"})]

    assert expected == parse_edit_table(text, "")


def test_rows_that_say_the_same_are_one():
    assert [EditRow(2, "d1", None, {"name": "Waltz"})] == parse_edit_table(
        "dance_id,name\n" + "d1,Waltz\n" * 3, ""
    )


def test_a_recording_moves_once_however_many_rows_say_so():
    text = "recording_id,dance\nr1,Polka\nr1,Polka\n"

    assert [EditRow(2, None, "r1", {"dance": "Polka"})] == parse_edit_table(text, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name\nWaltz\n", "e.csv has no column dance_id or recording_id"),
        ("recording_id,name\nr1,Waltz\n", "e.csv has a column name, which needs a column dance_id"),
        ("dance_id,url\nd1,\n", "e.csv has a column url, which needs a column recording_id"),
        ("dance_id,nmae\nd1,x\n", "line 1: there is no column 'nmae'; known are dance_id, name, labels"),
        ("dance_id,name\nd1,\n", "line 2: the name is empty; a dance has a name"),
        ("recording_id,dance\nr1,\n", "line 2: the dance is empty; a recording is always one of a dance"),
        ("dance_id,name\n,x\n", "line 2: it has no dance_id or recording_id"),
        (
            "dance_id,recording_id,date\nd1,,2020\n",
            "line 2: it has a value in the column date, but no recording_id",
        ),
        (
            "dance_id,recording_id,notes\n,r1,x\n",
            "line 2: it has a value in the column notes, but no dance_id",
        ),
        ("dance_id,name,notes\nd1,x\n", "line 2: the row has fewer cells than the header"),
        ("recording_id,date\nr1,2020-13\n", "line 2: a date is a year, a month or a day"),
        ("dance_id,labels\nd1,\u200b\n", "line 2: a label needs a character that can be seen"),
        ("dance_id\n\x1b\n", "line 2: a dance's id is one line"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_its_line(text, problem):
    with pytest.raises(InputError, match=problem):
        parse_edit_table(text, "e.csv")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "dance_id,recording_id,name\nd1,r1,A\nd2,r2,C\nd1,r3,B\n",
            "lines 2 and 4 contradict each other about the dance 'd1': name 'A' and 'B'",
        ),
        (
            "dance_id,labels\nd1,a;b\nd1,\n",
            "lines 2 and 3 contradict each other about the dance 'd1': labels 'a; b' and nothing",
        ),
        (
            "recording_id,url\nr1,\nr1,http://x.org\n",
            "lines 2 and 3 contradict each other about the recording 'r1': url nothing and 'http://x.org'",
        ),
        (
            "recording_id,dance_id\nr1,d1\nr1,d2\n",
            "lines 2 and 3 contradict each other about the recording 'r1': dance_id 'd1' and 'd2'",
        ),
        ("dance_id,name\nd1,A\nd2,A\n", "lines 2 and 3 give two dances one name: 'A'"),
    ],
)
def test_rows_that_contradict_each_other_are_refused(text, problem):
    with pytest.raises(InputError) as refused:
        parse_edit_table(text, "e.csv")

    assert f"e.csv: {problem}" == str(refused.value)


def is_name(text: str) -> bool:
    plain = text == text.strip() and not has_controls(text)
    return bool(text) and plain and find_value_problem("name", text) is None


NAMES = st.text(max_size=20).map(str.strip).filter(is_name)
LABELS = st.lists(NAMES.filter(lambda text: LABEL_SEPARATOR not in text), unique=True, max_size=3).map(tuple)


@given(st.lists(st.tuples(NAMES, LABELS, st.none() | NAMES), max_size=5, unique_by=lambda row: row[0]))
def test_what_a_list_writes_is_read_again(dances):
    """With the apostrophes that keep names from being formulas."""
    lines = [csv_line(["dance_id", "name", "labels", "notes"])]
    lines += [
        csv_line([f"d{n}", name, "; ".join(labels), notes]) for n, (name, labels, notes) in enumerate(dances)
    ]
    expected = [
        EditRow(n + 2, f"d{n}", None, {"name": name, "labels": labels, "notes": notes})
        for n, (name, labels, notes) in enumerate(dances)
    ]

    assert expected == parse_edit_table("\n".join(lines), "e.csv")


@given(st.text() | st.text(alphabet="dr1,;\t\n\r\"'= \0\ud800").map("dance_id,labels\n".__add__))
def test_any_text_is_a_table_or_refused(text):
    """Nothing but an InputError comes of a text, whatever is in it."""
    complaint = "e.csv"
    rows = []
    try:
        rows = parse_edit_table(text, "e.csv")
    except InputError as error:
        complaint = str(error)

    assert complaint.startswith("e.csv")
    assert all(row.dance_id or row.recording_id for row in rows)

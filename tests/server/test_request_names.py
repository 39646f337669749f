"""Names in requests: what the service takes is what the catalogue keeps, by one definition."""

import pytest
from pydantic import TypeAdapter, ValidationError

from dance_samples import digest
from dancematch.catalogue.records import find_name_problem
from dancematch.errors import InputError
from dancematch.server.schemas.requests import DanceReference, FileName, Name, RecordingRequest, Text

NO_NAMES = (
    " ",
    "\u200b",
    "a\nb",
    "\x1b[31mred",
    "\x9b31m",
    "a\u2028b",
    "\u202egnp.exe",
    "\u2066a",
    "x" * 201,
)
NAMES = ("Thriller (1983)", "Ägypten", "踊り", "💃🏽", "می‌خواهم", "x" * 200)


def accepts(kind: object, value: str) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", [*NO_NAMES, *NAMES], ids=lambda name: ascii(name)[:20])
def test_the_service_and_the_catalogue_agree_on_names(name):
    kept = find_name_problem("name", name) is None

    assert (name in NAMES) == kept == accepts(DanceReference, name) == accepts(Name, name)


def test_a_file_may_have_a_longer_name_than_a_dance():
    assert (True, False) == (accepts(FileName, "x" * 255), accepts(FileName, "x" * 256))
    assert (True, False) == (accepts(Name, "x" * 200), accepts(Name, "x" * 201))


def test_a_text_that_is_searched_for_may_be_blank_but_is_no_escape_sequence():
    assert (True, True, False, False) == tuple(accepts(Text, one) for one in ("", " ", "\x1b", "\u202e"))


def test_what_is_empty_is_not_said():
    """As the page sends it."""
    empty = dict.fromkeys(("performer", "url", "date", "collection", "notes", "filename"), "")
    made = RecordingRequest("a", label=["", "x", "x"], **empty).record("a", digest("a"))

    assert (("x",), None, None, "a") == (
        made.dance.labels, made.dance.collection, made.dance.notes, made.dance.name,
    )  # fmt: skip
    assert (None, None, None, "a") == (
        made.recording.performer, made.recording.url, made.recording.date, made.recording.file,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({}, "which dance is this"),
        ({"dance": "a", "label": ["b;c"]}, "a label has no ';'"),
        ({"dance": "a", "url": "javascript:alert(1)"}, "begins with http"),
        ({"dance": "a", "date": "2020-13"}, "a date is a year"),
    ],
)
def test_what_the_catalogue_does_not_take_is_refused_before_the_upload(said, problem):
    with pytest.raises(InputError, match=problem):
        RecordingRequest(**said).plan()


@pytest.mark.parametrize(
    ("filename", "dance", "file"),
    [
        ("../../etc/passwd", "passwd", "passwd"),
        ("a/b.mp4", "b", "b.mp4"),
        ("/", "\ufffd", "\ufffd"),
        (".", "\ufffd", "\ufffd"),
    ],
)
def test_a_file_name_is_a_name_and_no_path(filename, dance, file):
    """Its folders are dropped, and nothing of this machine's takes their place."""
    asked = RecordingRequest(filename=filename)

    assert (dance, file) == (asked.dance_name, asked.record("a", digest("a")).recording.file)

"""Names in requests: what the service takes is what the catalogue keeps, by one definition."""

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from dance_samples import digest
from dancematch.catalogue.records import find_dance_problems, find_name_problem
from dancematch.server.schemas.requests import DanceId, FileName, Name, NewDance, Text

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
    kept = find_name_problem("dance_id", name) is None

    assert (name in NAMES) == kept == accepts(DanceId, name) == accepts(Name, name)


def test_a_file_may_have_a_longer_name_than_a_dance():
    assert (True, False) == (accepts(FileName, "x" * 255), accepts(FileName, "x" * 256))
    assert (True, False) == (accepts(Name, "x" * 200), accepts(Name, "x" * 201))


def test_a_text_that_is_searched_for_may_be_blank_but_is_no_escape_sequence():
    assert (True, True, False, False) == tuple(accepts(Text, one) for one in ("", " ", "\x1b", "\u202e"))


def test_an_empty_label_is_none():
    """As the page sends it."""
    made = NewDance("a", label="", collection="", filename="").record(digest("a"))

    assert (None, None, "a") == (made.label, made.collection, made.source)
    assert ["a dance lasts"] == [
        re.match("a dance lasts", problem)[0]
        for problem in find_dance_problems(made)
        if "adding" not in problem
    ]

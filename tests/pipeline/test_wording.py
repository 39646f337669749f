"""What is said of a match in plain words."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.pipeline.wording import (
    accident_cell,
    accident_sentence,
    basis_sentence,
    is_bounded,
    likelihood_ratio,
    name_match,
    ratio_words,
    shortfall_sentence,
    verdict_sentence,
)
from dancematch.search.confidence.verdict import shipped_calibration
from dancematch.types import Match, Span

MEASURED = {"query_bones": 1.0, "reference_bones": 1.0, "synchrony_seconds": 7.0}
THRILLER = Match(
    "Thriller", 0.6, Span(0.0, 8.0), Span(3.2, 11.3),
    mirrored=True, tempo=1.0, verdict="possible match", log_ratio=1.0, evalue=0.11, parts=MEASURED,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Possible match: Thriller, 0:03-0:11, mirrored. 1 search in 9 gives this by accident."),
        (
            {"verdict": "match", "mirrored": False, "tempo": 1.2, "evalue": 0.0004},
            "Match: Thriller, 0:03-0:11, 20 % faster. 1 search in 2,000 gives this by accident.",
        ),
        (
            {"mirrored": False, "tempo": 0.84},
            "Possible match: Thriller, 0:03-0:11. 1 search in 9 gives this by accident.",
        ),
        (
            {"verdict": "match", "mirrored": False, "tempo": 0.84, "query": Span(1.0, 6.9), "evalue": 0.0004},
            "Match: Thriller, 0:03-0:11. 1 search in 2,000 gives this by accident.",
        ),
        (
            {"verdict": "match", "evalue": 0.0004, "same_performance": True},
            "Match: Thriller, 0:03-0:11, mirrored. 1 search in 2,000 gives this by accident. "
            "Probably the very same performance.",
        ),
        (
            {"verdict": "no match", "evalue": 6.6},
            "No match; the nearest is Thriller, 0:03-0:11, mirrored. "
            "Every search gives about 7 as near by accident.",
        ),
        (
            {"parts": MEASURED | {"reference_bones": 0.0}, "evalue": None},
            "Possible match: Thriller, 0:03-0:11, mirrored. "
            "Judged by words alone: the known dance has no skeletons.",
        ),
    ],
)
def test_a_verdict_is_said_as_a_dance_teacher_would(changes, expected):
    assert expected == verdict_sentence(replace(THRILLER, **changes))


@pytest.mark.parametrize(
    ("recording", "expected"),
    [
        (None, "Thriller"),
        ("Thriller.mp4", "Thriller"),
        ("anna.mp4", "Thriller (anna.mp4)"),
        ("thriller.mp4", "Thriller (thriller.mp4)"),
        ("Thriller.final.mp4", "Thriller (Thriller.final.mp4)"),
    ],
)
def test_a_recording_is_named_where_its_file_is_called_otherwise(recording, expected):
    """The dance by its name, never by its id."""
    named = replace(THRILLER, dance_id="d0123456789abcde", dance="Thriller", recording=recording)

    assert expected == name_match(named)
    assert f"Possible match: {expected}, 0:03-0:11" in verdict_sentence(named)


@pytest.mark.parametrize(
    ("evalue", "expected"),
    [
        (None, ""),
        (1 / 25.1e6, "1 search in 20 million gives this by accident."),
        (6e-7, "1 search in 1 million gives this by accident."),
        (0.00999, "1 search in 100 gives this by accident."),
        (0.01001, "1 search in 99 gives this by accident."),
        (0.025, "1 search in 40 gives this by accident."),
        (0.5, "1 search in 2 gives this by accident."),
        (0.51, "6 of 10 such searches give one as near by accident."),
        (0.7, "7 of 10 such searches give one as near by accident."),
        (0.91, "More than 9 of 10 such searches give one as near by accident."),
        (1.0, "Every search gives about 1 as near by accident."),
        (1.2, "Every search gives about 2 as near by accident."),
        (47.1, "Every search gives about 48 as near by accident."),
        (1400.0, "Every search gives about 2,000 as near by accident."),
    ],
)
def test_an_evalue_is_said_in_searches(evalue, expected):
    assert expected == accident_sentence(evalue)


@given(st.floats(1e-12, 1e6))
def test_accident_is_never_said_to_be_rarer_than_it_is(evalue):
    """Read back, the number of a table is at least the E-value."""
    cell = accident_cell(evalue).replace(",", "").replace(" million", "000000")
    cell = cell.replace("more than 9 in", "10 in").replace("per search", "in 1")
    count, searches = (float(number) for number in cell.split(" in "))

    assert count / searches >= evalue * (1 - 1e-8)


@given(st.floats(-4.0, 8.0))
def test_a_likelihood_ratio_is_never_said_to_be_stronger_than_it_is(log_ratio):
    """Neither for the dance nor against it, and by no more than the one digit."""
    strength = abs(math.log10(likelihood_ratio(log_ratio)))

    assert abs(log_ratio) - math.log10(2) <= strength <= abs(log_ratio) + 1e-8


@given(st.integers(1, 9), st.integers(-6, 7))
def test_a_round_number_stays_as_it_is(digit, power):
    """Although its logarithm is not exact."""
    assert digit * 10.0**power == pytest.approx(likelihood_ratio(math.log10(digit * 10.0**power)))


def test_an_evalue_that_is_not_enough_never_reads_like_one_that_is():
    said = shortfall_sentence(replace(THRILLER, evalue=0.01001), 0.01)

    assert "is 0.011; a match has 0.01 at most." in said


@given(st.floats(1e-6, 0.999999), st.floats(1.0, 1e6))
def test_what_may_be_a_match_never_reads_like_what_every_search_gives(possible, usual):
    """In the sentence as in the table."""
    assert accident_sentence(possible) != accident_sentence(usual)
    assert accident_cell(possible) != accident_cell(usual)
    assert "very search" not in accident_sentence(possible)
    assert "per search" not in accident_cell(possible)
    assert accident_cell(usual).endswith(" per search")


@pytest.mark.parametrize(
    ("log_ratio", "expected"),
    [
        (3.5, "about 3,000 times more likely if the clip shows this dance than if it shows another."),
        (-1.0, "about 10 times less likely if the clip shows this dance than if it shows another."),
        (0.1, "about as likely if the clip shows this dance as if it shows another."),
    ],
)
def test_a_ratio_is_said_in_words(log_ratio, expected):
    assert f"The evidence is {expected}" == ratio_words(log_ratio)


def test_a_ratio_at_its_bound_is_said_to_be_more_than_that():
    """Nothing beyond what the pairs of the calibration support is ever said."""
    most = shipped_calibration().most

    assert ratio_words(most).startswith("The evidence is more than ")
    assert (True, False) == (is_bounded(most), is_bounded(most - 0.1))


@pytest.mark.parametrize(("log_ratio", "expected"), [(3.59, 3000.0), (-2.0, 0.01), (-1.72, 0.02), (0.0, 1.0)])
def test_a_ratio_has_one_significant_digit(log_ratio, expected):
    assert expected == likelihood_ratio(log_ratio)


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("reference_bones", "the known dance has no skeletons"),
        ("query_bones", "the clip has no skeletons"),
        ("synchrony_seconds", "too little of the body is seen in both"),
    ],
)
def test_a_dance_judged_by_words_alone_is_said_to_be(missing, reason):
    found = replace(THRILLER, parts=MEASURED | {missing: 0.0})

    assert ("", f"Judged by words alone: {reason}.") == (basis_sentence(THRILLER), basis_sentence(found))

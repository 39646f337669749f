"""Cutting motions by seconds, and how nouns show themselves as text."""

import numpy as np
import pytest

from dance_samples import dance, words
from dancematch.errors import InputError
from dancematch.skeletons import BODY15
from dancematch.types import Match, Motion, Span

LATE = Motion(dance(1).joints[:240], 30.0, BODY15, start=4.0)  # from second 4 to 12


@pytest.mark.parametrize(
    ("part", "span"),
    [
        (LATE[5.0:7.5], Span(5.0, 7.5)),
        (LATE[:5], Span(4.0, 5.0)),
        (LATE[10:], Span(10.0, 12.0)),
        (LATE[-3.0:], Span(9.0, 12.0)),
        (LATE[-3.0:-1.0], Span(9.0, 11.0)),
        (LATE[:], Span(4.0, 12.0)),
        (LATE[0:99], Span(4.0, 12.0)),
        (LATE[Span(6.0, 8.0)], Span(6.0, 8.0)),
        (LATE[5.0:9.0][6.0:7.0], Span(6.0, 7.0)),
    ],
)
def test_a_motion_is_cut_by_seconds_on_the_clock_of_its_source(part, span):
    first, last = (round(30 * (moment - 4.0)) for moment in (span.start, span.end))

    assert (span.start, span.end) == pytest.approx((part.span.start, part.span.end))
    np.testing.assert_array_equal(LATE.joints[first:last], part.joints)
    np.testing.assert_array_equal(LATE.visibility[first:last], part.visibility)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (slice(7.0, 5.0), "nothing is between 7 and 5 s of a motion of 4.0-12.0 s"),
        (slice(20.0, 30.0), "nothing is between 12 and 12 s"),
        (slice(5.0, 5.001), "nothing is between"),
        (slice(float("nan"), 5.0), "a number of seconds, got nan"),
        (slice(5.0, 7.0, 2.0), r"as in motion\[2.0:5.0\]"),
        (3, r"as in motion\[2.0:5.0\], got 3"),
    ],
)
def test_what_is_no_part_of_a_motion_is_refused(asked, complaint):
    with pytest.raises(InputError, match=complaint):
        LATE[asked]


def test_motions_and_words_say_when_and_what_they_are():
    assert "<Motion 4.0-12.0 s, 30 fps, body15, 100 % seen>" == repr(LATE)
    assert "<Fingerprint 0.0-1.5 s, 3 steps of 2 channels, toy>" == repr(words([[1, 2], [3, 4], [5, 6]]))


def test_a_match_says_which_dance_where_and_how_sure_in_one_line():
    match = Match(
        "d1", 0.9, Span(0, 8), Span(3, 11), mirrored=True, tempo=1.2, dance="Thriller\n",
        recording="anna.mp4", verdict="match", log_ratio=4.26,
    )  # fmt: skip

    expected = (
        "<Match 'Thriller\\n (anna.mp4)', match, 0.0-8.0 s like 3.0-11.0 s, mirrored, x1.20, log_ratio 4.3>"
    )
    assert expected == repr(match)
    assert "<Match 'd1', no match, 0.0-8.0 s like 3.0-11.0 s>" == repr(
        Match("d1", 0.9, Span(0, 8), Span(3, 11))
    )

"""Likelihood ratios, E-values and verdicts."""

import json
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dance_samples import dance, shipped, shipped_background, standing
from dancematch.errors import InputError
from dancematch.motion import excerpt, mirror, to_body15
from dancematch.pipeline.answer import answer_query
from dancematch.pipeline.query import query_of_motions
from dancematch.search.confidence.verdict import (
    ENOUGH_SECONDS,
    FORMAT,
    LEAST_SECONDS,
    MAX_EVALUE,
    POSSIBLE_EVALUE,
    evalue_of,
    shipped_calibration,
    verdict_of,
    words_amount,
)
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import ALL_DANCES, DEFAULT_SETTINGS, DanceFilter
from dancematch.search.stage2.ranking import VariantScores
from dancematch.skeletons import BODY15
from dancematch.tracks import KnownTrack
from dancematch.types import Motion

RATIOS = st.floats(-4, 7)


def test_equal_ratios_are_ordered_by_score_to_the_last_digit():
    """At the bound of the ratio, where single precision would take both scores for one; then by synchrony."""
    words = SimpleNamespace(scores=np.array([0.5, 0.501, 0.501], np.float32))
    synchrony = SimpleNamespace(strengths=np.array([9.0, 2.0, 3.0], np.float32))
    scored = VariantScores(words, synchrony, None, None)
    vars(scored)["log_ratios"] = np.full(3, shipped_calibration().most, np.float32)

    assert [0, 1, 2] == np.argsort(scored.ranking_keys(DEFAULT_SETTINGS)).tolist()
    by_score = scored.ranking_keys(replace(DEFAULT_SETTINGS, ranked_by="score"))
    assert [0.5, 0.501, 0.501] == pytest.approx(by_score)


def queries(motion):
    return [Query(shipped().fingerprint(motion)), Query(shipped().fingerprint(mirror(motion)), mirrored=True)]


def engine(*numbers, eight_counts=4):
    known = [(f"dance{n}", shipped().fingerprint(dance(n, 1, eight_counts))) for n in numbers]
    return Engine(shipped().codebook, known, background=shipped_background())


@given(RATIOS, RATIOS, st.integers(1, 10**6))
def test_a_larger_ratio_is_never_more_often_an_accident(one, other, dances):
    """E-values fall as ratios grow, rise with the catalogue, and are never more than all dances."""
    low, high = sorted([one, other])

    assert evalue_of(high, dances) <= evalue_of(low, dances) <= dances
    assert evalue_of(high, dances) <= evalue_of(high, 2 * dances)


@pytest.mark.parametrize(
    ("evalue", "verdict"),
    [(0.0, "match"), (MAX_EVALUE, "match"), (2 * MAX_EVALUE, "possible match"),
     (0.99 * POSSIBLE_EVALUE, "possible match"), (POSSIBLE_EVALUE, "no match")],
)  # fmt: skip
def test_verdicts_follow_from_the_evalue(evalue, verdict):
    """Three verdicts, with their limits included."""
    assert verdict == verdict_of(evalue)


def test_the_limit_of_a_match_can_be_moved():
    """Stricter makes a match a possible one; as lax as can be, every possible one a match, and no other."""
    assert "possible match" == verdict_of(0.05, max_evalue=0.01)
    assert ("match", "no match") == (verdict_of(0.99, max_evalue=1.0), verdict_of(1.0, max_evalue=1.0))


@pytest.mark.parametrize("limit", [6.0, 1.01, -0.1, float("nan"), float("inf")])
def test_a_limit_that_would_accept_everything_is_refused(limit):
    clip = query_of_motions([dance(0, 2, 4)], shipped(), "the clip")

    with pytest.raises(InputError, match="must be a number from 0 to 1, got"):
        answer_query(engine(0), clip, max_evalue=limit)


@given(st.floats(0, 30), st.floats(0, 30))
def test_more_seen_counts_more(one, other):
    """Words count from two seconds on, in full from five."""
    low, high = sorted([one, other])

    assert 0 <= words_amount(low) <= words_amount(high) <= 1
    assert (words_amount(low) == 0) == (low < LEAST_SECONDS)
    assert (words_amount(high) == 1) == (high >= ENOUGH_SECONDS)


@pytest.mark.parametrize("basis", ["both", "words", "synchrony"])
def test_evidence_only_speaks_for_what_it_shows(basis):
    """More agreement never lowers a ratio; a tempo that had to be tried never raises it."""
    weights = shipped_calibration(basis).weights

    assert all((weight <= 0) == (name == "tempo") for name, weight in weights.items())
    assert (
        FORMAT
        == json.loads((files("dancematch.search.confidence") / "calibration.json").read_text())["format"]
    )


def test_ratios_stay_within_what_the_data_support():
    """However much speaks for a dance, nothing like 1e-20 comes out."""
    lots = {name: np.array([-1e6, 1e6]) for name in ("synchrony", "histogram", "order", "tempo")}
    calibration = shipped_calibration()
    lots["tempo"] = np.zeros(2)

    assert [calibration.least, calibration.most] == calibration.log_ratios(lots).tolist()


def test_less_than_two_seconds_are_never_a_match():
    """The dance itself, but hardly seen: too little to say anything."""
    short = excerpt(dance(0, 1, 4), 3.0, 4.8)
    found = engine(0, 1).search(queries(short), limit=1)
    clip = query_of_motions([short], shipped(), "the clip")

    assert "no match" == found[0].verdict
    for known in (engine(0), engine(0, 1)):
        assert "no match" == answer_query(known, clip, max_evalue=POSSIBLE_EVALUE).verdict


def test_too_little_speaks_neither_for_a_dance_nor_against_it():
    found = engine(0, 1).search(queries(excerpt(dance(0, 1, 4), 3.0, 4.8)))

    assert [0.0, 0.0] == [match.log_ratio for match in found]


def hide(motion, joints):
    """The motion on body15 without those joints in those frames."""
    seen = to_body15(motion)
    hidden = seen.joints.copy()
    for names, frames in joints:
        for name in names:
            hidden[frames, BODY15.index(name)] = np.nan
    return Motion(hidden, seen.fps, seen.skeleton)


def test_bones_of_half_a_body_speak_where_hardly_a_word_is_seen():
    """No legs, and of each arm half: fewer than two seconds of words, more than two of bones."""
    legs = ["left_knee", "right_knee", "left_ankle", "right_ankle"]
    seconds = range(0, 270, 60)
    half = [(("left_elbow", "neck"), slice(at, at + 30)) for at in seconds]
    other = [(("right_elbow", "head"), slice(at + 30, at + 60)) for at in seconds]
    asked = hide(dance(3, 2, 2), [(legs, slice(None)), *half, *other])
    found = engine(*range(6)).search([Query(shipped().fingerprint(asked))])

    assert "dance3" == found[0].dance_id
    assert found[0].parts["synchrony_seconds"] >= LEAST_SECONDS
    assert found[0].log_ratio > 0.5 > 0 > found[1].log_ratio


def test_filters_count_for_how_often_something_happens_by_accident():
    known = [
        KnownTrack(
            n,
            f"dance{n}",
            1,
            shipped().fingerprint(dance(n, 1, 4)),
            labels=("summer" if n < 2 else "winter",),
        )
        for n in range(5)
    ]
    filled = Engine(shipped().codebook, background=shipped_background())
    filled.add(known)
    asked = queries(dance(40, 2, 4))
    for only, dances in ((ALL_DANCES, 5), (DanceFilter(label="summer"), 2),
                         (DanceFilter(but=frozenset({"dance0"})), 4),
                         (DanceFilter(among=frozenset({"dance0"})), 5)):  # fmt: skip
        for match in filled.search(asked, only=only):
            assert match.evalue == pytest.approx(evalue_of(match.log_ratio, dances))


@pytest.mark.parametrize("basis", ["both", "words", "synchrony"])
def test_where_nothing_is_seen_the_ratio_speaks_for_no_dance(basis):
    nothing = {name: np.zeros(1) for name in ("synchrony", "histogram", "order", "tempo")}

    assert shipped_calibration(basis).log_ratios(nothing)[0] <= 0


@pytest.mark.parametrize("known", [1, 3, 12])
def test_small_catalogues_know_their_dances_and_no_others(known):
    """With one known dance as with twelve: another body is a match, another dance is none."""
    small = engine(*range(known))

    assert ("dance0", "match") == _best(small, dance(0, 2, 4))
    assert "no match" == _best(small, dance(40, 2, 4))[1]


def _best(among, motion):
    found = among.search(queries(motion), limit=1)[0]
    return found.dance_id, found.verdict


def test_words_alone_still_answer():
    """Of a dance that came without skeletons the words are known: they suffice among few dances."""
    motion = dance(3, 1, 4)
    bare = [(f"dance{n}", replace(shipped().fingerprint(dance(n, 1, 4)), bones=None)) for n in (3, 4, 5)]
    among = Engine(shipped().codebook, bare, background=shipped_background())
    found = among.search(queries(motion), limit=3)

    assert ("dance3", "match", 0.0) == (found[0].dance_id, found[0].verdict, found[0].parts["synchrony"])


def test_without_a_cohort_nothing_can_be_said():
    """No unrelated dances to compare with: every ratio is 1."""
    among = Engine(shipped().codebook, [("dance0", shipped().fingerprint(dance(0)))])
    found = among.search(queries(dance(0)), limit=1)

    assert (0.0, 1.0) == (found[0].log_ratio, found[0].evalue)


def test_two_dancers_with_two_dances_give_both():
    """One verdict per dancer: each side of a duet is named."""
    among = engine(*range(8))
    clip = query_of_motions([dance(2, 2, 4), dance(5, 3, 4)], shipped(), "duet")
    answer = answer_query(among, clip, limit=3)

    assert ["match", "match"] == [one.verdict for one in answer.dancers]
    assert ["dance2", "dance5"] == [one.candidates[0].dance_id for one in answer.dancers]
    assert {"dance2", "dance5"} == {match.dance_id for match in answer.matches}


def test_an_answer_names_what_was_ignored():
    """Somebody who stands still beside the dancer is no query, and is told of."""
    clip = query_of_motions([dance(2, 2, 4), standing(300)], shipped(), "clip")
    answer = answer_query(engine(1, 2), clip)

    assert [1] == [one.dancer for one in answer.dancers]
    assert "does not move" in answer.ignored[0].reason
    described = answer.described()
    assert "match" == described["verdict"] == described["dancers"][0]["verdict"]
    assert described["ignored"][0]["reason"] == answer.ignored[0].reason
    json.dumps(described)


def test_no_match_still_names_the_nearest():
    """An unknown dance gets the candidates that were looked at, and a verdict that rejects them."""
    answer = answer_query(engine(0, 1, 2), query_of_motions([dance(77, 2, 4)], shipped(), "clip"))

    assert "no match" == answer.verdict
    assert 3 == len(answer.candidates)
    assert not answer.matches


def test_a_fingerprint_with_other_bones_is_refused():
    """Bones come one row per word."""
    words = shipped().fingerprint(dance(0))

    with pytest.raises(InputError, match=r"bones must be"):
        replace(words, bones=words.bones[:-1])

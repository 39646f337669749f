"""The audit of a catalogue: changed dances are found, dances left out are not, and the limit is honest."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_samples import run_main
from dance_samples import dance, digest, recorded, shipped, shipped_background, write_dance
from dancematch.catalogue.store import Store, StoredTrack
from dancematch.errors import InputError
from dancematch.evaluation.audit.changes import CHANGES
from dancematch.evaluation.audit.result import Audit, AuditAnswer, round_down, wilson_interval
from dancematch.evaluation.audit.run import audit
from dancematch.motion import excerpt
from dancematch.pipeline.catalogue import open_catalogue
from dancematch.search.confidence.verdict import MAX_EVALUE, evalue_of, shipped_calibration
from dancematch.search.engine import Engine, Query
from dancematch.search.settings import DanceFilter
from dancematch.types import Span

DANCES = 8
NONE = np.random.default_rng(0)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def db(tmp_path_factory) -> Path:
    """Eight dances, and two of them by another dancer as well: two recordings of one dance have one label."""
    folder = tmp_path_factory.mktemp("audit")
    with open_catalogue(folder / "dances.db") as catalogue:
        for number in range(DANCES):
            path = write_dance(folder / f"dance{number}.npz", number, eight_counts=3)
            catalogue.add(path, labels=[f"label{number}"] if number < 2 else ())
        for number in range(2):
            path = write_dance(folder / f"again{number}.npz", number, dancer=2, eight_counts=3)
            catalogue.add(path, labels=[f"label{number}"])
    return folder / "dances.db"


@cache
def engine(*numbers: int) -> Engine:
    known = [(f"dance{n}", shipped().fingerprint(dance(n))) for n in numbers]
    return Engine(shipped().codebook, known, background=shipped_background())


def test_a_search_without_a_dance_is_that_of_a_catalogue_without_it():
    """Dance 3 left out by name, and never entered: the same dances, and as likely."""
    asked = [Query(shipped().fingerprint(dance(3, dancer=1)))]
    left_out = engine(*range(12)).search(
        asked, limit=20, only=DanceFilter(but=frozenset({"dance3", "unknown"}))
    )
    never_there = engine(*(n for n in range(12) if n != 3)).search(asked, limit=20)

    assert {m.dance_id for m in never_there} == {m.dance_id for m in left_out}
    evalues = [{m.dance_id: np.log(m.evalue) for m in found} for found in (never_there, left_out)]
    assert evalues[0] == pytest.approx(evalues[1], abs=0.5)  # what words are worth changes a little
    assert "dance3" == engine(*range(12)).search(asked)[0].dance_id


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_says_where_it_was_taken_from(name):
    """Its place lies in the dance, it leaves something to search for, and chance comes from the seed."""
    motion = dance(5)
    changed, span = CHANGES[name].apply(motion, 4.0, np.random.default_rng(7))
    again, _ = CHANGES[name].apply(motion, 4.0, np.random.default_rng(7))

    assert motion.span.start <= span.start < span.end <= motion.span.end + 1e-6
    assert shipped().is_long_enough(changed)
    np.testing.assert_array_equal(changed.joints, again.joints)
    assert CHANGES[name].summary


def test_an_excerpt_is_the_part_it_says_it_is():
    motion = dance(5)
    changed, span = CHANGES["excerpt"].apply(motion, 4.0, np.random.default_rng(3))

    assert 4.0 == pytest.approx(span.seconds)
    np.testing.assert_array_equal(excerpt(motion, span.start, span.end).joints, changed.joints)
    assert motion.span == CHANGES["excerpt"].apply(motion, 1e6, NONE).span


def test_the_upper_body_has_no_legs():
    seen = CHANGES["upper-body"].apply(dance(5), 4.0, NONE).motion.visibility.max(axis=0)

    assert {"left_knee", "right_knee", "left_ankle", "right_ankle"} == {
        joint for joint, shown in zip(dance(5).skeleton.joints, seen, strict=True) if not shown
    }


def test_changed_dances_are_found_where_they_are(db):
    """Among ten, the dance or its other recording is a match however it is changed, and at its place."""
    with open_catalogue(db, create=False) as catalogue:
        made = audit(catalogue, changes=("none", "mirror", "excerpt", "upper-body"), by_label=True)
    found = made.figures(0.05)

    assert (10, 10, 40) == (made.dances, made.asked, len(made.answers))
    assert [1.0] * 4 == [one.rank1 for one in found]
    assert all(one.accepted >= 0.9 and one.place >= 0.8 for one in found)
    assert 10 == made.left_out


def test_another_recording_is_a_false_accept_unless_labels_say_otherwise(db):
    """Left out, a dance is taken for its other recording; by label, both are left out together."""
    with open_catalogue(db, create=False) as catalogue:
        by_name, by_label = (
            audit(catalogue, changes=["none"], by_label=by_label) for by_label in (False, True)
        )
    (most, *_), (rest, *_) = by_name.most_alike(3), by_label.most_alike(3)

    assert {"again0", "dance0"} == {most.dance, most.taken_for} or {"again1", "dance1"} == {
        most.dance,
        most.taken_for,
    }
    assert 0.4 <= by_name.figures(0.05)[0].false_accepts
    assert by_label.figures(0.05)[0].false_accepts < 0.2
    assert most.unknown_evalue < rest.unknown_evalue
    assert len({frozenset((one.dance, one.taken_for)) for one in by_name.most_alike(9)}) == len(
        by_name.most_alike(9)
    )


def test_the_seed_draws_the_dances(db):
    with open_catalogue(db, create=False) as catalogue:
        drawn = [audit(catalogue, changes=["noise"], max_dances=3, seed=seed).answers for seed in (1, 1, 2)]

    assert [3, 3, 3] == [len({one.dance for one in answers}) for answers in drawn]
    assert drawn[0] == drawn[1] != drawn[2]


def test_dances_with_excluded_segments_are_no_queries(tmp_path):
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        for number in range(3):
            catalogue.add(write_dance(tmp_path / f"{number}.npz", number))
        catalogue.exclude("1", Span(0, 2))
        made = audit(catalogue, changes=["none"])

    assert {"0", "2"} == {one.dance for one in made.answers}


def test_a_dance_is_changed_by_a_recording_that_can_be(tmp_path):
    """Not one with an excluded segment, nor one without skeletons; recordings of a dance are one answer."""
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        words = shipped().fingerprint(dance(0, 5))
        catalogue.learn_words(recorded("dance", "words.npz", digest("words")), [words])
        for name, dancer in (("excluded", 1), ("whole", 2)):
            catalogue.learn(recorded("dance", f"{name}.npz", digest(name)), [dance(0, dancer)], join=True)
        catalogue.learn(recorded("other", "other.npz", digest("other")), [dance(9)])
        catalogue.exclude("dance", Span(0, 2), recording="excluded.npz")
        made = audit(catalogue, changes=["none"])
    found = {one.dance: one for one in made.answers}

    assert (2, 2, {"dance", "other"}) == (made.dances, made.asked, set(found))
    assert (True, "other") == (found["dance"].right, found["dance"].taken_for)
    assert found["dance"].overlap > 0.8  # it is the whole one that was changed and found


def test_one_dance_alone_cannot_be_taken_for_another(tmp_path):
    """There is no false accept rate and no suggestion; the rest is printed."""
    with open_catalogue(tmp_path / "dances.db") as catalogue:
        catalogue.add(write_dance(tmp_path / "one.npz", 1))
    answer = run_main(
        "eval", "audit", tmp_path / "dances.db", "--changes", "none", "--plot", tmp_path / "a.png"
    )

    assert 0 == answer.code
    assert "False accepts cannot be measured" in answer.out
    assert f"No limit is suggested, E <= {MAX_EVALUE:g} stays" in answer.out
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)


def test_a_catalogue_without_skeletons_says_so(tmp_path):
    store = Store(tmp_path / "dances.db", shipped().model_id)
    store.add(recorded("bare", "bare.mp4", "0" * 64, 8.0), [StoredTrack(shipped().fingerprint(dance(1)))])
    store.close()
    with open_catalogue(tmp_path / "empty.db") as catalogue:
        catalogue.add(write_dance(tmp_path / "one.npz", 1))
        catalogue.remove("one")

    assert "skeletons were not kept" in run_main("eval", "audit", tmp_path / "dances.db").complaint
    assert "the catalogue is empty" in run_main("eval", "audit", tmp_path / "empty.db").complaint


def answers_of(unknown: list[float]) -> Audit:
    """One dance per value: named first at E = 1e-3, and without its entry accepted at the value."""
    made = tuple(
        AuditAnswer(f"dance{n}", "none", True, 1e-3, 1.0, "another", evalue)
        for n, evalue in enumerate(unknown)
    )
    return Audit(made, len(made), len(made), "model")


def test_the_suggested_limit_accepts_what_was_wanted():
    """Of two hundred unknown dances at E = .01, .02, ..., 2 one per cent is two: it is below the third."""
    made = answers_of([0.01 * n for n in range(1, 201)])
    found = made.suggest_limit(0.01)

    assert 0.02 <= found.evalue < 0.03
    assert 0.01 == made.false_accepts(found.evalue)[0]
    assert found.interval[0] <= found.evalue <= found.interval[1]
    assert 1.0 == found.accepted


@pytest.mark.parametrize("dances", [1, 99])
def test_too_few_dances_suggest_nothing(dances):
    found = answers_of([1.0] * dances).suggest_limit(0.01)

    assert (None, None, 100) == (found.evalue, found.interval, found.dances_needed)


def test_no_false_accept_still_has_an_interval():
    """Thirty unknown dances rejected still leave room for one in ten."""
    share, (low, high) = answers_of([5.0] * 30).false_accepts(0.05)

    assert (0.0, 0.0, 0.1) == (share, low, pytest.approx(high))


@given(st.integers(1, 500), st.data())
def test_a_shares_interval_ends_where_the_share_would_be_two_deviations_off(total, data):
    """Wilson's own definition: both ends p solve (p - share)^2 = 1.96^2 p (1 - p) / total."""
    count = data.draw(st.integers(0, total))
    low, high = wilson_interval(count, total)

    assert 0 <= low <= count / total <= high <= 1
    for end in (low, high):
        assert (end - count / total) ** 2 == pytest.approx(1.96**2 * end * (1 - end) / total, abs=1e-9)


@given(st.floats(1e-300, 1e6) | st.integers(1, 1000).map(lambda n: np.nextafter(n / 100, 0)))
def test_a_limit_is_never_rounded_up(limit):
    """Two digits are enough to type, and never accept more than was wanted."""
    found = round_down(limit)

    assert 0.9 * limit < found <= limit
    assert found == float(f"{found:.2g}")


def test_a_catalogue_full_of_twins_has_no_limit():
    """If one in twenty has the largest ratio as another dance, no limit keeps it out."""
    found = answers_of([0.0, *[1.0] * 9] * 10).suggest_limit(0.05)

    assert (None, 20) == (found.evalue, found.dances_needed)


def test_a_limit_that_no_evidence_meets_is_not_suggested():
    """Dances under two names have the largest ratio there is: below its E-value nothing is accepted."""
    least = evalue_of(shipped_calibration().most, 100)

    assert answers_of([least, *[1.0] * 9] * 10).suggest_limit(0.05).evalue is None
    assert answers_of([1.0] * 100).suggest_limit(0.05).evalue is not None


def test_the_command_prints_all_figures(db, tmp_path):
    """One object per change and one for the catalogue; a picture only where no file is replaced."""
    picture = tmp_path / "audit.png"
    options = ("--changes", "none,excerpt", "--max-dances", 3, "--seconds", 3, "--false-accepts", 0.5)
    answer = run_main("eval", "audit", db, *options, "--json", "--plot", picture)
    *changes, whole = answer.objects

    assert ["none", "excerpt"] == [one["change"] for one in changes]
    assert {3} == {one["queries"] for one in changes}
    assert (10, 3, 3, 6) == tuple(whole[key] for key in ("dances", "asked", "left_out", "queries"))
    assert whole["suggestion"]["interval"][0] <= whole["suggestion"]["evalue"]
    assert picture.read_bytes().startswith(PNG)
    assert "--force" in run_main("eval", "audit", db, *options, "--plot", picture).complaint


def test_the_table_names_dances_that_are_taken_for_others(db):
    answer = run_main("eval", "audit", db, "--changes", "none", "--false-accepts", 0.2)

    assert "10 of 10 dances" in answer.out
    assert "is taken for" in answer.out
    # Four of ten are there twice, and two recordings of one dance have the largest ratio there is.
    assert "No limit is suggested: a share above 0.2 is taken for another by the strongest" in answer.out
    by_label = run_main("eval", "audit", db, "--changes", "none", "--false-accepts", 0.2, "--by-label")
    assert "Suggested: --max-evalue" in by_label.out


def test_false_accepts_of_one_label_point_to_the_option(db):
    """Four recordings of two labels are false accepts by name; by label there is none."""
    hint = "4 of the false accepts are dances of one label; if they are one dance, merge them"

    assert hint in run_main("eval", "audit", db, "--changes", "none", "--max-evalue", 0.001).err
    assert "of one label" not in run_main("eval", "audit", db, "--changes", "none", "--by-label").err


@pytest.mark.parametrize(("changes", "named"), [("blur", "'blur'"), (",", "there are none, tilt")])
def test_an_unknown_change_is_refused(db, changes, named):
    assert named in run_main("eval", "audit", db, "--changes", changes).complaint


def test_shares_and_seconds_must_make_sense(db):
    assert 2 == run_main("eval", "audit", db, "--false-accepts", "nan").code
    assert [2, 2] == [run_main("eval", "audit", db, "--seconds", wrong).code for wrong in (0.01, "inf")]
    with open_catalogue(db, create=False) as catalogue:
        for wrong in ({"seconds": 0.0}, {"max_dances": 0}):
            with pytest.raises(InputError, match="more"):
                audit(catalogue, **wrong)
    with pytest.raises(InputError, match="between 0 and 1"):
        answers_of([1.0]).suggest_limit(1.0)

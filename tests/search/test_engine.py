from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dance_samples import (
    LEGS,
    dance,
    random_words,
    shipped,
    shipped_background,
    small_model,
    toy_codebook,
    without,
    words,
)
from dancematch.errors import InputError, ModelMismatchError, UnknownDanceError
from dancematch.motion import change_tempo, excerpt, mirror
from dancematch.search.confidence.verdict import MAX_EVALUE
from dancematch.search.engine import Engine, Query
from dancematch.search.explain import explain
from dancematch.search.settings import DEFAULT_SETTINGS
from dancematch.search.words.entries import window_bounds
from dancematch.tracks import KnownTrack
from dancematch.types import Match, Motion

KNOWN = tuple(range(12))


@cache
def engine() -> Engine:
    """Twelve dances of half a minute, each learnt from one dancer."""
    dances = [(f"dance{n}", shipped().fingerprint(dance(n, dancer=1, eight_counts=4))) for n in KNOWN]
    return Engine(shipped().codebook, dances, background=shipped_background())


def search(motion: Motion, *, limit: int = 10) -> list[Match]:
    """As a catalogue does: the clip as it is, and mirrored."""
    readings = [
        Query(shipped().fingerprint(motion)),
        Query(shipped().fingerprint(mirror(motion)), mirrored=True),
    ]
    return engine().search(readings, limit=limit)


def sure(matches: list[Match]) -> list[str]:
    return [m.dance_id for m in matches if m.evalue is not None and m.evalue <= MAX_EVALUE]


@pytest.mark.parametrize("number", [0, 3, 7, 11])
def test_a_dance_is_found_whoever_dances_it(number):
    found = search(dance(number, dancer=2, eight_counts=4))

    assert f"dance{number}" == found[0].dance_id == sure(found)[0]
    assert not found[0].mirrored
    assert sorted((m.log_ratio for m in found), reverse=True) == [m.log_ratio for m in found]
    assert len(found) == len({m.dance_id for m in found})


@pytest.mark.parametrize("number", [1, 6])
def test_a_mirrored_dance_is_found_and_called_so(number):
    found = search(mirror(dance(number, dancer=2, eight_counts=4)))

    assert (f"dance{number}", True) == (found[0].dance_id, found[0].mirrored)


@pytest.mark.parametrize("number", [2, 9])
def test_an_excerpt_is_found_at_its_place_and_tempo(number):
    """Six seconds, a tenth faster, out of the middle of the very performance that is known."""
    part = change_tempo(excerpt(dance(number, dancer=1, eight_counts=4), 7.0, 13.0), 1.1)
    found = search(part)[0]

    assert f"dance{number}" == found.dance_id
    assert pytest.approx(7.0, abs=0.4) == found.reference.start
    assert pytest.approx(13.0, abs=0.4) == found.reference.end
    assert pytest.approx(1.1, rel=0.07) == found.tempo
    assert pytest.approx(part.seconds, abs=0.3) == found.query.seconds


def test_strangers_are_hardly_ever_taken_for_somebody():
    """Of eight dances that are not in the catalogue, at most one passes the default decision."""
    taken = [seed for seed in range(500, 508) if sure(search(dance(seed, dancer=3, eight_counts=4)))]

    assert len(taken) <= 1


@pytest.mark.parametrize("number", [4, 8])
def test_half_a_body_is_enough(number):
    """A dancer behind a table is found by the arms, and the legs are not part of the evidence."""
    found = search(without(dance(number, dancer=2, eight_counts=4), LEGS))[0]

    assert f"dance{number}" == found.dance_id
    assert {"left_arm", "right_arm", "arms", "torso"} == set(found.parts) & set(shipped().codebook.channels)


def test_the_parts_of_a_score_are_named_and_bounded():
    found = search(dance(0, dancer=1, eight_counts=4))[0]

    shares = ("histogram", "order", "synchrony", *shipped().codebook.channels)
    assert set(shares) <= set(found.parts)
    assert pytest.approx(1.0, abs=1e-3) == found.score
    assert all(0 <= found.parts[name] <= 1.001 for name in shares)


def test_nobody_seen_is_nobody_found():
    nobody = Motion(np.full_like(dance(0).joints, np.nan), 30.0, dance(0).skeleton)

    assert [] == sure(search(nobody))


def test_limit_limits():
    assert 3 == len(search(dance(0), limit=3))


def test_each_dance_comes_once_by_its_best_recording():
    """Two recordings of a dance, one like the query: one match, placed in that recording."""
    right, wrong = random_words(30, 1), random_words(30, 2)
    known = Engine(toy_codebook(), [("twice", wrong), ("twice", right), ("other", random_words(30, 3))])
    found = known.search([Query(right)])

    assert ["twice", "other"] == [m.dance_id for m in found]
    assert found[0].score == pytest.approx(1.0, abs=1e-3)


def test_the_dancer_who_matches_is_named():
    known = Engine(toy_codebook(), [("a", random_words(30, 1)), ("b", random_words(30, 2))])
    queries = [Query(random_words(30, 8), dancer=1), Query(random_words(30, 2), dancer=2)]
    found = known.search(queries, limit=1)[0]

    assert ("b", 2) == (found.dance_id, found.dancer)


def test_an_empty_engine_and_an_empty_query_find_nothing():
    assert [] == Engine(toy_codebook(), []).search([Query(random_words(5, 0))])
    assert [] == Engine(toy_codebook(), [("a", random_words(5, 0))]).search([])


def test_words_of_another_model_are_refused_everywhere():
    strange = small_model().fingerprint(dance(0))
    with pytest.raises(ModelMismatchError, match="these words are of the model kmeans-parts7-16"):
        Engine(toy_codebook(), [("a", strange)])
    with pytest.raises(ModelMismatchError):
        Engine(toy_codebook(), [], background=[strange])
    with pytest.raises(ModelMismatchError):
        Engine(toy_codebook(), [("a", random_words(5, 0))]).search([Query(strange)])


def test_unknown_weightings_are_refused():
    with pytest.raises(InputError, match="weighting must be one of"):
        Engine(
            toy_codebook(), [("a", random_words(5, 0))], settings=replace(DEFAULT_SETTINGS, weighting="magic")
        )


def test_windows_cover_a_long_dance_without_a_gap():
    """Every word is in a window, all windows last six seconds, and a short dance has none."""
    whole = words(np.zeros((41, 1), int), start=3.0)  # 20.5 s
    parts = [whole.segment(*bounds) for bounds in window_bounds(whole)]

    assert {6.0} == {len(part) * part.seconds_per_word for part in parts}
    assert 3.0 == parts[0].start
    assert whole.span(40, 40).end == parts[-1].span(len(parts[-1]) - 1, len(parts[-1]) - 1).end
    steps = np.diff([part.start for part in parts])
    assert 0 < steps.min() <= steps.max() < 6
    assert [] == list(window_bounds(words(np.zeros((10, 1), int))))


def test_seconds_are_found_in_minutes():
    """Three seconds out of three minutes: the whole dance's histogram would not show them."""
    long = [random_words(360, seed, vocabulary=64) for seed in range(5)]
    book = toy_codebook(vocabulary=64)
    known = Engine(book, [(f"long{n}", made) for n, made in enumerate(long)])
    found = known.search([Query(words(long[3].words[200:212], vocabulary=64))])[0]

    assert "long3" == found.dance_id
    assert long[3].span(200, 211) == found.reference


def test_a_match_names_the_dancer_and_the_segment_that_won():
    """The second dancer of two, and the window of a long dance that the excerpt was cut from."""
    dancers = [random_words(60, 5), random_words(60, 6)]
    engine = Engine(toy_codebook(), [(f"other {n}", random_words(40, n)) for n in range(20, 25)])
    engine.add([KnownTrack(70 + n, "duet", n + 1, words) for n, words in enumerate(dancers)])

    found = engine.search([Query(dancers[1].segment(24, 35))], limit=1)[0]

    assert ("duet", 2, 71) == (found.dance_id, found.reference_dancer, found.track)
    assert found.segment == dancers[1].span(24, 35)
    _, evidence = explain(engine, Query(dancers[1].segment(24, 35)), found)
    assert np.array_equal(dancers[1].words, evidence.reference.words)


def test_a_match_whose_track_is_gone_cannot_be_explained():
    engine = Engine(toy_codebook(), [("a", random_words(12, 0)), ("b", random_words(12, 1))])
    found = engine.search([Query(random_words(12, 0))], limit=1)[0]
    engine.remove([0])

    with pytest.raises(UnknownDanceError, match="recording of 'a' that was matched is there no more"):
        explain(engine, Query(random_words(12, 0)), found)

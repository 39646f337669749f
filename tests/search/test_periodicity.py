import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dance_samples import MODEL, SECONDS_PER_WORD, random_words, shipped, toy_codebook, words
from dancematch.errors import InputError, ModelMismatchError
from dancematch.search.stage2.periodicity import autocorrelation, period_of
from dancematch.synthetic.dance.choreography import Choreography, compose_dance, perform
from dancematch.types import Codebook, Fingerprint

BOOK = toy_codebook()


def loop(length: int, times: int, seed: int = 0, *, slips: float = 0.0) -> Fingerprint:
    """A passage of random words over and over, some words slipped."""
    rng = np.random.default_rng(seed)
    rows = np.tile(rng.integers(8, size=(length, 2)), (times, 1))
    slipped = rng.random(rows.shape) < slips
    rows[slipped] = rng.integers(8, size=slipped.sum())
    return words(rows)


def paper_equation(sequence: list[int]) -> list[float]:
    """AC(tau) as printed, term by term."""
    mean = sum(sequence) / len(sequence)
    power = sum((word - mean) ** 2 for word in sequence)
    return [
        sum(
            (sequence[t] - mean) * (sequence[t + lag] - mean) for t in range(len(sequence) - lag)
        ) / power
        for lag in range(len(sequence))
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=2, max_size=30).filter(lambda row: len(set(row)) > 1))
def test_the_papers_equation_is_computed_as_printed(row):
    curve = autocorrelation(words([[word] for word in row]), method="paper")

    assert pytest.approx(paper_equation(row)) == curve.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 25))
def test_matches_are_counted_over_the_words_that_a_lag_has(seed, length):
    """Unbiased: a lag's share is of its own pairs, so a perfect loop has 1 at its period always."""
    found = autocorrelation(random_words(length, seed))
    rows = random_words(length, seed).words
    expected = [
        (rows[: length - lag] == rows[lag:]).mean() for lag in range(min(2 * length // 3 + 3, length))
    ]

    assert pytest.approx(expected) == found.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(5, 15), st.integers(4, 8))
def test_a_loop_is_found_with_its_period(seed, length, times):
    dance = loop(length, times, seed)

    for codebook in (None, BOOK):
        found = period_of(dance, codebook)
        assert found is not None
        assert pytest.approx(length * SECONDS_PER_WORD, abs=0.5 * SECONDS_PER_WORD) == found.seconds
        assert pytest.approx(1.0) == found.strength
        assert times // 2 <= found.peaks


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.integers(5, 15))
def test_three_times_is_a_period_too(seed, length):
    """The first return lies within half the dance, the second at twice its lag, beyond it."""
    once = loop(length, 1, seed).words  # has no loop inside
    assume(max((once == np.roll(once, lag, axis=0)).mean() for lag in range(1, length)) < 0.35)
    dance = loop(length, 3, seed)

    for codebook in (None, BOOK):
        found = period_of(dance, codebook)
        assert found is not None
        assert pytest.approx(length * SECONDS_PER_WORD, abs=0.5 * SECONDS_PER_WORD) == found.seconds
        assert 2 == found.peaks


def sampled_loop(period: float, times: int, seed: int) -> Fingerprint:
    """A dance that goes round in so many words, not necessarily a whole number: each moment has its word."""
    rng = np.random.default_rng(seed)
    held = 3.0  # words that a pose lasts: neighbours agree, as in a dance
    steps = np.arange(int(period * times))
    channels = [
        rng.permutation(64)[np.floor(((steps + phase) % period) / held).astype(int)]
        for phase in rng.uniform(0, period, size=8)
    ]
    return words(np.stack(channels, axis=1), vocabulary=64)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.integers(10, 20), st.sampled_from([0.25, 0.4, 0.5, 0.6, 0.75]))
def test_a_period_between_two_words_is_not_doubled(seed, whole, part):
    """Its double, nearer to a whole number of words, has the higher peak; the period is still the first."""
    period = whole + part
    found = period_of(sampled_loop(period, 6, seed))

    assert pytest.approx(period * SECONDS_PER_WORD, abs=0.2 * SECONDS_PER_WORD) == found.seconds


@pytest.mark.parametrize("bpm", [97, 104, 117, 126, 131])
@pytest.mark.parametrize("times", [3, 4, 8])
def test_a_danced_period_is_one_round_or_an_even_part_of_it(bpm, times):
    """From joints on, whatever the tempo and however often: never two rounds or three."""
    move = compose_dance(3, eight_counts=1, bpm=bpm).moves[:1]
    dance = perform(Choreography("loop", move * times, bpm))
    found = period_of(shipped().fingerprint(dance), shipped().codebook)
    rounds = found.seconds / (dance.seconds / times)

    assert min(abs(rounds - 1), abs(rounds - 0.5)) < 0.02


def test_slips_weaken_a_period_but_do_not_hide_it():
    found = period_of(loop(12, 8, slips=0.12))

    assert found is not None
    assert pytest.approx(12 * SECONDS_PER_WORD, rel=0.05) == found.seconds
    assert 0.6 < found.strength < 0.9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_random_words_have_no_period(seed):
    dance = random_words(60, seed)

    assert period_of(dance) is None
    assert period_of(dance, BOOK) is None


@pytest.mark.parametrize("length", [1, 2, 3, 4, 40])
def test_who_stands_still_has_no_period(length):
    still = words(np.full((length, 2), 3))

    assert [None] * 3 == [period_of(still), period_of(still, BOOK), period_of(still, method="paper")]


def test_one_return_is_no_rhythm_unless_asked_for():
    """A passage danced twice has one peak, at half of the dance."""
    twice = loop(15, 2)

    assert period_of(twice) is None
    assert pytest.approx(15 * SECONDS_PER_WORD, rel=0.05) == period_of(twice, least_peaks=1).seconds


def test_a_pendulum_is_periodic_for_the_paper_too():
    """Numbers that rise and fall like a wave, long enough for two peaks above its threshold."""
    wave = np.rint(3.5 + 3.4 * np.sin(np.arange(120) * 2 * np.pi / 12)).astype(int)
    found = period_of(words(wave[:, None]), method="paper")

    assert pytest.approx(12 * SECONDS_PER_WORD, rel=0.03) == found.seconds


def test_renaming_words_changes_the_papers_curve_and_not_the_default():
    dance, names = loop(7, 6, slips=0.2), np.random.default_rng(5).permutation(8)
    renamed = words(names[dance.words])

    assert autocorrelation(dance).tolist() == autocorrelation(renamed).tolist()
    assert (
        np.abs(autocorrelation(dance, method="paper") - autocorrelation(renamed, method="paper")).max() > 0.1
    )


def test_likeness_sees_a_loop_in_which_no_word_returns():
    """Every round in other words that mean almost the same: no matches, but a period."""
    table = np.kron(np.eye(4), np.full((8, 8), 0.9)) + 0.1 * np.eye(32)
    book = Codebook(MODEL, ("body",), np.zeros((1, 32, 1)), table[None])
    steps = np.arange(32)
    dance = words((8 * (steps % 4) + steps // 4)[:, None], vocabulary=32)

    assert period_of(dance) is None
    assert pytest.approx(4 * SECONDS_PER_WORD, rel=0.05) == period_of(dance, book).seconds


def test_unseen_words_say_nothing():
    """Legs that wander where they are not seen do not hide the arms; unseen all over, no curve."""
    arms = loop(9, 6)
    rows = np.stack([arms.words[:, 0], random_words(54, 3).words[:, 1]], axis=1)
    hidden = words(rows, visibility=np.tile([1.0, 0.0], (54, 1)))

    for options in ({}, {"codebook": BOOK}):
        assert pytest.approx(1.0) == period_of(hidden, **options).strength
    dark = words(rows, visibility=np.zeros((54, 2)))
    assert all(np.isnan(autocorrelation(dark, book)).all() for book in (None, BOOK))
    assert np.isnan(autocorrelation(dark, method="paper")).all()


def test_a_danced_loop_has_the_period_of_its_music():
    """From joints on: one move of four beats at 110 bpm, danced eight times."""
    once = compose_dance(3, eight_counts=1, bpm=110)
    dance = perform(Choreography("loop", once.moves[:1] * 8, 110))
    found = period_of(shipped().fingerprint(dance), shipped().codebook)
    beats = found.seconds * 110 / 60

    assert pytest.approx(round(beats), abs=0.1) == beats
    assert 4 % round(beats) == 0


def test_senseless_orders_are_refused():
    with pytest.raises(InputError, match="match, paper"):
        period_of(random_words(9, 1), method="fourier")
    with pytest.raises(ModelMismatchError, match="use the codebook of the model"):
        period_of(random_words(9, 1), Codebook("other", ("a",), np.zeros((1, 8, 1)), np.eye(8)[None]))

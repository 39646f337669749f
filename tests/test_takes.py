import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dance_samples import dance, random_words, shipped, shipped_background, toy_codebook
from dancematch.index.verdict import MAX_EVALUE
from dancematch.index.engine import Engine, Query
from dancematch.index.likeness import Rarity
from dancematch.index.shelf import pack, unpack
from dancematch.index.takes import ONE_DANCE, are_takes, dances_among, histograms
from dancematch.types import Fingerprint

TAKES = 9  # of each dance


def plain_rarity(channels: int = 2, vocabulary: int = 8) -> Rarity:
    """All words are worth the same."""
    ones = np.ones((channels, vocabulary), np.float32)
    return Rarity("cosine", ones, ones)


def test_histograms_are_cosines_of_channels_that_count_alike():
    """Against the definition: the mean over channels of the cosine of counts."""
    both = [random_words(30, seed) for seed in (1, 2)]
    rows = histograms(unpack(pack(both)), plain_rarity())
    expected = np.mean(
        [
            np.dot(*counts) / np.prod([np.linalg.norm(one) for one in counts])
            for channel in range(2)
            for counts in [[np.bincount(one.words[:, channel], minlength=8) for one in both]]
        ]
    )

    assert pytest.approx(expected, rel=1e-5) == float(rows[0] @ rows[1])
    assert pytest.approx([1, 1], rel=1e-5) == np.linalg.norm(rows, axis=1).tolist()


def test_what_is_not_seen_is_no_likeness():
    """Half a body is like the whole by what it shows, half of the channels: less by a root of two."""
    whole = random_words(30, 1)
    hidden = np.ones(whole.words.shape, np.float32)
    hidden[:, 1] = 0
    half = Fingerprint(whole.words, 8, whole.seconds_per_word, whole.model_id, visibility=hidden)
    nobody = Fingerprint(whole.words, 8, whole.seconds_per_word, whole.model_id, visibility=0 * hidden)
    rows = histograms(unpack(pack([whole, half, nobody])), plain_rarity())

    assert pytest.approx([1, 0.5**0.5, 0], rel=1e-5) == (rows @ rows[0]).tolist()


def test_a_take_may_join_by_those_who_joined_before():
    """The third is hardly like the dance itself, but much like its other takes; the fourth like nobody."""
    near, far = ONE_DANCE + 0.2, ONE_DANCE - 0.15
    others = np.full((4, 4), 0.1)
    others[:3, :3] = near + 0.1

    assert [True, True, True, False] == are_takes(np.array([near, near, far, 0.1]), others).tolist()
    assert [False] * 4 == are_takes(np.array([far, far, far, 0.1]), others).tolist()


def test_a_chain_of_likeness_does_not_join_all():
    """Each is like the next alone: the mean over all that joined keeps the far end out."""
    steps = np.arange(8)
    alike = np.where(abs(steps[:, None] - steps) <= 1, ONE_DANCE + 0.1, 0.0)

    assert are_takes(alike[0], alike).sum() < 4


def test_takes_of_one_dance_have_one_number():
    """Two dances, three takes of each, and one that is like nobody: three numbers."""
    alike = np.full((7, 7), 0.1)
    alike[:3, :3] = alike[3:6, 3:6] = ONE_DANCE + 0.2

    assert [0, 0, 0, 3, 3, 3, 6] == dances_among(alike).tolist()
    assert [] == dances_among(alike[:0, :0]).tolist()


@given(st.integers(0, 12), st.integers(0, 1000))
def test_takes_do_not_depend_on_the_order_of_peers(count, seed):
    rng = np.random.default_rng(seed)
    rows = np.abs(rng.normal(size=(count + 1, 6)))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    order = rng.permutation(count)
    alike, dance_likeness = rows[1:] @ rows[1:].T, rows[1:] @ rows[0]
    plain = are_takes(dance_likeness, alike)

    assert plain[order].tolist() == are_takes(dance_likeness[order], alike[np.ix_(order, order)]).tolist()


@pytest.fixture(scope="module")
def school() -> Engine:
    """Two dances, nine takes of each."""
    model = shipped()
    known = [
        (f"{number}-{dancer}", model.fingerprint(dance(number, dancer=dancer, eight_counts=4)))
        for number in (1, 2)
        for dancer in range(TAKES)
    ]
    return Engine(model.codebook, known, background=shipped_background())


@pytest.mark.parametrize("number", [1, 2])
def test_takes_of_one_dance_do_not_refuse_one_another(school, number):
    """Another dancer's performance is surely found although half of the catalogue is as like it."""
    found = school.search([Query(shipped().fingerprint(dance(number, dancer=20, eight_counts=4)))])

    assert str(number) == found[0].dance_id.split("-")[0]
    assert found[0].evalue <= MAX_EVALUE


@pytest.mark.parametrize("number", [600, 601, 602, 603])
def test_a_stranger_is_a_stranger_to_all_takes(school, number):
    found = school.search([Query(shipped().fingerprint(dance(number, dancer=3, eight_counts=4)))])

    assert found[0].evalue > MAX_EVALUE


def test_what_a_match_is_judged_by_is_neither_itself_nor_its_takes(school):
    asked = Query(shipped().fingerprint(dance(1, dancer=20, eight_counts=4)))
    crowd, takes = school.crowd(asked), school.takes_of("1-0")

    assert {f"1-{dancer}" for dancer in range(TAKES)} == takes
    assert {f"2-{dancer}" for dancer in range(TAKES)} == set(crowd.peers) - takes
    assert (2 * TAKES, 2) == (crowd.dances, len(set(crowd.takes.values())))


def test_an_engine_without_dances_has_no_takes():
    assert [] == Engine(toy_codebook()).search([Query(random_words(30, 1))])

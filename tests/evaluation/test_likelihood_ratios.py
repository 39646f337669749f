"""Measures of likelihood ratios, beside the Netherlands Forensic Institute's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dancematch.evaluation.measures.likelihood_ratios import cllr, cllr_min, equal_error_rate

RATIOS = st.lists(st.integers(-60, 60).map(lambda tenth: tenth / 10), min_size=1, max_size=30)


def oracle(same, different):
    import lir.metrics as theirs  # takes long: not while tests are collected, in every process
    from lir.data.models import LLRData

    values = np.array([*same, *different])
    labels = np.array([1] * len(same) + [0] * len(different))
    data = LLRData(features=values.reshape(-1, 1), labels=labels)
    return theirs.cllr(data), theirs.cllr_min(data)


@given(RATIOS, RATIOS)
def test_costs_are_those_of_lir(same, different):
    """Cllr and Cllr_min are, for any ratios, what the reference implementation says."""
    ours = cllr(np.array(same), np.array(different)), cllr_min(np.array(same), np.array(different))

    assert oracle(same, different) == pytest.approx(ours, abs=1e-6)


def test_ratios_of_one_cost_one_bit():
    """Ratios of one cost one bit, also after recalibration."""
    assert 1.0 == cllr(np.zeros(5), np.zeros(9)) == cllr_min(np.zeros(5), np.zeros(9))
    assert 0.5 == equal_error_rate(np.zeros(5), np.zeros(9))


def test_a_perfect_system_costs_nothing():
    """Large ratios on the right side: no cost, no error."""
    same, different = np.array([5.0, 6.0]), np.array([-5.0, -6.0, -7.0])

    assert cllr(same, different) < 1e-4
    assert (0.0, 0.0) == (cllr_min(same, different), equal_error_rate(same, different))


def test_confident_and_wrong_is_costly():
    """A badly calibrated system costs more than saying nothing, whatever it tells apart."""
    same, different = np.array([1.0, 2.0]) - 5, np.array([0.0, 0.5]) - 5

    assert cllr(same, different) > 1
    assert 0.0 == cllr_min(same, different)


@given(RATIOS, RATIOS)
def test_an_error_rate_is_at_most_a_half(same, different):
    """On the convex hull no threshold errs more often than a coin."""
    assert 0 <= equal_error_rate(np.array(same), np.array(different)) <= 0.5 + 1e-9

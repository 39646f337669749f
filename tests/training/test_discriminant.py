import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

from dancematch.model.network import FEATURES
from dancematch.training.network.discriminant import RIDGE, fit_discriminant, fit_part_discriminant


def moments(seed: int, *, pairs: int = 400, width: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Matched rows whose first column alone tells moments apart: elsewhere the two views differ."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(pairs, width))
    noise = np.concatenate([np.full(1, 0.1), np.full(width - 1, 3.0)])
    first, second = (shared + noise * rng.normal(size=(pairs, width)) for _ in range(2))
    return first.astype(np.float32), second.astype(np.float32)


def test_the_strongest_direction_is_the_one_on_which_views_agree():
    """What both dancers of a moment share comes first."""
    _, basis = fit_discriminant(*moments(0), 2)

    assert 0 == np.abs(basis[:, 0]).argmax()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_discriminant_is_the_generalised_eigenproblems_solution(seed):
    """SciPy's solver finds the same directions, up to their sign."""
    first, second = moments(seed)
    difference = (first - second).astype(np.float64)
    within = difference.T @ difference / (2 * len(difference))
    within += RIDGE * np.trace(within) / len(within) * np.eye(len(within))
    _, axes = eigh(np.cov(np.concatenate([first, second]).astype(np.float64), rowvar=False), within)
    expected = axes[:, ::-1][:, :3]

    _, basis = fit_discriminant(first, second, 3)

    np.testing.assert_allclose(np.abs(expected), np.abs(basis), atol=1e-3)


def test_a_parts_weight_gives_the_discriminants_coordinates():
    """The weight over frames says the same as the discriminant over the patch's cosines."""
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 200, 2, 4 * FEATURES)).astype(np.float32)

    weight, bias = fit_part_discriminant(first, second, 20)
    latents = first.reshape(len(first), -1) @ weight.T + bias

    assert (20, 2 * 4 * FEATURES) == weight.shape
    assert 2 * 3 * 2 == np.count_nonzero(np.abs(weight).sum(axis=1))  # joints, axes, cosines
    both = np.concatenate([first, second]).reshape(400, -1) @ weight.T + bias
    np.testing.assert_allclose(0, both.mean(axis=0), atol=1e-4)
    assert np.isfinite(latents).all()


def test_the_flag_of_unseen_joints_has_no_weight_to_start_with():
    """Whether a joint is seen says nothing about the dance."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 100, 1, 4 * FEATURES)).astype(np.float32)

    weight, _ = fit_part_discriminant(first, second, 4)

    assert not weight.reshape(4, 1, 4, FEATURES)[..., 3].any()

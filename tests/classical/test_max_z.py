"""The max-|Z| quantile against independent values, limits and singular matrices."""

import numpy as np
import pytest
from reference_cases import cases
from scipy.special import ndtri

from bayescm.classical import max_abs_z


def equicorrelated(size, rho):
    return rho + (1 - rho) * np.eye(size)


@pytest.mark.parametrize("case", cases("maxabsZ-"))
def test_equal_correlations(case):
    inputs = case["inputs"]
    result = max_abs_z(equicorrelated(inputs["d"], inputs["rho"]), prob=inputs["level"])
    assert result == pytest.approx(float(case["expected"]["q"]), abs=case["tol"]["abs"])


@pytest.mark.long
@pytest.mark.parametrize("case", cases("delta-joint"))
@pytest.mark.parametrize("form", ["I", "II_shared", "II_diag"])
def test_correlations_of_measures(case, form):
    expected = case["expected"][form]
    correlation = np.array(expected["corr"])
    many = len(correlation) > 4
    result = max_abs_z(correlation, points=2**18 if many else 2**15)
    assert result == pytest.approx(expected["q"], abs=max(5e-4, case["tol"]["q_abs"]))
    if many:  # the quick default is good to about a unit of the third digit
        assert max_abs_z(correlation) == pytest.approx(expected["q"], abs=2e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_copies_count_once(size):
    assert max_abs_z(np.ones((size, size))) == pytest.approx(ndtri(0.975))


def test_a_negative_copy_counts_once():
    signs = np.array([1, -1, 1])
    assert max_abs_z(np.outer(signs, signs)) == pytest.approx(ndtri(0.975))


def test_a_singular_matrix_is_the_limit_of_regular_ones():
    factor = np.array([[1, 0], [0.6, 0.8], [0.8, 0.6], [0, 1]])
    singular = factor @ factor.T
    regular = (1 - 1e-4) * singular + 1e-4 * np.eye(4)
    assert max_abs_z(singular) == pytest.approx(max_abs_z(regular), abs=2e-3)


def test_the_plane_is_integrated_exactly():
    # Two independent variables, and their sum and difference: a singular four-dimensional
    # distribution.
    factor = np.array([[1, 0], [0, 1], [0.5**0.5, 0.5**0.5], [0.5**0.5, -(0.5**0.5)]])
    draws = np.abs(np.random.default_rng(1).standard_normal((400_000, 2)) @ factor.T).max(1)
    assert max_abs_z(factor @ factor.T) == pytest.approx(np.quantile(draws, 0.95), abs=0.01)


@pytest.mark.parametrize("prob", [0.5, 0.9, 0.99])
def test_independent_variables_multiply(prob):
    expected = ndtri((1 + prob ** (1 / 5)) / 2)
    assert max_abs_z(np.eye(5), prob=prob) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("bad", [[[1, 0.5]], [[2, 0], [0, 2]], [[1, 0.2], [0.3, 1]]])
def test_other_matrices_are_refused(bad):
    with pytest.raises(ValueError, match="A correlation matrix must be symmetric, with ones"):
        max_abs_z(np.array(bad, float))

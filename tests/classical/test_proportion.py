"""Intervals for proportions: exact coverage, and parity with statsmodels."""

import numpy as np
import pytest
import xarray as xr
from reference_cases import cases
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from bayescm.classical import proportion

METHODS = ["wilson", "clopper_pearson", "agresti_coull", "plus_four", "wald"]
THEIRS = {"wilson": "wilson", "clopper_pearson": "beta", "agresti_coull": "agresti_coull"}


@pytest.mark.parametrize("case", cases("coverage-"))
def test_exact_coverage(case):
    n, p = case["inputs"]["n"], case["inputs"]["p"]
    hits = np.arange(n + 1)
    for method in METHODS:
        ends = proportion(hits, n, method=method, prob=case["inputs"]["level"])
        covers = (ends.sel(bound="lower") <= p) & (p <= ends.sel(bound="upper"))
        found = binom.pmf(hits, n, p) @ covers.values
        assert found == pytest.approx(case["expected"][method], abs=case["tol"]["abs"]), method


@pytest.mark.parametrize("method", THEIRS)
@pytest.mark.parametrize("prob", [0.8, 0.95])
def test_parity_with_statsmodels(method, prob):
    hits, number = np.array([0, 1, 7, 50, 99, 100]), 100
    theirs = np.stack(proportion_confint(hits, number, 1 - prob, THEIRS[method]), axis=-1)
    ours = np.clip(proportion(hits, number, method=method, prob=prob), 0, 1)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_labels_are_kept():
    trials = xr.DataArray([10, 20], dims="site", coords={"site": ["x", "y"]})
    found = proportion(xr.DataArray([3, 4], dims="site", coords=trials.coords), trials)
    assert found.dims == ("site", "bound")
    assert found.site.values.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("hits", "number", "message"),
    [
        (3, 2, "more successes"),
        (0, 0, "a proportion needs at least one trial"),
        (-1, 5, "negative"),
        (0.5, 5, "whole number"),
    ],
)
def test_bad_counts_are_named(hits, number, message):
    with pytest.raises(ValueError, match=message):
        proportion(hits, number)

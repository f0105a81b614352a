"""The Bayesian correlated t: parity with baycomp, and its closed forms."""

import csv
from contextlib import nullcontext

import numpy as np
import pytest
from reference_cases import REFERENCE
from scipy import integrate, stats

from bayescm.classical import correlated_t
from bayescm.direct.folds.correlated_t import mean_difference
from bayescm.distributions.differences import StudentT


def scores(classifier, data_set):
    with (REFERENCE / "accuracies.csv").open() as lines:
        for row in csv.reader(lines):
            if row[:2] == [classifier, data_set]:
                return np.array(row[2:], float)
    raise KeyError(classifier)


def two_on_single(x, y, rope, runs):
    """Return what baycomp computes, written from its documentation."""
    difference = y - x
    n = len(difference)
    variance = difference.var(ddof=1) * (1 / n + 1 / (n / runs - 1))
    distribution = stats.t(n - 1, difference.mean(), variance**0.5)
    left, right = distribution.cdf(-rope), distribution.sf(rope)
    return left, 1 - left - right, right


def test_the_numbers_of_baycomps_guide():
    x, y = scores("nbc", "sonar"), scores("aode", "sonar")
    keys = ["p_better", "p_rope", "p_worse"]
    plain = correlated_t(x, y, n_folds=10)[keys]
    np.testing.assert_allclose(plain, [0.024471493163386815, 0, 0.97552850683661319], atol=1e-12)
    rope = correlated_t(x, y, n_folds=10, rope=0.5)[keys]
    published = [0.0023685180162288377, 0.13517773046085313, 0.86245375152291803]
    np.testing.assert_allclose(rope, published, atol=1e-12)


@pytest.mark.parametrize("pair", [("nbc", "j48"), ("hnb", "j48gr"), ("aode", "hnb")])
@pytest.mark.parametrize("data_set", ["sonar", "iris"])
def test_every_data_set_agrees(pair, data_set):
    x, y = (scores(name, data_set) for name in pair)
    found = correlated_t(x, y, n_folds=10, rope=1.0)
    expected = two_on_single(x, y, 1.0, 10)
    np.testing.assert_allclose(found[["p_better", "p_rope", "p_worse"]], expected, atol=1e-10)


def test_the_loss_is_the_mean_shortfall():
    distribution = StudentT(0.3, 0.5, 7)
    expected, _ = integrate.quad(lambda x: -x * stats.t.pdf(x, 7, 0.3, 0.5), -80, 0)
    assert distribution.shortfall() == pytest.approx(expected, abs=1e-8)
    assert distribution.sd() == pytest.approx(stats.t.std(7, 0.3, 0.5))


@pytest.mark.parametrize("difference", [0.02, 0.0, -0.02])
def test_folds_that_all_agree_leave_no_doubt(difference):
    """As baycomp has it: no difference in any fold is half for each, unless there is a rope."""
    given = np.full(10, 0.5 + difference), np.full(10, 0.5)
    with pytest.warns(UserWarning, match="for certainty") if difference else nullcontext():
        found = correlated_t(*given, n_folds=10)
        within = correlated_t(*given, n_folds=10, rope=0.01)["p_rope"]
    half = 0.5 * (difference == 0)
    expected = [(difference > 0) + half, 0, (difference < 0) + half]
    assert found[["p_better", "p_rope", "p_worse"]].tolist() == expected
    assert found["sd"] == 0
    assert within == (difference == 0)


BAD = {
    "length": (([1.0, 2], [1.0, 2, 3]), {"n_folds": 2}, "the scores do not pair up"),
    "repeats": (([1.0, 2, 3], [1.0, 2, 4]), {"n_folds": 2}, "the scores do not make whole repeats"),
    "one fold": (([1.0, 2], [1.0, 3]), {"n_folds": 1}, "the scores do not make whole repeats"),
    "negative rope": (([1.0, 2], [1.0, 3]), {"n_folds": 2, "rope": -0.1}, "rope is negative"),
    "reversed": (([1.0, 2], [1.0, 3]), {"n_folds": 2, "rope": (0.1, -0.1)}, "rope is reversed"),
    "beside": (([1.0, 2], [1.0, 3]), {"n_folds": 2, "rope": (0.1, 0.2)}, "does not contain 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    given, keywords, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        correlated_t(*given, **keywords)


def test_rho_is_a_correlation():
    with pytest.raises(ValueError, match="rho must be a correlation"):
        mean_difference([1.0, 2.0], 1.0)

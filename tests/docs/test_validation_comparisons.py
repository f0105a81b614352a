"""Experiments on comparisons: populations err as they should, and intervals are as promised."""

import numpy as np
import pytest
from validation import experiments
from validation.comparisons import (
    JOINT,
    PAIRS,
    classifiers_with_shared_errors,
    correlated_pair,
    exact_coverage,
)

from bayescm.classical.paired import score_statistic, tango, wald
from bayescm.simulation import Repeated


def table_of(table, case, replications):
    (experiment,) = experiments("comparisons", table)
    return experiment.run(case, replications=replications)


@pytest.mark.parametrize("case", PAIRS)
def test_pairs_have_the_error_rates_and_the_correlation_of_their_setting(case):
    _, positives, rates, correlation = PAIRS[case]
    cells, probabilities = correlated_pair(positives, rates, correlation)
    assert probabilities.min() >= 0
    wrong = (cells[1:] != cells[0]).astype(float)
    error = wrong @ probabilities
    np.testing.assert_allclose(error, rates)
    covariance = (wrong[0] * wrong[1]) @ probabilities - np.prod(error)
    sd = np.sqrt(np.prod(error * (1 - error)))
    assert covariance / sd == pytest.approx(correlation)
    assert probabilities[cells[0] == 1].sum() == pytest.approx(positives)


@pytest.mark.parametrize("case", JOINT)
def test_classifiers_with_shared_errors_have_the_error_rates_of_their_setting(case):
    setting = JOINT[case]
    population = classifiers_with_shared_errors(setting.positives, setting.rates, setting.shared)
    matrices = population.matrices()
    np.testing.assert_allclose(matrices[:, 0, 1] + matrices[:, 1, 0], setting.rates)


@pytest.mark.long
def test_paired_intervals_are_shorter_than_independent_ones():
    frame = table_of("paired", 1, 8).set_index(["measure", "method"])
    assert frame.il["f1", "paired"] < 0.65 * frame.il["f1", "independent"]
    assert (frame["truth"] == 0).all()


@pytest.mark.long
def test_intervals_of_paired_accuracies():
    one, two = np.array([9.0, 2.0, 0.0]), np.array([2.0, 9.0, 0.0])
    for method in (tango, wald):
        ends = method(one, two, 40)
        np.testing.assert_allclose(ends[0], -ends[1][::-1], atol=1e-12)
        assert ends[0][0] <= 7 / 40 <= ends[0][1]
    # Tango's score is z at either end, also where nobody is ever alone right.
    ends = tango(one, two, 40)
    assert abs(score_statistic(ends[:, 0], one, two, 40) - 1.96).max() < 1e-3


@pytest.mark.long
def test_exact_coverage_of_paired_accuracies():
    experiment = Repeated("accuracy of eight", {1: (8,)}, exact_coverage, columns=("n",))
    frame = experiment.run().set_index("method")
    assert frame.il["Dirichlet(1)"] < frame.il["Bonett-Price"]
    assert ((frame["least_doc"] > 0) & (frame["least_doc"] <= frame["mean_doc"])).all()
    assert (frame["mean_doc"] < 1).all()
    assert (frame["replications"] == 0).all()


@pytest.mark.long
def test_intervals_that_hold_jointly_are_wider():
    frame = table_of("jointly", 1, 4)
    il = frame.set_index("method")["il"]
    assert il["joint"] > il["single"]
    assert table_of("jointly", 1, 4).equals(frame)

"""Predictive values over the prevalence, beside answers of one prevalence and draws."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.curves import predictive_values

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


@pytest.mark.parametrize("kind", ["hdi", "eti"])
def test_values_are_those_of_draws_of_both_rates(kind):
    values = predictive_values(COUNTS, [0.2, 0.01], kind=kind)
    rng = np.random.default_rng(1)
    recall = rng.beta(65.5, 15.5, 400_000)
    specificity = rng.beta(30.5, 35.5, 400_000)
    for p in (0.2, 0.01):
        ppv = p * recall / (p * recall + (1 - p) * (1 - specificity))
        npv = (1 - p) * specificity / ((1 - p) * specificity + p * (1 - recall))
        for name, drawn in (("ppv", ppv), ("npv", npv)):
            answer = values.sel(measure=name, prevalence=p)
            assert float(answer["mean"]) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / 600)
            if kind == "eti":
                ends = np.quantile(drawn, [0.025, 0.975])
                np.testing.assert_allclose(answer["interval"], ends, atol=drawn.std() / 50)


def test_one_prevalence_is_the_answer_about_it_and_members_stay():
    sites = bcm.from_cells(tp=[20, 30], fn=[4, 9], fp=[5, 2], tn=[40, 44])
    values = predictive_values(sites, 0.05, measures="precision", of="predictive", n=50)
    alone = bcm.interval(bcm.at_prevalence(sites, 0.05), "precision", of="predictive", n=50)
    np.testing.assert_array_equal(values["interval"][0, 0], alone)
    assert values["mean"].dims == ("measure", "prevalence", "batch")


@pytest.mark.parametrize("prevalence", [[0, 0.1], [], [[0.1]], ["a"], 1.0])
def test_what_is_no_prevalence_is_refused(prevalence):
    with pytest.raises(ValueError, match="prevalence"):
        predictive_values(COUNTS, prevalence)


def test_each_measure_has_a_line():
    axes = bcm.plots.plot_predictive_values(COUNTS, [0.5, 0.01, 0.1]).axes[0]
    ppv, npv = (line.get_ydata() for line in axes.get_lines())
    assert (np.diff(ppv) > 0).all()
    assert (np.diff(npv) < 0).all()
    assert axes.get_xscale() == "log"

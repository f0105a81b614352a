"""Predictive values over the prevalence, beside answers of one prevalence and draws."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.curves import predictive_values

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


@pytest.mark.long
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


@pytest.mark.long
def test_each_measure_has_a_line():
    axes = bcm.plots.plot_predictive_values(COUNTS, [0.5, 0.01, 0.1]).axes[0]
    ppv, npv = (line.get_ydata() for line in axes.get_lines())
    assert (np.diff(ppv) > 0).all()
    assert (np.diff(npv) < 0).all()
    assert axes.get_xscale() == "log"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1%", "10%", "50%"]


@pytest.mark.long
def test_curves_between_few_prevalences_are_those_of_many():
    """In logits the quantiles of a predictive value lie on a line: no bend between two of them."""
    few = bcm.plots.plot_predictive_values(COUNTS, [0.001, 0.5], kind="eti").axes[0]
    many = predictive_values(COUNTS, [0.01, 0.1], kind="eti")
    for band, line, measure in zip(few.collections[::2], few.get_lines(), "pn", strict=True):
        member = many.sel(measure=f"{measure}pv")
        outline = band.get_paths()[0].vertices
        for share in (0.01, 0.1):
            low, high = member["interval"].sel(prevalence=share).values
            half = len(outline) // 2
            sides = [outline[1 : half - 1], outline[half + 1 : -1][::-1]]
            heights = sorted(np.interp(share, *side.T) for side in sides)
            np.testing.assert_allclose(heights, [low, high], atol=2e-3)
            middle = np.interp(share, *line.get_data())
            assert middle == pytest.approx(float(member["mean"].sel(prevalence=share)), abs=5e-3)


@pytest.mark.long
def test_measures_beyond_one_are_seen_and_a_single_prevalence_is_refused():
    axes = bcm.plots.plot_predictive_values(COUNTS, [0.01, 0.3], measures=["lift", "f1"]).axes[0]
    lift, _ = axes.get_lines()
    assert axes.get_ylim()[1] > lift.get_ydata().max() > 1
    with pytest.raises(ValueError, match="A curve needs two or more prevalences"):
        bcm.plots.plot_predictive_values(COUNTS, 0.1)

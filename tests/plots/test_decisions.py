"""Plots of decisions have the numbers of the functions that they plot."""

import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(7)
CHANCE = {name: RNG.beta(a, 2, 120).round(3) for name, a in (("new", 1), ("old", 2))}
TRUTH = (RNG.random(120) < CHANCE["new"]).astype(int)
TWO = bcm.from_probabilities(TRUTH, CHANCE, positive=1)


def line(axes, label):
    (found,) = [each for each in axes.lines if str(each.get_label()).startswith(label)]
    return found.get_xdata(), found.get_ydata()


@pytest.mark.long
def test_a_decision_curve_has_the_net_benefit_of_each_classifier():
    thresholds = [0.1, 0.3, 0.6]
    axes = bcm.plots.plot_decision_curve(TWO, thresholds=thresholds).axes[0]
    found = bcm.curves.decision_curve(TWO, thresholds=thresholds)
    for name in CHANCE:
        x, y = line(axes, name)
        np.testing.assert_allclose(x, thresholds)
        np.testing.assert_allclose(y, found["mean"].sel(classifier=name))
    np.testing.assert_allclose(line(axes, "treat all")[1], found["treat_all"])
    low = min(band.get_paths()[0].vertices[:, 1].min() for band in axes.collections)
    assert low == np.float64(found["interval"].min())


@pytest.mark.long
def test_an_expected_cost_has_the_cost_of_each_threshold():
    costs, thresholds = [[0, 1], [5, 0]], [0.2, 0.5, 0.8]
    axes = bcm.plots.plot_expected_cost(TWO, costs, thresholds=thresholds).axes[0]
    found = bcm.curves.expected_cost(TWO, costs, thresholds=thresholds)
    for name in CHANCE:
        x, y = line(axes, name)
        expected = found["mean"].sel(classifier=name).sortby("threshold")
        inside = np.isin(np.round(x, 9), thresholds)
        np.testing.assert_allclose(np.asarray(y)[inside], expected.values[: inside.sum()])


@pytest.mark.long
def test_risk_by_coverage_has_the_risk_of_the_sample():
    axes = bcm.plots.plot_risk_coverage(TWO, promise=0.2).axes[0]
    found = bcm.curves.risk_coverage(TWO, promise=0.2)
    for name in CHANCE:
        x, y = line(axes, name)
        of_name = found.sel(classifier=name)
        expected = dict(zip(of_name["coverage"].values, of_name["risk"].values, strict=True))
        shown = {a: b for a, b in zip(x, y, strict=True) if a in expected}
        assert len(shown) > 20
        for coverage, risk in shown.items():
            assert risk == expected[coverage]

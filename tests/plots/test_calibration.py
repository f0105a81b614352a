"""The calibration picture."""

import warnings

import numpy as np
import pytest
from matplotlib.patches import StepPatch

import bayescm as bcm


def test_the_histogram_of_forecasts_counts_what_each_stands_for():
    p, truth = np.array([0.1, 0.1, 0.5, 0.5, 0.9, 0.9]), [0, 1, 0, 1, 0, 1]
    evidence = bcm.from_probabilities(truth, p, weights=[30, 10, 5, 5, 1, 9], weights_are="counts")
    (bars,) = [
        each
        for each in bcm.plot_calibration(evidence).axes[0].patches
        if isinstance(each, StepPatch)
    ]
    height = bars.get_data().values
    np.testing.assert_allclose(height[height > 0] / height.max(), [1, 0.25, 0.25])


@pytest.mark.long
def test_the_heading_says_what_the_band_holds():
    rng = np.random.default_rng(1)
    p = rng.random(900)
    few = rng.choice([0.2, 0.5, 0.8], 900)
    actual = {
        "of a smooth curve": (rng.random(900) < p, p),
        "isotonic, of a curve that never falls": (rng.random(900) < np.where(p < 0.4, 0.2, 0.8), p),
        "binomial, of each forecast value": (rng.random(900) < few, few),
        "means over groups of forecasts": (rng.random(900) < np.where(p < 0.4, 0.8, 0.2), p),
    }
    for words, (truth, forecast) in actual.items():
        evidence = bcm.from_probabilities(truth, forecast)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the measures in the legend, where there is a step
            figure = bcm.plot_calibration(evidence)
        assert words in figure.get_suptitle().replace("\n", " ")


@pytest.mark.long
def test_where_bands_differ_the_legend_says_what_each_holds():
    rng = np.random.default_rng(2)
    p = rng.random(900)
    evidence = bcm.from_probabilities(rng.random(900) < p, {"a": p, "b": p.round(1)})
    figure = bcm.plot_calibration(evidence)
    assert "see the legend for each band" in figure.get_suptitle()
    written = {each.get_text() for each in figure.axes[0].get_legend().get_texts()}
    assert any(each.startswith("a\n") and "of a smooth curve" in each for each in written)
    assert any(each.startswith("b\n") and "of each forecast value" in each for each in written)


def test_the_legend_of_several_classifiers_is_below_the_curves():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 120)
    chances = {name: 0.3 * truth + 0.6 * rng.random(120) for name in ("a", "b", "c", "d")}
    forecasts = bcm.from_probabilities(truth, chances, positive=1)
    with bcm.plots.paper_columns(1):
        figure = bcm.plots.plot_calibration(forecasts)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert figure.axes[0].get_legend() is None
    assert legend.get_window_extent().y1 <= figure.axes[0].get_window_extent().y0

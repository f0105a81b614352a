"""Every picture writes labels, dims and measures as the reader asks for them."""

import inspect

import numpy as np
import pytest

import bayescm as bcm
from bayescm import plots

RNG = np.random.default_rng(1)
TRUTH = RNG.integers(0, 2, 80)
SCORES = {name: np.clip(TRUTH * 0.3 + RNG.random(80) * 0.7, 0.01, 0.99) for name in ("rf", "lr")}
SCORED = bcm.from_scores(TRUTH, SCORES, positive=1)
FORECASTS = bcm.from_probabilities(TRUTH, SCORES, positive=1)
CELLS = bcm.from_matrix([[30, 35], [15, 65]], labels=[0, 1], positive=1)
STUDIES = bcm.from_cells(tp=[40, 10, 35], fn=[5, 30, 8], fp=[9, 4, 20], tn=[41, 50, 30])
STUDIES = STUDIES.rename(batch="group")
ITEMS = bcm.from_item_scores({"rf": RNG.integers(1, 6, 30), "lr": RNG.integers(1, 6, 30)})
NAMES = {1: "ill", 0: "healthy", "rf": "random forest", "lr": "regression", "positive": "ill"}
NAMES |= {"recall": "sensitivity", "tpr": "sensitivity", "fpr": "1 - specificity", "auc": "area"}
NAMES |= {"ppv": "predictive value", "ece": "calibration error", "miscalibration": "error"}
NAMES |= {"mean": "mean mark"}
PICTURES = {
    "plot_matrix": (lambda: plots.plot_matrix(CELLS, display_names=NAMES), ["ill", "healthy"]),
    "plot_roc": (
        lambda: plots.plot_roc(SCORED, display_names=NAMES),
        ["sensitivity", "1 - specificity", "random forest", "area", "positive class: ill"],
    ),
    "plot_calibration": (
        lambda: plots.plot_calibration(FORECASTS, display_names=NAMES),
        ["calibration error", "random forest", "positive class: ill"],
    ),
    "plot_corp": (
        lambda: plots.plot_corp(FORECASTS, draws=50, display_names=NAMES),
        ["regression", "error 0."],
    ),
    "plot_item_scores": (
        lambda: plots.plot_item_scores(ITEMS, display_names=NAMES),
        ["random forest", "mean mark"],
    ),
    "plot_sroc": (
        lambda: plots.plot_sroc(STUDIES, display_names=NAMES),
        ["sensitivity", "1 - specificity", "positive class: ill"],
    ),
    "plot_predictive_values": (
        lambda: plots.plot_predictive_values(CELLS, [0.1, 0.5], display_names=NAMES),
        ["predictive value", "NPV"],
    ),
    "plot_predictive": (
        lambda: plots.plot_predictive(bcm.fit(CELLS, draws=50), display_names=NAMES),
        ["ill->healthy", "positive class: ill"],
    ),
}


def _texts(figure):
    """Return all that is written in a figure."""
    from matplotlib.text import Text

    figure.canvas.draw()
    return "\n".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.long
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_writes_the_display_names(name):
    draw, expected = PICTURES[name]
    written = _texts(draw())
    for text in expected:
        assert text in written


@pytest.mark.long
def test_a_fit_by_nuts_has_display_names(chains):
    figure = plots.plot_diagnostics(chains, "recall", display_names=NAMES)
    assert "sensitivity" in _texts(figure)


def test_every_picture_takes_display_names():
    pictures = [name for name in plots.__all__ if name.startswith("plot_")]
    without = [
        name
        for name in pictures
        if "display_names" not in inspect.signature(getattr(plots, name)).parameters
    ]
    assert without == []

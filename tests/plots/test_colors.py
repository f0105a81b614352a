"""A name has one colour in all plots of a session, or the one that the user gives it."""

import inspect

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import bayescm as bcm
from bayescm import plots
from bayescm.plots import style

RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 2, 60)
CHANCES = {name: np.clip(TRUTH * 0.3 + RNG.random(60) * 0.7, 0.01, 0.99) for name in ("rf", "lr")}
FORECASTS = bcm.from_probabilities(TRUTH, CHANCES, positive=1)
SCORES = bcm.from_scores(TRUTH, CHANCES, positive=1)
LABELS = {name: (values > 0.5).astype(int) for name, values in CHANCES.items()}
BOTH = bcm.from_classifiers(TRUTH, LABELS, positive=1)
ITEMS = bcm.from_item_scores(
    {"rf": RNG.integers(1, 6, 30), "lr": RNG.integers(1, 6, 30)}, range=(1, 5)
)
TABLES = {name: bcm.compare(BOTH, "accuracy", draws=500) for name in ("rf", "lr")}
CURVE = {"measure": "f1", "mean": 0.6, "lower": 0.4, "upper": 0.8}
CURVES = [CURVE | {"classifier": name, "size": size} for name in ("rf", "lr") for size in (9, 20)]
CELLS = bcm.from_cells(tp=6, fn=2, fp=3, tn=9)
PAIR = xr.concat([CELLS, CELLS + 5], xr.Variable("classifier", ["rf", "lr"]))
PLOTS = {
    "plot_posterior": lambda **k: plots.plot_posterior(BOTH, "f1", **k),
    "plot_forest": lambda **k: plots.plot_forest(BOTH, "f1", **k),
    "plot_region": lambda **k: plots.plot_region(BOTH, draws=2000, **k),
    "plot_priors": lambda **k: plots.plot_priors(CELLS, {"rf": 1.0, "lr": 0.5}, "f1", **k),
    "plot_roc": lambda **k: plots.plot_roc(SCORES, threshold=0.5, **k),
    "plot_precision_recall": lambda **k: plots.plot_precision_recall(SCORES, **k),
    "plot_curve_numbers": lambda **k: plots.plot_curve_numbers(SCORES, **k),
    "plot_threshold": lambda **k: plots.plot_threshold(SCORES, "recall", **k),
    "plot_predictive_values": lambda **k: plots.plot_predictive_values(PAIR, measures="ppv", **k),
    "plot_calibration": lambda **k: plots.plot_calibration(FORECASTS, **k),
    "plot_corp": lambda **k: plots.plot_corp(FORECASTS, draws=50, **k),
    "plot_decision_curve": lambda **k: plots.plot_decision_curve(FORECASTS, **k),
    "plot_expected_cost": lambda **k: plots.plot_expected_cost(FORECASTS, {"fn": 4, "fp": 1}, **k),
    "plot_risk_coverage": lambda **k: plots.plot_risk_coverage(FORECASTS, promise=0.2, **k),
    "plot_differences": lambda **k: plots.plot_differences(TABLES, dim="data_set", **k),
    "plot_tiers": lambda **k: plots.plot_tiers(BOTH, "accuracy", **k),
    "plot_frontier": lambda **k: plots.plot_frontier(
        bcm.frontier(BOTH, "accuracy", cost={"rf": 1, "lr": 2}), **k
    ),
    "plot_learning_curve": lambda **k: plots.plot_learning_curve(pd.DataFrame(CURVES), **k),
    "plot_item_scores": lambda **k: plots.plot_item_scores(ITEMS, **k),
}


def _colors(figure):
    """Return the colours of everything that is drawn in a figure."""
    found = set()
    for line in figure.findobj(Line2D):
        found |= {to_hex(line.get_color()), to_hex(line.get_markeredgecolor())}
    for drawn in figure.findobj(Collection):
        found |= {to_hex(c) for c in [*drawn.get_facecolor(), *drawn.get_edgecolor()]}
    return found | {to_hex(patch.get_facecolor()) for patch in figure.findobj(Patch)}


# Every plot takes colours in the plain suite; how it handles them is shared by all.
FEW = [
    pytest.param(name, marks=[pytest.mark.long] * (place >= 5)) for place, name in enumerate(PLOTS)
]


@pytest.mark.long
@pytest.mark.parametrize("name", PLOTS)
def test_names_have_the_colours_of_the_user(name):
    figure = PLOTS[name](colors={"rf": "#123456", "lr": "tab:olive"})
    assert {"#123456", to_hex("tab:olive")} <= _colors(figure)


@pytest.mark.long
@pytest.mark.parametrize("name", FEW)
def test_names_keep_their_colour_whatever_is_drawn_first(name):
    style.numbers_of_names |= {"lr": 2, "rf": 5}
    drawn = _colors(PLOTS[name]())
    assert {to_hex(style.color(2)), to_hex(style.color(5))} <= drawn
    assert to_hex(style.color(3)) not in drawn


@pytest.mark.long
@pytest.mark.parametrize("name", FEW)
def test_colours_without_effect_are_refused(name):
    with pytest.raises(ValueError, match="nothing with the name"):
        PLOTS[name](colors={"svm": "red"})
    with pytest.raises(ValueError, match="must be a colour"):
        PLOTS[name](colors={"rf": "reddish"})
    assert "#123456" in _colors(PLOTS[name](colors={"svm": "red", "rf": "#123456"}))


@pytest.mark.parametrize("plot", [plots.plot_posterior, plots.plot_forest])
def test_measures_of_one_system_have_the_colours_of_the_user(plot):
    found = _colors(plot(CELLS, ["f1", "recall"], colors={"f1": "#123456", "rf": "red"}))
    assert "#123456" in found
    assert "#ff0000" not in found


def test_ranks_have_no_colours():
    with pytest.raises(ValueError, match="Colours in this plot show probabilities"):
        plots.plot_ranks(BOTH, "accuracy", colors={"rf": "red"})


def test_every_plot_with_names_takes_colours():
    functions = [name for name in plots.__all__ if name.startswith("plot_")]
    taking = {
        name for name in functions if "colors" in inspect.signature(getattr(plots, name)).parameters
    }
    assert taking - {*PLOTS} == {"plot_prior_posterior", *PARTS}
    assert {*PLOTS} <= taking


GROUPS = bcm.from_cells(tp=[18, 15, 19, 9, 17], fn=[2, 5, 1, 11, 3], fp=[3, 4, 2, 6, 3], tn=17)
PARTS = {
    "plot_folds": lambda **k: plots.plot_folds(GROUPS.rename(batch="fold"), "recall", **k),
    "plot_history": lambda **k: plots.plot_history(
        bcm.online.history(GROUPS.rename(batch="step"), "recall"), **k
    ),
    "plot_plan": lambda **k: plots.plot_plan("recall", expect=0.8, n=50, **k),
    "plot_slices": lambda **k: plots.plot_slices(
        GROUPS.rename(batch="group"), "recall", threshold=0.8, **k
    ),
    "plot_sroc": lambda **k: plots.plot_sroc(GROUPS.rename(batch="group"), **k),
}
NAMED = {
    "plot_folds": "partially pooled",
    "plot_history": "interval",
    "plot_plan": "assured",
    "plot_slices": "flagged",
    "plot_sroc": "new",
}


@pytest.mark.filterwarnings("ignore:Sensitivity and specificity")
@pytest.mark.parametrize("name", PARTS)
def test_parts_have_the_colours_of_the_user(name):
    assert "#123456" in _colors(PARTS[name](colors={NAMED[name]: "#123456"}))
    with pytest.raises(ValueError, match="nothing with the name"):
        PARTS[name](colors={"svm": "red"})


@pytest.mark.long
def test_parts_of_a_plot_have_colours_too():
    tree = bcm.fit(CELLS, draws=200, random_seed=1)
    figure = plots.plot_prior_posterior(tree, "f1", colors={"prior": "#123456"})
    assert "#123456" in _colors(figure)


def test_a_session_keeps_colours_and_names_of_one_plot_differ():
    b, a = style.looks([["b"], ["a"]])
    first, _, last = style.looks([["a"], ["c"], ["b"]])
    assert (first, last) == (a, b)
    many = style.looks([[name] for name in "cdefgab"])
    assert len({each.color for each in many}) == len({each.marker for each in many}) == 7
    # An eighth name shares a colour, but not within one plot.
    style.looks([["h"]])
    for other in "abcdefg":
        one, two = style.looks([["h"], [other]])
        assert one.color != two.color
    # Positions are not names.
    assert style.looks([[0], [1]]) == style.looks([[5], [9]])
    assert style.looks([[]])[0].color == style.color(0)


@pytest.mark.long
def test_measures_of_different_scales_have_panels_of_their_own():
    share = "share_at_least(4)"
    figure = bcm.plot_forest(ITEMS, ["mean", share, "median"])
    assert [len(axes.get_yticks()) for axes in figure.axes] == [2, 1]
    assert figure.axes[1].get_xlim()[1] < 1.1 < 1.5 < figure.axes[0].get_xlim()[0]
    table = bcm.compare(ITEMS, ["mean", share], draws=500)
    assert len(plots.plot_differences(table).axes) == 2
    assert len(bcm.plot_forest(BOTH, ["accuracy", "mcc", "f1"]).axes) == 1
    assert len(bcm.plot_forest(BOTH, ["accuracy", "lift", "dor"]).axes) == 3
    with pytest.raises(ValueError, match="one scale"):
        bcm.plot_forest(ITEMS, ["mean", share], reference=0.5)
    with pytest.raises(ValueError, match="one panel"):
        bcm.plot_forest(ITEMS, ["mean", share], ax=figure.axes[0])
    pytest.importorskip("plotly")
    interactive = vars(figure)["interactive"]()
    assert interactive.layout.yaxis2.domain[1] < interactive.layout.yaxis.domain[0]

import numpy as np
import pytest

import bayescm as bcm
from bayescm.plots.folds import plot_folds, plot_omega

RNG = np.random.default_rng(6)
CELLS = RNG.multinomial(20, [0.4, 0.1, 0.1, 0.4], (3, 5)).reshape(3, 5, 2, 2)
REPEATED = bcm.from_matrix(CELLS, dims=("repeat", "fold"))
FOLDS = REPEATED.isel(repeat=0, drop=True)


def labels(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def ends(axes, place):
    bars = [bar for bars in axes.collections for bar in bars.get_segments()]
    return bars[place][:, 0]


@pytest.mark.long
def test_every_fold_and_every_method_has_a_row():
    names = labels(plot_folds(FOLDS, "f1"))
    assert names[:5] == [f"fold {index}" for index in range(5)]
    assert names[5:] == [
        "partially pooled",
        "pooled, discounted",
        "averaged",
        "K-fold t",
        "corrected t",
        "resampled t",
    ]


@pytest.mark.long
def test_repeats_leave_the_t_intervals_that_are_for_them():
    names = labels(plot_folds(REPEATED, "f1"))
    assert names[:2] == ["repeat 0, fold 0", "repeat 0, fold 1"]
    assert names[15:] == ["partially pooled", "pooled, discounted", "averaged", "resampled t"]


@pytest.mark.long
def test_what_is_drawn_is_what_interval_says():
    axes = plot_folds(FOLDS, "recall", prob=0.8, kind="eti").axes[0]
    keywords = {"prob": 0.8, "kind": "eti"}
    expected = bcm.interval(FOLDS, "recall", model="dirichlet_multinomial", **keywords)
    np.testing.assert_allclose(ends(axes, 2), expected[2])
    for place, model in [(5, "hierarchical_folds"), (6, "pooled_folds"), (7, "averaged_folds")]:
        np.testing.assert_allclose(
            ends(axes, place), bcm.interval(FOLDS, "recall", model=model, **keywords)
        )
    corrected = bcm.classical.fold_t(FOLDS, "recall", prob=0.8)
    np.testing.assert_allclose(ends(axes, 9), corrected)


@pytest.mark.long
def test_omega_runs_from_the_average_matrix_to_plain_pooling():
    axes = plot_omega(FOLDS, "precision", kind="eti").axes[0]
    lower, upper = axes.lines[:2]
    for at, omega in [(0, 0.2), (-1, 1.0)]:
        expected = bcm.interval(FOLDS, "precision", model="pooled_folds", omega=omega, kind="eti")
        drawn = [lower.get_ydata()[at], upper.get_ydata()[at]]
        np.testing.assert_allclose(drawn, expected)
    assert lower.get_xdata()[0] == pytest.approx(0.2)
    assert axes.lines[-1].get_xdata()[0] == pytest.approx(0.6)


@pytest.mark.long
def test_default_omega_of_repeats_is_marked():
    axes = plot_omega(REPEATED, ["f1"]).axes[0]
    assert axes.lines[-1].get_xdata()[0] == pytest.approx(6 / 30)


@pytest.mark.parametrize("plot", [plot_folds, plot_omega])
@pytest.mark.parametrize(
    ("counts", "measure", "message"),
    [
        (FOLDS[0], "f1", "no dimension 'fold'"),
        (REPEATED.rename(repeat="site"), "f1", "more than one cross-validation"),
        (
            bcm.from_matrix(RNG.integers(1, 9, (4, 3, 3)), dims=("fold",)),
            "f1",
            "f1 has one value per class",
        ),
    ],
)
def test_bad_input(plot, counts, measure, message):
    with pytest.raises(ValueError, match=message):
        plot(counts, measure)


@pytest.mark.long
def test_every_classifier_has_a_panel():
    counts = REPEATED.rename(repeat="classifier").isel(classifier=slice(2))
    counts = counts.assign_coords(classifier=["old", "new"])
    one, two = plot_folds(counts, "f1").axes
    assert [one.get_title(), two.get_title()] == ["old", "new"]
    alone = plot_folds(counts.sel(classifier="new", drop=True), "f1").axes[0]
    for line, other in zip(two.lines, alone.lines, strict=True):
        np.testing.assert_allclose(line.get_xdata(), other.get_xdata())


def test_too_many_folds_to_read():
    counts = bcm.from_matrix(np.tile(CELLS[0], (20, 1, 1)), dims=("fold",))
    with pytest.raises(ValueError, match="at most 60 are readable"):
        plot_folds(counts, "f1")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import bayescm as bcm


def titles(figure):
    return [axes.get_title().split("\n") for axes in figure.axes if axes.get_title()]


def test_one_panel_each_with_the_exact_numbers(two):
    figure = bcm.plot_posterior(two, ["precision", "f1"])
    low, high = bcm.interval(two, "f1").values
    shown = [f"{bcm.mean(two, 'f1').item():.3f} [{low:.3f}, {high:.3f}]"]
    assert titles(figure)[1] == ["f1", *shown]
    assert figure.get_suptitle() == ("mean and 95% highest-density interval · positive class: sick")


def test_reference_and_rope_say_their_probability(two):
    figure = bcm.plot_posterior(
        two, ["precision", "f1"], reference={"f1": 0.7}, rope=(0.6, 0.8), kind="eti", prob=0.5
    )
    above = bcm.prob_above(two, "f1", 0.7).item()
    within = (bcm.cdf(two, "f1", 0.8) - bcm.cdf(two, "f1", 0.6)).item()
    assert titles(figure)[1][2:] == [f"P(> 0.7) = {above:.3f}", f"P(0.6 to 0.8) = {within:.3f}"]
    assert len(titles(figure)[0]) == 3
    assert "50% equal-tailed interval" in figure.get_suptitle()


def test_certainty_is_never_claimed(two):
    figure = bcm.plot_posterior(two, "f1", reference=0.01)
    assert titles(figure)[0][-1] == "P(> 0.01) > 0.999"


def test_a_panel_for_every_class_and_classifier(three, classifiers):
    assert [each[0] for each in titles(bcm.plot_posterior(three, ["recall", "accuracy"]))] == [
        "recall (class a)",
        "recall (class b)",
        "recall (class c)",
        "accuracy",
    ]
    figure = bcm.plot_posterior(classifiers, "mcc")
    assert [each[0] for each in titles(figure)] == [
        "mcc (classifier tree)",
        "mcc (classifier forest)",
    ]


def test_from_a_tree_and_with_the_models_keywords(two, tree):
    assert len(titles(bcm.plot_posterior(tree, ["f1", "mcc"]))) == 2
    assert len(titles(bcm.plot_posterior(tree, "f1", of="predictive"))) == 1
    wide = titles(bcm.plot_posterior(two, "f1", concentration=50.0))[0][1]
    low, high = bcm.interval(two, "f1", concentration=50.0).values
    assert wide.endswith(f"[{low:.3f}, {high:.3f}]")


def test_undefined_draws_are_left_out():
    def half_undefined(cells):
        return np.where(cells[..., 1, 1] > 0.45, cells[..., 1, 1], np.nan)

    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    line = bcm.plot_posterior(counts, half_undefined).axes[0].lines[0]
    assert np.isfinite(line.get_ydata()).all()
    assert line.get_xdata().min() >= 0.45


def test_prior_over_posterior(tree):
    figure = bcm.plot_prior_posterior(tree, ["precision", "f1"])
    assert titles(figure) == [["precision"], ["f1"]]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["prior", "posterior"]


def test_what_cannot_be_drawn(two, tree):
    with pytest.raises(ValueError, match="too many panels"):
        bcm.plot_posterior(bcm.from_matrix(np.ones((9, 9), int)), ["recall", "f1", "precision"])
    with pytest.raises(ValueError, match="the rope is empty"):
        bcm.plot_posterior(two, "f1", rope=(0.8, 0.7))
    with pytest.raises(ValueError, match=r"undefined \(0/0\)"):
        bcm.plot_posterior(two, lambda cells: cells[..., 0, 0] * np.nan)
    with pytest.raises(ValueError, match="no such estimand"):
        bcm.plot_posterior(two, "f1", of="new")
    with pytest.raises(ValueError, match="no prior to draw"):
        bcm.plot_prior_posterior(bcm.fit(two, concentration=0, draws=50), "f1")
    with pytest.raises(ValueError, match="no prior to draw"):
        bcm.plot_prior_posterior(two, "f1")


def test_a_notebook_shows_a_figure_once(two, monkeypatch):
    bcm.plot_posterior(two, "f1")
    assert plt.get_fignums()
    plt.close("all")
    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    bcm.plot_posterior(two, "f1"), bcm.plot_forest(two, "f1"), bcm.plot_matrix(two)
    assert plt.get_fignums() == []

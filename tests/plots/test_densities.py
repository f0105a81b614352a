import numpy as np
import pytest
from scipy import stats

import bayescm as bcm
from bayescm.fitting import sampled


def titles(figure):
    return [axes.get_title().split("\n") for axes in figure.axes if axes.get_title()]


def test_one_panel_each_with_the_exact_numbers(two):
    figure = bcm.plot_posterior(two, ["precision", "f1"])
    low, high = bcm.interval(two, "f1").values
    shown = [f"{bcm.distribution(two, 'f1').mean().item():.3f} [{low:.3f}, {high:.3f}]"]
    assert titles(figure)[1] == ["F1", *shown]
    words = "dot and bar: mean and 95% highest-density interval · positive class: sick"
    assert figure.get_suptitle() == words


def test_reference_and_rope_say_their_probability(two):
    figure = bcm.plot_posterior(
        two, ["precision", "f1"], reference={"f1": 0.7}, rope=(0.6, 0.8), kind="eti", prob=0.5
    )
    above = bcm.prob_above(two, "f1", 0.7).item()
    within = (bcm.distribution(two, "f1").cdf(0.8) - bcm.distribution(two, "f1").cdf(0.6)).item()
    assert titles(figure)[1][2:] == [f"P(> 0.7) = {above:.3f}", f"P(0.6 to 0.8) = {within:.3f}"]
    assert len(titles(figure)[0]) == 3
    assert "50% equal-tailed interval" in figure.get_suptitle()


def test_certainty_is_never_claimed(two):
    figure = bcm.plot_posterior(two, "f1", reference=0.01)
    assert titles(figure)[0][-1] == "P(> 0.01) > 0.999"


@pytest.mark.long
def test_a_panel_for_every_class_and_classifier(three, classifiers):
    assert [each[0] for each in titles(bcm.plot_posterior(three, ["recall", "accuracy"]))] == [
        "recall (class a)",
        "recall (class b)",
        "recall (class c)",
        "accuracy",
    ]
    figure = bcm.plot_posterior(classifiers, "mcc", dim="group")
    assert [each[0] for each in titles(figure)] == [
        "MCC (classifier tree)",
        "MCC (classifier forest)",
    ]


@pytest.mark.long
def test_compared_members_share_a_panel_and_measures_of_one_range_their_axis(classifiers):
    names = {"forest": "random forest", "f1": "F-measure"}
    figure = bcm.plot_posterior(
        classifiers, ["f1", "recall", "lift"], reference=0.7, display_names=names
    )
    f1, recall, lift = figure.axes
    legend = f1.get_legend()
    low, high = bcm.interval(classifiers, "f1").sel(classifier="forest").values
    assert legend.get_title().get_text() == "F-measure"
    first, second = (text.get_text() for text in legend.get_texts())
    assert first.startswith("tree ")
    assert second.startswith("random forest ")
    assert f"[{low:.3f}, {high:.3f}]\nP(> 0.7)" in second
    assert f1.get_xlim() == recall.get_xlim() != lift.get_xlim()


@pytest.mark.long
def test_from_a_tree_and_with_the_models_keywords(two, tree):
    assert len(titles(bcm.plot_posterior(tree, ["f1", "mcc"]))) == 2
    assert len(titles(bcm.plot_posterior(tree, "f1", of="predictive"))) == 1
    wide = titles(bcm.plot_posterior(two, "f1", concentration=50.0))[0][1]
    low, high = bcm.interval(two, "f1", concentration=50.0).values
    assert wide.endswith(f"[{low:.3f}, {high:.3f}]")


def test_the_density_is_that_of_the_distribution_where_it_is_known():
    counts = bcm.from_cells(tp=9, fn=1, fp=2, tn=8)
    x, y = bcm.plot_posterior(counts, "recall").axes[0].lines[0].get_data()
    assert (x[-1], y[-1]) == (1.0, 0.0)
    np.testing.assert_allclose(y, stats.beta(9.5, 1.5).pdf(x), atol=1e-12)  # half an example a cell
    np.testing.assert_allclose(np.trapezoid(y, x), 1, atol=0.01)


def test_a_density_that_rises_to_its_end_stays_in_the_picture():
    axes = bcm.plot_posterior(bcm.from_cells(tp=9, fn=0, fp=2, tn=8), "recall").axes[0]
    x, y = axes.lines[0].get_data()
    assert x[-1] == 1
    assert np.isfinite(axes.get_ylim()).all()
    assert axes.get_ylim()[1] >= y[-3]


def test_measures_of_a_future_test_set_are_steps():
    counts = bcm.from_cells(tp=9, fn=1, fp=2, tn=8)
    axes = bcm.plot_posterior(counts, "recall", of="predictive").axes[0]
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(np.trapezoid(y, x), 1, atol=0.02)


def test_undefined_draws_are_left_out():
    def half_undefined(cells):
        return np.where(cells[..., 1, 1] > 0.45, cells[..., 1, 1], np.nan)

    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    line = bcm.plot_posterior(counts, half_undefined).axes[0].lines[0]
    assert np.isfinite(line.get_ydata()).all()
    assert line.get_xdata().min() > 0.43


@pytest.mark.long
def test_prior_over_posterior(tree):
    other = bcm.plots.plot_prior_posterior(tree, "recall", positive="well")
    same = bcm.plots.plot_prior_posterior(tree, "specificity")
    np.testing.assert_allclose(
        other.axes[0].lines[1].get_xdata(), same.axes[0].lines[1].get_xdata()
    )
    assert other.get_suptitle().endswith("positive class: well")
    figure = bcm.plots.plot_prior_posterior(tree, ["precision", "f1"])
    assert titles(figure) == [["precision"], ["F1"]]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["prior", "posterior"]


@pytest.mark.long
def test_what_cannot_be_drawn(two, tree):
    with pytest.raises(ValueError, match="The plot would"):
        bcm.plot_posterior(bcm.from_matrix(np.ones((9, 9), int)), ["recall", "f1", "precision"])
    with pytest.raises(ValueError, match="lower, upper"):
        bcm.plot_posterior(two, "f1", rope=(0.8, 0.7))
    with pytest.raises(ValueError, match=r"undefined \(0/0\)"):
        bcm.plot_posterior(two, lambda cells: cells[..., 0, 0] * np.nan)
    with pytest.raises(ValueError, match="is not available"):
        bcm.plot_posterior(two, "f1", of="new")
    with pytest.raises(ValueError, match="needs the tree of a fit with a proper prior"):
        bcm.plots.plot_prior_posterior(bcm.fit(two, concentration=0, draws=50), "f1")
    with pytest.raises(ValueError, match="needs the tree of a fit with a proper prior"):
        bcm.plots.plot_prior_posterior(two, "f1")


@pytest.mark.long
@pytest.mark.parametrize("measure", ["f1", "mcc", lambda cells: cells[..., 1, 1]])
def test_a_density_for_every_prior(two, measure):
    experts = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20, like=two)
    figure = bcm.plots.plot_priors(two, {"flat": 1.0, "experts": experts}, measure)
    lines = figure.axes[0].lines
    assert [line.get_label() for line in lines] == ["flat", "experts"]
    for line in lines:
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1, abs=0.02)


def test_one_density_for_each_prior(two, three):
    with pytest.raises(ValueError, match="No priors"):
        bcm.plots.plot_priors(two, {}, "f1")
    with pytest.raises(ValueError, match="one density"):
        bcm.plots.plot_priors(three, {"flat": 1.0}, "recall")


@pytest.mark.long
def test_it_is_said_how_many_priors_are_sampled(two, monkeypatch, capsys):
    drawn = bcm.fit(two, draws=50, random_seed=0)
    monkeypatch.setattr(sampled, "watched", lambda: True)
    monkeypatch.setattr(sampled, "fit", lambda *_, **__: drawn)
    priors = {"narrow": lambda name: None, "wide": lambda name: None}  # of other families
    bcm.plots.plot_priors(two, priors, "f1")
    assert capsys.readouterr().err == "Up to 2 posteriors are sampled, one after another.\n"


def test_the_axes_of_a_region_are_the_two_measures(two):
    figure = bcm.plots.plot_region(two, draws=2000)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("recall", "precision")
    assert 0 <= axes.get_xlim()[0] < axes.get_xlim()[1] <= 1
    assert any("F1" in each.get_text() for each in axes.texts)
    assert "95% highest-density region · positive class: sick" in figure.get_suptitle()


@pytest.mark.long
def test_a_region_for_every_member(classifiers, three):
    (axes,) = bcm.plots.plot_region(classifiers, ("specificity", "mcc"), draws=2000).axes
    names = [each.get_text() for each in axes.get_legend().get_texts()]
    assert names == ["classifier tree", "classifier forest"]
    (axes,) = bcm.plots.plot_region(three, draws=2000).axes
    assert len(axes.get_legend().get_texts()) == 3


def test_a_region_from_a_tree(tree):
    assert bcm.plots.plot_region(tree, prob=0.8).get_suptitle().startswith("dot: mean; 50% and 80%")


@pytest.mark.long
def test_what_is_drawn_is_what_region_computes(two):
    (axes,) = bcm.plots.plot_region(two, prob=0.9).axes
    where = bcm.answers.region(two, ("recall", "precision"), prob=0.9)
    rows, columns = np.nonzero(where.inside.values)
    low, high = axes.collections[1].get_paths()[0].get_extents().get_points()
    x, y = (where.inside.coords[name].values for name in ("recall", "precision"))
    np.testing.assert_allclose([low[0], high[0]], [x[rows.min()], x[rows.max()]], atol=0.01)
    np.testing.assert_allclose([low[1], high[1]], [y[columns.min()], y[columns.max()]], atol=0.01)


def test_mass_at_the_edge_stays_inside():
    counts = bcm.from_cells(tp=9, fn=0, fp=0, tn=9)
    (axes,) = bcm.plots.plot_region(counts, draws=2000).axes
    assert axes.get_xlim()[1] <= 1
    assert axes.get_ylim()[1] <= 1


@pytest.mark.long
def test_regions_that_cannot_be_drawn(two):
    with pytest.raises(ValueError, match="two measures"):
        bcm.plots.plot_region(two, "f1")
    with pytest.raises(ValueError, match="8 regions are too many"):
        bcm.plots.plot_region(bcm.from_cells(tp=range(1, 9), fn=1, fp=1, tn=1))


@pytest.mark.long
def test_sixteen_panels_of_three_classifiers_fit_on_a_page():
    answers = {name: [1, 1, 0, 0] * 9 for name in ("one", "two", "three")}
    sets = {name: bcm.from_classifiers([1, 1, 0, 1] * 9, answers, positive=1) for name in "abcd"}
    together = bcm.combine(sets, dim="data_set")
    measures = ["recall", "precision", "specificity", "accuracy"]
    figure = bcm.plot_posterior(together, measures, draws=200)
    assert len(figure.axes) == 16
    assert figure.get_figheight() < 11.7


@pytest.mark.long
@pytest.mark.parametrize("measure", ["f1", "recall", "mcc"])
def test_densities_of_folds_are_smooth(measure):
    rng = np.random.default_rng(5)
    cells = {"tp": rng.binomial(40, 0.85, 8), "fn": rng.binomial(10, 0.5, 8)}
    cells |= {"fp": rng.binomial(20, 0.3, 8), "tn": rng.binomial(40, 0.8, 8)}
    folds = bcm.from_cells(**cells).rename(batch="fold")
    curve = bcm.plot_posterior(folds, measure).axes[0].lines[0]
    rises = np.sign(np.diff(curve.get_ydata()))
    rises = rises[rises != 0]
    assert (np.diff(rises) != 0).sum() == 1  # it rises and falls once

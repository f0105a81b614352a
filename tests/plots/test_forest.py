import numpy as np
import pytest

import bayescm as bcm


def rows(axes):
    return [tick.get_text() for tick in axes.get_yticklabels()]


def members(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_rows_are_measures_with_the_numbers_of_the_summary(two):
    figure = bcm.plot_forest(two, ["precision", "mcc"], reference=0.5, rope=(0.6, 0.7))
    (axes,) = figure.axes
    table = bcm.summary(two, ["precision", "mcc"])
    assert rows(axes) == ["precision", "MCC"]
    assert [each.get_text() for each in axes.texts] == [
        f"{row.mean:.3f} [{row.lower:.3f}, {row.upper:.3f}]" for row in table.itertuples()
    ]
    thin = axes.collections[0].get_segments()
    np.testing.assert_allclose([each[:, 0] for each in thin], table[["lower", "upper"]])
    assert axes.get_legend() is None
    assert "positive class: sick" in figure.get_suptitle()


def test_classes_share_the_rows_of_a_measure_and_others_stand_alone(three):
    (axes,) = bcm.plot_forest(three, ["recall", "accuracy", "precision"]).axes
    assert rows(axes) == ["recall", "accuracy", "precision"]
    assert members(axes) == ["class a", "class b", "class c"]
    heights = [each.get_position()[1] for each in axes.texts]
    assert len(heights) == 7
    assert min(np.diff(sorted(heights))) >= 1


def test_classifiers_of_one_measure_are_rows(classifiers):
    (axes,) = bcm.plot_forest(classifiers, "f1").axes
    assert rows(axes) == ["tree", "forest"]
    assert axes.get_xlabel() == "F1"
    assert axes.get_legend() is None


@pytest.mark.long
def test_classes_of_several_classifiers(three):
    both = three.expand_dims(classifier=["x", "y"])
    (axes,) = bcm.plot_forest(both, ["recall", "precision"]).axes
    assert rows(axes) == [
        f"{measure} (class {label})" for measure in ("recall", "precision") for label in "abc"
    ]
    assert members(axes) == ["x", "y"]


@pytest.mark.long
def test_outcomes_and_trees(tree):
    paired = bcm.from_classifiers([1, 0, 1, 1], {"a": [1, 0, 0, 1], "b": [1, 1, 1, 1]}, positive=1)
    assert members(bcm.plot_forest(paired, ["f1", "recall"]).axes[0]) == [
        "a",
        "b",
    ]
    assert rows(bcm.plot_forest(tree, ["f1"]).axes[0]) == ["F1"]


def test_too_many_rows():
    batch = bcm.from_cells(tp=range(100), fn=1, fp=1, tn=1)
    with pytest.raises(ValueError, match="rows; at most"):
        bcm.plot_forest(batch, "f1")


def test_both_intervals_come_from_one_posterior(two, monkeypatch):
    from bayescm.answers import summary

    asked, posterior_of = [], summary.posterior_of
    monkeypatch.setattr(
        summary, "posterior_of", lambda *a, **k: asked.append(a) or posterior_of(*a, **k)
    )
    (axes,) = bcm.plot_forest(two, ["recall", "mcc"]).axes
    assert len(asked) == 1
    _, inner = axes.collections
    expected = bcm.interval(two, "mcc", prob=0.5)
    np.testing.assert_allclose(inner.get_segments()[1][:, 0], expected, atol=1e-6)


@pytest.mark.long
def test_pooled_groups_stand_beside_what_was_observed():
    sites = bcm.from_cells(tp=[40, 10, 35], fn=[5, 30, 8], fp=[9, 4, 20], tn=[41, 50, 30])
    sites = sites.rename(batch="group")
    axes = bcm.plot_forest(sites, "recall", of="group").axes[0]
    (crosses,) = [line for line in axes.lines if line.get_marker() == "x"]
    np.testing.assert_allclose(crosses.get_xdata(), [40 / 45, 10 / 40, 35 / 43])


def test_a_mapping_has_a_row_for_each_member(two):
    sets = {"first": two, "second_set": two + 9}
    names = {"second_set": "the second", "f1": "F-measure"}
    figure = bcm.plot_forest(sets, "f1", dim="data_set", display_names=names)
    (axes,) = figure.axes
    assert rows(axes) == ["first", "the second"]
    assert axes.get_xlabel() == "F-measure"
    assert "positive class: sick" in figure.get_suptitle()


def test_measures_written_alike_do_not_share_rows(two):
    with pytest.raises(ValueError, match="have the display name"):
        bcm.plot_forest(two, ["f1", "mcc"], display_names={"f1": "score", "mcc": "score"})


@pytest.mark.long
def test_classifiers_on_several_data_sets_have_a_colour_each_in_one_measure_too():
    both = {"a": [1, 1, 0, 0] * 9, "b": [1, 0, 0, 0] * 9}
    sets = {name: bcm.from_classifiers([1, 1, 0, 0] * 9, both) for name in ("iris", "wine")}
    axes = bcm.plot_forest(sets, "accuracy", dim="data_set").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["iris", "wine"]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["a", "b"]
    alone = bcm.plot_forest(sets["iris"], "accuracy").axes[0]
    assert alone.get_legend() is None


@pytest.mark.long
def test_crosses_of_a_fit_are_what_was_observed():
    sites = bcm.from_cells(tp=[40, 10, 35], fn=[5, 30, 8], fp=[6, 4, 9], tn=[60, 50, 70])
    tree = bcm.fit(sites.rename(batch="group"), draws=50, prevalence=0.1)
    for measure in ("recall", "precision"):
        direct = bcm.summary(sites.rename(batch="group"), measure, of="group", prevalence=0.1)
        axes = bcm.plot_forest(tree, measure, of="group").axes[0]
        (crosses,) = [line for line in axes.lines if line.get_marker() == "x"]
        np.testing.assert_allclose(crosses.get_xdata(), direct["point"])


@pytest.mark.long
def test_several_estimands_have_rows_below_each_other():
    sites = bcm.from_cells(tp=[40, 10, 35], fn=[5, 30, 8], fp=[6, 4, 9], tn=[60, 50, 70])
    axes = bcm.plot_forest(sites.rename(batch="group"), "recall", of=["typical", "new"]).axes[0]
    assert len(axes.texts) == 2
    assert not [line for line in axes.lines if line.get_marker() == "x"]


@pytest.mark.long
def test_many_rows_fit_on_a_page():
    """Three classifiers on four data sets in three measures: A4 has 11.7 inches."""
    answers = {name: [1, 1, 0, 0] * 9 for name in ("one", "two", "three")}
    sets = {name: bcm.from_classifiers([1, 1, 0, 1] * 9, answers) for name in "abcd"}
    figure = bcm.plot_forest(sets, ["recall", "precision", "f1"], dim="data_set")
    assert figure.get_figheight() < 11

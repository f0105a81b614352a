import numpy as np
import pytest

import bayescm as bcm


def test_axes_are_the_two_measures(two):
    figure = bcm.plot_region(two, draws=2000)
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("recall", "precision")
    assert 0 <= axes.get_xlim()[0] < axes.get_xlim()[1] <= 1
    assert any("F1" in each.get_text() for each in axes.texts)
    assert "95% highest-density region · positive class: sick" in figure.get_suptitle()


def test_a_region_for_every_member(classifiers, three):
    (axes,) = bcm.plot_region(classifiers, ("specificity", "mcc"), draws=2000).axes
    names = [each.get_text() for each in axes.get_legend().get_texts()]
    assert names == ["classifier tree", "classifier forest"]
    (axes,) = bcm.plot_region(three, draws=2000).axes
    assert len(axes.get_legend().get_texts()) == 3


def test_from_a_tree(tree):
    assert bcm.plot_region(tree, prob=0.8).get_suptitle().startswith("dot: mean; 50% and 80%")


@pytest.mark.long
def test_what_is_drawn_is_what_region_computes(two):
    (axes,) = bcm.plot_region(two, prob=0.9).axes
    where = bcm.region(two, ("recall", "precision"), prob=0.9)
    rows, columns = np.nonzero(where.inside.values)
    low, high = axes.collections[1].get_paths()[0].get_extents().get_points()
    x, y = (where.inside.coords[name].values for name in ("recall", "precision"))
    np.testing.assert_allclose([low[0], high[0]], [x[rows.min()], x[rows.max()]], atol=0.01)
    np.testing.assert_allclose([low[1], high[1]], [y[columns.min()], y[columns.max()]], atol=0.01)


def test_mass_at_the_edge_stays_inside():
    counts = bcm.from_cells(tp=9, fn=0, fp=0, tn=9)
    (axes,) = bcm.plot_region(counts, draws=2000).axes
    assert axes.get_xlim()[1] <= 1
    assert axes.get_ylim()[1] <= 1


@pytest.mark.long
def test_what_cannot_be_drawn(two):
    with pytest.raises(ValueError, match="two measures"):
        bcm.plot_region(two, "f1")
    with pytest.raises(ValueError, match="too many regions"):
        bcm.plot_region(bcm.from_cells(tp=range(1, 9), fn=1, fp=1, tn=1))

import numpy as np
import pytest
import xarray as xr

import bayescm as bcm


@pytest.mark.long
def test_observed_on_predicted(tree, two):
    (axes,) = bcm.plots.plot_predictive(tree).axes
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == ["well->well", "well->sick", "sick->well", "sick->sick"]
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [30, 35, 15, 65])


@pytest.mark.long
def test_the_prior_predicts_more_widely(tree):
    figure = bcm.plots.plot_predictive(tree, group="prior")
    assert figure.get_suptitle().startswith("predicted by the prior: 50% and")
    (axes,), (other,) = figure.axes, bcm.plots.plot_predictive(tree).axes
    assert np.ptp(axes.get_xlim()) > np.ptp(other.get_xlim())
    with pytest.raises(ValueError, match="group"):
        bcm.plots.plot_predictive(tree, group="predictive")


@pytest.mark.long
def test_a_panel_for_every_matrix(classifiers):
    figure = bcm.plots.plot_predictive(bcm.fit(classifiers, draws=100), kind="eti")
    assert [axes.get_title() for axes in figure.axes] == ["classifier tree", "classifier forest"]
    assert "equal-tailed" in figure.get_suptitle()


@pytest.mark.long
def test_counts_with_two_dims(two):
    fitted = bcm.fit(two, "fixed_totals", draws=100)
    assert len(bcm.plots.plot_predictive(fitted).axes[0].get_yticklabels()) == 4


@pytest.mark.long
def test_chains(chains):
    figure = bcm.plots.plot_diagnostics(chains, ["f1", "mcc"])
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[::2] == ["F1", "MCC"]
    assert all(each.startswith("r-hat 1.0") for each in titles[1::2])
    assert figure.get_suptitle() == "4 chains, 0 divergences · positive class: sick"
    assert len(bcm.plots.plot_diagnostics(chains).axes) == 8
    other = bcm.plots.plot_diagnostics(chains, "recall", positive="well")
    assert other.get_suptitle().endswith("positive class: well")


@pytest.mark.long
def test_what_cannot_be_drawn(tree, two):
    with pytest.raises(ValueError, match="no chains to diagnose"):
        bcm.plots.plot_diagnostics(tree)
    with pytest.raises(ValueError, match="plot of predictions needs"):
        bcm.plots.plot_predictive(two)
    bare = {name: tree[name].to_dataset() for name in ("posterior", "observed_data")}
    with pytest.raises(ValueError, match="The model predicts no counts"):
        bcm.plots.plot_predictive(xr.DataTree.from_dict(bare))
    batch = bcm.fit(two.expand_dims(site=list("abcdefghijklm")), draws=50)
    with pytest.raises(ValueError, match="panels; at most"):
        bcm.plots.plot_predictive(batch)

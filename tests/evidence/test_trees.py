"""Any tree knows the positive class, also one of ``pm.sample``, or is told."""

import numpy as np
import pytest
import xarray as xr

import bayescm as bcm

SICK = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
FOLDS = bcm.combine([SICK, SICK + 1, SICK + 2], dim="fold")
EVIDENCE = {
    "averaged_folds": FOLDS,
    "crossed_groups": bcm.combine([FOLDS, FOLDS], dim="sex").rename(fold="age"),
    "dirichlet_multinomial": SICK,
    "drifting": FOLDS.rename(fold="step"),
    "fixed_totals": SICK,
    "hierarchical_folds": FOLDS,
    "hierarchical_groups": FOLDS.rename(fold="group"),
    "hierarchical_rows": SICK,
    "importance_weighted": bcm.from_predictions(
        ["sick", "well"] * 4,
        ["sick"] * 5 + ["well"] * 3,
        positive="sick",
        weights=[0.5, 2] * 4,
        weights_are="importance",
    ),
    "mislabelled": SICK,
    "noisy_labels": bcm.from_raters(
        {name: ["sick", "well"] * 4 for name in "abcd"}, positive="sick"
    ),
    "paired_folds": bcm.from_classifiers(
        ["sick", "well"] * 4,
        {"a": ["sick"] * 8, "b": ["well"] * 8},
        positive="sick",
        by={"fold": [0, 0, 0, 0, 1, 1, 1, 1]},
    ),
    "paired_outcomes": bcm.from_classifiers(
        ["sick", "well"] * 4, {"a": ["sick"] * 8, "b": ["well"] * 8}, positive="sick"
    ),
    "partly_labelled": bcm.from_partly_labelled(
        ["sick", "well", None, None], ["sick", "well"] * 2, positive="sick"
    ),
    "pooled_folds": FOLDS,
    "robust_groups": FOLDS.rename(fold="group"),
    "transferred_errors": bcm.from_partly_labelled(
        ["sick", "well", None, None], ["sick", "well"] * 2, positive="sick", transfer="errors"
    ),
}


def caught(cells):
    """Return the recall: a function of one's own that needs the positive class."""
    return cells[..., 1, 1] / cells[..., 1, :].sum(-1)


@pytest.fixture(scope="module")
def tree():
    """Return draws as of ``pm.sample``: no scalar coords, classes in the order of the labels."""
    theta = np.random.default_rng(0).dirichlet([65, 15, 35, 30], (1, 400)).reshape(1, 400, 2, 2)
    dims = ("chain", "draw", "actual", "predicted")
    labels = {"actual": ["sick", "well"], "predicted": ["sick", "well"]}
    stored = bcm.models.dirichlet_multinomial(SICK)["is_positive"].get_value()
    data = xr.Dataset({"is_positive": ("actual", stored)}, {"actual": labels["actual"]})
    groups = {"posterior": xr.Dataset({"theta": (dims, theta)}, labels), "constant_data": data}
    return xr.DataTree.from_dict(groups)


@pytest.mark.long
@pytest.mark.parametrize("name", EVIDENCE)
def test_every_model_of_counts_stores_the_positive_class(name):
    others = {"binormal", "calibration", "dirichlet_calibration", "scores"}
    others |= {"item_scores", "item_score_slices", "multilabel", "preferences"}
    others |= {"hierarchical_calibration", "hierarchical_differences", "repeated_items"}
    assert set(EVIDENCE) == set(bcm.models.__all__) - others
    model = getattr(bcm.models, name)(EVIDENCE[name])
    labels = list(model.coords["actual"])
    stored = model["is_positive"].get_value()
    assert [labels[place] for place in np.flatnonzero(stored)] == ["sick"]
    assert model.named_vars_to_dims["is_positive"] == ("actual",)


def test_a_tree_of_pymc_knows_the_positive_class(tree):
    assert float(bcm.measure(tree, caught)["caught"].mean()) == pytest.approx(65 / 80, abs=0.02)
    table = bcm.summary(tree, ["recall", caught])
    np.testing.assert_allclose(table["mean"], 65 / 80, atol=0.02)
    other = bcm.summary(tree, ["recall", caught], positive="well")
    np.testing.assert_allclose(other["mean"], 30 / 65, atol=0.03)
    assert bcm.prob_above(tree, "recall", 0.7, positive="well") < 0.01


def test_a_tree_that_does_not_know_is_told_or_refuses(tree):
    bare = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()})
    for wanted in ("recall", caught):
        with pytest.raises(ValueError, match="needs a positive class"):
            bcm.interval(bare, wanted)
    told = bcm.measure(bare, caught, positive="sick")
    assert float(told["caught"].mean()) == pytest.approx(65 / 80, abs=0.02)
    with pytest.raises(ValueError, match="Did you mean 'sick'"):
        bcm.summary(bare, "recall", positive="sik")


def test_counts_are_told_as_well():
    unsaid = SICK.drop_vars("positive")
    assert bcm.interval(unsaid, "f1", positive="sick").identical(bcm.interval(SICK, "f1"))
    assert bcm.summary(SICK, "recall", positive="well")["point"].item() == pytest.approx(30 / 65)


@pytest.mark.long
def test_each_group_of_a_fit_is_measured():
    groups = EVIDENCE["hierarchical_groups"]
    tree = bcm.fit(groups, draws=500, random_seed=2)
    values = bcm.measure(tree, "recall", of="group")["recall"]
    assert values.dims == ("chain", "draw", "group")
    ends = bcm.interval(groups, "recall", of="group", kind="eti")
    drawn = values.quantile([0.025, 0.975], ["chain", "draw"]).transpose("group", ...)
    np.testing.assert_allclose(drawn, ends, atol=0.02)
    with pytest.raises(ValueError, match="Expected one of 'group'"):
        bcm.measure(tree, "recall", of="nonsense")


def test_a_positive_class_that_says_nothing_is_refused():
    scores = bcm.from_scores([0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.3, 0.8, 0.2, 0.9])
    assert bcm.interval(scores, "auc", positive=1).equals(bcm.interval(scores, "auc"))
    with pytest.raises(ValueError, match="The positive class of these scores"):
        bcm.interval(scores, "average_precision", positive=0)
    with pytest.raises(ValueError, match="has no effect on evidence without classes"):
        bcm.interval(bcm.from_attempts([[1, 0, 1], [0, 0, 1]]), "mean", positive=1)


def test_cell_probabilities_that_do_not_sum_to_1_are_an_error():
    tree = bcm.fit(SICK, draws=50, random_seed=1)
    tree["posterior"]["theta"] = 2 * tree["posterior"]["theta"]
    for call in (bcm.interval, bcm.summary, bcm.measure, bcm.plot_matrix):
        arguments = () if call is bcm.plot_matrix else ("recall",)
        with pytest.raises(ValueError, match=r"theta must sum to 1; got (2|1\.99)"):
            call(tree, *arguments)

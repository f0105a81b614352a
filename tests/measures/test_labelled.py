"""The labelled face of the measures: dims, coords, which measure needs the positive class."""

import numpy as np
import pytest
import xarray as xr
from sklearn import metrics

import bayescm as bcm
from bayescm import measures
from bayescm.measures import labelled

RNG = np.random.default_rng(11)
EVERY = [*measures.names(), "fbeta(0.5)", "tversky(0.3,0.7)", "f1_macro", "cost([[0,1],[5,0]])"]


def tables(*leading, size=3):
    shape = (*range(2, 2 + len(leading)), size, size)
    labels = [f"class {i}" for i in range(size)]
    coords = {"actual": labels, "predicted": labels}
    coords |= {dim: [f"{dim} {i}" for i in range(2 + k)] for k, dim in enumerate(leading)}
    return xr.DataArray(RNG.integers(1, 50, shape), coords, [*leading, "actual", "predicted"])


def test_two_classes_give_the_positive_one():
    counts = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
    values = bcm.measure(counts, ["recall", "precision"])
    assert values["recall"] == 65 / 80
    assert values["precision"] == 65 / 100
    assert values["recall"].positive == "sick"
    assert bcm.measure(counts.assign_coords(positive="well"), "recall")["recall"] == 30 / 65


def test_many_classes_have_a_dim():
    counts = tables("fold", "classifier")
    values = bcm.measure(counts, ["recall", "accuracy", "f1_macro"])
    assert values["recall"].dims == ("fold", "classifier", "class")
    assert values["class"].values.tolist() == counts.actual.values.tolist()
    assert values["class"].dtype == counts.actual.dtype
    assert values["accuracy"].dims == values["f1_macro"].dims == ("fold", "classifier")
    assert values["accuracy"].fold.values.tolist() == counts.fold.values.tolist()


@pytest.mark.parametrize("name", EVERY)
def test_dims_and_labels_may_come_in_any_order(name):
    counts = tables("group", size=2).assign_coords(positive="class 0")
    shuffled = counts.isel(actual=[1, 0]).transpose("predicted", "group", "actual")
    xr.testing.assert_identical(bcm.measure(shuffled, name), bcm.measure(counts, name))


@pytest.mark.parametrize("name", EVERY)
def test_only_measures_that_need_the_positive_class_ask_for_it(name):
    counts = tables(size=2)
    if measures.resolve(name).needs_positive:
        with pytest.raises(ValueError, match=r"class 0.*positive='class 1'"):
            bcm.measure(counts, name)
    else:
        assert measures.resolve(name).__name__ in bcm.measure(counts, name)


def test_a_function_of_ones_own_gets_the_positive_class_last_or_is_refused():
    def first(cells):
        return cells[..., 0, 0]

    def agreement(cells):
        return cells[..., 0, 0] + cells[..., 1, 1]

    counts = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"])
    with pytest.raises(ValueError, match="first needs a positive class"):
        bcm.measure(counts, [agreement, first])
    in_label_order = measures.measure(first, needs_positive=False)
    assert bcm.measure(counts, [agreement, in_label_order])["first"] == 65
    assert bcm.measure(counts, first, positive="sick")["first"] == 30
    assert bcm.measure(counts.assign_coords(positive="sick"), first)["first"] == 30


def test_a_measure_called_as_a_scalar_coord_is():
    rare = bcm.at_prevalence(bcm.from_cells(tp=6, fn=2, fp=1, tn=1), 0.1)
    assert bcm.measure(rare, ["prevalence", "recall"])["prevalence"] == 0.1
    with pytest.raises(ValueError, match="is the name of both a measure and a dimension"):
        bcm.measure(rare.expand_dims(f1=2), "f1")


def test_outcomes_of_several_classifiers():
    both = bcm.from_classifiers([1, 1, 0, 0], {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    values = bcm.measure(both, ["recall", "fpr"])
    assert values["recall"].sel(classifier="a") == 0.5
    assert values["fpr"].sel(classifier="b") == 0.5


def test_undefined_is_nan():
    assert np.isnan(bcm.measure(bcm.from_cells(tp=0, fn=0, fp=1, tn=1), "recall")["recall"])


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("recal", "Did you mean 'recall'"),
        ([], "No measures"),
        (["recall", "recall"], "is named twice"),
        ([lambda cells: 0, lambda cells: 1], "is named twice"),
    ],
)
def test_wrong_measures_are_refused(wanted, said):
    with pytest.raises(ValueError, match=said):
        bcm.measure(bcm.from_cells(tp=1, fn=2, fp=3, tn=4), wanted)


def test_counts_predict_nothing():
    counts = bcm.from_cells(tp=1, fn=2, fp=3, tn=4)
    with pytest.raises(ValueError, match="interval"):
        bcm.measure(counts, "f1", of="predictive")
    with pytest.raises(ValueError, match="is not available for counts without a model"):
        bcm.measure(counts, "f1", of="posterior")


# Trees


def tree(size=2, name="theta", **groups):
    """Return a tree as fit returns it, of random cell probabilities."""
    theta = tables("chain", "draw", size=size).drop_vars(["chain", "draw"]).astype(float)
    theta = (theta / theta.sum(["actual", "predicted"])).assign_coords(positive="class 1")
    counts = tables("chain", "draw", size=size).drop_vars(["chain", "draw"])
    flat = counts.stack(cell=["actual", "predicted"], create_index=False)
    flat = flat.drop_vars(["actual", "predicted"]).assign_coords(positive="class 1")
    datasets = {
        "posterior": xr.Dataset({name: theta}),
        "prior": xr.Dataset({name: theta[:, :1]}),
        "posterior_predictive": xr.Dataset({"cell_counts": flat}),
    }
    return xr.DataTree.from_dict(datasets | groups), theta, counts


@pytest.mark.parametrize("size", [2, 3])
def test_draws_of_a_tree(size):
    fitted, theta, counts = tree(size)
    values = bcm.measure(fitted, ["recall", "mcc"])
    assert values["recall"].dims[:2] == ("chain", "draw")
    np.testing.assert_array_equal(values["recall"], measures.recall(theta.values))
    assert bcm.measure(fitted, "mcc", group="prior").sizes["draw"] == 1
    predicted = bcm.measure(fitted, "recall", of="predictive")
    np.testing.assert_array_equal(predicted["recall"], measures.recall(counts.values))


def test_the_mean_over_folds_where_there_is_no_common_theta():
    labels = ["no", "yes"]
    theta = xr.DataArray(
        RNG.dirichlet(np.ones(4), size=(2, 5, 3)).reshape(2, 5, 3, 2, 2),
        dims=("chain", "draw", "fold", "actual", "predicted"),
        coords={"actual": labels, "predicted": labels, "positive": "yes"},
    )
    groups = {"posterior": xr.Dataset({"theta_fold": theta}), "constant_data": xr.Dataset()}
    fitted = xr.DataTree.from_dict(groups)
    expected = measures.f1(theta.values).mean(axis=-1)
    np.testing.assert_allclose(bcm.measure(fitted, "f1")["f1"], expected)
    assert "fold" in bcm.measure(fitted, "f1", variable="theta_fold").dims


def test_what_a_tree_lacks_is_said():
    fitted, _, _ = tree(name="other")
    with pytest.raises(ValueError, match="Pass variable= one of these, or fit"):
        bcm.measure(fitted, "f1")
    with pytest.raises(ValueError, match="'posterior', 'prior'"):
        bcm.measure(fitted, "f1", group="nothing")
    share = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"share": (("chain", "draw"), [[1.0]])})}
    )
    with pytest.raises(ValueError, match="The fit has no cell probabilities"):
        bcm.interval(share, "f1")


@pytest.mark.long
def test_the_measures_of_a_real_fit():
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    fitted = bcm.fit(counts, draws=500, random_seed=3)
    values = bcm.measure(fitted, "f1")["f1"]
    assert abs(values.mean() - bcm.measure(counts, "f1")["f1"]) < 0.02
    predicted = bcm.measure(fitted, "f1", of="predictive")["f1"]
    assert predicted.std() > 1.2 * values.std()


def test_the_name_given_is_the_name_of_the_answer():
    counts = bcm.from_cells(tp=1, fn=2, fp=3, tn=4)
    values = bcm.measure(counts, ["cosine", "g_score", "sensitivity_macro"])
    assert list(values) == ["cosine", "g_score", "sensitivity_macro"]
    assert values["cosine"] == values["g_score"]


def test_measures_with_one_name_are_distinguished():
    counts = bcm.from_cells(tp=1, fn=2, fp=3, tn=4)
    found = labelled.as_measures(["f1", measures.fbeta(2), "kappa"], counts)
    assert [kernel.__name__ for kernel in found] == ["f1", "fbeta(2)", "kappa"]


def test_measures_of_chosen_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    actual = rng.choice(list("abcd"), 200)
    predicted = np.where(rng.random(200) < 0.5, actual, rng.choice(list("abcd"), 200))
    counts = bcm.from_predictions(actual, predicted)
    asked = ["f1[b]", "mcc[b]", "accuracy[b]", "balanced_accuracy[b]"]
    asked += ["f1_macro[b,c]", "recall_weighted[a, d]"]
    one, given = predicted == "b", actual == "b"
    expected = [
        metrics.f1_score(given, one),
        metrics.matthews_corrcoef(given, one),
        metrics.accuracy_score(given, one),
        metrics.balanced_accuracy_score(given, one),
        metrics.f1_score(actual, predicted, labels=["b", "c"], average="macro"),
        metrics.recall_score(actual, predicted, labels=["a", "d"], average="weighted"),
    ]
    table = bcm.summary(counts, asked)
    np.testing.assert_allclose(table["point"], expected)
    assert "class" not in table
    same = bcm.interval(counts, "f1").sel({"class": "b"})
    np.testing.assert_array_equal(bcm.interval(counts, "f1[b]"), same)
    refused = {
        "f1[z]": "Unknown class",
        "f1[a,b]": "f1_macro.a,b",
        "balanced_accuracy[a,b]": "A measure of one class cannot have several",
    }
    for name, words in refused.items():
        with pytest.raises(ValueError, match=words):
            bcm.interval(counts, name)


def test_chosen_classes_are_of_the_answered():
    actual, predicted = list("aabbccab"), list("abbbc?a?")
    with_gaps = bcm.from_predictions(actual, predicted, abstain="?")
    answered = [place for place, each in enumerate(predicted) if each != "?"]
    alone = bcm.from_predictions(
        [actual[i] for i in answered], [predicted[i] for i in answered], labels=list("abc")
    )
    for name in ("f1[b]", "f1_macro[a,b]"):
        assert bcm.measure(with_gaps, name)[name] == bcm.measure(alone, name)[name]

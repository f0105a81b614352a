"""Slices by one word, ``by=``, in every constructor that can carry them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import bayescm as bcm
from bayescm import curves
from bayescm.evidence.outcomes import matrices_of

N = 240


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(18)
    actual = np.arange(N) % 2
    p = {
        name: np.clip(0.5 + 0.2 * (2 * actual - 1) + rng.normal(0, 0.25, N), 0.01, 0.99)
        for name in "ab"
    }
    told = {name: np.where(rng.random(N) < 0.85, actual, 1 - actual) for name in "ab"}
    judge = np.where(rng.random(N) < 0.85, actual, 1 - actual)
    human = [int(y) if i % 5 < 2 else None for i, y in enumerate(actual)]
    slices = {"sex": np.array(["f", "m", "x"])[np.arange(N) // 2 % 3], "old": np.arange(N) % 7 < 3}
    return {"actual": actual, "p": p, "told": told, "judge": judge, "human": human, **slices}


FORMS = {
    "list": list,
    "pandas": lambda each: pd.Series(each, index=range(5, N + 5), dtype="category"),
    "polars": pl.Series,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("door", [bcm.from_scores, bcm.from_probabilities])
def test_scores_in_groups_whatever_the_column(data, door, form):
    found = door(data["actual"], data["p"], by={"group": form(data["sex"])})
    assert found.identical(door(data["actual"], data["p"], by={"group": data["sex"]}))
    assert found["group"].values.tolist() == data["sex"].tolist()


def test_probabilities_by_group_are_those_with_a_group(data):
    args = data["actual"], data["p"]
    by_group = bcm.from_probabilities(*args, by={"group": data["sex"]})
    assert by_group.identical(bcm.from_probabilities(*args, group=data["sex"]))
    by_fold = bcm.from_probabilities(*args, by={"fold": data["old"]})
    assert by_fold.identical(bcm.from_probabilities(*args, fold=data["old"]))


def test_probabilities_of_weight_0_leave_with_their_group(data):
    weights = (np.arange(N) >= 10).astype(int)
    found = bcm.from_probabilities(
        data["actual"], data["p"], by={"group": data["sex"]}, weights=weights
    )
    assert found["group"].values.tolist() == data["sex"][10:].tolist()


@pytest.mark.parametrize("door", [bcm.from_scores, bcm.from_probabilities])
def test_what_scores_cannot_carry_is_refused_in_words(data, door):
    args, sex, old = (data["actual"], data["p"]), data["sex"], data["old"]
    for by, said in [
        ({"sex": sex, "old": old}, "Only one attribute can be used, named group"),
        ({"sex": sex}, 'Pass by={"group": ...}'),
        ({"group": sex, "fold": old}, "Folds and groups cannot be combined"),
        ({"group": [None, *sex[1:]]}, "A group is missing, the first at position 0"),
        ({"group": sex[1:]}, "values, but actual"),
        ({"group": np.ma.array(sex, mask=old)}, "group has masked values"),
    ]:
        with pytest.raises(ValueError, match=said):
            door(*args, by=by)
    with pytest.raises(TypeError, match="by must map names of dimensions to values"):
        door(*args, by=sex)
    with pytest.raises(ValueError, match="fold is given twice"):
        door(*args, by={"fold": old}, fold=old)


def test_a_group_of_scores_needs_both_classes(data):
    actual = np.where(data["sex"] == "m", 1, data["actual"])
    with pytest.raises(ValueError, match="80 of 80 examples in group m are of class 1"):
        bcm.from_scores(actual, data["p"], by={"group": data["sex"]})
    assert (
        bcm.from_probabilities(actual, data["p"], by={"group": data["sex"]}).sizes["example"] == N
    )


@pytest.mark.long
def test_curves_of_each_group_are_those_of_its_examples(data):
    evidence = bcm.from_scores(data["actual"], data["p"], by={"group": data["sex"]})
    own = evidence.isel(example=data["sex"] == "m").drop_vars("group")
    found = curves.auc(evidence)
    assert found.dims == ("group", "classifier", "bound")
    np.testing.assert_allclose(found.sel(group="m"), curves.auc(own))
    np.testing.assert_allclose(curves.estimate(evidence).sel(group="m"), curves.estimate(own))
    some = curves.compare(evidence, draws=500)
    assert some["group"].tolist() == ["f", "m", "x"]
    assert some["paired"].all()
    at = curves.at_threshold(evidence, "f1", 0.5, draws=500)
    assert at["f1"].dims == ("group", "classifier", "bound")
    classical = bcm.classical.delong(evidence)
    np.testing.assert_allclose(classical.sel(group="m"), bcm.classical.delong(own))
    with pytest.raises(ValueError, match="without folds or groups"):
        bcm.classical.delong_compare(evidence)


def test_the_weighted_mean_over_classes_goes_by_the_groups_own_shares():
    rng = np.random.default_rng(3)
    actual, group = np.arange(120) % 3, np.arange(120) // 60
    scores = rng.random((120, 3)) + np.eye(3)[actual]
    evidence = bcm.from_scores(actual, scores, by={"group": group})
    own = evidence.isel(example=group == 1).drop_vars("group")
    whole = curves.estimate(evidence, average="weighted")
    np.testing.assert_allclose(whole.sel(group=1), curves.estimate(own, average="weighted"))


def test_answers_at_a_threshold_keep_their_group(data):
    evidence = bcm.from_scores(data["actual"], data["p"], by={"group": data["sex"]})
    found = curves.classify(evidence, 0.5)
    answers = {name: (each >= 0.5).astype(int) for name, each in data["p"].items()}
    same = bcm.from_classifiers(data["actual"], answers, by={"group": data["sex"]})
    assert found["counts"].sum("outcome").identical(same["counts"].sum("outcome"))


def test_scores_of_a_table_in_groups(data):
    columns = {"y": data["actual"], "p": data["p"]["a"].round(1), "sex": data["sex"]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns)):
        found = bcm.from_scored_frame(frame, "p", actual="y", by={"group": "sex"})
        rows = bcm.from_scores(columns["y"], columns["p"], by={"group": data["sex"]})
        np.testing.assert_allclose(curves.estimate(found), curves.estimate(rows))
    with pytest.raises(ValueError, match="Only one attribute can be used, named group"):
        bcm.from_scored_frame(pd.DataFrame(columns), "p", actual="y", by=["sex", "y"])


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(4)
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 2)) + y[:, None]
    return (
        X,
        y,
        {"sex": np.array(["f", "m"])[np.arange(200) // 2 % 2], "old": np.arange(200) % 5 < 2},
    )


@pytest.mark.long
def test_folds_are_counted_slice_by_slice(learned):
    X, y, by = learned
    two = {"bayes": GaussianNB(), "logit": LogisticRegression()}
    found, whole = bcm.cross_confusion(two, X, y, 4, by=by), bcm.cross_confusion(two, X, y, 4)
    assert found.dims == ("classifier", "fold", "sex", "old", "actual", "predicted")
    np.testing.assert_array_equal(found.sum(["sex", "old"]), whole)
    rows = found.sum(["classifier", "fold", "predicted"]).transpose("actual", "sex", "old")
    same = pd.crosstab(y, [by["sex"], by["old"]]).to_numpy().reshape(2, 2, 2)
    np.testing.assert_array_equal(rows, 2 * same)
    assert whole["fixed_totals"].item() is True
    assert found["fixed_totals"].item() is False  # of stratified folds, the slices are not
    one = bcm.cross_confusion(GaussianNB(), X, y, 4, by={"sex": by["sex"]})
    assert bcm.interval(one, "recall").dims == ("sex", "bound")
    assert bcm.summary(one, ["recall"])["sex"].tolist() == ["f", "m"]
    assert len(bcm.compare(one, "recall", dim="sex")) == 1


def test_pairs_are_counted_slice_by_slice(learned):
    X, y, by = learned
    two = {"bayes": GaussianNB(), "logit": LogisticRegression()}
    sex = {"sex": pl.Series(by["sex"])}
    found = bcm.cross_outcomes(two, X, y, 4, by=sex)
    assert found["counts"].dims == ("fold", "sex", "outcome")
    whole = bcm.cross_outcomes(two, X, y, 4)
    np.testing.assert_array_equal(found["counts"].sum("sex"), whole["counts"])
    assert bcm.compare(found, "accuracy")["sex"].tolist() == ["f", "m"]
    with pytest.raises(ValueError, match="halves cannot be combined with slices along"):
        bcm.cross_outcomes(two, X, y, 4, by=sex, halves=2)


@pytest.mark.parametrize("door", [bcm.cross_confusion, bcm.cross_outcomes])
def test_what_folds_cannot_carry_is_refused_in_words(learned, door):
    X, y, by = learned
    two = {"bayes": GaussianNB(), "logit": LogisticRegression()}
    for given, said in [
        ({"fold": by["sex"]}, "The dimension name"),
        ({"sex": by["sex"][1:]}, "The columns have different lengths"),
        ({"sex": [None, *by["sex"][1:]]}, "sex has missing values"),
    ]:
        with pytest.raises(ValueError, match=said):
            door(two, X, y, 4, by=given)
    with pytest.raises(ValueError, match="groups"):
        door(two, X, y, 4, by={"sex": by["sex"]}, groups=by["old"])


@pytest.mark.long
@pytest.mark.parametrize("several", [False, True])
def test_each_slice_of_partly_labelled_examples_is_as_if_alone(data, several):
    predicted = data["told"] if several else data["told"]["a"]
    by = {"sex": data["sex"], "old": pd.Series(data["old"])}
    found = bcm.from_partly_labelled(data["human"], predicted, data["judge"], by=by)
    own = (data["sex"] == "m") & data["old"]
    alone = bcm.from_partly_labelled(
        np.array(data["human"], object)[own],
        {name: each[own] for name, each in predicted.items()} if several else predicted[own],
        data["judge"][own],
    )
    inside = found.sel(sex="m", old=1)
    assert int(inside["unlabelled"].sum()) == int(alone["unlabelled"].sum())
    both = [matrices_of(each).sum("judge") for each in (inside, alone)]
    np.testing.assert_array_equal(*both)
    answer = bcm.interval(found, "recall", draws=20_000)
    assert answer.dims == ("sex", "old", *(["classifier"] if several else []), "bound")
    same = bcm.interval(alone, "recall", draws=20_000)
    np.testing.assert_allclose(answer.sel(sex="m", old=1), same, atol=0.02)
    dim = "classifier" if several else "sex"
    rows = bcm.compare(found, "recall", dim=dim, draws=500)
    assert len(rows) == 6
    assert len(bcm.summary(found, ["recall"], draws=500)) == (12 if several else 6)


@pytest.mark.parametrize("several", [False, True])
def test_slices_of_partly_labelled_examples_are_never_pooled_by_the_labels_alone(
    data, several, tmp_path
):
    predicted = data["told"] if several else data["told"]["a"]
    args = data["human"], predicted, data["judge"]
    sex, group = (
        bcm.from_partly_labelled(*args, by={name: data["sex"]}) for name in ("sex", "group")
    )
    found = bcm.interval(group, "recall", draws=500)
    np.testing.assert_array_equal(found, bcm.interval(sex, "recall", draws=500))
    rows = [
        bcm.compare(each, "recall", dim=name, draws=500)["mean"].tolist()
        for each, name in ((sex, "sex"), (group, "group"))
    ]
    assert rows[0] == rows[1]
    for ask in (bcm.gap, bcm.worst_slices):
        with pytest.raises(ValueError, match="Slices of partly labelled examples cannot be pooled"):
            ask(group, "recall")
    with pytest.raises(ValueError, match="A report covers one set of partly labelled"):
        bcm.report(group, tmp_path / "report.html")


def test_slices_of_which_nobody_labelled_any_are_warned_of(data):
    human = np.where(data["sex"] == "x", None, np.array(data["human"], object))
    with pytest.warns(UserWarning, match="slices have no labels"):
        bcm.from_partly_labelled(human, data["told"]["a"], data["judge"], by={"sex": data["sex"]})


@pytest.mark.parametrize("name", ["judge", "fold", "actual"])
def test_names_that_partly_labelled_examples_use_are_refused(data, name):
    with pytest.raises(ValueError, match="The dimension name"):
        bcm.from_partly_labelled(data["human"], data["told"]["a"], by={name: data["sex"]})


def test_classifiers_refuse_what_is_no_name_of_a_dim(data):
    for name in ("classifier", "outcome"):
        with pytest.raises(ValueError, match="The dimension name"):
            bcm.from_classifiers(data["actual"], data["told"], by={name: data["sex"]})
    with pytest.raises(TypeError, match="by must map names of dimensions to values"):
        bcm.from_classifiers(data["actual"], data["told"], by=data["sex"])

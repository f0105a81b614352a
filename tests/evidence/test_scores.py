"""Scores as evidence: every shape they come in, and one clear line on what they cannot be."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from sklearn import metrics as skm

import bayescm as bcm
from bayescm.evidence.scores import as_scores

ACTUAL, SCORE = [0, 1, 1, 0, 1, 0], [0.1, 0.9, 0.4, 0.4, -np.inf, np.inf]
PROBA = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]])


def test_one_classifier_has_no_dim_for_it():
    evidence = bcm.from_scores(ACTUAL, SCORE)
    assert dict(evidence.sizes) == {"example": 6}
    assert evidence.positive.item() == 1
    np.testing.assert_array_equal(evidence.score, SCORE)


@pytest.mark.parametrize(
    "actual",
    [
        np.array(["well", "sick"])[ACTUAL],
        pd.Series(np.array(["well", "sick"], dtype=object)[ACTUAL]),
        pd.Series(np.array(["well", "sick"])[ACTUAL]).astype("category"),
    ],
    ids=["array", "series", "categorical"],
)
def test_labels_of_any_kind(actual):
    evidence = bcm.from_scores(actual, pd.Series(SCORE), positive="sick")
    assert evidence.positive.item() == "sick"
    same = bcm.curves.auc(bcm.from_scores(ACTUAL, SCORE), draws=50)
    np.testing.assert_array_equal(bcm.curves.auc(evidence, draws=50), same)


@pytest.mark.parametrize("actual", [np.array(ACTUAL, bool), np.array(ACTUAL, float)])
def test_the_positive_class_of_obvious_labels(actual):
    assert bcm.from_scores(actual, SCORE).positive.item() == 1


def test_a_mapping_is_several_classifiers():
    evidence = bcm.from_scores(ACTUAL, {"a": SCORE, "b": ACTUAL}, fold=[0, 0, 0, 1, 1, 1])
    assert evidence.score.dims == ("classifier", "example")
    assert evidence.classifier.values.tolist() == ["a", "b"]
    assert evidence.sel(classifier="b").score.values.tolist() == ACTUAL


def test_more_classes_have_a_column_each():
    evidence = bcm.from_scores(list("abcb"), PROBA)
    assert evidence.score.dims == ("example", "class")
    assert "positive" not in evidence.coords
    turned = bcm.from_scores(list("abcb"), PROBA[:, ::-1], labels=list("cba"))
    np.testing.assert_array_equal(turned.sel({"class": "a"}).score, PROBA[:, 0])


def test_examples_of_weight_zero_are_left_out():
    evidence = bcm.from_scores(ACTUAL, SCORE, weights=[1, 2, 0, 5, 1, 1])
    assert evidence.sizes["example"] == 5


BAD = {
    "one class": (dict(actual=[1, 1], scores=[1, 2]), "only one class|of class"),
    "one class named": (
        dict(actual=[1, 1], scores=[1, 2], labels=[0, 1]),
        "only one class|of class",
    ),
    "nan": (dict(actual=[0, 1], scores=[1, np.nan]), "missing"),
    "nan of a class": (dict(actual=list("abcb"), scores=PROBA * np.nan), "missing"),
    "no positive": (dict(actual=["a", "b"], scores=[1, 2]), "is the positive class is unknown"),
    "wrong positive": (
        dict(actual=["a", "b"], scores=[1, 2], positive="c"),
        "is not among the labels",
    ),
    "length": (dict(actual=[0, 1, 1], scores=[1, 2]), "2 rows|3 rows|shape"),
    "weights' length": (dict(actual=[0, 1], scores=[1, 2], weights=[1]), "but actual"),
    "folds' length": (dict(actual=[0, 1], scores=[1, 2], fold=[1]), "but actual"),
    "negative weight": (dict(actual=[0, 1], scores=[1, 2], weights=[1, -1]), "weight"),
    "infinite weight": (dict(actual=[0, 1], scores=[1, 2], weights=[1, np.inf]), "weight"),
    "text weight": (dict(actual=[0, 1], scores=[1, 2], weights=["1", "1"]), "weight"),
    "weights of a class zero": (
        dict(actual=[0, 1], scores=[1, 2], weights=[1, 0]),
        "only one class|of class",
    ),
    "all weights zero": (dict(actual=[0, 1], scores=[1, 2], weights=[0, 0]), "Every weight is 0"),
    "empty": (dict(actual=[], scores=[]), "actual must be one column of labels"),
    "two axes": (dict(actual=[[0, 1]], scores=[1, 2]), "actual must be one column of labels"),
    "swapped": (
        dict(actual=[0.3, 0.7], scores=[0, 1]),
        "actual contains fractions instead of labels",
    ),
    "missing label": (dict(actual=[0, None], scores=[1, 2]), "missing"),
    "unknown label": (dict(actual=["a", "b"], scores=[1, 2], labels=["a", "c"]), "not a class"),
    "proba of two classes": (
        dict(actual=[0, 1], scores=[[1, 2], [2, 1]]),
        "Scores must have the shape",
    ),
    "one column of many": (dict(actual=[0, 1, 2], scores=[1, 2, 3]), "Scores must have the shape"),
    "positive of many": (
        dict(actual=list("abcb"), scores=PROBA, positive="a"),
        "has no effect with more than two classes",
    ),
    "No classifiers": (dict(actual=[0, 1], scores={}), "No classifiers"),
    "fold of one class": (
        dict(actual=[0, 1, 1], scores=[1, 2, 3], fold=["x", "x", "y"]),
        "1 of 1 examples in fold y are of class 1",
    ),
}


def test_a_single_column_is_the_scores_themselves():
    flat = bcm.from_scores([0, 1, 1], [0.2, 0.7, 0.4])
    xr.testing.assert_identical(bcm.from_scores([0, 1, 1], [[0.2], [0.7], [0.4]]), flat)


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input_is_refused_with_a_reason(case):
    arguments, words = case
    with pytest.raises((ValueError, TypeError), match=words):
        bcm.from_scores(**arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(actual=[0, 1], scores=["x", "y"]), "scores must be numbers"),
        (dict(actual=[0, 1], scores={1: [1, 2]}), "name"),
    ],
)
def test_what_is_no_score_is_a_type_error(arguments, words):
    with pytest.raises(TypeError, match=words):
        bcm.from_scores(**arguments)


@pytest.mark.parametrize("evidence", [3, xr.Dataset(), xr.DataArray([1.0])])
def test_what_is_no_evidence_of_scores_is_a_type_error(evidence):
    with pytest.raises(TypeError, match="from_scores"):
        as_scores(evidence)


# Importance weights


def test_importance_weights_have_no_scale_and_say_what_they_are():
    rng = np.random.default_rng(5)
    actual = np.arange(60) % 3 == 0
    score, weights = rng.normal(actual, 1), np.where(actual, 0.1, 2.0) * rng.lognormal(size=60)
    with pytest.raises(ValueError, match="weights_are"):
        bcm.from_scores(actual, score, weights=weights)
    one, large = (
        bcm.from_scores(actual, score, weights=each, weights_are="importance")
        for each in (weights, 1000 * weights)
    )
    own = weights[actual]
    found = one["weight"].values[actual].sum()
    assert found == pytest.approx(own.sum() ** 2 / (own**2).sum())
    for name in ("auc", "average_precision"):
        first, second = (bcm.curves.number_draws(each, name, draws=200) for each in (one, large))
        np.testing.assert_allclose(first, second)
    plain = skm.average_precision_score(actual, score, sample_weight=weights)
    assert bcm.curves.estimate(one, "average_precision").item() == pytest.approx(plain)


def test_a_band_of_scores_is_no_answer():
    scores = bcm.from_scores(
        ["no", "no", "yes", "yes"],
        {"a": [0.1, 0.5, 0.5, 0.9], "b": [0.1, 0.7, 0.2, 0.9]},
        positive="yes",
    )
    answers = bcm.curves.classify(scores, (0.4, 0.6))
    found = bcm.measure(answers, ["coverage", "accuracy"])
    np.testing.assert_allclose(found.coverage, [0.5, 1.0])
    np.testing.assert_allclose(found.accuracy, [1.0, 0.5])
    assert "abstain" not in bcm.curves.classify(scores, 0.5).coords
    three = bcm.from_scores([0, 1, 2], [[0.9, 0.1, 0], [0.3, 0.4, 0.3], [0, 0, 1.0]])
    assert bcm.measure(bcm.curves.classify(three, 0.5), "coverage").coverage == pytest.approx(2 / 3)


def test_columns_named_as_the_classes_are_taken_by_name():
    actual, proba = list("abcb"), np.array([[7, 2, 1], [3, 4, 3], [2, 2, 6], [5, 4, 1]]) / 10
    table = pd.DataFrame(proba, columns=list("abc"))[["c", "a", "b"]]
    for given in (table, pl.from_pandas(table)):
        found = bcm.from_scores(actual, given)
        np.testing.assert_array_equal(found["score"].sel({"class": list("abc")}), proba)
    other = bcm.from_scores(actual, table.set_axis(["x", "y", "z"], axis=1))
    np.testing.assert_array_equal(other["score"].values, table.to_numpy())
    bare = bcm.from_scores([0, 1, 2, 1], pd.DataFrame(proba[:, ::-1]), labels=[2, 1, 0])
    np.testing.assert_array_equal(bare["score"].sel({"class": [0, 1, 2]}), proba)
    with pytest.raises(ValueError, match="Only some of the columns"):
        bcm.from_scores(actual, table.rename(columns={"c": "z"}))


def test_the_column_of_the_other_class_is_refused():
    actual, sure = (
        ["no", "yes", "yes"],
        pd.DataFrame({"no": [0.8, 0.1, 0.3], "yes": [0.2, 0.9, 0.7]}),
    )
    assert bcm.from_scores(actual, sure["yes"], positive="yes")["score"].values[1] == 0.9
    for given in (sure["no"], sure[["no"]], {"model": sure["no"]}):
        with pytest.raises(ValueError, match="The scores are for the class"):
            bcm.from_scores(actual, given, positive="yes")


@pytest.mark.parametrize("make", [list, tuple, lambda each: np.array(each, object), pd.Series])
@pytest.mark.parametrize("build", [bcm.from_scores, bcm.from_probabilities])
def test_a_number_and_a_text_are_no_labels_of_one_column(build, make):
    with pytest.raises(ValueError, match=r"mixed types: \[1, '1'\].*Make them all strings"):
        build(make([1, "1", 0, 0]), [0.9, 0.8, 0.3, 0.1])

"""Columns whose rows have the same labels in another order are refused, by every door."""

import inspect

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.naive_bayes import GaussianNB

import bayescm as bcm
from bayescm import classical
from bayescm.evidence.cross_validation import cross_predictions
from bayescm.integrations.sklearn import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    RocCurveDisplay,
    scorer,
)
from bayescm.online import forecast_table
from bayescm.planning import choose
from bayescm.validate import check_row_order

SIZE = 40
RNG = np.random.default_rng(20261)
TRUTH = np.arange(SIZE) % 2
TABLE = pd.DataFrame(
    {
        "actual": TRUTH,
        "score": np.clip(0.3 + 0.4 * TRUTH + RNG.normal(0, 0.2, SIZE), 0.01, 0.99),
        "answer": np.where(RNG.random(SIZE) < 0.8, TRUTH, 1 - TRUTH),
        "other": np.where(RNG.random(SIZE) < 0.7, TRUTH, 1 - TRUTH),
        "site": np.tile(["a", "a", "b", "b"], SIZE // 4),
        "weight": RNG.integers(1, 4, SIZE),
        "right": RNG.integers(0, 2, SIZE),
        "item": np.arange(SIZE) // 4,
        "attempt": np.arange(SIZE) % 4,
        "some": pd.Series(TRUTH).astype(object).where(np.arange(SIZE) % 4 < 2, None),
        "cell": RNG.integers(5, 9, SIZE),
        "more": RNG.integers(20, 30, SIZE),
    }
).set_axis([f"patient {each}" for each in range(SIZE)])
TABLE["features"] = TRUTH + RNG.normal(0, 1, SIZE)
FITTED = GaussianNB().fit(TABLE[["features"]], TRUTH)
NB = GaussianNB()


def _by(c):
    return {"group": c("site")}


def _chosen(c):
    said = {"predicted": TABLE["answer"], "judge": TABLE["other"], "design": TABLE["site"]}
    counts = bcm.from_partly_labelled(TABLE["some"], positive=1, **said)
    plan = bcm.planning.plan_labels(counts, "prevalence", 3)
    return choose(plan, c("some"), c("answer"), c("other"), design=c("site"))


# Every function that takes columns of the same rows; `c` returns the column of a name.
DOORS = {
    "from_predictions": lambda c: bcm.from_predictions(
        c("actual"), c("answer"), by=_by(c), weights=c("weight")
    ),
    "from_classifiers": lambda c: bcm.from_classifiers(
        c("actual"), {"a": c("answer"), "b": c("other")}, by=_by(c), weights=c("weight")
    ),
    "from_scores": lambda c: bcm.from_scores(
        c("actual"), {"a": c("score"), "b": c("features")}, by=_by(c), weights=c("weight")
    ),
    "fold of from_scores": lambda c: bcm.from_scores(
        c("actual"), c("score").to_frame(), fold=c("site")
    ),
    "from_probabilities": lambda c: bcm.from_probabilities(
        c("actual"), c("score"), group=c("site"), weights=c("weight")
    ),
    "from_partly_labelled": lambda c: bcm.from_partly_labelled(
        c("some"),
        {"a": c("answer"), "b": c("other")},
        judge={"score": c("score")},
        design=c("site"),
        by={"half": c("right")},
    ),
    "from_raters": lambda c: bcm.from_raters(
        {"ann": c("answer"), "bob": c("other"), "eve": c("right")},
        predicted={"m": c("attempt") % 2},
        gold=c("some"),
        group=c("site"),
    ),
    "agreement": lambda c: bcm.raters.agreement(
        {"ann": c("answer"), "bob": c("other")}, "gwet_ac1"
    ),
    "from_item_scores": lambda c: bcm.from_item_scores(
        c("score"), group=c("item"), by={"site": c("site")}, weights=c("weight")
    ),
    "systems of from_item_scores": lambda c: bcm.from_item_scores(
        {"a": c("score"), "b": c("features")}, group=TABLE["item"]
    ),
    "from_multilabel": lambda c: bcm.from_multilabel(
        c("right").to_frame().assign(b=TABLE["actual"]),
        c("answer").to_frame("right").assign(b=TABLE["other"]),
        group=c("item"),
        by={"site": c("site")},
    ),
    "from_item_counts": lambda c: bcm.from_item_counts(
        tp=c("more"), fp=c("cell"), fn=c("weight"), group=c("item")
    ),
    "from_preferences": lambda c: bcm.from_preferences(
        left=c("site").astype(str) + " old",
        right=c("item").astype(str),
        winner=c("answer"),
        outcomes={"left": [0], "right": [1], "tie": [2]},
        group=c("site"),
        weights=c("weight"),
    ),
    "from_attempts": lambda c: bcm.from_attempts(
        c("right"), item=c("item"), attempt=c("attempt"), group=c("item") // 2
    ),
    "truth of from_attempts": lambda c: bcm.from_attempts(
        {"a": c("answer"), "b": c("other")}, item=c("item"), truth=c("item") % 2
    ),
    "group of a table of from_attempts": lambda c: bcm.from_attempts(
        TABLE[["right", "answer"]], group=c("site")
    ),
    "classification_report": lambda c: bcm.classification_report(c("actual"), c("answer")),
    "from_cells": lambda c: bcm.from_cells(tp=c("more"), fn=c("cell"), fp=c("weight"), tn=30),
    "proportion": lambda c: bcm.answers.proportion(c("more"), c("cell")),
    "classical.proportion": lambda c: classical.proportion(c("cell"), c("more")),
    "classical.correlated_t": lambda c: classical.correlated_t(
        c("score"), c("features"), n_folds=10
    ),
    "cross_predictions": lambda c: cross_predictions(
        NB, c("features").to_frame(), c("actual"), 2, groups=c("item")
    ),
    "cross_confusion": lambda c: bcm.cross_confusion(
        NB, c("features").to_frame(), c("actual"), 2, by=_by(c)
    ),
    "cross_outcomes": lambda c: bcm.cross_outcomes(
        {"a": NB, "b": NB}, c("features").to_frame(), c("actual"), 2, by=_by(c)
    ),
    "cross_halves": lambda c: bcm.learners.cross_halves(
        NB, c("features").to_frame(), c("actual"), 2, groups=c("item")
    ),
    "cross_scores": lambda c: bcm.learners.cross_scores(
        NB, c("features").to_frame(), c("actual"), 2, groups=c("item")
    ),
    "learning_curve": lambda c: bcm.learners.learning_curve(
        NB, c("features").to_frame(), c("actual"), [0.5, 1.0], cv=2, groups=c("item")
    ),
    "scorer": lambda c: scorer("f1")(FITTED, c("features").to_frame(), c("actual")),
    "scorer of probabilities": lambda c: scorer("brier")(
        FITTED, c("features").to_frame(), c("actual")
    ),
    "ConfusionMatrixDisplay": lambda c: ConfusionMatrixDisplay.from_predictions(
        c("actual"), c("answer")
    ),
    "RocCurveDisplay": lambda c: RocCurveDisplay.from_estimator(
        FITTED, c("features").to_frame(), c("actual")
    ),
    "CalibrationDisplay": lambda c: CalibrationDisplay.from_predictions(c("actual"), c("score")),
    "forecast_table": lambda c: forecast_table(c("actual"), c("score")),
    "planning.choose": _chosen,
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")  # of few examples and useless judges
@pytest.mark.parametrize("door", DOORS)
def test_rows_in_another_order_are_refused_in_every_column(door):
    names = []
    DOORS[door](lambda name: names.append(name) or TABLE[name])
    for moved in names:
        other = TABLE[moved].sort_values(kind="stable", ascending=False)
        if other.index.equals(TABLE.index):
            other = other[::-1]
        with pytest.raises(ValueError, match="in a different order, from position 0 on"):
            DOORS[door](lambda name: other if name == moved else TABLE[name])  # noqa: B023


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("door", ["from_predictions", "from_scores", "from_raters"])
def test_other_labels_and_columns_without_labels_pass(door):
    expected = DOORS[door](lambda name: TABLE[name])
    for change in (
        lambda column: column.reset_index(drop=True),
        lambda column: column.set_axis([f"row {each}" for each in range(SIZE)]),
        lambda column: column.set_axis(["same"] * SIZE),
    ):
        for moved in ("actual", "answer", "score"):
            found = DOORS[door](
                lambda name: change(TABLE[name]) if name == moved else TABLE[name]  # noqa: B023
            )
            assert found.identical(expected)


def test_every_public_function_of_columns_is_among_the_doors():
    columns = {"actual", "predicted", "predictions", "weights", "y", "by", "group", "groups"}
    columns |= {"fold", "raters", "gold", "judge", "scores", "probabilities", "design"}
    # These take names of columns, of dims or of groups of draws, or answers of a judge in order.
    named = {"from_frame", "from_scored_frame", "read", "check", "measure", "report"}
    named |= {"from_partly_labelled_counts"}
    homes = (bcm, bcm.answers, bcm.evidence, bcm.learners, bcm.meta, bcm.raters)
    for name, function in ((name, getattr(home, name)) for home in homes for name in home.__all__):
        if inspect.isfunction(function) and name not in named:
            taken = columns & set(inspect.signature(function).parameters)
            assert not taken or name in DOORS, (name, taken)


def test_a_labelled_table_beside_its_margin():
    table = pd.DataFrame([[18, 4], [3, 25]], index=["a", "b"], columns=["a", "b"])
    rest = pd.Series({"b": 1070, "a": 880})
    with pytest.raises(ValueError, match="unlabelled has the rows of labelled"):
        bcm.evidence.from_partly_labelled_counts(table, rest, labels=["a", "b"], positive="b")
    right = bcm.evidence.from_partly_labelled_counts(table, rest[["a", "b"]], labels=["a", "b"])
    assert right["unlabelled"].values.tolist() == [[880, 1070]]


def test_columns_are_compared_with_each_other_and_not_with_the_first_alone():
    shuffled = TABLE["weight"].sample(frac=1, random_state=4)
    with pytest.raises(ValueError, match="weights has the rows of predicted"):
        bcm.from_predictions(TRUTH, TABLE["answer"], weights=shuffled)
    # The numbers that pandas gives to rows are labels too where another column has them.
    numbered = TABLE.reset_index(drop=True)
    with pytest.raises(ValueError, match="scores has the rows of actual"):
        bcm.from_scores(numbered["actual"], numbered["score"].sort_values())


def test_tables_of_systems_are_joined_by_the_labels_of_their_items():
    table = TABLE[["right", "answer"]]
    found = bcm.from_attempts({"x": table, "y": table[::-1]})
    x, y = (found["correct"].sel(classifier=each) for each in "xy")
    np.testing.assert_array_equal(x, y)


def test_arrays_of_xarray_and_levels_of_an_index():
    rows = pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]])
    column = pd.Series(np.arange(6), index=rows)
    check_row_order({"one": column, "other": column.copy(), "flat": column.to_numpy()})
    with pytest.raises(ValueError, match="other has the rows of one"):
        check_row_order({"one": column, "other": column.swaplevel().sort_index().swaplevel()})
    array = xr.DataArray(np.arange(3), {"row": list("abc")}, ["row"])
    with pytest.raises(ValueError, match=r"from position 0 on: \{'one': 'a', 'other': 'c'\}"):
        check_row_order({"one": array, "other": array[::-1]})
    check_row_order({"one": array, "other": array.drop_vars("row")[::-1], "none": None})

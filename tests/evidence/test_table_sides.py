"""Which side of a confusion table is the truth, by the names of its axes."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.evidence import from_matrix, read
from bayescm.evidence.table_sides import sides_of

ACTUAL, PREDICTED = list("iiiiiwwww"), list("iiiwwiwww")
KNOWN = bcm.from_predictions(ACTUAL, PREDICTED, positive="i")


def crosstab(rows, columns, *, turned):
    down, across = (PREDICTED, ACTUAL) if turned else (ACTUAL, PREDICTED)
    return pd.crosstab(pd.Series(down, name=rows), pd.Series(across, name=columns))


TURNED = [
    *[("yhat", "y"), ("y_hat", "y"), ("test", "disease"), ("model", None), ("Model output", "x")],
    *[("ypred", None), (None, "Ground truth"), ("index test", "reference standard")],
    *[("predicted_label", "true_label"), ("label", "actual"), ("x", "gold"), ("preds_rf", "y")],
    *[("classifier", "y_test"), ("Test result", "Condition"), ("PredictedClass", "TrueClass")],
]
AS_IS = [
    *[("y", "yhat"), ("disease", "test"), ("y_test", "y_pred"), ("truth", None), (None, "pred")],
    *[("label", "model"), ("y_true", "x"), ("Reference", "Prediction"), (None, None)],
]


@pytest.mark.parametrize(
    ("names", "turned"), [(n, True) for n in TURNED] + [(n, False) for n in AS_IS]
)
def test_the_names_of_the_axes_tell(names, turned):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = from_matrix(crosstab(*names, turned=turned), positive="i")
    np.testing.assert_array_equal(counts.values, KNOWN.values)
    assert "TP 3, FN 2, FP 1, TN 3" in counts.attrs["as_read"]
    assert ("assumed" in counts.attrs["as_read"]) is not any(names)


@pytest.mark.parametrize("names", [("a", "b"), ("x", None), (None, "fold"), ("label", "class")])
def test_names_without_a_meaning_are_warned_about(names):
    with pytest.warns(UserWarning, match="Rows are assumed to be the actual classes"):
        counts = from_matrix(crosstab(*names, turned=False), positive="i")
    assert "assumed to be actual" in counts.attrs["as_read"]
    np.testing.assert_array_equal(counts.values, KNOWN.values)


def test_a_table_whose_axes_have_no_names_is_as_documented():
    counts = from_matrix(crosstab("x", "y", turned=False).rename_axis(index=None, columns=None))
    assert not counts.attrs


def test_both_axes_of_one_meaning_are_rejected():
    with pytest.raises(ValueError, match="Both axes of the table are named"):
        from_matrix(crosstab("y_pred", "prediction", turned=False))


def test_a_table_of_many_classes_states_a_cell():
    table = pd.DataFrame([[5, 1, 0], [7, 5, 2], [0, 0, 5]], list("abc"), list("abc"))
    counts = from_matrix(table.rename_axis(index="yhat"))
    assert "7 of actual class 'a' are predicted as 'b'" in counts.attrs["as_read"]


def test_a_matrix_of_costs_is_turned_too():
    table = pd.DataFrame([[0, 5], [1, 0]], [0, 1], [0, 1]).rename_axis(index="yhat", columns="y")
    counts = bcm.from_cells(tp=3, fn=2, fp=1, tn=4, labels=[0, 1])
    cost = bcm.measures.cost([[0, 1], [5, 0]])
    assert bcm.measure(counts, bcm.measures.cost(table.T.to_numpy())) == bcm.measure(counts, cost)


@pytest.mark.parametrize(
    ("corner", "turned"),
    [
        *[("yhat", True), ("test", True), ("Predicted \\ Actual", True), ("model", True)],
        *[("Actual\\Predicted", False), ("truth/test", False), ("", False), ("y", False)],
        ("Predicted vs Actual", True),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_the_corner_of_a_file_tells(tmp_path, corner, turned, name):
    table = crosstab(None, None, turned=turned)
    table.to_csv(tmp_path / name, sep="," if name == "t.csv" else "\t", index_label=corner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = read(tmp_path / name, positive="i")
    np.testing.assert_array_equal(counts.values, KNOWN.values)
    assert "TP 3, FN 2, FP 1, TN 3" in counts.attrs["as_read"]


def test_a_corner_without_a_meaning_is_warned_about(tmp_path):
    crosstab(None, None, turned=False).to_csv(tmp_path / "t.csv", index_label="region")
    with pytest.warns(UserWarning, match="'region'.*name the first column of the file 'predicted'"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_stored_tables_of_pandas_keep_their_sides(tmp_path, kind):
    table = crosstab("yhat", "y", turned=True)
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        table.to_parquet(path)
    else:
        table.reset_index().rename_axis(columns=None).to_feather(path)
    counts = read(path, positive="i")
    np.testing.assert_array_equal(counts.values, KNOWN.values)


def test_a_table_of_polars_has_its_labels_in_the_first_column():
    pl = pytest.importorskip("polars")
    table = crosstab("yhat", "y", turned=True).rename_axis(columns=None).reset_index()
    counts = from_matrix(pl.from_pandas(table), positive="i")
    np.testing.assert_array_equal(counts.values, KNOWN.values)
    numbered = table.replace({"yhat": {"i": 1, "w": 0}}).rename(columns={"i": "1", "w": "0"})
    np.testing.assert_array_equal(from_matrix(pl.from_pandas(numbered)).values, KNOWN.values)


def test_the_two_words_of_a_name_are_weighed():
    for name, side in {"y": "actual", "y_pred": "predicted", "true label": "actual"}.items():
        found = sides_of(pd.DataFrame([[1]]).rename_axis(index=name))
        assert (found.down, found.settled) == (side, True)

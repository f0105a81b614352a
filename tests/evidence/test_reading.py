"""Counts from files."""

import numpy as np
import pandas as pd
import pytest
from reference_cases import data_file

from bayescm.evidence import read

TEXT = "y,yhat,fold\nsick,sick,0\nwell,sick,0\nsick,well,1\nwell,well,1\n"


@pytest.fixture
def write(tmp_path):
    def to_file(text, name="predictions.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return to_file


def test_a_file_of_predictions(write):
    counts = read(write(TEXT), actual="y", predicted="yhat", positive="sick", by="fold")
    assert counts.dims == ("fold", "actual", "predicted")
    assert counts.sel(fold=0, actual="well", predicted="sick") == 1
    assert counts.positive.item() == "sick"


@pytest.mark.parametrize("separator", [";", "\t", ", "])
def test_other_separators(write, separator):
    counts = read(write(TEXT.replace(",", separator)), actual="y", predicted="yhat")
    assert counts.sum() == 4


def test_separators_at_the_ends_of_rows_shift_no_column(write):
    path = write("id,y,yhat\n7,1,0,\n8,1,0,\n9,0,0,\n")
    np.testing.assert_array_equal(read(path, actual="y", predicted="yhat").values, [[1, 0], [2, 0]])


def test_one_column_is_enough_to_say_what_a_file_is(write):
    path = write("actual,answer\n0,1\n1,1\n")
    assert read(path, predicted="answer").sum() == 2
    assert read(write("actual,predicted\n0,1\n1,1\n")).sum() == 2


@pytest.mark.parametrize("name", ["predictions.parquet", "predictions.csv.gz", "predictions.tsv"])
def test_other_kinds_of_file(tmp_path, name):
    frame = pd.DataFrame({"actual": ["a", "b"], "predicted": ["a", "a"], "n": [5, 6]})
    path = tmp_path / name
    if name.endswith("parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    np.testing.assert_array_equal(read(path, weights="n").values, [[5, 0], [6, 0]])


@pytest.mark.parametrize(
    ("column", "positive", "found"),
    [
        ("0,1", "1", 1),
        ("0,1", "0", 0),
        ("0.0,1.0", "1", 1),
        ("False,True", "true", True),
        ("a,b", "b", "b"),
    ],
)
def test_labels_given_as_text_are_those_of_the_column(write, column, positive, found):
    first, second = column.split(",")
    path = write(f"actual,predicted\n{first},{second}\n{second},{second}\n")
    assert read(path, positive=positive).positive.item() is found
    assert read(path, labels=[second, first]).sizes["actual"] == 2


def test_a_refusal_makes_all_labels_text(write):
    path = write("actual,predicted\n0,0\n1,refused\n1,1\n")
    counts = read(path, labels=["0", "1", "refused"], positive="1")
    assert counts.sel(actual="1", predicted="refused") == 1


def test_a_confusion_table(write):
    counts = read(write(",well,sick\nwell,30,35\nsick,15,65\n", "table.csv"), positive="sick")
    np.testing.assert_array_equal(counts.values, [[30, 35], [15, 65]])
    numbered = read(write("actual,1,0\n1,65,15\n0,35,30\n"))
    assert numbered.positive.item() == 1
    assert numbered.sel(actual=0, predicted=1) == 35


def test_a_class_never_predicted_is_named(write):
    path = write(",a\na,5\nb,6\n")
    with pytest.raises(ValueError, match="neither predictions nor a confusion table"):
        read(path)
    np.testing.assert_array_equal(read(path, labels=["a", "b"]).values, [[5, 0], [6, 0]])


@pytest.mark.parametrize(
    ("text", "keywords", "said"),
    [
        (TEXT, {}, r"neither predictions nor a confusion table: \['y', 'yhat', 'fold'"),
        (TEXT, {"actual": "truth"}, "no such column: 'truth'.*'y', 'yhat' or 'fold'"),
        (TEXT, {"actual": "y"}, "no such column: 'predicted'"),
        (TEXT, {"actual": "y", "predicted": "yhat", "by": "cv"}, "no such column: 'cv'"),
        (TEXT, {"actual": "y", "predicted": "yhat", "positive": "ill"}, "positive class is not"),
        ("actual,predicted\n1,\n0,1\n", {}, "predicted has missing values"),
        ("actual,predicted\n1,0.3\n0,0.9\n", {}, "predicted holds fractions instead of labels"),
        ("actual,predicted\n", {}, "no examples"),
        ("", {}, "cannot be read"),
        (",a,b\na,1,2\nb,3,x\n", {}, "neither"),
        (",a,b\na,1,2\nb,3,-1\n", {}, "negative"),
        (",a,b\na,1,2\nb,3,\n", {}, "NaN"),
        ("a,b\n1,2,3\n4,5,6,7\n", {}, "cannot be read"),
        ("actual,predicted\nr1,1,0\nr2,0,0\n", {}, "more fields than there are names"),
        ("actual,predicted,predicted\n1,1,0\n", {}, "several columns have the same name: 'pred"),
    ],
    ids=str,
)
def test_wrong_files_are_refused(write, text, keywords, said):
    with pytest.raises(ValueError, match=said):
        read(write(text), **keywords)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file.*nothing\.csv"):
        read(tmp_path / "nothing.csv")


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.json"])
def test_a_kind_of_file_that_is_not_read(tmp_path, name):
    with pytest.raises(ValueError, match=r"unsupported.*\.csv.*from_frame"):
        read(tmp_path / name)


def test_a_parquet_file_that_is_none(write):
    with pytest.raises(ValueError, match="cannot be read"):
        read(write(TEXT, "broken.parquet"))


def test_real_files():
    path = data_file("confusion/modeldata_pathology.csv")
    counts = read(path, actual="pathology", predicted="scan", positive="abnorm")
    np.testing.assert_array_equal(counts.values, [[231, 27], [32, 54]])
    path = data_file("confusion/modeldata_hpc_cv.csv.gz")
    folds = read(path, actual="obs", predicted="pred", by={"fold": "Resample"})
    assert (folds.sizes["fold"], folds.sizes["actual"], folds.sum()) == (10, 4, 3467)

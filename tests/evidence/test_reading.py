"""Counts from files."""

import gzip
import os

import numpy as np
import pandas as pd
import pytest
from reference_cases import data_file

import bayescm as bcm
from bayescm.evidence import from_cells, read
from bayescm.evidence.files import atomic_write

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
    ("column", "keywords", "labels", "positive"),
    [
        ("0,1", {}, ["0", "1"], "1"),
        ("0,1", {"positive": "0"}, ["0", "1"], "0"),
        ("0,1", {"positive": 1}, [0, 1], 1),
        ("0,1", {"labels": [1, 0]}, [1, 0], 1),
        ("0,1", {"numeric_labels": True}, [0, 1], 1),
        ("00,1", {"numeric_labels": True}, [0, 1], 1),
        ("False,True", {}, ["False", "True"], "True"),
        ("False,True", {"positive": True}, ["False", "True"], "True"),
        ("01,1", {}, ["01", "1"], None),
        ("1E5,100000", {}, ["100000", "1E5"], None),
        ("NA,None", {}, ["NA", "None"], None),
    ],
)
def test_labels_are_text_unless_numbers_are_asked_for(write, column, keywords, labels, positive):
    first, second = column.split(",")
    path = write(f"actual,predicted\n{first},{second}\n{second},{second}\n")
    counts = read(path, **keywords)
    assert counts["actual"].values.tolist() == labels
    assert (counts["positive"].item() if "positive" in counts.coords else None) == positive


def test_a_column_is_of_one_type_to_its_end(write, monkeypatch):
    monkeypatch.setattr("bayescm.evidence.files._PIECE", 4)
    rows = ["1,1", "2,2", "2,1", "1,1", "01,1", "x,x"]
    path = write(
        "actual,predicted,site\n" + "".join(f"{row},{i % 3}\n" for i, row in enumerate(rows))
    )
    assert read(path)["actual"].values.tolist() == ["01", "1", "2", "x"]
    assert read(path, by="site")["site"].values.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="which is not a whole number"):
        read(path, numeric_labels=True)


def test_what_comes_from_typed_files_keeps_its_type(tmp_path):
    frame = pd.DataFrame({"actual": [1, 0], "predicted": [1, 1]})
    frame.to_parquet(tmp_path / "p.parquet")
    frame.to_feather(tmp_path / "p.arrow")
    for name in ("p.parquet", "p.arrow"):
        assert read(tmp_path / name, positive="1")["positive"].item() == 1


def test_a_refusal_makes_all_labels_text(write):
    path = write("actual,predicted\n0,0\n1,refused\n1,1\n")
    counts = read(path, labels=["0", "1", "refused"], positive="1")
    assert counts.sel(actual="1", predicted="refused") == 1


def test_a_confusion_table(write):
    counts = read(write(",well,sick\nwell,30,35\nsick,15,65\n", "table.csv"), positive="sick")
    np.testing.assert_array_equal(counts.values, [[30, 35], [15, 65]])
    turned = read(write("Prediction,well,sick\nwell,30,15\nsick,35,65\n"), positive="sick")
    np.testing.assert_array_equal(turned.values, counts.values)
    numbered = read(write("actual,1,0\n1,65,15\n0,35,30\n"))
    assert numbered.positive.item() == "1"
    assert numbered.sel(actual="0", predicted="1") == 35


def test_a_class_never_predicted_is_named(write):
    path = write(",a\na,5\nb,6\n")
    with pytest.raises(ValueError, match="The file has neither columns of predictions nor"):
        read(path)
    np.testing.assert_array_equal(read(path, labels=["a", "b"]).values, [[5, 0], [6, 0]])


@pytest.mark.parametrize(
    ("text", "keywords", "said"),
    [
        (TEXT, {}, "The file has neither columns of predictions nor"),
        (TEXT, {"actual": "truth"}, "'y', 'yhat' or 'fold'"),
        (TEXT, {"actual": "y"}, "There is no column"),
        (TEXT, {"actual": "y", "predicted": "yhat", "by": "cv"}, "There is no column"),
        (TEXT, {"actual": "y", "predicted": "yhat", "positive": "ill"}, "is not among the labels"),
        ("actual,predicted\n1,\n0,1\n", {}, "predicted has missing values"),
        ("actual,predicted\n1,0.3\n0,0.9\n", {}, "which is not in the labels"),
        ("actual,predicted\n", {}, "no examples"),
        ("", {}, "cannot be read"),
        (",a,b\na,1,2\nb,3,x\n", {}, "neither"),
        (",a,b\na,1,2\nb,3,-1\n", {}, "negative"),
        (",a,b\na,1,2\nb,3,\n", {}, "NaN"),
        ("a,b\n1,2,3\n4,5,6,7\n", {}, "cannot be read"),
        ("actual,predicted\nr1,1,0\nr2,0,0\n", {}, "more fields than there are names"),
        ("actual,predicted,predicted\n1,1,0\n", {}, "Rename one of the columns in the file"),
    ],
    ids=str,
)
def test_wrong_files_are_refused(write, text, keywords, said):
    with pytest.raises(ValueError, match=said):
        read(write(text), **keywords)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv"):
        read(tmp_path / "nothing.csv")


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.xls"])
def test_a_kind_of_file_that_is_not_read(tmp_path, name):
    with pytest.raises(ValueError, match=r"unsupported.*\.csv.*from_frame"):
        read(tmp_path / name)


def test_a_parquet_file_that_is_none(write):
    with pytest.raises(ValueError, match="cannot be read"):
        read(write(TEXT, "broken.parquet"))


def test_damaged_and_hostile_files_are_refused_in_plain_english(tmp_path, write, monkeypatch):
    whole = gzip.compress(b"actual,predicted\n" + b"1,0\n0,0\n" * 9000)
    for data, said in (
        (whole[:-20], "p.csv.gz is cut off"),
        (b"no gzip at all", "p.csv.gz is damaged"),
    ):
        path = tmp_path / "p.csv.gz"
        path.write_bytes(data)
        with pytest.raises(ValueError, match=said):
            read(path)
    monkeypatch.setattr("bayescm.evidence.text_files.LONGEST_LINE", 1 << 21)
    path.write_bytes(gzip.compress(b"actual,predicted\n1,1\n" + b"0" * (1 << 23)))  # a bomb
    with pytest.raises(ValueError, match="this is no table"):
        read(path)
    (tmp_path / "latin.csv").write_bytes("actual,predicted\ngro\xdf,a\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin.csv is not valid UTF-8"):
        read(tmp_path / "latin.csv")
    monkeypatch.setattr("bayescm.evidence.files.MOST_LABELS", 3)
    with pytest.raises(ValueError, match="more than 3 different labels"):
        read(write("actual,predicted\n" + "".join(f"{i},1\n" for i in range(9))))


def test_output_replaces_a_file_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_write(path) as part:
        part.write_text("one")
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    with pytest.raises(FileNotFoundError), atomic_write(path) as part:
        part.write_bytes((tmp_path / "nothing").read_bytes())
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("a.txt", "one")]
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(ValueError, match="symbolic link"), atomic_write(tmp_path / "link"):
        pass


def test_real_files():
    path = data_file("confusion/modeldata_pathology.csv")
    counts = read(path, actual="pathology", predicted="scan", positive="abnorm")
    np.testing.assert_array_equal(counts.values, [[231, 27], [32, 54]])
    path = data_file("confusion/modeldata_hpc_cv.csv.gz")
    folds = read(path, actual="obs", predicted="pred", by={"fold": "Resample"})
    assert (folds.sizes["fold"], folds.sizes["actual"], folds.sum()) == (10, 4, 3467)


def test_a_table_of_studies_is_read(tmp_path):
    path = tmp_path / "studies.csv"
    path.write_text("Author,TP,FN,FP,TN,year\nAho,5,2,3,9,2001\nBeck,4,1,0,7,2001\n")
    found = read(path)
    known = from_cells(tp=[5, 4], fn=[2, 1], fp=[3, 0], tn=[9, 7]).rename(batch="group")
    np.testing.assert_array_equal(found, known)
    assert found.dims == known.dims
    assert found["group"].values.tolist() == ["Aho", "Beck"]
    assert found["year"].dims == ("group",)
    assert read(path, labels=["well", "sick"])["positive"].item() == "sick"
    with pytest.raises(ValueError, match="TP and FN count the class"):
        read(path, labels=["well", "sick"], positive="well")
    path.write_text("study,tp,fn,fp,tn,positive\n1,5,2,3,9,1\n2,4,1,0,7,1\n")
    with pytest.raises(ValueError, match="The column names"):
        read(path)


@pytest.mark.long
def test_pieces_of_a_long_file_are_counted_together(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("actual,predicted\n" + "1,1\n" * 1_000_000 + "x,1\n2,2\nx,1\n")
    counts = read(path)
    assert counts["actual"].values.tolist() == ["1", "2", "x"]
    np.testing.assert_array_equal(counts.values, [[1_000_000, 0, 0], [0, 1, 0], [2, 0, 0]])


def test_many_labels_are_no_classes_even_a_few_at_a_time(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("actual,predicted\n" + "".join(f"{i},{i}\n" for i in range(100_001)))
    with pytest.raises(ValueError, match="more than 100,000 different labels"):
        read(path)


@pytest.mark.parametrize(
    "text",
    [
        "test,disease,no disease\npositive,90,10\nnegative,5,95\n",
        "test,present,absent\nneg,5,95\npos,90,10\n",
        ",D+,D-\nT+,90,10\nT-,5,95\n",
        "disease,test +,test -\nyes,90,5\nno,10,95\n",
        ",test positive,test negative\ndiseased,90,5\nhealthy,10,95\n",
    ],
)
def test_a_table_of_a_test_and_a_disease(write, text):
    counts = read(write(text))
    assert counts.positive.item() == "positive"
    labels = ["negative", "positive"]
    assert counts.sel(actual=labels, predicted=labels).values.tolist() == [[95, 10], [5, 90]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",yes,no\npositive,90,10\nnegative,5,95\n", "do not show which axis is the test"),
        (
            "test,a,b\npositive,90,10\nnegative,5,95\n",
            "The file has neither columns of predictions nor",
        ),
        (
            "test,positive,sick\nyes,90,10\nno,5,95\n",
            "The file has neither columns of predictions nor",
        ),
    ],
)
def test_a_table_that_does_not_tell_its_sides_is_an_error(write, text, message):
    with pytest.raises(ValueError, match=message):
        read(write(text))


def test_rows_of_counts_may_be_classifiers(write):
    path = write("model,tp,fn,fp,tn\na,9,1,2,8\nb,8,2,1,9\n")
    counts = read(path, classifier="model")
    assert counts.dims == ("classifier", "actual", "predicted")
    assert counts.sel(classifier="b").values.tolist() == [[9, 1], [2, 8]]
    with pytest.warns(UserWarning, match="read as studies.*classifier='model'"):
        assert read(path).dims[0] == "group"
    without = read(write("model,tp,fn,fp\na,9,1,2\nb,8,2,1\n"), classifier="model")
    assert bcm.summary(without)["measure"].unique().tolist() == ["precision", "recall", "f1"]
    with pytest.raises(ValueError, match="has several rows"):
        read(write("model,tp,fn,fp,tn\na,9,1,2,8\na,8,2,1,9\n"), classifier="model")
    with pytest.raises(ValueError, match="has no effect"):
        read(write("actual,predicted\n1,1\n0,1\n"), classifier="model")
    with pytest.raises(ValueError, match="has no effect"):
        read(write(",a,b\na,9,1\nb,2,8\n"), classifier="model")

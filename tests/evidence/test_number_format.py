"""Separators of numbers in text files: counts, weights, scores, covariates."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest

from bayescm.evidence import read
from bayescm.evidence.files import read_columns
from bayescm.evidence.number_format import NotANumberError, advice_about, number_format

WEIGHTED = {"weights": "w", "weights_are": "importance"}


@pytest.fixture
def write(tmp_path):
    def to_file(text, name="table.csv"):
        path = tmp_path / name
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text)
        return path

    return to_file


TABLES = {
    "semicolons": (";ill;well\nill;2.500;12\nwell;35;30\n", "table.csv"),
    "tabs": ("\till\twell\nill\t2.500\t12\nwell\t35\t30\n", "table.tsv"),
    "compressed": (";ill;well\nill;2.500;12\nwell;35;30\n", "table.csv.gz"),
    "three classes": ("x;a;b;c\na;7;1;0\nb;2;8;2.500\nc;0;0;9\n", "table.txt"),
    "studies": ("site;TP;FN;FP;TN\nA;2.500;2;3;4\nB;5;2;3;4\n", "table.csv"),
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The name")
@pytest.mark.parametrize("name", TABLES)
def test_counts_with_points_before_three_digits_are_ambiguous(write, name):
    path = write(*TABLES[name])
    both = (
        r"Counts such as 2\.500 .* thousands='\.' if 2\.500 is 2500, or decimal='\.' if it is 2\.5"
    )
    with pytest.raises(ValueError, match=both):
        read(path)
    assert read(path, thousands=".").max() == 2500


@pytest.mark.parametrize(
    ("cell", "keywords", "number"),
    [
        ("1.000", {"decimal": "."}, 1),
        ("1.000", {"thousands": "."}, 1000),
        ("1.000.000", {"thousands": "."}, 1_000_000),
        ("7,0", {"decimal": ","}, 7),
        ("1.007,0", {"decimal": ",", "thousands": "."}, 1007),
        ("1 007", {"thousands": " "}, 1007),
        ("1'007", {"thousands": "'"}, 1007),
        ("1,007", {"thousands": ","}, 1007),
        ("1007.000", {}, 1007),
        ("12.000", {"thousands": ","}, 12),
    ],
)
def test_a_count_in_each_convention(write, cell, keywords, number):
    path = write(f";a;b\na;{cell};2\nb;3;4\n")
    assert read(path, **keywords).values[0, 0] == number


@pytest.mark.parametrize(
    ("cell", "keywords", "advice"),
    [
        ("1,007", {}, "thousands=',' if the comma separates thousands, or decimal=','"),
        ("7,0", {}, "decimal=','"),
        ("1.007,5", {}, r"thousands='\.' and decimal=','"),
        ("1.000.000", {}, r"thousands='\.'"),
        ("1 007", {}, "thousands=' '"),
        ("1'007", {}, 'thousands="\'"'),
        ("1.5", {"thousands": "."}, "the separators that were passed|if the point is a decimal"),
        ("1.000", {"decimal": ","}, r"thousands='\.' if the point separates thousands"),
    ],
)
def test_a_count_of_another_convention_is_rejected_with_its_option(write, cell, keywords, advice):
    path = write(f";a;b\na;{cell};2\nb;3;4\n")
    with pytest.raises(ValueError, match=f"olumn 'a' of table.csv.*{advice}"):
        read(path, **keywords)


def test_a_table_of_text_is_still_no_table(write):
    with pytest.raises(ValueError, match="The file has neither columns of predictions nor"):
        read(write(",a,b\na,1,2\nb,3,x\n"))


def test_text_of_a_parquet_file_is_not_taken_for_numbers(tmp_path):
    frame = pd.DataFrame({"site": ["A", "B"], "TP": ["1.000", "5"], "FN": [1, 2], "FP": 3, "TN": 4})
    frame.to_parquet(tmp_path / "s.parquet")
    with pytest.raises(ValueError, match="ambiguous"):
        read(tmp_path / "s.parquet")
    frame.assign(TP=[1000.0, 5.0]).to_parquet(tmp_path / "s.parquet")
    assert read(tmp_path / "s.parquet").max() == 1000
    with pytest.raises(ValueError, match=r"thousands='\.' has no effect: s.parquet stores numbers"):
        read(tmp_path / "s.parquet", thousands=".")


@pytest.mark.parametrize(
    ("weights", "is_warned"),
    [
        (("1.000", "12", "2.250"), True),
        (("1.000", "0.500", "2.250"), False),
        (("1.000", "1.5", "2.250"), False),
        (("1", "12", "225"), False),
        (("1000.000", "12", "225"), False),
    ],
)
def test_weights_get_a_warning(write, weights, is_warned):
    rows = zip("101", "100", weights, strict=True)
    path = write("actual;predicted;w\n" + "".join(";".join(row) + "\n" for row in rows))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = read(path, **WEIGHTED)
    assert any("thousands='.' to read" in str(each.message) for each in caught) is is_warned
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = read(path, decimal=".", **WEIGHTED)
    np.testing.assert_array_equal(counts, same)


def test_weights_with_commas(write):
    path = write("actual;predicted;w\n1;1;1,5\n0;0;2\n1;0;0,5\n")
    with pytest.raises(ValueError, match=r"Column 'w' of table.csv has text.*decimal=','"):
        read(path, **WEIGHTED)
    points = write("actual;predicted;w\n1;1;1.5\n0;0;2\n1;0;0.5\n", "points.csv")
    np.testing.assert_array_equal(read(path, decimal=",", **WEIGHTED), read(points, **WEIGHTED))


def test_a_separator_without_numbers_has_no_effect(write):
    path = write("actual;predicted\n1;1\n0;0\n")
    with pytest.raises(ValueError, match="decimal=',' has no effect"):
        read(path, decimal=",")


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"decimal": ";"}, "Unknown decimal"),
        ({"thousands": "x"}, "Unknown thousands"),
        ({"decimal": ",", "thousands": ","}, "the same separator"),
        ({"decimal": ".", "thousands": "."}, "the same separator"),
    ],
)
def test_impossible_separators(write, keywords, said):
    with pytest.raises(ValueError, match=said):
        read(write(";a;b\na;1;2\nb;3;4\n"), **keywords)


def test_scores_are_warned_about_beside_hundreds_only(write):
    beside = write("item;ms\n1;980\n2;1.250\n3;2.000\n")
    with pytest.warns(UserWarning, match="1.250 in column 'ms'"):
        read_columns(beside, ["item"], numbers=["ms"])
    marks = write("item;ms\n1;7.125\n2;1.250\n3;8\n", "marks.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_columns(marks, ["item"], numbers=["ms"])["ms"].tolist() == [7.125, 1.25, 8]
    assert read_columns(beside, ["item"], numbers=["ms"], thousands=".")["ms"].max() == 2000


def test_covariates_of_studies_are_read_in_the_same_convention(write):
    path = write("site;TP;FN;FP;TN;age;n\nA;9;2;3;4;1,5;1.250\nB;5;2;3;4;0,5;900\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(path)
    said = [str(each.message) for each in caught]
    assert any("1,5 in column 'age' of table.csv was read as text" in text for text in said)
    assert any("1.250 in column 'n' of table.csv were read as 1.25" in text for text in said)
    studies = read(path, thousands=".")
    assert studies["age"].values.tolist() == [1.5, 0.5]
    assert studies["n"].values.tolist() == [1250, 900]


@pytest.mark.parametrize("text", ["12.34", "1.23.456", "1234.567", "", "x", "1..000", "--1"])
def test_a_number_is_read_whole_or_not_at_all(text):
    with pytest.raises(NotANumberError):
        number_format(None, ".").numbers(pd.Series([text]))


def test_advice_for_what_is_no_number():
    assert advice_about("12a", number_format(None, None)) == "correct that row"

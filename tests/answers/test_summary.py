"""The summary table: its columns, its words, and that it says how it knows."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.answers.summary import sentences

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


def test_rows_are_the_exact_answers():
    table = bcm.summary(COUNTS, ["precision", "f1", "mcc"]).set_index("measure")
    for name in table.index:
        ends = bcm.interval(COUNTS, name).values
        assert table.loc[name, ["lower", "upper"]].to_numpy(float) == pytest.approx(ends, abs=1e-9)
        assert table.loc[name, "mean"] == pytest.approx(float(bcm.mean(COUNTS, name)), abs=1e-9)
        assert table.loc[name, "sd"] == pytest.approx(float(bcm.sd(COUNTS, name)), abs=1e-9)
    assert table.loc["precision", "point"] == pytest.approx(0.65)
    assert table.loc["f1", "how"] == "closed form"
    assert table.loc["mcc", "how"] == "quadrature"
    assert (table["error"] < 1e-6).all()


def test_many_classes_and_classifiers_have_columns_of_their_own():
    one = bcm.from_matrix(np.diag([5, 6, 7]) + 1, labels=list("abc"))
    both = bcm.combine({"x": one, "y": one}, dim="classifier")
    table = bcm.summary(both, ["recall", "accuracy"])
    assert table.groupby("measure").size().to_dict() == {"recall": 6, "accuracy": 2}
    assert {"classifier", "class"} <= set(table.columns)


def test_a_fit_reports_monte_carlo_error():
    tree = bcm.fit(COUNTS, random_seed=1)
    table = bcm.summary(tree, ["f1"])
    exact = bcm.summary(COUNTS, ["f1"])
    assert table["how"][0] == "draws"
    assert 1e-4 < table["error"][0] < 0.01
    assert table["lower"][0] == pytest.approx(exact["lower"][0], abs=5 * table["error"][0])


def test_sentences_agree_with_the_numbers():
    table = bcm.summary(COUNTS, ["recall"])
    (said,) = sentences(table)
    assert f"{table['lower'][0]:.3f}" in said
    assert f"{table['upper'][0]:.3f}" in said
    assert "95%" in said


def test_equal_tails_that_stand_in_are_said():
    empty = bcm.from_cells(tp=0, fn=5, fp=0, tn=7)
    table = bcm.summary(empty, ["precision"])
    assert "U-shaped" in table["how"][0]
    assert np.isnan(table["point"][0])


def test_undefined_mass_is_reported():
    few = bcm.from_cells(tp=1, fn=5, fp=1, tn=7)
    table = bcm.summary(few, ["precision"], of="predictive", n=5)
    assert 0 < table["undefined"][0] < 1
    assert isinstance(table, pd.DataFrame)

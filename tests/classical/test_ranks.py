"""Classifiers on many data sets: Friedman, Nemenyi and the Bayesian signed-rank test."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from many_data_sets import accuracies
from scipy import stats

import bayescm as bcm
from bayescm.classical import friedman, nemenyi, signed_rank

PRINTED = Path(__file__).parents[1] / "reference" / "benavoli_2017.csv"
# Ranks of C4.5 with and without two parameters on 14 data sets: Demsar (2006), Table 6.
RANKS = """4 3 2 1/1 2 3 4/4 1 2 3/4 1 3 2/4 2 3 1/1 2.5 4 2.5/3 2 4 1/2.5 2.5 4 1/4 3 2 1/
2.5 2.5 2.5 2.5/4 2.5 1 2.5/3 2 4 1/4 1 2 3/3 1 4 2"""
DEMSAR = pd.DataFrame(
    [[-float(each) for each in row.split()] for row in RANKS.split("/")],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)


def test_published_example():
    table = friedman(DEMSAR, correct_ties=False).set_index("test")
    assert table["statistic"].round(2).tolist() == [9.28, 3.69]
    assert table.loc["iman_davenport", ["df", "df_error"]].tolist() == [3, 39]
    pairs = nemenyi(DEMSAR, prob=0.9)
    assert pairs["critical_difference"].round(2).unique().tolist() == [1.12]
    assert nemenyi(DEMSAR)["critical_difference"].round(2)[0] == 1.25
    beyond = pairs[pairs["difference"].abs() > pairs["critical_difference"]]
    assert beyond[["first", "second"]].values.tolist() == [
        ["C4.5", "C4.5+m"],
        ["C4.5", "C4.5+m+cf"],
    ]
    assert (pairs["p_value"] < 0.1).sum() == 2
    assert set(pairs["rank_first"].round(3)) == {3.143, 2.0, 2.893}


def test_scipy_agrees():
    result = friedman(DEMSAR).iloc[0]
    theirs = stats.friedmanchisquare(*DEMSAR.to_numpy().T)
    np.testing.assert_allclose(result[["statistic", "p_value"]].astype(float), theirs, rtol=1e-9)


def test_p_values_are_those_of_the_range_of_normal_variables():
    ranges = np.ptp(np.random.default_rng(3).standard_normal((200_000, 4)), axis=1)
    pairs = nemenyi(DEMSAR)
    q = pairs["difference"].abs() / np.sqrt(4 * 5 / (6 * 14)) * np.sqrt(2)
    tail = [(ranges > each).mean() for each in q]
    np.testing.assert_allclose(pairs["p_value"], tail, atol=0.005)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_printed_critical_values(k, q):
    table = pd.DataFrame(np.random.default_rng(k).normal(size=(9, k)))
    value = nemenyi(table)["critical_difference"][0] / np.sqrt(k * (k + 1) / (6 * 9))
    assert value == pytest.approx(q, abs=0.001)


def test_losses_missing_runs_and_data_sets():
    rng = np.random.default_rng(2)
    rows = [
        (i, name, fold, error + rng.normal(0, 0.02))
        for i in range(8)
        for name, error in {"a": 0.1, "b": 0.2, "c": 0.3}.items()
        for fold in range(3)
        if (i, name) != (0, "c") and (i, name, fold) != (3, "a", 1)
    ]
    columns = ["data_set", "classifier", "fold", "error_rate"]
    results = bcm.from_results(pd.DataFrame(rows, columns=columns))
    assert friedman(results)["data_sets"].tolist() == [7, 7]
    pairs = nemenyi(results)
    assert pairs["rank_first"].iloc[0] == 1
    result = signed_rank(results, draws=2000)
    assert result["data_sets"].tolist() == [8, 7, 7]
    assert result["p_better"].min() > 0.99


def test_signed_ranks_turn_round_and_share_ties():
    table = pd.DataFrame({"a": [3.0, 1, 2, 5], "b": [2.0, 2, 2, 1], "c": [2.0, 2, 2, 1]})
    result = signed_rank(table, rope=0.5, draws=4000)
    turned = signed_rank(table[["b", "a"]], rope=0.5, draws=4000)
    assert result["p_better"][0] == pytest.approx(turned["p_worse"][0], abs=0.04)
    equal = signed_rank(table[["b", "c"]], draws=100)
    assert equal[["p_better", "p_rope", "p_worse"]].values.tolist() == [[0.5, 0, 0.5]]
    assert signed_rank(table[["b", "c"]], rope=0.1, draws=100)["p_rope"][0] == 1
    np.testing.assert_allclose(result.filter(like="share_").sum(axis=1), 1)


@pytest.mark.long
def test_published_signed_ranks_of_54_data_sets():
    names = ["nbc", "aode", "hnb", "j48", "j48gr"]
    results = bcm.from_results(accuracies(names), measure="accuracy", test_share=0.1)
    printed = pd.read_csv(PRINTED)
    result = signed_rank(results, rope=1, draws=20_000)
    assert result[["first", "second"]].values.tolist() == printed.iloc[:, :2].values.tolist()
    columns = ["p_better", "p_rope", "p_worse"]
    np.testing.assert_allclose(result[columns], printed[columns], atol=0.012)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: friedman(DEMSAR[["C4.5"]]), "Two or more classifiers are needed"),
        (lambda: friedman(DEMSAR[:1]), "data sets have scores of all classifiers"),
        (lambda: nemenyi(DEMSAR.assign(name="x")), "The table must have one column of scores"),
        (lambda: nemenyi(DEMSAR, prob=2), "prob"),
        (lambda: signed_rank(DEMSAR, prior=0), "prior must be a finite number"),
        (lambda: signed_rank(DEMSAR, draws=0), "draws must be"),
        (lambda: signed_rank(DEMSAR.assign(none=np.nan)), "no data set in common"),
    ],
)
def test_what_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()

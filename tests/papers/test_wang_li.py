import numpy as np
import pandas as pd
import pytest
from reference_cases import data_file
from scipy.stats import beta

from bayescm import simulation
from bayescm.papers import published, wang_li
from bayescm.papers.learners import cross_validate
from bayescm.simulation import generator

FAST = {name: wang_li.METHODS[name] for name in ("pooled", "averaged", "t", "corrected t")}


@pytest.fixture(scope="module")
def counts():
    return cross_validate(generator(0, 0), wang_li.design(5, 1))[0]


def test_there_are_27_cases_with_published_figures():
    numbers = [(table, case) for table, cases in wang_li.CASES.items() for case in cases]
    printed = published("wang_li").query("4 <= table <= 10")
    assert len(numbers) == 27
    assert set(numbers) == set(zip(printed["table"], printed["case"], strict=True))


def test_published_average_ranks_follow_from_the_published_figures():
    # The ranks of precision's degree of confidence can be read in full but for two of the cases.
    printed = published("wang_li").query("table <= 6 and table >= 4 and measure == 'precision'")
    printed = printed.assign(column=printed["table"] * 100 + printed["case"])
    ours = simulation.ranks(printed, by="column").set_index("method")["doc"]
    assert ours["t"] == ours.max()
    assert ours["pooled"] == ours.min()


@pytest.mark.long
def test_average_ranks_are_those_of_all_cases(monkeypatch):
    monkeypatch.setattr(wang_li, "METHODS", FAST)
    monkeypatch.setattr(wang_li, "CASES", {5: [1, 4]})
    rows = wang_li.table("11", replications=3, seed=1)
    assert len(rows) == 8
    assert rows["published_doc"].notna().all()
    both = wang_li.table("5", replications=3, seed=1)
    expected = simulation.ranks(both, by="case").set_index(["measure", "method"])
    pd.testing.assert_frame_equal(rows.set_index(["measure", "method"])[["doc", "il"]], expected)


def test_folds_are_stratified_and_classes_exactly_balanced(counts):
    assert counts.dims == ("fold", "actual", "predicted")
    assert (counts.sum("predicted") == 10).all()
    assert bool(counts.fixed_totals)
    assert counts.n_folds == 10


def test_methods_are_the_equations_of_the_paper(counts):
    tp, fp = (int(counts.sel(actual=actual, predicted=1).sum()) for actual in (1, 0))
    ends = wang_li.METHODS["pooled"](counts)["precision"]
    np.testing.assert_allclose(ends, beta.ppf([0.025, 0.975], 0.55 * tp + 1, 0.55 * fp + 1))
    t, corrected = (
        np.ptp(wang_li.METHODS[name](counts)["recall"]) for name in ("t", "corrected t")
    )
    assert corrected / t == pytest.approx(1 / np.sqrt(0.3))


def test_hierarchical_intervals_are_among_the_methods(counts):
    ours, theirs = (wang_li.METHODS[name](counts) for name in ("hierarchical", "pooled"))
    assert np.ptp(ours["precision"]) < np.ptp(theirs["precision"])


@pytest.mark.long
@pytest.mark.slow
def test_case_1_of_table_5_comes_out_as_printed(monkeypatch):
    monkeypatch.setattr(wang_li, "METHODS", FAST)
    ours = wang_li.table("5", 1, replications=60, seed=1).set_index(["measure", "method"])
    tolerance = pd.Series({"corrected t": 0.025}).reindex(FAST, fill_value=0.01)
    assert len(ours) == 8
    for (_, method), row in ours.iterrows():
        assert abs(row["il"] - row["published_il"]) < tolerance[method] + 2 * row["il_se"]
        assert abs(row["doc"] - row["published_doc"]) < 4 * row["doc_se"]


@pytest.mark.long
def test_point_estimates_of_table_3():
    frame = wang_li.table("3", 1, replications=40, seed=1)
    centers = frame.set_index(["measure", "method"])["center"]
    assert centers["precision", "macro"] > centers["precision", "micro"]
    assert centers["recall", "macro"] == pytest.approx(centers["recall", "micro"])
    np.testing.assert_allclose(frame["center"], frame["published_doc"], atol=0.03)


@pytest.mark.long
def test_best_omega_is_the_shortest_that_covers(monkeypatch):
    data = str(data_file("uci/letter.csv.gz").parent)
    monkeypatch.setattr(wang_li, "OMEGAS", (0.1, 0.55, 1.0))
    frame = wang_li.table("12", 3, replications=15, seed=1, data=data)
    for _, rows in frame.groupby("measure"):
        best = rows[rows["best"]]
        assert len(best) == 1
        assert best["doc"].item() >= 0.95
        assert best["il"].item() == rows.loc[rows["doc"] >= 0.95, "il"].min()


@pytest.mark.long
def test_equal_tails_never_hold_a_measure_of_1():
    (design,) = wang_li.experiment("remark-4").cases[2]
    counts, _ = cross_validate(generator(0, 0), design)
    assert np.trace(counts.sum("fold")) == 1000
    for name in ("pooled", "averaged"):
        assert wang_li.METHODS[name](counts)["precision"][1] < 1
    np.testing.assert_allclose(wang_li.METHODS["t"](counts)["precision"], 1)


@pytest.mark.long
@pytest.mark.parametrize("learner", ["tree", "svm"])
def test_the_beta_distribution_without_correlation_is_the_exact_one_and_the_other_is_wider(learner):
    frame = wang_li.densities(learner)
    for _, rows in frame.groupby("measure"):
        curves = {name: part["density"].to_numpy() for name, part in rows.groupby("curve")}
        x = rows["x"].unique()
        exact, plain = curves["independent"], curves["beta, rho = 0"]
        np.testing.assert_allclose(np.trapezoid(exact, x), 1, atol=1e-3)
        np.testing.assert_allclose(plain, exact, atol=0.02 * exact.max())
        assert curves["beta, rho = 1/K"].max() < 0.8 * exact.max()


@pytest.mark.parametrize("name", ["11", "13"])
def test_a_table_without_an_experiment_is_refused(name):
    with pytest.raises(ValueError, match="Unknown table of cases"):
        wang_li.experiment(name)

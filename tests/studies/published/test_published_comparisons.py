"""The studies of comparisons: exact where they can be, near the published figures elsewhere."""

import numpy as np
import pandas as pd
import pytest
from reference_cases import DATA, cases, data_file
from scipy.stats import norm

from bayescm.simulation import coverage
from bayescm.studies import tables
from bayescm.studies.published import caelen, caelen_sets, thesis, yuan_jiang
from bayescm.studies.tables import Settings


@pytest.mark.parametrize("case", cases("coverage-"))
def test_the_thesiss_coverage_curves_are_exact(case):
    n, p = case["inputs"]["n"], case["inputs"]["p"]
    found = thesis.coverage_of_proportions(n, [p]).set_index("method")["doc"]
    for method, expected in case["expected"].items():
        assert found[method] == pytest.approx(expected, abs=case["tol"]["abs"]), method


def test_the_coverage_of_f1_is_that_of_simulated_samples():
    table = thesis.coverage_of_f1(30, [0.7])
    rng = np.random.default_rng(0)
    f1 = 0.7
    hits = rng.binomial(30, f1 / (2 - f1), 40_000)
    jeffreys = table.set_index("method")["doc"]["jeffreys"]
    a, b = hits + 0.5, 30 - hits + 1.0
    low, high = (thesis.betaincinv(a, b, tail) for tail in (0.025, 0.975))
    inside = (low <= f1 / (2 - f1)) & (f1 / (2 - f1) <= high)
    assert inside.mean() == pytest.approx(jeffreys, abs=0.005)


def test_dependence_is_what_it_says():
    rng = np.random.default_rng(1)
    for stay in (0.0, 0.9):
        chain = thesis.Chains(stay, images=400).chain(rng, 0.4)
        assert chain.mean() == pytest.approx(0.4, abs=0.04)
        follow = np.corrcoef(chain[:, 1:].ravel(), chain[:, :-1].ravel())[0, 1]
        assert follow == pytest.approx(stay, abs=0.03)


@pytest.mark.long
def test_dependence_ruins_the_plain_interval_alone():
    study = thesis.study("dependent", 4)
    methods = {name: study.methods[name] for name in ("independent", "design", "groups, average")}
    frame = coverage.run(study, methods, replications=10, seed=12).set_index("method")["doc"]
    # In 300 replications: .41, .92 and .95.
    assert frame["independent"] < 0.9
    assert frame["design"] > 0.6
    assert frame["groups, average"] > 0.6
    assert frame["independent"] < frame["groups, average"]


@pytest.mark.long
@pytest.mark.parametrize("case", cases("caelen-bootstrap"))
def test_the_bootstrap_beside_the_predictive_distribution(case):
    found = caelen.figure_3(200_000, scales=[1]).iloc[0]
    expected = case["expected"]
    assert found["ratio"] == pytest.approx(expected["sd_ratio"], abs=0.01)
    assert found["predictive_iqr"] == pytest.approx(expected["pred_iqr"], abs=0.003)
    assert found["bootstrap_iqr"] == pytest.approx(expected["boot_iqr"], abs=0.003)


def test_the_curves_never_join():
    ratios = caelen.figure_3(50_000, scales=[10, 100, 500])["ratio"]
    np.testing.assert_allclose(ratios, 2**0.5, atol=0.03)


@pytest.mark.parametrize("case", cases("caelen-zero-cell"))
def test_the_silent_zero_cell(case):
    tp, tn, fp, fn = case["inputs"]["v_tp_tn_fp_fn"]
    drawn = caelen.predictive_draws(np.array([[tn, fp], [fn, tp]]), 500, np.random.default_rng(0))
    assert (drawn[:, 0, 1] == 0).all()  # a point mass: precision is 1 in every draw


def test_gaps_are_those_beyond_three_standard_errors_of_both():
    shares = {"doc": [0.9, 0.9], "doc_se": 0.01, "published_doc": [0.93, 0.95]}
    lengths = {"il": [0.2, 0.2], "il_se": 0.001, "published_il": [0.2005, np.nan]}
    table = pd.DataFrame({"case": [1, 2], "replications": 300, **shares, **lengths})
    found = tables.gaps(table, replications=2000, reason=lambda row: f"of {row['case']:g}")
    assert found[["case", "figure", "reason"]].values.tolist() == [[2, "doc", "of 2"]]
    both = np.hypot(0.01, np.sqrt(0.95 * 0.05 / 2000))
    assert found["z"][0] == pytest.approx(-0.05 / both, rel=0.02)


def test_all_published_figures_of_tables_2_and_3_are_there():
    printed = tables.published("caelen")
    assert printed[["doc", "il", "center"]].notna().sum().sum() == 432


def test_the_data_sets_have_the_papers_inputs():
    data_file("uci/iris.csv")
    rows = {1: (150, 50), 5: (961, 445), 8: (336, 143), 11: (1728, 384), 16: (132, 50)}
    for number, size in rows.items():
        features, classes = caelen_sets.read_set(number, str(DATA))
        assert (len(classes), classes.sum()) == size
        assert np.isfinite(features).all()


@pytest.mark.long
def test_yuan_and_jiangs_first_simulation():
    frame = yuan_jiang.table("4", None, Settings(replications=30))
    joint = frame[frame["method"] == "joint"].set_index("rule")
    np.testing.assert_allclose(joint["il"], joint["published_il"], rtol=0.08)
    every = frame[frame["rule"] == "all"].set_index("method")["doc"]
    assert every["joint"] > 0.8
    assert every["posterior"] > 0.8
    assert every["individual"] < every["joint"]


@pytest.mark.long
def test_the_first_population_is_symmetric():
    known = yuan_jiang.population("4", None)
    positives = known.shares[known.cells[0] == 1].sum()
    assert positives == pytest.approx(0.5, abs=1e-6)
    right = known.shares[known.cells[2] == known.cells[0]].sum()
    bayes = norm.cdf(0.5)  # the best rule for means one apart; a learned one comes near
    assert bayes - 0.02 < right <= bayes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: caelen.study(17, data="x"), "no such data set"),
        (lambda: caelen.study(1, data=None), "needs data files"),
        (lambda: caelen_sets.read_set(1, "nowhere"), "iris.csv is missing"),
        (lambda: yuan_jiang.population("6", None), "abalone.csv is missing"),
        (lambda: thesis.study("dependent", 9), "no such case"),
        (lambda: yuan_jiang.table("4", 1, Settings()), "has no cases"),
    ],
)
def test_what_is_missing_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

"""Paired tests and intervals beside statsmodels and beside what is printed."""

import numpy as np
import pytest
from statsmodels.stats import contingency_tables as peers

import bayescm as bcm
from bayescm.classical import cochran_q, combined_5x2, mcnemar, paired_difference

# Airway hyper-responsiveness before and after a transplantation (Bentur et al. 2009), printed by
# Fagerland et al. (2013, doi:10.1186/1471-2288-13-91; 2014, doi:10.1002/sim.6148).
BENTUR = [[1, 1], [7, 12]]
# Altman et al. (2000), Statistics with Confidence, table 6.2.
ALTMAN = [[14, 5], [0, 22]]


@pytest.mark.parametrize(
    ("method", "printed"),
    [("mid-p", 0.039), ("exact", 0.070), ("asymptotic", 0.034), ("corrected", 0.077)],
)
def test_mcnemar_is_as_printed_and_as_statsmodels(method, printed):
    assert mcnemar(BENTUR, method=method)["p_value"][0] == pytest.approx(printed, abs=5e-4)
    for table in (BENTUR, ALTMAN, [[30, 25], [12, 3]], [[3, 0], [0, 5]], [[3, 4], [4, 5]]):
        result = mcnemar(table, method=method)["p_value"][0]
        if method == "mid-p":
            assert result <= mcnemar(table, method="exact")["p_value"][0]
        elif table[0][1] + table[1][0] or method == "exact":
            options = {"exact": method == "exact", "correction": method == "corrected"}
            if table[0][1] != table[1][0]:  # statsmodels goes beyond 1 there, and below 0 inside
                assert result == pytest.approx(peers.mcnemar(table, **options).pvalue)
        else:
            assert result == 1


@pytest.mark.parametrize(
    ("table", "method", "printed"),
    [
        (BENTUR, "wald", (-0.520, -0.052)),
        (BENTUR, "bonett_price", (-0.508, -0.013)),
        (BENTUR, "newcombe", (-0.507, -0.026)),
        (BENTUR, "tango", (-0.517, -0.026)),
        (ALTMAN, "newcombe", (0.011, 0.226)),
    ],
)
def test_intervals_are_as_printed(table, method, printed):
    result = paired_difference(table, method=method).iloc[0]
    assert [result["lower"], result["upper"]] == pytest.approx(printed, abs=6e-4)
    turned = paired_difference(np.transpose(table), method=method).iloc[0]
    assert turned["lower"] == pytest.approx(-result["upper"], abs=1e-9)


def test_classifiers_are_compared_by_their_answers():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 80)
    answers = {
        name: np.where(rng.random(80) < share, truth, (truth + 1) % 3)
        for name, share in (("a", 0.9), ("b", 0.8), ("c", 0.6))
    }
    evidence = bcm.from_classifiers(truth, answers)
    right = np.array([answers[name] == truth for name in "abc"])
    table = paired_difference(evidence)
    assert table[["first", "second"]].values.tolist() == [["a", "b"], ["a", "c"], ["b", "c"]]
    for answer in (table, mcnemar(evidence), cochran_q(evidence)):
        assert set(answer["measure"]) == {"accuracy"}
    gaps = [right[i].mean() - right[j].mean() for i, j in ((0, 1), (0, 2), (1, 2))]
    assert table["difference"].tolist() == pytest.approx(gaps)
    theirs = peers.cochrans_q(right.T.astype(int))
    ours = cochran_q(evidence).iloc[0]
    assert (ours["statistic"], ours["p_value"]) == pytest.approx((theirs.statistic, theirs.pvalue))
    with pytest.raises(ValueError, match="A comparison needs at least two classifiers on the same"):
        mcnemar(bcm.from_classifiers(truth, {"a": answers["a"]}))
    with pytest.raises(ValueError, match="binomial test needs integer counts"):
        mcnemar([[1, 1.5], [2, 3]])


def test_the_combined_test_is_alpaydins_statistic():
    rng = np.random.default_rng(2)
    right = rng.integers(60, 90, (2, 5, 2))
    half = np.stack([right // 2, (100 - right) // 2], -1)
    tables = np.stack([half, half[..., ::-1]], -2)
    counts = bcm.from_matrix(tables, dims=("classifier", "repeat", "fold"))
    accuracy = half[..., 0] / half.sum(-1)
    gaps = accuracy[0] - accuracy[1]
    spread = ((gaps - gaps.mean(1, keepdims=True)) ** 2).sum(1)
    row = combined_5x2(counts).iloc[0]
    assert row["statistic"] == pytest.approx((gaps**2).sum() / (2 * spread.sum()))
    assert 0 < row["p_value"] < 1
    with pytest.raises(ValueError, match="Five repeats of two folds are needed"):
        combined_5x2(counts.isel(repeat=slice(3)))

"""Bayes factors of no change: against marginal likelihoods, and as test martingales."""

import itertools
import math

import numpy as np
import pytest
from scipy import special

import bayescm as bcm
from bayescm import online, posteriors
from bayescm.online.bayes_factor import score_of

BEFORE = bcm.from_cells(tp=90, fn=10, fp=20, tn=80)
AFTER = bcm.from_cells(tp=70, fn=30, fp=20, tn=80)
PETS = bcm.from_matrix(np.arange(9).reshape(3, 3), labels=["cat", "cow", "dog"])


@pytest.mark.parametrize(
    ("before", "after", "prior"),
    [(BEFORE, AFTER, 0.5), (BEFORE, BEFORE, 1.0), (PETS, PETS * 2, 0.3), (BEFORE * 0, AFTER, 0.5)],
)
def test_it_is_a_ratio_of_marginal_likelihoods(before, after, prior):
    known = posteriors.dirichlet_multinomial(after.values, concentration=prior + before.values)
    fresh = posteriors.dirichlet_multinomial(after.values, concentration=prior)
    log = online.log_bayes_factor(before, after, concentration=prior)
    assert float(log.sel(part="all")) == pytest.approx(
        known.log_marginal_likelihood() - fresh.log_marginal_likelihood()
    )
    rest = log.drop_sel(part="all").sum()
    assert float(rest) == pytest.approx(float(log.sel(part="all")), abs=1e-9)


def test_it_is_symmetric_and_knows_what_has_changed():
    log = online.log_bayes_factor(BEFORE, AFTER)
    np.testing.assert_allclose(log, online.log_bayes_factor(AFTER, BEFORE))
    assert log.sel(part="positive") < -3
    assert log.sel(part="negative") > 1
    assert log.sel(part="totals") > 1


def test_leading_dims_stay():
    both = bcm.from_cells(tp=[90, 70], fn=[10, 30], fp=20, tn=80).rename(batch="classifier")
    log = online.log_bayes_factor(both, AFTER)
    assert log.dims == ("classifier", "part")
    np.testing.assert_allclose(log[0], online.log_bayes_factor(BEFORE, AFTER))


def series(rng, recall, n=20):
    recall = np.asarray(recall)
    tp, tn = rng.binomial(n, recall), rng.binomial(n, 0.9, len(recall))
    return bcm.from_cells(tp=tp, fn=n - tp, fp=n - tn, tn=tn).rename(batch="step")


def test_a_change_is_found_where_it_is():
    rng = np.random.default_rng(1)
    found = online.change(series(rng, [0.9] * 30 + [0.6] * 30))
    assert found["probability"][29] < 0.3
    assert found["probability"][-1] > 0.99
    assert abs(int(found["latest"][-1]) - 30) <= 2


def test_by_definition_of_two_batches():
    two = bcm.combine({0: BEFORE, 1: AFTER}, dim="step")
    found = online.change(two, part="all", hazard=0.2)
    factor = np.exp(-float(online.log_bayes_factor(BEFORE, AFTER).sel(part="all")))
    total = 0.2 * factor + 0.8
    assert float(found["log_bayes_factor"][1]) == pytest.approx(np.log(total))
    assert float(found["probability"][1]) == pytest.approx(0.2 * factor / total)
    assert float(found["log_bayes_factor"][0]) == 0


@pytest.mark.long
@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised():
    """Ville: without a change the chance of ever exceeding 1 / a is at most a."""
    rng, runs, alarms = np.random.default_rng(5), 200, 0
    for _ in range(runs):
        found = online.change(series(rng, np.full(60, rng.beta(0.5, 0.5))), hazard=0.05)
        alarms += bool(found["log_bayes_factor"].max() > np.log(10))
    assert alarms / runs < 0.1 + 3 * np.sqrt(0.09 / runs)


def test_without_a_change_the_bayes_factor_is_a_martingale():
    """Its mean is 1 after every batch: summed over all that three batches of two may be."""
    total = np.zeros(3)
    for tp in itertools.product(range(3), repeat=3):
        weeks = bcm.from_cells(tp=tp, fn=2 - np.array(tp), fp=0, tn=0).rename(batch="step")
        ways = np.prod([math.comb(2, k) for k in tp])
        mass = special.beta(sum(tp) + 0.5, 6 - sum(tp) + 0.5) / special.beta(0.5, 0.5)
        total += ways * mass * np.exp(online.change(weeks, hazard=0.3)["log_bayes_factor"].values)
    np.testing.assert_allclose(total, 1)


def test_a_short_reach_sees_less_and_never_more():
    rng = np.random.default_rng(2)
    weeks = series(rng, [0.9] * 20 + [0.6] * 20)
    far, near = online.change(weeks), online.change(weeks, reach=5)
    assert (near["log_bayes_factor"] <= far["log_bayes_factor"] + 1e-9).all()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"concentration": 0}, "The Bayes factor needs a prior"),
        ({"hazard": 0}, "hazard"),
        ({"part": "everything"}, "Unknown part"),
    ],
)
def test_what_makes_no_sense_is_refused(keywords, message):
    weeks = series(np.random.default_rng(1), [0.9] * 3)
    with pytest.raises(ValueError, match=message):
        online.change(weeks, **keywords)


def test_one_series_at_a_time():
    weeks = series(np.random.default_rng(1), [0.9] * 3).expand_dims(classifier=["a"])
    with pytest.raises(ValueError, match="Only one series of batches is possible"):
        online.change(weeks)
    with pytest.raises(ValueError, match="Only one series of batches is possible"):
        online.surprise(weeks, "recall")


@pytest.mark.parametrize("classes", [2, 3, 12])
@pytest.mark.parametrize("part", ["answers", "totals", "all"])
def test_the_score_of_a_table_is_its_marginal_likelihood(classes, part):
    rng = np.random.default_rng(classes)
    cells, prior = rng.integers(0, 9, (4, classes, classes)), rng.uniform(0.1, 2, (classes,) * 2)

    def log_beta(a):
        return special.gammaln(a).sum(-1) - special.gammaln(a.sum(-1))

    rows = (log_beta(cells + prior) - log_beta(prior)).sum(-1)
    totals = log_beta((cells + prior).sum(-1)) - log_beta(prior.sum(-1))
    expected = {"answers": rows, "totals": totals, "all": rows + totals}[part]
    np.testing.assert_allclose(score_of(prior, part)(cells), expected, rtol=1e-9, atol=1e-9)

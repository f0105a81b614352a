"""Gaps between groups of examples with scores or probabilities."""

import numpy as np
import pytest
from scipy.special import expit

import bayescm as bcm
from bayescm.posteriors.roc.paired_areas import couple
from bayescm.posteriors.score_groups import score_groups


def _columns(groups, size=60, seed=0):
    rng = np.random.default_rng(seed)
    group = np.repeat([f"site {index}" for index in range(groups)], size)
    actual = np.tile([0, 1, 1], groups * size // 3)
    log_odds = 1.5 * (2 * actual - 1) + rng.normal(0, 1, len(group))
    return actual, expit(log_odds), group


def _probabilities(groups, several=False, **keywords):
    actual, chances, group = _columns(groups)
    given = {"a": chances, "b": chances**2} if several else chances
    return bcm.from_probabilities(actual, given, positive=1, by={"group": group}, **keywords)


def _of_three_classes(groups):
    rng = np.random.default_rng(3)
    actual = np.tile([0, 1, 2], 20 * groups)
    forecasts = rng.dirichlet(np.ones(3), 60 * groups) + 0.7 * np.eye(3)[actual]
    forecasts /= forecasts.sum(axis=1, keepdims=True)
    group = np.repeat(np.arange(groups), 60)
    return bcm.from_probabilities(actual, forecasts, labels=[0, 1, 2], by={"group": group})


def _scores(groups, several=False):
    actual, chances, group = _columns(groups, seed=1)
    given = {"a": chances, "b": chances**2} if several else chances
    return bcm.from_scores(actual, given, positive=1, by={"group": group})


EVIDENCE = [
    (_probabilities, "brier"),
    (_probabilities, "log_loss"),
    (_probabilities, "auc"),
    (_probabilities, "calibration_slope"),
    (_of_three_classes, "brier"),
    (_of_three_classes, "auc_macro"),
    (_scores, "auc"),
    (_scores, "average_precision"),
]


@pytest.mark.long
@pytest.mark.parametrize(("make", "measure"), EVIDENCE)
def test_a_gap_of_equal_groups_is_mostly_noise(make, measure):
    found = bcm.gap(make(6), measure, draws=500)
    lower, upper = found.values
    assert 0 <= lower < upper
    assert found.point < found.observed
    assert "partially pooled" in found.how


@pytest.mark.long
@pytest.mark.parametrize(("make", "measure"), EVIDENCE)
def test_worst_slices_have_a_row_for_every_group(make, measure):
    table = bcm.worst_slices(make(4), measure, draws=500)
    assert len(table) == 4
    assert (table["examples"] == 60).all()
    assert ((table["lower"] < table["mean"]) & (table["mean"] < table["upper"])).all()
    assert table["p_bad"].is_monotonic_decreasing


@pytest.mark.long
@pytest.mark.parametrize("make", [_probabilities, _scores])
def test_the_gap_of_two_groups_is_their_comparison(make):
    evidence = make(2)
    names = evidence["group"].values
    alone = [
        bcm.distribution(evidence.isel(example=names == name).drop_vars("group"), "auc")
        for name in ("site 0", "site 1")
    ]
    rng = np.random.default_rng(4)
    first, second = (each.quantile(0.0005 + 0.001 * np.arange(1000)).values for each in alone)
    difference = np.abs(rng.permutation(first.ravel())[:, None] - second.ravel())
    found = bcm.gap(evidence, "auc", kind="eti")
    np.testing.assert_allclose(found, np.quantile(difference, [0.025, 0.975]), atol=0.01)


@pytest.mark.long
def test_a_group_that_is_far_worse_is_found():
    actual, chances, group = _columns(8)
    worse = np.where(group == "site 5", 1 - chances, chances)
    evidence = bcm.from_probabilities(actual, worse, positive=1, by={"group": group})
    table = bcm.worst_slices(evidence, "brier", draws=500)
    assert table[table["flagged"]]["group"].tolist() == ["site 5"]
    assert bcm.gap(evidence, "brier", draws=500)[0] > 0.2


@pytest.mark.long
@pytest.mark.parametrize("make", [_probabilities, _scores])
def test_systems_are_paired_in_the_gap(make):
    evidence = make(4, several=True)
    found = bcm.gap(evidence, "auc", reference="a", delta=0, draws=500)
    assert found["classifier"].values.tolist() == ["b"]
    np.testing.assert_allclose(found, 0, atol=1e-9)  # both rank the examples alike


@pytest.mark.long
def test_a_system_has_the_same_gap_alone_and_among_others():
    alone, both = (bcm.gap(_scores(5, several=each), "auc") for each in (False, True))
    np.testing.assert_allclose(both.sel(classifier="a"), alone, atol=0.01)


def test_a_group_without_a_class_is_left_out_with_a_caution():
    actual, chances, group = _columns(4)
    actual = np.where(group == "site 2", 1, actual)
    evidence = bcm.from_probabilities(actual, chances, positive=1, by={"group": group})
    found = bcm.gap(evidence, "brier", draws=500)
    assert "Groups that lack a class are left out: site 2." in found.caution
    kept = evidence.isel(example=group != "site 2")
    np.testing.assert_allclose(found, bcm.gap(kept, "brier", draws=500), atol=0.01)


def test_few_examples_of_a_class_come_with_a_caution():
    actual, chances, group = _columns(4, size=30)
    evidence = bcm.from_probabilities(actual, chances, positive=1, by={"group": group})
    found = bcm.gap(evidence, "brier", draws=500)
    assert "4 of 4 groups have fewer than 20 examples of a class" in found.caution


def test_areas_of_different_groups_are_drawn_independently():
    rng = np.random.default_rng(5)
    codes, weights = np.tile([0, 1], 30), np.ones(60)
    draws = []
    for _ in range(2):
        matrix = rng.normal(0, 1, (2, 60)) + codes
        draws.append(couple(rng.beta(20, 5, (2000, 2)), matrix, weights, codes, rng))
    between = np.corrcoef(np.concatenate(draws, axis=1).T)[:2, 2:]
    np.testing.assert_allclose(between, 0, atol=0.1)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: score_groups(_probabilities(3).drop_vars("group")), "have no groups"),
        (lambda: score_groups(_scores(3), spread=0), "spread must be a finite number > 0"),
        (
            lambda: bcm.gap(_scores(3).drop_vars("group"), "auc"),
            "Name the column of groups when you make",
        ),
        (lambda: bcm.gap(_scores(1), "auc"), "At least two groups are needed"),
    ],
)
def test_what_has_no_groups_is_refused(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()

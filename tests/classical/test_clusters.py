"""The design effect, and the effective number of examples."""

import numpy as np
import pytest

import bayescm as bcm


def sites(rng, spread, groups=40, size=30):
    """Draw sites whose recall and specificity share a random effect."""
    effect = rng.normal(0, spread, groups)
    rate = 1 / (1 + np.exp(-1.0 - effect))
    tp, tn = rng.binomial(size, rate), rng.binomial(size, rate)
    cells = {"tp": tp, "fn": size - tp, "fp": size - tn, "tn": tn}
    return bcm.from_cells(**cells).rename(batch="group")


def test_copies_of_every_example_double_the_effect():
    rng = np.random.default_rng(0)
    once = sites(rng, 1.0)
    one, two = (float(bcm.classical.design_effect(each, "accuracy")) for each in (once, once * 2))
    assert two == pytest.approx(2 * one)


@pytest.mark.long
@pytest.mark.parametrize("measure", ["recall", "f1", "mcc"])
def test_independent_examples_have_no_effect(measure):
    rng = np.random.default_rng(1)
    result = [float(bcm.classical.design_effect(sites(rng, 0.0), measure)) for _ in range(60)]
    assert np.median(result) < 1.15


@pytest.mark.long
def test_the_effect_is_that_of_the_variance():
    rng = np.random.default_rng(2)
    drawn = [sites(rng, 1.0) for _ in range(400)]
    shares = np.array([float(bcm.measure(each.sum("group"), "recall").recall) for each in drawn])
    alone = shares.mean() * (1 - shares.mean()) / (40 * 30)
    effects = [float(bcm.classical.design_effect(each, "recall")) for each in drawn[:60]]
    assert np.mean(effects) == pytest.approx(shares.var() / alone, rel=0.2)


@pytest.mark.long
@pytest.mark.slow
def test_the_shortcut_covers_where_the_plain_interval_does_not():
    rng = np.random.default_rng(3)
    truth = float(np.mean(1 / (1 + np.exp(-1.0 - rng.normal(0, 1.0, 2_000_000)))))
    covered = {"plain": 0, "worth": 0}
    for _ in range(200):
        counts = sites(rng, 1.0)
        tables = {
            "plain": counts.sum("group"),
            "worth": bcm.classical.effective_counts(counts, "recall"),
        }
        for name, table in tables.items():
            low, high = bcm.interval(table, "recall", kind="eti").values
            covered[name] += low <= truth <= high
    assert covered["worth"] / 200 >= 0.90
    assert covered["plain"] / 200 < 0.80  # the negative control


def test_the_worth_keeps_the_shares():
    counts = sites(np.random.default_rng(4), 1.0)
    worth = bcm.classical.effective_counts(counts, "f1")
    effect = float(bcm.classical.design_effect(counts, "f1"))
    np.testing.assert_allclose(worth * effect, counts.sum("group"))
    assert "group" not in worth.dims


def test_groups_are_needed_and_one_number():
    with pytest.raises(ValueError, match="At least two groups are needed"):
        bcm.classical.design_effect(bcm.from_cells(tp=1, fn=1, fp=1, tn=1), "f1")
    tables = np.stack([np.eye(3, dtype=int) + 2] * 3)
    many = bcm.from_matrix(tables, labels=list("abc"), dims=("group",))
    with pytest.raises(ValueError, match="one value per class"):
        bcm.classical.design_effect(many, "recall")

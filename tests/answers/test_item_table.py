"""Tables of items: means and item-rest correlations, against loops and scipy."""

import numpy as np
import pytest
from scipy import stats

import bayescm as bcm

RNG = np.random.default_rng(3)
ABILITY = np.linspace(-1.5, 1.5, 8)
SCORES = (RNG.random((8, 40)) < 1 / (1 + np.exp(-ABILITY[:, None] - RNG.normal(0, 1, 40)))) * 1.0
NAMES = [f"s{i}" for i in range(8)]


def evidence(scores=SCORES):
    return bcm.from_item_scores(dict(zip(NAMES, scores, strict=False)), range=(0, 1))


def test_correlations_are_those_of_scipy():
    table = bcm.item_table(evidence(), prob=0.9)
    assert table["mean"].tolist() == pytest.approx(SCORES.mean(axis=0).tolist())
    for item, row in table.iterrows():
        rest = np.delete(SCORES, item, axis=1).mean(axis=1)
        if np.ptp(SCORES[:, item]) == 0:
            assert np.isnan(row["correlation"])
            continue
        expected = stats.pearsonr(SCORES[:, item], rest)
        assert row["correlation"] == pytest.approx(expected.statistic)
        ends = expected.confidence_interval(0.9)
        assert (row["lower"], row["upper"]) == pytest.approx((ends.low, ends.high))


def test_a_wrong_key_has_a_negative_correlation():
    turned = SCORES.copy()
    item = int(np.argmax(bcm.item_table(evidence())["correlation"]))
    turned[:, item] = 1 - turned[:, item]
    assert bcm.item_table(evidence(turned)).loc[item, "correlation"] < -0.3


def test_attempts_count_by_their_shares():
    answers = RNG.integers(0, 2, (5, 12, 4))
    attempts = bcm.from_attempts(dict(zip("abcde", answers, strict=True)))
    scores = bcm.from_item_scores(dict(zip("abcde", answers.mean(-1), strict=True)), range=(0, 1))
    np.testing.assert_allclose(
        bcm.item_table(attempts)["correlation"], bcm.item_table(scores)["correlation"]
    )


@pytest.mark.long
def test_systems_that_answered_different_items_are_cautioned_of():
    items = {"a": ["w", "x", "y", "z"], "b": ["w", "x", "y", "z"], "c": ["w", "x", "y"]}
    scores = {"a": [1, 1, 0, 0], "b": [1, 0, 0, 0], "c": [1, 1, 1]}
    members = {
        name: bcm.from_item_scores(scores[name], item=labels, range=(0, 1))
        for name, labels in items.items()
    }
    table = bcm.item_table(members)
    assert table["systems"].tolist() == [3, 3, 3, 2]
    assert "different items" in table.attrs["caution"]
    assert "0.67 (c)" in table.attrs["caution"]  # the mean of 1, 2/3 and 1/3
    assert "caution" not in bcm.item_table(evidence()).attrs
    compared = bcm.compare(members, "mean")
    assert "4 (a), 4 (b), 3 (c). All of them answered 3 items" in compared.attrs["caution"]
    same = bcm.compare({"a": members["a"], "b": members["b"]}, "mean")
    assert "same items but are compared as independent" in same.attrs["caution"]
    unlabelled = {name: bcm.from_item_scores(scores[name], range=(0, 1)) for name in "ab"}
    assert "items" not in bcm.compare(unlabelled, "mean").attrs.get("caution", "")
    with pytest.raises(ValueError, match="several systems"):
        bcm.item_table({"x": evidence()})


def test_few_systems_have_no_intervals_and_one_is_an_error():
    table = bcm.item_table(evidence(SCORES[:3]))
    assert table["lower"].isna().all()
    assert table["correlation"].notna().any()
    with pytest.raises(ValueError, match="A correlation needs at least two systems"):
        bcm.item_table(evidence(SCORES[:1]))
    with pytest.raises(TypeError, match="counts has no items with scores"):
        bcm.item_table(bcm.from_cells(tp=1, fn=1, fp=1, tn=1))

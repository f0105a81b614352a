"""Numbers of items: against the normal approximation, and by the intervals themselves."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.planning import plan_item_scores

RNG = np.random.default_rng(1)
A = RNG.beta(5, 2, 200)
B = np.clip(A + RNG.normal(0.02, 0.1, 200), 0, 1)


@pytest.mark.long
def test_a_width_takes_as_many_items_as_the_normal_approximation():
    pilot = bcm.from_item_scores(A, range=(0, 1))
    (row,) = plan_item_scores(pilot, width=0.04, assurance=0.5).itertuples()
    assert row.unit == "items"
    assert row.n == pytest.approx((2 * 1.96 * A.std() / 0.04) ** 2, rel=0.1)


@pytest.mark.long
def test_a_difference_takes_as_many_items_as_the_power_of_a_test():
    pilot = bcm.from_item_scores({"b": B, "a": A}, range=(0, 1))
    (row,) = plan_item_scores(pilot, difference=0.02, assurance=0.8).itertuples()
    assert row.n == pytest.approx(((1.96 + 0.84) * (B - A).std() / 0.02) ** 2, rel=0.2)
    assert row.assurance >= 0.8


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({}, "A plan needs exactly one of width"),
        ({"width": 0.1, "difference": 0.1}, "A plan needs exactly one of width"),
        ({"difference": 0.1}, "difference needs exactly two systems|difference must name two"),
        ({"width": 0.05, "replications": 3}, "replications"),
    ],
)
def test_what_is_refused(keywords, words):
    with pytest.raises(ValueError, match=words):
        plan_item_scores(bcm.from_item_scores(A, range=(0, 1)), **keywords)
    with pytest.raises(ValueError, match="The pilot has only"):
        plan_item_scores(bcm.from_item_scores(A[:5]), width=0.1)


@pytest.mark.long
def test_items_in_clusters_are_planned_in_clusters():
    rng, cluster = np.random.default_rng(3), np.repeat(np.arange(30), 4)
    effect = rng.normal(0, 0.12, 30)[cluster]
    scores = np.clip(0.6 + effect + rng.normal(0, 0.15, 120), 0, 1)
    pilot = bcm.from_item_scores(scores, range=(0, 1), group=cluster)
    (row,) = plan_item_scores(pilot, width=0.06, assurance=0.5).itertuples()
    assert row.unit == "clusters, of 4 items on average"
    of_clusters = scores.reshape(30, 4).mean(axis=1).std(ddof=1)
    assert row.n == pytest.approx((2 * 1.96 * of_clusters / 0.06) ** 2, rel=0.1)
    (alike,) = plan_item_scores(pilot.drop_vars("group"), width=0.06, assurance=0.5).itertuples()
    assert 4 * row.n > 1.5 * alike.n
    few = bcm.from_item_scores(scores, range=(0, 1), group=cluster % 6)
    with pytest.raises(ValueError, match=r"The pilot has only .* clusters"):
        plan_item_scores(few, width=0.06)
    weighed = bcm.from_item_scores(scores, weights=1 + scores, weights_are="importance")
    with pytest.raises(ValueError, match="items with equal weights"):
        plan_item_scores(weighed, width=0.06)


@pytest.mark.long
def test_three_systems_are_planned_pair_by_pair_with_an_error():
    rng = np.random.default_rng(3)
    shared = 0.5 * rng.random(60)
    systems = {name: shared + 0.5 * rng.random(60) for name in "abc"}
    pilot = bcm.from_item_scores(systems, range=(0, 1))
    asked = {"difference": 0.06, "assurance": 0.8, "replications": 200}
    plans = plan_item_scores(pilot, **asked)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(zip(plans["first"], plans["second"], strict=True)) == pairs
    (alone,) = plan_item_scores(pilot.sel(classifier=["a", "b"]), **asked).itertuples()
    assert plans.loc[0, "n"] == alone.n
    of_reference = plan_item_scores(pilot, **asked, reference="b")
    assert of_reference[["first", "second"]].values.tolist() == [["a", "b"], ["c", "b"]]
    with pytest.raises(ValueError, match="The reference 'd' is not one of the systems"):
        plan_item_scores(pilot, **asked, reference="d")
    two = pilot.sel(classifier=["a", "b"])
    numbers = [plan_item_scores(two, **asked, random_seed=seed)["n"][0] for seed in range(12)]
    assert np.std(numbers, ddof=1) == pytest.approx(alone.error, rel=0.6)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.* differ in .* items:UserWarning")
@pytest.mark.parametrize("kind", ["hdi", "eti"])
def test_pairs_have_the_intervals_of_compare_also_with_few_items(kind):
    rng = np.random.default_rng(4)
    one = rng.beta(4, 2, 30)
    two = np.clip(one + rng.normal(0, 0.1, 30) * (rng.random(30) < 0.4), 0, 1)
    pilot = bcm.from_item_scores({"one": one, "two": two}, range=(0, 1))
    asked = {"width": 0.05, "assurance": 0.5, "kind": kind}
    (plan,) = plan_item_scores(pilot, **asked, replications=1000).itertuples()
    assert plan.n < 40
    # The posterior of the pilot, written down once more: items, ends, and two pseudo-items.
    widths, largest = [], np.abs(one - two).max()
    for _ in range(300):
        center, side = rng.integers(30, size=2), rng.choice([-0.5, 0.5], 2) * largest
        middle = np.clip(one[center], largest / 2, 1 - largest / 2)
        middle_of_two = np.clip(two[center], largest / 2, 1 - largest / 2)
        scores = np.array([[*one, 0, 1, *(middle + side)], [*two, 0, 1, *(middle_of_two - side)]])
        share = np.concatenate([rng.exponential(size=30), rng.gamma(0.5, size=4)])
        chosen = rng.choice(34, int(plan.n), p=share / share.sum())
        drawn = bcm.from_item_scores(dict(zip("ab", scores[:, chosen], strict=True)), range=(0, 1))
        table = bcm.compare(drawn, "mean", kind=kind)
        widths.append(float(table["upper"][0] - table["lower"][0]))
    assert np.median(widths) == pytest.approx(0.05, rel=0.04)

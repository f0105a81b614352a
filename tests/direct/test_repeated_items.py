"""The rates of items that were answered several times."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.direct.shares import NARROW, SUPPORT, of_items
from bayescm.measures import resolve

RNG = np.random.default_rng(5)
RATES = RNG.choice([0, 0.1, 0.8, 1], 60)
ANSWERS = (RNG.random((60, 8)) < RATES[:, None]).astype(float)
MEASURES = ["mean", "pass_at(4)", "pass_all(4)", "majority_at(5)", "variance_between"]


@pytest.fixture(scope="module")
def evidence():
    return bcm.from_attempts(ANSWERS)


def gibbs(right, sweeps=1500):
    """Draw from the posterior of the model itself, by alternating items and shares."""
    rng, prior = np.random.default_rng(0), np.full(21, 0.9 / 19)
    prior[[0, -1]] = 0.05
    likely, share, drawn = (
        NARROW.likelihood(np.stack([right, np.full(len(right), 8.0)], 1)),
        prior,
        [],
    )
    for _ in range(sweeps):
        chance = share * likely
        edges = np.cumsum(chance / chance.sum(1, keepdims=True), axis=1)
        own = (rng.random((len(right), 1)) > edges).sum(1).clip(max=20)
        share = rng.dirichlet(prior + np.bincount(own, minlength=21) + 1e-12)
        drawn.append(share)
    return np.array(drawn[200:])


def test_the_bootstrap_is_near_the_posterior_of_the_model(evidence):
    exact = gibbs(ANSWERS.sum(1)) @ (1 - (1 - SUPPORT) ** 4)
    (drawn,) = bcm.direct.repeated_items(evidence).draw(
        [resolve("pass_at(4)")], 1000, np.random.default_rng(0)
    )
    assert drawn.mean() == pytest.approx(exact.mean(), abs=0.015)
    assert drawn.std() == pytest.approx(exact.std(), rel=0.2)


def test_the_items_at_hand_are_known_best_and_a_new_one_least(evidence):
    width = {
        of: float(bcm.interval(evidence, "pass_at(4)", of=of, kind="eti").diff("bound").item())
        for of in ("finite", "population", "new")
    }
    assert width["finite"] < width["population"] < width["new"]
    points = bcm.mean(evidence, MEASURES, of="finite")
    unbiased = 1 - np.array([_none(8 - int(x)) for x in ANSWERS.sum(1)])
    assert float(points.sel(measure="pass_at(4)")) == pytest.approx(unbiased.mean(), abs=0.03)
    assert float(points.sel(measure="mean")) == pytest.approx(ANSWERS.mean(), abs=0.01)


def _none(wrong):
    """Return the chance that four of eight answers are all among the wrong ones."""
    return np.prod([max(wrong - each, 0) / (8 - each) for each in range(4)])


def test_systems_are_paired_by_their_items():
    harder = (RNG.random((60, 8)) < 0.9 * RATES[:, None]).astype(float)
    both = bcm.from_attempts({"a": ANSWERS, "b": harder})
    paired = bcm.compare(both, "mean").iloc[0]
    apart = bcm.compare({"a": bcm.from_attempts(ANSWERS), "b": bcm.from_attempts(harder)}, "mean")
    assert paired["paired"]
    assert paired["sd"] < 0.6 * apart["sd"][0]
    assert paired["mean"] == pytest.approx(ANSWERS.mean() - harder.mean(), abs=0.02)


def test_one_answer_does_not_tell_systems_apart():
    other = ANSWERS.copy()
    place = tuple(np.argwhere(other == 0)[0])
    other[place] = 1
    solved = {"a": np.ones((10, 3)), "b": np.ones((10, 5))}  # more attempts are no better answers
    for given in ({"a": ANSWERS, "b": other}, solved):
        row = bcm.compare(bcm.from_attempts(given), "mean").iloc[0]
        assert 0.1 < row["p_better"] < 0.9
        assert row["lower"] < 0 < row["upper"]


def test_more_answers_than_there_are_is_refused(evidence):
    with pytest.raises(ValueError, match="sample 32 answers to each item"):
        bcm.interval(evidence, "pass_at(32)")
    with pytest.raises(ValueError, match="every item has one attempt"):
        bcm.interval(bcm.from_attempts(ANSWERS[:, :1]), "mean")
    with pytest.raises(ValueError, match="concentration must be positive"):
        bcm.interval(evidence, "mean", concentration=0)
    with pytest.raises(ValueError, match="not a measure of attempts"):
        bcm.interval(evidence, "f1")
    with pytest.raises(ValueError, match="pass_at needs a number"):
        bcm.interval(evidence, "pass_at(0)")
    with pytest.raises(ValueError, match=r"the measure trace failed.*It got .*attempts.Rates"):
        bcm.interval(evidence, np.trace)
    with pytest.raises(ValueError, match="not a measure of cells"):
        bcm.interval(bcm.from_cells(tp=1, fn=1, fp=1, tn=1), "pass_at(2)")


def test_a_fit_has_the_shares_of_all_rates(evidence):
    found = bcm.direct.repeated_items(evidence).variables(50, np.random.default_rng(0))["share"]
    assert found.shape == (50, 21)
    np.testing.assert_allclose(found.sum(1), 1)


def test_items_of_a_group_are_drawn_together():
    group = np.repeat(np.arange(12), 5)
    rng = np.random.default_rng(2)
    rates = np.repeat(rng.random(12), 5)
    table = (rng.random((60, 4)) < rates[:, None]).astype(float)
    grouped, alone = bcm.from_attempts(table, group=group), bcm.from_attempts(table)
    width = {
        name: float(bcm.interval(each, "mean", kind="eti").diff("bound").item())
        for name, each in {"grouped": grouped, "alone": alone}.items()
    }
    # All items of a group are alike: twelve draws, and not sixty.
    means = table.reshape(12, -1).mean(1)
    normal = 2 * 2.2 * means.std(ddof=1) / 12**0.5  # of eleven degrees of freedom
    assert width["grouped"] == pytest.approx(normal, rel=0.2)
    assert width["grouped"] > 1.5 * width["alone"]
    few = bcm.from_attempts(table, group=np.repeat(range(4), 15))
    with pytest.raises(ValueError, match="too few groups of items"):
        bcm.interval(few, "mean")
    with pytest.raises(ValueError, match="drop_vars"):
        bcm.models.repeated_items(grouped)


def test_a_majority_of_answers_is_their_plurality(evidence):
    # No two wrong answers are equal: two right ones of three are enough, and one in a third.
    place = np.arange(1, 9) * np.ones((60, 1))
    apart = bcm.from_attempts(np.where(ANSWERS == 1, 0, place), truth=np.zeros(60))
    same = bcm.from_attempts(1 - ANSWERS, truth=np.zeros(60))
    found = {}
    for name, each in {"apart": apart, "same": same, "half": evidence}.items():
        answer = bcm.interval(each, "majority_at(3)", of="finite", kind="eti")
        found[name] = answer.mean().item(), answer.attrs["how"]
    p = RATES
    assert found["apart"][0] == pytest.approx(
        np.mean(p**3 + 3 * p**2 * (1 - p) + p * (1 - p) ** 2), abs=0.03
    )
    assert found["same"][0] == pytest.approx(found["half"][0], abs=0.01)
    assert found["apart"][0] > found["half"][0] + 0.01
    assert found["apart"][1].endswith("the plurality of the answers")
    assert found["half"][1].endswith("more than half right")
    half = bcm.interval(apart.drop_vars("answer"), "majority_at(3)", of="finite", kind="eti")
    assert half.attrs["how"] == found["half"][1]
    # What is no vote does not go by the answers.
    assert bcm.interval(apart, "mean").equals(bcm.interval(evidence, "mean"))


def test_pluralities_are_not_compared_with_majorities(evidence):
    known = bcm.from_attempts(1 - ANSWERS, truth=np.zeros(60))
    with pytest.raises(ValueError, match="the answers themselves are not known of b"):
        bcm.compare({"a": known, "b": evidence}, "majority_at(3)")
    assert len(bcm.compare({"a": known, "b": evidence}, "mean")) == 1


def test_systems_are_paired_by_their_items_where_answers_are_known():
    wrong = RNG.integers(1, 4, ANSWERS.shape)
    first = np.where(ANSWERS == 1, 0, wrong)
    second = np.where(RNG.random(first.shape) < 0.2, 0, first)
    both = bcm.from_attempts({"a": first, "b": second}, truth=np.zeros(60))
    paired = bcm.compare(both, "majority_at(3)").iloc[0]
    apart = bcm.compare({k: both.sel(classifier=k) for k in "ab"}, "majority_at(3)")
    assert paired["sd"] < 0.7 * apart["sd"][0]
    assert paired["p_better"] < 0.05


def test_items_are_drawn_given_their_answers():
    rng = np.random.default_rng(1)
    weight = rng.dirichlet(np.ones(21), 4000)
    kinds = np.array([[2.0, 8.0], [6.0, 8.0]])
    likely = NARROW.likelihood(kinds)
    chance = np.array(
        [(weight * row / (weight * row).sum(1, keepdims=True)).mean(0) for row in likely]
    )
    for count in ([3, 2], [40, 2]):
        drawn = of_items(weight, likely, np.array(count), rng)
        assert (drawn.sum(1) == sum(count)).all()
        np.testing.assert_allclose(drawn.mean(0), count @ chance, atol=0.02 * sum(count))

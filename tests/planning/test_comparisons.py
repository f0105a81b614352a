"""Plans of comparisons against simulation and a published formula."""

import numpy as np
import pytest
from scipy import special

import bayescm as bcm
from bayescm.distributions.beta import Beta


@pytest.mark.long
def test_plan_of_a_comparison_agrees_with_simulation():
    plan = bcm.planning.plan_comparison(difference=0.1, agreement=0.7, p_better=0.95).iloc[0]
    n = int(plan["n"])
    rng = np.random.default_rng(3)
    wins, losses, _ = rng.multinomial(n, [0.2, 0.1, 0.7], 50_000).T
    passed = Beta(wins + 0.5, losses + 0.5).sf(0.5) >= 0.95
    assert passed.mean() == pytest.approx(plan["assurance"], abs=0.006)


def test_planned_probability_is_the_one_that_compare_gives():
    n, wins, losses = 60, 12, 4
    actual = np.ones(n, int)
    actual[: n // 2] = 0
    better, worse = actual.copy(), actual.copy()
    worse[np.r_[:6, 30:36]] ^= 1
    better[np.r_[6:8, 36:38]] ^= 1
    both = bcm.from_classifiers(actual, {"a": better, "b": worse}, positive=1)
    p_better = bcm.compare(both, "accuracy")["p_better"].iloc[0]
    assert p_better == pytest.approx(Beta(wins + 0.5, losses + 0.5).sf(0.5), abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("difference", "agreement"), [(0.03, 0.9), (0.1, 0.7), (0.05, 0.85)])
def test_plan_is_near_connors_size_of_a_mcnemar_test(difference, agreement):
    # Connor (1987), doi:10.2307/2531961: one-sided level .05, power .8.
    share = 1 - agreement
    level, power = special.ndtri([0.95, 0.8])
    published = share * (level + power * np.sqrt(1 - difference**2 / share)) ** 2 / difference**2
    options = {"difference": difference, "agreement": agreement, "assurance": 0.8}
    n = bcm.planning.plan_comparison(**options)["n"].iloc[0]
    assert n == pytest.approx(published, rel=0.04)


def test_classifiers_that_agree_cannot_differ():
    with pytest.raises(ValueError, match="is impossible with an agreement"):
        bcm.planning.plan_comparison(difference=0.2, agreement=0.9)

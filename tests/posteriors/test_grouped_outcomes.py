"""Pairs in groups: the single groups' limits."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import posteriors
from bayescm.measures import resolve
from bayescm.posteriors.grouped_outcomes import grouped_outcomes


def simulated(groups=6, n=600, spread=0.0, seed=2, levels=(1.8, 1.2)):
    rng = np.random.default_rng(seed)
    actual = rng.integers(2, size=n)
    group = np.arange(n) % groups
    easy = rng.normal(0, spread, groups)[group]
    answers = {}
    for name, level in zip("ab", levels, strict=True):
        right = rng.random(n) < 1 / (1 + np.exp(-level - easy))
        answers[name] = np.where(right, actual, 1 - actual)
    return actual, answers, group


def test_no_variation_is_the_joint_table_of_all_groups():
    actual, answers, group = simulated()
    outcomes = bcm.from_classifiers(actual, answers, by={"group": group})
    theta = grouped_outcomes(outcomes, spread=1e-3).cells(
        "parameter", 8000, np.random.default_rng(0)
    )
    pooled = posteriors.paired_outcomes(bcm.from_classifiers(actual, answers))
    distribution = pooled.difference(resolve("accuracy"), {"classifier": 0}, {"classifier": 1})
    accuracy = resolve("accuracy")(theta)
    difference = accuracy[:, 0] - accuracy[:, 1]
    assert difference.mean() == pytest.approx(distribution.mean(), abs=0.06 * distribution.sd())
    assert difference.std() == pytest.approx(distribution.sd(), rel=0.06)


def test_a_new_group_is_less_certain_than_the_typical_one():
    outcomes = bcm.from_classifiers(*simulated(spread=1.0)[:2], by={"group": simulated()[2]})
    posterior = grouped_outcomes(outcomes)
    rng = np.random.default_rng(0)
    (typical,) = posterior.draw([resolve("accuracy")], 4000, rng)
    (new,) = posterior.draw([resolve("accuracy")], 4000, rng, of="new")
    assert new.std(0).min() > 1.5 * typical.std(0).max()


def test_comparisons_over_groups_are_paired():
    actual, answers, group = simulated(n=3000, spread=1.0, levels=(2.6, 0.8))
    outcomes = bcm.from_classifiers(actual, answers, by={"group": group})
    table = bcm.compare(outcomes, ["accuracy", "f1"], model="hierarchical_groups", random_seed=0)
    assert table["paired"].all()
    assert "group" not in table
    assert (table["p_better"] > 0.9).all()


@pytest.mark.long
def test_groups_may_be_compared_after_pooling():
    actual, answers, group = simulated(spread=1.0)
    counts = bcm.from_predictions(actual, answers["a"], by={"group": group})
    alone = "dirichlet_multinomial"
    apart = bcm.compare(counts, "accuracy", dim="group", model=alone, random_seed=0)
    near = bcm.compare(counts, "accuracy", dim="group", random_seed=0)
    assert near["mean"].abs().mean() < apart["mean"].abs().mean()
    assert near["sd"].mean() < apart["sd"].mean()


def test_groups_are_needed_and_few_joint_answers():
    actual, answers, group = simulated()
    with pytest.raises(ValueError, match="need a dimension group"):
        grouped_outcomes(bcm.from_classifiers(actual, answers))
    with pytest.raises(ValueError, match=r"need a dimension group.*fold="):
        grouped_outcomes(bcm.from_classifiers(actual, answers, by={"fold": group}))
    crowd = {f"c{i}": answers["a"] for i in range(8)}
    with pytest.raises(ValueError, match="too many joint outcomes"):
        grouped_outcomes(bcm.from_classifiers(actual, crowd, by={"group": group}))


def test_a_prevalence_that_would_change_nothing_is_refused():
    actual, answers, group = simulated()
    outcomes = bcm.from_classifiers(actual, answers, by={"group": group})
    with pytest.raises(ValueError, match=r"prevalence=0\.1 is not available.*counts of each"):
        posteriors.hierarchical_groups(outcomes, prevalence=0.1)

"""A measure is the same under every name, and a loss is one, wherever measures are taken."""

import numpy as np
import pytest
import xarray as xr

import bayescm as bcm
from bayescm import measures, online

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
RNG = np.random.default_rng(4)
ACTUAL = RNG.integers(0, 2, 120)
BOTH = bcm.from_classifiers(
    ACTUAL,
    {
        name: np.where(RNG.random(120) < error, 1 - ACTUAL, ACTUAL)
        for name, error in (("good", 0.05), ("bad", 0.4))
    },
    positive=1,
)
WEEKS = bcm.from_cells(tp=[45] * 6 + [25] * 4, fn=[5] * 6 + [25] * 4, fp=3, tn=47)
WEEKS = WEEKS.rename(batch="step")
NAMES = [(alias, name) for name in measures.names() for alias in measures.resolve(name).aliases]
NAMES += [("f2", "fbeta(2)"), ("ppv_macro", "precision_macro")]


def same_tables(one, other, alias, name):
    """Compare two tables, or datasets, but for what the measure is called in them."""
    if isinstance(one, xr.Dataset):
        assert list(one) == [alias]
        xr.testing.assert_identical(one.rename({alias: name}), other)
    else:  # but for sentences, which write each name in its own way
        one, other = (table.drop(columns="sentence", errors="ignore") for table in (one, other))
        renamed = one.map(lambda each: each.replace(alias, name) if isinstance(each, str) else each)
        assert renamed.astype(str).equals(other.astype(str))


ANSWERS = {
    "interval": lambda name: bcm.interval(COUNTS, [name]).to_dataset("measure"),
    "measure": lambda name: bcm.measure(COUNTS, name),
    "compare": lambda name: bcm.compare(BOTH, name, random_seed=1, draws=500),
    "ranks": lambda name: bcm.ranks(BOTH, name, random_seed=1, draws=500),
    "delta": lambda name: bcm.classical.delta(BOTH, name, pairs=[("good", name)]),
    "joint": lambda name: bcm.joint_interval(COUNTS, name, random_seed=1, draws=500),
    "history": lambda name: online.history(WEEKS, name),
    "alarms": lambda name: online.alarms(WEEKS, name, floor=0.7, reference=3),
}


@pytest.mark.parametrize(("alias", "name"), NAMES)
def test_a_measure_is_the_same_under_every_name(alias, name):
    for answer in ("measure", "delta", "interval"):
        same_tables(ANSWERS[answer](alias), ANSWERS[answer](name), alias, name)


@pytest.mark.parametrize("alias", ["error", "ppv_macro"])
@pytest.mark.parametrize("answer", ["compare", "ranks", "joint", "history"])
def test_every_answer_is_the_same_under_every_name(answer, alias):
    """Of a measure with a distribution of its own, and of one that is drawn."""
    name = dict(NAMES)[alias]
    same_tables(ANSWERS[answer](alias), ANSWERS[answer](name), alias, name)


def test_alarms_are_the_same_under_every_name():
    same_tables(ANSWERS["alarms"]("error"), ANSWERS["alarms"]("error_rate"), "error", "error_rate")


@pytest.mark.long
@pytest.mark.parametrize(("alias", "name"), [("sensitivity", "recall"), ("error", "error_rate")])
def test_plans_are_the_same_under_every_name(alias, name):
    keywords = {"expect": 0.8, "width": 0.4}
    same_tables(bcm.plan(alias, **keywords), bcm.plan(name, **keywords), alias, name)
    if name == "recall":
        keywords = {"difference": 0.1, "agreement": 0.8}
        plans = [bcm.planning.plan_comparison(each, **keywords) for each in (alias, name)]
        same_tables(*plans, alias, name)


def test_the_units_of_plans_are_those_of_the_measures():
    assert bcm.planning.UNITS["recall"] == measures.recall.unit == "positives"
    assert "f1" not in bcm.planning.UNITS


def test_floors_and_pairs_are_found_under_any_name():
    found = online.alarms(WEEKS, ["sensitivity", "precision"], floor={"recall": 0.8})
    floors = found[found["rule"] == "floor"]
    assert set(floors["measure"]) == {"sensitivity"}
    pairs = bcm.classical.delta(BOTH, ["ppv", "tpr"], pairs=[("good", "recall")])
    assert pairs["tpr"].notnull().sum() == 2
    assert pairs["ppv"].isnull().all()
    with pytest.raises(ValueError, match="not monitored"):
        online.alarms(WEEKS, "sensitivity", floor={"precision": 0.7})


def test_a_prior_is_elicited_under_any_name():
    named = bcm.priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20)
    other = bcm.priors.elicit(ppv=0.6, tpr=0.65, accuracy_score=0.6, weight=20)
    xr.testing.assert_identical(named, other)


# A loss is a loss


def wrong(cells):
    return (cells[..., 0, 1] + cells[..., 1, 0]) / cells.sum((-2, -1))


@pytest.mark.long
def test_a_loss_of_ones_own_is_compared_as_a_cost_is():
    loss = measures.measure(wrong, lower_is_better=True, range=(0, 1))
    for each in (loss, measures.cost([[0, 1], [1, 0]]), "error_rate"):
        row = bcm.compare(BOTH, each, random_seed=1).iloc[0]
        assert row["sentence"].startswith("good is better than bad")
        assert row["mean"] < 0
        assert "assumed" not in row["sentence"]
        ranked = bcm.ranks(BOTH, each, random_seed=1).set_index("classifier")
        assert ranked.loc["good", "p_best"] > 0.99


def test_of_a_bare_function_higher_is_better_and_the_sentence_says_so():
    row = bcm.compare(BOTH, wrong, random_seed=1).iloc[0]
    assert row["p_worse"] > 0.99
    assert row["sentence"].endswith("Higher is assumed to be better.")


@pytest.mark.long
def test_alarms_follow_the_direction_of_the_measure():
    """Of classifiers that improve or get worse, only the second raise alarms."""
    for name in ("accuracy", "error_rate", measures.measure(wrong, lower_is_better=True)):
        for weeks, worse in ((WEEKS, True), (WEEKS[::-1], False)):
            weeks = weeks.drop_vars("step", errors="ignore")
            loss = measures.resolve(name).lower_is_better
            limit = 0.15 if loss else 0.85
            found = online.alarms(weeks, name, reference=3, floor=limit, rate=0.05)
            fired = set(found["rule"])
            assert ("reference" in fired) is worse
        last = float(online.prob_worse(WEEKS[-1], WEEKS[:3].sum("step"), name))
        assert last > 0.99
        assert ("floor" in set(online.alarms(WEEKS[-4:], name, floor=limit)["rule"])) is True


def test_the_best_threshold_of_a_loss_is_where_it_is_low():
    scores = bcm.from_scores(ACTUAL, ACTUAL + RNG.normal(0, 0.7, 120))
    good = bcm.curves.best_threshold(scores, "accuracy", draws=200)
    for loss in ("error_rate", measures.measure(wrong, lower_is_better=True)):
        low = bcm.curves.best_threshold(scores, loss, draws=200)
        assert float(low.threshold) == pytest.approx(float(good.threshold))


def test_a_region_ends_where_the_measures_do():
    counts = bcm.from_cells(tp=3, fn=2, fp=2, tn=3)
    pair = ("mcc", measures.measure(wrong, range=(0, 0.9)))
    where = bcm.answers.region(counts, pair, random_seed=1, draws=4000)
    assert where["mcc"].min() >= -1
    assert where["mcc"].max() <= 1
    assert where["wrong"].min() >= 0
    assert where["wrong"].max() <= 0.9

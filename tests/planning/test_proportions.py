"""Plans of a width and of a requirement, against simulation, and what cannot be planned."""

import warnings

import numpy as np
import pytest
from scipy import stats

import bayescm as bcm
from bayescm.distributions.beta import Beta
from bayescm.distributions.differences import Discordant
from bayescm.planning import width_curve

RARE = bcm.at_prevalence(bcm.from_cells(tp=9, fn=2, fp=3, tn=9), 0.1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("measure", "kind", "expect", "width", "prior"),
    [
        ("recall", "hdi", 0.85, 0.1, 0.5),
        ("recall", "eti", 0.6, 0.2, 0.5),
        ("accuracy", "hdi", 0.95, 0.05, 1.0),
    ],
)
def test_plan_of_a_proportion_agrees_with_simulation(measure, kind, expect, width, prior):
    plan = bcm.plan(measure, expect=expect, width=width, assurance=0.9, kind=kind).iloc[0]
    rng = np.random.default_rng(1)

    def reached(n):
        x = rng.binomial(n, expect, 40_000)
        ends = getattr(Beta(x + prior, n - x + prior), kind)(0.95)
        return (ends[:, 1] - ends[:, 0] <= width).mean()

    n = int(plan["n"])
    assert reached(n) == pytest.approx(plan["assurance"], abs=0.006)
    assert reached(round(1.02 * n) + 1) >= 0.895
    assert reached(int(0.97 * n)) < 0.9


@pytest.mark.long
def test_plan_from_a_pilot_is_larger_the_less_the_pilot_knows():
    pilots = [bcm.from_cells(tp=17 * k, fn=3 * k, fp=10 * k, tn=20 * k) for k in (2, 20)]
    small, large = (int(bcm.plan("recall", pilot=p, width=0.1).n.iloc[0]) for p in pilots)
    fixed = int(bcm.plan("recall", expect=0.85, width=0.1).n.iloc[0])
    assert small > large > fixed * 0.9


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_the_assurance_that_is_said_is_no_less_than_asked_for(seed):
    pilot = bcm.from_cells(tp=10, fn=2, fp=3, tn=20)
    plan = bcm.plan("f1", pilot=pilot, width=0.3, replications=500, random_seed=seed).iloc[0]
    assert 0.9 <= plan.assurance < 0.93


def test_plan_by_simulation_agrees_with_a_fresh_one_and_says_its_error():
    pilot = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    plan = bcm.plan("f1", pilot=pilot, width=0.1, replications=2000).iloc[0]
    rng = np.random.default_rng(7)
    theta = rng.dirichlet([30.5, 35.5, 15.5, 65.5], 4000)
    tn, fp, fn, tp = rng.multinomial(int(plan["n"]), theta).T
    ends = bcm.interval(bcm.from_cells(tp=tp, fn=fn, fp=fp, tn=tn), "f1").values
    assert np.mean(ends[:, 1] - ends[:, 0] <= 0.1) == pytest.approx(0.9, abs=0.03)
    assert 0 < plan["error"] < 0.05 * plan["n"]


@pytest.mark.long
def test_plan_from_a_prior_asks_for_what_its_own_mixture_asks():
    prior = bcm.priors.elicit(prevalence=0.5, recall=0.85, specificity=0.8, weight=200)
    n = int(bcm.plan("recall", pilot=prior, width=0.1)["n"].iloc[0])
    rng = np.random.default_rng(4)
    share = rng.beta(0.85 * 100, 0.15 * 100, 40_000)
    x = rng.binomial(n, share)
    ends = Beta(x + 0.5, n - x + 0.5).hdi(0.95)
    assert np.mean(ends[:, 1] - ends[:, 0] <= 0.1) == pytest.approx(0.9, abs=0.01)


def test_width_curve_falls_as_one_over_the_root_of_n():
    curve = width_curve("recall", [100, 400, 1600], expect=0.8)
    ratios = curve["mean"].values[:-1] / curve["mean"].values[1:]
    assert ratios == pytest.approx([2, 2], abs=0.05)
    for option in ({"prob": 2}, {"assurance": 7}, {"kind": "hpd"}):
        with pytest.raises(ValueError, match=next(iter(option))):
            width_curve("recall", [100], expect=0.8, **option)


@pytest.mark.parametrize(("expect", "n"), [(0.5, 100.36), (0.6, 96.36), (0.8, 64.95)])
def test_mean_width_is_that_of_wilsons_interval_where_presize_plans_it(expect, n):
    # presize 0.0.1, prec_prop(p, conf.width = .192): the published example of its manual.
    curve = width_curve("recall", [round(n)], expect=expect)
    assert curve["mean"].iloc[0] == pytest.approx(0.192, rel=0.03)


@pytest.mark.parametrize("kind", ["hdi", "eti"])
@pytest.mark.parametrize("prior", [0.5, 1.0])
def test_an_interval_widens_with_every_success_up_to_the_half(kind, prior):
    for n in (1, 2, 7, 40, 301):
        x = np.arange(n // 2 + 1)
        ends = getattr(Beta(prior + x, prior + n - x), kind)(0.95)
        assert np.all(np.diff(ends[:, 1] - ends[:, 0]) >= -1e-12)


@pytest.mark.long
@pytest.mark.parametrize(
    "truth", [{"expect": 0.7}, {"pilot": bcm.from_cells(tp=9, fn=4, fp=3, tn=8)}]
)
@pytest.mark.parametrize("width", [0.05, 0.3])
def test_smallest_size_is_the_last_that_falls_short_and_one(truth, width):
    plan = bcm.plan("recall", width=width, assurance=0.8, **truth).iloc[0]
    n = int(plan["n"])
    around = [n - 1, n, n + 1, n + 7, n + 20]
    assured = width_curve("recall", around, assurance=0.8, **truth)["assured"].values
    assert assured[0] > width
    assert np.all(assured[1:] <= width)


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 1.2}, "width"),
        ({"assurance": 1}, "assurance"),
        ({"expect": None}, "needs a plausible value or a pilot"),
        ({"expect": 2}, "expect"),
        ({"measure": "f1"}, "not one proportion"),
        ({"width": "0.1"}, "width must be a number"),
        ({"measure": "recal"}, "Unknown measure"),
        ({"width": 1e-5}, "No sample size"),
    ],
)
def test_widths_that_cannot_be_planned_are_named(change, message):
    keywords = {"measure": "recall", "expect": 0.8, "width": 0.1} | change
    with pytest.raises((TypeError, ValueError), match=message):
        bcm.plan(keywords.pop("measure"), **keywords)


def test_accuracy_of_three_classes_is_simulated():
    pilot = bcm.from_matrix([[10, 2, 1], [3, 9, 2], [0, 1, 12]])
    plan = bcm.plan("accuracy", pilot=pilot, width=0.2, replications=200).iloc[0]
    # At n = 65 a share of .8 has an interval of 4 * sqrt(.8 * .2 / 65) = .2.
    assert 50 < plan.n < 110
    assert plan["unit"] == "examples"
    assert plan.error > 0


@pytest.mark.parametrize(
    ("measure", "pilot", "words"),
    [
        ("f1", bcm.from_matrix(np.eye(3, dtype=int) * 9 + 1), "has one value per class"),
        ("f1", RARE, "a set prevalence"),
        ("recall", RARE, "a set prevalence"),
    ],
)
def test_pilots_that_would_mislead_are_refused(measure, pilot, words):
    with pytest.raises(ValueError, match=words):
        bcm.plan(measure, pilot=pilot, width=0.2)


BOTH = ["sensitivity", "specificity"]


def test_one_proportion_is_summed_over_its_outcomes():
    plan = bcm.planning.plan_above("recall", above=0.8, expect=0.9).iloc[0]
    hits = np.random.default_rng(1).binomial(plan["n"], 0.9, 100_000)
    shown = Beta(hits + 0.5, plan["n"] - hits + 0.5).sf(0.8) >= 0.95
    assert shown.mean() == pytest.approx(plan["assurance"], abs=0.004)
    assert plan["assurance"] >= 0.9
    assert plan["unit"] == "positives"


@pytest.mark.long
@pytest.mark.parametrize(("measure", "prevalence"), [("recall", 0.2), ("specificity", 0.2)])
def test_one_measure_is_planned_in_patients(measure, prevalence):
    """Of whom a random number is ill."""
    rng = np.random.default_rng(6)
    share = prevalence if measure == "recall" else 1 - prevalence
    widths = bcm.plan(measure, expect=0.8, width=0.2, prevalence=prevalence).iloc[0]
    cases = rng.binomial(widths["n"], share, 100_000)
    bounds = Beta(np.r_[0.0:200][:, None] + 0.5, np.r_[0.0:200] + 0.5).hdi(0.95)
    narrow = (bounds[..., 1] - bounds[..., 0]) <= 0.2
    right = rng.binomial(cases, 0.8)
    assert narrow[right, cases - right].mean() == pytest.approx(widths["assurance"], abs=0.004)
    assert (cases < widths["needed"]).mean() == pytest.approx(widths["p_too_few"], abs=0.006)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few cases, as above
        asked = {"above": 0.7, "expect": 0.9, "prevalence": prevalence}
        above = bcm.planning.plan_above(measure, **asked).iloc[0]
    cases = rng.binomial(above["n"], share, 100_000)
    right = rng.binomial(cases, 0.9)
    shown = Beta(right + 0.5, cases - right + 0.5).sf(0.7) >= 0.95
    assert shown.mean() == pytest.approx(above["assurance"], abs=0.004)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.long
def test_two_measures_are_shown_together(order):
    required, plausible = np.array([0.7, 0.6]), np.array([0.9, 0.85])
    asked = {"above": required[order].tolist(), "expect": plausible[order].tolist()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few positives
        plan = bcm.planning.plan_above(
            [BOTH[k] for k in order], **asked, prevalence=0.3, assurance=0.8
        ).iloc[0]
    n, rng = int(plan["n"]), np.random.default_rng(2)
    positives = rng.binomial(n, 0.3, 100_000)
    result = rng.binomial(positives, 0.9), rng.binomial(n - positives, 0.85)
    shown = Beta(result[0] + 0.5, positives - result[0] + 0.5).sf(0.7) >= 0.95
    shown &= Beta(result[1] + 0.5, n - positives - result[1] + 0.5).sf(0.6) >= 0.95
    assert shown.mean() == pytest.approx(plan["assurance"], abs=0.005)


@pytest.mark.long
def test_widths_over_patients_are_those_of_a_random_number_of_the_ill():
    asked = {"expect": 0.9, "prevalence": 0.2}
    curve = width_curve("sensitivity", [200, 869], **asked)
    rng = np.random.default_rng(4)
    for row in curve.itertuples():
        ill = rng.binomial(row.n, 0.2, 4000)
        hits = rng.binomial(ill, 0.9)
        bounds = Beta(hits + 0.5, ill - hits + 0.5).hdi(0.95)
        widths = bounds[:, 1] - bounds[:, 0]
        assert row.mean == pytest.approx(widths.mean(), rel=0.01)
        assert row.assured == pytest.approx(np.quantile(widths, 0.9), rel=0.02)
    # The plan of this width is where the upper curve crosses it.
    assert curve["assured"][1] == pytest.approx(0.1, rel=0.02)
    figure = bcm.plots.plot_plan("sensitivity", width=0.1, n=869, **asked)
    assert figure.axes[0].get_xlabel() == "examples"


def test_a_width_is_of_one_measure_and_both_at_once_are_a_requirement():
    with pytest.raises(ValueError, match=r"planning\.plan_above"):
        bcm.plan(BOTH, width=0.1, expect=0.9)


def test_the_posterior_is_the_one_that_prob_above_gives():
    plan = bcm.planning.plan_above("recall", above=0.8, expect=0.9).iloc[0]
    hits = round(0.9 * plan["n"])
    counts = bcm.from_cells(tp=hits, fn=int(plan["n"]) - hits, fp=3, tn=9)
    probability = Beta(hits + 0.5, plan["n"] - hits + 0.5).sf(0.8)
    assert float(bcm.prob_above(counts, "recall", 0.8)) == pytest.approx(probability)


def test_a_study_that_looks_four_times():
    looks, truths = np.array([20, 40, 60, 80]), [0.8, 0.9]
    rule = {"above": 0.8, "level": 0.95, "futility": 0.1}
    table = bcm.planning.operating_characteristics("recall", looks=looks, truth=truths, **rule)
    rng = np.random.default_rng(3)
    for _, row in table.iterrows():
        hits = np.cumsum(rng.binomial(20, row["truth"], (40_000, 4)), axis=1)
        larger = Beta(hits + 0.5, looks - hits + 0.5).sf(0.8)
        stop = (larger >= 0.95) | (larger <= 0.1)
        first = np.where(stop.any(axis=1), stop.argmax(axis=1), 3)
        last = larger[np.arange(len(first)), first]
        assert (last >= 0.95).mean() == pytest.approx(row["p_success"], abs=0.01)
        assert (last <= 0.1).mean() == pytest.approx(row["p_futile"], abs=0.01)
        assert looks[first].mean() == pytest.approx(row["expected_n"], abs=0.5)
        assert row[["p_success", "p_futile", "p_open"]].sum() == pytest.approx(1)


@pytest.mark.long
def test_no_worse_by_more_than_a_margin():
    plan = bcm.planning.plan_comparison("recall", difference=0, agreement=0.9, margin=0.05).iloc[0]
    n = int(plan["n"])
    wins, losses, _ = np.random.default_rng(4).multinomial(n, [0.05, 0.05, 0.9], 4000).T
    each, back = np.unique(np.c_[wins, losses], axis=0, return_inverse=True)
    probability = Discordant(each[:, 0] + 0.25, each[:, 1] + 0.25, n - each.sum(1) + 0.5).sf(-0.05)
    assert (probability[back.ravel()] >= 0.95).mean() == pytest.approx(plan["assurance"], abs=0.025)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"above": 0.95}, "cannot be shown to exceed"),
        ({"measure": "f1"}, "is not one proportion"),
        ({"measure": BOTH, "above": [0.8, 0.8], "expect": [0.9, 0.9]}, "needs? a prevalence"),
        ({"measure": BOTH}, "values, one per measure"),
        ({"measure": "accuracy", "prevalence": 0.2}, "prevalence has no effect on a plan"),
        ({"prevalence": 1.0}, "prevalence"),
    ],
)
def test_requirements_that_cannot_be_planned_are_named(change, match):
    keywords = {"measure": "recall", "above": 0.8, "expect": 0.9} | change
    with pytest.raises(ValueError, match=match):
        bcm.planning.plan_above(keywords.pop("measure"), **keywords)


def test_looks_must_increase():
    rule = {"above": 0.8, "truth": [0.9]}
    with pytest.raises(ValueError, match="looks must be increasing"):
        bcm.planning.operating_characteristics("recall", looks=[50, 50], **rule)


@pytest.mark.long
def test_two_measures_say_how_many_of_each_class_are_needed():
    names = ["sensitivity", "specificity"]
    numbers = {"above": [0.8, 0.8], "expect": [0.95, 0.86]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few negatives
        both = bcm.planning.plan_above(names, **numbers, prevalence=0.5).iloc[0]
    for i, unit in enumerate(("positives", "negatives")):
        one = {name: values[i] for name, values in numbers.items()}
        alone = bcm.planning.plan_above(names[i], **one).iloc[0]
        assert both[f"needed_{unit}"] == alone["n"]
    positives = np.random.default_rng(1).binomial(both["n"], 0.5, 100_000)
    few = positives < both["needed_positives"]
    few |= both["n"] - positives < both["needed_negatives"]
    assert few.mean() == pytest.approx(both["p_too_few"], abs=0.005)


@pytest.mark.long
@pytest.mark.parametrize(
    ("above", "expect", "assurance"),
    [(0.99, 0.999, 0.9), (0.95, 0.99, 0.5), (0.99, 0.9999, 0.9), (0.8, 0.9, 0.9)],
)
def test_every_larger_size_reaches_the_requirement_too(above, expect, assurance):
    """One more failure allowed is a tooth of up to 1.7 / (1 - above) sizes."""
    n = bcm.planning.plan_above("recall", above=above, expect=expect, assurance=assurance)["n"][0]
    sizes = np.arange(1, 2 * n + 200)
    reached = []
    for size in sizes:
        right = size - np.arange(min(size, int(2 * (1 - above) * size)) + 1)
        shown = stats.beta.sf(above, 0.5 + right, 0.5 + size - right) >= 0.95
        reached.append(stats.binom.sf(right[shown].min() - 1, size, expect) if shown.any() else 0)
    short = sizes[np.array(reached) < assurance]
    assert short.max() == n - 1

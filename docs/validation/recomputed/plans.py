"""
Plans: assurances summed over all outcomes with scipy, and new simulations of simulated plans.

After x successes in a test set of n, the posterior is Beta(x + 1/2, n - x + 1/2). A planned n is
correct if the assurance is sufficient at n and beyond, but not at n - 1. Highest-density intervals
are found as the shortest intervals. Studies with several looks use the probabilities of the counts
that have not stopped. Comparisons of two classifiers use the trinomial distribution of the
discordant counts. Intervals of F1 are equal-tailed intervals of a beta distribution, and intervals
of areas use the method of DeLong et al. (1988) on the logit scale.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import optimize, stats
from scipy.special import bdtr, logit

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, rows, summarised

planning = bcm.planning
CASES = dict(
    enumerate(
        [
            (name,)
            for name in ("widths", "requirements", "looks", "comparisons", "F1 by a pilot", "areas")
        ],
        start=1,
    )
)
PRIOR, BEYOND_N = 0.5, 60
PILOT = [[40, 6], [5, 19]]  # actual by predicted, class 1 positive
AREA, AREA_WIDTH, PACKAGE_TEST_SETS = 0.85, 0.12, 1000


def width_of(x: np.ndarray, n: int, kind: str) -> np.ndarray:
    """Return the widths of 95% intervals of a proportion, for x successes of n."""
    if kind == "eti":
        ends = stats.beta.ppf([[0.025], [0.975]], x + PRIOR, n - x + PRIOR)
        return ends[1] - ends[0]
    return np.array([shortest(stats.beta(at + PRIOR, n - at + PRIOR)) for at in x])


def shortest(law: Any) -> float:
    """Return the width of the shortest 95% interval."""

    def width(tail):
        low, high = law.ppf([tail, tail + 0.95])
        return high - low

    inside = optimize.minimize_scalar(
        width, bounds=(0, 0.05), method="bounded", options={"xatol": 1e-10}
    )
    return min(inside.fun, width(0.0), width(0.05))


def plan_rows(question: str, n: int, reach: Callable[[int], float], assurance: float) -> Any:
    """Yield the differences of assurances from their targets, which are 0 if n is the smallest."""
    before, at = reach(n - 1), [reach(size) for size in range(n, n + BEYOND_N)]
    yield from rows(
        question,
        {"enough": Figure(0.0), "one less is not": Figure(0.0)},
        {
            "enough": Figure(max(0.0, assurance - min(at))),
            "one less is not": Figure(max(0.0, before - assurance)),
        },
    )


def of_widths() -> Iterator[Any]:
    """Yield figures of `plan` and `width_curve` of proportions."""
    for kind, expect, width in (("eti", 0.85, 0.1), ("eti", 0.97, 0.06), ("hdi", 0.8, 0.25)):
        plan = planning.plan("recall", expect=expect, width=width, kind=kind).iloc[0]
        n = int(plan["n"])

        def reach(size, kind=kind, expect=expect, width=width):
            x = np.arange(size + 1)
            narrow = width_of(x, size, kind) <= width
            return float(stats.binom.pmf(x, size, expect)[narrow].sum())

        question = f"width of a proportion, {kind}"
        yield from plan_rows(question, n, reach, 0.9)
        package, own = {"assurance": Figure(plan["assurance"])}, {"assurance": Figure(reach(n))}
        yield from rows(question, package, own)
    curve = planning.width_curve("recall", [30, 90], expect=0.85, kind="eti")
    for row in curve.itertuples():
        x = np.arange(row.n + 1)
        mass, widths = stats.binom.pmf(x, row.n, 0.85), width_of(x, row.n, "eti")
        order = widths.argsort()
        at = np.searchsorted(mass[order].cumsum(), 0.9)
        own = {"mean": Figure(float(mass @ widths)), "assured": Figure(widths[order][at])}
        yield from rows("widths by size", {k: Figure(getattr(row, k)) for k in own}, own)
    pilot = bcm.from_matrix(PILOT, labels=[0, 1], positive=1)
    plan = planning.plan("recall", pilot=pilot, width=0.25, kind="eti").iloc[0]

    def by_pilot(size):
        x = np.arange(size + 1)
        law = stats.betabinom(size, PILOT[1][1] + PRIOR, PILOT[1][0] + PRIOR)
        return float(law.pmf(x)[width_of(x, size, "eti") <= 0.25].sum())

    yield from plan_rows("width of a proportion, by a pilot", int(plan["n"]), by_pilot, 0.9)
    for area, sick, well in ((0.893, 51, 58), (0.7, 10, 200)):
        first, second = area / (2 - area), 2 * area**2 / (1 + area)
        variance = area * (1 - area) + (sick - 1) * (first - area**2)
        variance += (well - 1) * (second - area**2)
        own = {"error": Figure(np.sqrt(variance / sick / well))}
        package = {"error": Figure(planning.hanley_mcneil(area, sick, well))}
        yield from rows("error of an area", package, own)


def successes_needed(n: int, above: float, level: float) -> int:
    """Return the smallest x of n with P(rate > above) of at least the level."""
    x = np.arange(n + 1)
    is_enough = stats.beta.sf(above, x + PRIOR, n - x + PRIOR) >= level
    return int(is_enough.argmax()) if is_enough.any() else n + 1


def of_requirements() -> Iterator[Any]:
    """Yield figures of `plan_above` for one measure and for two measures."""
    for above, expect in ((0.8, 0.9), (0.95, 0.99), (0.5, 0.62)):
        plan = planning.plan_above("recall", above=above, expect=expect).iloc[0]

        def reach(size, above=above, expect=expect):
            return float(stats.binom.sf(successes_needed(size, above, 0.95) - 1, size, expect))

        yield from plan_rows("one measure above", int(plan["n"]), reach, 0.9)
        own = {"assurance": Figure(reach(int(plan["n"])))}
        yield from rows("one measure above", {"assurance": Figure(plan["assurance"])}, own)
    both = planning.plan_above(
        ["sensitivity", "specificity"], above=[0.8, 0.7], expect=[0.9, 0.85], prevalence=0.2
    ).iloc[0]
    chances: dict[tuple, float] = {}

    def chance(size, above, expect):
        key = (size, above)
        if key not in chances:
            chances[key] = stats.binom.sf(successes_needed(size, above, 0.95) - 1, size, expect)
        return chances[key]

    def of_both(size):
        sick = np.arange(size + 1)
        mass = stats.binom.pmf(sick, size, 0.2)
        return sum(
            mass[k] * chance(k, 0.8, 0.9) * chance(size - k, 0.7, 0.85)
            for k in sick
            if mass[k] > 1e-13
        )

    n = int(both["n"])
    own = {"assurance": Figure(of_both(n))}
    yield from rows("two measures above", {"assurance": Figure(both["assurance"], 1e-8)}, own)
    excess = Figure(max(0.0, of_both(n - 1) - 0.9))
    yield from rows("two measures above", {"less": Figure(0.0)}, {"less": excess})


def of_looks() -> Iterator[Any]:
    """Yield figures of `operating_characteristics`."""
    looks, truths = [40, 80, 130, 200], [0.75, 0.8, 0.86, 0.92]
    table = planning.operating_characteristics("recall", above=0.8, looks=looks, truth=truths)
    for row in table.itertuples():
        mass, before = np.array([1.0]), 0
        success = futile = expected = 0.0
        for look in looks:
            step = stats.binom.pmf(np.arange(look - before + 1), look - before, row.truth)
            mass, before = np.convolve(mass, step), look
            x = np.arange(look + 1)
            better = stats.beta.sf(0.8, x + PRIOR, look - x + PRIOR)
            stops = (better >= 0.95) | (better <= 0.05) | (look == looks[-1])
            success += mass[better >= 0.95].sum()
            futile += mass[better <= 0.05].sum()
            expected += look * mass[stops].sum()
            mass = np.where(stops, 0.0, mass)
        own = {"p_success": success, "p_futile": futile, "p_open": 1 - success - futile}
        own["expected_n"] = expected
        package = {key: Figure(getattr(row, key)) for key in own}
        yield from rows("several looks", package, {k: Figure(v) for k, v in own.items()})


def of_comparisons() -> Iterator[Any]:
    """Yield figures of `plan_comparison`."""
    for measure, difference, agreement in (("accuracy", 0.06, 0.86), ("recall", 0.1, 0.8)):
        # Prior weight of each discordant event: two of eight joint outcomes for accuracy, and one
        # of the four outcomes of positives for recall.
        prior = 2 * 2 / 8 if measure == "accuracy" else 2 / 8
        plan = planning.plan_comparison(measure, difference=difference, agreement=agreement)
        n = int(plan["n"].iloc[0])
        apart = 1 - agreement
        share = (apart + difference) / 2 / apart

        def reach(size, apart=apart, share=share, prior=prior):
            total = 0.0
            mass = stats.binom.pmf(np.arange(size + 1), size, apart)
            for differ in np.flatnonzero(mass > 1e-12):
                won = np.arange(differ + 1)
                better = stats.beta.sf(0.5, won + prior, differ - won + prior)
                wins = (better > 0.95).argmax() if (better > 0.95).any() else differ + 1
                total += mass[differ] * (1 - bdtr(wins - 1, differ, share) if wins else 1.0)
            return float(total)

        question = f"comparison by {measure}"
        own = {"assurance": Figure(reach(n), 1e-9)}
        package = {"assurance": Figure(float(plan["assurance"].iloc[0]))}
        yield from rows(question, package, own)
        excess = {"less": Figure(max(0.0, reach(n - 1) - 0.8))}
        yield from rows(question, {"less": Figure(0.0)}, excess)


def simulated(question: str, plan: Any, narrow: np.ndarray, test_sets: int) -> Iterator[Any]:
    """Yield the assurance of a plan, and the assurance in new test sets of its size."""
    own = Figure(float(narrow.mean()), np.sqrt(0.9 * 0.1 / len(narrow)))
    package = Figure(float(plan["assurance"]), np.sqrt(0.9 * 0.1 / test_sets))
    yield from rows(question, {"assurance": package}, {"assurance": own})


def of_pilot(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield the assurance of a plan for F1 with a pilot study."""
    pilot = bcm.from_matrix(PILOT, labels=[0, 1], positive=1)
    for width in (0.1, 0.2):
        options: dict[str, Any] = {"width": width, "kind": "eti"}
        plan = planning.plan("f1", pilot=pilot, replications=PACKAGE_TEST_SETS, **options).iloc[0]
        truth = rng.dirichlet(np.ravel(PILOT) + PRIOR, size)
        (_, fp, fn, tp) = rng.multinomial(int(plan["n"]), truth).T
        share = stats.beta.ppf([[0.025], [0.975]], tp + PRIOR, fp + fn + 2 * PRIOR)
        ends = 2 * share / (1 + share)
        yield from simulated("F1 by a pilot", plan, ends[1] - ends[0] <= width, PACKAGE_TEST_SETS)


def of_areas(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield the assurance of a plan for an area."""
    options: dict[str, Any] = {"expect": AREA, "width": AREA_WIDTH, "prevalence": 0.3}
    plan = planning.plan_auc(**options, replications=PACKAGE_TEST_SETS).iloc[0]
    apart = np.sqrt(2) * stats.norm.ppf(AREA)
    narrow = []
    for _ in range(size):
        sick = rng.random(int(plan["n"])) < 0.3
        score = rng.standard_normal(len(sick)) + apart * sick
        above = (score[sick][:, None] > score[~sick]).astype(float)
        area = above.mean()
        variance = above.mean(1).var(ddof=1) / above.shape[0]
        variance += above.mean(0).var(ddof=1) / above.shape[1]
        half = stats.norm.ppf(0.975) * np.sqrt(variance) / (area * (1 - area))
        low, high = 1 / (1 + np.exp(-(logit(area) + np.array([-half, half]))))
        narrow.append(high - low <= AREA_WIDTH)
    yield from simulated("areas", plan, np.array(narrow), PACKAGE_TEST_SETS)


def figures(replications: Replications, question: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every figure."""
    rng, size = replications.generator(), 100 * replications.number
    exact = {"widths": of_widths, "requirements": of_requirements}
    exact |= {"looks": of_looks, "comparisons": of_comparisons}
    if question in exact:
        yield from exact[question]()
    elif question == "F1 by a pilot":
        yield from of_pilot(rng, size)
    else:
        yield from of_areas(rng, size)


def table_rows(replications: Replications, plan: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question of a case."""
    yield from summarised(figures(replications, plan))


EXPERIMENTS = [Repeated("recomputed", CASES, table_rows, columns=["plan"], table="plans")]

"""
Test set sizes for narrow intervals, and for showing that a requirement is met.

For a measure that is a single proportion, x successes in n give the posterior Beta(a + x, b + n -
x), so the goal depends only on x. The goal is reached above or below a threshold for x, which is
found by bisection. The assurance is the probability of these x, from Binomial(n, p) with a
plausible value p, or from a beta-binomial distribution with p from a pilot. As x is an integer, the
assurance is a sawtooth function of n. A plan is the size above which it never falls below the
requested value.

For other measures, whole test sets are simulated. Their intervals shrink approximately as 1 /
sqrt(n).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.distributions.log_densities import log_beta_binomial, log_binomial
from bayescm.evidence import align, from_matrix
from bayescm.evidence.counts import COUNTS, check_true_negatives
from bayescm.evidence.registry import type_of
from bayescm.measures.catalogue import names, resolve
from bayescm.planning.search import (
    check_share,
    plan_table,
    size_error,
    size_for_width,
    smallest_size,
)
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.validate import check_kind, check_number, check_prob, check_seed, check_whole, fail

# Units of the measures that are proportions, by name.
UNITS = {name: unit for name in names() if (unit := resolve(name).unit)}


def plan(
    measure: str | Callable,
    *,
    width: float,
    assurance: float = 0.9,
    expect: float | None = None,
    pilot: xr.DataArray | xr.Dataset | None = None,
    prevalence: float | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    replications: int | None = None,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return the size of a test set that makes an interval narrow enough.

    Use this function before data are collected. The plan is based on a plausible value of the
    measure or on a pilot.

    Parameters
    ----------
    measure : str or callable
        Measure with a single value, for two classes or the classes of the pilot.
    width : float > 0
        Largest acceptable width of the interval. For counts it is below 1.
    assurance : float in (0, 1), default 0.9
        Probability of reaching the width, over future test sets.
    expect : float in (0, 1), optional
        Plausible value of the measure, for measures that are a single proportion.
    pilot : DataArray or Dataset, optional
        Pilot, as an alternative to `expect` for any measure: counts, a concentration returned by
        `bayescm.priors.elicit`, or any other evidence, such as outcomes, scores, attempts or
        ratings. The unknown truth is drawn from its posterior. The future test set is evaluated
        separately with the default prior. If the pilot contains several systems, the plan is for
        the interval of their difference, or of every pairwise difference.
    prevalence : float in (0, 1), optional
        Prevalence of positives among the examples (patients) to be enrolled, for a measure of the
        positives (recall) or the negatives (specificity). ``n`` is then the number of
        examples, and the number of positives is random.
    prob, kind : float, str
        Probability and kind of the interval.
    replications : int >= 20, optional
        Number of simulated test sets for a measure that is not a single proportion. By default 1000
        for counts, 100 for other evidence, and 20 for attempts and ratings, whose intervals take
        about a second each.
    random_seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    DataFrame, one row
        - ``measure``, ``goal``, ``unit`` (of ``n``) and ``how``.
        - ``n``: the size, and ``assurance``: the assurance at this size.
        - ``error``: standard error of ``n``, 0 if it is exact.
        - ``needed``: with `prevalence`, the number of positives (or negatives) that would reach the
          goal with the requested assurance if this number were fixed.
        - ``p_too_few``: with `prevalence`, the probability that n examples contain fewer. The
          assurance takes this into account: the goal may also be reached with fewer, but less
          often.

    Raises
    ------
    ValueError
        If neither or both of `expect` and `pilot` are given. If `expect` is given for a measure
        that is not a single proportion, or `prevalence` for a measure that does not refer to one
        class. If the pilot contains folds, groups or weights, or no size up to ten million
        suffices.

    Notes
    -----
    For evidence other than counts, the examples or items of the pilot are resampled in unknown
    proportions (`bayescm.evidence.resampling`). Outcomes that do not occur in the pilot do not
    occur in the simulated test sets. The size is extrapolated from the widths at a nearby size,
    which usually differs by less than 10% (30% for attempts and ratings), assuming that widths are
    proportional to 1 / sqrt(n). Mean item scores are planned by `plan_item_scores`, and attempts of
    one system as in `plan_attempts`. The share of labelled examples in a partly labelled pilot is
    assumed to be constant; `plan_labels` selects examples to label.

    The assurance is not monotone in n, because counts are integers. From the returned n onwards, it
    does not fall below the requested one.

    Examples
    --------
    >>> plan("recall", expect=0.85, width=0.1, assurance=0.9)[["n", "unit"]]
         n       unit
    0  226  positives
    >>> columns = ["n", "unit", "needed", "p_too_few"]
    >>> plan("recall", expect=0.85, width=0.1, prevalence=0.2)[columns].round(3)
          n      unit  needed  p_too_few
    0  1147  examples     226      0.389
    """
    if isinstance(measure, Sequence) and not isinstance(measure, str):
        raise fail(
            "A width can be planned for one measure only; got {}",
            list(measure),
            "",
            "plan each measure separately, or use planning.plan_above to show that "
            "sensitivity and specificity both exceed a value",
        )
    check_prob(prob), check_kind(kind)
    of_counts = pilot is None or type_of(pilot) is COUNTS
    if of_counts:
        check_share("width", width)
    else:
        check_number("width", width, 0, usual=0.1)
    check_share("assurance", assurance)
    if (expect is None) == (pilot is None):
        what = "The plan needs a plausible value or a pilot"
        if expect is not None:
            what = "`expect` and `pilot` cannot be combined"
        todo = (
            "pass a plausible value, `expect=0.85`, or counts of a pilot, `pilot=from_cells(...)`"
        )
        raise fail(what, ..., "", todo)
    if not of_counts:
        from bayescm.planning.resampled_pilots import plan_like

        if prevalence is not None:
            raise fail(
                "`prevalence` has no effect with a pilot that is not counts",
                ...,
                "",
                "leave it out: the test sets have the prevalence of the pilot on average",
            )
        return plan_like(
            pilot,
            measure,
            width=width,
            assurance=assurance,
            prob=prob,
            kind=kind,
            replications=replications,
            random_seed=random_seed,
        )
    resolved = resolve(measure)
    if _is_proportion(resolved, pilot):
        interval_width = partial(_interval_width, _prior(resolved), prob, kind)
        reach = _width_assurance(interval_width, width, _truth(resolved, expect, pilot))
        if prevalence is not None:
            goal = f"{prob:.4g} {kind} at most {width:.4g} wide"
            return _plan_of_examples(resolved, goal, reach, prevalence, assurance)
        n, reached = smallest_size(reach, assurance)
        error, how, unit = 0.0, "exact", resolved.unit
    else:
        if prevalence is not None:
            _check_one_class(resolved, prevalence)
        replications = 1000 if replications is None else replications
        check_whole("replications", replications, 20, "test sets", 1000)
        simulate = _simulator(resolved, pilot, prob, kind, replications, random_seed)
        n = size_for_width(simulate, width, assurance, start=100, tolerance=0.005)
        while np.mean((widths := simulate(n)) <= width) < assurance:
            n += max(1, n // 500)
        reached, error = float(np.mean(widths <= width)), size_error(n, widths, assurance)
        how, unit = f"{replications} simulated test sets", "examples"
    goal = f"{prob:.4g} {kind} at most {width:.4g} wide"
    return plan_table(resolved.__name__, goal, reached, n, unit, error, how)


def width_curve(
    measure: str | Callable,
    sizes: np.ndarray,
    *,
    expect: float | None = None,
    pilot: xr.DataArray | None = None,
    prevalence: float | None = None,
    assurance: float = 0.9,
    prob: float = 0.95,
    kind: str = "hdi",
) -> pd.DataFrame:
    """
    Return the mean and the assured width of the interval as functions of the size.

    Parameters
    ----------
    measure, expect, pilot, prevalence, assurance, prob, kind
        See `plan`.
    sizes : array_like of int
        Sizes of the test set, in the unit of the measure. With a prevalence, sizes are numbers of
        examples, and the number of positives (or negatives) is evaluated at evenly spaced
        quantiles.

    Returns
    -------
    DataFrame
        Columns ``n``, ``mean`` and ``assured`` (the width reached with the given assurance).

    Examples
    --------
    >>> width_curve("recall", [50, 200], expect=0.85).round(3)
         n   mean  assured
    0   50  0.188    0.224
    1  200  0.098    0.107
    """
    check_prob(prob), check_kind(kind)
    check_share("assurance", assurance)
    resolved = resolve(measure)
    exact = _is_proportion(resolved, pilot)
    if prevalence is not None:
        _check_one_class(resolved, prevalence)
    if exact:
        interval_width = partial(_interval_width, _prior(resolved), prob, kind)
        outcomes = _truth(resolved, expect, pilot).outcomes
        share = prevalence if resolved.unit == "positives" else 1 - (prevalence or 0)
    else:
        simulate = _simulator(resolved, pilot, prob, kind, replications=1000, random_seed=0)
    rows = []
    for n in np.asarray(sizes, int).tolist():
        if exact:
            of_class = [n] if prevalence is None else _numbers_of_class(n, share)
            tables = [(*outcomes(number), number) for number in of_class]
            widths = np.concatenate([interval_width(x, number) for x, _, number in tables])
            probability = np.concatenate([chance for _, chance, _ in tables]) / len(of_class)
        else:
            widths = simulate(n)
            probability = np.full(len(widths), 1 / len(widths))
        order = np.argsort(widths)
        index = int(np.searchsorted(probability[order].cumsum(), assurance * (1 - 1e-12)))
        assured = widths[order][min(index, len(widths) - 1)]
        rows.append((n, np.average(widths, weights=probability), assured))
    return pd.DataFrame(rows, columns=["n", "mean", "assured"])


def _numbers_of_class(n, share):
    """Return numbers of class members among n examples, at 20 equally spaced quantiles."""
    levels = (np.arange(20) + 0.5) / 20
    return np.ceil(special.bdtrik(levels, n, share)).astype(int).tolist()


def _is_proportion(measure, pilot):
    """Check whether a measure is a single proportion with a symmetric prior."""
    return bool(measure.unit) and (pilot is None or len(_concentration(pilot)) == 2)


def _prior(measure):
    """Return the default prior for a proportion, a beta distribution."""
    if not measure.unit:
        raise fail(
            f"{measure.__name__} is not one proportion",
            ...,
            "",
            "choose e.g. recall, specificity or accuracy",
        )
    return dirichlet_multinomial(np.zeros((2, 2))).exact_distribution(measure)


def _interval_width(prior, prob, kind, x, n):
    """Return the widths of the intervals after x successes in n trials."""
    posterior = replace(prior, a=prior.a + x, b=prior.b + n - x)
    bounds = getattr(posterior, kind)(prob)
    return bounds[:, 1] - bounds[:, 0]


class _PlausibleValue:
    """Plausible value of a proportion."""

    def __init__(self, p):
        self.p = p

    def outcomes(self, n):
        """Return the relevant numbers of successes in n trials, and their probabilities."""
        return binomial(n, self.p)

    def prob_outside(self, x, n):
        """Return the probabilities of at most x of n successes, or of at most x failures."""
        return special.bdtr(x, n, self.p) + special.bdtrc(n - x - 1, n, self.p)


class _PilotPosterior:
    """Distribution Beta(a, b) of a proportion, from a pilot."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def outcomes(self, n):
        """Return the numbers of successes in n trials, and their beta-binomial probabilities."""
        x = np.arange(n + 1.0)
        return x, np.exp(log_beta_binomial(x, n, self.a, self.b))

    def prob_outside(self, x, n):
        """Return the probabilities of at most x of n successes, or of at most x failures."""
        outside = []
        for most, size in zip(x, n, strict=True):
            _, probability = self.outcomes(size)
            outside.append(probability[: most + 1].sum() + probability[size - most :].sum())
        return np.array(outside)


def _truth(measure, expect, pilot):
    if expect is not None:
        check_share("expect", expect)
        return _PlausibleValue(expect)
    posterior = dirichlet_multinomial(np.zeros((2, 2)), concentration=_concentration(pilot))
    proportion = posterior.exact_distribution(measure)
    return _PilotPosterior(proportion.a, proportion.b)


def _concentration(pilot):
    """Return the Dirichlet parameters of the unknown truth: a concentration, or prior + counts."""
    if not isinstance(pilot, xr.DataArray) or pilot.ndim > 2:
        got = pilot.dims if isinstance(pilot, xr.DataArray) else type(pilot).__name__
        todo = "select one matrix, or sum over the others"
        raise fail("A pilot must be one confusion matrix", got, "", todo)
    if "prevalence" in pilot.coords:
        raise fail(
            "The pilot has a set prevalence; a plan needs the sampled one",
            ...,
            "",
            "pass the counts as they were sampled",
        )
    if pilot.name == "concentration":
        return np.asarray(align(pilot, pilot), float)
    return dirichlet_multinomial(pilot).concentration


def _width_assurance(interval_width, width, truth):
    """Return the function from sizes n to the probability that the interval is narrow enough."""

    def too_wide(x, n):
        return interval_width(x, n) > width

    def reach(n):
        # The prior is symmetric, and the interval widens with every success up to n / 2. It is
        # therefore narrow enough with at most x successes or x failures.
        x = fewest_successes(partial(too_wide, n=n), n // 2) - 1
        return np.select([2 * x >= n, x >= 0], [1.0, truth.prob_outside(x, n)], 0.0)

    return reach


def _simulator(measure, pilot, prob, kind, replications, random_seed):
    """Return the function from n to the widths of the intervals of simulated test sets."""
    from bayescm.answers.interval import interval

    if pilot is None:
        raise fail(
            f"{measure.__name__} is not one proportion, so one value does not determine it",
            ...,
            "",
            "pass the counts of a pilot, `pilot=counts`, or a concentration from "
            "bayescm.priors.elicit(...) with three plausible measures",
        )
    check_true_negatives(pilot, "the number of examples of a plan")
    concentration = _concentration(pilot)
    positive = "positive" if concentration.shape == (2, 2) else None
    labels = ["negative", "positive"] if positive else None

    def simulate(n):
        rng = np.random.default_rng(check_seed(random_seed))
        theta = rng.dirichlet(concentration.ravel(), replications)
        tables = rng.multinomial(n, theta).reshape(-1, *concentration.shape)
        counts = from_matrix(tables, labels=labels, positive=positive)
        bounds = interval(counts, measure, prob=prob, kind=kind)
        if "class" in bounds.dims:
            raise fail(
                f"{measure.__name__} has one value per class; a plan needs one number",
                ...,
                "",
                f"use e.g. {measure.__name__}_macro",
            )
        return (bounds.sel(bound="upper") - bounds.sel(bound="lower")).values

    return simulate


def plan_above(
    measure: str | Callable | Sequence[str | Callable],
    *,
    above: float | Sequence[float],
    expect: float | Sequence[float],
    level: float = 0.95,
    assurance: float = 0.9,
    prevalence: float | None = None,
) -> pd.DataFrame:
    """
    Return the size of a test set to show that measures exceed a requirement.

    The goal is a posterior probability of at least `level` that the measure exceeds `above`. For
    two measures, the goal must be reached for each of them.

    Parameters
    ----------
    measure : str, callable, or two of them
        Measure that is a single proportion, such as ``"recall"``, or one measure of the positives
        and one of the negatives, such as ``["sensitivity", "specificity"]``.
    above : float or two floats in (0, 1)
        Required values.
    expect : float or two floats in (0, 1)
        Plausible values, larger than `above`.
    level : float in (0.5, 1), default 0.95
        Posterior probability to be reached.
    assurance : float in (0, 1), default 0.9
        Probability of reaching it over future test sets, jointly for two measures.
    prevalence : float in (0, 1), optional
        Prevalence of positives in the test set. Required for two measures; for one measure, the
        size is then in examples (patients), as in `bayescm.plan`.

    Returns
    -------
    DataFrame, one row
        The plan, in the format of `bayescm.plan`. With a prevalence, ``n`` counts examples. For two
        measures, ``needed_positives`` and ``needed_negatives`` are the numbers that would reach
        each separate goal with the requested assurance, and ``p_too_few`` is the probability that n
        examples contain fewer of either. The assurance takes this into account: the goal may also
        be reached with fewer, but less often.

    Raises
    ------
    ValueError
        If a measure is not a single proportion, or the plausible value does not exceed the
        requirement. If two measures are given without a prevalence, or refer to the same class. If
        a measure with a prevalence does not refer to one class.

    Notes
    -----
    The assurance is summed exactly over all outcomes and, for two measures, over the number of
    positives in a test set of n examples. It falls whenever one more example does not yet allow one
    more failure. Some sizes below n therefore reach it as well, but n is the smallest size from
    which on all sizes do.

    Examples
    --------
    >>> plan_above("recall", above=0.8, expect=0.9)[["n", "unit"]]
         n       unit
    0  115  positives
    >>> both = ["sensitivity", "specificity"]
    >>> table = plan_above(both, above=[0.8, 0.7], expect=[0.9, 0.85], prevalence=0.6)
    >>> table[["n", "unit", "needed_positives", "needed_negatives"]]
         n      unit  needed_positives  needed_negatives
    0  213  examples               115                67
    """
    if isinstance(measure, Sequence) and not isinstance(measure, str):
        resolved_measures = [resolve(name) for name in measure]
    else:
        resolved_measures = [resolve(measure)]
    check_share("assurance", assurance)
    check_share("level", level, 0.5)
    required = _one_per_measure("above", above, resolved_measures)
    plausible = _one_per_measure("expect", expect, resolved_measures)
    reaches = [
        _requirement_assurance(*values, level)
        for values in zip(resolved_measures, required, plausible, strict=True)
    ]
    measures = [resolved.__name__ for resolved in resolved_measures]
    goals = [f"P({name} > {value:.4g})" for name, value in zip(measures, required, strict=True)]
    goal = f"{' and '.join(goals)} >= {level:.4g}"
    units = [resolved.unit for resolved in resolved_measures]
    reach, unit = reaches[0], units[0]
    teeth = [_tooth(value) for value in required]
    if len(resolved_measures) == 1 and prevalence is not None:
        return _plan_of_examples(
            resolved_measures[0], goal, reach, prevalence, assurance, tooth=teeth[0]
        )
    if len(resolved_measures) != 1:
        _check_both_classes(units, prevalence)
        by_class = dict(zip(units, zip(reaches, teeth, strict=True), strict=True))
        return _plan_of_both_classes(measures, goal, by_class, prevalence, assurance)
    n, reached = smallest_size(reach, assurance, tooth=teeth[0])
    return plan_table(" and ".join(measures), goal, reached, n, unit, 0.0, "exact")


def _tooth(above):
    """
    Return an upper bound on the number of further examples that permits one more failure.

    Without a failure, -log(1 - level) / (1 - above) examples suffice. In the long run, each further
    failure requires (1 - above)^-1 more examples, and at first 1.7 times as many.
    """
    return 2 / (1 - above) + 1


def _one_per_measure(name, numbers, measures):
    values: Any = np.ravel(numbers).tolist()
    if len(values) != len(measures):
        raise fail(
            f"{name} must have {len(measures)} values, one per measure", numbers, "", "pass a list"
        )
    for value in values:
        check_share(name, value)
    return values


def _check_both_classes(units, prevalence):
    """Raise an error unless one measure refers to the positives and the other to the negatives."""
    if sorted(map(str, units)) != ["negatives", "positives"]:
        raise fail(
            "Two measures can be planned together only if one is of the positives and the other of "
            "the negatives",
            units,
            "e.g. sensitivity and specificity",
            "plan each measure separately",
        )
    if prevalence is None:
        todo = "pass `prevalence=`, the proportion of positives in the test set"
        raise fail("A plan for two measures needs a prevalence", ..., "", todo)
    check_share("prevalence", prevalence)


def _requirement_assurance(measure, above, expect, level):
    """Return the function from sizes to the probability of meeting the requirement."""
    prior = _prior(measure)
    if not expect > above:
        todo = f"expect more than {above:g}, or require less"
        raise fail(
            f"{measure.__name__} cannot be shown to exceed {{}}, because the expected value "
            f"is {expect:g}",
            above,
            "",
            todo,
        )

    def suffices(x, n):
        return special.betaincc(prior.a + x, prior.b + n - x, above) >= level

    def reach(n):
        n = np.asarray(n, float)
        return prob_at_least(fewest_successes(partial(suffices, n=n), n), n, expect)

    return reach


def _joint_assurance(by_class, prevalence, sizes):
    """Return the joint probability that the goals of both classes are reached, over their sizes."""
    tables = [binomial(n, prevalence) for n in sizes]
    positives = np.concatenate([number for number, _ in tables])
    n = np.repeat(sizes, [len(number) for number, _ in tables])
    joint = np.concatenate([probability for _, probability in tables])
    for unit, reach in by_class.items():
        distinct, index = np.unique(
            positives if unit == "positives" else n - positives, return_inverse=True
        )
        joint = joint * reach(distinct.astype(int))[index]
    starts = np.cumsum([0, *(len(number) for number, _ in tables[:-1])])
    return np.add.reduceat(joint, starts)


def _plan_of_examples(measure, goal, reach, prevalence, assurance, *, tooth=0.0):
    """Return the plan of a measure of one class, in examples from both classes."""
    _check_one_class(measure, prevalence)
    share = prevalence if measure.unit == "positives" else 1 - prevalence
    needed, _ = smallest_size(reach, assurance, tooth=tooth)
    joint = partial(_joint_assurance, {measure.unit: reach}, prevalence)
    n, reached = smallest_size(joint, assurance, tooth=tooth / share)
    table = plan_table(measure.__name__, goal, reached, n, "examples", 0.0, "exact")
    return table.assign(needed=needed, p_too_few=special.bdtr(needed - 1, n, share))


def _plan_of_both_classes(measures, goal, by_class, prevalence, assurance):
    """Return the plan of a measure of the positives and one of the negatives, in examples."""
    shares = {"positives": prevalence, "negatives": 1 - prevalence}
    reaches = {unit: reach for unit, (reach, _) in by_class.items()}
    longest = max(tooth / shares[unit] for unit, (_, tooth) in by_class.items())
    joint = partial(_joint_assurance, reaches, prevalence)
    n, reached = smallest_size(joint, assurance, tooth=longest)
    needed = {
        unit: smallest_size(reach, assurance, tooth=tooth)[0]
        for unit, (reach, tooth) in by_class.items()
    }
    # Probability of too few positives, plus the probability of too few negatives, i.e. of more than
    # n - `needed` positives.
    too_few = special.bdtr(needed["positives"] - 1, n, prevalence)
    too_few += special.bdtrc(n - needed["negatives"], n, prevalence)
    table = plan_table(" and ".join(measures), goal, reached, n, "examples", 0.0, "exact")
    columns = {f"needed_{unit}": needed[unit] for unit in ("positives", "negatives")}
    return table.assign(**columns, p_too_few=min(too_few, 1.0))


def _check_one_class(measure, prevalence):
    """Raise an error unless a measure is a proportion of the positives or of the negatives."""
    if measure.unit not in ("positives", "negatives"):
        raise fail(
            f"`prevalence` has no effect on a plan for {measure.__name__}",
            ...,
            "",
            "leave it out; it is for measures of one class, such as recall or specificity",
        )
    check_share("prevalence", prevalence)


def operating_characteristics(
    measure: str | Callable,
    *,
    above: float,
    looks: Sequence[int],
    truth: Sequence[float],
    level: float = 0.95,
    futility: float = 0.05,
) -> pd.DataFrame:
    """
    Return the operating characteristics of a study with interim analyses.

    At each look, the study stops for success if the posterior probability that the measure exceeds
    `above` is at least `level`. It stops for futility if this probability is at most `futility`.

    Parameters
    ----------
    measure : str or callable
        Measure that is a single proportion.
    above : float in (0, 1)
        Required value.
    looks : sequence of int
        Increasing sample sizes at which the data are analysed, in the unit of the measure
        (positives for recall).
    truth : sequence of float in (0, 1)
        True values at which the rule is evaluated. If the truth is `above` or less, success is a
        false positive.
    level : float in (0.5, 1), default 0.95
        Posterior probability that is sufficient for success.
    futility : float in [0, 0.5), default 0.05
        Posterior probability at which the study stops for futility; 0 for never.

    Returns
    -------
    DataFrame
        One row per true value: ``truth``, ``p_success``, ``p_futile``, ``p_open`` (no decision at
        the last look) and ``expected_n``. Values are exact sums over all paths of the counts.

    Raises
    ------
    ValueError
        If the measure is not a single proportion, or the looks do not increase.

    Examples
    --------
    >>> looks = [50, 100, 150, 200]
    >>> rule = {"above": 0.8, "looks": looks, "truth": [0.8, 0.9]}
    >>> operating_characteristics("recall", **rule).round(3)
       truth  p_success  p_futile  p_open  expected_n
    0    0.8      0.116     0.123   0.761     175.523
    1    0.9      0.994     0.000   0.006      75.565
    """
    resolved = resolve(measure)
    check_share("level", level, 0.5)
    check_share("above", above)
    sizes = np.asarray(looks)
    if (
        sizes.dtype.kind not in "iu"
        or sizes.ndim != 1
        or not len(sizes)
        or sizes[0] < 1
        or (np.diff(sizes) < 1).any()
    ):
        raise fail("`looks` must be increasing sizes", looks, "", "sort them, e.g. [50, 100, 200]")
    if not 0 <= futility < 0.5:
        raise fail(
            "`futility` must be at least 0 and below 0.5", futility, "", "pass e.g. `futility=0.05`"
        )
    prior = _prior(resolved)
    rows = []
    for p in truth:
        check_share("truth", p)
        # Distribution of the successes in studies that have not stopped, updated at each look.
        going_on, previous = np.ones(1), 0
        p_success, p_futile, expected_n = 0.0, 0.0, 0.0
        for n in sizes:
            new = special.bdtr(np.arange(n - previous + 1), n - previous, p)
            going_on = np.convolve(going_on, np.diff(new, prepend=0.0))
            x = np.arange(n + 1)
            posterior = special.betaincc(prior.a + x, prior.b + n - x, above)
            success, futile = posterior >= level, posterior <= futility
            p_success += going_on[success].sum()
            p_futile += going_on[futile].sum()
            expected_n += n * going_on[success | futile].sum()
            going_on = np.where(success | futile, 0.0, going_on)
            previous = n
        p_open = going_on.sum()
        expected_n += previous * p_open
        rows.append((p, p_success, p_futile, p_open, expected_n))
    columns = ["truth", "p_success", "p_futile", "p_open", "expected_n"]
    return pd.DataFrame(rows, columns=columns)


def fewest_successes(suffices: Callable[[np.ndarray], np.ndarray], n: np.ndarray) -> np.ndarray:
    """
    Return the smallest sufficient number of successes for each size, n + 1 if none suffices.

    All sizes are solved simultaneously by bisection, which is valid because any larger number also
    suffices.
    """
    low, high = np.full_like(n, -1), n + 1
    while np.any(high - low > 1):
        middle = np.maximum((low + high) // 2, 0)
        enough = suffices(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def prob_at_least(x: np.ndarray, n: np.ndarray, p: float) -> np.ndarray:
    """Return the probability of at least x successes in n trials, I_p(x, n - x + 1)."""
    inner = special.betainc(np.maximum(x, 1), np.maximum(n - x + 1, 1), p)
    return np.select([x > n, x > 0], [0.0, inner], 1.0)


def binomial(n: Any, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the outcomes of n trials within nine standard deviations, and their probabilities."""
    reach = 9 * np.sqrt(n * p * (1 - p)) + 9
    x = np.arange(max(0, np.floor(n * p - reach)), min(n, np.ceil(n * p + reach)) + 1)
    return x, np.exp(log_binomial(x, n, p))

"""How many examples it takes to show that measures exceed what is required, at once or in looks."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from bayescm.direct.dirichlet_multinomial import dirichlet_multinomial
from bayescm.measures.catalogue import resolve
from bayescm.planning.sizes import binomial, check_inside, result, smallest
from bayescm.validate import fail

# Two measures are planned together if one is of the positives and the other of the negatives.
_SIDES = {"positives", "negatives"}


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
    Return the size of a test set that shows a measure, or two of them, to exceed a requirement.

    The goal is a posterior probability of at least `level` that the measure is larger than
    `above`; for two measures, of each of them.

    Parameters
    ----------
    measure : str, callable, or two of them
        A measure that is one proportion, such as ``"recall"``; or one of the positives and one of
        the negatives, such as ``["sensitivity", "specificity"]``.
    above : float or two floats in (0, 1)
        What is required.
    expect : float or two floats in (0, 1)
        The plausible values; larger than `above`.
    level : float in (0.5, 1), default 0.95
        The posterior probability to be reached.
    assurance : float in (0, 1), default 0.9
        Probability of reaching it, over future test sets; of two measures, for both at once.
    prevalence : float in (0, 1), optional
        Proportion of positives in the test set, for two measures.

    Returns
    -------
    DataFrame, one row
        As `bayescm.plan` returns it; ``n`` counts examples where there are two measures.

    Raises
    ------
    ValueError
        If a measure is not one proportion, the plausible value does not exceed what is required,
        or two measures have no prevalence or are of the same class.

    Notes
    -----
    The assurance is summed exactly over all outcomes; of two measures also over the number of
    positives that a test set of n examples has.

    Examples
    --------
    >>> plan_above("recall", above=0.8, expect=0.9)[["n", "unit"]]
         n       unit
    0  115  positives
    >>> both = ["sensitivity", "specificity"]
    >>> plan_above(both, above=[0.8, 0.7], expect=[0.9, 0.85], prevalence=0.2)[["n", "unit"]]
         n      unit
    0  542  examples
    """
    asked = (
        list(measure)
        if isinstance(measure, Sequence) and not isinstance(measure, str)
        else [measure]
    )
    kernels = [resolve(each) for each in asked]
    check_inside("assurance", assurance), check_inside("level", level, 0.5)
    required = _of_each("above", above, kernels)
    plausible = _of_each("expect", expect, kernels)
    parts = [_exceeding(*each, level) for each in zip(kernels, required, plausible, strict=True)]
    units = [kernel.unit for kernel in kernels]
    reach, unit = parts[0], units[0]
    if len(kernels) != 1 or prevalence is not None:
        _check_sides(units, prevalence)
        if units[0] == "negatives":
            parts = parts[::-1]
        reach, unit = partial(_both, parts, prevalence), "examples"
    n, reached = smallest(reach, assurance)
    names = [kernel.__name__ for kernel in kernels]
    said = [f"P({name} > {each:.4g})" for name, each in zip(names, required, strict=True)]
    goal = f"{' and '.join(said)} >= {level:.4g}"
    return result(" and ".join(names), goal, reached, n, unit, 0.0, "exact")


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
    Return how often a study that looks at its data several times stops, and how, at given truths.

    At each look the study stops for success if the posterior probability that the measure is
    larger than `above` is at least `level`, and for futility if it is at most `futility`.

    Parameters
    ----------
    measure : str or callable
        A measure that is one proportion.
    above : float in (0, 1)
        What is required.
    looks : sequence of int
        The sizes at which the data are looked at, increasing, in the unit of the measure (positives
        for a recall).
    truth : sequence of float in (0, 1)
        The true values at which the rule is judged. At `above` and below, a success is false.
    level : float in (0.5, 1), default 0.95
        The posterior probability that is enough.
    futility : float in [0, 0.5), default 0.05
        That at which the study is given up; 0 for never.

    Returns
    -------
    DataFrame
        A row for each truth: ``truth``, ``p_success``, ``p_futile``, ``p_open`` (neither at the
        last look) and ``expected_n``. Exact: summed over all paths of the counts.

    Raises
    ------
    ValueError
        If the measure is not one proportion, or the looks do not increase.

    Examples
    --------
    >>> looks = [50, 100, 150, 200]
    >>> rule = {"above": 0.8, "looks": looks, "truth": [0.8, 0.9]}
    >>> operating_characteristics("recall", **rule).round(3)
       truth  p_success  p_futile  p_open  expected_n
    0    0.8      0.116     0.123   0.761     175.523
    1    0.9      0.994     0.000   0.006      75.565
    """
    kernel = resolve(measure)
    check_inside("level", level, 0.5), check_inside("above", above)
    sizes = np.asarray(looks)
    if (
        sizes.dtype.kind not in "iu"
        or sizes.ndim != 1
        or not len(sizes)
        or sizes[0] < 1
        or (np.diff(sizes) < 1).any()
    ):
        raise fail("looks must be increasing sizes", looks, "e.g. [50, 100, 200]", "sort them")
    if not 0 <= futility < 0.5:
        raise fail("futility is out of range", futility, "0 <= futility < 0.5", "pass 0.05")
    prior = _prior(kernel)
    rows = []
    for each in truth:
        check_inside("truth", each)
        rows.append({"truth": each} | _walk(prior, above, sizes, each, (level, futility)))
    return pd.DataFrame(rows)


def _walk(prior, above, sizes, truth, rule):
    """Follow the distribution of the hits of studies that go on, from look to look."""
    level, futility = rule
    going, before, success, futile, expected = np.ones(1), 0, 0.0, 0.0, 0.0
    for n in sizes:
        steps = np.arange(n - before + 1)
        more = special.bdtr(steps, n - before, truth)
        going, before = np.convolve(going, np.diff(more, prepend=0.0)), n
        hits = np.arange(n + 1)
        larger = special.betaincc(prior.a + hits, prior.b + n - hits, above)
        won, lost = larger >= level, larger <= futility
        success, futile = success + going[won].sum(), futile + going[lost].sum()
        expected += n * going[won | lost].sum()
        going = np.where(won | lost, 0.0, going)
    left = going.sum()
    found = {"p_success": success, "p_futile": futile, "p_open": left}
    return {name: float(each) for name, each in found.items()} | {
        "expected_n": float(expected + before * left)
    }


def _prior(kernel):
    if not kernel.unit:
        what = f"{kernel.__name__} is not one proportion"
        raise fail(what, ..., "e.g. recall, specificity or accuracy", "choose one of these")
    return dirichlet_multinomial(np.zeros((2, 2))).distribution(kernel)


def _of_each(name, given, kernels):
    """Return a number for each measure."""
    values: Any = np.ravel(given).tolist()
    if len(values) != len(kernels):
        allowed = f"{len(kernels)}, one for each measure"
        raise fail(f"{name} has another number of values", given, allowed, "pass a list")
    for each in values:
        check_inside(name, each)
    return values


def _check_sides(units, prevalence):
    if set(units) != _SIDES or len(units) != 2:
        what = "measures are planned together if one is of the positives and one of the negatives"
        raise fail(what, units, "e.g. sensitivity and specificity", "plan each on its own")
    if prevalence is None:
        todo = "pass prevalence=, the proportion of positives in the test set"
        raise fail("two measures need a prevalence", ..., "", todo)
    check_inside("prevalence", prevalence)


def _exceeding(kernel, above, expect, level):
    """Return the function from sizes to the probability that the posterior exceeds as required."""
    prior = _prior(kernel)
    if not expect > above:
        todo = f"expect more than {above:g}, or require less"
        raise fail(
            f"{kernel.__name__} cannot be shown to exceed this", above, f"< {expect:g}", todo
        )

    def reached(n):
        n = np.asarray(n, float)
        # The posterior probability grows with the hits: the fewest that suffice, by bisection.
        low, high = np.full_like(n, -1), n + 1
        while np.any(high - low > 1):
            hits = np.floor((low + high) / 2)
            passed = special.betaincc(prior.a + hits, prior.b + n - hits, above) >= level
            open_ = high - low > 1
            high, low = np.where(open_ & passed, hits, high), np.where(open_ & ~passed, hits, low)
        # P(at least h hits of n) is the regularised incomplete beta I(h, n - h + 1).
        inner = special.betainc(np.maximum(high, 1), np.maximum(n - high + 1, 1), expect)
        return np.select([high > n, high > 0], [0.0, inner], 1.0)

    return reached


def _both(parts, prevalence, sizes):
    """Return the probability that both are reached, over the number of positives."""
    of_positives, of_negatives = parts
    found = []
    for n in sizes:
        positives, probability = binomial(n, prevalence)
        found.append(probability @ (of_positives(positives) * of_negatives(n - positives)))
    return np.array(found)

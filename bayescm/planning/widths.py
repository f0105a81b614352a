"""How many examples make an interval narrow enough."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm.direct import dirichlet_multinomial
from bayescm.evidence import align, from_matrix
from bayescm.measures.catalogue import resolve
from bayescm.planning.sizes import (
    LARGEST,
    beta_binomial,
    binomial,
    check_inside,
    result,
    smallest,
)
from bayescm.validate import check_kind, check_prob, check_seed, check_whole, fail


def plan(
    measure: str | Callable,
    *,
    width: float,
    assurance: float = 0.9,
    expect: float | None = None,
    pilot: xr.DataArray | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    replications: int = 1000,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return the size of a test set that makes an interval narrow enough.

    Parameters
    ----------
    measure : str or callable
        A measure that is one number: of two classes, or of the pilot's.
    width : float in (0, 1)
        The largest acceptable width of the interval.
    assurance : float in (0, 1), default 0.9
        Probability of reaching it, over future test sets.
    expect : float in (0, 1), optional
        The plausible value of the measure, for measures that are one proportion.
    pilot : DataArray, dims (actual, predicted), optional
        Instead of `expect`, for any measure: the counts of a pilot, or a concentration as returned
        by `bayescm.priors.elicit`. The unknown truth is drawn from that posterior; the future
        test set is evaluated on its own, with the default prior.
    prob, kind : float, str
        Mass and kind of the interval.
    replications : int >= 20, default 1000
        Simulated test sets for a measure that is not one proportion.
    random_seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    DataFrame, one row
        ``measure``, ``goal``, ``assurance`` (reached at ``n``), ``n``, ``unit`` (what ``n``
        counts), ``error`` (standard error of ``n``, 0 where it is exact), ``how``.

    Raises
    ------
    ValueError
        If neither or both of `expect` and `pilot` are given, where `expect` is given for a
        measure that is not one proportion, or no size up to ten million is enough.

    Notes
    -----
    The assurance is not monotone in n, since counts are whole. From the returned n onwards it does
    not fall below the requested one.

    Examples
    --------
    >>> plan("recall", expect=0.85, width=0.1, assurance=0.9)[["n", "unit"]]
         n       unit
    0  226  positives
    """
    kernel = resolve(measure)
    check_prob(prob), check_kind(kind)
    check_inside("width", width), check_inside("assurance", assurance)
    if (expect is None) == (pilot is None):
        given = {"expect": expect, "pilot": pilot is not None}
        raise fail("say what is plausible in one way only", given, "expect or pilot", "choose one")
    if _is_proportion(kernel, pilot):
        interval = (prob, kind)
        n, reached = smallest(
            _proportion_assurance(kernel, expect, pilot, width, interval), assurance
        )
        error, how, unit = 0.0, "exact", kernel.unit
    else:
        _needs_pilot(kernel, pilot)
        check_whole("replications", replications, 20, "test sets", 1000)
        simulate = _simulator(kernel, pilot, (prob, kind), replications, random_seed)
        n, reached, error = _by_simulation(simulate, width, assurance)
        how, unit = f"{replications} simulated test sets", "examples"
    goal = f"{prob:.4g} {kind} at most {width:.4g} wide"
    return result(kernel.__name__, goal, reached, n, unit, error, how)


def width_curve(
    measure: str | Callable,
    sizes: np.ndarray,
    *,
    expect: float | None = None,
    pilot: xr.DataArray | None = None,
    assurance: float = 0.9,
    prob: float = 0.95,
    kind: str = "hdi",
) -> pd.DataFrame:
    """
    Return the width of the interval at each size: its mean, and the width reached with assurance.

    Parameters
    ----------
    measure, expect, pilot, assurance, prob, kind
        See `plan`.
    sizes : array_like of int
        Sizes of the test set, in the unit of the measure.

    Returns
    -------
    DataFrame
        Columns ``n``, ``mean``, ``assured``.

    Examples
    --------
    >>> width_curve("recall", [50, 200], expect=0.85).round(3)
         n   mean  assured
    0   50  0.188    0.224
    1  200  0.098    0.107
    """
    kernel = resolve(measure)
    if _is_proportion(kernel, pilot):
        widths = _proportion_widths(kernel, expect, pilot, (prob, kind))
    else:
        _needs_pilot(kernel, pilot)
        widths = _simulator(kernel, pilot, (prob, kind), 1000, 0)
    rows = []
    for n in np.asarray(sizes, int):
        wide, weights = widths(int(n))
        order = np.argsort(wide)
        index = np.searchsorted(weights[order].cumsum(), assurance * (1 - 1e-12))
        rows.append((n, np.average(wide, weights=weights), wide[order][min(index, len(wide) - 1)]))
    return pd.DataFrame(rows, columns=["n", "mean", "assured"])


def _is_proportion(kernel, pilot):
    """Say whether a measure is one proportion, whose prior is the same on both sides."""
    return bool(kernel.unit) and (pilot is None or len(_dirichlet(pilot)) == 2)


def _needs_pilot(kernel, pilot):
    if pilot is None:
        raise fail(
            f"{kernel.__name__} is not one proportion, so that one expected value does not fix it",
            "expect",
            "pilot=counts of a pilot, or a concentration",
            "pass pilot=bayescm.priors.elicit(...) with three plausible measures",
        )


def _dirichlet(pilot):
    """Return the Dirichlet parameters of the unknown truth: a concentration, or prior + counts."""
    if not isinstance(pilot, xr.DataArray) or pilot.ndim > 2:
        got = pilot.dims if isinstance(pilot, xr.DataArray) else type(pilot).__name__
        todo = "select one matrix, or sum over the others"
        raise fail("a pilot is one matrix of counts", got, "dims (actual, predicted)", todo)
    if "prevalence" in pilot.coords:
        got, todo = pilot.coords["prevalence"].values, "pass the counts as they were drawn"
        raise fail("a pilot with a set prevalence", got, "that of the sample", todo)
    if pilot.name == "concentration":
        return np.asarray(align(pilot, pilot), float)
    return dirichlet_multinomial(pilot).weights


def _distributions(kernel, expect, pilot):
    """Return the prior of a proportion, and that of its true value unless it is expected."""
    prior = dirichlet_multinomial(np.zeros((2, 2))).distribution(kernel)
    if expect is not None:
        check_inside("expect", expect)
        return prior, None
    known = dirichlet_multinomial(np.zeros((2, 2)), concentration=_dirichlet(pilot))
    return prior, known.distribution(kernel)


def _proportion_widths(kernel, expect, pilot, interval):
    """Return the function from n to the possible widths of the interval and their probabilities."""
    prior, truth = _distributions(kernel, expect, pilot)
    prob, kind = interval

    def widths(n):
        x, probability = binomial(n, expect) if expect else beta_binomial(n, truth.a, truth.b)
        ends = getattr(replace(prior, a=prior.a + x, b=prior.b + n - x), kind)(prob)
        return ends[:, 1] - ends[:, 0], probability

    return widths


def _proportion_assurance(kernel, expect, pilot, width, interval):
    """Return the function from sizes n to the probability that the interval is narrow enough."""
    distribution, truth = _distributions(kernel, expect, pilot)

    def reach(n):
        few = _narrow(distribution, n, width, interval)
        if truth is None:
            share = special.bdtr(few, n, expect) + special.bdtrc(n - few - 1, n, expect)
        else:
            share = np.array([_ends(truth, *each) for each in zip(n, few, strict=True)])
        return np.select([2 * few >= n, few >= 0], [1.0, share], 0.0)

    return reach


def _ends(truth, n, few):
    """Return the probability of at most `few` of n trials, or as few failures."""
    _, probability = beta_binomial(n, truth.a, truth.b)
    return probability[: few + 1].sum() + probability[n - few :].sum()


def _narrow(distribution, n, width, interval):
    """
    Return the most successes, up to the half of n, with which the interval is narrow enough; or -1.

    The prior of one proportion is the same for successes and failures, and up to the half of n the
    interval widens with every success: a bisection for all sizes n.
    """
    prob, kind = interval
    low, high = np.full_like(n, -1), n // 2 + 1
    while np.any(high - low > 1):
        x = (low + high) // 2
        posterior = replace(distribution, a=distribution.a + x, b=distribution.b + n - x)
        ends = getattr(posterior, kind)(prob)
        enough, open_ = ends[:, 1] - ends[:, 0] <= width, high - low > 1
        low, high = np.where(open_ & enough, x, low), np.where(open_ & ~enough, x, high)
    return low


def _simulator(kernel, pilot, interval, replications, random_seed):
    """Return the function from n to simulated widths and their (equal) weights."""
    from bayescm.answers.interval import interval as ends

    parameters = _dirichlet(pilot)
    positive = "positive" if parameters.shape == (2, 2) else None
    labels = ["negative", "positive"] if positive else None
    prob, kind = interval

    def widths(n):
        rng = np.random.default_rng(check_seed(random_seed))
        flat = rng.dirichlet(parameters.ravel(), replications)
        tables = rng.multinomial(n, flat).reshape(-1, *parameters.shape)
        counts = from_matrix(tables, labels=labels, positive=positive)
        limits = ends(counts, kernel, prob=prob, kind=kind)
        if "class" in limits.dims:
            todo = f"pass e.g. {kernel.__name__}_macro"
            raise fail(f"{kernel.__name__} has a value for each class", ..., "one number", todo)
        wide = (limits.sel(bound="upper") - limits.sel(bound="lower")).values
        return wide, np.full(replications, 1 / replications)

    return widths


def _by_simulation(simulate, width, assurance):
    """
    Return n, the assurance there and the standard error of n.

    Widths shrink about as 1/sqrt(n), which leads near n; steps lead to where the assurance is had.
    """
    n = 100
    for _ in range(12):
        wide, _ = simulate(n)
        quantile = np.quantile(wide, assurance)
        wanted = max(1, round(n * (quantile / width) ** 2))
        if wanted > LARGEST:
            what = f"no sample size up to {LARGEST:,} reaches the goal"
            raise fail(what, ..., "", "relax the goal")
        if abs(wanted - n) <= max(1, 0.005 * n):
            break
        n = wanted
    while np.mean((wide := simulate(n)[0]) <= width) < assurance:
        n += max(1, n // 500)
    quantile = np.quantile(wide, assurance)
    step = np.sqrt(assurance * (1 - assurance) / len(wide))
    low, high = np.quantile(wide, np.clip([assurance - step, assurance + step], 0, 1))
    return n, float(np.mean(wide <= width)), float(n * (high - low) / quantile)

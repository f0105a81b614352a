"""
How much evidence is enough: for an interval of a wanted width, or for a decision between two.

A plan asks for a size ``n`` such that the goal is reached with a given probability, the
*assurance*, over the test sets of that size that may come. For measures that are one proportion
(recall, accuracy, ...) and for P(better) the assurance is summed exactly over all outcomes; for
every other measure it is simulated, and the table says with which error.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm import measures as kernels
from bayescm.evidence import align, as_counts, from_matrix
from bayescm.validate import check_kind, check_prob, fail

# What the proportions are proportions of.
UNITS = {
    "accuracy": "examples",
    "error_rate": "examples",
    "prevalence": "examples",
    "predicted_prevalence": "examples",
    "recall": "positives",
    "fnr": "positives",
    "specificity": "negatives",
    "fpr": "negatives",
    "precision": "predicted positives",
    "fdr": "predicted positives",
    "npv": "predicted negatives",
    "for_": "predicted negatives",
}
# No test set of more than this is looked for.
LARGEST = 10_000_000


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
    Return the size of a test set whose interval is narrow enough.

    Parameters
    ----------
    measure : str or callable
        A measure of two classes.
    width : float in (0, 1)
        The interval is to be at most this wide.
    assurance : float in (0, 1), default 0.9
        Probability that it is, over the test sets that may come.
    expect : float in (0, 1), optional
        The plausible value of the measure, for measures that are one proportion.
    pilot : DataArray, dims (actual, predicted), optional
        Instead of `expect`, for any measure: the counts of a pilot, or a concentration such as
        `bayescm.priors.elicit` gives. The unknown truth is drawn from that posterior; the test
        set to come is evaluated on its own, with the default prior.
    prob, kind : float, str
        Mass and kind of the interval.
    replications : int, default 1000
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
        Where neither or both of `expect` and `pilot` are given, where `expect` is given for a
        measure that is not one proportion, or where no size up to ten million is enough.

    Notes
    -----
    The assurance is not monotone in n: counts are whole. From the n returned on it does not fall
    below the wanted one.

    Examples
    --------
    >>> plan("recall", expect=0.85, width=0.1, assurance=0.9)[["n", "unit"]]
         n       unit
    0  226  positives
    """
    kernel = kernels.resolve(measure)
    check_prob(prob), check_kind(kind)
    _inside("width", width), _inside("assurance", assurance)
    if (expect is None) == (pilot is None):
        given = {"expect": expect, "pilot": pilot is not None}
        raise fail("say what is plausible in one way", given, "expect or pilot", "give one of them")
    if kernel.__name__ in UNITS:
        interval = (prob, kind)
        n, reached = _smallest(
            _proportion_assurance(kernel, expect, pilot, width, interval), assurance
        )
        error, how, unit = 0.0, "exact", UNITS[kernel.__name__]
    else:
        _needs_pilot(kernel, pilot)
        simulate = _simulator(kernel, pilot, (prob, kind), replications, random_seed)
        n, reached, error = _by_simulation(simulate, width, assurance)
        how, unit = f"{replications} simulated test sets", "examples"
    goal = f"{prob:.4g} {kind} at most {width:.4g} wide"
    return _row(kernel.__name__, goal, reached, n, unit, error, how)


def plan_comparison(
    measure: str | Callable = "accuracy",
    *,
    difference: float,
    agreement: float,
    p_better: float = 0.95,
    assurance: float = 0.8,
) -> pd.DataFrame:
    """
    Return the size of a shared test set on which the better of two classifiers is found out.

    Both classifiers are tested on the same examples. Only those on which one is right and the
    other wrong tell them apart: of these, with n01 won by the better one and n10 by the other,
    P(better) is the probability that ``Beta(n01 + c, n10 + c)`` exceeds one half, where c is what
    the default prior puts into such outcomes.

    Parameters
    ----------
    measure : str or callable, default "accuracy"
        ``accuracy``, ``recall`` or ``specificity``: the share of right answers among all examples,
        the positives or the negatives.
    difference : float in (0, 1)
        By how much the better one plausibly is better.
    agreement : float in (0, 1)
        Share of the examples on which both are right or both wrong; at most ``1 - difference``.
    p_better : float in (0.5, 1), default 0.95
        The posterior probability that is to be passed.
    assurance : float in (0, 1), default 0.8
        Probability that it is passed.

    Returns
    -------
    DataFrame, one row
        As of `plan`.

    Examples
    --------
    >>> plan_comparison(difference=0.03, agreement=0.9)[["n", "unit"]]
         n      unit
    0  673  examples
    """
    kernel = kernels.resolve(measure)
    name = kernel.__name__
    if name not in ("accuracy", "recall", "specificity"):
        allowed = "accuracy, recall, specificity"
        raise fail("no plan of a comparison in this measure", name, allowed, "take one of these")
    _inside("difference", difference), _inside("agreement", agreement)
    _inside("assurance", assurance), _inside("p_better", p_better, 0.5)
    if difference > 1 - agreement:
        raise fail(
            "two classifiers that agree so often cannot differ so much",
            {"difference": difference, "agreement": agreement},
            "difference <= 1 - agreement",
            "lower one of them",
        )
    # Joint outcomes of two classifiers and two classes: 8 cells that share a weight of 2.
    weight = 0.5 if name == "accuracy" else 0.25
    reach = _comparison_assurance(difference, 1 - agreement, p_better, weight)
    n, reached = _smallest(reach, assurance)
    goal = f"P(better) >= {p_better:.4g} for a difference of {difference:.4g}"
    return _row(name, goal, reached, n, UNITS[name], 0.0, "exact")


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
    Return how wide the interval will be at each size: the mean and the width kept with assurance.

    Parameters
    ----------
    measure, expect, pilot, assurance, prob, kind
        As of `plan`.
    sizes : array_like of int
        Sizes of the test set, in the unit of the measure.

    Returns
    -------
    DataFrame
        Columns ``n``, ``mean``, ``assured``.
    """
    kernel = kernels.resolve(measure)
    if kernel.__name__ in UNITS:
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


def _row(measure, goal, assurance, n, unit, error, how):
    row = (measure, goal, assurance, n, unit, error, how)
    return pd.DataFrame(
        [row], columns=["measure", "goal", "assurance", "n", "unit", "error", "how"]
    )


def _inside(name, value, lowest=0.0):
    if not lowest < value < 1:
        allowed = f"{lowest:g} < {name} < 1"
        raise fail(f"{name} lies outside its range", value, allowed, f"pass {allowed}")


def _needs_pilot(kernel, pilot):
    if pilot is None:
        raise fail(
            f"{kernel.__name__} is not one proportion, so that one expected value does not fix it",
            "expect",
            "pilot=counts of a pilot, or a concentration",
            "pass pilot=bayescm.priors.elicit(...) with three measures that are plausible",
        )


def _dirichlet(pilot):
    """Return the Dirichlet parameters of the unknown truth: a concentration, or prior + counts."""
    from bayescm.exact import dirichlet_multinomial

    if pilot.name == "concentration":
        return np.asarray(align(pilot, pilot), float)
    return dirichlet_multinomial(as_counts(pilot).values).weights


def _proportion_widths(kernel, expect, pilot, interval):
    """Return the function from n to the possible widths of the interval and their probabilities."""
    from bayescm.exact import dirichlet_multinomial
    from bayescm.exact.laws import Beta

    prior = dirichlet_multinomial(np.zeros((2, 2))).law(kernel)
    if expect is None:
        truth = dirichlet_multinomial(np.zeros((2, 2)), concentration=_dirichlet(pilot)).law(kernel)
    else:
        _inside("expect", expect)
    prob, kind = interval

    def widths(n):
        x, probability = _binomial(n, expect) if expect else _beta_binomial(n, truth.a, truth.b)
        ends = getattr(Beta(prior.a + x, prior.b + n - x), kind)(prob)
        return ends[:, 1] - ends[:, 0], probability

    return widths


def _proportion_assurance(kernel, expect, pilot, width, interval):
    widths = _proportion_widths(kernel, expect, pilot, interval)

    def reach(n):
        wide, probability = widths(n)
        return probability[wide <= width].sum()

    return reach


def _comparison_assurance(difference, discordance, p_better, weight):
    share = (discordance + difference) / discordance / 2

    def reach(n):
        m, probability = _binomial(n, discordance)
        # P(better) grows with the wins: the fewest wins that suffice, by bisection for all m.
        low, high = np.full_like(m, -1), m + 1
        while np.any(high - low > 1):
            wins = np.floor((low + high) / 2)
            passed = special.betaincc(wins + weight, m - wins + weight, 0.5) >= p_better
            open_ = high - low > 1
            high, low = np.where(open_ & passed, wins, high), np.where(open_ & ~passed, wins, low)
        # P(at least h wins of m) is the regularised incomplete beta I(h, m - h + 1).
        inner = special.betainc(np.maximum(high, 1), np.maximum(m - high + 1, 1), share)
        enough = np.select([high > m, high > 0], [0.0, inner], 1.0)
        return probability @ enough

    return reach


def _binomial(n, p):
    """Return the outcomes of n trials within nine standard deviations, and their probabilities."""
    reach = 9 * np.sqrt(n * p * (1 - p)) + 9
    x = np.arange(max(0, np.floor(n * p - reach)), min(n, np.ceil(n * p + reach)) + 1)
    log = special.xlogy(x, p) + special.xlog1py(n - x, -p) - special.betaln(x + 1, n - x + 1)
    return x, np.exp(log) / (n + 1)


def _beta_binomial(n, a, b):
    x = np.arange(n + 1.0)
    log = special.betaln(x + a, n - x + b) - special.betaln(x + 1, n - x + 1) - special.betaln(a, b)
    return x, np.exp(log) / (n + 1)


def _smallest(reach, assurance):
    """Return the n from which on the assurance holds, and the assurance there."""
    high = 8
    while reach(high) < assurance:
        high *= 2
        if high > LARGEST:
            raise fail("no size is enough", f"n = {LARGEST:,}", "a goal within reach", "lower it")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reach(middle) >= assurance else (middle, high)
    # Whole counts make saw teeth: look around for the last n that falls short.
    around = 20 + 2 * int(np.sqrt(high))
    short = [n for n in range(max(1, high - around), high + around) if reach(n) < assurance]
    n = max(short, default=0) + 1
    return n, float(reach(n))


def _simulator(kernel, pilot, interval, replications, random_seed):
    """Return the function from n to simulated widths and their (equal) weights."""
    from bayescm.intervals import interval as ends

    parameters = _dirichlet(pilot)
    positive = "positive" if parameters.shape == (2, 2) else None
    labels = ["negative", "positive"] if positive else None
    prob, kind = interval

    def widths(n):
        rng = np.random.default_rng(random_seed)
        flat = rng.dirichlet(parameters.ravel(), replications)
        tables = rng.multinomial(n, flat).reshape(-1, *parameters.shape)
        counts = from_matrix(tables, labels=labels, positive=positive)
        limits = ends(counts, kernel, prob=prob, kind=kind)
        wide = (limits.sel(bound="upper") - limits.sel(bound="lower")).values
        return wide, np.full(replications, 1 / replications)

    return widths


def _by_simulation(simulate, width, assurance):
    """Return n, the assurance there and the standard error of n; widths shrink as 1/sqrt(n)."""
    n = 100
    for _ in range(12):
        wide, _ = simulate(n)
        quantile = np.quantile(wide, assurance)
        wanted = max(1, round(n * (quantile / width) ** 2))
        if wanted > LARGEST:
            raise fail("no size is enough", f"n = {wanted:,}", "a goal within reach", "lower it")
        if abs(wanted - n) <= max(1, 0.005 * n):
            break
        n = wanted
    step = np.sqrt(assurance * (1 - assurance) / len(wide))
    low, high = np.quantile(wide, np.clip([assurance - step, assurance + step], 0, 1))
    return n, float(np.mean(wide <= width)), float(n * (high - low) / quantile)

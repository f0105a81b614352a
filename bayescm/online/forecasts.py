"""
Probabilities or scores batch by batch: counts by truth and bin, and the posterior of measures.

A ledger keeps how many examples of each class have a forecast in each bin. Forecasts are moved to
the middles p_b of their bins, and the shares s of the cells (class, bin) have the posterior

    s  ~  Dirichlet(counts + prior),      prior  =  (1 - p_b, p_b) / B  of bin b,

so that the prior is one example over all B bins, whose forecasts are right. A measure of
probabilities m is a smooth function of the shares. Its posterior is taken for normal on the scale
of a link g, the log odds where it lies between 0 and 1 and the log where it is positive, by
linearizing it at the mean shares (the Bayesian form of the delta method):

    g(m)  ~  Normal(g(m(s)), sigma),      sigma^2  =  sum_j s_j (d_j - sum_k s_k d_k)^2 / (N + 1),

where s are the mean shares, d_j is the derivative of g(m) towards cell j, and N the sum of counts
and prior. What intervals cover is in ``docs/results/binned_intervals.csv``.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import gammaln, pdtrc

from bayescm.distributions import dirichlet
from bayescm.distributions.transformed_normal import TransformedNormal, inverse_link, link
from bayescm.evidence.labels import check_no_dates, check_no_missing_text, obvious_positive
from bayescm.evidence.scores import as_scores
from bayescm.measures.labelled import of_variable
from bayescm.measures.measure import CalibrationForm
from bayescm.measures.probabilities import Forecasts
from bayescm.online.encoding import OF_FORECASTS, zero_forecasts
from bayescm.posteriors.base import LabelTemplate, Posterior
from bayescm.validate import check_choice, check_reals, check_row_order, fail, unmasked

_LOW = [0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.175]
_MIDDLE = np.arange(8, 33) / 40  # from .2 to .8
# Of probabilities: finer towards 0 and 1, where what is rare is told apart.
EDGES = tuple(np.round([*_LOW, *_MIDDLE, *(1 - np.array(_LOW[::-1]))], 6).tolist())
_MOST_BINS = 500
_PRIOR = 1.0  # examples, over all bins
_DEFAULT = ("auc", "brier", "calibration_in_the_large", "calibration_slope")
_OF_SCORES = ("auc",)


def forecast_table(
    actual: Any,
    forecasts: Any = None,
    *,
    positive: Hashable | None = None,
    edges: Sequence[float] | None = None,
    kind: str = "probabilities",
) -> xr.DataArray:
    """
    Return how many examples of each class have a forecast in each bin.

    Parameters
    ----------
    actual : array_like, shape (n,), or Dataset
        True labels of two classes, of which a batch may lack one; or evidence of one classifier, as
        :func:`bayescm.from_probabilities` or :func:`bayescm.from_scores` return it.
    forecasts : array_like, shape (n,)
        Of the positive class.
    positive : label, optional
        The positive class; obvious for {0, 1} and {False, True}.
    edges : sequence of float, optional
        Edges of the bins, ascending; a forecast on an edge is in the bin above. By default, of
        probabilities, 48 bins that are finer towards 0 and 1. Scores below the first edge and above
        the last have bins of their own.
    kind : {"probabilities", "scores"}, default "probabilities"
        Of evidence it is known.

    Returns
    -------
    DataArray, dims (actual, bin)
        Counts, the positive class last; attributes ``edges`` and ``chances``, whether these are
        probabilities.

    Raises
    ------
    ValueError
        If a forecast is missing or outside [0, 1], there are more than two classes, or the edges
        are not ascending.

    Examples
    --------
    >>> table = forecast_table([0, 0, 1], [0.1, 0.3, 0.8], edges=[0, 0.25, 0.5, 1])
    >>> table.values
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    if isinstance(actual, xr.Dataset):
        actual, forecasts, positive, kind = _columns_of(actual)
    check_row_order({"actual": actual, "forecasts": forecasts})
    chances = check_choice("kind", kind, ["probabilities", "scores"]) == "probabilities"
    edges = _check_edges(edges, chances)
    unmasked(forecasts, "forecasts")
    forecasts = check_reals(forecasts, "forecasts", "pass one number for each example")
    actual, forecasts = _column("actual", actual), _column("forecasts", forecasts)
    if len(actual) != len(forecasts):
        what = "forecasts and actual differ in length"
        raise fail(what, len(forecasts), str(len(actual)), "align them")
    labels = _labels(actual, positive)
    _check_forecasts(forecasts, chances)
    bins = np.searchsorted(edges[1:-1] if chances else edges, forecasts, "right")
    table = zero_forecasts(labels, labels[1], edges, chances)
    np.add.at(table.values, ((actual == labels[1]).astype(int), bins), 1)
    return table


def middles(table: xr.DataArray) -> np.ndarray:
    """Return the probability that stands for each bin, (B,), or the rank of a bin of scores."""
    edges = np.array(table.attrs["edges"])
    if table.attrs["chances"]:
        return (edges[1:] + edges[:-1]) / 2
    return (np.arange(table.sizes["bin"]) + 0.5) / table.sizes["bin"]


# The measures


def monitored_measures(measures: Any, table: xr.DataArray) -> list:
    """
    Return the measures of binned forecasts that are monitored.

    Parameters
    ----------
    measures : name, function, sequence of these, or None
        By default the area under the ROC curve, and of probabilities the Brier score, calibration
        in the large and its slope.
    table : DataArray, dims (..., actual, bin)

    Raises
    ------
    ValueError
        If one is not of probabilities, needs a curve or more than two classes, or is more than the
        area and the forecasts are scores.
    """
    chances = table.attrs["chances"]
    if measures is None:
        measures = _DEFAULT if chances else _OF_SCORES
    resolved = of_variable(measures, OF_FORECASTS)
    for measure in resolved:
        name = measure.__name__
        if isinstance(measure.form, CalibrationForm) or (not measure.one_class and measure.average):
            todo = f"watch some of {list(_DEFAULT)}"
            raise fail("not of binned forecasts", name, "no curve, one class", todo)
    calibration = [m.__name__ for m in resolved if m.__name__ not in _OF_SCORES]
    if not chances and calibration:
        raise fail("scores are no probabilities", calibration, list(_OF_SCORES), "watch these")
    return resolved


_ROOM = 4e6  # numbers in a temporary array


def evaluate(measure: Any, tables: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """Return a measure of tables (T, 2, B) of positive numbers, (T,)."""
    flat = tables.reshape(len(tables), 2 * len(middle))
    outcome, forecast = np.repeat([0.0, 1.0], len(middle)), np.tile(middle, 2)[None]
    step = max(1, int(_ROOM // flat.shape[1]))
    parts = [np.zeros(0)]
    for first in range(0, len(flat), step):
        weight = flat[first : first + step]
        share = weight / weight.sum(axis=1, keepdims=True)
        parts.append(measure(Forecasts(forecast, outcome, share, _no_curve))[:, 0])
    return np.concatenate(parts)


def _no_curve():
    raise NotImplementedError("the curve of binned forecasts")


# The posterior

_STEP = 1e-3  # of the numerical derivative: the share of a cell moves from s to (1 - h) s + h


def prior_of_forecasts(table: xr.DataArray) -> np.ndarray:
    """Return prior pseudo-counts (2, B): one example over all bins, whose forecasts are right."""
    middle = middles(table)
    return np.stack([1 - middle, middle]) * _PRIOR / len(middle)


class BinnedForecasts(Posterior):
    """
    The posterior of measures of binned forecasts, each leading index of the tables by itself.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, bin)
        As `forecast_table` returns them.

    Examples
    --------
    >>> from bayescm.measures import resolve
    >>> table = forecast_table([0, 0, 1, 1] * 10, [0.1, 0.3, 0.4, 0.8] * 10)
    >>> BinnedForecasts(table).distribution(resolve("brier")).eti(0.95).round(2)
    array([0.09, 0.17])
    """

    measured_variable = OF_FORECASTS
    estimands = {"parameter": "theta"}  # noqa: RUF012
    has_model = cell_prior = False
    how = "linearized"

    def __init__(self, counts: xr.DataArray):
        self.counts, self.middle = counts, middles(counts)
        self.weights = counts.values + prior_of_forecasts(counts)  # (..., 2, B)

    @cached_property
    def template(self) -> LabelTemplate:
        """The dims and coords that remain of the evidence."""
        dims, coords = self.counts.dims[:-2], self.counts.coords.variables
        remaining = {name: coord for name, coord in coords.items() if {*coord.dims} <= {*dims}}
        return LabelTemplate(remaining, dims, self.counts.shape[:-2])

    @property
    def batch(self) -> xr.DataArray:
        """The number of examples of every member of the batch."""
        return self.template.to_dataarray(self.counts.values.sum(axis=(-2, -1)))

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return what the latest table makes doubtful."""
        latest = self.counts[(-1,) * (self.counts.ndim - 2)]
        cautions = [*_few(latest), *_coarse(latest), *_outermost(latest)]
        return ["; ".join(cautions)] if cautions else []

    def exact_distribution(
        self, measure: Any, *, of: str = "parameter", n: Any = None
    ) -> "LinearizedMeasure":
        """Return the distribution of a measure, shape (...)."""
        low, high = measure.range
        bounds = (0, 1) if (low, high) == (0, 1) else (0, np.inf) if low == 0 else (-np.inf, np.inf)
        mu, sigma = self._linearized(measure, bounds)
        return LinearizedMeasure(mu, sigma, bounds)

    def _linearized(self, measure, bounds):
        """Return mean and standard deviation of a measure on the scale of a link."""
        tables = self._flat
        mu = link(evaluate(measure, tables, self.middle), bounds)
        sigma = np.zeros(len(tables))
        step = max(1, int(_ROOM // tables[0].size ** 2))
        for first in range(0, len(tables), step):
            rows = slice(first, first + step)
            weights = tables[rows].reshape(len(tables[rows]), -1)
            total = weights.sum(axis=1, keepdims=True)
            share = weights / total
            moved = (1 - _STEP) * share[:, None] + _STEP * np.eye(share.shape[1])
            values = evaluate(measure, moved.reshape(-1, *tables.shape[1:]), self.middle)
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = (link(values, bounds).reshape(share.shape) - mu[rows, None]) / _STEP
            mean = (share * slope).sum(axis=1, keepdims=True)
            variance = (share * (slope - mean) ** 2).sum(axis=1) / (total[:, 0] + 1)
            sigma[rows] = np.sqrt(variance)
        return self._shaped(mu), self._shaped(sigma)

    def point(self, measure: Callable, of: str = "parameter") -> np.ndarray:
        """Return the value at the mean shares, which both classes have."""
        self.resolve_estimand(of)
        return self._shaped(evaluate(measure, self._flat, self.middle))

    def if_right(self, measure: Callable) -> np.ndarray:
        """Return what a measure would be if the forecasts were right."""
        right = self._flat.sum(axis=-2, keepdims=True) * np.stack([1 - self.middle, self.middle])
        return self._shaped(evaluate(measure, right, self.middle))

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ..., 2, B) of the shares."""
        return {"theta": dirichlet.draw(self.weights, size, rng, axes=2)}

    def draw(
        self,
        measures: Sequence[Callable],
        size: int,
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """Draw several measures jointly, from the shares themselves."""
        theta = self.variables(size, rng)["theta"]
        tables = theta.reshape(-1, *theta.shape[-2:])
        values = [evaluate(measure, tables, self.middle) for measure in measures]
        return [draws.reshape(theta.shape[:-2]) for draws in values]

    @property
    def _flat(self):
        return self.weights.reshape(-1, *self.weights.shape[-2:])

    def _shaped(self, values):
        return values.reshape(self.counts.shape[:-2])


class LinearizedMeasure(TransformedNormal):
    """A measure that is about normal on the scale of its link, by its value at the mean shares."""

    how = "linearized"

    def mean(self) -> np.ndarray:
        """
        Return the value at the mean shares.

        The mean of the area is this but for what is small, and that of the Brier score is this,
        while that of the normal approximation is off by a term in its variance.
        """
        return inverse_link(self.mu, self.bounds)


# Has what comes true changed?

# Of neighbouring bins. Too extreme, too low and too extreme rare forecasts (cases 1 to 3 of
# ``forecast_streams_drifting``) are seen after 6, 8 and 4 batches in the median with 8 groups,
# after 6, 6 and 5 with 4, and after 13, 12 and 8 with one for each of 48 bins (20 streams each).
_GROUPS = 8
_PSEUDO_EVENTS = 4.0  # of each group: what comes true may be half as many again as expected


def is_change_sought(tables: xr.DataArray) -> bool:
    """Say whether the rule `change` is one of such tables: scores do not say what is expected."""
    return bool(tables.attrs["chances"])


def events_of(tables: xr.DataArray) -> np.ndarray:
    """
    Return in each group of bins the number of events, and how many the forecasts expect.

    Events are the examples that the forecasts think less likely: positive ones of bins below one
    half, negative ones of the others. What is expected is summed over bins, so that a population
    with other forecasts is no change in what comes true of them.

    Parameters
    ----------
    tables : DataArray, dims (step, actual, bin)
        Of probabilities.

    Returns
    -------
    ndarray, shape (T, G, 2)
    """
    middle, cells = middles(tables), tables.values.astype(float)
    is_low = middle < 0.5
    events = np.where(is_low, cells[:, 1], cells[:, 0])
    expected = cells.sum(axis=1) * np.where(is_low, middle, 1 - middle)
    number = min(_GROUPS, len(middle))
    first = np.linspace(0, len(middle), number, endpoint=False).astype(int)
    return np.stack([np.add.reduceat(part, first, axis=1) for part in (events, expected)], axis=-1)


def log_evidence_of_events(cells: np.ndarray) -> np.ndarray:
    """
    Return the log marginal likelihood (...) of events and expected numbers (..., G, 2).

    With y events of e that are expected in a group,

        y  ~  Poisson(lambda e),      lambda  ~  Gamma(a, a),      a = `_PSEUDO_EVENTS`,

    up to what does not depend on lambda. Numbers of events of single examples vary less than those
    of Poisson, so that Bayes factors are rather too small than too large.
    """
    events, expected, a = cells[..., 0], cells[..., 1], _PSEUDO_EVENTS
    gain = gammaln(a + events) - gammaln(a) + a * np.log(a)
    return (gain - (a + events) * np.log(a + expected)).sum(axis=-1)


# What is doubtful

_FEW = 20  # examples of a class, below which intervals are too short
_SHARED_PAIRS = 0.1  # of a positive and a negative, in one bin
_FAR = 0.03  # mean distance that a forecast may have from the middle of its bin
_UNLIKELY = 0.01  # so many wrong forecasts next to 0 or 1, were the bin right


def _few(table):
    totals = zip(table["actual"].values.tolist(), table.values.sum(axis=-1), strict=True)
    rare = ", ".join(f"{label} ({n:.4g})" for label, n in totals if n < _FEW)
    if not rare:
        return []
    return [f"fewer than {_FEW} examples of {rare}: intervals of binned forecasts may be too short"]


def _coarse(table):
    """Say so where the bins are too wide to tell forecasts apart."""
    negative, positive = table.values.astype(float)
    pairs = positive.sum() * negative.sum()
    shared = positive @ negative / pairs if pairs else 0.0
    faults = []
    if shared > _SHARED_PAIRS:
        faults.append(f"{100 * shared:.3g}% of the pairs of a positive and a negative share a bin")
    if table.attrs["chances"]:
        half_widths, total = np.diff(table.attrs["edges"]) / 2, negative + positive
        distance = total @ half_widths / max(total.sum(), 1)
        if distance > _FAR:
            faults.append(
                f"forecasts may be {distance:.2g} from the middles of their bins on average"
            )
    if not faults:
        return []
    why = "what is shown is of the bins, and may be far from what the forecasts show"
    todo = "a monitor with more edges where forecasts are many tells them apart"
    return [f"{' and '.join(faults)}: {why} ({todo})"]


def _outermost(table):
    """Say so where forecasts next to 0 or 1 err more than any in their bin can mean."""
    if not table.attrs["chances"]:
        return []
    edges, (negative, positive) = table.attrs["edges"], table.values.astype(float)
    sides = (
        (f"below {edges[1]:.4g}", positive[0], negative[0], edges[1]),
        (f"of {edges[-2]:.4g} and more", negative[-1], positive[-1], 1 - edges[-2]),
    )
    return [
        f"{wrong:.4g} of the {wrong + right:.4g} forecasts {where} are wrong, more than any of "
        "them means: the slope leans on where in their bin they lie (exact 0 and 1 stand at its "
        "middle)"
        for where, wrong, right, most in sides
        if wrong > 1 and pdtrc(wrong - 1, (wrong + right) * most) < _UNLIKELY
    ]


# The checks of a batch


def _columns_of(evidence):
    """Return truth, forecasts, positive class and kind of evidence of one classifier."""
    evidence = as_scores(evidence)
    if "class" in evidence.dims or "classifier" in evidence.dims:
        todo = "select one: evidence.sel(classifier=...), curves.one_vs_rest(evidence, label)"
        raise fail("a batch is of one classifier and two classes", evidence.dims, "one", todo)
    further = sorted({"weight", "fold", "group", "prevalence"} & {*evidence.variables})
    if further:
        todo = "leave weights, folds, groups and a set prevalence out"
        raise fail("a batch is one sample of single examples", further, "none of it", todo)
    kind = "probabilities" if "probabilities" in evidence.coords else "scores"
    return evidence["actual"].values, evidence["score"].values, evidence["positive"].item(), kind


def _check_edges(edges, chances):
    """Return the edges of bins, or raise where they are none."""
    if edges is None and not chances:
        todo = "pass e.g. edges=np.quantile(scores, np.linspace(0.02, 0.98, 49)) of a first sample"
        raise fail("scores need edges", None, "ascending numbers", todo)
    try:
        numbers = np.asarray(EDGES if edges is None else edges, float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    in_range = numbers.ndim == 1 and (not chances or (numbers[0], numbers[-1]) == (0, 1))
    is_right = in_range and 3 <= len(numbers) <= _MOST_BINS and np.isfinite(numbers).all()
    if not is_right or not (np.diff(numbers) > 0).all():
        allowed = f"3 to {_MOST_BINS} ascending numbers{', from 0 to 1' if chances else ''}"
        todo = "leave them out" if chances else "pass quantiles of a first sample"
        raise fail("not edges of bins", edges, allowed, todo)
    return numbers.tolist()


def _column(name, values):
    column = np.asarray(unmasked(values, name))
    if column.ndim != 1 or not len(column):
        what = f"{name} must be one column"
        raise fail(what, column.shape, "shape (n,), n > 0", "pass one each")
    return column


def _labels(actual, positive):
    """Return the negative and the positive class."""
    check_no_dates(list(actual[:1]), "the labels of actual")
    labels = np.unique(actual).tolist()
    check_no_missing_text(labels)
    positive = obvious_positive([0, 1]) if positive is None and set(labels) <= {0, 1} else positive
    if positive is None or len({*labels, positive}) > 2:
        todo = "pass positive=, and two classes"
        raise fail("the positive class is not told", labels, "two classes and positive=", todo)
    negative = [label for label in labels if label != positive]
    if not negative and isinstance(positive, bool | int) and positive in (0, 1):
        negative = [type(positive)(1 - positive)]
    return [negative[0] if negative else None, positive]


def _check_forecasts(forecasts, chances):
    if np.isnan(forecasts).any():
        raise fail("a forecast is missing", np.nan, "a number for each example", "drop these")
    outside = forecasts[(forecasts < 0) | (forecasts > 1)]
    if chances and len(outside):
        todo = "pass predict_proba, or kind='scores' with edges"
        raise fail("a probability is outside [0, 1]", outside[0], "[0, 1]", todo)

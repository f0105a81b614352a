"""
Confidence intervals for proportions, and for any measure by the delta method or the bootstrap.

The delta method and the bootstrap treat the evidence as independent multinomial samples (see
`MultinomialSamples`). With observed outcome shares p of n examples, and derivatives d of a measure
with respect to them, the variance in the delta method is

    variance = sum_m p_m (d_m - sum_l p_l d_l)^2 / n,

and the covariance of two measures on the same examples is analogous. The bootstrap resamples the
outcome counts from Multinomial(n, p).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from scipy.special import betainc, betaincinv, expit, logit, ndtr, ndtri

from bayescm.classical.max_z import max_abs_z
from bayescm.evidence.counts import as_counts, classes, is_outcomes, known_shares, with_shares
from bayescm.evidence.outcomes import arrays, as_outcomes, marginal_matrices, matrices_of
from bayescm.measures.labelled import as_measures, check_pairs
from bayescm.validate import (
    check_choice,
    check_counts,
    check_prob,
    check_row_order,
    check_seed,
    check_whole,
    fail,
)


def proportion(
    successes: Any, trials: Any, *, method: str = "wilson", prob: float = 0.95
) -> xr.DataArray:
    """
    Return confidence intervals for proportions.

    Parameters
    ----------
    successes, trials : int, array_like or DataArray
        Integers with ``0 <= successes <= trials`` and ``trials >= 1``, broadcast against each
        other.
    method : {"wilson", "exact", "mid-p", "jeffreys", "agresti_coull", "plus_four", "wald"}
        Method. ``"wilson"`` is the score interval and ``"wald"`` the normal approximation.

        - ``"exact"``: Clopper and Pearson's interval, also called ``"clopper_pearson"``.
        - ``"mid-p"``: includes half the probability of the observed number in each tail.
        - ``"jeffreys"``: equal-tailed posterior interval with Jeffreys' prior. It ends at 0 or 1 if
          there are no successes or no failures.
        - ``"agresti_coull"``: adds half of z squared to successes and failures.
        - ``"plus_four"``: adds 2 to both, and is often also called Agresti-Coull.
    prob : float, default 0.95

    Returns
    -------
    DataArray, dims (..., bound)
        Interval. Wilson, exact, Agresti-Coull and Wald intervals equal the results of
        ``statsmodels.stats.proportion.proportion_confint``, except that the latter are clipped to
        [0, 1]. The last three methods may exceed [0, 1].

    Raises
    ------
    ValueError
        If there are no trials or more successes than trials.

    References
    ----------
    Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Interval estimation for a binomial proportion.
    Statistical Science 16, 101-133. doi:10.1214/ss/1009213286

    Examples
    --------
    >>> proportion(65, 80).values.round(4)
    array([0.7134, 0.8829])
    """
    prob = check_prob(prob)
    check_choice("method", method, list(_PROPORTION_METHODS))
    unlabelled = {"successes": successes, "trials": trials}
    check_row_order({k: v for k, v in unlabelled.items() if not isinstance(v, xr.DataArray)})
    x, n = xr.broadcast(_as_labelled_counts(successes), _as_labelled_counts(trials))
    if (n.values < 1).any():
        raise fail("A proportion needs at least one trial", n.values, "", "leave these entries out")
    if (x.values > n.values).any():
        raise fail(
            "There are more successes than trials: {}", x.values, "", "correct these entries"
        )
    z = ndtri((1 + prob) / 2)
    bounds = _PROPORTION_METHODS[method](x.values.astype(float), n.values.astype(float), z)
    coords = {**n.coords, **x.coords, "bound": ["lower", "upper"]}
    return xr.DataArray(np.stack(bounds, axis=-1), dims=(*x.dims, "bound"), coords=coords)


def _as_labelled_counts(numbers):
    values = check_counts(numbers, todo="count whole examples")
    return numbers.copy(data=values) if isinstance(numbers, xr.DataArray) else xr.DataArray(values)


def _wald(x, n, z):
    p = x / n
    half = z * np.sqrt(p * (1 - p) / n)
    return p - half, p + half


def _agresti_coull(x, n, z):
    return _wald(x + z**2 / 2, n + z**2, z)


def _plus_four(x, n, z):
    return _wald(x + 2, n + 4, z)


def wilson(x: Any, n: Any, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of Wilson's score interval: the roots of (x - n p)^2 = z^2 n p (1 - p)."""
    p = x / n
    center = (x + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(n * p * (1 - p) + z**2 / 4)
    # Bounds that reach a limit must be exact despite rounding.
    return np.where(x == 0, 0.0, center - half), np.where(x == n, 1.0, center + half)


def _clopper_pearson(x, n, z):
    tail = ndtr(-z)
    lower = betaincinv(np.maximum(x, 1), n - x + 1, tail)
    upper = betaincinv(x + 1, np.maximum(n - x, 1), 1 - tail)
    return np.where(x == 0, 0.0, lower), np.where(x == n, 1.0, upper)


def _jeffreys(x, n, z):
    tail = ndtr(-z)
    lower, upper = (betaincinv(x + 0.5, n - x + 0.5, share) for share in (tail, 1 - tail))
    return np.where(x == 0, 0.0, lower), np.where(x == n, 1.0, upper)


def _mid_p(x, n, z):
    """Return the proportions p at which P(X > x) + P(X = x) / 2 equals a tail probability."""
    tail = ndtr(-z)

    def above(p):
        at_least = np.where(x == 0, 1.0, betainc(np.maximum(x, 1), n - x + 1, p))
        more = np.where(x == n, 0.0, betainc(x + 1, np.maximum(n - x, 1), p))
        return (at_least + more) / 2

    lower, upper = (_increasing_root(above, share, x.shape) for share in (tail, 1 - tail))
    return np.where(x == 0, 0.0, lower), np.where(x == n, 1.0, upper)


def _increasing_root(function, value, shape):
    """Solve for the argument of an increasing function on [0, 1], by bisection."""
    low, high = np.zeros(shape), np.ones(shape)
    for _ in range(60):
        middle = (low + high) / 2
        is_below = function(middle) < value
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return (low + high) / 2


_PROPORTION_METHODS = {
    "wilson": wilson,
    "exact": _clopper_pearson,
    "mid-p": _mid_p,
    "jeffreys": _jeffreys,
    "clopper_pearson": _clopper_pearson,
    "agresti_coull": _agresti_coull,
    "plus_four": _plus_four,
    "wald": _wald,
}


def delta(
    evidence: xr.Dataset | xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    joint: bool = False,
    blur: str | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    scale: str = "identity",
) -> xr.Dataset:
    r"""
    Return normal confidence intervals from the delta method.

    A measure is a smooth function of the outcome probabilities. Its gradient, computed by complex
    steps, propagates the covariance of the observed proportions. No analytical derivatives are
    needed, so any function of the cells is supported.

    Parameters
    ----------
    evidence : Dataset or DataArray
        Outcomes of classifiers on the same examples (:func:`bayescm.from_classifiers`), or counts
        with dims ``(..., actual, predicted)``. Matrices along ``classifier`` are then assumed to
        come from different examples.
    measures : str, callable or a list of them
    prob : float, default 0.95
        Nominal coverage of each interval, or of all simultaneously if ``joint``.
    joint : bool, default False
        Whether all intervals of one evaluation are simultaneous. The quantile of the largest
        absolute deviation then replaces the normal quantile.
    blur : {None, "shared", "diagonal"}
        "Blurring" correction for small variances: noise with variance :math:`z^2/(2n^2)` is added
        to each observed share, which corresponds to Agresti and Coull's correction for rare events.
        With ``"shared"``, all measures of one classifier share the same noise. With ``"diagonal"``,
        each interval has independent noise. The two choices differ only for simultaneous intervals.
        For more than two classes, the shares of the first class are the remainders.
    pairs : sequence of (classifier, measure), optional
        Intervals to compute, all by default. The others are NaN.
    scale : {"identity", "logit", "atanh", "log"}
        Scale of the symmetric interval. ``"logit"`` keeps it inside (0, 1), ``"atanh"``
        inside (-1, 1) and ``"log"`` above 0. For estimates at an end of the range, the interval on
        the identity scale is used, truncated to the range.

    Returns
    -------
    Dataset
        One variable per measure, dims ``(..., classifier, bound)``, with ``class`` before ``bound``
        for a measure with one value per class. On the identity scale, intervals are not clipped. If
        a measure is 0/0, its ends are NaN, and it does not contribute to the joint quantile.

    References
    ----------
    Yuan, Z. & Jiang, W. (2025). Confidence intervals for evaluation of data mining.

    Takahashi, K., Yamamoto, K., Kuchiba, A. & Koyama, T. (2022). Confidence interval for
    micro-averaged F1 and macro-averaged F1 scores. Applied Intelligence 52, 4961-4972.
    doi:10.1007/s10489-021-02635-5

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> delta(counts, "f1").f1.values.round(4)
    array([0.6483, 0.7962])
    """
    prob = check_prob(prob)
    check_choice("scale", scale, list(_SCALES))
    if blur is not None:
        check_choice("blur", blur, ["shared", "diagonal"])
    samples = multinomial_samples(evidence, measures, pairs)
    z = float(ndtri((1 + prob) / 2))
    bounds = []
    for counts in samples.counts:
        estimate, covariance = delta_moments(samples, counts, blur=blur, z=z)
        quantile = _joint_quantile(covariance, samples.selected.ravel(), prob) if joint else z
        bounds.append(_on_scale(estimate, quantile * np.sqrt(np.diag(covariance)), scale))
    shape = (len(bounds), *samples.selected.shape, 2)
    return samples.to_dataset(np.stack(bounds).reshape(shape))


def delta_moments(
    samples: "MultinomialSamples",
    counts: np.ndarray,
    *,
    blur: str | None = None,
    z: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the delta method estimates and covariance of all measures.

    Parameters
    ----------
    samples : MultinomialSamples
    counts : ndarray, shape (S, M)
        Counts of one evaluation.
    blur, z
        Blurring correction and its normal quantile.

    Returns
    -------
    estimate : ndarray, shape (J * W,)
        Estimates, ordered by classifier.
    covariance : ndarray, shape (J * W, J * W)
    """
    totals = counts.sum(-1, keepdims=True)
    if (totals == 0).any():
        raise fail("A matrix has no examples: {}", counts, "", "drop the empty matrix")
    shares = counts / totals
    matrices = samples.matrices(shares)
    slopes = np.stack([gradients(samples, matrix) for matrix in matrices])  # (J, W, C, C)
    by_outcome = np.stack(
        [
            slope[:, samples.actual, predicted]
            for slope, predicted in zip(slopes, samples.predicted, strict=True)
        ]
    )
    weights = shares[samples.sample][:, None]  # (J, 1, M)
    influence = by_outcome - (by_outcome * weights).sum(-1, keepdims=True)
    width = influence.shape[1]
    influence = influence.reshape(-1, influence.shape[-1])
    weights = np.repeat(weights[:, 0], width, axis=0)
    n = np.repeat(totals[samples.sample, 0], width)
    sample = np.repeat(samples.sample, width)
    same_sample = np.equal.outer(sample, sample)
    covariance = np.where(same_sample, (influence * weights) @ influence.T / n, 0.0)
    if blur is not None:
        covariance += z**2 / 2 / n**2 * _blurring(slopes, same_sample, blur)
    return samples.evaluate(matrices).ravel(), covariance


def gradients(samples: "MultinomialSamples", matrix: np.ndarray) -> np.ndarray:
    """
    Return the derivatives of all measures with respect to the cells, shape (W, C, C).

    Complex steps, f'(x) = Im f(x + ih) / h, avoid cancellation. Functions that discard the
    imaginary part are differentiated by central differences.

    References
    ----------
    Squire, W. & Trapp, G. (1998). Using complex variables to estimate derivatives of real
    functions. SIAM Review 40, 110-112. doi:10.1137/S003614459631241X
    """
    cells = matrix.size
    directions = np.eye(cells).reshape(cells, *matrix.shape)
    derivatives = []
    for measure in samples.measures:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(measure(matrix + 1j * _COMPLEX_STEP * directions))
        if values.dtype.kind == "c":
            slope = values.imag / _COMPLEX_STEP
        else:
            h = 1e-6
            rise = np.asarray(measure(matrix + h * directions))
            slope = (rise - np.asarray(measure(matrix - h * directions))) / (2 * h)
        derivatives.append(slope.reshape(cells, -1))
    return np.concatenate(derivatives, axis=1).T.reshape(-1, *matrix.shape)


_COMPLEX_STEP = 1e-30


def _blurring(slopes, same_sample, blur):
    """
    Return the sums of products of derivatives with respect to the blurred shares.

    These are the shares of the actual classes, which all classifiers of one sample share, of the
    predicted classes and of the cells, each without the first class.
    """
    size = len(same_sample)
    by_actual = (slopes[..., 1:, 0] - slopes[..., :1, 0]).reshape(size, -1)
    by_predicted = (slopes[..., 0, 1:] - slopes[..., 0, :1]).reshape(size, -1)
    by_cell = slopes[..., 1:, 1:] - slopes[..., 1:, :1] - slopes[..., :1, 1:] + slopes[..., :1, :1]
    by_cell = by_cell.reshape(size, -1)
    classifier = np.repeat(np.arange(len(slopes)), slopes.shape[1])
    same_classifier = np.equal.outer(classifier, classifier)
    of_classifiers = by_predicted @ by_predicted.T + by_cell @ by_cell.T
    noise = np.where(same_sample, by_actual @ by_actual.T, 0.0)
    noise += np.where(same_classifier, of_classifiers, 0.0)
    return noise if blur == "shared" else np.diag(np.diag(noise))


def _joint_quantile(covariance, selected, prob):
    sd = np.sqrt(np.diag(covariance))
    use = selected & np.isfinite(sd) & (sd > 0)
    if not use.any():
        return float(ndtri((1 + prob) / 2))
    correlation = covariance[np.ix_(use, use)] / np.outer(sd[use], sd[use])
    np.fill_diagonal(correlation, 1.0)
    return max_abs_z(correlation, prob=prob)


class _Scale(NamedTuple):
    """Transformation of a measure, with its inverse, derivative and range."""

    transform: Callable
    inverse: Callable
    derivative: Callable
    low: float
    high: float


_SCALES = {
    "identity": _Scale(lambda x: x, lambda x: x, np.ones_like, -np.inf, np.inf),
    "logit": _Scale(logit, expit, lambda x: 1 / (x * (1 - x)), 0.0, 1.0),
    "atanh": _Scale(np.arctanh, np.tanh, lambda x: 1 / (1 - x * x), -1.0, 1.0),
    "log": _Scale(np.log, np.exp, lambda x: 1 / x, 0.0, np.inf),
}


def _on_scale(estimate, half, name):
    """Return intervals (P, 2) that are symmetric on a given scale."""
    scale = _SCALES[name]
    signs = np.array([-1.0, 1.0])
    plain = np.clip(estimate[:, None] + half[:, None] * signs, scale.low, scale.high)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        transformed_half = (half * scale.derivative(estimate))[:, None]
        bounds = scale.inverse(scale.transform(estimate)[:, None] + transformed_half * signs)
    inside = (estimate > scale.low) & (estimate < scale.high)
    return np.where(inside[:, None], bounds, plain)


def bootstrap(
    evidence: xr.Dataset | xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    method: str = "percentile",
    resamples: int = 1000,
    pairs: Sequence[tuple[str, str]] | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """
    Return bootstrap intervals of measures of one or more classifiers.

    Drawing n examples with replacement is equivalent to drawing from a multinomial over the
    outcomes, so the cost of a resample does not depend on n. Classifiers tested on the same
    examples are resampled jointly.

    Parameters
    ----------
    evidence : Dataset or DataArray
        Outcomes of classifiers on the same examples (:func:`bayescm.from_classifiers`), or counts
        with dims ``(..., actual, predicted)``. Matrices along ``classifier`` are then assumed to
        come from different examples. Counts must be integers.
    measures : str, callable or a list of them
    prob : float, default 0.95
    method : {"percentile", "bca"}
        Quantiles of the resampled values, or the bias-corrected and accelerated version.
    resamples : int, default 1000
    pairs : sequence of (classifier, measure), optional
        Intervals to compute. See :func:`delta`.
    random_seed : int or Generator, optional

    Returns
    -------
    Dataset
        One variable per measure, dims ``(..., classifier, bound)``, with ``class`` before ``bound``
        for a measure with one value per class. Resamples with an undefined measure (0/0) are
        excluded. If all resamples are undefined, the ends are NaN.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical
    Association 82, 171-185. doi:10.1080/01621459.1987.10478410

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> bootstrap(counts, "f1", random_seed=1).f1.values.round(2)
    array([0.64, 0.79])
    """
    prob = check_prob(prob)
    check_choice("method", method, ["percentile", "bca"])
    samples = multinomial_samples(evidence, measures, pairs)
    check_counts(samples.counts, todo="count whole examples")
    check_whole("resamples", resamples, 2, "resamples", 1000)
    rng = np.random.default_rng(check_seed(random_seed))
    tails = np.array([(1 - prob) / 2, (1 + prob) / 2])
    values = resample(samples, resamples, rng)
    if method == "bca":
        estimate = samples.evaluate(samples.matrices(samples.counts))
        speed = acceleration(samples)
    bounds = np.full((*values.shape[1:], 2), np.nan)
    for index in np.ndindex(values.shape[1:]):
        draws = values[(slice(None), *index)]
        draws, levels = draws[~np.isnan(draws)], tails
        if len(draws) and method == "bca":
            levels = _bca_levels(draws, estimate[index], speed[index], tails)
        if len(draws) and not np.isnan(levels).any():
            bounds[index] = _quantiles(draws, levels)
    return samples.to_dataset(bounds)


def resample(samples: "MultinomialSamples", resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Return the measures of resampled evidence, shape (resamples, L, J, W)."""
    totals = samples.counts.sum(-1)
    if (totals == 0).any():
        raise fail("A matrix has no examples: {}", samples.counts, "", "drop the empty matrix")
    shares = samples.counts / totals[..., None]
    counts = rng.multinomial(totals, shares, (resamples, *totals.shape))
    return samples.evaluate(samples.matrices(counts))


def _bca_levels(draws, estimate, acceleration, tails):
    """
    Return the levels of the bias-corrected and accelerated bounds, or NaN if there is no estimate.

    Efron's (1987) z0 is the normal quantile of the share of resamples below the estimate, with ties
    counting half. The level of a tail with quantile z is Phi(z0 + w / (1 - a w)) with w = z0 + z.
    """
    if np.isnan(estimate):
        return np.full_like(tails, np.nan)
    below = (draws < estimate).mean() + (draws == estimate).mean() / 2
    bias = ndtri(np.clip(below, 0.5 / len(draws), 1 - 0.5 / len(draws)))
    corrected = bias + ndtri(tails)
    return ndtr(bias + corrected / (1 - acceleration * corrected))


def acceleration(samples: "MultinomialSamples") -> np.ndarray:
    """
    Return the skewness of the jackknife values divided by 6, shape (L, J, W).

    Examples with the same outcome have the same jackknife value. It is computed once per outcome
    and weighted by the number of examples.
    """
    counts = samples.counts
    evaluations, _, outcomes = counts.shape
    without_one = np.repeat(counts[:, :, None].astype(float), outcomes, axis=2)
    without_one = np.maximum(without_one - np.eye(outcomes), 0.0)
    values = np.full((evaluations, outcomes, *samples.selected.shape), np.nan)
    for outcome in range(outcomes):
        values[:, outcome] = samples.evaluate(samples.matrices(without_one[:, :, outcome]))
    weights = counts[:, samples.sample].transpose(0, 2, 1)[..., None]
    weights = np.where(np.isnan(values), 0, weights)
    values = np.nan_to_num(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (weights * values).sum(1, keepdims=True) / weights.sum(1, keepdims=True)
        deviation = mean - values
        cubes = (weights * deviation**3).sum(1)
        return np.nan_to_num(cubes / (6 * (weights * deviation**2).sum(1) ** 1.5))


def _quantiles(values, levels):
    """Return quantiles of values that may be infinite, without interpolating next to infinity."""
    with np.errstate(invalid="ignore"):
        quantiles = np.quantile(values, levels)
    nearest = np.quantile(values, levels, method="nearest")
    return np.where(np.isnan(quantiles), nearest, quantiles)


@dataclass(frozen=True, eq=False)
class MultinomialSamples:
    """
    Evidence as independent multinomial samples of outcomes, with the requested measures.

    Attributes
    ----------
    counts : ndarray, shape (L, S, M)
        Counts of M outcomes in S independent samples, for L evaluations.
    actual : ndarray of int, shape (M,)
    predicted : ndarray of int, shape (J, M)
    sample : ndarray of int, shape (J,)
        Index of the test sample of each classifier.
    measures : list of callables
        K measures with W values in total: one each, or one per class.
    selected : ndarray of bool, shape (J, W)
        Which values are requested for which classifier.
    labels : ndarray, shape (C,)
        Class labels.
    size : int
        Number of labels: the classes and, if there is one, the abstention label.
    leading : DataArray
        Dimensions and coordinates of the L evaluations and of the classifiers.
    """

    counts: np.ndarray
    actual: np.ndarray
    predicted: np.ndarray
    sample: np.ndarray
    measures: list
    selected: np.ndarray
    labels: np.ndarray
    size: int
    leading: xr.DataArray

    def matrices(self, counts: np.ndarray) -> np.ndarray:
        """Return the matrix of each classifier, (..., J, C, C), from counts (..., S, M)."""
        matrices = [
            marginal_matrices(counts[..., sample, :], self.actual, predicted[None], self.size)
            for sample, predicted in zip(self.sample, self.predicted, strict=True)
        ]
        return np.concatenate(matrices, axis=-3)

    def evaluate(self, matrices: np.ndarray) -> np.ndarray:
        """Return all measures of matrices (..., J, C, C), concatenated to (..., J, W)."""
        shape = (*matrices.shape[:-2], -1)
        return np.concatenate(
            [np.asarray(measure(matrices)).reshape(shape) for measure in self.measures], axis=-1
        )

    def to_dataset(self, bounds: np.ndarray) -> xr.Dataset:
        """Return intervals (L, J, W, 2) as a variable per measure, dims (..., [class,] bound)."""
        bounds = np.where(self.selected[None, :, :, None], bounds, np.nan)
        shape, dims = self.leading.shape, self.leading.dims
        coords: dict[Any, Any] = {**dict(self.leading.coords), "bound": ["lower", "upper"]}
        variables: dict[str, tuple] = {}
        start = 0
        for measure, width in zip(self.measures, _widths(self.measures, self.size), strict=True):
            values = bounds[:, :, start : start + width]
            start += width
            if width > 1:
                coords["class"] = self.labels
                values = values.reshape(*shape, width, 2)
                variables[measure.__name__] = ((*dims, "class", "bound"), values)
            else:
                variables[measure.__name__] = ((*dims, "bound"), values.reshape(*shape, 2))
        return xr.Dataset(variables, coords=coords)


def multinomial_samples(
    evidence: xr.Dataset | xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    pairs: Sequence[tuple[str, Any]] | None = None,
) -> MultinomialSamples:
    """Check the evidence and the measures, and convert them to arrays."""
    matrices = as_counts(matrices_of(evidence))
    if "classifier" in matrices.dims:
        matrices = matrices.transpose(..., "classifier", "actual", "predicted")
    resolved_measures = _at_shares(as_measures(measures, matrices), known_shares(matrices))
    size, number = matrices.sizes["actual"], matrices.sizes.get("classifier", 1)
    if is_outcomes(evidence):
        counts, actual, predicted = arrays(as_outcomes(evidence))
        counts, sample = counts.reshape(-1, 1, counts.shape[-1]), np.zeros(number, int)
    else:
        counts, sample = matrices.values.reshape(-1, number, size**2), np.arange(number)
        actual, answers = np.indices((size, size)).reshape(2, -1)
        predicted = np.tile(answers, (number, 1))
    leading = matrices.isel(actual=0, predicted=0, drop=True)
    names = np.atleast_1d(leading.coords.get("classifier", "")).tolist()
    selected = np.repeat(
        check_pairs(pairs, names, resolved_measures), _widths(resolved_measures, size), axis=1
    )
    labels = classes(matrices)
    return MultinomialSamples(
        counts, actual, predicted, sample, resolved_measures, selected, labels, size, leading
    )


def _widths(measures, size):
    """Return the number of values of each measure: one, or one per class."""
    return [np.size(measure(np.ones((size, size)))) for measure in measures]


def _at_shares(measures, shares):
    """Return the measures for a population with given class shares, if any are given."""
    if shares is None:
        return measures
    return [
        replace(measure, compute=partial(_scaled, measure.compute, shares)) for measure in measures
    ]


def _scaled(compute, shares, cells):
    return compute(with_shares(cells, shares))

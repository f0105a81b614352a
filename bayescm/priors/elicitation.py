"""
Elicitation: priors from statements about measures, and beta distributions from intervals.

With two classes, three measures determine the cells. For precision p, recall r and accuracy a, the
solution has a closed form, Caelen's equation (8):

    TP = s r p,  FP = s r (1 - p),  FN = s (1 - r) p,  TN = a - TP,  s = (1 - a) / (p + r - 2 r p).

All other triples are solved numerically.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy import optimize, special

from bayescm.distributions.beta import Beta
from bayescm.measures.catalogue import resolve
from bayescm.priors.pseudo_counts import Like, as_prior, no_counts
from bayescm.validate import check_prob, fail

_STARTS = 24  # number of starting points of the solver
_EXACT = 1e-9  # tolerance for the difference between a measure and its target
_EMPTY = 1e-7  # smaller cells are treated as empty, i.e. as failures of the solver


def elicit(*, weight: float, like: Like = None, **measures: Any) -> xr.DataArray:
    """
    Return the prior with given expected measures, as if from a pilot test.

    Use this if experts or publications report measures rather than counts.

    Parameters
    ----------
    weight : float
        Number of examples to which this knowledge is equivalent, > 0.
    like : DataArray or sequence of labels, optional
        As in `default`.
    **measures
        Expected values of measures, by name or alias. For two classes, three measures that
        determine the cells, such as ``precision=0.6, recall=0.65, accuracy=0.6``, or prevalence,
        recall and specificity. For more classes, ``prevalence`` and ``recall``, each with a value
        per class in the order of the labels or as a mapping by label.

    Returns
    -------
    DataArray, dims (actual, predicted)
        Prior with all cells > 0, which sum to `weight`.

    Raises
    ------
    ValueError
        If no table has these measures. The message states the violated condition or the nearest
        table. If the measures do not determine the table, or the weight is not > 0.

    Notes
    -----
    For precision p, recall r and accuracy a, there is a closed-form solution, Caelen's equation
    (8). All cells are > 0 if 1/r + 1/p - 1/a > 1. All other triples are solved numerically.

    For more than two classes, the errors of a class are distributed evenly over the other classes.
    This is the table with the largest entropy, given the class sizes and recalls.

    References
    ----------
    Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
    Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8

    Examples
    --------
    >>> elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5).values.round(3)
    array([[19.436, 16.043],
           [12.957, 24.064]])
    >>> animals = ["cat", "dog", "owl"]
    >>> elicit(prevalence=[0.5, 0.3, 0.2], recall=[0.9, 0.8, 0.6], weight=20, like=animals).values
    array([[9. , 0.5, 0.5],
           [0.6, 4.8, 0.6],
           [0.8, 0.8, 2.4]])
    """
    if not np.isscalar(weight) or not np.isreal(weight) or not 0 < weight < np.inf:
        todo = "pass weight=20 for knowledge worth 20 examples"
        raise fail("`weight` must be a finite number > 0", weight, "", todo)
    zeros = no_counts(like)
    labels = zeros["actual"].values.tolist()
    cells = _two_class_cells(measures) if len(labels) == 2 else _class_cells(measures, labels)
    return as_prior(zeros.copy(data=weight * cells), "elicited")


def _two_class_cells(measures: Mapping[str, float]) -> np.ndarray:
    """Return the cell probabilities (2, 2), all > 0, for three given values of measures."""
    resolved_measures = [resolve(name) for name in measures]
    canonical = [measure.canonical for measure in resolved_measures]
    if len(measures) != 3 or len(set(canonical)) != 3:
        todo = "name three that determine the cells, e.g. prevalence, recall and specificity"
        raise fail("Exactly three different measures are needed", list(measures), "", todo)
    for name, value in measures.items():
        if not np.isscalar(value) or not np.isreal(value) or not np.isfinite(value):
            raise fail(f"{name} must be a finite number", value, "", f"pass {name}=0.8")
    if set(canonical) == {"precision", "recall", "accuracy"}:
        return _caelen(**dict(zip(canonical, measures.values(), strict=True)))
    return _solve(resolved_measures, measures)


def _caelen(precision, recall, accuracy):
    for name, value in {"precision": precision, "recall": recall, "accuracy": accuracy}.items():
        if not 0 < value < 1:
            todo = f"pass a value just below 1, such as {name}=0.99, if it is nearly perfect"
            raise fail(f"{name} must be between 0 and 1, so that no cell is empty", value, "", todo)
    least = 1 / (1 / recall + 1 / precision - 1)
    if accuracy <= least:
        margin = 1 / recall + 1 / precision - 1 / accuracy
        raise fail(
            "No table has this precision, recall and accuracy, because 1/recall + "
            f"1/precision - 1/accuracy = {margin:.4g} must exceed 1",
            ...,
            f"an accuracy above {least:.4g} for this precision and recall",
            "raise the accuracy, or lower precision or recall",
        )
    scale = (1 - accuracy) / (precision + recall - 2 * recall * precision)
    tp = scale * recall * precision
    fp, fn = scale * recall * (1 - precision), scale * (1 - recall) * precision
    return np.array([[accuracy - tp, fp], [fn, tp]])


def _solve(resolved_measures, measures):
    """Solve for the cells by least squares from several starting points, which must agree."""
    target = np.array(list(measures.values()), float)

    def residuals(logits):
        cells = _cells(logits)
        return (
            np.nan_to_num([float(measure(cells)) for measure in resolved_measures], nan=9.0)
            - target
        )

    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    solutions = [
        optimize.least_squares(residuals, start, bounds=(-25, 25), **tight)
        for start in np.random.default_rng(0).normal(0, 2, (_STARTS, 3))
    ]
    best = min(solutions, key=lambda solution: solution.cost)
    tables = [_cells(solution.x) for solution in solutions if np.abs(solution.fun).max() < _EXACT]
    tables = [cells for cells in tables if cells.min() > _EMPTY]
    if not tables:
        cells = _cells(best.x)
        values = [round(float(measure(cells)), 4) for measure in resolved_measures]
        raise fail(
            "No table with all cells positive has these three measures: {}",
            measures,
            "",
            "change the value you are least sure of; the nearest table has "
            f"{dict(zip(measures, values, strict=True))}",
        )
    if np.ptp(tables, axis=0).max() > 1e-5:
        raise fail(
            "The three measures {} do not determine the table",
            measures,
            "",
            "name three others, e.g. prevalence, recall and specificity: the tables "
            f"{tables[0].round(4).tolist()} and {tables[-1].round(4).tolist()} both fit",
        )
    return _cells(best.x)


def _cells(logits):
    return special.softmax([*logits, 0.0]).reshape(2, 2)


def _class_cells(measures: Mapping[str, Any], labels: Sequence) -> np.ndarray:
    """
    Return the cell probabilities (C, C) from the prevalence and recall of each class.

    The errors of a class are distributed evenly over the other classes.
    """
    values = {resolve(name).canonical: value for name, value in measures.items()}
    if set(values) != {"prevalence", "recall"} or len(measures) != 2:
        todo = "pass both with a value for every class, or a pilot table to from_counts"
        raise fail(
            "With more than two classes, only prevalence and recall can be given; got {}",
            list(measures),
            "",
            todo,
        )
    prevalence = _per_class("prevalence", values["prevalence"], labels)
    recall = _per_class("recall", values["recall"], labels)
    if abs(prevalence.sum() - 1) > 1e-6:
        total = float(prevalence.sum())
        raise fail(
            "Prevalences must sum to 1, not to {}", total, "", "divide each prevalence by their sum"
        )
    error = prevalence * (1 - recall) / (len(labels) - 1)
    return np.diag(prevalence * recall - error) + error[:, None]


def _per_class(name, values, labels):
    """Return proportions inside (0, 1) for all classes, in the order of the labels."""
    if isinstance(values, Mapping):
        if set(values) != set(labels):
            raise fail(
                f"{name} has values for {{}}, which are not the classes",
                list(values),
                str(list(labels)),
                f"pass {name} for each class",
            )
        values = [values[label] for label in labels]
    shares = np.asarray(values)
    if shares.shape != (len(labels),) or shares.dtype.kind not in "iuf":
        todo = (
            f"pass a list in the order of the labels, or a mapping such as {{{labels[0]!r}: 0.2}}"
        )
        raise fail(f"{name} must have a value for each of {len(labels)} classes", values, "", todo)
    if not ((shares > 0) & (shares < 1)).all():
        todo = "pass a value just inside, such as 0.99, if it is nearly perfect"
        raise fail(
            f"Values of {name} must be between 0 and 1, so that no cell is empty", values, "", todo
        )
    return shares.astype(float)


def from_rates(
    *,
    recall: Beta | tuple[float, float] | None = None,
    specificity: Beta | tuple[float, float] | None = None,
    like: Like = None,
) -> xr.DataArray:
    """
    Return the prior with given beta distributions of recall and specificity.

    These are the priors for recall and specificity in `fixed_totals`, for any prevalence, and in
    `dirichlet_multinomial`. In the latter model, the prior for the prevalence is a beta
    distribution. Its parameters are the sum of the two parameters of recall, and the sum of the two
    parameters of specificity.

    Parameters
    ----------
    recall, specificity : Beta or (a, b), optional
        Result of `beta`, or the parameters. By default (0.5, 0.5), as in the default prior.
    like : DataArray or sequence of two labels, optional
        As in `default`.

    Returns
    -------
    DataArray, dims (actual, predicted)

    Examples
    --------
    >>> from_rates(recall=(8, 2)).values
    array([[0.5, 0.5],
           [2. , 8. ]])
    """
    tp, fn = _beta_parameters("recall", recall)
    tn, fp = _beta_parameters("specificity", specificity)
    zeros = no_counts(like)
    if zeros.sizes["actual"] != 2:
        labels = zeros["actual"].values.tolist()
        raise fail("Rates need two classes", labels, "", "use from_counts with a pilot")
    return as_prior(zeros.copy(data=np.array([[tn, fp], [fn, tp]])), "elicited")


def _beta_parameters(name, distribution):
    if distribution is None:
        return 0.5, 0.5
    pair = (distribution.a, distribution.b) if isinstance(distribution, Beta) else distribution
    values = np.asarray(pair, float)
    if values.shape != (2,) or not ((values > 0) & (values < np.inf)).all():
        todo = f"pass e.g. {name}=priors.beta(0.6, 0.8, prob=0.9)"
        raise fail(f"{name} must be a Beta, or two finite numbers > 0", distribution, "", todo)
    return tuple(values.tolist())


def beta(lower: float, upper: float, *, prob: float = 0.9) -> Beta:
    """
    Return the maximum-entropy beta distribution with given mass in an interval.

    For example, "I am 90% sure that recall is between 0.6 and 0.8" corresponds to
    ``beta(0.6, 0.8, prob=0.9)``. The result agrees with PreliZ's ``maxent`` to three digits.

    Parameters
    ----------
    lower, upper : float
        Limits of the interval, with 0 <= lower < upper <= 1. The interval must not be [0, 1].
    prob : float, default 0.9
        Probability of the interval.

    Returns
    -------
    Beta
        Distribution with attributes ``a`` and ``b``, which can be passed to `from_rates`.

    Raises
    ------
    ValueError
        If the limits are not in increasing order within [0, 1].

    References
    ----------
    Icazatti, A., Abril-Pla, O., Klami, A. & Martin, O. A. (2023). PreliZ: A tool-box for prior
    elicitation. Journal of Open Source Software, 8(89), 5499. doi:10.21105/joss.05499

    Examples
    --------
    >>> distribution = beta(0.6, 0.8, prob=0.9)
    >>> round(float(distribution.cdf(0.8) - distribution.cdf(0.6)), 3)
    0.9
    """
    prob = check_prob(prob)
    if not 0 <= lower < upper <= 1 or (lower, upper) == (0, 1):
        todo = "pass e.g. beta(0.6, 0.8, prob=0.9)"
        raise fail("An interval must have 0 <= lower < upper <= 1", (lower, upper), "", todo)

    def excess_mass(logs):
        a, b = np.exp(logs)
        return special.betainc(a, b, upper) - special.betainc(a, b, lower) - prob

    center, half = (lower + upper) / 2, (upper - lower) / 2
    sd = half / special.ndtri((1 + prob) / 2)
    total = max(center * (1 - center) / sd**2 - 1, 2.0)
    solution = optimize.minimize(
        _negative_entropy,
        np.log([center * total, (1 - center) * total]),
        method="SLSQP",
        constraints={"type": "eq", "fun": excess_mass},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return Beta(*map(np.asarray, np.exp(solution.x)))


def _negative_entropy(logs):
    a, b = np.exp(logs)
    digamma = special.digamma
    mean_log = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (a + b - 2) * digamma(a + b)
    return mean_log - special.betaln(a, b)

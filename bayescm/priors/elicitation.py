"""From statements about measures to cells, and from an interval to a beta distribution."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import optimize, special

from bayescm.distributions.beta import Beta
from bayescm.measures.catalogue import resolve
from bayescm.validate import check_prob, fail

_STARTS = 24
_CLOSE = 1e-9
_EMPTY = 1e-7  # a cell that is closer to 0 is an empty one that the solver ran after


def elicit_cells(measures: Mapping[str, float]) -> np.ndarray:
    """
    Return the cell probabilities of two classes that yield three given measures.

    Parameters
    ----------
    measures : mapping of str to float
        Three measures that determine the cells.

    Returns
    -------
    ndarray, shape (2, 2)
        All > 0, summing to 1.

    Raises
    ------
    ValueError
        If no table has these measures, or several do.

    Examples
    --------
    >>> elicit_cells({"prevalence": 0.2, "recall": 0.9, "specificity": 0.75}).round(6)
    array([[0.6 , 0.2 ],
           [0.02, 0.18]])
    """
    kernels = [resolve(name) for name in measures]
    canonical = [kernel.canonical for kernel in kernels]
    if len(measures) != 3 or len(set(canonical)) != 3:
        todo = "name three that determine the cells, e.g. prevalence, recall and specificity"
        raise fail("three different measures are needed", list(measures), "three", todo)
    for name, value in measures.items():
        if not np.isscalar(value) or not np.isreal(value) or not np.isfinite(value):
            raise fail(f"{name} must be a number", value, "a finite number", f"pass {name}=0.8")
    if set(canonical) == {"precision", "recall", "accuracy"}:
        return _caelen(**dict(zip(canonical, measures.values(), strict=True)))
    return _solve(kernels, np.array(list(measures.values()), float), measures)


def elicit_classes(measures: Mapping[str, Any], labels: Sequence) -> np.ndarray:
    """
    Return the cell probabilities of C > 2 classes from the size and the recall of each.

    Parameters
    ----------
    measures : mapping of str to sequence or mapping
        ``prevalence`` and ``recall`` (or an alias of it), with a value for every class.
    labels : sequence
        The classes, in the order of the table.

    Returns
    -------
    ndarray, shape (C, C)
        All > 0, summing to 1; the errors of a class are shared evenly among the others.

    Raises
    ------
    ValueError
        If other measures are named, a class has no value, or a cell would be empty.

    Examples
    --------
    >>> measures = {"prevalence": [0.5, 0.3, 0.2], "recall": [0.9, 0.8, 0.6]}
    >>> elicit_classes(measures, ["cat", "dog", "owl"]).sum(axis=1).round(6)
    array([0.5, 0.3, 0.2])
    """
    named = {resolve(name).canonical: value for name, value in measures.items()}
    if set(named) != {"prevalence", "recall"} or len(measures) != 2:
        todo = "pass both with a value for every class, or a pilot table to from_counts"
        raise fail("more than two classes", list(measures), "prevalence and recall", todo)
    sizes = _of_classes("prevalence", named["prevalence"], labels)
    recalls = _of_classes("recall", named["recall"], labels)
    if abs(sizes.sum() - 1) > 1e-6:
        total = float(sizes.sum())
        raise fail("prevalences must sum to 1", total, "1", "divide them by their sum")
    missed = sizes * (1 - recalls) / (len(labels) - 1)
    return np.diag(sizes * recalls - missed) + missed[:, None]


def _of_classes(name, values, labels):
    """Return a share strictly between 0 and 1 for every class, in the order of the labels."""
    if isinstance(values, Mapping):
        if set(values) != set(labels):
            todo = f"pass {name} for each of them"
            raise fail(f"{name} has other classes", list(values), str(list(labels)), todo)
        values = [values[label] for label in labels]
    shares = np.asarray(values)
    if shares.shape != (len(labels),) or shares.dtype.kind not in "iuf":
        todo = (
            f"pass a list in the order of the labels, or a mapping such as {{{labels[0]!r}: 0.2}}"
        )
        raise fail(f"{name} needs a value for every class", values, f"{len(labels)} numbers", todo)
    if not ((shares > 0) & (shares < 1)).all():
        todo = "pass a value just inside, such as 0.99, if it is nearly perfect"
        raise fail(f"{name} leaves a cell empty", values, "values between 0 and 1", todo)
    return shares.astype(float)


def _caelen(precision, recall, accuracy):
    """Solve Caelen's equation (8)."""
    for name, value in {"precision": precision, "recall": recall, "accuracy": accuracy}.items():
        if not 0 < value < 1:
            todo = f"pass a value just below 1, such as {name}=0.99, if it is nearly perfect"
            raise fail(f"{name} leaves a cell empty", value, f"0 < {name} < 1", todo)
    least = 1 / (1 / recall + 1 / precision - 1)
    if accuracy <= least:
        room = 1 / recall + 1 / precision - 1 / accuracy
        raise fail(
            "no table has this precision, recall and accuracy: its true negatives would not be "
            f"positive, since 1/recall + 1/precision - 1/accuracy = {room:.4g} must exceed 1",
            {"precision": precision, "recall": recall, "accuracy": accuracy},
            f"with this precision and recall an accuracy above {least:.4g}",
            "raise the accuracy, or lower precision or recall",
        )
    scale = (1 - accuracy) / (precision + recall - 2 * recall * precision)
    tp = scale * recall * precision
    fp, fn = scale * recall * (1 - precision), scale * (1 - recall) * precision
    return np.array([[accuracy - tp, fp], [fn, tp]])


def _solve(kernels, wanted, named):
    """Solve for the cells from several starts; they must all arrive at one table."""
    rng = np.random.default_rng(0)
    ends = [_descend(kernels, wanted, start) for start in rng.normal(0, 2, (_STARTS, 3))]
    best = min(ends, key=lambda end: end.cost)
    exact = [end for end in ends if np.abs(end.fun).max() < _CLOSE]
    found = [end for end in exact if _table(end.x).min() > _EMPTY]
    if not found:
        cells = _table(best.x)
        nearest = {name: round(float(k(cells)), 4) for name, k in zip(named, kernels, strict=True)}
        raise fail(
            "no table has these three measures with all cells positive",
            named,
            f"the nearest that comes from a table is {nearest}",
            "change the value you are least sure of",
        )
    tables = np.array([_table(end.x) for end in found])
    if np.ptp(tables, axis=0).max() > 1e-5:
        raise fail(
            "these three measures do not determine the table",
            named,
            f"among others {tables[0].round(4).tolist()} and {tables[-1].round(4).tolist()} fit",
            "name three others, e.g. prevalence, recall and specificity",
        )
    return _table(best.x)


def _descend(kernels, wanted, start):
    def miss(logits):
        cells = _table(logits)
        return np.nan_to_num([float(kernel(cells)) for kernel in kernels], nan=9.0) - wanted

    return optimize.least_squares(miss, start, bounds=(-25, 25), xtol=1e-15, ftol=1e-15, gtol=1e-15)


def _table(logits):
    return special.softmax([*logits, 0.0]).reshape(2, 2)


def beta(lower: float, upper: float, *, prob: float = 0.9) -> Beta:
    """
    Return the maximum-entropy beta distribution with a given mass between two values.

    "I am 90% sure that recall lies between .6 and .8" becomes ``beta(0.6, 0.8, prob=0.9)``, which
    agrees with PreliZ's ``maxent`` to three digits.

    Parameters
    ----------
    lower, upper : float
        0 <= lower < upper <= 1, not both at the ends.
    prob : float, default 0.9
        The mass between them.

    Returns
    -------
    Beta
        With attributes ``a`` and ``b``; pass it to `from_rates`.

    Raises
    ------
    ValueError
        If the values are not in order within [0, 1].

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
        raise fail(
            "not an interval between 0 and 1", (lower, upper), "0 <= lower < upper <= 1", todo
        )

    def mass(logs):
        a, b = np.exp(logs)
        return special.betainc(a, b, upper) - special.betainc(a, b, lower) - prob

    middle, width = (lower + upper) / 2, (upper - lower) / 2
    total = max(middle * (1 - middle) / (width / special.ndtri((1 + prob) / 2)) ** 2 - 1, 2.0)
    start = np.log([middle * total, (1 - middle) * total])
    found = optimize.minimize(
        _negative_entropy,
        start,
        method="SLSQP",
        constraints={"type": "eq", "fun": mass},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return Beta(*map(np.asarray, np.exp(found.x)))


def _negative_entropy(logs):
    a, b = np.exp(logs)
    digamma = special.digamma
    flat = (a - 1) * digamma(a) + (b - 1) * digamma(b) - (a + b - 2) * digamma(a + b)
    return flat - special.betaln(a, b)

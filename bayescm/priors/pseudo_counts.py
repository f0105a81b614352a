"""Pseudo-counts from rules, from stated measures and from rates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.beta import Beta
from bayescm.evidence.counts import CELLS, as_counts, make_counts
from bayescm.evidence.labels import as_labels
from bayescm.priors.elicitation import elicit_cells, elicit_classes
from bayescm.priors.power import as_prior
from bayescm.validate import fail

Like = xr.DataArray | Sequence | None


def default(like: Like = None) -> xr.DataArray:
    """
    Return the prior that every model takes by default: two examples, spread over all cells.

    Parameters
    ----------
    like : DataArray or sequence of labels, optional
        Evidence, or the class labels (of two, the positive one last). By default
        "negative" and "positive", as in `from_cells`.

    Returns
    -------
    DataArray, dims (actual, predicted)

    Examples
    --------
    >>> float(default(["cat", "cow", "dog"]).sum())
    2.0
    """
    return _flat(like, lambda classes: 2 / classes**2, "default")


def uniform(like: Like = None) -> xr.DataArray:
    """
    Return the uniform prior: one example per cell, every matrix equally probable.

    For many classes it is a strong prior: ``C**2`` examples of random guessing.

    Parameters
    ----------
    like : DataArray or sequence of labels, optional
        As in `default`.

    Returns
    -------
    DataArray, dims (actual, predicted)

    Examples
    --------
    >>> uniform().attrs["examples"]
    4.0
    """
    return _flat(like, lambda _: 1.0, "uniform")


def jeffreys(like: Like = None) -> xr.DataArray:
    """
    Return Jeffreys' prior for the cells: half an example per cell.

    For two classes it is the default; for C classes it is worth ``C**2 / 2`` examples.

    Parameters
    ----------
    like : DataArray or sequence of labels, optional
        As in `default`.

    Returns
    -------
    DataArray, dims (actual, predicted)

    Examples
    --------
    >>> jeffreys(["cat", "dog", "owl"]).values
    array([[0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5]])
    """
    return _flat(like, lambda _: 0.5, "Jeffreys")


def haldane(like: Like = None) -> xr.DataArray:
    """
    Return Haldane's prior: no example in any cell, an improper distribution.

    The posterior is proper only where every cell was seen. Where one is empty some measures still
    have one (precision, where no positive was missed), and the others are refused. NUTS cannot
    start from this prior.

    Parameters
    ----------
    like : DataArray or sequence of labels, optional
        As in `default`.

    Returns
    -------
    DataArray, dims (actual, predicted)

    References
    ----------
    Caelen, O. (2017). A Bayesian interpretation of the confusion matrix. Annals of Mathematics and
    Artificial Intelligence, 81, 429-450. doi:10.1007/s10472-017-9564-8

    Examples
    --------
    >>> haldane(["sick", "well"]).values
    array([[0., 0.],
           [0., 0.]])
    """
    return _flat(like, lambda _: 0.0, "Haldane's")


def elicit(*, weight: float, like: Like = None, **measures: Any) -> xr.DataArray:
    """
    Return the prior whose expected cells yield given measures, as if from a pilot test.

    Parameters
    ----------
    weight : float
        How many examples this knowledge is worth, > 0.
    like : DataArray or sequence of labels, optional
        As in `default`.
    **measures
        Of two classes three measures that determine the cells, by their names or aliases:
        ``precision=0.6, recall=0.65, accuracy=0.6``, or ``prevalence, recall, specificity``, ...
        Of more classes ``prevalence`` and ``recall``, each with a value for every class, in the
        order of the labels or as a mapping by label.

    Returns
    -------
    DataArray, dims (actual, predicted)
        All cells > 0, summing to `weight`.

    Raises
    ------
    ValueError
        If no table has these measures (the message says which condition fails and what would be
        feasible), they do not determine it, or the weight is not > 0.

    Notes
    -----
    Precision p, recall r and accuracy a have a closed-form solution, Caelen's equation (8), with
    all cells > 0 if 1/r + 1/p - 1/a > 1. All other triples are solved numerically.

    Of more than two classes, the examples of a class that are not recognised are shared evenly
    among the other classes: the table of largest entropy with these class sizes and recalls.

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
        raise fail("weight must be a number of examples", weight, "a finite number > 0", todo)
    empty = _empty(like)
    labels = empty["actual"].values.tolist()
    cells = elicit_cells(measures) if len(labels) == 2 else elicit_classes(measures, labels)
    return as_prior(empty.copy(data=weight * cells), "elicited")


def from_rates(
    *,
    recall: Beta | tuple[float, float] | None = None,
    specificity: Beta | tuple[float, float] | None = None,
    like: Like = None,
) -> xr.DataArray:
    """
    Return the prior under which recall and specificity have given beta distributions.

    Under `fixed_totals` these are their priors whatever the prevalence. Under
    `dirichlet_multinomial` they are too, and the prevalence gets the distribution that goes with
    them, ``Beta(examples of positives, examples of negatives)``.

    Parameters
    ----------
    recall, specificity : Beta or (a, b), optional
        From `beta`, or its parameters; by default those of the default prior, (0.5, 0.5).
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
    (tp, fn), (tn, fp) = _parameters("recall", recall), _parameters("specificity", specificity)
    empty = _empty(like)
    if empty.sizes["actual"] != 2:
        labels = empty["actual"].values.tolist()
        raise fail("rates need two classes", labels, "two labels", "use from_counts with a pilot")
    return as_prior(empty.copy(data=np.array([[tn, fp], [fn, tp]])), "elicited")


def _parameters(name, distribution):
    if distribution is None:
        return 0.5, 0.5
    pair = (distribution.a, distribution.b) if isinstance(distribution, Beta) else distribution
    values = np.asarray(pair, float)
    if values.shape != (2,) or not ((values > 0) & (values < np.inf)).all():
        todo = f"pass e.g. {name}=priors.beta(0.6, 0.8, prob=0.9)"
        raise fail(
            f"{name} is not a beta distribution", distribution, "a Beta, or two numbers > 0", todo
        )
    return tuple(values.tolist())


def _flat(like, cell, name):
    empty = _empty(like)
    return as_prior(empty + cell(empty.sizes["actual"]), name)


def _empty(like):
    """Return one matrix of zeros with the classes asked for."""
    if isinstance(like, xr.DataArray):
        counts = as_counts(like)
        counts = counts.isel({dim: 0 for dim in counts.dims[:-2]}, drop=True) * 0.0
        extra = [name for name in counts.coords if name not in (*CELLS, "positive")]
        return counts.drop_vars(extra)
    labels = as_labels(("negative", "positive") if like is None else like)
    zeros = np.zeros((len(labels), len(labels)))
    return make_counts(zeros, labels, labels[-1] if len(labels) == 2 else None)

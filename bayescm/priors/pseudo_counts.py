"""
Pseudo-counts: priors from rules and from earlier data, all in the form of a concentration.

Rules use the same number of examples in every cell. A power prior is a base prior plus a fraction
of the counts of an earlier test.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.distributions.dirichlet import default_concentration
from bayescm.evidence.counts import CELLS, align, as_counts, in_order, make_counts
from bayescm.evidence.labels import as_labels
from bayescm.validate import check_is, fail

Like = xr.DataArray | Sequence | None


def default(like: Like = None) -> xr.DataArray:
    """
    Return the default prior of all models, equivalent to two examples in total.

    Parameters
    ----------
    like : DataArray or sequence of labels, optional
        Evidence with the class labels, or the labels themselves. With two labels, the positive one
        is last. By default "negative" and "positive", as in `from_cells`.

    Returns
    -------
    DataArray, dims (actual, predicted)

    Examples
    --------
    >>> float(default(["cat", "cow", "dog"]).sum())
    2.0
    """
    zeros = no_counts(like)
    return as_prior(zeros + default_concentration(zeros.sizes["actual"]), "default")


def uniform(like: Like = None) -> xr.DataArray:
    """
    Return the uniform prior, with one example per cell.

    Under this prior, all matrices are equally probable. With many classes it is a strong prior,
    equivalent to ``C**2`` examples with random predictions.

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
    return as_prior(no_counts(like) + 1.0, "uniform")


def jeffreys(like: Like = None) -> xr.DataArray:
    """
    Return the Jeffreys prior for the cells: half an example per cell.

    With two classes it is the default prior. With C classes it is equivalent to ``C**2 / 2``
    examples.

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
    return as_prior(no_counts(like) + 0.5, "Jeffreys")


def haldane(like: Like = None) -> xr.DataArray:
    """
    Return the Haldane prior, an improper prior with zero examples per cell.

    The posterior is proper only if all cells contain examples. If a cell is empty, some measures
    still have a posterior (for example precision, if there are no false negatives), and others
    raise an error. NUTS cannot be used with this prior.

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
    return as_prior(no_counts(like) + 0.0, "Haldane's")


def from_counts(pilot: xr.DataArray, discount: float = 1.0, *, base: Any = None) -> xr.DataArray:
    """
    Return the power prior from the counts of an earlier test.

    The power prior is a base prior plus a fraction of the counts. Use it if the earlier test is
    relevant, but less so than new data.

    Parameters
    ----------
    pilot : DataArray
        Counts of an earlier test, dims (..., actual, predicted).
    discount : float, default 1
        Weight of one example of the pilot, relative to a new one, in [0, 1].
    base : float, array_like or DataArray, optional
        Prior before the pilot. By default `default`.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    References
    ----------
    Ibrahim, J. G. & Chen, M.-H. (2000). Power prior distributions for regression models.
    Statistical Science, 15(1), 46-60. doi:10.1214/ss/1009212673

    Examples
    --------
    >>> import bayescm as bcm
    >>> from_counts(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), discount=0.1).values
    array([[3.5, 4. ],
           [2. , 7. ]])
    """
    counts = as_counts(pilot)
    prior = align(base, pilot)
    if prior is None:
        prior = default_concentration(counts.sizes["actual"])
    return as_prior(prior + _check_discount(discount) * counts, "power")


def from_posterior(
    posterior: xr.DataTree | xr.Dataset | xr.DataArray,
    discount: float = 1.0,
    *,
    approximate: bool = False,
) -> xr.DataArray:
    """
    Return the prior from an earlier posterior, with its data discounted.

    Use this for sequential updating: the posterior of one batch is the prior for the next.

    Parameters
    ----------
    posterior : DataTree, Dataset or DataArray
        Tree from a fit of `dirichlet_multinomial` or `pooled_folds`, or a state of `online.update`.
        A concentration is discounted as a whole, because its base prior is unknown.
    discount : float, default 1
        Weight of one example of the earlier data, relative to a new one, in [0, 1].
    approximate : bool, default False
        Whether to approximate a posterior that is not a Dirichlet distribution by the Dirichlet
        distribution with the same means and total variance of the cells.

    Returns
    -------
    DataArray, dims (..., actual, predicted)

    Raises
    ------
    ValueError
        If the posterior is not a Dirichlet distribution and `approximate` is False.

    Examples
    --------
    >>> import bayescm as bcm
    >>> tree = bcm.fit(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), draws=10, random_seed=1)
    >>> from_posterior(tree, discount=0.1).values
    array([[3.5, 4. ],
           [2. , 7. ]])
    """
    discount = _check_discount(discount)
    if isinstance(posterior, xr.DataArray):
        return as_prior(discount * check_concentration(posterior), "power")
    if isinstance(posterior, xr.Dataset) and "concentration" in posterior:
        return as_prior(posterior["concentration"] + discount * posterior["counts"], "power")
    if not isinstance(posterior, xr.DataTree):
        allowed = "a tree of fit(), a state of online.update(), or a concentration"
        todo = "pass counts to `from_counts`"
        raise fail(
            f"A {type(posterior).__name__} is not a posterior", ..., allowed, todo, TypeError
        )
    if _is_dirichlet(posterior):
        constants = posterior["constant_data"].to_dataset()
        counts = constants["counts"]
        if "omega" in constants:  # folds enter as their discounted sum
            folds = [dim for dim in ("repeat", "fold") if dim in counts.dims]
            counts = counts.sum(folds) * constants["omega"]
        return as_prior(constants["concentration"] + discount * counts, "power")
    if not approximate:
        raise fail(
            "The posterior of {} is not a Dirichlet distribution",
            posterior.attrs.get("model"),
            "a fit of dirichlet_multinomial or pooled_folds with a concentration of numbers",
            "pass `approximate=True` for the Dirichlet distribution with the same means "
            "and spread, or build the prior from the evidence: `from_counts(counts, "
            "discount)`",
        )
    return as_prior(discount * _matched_dirichlet(posterior), "approximate power")


def _is_dirichlet(tree):
    conjugate = "theta_cell" in tree["posterior"].data_vars
    keywords = json.loads(tree.attrs.get("model_keywords", "{}"))
    return conjugate and not isinstance(keywords.get("concentration"), str)


def _matched_dirichlet(tree):
    """
    Return the Dirichlet distribution with the means and total variance of the cell draws.

    Its total A solves sum_i var(theta_i) = sum_i m_i (1 - m_i) / (A + 1).
    """
    draws = tree["posterior"].to_dataset()
    if "theta" not in draws:
        todo = "use `from_counts` with the evidence"
        raise fail("The tree has no theta, only {}", list(draws.data_vars), "", todo)
    theta, dims = draws["theta"], ("chain", "draw")
    mean, variance = theta.mean(dims), theta.var(dims)
    total = (mean * (1 - mean)).sum(CELLS) / variance.sum(CELLS) - 1
    return in_order(mean * total)


def _check_discount(discount):
    if not isinstance(discount, int | float | np.number) or not 0 <= discount <= 1:
        todo = "pass e.g. `discount=0.5` to count every example as half of one"
        raise fail("`discount` must be between 0 and 1", discount, "", todo)
    return float(discount)


def examples(concentration: xr.DataArray) -> float:
    """
    Return the number of examples to which a prior is equivalent.

    Parameters
    ----------
    concentration : DataArray, dims (..., actual, predicted)
        Prior pseudo-counts, as returned by the functions of this module.

    Examples
    --------
    >>> import bayescm as bcm
    >>> examples(bcm.priors.jeffreys())
    2.0
    """
    return float(check_concentration(concentration).sum(CELLS).max())


def check_concentration(concentration: Any) -> xr.DataArray:
    """Return a prior in canonical order, or raise an error if it is not a concentration."""
    allowed, todo = (
        "pseudo-counts with the dimensions actual and predicted",
        "pass e.g. priors.jeffreys()",
    )
    check_is(concentration, xr.DataArray, "a concentration", allowed, todo)
    if not set(CELLS) <= set(concentration.dims):
        raise fail(
            "A concentration needs the dimensions actual and predicted; it has {}",
            concentration.dims,
            "",
            todo,
        )
    return in_order(concentration)


# Keywords of models for priors, including those that are not pseudo-counts.
KEYWORDS_OF_MODELS = (
    "concentration",
    "covariates",
    "deviation",
    "drift",
    "interaction",
    "omega",
    "prevalence",
    "rho",
    "separation",
    "slope",
    "spread",
)


def named_priors(priors: Any) -> dict[str, Any]:
    """
    Return priors by name. A single prior gets its stored name.

    Raises
    ------
    ValueError, TypeError
        If there are no priors, a name is a keyword of a model, or measures are given instead.

    Examples
    --------
    >>> list(named_priors({"flat": 1.0, "experts": 2.0})), list(named_priors(uniform()))
    (['flat', 'experts'], ['uniform'])
    """
    if isinstance(priors, Mapping):
        if not priors:
            raise fail("No priors are given", ..., "", 'pass e.g. {"flat": 1.0}')
        for name in priors:
            if name in KEYWORDS_OF_MODELS:
                named = f"{{'mine': {{{name!r}: ...}}}}"
                todo = (
                    f"name the prior, priors.table(counts, {named}, measures), or predict by "
                    f"measure(fit(counts, {name}=...), measures, `group='prior'`)"
                )
                raise fail("{} is a keyword of models, not the name of a prior", name, "", todo)
        return dict(priors)
    if isinstance(priors, str) or (isinstance(priors, list) and isinstance(priors[0], str)):
        todo = 'priors come before measures: table(counts, {"flat": 1.0}, "f1")'
        raise fail(
            "{} is not a prior, or a mapping from names to priors", priors, "", todo, TypeError
        )
    attrs = priors.attrs if isinstance(priors, xr.DataArray) else {}
    return {str(attrs.get("prior", "prior")): priors}


def as_prior(concentration: xr.DataArray, name: str) -> xr.DataArray:
    """Return pseudo-counts with the name and the number of examples of the prior as attributes."""
    prior = concentration.rename("concentration")
    n = examples(prior)
    description = f"{name} prior, worth {n:.4g} examples"
    prior.attrs = {"prior": name, "examples": n, "description": description}
    return prior


def no_counts(like: Like) -> xr.DataArray:
    """Return a matrix of zeros with the classes of the evidence, or with the given labels."""
    if isinstance(like, xr.DataArray):
        counts = as_counts(like)
        counts = counts.isel({dim: 0 for dim in counts.dims[:-2]}, drop=True) * 0.0
        return counts.drop_vars(
            [name for name in counts.coords if name not in (*CELLS, "positive")]
        )
    labels = as_labels(("negative", "positive") if like is None else like)
    zeros = np.zeros((len(labels), len(labels)))
    return make_counts(zeros, labels, labels[-1] if len(labels) == 2 else None)

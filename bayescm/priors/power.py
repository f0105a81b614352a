"""Power priors: the evidence of an earlier test, each example worth a fraction of a new one."""

import json
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, align, as_counts, in_order
from bayescm.validate import check_is, fail


def from_counts(pilot: xr.DataArray, discount: float = 1.0, *, base: Any = None) -> xr.DataArray:
    """
    Return the power prior from an earlier test: a base prior plus a fraction of its counts.

    Parameters
    ----------
    pilot : DataArray
        Counts of an earlier test, dims (..., actual, predicted).
    discount : float, default 1
        What one of its examples is worth today, in [0, 1].
    base : float, array_like or DataArray, optional
        The prior before the pilot; `default` if omitted.

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
    aligned = align(base, pilot)
    aligned = 2 / counts.sizes["actual"] ** 2 if aligned is None else aligned
    return as_prior(aligned + _discount(discount) * counts, "power")


def from_posterior(
    posterior: xr.DataTree | xr.Dataset | xr.DataArray,
    discount: float = 1.0,
    *,
    approximate: bool = False,
) -> xr.DataArray:
    """
    Return yesterday's posterior as today's prior, its evidence discounted.

    Parameters
    ----------
    posterior : DataTree, Dataset or DataArray
        The tree of a fit of `dirichlet_multinomial` or `pooled_folds`; a state of `online.update`;
        or a concentration, all of which is then discounted (it no longer knows its base).
    discount : float, default 1
        What one of its examples is worth today, in [0, 1].
    approximate : bool, default False
        Whether a posterior that is not a Dirichlet distribution may be replaced by the one with the
        same means and the same total variance of the cells.

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
    discount = _discount(discount)
    if isinstance(posterior, xr.DataArray):
        return as_prior(discount * check_concentration(posterior), "power")
    if isinstance(posterior, xr.Dataset) and "concentration" in posterior:
        return as_prior(posterior["concentration"] + discount * posterior["counts"], "power")
    if not isinstance(posterior, xr.DataTree):
        allowed = "a tree of fit(), a state of online.update(), or a concentration"
        todo = "pass counts to from_counts"
        raise fail("not a posterior", type(posterior).__name__, allowed, todo, TypeError)
    if _is_dirichlet(posterior):
        known = posterior["constant_data"].to_dataset()
        return as_prior(known["concentration"] + discount * _evidence(known), "power")
    if not approximate:
        raise fail(
            "the posterior is not a Dirichlet distribution",
            posterior.attrs.get("model"),
            "a fit of dirichlet_multinomial or pooled_folds with a concentration of numbers",
            "pass approximate=True for the Dirichlet with the same means and spread, or make the "
            "prior from the evidence itself: from_counts(counts, discount)",
        )
    return as_prior(discount * _matched(posterior), "approximate power")


def examples(concentration: xr.DataArray) -> float:
    """
    Return how many examples a prior is worth.

    Examples
    --------
    >>> import bayescm as bcm
    >>> examples(bcm.priors.jeffreys())
    2.0
    """
    return float(check_concentration(concentration).sum(CELLS).max())


def check_concentration(concentration: Any) -> xr.DataArray:
    """Return a prior in canonical order, or raise where it is no pseudo-counts of cells."""
    allowed, todo = "pseudo-counts with dims actual and predicted", "pass e.g. priors.jeffreys()"
    check_is(concentration, xr.DataArray, "a concentration", allowed, todo)
    if not set(CELLS) <= set(concentration.dims):
        raise fail("not a concentration", concentration.dims, allowed, todo)
    return in_order(concentration)


def _is_dirichlet(tree):
    conjugate = "theta_cell" in tree["posterior"].data_vars
    keywords = json.loads(tree.attrs.get("model_keywords", "{}"))
    return conjugate and not isinstance(keywords.get("concentration"), str)


def _evidence(known):
    """Return the counts as the posterior has them: those of folds summed and discounted."""
    counts = known["counts"]
    folds = [dim for dim in ("repeat", "fold") if dim in counts.dims]
    return counts.sum(folds) * known["omega"] if "omega" in known else counts


def _matched(tree):
    """Return the Dirichlet with the means and the total variance of the cells' draws."""
    draws = tree["posterior"].to_dataset()
    if "theta" not in draws:
        todo = "use from_counts with the evidence"
        raise fail("the tree has no theta", list(draws.data_vars), "cell probabilities", todo)
    theta, over = draws["theta"], ("chain", "draw")
    mean = theta.mean(over)
    spread = (mean * (1 - mean)).sum(CELLS) / theta.var(over).sum(CELLS)
    return in_order(mean * (spread - 1))


def _discount(discount):
    if not isinstance(discount, int | float | np.number) or not 0 <= discount <= 1:
        todo = "pass e.g. discount=0.5 to count every example as half of one"
        raise fail("discount must lie between 0 and 1", discount, "0 <= discount <= 1", todo)
    return float(discount)


def as_prior(concentration: xr.DataArray, name: str) -> xr.DataArray:
    """Return pseudo-counts that say which prior they are and what it is worth."""
    prior = concentration.rename("concentration")
    worth = examples(prior)
    prior.attrs = {"prior": name, "examples": worth}
    prior.attrs["description"] = f"{name} prior, worth {worth:.4g} examples"
    return prior

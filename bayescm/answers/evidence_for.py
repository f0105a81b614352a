"""What the evidence says of the models themselves: marginal likelihoods and Bayes factors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.trees import attribute_dims
from bayescm.validate import fail

_KEY = "log_marginal_likelihood"


def evidence_for(fits: Mapping[Any, xr.DataTree]) -> pd.DataFrame:
    """
    Compare models of the same evidence by their marginal likelihoods.

    It answers where leave-one-out cross-validation has nothing to leave out, as with models of one
    matrix. A marginal likelihood is the probability that the model gave the evidence before it was
    seen; it depends on the prior, and more so the vaguer that is.

    Parameters
    ----------
    fits : mapping of name to DataTree
        Two or more trees as `fit` returns them, all of the same evidence, of models whose direct
        siblings know their marginal likelihood, with priors that are numbers.

    Returns
    -------
    DataFrame
        A row per model (and member of the batch): ``log_marginal_likelihood`` (natural logarithm),
        ``difference`` from the best model, ``bayes_factor`` against the best model, and
        ``probability`` of the model if all were equally probable before.

    Raises
    ------
    TypeError
        If this is not a mapping of fits.
    ValueError
        If there is one model only, a fit has no marginal likelihood, or the models are of different
        evidence, or condition on different parts of it: ``fixed_totals`` is about the
        predictions given the class totals, ``dirichlet_multinomial`` about both.

    See Also
    --------
    bayescm.fit : The attribute ``log_marginal_likelihood`` of its trees.

    References
    ----------
    Kass, R. E. & Raftery, A. E. (1995). Bayes factors. Journal of the American Statistical
    Association 90, 773-795. doi:10.1080/01621459.1995.10476572

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> good = [[3, 1], [1, 3]]
    >>> fits = {
    ...     "flat": bcm.fit(counts, concentration=1.0, draws=100),
    ...     "better than chance": bcm.fit(counts, concentration=good, draws=100),
    ... }
    >>> evidence_for(fits)["bayes_factor"].round(2).to_dict()
    {'flat': 0.56, 'better than chance': 1.0}
    """
    named = isinstance(fits, Mapping) and not isinstance(fits, xr.DataTree)  # a tree is a mapping
    if not named or not all(isinstance(each, xr.DataTree) for each in fits.values()):
        todo = "pass evidence_for({'flat': fit(counts, concentration=1.0), ...})"
        raise fail("not fits by name", type(fits).__name__, "a mapping to trees", todo, TypeError)
    if len(fits) < 2:
        raise fail("nothing to compare", list(fits), "two or more fits", "fit another model")
    names = list(fits)
    for name in names:
        _check_known(name, fits[name])
        _check_same(names[0], name, fits)
    logs = xr.concat([_logs(each) for each in fits.values()], pd.Index(names, name="model"))
    logs = logs.transpose("model", ...)
    difference = logs - logs.max("model")
    factor = np.exp(difference)
    columns = {_KEY: logs, "difference": difference, "bayes_factor": factor}
    columns["probability"] = factor / factor.sum("model")
    return xr.Dataset(columns).to_dataframe(dim_order=list(logs.dims))


def _logs(tree):
    """Return the log marginal likelihoods over the batch, which the attribute has flat."""
    dims = attribute_dims(tree, "batch")
    sizes = tree["posterior"].sizes
    values = np.reshape(tree.attrs[_KEY], [sizes[dim] for dim in dims])
    coords = {dim: tree["posterior"][dim] for dim in dims if dim in tree["posterior"].coords}
    return xr.DataArray(values, dims=dims, coords={k: v.values for k, v in coords.items()})


def _check_known(name, tree):
    if _KEY not in tree.attrs:
        todo = "compare by az.loo where there are folds or groups, or take a proper prior"
        got = (name, tree.attrs.get("model", "a tree"))
        raise fail("no marginal likelihood is known", got, "a fit whose attributes have it", todo)


def _check_same(first, name, fits):
    one, other = (_observed(fits[each]) for each in (first, name))
    if not one.equals(other):
        got = f"{first} and {name} observe {_said(one)} and {_said(other)}"
        todo = "fit all of them to the same counts, with the same totals given"
        raise fail("the models are of different evidence", got, "the same observations", todo)


def _observed(tree):
    """Return what the model took for observed, without the scalars that came with the evidence."""
    seen = tree["observed_data"].to_dataset()
    return seen.drop_vars([key for key, each in seen.coords.items() if not each.ndim])


def _said(seen):
    return {name: dict(each.sizes) for name, each in seen.data_vars.items()}

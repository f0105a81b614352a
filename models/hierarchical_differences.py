r"""Several classifiers on several data sets: differences, pair by pair, partially pooled.

.. math::

    x_{ir} &= \delta_i + e_{ir}, \qquad
        e_i \sim \mathrm{Normal}(0,\; \sigma_i^2\,((1 - \rho) I + \rho J)) \\
    \delta_i &\sim \mathrm{StudentT}(\nu, \delta_0, \sigma_0) \\
    \delta_0 &\sim \mathrm{Normal}(0, 10\,s), \quad \sigma_0 \sim \mathrm{HalfCauchy}(s), \quad
        \nu - 2 \sim \mathrm{Gamma}(2, 0.1)

The differences of two classifiers, run by run, are correlated on each data set, since runs share
training examples; the correlation :math:`\rho` is the share of examples tested. Each data set has a
true difference of its own; these are spread about a location by a Student t distribution, so that
a data set that is unlike the others does not drag the location along. The standard deviation
:math:`\sigma_i` of each data set has the prior :math:`1/\sigma_i` and is integrated out, which
leaves the correlated t of its mean.

Use it for cross-validations of the same classifiers on many data sets: benchmark tables of any
measure. Every pair of classifiers is a model of its own. Do not use it for one data set
(`CorrelatedT`), nor for data sets that are no sample of those the answer is to be about.

The scale :math:`s` is by default the root mean square of the mean differences and their errors.
Corani et al. have flat priors of the location and the spread, and a gamma prior of the degrees of
freedom whose parameters vary; here there are at least two, so that differences have a variance.

Limits: a spread of 0 is one difference for all data sets; an infinite one leaves each to itself.

Not conjugate; the direct posterior integrates each data set's difference out and takes a grid of
location, spread and degrees of freedom.

References
----------
Corani, G., Benavoli, A., Demsar, J., Mangili, F. & Zaffalon, M. (2017). Statistical comparison of
classifiers through Bayesian hierarchical modelling. Machine Learning 106, 1817-1837.
doi:10.1007/s10994-017-5641-9
"""

from itertools import combinations

import numpy as np
import pymc as pm
import xarray as xr


def hierarchical_differences(results: xr.Dataset, *, scale: float | None = None) -> pm.Model:
    """Model the differences of every pair of classifiers on several data sets.

    Parameters
    ----------
    results : xarray.Dataset
        ``result`` (data_set, classifier, run), NaN where missing; coord ``test_share``.
    scale : float, optional
        Size of a usual difference, > 0, in the unit of the results.

    Returns
    -------
    pymc.Model
        Free variables ``location``, ``spread``, ``excess`` (degrees of freedom beyond two) by
        ``pair``, and ``difference`` by ``comparison``, a pair on a data set; observed ``mean``.

    Examples
    --------
    >>> import xarray as xr
    >>> runs = np.random.default_rng(1).normal(size=(4, 2, 10))
    >>> table = xr.Dataset({"result": (("data_set", "classifier", "run"), runs)})
    >>> model = hierarchical_differences(table.assign_coords(test_share=0.1))
    >>> [variable.name for variable in model.free_RVs]
    ['location', 'spread', 'excess', 'difference']
    """
    table = results["result"].transpose("data_set", "classifier", "run")
    names = table["classifier"].values.tolist() if "classifier" in table.coords else None
    names = names or list(range(table.sizes["classifier"]))
    pairs = list(combinations(range(len(names)), 2))
    rows = [
        _rows(table.values[:, first] - table.values[:, second], results, scale)
        for first, second in pairs
    ]
    mean, error, freedom, _ = (np.concatenate(column) for column in zip(*rows, strict=True))
    pair_index = np.repeat(np.arange(len(pairs)), [len(means) for means, *_ in rows])
    size = np.array([sizes[0] for *_, sizes in rows])
    labels = [f"{names[first]} - {names[second]}" for first, second in pairs]
    with pm.Model(coords={"pair": labels, "comparison": np.arange(len(mean))}) as model:
        pair = pm.Data("pair_of_comparison", pair_index, dims="comparison")
        location = pm.Normal("location", 0, 10 * size, dims="pair")
        spread = pm.HalfCauchy("spread", size, dims="pair")
        excess = pm.Gamma("excess", 2, 0.1, dims="pair")
        difference = pm.StudentT(
            "difference",
            nu=2 + excess[pair],
            mu=location[pair],
            sigma=spread[pair],
            dims="comparison",
        )
        pm.StudentT(
            "mean", nu=freedom, mu=difference, sigma=error, observed=mean, dims="comparison"
        )
    return model


def _rows(differences, results, scale):
    """Return mean, standard error, degrees of freedom and scale of every data set that has both."""
    number = (~np.isnan(differences)).sum(-1)
    differences, number = differences[number > 1], number[number > 1]
    rho = float(results["test_share"])
    mean = np.nanmean(differences, axis=-1)
    error = np.nanstd(differences, axis=-1, ddof=1) * np.sqrt(1 / number + rho / (1 - rho))
    size = np.sqrt(np.mean(mean**2 + error**2)) if scale is None else float(scale)
    # Equal in all runs: known to a thousandth of a usual difference.
    return mean, np.maximum(error, size / 1000), number - 1.0, np.full(len(mean), size)

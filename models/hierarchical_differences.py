r"""Model for the difference between two classifiers cross-validated on several data sets.

.. math::

    \delta_0 &\sim \mathrm{Normal}(0, (10\,s)^2), \qquad
        \sigma_0 \sim \mathrm{HalfCauchy}(s), \qquad
        \nu - 2 \sim \mathrm{Gamma}(2, 0.1) \\
    \delta_i &\sim \mathrm{StudentT}(\nu, \delta_0, \sigma_0), \qquad
        p(\sigma_i) \propto 1 / \sigma_i \\
    x_{ir} &= \delta_i + e_{ir}, \qquad
        e_i \sim \mathrm{Normal}(0,\; \sigma_i^2\,((1 - \rho) I + \rho J))

Here :math:`x_{ir}` is the difference between the two results in run r on data set i. I is the
identity matrix, J the matrix of ones, and the gamma distribution has a shape and a rate.

Parameters
----------
+-------------------+-------------------------------+----------------------------------+-----------+
| symbol            | meaning                       | prior                            | keyword   |
+===================+===============================+==================================+===========+
| :math:`\delta_0`, | centre of the true            | Normal(0, sd 10 s)               | ``scale`` |
| ``location``      | differences over data sets    |                                  |           |
+-------------------+-------------------------------+----------------------------------+-----------+
| :math:`\sigma_0`, | scale of the true differences | HalfCauchy(s)                    | ``scale`` |
| ``spread``        | over data sets                |                                  |           |
+-------------------+-------------------------------+----------------------------------+-----------+
| :math:`\nu - 2`,  | degrees of freedom of the     | Gamma(2, 0.1)                    | –         |
| ``excess``        | true differences beyond 2     |                                  |           |
+-------------------+-------------------------------+----------------------------------+-----------+
| :math:`\delta_i`, | true difference on data set i | StudentT(:math:`\nu, \delta_0,   | –         |
| ``difference``    |                               | \sigma_0`)                       |           |
+-------------------+-------------------------------+----------------------------------+-----------+
| :math:`\sigma_i`  | standard deviation of the     | :math:`1 / \sigma_i`, integrated | –         |
|                   | runs on data set i            | out                              |           |
+-------------------+-------------------------------+----------------------------------+-----------+
| :math:`\rho`,     | correlation of two runs: the  | fixed by the data                | –         |
| ``test_share``    | proportion of tested examples |                                  |           |
+-------------------+-------------------------------+----------------------------------+-----------+
| :math:`s`         | size of a usual difference    | fixed, the root mean square of   | ``scale`` |
|                   |                               | the mean differences and their   |           |
|                   |                               | standard errors                  |           |
+-------------------+-------------------------------+----------------------------------+-----------+

When to use it
--------------
Use it for cross-validations of the same classifiers on many data sets, such as benchmark tables of
any measure. Every pair of classifiers has its own model.

When not to use it
------------------
* There is one data set: use ``CorrelatedT``.
* The data sets are not a sample of the population that the result is about.

Estimands
---------
* ``location``, ``of="parameter"`` or ``"population"``: the centre of the differences over the
  population of data sets.
* a new :math:`\delta_i`, ``of="new"``: the difference on a new data set.

Notes
-----
Integrating :math:`\sigma_i` out gives the correlated t distribution of the mean difference. The
observed ``mean`` of :math:`n_i` runs is StudentT(:math:`n_i - 1, \delta_i`) with the scale
:math:`\text{sd}_i \sqrt{1 / n_i + \rho / (1 - \rho)}`. If all runs of a data set are equal, this
scale is set to s / 1000.

The Student t distribution makes the location robust: a data set that is unlike the others has
little influence on it.

Corani et al. (2017) use flat priors for the location and the spread, and a gamma prior for the
degrees of freedom with unknown parameters. Here there are at least two degrees of freedom, so that
differences have a variance.

Special cases: with a spread of 0 all data sets have the same difference. With an infinite spread
each data set is estimated separately.

The model is not conjugate. The direct posterior integrates each :math:`\delta_i` out, and uses a
grid of location, spread and degrees of freedom.

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
        ``result`` (data_set, classifier, run), NaN if missing, with the coordinate ``test_share``.
    scale : float, optional
        Size of a usual difference, > 0, in the unit of the results. Default: the root mean square
        of the mean differences and their standard errors.

    Returns
    -------
    pymc.Model
        Free variables ``location``, ``spread`` and ``excess`` (degrees of freedom beyond 2), by
        ``pair``, and ``difference`` by ``comparison``, a pair on a data set. Observed ``mean``.

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
    """Return mean, standard error, degrees of freedom and scale of data sets with 2+ runs."""
    number = (~np.isnan(differences)).sum(-1)
    differences, number = differences[number > 1], number[number > 1]
    rho = float(results["test_share"])
    mean = np.nanmean(differences, axis=-1)
    error = np.nanstd(differences, axis=-1, ddof=1) * np.sqrt(1 / number + rho / (1 - rho))
    size = np.sqrt(np.mean(mean**2 + error**2)) if scale is None else float(scale)
    # If all runs are equal, the standard error is a thousandth of a usual difference.
    return mean, np.maximum(error, size / 1000), number - 1.0, np.full(len(mean), size)

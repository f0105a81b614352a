r"""Few labelled examples and many that only a judge has seen: a Dirichlet for each of its answers.

.. math::

    \text{share} &\sim \mathrm{Dirichlet}(\lambda_{1+}, \dots, \lambda_{K+}), &
    N \mid \text{share} &\sim \mathrm{Multinomial}(\textstyle\sum N, \text{share}) \\
    \text{truth}_k &\sim \mathrm{Dirichlet}(\lambda_k), &
    n_k \mid \text{truth}_k &\sim \mathrm{Multinomial}(\textstyle\sum n_k, \text{truth}_k)

A stratum is what the judge said together with what the classifier predicted. How many examples are
in each stratum is counted over all of them, labelled or not; which class they truly are, over the
labelled ones of the stratum alone. A good judge makes strata in which one class prevails, so that
few labels say much; a useless one makes strata that are alike, and little is won or lost.

Assumed is that within a stratum the labelled examples are a random choice. Which strata were
labelled more may have been chosen at will: no weights are needed. Do not use it where the labels
come from another population than the examples that the judge has seen.

The prior is worth two examples for all strata together, however many there are: ``2 / (J C**2)``
for each cell of J answers of the judge and C classes.

Conjugate. The estimands are the measure at ``theta``; of the next test set; and, ``of="finite"``,
of the examples at hand, of which the labelled ones are known.

References
----------
Tenenbein, A. (1970). A double sampling scheme for estimating from binomial data with
misclassifications. Journal of the American Statistical Association 65, 1350-1361.
doi:10.1080/01621459.1970.10481170
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr


def partly_labelled(counts: xr.DataArray, *, concentration: float | None = None) -> pm.Model:
    """Model labelled examples within the strata of judge and prediction, and how many these hold.

    Parameters
    ----------
    counts : xarray.DataArray
        Labelled examples, dims ``(..., judge, actual, predicted)``, with the coord ``unlabelled``
        ``(..., judge, predicted)``: how many others there are.
    concentration : float, optional
        Prior pseudo-count of each cell, > 0; by default ``2 / (J * C**2)``.

    Returns
    -------
    pymc.Model
        Free variables ``share`` ``(..., stratum)`` and ``truth`` ``(..., stratum, actual)``;
        ``theta`` ``(..., actual, predicted)``; observed ``stratum_counts`` and ``truth_counts``.

    Examples
    --------
    >>> import xarray as xr
    >>> labels = {"actual": [0, 1], "predicted": [0, 1]}
    >>> counts = xr.DataArray([[[8, 1], [2, 9]]], dims=("judge", "actual", "predicted"))
    >>> unlabelled = (("judge", "predicted"), [[90, 110]])
    >>> model = partly_labelled(counts.assign_coords(**labels, judge=["-"], unlabelled=unlabelled))
    >>> [variable.name for variable in model.free_RVs]
    ['share', 'truth']
    """
    batch = [dim for dim in counts.dims if dim not in ("judge", "actual", "predicted")]
    counts = counts.transpose(*batch, "judge", "predicted", "actual")
    judges, classes = counts.sizes["judge"], counts.sizes["actual"]
    lead, strata = counts.shape[:-3], judges * classes
    names = [f"{j}:{p}" for j in counts["judge"].values for p in counts["predicted"].values]
    labelled = counts.values.astype(float).reshape(*lead, strata, classes)
    others = counts["unlabelled"].transpose(*batch, "judge", "predicted").values
    others = others.astype(float).reshape(*lead, strata)
    weight = 2 / (judges * classes**2) if concentration is None else float(concentration)

    coords = {dim: counts[dim].values for dim in (*batch, "actual") if dim in counts.coords}
    coords |= {"stratum": names, "predicted": counts["predicted"].values}
    with pm.Model(coords=coords) as model:
        pm.Data("is_positive", _is_positive(counts), dims="actual")
        # Floats: pm.Data would turn int64 into int32 and wrap large counts around.
        data = pm.Data("labelled", labelled, dims=(*batch, "stratum", "actual"))
        total = pm.Data("unlabelled", others, dims=(*batch, "stratum")) + data.sum(-1)
        prior = pm.Data("concentration", np.full((strata, classes), weight))
        share = pm.Dirichlet(
            "share", prior.sum(-1) + pt.zeros((*lead, 1)), dims=(*batch, "stratum")
        )
        truth = pm.Dirichlet(
            "truth", prior + pt.zeros((*lead, 1, 1)), dims=(*batch, "stratum", "actual")
        )
        size = total.sum(-1).astype("int64")
        pm.Multinomial("stratum_counts", n=size, p=share, observed=total, dims=(*batch, "stratum"))
        size = data.sum(-1).astype("int64")
        dims = (*batch, "stratum", "actual")
        pm.Multinomial("truth_counts", n=size, p=truth, observed=data, dims=dims)
        cells = (share[..., None] * truth).reshape((*lead, judges, classes, classes)).sum(-3)
        theta = pt.swapaxes(cells, -1, -2)
        pm.Deterministic("theta", theta, dims=(*batch, "actual", "predicted"))
    return model


def _is_positive(counts):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    labels = counts["actual"].values
    if "positive" not in counts.coords:
        return np.zeros(len(labels))
    return (labels == counts.coords["positive"].values).astype(float)

r"""Several raters and no truth: each has rates of his own, and the true class is summed out.

.. math::

    \text{prevalence} &\sim \mathrm{Dirichlet}(1, \dots, 1), &
    \text{rates}_{r,a} &\sim \mathrm{Dirichlet}(1, \dots, 2, \dots, 1) \\
    p(\text{votes}_i) &= \sum_a \text{prevalence}_a
    \prod_r \prod_p \text{rates}_{r,a,p}^{\text{votes}_{i,r,p}}

People, judges and classifiers are raters alike: given the true class of an example they err
independently of each other. The 2 stands at the right answer. Classes have no names but by their
raters: that these are right more often than by chance, on average over raters and classes, is part
of the prior. Examples with a gold label have no sum, only their own term.

With three raters of one population everything is just identified, and whether they err together
cannot be seen: if they do (a hard example is hard for all), they look better than they are. Four
raters or some gold labels make it visible. Two raters alone say nothing about who is right.

The estimands are the measures of each rater against the truth that nobody has seen: ``theta`` is
his confusion matrix.

References
----------
Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the
EM algorithm. Applied Statistics 28, 20-28. doi:10.2307/2346806

Hui, S. L., Walter, S. D. (1980). Estimating the error rates of diagnostic tests. Biometrics 36,
167-171. doi:10.2307/2530508
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr


def noisy_labels(evidence: xr.Dataset, *, concentration: float | None = None) -> pm.Model:
    """Model the labels of several raters, the true class of each example summed out.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``counts`` (pattern), ``votes`` (classifier, pattern, predicted) and ``gold`` (pattern),
        the place of the truth or -1.
    concentration : float, optional
        Prior pseudo-count of each wrong answer, > 0; the right one has 1 more; by default 1.

    Returns
    -------
    pymc.Model
        Free variables ``prevalence`` (actual) and ``rates`` (classifier, actual, predicted);
        ``theta`` (classifier, actual, predicted); observed ``votes``, of which the log likelihood
        is one number: leaving out one example is not to be had of it.

    Examples
    --------
    >>> import xarray as xr
    >>> votes = [[[2, 0], [0, 2]], [[1, 0], [0, 1]], [[1, 0], [1, 0]]]
    >>> data = {"votes": (("classifier", "pattern", "predicted"), votes)}
    >>> data |= {"counts": ("pattern", [7, 5]), "gold": ("pattern", [-1, -1])}
    >>> coords = {"classifier": list("abc"), "actual": [0, 1], "predicted": [0, 1]}
    >>> [variable.name for variable in noisy_labels(xr.Dataset(data, coords=coords)).free_RVs]
    ['prevalence', 'rates']
    """
    evidence = evidence.transpose("classifier", "pattern", "predicted", ...)
    labels, names = evidence["actual"].values, evidence["classifier"].values
    size = len(labels)
    gold = evidence["gold"].values
    possible = (gold[:, None] < 0) | (gold[:, None] == np.arange(size))
    weight = 1.0 if concentration is None else float(concentration)
    prior = np.tile(weight + np.eye(size), (len(names), 1, 1))
    coords = {"classifier": names, "actual": labels, "predicted": labels}
    with pm.Model(coords=coords | {"pattern": np.arange(len(gold))}) as model:
        pm.Data("is_positive", _is_positive(evidence), dims="actual")
        dims = ("classifier", "actual", "predicted")
        counts = pm.Data("counts", evidence["counts"].values.astype(float), dims="pattern")
        known = pm.Data("possible", possible.astype(float), dims=("pattern", "actual"))
        votes = evidence["votes"].values
        prevalence = pm.Dirichlet("prevalence", np.ones(size), dims="actual")
        rates = pm.Dirichlet("rates", pm.Data("concentration", prior, dims=dims), dims=dims)
        pm.CustomDist(
            "votes",
            prevalence,
            rates,
            votes.sum(-1),
            counts,
            known,
            logp=_summed_out,
            dist=_rated,
            signature="(c),(r,c,c),(r,p),(p),(p,c)->(r,p,c)",
            dtype="float64",
            observed=votes.astype(float),
            dims=("classifier", "pattern", "predicted"),
        )
        pm.Deterministic("theta", prevalence[:, None] * rates, dims=dims)
    return model


def _summed_out(votes, prevalence, rates, totals, counts, possible):
    """Return the log probability of all ratings, the true class of each pattern summed out."""
    given = pt.tensordot(votes, pt.log(rates), axes=[[0, 2], [0, 2]])  # (pattern, actual)
    terms = pt.switch(possible > 0, pt.log(prevalence) + given, -np.inf)
    right = pt.diagonal(rates, axis1=-2, axis2=-1).mean()
    whole = (counts * pt.logsumexp(terms, axis=-1)).sum()
    return pt.switch(right > 1 / prevalence.shape[0], whole, -np.inf)


def _rated(prevalence, rates, totals, counts, possible, size=None):
    """Draw the labels of one example of each pattern."""
    truth = pm.Categorical.dist(p=prevalence, shape=(possible.shape[0],))
    return pm.Multinomial.dist(n=totals, p=rates[:, truth]).astype("float64")


def _is_positive(evidence):
    """Return 1 for the positive class and 0 for the others; 0 throughout where none is set."""
    labels = evidence["actual"].values
    if "positive" not in evidence.coords:
        return np.zeros(len(labels))
    return (labels == evidence.coords["positive"].values).astype(float)

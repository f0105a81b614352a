r"""Several raters and no truth: each has rates of his own, and the true class is summed out.

.. math::

    \text{prevalence} &\sim \mathrm{Dirichlet}(1, \dots, 1), &
    \text{rates}_{r,a} &\sim \mathrm{Dirichlet}(1, \dots, 2, \dots, 1) \\
    p(\text{votes}_i) &= \sum_a \text{prevalence}_a
    \prod_r \prod_p \text{rates}_{r,a,p}^{\text{votes}_{i,r,p}}

People, judges and classifiers are raters alike: given the true class of an example they err
independently of each other. The 2 stands at the right answer. Classes have no names but by their
raters: that these are right more often than by chance, on average over raters and classes, is part
of the prior. Examples with a gold label have no sum, only their own term; five of them or more, of
all classes or of all but one, name the classes, and the raters may be worse than chance. (NUTS
begins where they are better and may stay there; the direct posterior tries both.)

With three raters of one population everything is just identified, and whether they err together
cannot be seen: if they do (a hard example is hard for all), they look better than they are. Four
raters or some gold labels make it visible. Two raters alone say nothing about who is right, but two
raters of two populations of different prevalence do (Hui & Walter), if they err alike in both.

Errors together are modelled by ``dependence``: examples are hard or easy for all raters alike, on
the normal scale, with :math:`\rho` the correlation. The rates stay those of all examples. Where it
can be seen it is learned, with a prior that thinks of little; else it is taken to be 0.

The estimands are the measures of each rater against the truth that nobody has seen: ``theta`` is
his confusion matrix.

References
----------
Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the
EM algorithm. Applied Statistics 28, 20-28. doi:10.2307/2346806

Hui, S. L., Walter, S. D. (1980). Estimating the error rates of diagnostic tests. Biometrics 36,
167-171. doi:10.2307/2530508
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr


def noisy_labels(
    evidence: xr.Dataset,
    *,
    concentration: float | None = None,
    dependence: float | tuple[float, float] | Callable | None = None,
) -> pm.Model:
    """Model the labels of several raters, the true class of each example summed out.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``counts`` (pattern), ``votes`` (classifier, pattern, predicted) and ``gold`` (pattern),
        the place of the truth or -1; of several populations ``group`` (pattern), with the coord
        ``population``.
    concentration : float, optional
        Prior pseudo-count of each wrong answer, > 0; the right one has 1 more; by default 1 for all
        wrong answers together, 1 / (C - 1) each.
    dependence : float, tuple or callable, optional
        Of two classes: the correlation of two raters' errors on the normal scale; a number, (a, b)
        for a Beta(a, b), or a function from a name to a PyMC variable. By default Beta(1, 9) where
        most examples have four raters, or some a gold label; else 0.

    Returns
    -------
    pymc.Model
        Free variables ``prevalence`` ([population], actual), ``rates`` (classifier, actual,
        predicted) and, where it is not a number, ``dependence``;
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
    weight = 1 / (size - 1) if concentration is None else float(concentration)
    prior = np.tile(weight + np.eye(size), (len(names), 1, 1))
    coords = {"classifier": names, "actual": labels, "predicted": labels}
    coords |= {"population": evidence["population"].values} if "group" in evidence else {}
    with pm.Model(coords=coords | {"pattern": np.arange(len(gold))}) as model:
        pm.Data("is_positive", _is_positive(evidence), dims="actual")
        dims = ("classifier", "actual", "predicted")
        counts = pm.Data("counts", evidence["counts"].values.astype(float), dims="pattern")
        possible_data = pm.Data("possible", possible.astype(float), dims=("pattern", "actual"))
        votes = evidence["votes"].values
        several = "group" in evidence
        group = evidence["group"].values.astype(int) if several else np.zeros(len(gold), int)
        lead = ("population",) if several else ()
        flat = np.ones((len(evidence["population"]), size) if several else size)
        prevalence = pm.Dirichlet("prevalence", flat, dims=(*lead, "actual"))
        shared = _shared(_learned(evidence) if dependence is None else dependence)
        rates = pm.Dirichlet("rates", pm.Data("concentration", prior, dims=dims), dims=dims)
        pm.CustomDist(
            "votes",
            prevalence[group] if several else pt.tile(prevalence, (len(gold), 1)),
            rates,
            pt.as_tensor(shared),
            votes.sum(-1),
            counts,
            possible_data,
            logp=partial(_summed_out, named=_named(evidence)),
            dist=_rated,
            signature="(p,c),(r,c,c),(),(r,p),(p),(p,c)->(r,p,c)",
            dtype="float64",
            observed=votes.astype(float),
            dims=("classifier", "pattern", "predicted"),
        )
        share = np.bincount(group, evidence["counts"].values) / evidence["counts"].values.sum()
        whole = pt.dot(share, prevalence) if several else prevalence
        pm.Deterministic("theta", whole[:, None] * rates, dims=dims)
    return model


def _named(evidence):
    """Say whether gold labels tell which class is which."""
    gold, counts = evidence["gold"].values, evidence["counts"].values
    gold_counts = np.bincount(gold[gold >= 0], counts[gold >= 0], evidence.sizes["actual"])
    return bool(gold_counts.sum() >= 5 and (gold_counts > 0).sum() >= len(gold_counts) - 1)


def _learned(evidence):
    """Return the prior of dependence where the ratings can tell of it, else 0."""
    raters = (evidence["votes"].sum("predicted") > 0).sum("classifier").values
    most = 2 * evidence["counts"].values[raters >= 4].sum() > evidence["counts"].values.sum()
    identified = most or (evidence["gold"] >= 0).any()
    return (1.0, 9.0) if identified and evidence.sizes["actual"] == 2 else 0.0


def _shared(dependence):
    """Return the dependence of raters: a number, or a variable."""
    if callable(dependence):
        return dependence("dependence")
    return pm.Beta("dependence", *dependence) if isinstance(dependence, tuple) else dependence


def _summed_out(votes, prevalence, rates, shared, totals, counts, possible, *, named):
    """Return the log probability of all ratings, the true class of each pattern summed out."""
    if isinstance(shared, pt.TensorConstant) and not shared.data:
        log_rating = pt.tensordot(votes, pt.log(rates), axes=[[0, 2], [0, 2]])  # (pattern, actual)
    else:
        log_rating = _hard_or_easy(votes, rates, shared)
    terms = pt.switch(possible > 0, pt.log(prevalence) + log_rating, -np.inf)
    whole = (counts * pt.logsumexp(terms, axis=-1)).sum()
    if named:
        return whole
    right = pt.diagonal(rates, axis1=-2, axis2=-1).mean()
    return pt.switch(right > 1 / prevalence.shape[1], whole, -np.inf)


def _hard_or_easy(votes, rates, shared):
    """Return the log probability (pattern, actual) of ratings of which all share a difficulty."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    right = pt.diagonal(rates, axis1=-2, axis2=-1)  # (rater, actual)
    normal = -np.sqrt(2) * pt.erfcinv(2 * right)
    level = (normal[..., None] + pt.sqrt(shared) * nodes) / pt.sqrt(1 - shared)
    log_right, log_wrong = (pt.log(0.5 * pt.erfc(sign * level / np.sqrt(2))) for sign in (-1, 1))
    terms = votes[..., None] * log_right[:, None] + votes[:, :, ::-1, None] * log_wrong[:, None]
    return pt.logsumexp(terms.sum(0) + np.log(weights / weights.sum()), axis=-1)


def _rated(prevalence, rates, shared, totals, counts, possible, size=None):
    """Draw the labels of one example of each pattern, errors taken to be independent."""
    truth = pm.Categorical.dist(p=prevalence)
    return pm.Multinomial.dist(n=totals, p=rates[:, truth]).astype("float64")


def _is_positive(evidence):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = evidence["actual"].values
    if "positive" not in evidence.coords:
        return np.zeros(len(labels))
    return (labels == evidence.coords["positive"].values).astype(float)

r"""Model for several raters of the same examples, without a ground truth.

.. math::

    \text{prevalence} &\sim \mathrm{Dirichlet}(1, \dots, 1) \\
    \text{rates}_{r,a} &\sim \mathrm{Dirichlet}(\kappa + I_a) \\
    p(\text{votes}_i) &= \sum_a \text{prevalence}_a
        \prod_r \prod_p \text{rates}_{r,a,p}^{\text{votes}_{i,r,p}}

Rater r gives an example of the true class a the label p with probability
:math:`\text{rates}_{r,a,p}`. :math:`\text{votes}_{i,r,p}` is the number of times that the rater
gave example i this label. The vector :math:`I_a` is 1 at the correct label, else 0. With a gold
label, the sum contains only the term of that class.

Parameters
----------
+-------------------+--------------------------------+-------------------------+-------------------+
| symbol            | meaning                        | prior                   | keyword           |
+===================+================================+=========================+===================+
| ``prevalence``    | shares of the C classes, in    | Dirichlet(1, ..., 1)    | –                 |
|                   | each population                |                         |                   |
+-------------------+--------------------------------+-------------------------+-------------------+
| ``rates``         | label probabilities of rater r | Dirichlet(:math:`\kappa | –                 |
|                   | for class a                    | + I_a`); see Notes      |                   |
+-------------------+--------------------------------+-------------------------+-------------------+
| :math:`\kappa`,   | prior pseudo-count of each     | fixed, :math:`1 / (C -  | ``concentration`` |
| ``concentration`` | label; the correct one has 1   | 1)`                     |                   |
|                   | more                           |                         |                   |
+-------------------+--------------------------------+-------------------------+-------------------+
| :math:`\rho`,     | correlation of errors on the   | Beta(1, 9) if it is     | ``dependence``    |
| ``dependence``    | normal scale, for two classes  | identified, else 0; see |                   |
|                   |                                | Notes                   |                   |
+-------------------+--------------------------------+-------------------------+-------------------+

When to use it
--------------
Use it to evaluate people, judges and classifiers against each other. All of them are treated as
raters.

When not to use it
------------------
* There are two raters of one population and no gold labels: nothing identifies which one is right.
* There are three raters of one population and no gold labels, and errors may be correlated. The
  model is just identified and cannot test independence. If the raters make the same errors, their
  accuracy is overestimated. Add a rater or some gold labels.

Estimands
---------
* ``theta``, ``of="parameter"``: the measure of each rater against the unobserved true classes.
* ``theta``, ``of="predictive"``: the measure of each rater on ``n`` further examples.

Notes
-----
Given the true class of an example, raters err independently, unless ``dependence`` is positive.
With a positive dependence, examples are hard or easy for all raters. The product over the raters is
averaged over the difficulty :math:`z \sim \mathrm{Normal}(0, 1)`. Let :math:`q` be the rater's
probability of the correct label. Given the difficulty, this probability is

.. math::

    \Phi\Bigl((\Phi^{-1}(q) + \sqrt{\rho} \, z) / \sqrt{1 - \rho}\Bigr).

The rates remain averages over all examples. The default prior of :math:`\rho` is Beta(1, 9) for two
classes, if most examples have at least four raters or some have gold labels. Otherwise :math:`\rho`
is 0.

Only the raters identify the classes. The prior therefore requires that, averaged over raters and
classes, labels are correct more often than by chance. With five gold labels or more, of all classes
or all but one, this constraint is dropped. NUTS starts from raters that are better than chance and
may not reach another mode. The direct posterior also starts from the raters' rates on the gold
labels.

The error rates of two raters in two populations with different prevalences are identified (Hui and
Walter 1980), if they are the same in both populations.

The log likelihood is one number for all ratings, so leave-one-out statistics are not available.

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
    """Model the labels of several raters, summed over the true class of each example.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``counts`` (pattern), ``votes`` (classifier, pattern, predicted) and ``gold`` (pattern), the
        index of the true class or -1. For several populations ``group`` (pattern), with the
        coordinate ``population``.
    concentration : float, optional
        Prior pseudo-count of each wrong label, > 0. The pseudo-count of the correct label is larger
        by 1. Default: ``1 / (C - 1)``, so that the pseudo-counts of all wrong labels sum to 1.
    dependence : float, tuple or callable, optional
        Correlation of the errors of two raters on the normal scale, for two classes. Default: a
        Beta(1, 9) prior if most examples have at least four raters or any example has a gold label,
        else 0.

        * A number: a known correlation.
        * A tuple ``(a, b)``: a Beta(a, b) prior.
        * A function from a name to a PyMC variable: another prior.

    Returns
    -------
    pymc.Model
        Free variables ``prevalence`` ([population], actual), ``rates`` (classifier, actual,
        predicted) and, unless it is a number, ``dependence``. Deterministic ``theta`` (classifier,
        actual, predicted). Observed ``votes``. Their log likelihood is one number.

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
    """Return True if gold labels identify the classes: at least five, of at least C - 1 classes."""
    gold, counts = evidence["gold"].values, evidence["counts"].values
    gold_counts = np.bincount(gold[gold >= 0], counts[gold >= 0], evidence.sizes["actual"])
    return bool(gold_counts.sum() >= 5 and (gold_counts > 0).sum() >= len(gold_counts) - 1)


def _learned(evidence):
    """Return the prior for the dependence if the ratings identify it, else 0."""
    raters = (evidence["votes"].sum("predicted") > 0).sum("classifier").values
    most = 2 * evidence["counts"].values[raters >= 4].sum() > evidence["counts"].values.sum()
    identified = most or (evidence["gold"] >= 0).any()
    return (1.0, 9.0) if identified and evidence.sizes["actual"] == 2 else 0.0


def _shared(dependence):
    """Return the dependence of the raters' errors, a number or a variable."""
    if callable(dependence):
        return dependence("dependence")
    return pm.Beta("dependence", *dependence) if isinstance(dependence, tuple) else dependence


def _summed_out(votes, prevalence, rates, shared, totals, counts, possible, *, named):
    """Return the log probability of all ratings, summed over the true class of each pattern."""
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
    """Return the log probability (pattern, actual) of ratings with a shared difficulty."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    right = pt.diagonal(rates, axis1=-2, axis2=-1)  # (rater, actual)
    normal = -np.sqrt(2) * pt.erfcinv(2 * right)
    level = (normal[..., None] + pt.sqrt(shared) * nodes) / pt.sqrt(1 - shared)
    log_right, log_wrong = (pt.log(0.5 * pt.erfc(sign * level / np.sqrt(2))) for sign in (-1, 1))
    terms = votes[..., None] * log_right[:, None] + votes[:, :, ::-1, None] * log_wrong[:, None]
    return pt.logsumexp(terms.sum(0) + np.log(weights / weights.sum()), axis=-1)


def _rated(prevalence, rates, shared, totals, counts, possible, size=None):
    """Sample the labels of one example of each pattern, with independent errors."""
    truth = pm.Categorical.dist(p=prevalence)
    return pm.Multinomial.dist(n=totals, p=rates[:, truth]).astype("float64")


def _is_positive(evidence):
    """Return 1 for the positive class, else 0. Without a positive class, return zeros."""
    labels = evidence["actual"].values
    if "positive" not in evidence.coords:
        return np.zeros(len(labels))
    return (labels == evidence.coords["positive"].values).astype(float)

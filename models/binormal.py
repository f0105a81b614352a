r"""Two normal distributions of scores: ROC curves from a handful of examples.

.. math::

    \tau_c &\sim \mathrm{Gamma}(\tfrac\lambda2, \tfrac\lambda2 s^2) \\
    \mu_c \mid \tau_c &\sim \mathrm{Normal}(m, 1 / \sqrt{\lambda \tau_c}) \\
    x_i \mid \text{class } c &\sim \mathrm{Normal}(\mu_c, 1 / \sqrt{\tau_c})

for the negatives and the positives, and a Beta prevalence. The prior weighs :math:`\lambda = 0.1`
examples in each class; its centre :math:`m` lies halfway between the class means and its scale
:math:`s` is the spread within the classes, so that units of the scores do not matter. The area
under the curve is :math:`\Phi\{(\mu_1 - \mu_0) / \sqrt{1/\tau_0 + 1/\tau_1}\}`.

Use it where the examples are too few for their order to say much (five or ten in a class) and the
scores are roughly normal in each class: logits of probabilities, or log-ratios, rather than the
probabilities themselves. Where they are not, it is wrong with confidence, in the tails first: use
`scores`, which relies on the order alone. Look at both.

Conjugate: the posterior is normal-gamma in each class. Classifiers are independent of each other
here; to compare them on the same examples use `scores`. The estimand is the measure of the two
normal distributions.

References
----------
Dorfman, D. D. & Alf, E. (1969). Maximum-likelihood estimation of parameters of signal-detection
theory. Journal of Mathematical Psychology 6, 487-496. doi:10.1016/0022-2496(69)90019-4
"""

from collections.abc import Callable

import numpy as np
import pymc as pm
import xarray as xr


def binormal(
    evidence: xr.Dataset,
    *,
    concentration: float | None = None,
    prevalence: float | tuple[float, float] | Callable | None = None,
) -> pm.Model:
    """Model the scores of two classes as normal.

    Parameters
    ----------
    evidence : xarray.Dataset
        ``score`` (example), finite; ``actual`` (example); scalar coord ``positive``. Unweighted.
    concentration : float, optional
        How many examples the prior of each class weighs, > 0; by default 0.1.
    prevalence : float, tuple or callable, optional
        Share of the positive class: known, or the parameters (a, b) of a beta prior, by default
        (0.5, 0.5), or a function from a name to a PyMC variable.

    Returns
    -------
    pymc.Model
        Free variables ``precision`` and ``mean`` (side: negative, positive) and, where it is not
        known, ``prevalence``; ``auc``; observed ``negative_score``, ``positive_score`` and
        ``positives``.

    Examples
    --------
    >>> import xarray as xr
    >>> data = {"score": ("example", [1.0, 2, 3, 4]), "actual": ("example", [0, 1, 0, 1])}
    >>> model = binormal(xr.Dataset(data, {"positive": 1}))
    >>> [variable.name for variable in model.free_RVs]
    ['prevalence', 'precision', 'mean']
    """
    weight = 0.1 if concentration is None else concentration
    score = np.asarray(evidence["score"], float)
    actual = evidence["actual"].values == evidence["positive"].values
    sides = [score[~actual], score[actual]]
    means = [side.mean() for side in sides]
    centre = np.mean(means)
    squares = sum(((side - mean) ** 2).sum() for side, mean in zip(sides, means, strict=True))
    spread = squares / (len(score) - 2)

    with pm.Model(coords={"side": ["negative", "positive"]}) as model:
        total = pm.Data("examples", float(len(score)))
        share = _prevalence(prevalence)
        pm.Binomial("positives", n=total.astype("int64"), p=share, observed=actual.sum())
        prior = pm.Data("concentration", float(weight))
        precision = pm.Gamma("precision", prior / 2, prior / 2 * spread, dims="side")
        mean = pm.Normal("mean", centre, tau=prior * precision, dims="side")
        for index, name in enumerate(["negative_score", "positive_score"]):
            pm.Normal(name, mean[index], tau=precision[index], observed=sides[index])
        distance = (mean[1] - mean[0]) / pm.math.sqrt((1 / precision).sum())
        pm.Deterministic("auc", pm.math.invprobit(distance))
    return model


def _prevalence(prevalence):
    if callable(prevalence):
        return prevalence("prevalence")
    if prevalence is None or isinstance(prevalence, tuple):
        return pm.Beta("prevalence", *(prevalence or (0.5, 0.5)))
    return pm.Data("prevalence", float(prevalence))

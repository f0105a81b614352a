r"""Model for ROC curves from few examples whose scores are normal in each of two classes.

.. math::

    \pi &\sim \mathrm{Beta}(\tfrac12, \tfrac12) \\
    \tau_c &\sim \mathrm{Gamma}(\tfrac\lambda2, \tfrac\lambda2 s^2) \\
    \mu_c \mid \tau_c &\sim \mathrm{Normal}(m, 1 / (\lambda \tau_c)) \\
    \text{positives} &\sim \mathrm{Binomial}(n, \pi) \\
    x_i \mid \text{class } c &\sim \mathrm{Normal}(\mu_c, 1 / \tau_c)

Class c is negative (0) or positive (1), :math:`x_i` is the score of one of n examples, the gamma
distribution has a shape and a rate, and the normal distribution a mean and a variance.

Parameters
----------
+-------------------+---------------------------+------------------------------+-------------------+
| symbol            | meaning                   | prior                        | keyword           |
+===================+===========================+==============================+===================+
| :math:`\pi`,      | share of the positive     | Beta(0.5, 0.5), Beta(a, b),  | ``prevalence``    |
| ``prevalence``    | class                     | a function, or known         |                   |
+-------------------+---------------------------+------------------------------+-------------------+
| :math:`\tau_c`,   | precision of the scores   | Gamma                        | –                 |
| ``precision``     | of class c                |                              |                   |
+-------------------+---------------------------+------------------------------+-------------------+
| :math:`\mu_c`,    | mean of the scores of     | normal, given :math:`\tau_c` | –                 |
| ``mean``          | class c                   |                              |                   |
+-------------------+---------------------------+------------------------------+-------------------+
| :math:`\lambda`,  | number of examples that   | fixed, 0.1                   | ``concentration`` |
| ``concentration`` | the prior of each class   |                              |                   |
|                   | is worth                  |                              |                   |
+-------------------+---------------------------+------------------------------+-------------------+
| :math:`m`         | centre of the prior       | fixed, halfway between the   | –                 |
|                   |                           | two sample means             |                   |
+-------------------+---------------------------+------------------------------+-------------------+
| :math:`s`         | scale of the prior        | fixed, pooled standard       | –                 |
|                   |                           | deviation within the classes |                   |
+-------------------+---------------------------+------------------------------+-------------------+

When to use it
--------------
Use it if each class has few examples, such as five or ten, so that the order of the scores alone
contains little information. Scores should be roughly normal in each class. Logits of probabilities
or log ratios usually are, but probabilities are not.

When not to use it
------------------
* The scores are not normal: results are then confidently wrong, especially in the tails. Use
  `scores`, which relies on their order only, and compare both.
* Classifiers are compared on the same examples: this model treats them as independent. Use
  `scores`.

Estimands
---------
* ``mean`` and ``precision``, ``of="parameter"``: the measure of the curve of the two normal
  distributions. The area ``auc`` is :math:`\Phi\{(\mu_1 - \mu_0) / \sqrt{1/\tau_0 + 1/\tau_1}\}`.

Notes
-----
The posterior is conjugate: normal-gamma in each class.

The prior uses the centre and the scale of the data, so that the unit of the scores does not matter.

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
        ``score`` (example), finite, ``actual`` (example), and the scalar coordinate ``positive``.
        Weights are not supported.
    concentration : float, optional
        Weight of the prior for each class, as a number of examples, > 0. Default: 0.1.
    prevalence : float, tuple or callable, optional
        Share of the positive class. Default: a Beta(0.5, 0.5) prior.

        * A number: the share is known.
        * A tuple ``(a, b)``: a Beta(a, b) prior.
        * A function from a name to a PyMC variable: another prior.

    Returns
    -------
    pymc.Model
        Free variables ``precision`` and ``mean`` (side: negative, positive), and ``prevalence``
        unless it is known. Deterministic ``auc``. Observed ``negative_score``,
        ``positive_score`` and ``positives``.

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

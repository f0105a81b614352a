r"""
Direct posterior of `bayescm.models.binormal`: normal scores in each class.

The model is conjugate. The mean and precision of each class have a normal-gamma distribution. The
two classes and the prevalence are independent.

Let :math:`\lambda` be the weight of the prior, m its centre and s its scale, as in the model. For a
class of n examples with the mean :math:`\bar x` and the sum of squared deviations Q, the parameters
of the posterior are

.. math::

    \text{weight} &= \lambda + n, \qquad
        \text{centre} = \frac{\lambda m + n \bar x}{\lambda + n}, \qquad
        \text{shape} = \frac{\lambda + n}{2} \\
    \text{rate} &= \frac{\lambda s^2 + Q}{2}
        + \frac{\lambda n}{\lambda + n} \, \frac{(\bar x - m)^2}{2}.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import betaln, gammaln, ndtr, ndtri

from bayescm.measures.curves import Curve
from bayescm.posteriors.roc.curve_posterior import CurvePosterior
from bayescm.posteriors.roc.prevalence import prevalence_distribution
from bayescm.validate import fail

# A sampled curve is evaluated at the quantiles of both classes with these probabilities, which
# reach far into the tails.
_LEVELS = ndtr(np.linspace(-8, 8, 257))


def binormal(
    evidence,
    *,
    concentration: float | None = None,
    prevalence: float | tuple[float, float] | None = None,
) -> CurvePosterior:
    """
    Return the posterior of ROC curves of scores that are normal in each class.

    Use it if each class has few examples and the scores are roughly normal.

    Parameters
    ----------
    evidence : xarray.Dataset
        Evidence from :func:`bayescm.from_scores`: one classifier, two classes, finite scores and no
        weights. Each fold or group has a separate curve.
    concentration : float, optional
        Number of examples that the prior for each class is worth, > 0. Default: 0.1.
    prevalence : float or tuple, optional
        See `bayescm.posteriors.scores`.

    Returns
    -------
    CurvePosterior

    Raises
    ------
    ValueError
        If the evidence or an argument is not supported, there are fewer than three examples, or the
        scores vary in neither class.

    Examples
    --------
    >>> import bayescm as bcm
    >>> posterior = binormal(bcm.from_scores([0, 0, 0, 1, 1], [1, 2, 4, 3, 5]))
    >>> posterior.samples[0].centre.round(2)
    array([2.36, 3.96])
    """
    model = partial(_normal_curves, concentration=concentration, prevalence=prevalence)
    return CurvePosterior(evidence, model)


def _normal_curves(evidence, concentration, prevalence):
    """Return the posterior of the curve of one sample, from the conjugate updates."""
    sides = _sides(evidence)
    weight = 0.1 if concentration is None else concentration
    if not isinstance(weight, (int, float, np.number)) or not 0 < weight < np.inf:
        raise fail("`concentration` must be a finite number > 0", concentration, "", "leave it out")
    totals = np.array([len(side) for side in sides], float)
    means = np.array([side.mean() for side in sides])
    squares = np.array(
        [((side - mean) ** 2).sum() for side, mean in zip(sides, means, strict=True)]
    )
    if totals.sum() < 3 or not squares.sum() > 0:
        todo = "use the model scores, which uses only their order"
        raise fail("The scores do not vary within classes", ..., "", todo)
    centre, spread = means.mean(), squares.sum() / (totals.sum() - 2)
    shape, rate = weight / 2, weight / 2 * spread
    fixed_prevalence, prior = prevalence_distribution(evidence, prevalence, 2)
    return NormalCurves(
        centre=(weight * centre + totals * means) / (weight + totals),
        weight=weight + totals,
        shape=shape + totals / 2,
        rate=rate + squares / 2 + weight * totals / (weight + totals) * (means - centre) ** 2 / 2,
        prior=(float(weight), float(shape), float(rate)),
        totals=totals,
        shares=prior + totals,
        known_prevalence=fixed_prevalence,
    )


def _sides(evidence):
    extra = [name for name in ("classifier", "class") if name in evidence.dims]
    extra += [name for name in ("fold", "group", "weight") if name in evidence]
    if extra:
        todo = "select one classifier, class or fold, repeat weighted rows, or use the model scores"
        raise fail(
            "binormal needs a single plain sample, but the scores also have {}", extra, "", todo
        )
    score = evidence["score"].values.astype(float)
    if not np.isfinite(score).all():
        todo = "clip them, or use the model scores, which uses only their order"
        raise fail("A score is infinite", ..., "", todo)
    positive = evidence["actual"].values == evidence["positive"].values
    return score[~positive], score[positive]


@dataclass(frozen=True, eq=False)
class NormalCurves:
    """
    Posterior of the mean and precision of both classes.

    The distributions are ``precision ~ Gamma(shape, rate)`` and, given the precision, ``mean ~
    Normal(centre, 1 / sqrt(weight * precision))``.

    Attributes
    ----------
    centre, weight, shape, rate : ndarray, shape (2,)
        Parameters for the negatives and for the positives.
    prior : tuple of float
        Weight, shape and rate of the prior, equal for both classes.
    totals : ndarray, shape (2,)
        Number of examples of each class.
    shares : ndarray, shape (2,)
        Parameters of the beta distribution of the class shares.
    known_prevalence : float or None
        The prevalence, if known.
    """

    classes = 2
    classifiers = 1
    centre: np.ndarray
    weight: np.ndarray
    shape: np.ndarray
    rate: np.ndarray
    prior: tuple[float, float, float]
    totals: np.ndarray
    shares: np.ndarray
    known_prevalence: float | None

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        precision = rng.gamma(self.shape, 1 / self.rate, (size, 2))
        spread = 1 / np.sqrt(self.weight * precision)
        mean = self.centre + spread * rng.standard_normal((size, 2))
        share = rng.beta(self.shares[1], self.shares[0], size)
        prevalence = (
            share if self.known_prevalence is None else np.full(size, self.known_prevalence)
        )
        return {"prevalence": prevalence, "precision": precision, "mean": mean}

    def curves(
        self, size: int, rng: np.random.Generator, *, resolution: int | None = None
    ) -> list[Curve]:
        """Sample the curve."""
        return self.curves_given(self.variables(size, rng))

    def curves_given(self, drawn: Mapping[str, np.ndarray]) -> list[Curve]:
        """Return draws of the curve, given draws of the variables of the PyMC model."""
        size = len(drawn["mean"])
        mean, sd = drawn["mean"].T, drawn["precision"].T ** -0.5
        middle, wide = self.centre, np.sqrt(self.rate / self.shape)
        at = np.sort((middle + wide * ndtri(_LEVELS)[:, None]).ravel())[::-1]
        rates = np.ones((2, size, len(at) + 2))
        rates[:, :, 0] = 0.0
        for side in (0, 1):
            rates[side, :, 1:-1] = ndtr((mean[side][:, None] - at) / sd[side][:, None])
        inner, tied = np.full(len(at) + 1, 0.5), np.zeros(len(at) + 1, bool)
        index = np.arange(len(at) + 2)
        return [Curve(rates[0], rates[1], drawn["prevalence"], inner, tied, index)]

    def areas(self) -> None:
        """Return None, because areas under the curve are sampled."""

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the variables of the PyMC model."""
        prevalence, precision, mean = (
            variables[name] for name in ("prevalence", "precision", "mean")
        )
        gamma = self.shape * np.log(self.rate) - gammaln(self.shape)
        gamma = gamma + (self.shape - 1) * np.log(precision) - self.rate * precision
        tau = self.weight * precision
        normal = (np.log(tau / (2 * np.pi)) - tau * (mean - self.centre) ** 2) / 2
        b, a = self.shares
        beta = (a - 1) * np.log(prevalence) + (b - 1) * np.log1p(-prevalence)
        return np.asarray((gamma + normal).sum() + beta - betaln(a, b))

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return the log density of the scores and the number of positives."""
        weight, shape, rate = self.prior
        scores = gammaln(self.shape) - gammaln(shape) + shape * np.log(rate)
        scores = scores - self.shape * np.log(self.rate) + np.log(weight / self.weight) / 2
        scores = scores - self.totals / 2 * np.log(2 * np.pi)
        b, a = self.shares
        ways = gammaln(self.totals.sum() + 1) - gammaln(self.totals + 1).sum()
        labels = betaln(a, b) - betaln(a - self.totals[1], b - self.totals[0])
        return np.asarray(scores.sum() + ways + labels)

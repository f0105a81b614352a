r"""
Posterior of a Dirichlet-multinomial model for shares of C outcomes in groups.

Group g has the counts :math:`n_g` of C outcomes. Its shares :math:`p_g` vary around the typical
shares p:

.. math::

    n_g \sim \mathrm{Multinomial}(N_g, p_g), \qquad
    p_g \sim \mathrm{Dirichlet}(w p), \qquad w = 4 / \tau^2.

So :math:`\tau` is approximately the standard deviation of a logit between groups. The shares of the
groups are integrated out in closed form (Mosimann 1962):

.. math::

    P(n_g \mid p, \tau) \propto \frac{\Gamma(w)}{\Gamma(w + N_g)}
        \prod_c \frac{\Gamma(w p_c + n_{gc})}{\Gamma(w p_c)}.

The prior for p is a Dirichlet distribution, and the prior for :math:`\tau` is half-normal. Both are
sampled by importance sampling. The proposal for log :math:`\tau` is a histogram on a grid, and the
proposal for p given :math:`\tau` is a Dirichlet distribution near its posterior.

References
----------
Mosimann, J. E. (1962). On the compound multinomial distribution, the multivariate beta
distribution, and correlations among proportions. Biometrika 49, 65-82. doi:10.1093/biomet/49.1-2.65
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln

from bayescm.distributions import dirichlet
from bayescm.distributions.log_densities import log_half_normal
from bayescm.inference.importance import Weighted

# The grid of log(tau). Its ends are in units of the scale of the prior.
_SMALLEST = 0.01  # almost no difference between groups
_LARGEST = 5.0  # prior probability 6e-7 beyond this value
_CELLS = 60
_DRAWS_PER_CELL = 50  # number of draws that estimate the posterior mass of a cell
_UNIFORM = 0.05  # weight of a uniform proposal over the grid, which bounds the weights
# Number of draws of the posterior. A test checks that more than 1,000 are effective for 20 outcomes
# and 5 groups.
_SIZE = 6000
_FIXED_POINT_STEPS = 6  # number of iterations for the proposal; it affects only efficiency
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class DirichletShares:
    """
    Posterior of the shares of C outcomes in G groups.

    The parameters (S, C + 1) are the typical shares p and the logarithm of the spread.

    Attributes
    ----------
    counts : ndarray, shape (G, C)
    prior : ndarray, shape (C,)
        Dirichlet parameters of the typical shares.
    scale : float
        Scale of the half-normal prior for the spread.
    points : int
        Smallest number of weighted points of the parameters.
    """

    counts: np.ndarray
    prior: np.ndarray
    scale: float
    points: int = field(default=0, kw_only=True)

    def unpack(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return typical shares (S, C) and spreads (S,) of parameters (S, C + 1)."""
        return parameters[:, :-1], np.exp(parameters[:, -1])

    def log_posterior(self, parameters: np.ndarray) -> np.ndarray:
        """Return the log density (S,) of parameters (S, C + 1), up to a constant."""
        shares, spread = self.unpack(parameters)
        total = self.log_likelihood(parameters).sum(1)
        # The prior of the spread (`_spread` in models/hierarchical_groups.py), times the derivative
        # of exp(log spread). To use another prior, change it in the model, here, in `_LARGEST` and,
        # for two classes, in `LogitNormalRates.log_prior`.
        total = total + log_half_normal(spread, self.scale) + parameters[:, -1]
        return total + dirichlet.logpdf(shares, self.prior)

    def log_likelihood(self, parameters: np.ndarray) -> np.ndarray:
        """
        Return the log likelihood (S, G) of each group, up to a constant.

        The shares of the groups are integrated out, and the multinomial coefficients are omitted.
        """
        shares, spread = self.unpack(parameters)
        w = 4 / spread**2
        weight = np.maximum(w[:, None] * shares, _TINY)[:, None]
        rising = np.where(self.counts > 0, gammaln(self.counts + weight) - gammaln(weight), 0)
        norm = gammaln(w)[:, None] - gammaln(w[:, None] + self.counts.sum(1))
        return rising.sum(-1) + norm

    @cached_property
    def parameters(self) -> Weighted:
        """Weighted draws of the parameters, with a fixed seed."""
        rng = np.random.default_rng(20240229)
        edges = np.linspace(
            np.log(_SMALLEST * self.scale), np.log(_LARGEST * self.scale), _CELLS + 1
        )
        middles = (edges[1:] + edges[:-1]) / 2
        _, log_ratios = self._propose(np.repeat(middles, _DRAWS_PER_CELL), rng)
        ratios = np.exp(log_ratios - log_ratios.max()).reshape(-1, _DRAWS_PER_CELL).mean(1)
        mass = ratios / ratios.sum() * (1 - _UNIFORM) + _UNIFORM / len(ratios)
        size = max(_SIZE, self.points)
        cell = rng.choice(len(mass), size, p=mass)
        log_spread = edges[cell] + rng.random(size) * (edges[1] - edges[0])
        parameters, log_ratios = self._propose(log_spread, rng)
        return Weighted.from_logs(parameters, log_ratios - np.log(mass[cell]))

    def _propose(self, log_spread, rng):
        """Sample shares given log spreads (S,). Return parameters and log importance ratios."""
        guess = self._shares_given_spread(np.exp(log_spread))
        shares = dirichlet.draw(guess, 1, rng)[0]
        parameters = np.concatenate([shares, log_spread[:, None]], axis=1)
        return parameters, self.log_posterior(parameters) - dirichlet.logpdf(shares, guess)

    def _shares_given_spread(self, spread):
        """
        Return parameters (S, C) of a Dirichlet proposal for the shares, given the spread (S,).

        They are the fixed point of prior + w p (digamma(n + w p) - digamma(w p)), summed over the
        groups. The first occurrence of an outcome in a group contributes one count, and further
        occurrences contribute less.
        """
        w = 4 / spread[:, None] ** 2
        effective = np.tile(self.counts.sum(0), (len(spread), 1))
        observed = self.counts.sum(0) > 0
        for _ in range(_FIXED_POINT_STEPS):
            shares = self.prior + effective
            weight = np.maximum(w * shares / shares.sum(1, keepdims=True), _TINY)
            gain = (digamma(self.counts + weight[:, None]) - digamma(weight)[:, None]).sum(1)
            effective = np.where(observed, weight * gain, 0.0)
        return self.prior + effective

    def draw_groups(self, parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample the shares (S, G, C) of each group given parameters (S, C + 1)."""
        return self._draw(parameters, self.counts, rng)

    def draw_new(self, parameters: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sample the shares (S, C) of a new group given parameters (S, C + 1)."""
        return self._draw(parameters, np.zeros((1, self.counts.shape[1])), rng)[:, 0]

    def _draw(self, parameters, counts, rng):
        shares, spread = self.unpack(parameters)
        weights = counts + (4 / spread**2)[:, None, None] * shares[:, None]
        return dirichlet.draw(np.maximum(weights, _TINY), 1, rng)[0]


def average_cells(cells: np.ndarray) -> np.ndarray:
    """
    Return a plug-in estimate of the average cells over all groups.

    A group of n examples has the weight n / (1 + (n - 1) rho), which is at most 1 / rho. rho is the
    correlation between two examples in a group, estimated by the method of moments (Kleinman 1973).

    Parameters
    ----------
    cells : ndarray, shape (G, ..., C, C)
        Counts of the groups. A group may lack a class.

    Returns
    -------
    ndarray, shape (..., C, C)
        The average class shares times the average rates of each class. The row of a class is NaN if
        the class occurs in none of the groups.

    References
    ----------
    Kleinman, J. C. (1973). Proportions with extraneous variance: single and independent samples.
    Journal of the American Statistical Association 68, 46-54. doi:10.1080/01621459.1973.10481332
    """
    return _average_shares(cells.sum(-1))[..., None] * _average_shares(cells)


def _average_shares(counts):
    """Return the average shares (..., C) of counts (G, ..., C)."""
    size = counts.sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = counts.sum(0) / size.sum(0)[..., None]
        shares = np.nan_to_num(counts / size[..., None])
        n_groups = (size > 0).sum(0)
        # Moment estimate of rho: the variance between groups beyond the variance of independent
        # examples.
        between = (size * ((shares - pooled) ** 2).sum(-1)).sum(0)
        between = between / (pooled * (1 - pooled)).sum(-1)
        expected = (np.maximum(size - 1, 0) * (1 - size / size.sum(0))).sum(0)
        rho = np.clip(np.nan_to_num((between - (n_groups - 1)) / expected), 0, 1)
        weight = np.where(size > 0, size / (1 + (size - 1) * rho), 0)
        return (weight[..., None] * shares).sum(0) / weight.sum(0)[..., None]

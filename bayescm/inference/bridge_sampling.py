r"""
Bridge sampling: the marginal likelihood of a model from posterior draws.

For the unnormalised posterior density q, a proposal density g and any bridge function h,

.. math:: Z = \int q(x) \, dx = \frac{E_g[q(x) h(x)]}{E_p[g(x) h(x)]},

where p = q / Z. The relative mean-squared error is minimised by Meng and Wong's bridge function
:math:`h = 1 / (s_1 q / Z + s_2 g)`, which contains Z and is therefore found by iteration.
:math:`s_1` and :math:`s_2` are the proportions of draws from p (their effective number) and from g.
The proposal is a normal distribution with the mean and covariance of the draws.

Each chain is evaluated with a proposal fitted to the other chains. Thus no draw is used both to fit
a proposal and to evaluate it, and disagreement between chains becomes visible.

References
----------
Meng, X.-L. & Wong, W. H. (1996). Simulating ratios of normalizing constants via a simple identity:
a theoretical exploration. Statistica Sinica 6, 831-860.

Gronau, Q. F., Sarafoglou, A., Matzke, D., Ly, A., Boehm, U., Marsman, M., Leslie, D. S.,
Forster, J. J., Wagenmakers, E.-J. & Steingroever, H. (2017). A tutorial on bridge sampling. Journal
of Mathematical Psychology 81, 80-97. doi:10.1016/j.jmp.2017.09.005

Fruhwirth-Schnatter, S. (2004). Estimating marginal likelihoods for mixture and Markov switching
models using bridge sampling techniques. Econometrics Journal 7, 143-167.
doi:10.1111/j.1368-423X.2004.00125.x
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from bayescm.validate import fail

# Convergence tolerance: largest change of log Z in the last iteration.
_SETTLED = 1e-10
# Maximum number of iterations. A few tens are typical.
_ITERATIONS = 1000
# Chains also agree if a chi-squared test for equal estimates has at least this p-value.
_RARE = 1e-4
# Tolerance in nats: chains agree if their estimates of log Z differ by less than this.
_ALIKE = 0.2


@dataclass(frozen=True)
class Estimate:
    """
    Estimate of the logarithm of a marginal likelihood.

    Attributes
    ----------
    log_marginal_likelihood : float
        Mean of the estimates of the chains.
    error : float
        Standard error of the mean: from the relative mean-squared errors of the chains, or from the
        standard deviation of their estimates if that is larger.
    by_chain, errors : ndarray, shape (chains,)
        Estimate of each chain and its standard error.
    """

    by_chain: np.ndarray
    errors: np.ndarray

    @property
    def log_marginal_likelihood(self) -> float:
        """Mean of the estimates of the chains."""
        return float(self.by_chain.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        chains = len(self.by_chain)
        stated = np.sqrt((self.errors**2).sum()) / chains
        return float(max(stated, self.by_chain.std(ddof=1) / np.sqrt(chains)))

    @property
    def chains_agree(self) -> bool:
        """Whether the estimates of the chains agree within 0.2 or within their standard errors."""
        if np.ptp(self.by_chain) < _ALIKE:
            return True
        precision = self.errors**-2
        centre = (precision * self.by_chain).sum() / precision.sum()
        distance = (precision * (self.by_chain - centre) ** 2).sum()
        return bool(distance <= stats.chi2.isf(_RARE, len(self.by_chain) - 1))


def bridge_sampling(
    draws: np.ndarray, log_density: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator
) -> Estimate:
    """
    Return the log marginal likelihood of a density, estimated from draws.

    Parameters
    ----------
    draws : ndarray, shape (chains, n, d)
        Posterior draws on an unconstrained scale, from two or more independent chains.
    log_density : callable
        From points (m, d) to the log of prior density times likelihood, (m,), on the same scale and
        including the log Jacobian determinants of the transformations.
    rng : numpy.random.Generator
        Random number generator for the proposals.

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        If there are fewer than two chains, a variable is constant, the density is not finite at a
        draw, or the draws of a chain do not overlap with the draws of the others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> log_density = lambda x: -(x**2).sum(-1) / 2  # its integral is 2 pi
    >>> found = bridge_sampling(rng.normal(size=(4, 1000, 2)), log_density, rng)
    >>> abs(found.log_marginal_likelihood - np.log(2 * np.pi)) < 3 * found.error < 0.1
    True
    """
    chains, n, d = draws.shape
    if chains < 2:
        raise fail("Bridge sampling needs two or more chains", chains, "", "pass `chains=4`")
    by_chain, errors = np.empty(chains), np.empty(chains)
    for chain in range(chains):
        others = np.delete(draws, chain, axis=0).reshape(-1, d)
        centre, root = others.mean(0), _root_of_covariance(others)
        proposed = centre + rng.standard_normal((n, d)) @ root.T
        at_draws, at_proposed = (
            log_density(points) - _log_normal(points, centre, root)
            for points in (draws[chain], proposed)
        )
        if not np.isfinite(at_draws).all():
            todo = "correct the model: its density must be positive at its own draws"
            raise fail("The log density is not finite at a draw: {}", at_draws.min(), "", todo)
        at_proposed = np.where(np.isnan(at_proposed), -np.inf, at_proposed)
        effective = np.median([_effective_draws(values) for values in draws[chain].T])
        by_chain[chain], errors[chain] = _estimate(at_draws, at_proposed, effective)
    return Estimate(by_chain, errors)


def _log_normal(points, centre, root):
    """Return the log density of a normal distribution, given its Cholesky factor."""
    scores = np.linalg.solve(root, (points - centre).T)
    log_density_of_scores = -(scores**2).sum(0) / 2 - len(centre) / 2 * np.log(2 * np.pi)
    return log_density_of_scores - np.log(np.diag(root)).sum()


def _root_of_covariance(points):
    """Return the lower Cholesky factor of the covariance of points (m, d)."""
    covariance = np.atleast_2d(np.cov(points.T))
    try:
        return np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        todo = "take more draws, and remove variables that the others determine"
        raise fail("The covariance of the draws is not positive definite", ..., "", todo) from None


def _estimate(at_draws, at_proposed, effective):
    """
    Return log Z and its standard error.

    Parameters
    ----------
    at_draws, at_proposed : ndarray, shape (n,)
        log q - log g at the posterior draws and at the proposed points.
    effective : float
        Effective number of posterior draws.
    """
    n = len(at_proposed)
    log_s1, log_s2 = np.log(effective / (effective + n)), np.log(n / (effective + n))
    log_z = np.median(at_draws)
    for _ in range(_ITERATIONS):
        # Logs of q h at the proposed points and of g h at the draws, up to the same factor.
        above = at_proposed - np.logaddexp(log_s1 + at_proposed, log_s2 + log_z)
        below = -np.logaddexp(log_s1 + at_draws, log_s2 + log_z)
        new = special.logsumexp(above) - special.logsumexp(below)
        moved, log_z = abs(new - log_z), new
        if moved < _SETTLED:
            break
    else:
        todo = "take more draws; a chain may be stuck in a part of the posterior"
        raise fail("A chain does not overlap with the other chains", ..., "", todo)
    first = np.exp(above - above.max())
    second = np.exp(below - below.max())
    # Relative mean-squared error, using the effective number of the autocorrelated draws.
    relative = first.var() / first.mean() ** 2 / n
    relative += second.var() / second.mean() ** 2 / _effective_draws(second)
    return log_z, np.sqrt(relative)


def _effective_draws(values):
    """Return the effective number of draws of one chain (n,) for their mean."""
    from arviz_stats.base import array_stats

    if np.ptp(values) == 0:
        return float(len(values))
    return float(array_stats.ess(values[None], chain_axis=0, draw_axis=1, method="mean"))

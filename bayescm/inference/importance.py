r"""
Importance sampling: independent posterior draws of a few parameters, without a Markov chain.

Points :math:`x_s` from a proposal q represent the density p with weights :math:`w_s \propto p(x_s)
/ q(x_s)`. Weights are truncated at :math:`\sqrt{S}` times their mean to stabilise averages over S
points (Ionides 2008). The effective number of independent draws is :math:`1 / \sum_s w_s^2` (Kish
1965). Equally weighted draws are obtained by systematic resampling. The frequency of a point then
differs by less than one from its expectation.

The proposal of `explore` is a Student t distribution with the moments of the points so far, or a
mixture of K such distributions, :math:`q = \sum_k \alpha_k t_\nu(\mu_k, \Sigma_k)`. A mixture can
approximate densities that are wide in one region and narrow in another. Each round reweights the
points of the previous one (population Monte Carlo, Cappé et al. 2008): with
:math:`\rho_k(x) = \alpha_k t_k(x) / q(x)` and
:math:`\gamma_k(x) = (\nu + P) / (\nu + (x - \mu_k)^T \Sigma_k^{-1} (x - \mu_k))`,

.. math::

    \alpha_k \leftarrow \sum_s w_s \rho_k(x_s), \quad
    \mu_k \leftarrow \frac{\sum_s w_s \rho_k \gamma_k x_s}{\sum_s w_s \rho_k \gamma_k}, \quad
    \Sigma_k \leftarrow \frac{1}{\alpha_k} \sum_s w_s \rho_k \gamma_k
    (x_s - \mu_k) (x_s - \mu_k)^T.

References
----------
Ionides, E. L. (2008). Truncated importance sampling. Journal of Computational and Graphical
Statistics 17, 295-311. doi:10.1198/106186008X320456

Kish, L. (1965). Survey Sampling. Wiley. (section 11.7)

Carpenter, J., Clifford, P. & Fearnhead, P. (1999). Improved particle filter for nonlinear problems.
IEE Proceedings: Radar, Sonar and Navigation 146, 2-7. doi:10.1049/ip-rsn:19990255 (systematic
resampling)

Cappé, O., Douc, R., Guillin, A., Marin, J.-M. & Robert, C. P. (2008). Adaptive importance sampling
in general mixture classes. Statistics and Computing 18, 447-459. doi:10.1007/s11222-008-9059-x
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, logsumexp, ndtri

_FREEDOM = 5  # degrees of freedom of the Student t proposal
_PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19])
_ROUGH = 700  # number of points per round of adaptation
_SIZE = 4000  # number of points in the last round
_ROUNDS = 8  # maximum number of rounds of adaptation
_EFFICIENT = 0.35  # efficiency at which adaptation ends
_MIXTURE_ROUNDS = 6  # rounds of adaptation of a mixture; ten are not more efficient
_LEAST_SHARE = 0.2  # proportion of points divided evenly, which keeps all components alive


@dataclass(frozen=True, eq=False)
class Weighted:
    """
    Weighted points of a posterior.

    Attributes
    ----------
    points : ndarray, shape (S, P)
    weights : ndarray, shape (S,)
        Weights, which sum to 1.
    """

    points: np.ndarray
    weights: np.ndarray

    @classmethod
    def from_logs(cls, points: np.ndarray, log_weights: np.ndarray) -> "Weighted":
        """
        Return points with truncated weights.

        Parameters
        ----------
        points : ndarray, shape (S, P)
        log_weights : ndarray, shape (S,)
            Log densities minus log densities of the proposal, up to a constant.
        """
        weights = np.exp(log_weights - log_weights.max())
        weights = np.minimum(weights, weights.mean() * len(weights) ** 0.5)
        return cls(points, weights / weights.sum())

    @property
    def effective(self) -> float:
        """Effective number of independent draws."""
        return effective_size(self.weights)

    def choose(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Sample indices of points (size,) by `systematic` resampling."""
        return systematic(self.weights, size, rng)

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Sample points (size, P) by `systematic` resampling."""
        return self.points[self.choose(size, rng)]


def effective_size(weights: np.ndarray) -> float:
    """Return the effective number of independent draws for weights (S,) that sum to 1."""
    return float(1 / (weights**2).sum())


def systematic(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """
    Return indices (size,) from systematic resampling by weights (S,), in random order.

    The frequency of each index is its expectation, rounded up or down.
    """
    edges = np.cumsum(weights)
    chosen = np.searchsorted(edges, (np.arange(size) + rng.random()) / size * edges[-1])
    return rng.permutation(np.minimum(chosen, len(weights) - 1))


def resample(
    log_weights: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """
    Return indices (size,) resampled by untruncated weights, and their efficiency.

    Parameters
    ----------
    log_weights : ndarray, shape (S,)
        Log weights, up to a constant.
    size : int
    rng : numpy.random.Generator

    Returns
    -------
    indices : ndarray of int, shape (size,)
    efficiency : float
        Effective number of draws, as a proportion of the points.
    """
    weights = np.exp(log_weights - logsumexp(log_weights))
    return systematic(weights, size, rng), effective_size(weights) / len(weights)


def explore(
    log_density: Callable,
    start: np.ndarray,
    bounds: list[tuple[float, float]],
    *,
    rough: int = _ROUGH,
    size: int = _SIZE,
    sketch: Callable | None = None,
    components: int = 1,
) -> Weighted:
    """
    Sample a density by adaptive importance sampling.

    The proposal is a Student t distribution. It starts at the mode with the curvature there, and is
    adapted to the moments of the points so far, which also works for moderately skewed densities.
    For more difficult densities, use a mixture of several components.

    Parameters
    ----------
    log_density : callable
        From unconstrained points (S, P) to log densities (S,), up to a constant.
    start : ndarray, shape (P,)
        Starting point of the search for the mode.
    bounds : list of P pairs
        Bounds of the search for the mode. The points may be outside.
    rough, size : int
        Number of points per round of adaptation, and in the last round.
    sketch : callable, optional
        Faster approximation of the log density, used to adapt the proposal.
    components : int, default 1
        Number of components of the proposal.

    Returns
    -------
    Weighted
        Weighted points. The seed is fixed, so the same density gives the same points.
    """
    rng = np.random.default_rng(20240229)
    sketch = sketch or log_density
    middle, covariance = _mode(sketch, np.clip(start, *np.transpose(bounds)), bounds)
    covariance = 1.5 * covariance
    for _ in range(_ROUNDS):
        sample = _Mixture.single(middle, covariance).sample(sketch, rough, rng)
        middle = sample.weights @ sample.points
        spread = np.cov(sample.points.T, aweights=sample.weights)
        covariance = 1.2 * np.atleast_2d(spread) + 1e-6 * np.eye(len(start))
        if sample.effective > _EFFICIENT * rough:
            break
    proposal = _Mixture.single(middle, covariance)
    if components > 1:
        proposal = proposal.split(sample.draw(components, rng))
        for _ in range(_MIXTURE_ROUNDS):
            proposal = proposal.updated(proposal.sample(sketch, rough, rng))
    return proposal.sample(log_density, size, rng)


@dataclass(frozen=True, eq=False)
class _Mixture:
    """
    Mixture of Student t distributions.

    Attributes
    ----------
    shares : ndarray, shape (K,)
    centres : ndarray, shape (K, P)
    factors : ndarray, shape (K, P, P)
        Cholesky factors of the scale matrices.
    """

    shares: np.ndarray
    centres: np.ndarray
    factors: np.ndarray

    @classmethod
    def single(cls, centre, covariance):
        return cls(np.ones(1), centre[None], np.linalg.cholesky(covariance)[None])

    def split(self, centres):
        """Return components with equal proportions at centres (K, P), each as wide as this one."""
        number = len(centres)
        return _Mixture(np.full(number, 1 / number), centres, np.repeat(self.factors, number, 0))

    def sample(self, log_density, size, rng):
        """Return weighted points, with a number per component proportional to its share."""
        counts = np.diff(np.rint(np.cumsum(self.shares) * size).astype(int), prepend=0)
        parts = []
        for count, centre, factor in zip(counts, self.centres, self.factors, strict=True):
            uniform = _even(count, len(centre) + 1, rng)
            normal = ndtri(uniform[:, 1:]) * np.sqrt(_FREEDOM / chdtri(_FREEDOM, uniform[:, :1]))
            parts.append(centre + normal @ factor.T)
        points = np.concatenate(parts)
        logs, _ = self.log_densities(points)
        return Weighted.from_logs(points, log_density(points) - logsumexp(logs, axis=0))

    def log_densities(self, points):
        """Return log shares plus log densities (K, S), up to a constant, and squared distances."""
        dims = points.shape[1]
        whitened = np.linalg.solve(
            self.factors, (points - self.centres[:, None]).swapaxes(1, 2)
        )  # (K, P, S)
        distances = (whitened**2).sum(1)
        heights = np.log(self.shares) - np.log(np.diagonal(self.factors, 0, 1, 2)).sum(1)
        return (
            heights[:, None] - (_FREEDOM + dims) / 2 * np.log1p(distances / _FREEDOM),
            distances,
        )

    def updated(self, sample):
        """
        Return the mixture updated to weighted points of the density.

        The covariance of a component with few points is shrunk towards the covariance of all
        points, which has the weight of as many points as there are dimensions. Proportions cannot
        become zero.
        """
        points, dims = sample.points, sample.points.shape[1]
        logs, distances = self.log_densities(points)
        mass = sample.weights * np.exp(logs - logsumexp(logs, axis=0))  # (K, S)
        total = mass.sum(1)
        effective = (total**2 / (mass**2).sum(1))[:, None, None]
        pull = mass * (_FREEDOM + dims) / (_FREEDOM + distances)
        centres = pull @ points / pull.sum(1, keepdims=True)
        apart = points - centres[:, None]  # (K, S, P)
        local = (pull[..., None] * apart).swapaxes(1, 2) @ apart / total[:, None, None]
        overall = np.cov(points.T, aweights=sample.weights)
        scales = (effective * local + dims * overall) / (effective + dims) + 1e-6 * np.eye(dims)
        shares = (1 - _LEAST_SHARE) * total + _LEAST_SHARE / len(total)
        return _Mixture(shares, centres, np.linalg.cholesky(scales))


def _even(size, dims, rng):
    """
    Return quasi-random uniform numbers (size, dims), or independent ones in many dimensions.

    The numbers are a randomly shifted Weyl sequence of roots of primes. For quantiles of five
    parameters, 2500 such points are about as accurate as 4000 independent ones. `quasi_random`
    cannot be used, because a component may have any number of points, whereas Sobol sequences are
    balanced for powers of two only.
    """
    if dims > len(_PRIMES):
        return np.clip(rng.random((size, dims)), 1e-16, None)
    steps = np.outer(np.arange(1, size + 1), np.sqrt(_PRIMES[:dims]))
    return np.clip((rng.random(dims) + steps) % 1, 1e-16, None)


def _mode(log_density, start, bounds):
    """Return the mode and the inverse of the curvature there."""

    def descent(point, step=1e-4):
        size = len(point)
        steps = step * np.eye(size)
        values = log_density(np.concatenate([point[None], point + steps, point - steps]))
        return -values[0], -(values[1 : size + 1] - values[size + 1 :]) / (2 * step)

    from scipy.optimize import minimize  # slow to import

    result = minimize(descent, start, jac=True, method="L-BFGS-B", bounds=bounds)
    values, vectors = np.linalg.eigh(_curvature(log_density, result.x))
    return result.x, (vectors / np.clip(values, 0.15, None)) @ vectors.T


def _curvature(log_density, point, far=1e-2, near=1e-4):
    """Return the negative Hessian, with all points evaluated in one call."""
    size = len(point)
    ends = np.concatenate([far * np.eye(size), -far * np.eye(size)])[:, None]
    steps = np.concatenate([near * np.eye(size), -near * np.eye(size)])
    values = log_density((point + ends + steps).reshape(-1, size)).reshape(2 * size, 2 * size)
    slopes = (values[:, size:] - values[:, :size]) / (2 * near)
    curvature = (slopes[:size] - slopes[size:]) / (2 * far)
    return (curvature + curvature.T) / 2

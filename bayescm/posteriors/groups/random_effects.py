"""Binomial rates that differ between groups: logit-normal effects integrated out.

One block holds D rates of the same groups (recall and specificity, or the prevalence) whose logits
are jointly normal between groups. The few parameters of that distribution are explored by
importance sampling, the effects of each group integrated out by adaptive Gauss-Hermite quadrature.
"""

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from scipy.special import betaln, logit

from bayescm.inference.adaptive_gauss_hermite import (
    Fitted,
    averaged,
    integrated,
    log_binomial,
    share,
)
from bayescm.inference.importance import Weighted, explore

# Nodes for each effect. Four do but where a rate was seen as 0 or 1; there five do where so many
# groups together tell the parameters; three tell where the posterior is.
_NODES, _FEWER, _MANY, _USUAL, _ROUGH = 7, 5, 100, 4, 3
_POINTS, _FEWEST_AND_MOST = 1e6, (1000, 2500)  # of the posterior, times groups; at least, at most
_IMPOSSIBLE = -1e6
_HELD = 32_000  # (proposal, group) pairs at once, by the nodes: what the cache has room for


@dataclass(frozen=True, eq=False)
class Block:
    """
    D binomial rates in G groups.

    Attributes
    ----------
    hits, totals : ndarray, shape (G, D)
        Successes and trials; a group may have no trials.
    prior : ndarray, shape (D, 2)
        Beta parameters of the rate of a typical group.
    scale : float
        Scale of the half-normal prior of the standard deviations of the logits.
    design : ndarray, shape (G, Q), optional
        Covariates of the groups; the typical group has zeros.
    slope : float
        Scale of the normal prior of what a covariate adds to a logit.
    """

    hits: np.ndarray
    totals: np.ndarray
    prior: np.ndarray
    scale: float
    design: np.ndarray | None = field(default=None, kw_only=True)
    slope: float = field(default=2.0, kw_only=True)

    @property
    def rates(self) -> int:
        """The number D of rates."""
        return self.hits.shape[1]

    def split(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return means of the logits (S, D), standard deviations (S, D), correlation (S,)."""
        size = self.rates
        deviations = np.exp(points[:, size : 2 * size])
        rho = np.tanh(points[:, 4]) if size == 2 else np.zeros(len(points))
        return points[:, :size], deviations, rho

    def slopes(self, points: np.ndarray) -> np.ndarray:
        """Return what each of the Q covariates adds to the logits, (S, Q, D)."""
        first = 3 * self.rates - 1  # after D means, D deviations and, of two, their correlation
        return points[:, first:].reshape(len(points), -1, self.rates)

    def log_prior(self, points: np.ndarray) -> np.ndarray:
        """Return the log prior density of unconstrained points (S, P), up to no constant."""
        means, deviations, _ = self.split(points)
        a, b = self.prior.T
        total = (a * means - (a + b) * np.logaddexp(0, means) - betaln(a, b)).sum(1)
        half = np.log(2 / np.pi) / 2 - np.log(self.scale) - (deviations / self.scale) ** 2 / 2
        total = total + (half + np.log(deviations)).sum(1)
        if self.rates == 2:  # (1 + rho) / 2 ~ Beta(2, 2), times the slope of tanh
            turned = np.abs(points[:, 4])
            log_rest = 2 * (np.log(2) - turned - np.log1p(np.exp(-2 * turned)))  # 1 - rho**2
            total = total + np.log(0.75) + 2 * log_rest
        standard = self.slopes(points) / self.slope
        each = -(standard**2) / 2 - np.log(2 * np.pi) / 2 - np.log(self.slope)
        return total + each.sum((1, 2))

    def log_posterior(self, points: np.ndarray, nodes: int | None = None) -> np.ndarray:
        """Return the log posterior density at points (S, P), the effects integrated out."""
        heights = self.log_prior(points)
        # Spreads that the prior rules out would overflow the quadrature, and weigh nothing.
        heights = np.where(heights > _IMPOSSIBLE, heights, -np.inf)
        likely = np.flatnonzero(np.isfinite(heights))
        numbers = self._numbers if nodes is None else np.full(len(self.hits), nodes)
        for some in self._pieces(len(likely), numbers.mean()):
            heights[likely[some]] += self._log_likelihood(points[likely[some]], numbers).sum(1)
        return heights

    @cached_property
    def _numbers(self):
        """Return how many nodes each group's effects take, (G,)."""
        extreme = ((self.hits == 0) | (self.hits == self.totals)).any(axis=1)
        return np.where(extreme, _FEWER if len(self.hits) > _MANY else _NODES, _USUAL)

    def log_likelihood(self, points: np.ndarray) -> np.ndarray:
        """
        Return the log likelihood of every group given points (S, P), shape (S, G).

        The effects are integrated out; the binomial coefficients are left out.
        """
        numbers = np.full(len(self.hits), _NODES)
        pieces = self._pieces(len(points), _NODES)
        return np.concatenate([self._log_likelihood(points[each], numbers) for each in pieces])

    def _pieces(self, size, nodes):
        """Give slices of so many points that what is made of them stays in the cache."""
        step = max(1, int(_HELD / (len(self.hits) * nodes)))
        return (slice(start, start + step) for start in range(0, size, step))

    def _log_likelihood(self, points, numbers):
        means, factor = self._distribution(points)
        fitted = Fitted(self.hits.T, self.totals.T, means, factor, *self.effects(means, factor))
        return integrated(fitted, numbers)

    def _distribution(self, points):
        """Return means, D of (S, 1 or G), and the lower Cholesky factor, D rows of (S, 1)."""
        means, deviations, rho = self.split(points)
        moved = means[:, None]
        if self.design is not None:
            moved = moved + self.design @ self.slopes(points)
        middles = list(np.moveaxis(moved, -1, 0))
        first = deviations[:, :1]
        if self.rates == 1:
            return middles, [[first]]
        rho, second = rho[:, None], deviations[:, 1:]
        rest = np.sqrt(np.maximum(1 - rho**2, 1e-12))
        return middles, [[first], [rho * second, rest * second]]

    def _logits(self, means, factor, at):
        """Return the logits at standardised effects, both as D arrays (S, G, ...)."""
        extra = (...,) + (None,) * (at[0].ndim - 2)
        shifts = _times([[each[extra] for each in row] for row in factor], at)
        return [mean[extra] + shift for mean, shift in zip(means, shifts, strict=True)]

    def _log_binomial(self, logits):
        """Return the log likelihood of logits, D arrays (S, G), without the coefficients."""
        return sum(map(log_binomial, logits, self.hits.T, self.totals.T))

    def effects(self, means, factor):
        """
        Return where each group's standardised effects lie, by Newton's method.

        Returns
        -------
        middle : D arrays, shape (S, G)
        spread : D rows of arrays, shape (S, G)
            A lower triangular root of the inverse curvature at the middle.
        """
        at = self._start(means, factor)
        for _ in range(30):
            slope, curve = self._slopes(at, means, factor)
            moves = _times(_inverse(curve), slope)
            # In the scale of the spread, which is narrow where a group has many examples.
            left = sum(move * each for move, each in zip(moves, slope, strict=True))
            length = np.max([np.abs(move) for move in moves], axis=0)
            brake = np.minimum(1, 2 / np.maximum(length, 1e-12))
            at = [each + brake * move for each, move in zip(at, moves, strict=True)]
            if left.max() < 1e-3:  # the quadrature wants no more
                break
        _, curve = self._slopes(at, means, factor)
        return at, _root(curve)

    def _start(self, means, factor):
        """Return the middles if logits of shares were normal: near, also where groups are far."""
        shares = (self.hits.T + 0.5) / (self.totals.T + 1)
        weight = self.totals.T * shares * (1 - shares)
        off = [w * (logit(p) - mean) for w, p, mean in zip(weight, shares, means, strict=True)]
        slope, curve = _normal_equations(off, list(weight), factor)
        return _times(_inverse(curve), slope)

    def _slopes(self, at, means, factor):
        rates = [share(each) for each in self._logits(means, factor, at)]
        off = [h - n * p for h, n, p in zip(self.hits.T, self.totals.T, rates, strict=True)]
        weight = [n * p * (1 - p) for n, p in zip(self.totals.T, rates, strict=True)]
        slope, curve = _normal_equations(off, weight, factor)
        return [each - here for each, here in zip(slope, at, strict=True)], curve

    @cached_property
    def points(self) -> Weighted:
        """Weighted points of the posterior of the parameters."""
        share = (self.hits.sum(0) + self.prior[:, 0]) / (self.totals.sum(0) + self.prior.sum(1))
        spread = np.log(self.scale)
        start = np.concatenate(
            [np.log(share / (1 - share)), np.full(self.rates, min(spread, 0.0) - 0.7)]
        )
        bounds = [(-20.0, 20.0)] * self.rates + [(spread - 6, spread + 2)] * self.rates
        if self.rates == 2:
            start, bounds = np.append(start, 0.0), [*bounds, (-3.0, 3.0)]
        if self.design is not None:
            slopes = self.design.shape[1] * self.rates
            start = np.append(start, np.zeros(slopes))
            bounds = [*bounds, *[(-20.0, 20.0)] * slopes]
        sketch = partial(self.log_posterior, nodes=_ROUGH)
        number = int(np.clip(_POINTS / len(self.hits), *_FEWEST_AND_MOST))
        sizes = {"rough": number // 5, "size": number}
        return explore(self.log_posterior, start, bounds, sketch=sketch, **sizes)

    @cached_property
    def averages(self) -> tuple[np.ndarray, np.ndarray]:
        """Rates and their complements (S, D) at every point, averaged over all groups."""
        return averaged(*self.split(self.points.points)[:2])

    def draw_effects(self, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw each group's standardised effects given points (S, P), shape (S, G, D)."""
        pieces = self._pieces(len(points), 1)
        return np.concatenate([self._effects_of(points[each], rng) for each in pieces])

    def _effects_of(self, points, rng, moves=8):
        """Draw by a few independent Metropolis steps from the normal distribution at the mode."""
        means, factor = self._distribution(points)
        middle, spread = self.effects(means, factor)

        def proposed():
            normal = list(rng.standard_normal((self.rates, *middle[0].shape)))
            at = [each + part for each, part in zip(middle, _times(spread, normal), strict=True)]
            height = self._log_binomial(self._logits(means, factor, at))
            return at, height + sum(n**2 - e**2 for n, e in zip(normal, at, strict=True)) / 2

        at, height = proposed()
        for _ in range(moves):
            new, level = proposed()
            accept = np.log(rng.random(level.shape)) < level - height
            at = [np.where(accept, here, there) for here, there in zip(new, at, strict=True)]
            height = np.where(accept, level, height)
        return np.stack(at, axis=-1)

    def logits(self, points: np.ndarray, effects: np.ndarray) -> np.ndarray:
        """Return logits (S, G, D) of the groups with standardised effects (S, G, D)."""
        means, factor = self._distribution(points)
        return np.stack(self._logits(means, factor, list(np.moveaxis(effects, -1, 0))), axis=-1)


def _normal_equations(off, weight, factor):
    """Return the slope of the likelihood in the standardised effects; curvature and its size."""
    if len(off) == 1:
        a = factor[0][0]
        own = a**2 * weight[0] + 1
        return [a * off[0]], ([[own]], own)
    a, (b, c) = factor[0][0], factor[1]
    cross = b * c * weight[1]
    slope = [a * off[0] + b * off[1], c * off[1]]
    alone, last = a**2 * weight[0] + 1, c**2 * weight[1] + 1
    both = b**2 * weight[1]
    # The determinant as a sum: a difference of products has no digits where counts are large.
    return slope, ([[alone + both, cross], [cross, last]], alone * last + both)


def _times(rows, vector):
    """Multiply a matrix, given as rows of arrays (perhaps only a lower triangle), by a vector."""
    return [sum(m * v for m, v in zip(row, vector, strict=False)) for row in rows]


def _inverse(curve):
    rows, size = curve
    if len(rows) == 1:
        return [[1 / size]]
    (a, b), (_, d) = rows
    return [[d / size, -b / size], [-b / size, a / size]]


def _root(curve):
    """Return the lower Cholesky factor of the inverse."""
    rows, size = curve
    if len(rows) == 1:
        return [[np.sqrt(1 / size)]]
    (_, b), (_, d) = rows
    return [[np.sqrt(d / size)], [-b / np.sqrt(d * size), np.sqrt(1 / d)]]

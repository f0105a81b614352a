"""
The posterior of a logistic recalibration at each of several sites, partially pooled.

At each pair of spreads between sites the log likelihood of every site is taken for quadratic, which
gives a proposal in closed form: the spreads, then the mean of the sites, then every site by itself.
A site is proposed several times, and one of these is chosen by its weight; the mean of the weights
stands for the integral over the site, and the product of the integrals weighs the whole. See
`bayescm.models.hierarchical_calibration`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit, logsumexp

from bayescm.direct.probabilities.smooth import LEVEL, SLOPE, systematic

# Prior scales of the standard deviations of level and slope between sites (half-normal).
SPREAD = np.array([1.0, 0.5])
_CENTER = np.array([LEVEL, SLOPE])
_BINS = 200  # neighbouring forecasts of a site are put together beyond this
# Spreads, in steps by 1.9: with none below .01 the 2.5 % quantile of four sites was .023 and .019,
# by NUTS .016 and .008, and is .016 and .013 now.
_SCALES = np.geomspace(0.002, 4.0, 13)
_TRIES, _FREEDOM = 8, 8.0


@dataclass(frozen=True, eq=False)
class Sites:
    """
    The posterior of level and slope of the sites of one classifier.

    Attributes
    ----------
    odds, outcome, weight : ndarray, shape (n,)
        The forecasts' log odds, finite; 1 for the positive class; how many examples each stands
        for.
    code : ndarray of int, shape (n,)
        The site of each.
    spread : ndarray, shape (2,)
        Prior scales of the standard deviations of level and slope.
    """

    odds: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    code: np.ndarray
    spread: np.ndarray

    @cached_property
    def number(self) -> int:
        """The number of sites."""
        return int(self.code.max()) + 1

    @cached_property
    def middle(self) -> tuple[float, float]:
        """The mean and the standard deviation of the log odds (1 where they are all the same)."""
        return float(self.odds.mean()), float(self.odds.std()) or 1.0

    def odds_of(self, probability: np.ndarray) -> np.ndarray:
        """Return the log odds of further forecasts (n,), inside those of the examples."""
        return np.clip(logit(probability), self.odds.min(), self.odds.max())

    def place(self, odds: np.ndarray) -> np.ndarray:
        """Return log odds in standard deviations from their mean."""
        center, unit = self.middle
        return (odds - center) / unit

    @cached_property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log odds, positives and totals of neighbouring forecasts of each site, (G, bins)."""
        parts = [_binned(*each) for each in self._apart]
        width = max(len(each[0]) for each in parts)
        padded = [[np.pad(row, (0, width - len(row))) for row in each] for each in parts]
        odds, hits, total = np.moveaxis(np.array(padded), 1, 0)
        return odds, hits, total

    @property
    def _apart(self):
        for site in range(self.number):
            own = self.code == site
            yield self.odds[own], self.outcome[own], self.weight[own]

    def log_likelihood(self, site: int, effect: np.ndarray) -> np.ndarray:
        """Return the log likelihood of levels and slopes (..., 2) of a site."""
        odds, hits, total = (each[site] for each in self.tables)
        used = total > 0
        odds, hits, total = odds[used], hits[used], total[used]
        eta = odds + effect[..., :1] + effect[..., 1:] * self.place(odds)
        return eta @ hits - (np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))) @ total

    def log_prior(self, center: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Return the log prior density of means (..., 2) and spreads (..., 2)."""
        means = -((center / _CENTER) ** 2) / 2 - np.log(_CENTER * np.sqrt(2 * np.pi))
        half = np.log(2 / np.pi) / 2 - np.log(self.spread) - (spread / self.spread) ** 2 / 2
        return (means + half).sum(axis=-1)

    @cached_property
    def _quadratic(self):
        """
        Return the quadratic log likelihood of every site at each cell of the grid, and weights.

        Cells are pairs of spreads (J, 2); the curvature (J, G, 2, 2), the linear part (J, G, 2) and
        the log share of each cell.
        """
        scales = np.stack(np.meshgrid(_SCALES, _SCALES, indexing="ij"), axis=-1).reshape(-1, 2)
        center, effect = self._modes(scales)
        score, info = self._slopes(effect)
        linear = score + np.einsum("jgab,jgb->jga", info, effect)
        heights = [self.log_likelihood(site, effect[:, site]) for site in range(self.number)]
        away = (effect - center[:, None]) / scales[:, None]
        own = -(away**2).sum((-2, -1)) / 2 - self.number * np.log(scales).sum(-1)
        height = np.sum(heights, axis=0) + own + self.log_prior(center, scales)
        given = _Given.of(info, linear, scales)
        bulk = np.linalg.slogdet(given.precision)[1] + np.linalg.slogdet(given.own)[1].sum(-1)
        # On a grid even in the logs, whose densities have the scales as factors.
        share = height - bulk / 2 + np.log(scales).sum(-1)
        return scales, info, linear, share - logsumexp(share)

    def _modes(self, scales):
        """Return the modes of the mean (J, 2) and of the sites (J, G, 2) at pairs of spreads."""
        effect = np.zeros((len(scales), self.number, 2))
        for _ in range(50):
            score, info = self._slopes(effect)
            linear = score + np.einsum("jgab,jgb->jga", info, effect)
            given = _Given.of(info, linear, scales)
            center = given.center
            step = given.sites(center) - effect
            longest = np.abs(step).max(axis=(1, 2), keepdims=True)
            effect = effect + step * np.minimum(1, 2 / np.maximum(longest, 1e-300))
            if longest.max() < 1e-6:
                break
        return center, effect

    def _slopes(self, effect):
        """Return score (J, G, 2) and information (J, G, 2, 2) of the sites' log likelihoods."""
        odds, hits, total = self.tables
        place = self.place(odds)
        truth = expit(odds + effect[..., :1] + effect[..., 1:] * place)
        rest, bulk = hits - total * truth, total * truth * (1 - truth)
        score = np.stack([rest.sum(-1), (rest * place).sum(-1)], axis=-1)
        cross = (bulk * place).sum(-1)
        rows = [[bulk.sum(-1), cross], [cross, (bulk * place**2).sum(-1)]]
        return score, np.stack([np.stack(each, axis=-1) for each in rows], axis=-2)

    def draw(
        self, size: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """
        Draw means, spreads and sites from the posterior.

        Returns
        -------
        center, spread : ndarray, shape (size, 2)
        effect : ndarray, shape (size, G, 2)
            Level and slope of every site.
        efficiency : float
            The effective share of the draws before they were resampled by their weights.
        """
        scales, info, linear, share = self._quadratic
        cell = rng.choice(len(scales), size=size, p=np.exp(share))
        step = np.log(_SCALES[1] / _SCALES[0])
        spread = scales[cell] * np.exp(step * (rng.random((size, 2)) - 0.5))
        given = _Given.of(info[cell], linear[cell], spread)
        factor = np.linalg.inv(np.linalg.cholesky(given.precision)).swapaxes(-1, -2)
        noise, thick = _student((size, 2), rng)
        center = given.center + np.einsum("sab,sb->sa", factor, noise)
        proposed = share[cell] + thick - np.log(np.abs(_diagonal(factor))).sum(-1)
        logs = self.log_prior(center, spread) + np.log(spread).sum(-1) - proposed
        effect = np.empty((size, self.number, 2))
        for site, middle in enumerate(np.moveaxis(given.sites(center), 1, 0)):
            found, weight = self._of_site(site, middle, given.own[:, site], center, spread, rng)
            effect[:, site] = found
            logs += weight
        weights = np.exp(logs - logsumexp(logs))
        kept = systematic(weights, size, rng)
        return center[kept], spread[kept], effect[kept], float(1 / (weights**2).sum() / size)

    def _of_site(self, site: int, middle, precision, center, spread, rng):
        """Return one of several proposals of a site, (S, 2), and the log of its integral, (S,)."""
        factor = np.linalg.inv(np.linalg.cholesky(precision)).swapaxes(-1, -2)
        noise, thick = _student((len(middle), _TRIES, 2), rng)
        tried = middle[:, None] + np.einsum("sab,skb->ska", factor, noise)
        away = (tried - center[:, None]) / spread[:, None]
        own = -(away**2).sum(-1) / 2 - np.log(2 * np.pi) - np.log(spread).sum(-1)[:, None]
        proposed = thick - np.log(np.abs(_diagonal(factor))).sum(-1)[:, None]
        logs = self.log_likelihood(site, tried) + own - proposed
        total = logsumexp(logs, axis=1)
        below = np.exp(logs - total[:, None]).cumsum(axis=1)
        chosen = (rng.random((len(middle), 1)) > below).sum(axis=1).clip(max=_TRIES - 1)
        return tried[np.arange(len(middle)), chosen], total - np.log(_TRIES)


@dataclass(frozen=True, eq=False)
class _Given:
    """
    Mean and sites given the spreads, where log likelihoods of the sites are quadratic.

    Attributes
    ----------
    own : ndarray, shape (..., G, 2, 2)
        Precision of each site given the mean.
    linear : ndarray, shape (..., G, 2)
    inside : ndarray, shape (..., 2)
        One over the variances between sites.
    precision, center : ndarray, shape (..., 2, 2) and (..., 2)
        Of the mean, the sites integrated out.
    """

    own: np.ndarray
    linear: np.ndarray
    inside: np.ndarray
    precision: np.ndarray
    center: np.ndarray

    @classmethod
    def of(cls, info: np.ndarray, linear: np.ndarray, spread: np.ndarray) -> "_Given":
        """Return it of curvatures (..., G, 2, 2), linear parts and spreads (..., 2)."""
        inside = spread**-2
        own = info + inside[..., None, None, :] * np.eye(2)
        # T^-1 - T^-1 (info + T^-1)^-1 T^-1, without the difference of large numbers.
        shared = inside[..., None, :, None] * np.linalg.solve(own, info)
        precision = shared.sum(axis=-3) + np.eye(2) / _CENTER**2
        precision = (precision + precision.swapaxes(-1, -2)) / 2
        toward = inside * np.linalg.solve(own, linear[..., None])[..., 0].sum(axis=-2)
        center = np.linalg.solve(precision, toward[..., None])[..., 0]
        return cls(own, linear, inside, precision, center)

    def sites(self, center: np.ndarray) -> np.ndarray:
        """Return the means of the sites (..., G, 2) given those of all, (..., 2)."""
        pulled = self.linear + (self.inside * center)[..., None, :]
        return np.linalg.solve(self.own, pulled[..., None])[..., 0]


def _student(shape: Sequence[int], rng):
    """Draw from a t distribution of two dimensions, and return the log density up to a constant."""
    noise = rng.standard_normal(shape)
    noise /= np.sqrt(rng.chisquare(_FREEDOM, shape[:-1]) / _FREEDOM)[..., None]
    inside = np.log1p((noise**2).sum(-1) / _FREEDOM)
    return noise, -(_FREEDOM / 2 + 1) * inside - np.log(2 * np.pi)


def _diagonal(factor):
    return np.diagonal(factor, axis1=-2, axis2=-1)


def _binned(odds, outcome, weight):
    """Return log odds, positives and totals of neighbouring forecasts of one site."""
    found, inverse = np.unique(odds, return_inverse=True)
    if len(found) > _BINS:
        inverse = inverse * _BINS // len(found)
    total = np.bincount(inverse, weight)
    return (
        np.bincount(inverse, weight * odds) / total,
        np.bincount(inverse, weight * outcome),
        total,
    )

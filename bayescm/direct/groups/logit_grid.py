"""One rate of many groups on a grid of logits: a few of the groups may be unlike the others.

What the grid holds of a prior is the mean of the hat functions around its points, so that a prior
narrower than the grid is as good as one that is wide. The likelihoods of all groups given all
proposals of the typical rate and of the spread are then one product of matrices.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, betaln, logit, ndtr

from bayescm.direct.groups.effects_out import averaged

_COARSE, _FINE, _TAIL = 0.12, 0.4, 8.0  # steps of the grid, the second in standard errors; its ends
_SPREADS, _MIDDLES, _SHARES = 24, 9, 6
_NARROW, _WIDE = 0.008, 4.0  # the spreads, in units of their prior's scale
_ALIKE = 25  # how many times narrower the half of the prior is that says that groups are alike
_SHARE = (1.0, 9.0)  # the prior of the share of groups that deviate
_HELD, _CACHED = 4e7, 60_000  # numbers held at once, and in the processor's cache
_TINY = 1e-300


class Points(NamedTuple):
    """Parameters and their weights: middles, spreads (P,) and weights (P, S) with the shares."""

    middle: np.ndarray
    spread: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class LogitGrid:
    """
    The rate of G groups.

    Attributes
    ----------
    hits, totals : ndarray, shape (G,)
        Successes and trials; a group may have no trials.
    prior : ndarray, shape (2,)
        Beta parameters of the rate of a typical group.
    scale : float
        Scale of the half-normal prior of the standard deviation between groups that do not deviate;
        half of the prior is narrower, see ``models.robust_groups``.
    deviation : float
        How far those that deviate lie, up or down, half of it more or less.
    """

    hits: np.ndarray
    totals: np.ndarray
    prior: np.ndarray
    scale: float
    deviation: float

    @cached_property
    def grid(self) -> np.ndarray:
        """The logits (M,): as near to each other as the best known group asks for."""
        rate = (self.hits + 0.5) / (self.totals + 1)
        step = min(_COARSE, _FINE / np.sqrt(max((self.totals * rate * (1 - rate)).max(), 1.0)))
        middle = np.arange(logit(rate.min()) - 1, logit(rate.max()) + 1 + step, step)
        tail = np.arange(_COARSE, _TAIL + 3 * self.scale, _COARSE)
        return np.concatenate([middle[0] - tail[::-1], middle, middle[-1] + tail])

    def _likelihood(self, groups):
        """Return the likelihoods (g, M) of some groups at the grid, each 1 at most."""
        hits, totals = self.hits[groups, None], self.totals[groups, None]
        logs = hits * self.grid - totals * np.logaddexp(0, self.grid)
        return np.exp(logs - logs.max(1, keepdims=True))

    @cached_property
    def _whole(self):
        """The likelihoods of all groups, which several questions are asked of."""
        return self._likelihood(slice(None))

    def _pieces(self):
        """Give groups and their likelihoods, as many at a time as memory has room for."""
        step = max(1, int(_HELD / len(self.grid) / 4))
        if step >= len(self.hits):
            yield slice(None), self._whole
            return
        for start in range(0, len(self.hits), step):
            piece = slice(start, start + step)
            yield piece, self._likelihood(piece)

    @cached_property
    def shares(self) -> np.ndarray:
        """The shares of groups that deviate, equally probable beforehand."""
        return betaincinv(*_SHARE, (np.arange(_SHARES) + 0.5) / _SHARES)

    def log_likelihood(self, middle: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Return the log likelihood (P, S) of middles and spreads (P,) at all shares."""
        alike, apart = self._hats(middle, spread), self._apart(middle, spread)
        total = np.zeros((len(middle), _SHARES))
        for _, likely in self._pieces():
            one, other = (np.maximum(likely @ each.T, _TINY) for each in (alike, apart))
            for place, share in enumerate(self.shares):
                total[:, place] += np.log((1 - share) * one + share * other).sum(0)
        return total

    def log_likelihood_of_groups(
        self, middle: np.ndarray, spread: np.ndarray, outlying: np.ndarray
    ) -> np.ndarray:
        """Return the log likelihood (P, G) of every group, without the binomial coefficients."""
        mixed = self._mixed(middle, spread, outlying)
        hits, totals = self.hits, self.totals
        rate = np.clip(hits / np.maximum(totals, 1), 1e-300, 1 - 1e-16)
        highest = hits * np.log(rate) + (totals - hits) * np.log1p(-rate)
        logs = hits[:, None] * self.grid - totals[:, None] * np.logaddexp(0, self.grid)
        likely = np.exp(logs - highest[:, None])
        return np.log(np.maximum(mixed @ likely.T, _TINY)) + highest

    def _mixed(self, middle, spread, outlying):
        """Return the prior of a logit on the grid (P, M)."""
        share = outlying[:, None]
        alike = (1 - share) * self._hats(middle, spread)
        return alike + share * self._apart(middle, spread)

    def _apart(self, middle, spread):
        """Return the prior of a group that deviates: half of them up, half of them down."""
        wide = wider(spread, self.deviation)
        return sum(self._hats(middle + off, wide) for off in (-self.deviation, self.deviation)) / 2

    def _hats(self, middle, spread):
        return hats(self.grid, middle, spread)

    @cached_property
    def points(self) -> Points:
        """Weighted points of the posterior: a grid that is moved to where the posterior is."""
        spreads = np.geomspace(_NARROW, _WIDE, _SPREADS) * self.scale
        centre, width = self._start(spreads)
        for room, number in ((5.6, 7), (5.6, 7), (3.6, _MIDDLES)):
            steps = np.linspace(-room, room, number)
            middle = (centre[:, None] + width[:, None] * steps).ravel()
            spread = np.repeat(spreads, number)
            logs = self.log_likelihood(middle, spread)
            logs += (self._log_prior(middle, spread) + np.log(np.repeat(width, number)))[:, None]
            weights = np.exp(logs - logs.max())
            each = np.exp(logs - np.repeat(logs.reshape(len(spreads), -1).max(1), number)[:, None])
            each = each.sum(1).reshape(len(spreads), number)
            each, at = each / each.sum(1, keepdims=True), middle.reshape(len(spreads), number)
            centre = (each * at).sum(1)
            gap = at[:, 1] - at[:, 0]
            width = np.sqrt((each * (at - centre[:, None]) ** 2).sum(1) + 0.02 * gap**2)
            mass = weights.sum(1).reshape(len(spreads), -1).sum(1)
            keep = mass > 1e-6 * mass.max()
            spreads, centre, width = spreads[keep], centre[keep], width[keep]
        return Points(middle, spread, weights / weights.sum())

    def _start(self, spreads):
        """Return where the middle lies given each spread, as if logits of shares were normal."""
        rate = (self.hits + 0.5) / (self.totals + 1)
        variance = 1 / np.maximum(self.totals * rate * (1 - rate), 0.05)
        weight = 1 / (spreads[:, None] ** 2 + variance)
        return (weight * logit(rate)).sum(1) / weight.sum(1), np.minimum(weight.sum(1) ** -0.5, 2.0)

    def _log_prior(self, middle, spread):
        """Return that of the logit in the middle and of the logarithm of the spread."""
        a, b = self.prior
        beta = a * middle - (a + b) * np.logaddexp(0, middle) - betaln(a, b)
        scale = np.array([self.scale, self.scale / _ALIKE])
        either = (np.exp(-((spread[:, None] / scale) ** 2) / 2) / scale).sum(1)
        return beta + np.log(either) + np.log(spread)

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """
        Draw the parameters, and the logits of the groups if asked for.

        Returns
        -------
        dict
            ``middle``, ``spread`` and ``outlying`` (size,); ``yes`` and ``no`` (size,), the rate
            and its complement, averaged over all groups there may be; and ``logits`` (size, G).
            Several draws of many groups have their parameters in common.
        """
        points = self.points
        alike = int(np.clip(len(self.hits) // 16, 1, 8)) if groups else 1
        number = -(-size // alike)
        edges = np.cumsum(points.weights.ravel())
        at = (np.arange(number) + rng.random()) / number * edges[-1]
        chosen = np.minimum(np.searchsorted(edges, at), edges.size - 1)
        order = rng.permutation(number * alike)[:size]
        # Few kinds of parameters are drawn, each many times.
        kinds, kind, count = np.unique(chosen, return_inverse=True, return_counts=True)
        place, share = np.divmod(kinds, _SHARES)
        known = {
            "middle": points.middle[place],
            "spread": points.spread[place],
            "outlying": self.shares[share],
        }
        known["yes"], known["no"] = mean_rates(known, self.deviation)
        found = {name: np.repeat(each[kind], alike)[order] for name, each in known.items()}
        if groups:
            found["logits"] = self._groups(place, share, count * alike, rng)[order]
        return found

    def _groups(self, place, share, count, rng):
        """Draw the groups' logits (N, G), so many of each kind, by inverting sums on the grid."""
        places, at = np.unique(place, return_inverse=True)
        parameters = self.points.middle[places], self.points.spread[places]
        outlying = self.shares[share][:, None]
        mixed = (1 - outlying) * self._hats(*parameters)[at]
        mixed += outlying * self._apart(*parameters)[at]
        ends = np.concatenate([[0], np.cumsum(count)])
        drawn = np.empty((ends[-1], len(self.hits)))
        for piece, likely in self._pieces():
            step = max(1, _CACHED // likely.size)
            for first in range(0, len(place), step):
                some = slice(first, first + step)
                rows = slice(ends[first], ends[min(first + step, len(place))])
                drawn[rows, piece] = self._inverted(likely, mixed[some], count[some], rng)
        return drawn

    def _inverted(self, likely, priors, count, rng):
        """Draw from likelihoods (g, M) times priors (k, M), each so many times; shape (N, g)."""
        used = np.flatnonzero((priors > 1e-12 * priors.max(axis=1, keepdims=True)).any(axis=0))
        low, high = used[0], used[-1] + 1
        sums = np.cumsum(likely[:, low:high] * priors[:, None, low:high], axis=2)
        rows = np.arange(len(priors) * len(likely)).reshape(len(priors), -1)
        # All rows as one sorted array: each is shifted by a whole number more than the last.
        sums = (sums / sums[..., -1:] + rows[..., None]).ravel()
        own = np.repeat(rows, count, axis=0)
        at = np.searchsorted(sums, rng.random(own.shape) + own)
        at = np.clip(at - own * (high - low), 0, high - low - 1) + low
        # Within the hat around a point.
        return self.grid[at] + self._steps[at] * (rng.random(at.shape) - 0.5)

    @cached_property
    def _steps(self):
        return np.diff(self.grid, append=self.grid[-1] + _COARSE)


def hats(grid: np.ndarray, middle: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """
    Return the means (P, M) of the hat functions of a grid (M,) under normal distributions (P,).

    Examples
    --------
    >>> hats(np.arange(5.0), np.array([2.25]), np.array([1e-6])).round(2)
    array([[0.  , 0.  , 0.75, 0.25, 0.  ]])
    """
    spread = spread[:, None]
    z = (grid - middle[:, None]) / spread
    below = spread * (z * ndtr(z) + np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
    slope = np.diff(below, axis=1) / np.diff(grid)
    inner = np.diff(slope, axis=1)
    weights = np.concatenate([slope[:, :1], inner, 1 - slope[:, -1:]], axis=1)
    return np.maximum(weights, 0)


def wider(spread: np.ndarray, deviation: float) -> np.ndarray:
    """Return the standard deviation of groups that deviate around where they mostly lie."""
    return np.sqrt(spread**2 + (deviation / 2) ** 2)


def mean_rates(drawn: dict[str, np.ndarray], deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a rate and its complement (size,), averaged over all groups there may be."""
    middle, spread, share = (drawn[name] for name in ("middle", "spread", "outlying"))
    wide = wider(spread, deviation)
    parts = [(0.0, spread, 1 - share), (-deviation, wide, share / 2), (deviation, wide, share / 2)]
    found = [(averaged(middle + off, scale), mass) for off, scale, mass in parts]
    yes, no = (sum(mass * each[i] for each, mass in found) for i in (0, 1))
    return yes, no

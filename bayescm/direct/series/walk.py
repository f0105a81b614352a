"""
A rate that walks at random on the logit scale, seen through binomial counts: filter and smoother.

The logit is a lattice of points and the drift (the standard deviation of a step) a set of nodes. A
Gaussian approximation goes ahead and says how fine and how wide the lattice must be, and which
nodes to begin with; none of it enters the result.

References
----------
Kitagawa, G. (1987). Non-Gaussian state-space modeling of nonstationary time series. Journal of the
American Statistical Association, 82(400), 1032-1041. doi:10.1080/01621459.1987.10478534
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import special

from bayescm.direct.series import gaussian
from bayescm.direct.series.lattice import Lattice, halved
from bayescm.direct.series.passes import Passes
from bayescm.direct.series.paths import before, draw, drifts_of

_PLAUSIBLE = 14.0  # in log density: what is further below the maximum is left out
_NOTHING = 7.0  # and an end of the drifts that is so far below it is far enough
_TRIES = 5  # to find them
_SOME = 100, 400, 1600  # steps that show what the approximation is wrong by, of a longer series
_WIDER = 16  # points of the grid that is made of it, so that it has a length
_HALVED = 6  # times a rough grid of the drift is made finer
_MANY, _FEW = 12, 8  # nodes of a panel
_POINTS_PER_SD = 2.0
_FINER = 3.0  # the same, where a later step may contradict all that is known so far
_REACH = 8.0  # standard deviations on either side
_SKEW = 0.7  # a standard deviation of a logit where rare counts, if any, were seen
_FEWEST, _LARGEST = 200, 40_000  # points of a lattice


@dataclass(frozen=True, eq=False)
class Walk:
    """
    The posterior of one rate at every step.

    Attributes
    ----------
    hits, trials : ndarray, shape (T,)
        Binomial counts of each step.
    prior : (float, float)
        Parameters of the beta distribution of the rate at the first step.
    scale : float
        Scale of the half-normal distribution of the drift.
    """

    hits: np.ndarray
    trials: np.ndarray
    prior: tuple[float, float]
    scale: float

    @cached_property
    def _approximate(self):
        """A rough grid of the log drift; log evidence, means and deviations of a Kalman filter."""
        logs = np.linspace(np.log(4.5 * self.scale) - 6, np.log(4.5 * self.scale), 41)
        known = gaussian.filtered(self.hits, self.trials, self.prior, np.exp(logs))
        # Of a rate without a failure, or with failures only, no more is known than how low it is.
        inner = (self.hits > 0) & (self.hits < self.trials)
        if inner.all():
            return logs, *known, *known[1:]
        wide = gaussian.filtered(self.hits * inner, self.trials * inner, self.prior, np.exp(logs))
        return logs, *known, *wide[1:]

    def _density(self, logs):
        """Return the log prior density of roots of the drift, up to a factor."""
        return logs / 2 - np.exp(2 * logs) / (2 * self.scale**2)

    def _passes(self, drift, weight, near, points=_POINTS_PER_SD):
        """Return passes over a lattice as fine and wide as drifts and steps that are near need."""
        mean, sd, *wide = self._approximate[2:]
        # A rate without a failure so far has an exponential tail, and an end that is as steep.
        finest = (sd / (1 + 2 * (sd > _SKEW))).min(where=near, initial=np.inf) / points
        reach = [_REACH * each + 12.0 * (each > _SKEW) for each in (sd, wide[1])]
        low = np.minimum(mean - reach[0], wide[0] - reach[1]).min(
            axis=1, where=near, initial=np.inf
        )
        high = np.maximum(mean + reach[0], wide[0] + reach[1]).max(
            axis=1, where=near, initial=-np.inf
        )
        size = int(np.clip((high.max() - low.min()) / finest, _FEWEST, _LARGEST))
        lattice, around = np.linspace(low.min(), high.max(), size), np.stack([low, high], -1)
        return Passes(self.hits, self.trials, self.prior, drift, weight, lattice, around)

    def _nodes(self, low, high):
        """Return nodes of the drift and their log prior weights, given the range of its root."""
        # Densely what the whole series leaves possible, ever more widely what the first steps do.
        away = (high - low) * (2.0 ** np.arange(12) - 1)
        edges = np.unique(np.clip(np.r_[low - away, high + away], 0, np.sqrt(4.5 * self.scale)))
        many = int(_MANY * (2 - low / high))
        panels = [_legendre(*ends, many if ends[0] == low else _FEW) for ends in pairwise(edges)]
        root, weight = np.concatenate(panels, axis=1)
        near = (low < root) & (root < high)
        drift = root**2
        prior = np.log(weight * np.sqrt(8 / np.pi) / self.scale) + self._density(np.log(drift))
        return drift, prior, near

    @cached_property
    def _whole(self):
        """All nodes of the drift, and the passes of those worth anything after the last step."""
        rough, evidence, *_ = self._approximate
        logs, steps = _finer(rough), len(self.hits)
        # What the approximate evidence is wrong by, for a step: a parabola over the drift.
        bias, asked = np.zeros(3), (0.0, np.inf)
        for known in [*(some for some in _SOME if 4 * some < steps), *[steps] * _TRIES]:
            approximate = _finer(evidence[known - 1])
            wrong = np.polyval(bias, np.clip(np.exp(logs), *asked))
            density = approximate + known * wrong + self._density(logs)
            there = np.flatnonzero(density > density.max() - _PLAUSIBLE)[[0, -1]]
            near = logs[np.clip(there + np.array([-1, 1]) * _WIDER, 0, len(logs) - 1)]
            further = near != logs[[0, -1]]
            drift, weight, inside = self._nodes(*np.exp(near / 2) * [further[0], 1])
            some = (rough > near[0] - 0.15) & (rough < near[1] + 0.15)
            passes = self._passes(drift[inside], weight[inside], some).of_first(known)
            node, exact = np.log(drift[inside]), passes.log_weights - weight[inside]
            density = exact + self._density(node)
            nothing = density[[0, -1]] <= density.max() - _NOTHING * further
            if known == steps and nothing.all():
                break
            off = (exact - np.interp(node, logs, approximate)) / known
            bias, asked = np.polyfit(drift[inside], off, 2), drift[inside][[0, -1]]
        return drift, weight, passes

    @cached_property
    def _forward(self):
        """Passes of all nodes of the drift: what each is worth at every step."""
        logs, evidence, *_ = self._approximate
        weight = evidence + self._density(logs)
        plausible = weight > weight.max(axis=1, keepdims=True) - 2 * _PLAUSIBLE
        drift, weight, _ = self._whole
        return self._passes(drift, weight, plausible, _FINER)

    def filtered(self) -> Lattice:
        """Return the distribution of every step given the steps so far."""
        return self._forward.filtered()

    def smoothed(self) -> Lattice:
        """Return the distribution of every step given all steps."""
        return self._whole[-1].smoothed()

    def log_marginal(self) -> float:
        """Return the log probability of all counts."""
        return float(special.logsumexp(self._whole[-1].log_weights))

    def paths(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return drifts (size,) and paths of the logit (size, T), drawn from the posterior."""
        passes, paths = self._whole[-1], np.empty((size, len(self.hits)))
        node = rng.choice(len(passes.drifts), size, p=special.softmax(passes.log_weights))
        chosen = [(each, np.flatnonzero(node == each)) for each in np.unique(node)]
        for t, lattice, densities in passes.backwards():
            for which, rows in chosen:
                density, drift = densities[which], passes.drifts[which]
                if t == len(self.hits) - 1:
                    paths[rows, t] = draw(lattice, density, len(rows), rng)
                else:
                    paths[rows, t] = before(lattice, density, paths[rows, t + 1], drift, rng)
        return drifts_of(paths, self.scale, rng), paths


def _finer(values):
    """Return what a rough grid of the drift says on a finer one."""
    for _ in range(_HALVED):
        values = halved(values)
    return values


def _legendre(low, high, size):
    nodes, weights = np.polynomial.legendre.leggauss(size)
    half = (high - low) / 2
    return np.array([low + half * (nodes + 1), half * weights])

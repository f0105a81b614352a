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

import numpy as np
from scipy import special

from bayescm.direct.series import gaussian
from bayescm.direct.series.lattice import Lattice
from bayescm.direct.series.passes import Passes
from bayescm.direct.series.paths import before, draw, drifts_of

_PLAUSIBLE = 18.0  # in log density: what is further below the maximum is left out
_NOTHING = 28.0  # and nodes of the drift that are so far below it after the last step
_POINTS_PER_SD = 3.0
_REACH = 8.0  # standard deviations on either side
_FEWEST, _LARGEST = 300, 40_000  # points of a lattice


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
    def drifts(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes of the drift, rising, and the log of their prior weights."""
        top = 4.5 * self.scale
        rough = np.geomspace(top / 300, top, 40)
        logs = self._gaussian(rough)[0][-1] - rough**2 / (2 * self.scale**2)
        near = rough[logs > logs.max() - _PLAUSIBLE]
        low = 0.0 if near[0] == rough[0] else near[0] * 0.8
        high = min(near[-1] * 1.25, top)
        # All that the first steps leave possible, and densely what the whole series does.
        panels = [(0.0, low, 5), (low, high, 14), (high, top, 7)]
        panels = [_legendre(*panel) for panel in panels if panel[1] > panel[0]]
        nodes, weights = zip(*panels, strict=True)
        drift, weight = np.concatenate(nodes), np.concatenate(weights)
        density = np.sqrt(2 / np.pi) / self.scale * np.exp(-((drift / self.scale) ** 2) / 2)
        return drift, np.log(weight * density)

    def _gaussian(self, drifts):
        return gaussian.filtered(self.hits, self.trials, self.prior, drifts)

    def _passes(self, nodes, plausible=None):
        """Return the passes over a lattice as fine and wide as some nodes of the drift need it."""
        drift, weight = (each[nodes] for each in self.drifts)
        _, mean, sd = self._approximate
        mean, sd = mean[:, nodes], sd[:, nodes]
        if plausible is not None:
            mean, sd = mean[plausible], sd[plausible]
        finest = sd.min() / _POINTS_PER_SD
        # A rate without a failure so far has an exponential tail.
        tail = 12.0 * (sd > 0.7)
        low = (mean - _REACH * sd - tail).min()
        high = (mean + _REACH * sd + tail).max()
        lattice = np.linspace(low, high, int(np.clip((high - low) / finest, _FEWEST, _LARGEST)))
        return Passes(self.hits, self.trials, self.prior, drift, weight, lattice)

    @cached_property
    def _approximate(self):
        return self._gaussian(self.drifts[0])

    @cached_property
    def _forward(self):
        """All nodes of the drift: what each is worth at every step."""
        weight = self._approximate[0] + self.drifts[1]
        plausible = weight > weight.max(axis=1, keepdims=True) - _PLAUSIBLE
        return self._passes(slice(None), plausible)

    @cached_property
    def _whole(self):
        """The nodes of the drift that are worth anything after the last step."""
        last, size = self._approximate[0][-1] + self.drifts[1], len(self.drifts[0])
        near = np.flatnonzero(last > last.max() - _NOTHING)
        first, end = max(near[0] - 1, 0), min(near[-1] + 2, size)
        while True:
            passes = self._passes(slice(first, end))
            logs = passes.log_weights
            wider = max(first - 4 * (logs[0] > logs.max() - _NOTHING), 0)
            further = min(end + 4 * (logs[-1] > logs.max() - _NOTHING), size)
            if (wider, further) == (first, end):
                return passes
            first, end = wider, further

    def filtered(self) -> Lattice:
        """Return the distribution of every step given the steps so far."""
        return self._forward.filtered()

    def smoothed(self) -> Lattice:
        """Return the distribution of every step given all steps."""
        return self._whole.smoothed()

    def log_marginal(self) -> float:
        """Return the log probability of all counts."""
        return float(special.logsumexp(self._whole.log_weights))

    def paths(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return drifts (size,) and paths of the logit (size, T), drawn from the posterior."""
        passes, paths = self._whole, np.empty((size, len(self.hits)))
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


def _legendre(low, high, size):
    nodes, weights = np.polynomial.legendre.leggauss(size)
    half = (high - low) / 2
    return low + half * (nodes + 1), half * weights

"""
A rate that walks at random on the logit scale, seen through binomial counts: filter and smoother.

The logit is a lattice of points and the drift (the standard deviation of a step) a set of nodes; a
step is a convolution with a Gaussian, done by the Fourier transform, which is exact for a density
that the lattice resolves, however small the drift. A Gaussian approximation goes ahead and says how
fine and how wide the lattice must be; none of it enters the result.

References
----------
Kitagawa, G. (1987). Non-Gaussian state-space modeling of nonstationary time series. Journal of the
American Statistical Association, 82(400), 1032-1041. doi:10.1080/01621459.1987.10478534
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

_PLAUSIBLE = 18.0  # in log density: what is further below the maximum is left out
_POINTS_PER_SD = 3.0
_REACH = 8.0  # standard deviations on either side
_LARGEST = 6000  # points of a lattice


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
        """Nodes of the drift and the log of their prior weights."""
        top = 4.5 * self.scale
        rough = np.geomspace(top / 300, top, 40)
        logs = _gaussian(self, rough)[0][-1] - rough**2 / (2 * self.scale**2)
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

    @cached_property
    def lattice(self) -> np.ndarray:
        """Equidistant points of the logit, shape (m,)."""
        evidence, mean, sd = _gaussian(self, self.drifts[0])
        weight = evidence + self.drifts[1]
        plausible = weight > weight.max(axis=1, keepdims=True) - _PLAUSIBLE
        mean, sd = mean[plausible], sd[plausible]
        finest = sd.min() / _POINTS_PER_SD
        # A rate without a failure so far has an exponential tail.
        tail = 12.0 * (sd > 0.7)
        low = (mean - _REACH * sd - tail).min()
        high = (mean + _REACH * sd + tail).max()
        size = int(np.clip((high - low) / finest, 200, _LARGEST))
        return np.linspace(low, high, size)

    @property
    def spacing(self) -> float:
        """Distance between two points."""
        return self.lattice[1] - self.lattice[0]

    @cached_property
    def _passed(self):
        """The forward pass: scaled densities (T, S, m) and the log evidence (T, S)."""
        step = self._step
        start = special.log_expit(self.lattice) * self.prior[0]
        start = start + special.log_expit(-self.lattice) * self.prior[1]
        start = start - special.betaln(*self.prior) + np.log(self.spacing)
        density = np.broadcast_to(np.exp(start), (len(self.drifts[0]), len(start)))
        densities, evidence, total = [], [], 0.0
        for t, log in enumerate(self._logs):
            density = (step(density) if t else density) * np.exp(log - log.max())
            mass = density.sum(-1, keepdims=True)
            density = density / mass
            total = total + np.log(mass[:, 0]) + log.max()
            densities.append(density)
            evidence.append(total)
        return np.stack(densities), np.stack(evidence)

    @cached_property
    def _logs(self):
        """Log likelihood of each step at the points, (T, m), with the binomial coefficient."""
        hits, misses = self.hits[:, None], (self.trials - self.hits)[:, None]
        log = hits * special.log_expit(self.lattice) + misses * special.log_expit(-self.lattice)
        total = hits + misses
        return log - special.betaln(hits + 1, misses + 1) - np.log1p(total)

    @cached_property
    def _step(self):
        """The convolution with one step of the walk, for every drift."""
        from scipy import fft  # slow to load, and every exact answer loads this file

        drift = self.drifts[0][:, None]
        margin = int(_REACH * drift.max() / self.spacing) + 1
        size = fft.next_fast_len(len(self.lattice) + margin, real=True)
        frequency = 2 * np.pi * fft.rfftfreq(size, self.spacing)
        multiplier = np.exp(-((drift * frequency) ** 2) / 2)

        def step(density):
            spectrum = fft.rfft(density, size) * multiplier
            return np.maximum(fft.irfft(spectrum, size)[:, : density.shape[-1]], 0.0)

        return step

    def filtered(self) -> np.ndarray:
        """Return the mass of each point given the steps so far, shape (T, m)."""
        densities, evidence = self._passed
        weights = special.softmax(evidence + self.drifts[1], axis=1)
        return np.einsum("ts,tsm->tm", weights, densities)

    def smoothed(self) -> np.ndarray:
        """Return the mass of each point given all steps, shape (T, m)."""
        densities, evidence = self._passed
        weights = special.softmax(evidence[-1] + self.drifts[1])
        later, masses = np.ones_like(densities[0]), [weights @ densities[-1]]
        for t in range(len(densities) - 2, -1, -1):
            log = self._logs[t + 1]
            later = self._step(later * np.exp(log - log.max()))
            later = later / later.max(-1, keepdims=True)
            both = densities[t] * later
            masses.append(weights @ (both / both.sum(-1, keepdims=True)))
        return np.stack(masses[::-1])

    def log_marginal(self) -> float:
        """Return the log probability of all counts."""
        return float(special.logsumexp(self._passed[1][-1] + self.drifts[1]))

    def paths(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return drifts (size,) and paths of the logit (size, T), drawn from the posterior."""
        densities, evidence = self._passed
        weights = special.softmax(evidence[-1] + self.drifts[1])
        node = rng.choice(len(weights), size, p=weights)
        paths = np.empty((size, len(densities)))
        for which in np.unique(node):
            chosen = np.flatnonzero(node == which)
            drift = self.drifts[0][which]
            paths[chosen] = self._backwards(densities[:, which], drift, len(chosen), rng)
        return self._drifts_of(paths, rng), paths

    def _drifts_of(self, paths, rng):
        """Draw drifts given the paths: off the nodes, and of the same joint distribution."""
        squares, moves = (np.diff(paths, axis=1) ** 2).sum(axis=1), paths.shape[1] - 1
        top = np.log(4.5 * self.scale)
        least = np.log(np.sqrt(squares / moves) / 8) if moves else np.full(len(paths), top - 9)
        share = np.linspace(0, 1, 300)
        logs = least[:, None] + (top - least)[:, None] * share
        density = (1 - moves) * logs - np.exp(2 * (logs - np.log(self.scale))) / 2
        density -= squares[:, None] * np.exp(-2 * logs) / 2
        below = np.cumsum(np.exp(density - density.max(axis=1, keepdims=True)), axis=1)
        place = (below < below[:, -1:] * rng.random((len(paths), 1))).sum(axis=1)
        return np.exp(least + (top - least) * (place + rng.random(len(paths)) - 0.5) / 299)

    def _backwards(self, densities, drift, size, rng):
        """Draw paths from the last step to the first."""
        before = _near if drift < 2 * self.spacing else _far
        path = [draw(self.lattice, densities[-1], size, rng)]
        for density in densities[-2::-1]:
            path.append(before(self.lattice, density, path[-1], drift, rng))
        return np.stack(path[::-1], axis=1)


def _near(lattice, density, level, drift, rng):
    """Draw the level before, where a step is shorter than the lattice shows: density times step."""
    with np.errstate(divide="ignore"):
        log = np.maximum(np.log(density), -700)
    spacing = lattice[1] - lattice[0]
    slope = np.gradient(log, spacing)
    bend = np.minimum(np.gradient(slope, spacing), 0)
    precision = 1 / drift**2 - np.interp(level, lattice, bend)
    mean = level + np.interp(level, lattice, slope) / precision
    return mean + rng.standard_normal(level.shape) / np.sqrt(precision)


def _far(lattice, density, level, drift, rng):
    """Draw the level before among the points around, or among all that have any mass."""
    spacing = lattice[1] - lattice[0]
    reach = int(6 * drift / spacing) + 1
    held = np.flatnonzero(density > 1e-14 * density.max())
    if held[-1] - held[0] < 2 * reach:
        index = np.broadcast_to(
            np.arange(held[0], held[-1] + 1), (len(level), held[-1] - held[0] + 1)
        )
    else:
        centre = np.rint((level - lattice[0]) / spacing).astype(int)
        index = np.clip(centre[:, None] + np.arange(-reach, reach + 1), 0, len(lattice) - 1)
    away = (lattice[index] - level[:, None]) / drift
    weight = density[index] * np.exp(-(away**2) / 2)
    below = weight.cumsum(axis=1)
    place = (below < below[:, -1:] * rng.random((len(level), 1))).sum(axis=1)
    chosen = np.take_along_axis(index, place[:, None], axis=1)[:, 0]
    return lattice[chosen] + spacing * (rng.random(len(level)) - 0.5)


def draw(lattice, density, size, rng):
    """Draw from masses (..., m) of lattice points, spread evenly around each; (size, ...)."""
    below = np.cumsum(density, axis=-1)
    below = below / below[-1]
    place = np.searchsorted(below, rng.random(size))
    return lattice[place] + (lattice[1] - lattice[0]) * (rng.random(size) - 0.5)


def _legendre(low, high, size):
    nodes, weights = np.polynomial.legendre.leggauss(size)
    half = (high - low) / 2
    return low + half * (nodes + 1), half * weights


def _gaussian(walk, drifts):
    """Return log evidence, means and standard deviations (T, S) of the Kalman filter."""
    hits, misses = walk.hits + 0.5, walk.trials - walk.hits + 0.5
    seen, noise = np.log(hits / misses), 1 / hits + 1 / misses
    a, b = walk.prior
    mean = np.full(len(drifts), special.digamma(a) - special.digamma(b))
    variance = np.full(len(drifts), special.polygamma(1, a) + special.polygamma(1, b))
    evidence, passed = np.zeros(len(drifts)), []
    for t in range(len(seen)):
        variance = variance + drifts**2 * (t > 0)
        if walk.trials[t] > 0:
            total, off = variance + noise[t], seen[t] - mean
            evidence = evidence - (off**2 / total + np.log(total)) / 2
            mean, variance = mean + variance / total * off, variance * noise[t] / total
        passed.append((evidence, mean, np.sqrt(variance)))
    return tuple(np.stack(each) for each in zip(*passed, strict=True))

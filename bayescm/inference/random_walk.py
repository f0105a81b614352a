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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from bayescm.distributions.logit_lattice import LogitLattice, concatenate

_TERMS = 10  # of the series of a square


def halved(values: np.ndarray, most: float = np.inf) -> np.ndarray:
    """
    Return values (..., m) at equidistant points and in the middle between them, (..., 2 m - 1).

    By cubics through four points, where they differ from lines by no more than is said.
    """
    near = (values[..., :-1] + values[..., 1:]) / 2
    far = (values[..., :-3] + values[..., 3:]) / 2
    near[..., 1:-1] += np.clip((near[..., 1:-1] - far) / 8, -most, most)
    fine = np.empty((*values.shape[:-1], 2 * values.shape[-1] - 1))
    fine[..., ::2], fine[..., 1::2] = values, near
    return fine


def smooth_square(angle: np.ndarray) -> np.ndarray:
    """
    Return the square of angles up to pi, by some terms of the series of the squared arc sine.

    It is flat at pi. The square is not, so that the transform of a density that the lattice does
    not resolve, which very small drifts have, rings far away from it.
    """
    term = 2 * np.sin(angle / 2) ** 2
    powers, x = np.zeros_like(angle), 2 * term
    for k in range(1, _TERMS + 1):
        powers = powers + term / k**2 * 2
        term = term * x * (k + 1) / (4 * k + 2)
    return powers


# The passes over a walk, forward and backward, where its density is. A step is a convolution with a
# Gaussian, done by the Fourier transform, which is exact for a density that the lattice resolves,
# however small the drift, but for the rounding of its greatest value. Where a batch contradicts
# those before it, all hangs on what is smaller than that, and the sum is done term by term. Some
# steps at a time have a window of the lattice in common: where the density was before them, and
# where an approximation expects it. Where it reaches the edge of a window the steps are done again
# in a wider one.

_WINDOW_STEPS = 24  # at most, in one window
_DUST = 1e-15  # of the greatest density: what is left out of a window
_ROUNDING = 1e-14  # of the greatest density: more than the Fourier transform is wrong by
_FAINT = 1e-8  # of the mass: what is seen where so little was expected hangs on the tails
_RESOLVED = 1.2  # points of the lattice in a drift: a sum over them is its integral
_EDGE = 1e-11  # of the greatest density, at the edge of a window: too much
_SEEN = 1e-7  # the same after all steps
_REACH = 8.0  # standard deviations of a step that do not come round again
_MARGIN = 8  # points on either side of where a window is expected
_FAR, _OUT = 30.0, 100.0  # in log density: drifts that make no window wider, or are left alone
_FACTORS = 8, 9, 10, 12, 15  # and times powers of two: sizes of a Fourier transform
_NONE = 1e-300  # a mass of nothing
_FINE = 16  # points in a standard deviation of a step that are enough
_KEPT = 24_000_000  # numbers that are kept between the passes; beyond, they are worked out again


@dataclass(frozen=True, eq=False)
class _Window:
    """Some steps with a window of the lattice in common."""

    first: int  # the first step
    end: int
    left: int  # the first point
    right: int
    heard: np.ndarray  # drifts that are not worth next to nothing (S,)
    start: np.ndarray  # densities before the first step (S, w)
    densities: Any = None  # after each step (n, S, w), where they are kept


@dataclass(frozen=True, eq=False)
class ForwardBackward:
    """
    The filter and the smoother of a walk, for several drifts.

    Attributes
    ----------
    hits, trials : ndarray, shape (T,)
    prior : (float, float)
    drifts : ndarray, shape (S,)
    weights : ndarray, shape (S,)
        Log prior weights of the drifts.
    lattice : ndarray, shape (m,)
        Equidistant points of the logit.
    around : ndarray, shape (T, 2)
        Between which logits each step is expected: the windows that are tried first.
    """

    hits: np.ndarray
    trials: np.ndarray
    prior: tuple[float, float]
    drifts: np.ndarray
    weights: np.ndarray
    lattice: np.ndarray
    around: np.ndarray
    whole: bool = False  # whether every window is all of the lattice

    @cached_property
    def _spacing(self):
        return self.lattice[1] - self.lattice[0]

    @cached_property
    def _logs(self):
        """Log rates and log complements at the points, and the log of the ways, (T,)."""
        misses = self.trials - self.hits
        ways = -special.betaln(self.hits + 1, misses + 1) - np.log1p(self.trials)
        return special.log_expit(self.lattice), special.log_expit(-self.lattice), ways

    def _likelihood(self, window):
        """Return the likelihood (n, w) of the steps of a window, and the log of its scale (n,)."""
        for_it, against, ways = self._logs
        steps, points = slice(window.first, window.end), slice(window.left, window.right)
        hits, misses = self.hits[steps, None], (self.trials - self.hits)[steps, None]
        log = hits * for_it[points] + misses * against[points]
        peak = log.max(axis=1)
        return np.exp(log - peak[:, None]), peak + ways[steps]

    def _forwards(self):
        """Yield the windows, their densities and the log evidence after each of their steps."""
        start = self._logs[0] * self.prior[0] + self._logs[1] * self.prior[1]
        start = np.exp(start - special.betaln(*self.prior) + np.log(self._spacing))
        density = np.broadcast_to(start, (len(self.drifts), len(start)))
        evidence, first, left = np.zeros((1, len(self.drifts))), 0, 0
        while first < len(self.hits):
            end = min(first + min(max(first, 1), _WINDOW_STEPS), len(self.hits))
            window, densities, gains = self._moved((first, end), left, density, evidence[-1])
            evidence = evidence[-1] + gains.cumsum(axis=0)
            yield window, densities, evidence
            density, first, left = densities[-1], end, window.left

    @cached_property
    def _forward(self):
        """The windows, and the log evidence of every drift after the last step, (S,)."""
        windows, held, last = [], 0, np.zeros(len(self.drifts))
        for window, densities, evidence in self._forwards():
            held, last = held + densities.size, evidence[-1]
            if held <= _KEPT:
                window = replace(window, densities=densities.astype(np.float32))
            windows.append(window)
        return windows, last

    def _moved(self, steps, left, density, evidence):
        """Do the steps of one window; return it, the densities and the gains in evidence."""
        first, end = steps
        logs = evidence + self.weights
        heard, near = logs > logs.max() - _OUT, logs > logs.max() - _FAR
        peak = density[near].max(axis=1, keepdims=True)
        there = left + np.flatnonzero((density[near] > _DUST * peak).any(axis=0))
        expected = (self.around[first:end] - self.lattice[0]) / self._spacing
        least = min(there[0], int(expected[:, 0].min()))
        most = max(there[-1], int(expected[:, 1].max()) + 1) + 1
        pad = len(self.lattice) if self.whole else _MARGIN
        while True:
            low, high = max(least - pad, 0), min(most + pad, len(self.lattice))
            start = _in_window(density, left, low, high)
            window = _Window(first, end, low, high, heard, start)
            densities, gains = self._run(window)
            if not (self._edges(window, densities[:, near]) > _EDGE).any():
                return window, densities, gains
            pad = 2 * pad + 2 * _MARGIN

    def _run(self, window):
        """Return the densities (n, S, w) after each step of a window, and the gains (n, S)."""
        likelihood, scale = self._likelihood(window)
        density, step = window.start, self._step(window.right - window.left)
        densities, total = np.empty((len(likelihood), *density.shape)), likelihood.sum(axis=1)
        masses = np.empty(densities.shape[:2])
        for number, (each, after) in enumerate(zip(likelihood, densities, strict=True)):
            moved = step(density) if window.first + number else density
            np.multiply(moved, each, out=after)
            mass = after.sum(axis=1)
            faint = (mass < _FAINT * total[number]) & window.heard
            if faint.any() and window.first + number:
                after[faint] = self._exactly(density, np.flatnonzero(faint)) * each
                mass = after.sum(axis=1)
            masses[number] = np.maximum(mass, _NONE)
            after /= masses[number, :, None]
            density = after
        return densities, np.log(masses) + scale[:, None]

    @cached_property
    def _known(self):
        return {}

    def _step(self, points):
        """Return the convolution with a step of the walk, for every drift, over so many points."""
        if points in self._known:
            return self._known[points]
        margin = int(_REACH * self.drifts.max() / self._spacing) + 1
        least = points + min(margin, points)
        size = min(each << max(int(np.ceil(np.log2(least / each))), 0) for each in _FACTORS)
        if ("size", size) not in self._known:
            square = smooth_square(2 * np.pi * np.fft.rfftfreq(size)) / self._spacing**2
            self._known["size", size] = np.exp(-(self.drifts[:, None] ** 2) * square / 2)
        multiplier = self._known["size", size]

        def step(density, rows=slice(None)):
            spectrum = np.fft.rfft(density, size)
            spectrum *= multiplier[rows]
            moved = np.fft.irfft(spectrum, size)[:, :points]
            return np.maximum(moved, 0.0, out=moved)

        self._known[points] = step
        return step

    def _exactly(self, density, rows):
        """Return the step of some drifts done term by term, small values as exact as large ones."""
        found, points = [], density.shape[1]
        for row in rows:
            away = np.arange(1 - points, points) * (self._spacing / self.drifts[row])
            if self.drifts[row] < _RESOLVED * self._spacing:
                moved = self._step(points)(density[row : row + 1], [row])[0]
                found.append(np.where(moved > _ROUNDING * moved.max(), moved, 0.0))
                continue
            kernel = np.exp(-(away**2) / 2)
            whole = np.convolve(density[row], kernel / kernel.sum())
            found.append(whole[points - 1 : 2 * points - 1])
        return np.array(found)

    def of_first(self, steps: int) -> "ForwardBackward":
        """Return the passes over the first steps only."""
        hits, trials, around = (each[:steps] for each in (self.hits, self.trials, self.around))
        return replace(self, hits=hits, trials=trials, around=around)

    @property
    def log_weights(self) -> np.ndarray:
        """The log of prior weight times evidence of every drift, after the last step."""
        return self._forward[1] + self.weights

    def filtered(self) -> LogitLattice:
        """Return the distribution of every step given the steps so far."""
        parts = []
        for window, densities, evidence in self._forwards():
            weights = special.softmax(evidence + self.weights, axis=1)
            masses = np.einsum("ns,nsw->nw", weights, densities)
            parts.append(self._distribution(window, masses))
        return concatenate(parts)

    def smoothed(self) -> LogitLattice:
        """Return the distribution of every step given all steps."""
        weights, parts = special.softmax(self.log_weights), []
        product, left = None, 0
        for window in self._forward[0][::-1]:
            densities = self._densities(window)
            later, product = self._later(window, densities, product, left)
            left = window.left
            both = np.multiply(densities, later, out=later)
            shares = weights / np.maximum(np.einsum("nsw->ns", both), _NONE)
            masses = np.einsum("ns,nsw->nw", shares, both)
            if not self.whole and (self._edges(window, masses) > _SEEN).any():
                return replace(self, whole=True).smoothed()  # later steps contradict earlier ones
            parts.append(self._distribution(window, masses))
        return concatenate(parts[::-1])

    def _edges(self, window, densities):
        """Return densities at the edges of a window that are not those of the lattice, by peaks."""
        inner = [window.left > 0] * 2 + [window.right < len(self.lattice)] * 2
        most = np.maximum(densities.max(axis=-1, keepdims=True), _NONE)
        return densities[..., [0, 1, -2, -1]] * inner / most

    def _later(self, window, densities, product, left):
        """
        Return what the steps after each of a window say of it, (n, S, w), up to a factor.

        The product is that of the likelihood of the step after the window and what follows it, on
        points from the left on; with it that of the window's own first step is returned.
        """
        likelihood, _ = self._likelihood(window)
        points = window.right - window.left
        later = np.empty((len(likelihood), len(self.drifts), points))
        if product is None:
            later[-1] = 1.0
        else:
            low = min(left, window.left)
            high = max(left + product.shape[1], window.right)
            wide = _in_window(product, left, low, high)
            there = _in_window(densities[-1], window.left, low, high)
            later[-1] = _in_window(self._before(wide, there), low, window.left, window.right)
        for number in range(len(likelihood) - 1, 0, -1):
            said = later[number] * likelihood[number]
            later[number - 1] = self._before(said, densities[number - 1])
        return later, later[0] * likelihood[0]

    def _before(self, product, density):
        """Return what is said of a step by all later ones, (S, w), by that of the step after it."""
        said = self._step(product.shape[1])(product)
        said /= np.maximum(said.max(axis=1, keepdims=True), _NONE)
        faint = np.einsum("sw,sw->s", said, density) < _FAINT
        if faint.any():
            exact = self._exactly(product, np.flatnonzero(faint))
            said[faint] = exact / np.maximum(exact.max(axis=1, keepdims=True), _NONE)
        return said

    def backwards(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each step from the last on, the points and the filtered densities (S, w) there."""
        for window in self._forward[0][::-1]:
            points, densities = self.lattice[window.left : window.right], self._densities(window)
            for number in range(window.end - window.first - 1, -1, -1):
                yield window.first + number, points, densities[number]

    def _densities(self, window):
        return self._run(window)[0] if window.densities is None else window.densities

    def _distribution(self, window, masses):
        """Return the distributions of the steps of a window, over the points that matter."""
        masses = np.exp(halved(halved(np.log(np.maximum(masses, _NONE)), 0.1), 0.1))
        points = masses.shape[1]
        there = masses > 1e-14 * masses.max(axis=1, keepdims=True)
        low = np.maximum(there.argmax(axis=1) - 3, 0)
        high = np.minimum(points - there[:, ::-1].argmax(axis=1) + 3, points)
        mean = (masses @ np.arange(points)) / masses.sum(axis=1)
        spread = np.sqrt((masses * (np.arange(points) - mean[:, None]) ** 2).sum(axis=1))
        # Where it is finer than need be it is as well known by every second point, or fourth, ...
        stride = 2 ** np.maximum(np.log2(np.maximum(spread, 1) / _FINE).astype(int), 0)
        index = low[:, None] + stride[:, None] * np.arange((-((low - high) // stride)).max())
        some = np.take_along_axis(masses, np.minimum(index, points - 1), axis=1)
        some = np.where(index < high[:, None], some, 0.0)
        logits = self.lattice[window.left] + self._spacing / 4 * index
        return LogitLattice(logits, some / some.sum(axis=1, keepdims=True))


def _in_window(values, left, low, high):
    """Return the points low to high of values (S, w) that begin at the point left, 0 elsewhere."""
    if low == left and high == left + values.shape[1]:
        return np.array(values)
    found = np.zeros((len(values), high - low))
    first, last = max(left, low), min(left + values.shape[1], high)
    if first < last:
        found[:, first - low : last - low] = values[:, first - left : last - left]
    return found


# A Gaussian approximation of a walk: where it goes, and how much each drift is worth.

_AROUND = 9  # steps


def filtered(
    hits: np.ndarray, trials: np.ndarray, prior: tuple[float, float], drifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return log evidence, means and standard deviations of the Kalman filter, (T, S) each.

    Parameters
    ----------
    hits, trials : ndarray, shape (T,)
    prior : (float, float)
        Parameters of the beta distribution of the first step.
    drifts : ndarray, shape (S,)
        Standard deviations of a step.
    """
    hits, misses = hits + 0.5, trials - hits + 0.5
    seen, empty = np.log(hits / misses), trials == 0
    # By the rate around each step: its own would make noise and what is seen depend on each other.
    some = np.ones(min(len(hits), _AROUND))
    for_it, against = np.convolve(hits, some, "same"), np.convolve(misses, some, "same")
    noise = (for_it + against) ** 2 / (for_it * against * (hits + misses))
    a, b = prior
    mean = np.full(len(drifts), special.digamma(a) - special.digamma(b))
    variance = np.full(len(drifts), special.polygamma(1, a) + special.polygamma(1, b))
    evidence, means, variances = (np.empty((len(seen), len(drifts))) for _ in range(3))
    total, off = np.ones_like(evidence), np.zeros_like(evidence)
    steps = drifts**2
    for t, (value, spread) in enumerate(zip(seen.tolist(), noise.tolist(), strict=True)):
        if t:
            variance = variance + steps
        if not empty[t]:
            total[t], off[t] = variance + spread, value - mean
            share = variance / total[t]
            mean, variance = mean + share * off[t], share * spread
        means[t], variances[t] = mean, variance
    evidence = -np.cumsum(off**2 / total + np.log(total), axis=0) / 2
    return evidence, means, np.sqrt(variances)


# Paths of a walk, drawn from the last step to the first given the filtered densities.


def drifts_of(paths: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Draw drifts (size,) given paths (size, T): off the nodes, of the same joint distribution."""
    squares, moves = (np.diff(paths, axis=1) ** 2).sum(axis=1), paths.shape[1] - 1
    top = np.log(4.5 * scale)
    least = np.log(np.sqrt(squares / moves) / 8) if moves else np.full(len(paths), top - 9)
    share = np.linspace(0, 1, 300)
    logs = least[:, None] + (top - least)[:, None] * share
    density = (1 - moves) * logs - np.exp(2 * (logs - np.log(scale))) / 2
    density -= squares[:, None] * np.exp(-2 * logs) / 2
    below = np.cumsum(np.exp(density - density.max(axis=1, keepdims=True)), axis=1)
    place = (below < below[:, -1:] * rng.random((len(paths), 1))).sum(axis=1)
    return np.exp(least + (top - least) * (place + rng.random(len(paths)) - 0.5) / 299)


def sample_previous_state(
    lattice: np.ndarray,
    density: np.ndarray,
    level: np.ndarray,
    drift: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw the levels before given levels (size,), the density (m,) there and the drift."""
    spacing = lattice[1] - lattice[0]
    return (_near if drift < 2 * spacing else _far)(lattice, density, level, drift, rng)


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


# The posterior of the walk, summed over nodes of the drift.

_PLAUSIBLE = 14.0  # in log density: what is further below the maximum is left out
_NOTHING = 7.0  # and an end of the drifts that is so far below it is far enough
_TRIES = 5  # to find them
_SOME = 100, 400, 1600  # steps that show what the approximation is wrong by, of a longer series
_WIDER = 16  # points of the grid that is made of it, so that it has a length
_HALVED = 6  # times a rough grid of the drift is made finer
_MANY, _FEW = 12, 8  # nodes of a panel
_POINTS_PER_SD = 2.0
_FINER = 3.0  # the same, where a later step may contradict all that is known so far
_LATTICE_REACH = 8.0  # standard deviations on either side
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
        known = filtered(self.hits, self.trials, self.prior, np.exp(logs))
        # Of a rate without a failure, or with failures only, no more is known than how low it is.
        inner = (self.hits > 0) & (self.hits < self.trials)
        if inner.all():
            return logs, *known, *known[1:]
        wide = filtered(self.hits * inner, self.trials * inner, self.prior, np.exp(logs))
        return logs, *known, *wide[1:]

    def _density(self, logs):
        """Return the log prior density of roots of the drift, up to a factor."""
        return logs / 2 - np.exp(2 * logs) / (2 * self.scale**2)

    def _passes(self, drift, weight, near, points=_POINTS_PER_SD):
        """Return passes over a lattice as fine and wide as drifts and steps that are near need."""
        mean, sd, *wide = self._approximate[2:]
        # A rate without a failure so far has an exponential tail, and an end that is as steep.
        finest = (sd / (1 + 2 * (sd > _SKEW))).min(where=near, initial=np.inf) / points
        reach = [_LATTICE_REACH * each + 12.0 * (each > _SKEW) for each in (sd, wide[1])]
        low = np.minimum(mean - reach[0], wide[0] - reach[1]).min(
            axis=1, where=near, initial=np.inf
        )
        high = np.maximum(mean + reach[0], wide[0] + reach[1]).max(
            axis=1, where=near, initial=-np.inf
        )
        size = int(np.clip((high.max() - low.min()) / finest, _FEWEST, _LARGEST))
        lattice, around = np.linspace(low.min(), high.max(), size), np.stack([low, high], -1)
        return ForwardBackward(self.hits, self.trials, self.prior, drift, weight, lattice, around)

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
        """The passes of all nodes of the drift: what each is worth at every step."""
        logs, evidence, *_ = self._approximate
        weight = evidence + self._density(logs)
        plausible = weight > weight.max(axis=1, keepdims=True) - 2 * _PLAUSIBLE
        drift, weight, _ = self._whole
        return self._passes(drift, weight, plausible, _FINER)

    def filtered(self) -> LogitLattice:
        """Return the distribution of every step given the steps so far."""
        return self._forward.filtered()

    def smoothed(self) -> LogitLattice:
        """Return the distribution of every step given all steps."""
        return self._whole[-1].smoothed()

    def log_marginal_likelihood(self) -> float:
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
                    paths[rows, t] = sample_previous_state(
                        lattice, density, paths[rows, t + 1], drift, rng
                    )
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

"""
The passes over a walk, forward and backward, where its density is.

A step is a convolution with a Gaussian, done by the Fourier transform, which is exact for a density
that the lattice resolves, however small the drift, but for the rounding of its greatest value.
Where a batch contradicts those before it, all hangs on what is smaller than that, and the sum is
done term by term. Some steps at a time have a window of the lattice in common: where the density
was before them, and where an approximation expects it. Where it reaches the edge of a window the
steps are done again in a wider one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from bayescm.direct.series.lattice import Lattice, halved, joined, smooth_square

_STEPS = 24  # at most, in one window
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
class Passes:
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
            end = min(first + min(max(first, 1), _STEPS), len(self.hits))
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

    def of_first(self, steps: int) -> "Passes":
        """Return the passes over the first steps only."""
        hits, trials, around = (each[:steps] for each in (self.hits, self.trials, self.around))
        return replace(self, hits=hits, trials=trials, around=around)

    @property
    def log_weights(self) -> np.ndarray:
        """The log of prior weight times evidence of every drift, after the last step."""
        return self._forward[1] + self.weights

    def filtered(self) -> Lattice:
        """Return the distribution of every step given the steps so far."""
        parts = []
        for window, densities, evidence in self._forwards():
            weights = special.softmax(evidence + self.weights, axis=1)
            masses = np.einsum("ns,nsw->nw", weights, densities)
            parts.append(self._distribution(window, masses))
        return joined(parts)

    def smoothed(self) -> Lattice:
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
        return joined(parts[::-1])

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
        return Lattice(logits, some / some.sum(axis=1, keepdims=True))


def _in_window(values, left, low, high):
    """Return the points low to high of values (S, w) that begin at the point left, 0 elsewhere."""
    if low == left and high == left + values.shape[1]:
        return np.array(values)
    found = np.zeros((len(values), high - low))
    first, last = max(left, low), min(left + values.shape[1], high)
    if first < last:
        found[:, first - low : last - low] = values[:, first - left : last - left]
    return found

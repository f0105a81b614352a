"""
The passes over a walk, forward and backward, where its density is.

A step is a convolution with a Gaussian, done by the Fourier transform, which is exact for a density
that the lattice resolves, however small the drift. Some steps at a time have a window of the
lattice in common: where the density was before them, and as far on either side as it may go.
Where it reaches the edge of a window the steps are done again in a wider one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from bayescm.direct.series.lattice import Lattice, joined

_STEPS = 16  # at most, in one window
_DUST = 1e-17  # of the greatest density: what the Fourier transform does not see
_EDGE = 1e-11  # of the greatest density, at the edge of a window: too much
_REACH = 8.0  # standard deviations of a step that do not come round again
_PAD = 5.0  # standard deviations of the steps of a window, on either side
_OUT = 100.0  # in log density: a drift that makes no window wider
_POINTS = 256  # of the distribution of a step
_KEPT = 40_000_000  # numbers that are kept between the passes; beyond, they are worked out again


@dataclass
class _Window:
    """Some steps with a window of the lattice in common."""

    first: int  # the first step
    end: int
    left: int  # the first point
    right: int
    start: np.ndarray  # densities before the first step (S, w)
    densities: Any = field(default=None)  # after each step (n, S, w)


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
    """

    hits: np.ndarray
    trials: np.ndarray
    prior: tuple[float, float]
    drifts: np.ndarray
    weights: np.ndarray
    lattice: np.ndarray

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

    @cached_property
    def _forward(self):
        """The windows, and the log evidence of every drift after each step, (T, S)."""
        start = self._logs[0] * self.prior[0] + self._logs[1] * self.prior[1]
        start = np.exp(start - special.betaln(*self.prior) + np.log(self._spacing))
        density = np.broadcast_to(start, (len(self.drifts), len(start)))
        windows, found, held = [], [np.zeros((1, len(self.drifts)))], 0
        first = left = 0
        while first < len(self.hits):
            end = min(first + min(max(first, 1), _STEPS), len(self.hits))
            window, density, gains = self._moved(first, end, left, density, found[-1][-1])
            held += window.densities.size
            if held > _KEPT:
                window.densities = None
            windows.append(window)
            found.append(found[-1][-1] + gains.cumsum(axis=0))
            first, left = end, window.left
        return windows, np.concatenate(found[1:])

    def _moved(self, first, end, left, density, evidence):
        """Do the steps of one window; return it, the last density and the gains in evidence."""
        logs = evidence + self.weights
        heard = logs > logs.max() - _OUT
        peak = density[heard].max(axis=1, keepdims=True)
        there = left + np.flatnonzero((density[heard] > _DUST * peak).any(axis=0))
        reach = _PAD * self.drifts[heard].max() * np.sqrt(end - first) / self._spacing
        pad = int(reach) + 8
        while True:
            low, high = max(there[0] - pad, 0), min(there[-1] + 1 + pad, len(self.lattice))
            window = _Window(first, end, low, high, _in_window(density, left, low, high))
            densities, gains = self._run(window)
            edges = densities[:, heard][:, :, [0, 1, -2, -1]]
            edges = edges * [low > 0, low > 0, high < len(self.lattice), high < len(self.lattice)]
            if not (edges > _EDGE * densities[:, heard].max(axis=2, keepdims=True)).any():
                window.densities = densities
                return window, densities[-1], gains
            pad = 2 * pad + 16

    def _run(self, window):
        """Return the densities (n, S, w) after each step of a window, and the gains (n, S)."""
        likelihood, scale = self._likelihood(window)
        density, step = window.start, self._step(window.right - window.left)
        densities = np.empty((len(likelihood), *density.shape))
        for number, (each, after) in enumerate(zip(likelihood, densities, strict=True)):
            if window.first + number:
                density = step(density)
            np.multiply(density, each, out=after)
            mass = np.maximum(np.einsum("sw->s", after), 1e-300)
            after /= mass[:, None]
            density = after
            scale_of = np.log(mass)
            if number == 0:
                gains = np.empty((len(likelihood), len(mass)))
            gains[number] = scale_of
        return densities, gains + scale[:, None]

    @cached_property
    def _known(self):
        return {}

    def _step(self, points):
        """The convolution with one step of the walk, for every drift, over so many points."""
        from scipy import fft  # slow to load, and every exact answer loads this file

        margin = int(_REACH * self.drifts.max() / self._spacing) + 1
        size = fft.next_fast_len(-(-(points + min(margin, points)) // 16) * 16, real=True)
        if size not in self._known:
            frequency = 2 * np.pi * fft.rfftfreq(size, self._spacing)
            self._known[size] = np.exp(-((self.drifts[:, None] * frequency) ** 2) / 2)
        multiplier = self._known[size]

        def step(density):
            spectrum = fft.rfft(density, size)
            spectrum *= multiplier
            return np.maximum(fft.irfft(spectrum, size)[:, :points], 0.0)

        return step

    @property
    def log_weights(self) -> np.ndarray:
        """The log of prior weight times evidence of every drift, after the last step."""
        return self._forward[1][-1] + self.weights

    def filtered(self) -> Lattice:
        """Return the distribution of every step given the steps so far."""
        windows, evidence = self._forward
        weights, parts = special.softmax(evidence + self.weights, axis=1), []
        for window in windows:
            some = weights[window.first : window.end]
            masses = np.einsum("ns,nsw->nw", some, self._densities(window))
            parts.append(self._distribution(window, masses))
        return joined(parts)

    def smoothed(self) -> Lattice:
        """Return the distribution of every step given all steps."""
        weights, parts = special.softmax(self.log_weights), []
        product, left = None, 0
        for window in self._forward[0][::-1]:
            densities = self._densities(window)
            later, product = self._later(window, product, left)
            left = window.left
            both = np.multiply(densities, later, out=later)
            shares = weights / np.maximum(np.einsum("nsw->ns", both), 1e-300)
            masses = np.einsum("ns,nsw->nw", shares, both)
            parts.append(self._distribution(window, masses))
        return joined(parts[::-1])

    def _later(self, window, product, left):
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
            wide = self._step(high - low)(_in_window(product, left, low, high))
            later[-1] = _in_window(wide, low, window.left, window.right)
            later[-1] /= later[-1].max(axis=1, keepdims=True)
        step = self._step(points)
        for number in range(len(likelihood) - 1, 0, -1):
            said = step(later[number] * likelihood[number])
            np.divide(said, said.max(axis=1, keepdims=True), out=later[number - 1])
        return later, later[0] * likelihood[0]

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
        there = np.flatnonzero((masses > 1e-15 * masses.max(axis=1, keepdims=True)).any(axis=0))
        low, high = max(there[0] - 3, 0), min(there[-1] + 4, masses.shape[1])
        # A density this wide is as well known by every second point, or fourth, ...
        stride = 2 ** max(0, int(np.ceil(np.log2((high - low) / _POINTS))))
        some = masses[:, low:high:stride]
        logits = self.lattice[window.left + low : window.left + high : stride]
        return Lattice(np.broadcast_to(logits, some.shape), some / some.sum(axis=1, keepdims=True))


def _in_window(values, left, low, high):
    """Return the points low to high of values (S, w) that begin at the point left, 0 elsewhere."""
    if low == left and high == left + values.shape[1]:
        return np.array(values)
    found = np.zeros((len(values), high - low))
    first, last = max(left, low), min(left + values.shape[1], high)
    if first < last:
        found[:, first - low : last - low] = values[:, first - left : last - left]
    return found

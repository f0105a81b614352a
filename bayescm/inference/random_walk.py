r"""
Random walk of a rate on the logit scale with binomial observations: filter and smoother.

.. math::

    x_{t+1} \mid x_t \sim N(x_t, d^2), \qquad
    y_t \sim \mathrm{Binomial}\bigl(n_t, \operatorname{expit} x_t\bigr),

with a half-normal prior of the drift d. The logit x is discretised on a lattice, and d on the nodes
of Gauss-Legendre quadrature. For each node, with the likelihood :math:`L_t(x)` of step t and
:math:`N \ast` the convolution with the density of :math:`N(0, d^2)` (`ForwardBackward`),

.. math::

    f_t &\propto L_t \cdot (N \ast f_{t-1}) && \text{(filter)} \\
    b_{t-1} &= N \ast (L_t \cdot b_t) && \text{(message backwards)} \\
    s_t &\propto f_t \cdot b_t && \text{(smoother)}.

The product of the normalising constants of the filter is the marginal likelihood of d, which
weights its node (`Walk`). Paths are sampled backwards from the last step, given the filtered
densities. The drift is the standard deviation of a step, not its mean. A preliminary Kalman filter
determines the spacing and width of the lattice and the initial nodes, but does not enter the
result.

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

# Posterior of the walk, summed over nodes of the drift

_PLAUSIBLE = 14.0  # nats below the maximum log density; other drifts are omitted
_END = 7.0  # nats below the maximum at which the range of drifts may end
_TRIES = 5  # maximum number of attempts to find the range
# Lengths of initial segments of a long series, used to estimate the error of the approximation.
_PILOT_STEPS = 100, 400, 1600
_EXTRA = 16  # fine grid points added at both ends, so that the range is not empty
_HALVINGS = 6  # number of bisections of the coarse grid of the drift
_NODES = 12  # number of nodes per panel inside the range
_OUTER_NODES = 8  # number of nodes per panel outside the range
_POINTS_PER_SD = 2.0
# Finer for the filter, because the next step may be far from the prediction.
_POINTS_PER_FILTERED_SD = 3.0
_LATTICE_REACH = 8.0  # in standard deviations, on each side
_SKEW = 0.7  # larger standard deviations of a logit occur only with few hits or few misses
_FEWEST = 200  # minimum number of lattice points
_MOST = 40_000  # maximum number of lattice points


@dataclass(frozen=True, eq=False)
class Walk:
    """
    Posterior of one rate at every step.

    Attributes
    ----------
    hits, trials : ndarray, shape (T,)
        Binomial counts of each step.
    prior : (float, float)
        Parameters of the beta prior for the rate at the first step.
    scale : float
        Scale of the half-normal prior for the drift.
    """

    hits: np.ndarray
    trials: np.ndarray
    prior: tuple[float, float]
    scale: float

    @cached_property
    def _approximation(self):
        """Coarse grid of log drifts, and the log evidence, means and SDs of Kalman filters."""
        logs = np.linspace(np.log(4.5 * self.scale) - 6, np.log(4.5 * self.scale), 41)
        filter_all = kalman_filter(self.hits, self.trials, self.prior, np.exp(logs))
        # Steps without failures, or with failures only, bound the rate on one side only.
        inner = (self.hits > 0) & (self.hits < self.trials)
        if inner.all():
            return logs, *filter_all, *filter_all[1:]
        filter_inner = kalman_filter(
            self.hits * inner, self.trials * inner, self.prior, np.exp(logs)
        )
        return logs, *filter_all, *filter_inner[1:]

    def _log_prior(self, logs):
        """Return the log prior density of the root of the drift, up to a constant."""
        return logs / 2 - np.exp(2 * logs) / (2 * self.scale**2)

    def _passes(self, drift, weight, probable, points=_POINTS_PER_SD):
        """Return passes over a lattice that is fine and wide enough for the probable drifts."""
        mean, sd, *wide = self._approximation[2:]
        # Without failures so far, the logit has an exponential tail and a steep end, which need a
        # finer lattice.
        finest = (sd / (1 + 2 * (sd > _SKEW))).min(where=probable, initial=np.inf) / points
        reach = [_LATTICE_REACH * array + 12.0 * (array > _SKEW) for array in (sd, wide[1])]
        low = np.minimum(mean - reach[0], wide[0] - reach[1]).min(
            axis=1, where=probable, initial=np.inf
        )
        high = np.maximum(mean + reach[0], wide[0] + reach[1]).max(
            axis=1, where=probable, initial=-np.inf
        )
        size = int(np.clip((high.max() - low.min()) / finest, _FEWEST, _MOST))
        lattice, expected = np.linspace(low.min(), high.max(), size), np.stack([low, high], -1)
        return ForwardBackward(self.hits, self.trials, self.prior, drift, weight, lattice, expected)

    def _nodes(self, low, high):
        """Return nodes of the drift and their log prior weights, given the range of its root."""
        # Use dense nodes in the posterior range of the whole series, and wider panels for the first
        # steps.
        distance = (high - low) * (2.0 ** np.arange(12) - 1)
        edges = np.unique(
            np.clip(np.r_[low - distance, high + distance], 0, np.sqrt(4.5 * self.scale))
        )
        number = int(_NODES * (2 - low / high))
        panels = [
            _legendre(*ends, number if ends[0] == low else _OUTER_NODES) for ends in pairwise(edges)
        ]
        root, weight = np.concatenate(panels, axis=1)
        inside = (low < root) & (root < high)
        drift = root**2
        prior = np.log(weight * np.sqrt(8 / np.pi) / self.scale) + self._log_prior(np.log(drift))
        return drift, prior, inside

    @cached_property
    def _posterior(self):
        """All nodes of the drift, and the passes for nodes with non-negligible weight."""
        rough, evidence, *_ = self._approximation
        logs, steps = _refine(rough), len(self.hits)
        # Error of the approximate log evidence per step, as a parabola in the drift.
        bias, drift_range = np.zeros(3), (0.0, np.inf)
        pilots = [length for length in _PILOT_STEPS if 4 * length < steps]
        for length in [*pilots, *[steps] * _TRIES]:
            approximate = _refine(evidence[length - 1])
            bias_per_step = np.polyval(bias, np.clip(np.exp(logs), *drift_range))
            density = approximate + length * bias_per_step + self._log_prior(logs)
            ends = np.flatnonzero(density > density.max() - _PLAUSIBLE)[[0, -1]]
            range_of_log = logs[np.clip(ends + np.array([-1, 1]) * _EXTRA, 0, len(logs) - 1)]
            extended = range_of_log != logs[[0, -1]]
            drift, weight, inside = self._nodes(*np.exp(range_of_log / 2) * [extended[0], 1])
            probable = (rough > range_of_log[0] - 0.15) & (rough < range_of_log[1] + 0.15)
            passes = self._passes(drift[inside], weight[inside], probable).of_first(length)
            node, exact = np.log(drift[inside]), passes.log_weights - weight[inside]
            density = exact + self._log_prior(node)
            negligible = density[[0, -1]] <= density.max() - _END * extended
            if length == steps and negligible.all():
                break
            error = (exact - np.interp(node, logs, approximate)) / length
            bias, drift_range = np.polyfit(drift[inside], error, 2), drift[inside][[0, -1]]
        return drift, weight, passes

    @cached_property
    def _forward(self):
        """Passes for all nodes of the drift, whose weights change from step to step."""
        logs, evidence, *_ = self._approximation
        weight = evidence + self._log_prior(logs)
        plausible = weight > weight.max(axis=1, keepdims=True) - 2 * _PLAUSIBLE
        drift, weight, _ = self._posterior
        return self._passes(drift, weight, plausible, _POINTS_PER_FILTERED_SD)

    def filtered(self) -> LogitLattice:
        """Return the distribution at every step given the data up to this step."""
        return self._forward.filtered()

    def smoothed(self) -> LogitLattice:
        """Return the distribution at every step given all data."""
        return self._posterior[-1].smoothed()

    def log_marginal_likelihood(self) -> float:
        """Return the log marginal likelihood of all counts."""
        return float(special.logsumexp(self._posterior[-1].log_weights))

    def paths(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return drifts (size,) and paths of the logit (size, T), sampled from the posterior."""
        passes, paths = self._posterior[-1], np.empty((size, len(self.hits)))
        node = rng.choice(len(passes.drifts), size, p=special.softmax(passes.log_weights))
        rows_of_node = [(index, np.flatnonzero(node == index)) for index in np.unique(node)]
        for t, lattice, densities in passes.backwards():
            for index, rows in rows_of_node:
                density, drift = densities[index], passes.drifts[index]
                if t == len(self.hits) - 1:
                    paths[rows, t] = draw(lattice, density, len(rows), rng)
                else:
                    paths[rows, t] = sample_previous_state(
                        lattice, density, paths[rows, t + 1], drift, rng
                    )
        return sample_drifts(paths, self.scale, rng), paths


def _refine(values):
    """Interpolate values on a coarse grid of the drift to a finer one."""
    for _ in range(_HALVINGS):
        values = refine(values)
    return values


def _legendre(low, high, size):
    nodes, weights = np.polynomial.legendre.leggauss(size)
    half = (high - low) / 2
    return np.array([low + half * (nodes + 1), half * weights])


# Forward and backward passes over a walk, on the part of the lattice with non-negligible density. A
# step is a convolution with a Gaussian, computed by Fourier transform. The convolution is exact for
# a density that the lattice resolves, for any drift, up to rounding errors relative to the maximum.
# If a batch contradicts the previous ones, smaller values matter, and the convolution is computed
# by direct summation. Several consecutive steps share a window of the lattice: the previous support
# of the density together with its expected support. If the density reaches the edge of a window,
# the steps are repeated in a wider one.

_WINDOW_STEPS = 24  # maximum number of steps per window
_SUPPORT = 1e-15  # density that is negligible outside a window, relative to the maximum
_ROUNDING = 1e-14  # bound of the error of the Fourier transform, relative to the maximum
_UNDERFLOW = 1e-8  # share of the mass below which the result depends on the tails
_RESOLVED = 1.2  # lattice points per step standard deviation for which a sum equals the integral
_EDGE = 1e-11  # largest density at the edge of a window, relative to the maximum
_SMOOTHED_EDGE = 1e-7  # largest smoothed density at an edge, relative to the maximum
_REACH = 8.0  # padding of the periodic convolution, in standard deviations of a step
_MARGIN = 8  # lattice points on either side of the expected window
# Differences in log density from the best drift.
_NEGLIGIBLE = 30.0  # worse drifts do not widen a window
_IMPLAUSIBLE = 100.0  # worse drifts are not computed by direct summation
_FACTORS = 8, 9, 10, 12, 15  # sizes of Fourier transforms are these times powers of two
_TINY = 1e-300  # replaces a mass of 0
_POINTS_OF_STEP = 16  # sufficient number of points per standard deviation of a result
_STORED = 24_000_000  # maximum number of stored values; others are recomputed


@dataclass(frozen=True, eq=False)
class _Window:
    """Consecutive steps with a common window of the lattice."""

    first: int  # the first step
    end: int
    left: int  # the first point
    right: int
    plausible: np.ndarray  # drifts with non-negligible weight (S,)
    start: np.ndarray  # densities before the first step (S, w)
    densities: Any = None  # densities after each step (n, S, w), if stored


@dataclass(frozen=True, eq=False)
class ForwardBackward:
    """
    Forward filter and backward smoother of a random walk, for several step standard deviations.

    Attributes
    ----------
    hits, trials : ndarray, shape (T,)
    prior : (float, float)
    drifts : ndarray, shape (S,)
    weights : ndarray, shape (S,)
        Log prior weights of the drifts.
    lattice : ndarray, shape (m,)
        Equidistant points of the logit.
    expected : ndarray, shape (T, 2)
        Expected range of the logit at each step, which defines the initial windows.
    """

    hits: np.ndarray
    trials: np.ndarray
    prior: tuple[float, float]
    drifts: np.ndarray
    weights: np.ndarray
    lattice: np.ndarray
    expected: np.ndarray
    full_lattice: bool = False  # whether every window is the whole lattice

    @cached_property
    def _spacing(self):
        return self.lattice[1] - self.lattice[0]

    @cached_property
    def _logs(self):
        """Log rates and log complements at the points, and log binomial coefficients (T,)."""
        misses = self.trials - self.hits
        log_coefficient = -special.betaln(self.hits + 1, misses + 1) - np.log1p(self.trials)
        return special.log_expit(self.lattice), special.log_expit(-self.lattice), log_coefficient

    def _likelihood(self, window):
        """Return the likelihood (n, w) of the steps of a window, and its log scale (n,)."""
        log_rate, log_complement, log_coefficient = self._logs
        steps, points = slice(window.first, window.end), slice(window.left, window.right)
        hits, misses = self.hits[steps, None], (self.trials - self.hits)[steps, None]
        log = hits * log_rate[points] + misses * log_complement[points]
        peak = log.max(axis=1)
        return np.exp(log - peak[:, None]), peak + log_coefficient[steps]

    def _forwards(self):
        """Yield each window with its densities and the log evidence after each of its steps."""
        start = self._logs[0] * self.prior[0] + self._logs[1] * self.prior[1]
        start = np.exp(start - special.betaln(*self.prior) + np.log(self._spacing))
        density = np.broadcast_to(start, (len(self.drifts), len(start)))
        evidence, first, left = np.zeros((1, len(self.drifts))), 0, 0
        while first < len(self.hits):
            end = min(first + min(max(first, 1), _WINDOW_STEPS), len(self.hits))
            window, densities, gains = self._advance(first, end, left, density, evidence[-1])
            evidence = evidence[-1] + gains.cumsum(axis=0)
            yield window, densities, evidence
            density, first, left = densities[-1], end, window.left

    @cached_property
    def _forward(self):
        """Windows, and the log evidence of every drift after the last step, (S,)."""
        windows, stored, last = [], 0, np.zeros(len(self.drifts))
        for window, densities, evidence in self._forwards():
            stored, last = stored + densities.size, evidence[-1]
            if stored <= _STORED:
                window = replace(window, densities=densities.astype(np.float32))
            windows.append(window)
        return windows, last

    def _advance(self, first, end, left, density, evidence):
        """Filter the steps of a window, and return it with densities and log evidence gains."""
        logs = evidence + self.weights
        plausible, probable = logs > logs.max() - _IMPLAUSIBLE, logs > logs.max() - _NEGLIGIBLE
        peak = density[probable].max(axis=1, keepdims=True)
        support = left + np.flatnonzero((density[probable] > _SUPPORT * peak).any(axis=0))
        expected = (self.expected[first:end] - self.lattice[0]) / self._spacing
        least = min(support[0], int(expected[:, 0].min()))
        most = max(support[-1], int(expected[:, 1].max()) + 1) + 1
        pad = len(self.lattice) if self.full_lattice else _MARGIN
        while True:
            low, high = max(least - pad, 0), min(most + pad, len(self.lattice))
            start = _in_window(density, left, low, high)
            window = _Window(first, end, low, high, plausible, start)
            densities, gains = self._filter(window)
            if not (self._edges(window, densities[:, probable]) > _EDGE).any():
                return window, densities, gains
            pad = 2 * pad + 2 * _MARGIN

    def _filter(self, window):
        """Return the densities (n, S, w) after each step of a window, and the log gains (n, S)."""
        likelihood, scale = self._likelihood(window)
        density, step = window.start, self._step(window.right - window.left)
        densities, total = np.empty((len(likelihood), *density.shape)), likelihood.sum(axis=1)
        masses = np.empty(densities.shape[:2])
        for number, (row, after) in enumerate(zip(likelihood, densities, strict=True)):
            moved = step(density) if window.first + number else density
            np.multiply(moved, row, out=after)
            mass = after.sum(axis=1)
            underflowing = (mass < _UNDERFLOW * total[number]) & window.plausible
            if underflowing.any() and window.first + number:
                after[underflowing] = (
                    self._convolve_directly(density, np.flatnonzero(underflowing)) * row
                )
                mass = after.sum(axis=1)
            masses[number] = np.maximum(mass, _TINY)
            after /= masses[number, :, None]
            density = after
        return densities, np.log(masses) + scale[:, None]

    @cached_property
    def _steps(self):
        return {}  # convolution functions by number of points

    @cached_property
    def _multipliers(self):
        return {}  # Fourier transforms of a step by size

    def _step(self, points):
        """Return the function that convolves densities with a step, for every drift."""
        if points in self._steps:
            return self._steps[points]
        margin = int(_REACH * self.drifts.max() / self._spacing) + 1
        minimum = points + min(margin, points)
        size = min(factor << max(int(np.ceil(np.log2(minimum / factor))), 0) for factor in _FACTORS)
        if size not in self._multipliers:
            square = smooth_square(2 * np.pi * np.fft.rfftfreq(size)) / self._spacing**2
            self._multipliers[size] = np.exp(-(self.drifts[:, None] ** 2) * square / 2)
        multiplier = self._multipliers[size]

        def step(density, rows=slice(None)):
            spectrum = np.fft.rfft(density, size)
            spectrum *= multiplier[rows]
            moved = np.fft.irfft(spectrum, size)[:, :points]
            return np.maximum(moved, 0.0, out=moved)

        self._steps[points] = step
        return step

    def _convolve_directly(self, density, rows):
        """Convolve by direct summation, so that small values are as precise as large ones."""
        moved_rows, points = [], density.shape[1]
        for row in rows:
            distance = np.arange(1 - points, points) * (self._spacing / self.drifts[row])
            if self.drifts[row] < _RESOLVED * self._spacing:
                moved = self._step(points)(density[row : row + 1], [row])[0]
                moved_rows.append(np.where(moved > _ROUNDING * moved.max(), moved, 0.0))
                continue
            kernel = np.exp(-(distance**2) / 2)
            convolution = np.convolve(density[row], kernel / kernel.sum())
            moved_rows.append(convolution[points - 1 : 2 * points - 1])
        return np.array(moved_rows)

    def of_first(self, steps: int) -> "ForwardBackward":
        """Return the passes over the first steps only."""
        return replace(
            self,
            hits=self.hits[:steps],
            trials=self.trials[:steps],
            expected=self.expected[:steps],
        )

    @property
    def log_weights(self) -> np.ndarray:
        """Log of prior weight times evidence of every drift after the last step."""
        return self._forward[1] + self.weights

    def filtered(self) -> LogitLattice:
        """Return the distribution at every step given the data up to this step."""
        parts = []
        for window, densities, evidence in self._forwards():
            weights = special.softmax(evidence + self.weights, axis=1)
            masses = np.einsum("ns,nsw->nw", weights, densities)
            parts.append(self._distribution(window, masses))
        return concatenate(parts)

    def smoothed(self) -> LogitLattice:
        """Return the distribution at every step given all data."""
        weights, parts = special.softmax(self.log_weights), []
        product, left = None, 0
        for window in self._forward[0][::-1]:
            densities = self._densities(window)
            later, product = self._messages(window, densities, product, left)
            left = window.left
            joint = np.multiply(densities, later, out=later)
            shares = weights / np.maximum(np.einsum("nsw->ns", joint), _TINY)
            masses = np.einsum("ns,nsw->nw", shares, joint)
            if not self.full_lattice and (self._edges(window, masses) > _SMOOTHED_EDGE).any():
                return replace(
                    self, full_lattice=True
                ).smoothed()  # later steps contradict earlier ones
            parts.append(self._distribution(window, masses))
        return concatenate(parts[::-1])

    def _edges(self, window, densities):
        """Return relative densities at the edges of a window, unless these are lattice edges."""
        inner = [window.left > 0] * 2 + [window.right < len(self.lattice)] * 2
        most = np.maximum(densities.max(axis=-1, keepdims=True), _TINY)
        return densities[..., [0, 1, -2, -1]] * inner / most

    def _messages(self, window, densities, product, left):
        """
        Return the backward messages b of the steps of a window (n, S, w), and a product.

        Messages are given up to a factor. The argument ``product`` is the likelihood of the step
        after the window times its message, on points from ``left``. The returned product is the
        same quantity for the first step of the window.
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
            filtered_density = _in_window(densities[-1], window.left, low, high)
            later[-1] = _in_window(
                self._message(wide, filtered_density), low, window.left, window.right
            )
        for number in range(len(likelihood) - 1, 0, -1):
            message = later[number] * likelihood[number]
            later[number - 1] = self._message(message, densities[number - 1])
        return later, later[0] * likelihood[0]

    def _message(self, product, density):
        """Return the message of a step (S, w), from likelihood times message of the next step."""
        message = self._step(product.shape[1])(product)
        message /= np.maximum(message.max(axis=1, keepdims=True), _TINY)
        underflowing = np.einsum("sw,sw->s", message, density) < _UNDERFLOW
        if underflowing.any():
            exact = self._convolve_directly(product, np.flatnonzero(underflowing))
            message[underflowing] = exact / np.maximum(exact.max(axis=1, keepdims=True), _TINY)
        return message

    def backwards(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the steps in reverse order, with lattice points and filtered densities (S, w)."""
        for window in self._forward[0][::-1]:
            points, densities = self.lattice[window.left : window.right], self._densities(window)
            for number in range(window.end - window.first - 1, -1, -1):
                yield window.first + number, points, densities[number]

    def _densities(self, window):
        return self._filter(window)[0] if window.densities is None else window.densities

    def _distribution(self, window, masses):
        """Return the distributions of the steps of a window, on points with non-negligible mass."""
        masses = np.exp(refine(refine(np.log(np.maximum(masses, _TINY)), 0.1), 0.1))
        points = masses.shape[1]
        support = masses > 1e-14 * masses.max(axis=1, keepdims=True)
        low = np.maximum(support.argmax(axis=1) - 3, 0)
        high = np.minimum(points - support[:, ::-1].argmax(axis=1) + 3, points)
        mean = (masses @ np.arange(points)) / masses.sum(axis=1)
        spread = np.sqrt((masses * (np.arange(points) - mean[:, None]) ** 2).sum(axis=1))
        # If the lattice is finer than necessary, keep every second point, every fourth, and so on.
        stride = 2 ** np.maximum(np.log2(np.maximum(spread, 1) / _POINTS_OF_STEP).astype(int), 0)
        index = low[:, None] + stride[:, None] * np.arange((-((low - high) // stride)).max())
        strided = np.take_along_axis(masses, np.minimum(index, points - 1), axis=1)
        strided = np.where(index < high[:, None], strided, 0.0)
        logits = self.lattice[window.left] + self._spacing / 4 * index
        return LogitLattice(logits, strided / strided.sum(axis=1, keepdims=True))


def _in_window(values, left, low, high):
    """Return values (S, w) that begin at ``left`` on the window low to high, padded with 0."""
    if low == left and high == left + values.shape[1]:
        return np.array(values)
    values_in_window = np.zeros((len(values), high - low))
    first, last = max(left, low), min(left + values.shape[1], high)
    if first < last:
        values_in_window[:, first - low : last - low] = values[:, first - left : last - left]
    return values_in_window


# Gaussian approximation of a walk: its location, and the evidence of each drift

_AVERAGED_STEPS = 9  # number of steps averaged in the variance of a logit


def kalman_filter(
    hits: np.ndarray, trials: np.ndarray, prior: tuple[float, float], drifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return log evidence, means and standard deviations of the Kalman filter, (T, S) each.

    Parameters
    ----------
    hits, trials : ndarray, shape (T,)
    prior : (float, float)
        Parameters of the beta prior at the first step.
    drifts : ndarray, shape (S,)
        Standard deviations of a step.
    """
    hits, misses = hits + 0.5, trials - hits + 0.5
    logits, empty = np.log(hits / misses), trials == 0
    # Variances use the average rate around each step, because the step's own rate would make them
    # depend on the logit.
    ones = np.ones(min(len(hits), _AVERAGED_STEPS))
    hits_around, misses_around = np.convolve(hits, ones, "same"), np.convolve(misses, ones, "same")
    noise = (hits_around + misses_around) ** 2 / (hits_around * misses_around * (hits + misses))
    a, b = prior
    mean = np.full(len(drifts), special.digamma(a) - special.digamma(b))
    variance = np.full(len(drifts), special.polygamma(1, a) + special.polygamma(1, b))
    evidence, means, variances = (np.empty((len(logits), len(drifts))) for _ in range(3))
    total, innovation = np.ones_like(evidence), np.zeros_like(evidence)
    step_variance = drifts**2
    for t, (value, noise_variance) in enumerate(zip(logits.tolist(), noise.tolist(), strict=True)):
        if t:
            variance = variance + step_variance
        if not empty[t]:
            total[t], innovation[t] = variance + noise_variance, value - mean
            share = variance / total[t]
            mean, variance = mean + share * innovation[t], share * noise_variance
        means[t], variances[t] = mean, variance
    evidence = -np.cumsum(innovation**2 / total + np.log(total), axis=0) / 2
    return evidence, means, np.sqrt(variances)


# Backward sampling of paths, given the filtered densities


def sample_drifts(paths: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Sample drifts (size,) given paths (size, T), on a continuous scale."""
    squares, number = (np.diff(paths, axis=1) ** 2).sum(axis=1), paths.shape[1] - 1
    top = np.log(4.5 * scale)
    least = np.log(np.sqrt(squares / number) / 8) if number else np.full(len(paths), top - 9)
    share = np.linspace(0, 1, 300)
    logs = least[:, None] + (top - least)[:, None] * share
    density = (1 - number) * logs - np.exp(2 * (logs - np.log(scale))) / 2
    density -= squares[:, None] * np.exp(-2 * logs) / 2
    cumulative = np.cumsum(np.exp(density - density.max(axis=1, keepdims=True)), axis=1)
    cell = (cumulative < cumulative[:, -1:] * rng.random((len(paths), 1))).sum(axis=1)
    return np.exp(least + (top - least) * (cell + rng.random(len(paths)) - 0.5) / 299)


def sample_previous_state(
    lattice: np.ndarray,
    density: np.ndarray,
    level: np.ndarray,
    drift: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Sample the previous levels given the levels (size,), their density (m,) and the drift."""
    spacing = lattice[1] - lattice[0]
    return (_sample_from_normal if drift < 2 * spacing else _sample_from_points)(
        lattice, density, level, drift, rng
    )


def _sample_from_normal(lattice, density, level, drift, rng):
    """Sample the previous level by a normal approximation, for steps too short for the lattice."""
    with np.errstate(divide="ignore"):
        log = np.maximum(np.log(density), -700)
    spacing = lattice[1] - lattice[0]
    slope = np.gradient(log, spacing)
    curvature = np.minimum(np.gradient(slope, spacing), 0)
    precision = 1 / drift**2 - np.interp(level, lattice, curvature)
    mean = level + np.interp(level, lattice, slope) / precision
    return mean + rng.standard_normal(level.shape) / np.sqrt(precision)


def _sample_from_points(lattice, density, level, drift, rng):
    """Sample the previous level from nearby lattice points, or from all relevant ones."""
    spacing = lattice[1] - lattice[0]
    reach = int(6 * drift / spacing) + 1
    support = np.flatnonzero(density > 1e-14 * density.max())
    if support[-1] - support[0] < 2 * reach:
        index = np.broadcast_to(
            np.arange(support[0], support[-1] + 1), (len(level), support[-1] - support[0] + 1)
        )
    else:
        centre = np.rint((level - lattice[0]) / spacing).astype(int)
        index = np.clip(centre[:, None] + np.arange(-reach, reach + 1), 0, len(lattice) - 1)
    distance = (lattice[index] - level[:, None]) / drift
    weight = density[index] * np.exp(-(distance**2) / 2)
    cumulative = weight.cumsum(axis=1)
    choice = (cumulative < cumulative[:, -1:] * rng.random((len(level), 1))).sum(axis=1)
    point = np.take_along_axis(index, choice[:, None], axis=1)[:, 0]
    return lattice[point] + spacing * (rng.random(len(level)) - 0.5)


def draw(lattice, density, size, rng):
    """Sample logits (size,) from the masses (m,) of lattice points, uniformly around the points."""
    cumulative = np.cumsum(density, axis=-1)
    cumulative = cumulative / cumulative[-1]
    point = np.searchsorted(cumulative, rng.random(size))
    return lattice[point] + (lattice[1] - lattice[0]) * (rng.random(size) - 0.5)


# Interpolation on a lattice, and the square of a frequency

_TERMS = 10  # number of terms of the series of a square


def refine(values: np.ndarray, most: float = np.inf) -> np.ndarray:
    """
    Return values (..., m) at equidistant points and at their midpoints, (..., 2 m - 1).

    Cubic interpolation through four points is used, which may differ from linear interpolation by
    at most ``most``.
    """
    linear = (values[..., :-1] + values[..., 1:]) / 2
    wider = (values[..., :-3] + values[..., 3:]) / 2
    linear[..., 1:-1] += np.clip((linear[..., 1:-1] - wider) / 8, -most, most)
    fine = np.empty((*values.shape[:-1], 2 * values.shape[-1] - 1))
    fine[..., ::2], fine[..., 1::2] = values, linear
    return fine


def smooth_square(angle: np.ndarray) -> np.ndarray:
    """
    Return the square of angles up to pi, from a truncated series of the squared arc sine.

    This approximation is flat at pi, unlike the exact square. Otherwise the transform of a density
    that the lattice does not resolve, as for very small drifts, would oscillate far away from it.
    """
    term = 2 * np.sin(angle / 2) ** 2
    powers, x = np.zeros_like(angle), 2 * term
    for k in range(1, _TERMS + 1):
        powers = powers + term / k**2 * 2
        term = term * x * (k + 1) / (4 * k + 2)
    return powers

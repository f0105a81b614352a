"""
Quantiles and highest-density intervals by Newton's method, with numerical errors.

A number x is represented on a scale y, with ``x = link.to_x(y)``. On each lattice of a sequence of
increasingly fine ones, the distribution function F(y), the density F'(y) and its slope F''(y) are
known (`quadrature.LineValues.masses`). Let z = ndtri(F(y)) be the normal score of y.

- A quantile at ndtr(z*) solves ``z(y) = z*``. On the normal scale, F is nearly linear. Newton's
  step is ``(z* - z) dy/dz`` with ``dy/dz = phi(z) / F'(y)``.
- Both ends y1 < y2 of the highest-density interval of mass p solve

      log h(y2) - log h(y1) = 0    and    F(y2) - F(y1) = p,

  with h = F'(y) / (dx/dy), the density of x (`hdi.both_ends` is Newton's step). If the density is
  decreasing, y1 = -inf and F(y2) = p, and vice versa if it is increasing. The quantile function
  determines which case applies, and the starting values (`shortest_candidate`).

**The error.** The solution on one lattice is the start on the next one. Halving the step of a
lattice roughly squares its error. The move from one solution to the next is therefore nearly equal
to the error of the former. With moves in normal scores, the stated error at level l is

    error_l = max(2 |move_l|, |move_{l-1}| / 8) dx/dz

plus the rounding error. For both ends of an interval, the larger error is used. Lattices are
refined until the error is at most the requested accuracy (`_state_errors`). If a rule converges
more slowly, the moves shrink more slowly, and the stated error is larger. It is an estimate, not a
bound; docs/background/quadrature.md describes how it was tested.

The constants below were chosen together, and tested on the 20,000 tables of that page.

References
----------
Hyndman, R. J. (1996). Computing and graphing highest density regions. The American Statistician,
50(2), 120-126. doi:10.1080/00031305.1996.10474359
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from bayescm.distributions.hdi import INTERIOR, LOWER, SEVERAL_MODES, UPPER, Link, both_ends

# Refinement. Rough results, to 1e-4 or worse, start on coarser lattices and end earlier.
# First level at which solutions may be accepted; exact results need two moves, rough ones need one.
_LEAST_LEVEL = {False: 2, True: 1}
_RECHECKED = 2, 4, 6  # levels, after the first, at which the kind of an interval is reconsidered
_SURE = 0.01  # in z; after smaller moves, the kind of an interval is not reconsidered
_SMALL = 0.02  # in z; only small moves estimate the error
_FLOOR = {False: 1e-9, True: 1e-5}  # smallest error relative to the length, from rounding

# Newton's method on one lattice
_STEPS_AT_START = 4  # steps on the first lattice, which starts from an interpolation
_STEPS_LATER = 2  # steps on later lattices, which start from a solution
_FEW = 8  # number of rows up to which steps continue until they settle
_STEPS_OF_FEW = 30  # maximum number of steps for so few rows
_SETTLED = {False: 1e-9, True: 1e-4}  # in z; the iteration ends after a smaller step
_NEARLY_SETTLED = 1e-5  # in z; the same limit after the usual number of steps
_FARTHEST = 2.0  # in z; maximum length of a step
_DIVERGED = 1.0  # in z; a larger move on one lattice indicates a wrong start
_UNSETTLED = 0.1  # in z; a larger last step also indicates a wrong start
_GREATEST_Z = 7.2  # the mass beyond is 3e-13, which lattices do not resolve

# The candidates for a shortest interval
# Log odds of the share of the left-out mass that is below the interval.
_SPLITS = np.linspace(-18, 18, 61)
_SPLITS_OF_FEW_NODES = 0.55  # factor for these log odds if the quantile function ends at z = 6
_ANOTHER = 0.1  # in z; candidates further apart than this are different
_VALLEY = 0.02  # depth of a valley in the log density that separates two modes
_VISIBLE = 4.5  # largest z at which a valley is taken into account
# Codes for the kinds of interval, which index `_KIND_NAMES`.
_EQUAL_DENSITIES = 0
_FROM_LOWER = 1
_TO_UPPER = 2
_KIND_NAMES = np.array([INTERIOR, LOWER, UPPER], dtype="<U18")


def quantiles(rows: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return quantiles and their errors.

    Parameters
    ----------
    rows : Rows
        m distributions on lattices, with ``size``, ``link``, ``accuracy``, ``rough``,
        ``take(index)``, ``points(level)``, ``values(level)`` and ``parts(index, level, queries)``.
    q : ndarray, shape (m, Q)
        Probabilities.

    Returns
    -------
    x, error : ndarray, shape (m, Q)
        Quantiles and errors.
    """
    with np.errstate(all="ignore"):
        z = np.where(
            q <= 0.5, special.ndtri(np.clip(q, 0, 0.5)), -special.ndtri(np.clip(1 - q, 0, 0.5))
        )
    ends = _solve(rows, _QuantileEquation(np.clip(z, -_GREATEST_Z, _GREATEST_Z)), together=False)
    low, high = (end + np.zeros(q.shape) for end in (rows.link.low, rows.link.high))
    with np.errstate(over="ignore"):
        x = np.where(q <= 0, low, np.where(q >= 1, high, rows.link.to_x(ends.y)))
    return x, np.where((q <= 0) | (q >= 1), 0.0, ends.error)


def interval(rows: Any, prob: float, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return intervals of a given mass, their errors and their kinds.

    Parameters
    ----------
    rows : Rows
        See `quantiles`.
    prob : float
        Mass of the intervals.
    kind : {"hdi", "eti"}
        Highest-density or equal-tailed intervals.

    Returns
    -------
    x, error : ndarray, shape (m, 2)
        Ends and errors.
    kinds : ndarray of str, shape (m,)
        See `Distribution.hdi_kind`.
    """
    if kind == "eti":
        tail = special.ndtri((1 - prob) / 2)
        equation: Any = _QuantileEquation(np.broadcast_to([tail, -tail], (rows.size, 2)))
    else:
        equation = _HighestDensityEquations(prob)
    ends = _solve(rows, equation, together=True)
    kinds = np.where(ends.several, SEVERAL_MODES, _KIND_NAMES[ends.kind])
    with np.errstate(over="ignore"):
        return rows.link.to_x(ends.y), ends.error, kinds


class _Ends:
    """
    Current solutions of m rows, with Q solutions in each.

    Attributes
    ----------
    y, low, high : ndarray, shape (m, Q)
        Solution on the scale of the link, and a bracket around it if there is one.
    last_move, error : ndarray, shape (m, Q)
        Move on the last lattice in z, infinite if Newton's method diverged, and the error in x.
    kind : ndarray of int, shape (m,)
        Kind of the interval: equal densities at both ends, from the lower end of the support, or to
        its upper end.
    several, restarted, diverged : ndarray of bool, shape (m,)
        Whether there are several modes, whether this lattice started anew, and whether Newton's
        method failed on it.
    """

    _NAMES = ("y", "low", "high", "last_move", "error", "kind", "several", "restarted", "diverged")

    def __init__(self, size, count):
        self.y = np.zeros((size, count))
        self.low, self.high = np.full((2, size, count), np.inf)
        self.last_move = np.full((size, count), np.inf)
        self.error = np.full((size, count), np.inf)
        self.kind = np.zeros(size, int)
        self.several, self.restarted, self.diverged = (np.zeros(size, bool) for _ in range(3))

    def take(self, index):
        part = _Ends(0, 0)
        for name in self._NAMES:
            setattr(part, name, getattr(self, name)[index])
        return part

    def put(self, index, part):
        for name in self._NAMES:
            getattr(self, name)[index] = getattr(part, name)


class _QuantileEquation:
    """The equation ``z(y) = z`` for scores z, (m, Q)."""

    is_shortest = False

    def __init__(self, z):
        self.z, self.count = z, z.shape[1]

    def take(self, index):
        return _QuantileEquation(self.z[index])

    def start(self, ends, curve, link, rows):
        """Start the selected rows (m,) at the quantile function, bracketed by its nodes."""
        low, high = curve.neighbours(self.z)
        for name, value in (("y", curve(self.z)[0]), ("low", low), ("high", high)):
            setattr(ends, name, np.where(rows[:, None], value, getattr(ends, name)))
        ends.restarted = rows.copy()

    def step(self, ends, masses, link):
        """Return Newton's step in y, and dy/dz."""
        z, dy_dz = masses.z, masses.dy_dz
        bracketed = np.isfinite(ends.low) & np.isfinite(ends.high)
        ends.low = np.where(bracketed & (z < self.z), ends.y, ends.low)
        ends.high = np.where(bracketed & (z > self.z), ends.y, ends.high)
        # Without a density, the step goes to the middle of the bracket.
        step = (self.z - z) * dy_dz
        return np.where(bracketed & ~np.isfinite(step), np.inf, step), dy_dz


class _HighestDensityEquations:
    """Equal densities of x at both ends (or one end at the support), and the mass between them."""

    is_shortest, count = True, 2

    def __init__(self, prob):
        self.prob = prob

    def take(self, index):
        return self

    def start(self, ends, curve, link, rows):
        """Start selected rows, and rows with a new shortest candidate, at their candidates."""
        candidate = shortest_candidate(curve, link, self.prob)
        away = np.abs(
            np.where(np.isfinite(ends.y), ends.y, 0)
            - np.where(np.isfinite(candidate.y), candidate.y, 0)
        )
        dy_dz = curve(np.broadcast_to([-1.0, 1.0], ends.y.shape))[1]
        is_another = (candidate.kind != ends.kind) | (away > _ANOTHER * dy_dz).any(-1)
        ends.restarted = rows | is_another
        ends.y = np.where(ends.restarted[:, None], candidate.y, ends.y)
        ends.kind = np.where(ends.restarted, candidate.kind, ends.kind)
        ends.several = candidate.several

    def step(self, ends, masses, link):
        """Return Newton's step of both ends in y, and dy/dz."""
        # For one end, solve z(y1) = ndtri(1 - p) = -ndtri(p) or z(y2) = ndtri(p) by (z* - z) dy/dz.
        z_of_prob = special.ndtri(self.prob)
        one_sided = (np.array([-z_of_prob, z_of_prob]) - masses.z) * masses.dy_dz
        # log h(y) = log F'(y) - log dx/dy, the log density of x, and its slope in y.
        log_density = np.log(masses.density) - link.log_slope(ends.y)
        slopes = masses.slope / masses.density - link.bend(ends.y)
        # log h(y2) - log h(y1), and F(y2) - F(y1) - p computed from the tails, which keep their
        # digits.
        gap = log_density[:, 1] - log_density[:, 0]
        excess = (1 - self.prob) - masses.below[:, 0] - masses.above[:, 1]
        equal = np.stack(both_ends(gap, excess, masses.density.T, slopes.T), -1)
        step = np.where((ends.kind == _EQUAL_DENSITIES)[:, None], equal, one_sided)
        return step, masses.dy_dz


def _solve(rows, equation, together):
    """
    Return the solutions on the first lattice with a sufficiently small error.

    With `together`, both solutions of a row are ends of one interval, and errors are relative to
    its length.
    """
    ends = _Ends(rows.size, equation.count)
    unsolved, level = np.arange(rows.size), 0
    while len(unsolved) and rows.points(level):
        rest = []
        for index in rows.parts(unsolved, level, 2 * equation.count):
            part = ends.take(index)
            is_good = _solve_on_lattice(
                rows.take(index), equation.take(index), part, level, together
            )
            # This kind cannot be confirmed on coarse lattices.
            one_sided = part.kind != _EQUAL_DENSITIES
            is_good &= level >= np.where(one_sided, 2, _LEAST_LEVEL[rows.rough])
            ends.put(index, part)
            rest.append(index[~is_good])
        unsolved = np.concatenate(rest)
        level += 1
    lost = ~np.isfinite(ends.error[unsolved]).all(-1)
    if together:
        lost |= ends.y[unsolved, 0] > ends.y[unsolved, -1]
    for row in unsolved[lost]:
        part = ends.take([row])
        _interpolate(rows.take(np.array([row])), equation.take([row]), part, level - 1)
        ends.put([row], part)
    return ends


def _interpolate(rows, equation, ends, level):
    """Set the ends from the quantile function, and the errors from two lattices."""
    x = []
    with np.errstate(all="ignore"):
        for coarse_or_fine in (level - 2, level):
            curve = rows.values(coarse_or_fine).quantile_function()
            equation.start(ends, curve, rows.link, np.ones(rows.size, bool))
            x.append(rows.link.to_x(ends.y))
        ends.error = 2 * np.abs(x[1] - x[0]).max() + np.spacing(np.abs(x[1]))


def _solve_on_lattice(rows, equation, ends, level, together):
    """Move the ends to the solutions on one lattice, and return the sufficiently accurate rows."""
    values = rows.values(level)
    with np.errstate(all="ignore"):
        anew = ~np.isfinite(ends.last_move).all(-1) | (level == 0)
        doubtful = anew
        if equation.is_shortest and level in _RECHECKED:
            doubtful = doubtful | (ends.kind != _EQUAL_DENSITIES) | ends.several
            doubtful = doubtful | (ends.last_move > _SURE).any(-1)
        ends.restarted = np.zeros(rows.size, bool)
        ends.low[:], ends.high[:] = -np.inf, np.inf
        index = np.flatnonzero(doubtful)
        if len(index):
            part, curve = ends.take(index), values.take(index).quantile_function()
            equation.take(index).start(part, curve, rows.take(index).link, anew[index])
            ends.put(index, part)
        move, dy_dz = _newton(rows, equation, ends, values, level)
        before = ends.last_move
        # The first lattice starts from an interpolation, so divergence there is ignored.
        ends.last_move = np.where(np.isfinite(move) | (level > 0), move, 0.0)
        return _state_errors(rows, ends, before, dy_dz, level, together)


def _newton(rows, equation, ends, values, level):
    """Perform Newton steps, and return the moves of the ends in z, and dy/dz there."""
    start = ends.y.copy()
    usual = _STEPS_AT_START if level == 0 else _STEPS_LATER
    for step_number in range(_STEPS_OF_FEW if rows.size <= _FEW else usual):
        step, dy_dz = equation.step(ends, values.masses(ends.y), rows.link)
        step = np.clip(step, -_FARTHEST * dy_dz, _FARTHEST * dy_dz)
        y = np.where(np.isfinite(ends.y), ends.y + np.nan_to_num(step), ends.y)
        is_inside = (y >= ends.low) & (y <= ends.high)
        y = np.where(is_inside | ~np.isfinite(y), y, (ends.low + ends.high) / 2)
        ends.diverged = (~np.isfinite(step) & np.isfinite(ends.y)).any(-1)
        step_in_z = np.where(np.isfinite(ends.y), np.abs(y - ends.y) / dy_dz, 0.0)
        ends.y = y
        settled = _SETTLED[rows.rough] if step_number < usual else _NEARLY_SETTLED
        if not (step_in_z > settled).any():
            break
    # If the last step is large, a small net move is a coincidence.
    move = np.maximum(np.abs(ends.y - start) / dy_dz, step_in_z)
    ends.diverged |= (step_in_z > _UNSETTLED).any(-1)
    move = np.where(np.isfinite(ends.y), move, 0.0)
    lost = (move > _DIVERGED) | ends.diverged[:, None] | np.isnan(move)
    return np.where(lost, np.inf, move), dy_dz


def _state_errors(rows, ends, move_before, dy_dz, level, together):
    """Set the errors by the formula above, and return the sufficiently accurate rows."""
    link = rows.link
    error = np.maximum(
        2 * ends.last_move, np.where(np.isfinite(move_before), move_before / 8, np.inf)
    )
    # A restarted solution has not been confirmed by another lattice.
    is_first = (ends.restarted[:, None] & (level > 0)) | (level == 0)
    error = np.where(is_first, np.inf, error)
    if together:
        error = np.broadcast_to(error.max(-1, keepdims=True), error.shape)
    dx_dy = np.exp(link.log_slope(np.where(np.isfinite(ends.y), ends.y, 0.0)))
    x = link.to_x(ends.y)
    # Length of an interval or, for a single quantile, four times its dx/dz.
    length = np.ptp(x, -1)[:, None] if together else 4 * dy_dz * dx_dy
    size = np.minimum(length, np.maximum(1, np.abs(x)))
    error_of_x = np.where(np.isfinite(ends.y), error * dy_dz * dx_dy, 0.0)
    error_of_x = np.where(np.isnan(error_of_x), np.inf, error_of_x)
    rounding = _FLOOR[rows.rough] * (size if together else dy_dz * dx_dy)
    # Solutions that are rounded to an end of the support are exact.
    at_end = ((x <= link.low) | (x >= link.high)) & (error_of_x < np.spacing(1.0))
    at_end |= np.isinf(x)
    ends.error = np.where(at_end | ~np.isfinite(ends.y), 0.0, error_of_x + rounding)
    is_good = (ends.error <= rows.accuracy * size) & ((error < _SMALL) | ~np.isfinite(ends.y))
    ends.error = np.where(ends.error > 0, np.maximum(ends.error, np.spacing(np.abs(x))), 0.0)
    return is_good.all(-1)


class Candidate(NamedTuple):
    """
    Starting values for the shortest interval of a given mass.

    Attributes
    ----------
    y : ndarray, shape (m, 2)
        Both ends on the scale of the link.
    kind : ndarray of int, shape (m,)
        0 for equal densities at both ends, 1 for an interval that starts at the lower end of the
        support, and 2 for one that stops at the upper end.
    several : ndarray of bool, shape (m,)
        Whether the density has several modes.
    """

    y: np.ndarray
    kind: np.ndarray
    several: np.ndarray


def shortest_candidate(curve: Any, link: Link, prob: float) -> Candidate:
    """
    Return the shortest candidate for an interval, according to the quantile function.

    With mass u below it, an interval of mass p has the length Q(u + p) - Q(u). The length decreases
    in u if the density is higher at the upper end than at the lower end. With the gap defined as
    the log density at the upper end minus the log density at the lower end, candidates are
    therefore the points u at which the gap falls through 0. u = 0 is a candidate if the gap starts
    below 0, and u = 1 - p if it ends above 0.

    Parameters
    ----------
    curve : QuantileFunction
        Quantile function of m distributions.
    link : Link
        Link between y and x.
    prob : float
        Mass of the interval.
    """
    rest, size = 1 - prob, len(curve.y)
    splits = _SPLITS * (1.0 if curve.reaches_far else _SPLITS_OF_FEW_NODES)
    n_splits = len(splits)
    z = np.r_[
        special.ndtri(rest * special.expit(splits)), -special.ndtri(rest * special.expit(-splits))
    ]
    y, dy_dz = curve(np.broadcast_to(z, (size, len(z))))
    with np.errstate(all="ignore"):
        level = -(z**2) / 2 - np.log(dy_dz) - link.log_slope(y)
        gap = level[:, n_splits:] - level[:, :n_splits]
        x = link.to_x(y)
        length = x[:, n_splits:] - x[:, :n_splits]
        falls = (gap[:, :-1] > 0) & (gap[:, 1:] <= 0)
        part = np.where(falls, gap[:, :-1] / (gap[:, :-1] - gap[:, 1:]), 0.0)
        inside = np.where(falls, length[:, :-1] * (1 - part) + length[:, 1:] * part, np.inf)
        single = curve(np.broadcast_to(special.ndtri([prob, rest]), (size, 2)))[0]
        from_lower = np.where(
            gap[:, 0] < 0, link.to_x(single[:, :1])[:, 0] - _column(link.low), np.inf
        )
        to_upper = np.where(
            gap[:, -1] > 0, _column(link.high) - link.to_x(single[:, 1:])[:, 0], np.inf
        )
    best = inside.argmin(1)
    rows = np.arange(size)
    lengths = np.nan_to_num(np.stack([inside[rows, best], from_lower, to_upper]), nan=np.inf)
    kind = lengths.argmin(0)
    split = splits[best] + part[rows, best] * (splits[1] - splits[0])
    z = np.stack(
        [special.ndtri(rest * special.expit(split)), -special.ndtri(rest * special.expit(-split))],
        -1,
    )
    ends = curve(z)[0]
    infinite = np.full(size, np.inf)
    ends = np.where((kind == _FROM_LOWER)[:, None], np.stack([-infinite, single[:, 0]], -1), ends)
    ends = np.where((kind == _TO_UPPER)[:, None], np.stack([single[:, 1], infinite], -1), ends)
    undefined = ~np.isfinite(lengths).any(0)
    ends[undefined], kind[undefined] = single[undefined][:, ::-1], _EQUAL_DENSITIES
    n_candidates = falls.sum(1) + np.isfinite(from_lower) + np.isfinite(to_upper)
    return Candidate(ends, kind, (n_candidates > 1) | _has_valley(curve, link))


def _column(end):
    return end[:, 0] if np.ndim(end) else end


def _has_valley(curve, link):
    """Return True if the log density falls and rises again between relevant scores."""
    with np.errstate(all="ignore"):
        level = -(curve.z**2) / 2 - np.log(curve.dy_dz) - link.log_slope(curve.y)
    inside = np.isfinite(level) & (np.abs(curve.z) < _VISIBLE)
    level = np.where(inside, level, -np.inf)
    before = np.maximum.accumulate(level, 1)
    after = np.maximum.accumulate(level[:, ::-1], 1)[:, ::-1]
    with np.errstate(invalid="ignore"):
        return (inside & (np.minimum(before, after) - level > _VALLEY)).any(1)

"""One rate of many groups, of which a few may be unlike the others.

The logit x of a group has the density

    (1 - omega) N(x; m, tau**2) + omega / 2 N(x; m - d, tau**2 + d**2 / 4)
                                + omega / 2 N(x; m + d, tau**2 + d**2 / 4),

and the likelihood of m, tau and omega is a product over the groups of integrals over x. They are
sums over even steps, the trapezoidal rule: of a normal curve of standard deviation s and steps h
its relative error is 2 exp(-2 (pi s / h)**2) (Trefethen & Weideman, 2014). The integrals of all
groups given all proposals are then one product of matrices. Where tau is narrower than the steps,
they are Gauss-Hermite sums.

The log likelihood is computed at nodes of m, log(tau + constant) and logit(omega), which close in
on the posterior, and is a cubic spline between them. With the prior it gives the posterior masses
of small cells. A draw falls into a cell by its mass, and evenly inside it.

References
----------
Trefethen, L. N. & Weideman, J. A. C. (2014). The exponentially convergent trapezoidal rule. SIAM
Review 56, 385-458. doi:10.1137/130932132
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, expit, logit, ndtr, ndtri, xlogy

from bayescm.inference.adaptive_gauss_hermite import averaged, normal_rule

# Steps of the logits, the second in standard errors of the best known group, and how far they go
# beyond the groups. The narrowest curve that is summed is .93 steps wide: an error of 8e-8.
_COARSE, _FINE, _TAIL = 0.12, 0.4, 8.0
_UNSEEN = 0.02  # deviations that leave no trace in the data, in standard errors of that group
_NORMALS = 7  # nodes for spreads narrower than a step
_ALIKE = 25  # how many times narrower the half of the prior is that says that groups are alike
_SHARE = 9.0  # the share of groups that deviate is Beta(1, 9) beforehand
# Where no group deviates the share is Beta(1, 9 + G): a thousandth lies below 1e-3 / (9 + G).
# Above .95 next to nothing lies beforehand.
_RAREST, _MOST = 1e-3, 0.95
_WIDEST = 4.0  # the widest spread, in units of its prior's scale: all but 6e-5 of the prior
_TINY = 1e-300
# Nodes of m lie half a standard error of a group apart: so many at least and at most, and times
# the groups. The other two have a fixed number.
_MIDDLES, _POINTS, _SPREADS, _SHARES = (14, 600), 5e5, 20, 9
# Cells of m, in its narrowest standard deviation, and how many there are at least and at most: one
# of .15 adds a thousandth to a standard deviation. Those of tau and omega, from one node to the
# next: by four of omega the lower bound of the population was off by .004 of the length of a 95%
# interval, by eight it is by .0015. While nodes close in, two cells lie between them.
_CELL, _CELLS, _BETWEEN, _ROUGH = 0.15, (64, 800), (4, 8), 2
# What lies further below the highest log density is left out: e**-18 of its height. Nodes stay
# where they are once that would take a fifth off none of the three axes.
_DROP, _SHRUNK, _ROUNDS = 18.0, 0.8, 12
_LOCAL = np.linspace(-6, 6, 49)  # nodes of narrow effects, in units of their spread
_HELD, _CACHED = 4e7, 60_000  # numbers held at once, and in the processor's cache


class Cells(NamedTuple):
    """The edges of small cells of m, tau and omega, and the posterior mass of each."""

    edges: list[np.ndarray]
    mass: np.ndarray


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
    def _shares(self):
        """The observed shares (G,), half an example added on either side."""
        return (self.hits + 0.5) / (self.totals + 1)

    @cached_property
    def _errors(self):
        """The standard errors (G,) of the groups' logits, about."""
        return np.maximum(self.totals * self._shares * (1 - self._shares), 0.05) ** -0.5

    @cached_property
    def step(self) -> float:
        """Between logits near the groups: as the best known one and small deviations ask for."""
        error = self._errors.min()
        return min(_COARSE, _FINE * error, max(self.deviation, _UNSEEN * error) / 4)

    @cached_property
    def _near(self):
        """The lowest and the highest logit near the groups."""
        return logit(self._shares.min()) - 1, logit(self._shares.max()) + 1

    @cached_property
    def grid(self) -> np.ndarray:
        """The logits (M,)."""
        low, high = self._near
        near = np.arange(low, high + self.step, self.step)
        tail = np.arange(_COARSE, _TAIL + 3 * self.scale, _COARSE)
        return np.concatenate([near[0] - tail[::-1], near, near[-1] + tail])

    @cached_property
    def highest(self) -> np.ndarray:
        """The log likelihood (G,) of each group's observed share, without the coefficient."""
        rate = self.hits / np.maximum(self.totals, 1)
        return xlogy(self.hits, rate) + xlogy(self.totals - self.hits, 1 - rate)

    def _likelihood(self, groups, logits):
        """Return the likelihoods (g, N) of some groups at logits (N,), each 1 at most."""
        hits, totals = self.hits[groups, None], self.totals[groups, None]
        logs = hits * logits - totals * np.logaddexp(0, logits)
        return np.exp(logs - self.highest[groups, None])

    @cached_property
    def _whole(self):
        """The likelihoods of all groups, which several questions are asked of."""
        return self._likelihood(slice(None), self.grid)

    def _pieces(self):
        """Give groups and their likelihoods, as many at a time as memory has room for."""
        step = max(1, int(_HELD / len(self.grid) / 4))
        if step >= len(self.hits):
            yield slice(None), self._whole
            return
        for start in range(0, len(self.hits), step):
            piece = slice(start, start + step)
            yield piece, self._likelihood(piece, self.grid)

    def _average(self, piece, likely, middle, spread):
        """Return the likelihoods (P, g) of groups, averaged over normal logits (P,)."""
        average = np.empty((len(middle), len(likely)))
        low, high = self._near
        # Beyond the groups the steps are wide, and a narrow curve would fall between two of them.
        wide = spread >= np.where((low <= middle) & (middle <= high), self.step, _COARSE)
        average[wide] = masses(self.grid, middle[wide], spread[wide]) @ likely.T
        if not wide.all():
            nodes, weights = normal_rule(_NORMALS)
            logits = middle[~wide, None] + spread[~wide, None] * nodes
            exact = self._likelihood(piece, logits.ravel())
            average[~wide] = (exact.reshape(len(likely), -1, _NORMALS) @ weights).T
        return average

    def _components(self, piece, likely, middle, spread):
        """Return the likelihoods (P, g) of groups like the others, and of ones that deviate."""
        wide = wider(spread, self.deviation)
        alike, down, up = (
            self._average(piece, likely, middle + off, scale)
            for off, scale in ((0, spread), (-self.deviation, wide), (self.deviation, wide))
        )
        return np.maximum(alike, _TINY), np.maximum((down + up) / 2, _TINY)

    def log_likelihood(
        self, middle: np.ndarray, spread: np.ndarray, shares: np.ndarray
    ) -> np.ndarray:
        """Return the log likelihood (P, S) of middles and spreads (P,) at all shares (S,)."""
        total = np.zeros((len(middle), len(shares)))
        for piece, likely in self._pieces():
            step = max(1, int(_HELD / 8 / max(likely.shape)))
            for some in (slice(at, at + step) for at in range(0, len(middle), step)):
                alike, apart = self._components(piece, likely, middle[some], spread[some])
                for place, share in enumerate(shares):
                    total[some, place] += np.log((1 - share) * alike + share * apart).sum(1)
        return total

    def log_likelihood_of_groups(
        self, middle: np.ndarray, spread: np.ndarray, outlying: np.ndarray
    ) -> np.ndarray:
        """Return the log likelihood (P, G) of every group, without the binomial coefficients."""
        logs = np.empty((len(middle), len(self.hits)))
        for piece, likely in self._pieces():
            alike, apart = self._components(piece, likely, middle, spread)
            logs[:, piece] = np.log(alike + outlying[:, None] * (apart - alike))
        return logs + self.highest

    @cached_property
    def _flat(self):
        """What is added to a spread: much smaller ones are as good as none."""
        return min(self._errors.min(), self.scale / _ALIKE) / 4

    def _spread(self, nodes):
        """Return the spreads, above 0, of nodes log(tau + constant)."""
        return np.maximum(np.exp(nodes) - self._flat, 1e-6 * self._flat)

    @cached_property
    def cells(self) -> Cells:
        """The posterior of m, tau and omega."""
        shares = np.append(self._shares, (self.hits.sum() + 0.5) / (self.totals.sum() + 1))
        widest = np.sqrt((self._errors**2).mean() + (_WIDEST * self.scale) ** 2)
        room = min(16 * widest / np.sqrt(len(self.hits)), _TAIL + 3 * self.scale)
        box = np.array(
            [
                (logit(shares.min()) - room, logit(shares.max()) + room),
                (np.log(self._flat), np.log(self._flat + _WIDEST * self.scale)),
                (logit(_RAREST / (_SHARE + len(self.hits))), logit(_MOST)),
            ]
        )
        for _ in range(_ROUNDS):
            axes, surface = self._surface(box)
            edges = _edges(axes, [_ROUGH * (len(axis) - 1) for axis in axes])
            likelihood = _spline(axes, surface, edges)
            # Nodes far apart may miss the top by much, where the spline does not.
            missed = max(likelihood.max() - surface.max(), 0.0)
            logs = likelihood + self._log_prior(edges)
            kept = logs > logs.max() - _DROP - missed
            inside = [np.flatnonzero(kept.any(axis)) for axis in ((1, 2), (0, 2), (0, 1))]
            closer = np.array(
                [
                    (ends[max(at[0] - 1, 0)], ends[min(at[-1] + 2, len(ends) - 1)])
                    for ends, at in zip(edges, inside, strict=True)
                ]
            )
            # Of groups without any success the rate may lie below all that were observed.
            beyond = np.array([kept[0].any(), kept[-1].any()]) * np.ptp(box[0]) / 2
            closer[0] += beyond * [-1, 1]
            if not beyond.any() and (np.ptp(closer, axis=1) > _SHRUNK * np.ptp(box, axis=1)).all():
                break
            box = closer
        narrowest = self._error(axes[1][0]) / np.sqrt(len(self.hits))
        number = int(np.clip(np.ptp(axes[0]) / (_CELL * narrowest), *_CELLS))
        sizes = [number, _BETWEEN[0] * (_SPREADS - 1), _BETWEEN[1] * (_SHARES - 1)]
        edges = _edges(axes, sizes)
        logs = _spline(axes, surface, edges) + self._log_prior(edges)
        mass = np.exp(logs - logs.max())
        ends = [edges[0], self._spread(edges[1]), expit(edges[2])]
        return Cells(ends, mass / mass.sum())

    def _error(self, node):
        """Return the standard error of a group's logit, with the spread of a node."""
        return np.sqrt(1 / (self._errors**-2).mean() + self._spread(node) ** 2)

    def _surface(self, box):
        """Return nodes (three) in a box, and the log likelihood at them."""
        most = np.clip(_POINTS / len(self.hits), 2 * _MIDDLES[0], _MIDDLES[1])
        wanted = 2 * np.ptp(box[0]) / self._error(box[1, 0])
        number = int(np.clip(wanted, _MIDDLES[0], most))
        numbers = (number, _SPREADS, _SHARES)
        axes = [np.linspace(low, high, n) for (low, high), n in zip(box, numbers, strict=True)]
        middle, spread = np.repeat(axes[0], _SPREADS), self._spread(axes[1])
        logs = self.log_likelihood(middle, np.tile(spread, number), expit(axes[2]))
        return axes, logs.reshape(numbers)

    def _log_prior(self, edges):
        """Return the log prior masses of the cells between edges of m, tau and omega."""
        (a, b), middle = self.prior, (edges[0][1:] + edges[0][:-1]) / 2
        first = a * middle - (a + b) * np.logaddexp(0, middle) - betaln(a, b)
        first += np.log(np.diff(edges[0]))
        spread = self._spread(edges[1])
        either = sum(ndtr(-spread / scale) for scale in (self.scale, self.scale / _ALIKE))
        second = np.log(np.maximum(-np.diff(either), _TINY))
        third = np.log(-np.diff(expit(-edges[2]) ** _SHARE))
        return first[:, None, None] + second[:, None] + third

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """
        Draw the parameters, and the logits of the groups if asked for.

        Returns
        -------
        dict
            ``middle``, ``spread`` and ``outlying`` (size,); ``new`` (size,), the logit of a group
            that is not at hand; and ``logits`` (size, G). Several draws of many groups have their
            parameters in common.
        """
        alike = int(np.clip(len(self.hits) // 16, 1, 8)) if groups else 1
        uniform = _even(size, rng)
        parameters = self._parameters(uniform[::alike, 1:])
        place, order = np.arange(size) // alike, rng.permutation(size)
        drawn = {name: values[place] for name, values in parameters.items()}
        drawn["new"] = self._new(drawn, uniform[:, 0])
        if groups:
            drawn["logits"] = self._groups(parameters, np.bincount(place), rng)
        return {name: values[order] for name, values in drawn.items()}

    def _parameters(self, uniform):
        """Return the parameters at uniform numbers (N, 3), one given those before it."""
        edges, mass = self.cells
        first, middle = _inverse(mass.sum((1, 2))[None], np.zeros(len(uniform), int), uniform[:, 0])
        rows = mass.sum(2)
        second, spread = _inverse(rows, first, uniform[:, 1])
        flat = mass.reshape(-1, mass.shape[2])
        third, share = _inverse(flat, first * mass.shape[1] + second, uniform[:, 2])
        inside = {
            "middle": (edges[0], first, middle),
            "spread": (edges[1], second, spread),
            "outlying": (edges[2], third, share),
        }
        return {
            name: ends[at] + part * (ends[at + 1] - ends[at])
            for name, (ends, at, part) in inside.items()
        }

    def _new(self, drawn, uniform):
        """Return the logits of new groups, one for each uniform number."""
        middle, spread, share = (drawn[name] for name in ("middle", "spread", "outlying"))
        # From below: those that deviate downwards, those like the others, and those upwards.
        down, up = uniform < share / 2, uniform > 1 - share / 2
        odd = down | up
        below = np.select([down, up], [0, 1 - share / 2], share / 2)
        within = (uniform - below) / np.where(odd, share / 2, 1 - share)
        off = self.deviation * (up.astype(float) - down)
        scale = np.where(odd, wider(spread, self.deviation), spread)
        return middle + off + scale * ndtri(np.clip(within, 1e-16, 1 - 1e-16))

    def _groups(self, drawn, count, rng):
        """Draw the groups' logits (N, G), so many for each of K parameters, by inverting sums."""
        ends = np.concatenate([[0], np.cumsum(count)])
        result = np.empty((ends[-1], len(self.hits)))
        # A spread narrower than the steps has nodes of its own.
        narrow = drawn["spread"] < 2 * self.step
        for piece, likely in self._pieces():
            root = np.sqrt(likely)
            step = max(1, _CACHED // likely.size)
            columns = np.arange(len(self.hits))[piece]
            for which, draw in ((narrow, self._narrow), (~narrow, self._wide)):
                chosen = np.flatnonzero(which)
                for some in (chosen[at : at + step] for at in range(0, len(chosen), step)):
                    rows = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in some])
                    values = {name: each[some] for name, each in drawn.items()}
                    logits = draw(piece, root, values, count[some], rng)
                    result[np.ix_(rows, columns)] = logits
        return result

    def _wide(self, piece, root, drawn, count, rng):
        """Draw logits (N, g): the density of all groups on the grid."""
        share = drawn["outlying"][:, None]
        prior = (1 - share) * curves(self.grid, drawn["middle"], drawn["spread"])
        prior += share * self._apart(drawn)
        used = _reached(prior)
        root = np.sqrt(prior[:, used])[:, None] * root[:, used]
        return inverted(self.grid[None, used], root, count, rng)

    def _narrow(self, piece, root, drawn, count, rng):
        """Draw logits (N, g): groups like the others by nodes of their own, others on the grid."""
        middle, spread, share = (drawn[name][:, None] for name in ("middle", "spread", "outlying"))
        logits = middle + spread * _LOCAL
        likely = self._likelihood(piece, logits.ravel()).reshape(root.shape[0], *logits.shape)
        prior = (1 - share) / spread * np.exp(-(_LOCAL**2) / 2) / np.sqrt(2 * np.pi)
        alike = np.sqrt(likely.swapaxes(0, 1) * prior[:, None])
        deviating = share * self._apart(drawn)
        used = _reached(deviating)
        apart = np.sqrt(deviating[:, used])[:, None] * root[:, used]
        grid = np.broadcast_to(self.grid[used], (len(middle), apart.shape[2]))
        root = np.concatenate([alike, apart], axis=2)
        return inverted(np.concatenate([logits, grid], axis=1), root, count, rng, len(_LOCAL))

    def _apart(self, drawn):
        """Return the prior density (K, M) of a group that deviates: half of them up, half down."""
        wide = np.maximum(wider(drawn["spread"], self.deviation), self.step)
        down, up = (
            curves(self.grid, drawn["middle"] + off, wide)
            for off in (-self.deviation, self.deviation)
        )
        return (down + up) / 2


def inverted(
    logits: np.ndarray,
    root: np.ndarray,
    count: np.ndarray,
    rng: np.random.Generator,
    first: int | None = None,
) -> np.ndarray:
    """
    Draw from densities between nodes, by inverting their distribution functions.

    The logarithm of a density is a line between two nodes, so that a normal curve keeps its shape;
    its mass between them is that of Simpson's rule.

    Parameters
    ----------
    logits : ndarray, shape (K or 1, N)
        Nodes.
    root : ndarray, shape (K, g, N)
        Square roots of densities, up to a constant.
    count : ndarray of int, shape (K,)
        How many draws of each kind.
    rng : numpy.random.Generator
    first : int, optional
        The nodes are of two lists, of which the first has so many.

    Returns
    -------
    ndarray, shape (sum of count, g)
    """
    root = np.maximum(root, 1e-100)
    left, right = root[..., :-1], root[..., 1:]
    mass = (left * (left + 4 * right) + right * right) * np.diff(logits)[:, None]
    if first is not None:
        mass[..., first - 1] = 0
    kinds, groups, size = mass.shape
    rows = np.arange(kinds * groups).reshape(kinds, groups)
    rows = np.repeat(rows, count, axis=0)
    at, part = _inverse(mass.reshape(-1, size), rows, rng.random(rows.shape))
    logs = 2 * np.log(right.reshape(-1, size)[rows, at] / left.reshape(-1, size)[rows, at])
    # Where the line is level, the draw is uniform.
    slope = np.where(np.abs(logs) < 1e-6, 1e-6, logs)
    part = np.log1p(part * np.expm1(slope)) / slope
    kind = np.repeat(np.arange(kinds) if len(logits) > 1 else np.zeros(kinds, int), count)[:, None]
    return logits[kind, at] + part * (logits[kind, at + 1] - logits[kind, at])


def _reached(density):
    """Return the slice of a grid outside of which densities (K, M) are next to nothing."""
    at = np.flatnonzero((density > 1e-12 * density.max(axis=1, keepdims=True)).any(axis=0))
    return slice(at[0], at[-1] + 1)


def _edges(axes, numbers):
    """Return the edges of so many even cells along every axis."""
    return [np.linspace(axis[0], axis[-1], n + 1) for axis, n in zip(axes, numbers, strict=True)]


def _spline(axes, values, edges):
    """Return a cubic spline of values at nodes of three axes, at the middles between edges."""
    from scipy.interpolate import CubicSpline  # it loads much that others need not wait for

    for place, (axis, ends) in enumerate(zip(axes, edges, strict=True)):
        # It is linear in the values: a matrix, much faster than a spline for every line.
        matrix = CubicSpline(axis, np.eye(len(axis)))((ends[1:] + ends[:-1]) / 2)
        values = np.moveaxis(np.tensordot(matrix, values, (1, place)), 0, place)
    return values


def _even(size, rng):
    """Return uniform numbers (size, 4) that fill the cube evenly: of Halton's sequence."""
    from scipy.stats.qmc import Halton  # it loads much that others need not wait for

    return Halton(4, rng=rng).random(size)


def _inverse(mass, rows, uniform):
    """Return the cells of masses (R, N) that uniform numbers fall in, and how far into them."""
    sums = np.cumsum(mass, axis=1)
    sums /= np.maximum(sums[:, -1:], _TINY)
    size = mass.shape[1]
    # All rows as one sorted array: each is shifted by a whole number more than the last.
    sums += np.arange(len(mass))[:, None]
    at = np.searchsorted(sums.ravel(), uniform + rows, side="right") - rows * size
    at = np.clip(at, 0, size - 1)
    high, low = sums[rows, at], np.where(at > 0, sums[rows, at - 1], rows)
    return at, np.clip((uniform + rows - low) / np.maximum(high - low, _TINY), 0, 1)


def curves(grid: np.ndarray, middle: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the densities (P, M) of normal distributions (P,) on a grid (M,)."""
    z = (grid - middle[:, None]) / spread[:, None]
    return np.exp(-(z**2) / 2) / (spread[:, None] * np.sqrt(2 * np.pi))


def masses(grid: np.ndarray, middle: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """
    Return the weights (P, M) of a grid (M,) for means over normal distributions (P,).

    What lies beyond the grid has the values at its ends.

    Examples
    --------
    >>> grid = np.arange(-9, 9, 0.8)
    >>> float((masses(grid, np.array([0.3]), np.ones(1)) @ grid**2)[0].round(9))
    1.09
    """
    steps = np.diff(grid, prepend=grid[0], append=grid[-1])
    weights = curves(grid, middle, spread) * (steps[1:] + steps[:-1]) / 2
    weights[:, 0] += ndtr((grid[0] - middle) / spread)
    weights[:, -1] += ndtr((middle - grid[-1]) / spread)
    return weights


def wider(spread: np.ndarray, deviation: float) -> np.ndarray:
    """Return the standard deviation of groups that deviate around where they mostly lie."""
    return np.sqrt(spread**2 + (deviation / 2) ** 2)


def mean_rates(drawn: dict[str, np.ndarray], deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a rate and its complement (size,), averaged over all groups there may be."""
    middle, spread, share = (drawn[name] for name in ("middle", "spread", "outlying"))
    wide = wider(spread, deviation)
    parts = [(0.0, spread, 1 - share), (-deviation, wide, share / 2), (deviation, wide, share / 2)]
    averages = [(averaged(middle + off, scale), mass) for off, scale, mass in parts]
    yes, no = (sum(mass * pair[i] for pair, mass in averages) for i in (0, 1))
    return yes, no

"""
Gorodkin's R_K, the correlation of many classes: its moments by the delta method to second order.

Cells are independent gamma variables with the Dirichlet parameters for shapes, whose cumulants are
known, and R_K is a smooth function of them that a common factor leaves as it is. It is a number
over the root of two others, each of which is linear in every single cell.

References
----------
Gorodkin, J. (2004). Comparing two K-category assignments by a K-category correlation coefficient.
Computational Biology and Chemistry, 28(5-6), 367-374. doi:10.1016/j.compbiolchem.2004.09.006
"""

from functools import cached_property

import numpy as np

from bayescm.distributions.integrals.near_beta import NearBeta

_STEP = 1e-3  # of a difference, in parts of a cell
_PART = 2**17  # numbers of an array at a time


def correlation(weights: np.ndarray) -> NearBeta:
    """Return the distribution of R_K at theta ~ Dirichlet(weights), shape (..., C, C), all > 0."""
    cells = weights.reshape(-1, *weights.shape[-2:])
    step = max(1, _PART // cells[0].size)
    parts = [_moments(cells[k : k + step]) for k in range(0, len(cells), step)]
    mean, spread, lean, excess, doubt = np.concatenate(parts, -1).reshape(5, *weights.shape[:-2])
    return NearBeta((1 + mean) / 2, spread / 2, lean, excess, doubt, (-1.0, 1.0))


def _moments(cells):
    """Return mean, standard deviation, skewness, excess kurtosis and a doubt of it, (5, m)."""
    here = Around(cells)
    slope, along = here.slope, cells * here.slope
    size = _STEP / np.abs(slope).max((1, 2), keepdims=True)
    up, down = Around(cells + size * along), Around(cells - size * along)
    turn = (up.slope - down.slope) / (2 * size)
    bend = _total(along * (up.slope - 2 * slope + down.slope) / size**2)
    drift = _total(cells * (up.bend - down.bend) / (2 * size))
    first = _total(along * slope)
    more = 2 * _total(along * here.bend) + here.twist() / 2 + drift
    third = _total(2 * along * slope**2 + 3 * along * turn)
    fourth = _total(6 * along * slope**3 + 24 * along * slope * turn + 12 * cells * turn**2)
    spread = np.sqrt(np.maximum(first + more, first / 4))
    mean = here.value[:, 0, 0] + _total(cells * here.bend) / 2
    return np.stack(
        [mean, spread, third / first**1.5, (fourth + 4 * bend) / first**2, (more / first) ** 2]
    )


class Around:
    """R_K near cells (m, C, C): numbers per matrix are (m, 1, 1)."""

    def __init__(self, cells):
        self.cells, self.same = cells, np.eye(cells.shape[-1])
        self.actual, self.predicted = cells.sum(2, keepdims=True), cells.sum(1, keepdims=True)
        self.total = self.actual.sum(1, keepdims=True)
        self.apart = self.total**2 - np.stack(
            [_all(each**2) for each in (self.predicted, self.actual)]
        )
        self.root = 1 / np.sqrt(self.apart[0] * self.apart[1])
        agreed = _all(cells * self.same)
        self.value = self.root * (agreed * self.total - _all(self.actual * _turned(self.predicted)))
        # What a cell adds to the numerator and, in parts of them, to both denominators.
        raw = self.total * self.same + agreed - _turned(self.predicted) - _turned(self.actual)
        self.top = self.root * raw
        self.p = 2 * (self.total - self.predicted) / self.apart[0]
        self.t = 2 * (self.total - self.actual) / self.apart[1]

    @cached_property
    def slope(self):
        """The first derivatives, (m, C, C)."""
        return self.top - self.value * (self.p + self.t) / 2

    @cached_property
    def bend(self):
        """The second derivatives by the same cell twice, (m, C, C)."""
        p, t = self.p, self.t
        return self.value * (0.75 * (p**2 + t**2) + p * t / 2) - self.top * (p + t)

    def twist(self):
        """
        Return the sum over two cells of their shapes and of their second derivative squared, (m,).

        That is a form in five arrays, and one of which rows and columns the two have in common.
        """
        arrays = (self.same, np.ones(1), self.top, self.p, self.t)
        basis = np.stack([np.broadcast_to(each, self.cells.shape) for each in arrays], 1)
        weighed, form = self.cells[:, None] * basis, self._form()
        flat = (*basis.shape[:2], -1)
        shared = _turned(self._shared(weighed).reshape(flat))
        weighed = weighed.reshape(flat)
        inner = form @ (weighed @ _turned(basis.reshape(flat)))
        crossed = form * (weighed @ shared)
        alone = np.einsum("mij,mji->m", inner, inner)
        return alone + 2 * crossed.sum((1, 2)) + self._shared_twice()

    def _form(self):
        root, value = self.root[:, 0, 0], self.value[:, 0, 0]
        form = np.zeros((len(root), 5, 5))
        form[:, 0, 1] = root
        form[:, 2, 3] = form[:, 2, 4] = -0.5
        form[:, 3, 4] = value / 4
        form += form.swapaxes(1, 2)
        form[:, 3, 3] = form[:, 4, 4] = 0.75 * value
        form[:, 1, 1] = -self._apart.sum(0)
        return form

    @property
    def _apart(self):
        """R_K in parts of both denominators, (2, m)."""
        return (self.value / self.apart)[..., 0, 0]

    def _shared(self, arrays):
        """Return what cells with a row or a column in common add, of arrays (m, K, C, C)."""
        rows, columns = arrays.sum(3, keepdims=True), arrays.sum(2, keepdims=True)
        p, t = (each[:, None, None, None] for each in self._apart)
        either = self.root[:, None] * (_turned(rows) + _turned(columns))
        return columns * p + rows * t - either

    def _shared_twice(self):
        t, p, (by_p, by_t) = self.actual, self.predicted, self._apart
        root, right = self.root[:, 0, 0], self.cells * self.same
        either = _total(t * _turned(p)) + _total(self.cells * _turned(self.cells))
        found = 2 * root**2 * either + by_p**2 * _total(p**2) + by_t**2 * _total(t**2)
        found -= 4 * root * (by_p * _total(right * p) + by_t * _total(right * t))
        return found + 2 * by_p * by_t * _total(self.cells**2)


def _turned(array):
    return array.swapaxes(-1, -2)


def _all(array):
    return array.sum((1, 2), keepdims=True)


def _total(array):
    return array.sum((1, 2))

"""
Groups of three and more classes: shares with Dirichlet distributions between groups.

The class shares, how often each class is right and where its errors go are shares with a Dirichlet
distribution between groups each, which integrates out in closed form
(`bayescm.posteriors.dirichlet_shares`).
"""

from collections.abc import Mapping

import numpy as np

from bayescm.posteriors.dirichlet_shares import DirichletShares


class DirichletHierarchy:
    """
    More classes: Dirichlet distributions of the class shares, of what is right, and of the errors.

    How often a class is right and where its errors go have a spread each: groups that differ in
    the one may agree in the other.

    Parameters
    ----------
    cells : ndarray, shape (G, C, C)
    totals : ndarray, shape (G, C)
        How many examples of each class the class shares are known by.
    concentration : ndarray, shape (C, C)
    spread : float
    points : int
        At least so many weighted points of the parameters.
    """

    free_variables = ("shares", "right", "errors", "spread")

    def __init__(
        self,
        cells: np.ndarray,
        totals: np.ndarray,
        concentration: np.ndarray,
        spread: float,
        *,
        points: int = 0,
    ):
        shares = DirichletShares(totals, concentration.sum(-1), spread, points=points)
        right, errors = (
            [
                DirichletShares(counts, prior[0], spread, points=points)
                for counts, prior in zip(split(cells), split(concentration[None]), strict=True)
            ]
            for split in (_right_and_wrong, _errors)
        )
        self.n_classes = len(concentration)
        self.hierarchies = [shares, *right, *errors]

    @property
    def effective(self) -> float:
        """The number of independent draws that the parameters are worth at most."""
        return min(hierarchy.parameters.effective for hierarchy in self.hierarchies)

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the model's variables, of the groups' own if asked for."""
        parameters = [hierarchy.parameters.draw(size, rng) for hierarchy in self.hierarchies]
        pairs = list(zip(self.hierarchies, parameters, strict=True))
        typical, spread = zip(
            *(hierarchy.unpack(values) for hierarchy, values in pairs), strict=True
        )
        shares, right, errors = self._split(typical)
        rows = _rows(right, errors)
        drawn = {
            "shares": shares,
            "right": right,
            "errors": errors,
            "rows": rows,
            "spread": np.stack(spread, axis=1),
            "theta": shares[..., None] * rows,
        }
        drawn["theta_typical"] = drawn["theta"]  # the parts are independent
        drawn |= self._matrices(
            [hierarchy.draw_new(values, rng) for hierarchy, values in pairs], "new"
        )
        if groups:
            members = [hierarchy.draw_groups(values, rng) for hierarchy, values in pairs]
            drawn |= self._matrices(members, "group")
        return drawn

    def _split(self, values):
        """Return the shares (..., C), rates of what is right (..., C), errors (..., C, C - 1)."""
        shares, *rates = values
        right = np.stack(rates[: self.n_classes], axis=-2)[..., 0]
        return shares, right, np.stack(rates[self.n_classes :], axis=-2)

    def _matrices(self, values, suffix):
        """Return shares, rows and cell probabilities of groups."""
        shares, right, errors = self._split(values)
        rows = _rows(right, errors)
        theta = shares[..., None] * rows
        return {f"shares_{suffix}": shares, f"rows_{suffix}": rows, f"theta_{suffix}": theta}

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return that of every group (S, G), its shares integrated out, without coefficients."""
        right = np.stack([variables["right"], 1 - variables["right"]], axis=-1)
        errors = np.moveaxis(variables["errors"], -2, 0)
        typical = [variables["shares"], *np.moveaxis(right, -2, 0), *errors]
        log_spread = np.log(variables["spread"])
        logs = [
            hierarchy.log_likelihood(np.concatenate([shares, log_spread[:, [index]]], axis=1))
            for index, (hierarchy, shares) in enumerate(zip(self.hierarchies, typical, strict=True))
        ]
        return np.sum(logs, axis=0)


def _right_and_wrong(cells):
    """Return how many of every class are right and wrong, (C, ..., 2)."""
    right = np.einsum("...ii->i...", cells)
    return np.stack([right, np.moveaxis(cells.sum(-1), -1, 0) - right], axis=-1)


def _errors(cells):
    """Return the errors of every class, (C, ..., C - 1)."""
    classes = cells.shape[-1]
    off = cells[..., ~np.eye(classes, dtype=bool)]
    return np.moveaxis(off.reshape(*cells.shape[:-1], classes - 1), -2, 0)


def _rows(right, errors):
    """Return the rows (..., C, C) of what is right (..., C) and of the errors (..., C, C - 1)."""
    classes = right.shape[-1]
    rows = np.empty((*right.shape, classes))
    rows[..., np.eye(classes, dtype=bool)] = right
    wrong = (1 - right)[..., None] * errors
    rows[..., ~np.eye(classes, dtype=bool)] = wrong.reshape(*right.shape[:-1], -1)
    return rows

"""
Groups with three or more classes: Dirichlet distributions between groups.

The class shares, the accuracy of each class and the distribution of its errors differ between
groups. Each has a separate Dirichlet distribution, which is integrated out in closed form
(`bayescm.posteriors.dirichlet_shares`). The equations are in the docstring of the model
`hierarchical_groups`.
"""

from collections.abc import Mapping

import numpy as np

from bayescm.posteriors.dirichlet_shares import DirichletShares


class DirichletHierarchy:
    """
    Dirichlet distributions of class shares, of accuracies and of errors.

    For each class, accuracy and errors have separate spreads, because groups may differ in accuracy
    but make the same kinds of errors.

    Parameters
    ----------
    cells : ndarray, shape (G, C, C)
        Counts of the groups.
    totals : ndarray, shape (G, C)
        Effective number of examples of each class, from which the class shares are estimated.
    concentration : ndarray, shape (C, C)
        Prior pseudo-counts of the typical group.
    spread : float
        Scale of the half-normal prior for the spreads.
    points : int
        Smallest number of weighted points of the parameters.
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
        """The effective number of independent draws of the parameters."""
        return min(hierarchy.parameters.effective for hierarchy in self.hierarchies)

    def draw(self, size: int, rng: np.random.Generator, *, groups: bool) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables, including each group if `groups` is True."""
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
        drawn["theta_typical"] = drawn["theta"]  # equal, because all parts are independent
        drawn |= self._matrices(
            [hierarchy.draw_new(values, rng) for hierarchy, values in pairs], "new"
        )
        if groups:
            members = [hierarchy.draw_groups(values, rng) for hierarchy, values in pairs]
            drawn |= self._matrices(members, "group")
        return drawn

    def _split(self, values):
        """Return shares (..., C), accuracies (..., C) and errors (..., C, C - 1)."""
        shares, *rates = values
        right = np.stack(rates[: self.n_classes], axis=-2)[..., 0]
        return shares, right, np.stack(rates[self.n_classes :], axis=-2)

    def _matrices(self, values, suffix):
        """Return the shares, rows and cell probabilities of groups."""
        shares, right, errors = self._split(values)
        rows = _rows(right, errors)
        theta = shares[..., None] * rows
        return {f"shares_{suffix}": shares, f"rows_{suffix}": rows, f"theta_{suffix}": theta}

    def log_likelihood(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """
        Return the log likelihood (S, G) of each group, up to a constant.

        The shares of the groups are integrated out, and the multinomial coefficients are omitted.
        """
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
    """Return the numbers of correct and wrong predictions of each class, (C, ..., 2)."""
    right = np.einsum("...ii->i...", cells)
    return np.stack([right, np.moveaxis(cells.sum(-1), -1, 0) - right], axis=-1)


def _errors(cells):
    """Return the errors of each class, (C, ..., C - 1)."""
    classes = cells.shape[-1]
    off = cells[..., ~np.eye(classes, dtype=bool)]
    return np.moveaxis(off.reshape(*cells.shape[:-1], classes - 1), -2, 0)


def _rows(right, errors):
    """Return the rows (..., C, C) for accuracies (..., C) and errors (..., C, C - 1)."""
    classes = right.shape[-1]
    rows = np.empty((*right.shape, classes))
    rows[..., np.eye(classes, dtype=bool)] = right
    wrong = (1 - right)[..., None] * errors
    rows[..., ~np.eye(classes, dtype=bool)] = wrong.reshape(*right.shape[:-1], -1)
    return rows

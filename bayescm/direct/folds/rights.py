"""How far the separations of classifiers move, and how far together; as the model says."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayescm.direct.folds.together import Numbers
from bayescm.direct.hierarchical_folds import log_gamma

# As in the model, where they are explained.
UNKNOWN, RIGHT_RATE = 0.7, 0.7

_GRID = np.linspace(-5, 5, 201)  # standard deviations of the prior


@dataclass(frozen=True, eq=False)
class Separations:
    """
    The posterior of how far separations move: a grid.

    Attributes
    ----------
    folds : Numbers
        Of answers that are right.
    halves : Numbers or None
    scale : float
        The spread without halves, and the median of its prior with them.
    unit : float
        u.
    """

    folds: Numbers
    halves: Numbers | None
    scale: float
    unit: float

    @cached_property
    def root(self) -> np.ndarray:
        """A root (J, J) of the correlation of the separations, as the answers agree."""
        covariance = self.folds.covariance[:, 0, :, 0]
        error = np.sqrt(covariance.diagonal())
        agree = np.clip(covariance / np.outer(error, error), 0, 1)
        values, vectors = np.linalg.eigh(np.sin(np.pi / 2 * agree))
        root = vectors * np.sqrt(np.maximum(values, 0))
        return root / np.sqrt((root**2).sum(1, keepdims=True))

    def log_density(self, spread: np.ndarray) -> np.ndarray:
        """Return the log density of spreads (...)."""
        return self._of_logarithm(spread) - np.log(spread)

    def draw(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw spreads, (size,)."""
        if self.halves is None:
            return np.full(size, self.scale)
        points = np.log(self.scale) + UNKNOWN * _GRID
        logs = self._of_logarithm(np.exp(points))
        mass = np.exp(logs - logs.max())
        below = np.cumsum(mass) / mass.sum()
        edges = np.append(points, 2 * points[-1] - points[-2]) - (points[1] - points[0]) / 2
        return np.exp(np.interp(rng.random(size), np.append(0, below), edges))

    def _of_logarithm(self, spread):
        assert self.halves is not None
        alone = self.halves.covariance[:, 0, :, 0].diagonal()
        found = np.maximum(self.halves.variance.diagonal(), 1e-3 * alone)
        moved = RIGHT_RATE * (np.asarray(spread)[..., None] * alone) ** 2
        mean = alone / (1 + self.unit**2 * alone) + moved
        logs = log_gamma(found, mean, self.halves.worth).sum(-1)
        return logs - (np.log(spread / self.scale) / UNKNOWN) ** 2 / 2

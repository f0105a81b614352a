"""Paths of a walk, drawn from the last step to the first given the filtered densities."""

import numpy as np


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


def before(
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

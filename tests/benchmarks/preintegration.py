"""
What pre-integration is wrong by, beside draws: `python tests/benchmarks/preintegration.py [SEED]`.

Tables of 20 to 2,000 examples and 3 to 5 classes, and pairs of classifiers on the same examples.
The reference is 32,768 other lines. Errors of the bounds of 95 % are in parts of the length.
"""

import sys
import time

import numpy as np

from bayescm.distributions import dirichlet, preintegration
from bayescm.distributions.empirical import Empirical
from bayescm.distributions.preintegration import FunctionOfDirichlet
from bayescm.measures import resolve

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
DRAWS = 50_000


def tables(rng, measure, classes, n):
    """Return the parameters of a random table, a measure of it, and its range."""
    chances = np.full((classes, classes), 0.2 / classes) + 0.8 * np.eye(classes)
    chances *= rng.uniform(0.4, 1.6, chances.shape)
    counts = rng.multinomial(n, (chances / chances.sum()).ravel())
    kernel = resolve(measure)
    return counts + 2 / classes**2, lambda x: kernel(x.reshape(-1, classes, classes)), kernel.range


def pairs(rng, measure, classes, n):
    """Return the same for the difference of two classifiers, cells (actual, first, second)."""
    right = np.full((classes, classes), 0.2 / classes) + 0.8 * np.eye(classes)
    chances = right[:, :, None] * right[:, None, :] * rng.uniform(0.4, 1.6, (classes,) * 3)
    counts = rng.multinomial(n, (chances / chances.sum()).ravel())
    kernel = resolve(measure)
    low, high = kernel.range

    def difference(x):
        cells = x.reshape(-1, classes, classes, classes)
        return kernel(cells.sum(-1)) - kernel(cells.sum(-2))

    return counts + 2 / classes**3, difference, (low - high, high - low)


def reference(distribution, rng):
    """Return the same distribution on 32,768 lines of other scramblings."""
    other = FunctionOfDirichlet(
        distribution.parameters, distribution.function, distribution.support
    )
    plain, shift = preintegration.normal_sobol, int(rng.integers(2**31))
    preintegration.normal_sobol = lambda d, size, seed: plain(d, size, seed + shift)
    other.__dict__["_lines"] = other._surface.on_lines(other._surface.active_subspace(), 2**12)
    preintegration.normal_sobol = plain
    return other


def main() -> None:
    """Print a line for each case, and how often too little is stated."""
    rng, under = np.random.default_rng(SEED), []
    shapes = [(tables, each, k) for k in (3, 4, 5) for each in ("f1_macro", "mcc", "cohen_kappa")]
    shapes += [(pairs, each, 2) for each in ("accuracy", "f1", "mcc")] + [(pairs, "f1_macro", 3)]
    for n in (20, 50, 200, 1000, 2000):
        for make, measure, classes in shapes:
            parameters, function, support = make(rng, measure, classes, n)
            started = time.perf_counter()
            lines = FunctionOfDirichlet([parameters], function, support)
            lines.hdi(0.95)
            took, started = time.perf_counter() - started, time.perf_counter()
            theta = dirichlet.draw(parameters, DRAWS, rng)
            drawn = Empirical(function(theta)).eti(0.95)
            drawing, known = time.perf_counter() - started, reference(lines, rng)
            errors = []
            for kind in ("eti", "hdi"):
                (ends, stated), (exact, unsure) = (
                    each.checked(0.95, kind) for each in (lines, known)
                )
                errors.append((np.abs(ends - exact) / np.ptp(exact)).max())
                under += (np.abs(ends - exact) - unsure > 2 * stated).tolist()
            rest = lines.relative_error > preintegration.SUFFICIENT
            off = np.abs(drawn - known.eti(0.95)).max() / np.ptp(known.eti(0.95))
            print(
                f"{make.__name__} {measure} of {classes} classes, n = {n}: eti {errors[0]:.0e}, "
                f"hdi {errors[1]:.0e}, stated {lines.relative_error:.0e}, {1e3 * took:.0f} ms; "
                f"draws {off:.0e}, {1e3 * drawing:.0f} ms{', left to draws' * rest}",
                flush=True,
            )
    print(f"stated below half of the actual error: {np.mean(under):.3f} of {len(under)} bounds")


if __name__ == "__main__":
    main()

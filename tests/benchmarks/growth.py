"""
How work grows with its size: ``python tests/benchmarks/growth.py`` writes docs/results/growth.csv.

CPU seconds of one thread, the median of three; the larger sizes of each kind of work come last.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import bayescm as bcm

_RESULTS = Path(__file__).parents[2] / "docs" / "results" / "growth.csv"
_SIZES = (1, 10, 100, 1_000, 10_000)


def _matrices(size):
    cells = np.random.default_rng(1).multinomial(300, [0.4, 0.1, 0.1, 0.4], size)
    counts = cells.reshape(-1, 2, 2)
    return bcm.from_matrix(counts if size > 1 else counts[0], positive=1)


def _classifiers(size):
    rng = np.random.default_rng(2)
    cells = np.stack([rng.multinomial(200 + k, [0.4, 0.1, 0.1, 0.4]) for k in range(size)])
    return bcm.from_matrix(cells.reshape(-1, 2, 2), dims=("classifier",), positive=1)


def _scores(size):
    rng = np.random.default_rng(3)
    actual = np.arange(size) % 2
    return bcm.from_scores(actual, rng.normal(actual), positive=1)


WORK = {
    "interval of f1": (_SIZES, _matrices, lambda c: bcm.interval(c, "f1")),
    "interval of mcc, to 1e-3": (
        _SIZES,
        _matrices,
        lambda c: bcm.interval(c, "mcc", accuracy=1e-3),
    ),
    "interval of kappa, to 1e-3": (
        _SIZES,
        _matrices,
        lambda c: bcm.interval(c, "cohen_kappa", accuracy=1e-3),
    ),
    "summary of f1": (_SIZES, _matrices, lambda c: bcm.summary(c, "f1")),
    "ranks of classifiers": (
        (3, 10, 30, 100, 300),
        _classifiers,
        lambda c: bcm.ranks(c, "f1", draws=10_000),
    ),
    "area under the curve": ((100, 1_000, 10_000, 100_000), _scores, bcm.curves.auc),
}


def seconds(work, evidence):
    """Return the median CPU time of three."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        work(evidence)
        taken.append(time.process_time() - start)
    return sorted(taken)[1]


def main():
    """Measure everything and write the table."""
    rows = []
    for name, (sizes, make, work) in WORK.items():
        work(make(sizes[0]))
        for size in sizes:
            rows.append({"work": name, "size": size, "seconds": seconds(work, make(size))})
            print(rows[-1], file=sys.stderr)
    pd.DataFrame(rows).to_csv(_RESULTS, index=False, float_format="%.3g")


if __name__ == "__main__":
    main()

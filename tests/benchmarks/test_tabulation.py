"""1e6 predictions to counts, beside the bare counting of the same arrays."""

import numpy as np
import pandas as pd
import pytest

from bayescm.evidence import from_predictions

SIZE, EXAMPLES = 5, 1_000_000
CODES = np.random.default_rng(1).integers(0, SIZE, (2, EXAMPLES))
NAMES = np.array([f"class {i}" for i in range(SIZE)], dtype=object)[CODES]


def bare(actual, predicted):
    return np.bincount(actual * SIZE + predicted, minlength=SIZE**2).reshape(SIZE, SIZE)


@pytest.mark.parametrize("count", [bare, from_predictions], ids=["bare", "ours"])
@pytest.mark.benchmark(group="tabulate 1e6 integers (bound: 3x bare)")
def test_integers(benchmark, count):
    table = benchmark(count, *CODES)
    assert np.asarray(table).sum() == EXAMPLES


def factorize(actual, predicted):
    return pd.factorize(actual), pd.factorize(predicted)


@pytest.mark.parametrize("count", [factorize, from_predictions], ids=["factorize", "ours"])
@pytest.mark.benchmark(group="tabulate 1e6 strings (bound: 3x pandas.factorize)")
def test_strings(benchmark, count):
    benchmark(count, *NAMES)


@pytest.mark.benchmark(group="tabulate 1e6 integers in 10 folds")
def test_folds(benchmark):
    fold = np.arange(EXAMPLES) % 10
    counts = benchmark(lambda: from_predictions(*CODES, by={"fold": fold}))
    assert counts.sizes["fold"] == 10

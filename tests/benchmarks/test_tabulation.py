"""1e6 predictions to counts, beside the bare counting of the same arrays."""

import numpy as np
import pandas as pd
import pytest

from bayescm.evidence import from_predictions

SIZE, EXAMPLES = 5, 1_000_000
CODES = np.random.default_rng(1).integers(0, SIZE, (2, EXAMPLES))
NAMES = np.array([f"class {i}" for i in range(SIZE)], dtype=object)[CODES]


def bare(actual, predicted, folds=1):
    table = np.bincount(actual * SIZE + predicted, minlength=folds * SIZE**2)
    return table.reshape(*[folds][: folds - 1], SIZE, SIZE)


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


FOLD = np.arange(EXAMPLES) % 10


def bare_folds(actual, predicted):
    return bare(FOLD * SIZE + actual, predicted, 10)


def folds(actual, predicted):
    return from_predictions(actual, predicted, by={"fold": FOLD})


@pytest.mark.parametrize("count", [bare_folds, folds], ids=["bare", "ours"])
@pytest.mark.benchmark(group="tabulate 1e6 integers in 10 folds (bound: 1.5x bare)")
def test_folds(benchmark, count):
    assert np.shape(benchmark(count, *CODES)) == (10, SIZE, SIZE)

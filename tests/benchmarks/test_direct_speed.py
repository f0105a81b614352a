"""How fast exact answers are; run with ``--benchmark-only``."""

import numpy as np
import pytest
from scipy import special

import bayescm as bcm
from bayescm.distributions.beta import F1

pytest.importorskip("pytest_benchmark")
ONE = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


def _million():
    counts = np.random.default_rng(0).integers(0, 200, (10**6, 3)) + 0.5
    return counts[:, 0], counts[:, 1] + counts[:, 2]


@pytest.mark.benchmark(group="a million F1 intervals")
def test_two_bare_inverses(benchmark):
    a, b = _million()
    benchmark(lambda: (special.betaincinv(a, b, 0.025), special.betaincinv(a, b, 0.975)))


@pytest.mark.benchmark(group="a million F1 intervals")
@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_f1_intervals(benchmark, kind):
    a, b = _million()
    benchmark(lambda: getattr(F1(a, b), kind)(0.95))


@pytest.mark.benchmark(group="one matrix")
def test_one_f1_kernel(benchmark):
    distribution = F1(np.float64(65.5), np.float64(51.0))
    benchmark(lambda: distribution.eti(0.95))


@pytest.mark.benchmark(group="one matrix")
@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_one_interval(benchmark, name):
    benchmark(lambda: bcm.interval(ONE, name, kind="eti"))


@pytest.mark.benchmark(group="one matrix")
def test_every_measure(benchmark):
    benchmark(lambda: bcm.interval(ONE, bcm.measures.names(), kind="eti"))


def _batch():
    cells = np.random.default_rng(1).multinomial(300, [0.4, 0.1, 0.1, 0.4], size=10_000)
    return bcm.from_cells(tn=cells[:, 0], fp=cells[:, 1], fn=cells[:, 2], tp=cells[:, 3])


@pytest.mark.benchmark(group="10,000 matrices x 1,000 draws")
def test_plain_numpy(benchmark):
    weights = _batch().values + 0.5

    def run():
        theta = np.random.default_rng(0).standard_gamma(weights, (1000, *weights.shape))
        tn, fp, fn, tp = np.moveaxis(theta.reshape(1000, -1, 4), -1, 0)
        f1 = 2 * tp / (2 * tp + fp + fn)
        norm = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        mcc = (tp * tn - fp * fn) / norm
        return [np.quantile(each, [0.025, 0.975], axis=0) for each in (f1, mcc)]

    benchmark.pedantic(run, rounds=2)


@pytest.mark.benchmark(group="10,000 matrices x 1,000 draws")
def test_drawn_intervals(benchmark):
    counts = _batch()
    benchmark.pedantic(
        lambda: bcm.interval(counts, ["f1", "mcc"], kind="eti", draws=1000), rounds=2
    )


@pytest.mark.benchmark(group="macro-F1 (bounds: 2 s of 200 classes, .1 ms a matrix of 3)")
@pytest.mark.parametrize(("classes", "size"), [(200, 1), (3, 1000)])
def test_macro_averages(benchmark, classes, size):
    cells = np.random.default_rng(0).poisson(0.2 + 40 * np.eye(classes), (size, classes, classes))
    counts = bcm.from_matrix(cells[0] if size == 1 else cells)
    found = benchmark(bcm.interval, counts, "f1_macro", kind="eti", accuracy=1e-3)
    assert found.attrs["how"].startswith("moments")

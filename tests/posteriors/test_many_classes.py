"""Tables of many classes with few examples each: the same numbers, in little memory and time."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

import bayescm as bcm
from bayescm.distributions import dirichlet
from bayescm.measures import resolve
from bayescm.measures.measure import ClassTotals, every_class, from_class_totals
from bayescm.posteriors import dirichlet_multinomial, paired_outcomes
from bayescm.posteriors.dirichlet_multinomial import need_class_totals_only

DRAWS = 20_000
SIZE = 3000
EMPTY = 7  # a class without examples and predictions
NAMES = ["f1_macro", "precision_weighted", "cohen_kappa", "mcc", "balanced_accuracy", "npv_macro"]


def table(classes, examples=4, right=0.7, seed=0):
    """Return a table whose class `EMPTY` is neither seen nor predicted."""
    rng = np.random.default_rng(seed)
    actual = np.repeat(np.arange(classes), examples)
    predicted = np.where(rng.random(actual.size) < right, actual, rng.permutation(actual))
    cells = np.zeros((classes, classes))
    np.add.at(cells, (actual, predicted), 1)
    cells[EMPTY] = cells[:, EMPTY] = 0
    return cells


def by_logarithms(weights, size, seed):
    """Draw every cell of tables in logarithms, G(a) = G(a + 1) U**(1/a)."""
    rng = np.random.default_rng(seed)
    logs = np.log(rng.standard_gamma(weights + 1, (size, *weights.shape)))
    logs += np.log(rng.random(logs.shape)) / weights
    return np.exp(logs - special.logsumexp(logs, axis=(-2, -1), keepdims=True))


@pytest.mark.long
@pytest.mark.parametrize("concentration", ["equal", "unequal"])
def test_draws_of_large_tables_are_those_of_a_dirichlet_distribution(concentration):
    cells, rng = table(60), np.random.default_rng(1)
    prior = rng.uniform(0.2, 2, cells.shape) if concentration == "unequal" else 1.0
    weights = cells + prior * 2 / cells.size
    assert dirichlet._share_not_small(weights.ravel(), 1e-300) < 0.5  # most cells are not drawn
    drawn = dirichlet.draw(weights, 4000, rng, axes=2)
    np.testing.assert_allclose(drawn.sum((-2, -1)), 1)
    assert (drawn > 0).all()
    total = weights.sum()
    mean = weights / total
    sd = np.sqrt(mean * (1 - mean) / (total + 1))
    rare = weights < 0.1
    assert (np.abs(drawn.mean(0) - mean) < 5 * sd / np.sqrt(4000))[~rare].all()
    # Cells without counts are above 1e-3 / total as often as gamma variates are above 1e-3.
    expected = special.gammaincc(weights[rare], 1e-3).sum()
    found = (drawn[:, rare] > 1e-3 / total).sum() / 4000
    assert found == pytest.approx(expected, abs=5 * np.sqrt(expected / 4000) + 0.02 * expected)


@pytest.mark.parametrize("concentration", [1e-12, 1e-25, 1e-200])
def test_cells_of_nearly_no_weight_stay_empty(concentration):
    weights = table(40) + concentration
    drawn = dirichlet.draw(weights, 200, np.random.default_rng(3), axes=2)
    assert (drawn[:, weights < 0.1] < 1e-3).all()
    totals = dirichlet.draw_class_totals(weights, 200, np.random.default_rng(4))
    assert np.isfinite(totals.measured(resolve("f1_macro"))).all()


@pytest.mark.long
def test_a_class_without_examples_has_the_recall_of_its_prior():
    weights = table(60) + 2 / 3600
    totals = dirichlet.draw_class_totals(weights, DRAWS, np.random.default_rng(2))
    recall = totals.measured(resolve("recall"))[:, EMPTY]
    precision = totals.measured(resolve("precision"))[:, EMPTY]
    beta = stats.beta(2 / 3600, 59 * 2 / 3600)
    for drawn in (recall, precision):
        for mark in (1e-6, 0.5):
            expected = beta.sf(mark)
            spread = np.sqrt(expected * (1 - expected) / DRAWS)
            assert (drawn > mark).mean() == pytest.approx(expected, abs=5 * spread)


@pytest.mark.long
@pytest.mark.parametrize("batch", [(), (2,)])
def test_measures_from_class_totals_are_those_of_whole_tables(batch):
    cells = table(30, seed=3) if not batch else np.stack([table(30, seed=3), table(30, seed=4)])
    posterior = dirichlet_multinomial(cells)
    measures = [resolve(name) for name in [*NAMES, "f1"]]
    assert need_class_totals_only(measures, posterior.concentration, posterior.counts)
    drawn = posterior.draw(measures, SIZE, np.random.default_rng(5))
    whole = by_logarithms(posterior.concentration, SIZE, 6)
    for measure, values in zip(measures, drawn, strict=True):
        reference = measure(whole)
        assert values.shape == reference.shape
        pairs = zip(values.reshape(SIZE, -1).T, reference.reshape(SIZE, -1).T, strict=True)
        for one, other in list(pairs)[:3]:
            assert stats.ks_2samp(one, other).pvalue > 1e-4, measure.__name__
    # The comparison would see the prior of another number of classes.
    shifted = resolve("f1_macro")(by_logarithms(posterior.concentration + 0.01, SIZE, 7)).reshape(
        SIZE, -1
    )
    assert stats.ks_2samp(drawn[0].reshape(SIZE, -1)[:, 0], shifted[:, 0]).pvalue < 1e-4


@pytest.mark.long
def test_classifiers_on_the_same_examples_are_drawn_from_class_totals():
    rng = np.random.default_rng(8)
    actual = np.repeat(np.arange(30), 5)
    first = np.where(rng.random(150) < 0.7, actual, rng.permutation(actual))
    second = np.where(rng.random(150) < 0.8, first, rng.permutation(actual))
    outcomes = bcm.from_classifiers(actual, {"a": first, "b": second}, labels=range(31))
    posterior = paired_outcomes(outcomes)
    measures = [resolve(name) for name in ["f1_macro", "cohen_kappa", "recall_macro"]]
    drawn = posterior.draw_parameter(measures, SIZE, np.random.default_rng(9))
    tables = posterior.cells("parameter", SIZE, np.random.default_rng(10))
    for measure, values in zip(measures, drawn, strict=True):
        reference = measure(tables)
        for one, other in (
            (values[:, 0], reference[:, 0]),
            (values[:, 1], reference[:, 1]),
            (values[:, 0] - values[:, 1], reference[:, 0] - reference[:, 1]),  # they are paired
        ):
            assert stats.ks_2samp(one, other).pvalue > 1e-4, measure.__name__
        independent = values[:, 0] - np.random.default_rng(0).permutation(values[:, 1])
        assert stats.ks_2samp(independent, values[:, 0] - values[:, 1]).pvalue < 1e-4


def test_class_totals_give_the_values_of_the_cells():
    theta = np.random.default_rng(0).dirichlet(np.full(25, 0.5), 3).reshape(3, 5, 5)
    totals = ClassTotals(*every_class(theta))
    for name in bcm.measures.names("cells"):
        measure = resolve(name)
        if from_class_totals(measure):
            np.testing.assert_allclose(totals.measured(measure), measure(theta), rtol=1e-12)
    assert {name for name in bcm.measures.names("cells") if from_class_totals(resolve(name))} >= {
        "balanced_accuracy", "cohen_kappa", "f1", "mcc", "recall",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["cohen_kappa_quadratic", "accuracy", "f1_macro[1,2]", lambda cells: cells[..., 0, 1]]
)
def test_other_measures_need_the_whole_table(name):
    measure = resolve(name)
    assert not from_class_totals(measure)
    posterior = dirichlet_multinomial(table(36))
    measures = [resolve("f1"), measure]
    assert not need_class_totals_only(measures, posterior.concentration, posterior.counts)


def test_a_class_with_nearly_all_examples_is_drawn_cell_by_cell():
    cells = np.zeros((36, 36))
    cells[3, 3] = 500
    posterior = dirichlet_multinomial(cells, concentration=0.5 / 36**2)
    measures = [resolve("f1_macro")]
    assert not need_class_totals_only(measures, posterior.concentration, posterior.counts)


MEASURED = """
import re, time
import numpy as np
import bayescm as bcm

rng = np.random.default_rng(0)
actual = np.repeat(np.arange(200), 10)
predicted = np.where(rng.random(2000) < 0.7, actual, rng.integers(0, 200, 2000))
counts = bcm.from_predictions(actual, predicted, labels=range(200))
second = np.where(rng.random(2000) < 0.8, predicted, actual)
both = bcm.from_classifiers(actual, {{"a": predicted, "b": second}}, labels=range(200))
names = ["f1_macro", "precision_macro", "recall_macro", "cohen_kappa", "mcc"]
bcm.summary(counts[:3, :3], ["f1_macro", "cohen_kappa"], draws=100)  # imports
started = time.process_time()
{call}
seconds = time.process_time() - started
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
print(seconds, int(peak) / 1e6)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("call", "most"),
    [
        ("bcm.summary(counts, names)", 10),
        ("bcm.summary(counts)", 10),
        ("bcm.classification_report(actual, predicted)", 10),
        ("bcm.compare(both, 'f1_macro')", 20),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_two_hundred_classes_take_some_seconds_and_a_gigabyte(call, most):
    script = MEASURED.format(call=call)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    seconds, gigabytes = map(float, done.stdout.split())
    assert seconds < most
    assert gigabytes < 1

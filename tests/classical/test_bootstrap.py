"""The bootstrap on counts is the bootstrap on examples."""

import numpy as np
import pytest
from scipy.stats import bootstrap as scipys

import bayescm as bcm
from bayescm.classical import bootstrap
from bayescm.classical.bootstrap import acceleration, resampled
from bayescm.classical.samples import samples

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
ACTUAL = np.repeat([1, 1, 0, 0], [65, 15, 35, 30])
PREDICTED = np.repeat([1, 0, 1, 0], [65, 15, 35, 30])


def f1(actual, predicted, axis=-1):
    hits = (actual * predicted).sum(axis)
    return 2 * hits / (actual.sum(axis) + predicted.sum(axis))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_parity_with_scipy_on_the_examples(method):
    theirs = scipys(
        (ACTUAL, PREDICTED),
        f1,
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method=method,
        rng=np.random.default_rng(0),
    ).confidence_interval
    ours = bootstrap(COUNTS, "f1", method=method, resamples=20_000, random_seed=1).f1
    np.testing.assert_allclose(ours, [theirs.low, theirs.high], atol=0.003)


def test_acceleration_is_that_of_the_jackknife():
    left_out = np.array(
        [f1(np.delete(ACTUAL, i), np.delete(PREDICTED, i)) for i in range(len(ACTUAL))]
    )
    off = left_out.mean() - left_out
    expected = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    found = acceleration(samples(COUNTS, "f1"))
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-9)


def test_pairs_are_resampled_together():
    both = bcm.from_classifiers(ACTUAL, {"a": PREDICTED, "b": PREDICTED})
    drawn = resampled(samples(both, "f1"), 100, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[..., 0, :], drawn[..., 1, :])


def test_seeds_repeat_and_differ():
    one, two, three = (bootstrap(COUNTS, "mcc", random_seed=seed).mcc for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(three)


def test_undefined_resamples_are_left_out():
    rare = bcm.from_cells(tp=1, fn=0, fp=0, tn=30)
    ends = bootstrap(rare, "precision", random_seed=0).precision.values
    np.testing.assert_array_equal(ends, [1, 1])
    never = bcm.from_cells(tp=0, fn=5, fp=0, tn=30)
    for method in ("percentile", "bca"):
        assert np.isnan(bootstrap(never, "precision", method=method, random_seed=0).precision).all()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"method": "basic"}, "unknown method"),
        ({"resamples": 1}, "resamples must be a whole number"),
    ],
)
def test_bad_arguments_are_named(keywords, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(COUNTS, "f1", **keywords)


def test_fractional_counts_are_refused():
    with pytest.raises(ValueError, match="not a whole number"):
        bootstrap(COUNTS / 2, "f1")

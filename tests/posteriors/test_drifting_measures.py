"""Measures of several walks: against the beta distributions of one step, sums and draws."""

import numpy as np
import pytest
from scipy import special, stats

import bayescm as bcm
from bayescm import posteriors
from bayescm.measures import resolve

TWO = {"labels": ["well", "sick"], "positive": "sick"}
TABLES = np.array([[[30, 35], [15, 65]], [[35, 30], [25, 55]], [[36, 29], [24, 56]]])
TIGHT = 5e-5  # the finest accuracy that there is


def recall_at(name, x, p, f):
    """Return the recall at which a measure is x, for prevalences and false positive rates."""
    low, high = np.zeros_like(p + f), np.ones_like(p + f)
    for _ in range(45):
        t = (low + high) / 2
        cells = np.moveaxis(
            [[(1 - p) * (1 - f), (1 - p) * f], [p * (1 - t), p * t]], (0, 1), (-2, -1)
        )
        below = resolve(name)(cells) < x
        low, high = np.where(below, t, low), np.where(below, high, t)
    return low


@pytest.fixture(scope="module")
def posterior():
    return posteriors.drifting(TABLES)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["eti", "hdi"])
@pytest.mark.parametrize("table", [[[100_000, 200], [300, 900]], [[40, 0], [1, 25]]])
def test_one_step_is_that_of_a_single_matrix(table, kind):
    names = ["f1", "mcc", "accuracy", "precision", "lift", "balanced_accuracy", "lr_minus"]
    ends = bcm.interval(
        bcm.from_matrix([table], **TWO, dims=("step",)), names, model="drifting", kind=kind
    )
    want = bcm.interval(bcm.from_matrix(table, **TWO), names, concentration=0.5, kind=kind)
    assert ends.attrs["how"].startswith("quadrature")
    assert ends.attrs["error"] < 3e-3
    np.testing.assert_allclose(ends.isel(step=0), want, atol=ends.attrs["error"], rtol=1e-3)


@pytest.mark.long
def test_they_are_the_sums_over_the_lattices(posterior):
    name = "lift"  # which rises with the recall
    distribution = posterior.distribution(resolve(name)).with_tolerance(1e-9)
    assert distribution.accuracy == TIGHT
    ends, errors = distribution.interval_with_error(0.9, "eti")
    prevalence, recall, specificity = (posterior._rate(rate) for rate in range(3))
    fpr = specificity.complement()
    for step in range(3):
        p, f = (each.take([step]) for each in (prevalence, fpr))
        weights = p.masses.T * f.masses
        shares = np.broadcast_arrays(p._values[0][:, None], f._values[0])
        below = [
            (recall.take(step).cdf(recall_at(name, x, *shares)) * weights).sum() for x in ends[step]
        ]
        density = distribution.take(np.array([step])).pdf(ends[step][:, None])[:, 0]
        assert (np.abs(np.subtract(below, [0.05, 0.95])) < errors[step] * density + 1e-5).all()


@pytest.mark.long
def test_moments_and_masses_are_those_of_draws(posterior):
    names = ["f1", "mcc", "lr_plus"]
    drawn = posterior.draw([resolve(name) for name in names], 40_000, np.random.default_rng(4))
    for name, values in zip(names, drawn, strict=True):
        distribution, sd = posterior.distribution(resolve(name)), values.std(0)
        np.testing.assert_allclose(distribution.mean(), values.mean(0), atol=0.03 * sd.max())
        np.testing.assert_allclose(distribution.sd(), sd, rtol=0.03)
        at = distribution.quantile(np.array([0.1, 0.5, 0.9])[:, None])
        np.testing.assert_allclose(
            distribution.cdf(at), np.tile([[0.1], [0.5], [0.9]], 3), atol=5e-4
        )
        np.testing.assert_allclose((values[:, None] < at).mean(0), distribution.cdf(at), atol=0.01)


def test_rates_that_are_next_to_unknown():
    few = bcm.from_matrix([[[3, 0], [0, 0]], [[4, 0], [0, 0]]], **TWO, dims=("step",))
    ends = bcm.interval(few, "mcc", model="drifting", kind="eti")
    assert ends.attrs["how"] == "quadrature"
    assert ends.attrs["error"] < 2e-3
    drawn = bcm.interval(few, "mcc", model="drifting", kind="eti", draws=100_000)
    np.testing.assert_allclose(ends, drawn, atol=ends.attrs["error"] + 3 * drawn.attrs["error"])


def test_a_measure_without_a_form_is_drawn(posterior):
    assert posterior.exact_distribution(resolve("f1_macro")) is None
    steps = bcm.from_matrix(TABLES, **TWO, dims=("step",))
    assert bcm.interval(steps, "f1_macro", model="drifting").attrs["how"] == "draws"


def spread_of_the_first_move(hits, trials, prior=(0.5, 0.5), scale=0.2):
    """Return mean and sd of the rate of the second step less that of the first, by dense sums."""
    logit = np.linspace(-2, 4, 250)
    rate = special.expit(logit)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    drift = (nodes + 1) * 2.5 * scale
    worth = stats.halfnorm(scale=scale).pdf(drift) * weights
    first, *later = (stats.binom(n, rate).pmf(k) for k, n in zip(hits, trials, strict=True))
    first = first * stats.beta(*prior).pdf(rate) * rate * (1 - rate)
    both = np.zeros((250, 250))
    for sigma, weight in zip(drift, worth, strict=True):
        step = stats.norm(0, sigma).pdf(logit[:, None] - logit)
        step /= step.sum(axis=0)
        after = np.ones(250)
        for each in later[:0:-1]:
            after = step.T @ (after * each)
        both += weight * first[:, None] * step.T * (later[0] * after)
    both /= both.sum()
    gap = rate - rate[:, None]
    mean = (both * gap).sum()
    return mean, np.sqrt((both * (gap - mean) ** 2).sum())


@pytest.mark.long
def test_steps_are_compared_by_whole_paths():
    tables = np.repeat(TABLES, [1, 2, 1], axis=0)
    steps = bcm.from_matrix(tables, **TWO, dims=("step",))
    row = bcm.compare(steps, "recall", dim="step", model="drifting").iloc[0]
    # The first and the second step; what is compared is the first less the second.
    mean, sd = spread_of_the_first_move(tables[:, 1, 1], tables[:, 1].sum(1))
    assert row["paired"]
    assert row["mean"] == pytest.approx(-mean, abs=0.05 * sd)
    assert row["sd"] == pytest.approx(sd, rel=0.05)
    apart = bcm.summary(steps, "recall", model="drifting")["sd"]
    assert row["sd"] < 0.8 * np.hypot(*apart[:2])  # as if they were independent
    assert bcm.compare(steps, "f1", dim="step", model="drifting")["paired"].all()


def test_what_was_known_at_each_step_is_not_compared():
    steps = bcm.from_matrix(TABLES, **TWO, dims=("step",))
    with pytest.raises(ValueError, match=r"Steps cannot be compared.*Leave filtered out"):
        bcm.compare(steps, "recall", dim="step", model="drifting", filtered=True)


@pytest.mark.long
def test_series_are_compared_step_by_step():
    both = bcm.from_matrix(np.stack([TABLES, TABLES[::-1]]), **TWO, dims=("shop", "step"))
    table = bcm.compare(both, "recall", dim="shop", model="drifting")
    assert table["step"].tolist() == [0, 1, 2]
    assert not table["paired"].any()
    moves = bcm.compare(both, "recall", dim="step", model="drifting")
    assert moves["paired"].all()
    np.testing.assert_allclose(moves["mean"][:3], -moves["mean"][5:2:-1], atol=4e-3)

"""Measures of several walks: against the beta distributions of one step, sums and draws."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import direct
from bayescm.distributions.incomplete import Share
from bayescm.distributions.integrals import at_prevalence
from bayescm.measures import resolve

TWO = {"labels": ["well", "sick"], "positive": "sick"}
TABLES = np.array([[[30, 35], [15, 65]], [[35, 30], [25, 55]], [[36, 29], [24, 56]]])
TIGHT = 5e-5  # the finest accuracy that there is
INVERSES = {
    "f1": at_prevalence.tversky(0.5, 0.5),
    "mcc": at_prevalence.TABLE["answers", "correlation"],
    "accuracy": at_prevalence.TABLE["right", "wrong"],
    "lift": at_prevalence.TABLE["table", "lift"],
}


@pytest.fixture(scope="module")
def posterior():
    return direct.drifting(TABLES)


@pytest.mark.parametrize("kind", ["eti", "hdi"])
@pytest.mark.parametrize(
    "table", [[[30, 5], [4, 11]], [[100_000, 200], [300, 900]], [[40, 0], [1, 25]]]
)
def test_one_step_is_that_of_a_single_matrix(table, kind):
    names = ["f1", "mcc", "accuracy", "precision", "lift", "balanced_accuracy", "lr_minus"]
    ends = bcm.interval(
        bcm.from_matrix([table], **TWO, dims=("step",)), names, model="drifting", kind=kind
    )
    want = bcm.interval(bcm.from_matrix(table, **TWO), names, concentration=0.5, kind=kind)
    assert ends.attrs["how"].startswith("quadrature")
    assert ends.attrs["error"] < 3e-3
    np.testing.assert_allclose(ends.isel(step=0), want, atol=ends.attrs["error"], rtol=1e-3)


@pytest.mark.parametrize("name", INVERSES)
def test_they_are_the_sums_over_the_lattices(posterior, name):
    distribution = posterior.distribution(resolve(name)).to(1e-9)
    assert distribution.accuracy == TIGHT
    ends, errors = distribution.checked(0.9, "eti")
    prevalence, recall, specificity = (posterior._rate(rate) for rate in range(3))
    fpr = specificity.complement()
    for step in range(3):
        p, f = (each.take([step]) for each in (prevalence, fpr))
        weights = p.masses.T * f.masses
        shares = [
            Share(v, 1 - v)
            for v in np.meshgrid(p._values[0], f._values[0], indexing="ij", sparse=True)
        ]
        below = [
            (
                recall.take(step).cdf(np.clip(INVERSES[name].solve(x, *shares).v, 0, 1)) * weights
            ).sum()
            for x in ends[step]
        ]
        density = distribution.take(np.array([step])).pdf(ends[step][:, None])[:, 0]
        assert (np.abs(np.subtract(below, [0.05, 0.95])) < errors[step] * density + 1e-5).all()


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


def test_rates_that_are_next_to_unknown_are_drawn():
    few = bcm.from_matrix([[[3, 0], [0, 0]], [[4, 0], [0, 0]]], **TWO, dims=("step",))
    ends = bcm.interval(few, "mcc", model="drifting", kind="eti")
    assert ends.attrs["how"].endswith("draws") or "draws for" in ends.attrs["how"]
    assert 1e-3 < ends.attrs["error"] < 0.02
    drawn = bcm.interval(few, "mcc", model="drifting", kind="eti", draws=100_000)
    np.testing.assert_allclose(ends, drawn, atol=4 * ends.attrs["error"])


def test_a_measure_without_a_form_is_drawn(posterior):
    assert posterior.distribution(resolve("f1_macro")) is None
    steps = bcm.from_matrix(TABLES, **TWO, dims=("step",))
    assert bcm.interval(steps, "f1_macro", model="drifting").attrs["how"] == "draws"

"""A model with a dim of its own, defined here alone, gets every answer without an edit anywhere."""

import arviz as az
import numpy as np
import pymc as pm
import pytest

import bayescm as bcm
from bayescm.distributions import dirichlet
from bayescm.posteriors.base import CountsPosterior, as_labelled_counts

RNG = np.random.default_rng(5)
SITES = bcm.from_matrix(
    RNG.integers(3, 30, (4, 2, 2)), labels=["well", "sick"], positive="sick", dims=("site",)
)
BOTH = bcm.from_matrix(
    RNG.integers(3, 30, (2, 4, 2, 2)),
    labels=["well", "sick"],
    positive="sick",
    dims=("classifier", "site"),
)


def toy(counts, *, concentration=0.5) -> pm.Model:
    """Model sites that have one table in common, each with a share of its counts lost."""
    counts = counts.transpose(..., "site", "actual", "predicted")
    lead, cells = counts.dims[:-3], ("actual", "predicted")
    coords = {dim: counts[dim].values for dim in counts.dims if dim in counts.coords}
    coords |= {"site": np.arange(counts.sizes["site"]), "cell": range(4)}
    with pm.Model(coords=coords) as model:
        data = pm.Data("counts", counts.values.astype(float), dims=counts.dims)
        flat = data.reshape((*counts.shape[:-2], 4))
        prior = np.full((*(counts.sizes[dim] for dim in lead), 4), concentration)
        theta = pm.Dirichlet("theta_cell", prior, dims=(*lead, "cell"))
        total = flat.sum(-1).astype("int64")
        pm.Multinomial(
            "seen", n=total, p=theta[..., None, :], observed=flat, dims=(*lead, "site", "cell")
        )
        pm.Deterministic("theta", theta.reshape((*prior.shape[:-1], 2, 2)), dims=(*lead, *cells))
    return model


class Toy(CountsPosterior):
    """Its direct posterior: what it uses up, and its draws."""

    pooled_dims = ("site",)

    def __init__(self, counts, concentration):
        self.counts = counts
        self.concentration = self.pooled + concentration

    def variables(self, size, rng):
        theta = dirichlet.draw(self.concentration, size, rng, axes=2)
        return {"theta_cell": theta.reshape(*theta.shape[:-2], 4), "theta": theta}


def direct_posterior(counts, *, concentration=0.5):
    return Toy(
        as_labelled_counts(counts, "site").transpose(..., "site", "actual", "predicted"),
        concentration,
    )


@pytest.fixture(scope="module")
def tree():
    return bcm.fit(SITES, toy, direct=direct_posterior, draws=500)


def test_intervals_are_those_of_the_pooled_table():
    known = bcm.interval(SITES.sum("site"), ["recall", "mcc"], concentration=0.5, draws=20_000)
    found = bcm.interval(SITES, ["recall", "mcc"], model=direct_posterior, concentration=0.5)
    np.testing.assert_allclose(found, known, atol=0.01)
    assert found.dims == known.dims


def test_predictive_and_summary():
    wide = bcm.interval(SITES, "recall", model=direct_posterior, of="predictive", n=30)
    narrow = bcm.interval(SITES, "recall", model=direct_posterior)
    assert np.ptp(wide.values) > np.ptp(narrow.values)
    table = bcm.summary(SITES, "recall", model=direct_posterior)
    assert table["point"].item() == pytest.approx(bcm.measure(SITES.sum("site"), "recall").recall)
    with pytest.raises(ValueError, match="is not available for this evidence and model"):
        bcm.summary(SITES, "recall", model=direct_posterior, of="new")


def test_comparison_joint_and_region():
    table = bcm.compare(BOTH, "f1", model=direct_posterior)
    assert table[["first", "second"]].values.tolist() == [[0, 1]]
    plain = bcm.compare(BOTH.sum("site"), "f1", concentration=0.5)
    assert table["mean"].item() == pytest.approx(plain["mean"].item(), abs=0.005)
    assert bcm.joint_interval(SITES, ["f1", "mcc"], model=direct_posterior).f1.shape == (2,)
    assert bcm.answers.region(SITES, ("recall", "precision"), model=direct_posterior).area.ndim == 0


@pytest.mark.long
def test_a_tree_says_what_it_can_be_asked(tree):
    assert tree.attrs["uses"] == '["site"]'
    assert tree.attrs["sampling_method"] == "conjugate"
    found = bcm.interval(tree, "recall")
    known = bcm.interval(SITES, "recall", model=direct_posterior, concentration=0.5)
    np.testing.assert_allclose(found, known, atol=0.02)
    next_one = bcm.interval(tree, "recall", of="predictive", n=30)
    assert np.ptp(next_one.values) > np.ptp(found.values)
    assert "theta[well, sick]" in az.summary(tree, var_names=["theta"]).index


@pytest.mark.long
def test_what_a_fit_cannot_heed_is_refused(tree):
    with pytest.raises(ValueError, match="concentration has no effect on a fit"):
        bcm.interval(tree, "recall", concentration=5.0)
    with pytest.raises(ValueError, match="Leave n out, or pass"):
        bcm.interval(tree, "recall", n=30)


@pytest.mark.long
def test_pictures_and_a_report(tree, tmp_path):
    assert len(bcm.plot_posterior(SITES, "f1", model=direct_posterior, draws=500).axes) == 1
    assert len(bcm.plot_posterior(tree, "f1").axes) == 1
    path = bcm.report(
        SITES, tmp_path / "sites.md", model=direct_posterior, measures=["f1", "recall"]
    )
    assert "recall" in path.read_text()

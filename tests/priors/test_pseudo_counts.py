"""Priors of rules and of earlier evidence, and what they do."""

import numpy as np
import pytest
import xarray as xr
from reference_cases import cases

import bayescm as bcm
from bayescm import priors

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
SICK = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
PETS = bcm.from_matrix(np.arange(1, 10).reshape(3, 3), labels=["cat", "cow", "dog"])


def order(values):
    """Bring (tp, tn, fp, fn), Caelen's order, into a matrix with the positive class last."""
    tp, tn, fp, fn = map(float, values)
    return np.array([[tn, fp], [fn, tp]])


@pytest.mark.parametrize(
    ("prior", "cell"),
    [(priors.uniform, 1), (priors.jeffreys, 0.5), (priors.haldane, 0), (priors.default, None)],
)
@pytest.mark.parametrize("like", [None, ["a", "b"], COUNTS, SICK, PETS, PETS.expand_dims(step=3)])
def test_flat_priors(prior, cell, like):
    result = prior(like)
    size = result.sizes["actual"]
    assert result.dims == ("actual", "predicted")
    np.testing.assert_allclose(result, 2 / size**2 if cell is None else cell)
    assert result.attrs["examples"] == pytest.approx(float(result.sum()))
    assert result.attrs["examples"] == pytest.approx(priors.examples(result))
    assert "worth" in result.attrs["description"]


@pytest.mark.parametrize("prior", [priors.uniform, priors.jeffreys, priors.default])
@pytest.mark.parametrize("counts", [COUNTS, SICK, PETS])
def test_every_prior_is_taken_as_concentration(prior, counts):
    measure = "accuracy"
    interval = bcm.interval(counts, measure, concentration=prior(counts))
    same = bcm.interval(counts, measure, concentration=float(prior(counts)[0, 0]))
    np.testing.assert_allclose(interval, same)


@pytest.mark.parametrize("case", cases("caelen-zero-cell"))
def test_a_zero_cell_has_no_posterior_under_haldane(case):
    table = order(case["inputs"]["v_tp_tn_fp_fn"]).astype(int)
    counts = bcm.from_matrix(table, labels=["no", "yes"], positive="yes")
    assert case["expected"]["improper"]
    with pytest.raises(ValueError, match="improper"):
        bcm.interval(counts, "mcc", concentration=priors.haldane(counts))


@pytest.mark.parametrize("prior", [priors.uniform(PETS), priors.uniform(["no", "yes"])])
def test_a_prior_of_other_labels_or_shape_is_refused(prior):
    with pytest.raises(ValueError, match="labels"):
        bcm.interval(COUNTS, "f1", concentration=prior)


@pytest.mark.long
@pytest.mark.parametrize("discount", [0.0, 0.3, 1.0])
def test_the_power_prior_of_counts_and_of_their_posterior_is_one(discount):
    result = priors.from_counts(SICK, discount)
    tree = bcm.fit(SICK, draws=10, chains=1, random_seed=1)
    xr.testing.assert_allclose(priors.from_posterior(tree, discount), result)
    np.testing.assert_allclose(result.sel(actual="sick", predicted="sick"), 0.5 + discount * 65)
    assert result.attrs["examples"] == pytest.approx(2 + discount * 145)


@pytest.mark.long
def test_a_saved_posterior_is_handed_on(tmp_path):
    tree = bcm.fit(SICK, draws=10, chains=1, random_seed=1)
    bcm.save(tree, tmp_path / "yesterday.nc")
    prior = priors.from_posterior(bcm.load(tmp_path / "yesterday.nc"))
    today = bcm.interval(SICK, "f1", concentration=prior)
    np.testing.assert_allclose(today, bcm.interval(SICK * 2, "f1"))


@pytest.mark.long
def test_folds_hand_on_their_discounted_sum():
    folds = bcm.from_cells(tp=[9, 8], fn=[1, 2], fp=[2, 1], tn=[8, 9]).rename(batch="fold")
    tree = bcm.fit(folds, "pooled_folds", omega=0.6, draws=10, chains=1, random_seed=1)
    np.testing.assert_allclose(priors.from_posterior(tree), 0.5 + 0.6 * folds.sum("fold"))


def test_a_concentration_is_discounted_whole():
    np.testing.assert_allclose(priors.from_posterior(priors.uniform(), 0.25), 0.25)


@pytest.mark.long
def test_a_posterior_that_is_no_dirichlet_is_refused_unless_approximate():
    tree = bcm.fit(SICK, "fixed_totals", random_seed=1)
    with pytest.raises(ValueError, match=r"not a Dirichlet distribution.*approximate=True"):
        priors.from_posterior(tree)
    matched = priors.from_posterior(tree, approximate=True)
    theta = tree["posterior"]["theta"].mean(("chain", "draw"))
    np.testing.assert_allclose(
        matched / matched.sum(), theta.sel(actual=["well", "sick"], predicted=["well", "sick"])
    )
    assert "approximate" in matched.attrs["prior"]


@pytest.mark.long
def test_a_dirichlet_distribution_is_matched_by_itself():
    tree = bcm.fit(COUNTS, draws=4000, random_seed=1)
    tree.attrs["model"] = "another"
    matched = priors.from_posterior(tree, approximate=True)
    np.testing.assert_allclose(matched, COUNTS + 0.5, rtol=0.04)


@pytest.mark.parametrize("discount", [-0.1, 1.1, np.nan, "half"])
def test_a_discount_that_is_none_is_refused(discount):
    with pytest.raises(ValueError, match="discount must be between 0 and 1"):
        priors.from_counts(COUNTS, discount)


def test_what_is_no_posterior_is_refused():
    with pytest.raises(TypeError, match="not a posterior"):
        priors.from_posterior([[1, 2], [3, 4]])

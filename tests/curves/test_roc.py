"""Whole curves: points as scikit-learn has them, bands around them."""

import tracemalloc

import numpy as np
import pytest
import xarray as xr
from scipy.special import ndtri
from sklearn.metrics import precision_recall_curve, roc_curve

import bayescm as bcm
from bayescm import curves
from bayescm.curves import band


def sample(size=200, ties=False, seed=1):
    rng = np.random.default_rng(seed)
    actual = (rng.random(size) < 0.35).astype(int)
    score = rng.normal(1.3 * actual, 1)
    return actual, np.round(score, 1) if ties else score


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_points_are_scikit_learns(ties, weighted):
    actual, score = sample(ties=ties)
    weights = np.arange(200) % 3 + 0.5 if weighted else None
    kind = "counts" if weighted else None
    found = curves.points(bcm.from_scores(actual, score, weights=weights, weights_are=kind))
    fpr, tpr, thresholds = roc_curve(actual, score, drop_intermediate=False, sample_weight=weights)
    np.testing.assert_allclose(found.fpr, fpr, atol=1e-12)
    np.testing.assert_allclose(found.tpr, tpr, atol=1e-12)
    np.testing.assert_array_equal(found.threshold, thresholds)
    precision, recall, _ = precision_recall_curve(actual, score, sample_weight=weights)
    np.testing.assert_allclose(found.precision, precision[::-1], atol=1e-12)
    np.testing.assert_allclose(found.tpr, recall[::-1], atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("model", [None, "binormal"])
def test_roc_has_a_band_around_its_median(model):
    found = curves.roc(bcm.from_scores(*sample()), draws=500, model=model)
    lower, upper = found.tpr.sel(bound="lower"), found.tpr.sel(bound="upper")
    assert (lower <= found["median"] + 1e-12).all()
    assert (found["median"] <= upper + 1e-12).all()
    assert found.tpr.sel(fpr=1).values.tolist() == [1, 1]
    assert lower.sel(fpr=0) == 0
    assert (np.diff(found["median"]) >= 0).all()
    assert found.band.item() == "simultaneous"
    pointwise = curves.roc(bcm.from_scores(*sample()), draws=500, simultaneous=False, model=model)
    assert (pointwise.tpr[..., 1] - pointwise.tpr[..., 0]).mean() < (upper - lower).mean()
    assert pointwise.band.item() == "pointwise"


@pytest.mark.long
@pytest.mark.parametrize("simultaneous", [True, False])
def test_roc_bands_hold_curves_that_lie_on_the_axes(simultaneous):
    actual = np.arange(200) < 100
    held = []
    for seed in range(20):
        score = np.where(actual, 0.5, 0) + np.random.default_rng(seed).random(200)
        found = curves.roc(
            bcm.from_scores(actual, score), fpr=[0, 0.7, 1], draws=300, simultaneous=simultaneous
        )
        lower, upper = (found.tpr.sel(bound=each).values for each in ("lower", "upper"))
        assert (lower <= found["estimate"]).all()
        assert (found["estimate"] <= upper).all()
        truth = np.array([0.5, 1, 1])
        held.append(((lower <= truth) & (truth <= upper)).all())
    assert np.mean(held) >= 0.8
    apart = curves.roc(
        bcm.from_scores(actual, actual.astype(float)), draws=300, simultaneous=simultaneous
    )
    assert (apart.tpr.sel(bound="upper") == 1).all()


def test_precision_recall_has_a_band_wide_where_little_is_known():
    evidence = bcm.from_scores(*sample())
    found = curves.precision_recall(evidence, draws=500)
    width = found.precision[:, 1] - found.precision[:, 0]
    assert width.sel(recall=0.01) > 1.5 * width.sel(recall=0.5, method="nearest")
    assert found.precision.sel(recall=1)[0] > 0.1
    rare = curves.precision_recall(bcm.at_prevalence(evidence, 0.01), draws=500)
    assert (rare["median"] < found["median"]).all()


def test_grids_of_ones_own():
    evidence = bcm.from_scores(*sample())
    found = curves.roc(evidence, fpr=[0.2, 0.1], draws=50)
    assert found.fpr.values.tolist() == [0.2, 0.1]
    assert curves.roc(evidence, fpr=0.2, draws=50).sizes["fpr"] == 1
    with pytest.raises(ValueError, match="fpr must be numbers"):
        curves.roc(evidence, fpr=[0.1, 1.1])
    with pytest.raises(ValueError, match="fpr must be numbers"):
        curves.roc(evidence, fpr="all")
    with pytest.raises(ValueError, match=r"\(0, 1\]"):
        curves.precision_recall(evidence, recall=[0, 0.5])


def test_curves_of_classifiers_are_drawn_jointly():
    actual, score = sample()
    other = score + 0.1 * np.random.default_rng(2).normal(size=200)
    draws = curves.roc_draws(bcm.from_scores(actual, {"a": score, "b": other}), draws=500)
    assert draws.dims == ("draw", "classifier", "fpr")
    gap = draws.sel(classifier="a") - draws.sel(classifier="b")
    assert gap.std("draw").mean() < 0.8 * draws.sel(classifier="a").std("draw").mean()
    assert curves.band(gap).dims == ("fpr", "bound")


def test_one_curve_per_fold_and_class():
    rng = np.random.default_rng(1)
    evidence = bcm.from_scores(np.arange(60) % 3, rng.random((60, 3)), fold=np.arange(60) // 30)
    assert curves.roc(evidence, draws=50).tpr.dims == ("fold", "class", "fpr", "bound")
    with pytest.raises(ValueError, match="A single curve is needed, but the scores"):
        curves.points(evidence)


def test_separated_and_equal_scores_have_curves():
    for score in (range(20), np.zeros(20)):
        found = curves.roc(bcm.from_scores([0] * 10 + [1] * 10, score), draws=200)
        assert np.isfinite(found.tpr).all()
        found = curves.precision_recall(bcm.from_scores([0] * 10 + [1] * 10, score), draws=200)
        assert np.isfinite(found.precision).all()


@pytest.mark.long
def test_the_lower_bound_takes_open_ends_at_their_worst():
    spread = ndtri((np.arange(30) + 0.5) / 30)
    evidence = bcm.from_scores(np.arange(60) // 30, np.concatenate([spread, spread + 1.01]))
    hull = curves.band(curves.roc_draws(evidence))
    found = curves.roc(evidence).tpr
    upper, further = found.sel(bound="upper"), hull.sel(bound="upper")
    np.testing.assert_array_equal(
        *(each[(upper.fpr > 0) & (upper < 1)] for each in (upper, further))
    )
    assert (upper >= further).all()
    below = (hull - found).sel(bound="lower").values
    assert (below >= 0).all()
    assert below[3] > 0
    assert below[50] == 0
    one = curves.roc(evidence, simultaneous=False).tpr
    plain = curves.band(curves.roc_draws(evidence), simultaneous=False)
    np.testing.assert_array_equal(one[1:, 0], plain[1:, 0])
    assert 0 <= (one - plain)[1:, 1].max() < 0.03


@pytest.mark.long
def test_the_band_of_many_examples_fits_in_two_gigabytes():
    evidence = bcm.from_scores(*sample(100_000))
    tracemalloc.start()
    curves.roc(evidence, draws=1000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2e9


# Bands: what share of the draws they hold.


def walks(size=2000, points=40, seed=1):
    steps = np.random.default_rng(seed).normal(size=(size, points))
    return xr.DataArray(np.cumsum(steps, axis=1), dims=("draw", "x"), name="walk")


def inside(draws, bounds):
    low, high = (bounds.sel(bound=end) for end in ("lower", "upper"))
    return ((draws >= low) & (draws <= high)).all("x").mean().item()


@pytest.mark.long
@pytest.mark.parametrize("prob", [0.5, 0.8, 0.95])
def test_a_simultaneous_band_holds_that_share_of_whole_curves(prob):
    assert inside(walks(), band(walks(), prob=prob)) == pytest.approx(prob, abs=0.01)
    # The deepest of few draws reach less far than those of many: fresh ones leave more often.
    assert prob - 0.1 < inside(walks(seed=2), band(walks(), prob=prob)) < prob + 0.02
    many = band(walks(20_000), prob=prob)
    assert inside(walks(seed=2), many) == pytest.approx(prob, abs=0.04)


def test_a_pointwise_band_holds_fewer():
    bounds = band(walks(), simultaneous=False)
    assert inside(walks(), bounds) < 0.85
    each = (walks() >= bounds[:, 0]) & (walks() <= bounds[:, 1])
    np.testing.assert_allclose(each.mean("draw"), 0.95, atol=0.002)


def test_points_where_draws_are_equal_cost_nothing():
    draws = walks()
    padded = xr.concat([draws, xr.zeros_like(draws), draws.clip(max=0) * 0 + 1], "x")
    np.testing.assert_array_equal(band(padded)[: draws.sizes["x"]], band(draws))


def test_any_dims_and_names_stay():
    draws = xr.concat([walks(100), walks(100, seed=2)], xr.Variable("classifier", ["a", "b"]))
    bounds = band(draws.transpose("x", "classifier", "draw"), dim="x")
    assert bounds.dims == ("classifier", "x", "bound")
    assert bounds.name == "walk"
    np.testing.assert_array_equal(bounds.sel(classifier="a"), band(walks(100)))


def test_the_band_of_no_difference_is_a_line():
    draws = walks(200)
    assert (band(draws - draws) == 0).all()


def test_what_has_no_draws_has_no_band():
    with pytest.raises(ValueError, match="The draws need the dimensions draw and x"):
        band(walks(5).rename(draw="row"))
    with pytest.raises(ValueError, match="prob"):
        band(walks(5), prob=95)

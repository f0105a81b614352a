"""Bands: what share of the draws they hold."""

import numpy as np
import pytest
import xarray as xr

from bayescm.curves import band


def walks(size=2000, points=40, seed=1):
    steps = np.random.default_rng(seed).normal(size=(size, points))
    return xr.DataArray(np.cumsum(steps, axis=1), dims=("draw", "x"), name="walk")


def inside(draws, bounds):
    low, high = (bounds.sel(bound=end) for end in ("lower", "upper"))
    return ((draws >= low) & (draws <= high)).all("x").mean().item()


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
    with pytest.raises(ValueError, match="lack a dim"):
        band(walks(5).rename(draw="row"))
    with pytest.raises(ValueError, match="prob"):
        band(walks(5), prob=95)

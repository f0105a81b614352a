"""A proportion by itself against reference values."""

import numpy as np
import pytest
import xarray as xr
from reference_cases import cases
from scipy import stats

import bayescm as bcm


@pytest.mark.parametrize("case", cases("beta-accuracy-", "beta-recall-"))
def test_intervals_are_the_reference(case):
    tp, fn, fp, tn = case["inputs"]["tp_fn_fp_tn"]
    sides = (tp + tn, fp + fn) if case["inputs"]["measure"] == "accuracy" else (tp, fn)
    keywords = {"concentration": case["inputs"]["lambda"], "prob": case["inputs"]["level"]}
    expected = case["expected"]
    ends = bcm.answers.proportion(*sides, kind="eti", **keywords).values
    assert ends == pytest.approx([float(expected["et_lo"]), float(expected["et_hi"])], abs=1e-9)
    if expected["hdi_kind"] == "interior":
        ends = bcm.answers.proportion(*sides, kind="hdi", **keywords).values
        wanted = [float(expected["hdi_lo"]), float(expected["hdi_hi"])]
        assert ends == pytest.approx(wanted, abs=1e-8)


def test_haldane_where_both_sides_were_seen():
    found = bcm.answers.proportion(32, 6, concentration=0, kind="eti")
    np.testing.assert_allclose(found, stats.beta.ppf([0.025, 0.975], 32, 6))


def test_dims_are_kept():
    assert bcm.answers.proportion([1, 2, 3], 4).dims == ("batch", "bound")
    sites = xr.DataArray([5, 6], dims="site", coords={"site": ["a", "b"]})
    assert list(bcm.answers.proportion(sites, 2)["site"].values) == ["a", "b"]
    assert np.isfinite(bcm.answers.proportion(0, 0).values).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"successes": -1}, "successes is negative"),
        ({"concentration": -1}, "concentration must be a finite number"),
        ({"successes": 0, "concentration": 0}, "The posterior is improper"),
        ({"prob": 1}, "prob"),
        ({"kind": "hpd"}, "Unknown kind"),
    ],
)
def test_bad_input_is_named(change, said):
    keywords = {"successes": 3, "failures": 4} | change
    with pytest.raises(ValueError, match=said):
        bcm.answers.proportion(keywords.pop("successes"), keywords.pop("failures"), **keywords)

"""The model and its keywords, whether the answer comes from a fit or from the direct posterior."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.counts import COUNTS as COUNTS_TYPE
from bayescm.fitting import models_by_name

COUNTS = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
THREE = bcm.from_matrix(np.arange(1, 10).reshape(3, 3), labels=list("abc"))
BATCH = xr.concat([COUNTS, COUNTS, COUNTS], "site")

LABELLED = xr.DataArray([0.9, 0.1], {"actual": ["well", "sick"]})
SHARES = [
    pytest.param(COUNTS, 0.1, 0.1, id="of the positive class"),
    pytest.param(COUNTS, [0.1, 0.9], 0.1, id="in the order given"),
    pytest.param(
        COUNTS, xr.DataArray([0.9, 0.1], {"actual": ["well", "sick"]}), 0.1, id="labelled"
    ),
    pytest.param(BATCH, [0.1, 0.2, 0.3], [0.1, 0.2, 0.3], id="one for each matrix"),
    pytest.param(BATCH, [0.1, 0.9], [0.1, 0.1, 0.1], id="the same for all matrices"),
]


@pytest.mark.long
@pytest.mark.parametrize(("counts", "prevalence", "expected"), SHARES)
def test_shares_mean_the_same_to_both_routes(counts, prevalence, expected):
    settings = {"model": "fixed_totals", "prevalence": prevalence}
    direct = bcm.distribution(counts, "prevalence", **settings).mean()
    fitted = bcm.fit(counts, draws=50, random_seed=1, **settings)
    np.testing.assert_allclose(direct, expected)
    np.testing.assert_allclose(
        bcm.measure(fitted, "prevalence").prevalence.isel(draw=0, chain=0), expected
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "concentration",
    [
        [[8, 4], [2, 1]],
        xr.DataArray([[1, 2], [4, 8]], {"actual": ["well", "sick"], "predicted": ["well", "sick"]}),
        pd.DataFrame([[4, 8], [1, 2]], index=["sick", "well"], columns=["well", "sick"]),
    ],
    ids=["in the order given", "labelled", "table"],
)
def test_pseudo_counts_mean_the_same_to_both_routes(concentration):
    exact = bcm.distribution(COUNTS, "recall", concentration=concentration).mean()
    assert exact == pytest.approx((65 + 8) / (80 + 12))
    fitted = bcm.fit(COUNTS, concentration=concentration, draws=50)
    assert fitted["constant_data"]["concentration"].values.tolist() == [[1, 2], [4, 8]]


def test_pseudo_counts_of_outcomes_go_by_their_labels():
    actual, answers = ["sick", "well", "sick", "well"] * 9, {"a": ["sick", "well", "well"] * 12}
    outcomes = bcm.from_classifiers(actual, answers, labels=["sick", "well"], positive="sick")
    names = ["sick", "well"]
    prior = xr.DataArray([[8, 4], [2, 1]], {"actual": names, "predicted": names})
    apart = bcm.distribution(
        outcomes, "recall", model="dirichlet_multinomial", concentration=prior
    ).mean()
    paired = bcm.distribution(outcomes, "recall", concentration=prior).mean()
    np.testing.assert_allclose(apart, paired)
    alone = bcm.from_predictions(actual, answers["a"], labels=names, positive="sick")
    np.testing.assert_allclose(
        apart, [bcm.distribution(alone, "recall", concentration=prior).mean()]
    )


def test_the_prevalence_the_evidence_carries():
    rare = bcm.at_prevalence(COUNTS, 0.01)
    counts, function, keywords = models_by_name.prepare(COUNTS_TYPE, rare, "fixed_totals", {})
    assert function is bcm.models.fixed_totals
    assert keywords == {"prevalence": 0.01}
    assert models_by_name.prepare(COUNTS_TYPE, rare, "fixed_totals", {"prevalence": 0.5})[2] == {
        "prevalence": 0.5
    }
    assert models_by_name.prepare(COUNTS_TYPE, rare, "dirichlet_multinomial", {})[2] == {}
    assert counts["actual"].values.tolist() == ["well", "sick"]


def test_shares_of_other_classes():
    other = xr.DataArray([0.5, 0.2, 0.3], {"actual": list("abx")})
    with pytest.raises(ValueError, match="which are not the classes of the counts"):
        models_by_name.prepare(COUNTS_TYPE, THREE, "fixed_totals", {"prevalence": other})


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({}, ""),
        ({"concentration": 2.0}, ""),
        ({"concentration": print}, "concentration has a prior of another family"),
    ],
)
def test_what_stands_in_the_way_of_exact_draws(keywords, words):
    assert models_by_name.obstacle(bcm.models.dirichlet_multinomial, keywords) == words


def test_a_function_of_the_same_name_is_not_ours():
    def dirichlet_multinomial(counts):
        return None

    assert "no direct posterior" in models_by_name.obstacle(dirichlet_multinomial, {})
    assert models_by_name.direct_posterior(dirichlet_multinomial, COUNTS, {}) is None

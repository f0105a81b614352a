import numpy as np
import pymc as pm
import pytest
import xarray as xr
from bayescm.models import fixed_totals
from pytensor.compile.mode import Mode

import bayescm as bcm

COUNTS = bcm.from_matrix([[30, 35], [15, 65]], labels=["well", "sick"], positive="sick")
THREE = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=list("abc"))
BATCH = xr.concat([COUNTS, 2 * COUNTS, COUNTS + 3], "site")
LABELLED = xr.DataArray([0.5, 0.2, 0.3], coords={"actual": list("cab")})


def draw(variables):
    return pm.draw(variables, random_seed=1, mode=Mode("py", None))


def shares(counts, **keywords):
    return draw(fixed_totals(counts, **keywords)["theta"]).sum(-1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("counts", "prevalence", "expected"),
    [
        pytest.param(COUNTS, None, [65 / 145, 80 / 145], id="the sample's"),
        pytest.param(COUNTS, 0.1, [0.9, 0.1], id="of the positive class"),
        pytest.param(COUNTS, [0.7, 0.3], [0.7, 0.3], id="of both"),
        pytest.param(COUNTS[::-1, ::-1], 0.1, [0.1, 0.9], id="positive first"),
        pytest.param(BATCH, 0.1, [[0.9, 0.1]] * 3, id="one for all matrices"),
        pytest.param(BATCH, [0.1, 0.2, 0.3], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], id="each"),
        pytest.param(BATCH, [0.7, 0.3], [[0.7, 0.3]] * 3, id="of both, for all matrices"),
        pytest.param(THREE, LABELLED, [0.2, 0.3, 0.5], id="labelled"),
    ],
)
def test_prevalence_of_theta_is_the_known_one(counts, prevalence, expected):
    np.testing.assert_allclose(shares(counts, prevalence=prevalence), expected)


@pytest.mark.parametrize(
    "prevalence", [(2, 8), lambda name: pm.Beta(name, 2, 8)], ids=["numbers", "function"]
)
def test_prevalence_with_a_prior_is_that_of_the_positive_class(prevalence):
    model = fixed_totals(COUNTS, prevalence=prevalence)
    share, theta = draw([model["prevalence"], model["theta"]])
    np.testing.assert_allclose(theta.sum(-1), [1 - share, share])


def test_prior_of_many_shares_is_a_vector():
    prior = {"prevalence": lambda name: pm.Dirichlet(name, np.ones(3), dims="actual")}
    assert shares(THREE, **prior).sum() == pytest.approx(1)


def test_pm_do_asks_for_another_prevalence():
    model = bcm.models.fixed_totals(bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    other = pm.do(model, {"prevalence": [0.9, 0.1]})
    np.testing.assert_allclose(draw(other["theta"]).sum(-1), [0.9, 0.1])


def test_the_recommended_prior_of_the_prevalence_has_a_transform():
    """PyMC has no default transform for a logit-normal variable."""
    logodds = pm.distributions.transforms.logodds

    def prevalence(name):
        return pm.LogitNormal(name, -2, 0.5, transform=logodds)

    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    model = fixed_totals(counts, prevalence=prevalence)
    assert model.rvs_to_transforms[model["prevalence"]] is logodds
    assert "transform=pm.distributions.transforms.logodds" in fixed_totals.__doc__

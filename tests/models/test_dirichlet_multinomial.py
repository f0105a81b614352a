import numpy as np
import pymc as pm
import pytest
import xarray as xr
from bayescm.models import dirichlet_multinomial
from pytensor.compile.mode import Mode

import bayescm as bcm

PLAIN = Mode("py", None)
COUNTS = bcm.from_matrix([[30, 35], [15, 65]], labels=["well", "sick"], positive="sick")


def test_default_prior_weighs_two_examples_whatever_the_number_of_classes():
    for classes in (2, 3, 7):
        model = dirichlet_multinomial(bcm.from_matrix(np.ones((classes, classes), int)))
        assert model["concentration"].get_value().sum() == pytest.approx(2)


def test_labelled_concentration_is_aligned_by_label():
    weights = xr.DataArray(
        [[1.0, 2.0], [3.0, 4.0]],
        coords={"predicted": ["sick", "well"], "actual": ["sick", "well"]},
        dims=["predicted", "actual"],
    )
    model = dirichlet_multinomial(COUNTS, concentration=weights)
    assert model["concentration"].get_value().tolist() == [[4, 2], [3, 1]]


def test_large_counts_do_not_wrap_around():
    model = dirichlet_multinomial(COUNTS * 10**11)
    assert model["counts"].get_value().sum() == 145e11


def test_cells_are_named_and_dims_kept():
    model = dirichlet_multinomial(COUNTS.expand_dims(classifier=["a", "b"]))
    assert model.coords["cell"] == ("well->well", "well->sick", "sick->well", "sick->sick")
    assert model.named_vars_to_dims["theta"] == ("classifier", "actual", "predicted")
    assert model.named_vars_to_dims["cell_counts"] == ("classifier", "cell")


def test_unknown_concentration_is_shared():
    batch = COUNTS.expand_dims(classifier=["a", "b"])
    model = dirichlet_multinomial(batch, concentration=lambda name: pm.HalfNormal(name, 1))
    assert [each.name for each in model.free_RVs] == ["concentration", "theta_cell"]
    assert pm.draw(model["theta"], random_seed=1, mode=PLAIN).sum((-1, -2)) == pytest.approx([1, 1])


def test_user_can_extend_the_model():
    with dirichlet_multinomial(COUNTS) as model:
        pm.Deterministic("recall", model["theta"][1, 1] / model["theta"][1].sum())
    assert 0 < pm.draw(model["recall"], random_seed=1, mode=PLAIN) < 1

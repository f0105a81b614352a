"""The models of pairs, groups and rows against their direct posteriors."""

import numpy as np
import pytest
from monte_carlo import assert_converged, assert_same_distribution, measured, sampled_by_nuts
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.measures import resolve

ACTUAL = np.tile([1, 0, 1, 1, 0, 0], 15)
ANSWERS = {"a": np.roll(ACTUAL, 1), "b": np.where(np.arange(90) % 7, ACTUAL, 1 - ACTUAL)}
PAIRS = bcm.from_classifiers(ACTUAL, ANSWERS)
SITES = bcm.from_matrix(
    [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]], [[20, 5], [0, 0]]],
    labels=["well", "sick"],
    positive="sick",
    dims=("group",),
)
ROWS = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=list("abc"))
MANY = bcm.from_matrix(
    [[[9, 1, 0], [2, 7, 3], [0, 0, 5]], [[6, 2, 2], [1, 9, 0], [1, 2, 4]]],
    labels=list("abc"),
    dims=("group",),
)

CROSSED = bcm.from_matrix(np.arange(24).reshape(2, 3, 2, 2) % 7, dims=("sex", "age"))
CROSSED_OF_THREE = bcm.from_matrix(np.arange(36).reshape(2, 2, 3, 3) % 11, dims=("sex", "age"))


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("paired_outcomes", PAIRS),
        ("hierarchical_groups", SITES),
        ("hierarchical_groups", MANY),
        ("hierarchical_rows", ROWS),
    ],
)
def test_draws_have_the_models_variables(name, evidence):
    model = getattr(models, name)(evidence)
    given = evidence if name == "paired_outcomes" else evidence.values
    drawn = getattr(posteriors, name)(given).variables(7, np.random.default_rng(0))
    for variable in model.free_RVs:
        shape = variable.shape.eval(mode=Mode("py", None))
        assert drawn[variable.name].shape == (7, *shape), variable.name


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("hierarchical_groups", SITES),
        ("robust_groups", SITES),
        ("hierarchical_rows", ROWS),
        ("crossed_groups", CROSSED),
        ("crossed_groups", CROSSED_OF_THREE),
    ],
)
@pytest.mark.long
def test_the_model_computes_the_cells_of_the_direct_posterior(name, evidence):
    """The deterministic cells of the tree are those that the direct posterior drew itself."""
    model = getattr(models, name)(evidence)
    drawn = getattr(posteriors, name)(evidence.values).variables(3, np.random.default_rng(0))
    names = [each.name for each in model.deterministics]
    free = [model[each.name] for each in model.free_RVs]
    cells = [model[each] for each in names]
    function = model.compile_fn(
        cells, inputs=free, point_fn=False, on_unused_input="ignore", mode=Mode("py", None)
    )
    for index in range(3):
        found = function(*(drawn[variable.name][index] for variable in free))
        for each, value in zip(names, found, strict=True):
            np.testing.assert_allclose(value, drawn[each][index], atol=1e-9, err_msg=each)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "evidence", "own"),
    [("hierarchical_groups", SITES, "theta_group"), ("crossed_groups", CROSSED, "theta")],
)
def test_nuts_agrees_with_the_quadrature_of_groups(name, evidence, own):
    fitted = sampled_by_nuts(getattr(models, name)(evidence), seed=1)
    assert_converged(fitted)
    quick = getattr(posteriors, name)(evidence.values).variables(8000, np.random.default_rng(0))
    assert_same_distribution(fitted["posterior"]["rates"], quick["rates"])
    # Spreads of a few hundredths are no effect at all, and importance points are rare there.
    assert_same_distribution(fitted["posterior"]["spread"], quick["spread"], levels=(0.5, 0.975))
    recall = measured(fitted["posterior"][own], "recall")
    assert_same_distribution(recall, resolve("recall")(quick[own]))

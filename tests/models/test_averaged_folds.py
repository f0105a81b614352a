import numpy as np
import pytest
from bayescm.models import averaged_folds
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import direct
from bayescm.evidence.folds import sibling_input

PLAIN = Mode("py", None)
RNG = np.random.default_rng(4)
FOLDS = bcm.from_matrix(RNG.integers(1, 9, (5, 2, 2)), dims=("fold",))
REPEATED = bcm.from_matrix(
    RNG.integers(1, 9, (2, 3, 4, 2, 2)), dims=("classifier", "repeat", "fold")
)
THREE = bcm.from_matrix(RNG.integers(1, 9, (4, 3, 3)), dims=("fold",))


@pytest.mark.parametrize(
    ("counts", "keywords"),
    [
        (FOLDS, {}),
        (FOLDS, {"concentration": np.array([[1.0, 2.0], [3.0, 0.5]])}),
        (REPEATED, {}),
        (THREE, {"concentration": 1.0}),
    ],
)
def test_model_and_sibling_differ_by_the_marginal_likelihood_alone(counts, keywords):
    cells, settings = sibling_input(direct.averaged_folds, counts, keywords)
    posterior = direct.averaged_folds(cells, **settings)
    drawn = posterior.draws(4, np.random.default_rng(1))
    model = remove_value_transforms(averaged_folds(counts, **keywords))
    logp = model.compile_logp(jacobian=False, mode=PLAIN)
    conditional = posterior.logpdf(drawn["theta_fold"]).reshape(4, -1).sum(-1)
    free = drawn["theta_fold_cell"].reshape(4, *counts.shape[:-2], -1)
    joint = [float(logp({"theta_fold_cell": each})) for each in free]
    np.testing.assert_allclose(joint - conditional, posterior.log_marginal().sum(), atol=1e-8)


@pytest.mark.parametrize(
    ("counts", "keywords"),
    [
        (FOLDS, {}),
        (FOLDS, {"rho": 0.5}),
        (FOLDS, {"average": "independent"}),
        (REPEATED, {}),
        (FOLDS.assign_coords(n_folds=2), {}),
    ],
)
def test_stretch_is_that_of_the_sibling(counts, keywords):
    cells, settings = sibling_input(direct.averaged_folds, counts, keywords)
    stretch = averaged_folds(counts, **keywords)["stretch"].get_value()
    assert stretch == pytest.approx(direct.averaged_folds(cells, **settings).stretch)


@pytest.mark.parametrize("average", ["correlated", "independent", "mixture"])
@pytest.mark.parametrize("counts", [FOLDS, REPEATED])
def test_measure_of_a_fit_is_the_average_over_folds(counts, average):
    settings = {"average": average, "draws": 1000, "chains": 2, "random_seed": 1}
    tree = bcm.fit(counts, "averaged_folds", **settings)
    f1 = bcm.measure(tree, "f1")["f1"]
    assert f1.dims == ("chain", "draw", *counts.dims[:-4])
    cells, asked = sibling_input(direct.averaged_folds, counts, {"average": average})
    distribution = direct.averaged_folds(cells, **asked).distribution(bcm.measures.resolve("f1"))
    np.testing.assert_allclose(f1.mean(("chain", "draw")), distribution.mean(), atol=0.015)
    np.testing.assert_allclose(f1.std(("chain", "draw")), distribution.sd(), rtol=0.09)


def test_folds_of_repeats_keep_their_place_in_the_tree():
    tree = bcm.fit(REPEATED, "averaged_folds", draws=1500, chains=1, random_seed=1)
    theta = tree["posterior"]["theta_fold"].mean(("chain", "draw"))
    expected = (REPEATED + 0.5) / (REPEATED + 0.5).sum(("actual", "predicted"))
    np.testing.assert_allclose(theta, expected, atol=0.03)


@pytest.mark.parametrize("method", ["auto", "nuts"])
@pytest.mark.parametrize(
    ("keywords", "message"),
    [({"rho": 1.0}, "rho is not"), ({"average": "mean"}, "unknown average")],
)
def test_fit_refuses_what_makes_no_sense(keywords, message, method):
    with pytest.raises(ValueError, match=message):
        bcm.fit(FOLDS, "averaged_folds", method=method, **keywords)

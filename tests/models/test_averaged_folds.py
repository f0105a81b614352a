import numpy as np
import pytest
from bayescm.models import averaged_folds
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import posteriors

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
        (FOLDS, {"rho": 0.5}),
        (FOLDS, {"average": "independent"}),
        (REPEATED, {}),
        (FOLDS.assign_coords(n_folds=2), {}),
    ],
)
def test_stretch_is_that_of_the_direct_posterior(counts, keywords):
    stretch = averaged_folds(counts, **keywords)["stretch"].get_value()
    assert stretch == pytest.approx(posteriors.averaged_folds(counts, **keywords).stretch)


@pytest.mark.long
@pytest.mark.parametrize(
    ("counts", "average"),
    [(FOLDS, "correlated"), (FOLDS, "independent"), (FOLDS, "mixture"), (REPEATED, "correlated")],
)
def test_measure_of_a_fit_is_the_average_over_folds(counts, average):
    settings = {"average": average, "draws": 1000, "chains": 1, "random_seed": 1}
    tree = bcm.fit(counts, "averaged_folds", **settings)
    f1 = bcm.measure(tree, "f1")["f1"]
    assert f1.dims == ("chain", "draw", *counts.dims[:-4])
    distribution = posteriors.averaged_folds(counts, average=average).distribution(
        bcm.measures.resolve("f1")
    )
    np.testing.assert_allclose(f1.mean(("chain", "draw")), distribution.mean(), atol=0.02)
    np.testing.assert_allclose(f1.std(("chain", "draw")), distribution.sd(), rtol=0.13)


@pytest.mark.long
def test_folds_of_repeats_keep_their_place_in_the_tree():
    tree = bcm.fit(REPEATED, "averaged_folds", draws=500, chains=1, random_seed=1)
    theta = tree["posterior"]["theta_fold"].mean(("chain", "draw"))
    expected = (REPEATED + 0.5) / (REPEATED + 0.5).sum(("actual", "predicted"))
    np.testing.assert_allclose(theta, expected, atol=0.06)


@pytest.mark.parametrize("method", ["auto", "nuts"])
@pytest.mark.parametrize(
    ("keywords", "message"),
    [({"rho": 1.0}, "rho must be a correlation"), ({"average": "mean"}, "Unknown average")],
)
def test_fit_refuses_what_makes_no_sense(keywords, message, method):
    with pytest.raises(ValueError, match=message):
        bcm.fit(FOLDS, "averaged_folds", method=method, **keywords)

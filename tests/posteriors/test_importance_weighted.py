"""The posterior of weighted samples."""

import numpy as np

import bayescm as bcm

RNG = np.random.default_rng(11)


def test_classifiers_whose_cells_are_worth_the_same_are_combined():
    actual, predicted = RNG.integers(0, 2, (2, 80))
    options = {"weights": RNG.lognormal(size=80), "weights_are": "importance"}
    counts = bcm.from_predictions(actual, predicted, positive=1, **options)
    both = bcm.combine({"one": counts, "two": counts})
    answer = bcm.interval(both, "recall")
    for name in ("one", "two"):
        alone = bcm.interval(counts, "recall")
        np.testing.assert_allclose(answer.sel(classifier=name), alone, atol=0.01)
    model = bcm.models.importance_weighted(both)
    assert model.coords["classifier"] == ("one", "two")

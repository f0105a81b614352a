"""The correlated t of differences over folds, where a measure is not defined in them."""

import numpy as np

import bayescm as bcm


def test_a_measure_that_is_undefined_in_every_fold_has_no_verdict():
    rng = np.random.default_rng(0)
    actual = (rng.random(200) < 0.3).astype(int)
    answers = {"a": np.where(rng.random(200) < 0.1, 1 - actual, actual), "never": 0 * actual}
    both = bcm.from_classifiers(actual, answers, positive=1, by={"fold": np.arange(200) % 5})
    f1, precision = bcm.compare(both, ["f1", "precision"]).to_dict("records")
    assert np.isfinite(f1["lower"])
    assert np.isnan(precision["lower"])
    assert "no verdict is possible" in precision["sentence"]

import numpy as np
import pytest

from bayescm.studies.densities import densities


@pytest.mark.parametrize("learner", ["tree", "svm"])
def test_the_beta_distribution_without_correlation_is_the_exact_one_and_the_other_is_wider(learner):
    frame = densities(learner)
    for _, rows in frame.groupby("measure"):
        curves = {name: part["density"].to_numpy() for name, part in rows.groupby("curve")}
        x = rows["x"].unique()
        exact, plain = curves["independent"], curves["beta, rho = 0"]
        np.testing.assert_allclose(np.trapezoid(exact, x), 1, atol=1e-3)
        np.testing.assert_allclose(plain, exact, atol=0.02 * exact.max())
        assert curves["beta, rho = 1/K"].max() < 0.8 * exact.max()

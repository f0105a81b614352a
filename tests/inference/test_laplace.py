"""The mode of a log-concave density by damped Newton steps."""

import numpy as np
from scipy.special import expit

from bayescm.inference import laplace


def test_newton_is_damped_where_its_steps_overshoot():
    # Far from the mode of a logit the curvature is next to nil: undamped steps go to and fro.
    def at(x):
        truth = expit(x)
        return 2 - 20 * truth - 1e-3 * x, (20 * truth * (1 - truth) + 1e-3)[:, None]

    point, hessian = laplace.mode(np.array([15.0]), at)
    np.testing.assert_allclose(at(point)[0], 0, atol=1e-6)
    np.testing.assert_allclose(hessian, at(point)[1], rtol=1e-5)


def test_a_batch_of_densities_is_solved_side_by_side():
    # Gamma densities of log rates: the mode of a x - b exp(x) is log(a / b).
    a, b = np.array([[1.0, 4.0], [30.0, 0.2], [2.0, 900.0]]), np.array([2.0, 0.5])

    def derivatives(x):
        curvature = b * np.exp(x)
        return a - curvature, curvature[..., None] * np.eye(2)

    modes, hessians = laplace.mode(np.zeros((3, 2)), derivatives)
    np.testing.assert_allclose(modes, np.log(a / b), atol=1e-10)
    np.testing.assert_allclose(np.diagonal(hessians, axis1=1, axis2=2), a, rtol=1e-6)
    alone, _ = laplace.mode(np.zeros(2), lambda x: (a[1] - b * np.exp(x), np.diag(b * np.exp(x))))
    np.testing.assert_allclose(alone, modes[1], atol=1e-10)

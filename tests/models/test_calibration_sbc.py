"""Simulation-based calibration of direct posteriors of calibration models."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import kstest

from bayescm.posteriors.calibration import LEVEL, SCALE, SLOPE, SmoothCurve
from bayescm.posteriors.dirichlet_calibration import SCALE as CROSS_SCALE
from bayescm.posteriors.dirichlet_calibration import LinearDeparture
from bayescm.posteriors.hierarchical_calibration import SPREAD, Sites

DRAWS = 199


def of_two(rng):
    """Return the rank of the true departure at three forecasts among draws of the posterior."""
    odds = rng.normal(0, 1.3, 150)
    blank = SmoothCurve(odds, np.zeros(150), np.ones(150))
    sizes = np.sqrt(1 / blank.precision)
    truth = rng.normal(0, sizes)[None], rng.rayleigh(SCALE, 1)
    chance = expit(odds + blank.departure(*truth, odds)[0])
    seen = (rng.random(150) < chance).astype(float)
    posterior = SmoothCurve(odds, seen, np.ones(150))
    at = np.array([-1.0, 0.2, 1.5])
    drawn = posterior.departure(*posterior.draw(DRAWS, rng)[:2], at)
    return (drawn < blank.departure(*truth, at)[0]).sum(axis=0)


def of_three(rng):
    """Return the rank of the true chances of a class at two forecasts of three classes."""
    logs = rng.normal(0, 1.3, (120, 3))
    blank = LinearDeparture(logs, np.zeros(120, int), np.ones(120), CROSS_SCALE, np.zeros(3))
    sizes = np.sqrt(1 / blank.precision)
    truth = blank.matrices(rng.normal(0, sizes)[None], np.abs(rng.normal(0, CROSS_SCALE, 1)))
    chance = blank.chances(truth, logs)[0]
    code = (rng.random((120, 1)) > chance.cumsum(axis=1)).sum(axis=1).clip(max=2)
    posterior = LinearDeparture(logs, code, np.ones(120), CROSS_SCALE, np.zeros(3))
    drawn = posterior.matrices(*posterior.draw(DRAWS, rng)[:2])
    at = np.log(softmax([[1.0, 0.0, -1.0], [-0.5, 0.5, 0.5]], axis=1))
    own = blank.chances(truth, at)[0, :, 0]
    return (posterior.chances(drawn, at)[..., 0] < own).sum(axis=0)


def of_sites(rng):
    """Return the ranks of the means, the spreads and the first site's level and slope, of five."""
    code = np.repeat(np.arange(5), [60, 40, 30, 20, 10])
    odds = rng.normal(-0.5, 1.3, len(code))
    center = rng.normal(0, [LEVEL, SLOPE])
    spread = np.abs(rng.normal(0, SPREAD))
    effect = rng.normal(center, spread, (5, 2))
    place = (odds - odds.mean()) / odds.std()
    chance = expit(odds + effect[code, 0] + effect[code, 1] * place)
    seen = (rng.random(len(code)) < chance).astype(float)
    posterior = Sites(odds, seen, np.ones(len(code)), code, SPREAD)
    drawn = posterior.draw(20 * DRAWS, rng)[:3]
    some = rng.choice(20 * DRAWS, DRAWS, replace=False)
    pairs = zip(drawn, (center, spread, effect), strict=True)
    below = [(each[some] < truth).sum(axis=0) for each, truth in pairs]
    return np.concatenate([*below[:2], below[2][0]])


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("simulate", "times"), [(of_two, 150), (of_three, 150), (of_sites, 60)])
def test_ranks_of_the_truth_are_uniform(simulate, times):
    rng = np.random.default_rng(5)
    ranks = np.array([simulate(rng) for _ in range(times)])
    for each in ((ranks + 0.5) / (DRAWS + 1)).T:
        assert kstest(each, "uniform").pvalue > 0.001

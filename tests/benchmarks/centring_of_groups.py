"""
How NUTS mixes in `hierarchical_groups` with standardised, centred and partially centred effects.

``python tests/benchmarks/centring_of_groups.py`` samples by nutpie, 4 chains of 1,000 draws after
1,000 to tune, the density of two classes written out below, which takes seconds to compile where
the model takes a minute. Each row is one fit: largest r-hat and least effective draws of all
variables, divergent draws, leapfrog steps of a draw, and seconds of the CPU.
"""

import time
import warnings
from math import exp, log, log1p, sqrt

import arviz_stats
import numba
import numpy as np
import nutpie
import xarray as xr
from nutpie.compiled_pyfunc import from_pyfunc
from scipy.special import expit, logit

CHAINS, DRAWS, TUNE, SEED = 4, 1000, 1000, 1


def studies(groups, examples, spread, seed):
    """Return successes and trials (G, 3) of prevalence, recall and specificity."""
    rng = np.random.default_rng(seed)
    first, second, third = rng.standard_normal((3, groups))
    recall = expit(1.5 + spread * first)
    specificity = expit(1.0 + spread * (-0.5 * first + 0.75**0.5 * second))
    positives = rng.binomial(examples, expit(-0.5 + spread * third))
    tp = rng.binomial(positives, recall)
    tn = rng.binomial(examples - positives, specificity)
    trials = [positives * 0 + examples, positives, examples - positives]
    return np.stack([positives, tp, tn], axis=1), np.stack(trials, axis=1)


UNEQUAL = np.round(np.geomspace(10, 1000, 20)).astype(int)
EVIDENCE = {
    "12 groups of 400, spread .6": studies(12, 400, 0.6, 3),
    "6 of 30, spread .5": studies(6, 30, 0.5, 4),
    "20 of 10 to 1,000, spread .5": studies(20, UNEQUAL, 0.5, 5),
    "12 of 5,000, spread .6": studies(12, 5000, 0.6, 3),
    "12 of 400 that are alike, spread .05": studies(12, 400, 0.05, 7),
    "12 of 12, spread .4": studies(12, 12, 0.4, 6),
    "3 of 200, spread .5": studies(3, 200, 0.5, 9),
}


def partial_centring(successes, trials):
    """Return lambda (G, 3), as ``_centring`` in models/hierarchical_groups.py."""
    rates = (successes + 0.5) / (trials + 1)
    information = (trials > 0) * (trials + 1) * rates * (1 - rates)
    total, number = information.sum(0), (trials > 0).sum(0)
    mean = (information * logit(rates)).sum(0) / total
    excess = (information * (logit(rates) - mean) ** 2).sum(0) - (number - 1)
    variance = np.maximum(excess, 0) / (total - (information**2).sum(0) / total)
    variance = variance * np.maximum(number - 5, 0) / (number - 1)
    return information * variance / (information * variance + 1)


CENTRING = {
    "standardised": lambda successes, trials: np.zeros(trials.shape),
    "centred": lambda successes, trials: np.ones(trials.shape),
    "partially centred": partial_centring,
}


@numba.njit
def softplus(x):
    return x + log1p(exp(-x)) if x > 0 else log1p(exp(x))


@numba.njit
def inverse_logit(x):
    return 1 / (1 + exp(-x)) if x > 0 else exp(x) / (1 + exp(x))


@numba.njit
def rate_density(effect, mean, sd, weight, successes, trials):
    """
    Return the log density of a group's effect and counts, and what its gradient consists of.

    These are the derivatives by the effect but for what depends on the standardised effect z, by
    the mean, by the standard deviation and by z; then the scale that turns the last into the first.
    """
    scale = sd**-weight
    z = scale * (effect - weight * mean)
    x = mean + sd * z
    value = -z * z / 2 - weight * log(sd) + successes * x - trials * softplus(x)
    by_logit = successes - trials * inverse_logit(x)
    return value, z, scale, by_logit, -z + by_logit * sd


@numba.njit
def log_density(q, successes, trials, centring):
    """
    Return the log density of unconstrained variables, and its gradient.

    ``q`` has the logits of the three typical rates, the logarithms of the spreads, the logit of
    ``correlation``, and the effects of every group.
    """
    gradient = np.zeros_like(q)
    spread = np.exp(q[3:6])
    share = inverse_logit(q[6])
    rho = 2 * share - 1
    rest = sqrt(max(1 - rho * rho, 1e-14))
    value = 2 * q[6] - 4 * softplus(q[6])
    for rate in range(3):
        a = 1.0 if rate == 0 else 0.5  # of the beta prior, twice
        value += a * q[rate] - 2 * a * softplus(q[rate])
        gradient[rate] += a - 2 * a * inverse_logit(q[rate])
        value += -(spread[rate] ** 2) / 2 + q[3 + rate]
    by_spread, by_rho = 1 / spread - spread, 0.0
    for group in range(len(trials)):
        first = 7 + 3 * group
        weight = centring[group]
        z_recall = spread[1] ** -weight[1] * (q[first + 1] - weight[1] * q[1])
        # The specificity given the recall.
        mean, sd = q[2] + rho * spread[2] * z_recall, spread[2] * rest
        height, z, scale, by_logit, by_z = rate_density(
            q[first + 2], mean, sd, weight[2], successes[group, 2], trials[group, 2]
        )
        value += height
        by_mean = by_logit - by_z * weight[2] * scale
        by_sd = by_logit * z - weight[2] / sd - by_z * weight[2] * z / sd
        gradient[first + 2] = by_z * scale
        gradient[2] += by_mean
        by_rho += by_mean * spread[2] * z_recall - by_sd * rho * spread[2] / rest
        by_spread[2] += by_mean * rho * z_recall + by_sd * rest
        for rate in range(2):
            height, z, scale, by_logit, by_z = rate_density(
                q[first + rate],
                q[rate],
                spread[rate],
                weight[rate],
                successes[group, rate],
                trials[group, rate],
            )
            value += height
            if rate == 1:
                by_z += by_mean * rho * spread[2]
            gradient[first + rate] = by_z * scale
            gradient[rate] += by_logit - by_z * weight[rate] * scale
            by_spread[rate] += by_logit * z - weight[rate] / spread[rate] * (1 + by_z * z)
    gradient[3:6] = by_spread * spread
    gradient[6] = 2 - 4 * share + by_rho * 2 * share * (1 - share)
    return value, gradient


def sample(successes, trials, centring):
    """Return a row of the table."""
    size = 7 + trials.size

    def make_density():
        return lambda q: log_density(np.asarray(q), successes, trials, centring)

    def make_expansion(*_, **__):
        return lambda q: {"q": np.asarray(q)}

    model = from_pyfunc(
        size,
        make_density,
        make_expansion,
        [np.dtype(float)],
        [(size,)],
        ["q"],
        make_initial_point_fn=lambda seed: np.random.default_rng(seed).normal(size=size) / 2,
    )
    started = time.process_time()
    tree = nutpie.sample(
        model,
        draws=DRAWS,
        tune=TUNE,
        chains=CHAINS,
        cores=1,
        seed=SEED,
        target_accept=0.95,
        progress_bar=False,
        save_warmup=False,
    )
    seconds = time.process_time() - started
    draws = xr.Dataset({"q": (("chain", "draw", "variable"), tree["posterior"]["q"].values)})
    return {
        "r-hat": f"{float(arviz_stats.rhat(draws)['q'].max()):.3f}",
        "least effective draws": f"{float(arviz_stats.ess(draws)['q'].min()):,.0f}",
        "divergent": int(tree["sample_stats"]["diverging"].sum()),
        "steps": f"{float(tree['sample_stats']['n_steps'].mean()):.0f}",
        "seconds": f"{seconds:.0f}",
    }


def check_gradient():
    """Raise where the gradient is not that of the density."""
    successes, trials = (table.astype(float) for table in EVIDENCE["6 of 30, spread .5"])
    centring = np.full(trials.shape, 0.4)
    q = np.random.default_rng(0).normal(size=7 + trials.size) / 2
    steps = 1e-5 * np.eye(len(q))
    by_difference = [
        (
            log_density(q + step, successes, trials, centring)[0]
            - log_density(q - step, successes, trials, centring)[0]
        )
        / 2e-5
        for step in steps
    ]
    gradient = log_density(q, successes, trials, centring)[1]
    np.testing.assert_allclose(gradient, by_difference, atol=1e-5)


def main():
    warnings.simplefilter("ignore")  # of r-hat where nothing moves
    check_gradient()
    for name, tables in EVIDENCE.items():
        successes, trials = (table.astype(float) for table in tables)
        for parametrisation, centring in CENTRING.items():
            row = sample(successes, trials, centring(successes, trials))
            print(name, parametrisation, *row.values(), sep=" | ", flush=True)


if __name__ == "__main__":
    main()

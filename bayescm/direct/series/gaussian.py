"""A Gaussian approximation of a walk: where it goes, and how much each drift is worth."""

import numpy as np
from scipy import special

_AROUND = 9  # steps


def filtered(
    hits: np.ndarray, trials: np.ndarray, prior: tuple[float, float], drifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return log evidence, means and standard deviations of the Kalman filter, (T, S) each.

    Parameters
    ----------
    hits, trials : ndarray, shape (T,)
    prior : (float, float)
        Parameters of the beta distribution of the first step.
    drifts : ndarray, shape (S,)
        Standard deviations of a step.
    """
    hits, misses = hits + 0.5, trials - hits + 0.5
    seen, empty = np.log(hits / misses), trials == 0
    # By the rate around each step: its own would make noise and what is seen depend on each other.
    some = np.ones(min(len(hits), _AROUND))
    for_it, against = np.convolve(hits, some, "same"), np.convolve(misses, some, "same")
    noise = (for_it + against) ** 2 / (for_it * against * (hits + misses))
    a, b = prior
    mean = np.full(len(drifts), special.digamma(a) - special.digamma(b))
    variance = np.full(len(drifts), special.polygamma(1, a) + special.polygamma(1, b))
    evidence, means, variances = (np.empty((len(seen), len(drifts))) for _ in range(3))
    total, off = np.ones_like(evidence), np.zeros_like(evidence)
    steps = drifts**2
    for t, (value, spread) in enumerate(zip(seen.tolist(), noise.tolist(), strict=True)):
        if t:
            variance = variance + steps
        if not empty[t]:
            total[t], off[t] = variance + spread, value - mean
            share = variance / total[t]
            mean, variance = mean + share * off[t], share * spread
        means[t], variances[t] = mean, variance
    evidence = -np.cumsum(off**2 / total + np.log(total), axis=0) / 2
    return evidence, means, np.sqrt(variances)

"""Coin tosses and their intervals, in a separate module that worker processes can import."""

import numpy as np
import shifted_seeds  # noqa: F401  (shifts the seeds in a worker process)

Z = 1.959964


def tosses(rng, n=80, p=0.3):
    return int(rng.binomial(n, p)), {"p": p, "q": 1 - p}


def wald(heads, n=80, stretch=1.0):
    p = heads / n
    half = stretch * Z * (p * (1 - p) / n) ** 0.5
    return {"p": (p - half, p + half), "q": np.array([1 - p - half, 1 - p + half])}


def narrow(heads):
    return wald(heads, stretch=0.25)


METHODS = {"wald": wald, "narrow": narrow}

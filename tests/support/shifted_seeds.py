"""Shift all random seeds, to find tests that only pass with the seed in their source.

BAYESCM_TEST_SEED=1 shifts every seed in the tests and in the package by one. Modules that are
imported by worker processes import this module, so that their seeds are shifted too. Use it with
``pytest tests`` only, because the output in doctests depends on the original seeds.
"""

import os

import numpy as np

SHIFT = int(os.environ.get("BAYESCM_TEST_SEED", "0"))
_default_rng = np.random.default_rng


def _shifted(seed):
    if isinstance(seed, int | np.integer):
        return int(seed) + SHIFT
    return [*map(int, seed), SHIFT] if isinstance(seed, list | tuple) else seed


class _Sequence(np.random.SeedSequence):
    def __init__(self, entropy=None, **keywords):
        super().__init__(_shifted(entropy), **keywords)


# The shift is applied once, even if doctests import this file under another name.
if SHIFT and np.random.SeedSequence.__name__ != _Sequence.__name__:
    np.random.default_rng = lambda seed=None: _default_rng(_shifted(seed))
    np.random.SeedSequence = _Sequence

"""Seeds other than those written: what only holds for the draws of one seed fails then.

BAYESCM_TEST_SEED=1 shifts every seed, of the tests and of the package, by one. Modules that worker
processes import import this one, so that they shift theirs too. For ``pytest tests``: docstrings
print what the seeds written there give.
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


# Once, also where doctests import this file under another name.
if SHIFT and np.random.SeedSequence.__name__ != _Sequence.__name__:
    np.random.default_rng = lambda seed=None: _default_rng(_shifted(seed))
    np.random.SeedSequence = _Sequence

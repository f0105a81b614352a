"""Series of batches for the tests of online evaluation."""

import numpy as np

import bayescm as bcm

_RNG = np.random.default_rng(7)
WEEKS = bcm.from_matrix(
    _RNG.integers(0, 40, (12, 2, 2)), labels=["well", "sick"], positive="sick", dims=("step",)
)
PETS = bcm.from_matrix(
    _RNG.integers(0, 40, (6, 3, 3)), labels=["cat", "cow", "dog"], dims=("step",)
)

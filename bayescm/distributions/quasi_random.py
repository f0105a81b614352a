"""
Scrambled Sobol sequences, which fill the unit cube evenly.

Means over S such points have smaller errors than means over S independent points. For smooth
functions, the error is about 1 / S instead of 1 / sqrt(S) (Owen 1998).

References
----------
Owen, A. B. (1998). Scrambling Sobol' and Niederreiter-Xing points. Journal of Complexity, 14(4),
466-489. doi:10.1006/jcom.1998.0487
"""

import numpy as np
from scipy import special

# Points on the border of the cube, whose normal scores would be infinite, move this far inside.
# The sequences have steps of 2**-30, about 1e-9.
_BORDER = 1e-12


def even_uniform(size: int, dims: int, rng: np.random.Generator) -> np.ndarray:
    """Return the first points (size, dims) of a scrambled Sobol sequence, inside the unit cube."""
    if not dims or not size:
        return np.zeros((size, dims))
    # scipy.stats takes a second to import, and quick commands do not need it.
    from scipy.stats.qmc import Sobol

    # SciPy warns about sizes that are not powers of two, so the points beyond `size` are dropped.
    points = Sobol(dims, rng=rng).random_base2(int(np.ceil(np.log2(size))))[:size]
    return np.clip(points, _BORDER, 1 - _BORDER)


def even_normal(size: int, dims: int, rng: np.random.Generator) -> np.ndarray:
    """Return the points of `even_uniform` as independent standard normal scores, (size, dims)."""
    return special.ndtri(even_uniform(size, dims, rng))

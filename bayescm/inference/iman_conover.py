"""
Induced rank correlation: draws are reordered, and each column keeps its values.

References
----------
Iman, R. L. & Conover, W. J. (1982). A distribution-free approach to inducing rank correlation among
input variables. Communications in Statistics - Simulation and Computation 11, 311-334.
doi:10.1080/03610918208812265
"""

import numpy as np


def iman_conover(draws: np.ndarray, common: np.ndarray) -> np.ndarray:
    """
    Reorder the draws of each column to have the ranks of given values.

    Parameters
    ----------
    draws : ndarray, shape (S, K)
        Draws of each variable, in any order.
    common : ndarray, shape (S, K)
        Values that define the ranks, such as joint draws from a similar model.

    Returns
    -------
    ndarray, shape (S, K)
        Draws with the values of ``draws`` and the ranks of ``common`` in every column. Ties in
        ``common`` are ordered by row.

    Examples
    --------
    >>> draws = np.array([[3, 5], [1, 4], [2, 6]])
    >>> iman_conover(draws, np.array([[0.1, 7], [0.2, 8], [0.3, 9]])).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    rank = np.argsort(np.argsort(common, axis=0, kind="stable"), axis=0, kind="stable")
    return np.take_along_axis(np.sort(draws, axis=0), rank, axis=0)

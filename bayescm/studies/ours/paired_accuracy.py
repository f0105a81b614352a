"""
The difference of two accuracies on the same examples: exact coverage, by enumeration.

It depends only on how often one classifier alone is right and how often the other one alone is.
Every such pair of counts is given its intervals once, and true shares weigh them.

References
----------
Bonett, D. G. & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of binomial
proportions based on paired data. Journal of Educational and Behavioral Statistics 37, 479-488.
doi:10.3102/1076998611411915

Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions for the
paired-sample design. Statistics in Medicine 17, 891-908.
"""

import numpy as np
import pandas as pd
from scipy.special import gammaln, xlogy

from bayescm.classical.paired import tango, wald
from bayescm.distributions.paired import discordant

SIZES = (20, 50, 100)
DISAGREE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
FIRST = (0.5, 0.6, 0.7, 0.8, 0.9)


def posterior(first: np.ndarray, second: np.ndarray, n: int, prior: float) -> np.ndarray:
    """Return equal-tailed intervals, shape (m, 2); ``prior`` counts in each of four joint cells."""
    rest = n - first - second
    distributions = (
        discordant(one + prior, two + prior, other + 2 * prior)
        for one, two, other in zip(first, second, rest, strict=True)
    )
    return np.array([distribution.eti(0.95) for distribution in distributions])


def enumerated(n: int) -> pd.DataFrame:
    """
    Return the exact coverage of 95% intervals with n examples.

    Returns
    -------
    DataFrame
        For each method over 6 shares of disagreement and 5 splits of it: ``mean_doc`` and
        ``least_doc``, the mean and the least coverage, and ``il``, the mean length.

    Examples
    --------
    >>> enumerated(6).round(2)["mean_doc"].between(0, 1).all()
    np.True_
    """
    first, second = (each.ravel().astype(float) for each in np.indices((n + 1, n + 1)))
    keep = first + second <= n
    first, second = first[keep], second[keep]
    found = {
        "Dirichlet(0.5), the default": posterior(first, second, n, 0.5),
        "Dirichlet(1)": posterior(first, second, n, 1.0),
        "Tango": tango(first, second, n),
        "Bonett-Price": wald(first + 1, second + 1, n + 2),
        "Wald": wald(first, second, n),
    }
    rows = []
    for name, ends in found.items():
        docs, lengths = [], []
        for share in DISAGREE:
            for split in FIRST:
                one, two = share * split, share * (1 - split)
                mass = _multinomial(first, second, n, one, two)
                inside = (ends[:, 0] <= one - two) & (one - two <= ends[:, 1])
                docs.append(mass @ inside)
                lengths.append(mass @ np.ptp(ends, axis=1))
        own = {"n": n, "method": name, "mean_doc": np.mean(docs), "least_doc": np.min(docs)}
        rows.append(own | {"il": np.mean(lengths)})
    return pd.DataFrame(rows)


def _multinomial(first, second, n, one, two):
    rest = n - first - second
    ways = gammaln(n + 1) - gammaln(first + 1) - gammaln(second + 1) - gammaln(rest + 1)
    return np.exp(ways + xlogy(first, one) + xlogy(second, two) + xlogy(rest, 1 - one - two))

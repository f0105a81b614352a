"""The Bayesian signed-rank test: which of two classifiers does better on most data sets."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.classical.many.ranks import scores
from bayescm.distributions.decision import check_rope
from bayescm.validate import check_seed, check_whole, fail

_AT_ONCE = 5000


def signed_rank(
    results: xr.Dataset | pd.DataFrame,
    *,
    rope: Any = 0.0,
    prior: float = 0.5,
    draws: int = 50_000,
    random_seed: Any = 0,
) -> pd.DataFrame:
    """
    Return the Bayesian signed-rank test of every pair of classifiers.

    The differences on the data sets are a sample of a distribution with a Dirichlet process as its
    prior; the test is about the mean of two differences of it. It uses nothing of a data set
    but one number, where :func:`bayescm.compare` also uses how well each is known.

    Parameters
    ----------
    results : Dataset or DataFrame
        From :func:`bayescm.from_results`, averaged over runs; or one row per data set and one
        column per classifier, higher is better. Data sets that lack one of a pair are left out.
    rope : float or (float, float), default 0
        Region of practical equivalence of the difference: half its width, or its ends.
    prior : float, default 0.5
        Strength of the prior, > 0: of that many data sets without any difference.
    draws : int, default 50,000
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        One row per pair: ``first``, ``second``; the posterior probabilities that most
        differences are better, equivalent or worse (``p_better``, ``p_rope``, ``p_worse``), that is
        that this is the most probable of the three; and the mean probability of each
        (``share_better``, ``share_rope``, ``share_worse``); ``data_sets``.

    Raises
    ------
    ValueError
        If a pair has no data set in common, or an argument is invalid.

    References
    ----------
    Benavoli, A., Corani, G., Demsar, J. & Zaffalon, M. (2017). Time for a change: a tutorial for
    comparing multiple classifiers through Bayesian analysis. Journal of Machine Learning Research
    18 (77), 1-36.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [0.9, 0.8, 0.75, 0.7], "b": [0.8, 0.7, 0.76, 0.6]})
    >>> signed_rank(table, rope=0.02)[["p_better", "p_rope", "p_worse"]].round(1).values.tolist()
    [[1.0, 0.0, 0.0]]
    """
    low, high = check_rope(rope)
    if not 0 < prior < np.inf:
        raise fail("the prior must be positive", prior, "a number > 0", "pass prior=0.5")
    check_whole("draws", draws, 1, "draws", 50_000)
    names, values = scores(results)
    rng = np.random.default_rng(check_seed(random_seed))
    rows = []
    for one, two in combinations(range(len(names)), 2):
        gaps = values[:, one] - values[:, two]
        gaps = np.round(gaps[~np.isnan(gaps)], 12)
        if not len(gaps):
            what = f"{names[one]} and {names[two]} have no data set in common"
            raise fail(what, 0, "one or more", "leave one of them out")
        shares = _shares(np.append(0.0, gaps), (low, high), prior, draws, rng)
        if low == high:
            ahead = np.heaviside(shares[:, 0] - shares[:, 2], 0.5).mean()
            most = np.array([ahead, 0, 1 - ahead])
        else:
            most = np.bincount(shares.argmax(axis=1), minlength=3) / draws
        row = dict(zip(("p_better", "p_rope", "p_worse"), most, strict=True))
        parts = ("share_better", "share_rope", "share_worse")
        row |= dict(zip(parts, shares.mean(axis=0), strict=True))
        rows.append({"first": names[one], "second": names[two], **row, "data_sets": len(gaps)})
    return pd.DataFrame(rows)


def _shares(gaps, rope, prior, draws, rng):
    """Draw the probabilities (draws, 3) that the mean of two differences is above, in or below."""
    sums = gaps[:, None] + gaps
    above = np.heaviside(sums - 2 * rope[1], 0.5)
    below = np.heaviside(2 * rope[0] - sums, 0.5)
    strength = np.append(prior, np.ones(len(gaps) - 1))
    found = np.empty((draws, 3))
    for start in range(0, draws, _AT_ONCE):
        part = found[start : start + _AT_ONCE]
        weights = rng.dirichlet(strength, len(part))
        part[:, 0] = ((weights @ above) * weights).sum(axis=1)
        part[:, 2] = ((weights @ below) * weights).sum(axis=1)
    found[:, 1] = 1 - found[:, 0] - found[:, 2]
    return found

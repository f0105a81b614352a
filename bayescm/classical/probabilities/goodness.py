"""Tests of calibration: Hosmer and Lemeshow's, and Spiegelhalter's."""

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import chi2, norm

from bayescm.classical.probabilities.forecasts import samples
from bayescm.validate import fail


def hosmer_lemeshow(
    evidence: xr.Dataset, *, groups: int = 10, fitted: bool = False
) -> pd.DataFrame:
    """
    Return Hosmer and Lemeshow's test: positives seen and forecast in groups of like forecasts.

    Its power depends on the number of examples and its answer on the groups;
    :func:`bayescm.curves.calibration.test` says how near the curve is to the diagonal.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.
    groups : int, default 10
        Number of groups of about equal size, between quantiles of the forecasts.
    fitted : bool, default False
        Whether the model was fitted to these very examples, which takes two degrees of freedom.

    Returns
    -------
    DataFrame
        For each classifier ``statistic``, ``df`` and ``p_value``.

    References
    ----------
    Hosmer, D. W. & Lemeshow, S. (1980). Goodness of fit tests for the multiple logistic regression
    model. Communications in Statistics A 9, 1043-1069. doi:10.1080/03610928008827941

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> found = hosmer_lemeshow(bcm.from_probabilities(rng.random(500) < p, p))
    >>> int(found["df"][0]), bool(found["p_value"][0] > 0.05)
    (10, True)
    """
    if not isinstance(groups, int | np.integer) or groups < 3:
        raise fail("too few groups", groups, "3 or more", "pass groups=10")
    rows = []
    for sample in samples(evidence):
        middle = (np.cumsum(sample.total) - sample.total / 2) / sample.total.sum()
        _, place = np.unique((middle * groups).astype(int), return_inverse=True)
        expected = np.bincount(place, sample.total * sample.probability)
        seen, size = np.bincount(place, sample.hits), np.bincount(place, sample.total)
        variance = expected * (1 - expected / size)
        if not (variance > 0).all():
            todo = "pass fewer groups, or clip= to from_probabilities"
            raise fail("a group of forecasts that are all 0 or 1", ..., "others too", todo)
        df = len(size) - 2 * fitted
        if df < 1:
            todo = "forecasts of so few different values need no such test: compare the shares"
            raise fail("too few different forecasts", len(size), "3 groups or more", todo)
        value = float(((seen - expected) ** 2 / variance).sum())
        rows.append(_row(sample.name, statistic=value, df=df, p_value=chi2.sf(value, df)))
    return pd.DataFrame(rows)


def spiegelhalter_z(evidence: xr.Dataset) -> pd.DataFrame:
    """
    Return Spiegelhalter's test: whether the Brier score is what right forecasts would have.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.

    Returns
    -------
    DataFrame
        For each classifier ``statistic``, a standard normal z above 0 where the Brier score is
        larger than right forecasts would have it, and the two-sided ``p_value``.

    References
    ----------
    Spiegelhalter, D. J. (1986). Probabilistic prediction in patient management and clinical
    trials. Statistics in Medicine 5, 421-433. doi:10.1002/sim.4780050506

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> evidence = bcm.from_probabilities(rng.random(500) < p, {"right": p, "bold": np.round(p, 1)})
    >>> spiegelhalter_z(evidence)["classifier"].tolist()
    ['right', 'bold']
    """
    rows = []
    for sample in samples(evidence):
        p, lean = sample.probability, 1 - 2 * sample.probability
        spread = (sample.total * lean**2 * p * (1 - p)).sum()
        if not spread > 0:
            todo = "ask bcm.summary(evidence, ['brier', 'calibration_in_the_large'])"
            raise fail("forecasts of 0, 1/2 and 1 alone leave no spread", ..., "others too", todo)
        z = float(((sample.hits - sample.total * p) * lean).sum() / np.sqrt(spread))
        rows.append(_row(sample.name, statistic=z, p_value=2 * norm.sf(abs(z))))
    return pd.DataFrame(rows)


def _row(name, **values):
    return ({} if name is None else {"classifier": name}) | values

"""
The direct sibling of `bayescm.models.hierarchical_calibration`: probabilities by site.

The posterior is in `bayescm.direct.probabilities.site_forecasts`.
"""

import numpy as np
import xarray as xr

from bayescm.direct.probabilities.site_forecasts import SiteForecasts
from bayescm.evidence.scores import as_sites
from bayescm.validate import fail


def hierarchical_calibration(evidence: xr.Dataset, *, spread: float | None = None) -> SiteForecasts:
    """
    Return the posterior of probabilities at several sites, partially pooled.

    Parameters
    ----------
    evidence : xarray.Dataset
        From :func:`bayescm.from_probabilities` with ``group=``, of two classes.
    spread : float, optional
        Scale of the half-normal prior of the standard deviation of the sites' levels, on the log
        odds; by default 1. That of the slopes, per standard deviation of the forecasts' log odds,
        is half of it.

    Returns
    -------
    SiteForecasts

    Examples
    --------
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(300)
    >>> evidence = bcm.from_probabilities(rng.random(300) < p, p, group=np.arange(300) % 5)
    >>> float(hierarchical_calibration(evidence).point(bcm.measures.resolve("brier")).round(1))
    0.2
    """
    evidence = as_sites(evidence)
    spread = 1.0 if spread is None else spread
    if not isinstance(spread, (int, float, np.number)) or not 0 < spread < np.inf:
        todo = "pass e.g. spread=1.0, or a function through fit"
        raise fail("spread must be a positive scale", spread, "a number > 0", todo)
    return SiteForecasts(evidence, float(spread))

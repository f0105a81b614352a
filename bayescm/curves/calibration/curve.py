"""The calibration curve with its band, and the probability that it is near the diagonal."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.curves.calibration.views import in_views, views
from bayescm.direct.calibration import calibration
from bayescm.direct.probabilities.steps import jump
from bayescm.evidence.scored.probabilities import check_chances
from bayescm.validate import check_prob, fail

_PLACES = 50
_BAD = ("not probabilities", "pass e.g. at=[0.1, 0.5]")
_EXACT = 0.02  # of the forecasts
_STEP = 0.1  # a jump that smooth curves were not seen to have from 1,000 examples on


def curve(
    evidence: xr.Dataset,
    *,
    at: Any = None,
    prob: float = 0.95,
    simultaneous: bool = True,
    top_label: bool = False,
) -> xr.Dataset:
    """
    Return the calibration curve of each classifier with its band.

    Parameters
    ----------
    evidence : Dataset
        Probabilities, see :func:`bayescm.from_probabilities`; of more than two classes each class
        against the rest.
    at : array_like, shape (T,), optional
        Probabilities at which to evaluate the curve; by default 50 between the 1 % and the 99 %
        quantile of the forecasts. Beyond the forecasts the departure stays as it is at their end.
    prob : float, default 0.95
        Probability that the band holds the whole curve or, if pointwise, any one of its points.
    simultaneous : bool, default True
        Of more than two classes, the band of each by itself.
    top_label : bool, default False
        Of more than two classes, that of the highest probability: how often it is right.

    Returns
    -------
    Dataset, dims ([classifier], [class], probability, bound)
        ``interval``, the band; ``median`` of the curve, without ``bound``; scalar coords ``prob``
        and ``band``.

    Notes
    -----
    The band is that of the log odds' largest departure from their mean in units of their standard
    deviation. It is of a smooth curve: a step, as forecasts of few distinct values may have,
    it draws too soft. Where the examples tell of one (a step of .6 among 1,000 examples they do;
    smaller ones, or fewer examples, may not) ``attrs["caution"]`` says so; so it does where a class
    has fewer than 20 examples, or some forecasts are exactly 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(300)
    >>> found = curve(bcm.from_probabilities(rng.random(300) < p, p), at=[0.2, 0.5, 0.8])
    >>> found["interval"].dims
    ('probability', 'bound')
    """
    check_prob(prob)
    every = views(evidence, top_label)
    forecasts = np.concatenate([view["score"].values.ravel() for _, view in every])
    places = _default(forecasts) if at is None else check_chances(at, *_BAD)
    options = {"places": places, "prob": prob, "simultaneous": simultaneous}
    return in_views(every, partial(_curve, **options))


def _curve(evidence, *, places, prob, simultaneous):
    """Return the curves of two classes, with their cautions."""
    posterior = calibration(evidence)
    ends, median = posterior.band(places, prob, simultaneous=simultaneous)
    dims = [*posterior.frame.dims, "probability"]
    shape = [*posterior.frame.shape, len(places)]
    coords = dict(posterior.frame.coords) | {"probability": places}
    coords |= {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    columns = {
        "interval": ([*dims, "bound"], ends.reshape(*shape, 2)),
        "median": (dims, median.reshape(shape)),
    }
    said = [*posterior.doubts(), *_exact(posterior), *_steps(posterior)]
    attrs = {"caution": " ".join(said)} if said else {}
    return xr.Dataset(columns, coords | {"bound": ["lower", "upper"]}, attrs)


def test(
    evidence: xr.Dataset,
    delta: float = 0.05,  # noqa: PT028
    *,
    top_label: bool = False,  # noqa: PT028
) -> pd.DataFrame:
    """
    Return the probability that the calibration curve is near the diagonal everywhere.

    Parameters
    ----------
    evidence : Dataset
        Probabilities; of more than two classes each class against the rest.
    delta : float, default 0.05
        How far the curve may be from the diagonal, as a difference of probabilities.
    top_label : bool, default False
        Of more than two classes, for the highest probability.

    Returns
    -------
    DataFrame
        For each classifier (and ``class``) ``p_calibrated``, the probability that the curve is
        within ``delta`` of the diagonal between the 1 % and the 99 % quantile of the forecasts, and
        the median of the largest ``departure``. ``attrs["caution"]`` says what makes the model
        doubtful, such as few examples, of which it cannot be probable.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(2000)
    >>> found = test(bcm.from_probabilities(rng.random(2000) < p, p), delta=0.15)
    >>> bool(found["p_calibrated"][0] > 0.5)
    True
    """
    if not 0 < delta < 1:
        raise fail("delta must be a probability", delta, "0 < delta < 1", "pass delta=0.05")
    found = [(of, calibration(view)) for of, view in views(evidence, top_label)]
    tables = [_tested(posterior, delta).assign(**of) for of, posterior in found]
    table = pd.concat(tables, ignore_index=True)
    leading = [name for name in ("classifier", "class") if name in table]
    table = table[[*leading, "p_calibrated", "departure"]]
    if said := dict.fromkeys(each for _, posterior in found for each in posterior.doubts()):
        table.attrs["caution"] = " ".join(said)
    return table


def _tested(posterior, delta):
    largest = posterior.departures(_default(posterior.probability))
    near, middle = (largest < delta).mean(axis=0), np.median(largest, axis=0)
    named = {} if posterior.names is None else {"classifier": posterior.names}
    return pd.DataFrame(named | {"p_calibrated": near, "departure": middle})


def _exact(posterior):
    """Say so where many forecasts are exactly 0 or 1, far from the others."""
    share = np.isin(posterior.probability, (0, 1)).mean()
    if share <= _EXACT:
        return []
    said = f"{100 * share:.3g}% of the forecasts are exactly 0 or 1."
    return [f"{said} Where these err more often than their neighbours the band may miss the rest."]


def _steps(posterior):
    """Say so where a curve seems to have a step."""
    names = posterior.names or [""]
    found = [jump(each) for each in posterior.smooth]
    bent = [name for name, size in zip(names, found, strict=True) if size > _STEP]
    if not bent:
        return []
    whose = f" of {', '.join(bent)}" if posterior.names else ""
    said = f"The curve{whose} seems to have a step, which this band draws too soft."
    return [f"{said} classical.isotonic_band holds steps."]


def _default(probability):
    ends = np.quantile(probability, [0.01, 0.99])
    return np.unique(np.quantile(probability, np.linspace(0.01, 0.99, _PLACES)).clip(*ends))

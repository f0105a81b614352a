"""The calibration curve with its band, and the probability that it is near the diagonal."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.curves.calibration.views import in_views, views
from bayescm.direct.calibration import calibration
from bayescm.direct.probabilities.bands import few_values
from bayescm.evidence.scores import check_chances
from bayescm.validate import check_prob, fail

_PLACES = 50
_BAD = ("not probabilities", "pass e.g. at=[0.1, 0.5]")
_EXACT = 0.02  # of the forecasts


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
        quantile of the forecasts, and the values of forecasts that take few. Beyond the forecasts
        the departure of a smooth curve stays as it is at their end.
    prob : float, default 0.95
        Probability that the band holds the whole curve or, if pointwise, any one of its points.
    simultaneous : bool, default True
        Of more than two classes, the band of each by itself.
    top_label : bool, default False
        Of more than two classes, that of the highest probability: how often it is right.

    Returns
    -------
    Dataset, dims ([classifier], [class], probability, bound)
        ``interval``, the band; ``estimate`` of the curve, without ``bound``; ``method``, without
        ``probability`` either, how the band is made; scalar coords ``prob`` and ``band``.

    Notes
    -----
    What is assumed depends on the examples, and ``method`` says what it is:

    - ``binomial``: forecasts take few values, 20 at most and 10 examples of each on average. Each
      value has the limits of Clopper and Pearson, at a level by Bonferroni that holds for all
      together, whatever the curve. Elsewhere there is none (NaN). The estimate is the median with
      Jeffreys' prior.
    - ``isotonic``: the curve may have a step. The band is that of a curve that never falls
      (:func:`bayescm.classical.isotonic_band`), and always simultaneous; the estimate is the
      isotonic regression. ``attrs["caution"]`` says so.
    - ``grouped``: the curve may have a step, and falls somewhere. The band is that of the means of
      the curve over groups of neighbouring forecasts, ten at most, as ``binomial``;
      ``attrs["caution"]`` says so.
    - ``smooth``: the curve is taken for smooth. The band is that of the log odds' largest departure
      from their mean in units of their standard deviation; the estimate is the posterior's median.

    A step is recognised by its Bayes factor, which has to be the larger the more the other band
    costs in length: with 60 examples it costs little, and the isotonic band is the rule.
    ``attrs["caution"]`` also says where a class has fewer than 20 examples, or some forecasts are
    exactly 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(300)
    >>> found = curve(bcm.from_probabilities(rng.random(300) < p, p), at=[0.2, 0.5, 0.8])
    >>> found["interval"].dims, found["method"].item()
    (('probability', 'bound'), 'smooth')
    """
    check_prob(prob)
    every = views(evidence, top_label)
    places = _places(every) if at is None else check_chances(at, *_BAD)
    options = {"places": places, "prob": prob, "simultaneous": simultaneous}
    return in_views(every, partial(_curve, asked=at is not None, **options))


def _curve(evidence, *, places, asked, prob, simultaneous):
    """Return the curves of two classes, with their cautions."""
    posterior = calibration(evidence)
    ends, estimate = posterior.band(places, prob, simultaneous=simultaneous)
    dims = [*posterior.frame.dims, "probability"]
    shape = [*posterior.frame.shape, len(places)]
    coords = dict(posterior.frame.coords) | {"probability": places}
    coords |= {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    columns = {
        "interval": ([*dims, "bound"], ends.reshape(*shape, 2)),
        "estimate": (dims, estimate.reshape(shape)),
        "method": (dims[:-1], np.array(posterior.methods).reshape(shape[:-1])),
    }
    said = [*posterior.doubts(), *_exact(posterior), *_assumed(posterior)]
    if asked and np.isnan(ends).any():
        said += _between(posterior)
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
        the median of the largest ``departure``. The curve is the smooth one, or of forecasts that
        take few values these alone, each with Jeffreys' prior. ``attrs["caution"]`` says what makes
        the model doubtful, such as a step, or few examples, of which it cannot be probable.

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
    if said := dict.fromkeys(each for _, posterior in found for each in _doubts(posterior)):
        table.attrs["caution"] = " ".join(said)
    return table


def _doubts(posterior):
    return [*posterior.doubts(), *posterior.steps()]


def _tested(posterior, delta):
    largest = posterior.departures(_default(posterior.probability))
    near, middle = (largest < delta).mean(axis=0), np.median(largest, axis=0)
    named = {} if posterior.names is None else {"classifier": posterior.names}
    return pd.DataFrame(named | {"p_calibrated": near, "departure": middle})


def _exact(posterior):
    """Say so where many forecasts are exactly 0 or 1, which a smooth curve puts near the others."""
    rows = zip(posterior.probability, posterior.methods, strict=True)
    smooth = [row for row, method in rows if method == "smooth"]
    share = np.isin(smooth, (0, 1)).mean() if smooth else 0
    if share <= _EXACT:
        return []
    said = f"{100 * share:.3g}% of the forecasts are exactly 0 or 1."
    return [f"{said} Where these err more often than their neighbours the band may miss the rest."]


def _assumed(posterior):
    """Say what a band takes for granted that holds steps."""
    rising = "may have a step: the band is that of a curve that never falls."
    falling = "seems to jump and to fall: the band is of its means over groups of neighbours."
    return [
        f"The curve{whose} {said}"
        for method, said in (("isotonic", rising), ("grouped", falling))
        for whose in _with(posterior, method)
    ]


def _between(posterior):
    """Say so where a curve was asked for between the few values that forecasts take."""
    said = "take few values: elsewhere nothing is known of the curve unless it is smooth."
    return [f"The forecasts{whose} {said}" for whose in _with(posterior, "binomial")]


def _with(posterior, method):
    """Return whose band is made by a method, in one phrase if any is."""
    names = posterior.names or [""]
    chosen = [
        str(name) for name, each in zip(names, posterior.methods, strict=True) if each == method
    ]
    return [f" of {', '.join(chosen)}" if posterior.names else ""] if chosen else []


def _places(every):
    """Return where curves are drawn: quantiles of the forecasts, and few values themselves."""
    values: list[np.ndarray] = []
    other: list[np.ndarray] = []
    for _, view in every:
        weight = view["weight"].values if "weight" in view else np.ones(view.sizes["example"])
        for row in np.atleast_2d(view["score"].transpose(..., "example").values):
            distinct, place = np.unique(row.round(9), return_inverse=True)
            few = few_values(np.bincount(place, weight))
            (values if few else other).append(distinct if few else row)
    further = [_default(np.concatenate(other))] if other else []
    return np.unique(np.concatenate([*values, *further]))


def _default(probability):
    ends = np.quantile(probability, [0.01, 0.99])
    return np.unique(np.quantile(probability, np.linspace(0.01, 0.99, _PLACES)).clip(*ends))

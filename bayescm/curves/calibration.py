"""
Calibration: the curve of what comes true, its test, and what recalibration would bring.

`curve` has a band that holds everywhere, `test` the probability that the curve is near the
diagonal, and `recalibrated` the gain in proper scores if the forecasts were replaced by the curve.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.scores import as_forecasts, check_chances, one_vs_rest
from bayescm.evidence.scores import top_label as highest
from bayescm.measures.catalogue import resolve
from bayescm.posteriors.calibration import calibration
from bayescm.posteriors.calibration_bands import few_values
from bayescm.posteriors.dirichlet_calibration import dirichlet_calibration
from bayescm.validate import check_prob, check_seed, fail

__all__ = ["curve", "recalibrated", "test"]

_DEFAULT_PLACES = 50
_NOT_CHANCES = ("not probabilities", "pass e.g. at=[0.1, 0.5]")
_MOST_EXACT = 0.02  # of the forecasts
# Proper scores, and the part of each that recalibration takes away.
_GAINS = {"brier": "miscalibration_full", "log_loss": "log_miscalibration_full"}


# The curve with its band, and what it takes for granted.


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
    places = _curve_places(every) if at is None else check_chances(at, *_NOT_CHANCES)
    options = {"places": places, "prob": prob, "simultaneous": simultaneous}
    return in_views(every, partial(_curve, asked=at is not None, **options))


def _curve(evidence, *, places, asked, prob, simultaneous):
    """Return the curves of two classes, with their cautions."""
    posterior = calibration(evidence)
    ends, estimate = posterior.band(places, prob, simultaneous=simultaneous)
    dims = [*posterior.template.dims, "probability"]
    shape = [*posterior.template.shape, len(places)]
    coords = dict(posterior.template.coords) | {"probability": places}
    coords |= {"prob": prob, "band": "simultaneous" if simultaneous else "pointwise"}
    columns = {
        "interval": ([*dims, "bound"], ends.reshape(*shape, 2)),
        "estimate": (dims, estimate.reshape(shape)),
        "method": (dims[:-1], np.array(posterior.methods).reshape(shape[:-1])),
    }
    cautions = [*posterior.caveats(), *_exact(posterior), *_assumed(posterior)]
    if asked and np.isnan(ends).any():
        cautions += _between(posterior)
    attrs = {"caution": " ".join(cautions)} if cautions else {}
    return xr.Dataset(columns, coords | {"bound": ["lower", "upper"]}, attrs)


def _curve_places(every):
    """Return where curves are drawn: quantiles of the forecasts, and few values themselves."""
    values: list[np.ndarray] = []
    other: list[np.ndarray] = []
    for _, view in every:
        weight = view["weight"].values if "weight" in view else np.ones(view.sizes["example"])
        for row in np.atleast_2d(view["score"].transpose(..., "example").values):
            distinct, index = np.unique(row.round(9), return_inverse=True)
            few = few_values(np.bincount(index, weight))
            (values if few else other).append(distinct if few else row)
    further = [_quantile_places(np.concatenate(other))] if other else []
    return np.unique(np.concatenate([*values, *further]))


def _quantile_places(probability):
    ends = np.quantile(probability, [0.01, 0.99])
    return np.unique(np.quantile(probability, np.linspace(0.01, 0.99, _DEFAULT_PLACES)).clip(*ends))


def _exact(posterior):
    """Say so where many forecasts are exactly 0 or 1, which a smooth curve puts near the others."""
    rows = zip(posterior.probability, posterior.methods, strict=True)
    smooth = [row for row, method in rows if method == "smooth"]
    share = np.isin(smooth, (0, 1)).mean() if smooth else 0
    if share <= _MOST_EXACT:
        return []
    exact = f"{100 * share:.3g}% of the forecasts are exactly 0 or 1."
    return [f"{exact} Where these err more often than their neighbours the band may miss the rest."]


def _assumed(posterior):
    """Say what a band takes for granted that holds steps."""
    rising = "may have a step: the band is that of a curve that never falls."
    falling = "seems to jump and to fall: the band is of its means over groups of neighbours."
    return [
        f"The curve{whose} {assumption}"
        for method, assumption in (("isotonic", rising), ("grouped", falling))
        for whose in _whose(posterior, method)
    ]


def _between(posterior):
    """Say so where a curve was asked for between the few values that forecasts take."""
    caution = "take few values: elsewhere nothing is known of the curve unless it is smooth."
    return [f"The forecasts{whose} {caution}" for whose in _whose(posterior, "binomial")]


def _whose(posterior, method):
    """Return whose band is made by a method, in one phrase if any is."""
    names = posterior.names or [""]
    chosen = [
        str(name) for name, each in zip(names, posterior.methods, strict=True) if each == method
    ]
    return [f" of {', '.join(chosen)}" if posterior.names else ""] if chosen else []


# Whether the curve is near the diagonal.


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
        raise fail("delta must be a probability", delta, "0 < delta < 1", "pass `delta=0.05`")
    posteriors = [(labels, calibration(view)) for labels, view in views(evidence, top_label)]
    tables = [_tested(posterior, delta).assign(**labels) for labels, posterior in posteriors]
    table = pd.concat(tables, ignore_index=True)
    leading = [name for name in ("classifier", "class") if name in table]
    table = table[[*leading, "p_calibrated", "departure"]]
    doubts = [
        doubt for _, posterior in posteriors for doubt in (*posterior.caveats(), *posterior.steps())
    ]
    if doubts:
        table.attrs["caution"] = " ".join(dict.fromkeys(doubts))
    return table


def _tested(posterior, delta):
    largest = posterior.departures(_quantile_places(posterior.probability))
    near, middle = (largest < delta).mean(axis=0), np.median(largest, axis=0)
    named = {} if posterior.names is None else {"classifier": posterior.names}
    return pd.DataFrame(named | {"p_calibrated": near, "departure": middle})


# What recalibration would bring.


def recalibrated(evidence: xr.Dataset, *, prob: float = 0.95, random_seed: int = 0) -> pd.DataFrame:
    """
    Return by how much the Brier score and the log loss would improve by recalibrating.

    Recalibration itself is other tools' work, such as scikit-learn's ``CalibratedClassifierCV``.
    This function tells what there is to gain: the score of the forecasts as they are, less that
    of the calibration curve, which no recalibration by the forecast alone can beat.

    Parameters
    ----------
    evidence : Dataset
        Probabilities, see :func:`bayescm.from_probabilities`. Of more than two classes it is the
        whole forecast that is recalibrated, by the Dirichlet calibration.
    prob : float, default 0.95
        Mass of the interval of the gain.
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        For each classifier and ``measure``: ``now``, the score in the sample; ``gain``, by how much
        recalibration would lower it, with ``lower`` and ``upper``; and ``recalibrated``, the
        difference of the first two. The lower limit of a gain is 0 where the band of the smooth
        curve holds the diagonal. ``attrs["caution"]`` says what makes the model doubtful.

    Raises
    ------
    ValueError
        If a forecast of exactly 0 or 1 is given: its log loss is infinite.

    References
    ----------
    Bröcker, J. (2009). Reliability, sufficiency, and the decomposition of proper scores. Quarterly
    Journal of the Royal Meteorological Society 135, 1512-1519. doi:10.1002/qj.456

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> odds = rng.normal(0, 3, 500)
    >>> actual = rng.random(500) < 1 / (1 + np.exp(-odds / 3))
    >>> found = recalibrated(bcm.from_probabilities(actual, 1 / (1 + np.exp(-odds))))
    >>> found["measure"].tolist(), bool((found["lower"] > 0).all())
    (['brier', 'log_loss'], True)
    """
    check_prob(prob)
    evidence = as_forecasts(evidence)
    posterior = (dirichlet_calibration if "class" in evidence.dims else calibration)(evidence)
    gains = [resolve(part) for part in _GAINS.values()]
    rng = np.random.default_rng(check_seed(random_seed))
    drawn = posterior.draw(gains, posterior.draws_by_default("parameter"), rng)
    tables = []
    for score, gain, values in zip(_GAINS, gains, drawn, strict=True):
        distribution = posterior.empirical(gain, values)
        now, median = posterior.point(resolve(score)), distribution.quantile(0.5)
        lower, upper = np.moveaxis(distribution.eti(prob), -1, 0)
        columns = {"now": now, "recalibrated": now - median, "gain": median}
        columns |= {"lower": lower, "upper": upper}
        frame = pd.DataFrame({name: np.atleast_1d(column) for name, column in columns.items()})
        frame.insert(0, "measure", score)
        if posterior.names is not None:
            frame.insert(0, "classifier", posterior.names)
        tables.append(frame)
    table = pd.concat(tables, ignore_index=True)
    if posterior.names is not None:
        order = table["classifier"].map(posterior.names.index)
        table = table.loc[order.sort_values(kind="stable").index].reset_index(drop=True)
    if cautions := posterior.caveats():
        table.attrs["caution"] = " ".join(cautions)
    return table


# Many classes as two: each against the rest, or the highest probability.
type View = tuple[dict[str, Hashable], xr.Dataset]


def views(evidence: xr.Dataset, top_label: bool = False) -> list[View]:
    """Return what each view is of, by dim, and its probabilities of two classes."""
    evidence = as_forecasts(evidence)
    if top_label:
        if "classifier" not in evidence.dims:
            return [({}, highest(evidence))]
        names = evidence["classifier"].values.tolist()
        return [({"classifier": k}, highest(evidence.sel(classifier=k))) for k in names]
    if "class" not in evidence.dims:
        return [({}, evidence)]
    return [({"class": k}, one_vs_rest(evidence, k)) for k in evidence["class"].values.tolist()]


def in_views(every: list[View], ask: Callable[[xr.Dataset], xr.Dataset]) -> xr.Dataset:
    """Ask each view, and put the answers and their cautions together."""
    if not every[0][0]:
        return ask(every[0][1])
    (dim,) = every[0][0]
    parts, cautions = [], []
    for labels, view in every:
        answer = ask(view).drop_vars("positive", errors="ignore")
        caution = answer.attrs.pop("caution", "")
        cautions += [f"Of {dim} {labels[dim]}: {caution}"] if caution else []
        parts.append(answer.drop_vars(dim, errors="ignore").expand_dims({dim: [labels[dim]]}))
    joined = xr.concat(parts, dim, join="exact", combine_attrs="drop")
    leading = [dim for dim in ("classifier", "class") if dim in joined.dims]
    joined = joined.transpose(*leading, ...)
    return joined.assign_attrs({"caution": " ".join(cautions)} if cautions else {})

"""
Calibration: the calibration curve, a test, and the possible gain from recalibration.

`curve` returns a simultaneous band, `test` the probability that the curve is near the diagonal, and
`recalibrated` the improvement of proper scores if the forecasts were replaced by the curve.
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
_MOST_EXACT = 0.02  # largest share of forecasts of 0 or 1 without a caution
# Proper scores, and the part of each that recalibration removes.
_GAINS = {"brier": "miscalibration_full", "log_loss": "log_miscalibration_full"}


# The curve with its band, and the assumptions of the band.


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
        Probabilities from :func:`bayescm.from_probabilities`. With more than two classes, there is
        one curve for each class against the rest.
    at : array_like, shape (T,), optional
        Probabilities at which to evaluate the curve. By default 50 points between the 1% and the
        99% quantile of the forecasts or, if the forecasts have few distinct values, these values.
        Outside the range of the forecasts, the deviation of a smooth curve stays constant.
    prob : float, default 0.95
        Probability that the band contains the whole curve or, if pointwise, any one of its points.
    simultaneous : bool, default True
        Whether the band is for the whole curve. With more than two classes, each class has a
        separate band.
    top_label : bool, default False
        Whether to calibrate the highest probability instead of each class, with more than two
        classes. The curve is then the proportion of correct top labels.

    Returns
    -------
    Dataset, dims ([classifier], [class], probability, bound)
        - ``interval``: the band.
        - ``estimate``: the estimate of the curve, without ``bound``.
        - ``method``: the method of the band, without ``bound`` and ``probability``.

        The scalar coordinates are ``prob`` and ``band``.

    Notes
    -----
    The assumptions depend on the examples, and ``method`` names them:

    - ``binomial``: the forecasts have few distinct values, at most 20, with at least 10 examples
      per value on average. The band consists of the Clopper-Pearson limits for each value, at a
      Bonferroni-corrected level, which are valid jointly for any curve. Elsewhere the band is NaN.
      The estimate is the median with Jeffreys' prior.
    - ``isotonic``: the curve may have a step. The band is valid for a non-decreasing curve
      (:func:`bayescm.classical.isotonic_band`), and always simultaneous. The estimate is the
      isotonic regression. ``attrs["caution"]`` mentions this.
    - ``grouped``: the curve may have a step, and decreases somewhere. The band is for the means of
      the curve over groups of neighbouring forecasts, at most ten, computed as for ``binomial``.
      ``attrs["caution"]`` mentions this.
    - ``smooth``: the curve is assumed to be smooth. The band is based on the largest deviation of
      the log odds from their mean, in units of their standard deviation. The estimate is the
      posterior median.

    A step is detected by its Bayes factor. The wider the alternative band, the larger the Bayes
    factor must be. With 60 examples, the isotonic band is hardly wider than the smooth one, and is
    usually returned. ``attrs["caution"]`` also mentions classes with fewer than 20 examples, and
    forecasts of exactly 0 or 1.

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
    """Return the points of the curve: quantiles of the forecasts, or their few distinct values."""
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
    """Return a caution if many forecasts are exactly 0 or 1, which a smooth curve may misfit."""
    rows = zip(posterior.probability, posterior.methods, strict=True)
    smooth = [row for row, method in rows if method == "smooth"]
    share = np.isin(smooth, (0, 1)).mean() if smooth else 0
    if share <= _MOST_EXACT:
        return []
    exact = f"{100 * share:.3g}% of the forecasts are exactly 0 or 1."
    return [
        (
            f"{exact} If these are wrong more often than their neighbours, the band may "
            "miss the other forecasts."
        )
    ]


def _assumed(posterior):
    """Return cautions about the assumptions of bands that allow steps."""
    rising = "may have a step; the band assumes a curve that never falls."
    falling = "seems to jump and to fall; the band is for its means over groups of neighbours."
    return [
        f"The curve{whose} {assumption}"
        for method, assumption in (("isotonic", rising), ("grouped", falling))
        for whose in _whose(posterior, method)
    ]


def _between(posterior):
    """Return a caution if the curve is requested between the few values of the forecasts."""
    caution = "have few values. Between these values, the curve is unknown unless it is smooth."
    return [f"The forecasts{whose} {caution}" for whose in _whose(posterior, "binomial")]


def _whose(posterior, method):
    """Return a phrase that names the classifiers whose band uses a method."""
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
    Return the probability that the calibration curve is close to the diagonal.

    Parameters
    ----------
    evidence : Dataset
        Probabilities. With more than two classes, each class is tested against the rest.
    delta : float, default 0.05
        Largest accepted distance of the curve from the diagonal, as a difference of probabilities.
    top_label : bool, default False
        Whether to test the highest probability instead of each class, with more than two classes.

    Returns
    -------
    DataFrame
        One row per classifier (and ``class``):

        - ``p_calibrated``: the probability that the curve is within ``delta`` of the diagonal
          between the 1% and the 99% quantile of the forecasts.
        - ``departure``: the posterior median of the largest distance from the diagonal.

        ``attrs["caution"]`` mentions reasons to doubt the model, such as a step. It also mentions
        if there are too few examples for a high probability.

    Notes
    -----
    The curve is the smooth one. For forecasts with few distinct values, only these values are used,
    each with Jeffreys' prior.

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
        raise fail("`delta` must be between 0 and 1", delta, "", "pass `delta=0.05`")
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


# The possible gain from recalibration.


def recalibrated(evidence: xr.Dataset, *, prob: float = 0.95, random_seed: int = 0) -> pd.DataFrame:
    """
    Return the possible gain in Brier score and log loss from recalibration.

    The gain is the score of the forecasts minus the score of the calibration curve. No
    recalibration that uses only the forecast can achieve more. To recalibrate a classifier, use
    other tools, such as scikit-learn's ``CalibratedClassifierCV``.

    Parameters
    ----------
    evidence : Dataset
        Probabilities from :func:`bayescm.from_probabilities`. With more than two classes, the whole
        probability vector is recalibrated, by Dirichlet calibration.
    prob : float, default 0.95
        Probability of the interval of the gain.
    random_seed : int, default 0
        Seed of the draws.

    Returns
    -------
    DataFrame
        One row per classifier and ``measure``:

        - ``now``: the score in the sample.
        - ``gain``, ``lower`` and ``upper``: the reduction of the score by recalibration. The lower
          limit is 0 if the band of the smooth curve contains the diagonal.
        - ``recalibrated``: ``now`` minus ``gain``.

        ``attrs["caution"]`` mentions reasons to doubt the model.

    Raises
    ------
    ValueError
        If a forecast is exactly 0 or 1, because its log loss is infinite.

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


# Two-class views of many classes: each class against the rest, or the highest probability.
type View = tuple[dict[str, Hashable], xr.Dataset]


def views(evidence: xr.Dataset, top_label: bool = False) -> list[View]:
    """Return the labels of each two-class view, and its probabilities."""
    evidence = as_forecasts(evidence)
    if top_label:
        if "classifier" not in evidence.dims:
            return [({}, highest(evidence))]
        names = evidence["classifier"].values.tolist()
        return [({"classifier": k}, highest(evidence.sel(classifier=k))) for k in names]
    if "class" not in evidence.dims:
        return [({}, evidence)]
    occur = {*evidence["actual"].values.tolist()}  # without examples, a class has no curve
    labels = [label for label in evidence["class"].values.tolist() if label in occur]
    return [({"class": label}, one_vs_rest(evidence, label)) for label in labels]


def in_views(every: list[View], ask: Callable[[xr.Dataset], xr.Dataset]) -> xr.Dataset:
    """Evaluate each view, and combine the results and their cautions."""
    if not every[0][0]:
        return ask(every[0][1])
    (dim,) = every[0][0]
    parts, cautions = [], []
    for labels, view in every:
        answer = ask(view).drop_vars("positive", errors="ignore")
        caution = answer.attrs.pop("caution", "")
        cautions += [f"For {dim} {labels[dim]}: {caution}"] if caution else []
        parts.append(answer.drop_vars(dim, errors="ignore").expand_dims({dim: [labels[dim]]}))
    joined = xr.concat(parts, dim, join="exact", combine_attrs="drop")
    leading = [dim for dim in ("classifier", "class") if dim in joined.dims]
    joined = joined.transpose(*leading, ...)
    return joined.assign_attrs({"caution": " ".join(cautions)} if cautions else {})

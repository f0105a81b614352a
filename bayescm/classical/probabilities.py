"""
Calibration of probabilities: isotonic bands, CORP diagrams, and calibration tests.

All methods refer to the sample. They use the distinct forecasts p of a classifier, with the number
of examples and of positives for each.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import isotonic_regression
from scipy.special import chdtrc, ndtr

from bayescm.evidence.scores import as_probabilities, check_chances
from bayescm.posteriors import calibration_bands
from bayescm.validate import check_prob, check_seed, check_whole, fail

_GRID = np.arange(101) / 100


def isotonic_band(evidence: xr.Dataset, *, at: Any = None, prob: float = 0.95) -> xr.Dataset:
    """
    Return a confidence band of an increasing calibration curve.

    Coverage is guaranteed for any sample size and any increasing curve, even with steps, so the
    band is wide. For smooth curves, :func:`bayescm.curves.calibration.curve` has a narrower band;
    it uses this one if the curve may have a step.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes. See :func:`bayescm.from_probabilities`.
    at : array_like, shape (T,), optional
        Probabilities at which to evaluate the band. By default 0, 0.01, ..., 1.
    prob : float, default 0.95

    Returns
    -------
    Dataset, dims ([classifier], probability, bound)
        Band ``interval``. If its lower end is above its upper end, the examples contradict an
        increasing curve, and ``attrs["caution"]`` is set.

    Raises
    ------
    TypeError, ValueError
        If the evidence does not contain probabilities of two classes, or contains importance
        weights or a given prevalence.

    Notes
    -----
    The curve at x is at least the mean of the curve over any set of forecasts below x, for which
    the binomial limit of Clopper and Pearson applies. The band is the best limit over all ranges of
    forecasts, with a Bonferroni correction for their number. With more than 100 distinct forecasts,
    neighbouring forecasts are merged, which keeps the guarantee and makes the band narrower.

    References
    ----------
    Dimitriadis, T., Dümbgen, L., Henzi, A., Puke, M. & Ziegel, J. (2023). Honest calibration
    assessment for binary outcome predictions. Biometrika 110, 663-680.
    doi:10.1093/biomet/asac068

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(300)
    >>> band = isotonic_band(bcm.from_probabilities(rng.random(300) < p, p), at=[0.2, 0.8])
    >>> band["interval"].sel(probability=0.2).values.round(2)
    array([0.  , 0.62])
    """
    check_prob(prob)
    grid = (
        _GRID if at is None else check_chances(at, "not probabilities", "pass e.g. at=[0.1, 0.5]")
    )
    coords = {"probability": grid, "bound": ["lower", "upper"]}
    names, parts, falling = [], [], []
    for name, p, positives, total in _forecasts(evidence):
        bounds, _ = calibration_bands.isotonic(p, positives, total, grid, prob)
        names.append(name)
        parts.append(xr.Dataset({"interval": (list(coords), bounds)}, coords))
        if (bounds[:, 0] > bounds[:, 1]).any():
            falling.append(name)
    band = _concatenate(names, parts).assign_coords(prob=prob)
    if falling:
        of = "" if falling == [None] else f" of {', '.join(map(str, falling))}"
        band.attrs["caution"] = (
            f"the estimated curve{of} decreases somewhere, but the band assumes increasing curves"
        )
    return band


def corp(
    evidence: xr.Dataset, *, prob: float = 0.95, draws: int = 1000, random_seed: int = 0
) -> xr.Dataset:
    """
    Return the CORP reliability diagram, based on isotonic regression.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes. See :func:`bayescm.from_probabilities`.
    prob : float, default 0.95
    draws : int, default 1000
        Number of samples simulated from the forecasts for the consistency band.
    random_seed : int, default 0

    Returns
    -------
    Dataset, dims ([classifier], probability)
        ``recalibrated`` is the isotonic regression at every observed forecast. ``consistency``
        (bound) is the band in which it would be with probability ``prob``, pointwise, if the
        forecasts were calibrated. ``miscalibration``, ``discrimination`` and ``uncertainty`` are
        the components of the Brier score, which equals uncertainty - discrimination +
        miscalibration.

    References
    ----------
    Dimitriadis, T., Gneiting, T. & Jordan, A. I. (2021). Stable reliability diagrams for
    probabilistic classifiers. Proceedings of the National Academy of Sciences 118, e2016191118.
    doi:10.1073/pnas.2016191118

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_probabilities([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.8, 0.9])
    >>> corp(evidence)["recalibrated"].values
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    check_prob(prob)
    check_whole("draws", draws, 2, "draws", 1000)
    rng = np.random.default_rng(check_seed(random_seed))
    names, parts = [], []
    for name, p, positives, total in _forecasts(evidence):
        names.append(name)
        curve = isotonic_regression(positives / total, weights=total).x
        n = np.round(total).astype(int)
        replicates = [
            isotonic_regression(row / total, weights=total).x
            for row in rng.binomial(n, np.broadcast_to(p, (draws, len(p))))
        ]
        consistency = np.quantile(replicates, [(1 - prob) / 2, (1 + prob) / 2], axis=0).T
        prevalence = positives.sum() / total.sum()
        uncertainty = _brier(prevalence, positives, total)
        least = _brier(curve, positives, total)
        variables = {
            "recalibrated": ("probability", curve),
            "consistency": (("probability", "bound"), consistency),
            "miscalibration": _brier(p, positives, total) - least,
            "discrimination": uncertainty - least,
            "uncertainty": uncertainty,
        }
        parts.append(xr.Dataset(variables, {"probability": p, "bound": ["lower", "upper"]}))
    return _concatenate(names, parts).assign_coords(prob=prob)


def _brier(p, positives, total):
    return float((positives * (1 - p) ** 2 + (total - positives) * p**2).sum() / total.sum())


def hosmer_lemeshow(
    evidence: xr.Dataset, *, groups: int = 10, fitted: bool = False
) -> pd.DataFrame:
    """
    Return the Hosmer-Lemeshow test of observed and expected positives.

    Examples are grouped by forecast. The power of the test depends on the number of examples and
    its result on the groups. In contrast, :func:`bayescm.curves.calibration.test` quantifies how
    close the curve is to the diagonal.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes. See :func:`bayescm.from_probabilities`.
    groups : int, default 10
        Number of groups of approximately equal size, formed by quantiles of the forecasts.
    fitted : bool, default False
        Whether the model was fitted to the same examples, which reduces the degrees of freedom by
        two.

    Returns
    -------
    DataFrame
        ``statistic``, ``df`` and ``p_value`` for each classifier.

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
    >>> table = hosmer_lemeshow(bcm.from_probabilities(rng.random(500) < p, p))
    >>> int(table["df"][0]), bool(table["p_value"][0] > 0.05)
    (10, True)
    """
    if not isinstance(groups, int | np.integer) or groups < 3:
        raise fail("`groups` must be a whole number, 3 or more", groups, "", "pass `groups=10`")
    rows = []
    for name, p, positives, total in _forecasts(evidence):
        # The group of a forecast is determined by the middle one of its examples.
        quantile = (np.cumsum(total) - total / 2) / total.sum()
        _, group = np.unique((quantile * groups).astype(int), return_inverse=True)
        expected = np.bincount(group, total * p)
        observed, n = np.bincount(group, positives), np.bincount(group, total)
        variance = expected * (1 - expected / n)
        if not (variance > 0).all():
            raise fail(
                "A group has only forecasts of 0 or only forecasts of 1",
                ...,
                "",
                "pass fewer groups, or `clip=` to from_probabilities",
            )
        df = len(n) - 2 * fitted
        if df < 1:
            raise fail(
                "The test needs at least three groups, but there are only {} distinct forecasts",
                len(n),
                "",
                "compare the proportions for each forecast value instead",
            )
        statistic = float(((observed - expected) ** 2 / variance).sum())
        test = {"statistic": statistic, "df": df, "p_value": chdtrc(df, statistic)}
        rows.append(_labels(name) | test)
    return pd.DataFrame(rows)


def spiegelhalter_z(evidence: xr.Dataset) -> pd.DataFrame:
    """
    Return Spiegelhalter's test of calibration, based on the Brier score.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes. See :func:`bayescm.from_probabilities`.

    Returns
    -------
    DataFrame
        For each classifier, the standard normal z ``statistic`` and the two-sided ``p_value``. The
        statistic is positive if the Brier score is larger than expected for calibrated forecasts.

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
    for name, p, positives, total in _forecasts(evidence):
        # Z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)) over the examples.
        variance = (total * (1 - 2 * p) ** 2 * p * (1 - p)).sum()
        if not variance > 0:
            raise fail(
                "The test is undefined if all forecasts are 0, 1/2 or 1",
                ...,
                "",
                "use bcm.summary(evidence, ['brier', 'calibration_in_the_large'])",
            )
        z = float(((positives - total * p) * (1 - 2 * p)).sum() / np.sqrt(variance))
        rows.append(_labels(name) | {"statistic": z, "p_value": 2 * ndtr(-abs(z))})
    return pd.DataFrame(rows)


class _Forecasts(NamedTuple):
    """
    Forecasts and outcomes of one classifier.

    Attributes
    ----------
    name : label or None
        Name of the classifier, or None without such a dimension.
    p : ndarray, shape (m,)
        Distinct forecasts, in increasing order.
    positives, total : ndarray, shape (m,)
        Number of positive examples, and of all examples, with each forecast.
    """

    name: Any
    p: np.ndarray
    positives: np.ndarray
    total: np.ndarray


def _forecasts(evidence: xr.Dataset) -> Iterator[_Forecasts]:
    """Yield the forecasts and outcomes of each classifier in the sample."""
    evidence = as_probabilities(evidence)
    if "importance" in evidence or "prevalence" in evidence.coords:
        raise fail(
            "Classical methods for probabilities cannot use importance weights or a set prevalence",
            ...,
            "",
            "use bcm.calibration.curve or bcm.summary",
        )
    actual = (evidence["actual"] == evidence["positive"]).values.astype(float)
    weight = evidence["weight"].values if "weight" in evidence else np.ones(len(actual))
    names = evidence["classifier"].values.tolist() if "classifier" in evidence.dims else [None]
    for name, row in zip(names, np.atleast_2d(evidence["score"].values), strict=True):
        p, position = np.unique(row, return_inverse=True)
        positives, total = np.bincount(position, weight * actual), np.bincount(position, weight)
        yield _Forecasts(name, p, positives, total)


def _concatenate(names, parts):
    """Concatenate the results of the classifiers, without a dimension if there is none."""
    if names == [None]:
        return parts[0]
    return xr.concat(parts, "classifier", join="outer").assign_coords(classifier=names)


def _labels(name):
    return {} if name is None else {"classifier": name}

"""Calibration curves that never fall: an honest band, and the CORP reliability diagram."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import isotonic_regression

from bayescm.classical.probabilities.forecasts import Sample, by_classifier, samples
from bayescm.direct.probabilities import bands
from bayescm.evidence.scored.probabilities import check_chances
from bayescm.validate import check_prob, check_seed, check_whole

_DEFAULT = np.arange(101) / 100
_BAD = ("not probabilities", "pass e.g. at=[0.1, 0.5]")


def isotonic_band(evidence: xr.Dataset, *, at: Any = None, prob: float = 0.95) -> xr.Dataset:
    """
    Return a band that holds the whole calibration curve if this never falls, whatever its shape.

    Its coverage is guaranteed for any number of examples, steps included, and it is wide:
    :func:`bayescm.curves.calibration.curve` has a narrower one for smooth curves, and this one
    where the curve may have a step.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.
    at : array_like, shape (T,), optional
        Probabilities at which to evaluate the band; by default 0, 0.01, ..., 1.
    prob : float, default 0.95

    Returns
    -------
    Dataset, dims ([classifier], probability, bound)
        ``interval``; where its lower end is above the upper one, no rising curve agrees with the
        examples, and ``attrs["caution"]`` says so.

    Raises
    ------
    TypeError, ValueError
        If these are not probabilities of two classes, or are weighted by importance.

    Notes
    -----
    The curve at x is at least the mean of the curve over any forecasts below x, of which the
    binomial limit of Clopper and Pearson holds; the band takes the best of all ranges of forecasts,
    each at the level that is left when it is shared out among all of them. Beyond 100 different
    forecasts neighbours are put together, which keeps the guarantee and shortens the band.

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
    >>> found = isotonic_band(bcm.from_probabilities(rng.random(300) < p, p), at=[0.2, 0.8])
    >>> found["interval"].sel(probability=0.2).values.round(2)
    array([0.  , 0.62])
    """
    check_prob(prob)
    places = _DEFAULT if at is None else check_chances(at, *_BAD)
    parts, crossed = [], []
    for sample in samples(evidence):
        ends, _ = bands.isotonic(*sample[1:], places, prob)
        crossed += [sample.name] if (ends[:, 0] > ends[:, 1]).any() else []
        coords = {"probability": places, "bound": ["lower", "upper"]}
        parts.append((sample.name, xr.Dataset({"interval": (list(coords), ends)}, coords)))
    found = by_classifier(parts).assign_coords(prob=prob)
    if crossed:
        whose = "" if crossed == [None] else f" of {', '.join(map(str, crossed))}"
        found.attrs["caution"] = f"the curve{whose} falls somewhere: this band is of rising curves"
    return found


def corp(
    evidence: xr.Dataset, *, prob: float = 0.95, draws: int = 1000, random_seed: int = 0
) -> xr.Dataset:
    """
    Return the CORP reliability diagram: the isotonic regression on the forecasts, with what it is.

    Parameters
    ----------
    evidence : Dataset
        Probabilities of two classes, see :func:`bayescm.from_probabilities`.
    prob : float, default 0.95
    draws : int, default 1000
        Samples drawn with the forecasts as their chances.
    random_seed : int, default 0

    Returns
    -------
    Dataset, dims ([classifier], probability)
        ``recalibrated``, the isotonic regression at every forecast that was given; ``consistency``
        (bound), where it would lie with probability ``prob`` at each of them were the forecasts
        right; and the parts of the Brier score ``miscalibration``, ``discrimination`` and
        ``uncertainty``: it is uncertainty - discrimination + miscalibration.

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
    parts = [(each.name, _corp(each, prob, draws, rng)) for each in samples(evidence)]
    return by_classifier(parts).assign_coords(prob=prob)


def _corp(sample: Sample, prob, draws, rng):
    forecast, hits, total = sample[1:]
    curve = _isotonic(hits, total)
    chance = np.broadcast_to(forecast, (draws, len(forecast)))
    copies = [_isotonic(row, total) for row in rng.binomial(np.round(total).astype(int), chance)]
    ends = np.quantile(copies, [(1 - prob) / 2, (1 + prob) / 2], axis=0).T
    share = hits.sum() / total.sum()
    scores = [_brier(each, hits, total) for each in (forecast, curve, share)]
    columns = {
        "recalibrated": ("probability", curve),
        "consistency": (("probability", "bound"), ends),
        "miscalibration": scores[0] - scores[1],
        "discrimination": scores[2] - scores[1],
        "uncertainty": scores[2],
    }
    return xr.Dataset(columns, {"probability": forecast, "bound": ["lower", "upper"]})


def _isotonic(hits, total):
    return isotonic_regression(hits / total, weights=total).x


def _brier(forecast, hits, total):
    return float((hits * (1 - forecast) ** 2 + (total - hits) * forecast**2).sum() / total.sum())

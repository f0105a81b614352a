"""Intervals of areas by their moments, and by draws where these are not enough."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from bayescm.curves.roc import NUMBER_DRAWS, DrawnCurves, labels, samples
from bayescm.distributions.moments import CornishFisherBeta
from bayescm.evidence.scores import as_scores
from bayescm.posteriors.scores import areas
from bayescm.validate import check_kind, check_prob

_LEAST = 2.7 / NUMBER_DRAWS**0.5  # the Monte Carlo error of a bound of 95 %, in standard deviations


def interval(
    evidence: xr.Dataset, prob: float, kind: str, drawn: Callable[[], xr.DataArray]
) -> xr.DataArray:
    """
    Return the intervals of the areas under all curves.

    Parameters
    ----------
    evidence : Dataset
        Scores.
    prob, kind
        See `bayescm.curves.auc`.
    drawn : callable
        Returns the intervals by draws; asked where the moments tell less than these.

    Returns
    -------
    DataArray, dims ([fold | group], [classifier], [class], bound)
    """
    check_prob(prob), check_kind(kind)
    evidence = as_scores(evidence)
    every = [each for part in samples(evidence) for each in areas(part)]
    found = CornishFisherBeta(
        *np.array([(x.unit_mean, x.unit_sd, x.skew, x.excess) for x in every]).T
    )
    labelled = DrawnCurves([], [], *labels(evidence, False))
    ends = labelled.label(list(getattr(found, kind)(prob)), "auc")
    ends = ends.rename(draw="bound").transpose(..., "bound").assign_coords(bound=["lower", "upper"])
    good = (found.error_of(1.96) <= _LEAST * found.unit_sd).reshape(ends.shape[:-1])
    return ends if good.all() else ends.where(xr.DataArray(good, dims=ends.dims[:-1]), drawn())

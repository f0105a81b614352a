"""Areas of several classifiers on the same examples, tied to each other."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from bayescm.curves.roc import DrawnCurves, samples
from bayescm.evidence.scores import as_scores
from bayescm.posteriors.roc import curve
from bayescm.posteriors.roc.paired_areas import couple
from bayescm.posteriors.scores import arrays


def tied_areas(
    evidence: xr.Dataset, draw: Callable[[xr.Dataset], DrawnCurves], random_seed: int | None
) -> xr.DataArray:
    """
    Draw the areas of classifiers, each as if it were alone, and tie those of the same examples.

    Parameters
    ----------
    evidence : Dataset
        Scores of classifiers, two classes.
    draw : callable
        Function from the evidence of one classifier to its curves.
    random_seed : int or None

    Returns
    -------
    DataArray, dims (draw, [fold | group], classifier)
    """
    each = [evidence.isel(classifier=[index]) for index in range(evidence.sizes["classifier"])]
    alone = xr.concat([draw(one).map(curve.auc, "auc") for one in each], "classifier")
    values = alone.transpose("draw", ..., "classifier")
    areas = values.values.reshape(len(values), -1, len(each))
    rng = np.random.default_rng(random_seed)
    parts = enumerate(samples(as_scores(evidence)))
    tied = [couple(areas[:, index], *arrays(part), rng) for index, part in parts]
    return values.copy(data=np.stack(tied, axis=1).reshape(values.shape))

"""By how much recalibration would improve the probabilities."""

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.direct.calibration import calibration
from bayescm.direct.dirichlet_calibration import dirichlet_calibration
from bayescm.evidence.scores import as_forecasts
from bayescm.measures.catalogue import resolve
from bayescm.validate import check_prob, check_seed

# Proper scores, and the part of each that recalibration takes away.
_PARTS = {"brier": "miscalibration_full", "log_loss": "log_miscalibration_full"}


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
    gains = [resolve(part) for part in _PARTS.values()]
    rng = np.random.default_rng(check_seed(random_seed))
    drawn = posterior.draw(gains, posterior.draws_by_default("parameter"), rng)
    tables = []
    for score, gain, values in zip(_PARTS, gains, drawn, strict=True):
        known = posterior.drawn(gain, values)
        now, middle = posterior.point(resolve(score)), known.quantile(0.5)
        ends = np.moveaxis(known.eti(prob), -1, 0)
        columns = {"now": now, "recalibrated": now - middle, "gain": middle}
        columns |= {"lower": ends[0], "upper": ends[1]}
        frame = pd.DataFrame({name: np.atleast_1d(each) for name, each in columns.items()})
        frame.insert(0, "measure", score)
        if posterior.names is not None:
            frame.insert(0, "classifier", posterior.names)
        tables.append(frame)
    found = pd.concat(tables, ignore_index=True)
    if posterior.names is not None:
        order = found["classifier"].map(posterior.names.index)
        found = found.loc[order.sort_values(kind="stable").index].reset_index(drop=True)
    if said := posterior.doubts():
        found.attrs["caution"] = " ".join(said)
    return found

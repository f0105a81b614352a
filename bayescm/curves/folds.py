"""One area for all folds of a cross-validation."""

import numpy as np
import xarray as xr

from bayescm.curves.draws import interval_of, number_draws
from bayescm.curves.roc import NUMBER_DRAWS
from bayescm.validate import fail


def fold_auc(
    evidence: xr.Dataset,
    *,
    rho: float | None = None,
    prob: float = 0.95,
    kind: str = "eti",
    draws: int = NUMBER_DRAWS,
    random_seed: int = 0,
) -> xr.DataArray:
    """
    Return the posterior interval of the mean AUC over the folds of a cross-validation.

    Given the data, the folds' areas are independent except for the training examples they share:
    that correlation widens the distribution of the mean, as in the model `averaged_folds`.

    Parameters
    ----------
    evidence : Dataset
        Scores with folds.
    rho : float, optional
        Correlation between folds in [0, 1); by default Nadeau and Bengio's, test over test and
        training examples: by the coords ``test_share`` and ``train_size`` of
        `bayescm.learners.cross_scores`, else one over the number of folds.
    prob, kind, draws, random_seed
        See `auc`.

    Returns
    -------
    DataArray, dims ([classifier], [class], bound)

    References
    ----------
    Nadeau, C. & Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52,
    239-281. doi:10.1023/A:1024068626366

    Examples
    --------
    >>> import bayescm as bcm
    >>> halves = bcm.from_scores([0, 1, 0, 1] * 4, range(16), fold=[0] * 8 + [1] * 8)
    >>> fold_auc(halves, draws=500).dims
    ('bound',)
    """
    values = number_draws(evidence, "auc", draws=draws, random_seed=random_seed)
    if values.sizes.get("fold", 1) < 2:
        got = values.dims
        raise fail("no folds", got, "two or more folds", "pass from_scores(..., fold=)")
    number = values.sizes["fold"]
    if rho is None:
        share = float(evidence.coords.get("test_share", 1 / number))
        rho = share / (share + float(evidence.coords.get("train_size", 1 - share)))
    if not 0 <= rho < 1:
        raise fail("rho must be a correlation", rho, "0 <= rho < 1", "leave it out")
    mean = values.mean("fold")
    centre = mean.mean("draw")
    # Correlated by rho, the mean of K has 1 + K rho / (1 - rho) times the variance.
    wide = centre + (mean - centre) * np.sqrt(1 + number * rho / (1 - rho))
    return interval_of(wide.clip(0, 1), prob, kind)

"""What raters say of a truth that nobody has seen: of each example, and if they err together."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.summary import summary
from bayescm.direct.noisy_labels import noisy_labels
from bayescm.evidence.raters import as_ratings
from bayescm.validate import check_seed, fail

_DRAWS = 2000
_ASSUMED = (0.0, 0.1, 0.2, 0.4)


def true_classes(evidence: xr.Dataset, *, random_seed: int = 0, **keywords: Any) -> xr.DataArray:
    """
    Return how probable each class is to be the true one, of every example.

    What the raters are worth is averaged over its posterior. Of an example with a gold label the
    class is known; one that nobody rated has the prevalence.

    Parameters
    ----------
    evidence : Dataset
        From `bayescm.from_raters`.
    random_seed : int, default 0
    **keywords
        Those of the model ``noisy_labels``: ``concentration``, ``dependence``.

    Returns
    -------
    DataArray, dims (example, actual)
        Each row sums to 1.

    Raises
    ------
    ValueError, TypeError
        If these are not ratings, or a keyword is invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ann, bob = [1, 0, 1, 1, 0, 0, 1, 0] * 9, [1, 0, 1, 0, 0, 0, 1, 0] * 9
    >>> eve, judge = [1, 0, 1, 1, 0, 1, 1, 0] * 9, [1, 1, 1, 1, 0, 0, 1, 0] * 9
    >>> ratings = bcm.from_raters({"ann": ann, "bob": bob, "eve": eve, "judge": judge})
    >>> chances = true_classes(ratings)
    >>> chances.sel(actual=1).values[:4].round(1)
    array([1., 0., 1., 1.])
    """
    ratings = as_ratings(evidence)
    if "pattern_of" not in ratings.coords:
        todo = "make them with from_raters, and keep the coord"
        raise fail("the ratings do not say which example is which", ..., "pattern_of", todo)
    posterior = noisy_labels(ratings, **keywords)
    chances = posterior.true_classes(_DRAWS, np.random.default_rng(check_seed(random_seed)))
    return xr.DataArray(
        chances[ratings["pattern_of"].values],
        dims=("example", "actual"),
        coords={"actual": ratings["actual"].values},
        name="probability",
    )


def assumed_dependence(
    evidence: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable] = ("prevalence", "recall", "specificity"),
    *,
    dependence: Sequence[float] = _ASSUMED,
    **options: Any,
) -> pd.DataFrame:
    """
    Return how answers about raters change with the assumed dependence of their errors.

    Three raters without gold labels cannot show whether what is hard for one is hard for all. This
    is what the answer would be if it were so.

    Parameters
    ----------
    evidence : Dataset
        From `bayescm.from_raters`, of two classes.
    measures : name, function, or sequence of these
    dependence : sequence of float, default (0, .1, .2, .4)
        What is assumed: the correlation of two raters' errors on the normal scale.
    **options
        As `bayescm.summary` takes them: ``prob``, ``kind``, ``concentration``, ...

    Returns
    -------
    DataFrame
        As `bayescm.summary` returns it, with the column ``dependence`` in front.

    Raises
    ------
    ValueError
        If there are more than two classes, or a dependence is not in [0, 1).

    Examples
    --------
    >>> import bayescm as bcm
    >>> ann, bob = [1, 0, 1, 1, 0, 0, 1, 0] * 9, [1, 0, 1, 0, 0, 0, 1, 0] * 9
    >>> eve, judge = [1, 0, 1, 1, 0, 1, 1, 0] * 9, [1, 1, 1, 1, 0, 0, 1, 0] * 9
    >>> ratings = bcm.from_raters({"ann": ann, "bob": bob, "eve": eve, "judge": judge})
    >>> table = assumed_dependence(ratings, "recall", dependence=(0, 0.3))
    >>> means = table[table["classifier"] == "judge"]["mean"]
    >>> bool(means.iloc[0] > means.iloc[1])  # errors together flatter
    True
    """
    parts = []
    wanted = measures if isinstance(measures, str) or callable(measures) else list(measures)
    for each in dependence:
        part = summary(evidence, wanted, model="noisy_labels", dependence=float(each), **options)
        part.insert(0, "dependence", float(each))
        parts.append(part)
    if not parts:
        raise fail("nothing is assumed", list(dependence), "one or more numbers", "pass (0, 0.2)")
    return pd.concat(parts, ignore_index=True)

"""Which classifier has the better curve: differences between summaries of jointly drawn curves."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.curves.draws import number_draws
from bayescm.curves.roc import NUMBER_DRAWS
from bayescm.distributions.decision import check_rope, decide, sentence
from bayescm.distributions.empirical import Empirical
from bayescm.validate import check_kind, check_prob, fail, suggest


def compare(
    evidence: xr.Dataset,
    measure: str | Callable = "auc",
    *,
    prob: float = 0.95,
    kind: str = "eti",
    rope: float | tuple[float, float] = 0.0,
    reference: str | None = None,
    draws: int = NUMBER_DRAWS,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Compare classifiers scored on the same examples, pairwise.

    Parameters
    ----------
    evidence : Dataset
        Scores of two or more classifiers.
    measure
        See `number_draws`.
    prob, kind, rope, reference
        See :func:`bayescm.compare`.
    draws, random_seed
        See `auc`.

    Returns
    -------
    DataFrame
        The columns of :func:`bayescm.compare`.

    Notes
    -----
    Curves are drawn jointly: each example has the same weight for all classifiers. Areas are tied
    more closely, by the correlation that the examples show between them
    (`bayescm.posteriors.roc.paired_areas`): where DeLong's intervals cover, these are about as
    long.
    Either way each classifier keeps the interval it has by itself.

    Examples
    --------
    >>> import numpy as np
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> actual = rng.random(300) < 0.4
    >>> good = rng.normal(2 * actual, 1)
    >>> evidence = bcm.from_scores(actual, {"good": good, "worse": good + rng.normal(size=300)})
    >>> compare(evidence, "auc")[["first", "second", "p_better"]].values.tolist()
    [['good', 'worse', 1.0]]
    """
    check_prob(prob), check_kind(kind)
    region = check_rope(rope)
    values = number_draws(evidence, measure, draws=draws, random_seed=random_seed)
    names = values["classifier"].values.tolist() if "classifier" in values.dims else []
    if len(names) < 2:
        todo = "pass from_scores(actual, {'a': ..., 'b': ...})"
        raise fail("nothing to compare", names or ..., "two or more", todo)
    others = [dim for dim in values.dims if dim not in ("draw", "classifier")]
    rows = []
    for place in np.ndindex(*(values.sizes[dim] for dim in others)):
        part = values.isel(dict(zip(others, place, strict=True)))
        where = {dim: part[dim].item() for dim in others}
        for first, second in _pairs(names, reference):
            gap = part.sel(classifier=first) - part.sel(classifier=second)
            distribution = Empirical(gap.values)
            row: dict[Any, Any] = {**where, "measure": values.name}
            row |= {"first": first, "second": second}
            row |= decide(distribution, rope=region, prob=prob, kind=kind)[0]
            row |= {"paired": True, "sentence": sentence(row, rope=region, prob=prob)}
            rows.append(row)
    return pd.DataFrame(rows)


def _pairs(names, reference):
    if reference is None:
        return list(combinations(names, 2))
    if reference not in names:
        raise fail(
            "the reference is not one of the classifiers",
            reference,
            names,
            suggest(reference, names),
        )
    return [(each, reference) for each in names if each != reference]

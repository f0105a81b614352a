"""
Sums over the items of batches, for item scores, multilabel data, attempts and item counts.

A ledger stores every item. Means over items can be estimated from sums over the batches, an array
with dims (..., statistic). The statistics are:

- ``items``: the number of items.
- Sums of powers, for the moments of means.
- ``part 0``, ``part 1`` and so on: the number of items in each part of a scale.

A sum of such sums, discounted or not, is evidence of the same type.
`bayescm.posteriors.item_scores` and `multilabel` accept it.

Restricted to a partition of the scale, a Dirichlet process is a Dirichlet distribution of the
proportions of its parts (Ferguson 1973). The rule `change` detects changes in these proportions.
Each of the two middle parts contains about a quarter of the items of the first batches, and each of
the four outer parts an eighth (`cut_points`). The prior for each part is half a pseudo-item.

References
----------
Ferguson, T. S. (1973). A Bayesian analysis of some nonparametric problems. The Annals of
Statistics 1, 209-230. doi:10.1214/aos/1176342360
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.evidence_type import ChangeStatistic
from bayescm.validate import fail

_FIRST = 40  # minimum number of items to define the parts of the scale
# Quantiles at which the scale is divided. Among 2, 3, 4 and 6 parts, with 1 / K or half a
# pseudo-item each, these quantiles detect two changes soonest: one item in seven falls to the worst
# score, or all scores fall by a quarter of a standard deviation. Detection takes 4 to 13 batches of
# 50 items, compared with 8 to 39 for two parts. These are medians of 60 streams from each of three
# populations, excluding a population whose worst score is the most frequent.
_SHARES = (0.125, 0.25, 0.5, 0.75, 0.875)
_PSEUDO_ITEMS_OF_A_PART = 0.5
# Rules of alarms for sums over items.
RULES_OF_ITEMS = ("change", "batch", "floor", "reference")


# Access to the statistics by name


def statistic_of(sums: xr.DataArray, statistic: str) -> np.ndarray:
    """Return one statistic of the sums, with shape (...)."""
    return sums.values[..., sums.indexes["statistic"].get_loc(statistic)]


def part(number: Any) -> str:
    """Return the name of the statistic for a part of the scale."""
    return f"part {number}"


def number_of_items(sums: xr.DataArray) -> xr.DataArray:
    """Return the number of items for each leading index of sums."""
    sizes = sums.sel(statistic="items", drop=True)
    is_whole = (sizes.values == np.floor(sizes.values)).all()  # without forgetting
    return sizes.astype(np.int64) if is_whole else sizes


# Parts of the scale, in which changes are detected


def parts_of(sums: xr.DataArray) -> ChangeStatistic:
    """Return the number of items, or examples, in each part of a scale, (..., 1, parts)."""
    columns = sums.indexes["statistic"].str.startswith(part(""))
    numbers = sums.values[..., None, columns].astype(np.int64)
    return ChangeStatistic(numbers, prior=np.full(numbers.shape[1:], _PSEUDO_ITEMS_OF_A_PART))


def cut_points(batches: Sequence[np.ndarray]) -> np.ndarray:
    """
    Return the cut points of the scale, from the scores of the items in the first batches.

    The first batches are those that contain the first 40 items. The cuts are between neighbouring
    scores, where the proportion of items below the cut is closest to 1/8, 1/4, 1/2, 3/4 and 7/8. If
    all scores are equal, the items below and above this score are separate parts.
    """
    if not len(batches):
        return np.zeros(0)
    number = np.cumsum([len(scores) for scores in batches])
    n_batches = int(np.searchsorted(number, _FIRST)) + 1
    scores = np.sort(np.concatenate(batches[:n_batches]))
    values, first = np.unique(scores, return_index=True)
    if len(values) == 1:
        return np.array([values[0], np.nextafter(values[0], np.inf)])
    share_below = first[1:] / len(scores)
    nearest = {int(np.abs(share_below - share).argmin()) for share in _SHARES}
    return np.array([(values[index] + values[index + 1]) / 2 for index in sorted(nearest)])


def in_parts(scores: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the number of scores in each part of the scale, (parts,)."""
    return np.bincount(np.searchsorted(cuts, scores, "right"), minlength=len(cuts) + 1)


# Items of a batch


def check_one_system(evidence: xr.Dataset) -> None:
    """Raise an error if a batch has several systems."""
    if "classifier" in evidence.dims:
        todo = "add each under its own name: evidence.sel(classifier='a', drop=True)"
        names = evidence["classifier"].values.tolist()
        raise fail("A batch must have one system", names, "", todo)


def items_in_order(names: pd.Index, values: np.ndarray) -> tuple[Any, np.ndarray]:
    """
    Return the names of items and their order, which is the same if a batch is sent again.

    Named items are sorted by name. Unnamed items are sorted by their values (n,) or (n, k), and
    numbered.
    """
    values = values.reshape(len(names), -1)
    unnamed = names.equals(pd.RangeIndex(len(names)))
    by_value = np.lexsort(values.T[::-1]) if unnamed else None
    order = np.argsort(names.astype(str), kind="stable") if by_value is None else by_value
    return (np.arange(len(names)) if unnamed else names[order]), order


def names_of_items(batches: Sequence[Any], number: int) -> Any:
    """Return the names of the items of batches, or numbers if a batch has no names."""
    if all(batch.item is not None for batch in batches):
        return [name for batch in batches for name in batch.item]
    return np.arange(number)


def repeated_items(batches: Sequence[Any]) -> list[int]:
    """Return the number of items of each batch that also occur in earlier batches, by name."""
    numbers, scored = [], set[Any]()
    for batch in batches:
        numbers.append(sum(name in scored for name in batch.item or ()))
        scored.update(batch.item or ())
    return numbers


def along_units(
    coords: Mapping[str, np.ndarray], sizes: Sequence[int], dim: str
) -> dict[str, tuple[str, np.ndarray]]:
    """Return values of batches as coordinates of their units."""
    return {name: (dim, np.repeat(values, sizes)) for name, values in coords.items()}

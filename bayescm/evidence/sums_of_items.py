"""
Sums over the items of batches: a form of item scores, several labels, attempts and item counts.

A ledger stores every item. What is known of means over items follows from sums over the batches,
an array with dims (..., statistic). The statistics are ``items``, the number of items; the sums of
powers that the moments of a mean are made of; and ``part 0``, ``part 1`` ...: how many items are in
each part of a scale. Sums of sums, discounted ones as well, are evidence of the same type:
`bayescm.posteriors.item_scores` and `multilabel` take them.

Restricted to a partition of the scale, a Dirichlet process is a Dirichlet distribution of the
shares of its parts (Ferguson 1973): a change in these is what the rule `change` looks for. The
parts are about quarters and, at the ends, eighths of the items of the first batches (`cut_points`),
with half a pseudo-item in each.

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

_FIRST = 40  # items, by which the scale is parted
# Where the scale is parted. Of 2, 3, 4 and 6 parts, with 1 / K or half a pseudo-item each these see
# one item in seven fall to the worst score, or all fall by a quarter of a standard deviation,
# soonest: after 4 to 13 batches of 50, where two parts take 8 to 39 (medians of 60 streams of each
# of three populations, without one in which the worst score is also the commonest).
_SHARES = (0.125, 0.25, 0.5, 0.75, 0.875)
_PSEUDO_ITEMS_OF_A_PART = 0.5
# The rules of alarms of sums over items.
RULES_OF_ITEMS = ("change", "batch", "floor", "reference")


# The statistics by their names


def statistic_of(sums: xr.DataArray, statistic: str) -> np.ndarray:
    """Return one of the sums, (...)."""
    return sums.values[..., sums.indexes["statistic"].get_loc(statistic)]


def part(number: Any) -> str:
    """Return the name of the number of items in a part of the scale."""
    return f"part {number}"


def number_of_items(sums: xr.DataArray) -> xr.DataArray:
    """Return how many items there are, of each leading index of sums."""
    sizes = sums.sel(statistic="items", drop=True)
    is_whole = (sizes.values == np.floor(sizes.values)).all()  # where nothing is forgotten
    return sizes.astype(np.int64) if is_whole else sizes


# The parts of the scale in which a change is looked for


def parts_of(sums: xr.DataArray) -> ChangeStatistic:
    """Return how many items, or examples, are in each part of a scale, (..., 1, parts)."""
    columns = sums.indexes["statistic"].str.startswith(part(""))
    numbers = sums.values[..., None, columns].astype(np.int64)
    return ChangeStatistic(numbers, prior=np.full(numbers.shape[1:], _PSEUDO_ITEMS_OF_A_PART))


def cut_points(batches: Sequence[np.ndarray]) -> np.ndarray:
    """
    Return where the scale is parted, by the scores of the items of the first batches.

    A cut lies between two scores that occur among the first 40 items or more, where the share of
    items below is nearest to 1/8, 1/4, 1/2, 3/4 and 7/8. If all are equal, the items below and
    above them are parts.
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
    """Return how many scores (n,) are in each part of the scale."""
    return np.bincount(np.searchsorted(cuts, scores, "right"), minlength=len(cuts) + 1)


# The items of a batch


def check_one_system(evidence: xr.Dataset) -> None:
    """Raise an error if a batch has several systems."""
    if "classifier" in evidence.dims:
        todo = "add each under its own name: evidence.sel(classifier='a', drop=True)"
        names = evidence["classifier"].values.tolist()
        raise fail("a batch has one system", names, "one", todo)


def items_in_order(names: pd.Index, values: np.ndarray) -> tuple[Any, np.ndarray]:
    """
    Return the names of items and their order, which is the same if the batch is sent again.

    Items with names are in the order of these, others in the order of their values (n,) or (n, k),
    and numbered.
    """
    values = values.reshape(len(names), -1)
    unnamed = names.equals(pd.RangeIndex(len(names)))
    by_value = np.lexsort(values.T[::-1]) if unnamed else None
    order = np.argsort(names.astype(str), kind="stable") if by_value is None else by_value
    return (np.arange(len(names)) if unnamed else names[order]), order


def names_of_items(batches: Sequence[Any], number: int) -> Any:
    """Return the names of the items of batches, numbered if a batch has none."""
    if all(batch.item is not None for batch in batches):
        return [name for batch in batches for name in batch.item]
    return np.arange(number)


def repeated_items(batches: Sequence[Any]) -> list[int]:
    """Return how many items of each batch an earlier one of these has too, by their names."""
    numbers, scored = [], set[Any]()
    for batch in batches:
        numbers.append(sum(name in scored for name in batch.item or ()))
        scored.update(batch.item or ())
    return numbers


def along_units(
    coords: Mapping[str, np.ndarray], sizes: Sequence[int], dim: str
) -> dict[str, tuple[str, np.ndarray]]:
    """Return values of batches as coords of their units."""
    return {name: (dim, np.repeat(values, sizes)) for name, values in coords.items()}

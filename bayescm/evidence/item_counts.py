"""
Item counts as evidence: true positives, false positives and false negatives of each item.

Item counts are an ``xr.Dataset`` with the variables ``tp``, ``fp`` and ``fn``, each ([classifier,]
item). The optional coordinate ``group`` contains the clusters of items.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.clusters_and_slices import combine_along, with_clusters
from bayescm.evidence.descriptions import describe_item_counts
from bayescm.evidence.evidence_type import (
    BATCH_FORM,
    Columns,
    EvidenceType,
    always,
)
from bayescm.evidence.identifiers import as_pandas, has_role
from bayescm.evidence.resampling import resample_rows
from bayescm.evidence.sums_of_items import (
    RULES_OF_ITEMS,
    along_units,
    check_one_system,
    items_in_order,
    names_of_items,
    number_of_items,
    parts_of,
)
from bayescm.evidence.tabulate import check_sizes, column
from bayescm.validate import check_counts, check_row_order, fail, suggest

CELLS = ("tp", "fp", "fn")


def from_item_counts(
    counts: Any = None,
    *,
    tp: Any = None,
    fp: Any = None,
    fn: Any = None,
    item: Any = None,
    group: Any = None,
) -> xr.Dataset:
    """
    Return true positives, false positives and false negatives of items as evidence.

    Use this for detected objects in images, or named entities in documents. True negatives cannot
    be counted there, and measures that need them raise an error. ``precision``, ``recall``, ``f1``
    and ``jaccard`` are computed from the sums over the population of items (micro averages).
    ``f1_samples`` is the mean over items.

    Parameters
    ----------
    counts : DataFrame, or mapping of str to DataFrame or mapping, optional
        Table with one row per item and columns ``tp``, ``fp`` and ``fn``. A mapping contains the
        tables of several systems on the same items, in the same order. A DataFrame column named
        item, or a synonym such as image or document, labels the items.
    tp, fp, fn : array_like of int, shape (n,), optional
        True positives, false positives and false negatives of each item, instead of ``counts``.
    item : array_like, shape (n,), optional
        Item labels, which must be distinct.
    group : array_like, shape (n,), optional
        Cluster of each item, such as the video that contains an image.

    Returns
    -------
    Dataset, dims ([classifier,] item)

    Raises
    ------
    ValueError
        If a count is negative, fractional or missing, lengths differ, or an item occurs twice. If
        the items of systems differ or are in a different order.

    Examples
    --------
    >>> evidence = from_item_counts(tp=[3, 0, 5], fp=[1, 0, 2], fn=[0, 2, 1])
    >>> dict(evidence.sizes)
    {'item': 3}
    """
    columns = {"tp": tp, "fp": fp, "fn": fn}
    if counts is None:
        counts = columns
    elif any(column is not None for column in columns.values()):
        todo = "pass a table, or `tp=`, `fp=` and `fn=`"
        raise fail("A table of counts cannot be combined with tp, fp or fn", ..., "", todo)
    counts = as_pandas(counts)
    several = isinstance(counts, Mapping) and not {*CELLS} & {*counts}
    systems = dict(counts) if several else {"counts": counts}
    systems = {name: as_pandas(table) for name, table in systems.items()}
    if not systems:
        raise fail("No systems are given", ..., "", 'pass e.g. {"a": table}')
    check_row_order({"counts": systems, "item": item, "group": group})
    tables = [_table(name, table) for name, table in systems.items()]
    sizes = {str(name): len(table[0]) for name, table in zip(systems, tables, strict=True)}
    item = _items_of(systems) if item is None else item
    if item is not None:
        labels = np.asarray(column("item", item))
        sizes["item"] = len(labels)
    check_sizes(sizes)
    if item is None:
        labels = np.arange(len(tables[0][0]))
    if (twice := pd.Index(labels).duplicated()).any():
        todo = "add up its counts first"
        raise fail("Item {} occurs twice", labels[int(np.argmax(twice))], "", todo)
    stacked = np.stack(tables)
    dims = ("classifier", "item") if several else ("item",)
    values = stacked if several else stacked[0][None]
    evidence = xr.Dataset(
        {
            name: (dims, values[:, index] if several else values[0, index])
            for index, name in enumerate(CELLS)
        },
        {"item": labels},
    )
    if several:
        evidence = evidence.assign_coords(classifier=[str(name) for name in systems])
    return as_item_counts(with_clusters(evidence, group, "item"))


def _items_of(systems):
    """Return the column of the items, or None."""
    columns: dict[Any, np.ndarray] = {}
    for name, table in systems.items():
        named = [label for label in table if has_role(label, "item")] if _is_frame(table) else []
        if len(named) == 1:
            columns[name] = table[named[0]].to_numpy()
    if not columns:
        return None
    (first, items), *others = columns.items()
    for name, other in others:
        if not np.array_equal(items, other):
            raise fail(
                f"{name} and {first} have different items, or the same items in a different order",
                ...,
                "",
                "give all tables the same items in the same order",
            )
    return items


def _is_frame(table):
    return isinstance(table, pd.DataFrame)


def _table(name, table):
    """Return the counts (3, n) of one system."""
    values = []
    for cell in CELLS:
        if cell not in table or table[cell] is None:
            given = [str(key) for key in table if table[key] is not None]
            todo = f"{suggest(cell, given)} give tp, fp and fn".strip()
            raise fail(f"{name} has no {cell}, only {{}}", given, "", todo)
        counts = check_counts(table[cell], name=f"a count ({cell})", todo="pass whole numbers")
        if counts.ndim != 1:
            todo = "pass one number for each item"
            raise fail(f"{cell} must be one column, but its shape is {{}}", counts.shape, "", todo)
        values.append(counts)
    check_sizes({cell: len(counts) for cell, counts in zip(CELLS, values, strict=True)})
    return np.stack(values)


def is_item_counts(evidence: Any) -> bool:
    """Return True if evidence consists of item counts."""
    return (
        isinstance(evidence, xr.Dataset)
        and {*CELLS} <= {*evidence.data_vars}
        and all("item" in evidence[name].dims for name in CELLS)
    )


def as_item_counts(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate item counts and return them with dims ([classifier,] item).

    Raises
    ------
    TypeError, ValueError
        If the evidence is not item counts.
    """
    if not is_item_counts(evidence):
        todo = "use `from_item_counts`"
        raise fail(
            f"This function needs item counts, not a {type(evidence).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    for name in CELLS:
        if extra := {*evidence[name].dims} - {"classifier", "item"}:
            todo = "select along it"
            raise fail(
                "Item counts cannot have the dimension {}", sorted(map(str, extra)), "", todo
            )
        check_counts(evidence[name].values, name=f"a count ({name})", todo="pass whole numbers")
    if not evidence.sizes["item"]:
        raise fail("The evidence contains no items", ..., "", "pass at least one item")
    return evidence.assign({name: evidence[name].transpose(..., "item") for name in CELLS})


# Batches of a monitor

_FORM = "item_counts"


class CountedItems(NamedTuple):
    """
    Batch of item counts without true negatives.

    Attributes
    ----------
    item : list or None
        Item names, or None if the items are unnamed.
    tp, fp, fn : ndarray, shape (n,)
    """

    item: list | None
    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray

    @property
    def number_wrong(self) -> np.ndarray:
        """Number of errors (false positives and false negatives) of each item, shape (n,)."""
        return self.fp + self.fn

    def cells(self, chosen: None = None) -> np.ndarray:
        """Return tp, fn, fp and 0 of each item, shape (4, n)."""
        return np.stack([self.tp, self.fn, self.fp, 0 * self.tp])


def as_batch(evidence: xr.Dataset, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return item counts in the form stored by a ledger, dims (item, cell).

    Raises
    ------
    ValueError
        If there are several systems or clusters.
    """
    evidence = as_item_counts(evidence)
    check_one_system(evidence)
    columns = {str(name) for name, column in evidence.variables.items() if "item" in column.dims}
    if further := sorted(columns - {"item", *CELLS}):
        raise fail(
            "A batch of item counts cannot have {}",
            further,
            "",
            "leave them out; add each slice under its own name",
        )
    counts = np.stack([evidence[name].values for name in CELLS], axis=1)
    items, order = items_in_order(evidence.indexes["item"], counts)
    coords = {"item": items, "cell": list(CELLS)}
    attrs = {BATCH_FORM: _FORM}
    return xr.DataArray(counts[order], coords, ["item", "cell"], "item_counts", attrs)


def add_batches(
    batches: Sequence[CountedItems], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """Return the items of batches as evidence, with the coordinates of their batches."""
    sizes = [len(batch.tp) for batch in batches]
    columns = {
        name: ("item", np.concatenate([getattr(batch, name) for batch in batches]).astype(int))
        for name in CELLS
    }
    items = {"item": names_of_items(batches, sum(sizes))}
    return xr.Dataset(columns, items | along_units(coords, sizes, "item"))


ITEM_COUNTS = EvidenceType(
    name="item counts",
    made_by="from_item_counts",
    unit="items",
    matches=is_item_counts,
    canonical=as_item_counts,
    default_model=always("multilabel"),
    default_measures=lambda evidence: ["precision", "recall", "f1", "f1_samples"],
    size=lambda evidence: evidence.sizes["item"],
    values=lambda evidence: evidence["tp"],
    has_cells=False,
    measured_variable="example_cells",
    combine=combine_along("item", as_item_counts, "from_item_counts"),
    sentences=describe_item_counts,
    resample=resample_rows("item"),
    batch_forms=(_FORM,),
    watched_measures=lambda batch: ["precision", "recall", "f1"],
    as_batch=as_batch,
    add=add_batches,
    batch_sizes=number_of_items,
    change_statistic=parts_of,
    alarm_rules=lambda sums: RULES_OF_ITEMS,
    columns=Columns((("tp", "fp", "fn"),), ("item", "system", "group")),
)

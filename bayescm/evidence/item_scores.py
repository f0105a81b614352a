"""
Item scores as evidence: one number per item and system.

Item scores are an ``xr.Dataset`` with the variable ``item_score`` ([classifier,] item), where NaN
marks a missing score. Known limits of the scale are stored in the scalar coordinates ``lowest`` and
``highest``, and ``lower_is_better`` states whether the scores are errors. Items may have a
``weight``, with the scalar coordinate ``weights_are``, as well as clusters and slices
(`bayescm.evidence.clusters_and_slices`).

If a judge scored every item, its scores are the variable ``judge_score``, and ``item_score`` is NaN
for items that people did not score.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.clusters_and_slices import (
    clusters_of,
    combine_along,
    items_of_slices,
    with_clusters,
    with_slices,
    with_weights,
)
from bayescm.evidence.default_models import of_items
from bayescm.evidence.descriptions import describe_item_scores
from bayescm.evidence.evidence_type import (
    BATCH_FORM,
    Columns,
    EvidenceType,
)
from bayescm.evidence.identifiers import check_no_identifiers, long_form
from bayescm.evidence.labels import check_no_missing_text
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
from bayescm.evidence.tabulate import check_sizes, column, factorize
from bayescm.validate import (
    check_choice,
    check_column,
    check_reals,
    check_row_order,
    fail,
    unmasked,
)

_MISSING = ("drop pairs", "worst")
_RESERVED = ("item", "classifier", "measure", "bound")


def from_item_scores(
    scores: Any,
    *,
    item: Any = None,
    system: str | None = None,
    score: str | None = None,
    range: tuple[float, float] | None = None,
    lower_is_better: bool = False,
    group: Any = None,
    by: Any = None,
    weights: Any = None,
    weights_are: str | None = None,
    missing: str | None = None,
    judge: Any = None,
) -> xr.Dataset:
    """
    Return item scores of one or more systems as evidence.

    An item score is a number such as the nDCG or reciprocal rank of a query, or the Dice
    coefficient or average precision of an image. Rubric scores, ratings by a judge and regression
    errors are item scores, too.

    Parameters
    ----------
    scores : array_like, Series, mapping or DataFrame
        One score per item, in one of these forms:

        - array_like of shape (n,), or a Series.
        - Mapping of item to score, as search tools return them.
        - Mapping of system to such scores. Sequences must have their items in the same order,
          whereas mappings, and Series with a labelled index, are aligned by item.
        - DataFrame with one row per item and one column per system.
        - DataFrame with one row per score, if ``score`` is given. Columns named item, score and,
          optionally, system are recognised, as are synonyms such as query and model.
    item : array_like, shape (n,), or str, optional
        Item labels. For a DataFrame, the name of their column.
    system, score : str, optional
        Columns of the system and of the score, for a DataFrame with one row per score.
    range : (float, float), optional
        Lowest and highest possible score, such as ``(0, 1)`` or ``(1, 5)``. The range limits the
        scores of unobserved items. Without it, intervals from few items, or from items with mostly
        equal scores, are too short.
    lower_is_better : bool, default False
        Whether lower scores are better, as for errors.
    group : array_like, shape (n,), or str, optional
        Cluster of each item, such as the topic or document of a question. Items in a cluster are
        not treated as independent. For a DataFrame, the name of a column.
    by : mapping of str to array_like (n,), optional
        Slices of the items, e.g. ``{"language": language}``. Results are computed for each slice,
        along a dimension of this name. For a DataFrame, names of columns, or a mapping from
        dimensions to columns.
    weights : array_like, shape (n,), or str, optional
        Weight >= 0 of each item.
    weights_are : {"counts", "importance"}, optional
        Meaning of the weights. Required if they are not integers.

        - ``"counts"``: the weight is the number of items that a row represents.
        - ``"importance"``: the weight of the item in the mean, such as the traffic of a query or
          the inverse of its sampling probability. The scale of the weights does not matter.
    missing : {"drop pairs", "worst"}, optional
        How to treat missing scores. By default they raise an error. ``"drop pairs"`` uses the items
        for which all systems have a score. To compare two systems on their common items, select
        these two. ``"worst"`` uses the worst score of ``range``.
    judge : array_like, shape (n,), mapping or str, optional
        Second score of every item, such as a language model's rating, if ``scores`` are human
        scores with NaN for unscored items. The scored items must be a random sample. The judge may
        be biased or use another scale, because its scores are only used to adjust for the
        difference between the scored items and all items. Takes the same forms as ``scores`` or,
        for a DataFrame, the name of a column.

    Returns
    -------
    Dataset, dims ([classifier,] item)

    Raises
    ------
    ValueError
        If a score is missing (and ``missing`` is not given), outside the range or infinite. If an
        item occurs twice, or systems have scores of different items. If a column of a DataFrame
        contains row names or row numbers. If an item is a summary row, such as ``all`` in the
        output of trec_eval.
    TypeError
        If scores are not numeric.

    Examples
    --------
    >>> evidence = from_item_scores({"a": [0.9, 0.4, 1.0], "b": [0.8, 0.5, 0.7]}, range=(0, 1))
    >>> dict(evidence.sizes)
    {'classifier': 2, 'item': 3}
    >>> found = from_item_scores({"a": {"q1": 0.9, "q2": 0.4}, "b": {"q2": 0.5, "q1": 0.8}})
    >>> found["item_score"].sel(item="q2").values
    array([0.4, 0.5])
    >>> frame = pd.DataFrame({"q": [1, 2, 1, 2], "model": list("aabb"), "s": [0.2, 0.4, 0.3, 0.9]})
    >>> from_item_scores(frame, item="q", system="model", score="s")["item_score"].values
    array([[0.2, 0.4],
           [0.3, 0.9]])
    """
    if missing is not None:
        check_choice("missing", missing, _MISSING)
    by = [by] if isinstance(by, str) else by
    columns = {"group": group, "by": by, "weights": weights}
    scores = _as_series(scores)
    if hasattr(scores, "to_pandas") and not isinstance(scores, xr.DataArray):
        scores = scores.to_pandas()
    if item is score is system is None and isinstance(scores, pd.DataFrame):
        roles = long_form(scores, ("item", "score"), ("system",)) or {}
        item, score, system = (roles.get(role) for role in ("item", "score", "system"))
    if score is not None or system is not None:
        table, columns = _from_long(scores, item, system, score, columns)
    else:
        table, columns = _from_wide(scores, item, columns)
    _check_no_summary_row(table)
    evidence = table.to_dataset(name="item_score")
    evidence = evidence.assign_coords(lower_is_better=bool(lower_is_better))
    if range is not None:
        low, high = _ends(range)
        evidence = evidence.assign_coords(lowest=low, highest=high)
    if judge is not None:
        evidence = _judged(evidence, scores, judge, item, system, missing)
    evidence = evidence if judge is not None else _filled(evidence, missing)
    return as_item_scores(_with_columns(evidence, weights_are=weights_are, **columns))


def _as_series(scores):
    """Convert mappings of item to score into Series, also inside a mapping of systems."""
    if not isinstance(scores, Mapping) or not scores or isinstance(scores, xr.Dataset):
        return scores
    if all(isinstance(value, int | float | np.number) for value in scores.values()):
        return pd.Series(dict(scores))
    of_items = {name: isinstance(values, Mapping) for name, values in scores.items()}
    if any(of_items.values()) and not all(of_items.values()):
        todo = "pass a mapping from items to scores for every system"
        lacking = [name for name, has in of_items.items() if not has]
        raise fail("The systems {} have scores without items", lacking, "", todo)
    return {
        name: pd.Series(dict(values)) if isinstance(values, Mapping) else values
        for name, values in scores.items()
    }


# Conversion of wide and long tables to scores ([classifier,] item)


def _from_wide(scores, item, columns):
    """Return scores from a table with one row per item, and the additional columns."""
    if isinstance(scores, xr.DataArray):
        scores = scores.to_pandas() if scores.ndim <= 2 else scores.values
    if isinstance(scores, pd.DataFrame):
        if isinstance(item, str):
            scores = scores.set_index(check_column(item, scores))
            item = None
        names = {key: name for key, name in columns.items() if _names_columns(key, name)}
        columns = columns | {key: _columns_named(scores, name) for key, name in names.items()}
        used = [label for name in names.values() for label in _labels_of(name)]
        scores = scores[[name for name in scores.columns if name not in used]]
        if item is None:
            check_no_identifiers(scores, "scores of systems", _NAME_THE_ITEMS)
        scores = {str(name): scores[name] for name in scores.columns}
    if not isinstance(scores, Mapping):
        check_row_order({"scores": scores, "item": item, **_flat(columns)})
        labels = _item_labels(scores, item)
        values = _numbers(scores)
        check_sizes({"scores": len(values), "items": len(labels)})
        return xr.DataArray(values, {"item": labels}, ["item"]), columns
    if not scores:
        raise fail("No systems are given", ..., "", 'pass e.g. {"a": scores}')
    series = {str(name): _series(name, values, item) for name, values in scores.items()}
    first, *others = series.values()
    sizes = {name: len(values) for name, values in series.items()}
    if item is None and len(set(sizes.values())) > 1 and not _have_index(scores):
        raise fail(
            "The systems have different numbers of scores: {}",
            sizes,
            "",
            "put None where a score is missing, or pass Series with the items as index",
        )
    moved = any(not first.index.equals(other.index) for other in others)
    beside = {key: column for key, column in _flat(columns).items() if column is not None}
    if beside:  # columns follow the order of the rows, which all systems must share
        check_row_order({f"scores of {name}": values for name, values in scores.items()} | beside)
    if moved and beside:
        todo = "give all systems the same items, or pass a DataFrame with a row for each score"
        raise fail(
            "The systems have different items, or the same items in a different order",
            ...,
            "",
            todo,
        )
    frame = pd.DataFrame(series) if moved else pd.concat(series, axis=1)
    if moved:
        frame = frame.loc[first.index.union(frame.index, sort=False)]
    table = xr.DataArray(
        frame.to_numpy(float).T,
        {"classifier": list(series), "item": frame.index.to_numpy()},
        ["classifier", "item"],
    )
    return table, columns


def _have_index(scores):
    """Return True if the scores of each system are labelled by item."""
    return all(isinstance(values, pd.Series | xr.DataArray) for values in scores.values())


def _from_long(frame, item, system, score, columns):
    """Return scores from a table with one row per score, and the additional columns by item."""
    if not isinstance(frame, pd.DataFrame):
        todo = 'pass the table, and `item="q"`, `system="model"`, `score="s"`'
        raise fail(
            "`score` and system can name columns only if the first argument is a DataFrame, "
            f"not a {type(frame).__name__}",
            ...,
            "",
            todo,
        )
    for name, argument in (("item", item), ("score", score)):
        if not isinstance(argument, str):
            todo = f"pass {name}= with the name of the column"
            raise fail(f"The column of the {name} is not named", ..., "", todo)
    for name in (item, score, *([] if system is None else [system])):
        check_column(name, frame)
    codes, items = factorize("item", column("item", frame[item]))
    check_no_missing_text(items, "the items", "leave these rows out, or rename the item")
    rows, names = (
        (np.zeros(len(frame), int), [None])
        if system is None
        else factorize("system", column("system", frame[system]))
    )
    repeated = pd.DataFrame({"item": codes, "system": rows}).duplicated().to_numpy()
    if repeated.any():
        first = int(np.argmax(repeated))
        of_system = "" if system is None else f" of {names[rows[first]]}"
        todo = "average them first, or use `from_attempts` for repeated right and wrong answers"
        if system is None:
            todo = 'name the column of the system: `system="model"`; or average them first'
        raise fail(f"Item {items[codes[first]]}{of_system} has several scores", ..., "", todo)
    values = np.full((len(names), len(items)), np.nan)
    values[rows, codes] = _numbers(frame[score])
    coords = {"item": items}
    table = xr.DataArray(values, coords, ["classifier", "item"])
    table = table[0] if system is None else table.assign_coords(classifier=list(map(str, names)))
    by_item = {}
    for key, name in columns.items():
        if name is not None and not _names_columns(key, name):
            todo = f"pass {key}= with the name of a column"
            raise fail(f"The table has no column {key}", ..., "", todo)
        by_item[key] = None if name is None else _by_item(_columns_named(frame, name), codes, items)
    return table, by_item


_NAME_THE_ITEMS = "pass item={name} if these are the items, or leave the column out"
# Names that other programs give to the mean or sum over all items.
_SUMMARIES = ("all", "mean", "average", "avg", "amean", "total", "sum", "overall")
# Tolerance for values that other programs round to four decimal places.
_ROUNDED = 5.1e-5


def _check_no_summary_row(table):
    """Raise an error if the name and value of an item show that it summarises the others."""
    for place, label in enumerate(table["item"].values.tolist()):
        if str(label).strip().lower() not in _SUMMARIES or table.sizes["item"] < 3:
            continue
        values = np.atleast_2d(table.values)
        values = values[~np.isnan(values[:, place])]
        others, value = np.delete(values, place, axis=1), values[:, place]
        total, number = np.nansum(others, axis=1), np.sum(~np.isnan(others), axis=1)
        for name, summary in (("mean", total / np.maximum(number, 1)), ("sum", total)):
            near = np.abs(summary - value) <= _ROUNDED * np.maximum(1, np.abs(value))
            if len(value) and near.all():
                what = f"Item {label!r} is the {name} of the other items, and not an item"
                raise fail(what, ..., "", "leave the row out")


def _by_item(values, codes, items):
    """Return one value per item from a column with one value per score."""
    if isinstance(values, Mapping):
        return {dim: _by_item(of_dim, codes, items) for dim, of_dim in values.items()}
    pairs = pd.DataFrame({"item": codes, "value": values.to_numpy()}).drop_duplicates()
    if (twice := pairs["item"].duplicated(keep=False)).any():
        code = pairs["item"][twice].iloc[0]
        got = pairs["value"][pairs["item"] == code].tolist()
        raise fail(
            f"Item {items[code]} has several values of {values.name}: {{}}",
            got,
            "",
            "give each item one value, or relabel the items so that each value has its own items",
        )
    return pairs.sort_values("item")["value"].to_numpy()


def _names_columns(key, name):
    """Return True if the argument contains names of columns rather than columns."""
    if key != "by":
        return isinstance(name, str)
    if isinstance(name, Mapping):
        return all(isinstance(column_name, str) for column_name in name.values())
    return isinstance(name, str) or (
        isinstance(name, Sequence) and all(isinstance(column_name, str) for column_name in name)
    )


def _labels_of(name):
    return [name] if isinstance(name, str) else list(getattr(name, "values", lambda: name)())


def _columns_named(frame, name):
    """Return a column, or a mapping from dimensions to columns for several names."""
    if isinstance(name, str):
        return frame[check_column(name, frame)]
    names = name if isinstance(name, Mapping) else {dim: dim for dim in name}
    return {dim: frame[check_column(of_dim, frame)] for dim, of_dim in names.items()}


def _flat(columns):
    """Return the additional columns by name."""
    by = columns["by"] if isinstance(columns["by"], Mapping) else {}
    return {"group": columns["group"], "weights": columns["weights"], **by}


def _item_labels(scores, item):
    if item is not None:
        return _distinct(column("item", item))
    if isinstance(scores, pd.Series):
        return _distinct(scores.index.to_numpy())
    return np.arange(len(scores) if hasattr(scores, "__len__") else 0)


def _distinct(labels):
    repeated = pd.Index(labels).duplicated()
    if repeated.any():
        raise fail(
            "Item {} has several scores",
            labels[int(np.argmax(repeated))],
            "",
            "average them first, or give repetitions their own labels",
        )
    return np.asarray(labels)


def _series(name, values, item):
    labels = _item_labels(values, item)
    numbers = _numbers(values)
    check_sizes({f"scores of {name}": len(numbers), "items": len(labels)})
    return pd.Series(numbers, index=labels)


def _numbers(values):
    """Return finite numbers, with NaN for missing scores."""
    unmasked(values, "a score")
    array = pd.Series(values).to_numpy() if isinstance(values, list | tuple) else values
    absent = np.asarray(pd.isna(array))
    if absent.ndim != 1:
        raise fail(
            "Scores must have one axis, but their shape is {}",
            absent.shape,
            "",
            "pass one number for each item, or {'a': scores, 'b': scores} for several systems",
        )
    present = np.asarray(array, dtype=object)[~absent] if absent.any() else array
    todo = "pass numbers; right and wrong answers are for `from_predictions` or `from_attempts`"
    numbers = np.full(absent.shape, np.nan)
    numbers[~absent] = check_reals(present.tolist() if absent.any() else present, "scores", todo)
    if np.isinf(numbers).any():
        first = int(np.argmax(np.isinf(numbers)))
        raise fail("Scores must be finite", numbers[first], "", "leave the item out")
    return numbers


def _ends(range):
    todo = "pass e.g. `range=(0, 1)`"
    try:
        low, high = (float(end) for end in range)
    except (TypeError, ValueError):
        raise fail("`range` must be two numbers, (lowest, highest)", range, "", todo) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise fail("`range` must be finite, with lowest < highest", range, "", todo)
    return low, high


def _filled(evidence, missing):
    """Fill or keep missing scores as requested, or raise an error if no treatment is given."""
    absent = evidence["item_score"].isnull()
    if not absent.any():
        return evidence
    where = absent.where(absent, drop=True)
    got = where["item"].values[0]
    if "classifier" in where.dims:
        got = f"item {got} of {where['classifier'].values[0]}"
    if missing is None:
        raise fail(
            f"{int(absent.sum())} score{'s are' if absent.sum() > 1 else ' is'} missing, "
            f"e.g. {got}",
            ...,
            "",
            (
                'pass `missing="drop pairs"` to compare systems on the items that all have',
                '`missing="worst"` to use the worst possible score',
                "complete the scores",
            ),
        )
    if missing == "drop pairs":
        empty = absent.all("item")
        if empty.any():
            raise fail("A system has no scores", ..., "", "leave this system out")
        return evidence.isel(item=~absent.all([d for d in absent.dims if d != "item"]).values)
    if "lowest" not in evidence.coords:
        raise fail(
            '`missing="worst"` needs the range of the scores', ..., "", "pass e.g. `range=(0, 1)`"
        )
    worst = evidence["highest" if evidence["lower_is_better"] else "lowest"].item()
    return evidence.assign(item_score=evidence["item_score"].fillna(worst))


def _judged(evidence, scores, judge, item, system, missing):
    """Return evidence with a judge's score of every item."""
    if missing is not None:
        raise fail(
            f"`judge` and `missing={missing!r}` cannot be combined",
            ...,
            "",
            "leave `missing` out: items without a score are scored by the judge alone",
        )
    if isinstance(judge, str):
        if not isinstance(scores, pd.DataFrame):
            raise fail(
                "`judge` can name a column only if the scores are a DataFrame; got {}",
                judge,
                "",
                "pass the judge's scores, or a DataFrame",
            )
        if system is None and not isinstance(item, str):
            judge = scores[check_column(judge, scores)]
        else:
            table = from_item_scores(scores, item=item, system=system, score=judge)
            judge = table["item_score"]
    if not isinstance(judge, xr.DataArray):
        labels = evidence["item"].values if not isinstance(judge, Mapping) else None
        if labels is not None and not isinstance(judge, pd.Series):
            judge = from_item_scores(judge, item=labels)["item_score"]
        else:
            judge = from_item_scores(judge, item=item)["item_score"]
    score = evidence["item_score"]
    different = set(judge["item"].values.tolist()) != set(score["item"].values.tolist())
    if different or judge.sizes.keys() != score.sizes.keys() or judge.size != score.size:
        raise fail(
            "The judge and the people have scores of different items or systems; the sizes are "
            f"{dict(judge.sizes)} and {dict(score.sizes)}",
            ...,
            "",
            "pass the judge's score of every item for each system",
        )
    aligned = judge.reindex_like(score)
    if aligned.isnull().any():
        raise fail(
            "A score of the judge is missing", ..., "", "pass the judge's score of every item"
        )
    return evidence.assign(judge_score=aligned.transpose(*score.dims))


def _with_columns(evidence, *, group, by, weights, weights_are):
    """Return evidence with the cluster, slice and weight of each item."""
    evidence = with_weights(evidence, weights, weights_are, "item")
    evidence = with_clusters(evidence, group, "item")
    return with_slices(evidence, by, "item", _RESERVED if group is None else (*_RESERVED, "group"))


# Validation


def is_item_scores(evidence: Any) -> bool:
    """Return True if evidence consists of item scores."""
    return isinstance(evidence, xr.Dataset) and "item_score" in evidence


def as_item_scores(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate item scores and return them with dims ([classifier,] item).

    Raises
    ------
    TypeError, ValueError
        If the evidence is not item scores, or a score is outside the range.
    """
    if not is_item_scores(evidence):
        todo = "use `from_item_scores`"
        raise fail(
            f"This function needs item scores, not a {type(evidence).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    scores = evidence["item_score"]
    if extra := set(scores.dims) - {"classifier", "item"}:
        todo = "select along it, or pass slices as `by=` of `from_item_scores`"
        raise fail("Item scores cannot have the dimension {}", sorted(map(str, extra)), "", todo)
    if not scores.sizes["item"]:
        raise fail("The evidence contains no items", ..., "", "pass at least one item")
    if "judge_score" in evidence:
        _check_judged(evidence)
    if "lowest" in evidence.coords:
        low, high = (evidence.variables[name].values.item() for name in ("lowest", "highest"))
        values = scores.values
        outside = (values < low) | (values > high)
        if outside.any():
            got = values[outside][0]
            raise fail(
                "The score {} is outside the range",
                got,
                f"{low:g} to {high:g}",
                "correct the score, or pass a range that contains all scores",
            )
    dims = ("classifier", "item") if "classifier" in scores.dims else ("item",)
    if scores.dims == dims:
        return evidence
    return evidence.assign(item_score=scores.transpose(*dims))


_FEWEST_SCORED = 8  # minimum number of human scores to estimate the correction for a judge


def _check_judged(evidence):
    """Raise an error if a judge has clusters, weights or too few human scores."""
    if clusters_of(evidence) is not None or "weight" in evidence:
        raise fail(
            "A judge cannot be combined with clusters or weights of items",
            ...,
            "",
            "leave them out, or leave the judge out",
        )
    for items in items_of_slices(evidence):
        scored = evidence["item_score"].isel(item=items).notnull().sum("item")
        if int(scored.min()) < _FEWEST_SCORED:
            raise fail(
                f"Only {int(scored.min())} items are scored by people; at least "
                f"{_FEWEST_SCORED} are needed",
                ...,
                "",
                "have people score more items, or leave the judge out",
            )


# Batches of a monitor

_ENDS = ("lowest", "highest")
_FORM = "item_scores"


class ScoredItems(NamedTuple):
    """
    Batch of item scores, ordered by item name if items have names, otherwise by score.

    Attributes
    ----------
    item : list or None
        Item names, or None if the items are unnamed.
    score : ndarray, shape (n,)
    """

    item: list | None
    score: np.ndarray


def as_batch(evidence: xr.Dataset, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return item scores in the form stored by a ledger, dims (item).

    A batch without a range uses the range of earlier batches.

    Raises
    ------
    ValueError
        If there are several systems, slices, clusters, weights, missing scores or a judge.
    """
    evidence = as_item_scores(evidence)
    scores = evidence["item_score"]
    check_one_system(evidence)
    of_items = [str(name) for name, column in evidence.variables.items() if "item" in column.dims]
    further = sorted({*of_items} - {"item", "item_score"})
    if further:
        raise fail(
            "A batch of item scores cannot have {}",
            further,
            "",
            "leave them out; add each slice under its own name, and for items in clusters "
            "the mean score of each cluster",
        )
    if (absent := np.isnan(scores.values)).any():
        raise fail(
            "Scores are missing for some items ({})",
            int(absent.sum()),
            "",
            "leave these items out",
        )
    plain = {name: column.values for name, column in evidence.variables.items() if not column.dims}
    ends = {name: plain[name].item() if name in plain else None for name in _ENDS}
    if like is not None and "lowest" in like.attrs and ends["lowest"] is None:
        ends = {name: like.attrs[name] for name in _ENDS}
        if ends["lowest"] is not None:
            as_item_scores(evidence.assign_coords(ends))  # checks the range
    values = scores.values.astype(float)
    items, order = items_in_order(scores.indexes["item"], values)
    facts = ends | {"lower_is_better": bool(plain["lower_is_better"]), BATCH_FORM: _FORM}
    return xr.DataArray(values[order], {"item": items}, ["item"], "item_score", facts)


def add_batches(
    batches: Sequence[ScoredItems], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """Return the items of batches as evidence, with the coordinates of their batches."""
    sizes = [len(batch.score) for batch in batches]
    scores = np.concatenate([np.zeros(0), *(batch.score for batch in batches)])
    evidence = xr.Dataset({"item_score": ("item", scores)})
    evidence.coords["item"] = names_of_items(batches, len(scores))
    of_scale = (*_ENDS, "lower_is_better")
    facts = {name: like.attrs[name] for name in of_scale if like.attrs.get(name) is not None}
    return evidence.assign_coords(along_units(coords, sizes, "item") | facts)


ITEM_SCORES = EvidenceType(
    name="item scores",
    made_by="from_item_scores",
    unit="items",
    matches=is_item_scores,
    canonical=as_item_scores,
    default_model=of_items("item_scores"),
    default_measures=lambda evidence: ["mean", "sd"],
    compared_measures=lambda evidence: ["mean"],  # a standard deviation is neither better nor worse
    size=lambda evidence: evidence.sizes["item"],
    values=lambda evidence: evidence["item_score"],
    has_cells=False,
    measured_variable="item_scores",
    combine=combine_along("item", as_item_scores, "from_item_scores", _RESERVED),
    sentences=describe_item_scores,
    resample=resample_rows("item"),
    batch_forms=(_FORM,),
    watched_measures=lambda batch: ["mean"],
    as_batch=as_batch,
    add=add_batches,
    batch_sizes=number_of_items,
    change_statistic=parts_of,
    changing="scores",
    alarm_rules=lambda sums: RULES_OF_ITEMS,
    columns=Columns(
        (("score", "item"), ("score", "system"), ("score", "range")),
        ("lower_is_better", "missing", "group", "by", "weights", "weights_are"),
    ),
)

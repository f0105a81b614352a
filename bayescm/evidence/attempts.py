"""
Repeated attempts as evidence: which attempts at which items were correct.

Attempts are an ``xr.Dataset`` with the variable ``correct`` ([classifier,] item, attempt): 1 for a
correct attempt, 0 for a wrong one, and NaN for an attempt that was not made. If the outputs
themselves are known, the variable ``answer`` identifies equal outputs of an item: 0 is the correct
one, and 1, 2, ... are the distinct wrong ones. The coordinate ``group`` (item) contains the
clusters of items, and slices are stored as for item scores (`bayescm.evidence.item_scores`).
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.clusters_and_slices import SLICE, combine_along, with_slices
from bayescm.evidence.default_models import of_items
from bayescm.evidence.descriptions import describe_attempts
from bayescm.evidence.evidence_type import (
    BATCH_FORM,
    Columns,
    EvidenceType,
)
from bayescm.evidence.identifiers import as_pandas, check_no_identifiers, long_form
from bayescm.evidence.labels import MISSING_TEXTS, check_no_missing_text
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
from bayescm.evidence.tabulate import check_one_axis, check_sizes, column, factorize
from bayescm.validate import check_by, check_column, check_row_order, fail, no_numbers, unmasked

_RESERVED = ("item", "attempt", "classifier", "group", "measure", "bound")


def from_attempts(
    answers: Any,
    *,
    item: Any = None,
    system: str | None = None,
    correct: str | None = None,
    attempt: Any = None,
    group: Any = None,
    by: Any = None,
    passing: Sequence | None = None,
    truth: Any = None,
) -> xr.Dataset:
    """
    Return correct and wrong attempts at items as evidence.

    Use this for repeated sampling of a model's outputs, with measures such as ``"pass_at(5)"``.
    Items may have one or several attempts.

    Parameters
    ----------
    answers : array_like, mapping of str to array_like, or DataFrame
        Outcome of each attempt: 1 or True if correct, 0 or False if wrong, NaN if it was not made.
        These forms are allowed:

        - array_like of shape (item, attempt), or (item,) with one attempt per item.
        - array_like of shape (n,) with one value per attempt, if ``item`` is given.
        - Mapping of system to such values. Tables of several systems must have the same items in
          the same rows.
        - DataFrame with one row per attempt, if ``correct`` is given. The other arguments then name
          its columns. Columns named item, correct and, optionally, system and attempt are
          recognised, as are synonyms such as question and model.

        With ``truth``, the values are the outputs themselves.
    item : array_like, shape (n,), or str, optional
        Item of each attempt: the same for all systems, or a mapping from systems to items.
    system, correct : str, optional
        For a DataFrame with one row per attempt: the column of the system, and the column that
        marks correct attempts. With ``truth``, the latter is the column of outputs.
    attempt : array_like, shape (n,), or str, optional
        Index of each attempt. By default attempts are numbered in the order of the rows. A mapping
        is allowed, as for ``item``.
    group : array_like or str, optional
        Cluster of each item, such as the text that several questions are about. One value per
        attempt if ``item`` is given, otherwise one per item. Items in a cluster are treated as
        correlated, and each cluster as a single draw from the population. A mapping is allowed, as
        for ``item``.
    by : mapping of str to array_like, or names of columns, optional
        Slices of the items, e.g. ``{"language": language}``. Results are computed for each slice,
        along a dimension of this name. One value per attempt or item, as for ``group``. For a
        DataFrame, names of columns, or a mapping from dimensions to columns.
    passing : sequence, optional
        Grades that are treated as correct, if attempts are graded.
    truth : array_like, mapping or str, optional
        Correct outputs, if ``answers`` contains the outputs themselves (strings or numbers).
        ``"majority_at(5)"`` is then the plurality vote of five attempts. Pass one value per item
        or, with ``item``, one per attempt. A mapping or a labelled Series is matched by item.

        Outputs are compared for exact equality, so strip, round or parse them first. Mark
        unreadable outputs with a string, so that they are treated as wrong. None and NaN mark
        attempts that were not made.

    Returns
    -------
    Dataset, dims ([classifier,] item, attempt)
        Variable ``correct`` and, with ``truth``, ``answer``: 0 for the correct output, and 1, 2 and
        so on for the distinct wrong outputs of an item and system. With one attempt per item, only
        the mean can be estimated.

    Raises
    ------
    ValueError
        If a value is neither correct nor wrong, an attempt occurs twice, or a column is missing. If
        an item has no attempt, is in two clusters, or does not have exactly one true output. If a
        DataFrame of attempts contains a column of item names or item numbers.

    Examples
    --------
    >>> table = [[1, 0, 1, 1], [0, 0, 0, np.nan], [1, 1, 1, 1]]
    >>> dict(from_attempts(table).sizes)
    {'item': 3, 'attempt': 4}
    >>> long = from_attempts([1, 0, 1], item=["a", "a", "b"])
    >>> long["correct"].sel(item="a").values
    array([1., 0.])
    >>> told = from_attempts([["4", "5", "5"], ["7", "7", "9"]], truth=["4", "7"])
    >>> told["answer"].values
    array([[0., 1., 1.],
           [0., 0., 1.]])
    >>> frame = pd.DataFrame({"q": [1, 2, 1, 2], "model": list("aabb"), "right": [1, 0, 1, 1]})
    >>> dict(from_attempts(frame, item="q", system="model", correct="right").sizes)
    {'classifier': 2, 'item': 2, 'attempt': 1}
    """
    by = [by] if isinstance(by, str) else by
    answers = as_pandas(answers)
    if item is correct is system is None and isinstance(answers, pd.DataFrame):
        roles = long_form(answers, ("item", "correct"), ("system", "attempt")) or {}
        item, correct, system = (roles.get(role) for role in ("item", "correct", "system"))
        attempt = roles.get("attempt", attempt)
    if correct is not None or system is not None or isinstance(item, str):
        columns = {"item": item, "correct": correct, "attempt": attempt, "group": group, "by": by}
        answers, columns, truth = _columns_of(answers, system, columns, truth)
        item, attempt, group, by = (columns[name] for name in ("item", "attempt", "group", "by"))
    by = check_by(by, '"language": language')
    if reserved := [name for name in by if name in _RESERVED]:
        raise fail("The dimension name {} is reserved", reserved[0], "", "choose another name")
    settings = {"item": item, "attempt": attempt, "group": group, "passing": passing}
    settings |= {"by": by, "truth": truth}
    if not isinstance(answers, Mapping) or isinstance(answers, xr.Dataset | pd.DataFrame):
        return _with_slices(_of_one_system(answers, **settings))
    parts = {}
    for name, values in answers.items():
        of_system = {key: _of_system(settings[key], name) for key in ("item", "attempt", "group")}
        of_system["by"] = {dim: _of_system(labels, name) for dim, labels in by.items()}
        parts[str(name)] = _of_one_system(values, **(settings | of_system))
    if item is None and truth is not None and not isinstance(truth, Mapping | pd.Series):
        _check_same_order(parts)
    return _with_slices(combine_systems(parts))


def _of_system(values, name):
    """Return the values for one system, either common to all systems or given by system."""
    if not isinstance(values, Mapping):
        return values
    if name not in values:
        raise fail("An argument lacks the system {}", name, "", "give a value for every system")
    return values[name]


def _of_one_system(answers, *, item, attempt, group, by, passing, truth):
    """Return the attempts of one system, with slice labels as coordinates of the items."""
    if truth is not None and passing is not None:
        todo = "pass `truth=` with answers, or `passing=` with grades"
        raise fail("`truth` and `passing` both define which attempts are correct", ..., "", todo)
    rows = {"correct": answers, "group": group, **by}
    if item is None:
        check_row_order(rows)
        if attempt is not None:
            raise fail("`attempt` needs `item`", ..., "", "pass `item=...`")
        table = _table(answers, passing, truth)
        if group is None and isinstance(answers, xr.DataArray):
            group = answers.coords.get("group")
        items = table["item"].values
    else:
        # The order of items may differ between systems, because systems are joined by item label.
        check_row_order(rows | {"item": item, "attempt": attempt, "truth": truth})
        table = _from_rows(answers, item, attempt, passing, truth)
        items = column("item", item)
    if group is not None:
        table = table.assign_coords(group=("item", _label_of_item(table, items, "group", group)))
    for dim, labels in by.items():
        of_item = _label_of_item(table, items, dim, labels)
        table = table.assign_coords({SLICE + dim: ("item", of_item)})
    if truth is None:
        return as_attempts(table.to_dataset(name="correct"))
    return as_attempts(
        xr.Dataset({"correct": (table == 0).where(table.notnull()), "answer": table})
    )


def _with_slices(evidence):
    """Encode the slices of items as codes, with labels along separate dimensions."""
    names = [str(name) for name in evidence.coords if str(name).startswith(SLICE)]
    for name in names:
        dim = name.removeprefix(SLICE)
        if evidence[name].dims != ("item",):
            todo = "give the items of all systems the same slices"
            raise fail(f"Systems disagree on the {dim} of items", ..., "", todo)
        labels = evidence[name].values
        evidence = with_slices(evidence.drop_vars(name), {dim: labels}, "item", _RESERVED)
    return evidence


def _columns_of(frame, system, columns, truth):
    """Return outcomes, further columns and true outputs from a table of attempts."""
    if not isinstance(frame, pd.DataFrame):
        todo = 'pass the table, and `item="q"`, `correct="right"`, `system="model"`'
        raise fail(
            "`correct` and system can name columns only if the first argument is a "
            f"DataFrame, not a {type(frame).__name__}",
            ...,
            "",
            todo,
        )
    for name in ("item", "correct"):
        if columns[name] is None:
            todo = f"pass {name}= with the name of the column"
            raise fail(f"The column of the {name} is not named", ..., "", todo)
    by = columns.pop("by")
    if by is not None and not isinstance(by, Mapping):
        by = {name: name for name in by}
    taken = {
        name: None if of is None else frame[check_column(of, frame)] for name, of in columns.items()
    }
    slices = {dim: frame[check_column(of, frame)] for dim, of in (by or {}).items()}
    if isinstance(truth, str):
        truth = truth_by_item(frame[check_column(truth, frame)], taken["item"])
    if system is None:
        return taken.pop("correct"), taken | {"by": slices}, truth
    codes, names = factorize("system", column("system", frame[check_column(system, frame)]))
    check_no_missing_text(names, "the systems", "leave its answers out, or rename it")
    rows = pd.Series(codes).groupby(codes).indices

    def by_system(values):
        if values is None:
            return None
        return {str(name): values.iloc[rows[code]] for code, name in enumerate(names)}

    of_systems = {name: by_system(values) for name, values in taken.items()}
    of_systems["by"] = {dim: by_system(values) for dim, values in slices.items()}
    return of_systems.pop("correct"), of_systems, truth


# Conversion of tables and rows to correct and wrong attempts


def _table(values, passing, truth):
    """Return a labelled table (item, attempt)."""
    if isinstance(values, xr.DataArray):
        if values.dims == ("item",):
            values = values.expand_dims("attempt")
        if set(values.dims) != {"item", "attempt"}:
            todo = "rename the dimensions: table.rename(question='item', run='attempt')"
            raise fail(
                "A table of attempts needs the dimensions 'item' and 'attempt'; it has {}",
                values.dims,
                "",
                todo,
            )
        table = values.transpose("item", "attempt")
        items = table["item"].values if "item" in table.coords else np.arange(table.sizes["item"])
        array = table.values
    else:
        labelled = isinstance(values, pd.DataFrame | pd.Series)
        if isinstance(values, pd.DataFrame):
            todo = (
                "make {name} the index, or pass `item={name}` and `correct=` with names of columns"
            )
            check_no_identifiers(values, "attempts", todo, once=False)
        if labelled and truth is not None:  # keep the types of the columns
            values = values.astype(object)
        array = unmasked(values.to_numpy() if labelled else values, "correct")
        try:
            array = np.asarray(array) if passing is None and truth is None else objects(array)
        except ValueError:
            lengths = sorted({len(row) for row in values if hasattr(row, "__len__")})
            todo = "put NaN for attempts not made, or pass one value per answer and `item=`"
            raise fail("Items have different numbers of attempts: {}", lengths, "", todo) from None
        if array.ndim == 1:  # one attempt per item
            array = array[:, None]
        if array.ndim != 2 or not array.size:
            todo = (
                "pass rows of items, NaN for attempts not made, or one value per answer and `item=`"
            )
            allowed = "shape (item, attempt) or (item,)"
            raise fail(f"A table of attempts must have the {allowed}", array.shape, "", todo)
        items = values.index.to_numpy() if labelled else np.arange(len(array))
    _check_once(items.tolist())
    if truth is None:
        right_or_wrong = _pass_or_fail(array, passing)
    else:
        right, item_codes = truth_of(truth, items), np.indices(array.shape)[0]
        right_or_wrong = codes_of(objects(array).ravel(), item_codes.ravel(), right).reshape(
            array.shape
        )
    return xr.DataArray(
        right_or_wrong, {"item": items, "attempt": np.arange(array.shape[1])}, ("item", "attempt")
    )


def _from_rows(correct, item, attempt, passing, truth):
    items = column("item", item)
    if pd.api.types.is_extension_array_dtype(getattr(correct, "dtype", None)):
        correct = pd.Series(correct).astype(object)  # NA marks an attempt that was not made
    unmasked(correct, "correct")
    values = np.asarray(correct) if passing is None and truth is None else objects(correct)
    check_one_axis("correct", values)
    check_sizes({"correct": len(values), "item": len(items)})
    codes, labels = factorize("item", items)
    check_no_missing_text(labels, "the items", "leave these answers out, or rename the item")
    if truth is None:
        right_or_wrong = _pass_or_fail(values, passing)
    else:
        right_or_wrong = codes_of(values, codes, truth_of(truth, np.array(labels, object), codes))
    if attempt is None:
        order = pd.Series(codes).groupby(codes).cumcount().to_numpy()
        names = np.arange(order.max() + 1)
    else:
        attempts = column("attempt", attempt)
        check_sizes({"correct": len(values), "attempt": len(attempts)})
        order, attempt_labels = factorize("attempt", attempts)
        names = np.array(attempt_labels)
    twice = pd.DataFrame({"item": codes, "attempt": order}).duplicated().to_numpy()
    if twice.any():
        what = f"Attempt {names[order[twice][0]]} at item {labels[codes[twice][0]]} is given twice"
        raise fail(what, ..., "", "number the attempts at each item, or leave `attempt` out")
    table = np.full((len(labels), len(names)), np.nan)
    table[codes, order] = right_or_wrong
    return xr.DataArray(table, {"item": labels, "attempt": names}, ("item", "attempt"))


def _check_once(items):
    if len(set(items)) < len(items):
        twice = next(item for item in items if items.count(item) > 1)
        todo = "give every item one row, or pass one value per answer and `item=`"
        raise fail("Item {} has several rows", twice, "", todo)


def _pass_or_fail(values, passing):
    """Return 1 for correct, 0 for wrong and NaN for missing attempts."""
    missing = pd.isna(values)
    if passing is not None:
        right = np.isin(values.astype(object), _grades(passing)).astype(float)
        return np.where(missing, np.nan, right)
    other = no_numbers(values[~missing])
    try:
        right = np.where(missing, np.nan, values).astype(float)
    except (TypeError, ValueError):
        right = np.full(values.shape, 2.0)
    if other and other[0] != "booleans":  # numpy would convert these to numbers
        right = np.full(values.shape, 2.0)
    strange = ~missing & (right != 0) & (right != 1)
    if strange.any():
        got = values[strange].ravel()[0]
        raise fail(
            "{} is not a valid result of an attempt, which is 1, 0 or NaN",
            got,
            "",
            "if answers are graded, name the grades that count as correct: `passing=['A', 'B']`",
        )
    return right


def _grades(passing):
    """Return the grades that are treated as correct, or raise an error for a string."""
    if isinstance(passing, str) or not isinstance(passing, Iterable):
        todo = f"pass `passing=[{passing!r}]`"
        raise fail("`passing` must be a sequence of grades", passing, "", todo, TypeError)
    return list(passing)


# Clusters of items and several systems


def _label_of_item(table, items, name, labels):
    """Return the cluster or slice of every item, given one label per attempt or item."""
    labels = column(name, labels)
    check_sizes({"item": len(items), name: len(labels)})
    rows = pd.DataFrame({"item": items, name: labels})
    todo = f"give each item that belongs to no {name} its own label"
    if (absent := rows[name].isna()).any():
        raise fail(
            f"Item {{}} has no {name}",
            rows["item"][absent].iloc[0],
            "",
            f"give each item without a {name} its own {name}",
        )
    pairs = rows.drop_duplicates()
    check_no_missing_text(pairs[name], f"the {name}s", f"{todo}, or rename it")
    twice = pairs[pairs["item"].duplicated(keep=False)]
    if len(twice):
        where, *_ = twice["item"]
        labels_of_item = twice[twice["item"] == where][name].tolist()
        raise fail(
            f"Item {where} is in several {name}s",
            labels_of_item,
            "",
            f"if {name}s are nested, pass the larger ones, or give each item its own label",
        )
    return pairs.set_index("item")[name].loc[table["item"].values].to_numpy()


def combine_systems(parts: Mapping[Any, xr.Dataset]) -> xr.Dataset:
    """Return the attempts of several systems at the same items."""
    if not parts:
        raise fail("No systems are given", ..., "", 'pass e.g. {"a": table}')
    items = [set(system["item"].values.tolist()) for system in parts.values()]
    if any(system != items[0] for system in items):
        strange = next(
            name for name, its_items in zip(parts, items, strict=True) if its_items != items[0]
        )
        raise fail(
            f"{strange} and {next(iter(parts))} have different items",
            ...,
            "",
            "give all systems the same items, with the same row labels",
        )
    index = pd.Index(list(parts), name="classifier")
    return as_attempts(xr.concat(list(parts.values()), index, join="outer"))


def _check_same_order(parts):
    """Raise an error if true outputs would be matched to items in different orders."""
    orders = [system["item"].values.tolist() for system in parts.values()]
    if any(system != orders[0] for system in orders):
        raise fail(
            "The systems have their items in different orders",
            ...,
            "",
            "pass truth by item, e.g. `truth={'a': 4, 'b': 7}`",
        )


# Encoding of outputs: 0 for the correct one, 1, 2, ... for wrong ones, NaN for missing ones


def objects(values: Any) -> np.ndarray:
    """Return outputs as objects, because numpy would convert NaN among strings to a string."""
    return np.asarray(values if hasattr(values, "__array__") else np.array(values, object), object)


def truth_of(truth: Any, items: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """
    Return the true output of every item.

    Parameters
    ----------
    truth : mapping of item to answer, Series or array_like
        A mapping or a labelled Series is matched by item. Otherwise, one value per item or, with
        ``rows``, one per attempt.
    items : ndarray, shape (I,)
        Item labels.
    rows : ndarray, shape (n,), optional
        Index of the item of every attempt.
    """
    if isinstance(truth, str) or not isinstance(truth, Iterable):
        raise fail(
            "`truth` must be a sequence or a mapping",
            truth,
            "",
            "pass one correct answer for each item, or a mapping from items to correct answers",
            TypeError,
        )
    labelled = isinstance(truth, pd.Series) and (
        not isinstance(truth.index, pd.RangeIndex) or set(truth.index) == set(items)
    )
    beside = np.arange(len(items)) if rows is None else rows
    if isinstance(truth, Mapping) or (labelled and rows is None):
        by_item = pd.Series(truth, dtype=object)
        if (twice := by_item.index.duplicated()).any():
            raise _several_truths(
                by_item.index[twice][0], by_item[by_item.index[twice][0]].tolist()
            )
        right, beside = by_item.reindex(pd.Index(items)).to_numpy(), np.arange(len(items))
    else:
        right = objects(unmasked(truth, "truth"))
        if right.ndim != 1:
            raise fail(
                "`truth` must have one axis, not the shape {}",
                right.shape,
                "",
                "pass the correct answer of each item, or one for every answer together with "
                "`item=`",
            )
        check_sizes({"truth": len(right), "items" if rows is None else "item": len(beside)})
    if (missing := pd.isna(right)).any():
        raise fail(
            "Item {} has no correct answer in `truth`",
            items[beside[missing][0]],
            "",
            "leave the item out, or give its correct answer",
        )
    pairs = pd.DataFrame({"item": beside, "code": factorize("truth", right)[0]}).drop_duplicates()
    if (more := pairs["item"].duplicated()).any():
        item_code = pairs["item"][more].iloc[0]
        raise _several_truths(
            items[item_code], right[pairs.index[pairs["item"] == item_code]].tolist()
        )
    return right[pairs.sort_values("item").index]


def truth_by_item(truth: Any, item: Any) -> dict:
    """Return the true outputs by item from columns with one row per attempt."""
    codes, labels = factorize("item", np.asarray(item, object))
    return dict(zip(labels, truth_of(truth, np.array(labels, object), codes), strict=True))


def _several_truths(item, truths):
    return fail(
        f"Item {item} has several correct answers: {{}}",
        truths,
        "",
        "give each item one correct answer; map answers with the same meaning to one of them first",
    )


def codes_of(answers: np.ndarray, item: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """
    Encode outputs by item: 0 if correct, 1, 2, ... if wrong, NaN if missing.

    Parameters
    ----------
    answers : ndarray of object, shape (n,)
    item : ndarray of int, shape (n,)
    truth : ndarray of object, shape (I,)
    """
    answered = ~pd.isna(answers)
    _check_alike(answers[answered], truth)
    codes, _ = factorize("answers", np.concatenate([truth, answers[answered]]))
    right, codes = codes[: len(truth)], codes[len(truth) :]
    frame = pd.DataFrame({"item": item[answered], "code": codes})
    wrong = frame[codes != right[item[answered]]]
    kinds = wrong.drop_duplicates()
    kinds = kinds.assign(number=kinds.groupby("item").cumcount() + 1.0)
    wrong_codes = np.full(len(answers), np.nan)
    number = frame.merge(kinds, how="left", on=["item", "code"])["number"]
    wrong_codes[answered] = number.fillna(0).to_numpy()
    return wrong_codes


def _check_alike(answers, truth):
    """Raise an error for mixed types or rounded integers; warn if missing values are strings."""
    large = [x for x in [*answers, *truth] if _is_large(x)]
    rounded = [x for x in large if isinstance(x, (float, np.floating))]
    if 0 < len(rounded) < len(large):
        got = next((x, rounded[0]) for x in large if not isinstance(x, (float, np.floating)))
        todo = "keep all of them as integers, or as text"
        raise fail(
            "Answers and truth mix whole numbers and floats above 2**53, which are not exact: {}",
            got,
            "",
            todo,
        )
    blank = [x for x in answers if isinstance(x, str) and x in MISSING_TEXTS]
    if blank and not any(isinstance(x, str) and x in MISSING_TEXTS for x in truth):
        warnings.warn(
            f"{len(blank)} of {len(answers)} answers are the text {blank[0]!r}, which "
            "looks like a missing value. They are treated as wrong. Pass None for attempts "
            "that were not made.",
            stacklevel=4,
        )
    texts = [{isinstance(value, str) for value in values} for values in (answers, truth)]
    if texts[0] and not texts[0] & texts[1]:
        got = (answers[0], truth[0])
        raise fail(
            "Answers and truth mix text and numbers: {}",
            got,
            "",
            "convert both to one type, e.g. with answers.astype(str) and truth.astype(str)",
        )


def _is_large(x: Any) -> bool:
    """Return True if a value is a finite number too large to be an exact integer in float64."""
    number = isinstance(x, (int, float, np.integer, np.floating))
    return number and 2**53 <= abs(x) < np.inf


# Validation


def is_attempts(evidence: Any) -> bool:
    """Return True if evidence consists of repeated attempts."""
    return isinstance(evidence, xr.Dataset) and "attempt" in evidence.dims


def as_attempts(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate repeated attempts and return them with dims ([classifier,] item, attempt).

    Raises
    ------
    TypeError
        If the evidence is not attempts.
    ValueError
        If an item has no attempts, systems disagree on the clusters of items, or the encoded
        outputs contradict ``correct``.
    """
    if not is_attempts(evidence) or "correct" not in evidence:
        todo = "use `from_attempts`"
        raise fail(
            f"This function needs attempts, not a {type(evidence).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    lead = ["classifier"] if "classifier" in evidence["correct"].dims else []
    dims = (*lead, "item", "attempt")
    if any(column.ndim > 1 and column.dims != dims for column in evidence.variables.values()):
        evidence = evidence.transpose(*dims, ...)
    if np.isnan(evidence["correct"].values).all(axis=-1).any():
        number = evidence["correct"].notnull().sum("attempt")
        where = number.where(number == 0, drop=True)
        todo = "leave the item out, or count its answers as wrong"
        raise fail("Item {} has no attempts", where["item"].values.ravel()[0], "", todo)
    if "answer" in evidence:
        check_answers(evidence)
    if "group" in evidence.coords:
        group = evidence["group"]
        if group.dims != ("item",) or group.isnull().any():
            todo = "give all systems the same groups: `from_attempts({...}, group=group)`"
            raise fail("Systems disagree on the groups of items", ..., "", todo)
    return evidence


def check_answers(evidence: xr.Dataset) -> None:
    """Raise an error if the encoded outputs contradict ``correct``."""
    right, answer = evidence["correct"], evidence["answer"]
    if answer.dims == right.dims:
        code = answer.values
        right_by_answer = np.where(np.isnan(code), np.nan, code == 0)
        whole = np.isnan(code) | ((code >= 0) & (code == np.round(code)))
        if whole.all() and np.array_equal(right_by_answer, right.values, equal_nan=True):
            return
    todo = 'use `from_attempts(answers, truth=truth)`, or leave them out: drop_vars("answer")'
    raise fail(
        "`correct` and answer disagree: the answer of a correct attempt must be 0", ..., "", todo
    )


def reach(attempts: xr.Dataset) -> int:
    """Return the median number of attempts per item, for the system with the fewest."""
    number = attempts["correct"].notnull().sum("attempt")
    return int(number.median("item").min())


def _default_measures(attempts):
    """Return the default measures for the smallest number of attempts per item."""
    least = int(attempts["correct"].notnull().sum("attempt").min())
    if least < 2:
        return ["mean"]
    return ["mean", f"pass_at({least})", f"pass_all({least})"]


# Batches of a monitor

ANSWERS = ("right", "attempts")
_FORM = "attempts"
# Attributes common to all batches, whose scores are proportions of correct attempts.
_SCALE = {
    "lowest": 0.0,
    "highest": 1.0,
    "lower_is_better": False,
    "unit_of_scores": _FORM,
    BATCH_FORM: _FORM,
}


class AnsweredItems(NamedTuple):
    """
    Batch of attempts, ordered by item name if items have names, otherwise by outcome.

    Attributes
    ----------
    item : list or None
        Item names, or None if the items are unnamed.
    right, attempts : ndarray, shape (n,)
        Number of correct attempts and number of attempts of each item.
    """

    item: list | None
    right: np.ndarray
    attempts: np.ndarray

    @property
    def score(self) -> np.ndarray:
        """Proportion of correct attempts of each item, shape (n,)."""
        return self.right / self.attempts


def as_batch(evidence: xr.Dataset, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return attempts in the form stored by a ledger, dims (item, answers).

    Raises
    ------
    ValueError
        If there are several systems, slices, clusters or encoded outputs.
    """
    evidence = as_attempts(evidence)
    check_one_system(evidence)
    columns = {str(name) for name, column in evidence.variables.items() if "item" in column.dims}
    if further := sorted(columns - {"item", "correct"}):
        raise fail(
            "A batch of attempts cannot have {}",
            further,
            "",
            "leave them out; add each slice under its own name",
        )
    correct = evidence["correct"].transpose("item", "attempt").values
    counts = np.stack([np.nansum(correct, axis=1), (~np.isnan(correct)).sum(axis=1)], axis=1)
    items, order = items_in_order(evidence.indexes["item"], counts)
    coords = {"item": items, "answers": list(ANSWERS)}
    return xr.DataArray(counts[order], coords, ["item", "answers"], "attempts", _SCALE)


def add_batches(
    batches: Sequence[AnsweredItems], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """Return the items of batches as evidence, with the coordinates of their batches."""
    sizes = [len(batch.right) for batch in batches]
    right, made = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ANSWERS)
    place = np.arange(int(made.max()))
    correct = np.where(place < right[:, None], 1.0, np.where(place < made[:, None], 0.0, np.nan))
    items = {"item": names_of_items(batches, sum(sizes))}
    further = along_units(coords, sizes, "item")
    return xr.Dataset({"correct": (("item", "attempt"), correct)}, items | further)


ATTEMPTS = EvidenceType(
    name="attempts",
    made_by="from_attempts",
    unit="items",
    matches=is_attempts,
    canonical=as_attempts,
    # Sums of batches contain only the proportion of correct attempts of each item. The mean of
    # these proportions is pass@1.
    default_model=of_items("repeated_items", of_sums="item_scores"),
    default_measures=_default_measures,
    size=lambda attempts: attempts.sizes["item"],
    values=lambda attempts: attempts["correct"],
    has_cells=False,
    measured_variable="attempts",
    combine=combine_along("item", as_attempts, "from_attempts", _RESERVED, ragged="attempt"),
    sentences=describe_attempts,
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
        (("correct",), ("answer",), ("truth",), ("attempt",), ("metric",)),
        ("item", "system", "group", "by", "passing", "filter"),
    ),
)

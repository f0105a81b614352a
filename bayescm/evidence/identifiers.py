"""
Columns that name the rows of a table, and are no data: numbers of rows, items, tasks, data sets.

Such a column beside columns of scores or labels would become a system, a rater or an attempt.
`check_no_identifiers` rejects it wherever a table is taken column by column. A table with one row
per value, whose columns have names of the field, is recognised by `long_form`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import fail

# Names of columns by what they are, without case, spaces and a final "id" or "name".
ROLES = {
    "item": "item task question query q topic prompt problem example document doc image case "
    "instance unit sentence",
    "data_set": "dataset data task problem",
    "system": "system model classifier method algorithm llm",
    "rater": "rater worker annotator coder judge labeller labeler reviewer reader performer",
    "label": "label rating answer annotation category class response vote judgement judgment",
    "correct": "correct iscorrect right passed success solved",
    "score": "score value mark result",
    "attempt": "attempt trial try repetition repeat seed sample epoch completion",
}
_WORDS = {role: set(words.split()) for role, words in ROLES.items()}
# Names of columns that number rows whatever the table is; pandas writes an index without a name.
_NUMBERING = {"", "id", "ids", "index", "unnamed0", "row", "rows", "rowid", "level0"}
# Rows from which on a column of labels with 0, 1, 2, ... once each numbers the rows.
_FEWEST_LABELS = 10


def _plain(name):
    """Return a name without case and other characters than letters and digits."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def has_role(name: Any, role: str) -> bool:
    """
    Return whether a column is named by what it is.

    Examples
    --------
    >>> has_role("Task ID", "item"), has_role("worker", "rater"), has_role("f1", "item")
    (True, True, False)
    """
    plain = _plain(name)
    return bool({plain, plain.removesuffix("id"), plain.removesuffix("name")} & _WORDS[role])


def long_form(frame: pd.DataFrame, required: Sequence[str], optional: Sequence[str] = ()) -> Any:
    """
    Return the columns of a table with one row per value, by role, or None if it is no such table.

    Parameters
    ----------
    frame : DataFrame
    required, optional : sequence of str
        Roles of `ROLES`. Each column must have one of them, and each role at most one column.
        Columns that number the rows are ignored.

    Examples
    --------
    >>> long_form(pd.DataFrame(columns=["task", "worker", "label"]), ["item", "rater", "label"])
    {'item': 'task', 'rater': 'worker', 'label': 'label'}
    """
    columns = [name for name in frame if _plain(name) not in _NUMBERING]
    roles: dict[str, Any] = {}
    for name in columns:
        role = next((role for role in (*required, *optional) if has_role(name, role)), None)
        if role is None or role in roles:
            return None
        roles[role] = name
    return roles if set(required) <= set(roles) else None


def check_no_identifiers(
    frame: pd.DataFrame,
    are: str,
    todo: str,
    *,
    roles: Iterable[str] = ("item",),
    once: bool = True,
    labels: bool = False,
) -> None:
    """
    Raise if a column of a table names its rows.

    Parameters
    ----------
    frame : DataFrame
    are : str
        What its columns should be, as in ``"scores of systems"``.
    todo : str
        What to do; ``{name}`` is the name of the column.
    roles : iterable of str
        Roles of `ROLES` that the names of such columns have.
    once : bool, default True
        Whether a column with such a name is one only if each of its values is there once.
    labels : bool, default False
        Whether the columns are labels, which may be 0, 1, 2, ... by chance in short tables.

    Raises
    ------
    ValueError
    """
    if len(frame.columns) < 2:
        return
    for place, name in enumerate(frame.columns):
        values = frame.iloc[:, place]
        has_name = any(has_role(name, role) for role in roles) and not (
            once and values.duplicated().any()
        )
        if (has_name or _plain(name) in _NUMBERING) and _may_name(values):
            what = f"column {name!r} names the rows of the table by its name"
        elif _numbers_rows(values, _FEWEST_LABELS if labels else 3):
            what = f"column {name!r} numbers the rows of the table"
        else:
            continue
        raise fail(
            f"{what}, and the columns should be {are}", ..., "", todo.format(name=repr(name))
        )


def _may_name(values):
    """Return whether values are text or whole numbers."""
    if not pd.api.types.is_float_dtype(values):
        return not pd.api.types.is_bool_dtype(values)
    return bool((values.dropna() % 1 == 0).all())


def _numbers_rows(values, fewest):
    """Return whether whole numbers are 0, 1, 2, ... or 1, 2, 3, ... in any order."""
    if not pd.api.types.is_integer_dtype(values) or len(values) < fewest or values.hasnans:
        return False
    numbers = np.sort(values.to_numpy(np.int64))
    return bool((numbers == np.arange(len(numbers)) + numbers[0]).all())


def as_pandas(table: Any) -> Any:
    """Return a table of another engine, such as Polars, as a DataFrame; others as they are."""
    return table.to_pandas() if hasattr(table, "to_pandas") and hasattr(table, "columns") else table

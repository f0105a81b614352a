"""
Detection of columns that identify rows rather than contain data: row numbers, items, tasks.

Among columns of scores or labels, such a column would be mistaken for a system, a rater or an
attempt. `check_no_identifiers` rejects it wherever tables are read column by column. `long_form`
recognises tables with one row per value by their column names.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayescm.validate import fail

# Recognised column names by role, without case, spaces and a final "id" or "name".
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
# Column names that always refer to row numbers. pandas writes an unnamed index as "Unnamed: 0".
_NUMBERING = {"", "id", "ids", "index", "unnamed0", "row", "rows", "rowid", "level0"}
# Minimum number of rows to treat distinct labels 0, 1, 2, ... as row numbers.
_FEWEST_LABELS = 10


def _plain(name):
    """Return a name in lower case, with letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def has_role(name: Any, role: str) -> bool:
    """
    Return True if the name of a column indicates the given role.

    Examples
    --------
    >>> has_role("Task ID", "item"), has_role("worker", "rater"), has_role("f1", "item")
    (True, True, False)
    """
    plain = _plain(name)
    return bool({plain, plain.removesuffix("id"), plain.removesuffix("name")} & _WORDS[role])


def long_form(frame: pd.DataFrame, required: Sequence[str], optional: Sequence[str] = ()) -> Any:
    """
    Return the columns by role for a table with one row per value, or None for other tables.

    Parameters
    ----------
    frame : DataFrame
    required, optional : sequence of str
        Roles in `ROLES`. Every column must have one of these roles, and no role may occur twice.
        Columns of row numbers are ignored.

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
    Raise an error if a column of a table identifies its rows.

    Parameters
    ----------
    frame : DataFrame
    are : str
        Expected content of the columns, as in ``"scores of systems"``.
    todo : str
        Advice. ``{name}`` is replaced by the name of the column.
    roles : iterable of str
        Roles in `ROLES` whose names mark identifiers.
    once : bool, default True
        Whether a column with such a name is an identifier only if its values are distinct.
    labels : bool, default False
        Whether the columns are labels. In short tables, labels may be 0, 1, 2, ... by chance.

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
            what = f"Column {name!r} seems to identify the rows of the table, judging by its name"
        elif _numbers_rows(values, _FEWEST_LABELS if labels else 3):
            what = f"Column {name!r} numbers the rows of the table"
        else:
            continue
        raise fail(
            f"{what}, but every column should contain {are}", ..., "", todo.format(name=repr(name))
        )


def _may_name(values):
    """Return True if values may be identifiers, which are neither boolean nor fractional."""
    if not pd.api.types.is_float_dtype(values):
        return not pd.api.types.is_bool_dtype(values)
    return bool((values.dropna() % 1 == 0).all())


def _numbers_rows(values, fewest):
    """Return True if integers are 0, 1, 2, ... or 1, 2, 3, ... in any order."""
    if not pd.api.types.is_integer_dtype(values) or len(values) < fewest or values.hasnans:
        return False
    numbers = np.sort(values.to_numpy(np.int64))
    return bool((numbers == np.arange(len(numbers)) + numbers[0]).all())


def as_pandas(table: Any) -> Any:
    """Convert a table of another library to a DataFrame, or return the object unchanged."""
    return table.to_pandas() if hasattr(table, "to_pandas") and hasattr(table, "columns") else table

"""
The two sides of a confusion table: which one is the truth, by the names of its axes.

Tables of other programs have the predictions down as often as across, and a table that is read the
wrong way round has precision and recall swapped. `sides_of` decides by the names of the axes, and
`described` states the result with the cells.
"""

import re
import warnings
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

from bayescm.validate import fail

# Words in the names of axes, in small letters. A word that can only mean one side settles it ...
_TRUTH = {"actual", "actuals", "truth", "true", "ytrue", "reference", "gold", "observed", "real"}
_GUESS = {"hat", "yhat", "ypred", "ŷ", "forecast", "guess", "guessed", "estimated", "classified"}
_GUESS_STEM = "pred"  # predicted, prediction, preds, ...
# ... before words that mean it most of the time: `label` alone is the truth, `true_label` is too.
_MOSTLY_TRUTH = {"y", "ytest", "label", "labels", "target", "class", "disease", "condition"}
_MOSTLY_TRUTH |= {"diagnosis", "status", "outcome", "expected", "annotation", "annotated"}
_MOSTLY_GUESS = {"test", "model", "classifier", "output", "system", "algorithm", "answer", "result"}
_MOSTLY_GUESS |= {"response", "screening", "index", "tool", "estimate", "detector", "llm"}
# Conventions of libraries that their words would not tell.
_NAMES = {"y_test": "actual", "test_label": None, "test_labels": None}
# What separates the names of both axes in the corner of a table: rows first.
_BOTH = re.compile(r"\s*(?:[\\/|]|\bvs\b\.?|\bversus\b|\bby\b)\s*", re.IGNORECASE)

# Names that pandas gives the axes of a crosstab of arrays.
_AUTOMATIC = re.compile(r"(row|col)_\d+")


class Sides(NamedTuple):
    """What is down and what is across a table, the names of both, and whether these say so."""

    down: str
    across: str
    names: tuple[str, str]
    settled: bool


def sides_of(table: pd.DataFrame) -> Sides:
    """
    Return which axis of a table is the truth, by their names.

    Parameters
    ----------
    table : DataFrame

    Returns
    -------
    Sides
        If the names settle nothing, the rows are assumed to be the truth.

    Raises
    ------
    ValueError
        If both axes are the truth, or both are predictions.

    Examples
    --------
    >>> sides_of(pd.DataFrame([[1]]).rename_axis(index="Prediction", columns="Reference"))[:2]
    ('predicted', 'actual')
    >>> sides_of(pd.DataFrame([[1]]).rename_axis(index="yhat", columns="y"))[:2]
    ('predicted', 'actual')
    """
    names = _names(table)
    for meaning in (_by_certain_words, _by_any_words):
        down, across = sides = [meaning(name) for name in names]
        if None not in sides and down == across:
            if meaning is _by_any_words:
                break
            todo = "name the rows actual and the columns predicted, or the other way round"
            what = f"both axes of the table are the same by their names, which mean {down}"
            raise fail(what, list(names), "", todo)
        if down or across:
            is_turned = down == "predicted" or across == "actual"
            order = ("predicted", "actual") if is_turned else ("actual", "predicted")
            return Sides(*order, names, True)
    return Sides("actual", "predicted", names, False)


def _names(table):
    """Return the names of the rows and of the columns; a corner may have both."""
    down, across = ("" if axis.name is None else str(axis.name).strip() for axis in table.axes)
    both = _BOTH.split(down)
    return (both[0], both[1]) if not across and len(both) == 2 and all(both) else (down, across)


def _words(name):
    """Return the words of a name in small letters, with those of `y_hat` also as one."""
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return {*words, "".join(words)}


def _by_certain_words(name):
    key = "_".join(re.findall(r"[^\W_]+", name.lower()))
    if key in _NAMES:
        return _NAMES[key]
    words = _words(name)
    is_truth = bool(words & _TRUTH)
    is_guess = bool(words & _GUESS) or any(word.startswith(_GUESS_STEM) for word in words)
    return _one_side(is_truth, is_guess)


def _by_any_words(name):
    if certain := _by_certain_words(name):
        return certain
    words = _words(name)
    return _one_side(bool(words & _MOSTLY_TRUTH), bool(words & _MOSTLY_GUESS))


def _one_side(is_truth, is_guess):
    if is_truth == is_guess:
        return None
    return "actual" if is_truth else "predicted"


def warn_of_names(sides: Sides, todo: str, stacklevel: int) -> None:
    """Warn if somebody named an axis, and the names do not tell the truth from the predictions."""
    names = [name for name in sides.names if name and not _AUTOMATIC.fullmatch(name)]
    if sides.settled or not names:
        return
    named = " and ".join(map(repr, names))
    warnings.warn(
        f"The name{'s' * (len(names) - 1)} {named} of the table's axes "
        f"do{'es' * (len(names) == 1)} not tell the truth from the predictions. Rows are "
        f"assumed to be the actual classes. {todo}",
        stacklevel=stacklevel + 1,
    )


def described(counts: xr.DataArray, sides: Sides) -> str:
    """
    Return which side of a table is which, with the four cells of two classes as they were read.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> described(counts, Sides("predicted", "actual", ("test", "disease"), True))
    "rows ('test') are predicted, columns ('disease') are actual: TP 65, FN 15, FP 35, TN 30"
    """
    rows, columns = (f" ({name!r})" if name else "" for name in sides.names)
    assumed = "" if sides.settled else "assumed to be "
    text = f"rows{rows} are {assumed}{sides.down}, columns{columns} are {assumed}{sides.across}"
    return f"{text}: {_cells(counts)}"


def _cells(counts):
    """Return the four cells, or the cell off the diagonal that most examples are in."""
    labels = counts["actual"].values.tolist()
    if len(labels) == 2 and "positive" in counts.coords:
        return two_by_two(counts)
    pairs = [(a, b) for a in labels for b in labels if a != b]
    actual, predicted = max(pairs, key=lambda pair: _cell(counts, *pair))
    number = _cell(counts, actual, predicted)
    return f"{number:.15g} of actual class {actual!r} are predicted as {predicted!r}"


def two_by_two(counts: Any) -> str:
    """Return which cell of a table of two classes is which, as clinicians write them."""
    one, two = counts["actual"].values.tolist()
    yes = counts["positive"].item()
    no = two if one == yes else one
    cells = {"TP": (yes, yes), "FN": (yes, no), "FP": (no, yes), "TN": (no, no)}
    return ", ".join(f"{name} {_cell(counts, *pair):.15g}" for name, pair in cells.items())


def _cell(counts, actual, predicted):
    row, column = (
        counts.indexes[dim].tolist().index(label)
        for dim, label in (("actual", actual), ("predicted", predicted))
    )
    return float(counts.isel(actual=row, predicted=column))

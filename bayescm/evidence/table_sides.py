"""
Orientation of confusion matrices: which axis is the truth, judged by the names of the axes.

Other programs write predictions in rows about as often as in columns. Reading a table the wrong way
round swaps precision and recall. `sides_of` decides by the names of the axes, and `described`
states the result together with the cells.
"""

import re
import warnings
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

from bayescm.validate import fail

# Words in axis names, in lower case. These words identify one side with certainty.
_TRUTH = {"actual", "actuals", "truth", "true", "ytrue", "reference", "gold", "observed", "real"}
_GUESS = {"hat", "yhat", "ypred", "ŷ", "forecast", "guess", "guessed", "estimated", "classified"}
_GUESS_STEM = "pred"  # predicted, prediction, preds, ...
# These words identify a side only if the name contains none of the words above: `label` alone
# denotes the truth, but `predicted_label` does not.
_MOSTLY_TRUTH = {"y", "ytest", "label", "labels", "target", "class", "disease", "condition"}
_MOSTLY_TRUTH |= {"diagnosis", "status", "outcome", "expected", "annotation", "annotated"}
_MOSTLY_GUESS = {"test", "model", "classifier", "output", "system", "algorithm", "answer", "result"}
_MOSTLY_GUESS |= {"response", "screening", "index", "tool", "estimate", "detector", "llm"}
# Names that are conventional in libraries, but would be misread word by word.
_NAMES = {"y_test": "actual", "test_label": None, "test_labels": None}
# Words in the labels of a 2x2 table of a test and a disease.
_POSITIVE = {"positive", "pos", "yes", "present", "true", "1", "ill", "sick", "diseased", "case"}
_NEGATIVE = {"negative", "neg", "no", "not", "non", "absent", "false", "0", "healthy", "well"}
_NEGATIVE |= {"without", "none", "control", "normal"}
# Symbols that epidemiologists use as labels.
_SYMBOLS = {"T+": "test", "T-": "test", "D+": "disease", "D-": "disease"}
# Separators between the two axis names in the corner of a table, with the name of the rows first.
_BOTH = re.compile(r"\s*(?:[\\/|]|\bvs\b\.?|\bversus\b|\bby\b)\s*", re.IGNORECASE)

# Automatic axis names in a pandas crosstab of arrays.
_AUTOMATIC = re.compile(r"(row|col)_\d+")


class Sides(NamedTuple):
    """Roles and names of the rows and columns, and whether the names determine the roles."""

    down: str
    across: str
    names: tuple[str, str]
    settled: bool


def sides_of(table: pd.DataFrame) -> Sides:
    """
    Return which axis of a table is the truth, judged by the axis names.

    Parameters
    ----------
    table : DataFrame

    Returns
    -------
    Sides
        If the names are inconclusive, the rows are assumed to be the truth.

    Raises
    ------
    ValueError
        If both names mean the truth, or both mean predictions.

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
            raise fail(
                f"Both axes of the table are named {{}}, so they look the same ({down})",
                list(names),
                "",
                todo,
            )
        if down or across:
            is_turned = down == "predicted" or across == "actual"
            order = ("predicted", "actual") if is_turned else ("actual", "predicted")
            return Sides(*order, names, True)
    return Sides("actual", "predicted", names, False)


def with_signs(table: pd.DataFrame) -> pd.DataFrame | None:
    """
    Return a 2x2 table of a test and a disease with standard labels.

    Parameters
    ----------
    table : DataFrame, shape (2, 2)
        Table with different labels on the two axes, such as ``T+`` and ``T-`` on one and ``D+`` and
        ``D-`` on the other.

    Returns
    -------
    DataFrame or None
        Table with the labels negative and positive on both axes, which are named test and disease.
        None if the labels do not identify the positive side.

    Raises
    ------
    ValueError
        If neither axis names nor labels distinguish the test from the disease.

    Examples
    --------
    >>> table = pd.DataFrame([[90, 10], [5, 95]], ["T+", "T-"], ["disease", "no disease"])
    >>> with_signs(table.rename_axis(index="test"))
    disease   positive  negative
    test
    positive        90        10
    negative         5        95
    """
    signs = [_signs(axis) for axis in table.axes]
    if None in signs:
        return None
    sides = sides_of(table)
    if not sides.settled:
        axes = zip(sides.names, table.axes, strict=True)
        words = [
            " ".join([name, *(_SYMBOLS.get(x, x) for x in map(str, axis))]) for name, axis in axes
        ]
        sides = sides_of(table.rename_axis(index=words[0], columns=words[1]))
    if not sides.settled:
        todo = "name the first column of the file 'test' if the rows are results of the test"
        raise fail(
            "The row and column names {} do not show which axis is the test and which is the "
            "disease",
            words,
            "",
            todo,
        )
    turned = sides.down == "predicted"
    down, across = ("test", "disease") if turned else ("disease", "test")
    signed = table.set_axis(signs[0], axis=0).set_axis(signs[1], axis=1)
    return signed.rename_axis(index=down, columns=across)


def _signs(labels):
    """Return "positive" or "negative" for both labels of an axis, or None if they are unclear."""
    signs = [_sign(str(label)) for label in labels]
    # One label may be the negation of the other, as in "disease" and "no disease".
    if signs.count("negative") == 1 and None in signs:
        signs = ["negative" if sign else "positive" for sign in signs]
    return signs if sorted(map(str, signs)) == ["negative", "positive"] else None


def _sign(label):
    words = _words(label)
    is_negative = bool(words & _NEGATIVE) or label.rstrip().endswith(("-", "\N{MINUS SIGN}"))
    is_positive = bool(words & _POSITIVE) or label.rstrip().endswith("+")
    if is_positive == is_negative:
        return "negative" if is_negative and "no" in words else None
    return "positive" if is_positive else "negative"


def _names(table):
    """Return the names of the rows and of the columns, which may share the corner cell."""
    down, across = ("" if axis.name is None else str(axis.name).strip() for axis in table.axes)
    both = _BOTH.split(down)
    return (both[0], both[1]) if not across and len(both) == 2 and all(both) else (down, across)


def _words(name):
    """Return the lower-case words of a name, and their concatenation (`y_hat` gives `yhat`)."""
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
    """Warn if an axis has a name, but the names do not show which axis is the truth."""
    names = [name for name in sides.names if name and not _AUTOMATIC.fullmatch(name)]
    if sides.settled or not names:
        return
    named = " and ".join(map(repr, names))
    warnings.warn(
        f"The name{'s' * (len(names) - 1)} {named} of the table's axes "
        f"do{'es' * (len(names) == 1)} not show which axis is the truth. Rows are "
        f"assumed to be the actual classes. {todo}",
        stacklevel=stacklevel + 1,
    )


def described(counts: xr.DataArray, sides: Sides) -> str:
    """
    Return a sentence on the orientation of a table, with the four cells if there are two classes.

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
    """Return the four cells as text, or the largest off-diagonal cell for more classes."""
    labels = counts["actual"].values.tolist()
    if len(labels) == 2 and "positive" in counts.coords:
        return two_by_two(counts)
    pairs = [(a, b) for a in labels for b in labels if a != b]
    actual, predicted = max(pairs, key=lambda pair: _cell(counts, *pair))
    number = _cell(counts, actual, predicted)
    return f"{number:.15g} of actual class {actual!r} are predicted as {predicted!r}"


def two_by_two(counts: Any) -> str:
    """Return the cells TP, FN, FP and TN of a two-class table as text."""
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

"""Validation of arguments of public functions, and the format of error messages."""

import datetime
import inspect
import math
import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

import numpy as np

_LARGEST, _COUNTED = 2**53, "at most 2**53 = 9e15, the largest whole number that is exact"
# Types that numpy converts to floats without an error, with advice for each.
_NO_NUMBERS = {
    "strings": ((str, bytes), "convert them first, e.g. with pandas.to_numeric"),
    "booleans": ((bool, np.bool_), "use from_predictions for predictions, or .astype(float)"),
    "dates": (
        (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64),
        "pass numbers",
    ),
    "complex numbers": ((complex, np.complexfloating), "pass real numbers"),
}
_SINGULAR = {"strings": "a string", "booleans": "a boolean", "dates": "a date"}
_SINGULAR["complex numbers"] = "a complex number"
_SHORT = Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxdict = 8
_SHORT.maxstring = _SHORT.maxother = 120


def fail(
    what: str,
    got: object,
    allowed: str | Iterable[object],
    todo: str | Sequence[str],
    error: type[Exception] = ValueError,
) -> Exception:
    """
    Build an error with the problem, the invalid value, the expected values and advice.

    Arguments of a function are written in backticks, ```prob=0.95```. The Python message omits the
    backticks, and the command line replaces arguments by its options, ``--prob 0.95``.

    Parameters
    ----------
    what : str
        Sentence that states the problem, without a full stop. ``{}`` is replaced by the value.
        Without ``{}``, the value is appended, after "; got" if the sentence contains "must" or
        "need", and otherwise after a colon.
    got : object
        Invalid value. Long values are abbreviated. ``...`` if there is no value to show.
    allowed : str or iterable
        Expected values, in words or as a list of choices. Empty if `what` already names them.
    todo : str or sequence of str
        Advice to the caller. A question ("did you mean 'f1'?") comes first. A sequence contains
        alternatives. The command line omits alternatives whose arguments the command lacks.
    error : type, default ValueError
        Class of the error.

    Returns
    -------
    Exception
        Error to be raised by the caller: ``raise fail(...)``. Its attributes are ``what``,
        ``value`` (``...`` if missing), ``expected``, ``advice`` (a tuple of alternatives) and
        ``keyword`` (the first argument in the message, or None).

    Examples
    --------
    >>> print(fail("{} is not a measure", 3, "", 'pass a name such as "f1"'))
    3 is not a measure. Pass a name such as "f1".
    >>> print(fail("Unknown kind {}", "hpd", ["hdi", "eti"], "did you mean 'hdi'?"))
    Unknown kind 'hpd'. Did you mean 'hdi'? Expected 'hdi' or 'eti'.
    >>> error = fail("`prob` must be between 0 and 1", 95, "", "write e.g. `prob=0.95`")
    >>> print(error, error.keyword, error.value)
    prob must be between 0 and 1; got 95. Write e.g. prob=0.95. prob 95
    """
    parts: dict[str, Any] = {"what": what, "value": got, "expected": _choices(allowed)}
    parts["advice"] = (todo,) if isinstance(todo, str) else (*todo,)
    raised = error(message_of(**parts))
    mentioned = [name for text in (what, *parts["advice"]) for name in arguments_in(text)]
    vars(raised).update(parts, keyword=mentioned[0].partition("=")[0] if mentioned else None)
    return raised


def message_of(
    what: str,
    value: object,
    expected: str,
    advice: Sequence[str],
    written: Callable[[str], str] | None = None,
) -> str:
    """
    Return the message of an error, given its parts.

    Parameters
    ----------
    what, value, expected, advice
        Attributes of an error that `fail` built.
    written : callable, optional
        Function that formats a text with arguments in backticks. By default the backticks are
        removed.
    """
    written = written or without_backticks
    first, expected = written(what), written(expected)
    question, mark, todo = written(_alternatives(advice)).rstrip(".").rpartition("?")
    if value is not ... and "{}" in what:
        first = first.replace("{}", _in_a_sentence(value), 1)
    elif value is not ...:
        says_what_is_right = re.search(r"\b(must|needs?|needed)\b", what)
        first += f"; got {_in_a_sentence(value)}" if says_what_is_right else f": {_shown(value)}"
    later = [question + mark, f"Expected {expected}" if expected else "", todo.strip()]
    sentences = [first, *(_capitalized(sentence) for sentence in later if sentence)]
    return " ".join(text if text.endswith("?") else f"{text}." for text in sentences)


def _capitalized(sentence):
    return sentence[0].upper() + sentence[1:]


def _alternatives(advice):
    *earlier, last = advice or [""]
    return f"{', '.join(earlier)}, or {last}" if earlier else last


def arguments_in(text: str) -> list[str]:
    """
    Return the parts of a text that are in backticks.

    Examples
    --------
    >>> arguments_in("pass `kind='eti'`, or leave `kind` out")
    ["kind='eti'", 'kind']
    >>> arguments_in("a label with one ` is text")
    []
    """
    pieces = text.split("`")
    return pieces[1::2] if len(pieces) % 2 else []


def without_backticks(text: str) -> str:
    """Return a text without the backticks around its arguments."""
    return text.replace("`", "") if arguments_in(text) else text


class Advice(UserWarning):
    """
    Warning with advice, with the same parts as an error built by `fail`.

    Parameters
    ----------
    what : str
        Sentence that states the problem or what was done anyway, without a full stop. Arguments are
        in backticks.
    todo : str or sequence of str
        Advice to the caller, as in `fail`.
    """

    def __init__(self, what: str, todo: str | Sequence[str]) -> None:
        self.what, self.value, self.expected = what, ..., ""
        self.advice = (todo,) if isinstance(todo, str) else (*todo,)
        super().__init__(message_of(what, ..., "", self.advice))

    def __reduce__(self) -> tuple:
        return type(self), (self.what, self.advice)


def _choices(allowed):
    if isinstance(allowed, str):
        return allowed
    names = list(allowed)
    if len(names) > _SHORT.maxlist:
        shown = ", ".join(repr(_plain(name)) for name in names[: _SHORT.maxlist])
        return f"one of {shown} or {len(names) - _SHORT.maxlist} others"
    return f"one of {_either(names)}" if len(names) > 2 else _either(names)


def _either(names):
    *first, last = [repr(_plain(name)) for name in names] or [""]
    return f"{', '.join(first)} or {last}" if first else last


def _shown(got):
    if isinstance(got, Exception):
        return " ".join(str(got).split()).rstrip(".")
    return " ".join(_SHORT.repr(_plain(got)).split())


def _in_a_sentence(got):
    """Return a value as part of a sentence: names, such as dimensions, are joined by "and"."""
    few = isinstance(got, tuple | list | dict) and 0 < len(got) <= _SHORT.maxtuple
    if not few or {*map(type, got)} != {str}:
        return _shown(got)
    if isinstance(got, dict):  # such as sizes by dimension
        return ", ".join(f"{name}={_shown(value)}" for name, value in got.items())
    *first, last = map(repr, got)
    return f"{', '.join(first)} and {last}" if first else last


def _plain(value):
    """Convert numpy scalars, also in lists, to Python values, which print as plain numbers."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufcUS":
        return _plain(value.item())
    if isinstance(value, float):
        short = float(f"{value:.6g}")
        return value if short.is_integer() else short
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return str(value)
    if type(value) in (list, tuple):
        return type(value)(_plain(element) for element in value)
    if type(value) is dict:
        return {_plain(key): _plain(element) for key, element in value.items()}
    if isinstance(value, np.ndarray) and value.size <= _SHORT.maxlist:
        return value.tolist()
    return value


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """
    Return up to three names that are most similar to the given one.

    Examples
    --------
    >>> nearest("recal", ["precision", "recall", "f1"])
    ['recall']
    >>> nearest("macro_f1", ["f2_macro", "f1_macro"])
    ['f1_macro']
    """
    by_lower_case = {str(choice).lower(): str(choice) for choice in names}
    lower = "_".join(re.findall(r"[^\s()-]+", str(name).lower()))
    words = sorted(lower.split("_"))
    swapped = [text for text in by_lower_case if sorted(text.split("_")) == words]
    close = swapped or get_close_matches(lower, by_lower_case, n=3, cutoff=0.5)
    return [by_lower_case[text] for text in close]


def suggest(name: object, names: Iterable[object]) -> str:
    """Return a question that suggests the nearest names, or an empty string."""
    by_text = {str(choice): choice for choice in names}
    close = [by_text[text] for text in nearest(str(name), by_text)]
    return f"did you mean {_either(close)}?" if close else ""


def check_prob(prob: float) -> float:
    """Return an interval probability as a float, or raise an error if it is not in (0, 1)."""
    todo = "pass a number, e.g. `prob=0.95`"
    if isinstance(prob, bool) or not isinstance(prob, (int, float, np.number)):
        raise fail("`prob` must be a number between 0 and 1", prob, "", todo, TypeError)
    if not 0 < prob < 1:
        raise fail("`prob` must be a number between 0 and 1", prob, "", todo)
    return float(prob)


def check_whole(name: str, value: Any, least: int, of: str, usual: int) -> int:
    """Return an integer, or raise an error if the value is not an integer or out of range."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_whole and least <= value < 2**63:
        return int(value)
    allowed = f"{least} or more" if not is_whole or value < least else "less than 2**63"
    raise fail(
        f"`{name}` must be a whole number of {of}, {allowed}", value, "", f"pass `{name}={usual}`"
    )


def check_number(name: str, value: Any, least: float = -np.inf, *, usual: float) -> float:
    """Return a finite number above ``least`` as a float, or raise an error otherwise."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if number and least < value < np.inf:
        return float(value)
    allowed = "a finite number" if least == -np.inf else f"a finite number > {least:g}"
    raise fail(f"`{name}` must be {allowed}", value, "", f"pass `{name}={usual}`")


def check_seed(seed: Any) -> Any:
    """Return a seed for numpy's generators, or raise an error if it is invalid."""
    is_whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
    if seed is None or isinstance(seed, np.random.SeedSequence) or (is_whole and seed >= 0):
        return seed
    raise fail("The seed must be a whole number >= 0", seed, "", "pass `random_seed=0`")


def check_kind(kind: str) -> str:
    """Return the kind of an interval, or raise an error if it is neither ``hdi`` nor ``eti``."""
    choices = ["hdi", "eti"]
    if not isinstance(kind, str) or kind not in choices:
        todo = "'hdi' is the highest-density interval, 'eti' has equal tails"
        near = isinstance(kind, str) and kind.lower() in choices
        question = f"did you mean {kind.lower()!r}? " if near else ""
        raise fail("Unknown kind {}", kind, choices, question + todo)
    return kind


def check_is(value: Any, kind: type | tuple[type, ...], what: str, allowed: str, todo: str) -> Any:
    """Return the value, or raise a TypeError if it is not of the given type."""
    if not isinstance(value, kind):
        raise fail(f"A {type(value).__name__} is not {what}", ..., allowed, todo, TypeError)
    return value


def check_choice(keyword: str, value: str, choices: Iterable[str]) -> str:
    """Return the value, or raise an error if it is not one of the choices."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise fail(
            f"Unknown `{keyword}` {{}}",
            value,
            choices,
            suggest(value, choices) or f"pass e.g. `{keyword}={choices[0]!r}`",
        )
    return value


def check_column(name: Any, columns: Iterable[Any], role: str = "") -> Any:
    """Return the name of a column (with the given role), or raise an error if it does not exist."""
    columns = list(columns)
    if not isinstance(name, Hashable) or name not in columns:
        what = f"There is no column {{}} for the {role}" if role else "There is no column {}"
        todo = f"pass `{role}=` with the name of a column" if role else ""
        raise fail(what, name, columns, suggest(name, columns) or todo)
    return name


def check_by(by: Any, values: str) -> dict[Any, Any]:
    """Return values by dimension, or raise an error unless they are a mapping or None."""
    if by is not None and not isinstance(by, Mapping):
        todo = f"pass e.g. `by={{{values}}}`"
        raise fail("`by` must map names of dimensions to values", by, "", todo, TypeError)
    return dict(by or {})


def check_counts(
    array: Any,
    fractional: bool = False,
    name: str = "a count",
    todo: str = "count whole examples, or pass `fractional=True` if averages or weights are meant",
) -> np.ndarray:
    """
    Return counts as int64, or as float64 if fractional counts are allowed and occur.

    Parameters
    ----------
    array : array_like, shape (...)
        Finite numbers >= 0.
    fractional : bool, default False
        Whether to allow non-integer counts (averaged matrices, sample weights).
    name : str, default "a count"
        Name of a count in the message.
    todo : str
        Advice for fractional counts. By default it mentions a keyword of `bayescm.from_cells` and
        `bayescm.from_matrix`.

    Returns
    -------
    ndarray
        Array of type int64 if all counts are integers, otherwise float64.

    Raises
    ------
    ValueError
        If a cell is negative, NaN, masked, infinite, larger than 2**53, or fractional although this
        is not allowed. The message names the cell.
    TypeError
        If the array is not numeric.
    """
    name = _capitalized(name) if name.startswith("a ") else name
    array = _numbers(array, name)
    if array.dtype.kind in "iu":
        _refuse(array, array < 0, f"{name} is negative", "whole numbers >= 0")
        _refuse(array, array > _LARGEST, f"{name} is too large", _COUNTED)
        return array.astype(np.int64, copy=False)
    _refuse(array, np.isnan(array), f"{name} is missing (NaN)", "finite numbers >= 0")
    _refuse(array, np.isinf(array), f"{name} is infinite", "finite numbers >= 0")
    _refuse(array, array < 0, f"{name} is negative", "finite numbers >= 0")
    fractions = array != np.floor(array)
    if fractions.any():
        if fractional:
            return array.astype(np.float64, copy=False)
        _refuse(array, fractions, f"{name} is not a whole number", "whole numbers >= 0", todo)
    _refuse(array, array > _LARGEST, f"{name} is too large", _COUNTED)
    return array.astype(np.int64)


def no_numbers(array: np.ndarray) -> tuple[str, Any, str] | None:
    """
    Return the type of non-numeric values in an array, with an example and advice, or None.

    Examples
    --------
    >>> no_numbers(np.array([0.1, True], object))[:2]
    ('booleans', True)
    >>> no_numbers(np.array([0.1, None, 1], object))
    """
    flat = array.ravel()
    objects = flat.tolist() if array.dtype.kind == "O" else list(flat[:1])
    kinds = set(map(type, objects)) | ({array.dtype.type} - {np.object_})
    for what, (types, todo) in _NO_NUMBERS.items():
        if any(issubclass(kind, types) for kind in kinds):
            return what, next((item for item in objects if isinstance(item, types)), ...), todo
    return None


def check_reals(values: Any, name: str, todo: str) -> np.ndarray:
    """
    Return real numbers as float64, or raise an error if they are not numeric or lose precision.

    numpy converts the string "0.37", booleans and dates to floats without an error. It also rounds
    integers beyond 2**53, so that different integers may become equal.

    Parameters
    ----------
    values : array_like
        Numbers, including NaN and infinity. None is converted to NaN.
    name : str
        Plural name of the values in the message.
    todo : str
        Advice if the values are not numeric.

    Raises
    ------
    TypeError
        If some values are strings, booleans, dates, complex numbers or other objects.
    ValueError
        If an integer cannot be represented exactly as a float64.

    Examples
    --------
    >>> check_reals([0.1, 1, None], "scores", "pass numbers")
    array([0.1, 1. , nan])
    """
    # Check the elements of lists one by one, because numpy converts [True, 0.3] to floats.
    array = _array(values, object if isinstance(values, (list, tuple)) else None)
    problem = None if array is None else no_numbers(array)
    reals = None if array is None or problem else _array(values, float)
    if reals is None:
        kind, got, todo = problem or ("", values, todo)
        what = f"{name} must be numbers{', not ' if kind else ''}{kind}"
        raise fail(what, got, "", todo, TypeError)
    if array is not None and array.dtype.kind in "iuO":
        large = np.isfinite(reals) & (np.abs(reals) >= _LARGEST)
        for number in array[large].tolist():
            if isinstance(number, int) and int(float(number)) != number:
                raise fail(f"{name} are too large", number, _COUNTED, "pass smaller numbers")
    return reals


def _array(values, dtype):
    """Return an array, or None if numpy cannot convert the values."""
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: tensors on other devices
        return None


def unmasked(values: Any, name: str) -> Any:
    """Return values unchanged, or raise an error if some values of a masked array are masked."""
    if np.ma.is_masked(values):
        masked = np.argwhere(np.ma.getmaskarray(values))
        first = tuple(int(i) for i in masked[0])
        what = f"{name} has masked values ({len(masked)}, the first at position {first})"
        raise fail(what, ..., "", "drop them, or fill them in")
    return values


def check_row_order(columns: Mapping[str, Any]) -> None:
    """
    Raise an error if related columns contain the same row labels in different orders.

    Columns are matched by position, as in scikit-learn. This is safe if the row labels agree, or if
    they differ altogether, as for a column with a new index. If the same labels are in a different
    order, position and label contradict each other, and only the caller knows which is correct.

    Parameters
    ----------
    columns : mapping of str to object
        Columns by name, or mappings of columns. Columns without an index (lists, arrays, None) or
        with duplicate labels are not checked.

    Raises
    ------
    ValueError
        If two unique indexes contain the same labels in different orders. The message names the
        columns and the first row that differs.

    Examples
    --------
    >>> import pandas as pd
    >>> actual, predicted = pd.Series([1, 0], index=["a", "b"]), pd.Series([0, 1], index=["b", "a"])
    >>> check_row_order({"actual": actual, "predicted": predicted.loc[actual.index]})
    >>> check_row_order({"actual": actual, "predicted": predicted.to_numpy()})
    """
    orders: list[tuple[str, Any]] = []
    for name, index in _row_labels(columns):
        for earlier, base in orders:
            if index.equals(base):
                break
            if (row := _first_moved(index, base)) is not None:
                todo = (
                    f"reorder it by its labels, e.g. with .loc[{earlier}.index], or, if positions "
                    "are right and the labels are wrong, pass .to_numpy()"
                )
                what = (
                    f"{name} has the rows of {earlier} in a different order, from position {row} on"
                )
                raise fail(what, {earlier: base[row], name: index[row]}, "", todo)
        else:
            orders.append((name, index))


def _row_labels(columns):
    """Yield the name and index of every column that has an index."""
    for name, values in columns.items():
        index: Any = getattr(values, "index", None)  # pandas; for lists, this is a method
        if hasattr(values, "indexes"):  # xarray: use the first dimension
            index = next((values.indexes.get(dim) for dim in values.dims), None)
        elif isinstance(values, Mapping):
            yield from _row_labels({f"{name}[{key!r}]": column for key, column in values.items()})
        if hasattr(index, "get_indexer_for"):
            yield name, index


def _first_moved(index, base):
    """Return the first position at which unique indexes with the same labels differ, or None."""
    if len(index) != len(base) or index.nlevels != base.nlevels:
        return None
    # This shortcut covers the common case of test rows that are compared with a new default index.
    # For a million rows, it takes 2 ms instead of 150 ms.
    are_whole = index.dtype.kind in "iu" and base.dtype.kind in "iu"
    if are_whole and index.max() != base.max():
        return None
    if not (index.is_unique and base.is_unique):
        return None
    positions = base.get_indexer_for(index)
    moved = np.flatnonzero(positions != np.arange(len(positions)))
    return int(moved[0]) if len(moved) and (positions >= 0).all() else None


def _numbers(array, name):
    unmasked(array, name)
    try:
        array = np.asarray(array)
    except ValueError:
        raise fail(
            "The rows of the counts have different lengths", ..., "", "make all rows equally long"
        ) from None
    except TypeError:
        todo = "pass counts, or make them from predictions with `from_predictions`"
        kind = type(array).__name__
        raise fail(f"{name} must be a number, not a {kind}", ..., "", todo, TypeError) from None
    if array.dtype.kind == "O":
        array = _from_objects(array)
    if array.dtype.kind not in "iuf":
        what, got, todo = no_numbers(array) or (
            "these values",
            array.ravel()[:4].tolist(),
            "pass counts, or make them from predictions with `from_predictions`",
        )
        if what == "strings":
            todo = "convert it with int, or the table with .astype(int)"
        elif what == "booleans":
            todo = "count the examples, or pass predictions to `from_predictions`"
        what = f"{name} must be a number, not {_SINGULAR.get(what, what)}"
        raise fail(what, got, "", todo, TypeError)
    if array.size == 0:
        raise fail(
            "The counts are empty: their shape is {}", array.shape, "", "pass at least one matrix"
        )
    return array


def _from_objects(array):
    if no_numbers(array):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def _refuse(array, bad, what, allowed, todo="correct this cell"):
    if bad.any():
        cell = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" in cell {cell}" if cell else ""
        raise fail(f"{what}{where}", array[cell].item(), allowed, todo)


def check_keywords(
    function: Callable, keywords: Mapping[str, Any], further: Sequence[str] = ()
) -> Mapping[str, Any]:
    """
    Return the keywords of a function, or raise an error if the function does not accept them.

    Parameters
    ----------
    function : callable
    keywords : mapping of str to object
    further : sequence of str, optional
        Further valid names, such as sampler options. The message may suggest one of them.
    """
    if not keywords:
        return keywords
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return keywords
    named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    allowed = [parameter.name for parameter in parameters if parameter.kind in named]
    for keyword in keywords:
        if keyword not in allowed:
            name = getattr(function, "__name__", "this function")
            todo = called_here(keyword) or suggest(keyword, [*allowed, *further])
            meant = todo and not suggest(keyword, allowed) and not called_here(keyword)
            valid = [*allowed, *further] if meant else allowed
            what = f"{name} has no keyword {{}}"
            raise fail(what, keyword, valid, todo or "leave it out", TypeError)
    return keywords


# Advice for keywords of other libraries that have an equivalent here.
_CALLED_HERE = {
    "the prior is `concentration=`, in pseudo-counts per cell": "prior priors pseudocounts",
    "the probability of an interval is `prob=0.95`": (
        "ci level confidence confidence_level conf_level conf hdi_prob ci_prob cred_mass mass"
    ),
    "the probability of an interval is `prob=0.95`, which is 1 - alpha": "alpha significance",
    "the kind of an interval is `kind='hdi'` or `kind='eti'`": (
        "interval interval_type ci_kind method"
    ),
    "the seed is random_seed=0": "seed random_state rng",
    "the number of draws is draws=20000": "samples n_samples n_draws nsamples num_samples n_boot",
    "the measures are the second argument, such as 'f1'": (
        "measure measures metric metrics score scoring scorer"
    ),
    "the positive class is positive=": "pos_label positive_class positive_label event",
    "set the prevalence in the counts first: at_prevalence(counts, 0.1)": (
        "prevalence prior_prevalence pretest pretest_probability base_rate"
    ),
    "the size of the next test set is n=, with of='predictive'": "n_test test_size size",
    "the estimand is of=": "estimand target",
    "groups are part of the counts: from_predictions(..., by={'group': site})": ("group groups by"),
    "the average is part of the measure's name: 'f1_macro', 'f1_micro', 'f1_weighted'": "average",
    "the number of attempts is part of the measure's name: 'pass@4'": "k",
    "beta is part of the measure's name: 'fbeta(0.5)'": "beta",
    "the classes are part of the counts: from_predictions(..., labels=[...])": "labels",
    "weights are part of the counts: from_predictions(..., weights=...)": (
        "weights sample_weight sample_weights"
    ),
}


def called_here(keyword: str) -> str:
    """Return the equivalent of another library's keyword, or an empty string."""
    lower = keyword.lower()
    return next((text for text, others in _CALLED_HERE.items() if lower in others.split()), "")


def check_memory(what: str, values: int, todo: str) -> None:
    """
    Raise an error if an array of float64 numbers would exceed the memory of the machine.

    Parameters
    ----------
    what : str
        Subject and verb of the message, as in ``"these draws need"``.
    values : int
        Number of values in memory at the same time.
    todo : str
    """
    need, available = 8 * values, _memory()
    if need > available:
        sizes = f"{_gigabytes(need)} of memory; the machine has {_gigabytes(available)}"
        raise fail(f"{_capitalized(what)} {sizes}", ..., "", todo)


def _gigabytes(size):
    return f"{size / 1e9:,.0f} GB" if size > 1e10 else f"{size / 1e9:.2g} GB"


def _memory():
    """Return the physical memory in bytes, or infinity if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf

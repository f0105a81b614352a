"""The strata of examples that a judge has seen: what he said, and what they were chosen by."""

import warnings
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.labels import check_no_dates, check_no_missing_text
from bayescm.evidence.tabulate import Axis, check_one_axis, check_sizes, column, in_a_row
from bayescm.validate import fail

# A score is cut into so many parts at most, of no fewer labels each.
BINS, LABELS_A_BIN = 5, 10


def strata(
    judge: Any, design: Any, size: int, labels: int | None = None
) -> tuple[np.ndarray, list[str]]:
    """
    Return the stratum (n,) of every example, and the names of the strata.

    Parameters
    ----------
    judge : array_like (n,), mapping of these, or None
        Answers or scores; of several judges each combination is a stratum.
    design : array_like (n,), mapping of these, or None
        What the examples to be labelled were chosen by.
    size, labels : int
        The number of examples, and of those labelled.
    """
    parts = []
    for name, given in {"judge": judge, "design": design}.items():
        columns = given.values() if isinstance(given, Mapping) else [given]
        for each in columns:
            if each is not None:
                parts.append(_part(name, each, size, labels or size))
    if not parts:
        return np.zeros(size, int), ["all"]
    codes = np.unique(np.stack([each.codes for each in parts]), axis=1, return_inverse=True)
    rows, place = codes
    names = [
        " ".join(str(each.categories[code]) for each, code in zip(parts, row, strict=True))
        for row in rows.T
    ]
    return place.ravel(), names


def _part(name, values, size, labels):
    """Return one judge's answers as a categorical, or raise where some are missing."""
    values = in_a_row(values)
    check_one_axis(name, values)
    if is_score(values):
        array = _numbers(values).astype(float)
        if np.isnan(array).any():
            raise _missing(name, np.isnan(array).sum())
        found = pd.Categorical(_cut(array, int(np.clip(labels // LABELS_A_BIN, 2, BINS))))
    else:
        array = pd.Series(values).reset_index(drop=True)
        if array.dtype == object and len(array) and np.ndim(array.iloc[0]):
            todo = "pass a label of each example; several judges go into a mapping, by name"
            raise fail(f"{name} holds whole columns", len(array), "labels", todo, TypeError)
        if array.isna().any():
            raise _missing(name, array.isna().sum())
        found = pd.Categorical(column(name, array))
        _check_answers(name, found.categories)
    check_sizes({name: len(found), "actual": size})
    return found


def _check_answers(name, answers):
    """Raise where what a judge said, or examples were chosen by, is no label but looks like one."""
    todo = f"give examples without one a {name} of their own, such as 'none'"
    check_no_missing_text(answers, f"a value of {name}", todo)
    if name == "judge":
        check_no_dates(answers, "the judge's answers")
    texts = [each for each in answers if isinstance(each, str)]
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce")
    if texts and numbers.notna().all() and (numbers % 1 > 0).any():
        todo = "make them numbers first, such as by pandas.to_numeric"
        raise fail(f"the {name} holds scores as texts", texts[:4], "numbers, or labels", todo)


def _missing(name, number):
    todo = "give what is missing a label of its own"
    return fail(f"the {name} has missing values", number, "an answer each", todo)


def is_score(values: Any) -> bool:
    """Say whether a judge's answers are numbers between the whole ones."""
    array = _numbers(values)
    with np.errstate(invalid="ignore"):
        return array.dtype.kind == "f" and bool((array % 1 > 0).any())


def _numbers(values):
    """Return answers as an array, as numbers also where a table holds these as objects."""
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    blank = pd.isna(array)
    whole = all(isinstance(each, Real | Decimal) for each in array[~blank].tolist())
    return np.where(blank, np.nan, array).astype(float) if whole else array


def _cut(scores, bins):
    """Return the part of every score; one that many share, such as 0, stays apart from others."""
    edges = np.quantile(scores, np.linspace(0, 1, bins + 1))
    if (np.diff(edges) > 0).all():
        return pd.qcut(scores, bins, labels=False)
    # The middle of those that tie says which part they are in.
    middle = (pd.Series(scores).rank(method="average").to_numpy() - 0.5) / len(scores)
    return np.unique(np.floor(bins * middle), return_inverse=True)[1]


def warn_of_judge(known: np.ndarray, others: np.ndarray, *, varies: bool) -> None:
    """
    Warn where a judge does not help, or where the labels lie elsewhere than the examples.

    Parameters
    ----------
    known : ndarray, shape (K, C)
        Labelled examples of each stratum by their true class.
    others : ndarray, shape (K,)
        How many further ones it has.
    varies : bool
        Whether the judge ever says another thing.
    """
    seen, size = known.sum(-1), known.sum(-1) + others
    if not varies:
        said = "The judge says the same of every example, and nothing is learned from that."
        warnings.warn(f"{said} Pass a judge that varies, or the labels alone.", stacklevel=4)
        return
    blank = (seen == 0) & (size > 0)
    if size[blank].sum() > 0.1 * size.sum():
        share = f"{100 * size[blank].sum() / size.sum():.0f} %"
        many = "1 stratum" if blank.sum() == 1 else f"{blank.sum()} strata"
        said = f"{share} of the examples are in {many} without a label: what is true "
        warnings.warn(f"{said}there is left to the prior. Label some of these.", stacklevel=4)
        return
    worth = labels_worth(known, others)
    if others.any() and worth < seen.sum():
        said = f"The judge does not help: {seen.sum():.0f} labels are worth {worth:.0f} without it."
        todo = "It tells too little of the truth, or the labels are few where the examples are many"
        warnings.warn(f"{said} {todo}; pass a better judge or label more.", stacklevel=4)


def labels_worth(known: np.ndarray, others: np.ndarray) -> float:
    """
    Return how many labels of random examples would tell as much of the classes' shares.

    The variance of a stratified estimate against that of a simple one, each stratum being taken
    for half a label more than it has, of the classes as they are throughout. One label for each
    stratum goes into knowing what is true there, so that a useless judge is worth nothing.
    """
    seen, size = known.sum(-1), known.sum(-1) + others
    share = size / size.sum()
    guess = (known + 0.5 / known.shape[-1]) / (seen[:, None] + 0.5)
    whole = share @ guess
    spread = (guess * (1 - guess)).sum(-1)
    worth = (whole * (1 - whole)).sum() / (share**2 * spread / (seen + 0.5)).sum()
    return max(0.0, float(worth - (seen > 0).sum()))


def warn_of_slices(counts: xr.DataArray, axes: Mapping[str, Axis]) -> None:
    """Warn where nobody labelled in a slice."""
    number = counts.transpose(*axes, ...).values
    number = number.reshape(*number.shape[: len(axes)], -1).sum(-1)
    blank = np.argwhere(number == 0)
    if axes and len(blank):
        first = zip(axes.items(), blank[0], strict=True)
        where = ", ".join(f"{name} {axis.values[place]}" for (name, axis), place in first)
        said = f"Nobody labelled in {len(blank)} of {number.size} slices, such as {where}: the "
        warnings.warn(f"{said}answers there are the prior's. Label some of these.", stacklevel=3)

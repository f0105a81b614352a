"""Which answers to an item are equal: 0 the right one, 1, 2, ... the wrong ones, NaN for none."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.labels import MISSING_TEXTS
from bayescm.evidence.tabulate import check_sizes, factorize
from bayescm.validate import fail, unmasked


def objects(values: Any) -> np.ndarray:
    """Return answers as they are; of a list of texts and NaN numpy would make texts alone."""
    return np.asarray(values if hasattr(values, "__array__") else np.array(values, object), object)


def truth_of(truth: Any, items: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """
    Return the right answer of every item.

    Parameters
    ----------
    truth : mapping of item to answer, Series or array_like
        By item a mapping, or a Series that is labelled; otherwise one for every item, or with rows
        one beside every answer.
    items : ndarray, shape (I,)
        The labels of the items.
    rows : ndarray, shape (n,), optional
        The place of the item of every answer.
    """
    if isinstance(truth, str) or not isinstance(truth, Iterable):
        todo = "pass one for each item, or a mapping from items to right answers"
        raise fail("truth is one answer", truth, "a sequence or a mapping", todo, TypeError)
    labelled = isinstance(truth, pd.Series) and (
        not isinstance(truth.index, pd.RangeIndex) or set(truth.index) == set(items)
    )
    beside = np.arange(len(items)) if rows is None else rows
    if isinstance(truth, Mapping) or (labelled and rows is None):
        known = pd.Series(truth, dtype=object)
        if (twice := known.index.duplicated()).any():
            raise _twice(known.index[twice][0], known[known.index[twice][0]].tolist())
        right, beside = known.reindex(pd.Index(items)).to_numpy(), np.arange(len(items))
    else:
        right = objects(unmasked(truth, "truth"))
        if right.ndim != 1:
            todo = "pass the right answer of each item, or one beside every answer and item="
            raise fail("truth is a table", right.shape, "one axis", todo)
        check_sizes({"truth": len(right), "items" if rows is None else "item": len(beside)})
    if (missing := pd.isna(right)).any():
        todo = "leave the item out, or give its right answer"
        raise fail("an item has no truth", items[beside[missing][0]], "one for each item", todo)
    pairs = pd.DataFrame({"item": beside, "code": factorize("truth", right)[0]}).drop_duplicates()
    if (more := pairs["item"].duplicated()).any():
        place = pairs["item"][more].iloc[0]
        raise _twice(items[place], right[pairs.index[pairs["item"] == place]].tolist())
    return right[pairs.sort_values("item").index]


def truth_by_item(truth: Any, item: Any) -> dict:
    """Return the right answer by item of columns that hold it beside every answer."""
    codes, labels = factorize("item", np.asarray(item, object))
    return dict(zip(labels, truth_of(truth, np.array(labels, object), codes), strict=True))


def _twice(item, both):
    todo = "give each item one right answer; map answers that mean the same to one of them first"
    return fail(f"item {item} has several truths", both, "one right answer", todo)


def codes_of(answers: np.ndarray, item: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """
    Return 0 for answers (n,) that are right, 1, 2, ... for wrong ones by item, NaN for none.

    Parameters
    ----------
    answers : ndarray of object, shape (n,)
    item : ndarray of int, shape (n,)
    truth : ndarray of object, shape (I,)
    """
    made = ~pd.isna(answers)
    _check_alike(answers[made], truth)
    codes, _ = factorize("answers", np.concatenate([truth, answers[made]]))
    right, codes = codes[: len(truth)], codes[len(truth) :]
    frame = pd.DataFrame({"item": item[made], "code": codes})
    wrong = frame[codes != right[item[made]]]
    kinds = wrong.drop_duplicates()
    kinds = kinds.assign(number=kinds.groupby("item").cumcount() + 1.0)
    found = np.full(len(answers), np.nan)
    number = frame.merge(kinds, how="left", on=["item", "code"])["number"]
    found[made] = number.fillna(0).to_numpy()
    return found


def _check_alike(answers, truth):
    """Raise or warn where equality would say what is not so: of texts and numbers, or rounded."""
    large = [x for x in [*answers, *truth] if _is_large(x)]
    rounded = [x for x in large if isinstance(x, (float, np.floating))]
    if 0 < len(rounded) < len(large):
        got = next((x, rounded[0]) for x in large if not isinstance(x, (float, np.floating)))
        todo = "keep all of them as integers, or as text"
        what = "answers and truth are whole numbers and floats beyond 2**53, which skip some"
        raise fail(what, got, "one type", todo)
    blank = [x for x in answers if isinstance(x, str) and x in MISSING_TEXTS]
    if blank and not any(isinstance(x, str) and x in MISSING_TEXTS for x in truth):
        warnings.warn(
            f"{len(blank)} of {len(answers)} answers are the text {blank[0]!r}, which a missing "
            "value becomes as text, and are taken for wrong ones. Pass None for attempts that were "
            "not made.",
            stacklevel=4,
        )
    texts = [{isinstance(each, str) for each in values} for values in (answers, truth)]
    if texts[0] and not texts[0] & texts[1]:
        todo = "bring both to the same type, such as answers.astype(str) and truth.astype(str)"
        got = (answers[0], truth[0])
        raise fail("answers and truth are texts and numbers", got, "both the same", todo)


def _is_large(x: Any) -> bool:
    """Say whether a number is so large that a float64 skips whole numbers."""
    number = isinstance(x, (int, float, np.integer, np.floating))
    return number and 2**53 <= abs(x) < np.inf


def check_answers(evidence: xr.Dataset) -> None:
    """Raise where the answers of attempts and what is right of them disagree."""
    right, answer = evidence["correct"], evidence["answer"]
    if answer.dims == right.dims:
        code = answer.values
        known = np.where(np.isnan(code), np.nan, code == 0)
        whole = np.isnan(code) | ((code >= 0) & (code == np.round(code)))
        if whole.all() and np.array_equal(known, right.values, equal_nan=True):
            return
    todo = 'use from_attempts(answers, truth=truth), or leave them out: drop_vars("answer")'
    raise fail("correct and answer disagree", ..., "answer 0 where correct is 1", todo)

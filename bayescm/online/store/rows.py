"""What a row of the ledger holds: names, moments, labels and cells, as text."""

import json
from datetime import date, datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence import positive
from bayescm.online.forecasts.tables import blank
from bayescm.validate import fail


def name(value: str | int, keyword: str) -> str:
    """Return the name of a batch or classifier as text, or raise where it is not one."""
    known = isinstance(value, str | int | np.integer) and not isinstance(value, bool)
    text = str(value) if known else ""
    if not text.strip() or len(text) > 500 or not text.isprintable():
        allowed = "printable text of 1 to 500 characters, or a whole number"
        raise fail(f"{keyword} must be a name", value, allowed, f"pass {keyword}='2026-01-31'")
    return text


def instant(at: Any) -> datetime:
    """Return a moment as a datetime in UTC; a moment without a zone is taken as UTC."""
    try:
        if not isinstance(at, str | date | np.datetime64):  # a number has no unit
            raise TypeError
        if isinstance(at, str) and not at.strip()[:4].isdigit():  # the first of 1/2/2026?
            raise ValueError
        moment = pd.Timestamp(at)
        if pd.isna(moment):
            raise ValueError
        moment = moment.tz_localize("UTC") if moment.tzinfo is None else moment.tz_convert("UTC")
        return moment.to_pydatetime(warn=False)
    except (ValueError, TypeError, AttributeError):
        todo = "pass at='2026-01-31T12:00'"
        raise fail("at must be a time", at, "a datetime or ISO 8601 text", todo) from None


def timestamp(moment: datetime) -> str:
    """Write a moment in UTC with a fixed width, so that the order of the text is that of time."""
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def described(evidence: xr.DataArray) -> dict[str, Any]:
    """Return what the ledger keeps of a classifier, or of a challenge, beside its batches."""
    given = {"labels": evidence.indexes["actual"].tolist(), "positive": positive(evidence)}
    if is_pair(evidence):
        given["classifiers"] = evidence.attrs["classifiers"]
    if is_binned(evidence):
        given |= {"edges": evidence.attrs["edges"], "chances": evidence.attrs["chances"]}
    return given


def is_pair(evidence: xr.DataArray) -> bool:
    """Say whether it is a table of two classifiers' answers, dims (actual, first, second)."""
    return evidence.ndim == 3


def is_binned(evidence: xr.DataArray) -> bool:
    """Say whether it is a table of forecasts, dims (actual, bin)."""
    return "bin" in evidence.dims


@lru_cache(maxsize=256)
def _template(described):
    return zeros(**json.loads(described))


def empty(described: str) -> xr.DataArray:
    """Return zero counts with the labels of a classifier, as the ledger keeps them."""
    return _template(described).copy()


def zeros(
    labels: list,
    positive: Any,
    classifiers: list[str] | None = None,
    edges: list[float] | None = None,
    chances: bool = True,
) -> xr.DataArray:
    """Return zero counts with these labels, or with these edges of bins."""
    if edges is not None:
        return blank(labels, positive, edges, chances)
    if classifiers is not None:
        todo = "open it by online.Challenge, or take another name"
        raise fail("this is a challenge of two classifiers", classifiers, "one classifier", todo)
    coords = {"actual": labels, "predicted": labels}
    if positive is not None:
        coords["positive"] = positive
    cells = np.zeros((len(labels), len(labels)), dtype=np.int64)
    return xr.DataArray(cells, coords, ["actual", "predicted"], name="counts")


def cells(counts: xr.DataArray, stored: dict, classifier: str) -> list:
    """Return the cells in the order of the classifier's labels; labels not seen count zero."""
    pair, todo = stored.get("classifiers"), "take another name for it"
    for key, called in (("edges", "edges of bins"), ("chances", "kind of forecasts")):
        given, wanted = counts.attrs.get(key), stored.get(key)
        if is_binned(counts) != ("edges" in stored):
            got = "forecasts in bins" if is_binned(counts) else "a confusion matrix"
            raise fail(f"{classifier!r} holds other batches", got, "those of before", todo)
        if is_binned(counts) and given != wanted:
            what = f"other {called} than those of {classifier!r}"
            raise fail(what, given, str(wanted), "bin all batches alike, or " + todo)
    if is_pair(counts) != (pair is not None):
        got = "of two classifiers" if is_pair(counts) else "of one classifier"
        kept = "of one" if pair is None else f"of {pair}"
        raise fail(f"{classifier!r} holds other batches", got, kept, todo)
    if pair is not None and counts.attrs["classifiers"] != pair:
        got = counts.attrs["classifiers"]
        raise fail(f"not the classifiers of challenge {classifier!r}", got, pair, todo)
    labels, given = counts.indexes["actual"].tolist(), positive(counts)
    if unknown := [label for label in labels if label not in stored["labels"]]:
        raise fail(
            f"labels unknown to classifier {classifier!r}",
            unknown,
            f"labels among {stored['labels']}",
            "correct the labels, or start a new classifier with all of them",
        )
    if given is not None and stored["positive"] is None and len(labels) < len(stored["labels"]):
        given = None  # only of the two of many classes that occur in this batch
    if given not in (None, stored["positive"]):
        allowed, todo = repr(stored["positive"]), f"pass positive={stored['positive']!r}"
        raise fail(f"not the positive class of classifier {classifier!r}", given, allowed, todo)
    if labels != stored["labels"]:
        own = [dim for dim in counts.dims if dim != "bin"]
        counts = counts.reindex(dict.fromkeys(own, stored["labels"]), fill_value=0)
    return counts.values.reshape(len(stored["labels"]), -1).tolist()

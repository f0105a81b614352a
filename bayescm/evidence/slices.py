"""Fold or group of every example, for evidence that supports only one of the two."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.concatenation import concatenate, parts_of_all
from bayescm.evidence.labels import check_no_missing_text, check_plain_labels
from bayescm.validate import check_by, fail, unmasked

PLACES = ("fold", "group")


def slices_of(size: int, *, by: Any = None, fold: Any = None, group: Any = None) -> dict[str, Any]:
    """
    Return the fold or the group of every example, or an empty dict.

    Parameters
    ----------
    size : int
        Number of examples.
    by : mapping of str to array_like (n,), optional
        ``{"group": site}`` or ``{"fold": fold}``.
    fold, group : array_like, shape (n,), optional
        The same as separate arguments.
    """
    by = check_by(by, '"group": site')
    slices = {
        name: column for name, column in (("fold", fold), ("group", group)) if column is not None
    }
    if twice := sorted(slices.keys() & by.keys()):
        raise fail(f"{twice[0]} is given twice", ..., "", f"leave out {twice[0]}=")
    slices |= by
    names = list(slices)
    if set(names) == set(PLACES):
        raise fail(
            "Folds and groups cannot be combined: {}",
            names,
            "",
            "pass one of them; for folds by site, use one site at a time",
        )
    if len(names) > 1:
        todo = 'join them: `by=`{"group": [f"{sex}, {age}" for sex, age in zip(...)]}'
        raise fail("Only one attribute can be used, named group; got {}", names, "", todo)
    if not set(names) <= set(PLACES):
        todo = f'pass `by={{"group": ...}}` with the column of {names[0]}'
        raise fail("Slices of scores must be named group or fold", names[0], "", todo)
    return {name: _column(name, column, size) for name, column in slices.items()}


def _column(name, values, size):
    """Return the fold or group of each example, or raise an error if one is missing."""
    values = unmasked(values, name)
    check_plain_labels(values, f"labels of {name}")
    labels = np.asarray(values)
    if labels.shape != (size,):
        todo = f"pass the {name} of every example"
        raise fail(f"{name} has {labels.shape[0]} values, but actual has {size}", ..., "", todo)
    missing = pd.isna(labels)
    if missing.any():
        what = f"A {name} is missing, the first at position {int(np.argmax(missing))}"
        todo = f"drop these examples, or name the {name}"
        raise fail(what, ..., "", todo)
    check_no_missing_text(pd.unique(labels), f"the {name}s", "drop these examples, or rename it")
    if labels.dtype.kind == "O":
        labels = pd.Series(labels.tolist()).to_numpy()
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def slice_name(evidence: xr.Dataset) -> str | None:
    """Return ``"fold"`` or ``"group"`` if examples are divided in this way, otherwise None."""
    return next((name for name in PLACES if name in evidence), None)


def slice_labels(evidence: xr.Dataset) -> dict[str, list]:
    """Return the sorted labels of the folds or groups, keyed by dimension."""
    name = slice_name(evidence)
    return {} if name is None else {name: sorted(pd.unique(evidence[name].values).tolist())}


def samples(evidence: xr.Dataset) -> Iterator[xr.Dataset]:
    """Yield the examples by fold or by group, or all at once if there are neither."""
    if not (labels := slice_labels(evidence)):
        yield evidence
    for name, members in labels.items():
        for label in members:
            yield evidence.isel(example=evidence[name].values == label).drop_vars(name)


def check_classes(evidence: xr.Dataset) -> None:
    """
    Raise an error unless each fold or group has examples in and outside each class.

    With probabilities of several classes, a class may have no examples at all, because the Brier
    score and the log loss do not require any.
    """
    truth = evidence["actual"].values
    several = "class" in evidence.dims
    labels = evidence["class"].values.tolist() if several else [evidence["positive"].item()]
    part = slice_name(evidence)
    part = None if part == "group" and "probabilities" in evidence.coords else part
    codes, members = pd.factorize(evidence[part].values if part else np.zeros(len(truth)))
    sizes = np.bincount(codes)
    for label in labels:
        numbers = np.bincount(codes, truth == label, len(sizes))
        if several and "probabilities" in evidence.coords and not numbers.any():
            continue
        bad = np.flatnonzero((numbers == 0) | (numbers == sizes))
        if len(bad):
            where = f" in {part} {members[bad[0]]}" if part else ""
            todo = {"fold": "use larger or stratified folds", None: "collect examples of both"}
            what = (
                f"{numbers[bad[0]]:.0f} of {sizes[bad[0]]} examples{where} are of class {label!r}"
            )
            raise fail(what, ..., "", todo.get(part, "combine groups, or leave it out"))


def check_one_sample(evidence: xr.Dataset, what: str) -> None:
    """Raise an error if evidence, named ``what``, has several folds or groups."""
    for dim in PLACES:
        if dim in evidence:
            raise fail(
                f"{what} needs a single sample, not several {dim}s",
                ...,
                "",
                f"select one {dim}, or use drop_vars({dim!r}) to treat all as one sample",
            )


def combine_examples(members: Sequence[xr.Dataset], dim: str, names: list | None) -> xr.Dataset:
    """Return scores combined along ``example``, or as folds or groups of one sample."""
    if dim not in ("example", *PLACES):
        todo = "pass `dim='example'` to treat all examples as one sample, or `dim='group'` to keep "
        todo += "them separate"
        if dim == "classifier":
            todo += "; for classifiers on the same examples use `from_scores(actual, {'a': ...})`"
        raise fail(f"Examples with scores cannot be combined along {dim}", ..., "", todo)
    for member in members:
        if "importance" in member or "area_error" in member.coords:
            lost = "the scale of their importance weights is not stored"
            lost = lost if "importance" in member else "the edges of their bins are not stored"
            raise fail(
                f"Scores cannot be combined: {lost}",
                ...,
                "",
                "pass all examples to one call of the function that returns scores",
            )
        got, first = (set(each["actual"].values.tolist()) for each in (member, members[0]))
        if "class" not in member.dims and got != first:
            both = f"{sorted(first)} and {sorted(got)}"
            raise fail(
                f"The classes differ: {both}", ..., "", "give all the evidence the same classes"
            )
    columns = [{name: m[name].values for name in PLACES if name in m} for m in members]
    parts = parts_of_all(members, columns, dim, names, "example")
    bare = [member.drop_vars(PLACES, errors="ignore") for member in members]
    whole = concatenate(bare, "example", settled=[dim])
    slices = slices_of(whole.sizes["example"], by=parts)
    return whole.assign({name: ("example", column) for name, column in slices.items()})

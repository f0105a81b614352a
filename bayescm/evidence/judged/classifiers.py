"""Several classifiers on examples that a judge has seen, and of which people labelled some."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.labels import as_labels, default_labels
from bayescm.evidence.outcomes import as_outcomes, from_classifiers
from bayescm.evidence.tabulate import Axis, check_sizes, column

TAKEN = ("fold", "repeat", "classifier", "judge", "outcome", "label", "answers")


def outcomes_of(
    values: Any,
    seen: np.ndarray,
    predicted: Mapping[str, Any],
    strata: tuple[np.ndarray, list[str]],
    axes: Mapping[str, Axis],
    *,
    labels: Any = None,
    **options: Any,
) -> xr.Dataset:
    """
    Return the outcomes of the labelled examples by stratum, and how many others answered alike.

    Parameters
    ----------
    values : array
        The labels of the examples that have one.
    seen : ndarray of bool, shape (n,)
        Which these are.
    predicted : mapping of str to array_like (n,)
    strata : (ndarray of int (n,), list of str)
    axes : mapping of str to Axis
        Where the examples lie on leading dims.
    labels, **options
        As of `bayescm.from_classifiers`.

    Returns
    -------
    Dataset
        ``counts`` (..., judge, outcome); the coords ``unlabelled`` (..., judge, answers) and
        ``answered`` (classifier, answers) beside those of outcomes.
    """
    place, names = strata
    given = {name: column(f"predicted by {name}", each) for name, each in predicted.items()}
    check_sizes({"actual": len(seen), "judge": len(place)} | {k: len(v) for k, v in given.items()})
    if labels is None:
        present = set(pd.unique(values)).union(*(set(pd.unique(each)) for each in given.values()))
        present -= {options.get("abstain")}
        labels = default_labels(sorted(present, key=str), present, values)
    place, lead, slices = sliced(place, names, axes)
    size, dims = math.prod(lead), tuple(slices)
    by = {"judge": place[seen]}
    chosen = {name: each[seen] for name, each in given.items()}
    listed = as_labels(labels).tolist()
    known = from_classifiers(values, chosen, labels=listed, by=by, **options)
    full = np.zeros((size, known.sizes["outcome"]), np.int64)
    full[np.unique(place[seen])] = known["counts"].values
    answers, others = _answers(given, place, ~seen, known["label"].values, size)
    kept = known.drop_vars(["counts", "judge"])
    coords = slices | {
        "unlabelled": ((*dims, "answers"), others.reshape(*lead, -1)),
        "answered": (("classifier", "answers"), answers),
    }
    counts = ((*dims, "outcome"), full.reshape(*lead, -1))
    return as_outcomes(kept.assign(counts=counts).assign_coords(coords))


def sliced(
    place: np.ndarray, names: Sequence[str], axes: Mapping[str, Axis]
) -> tuple[np.ndarray, tuple[int, ...], dict[str, Any]]:
    """Return the place (n,) of slice and stratum, the shape of both, and their coords."""
    code, lead = np.zeros(len(place), np.intp), [len(axis.values) for axis in axes.values()]
    for axis in axes.values():
        code = code * len(axis.values) + axis.codes
    coords = {name: axis.values for name, axis in axes.items()} | {"judge": list(names)}
    return code * len(names) + place, (*lead, len(names)), coords


def _answers(given, place, rest, labels, judges):
    """Return the answers (J, A) that occur, and how many unlabelled examples have them."""
    parts = [pd.Categorical(each[rest], categories=labels).codes for each in given.values()]
    codes = np.stack(parts).astype(np.int64)
    if not rest.any():
        return labels[codes], np.zeros((judges, 0), np.int64)
    answers, which = np.unique(codes, axis=1, return_inverse=True)
    number = answers.shape[1]
    index = place[rest] * number + which.ravel()
    return labels[answers], np.bincount(index, minlength=judges * number).reshape(judges, number)


def by_stratum(evidence: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the strata of outcomes in canonical form: what the judge and all classifiers said.

    Returns
    -------
    known : ndarray, shape (..., K, C)
        Labelled examples by true class.
    others : ndarray, shape (..., K)
        Unlabelled ones.
    answers : ndarray of int, shape (J, K)
        What every classifier said.
    judged : ndarray of int, shape (K,)
        The place of what the judge said.
    """
    labels = evidence["label"].values.tolist()
    place = {label: index for index, label in enumerate(labels)}
    given = evidence["answered"]
    if "classifier" not in given.dims:
        given = given.expand_dims("classifier")
    rows = [
        each.transpose("classifier", dim).values.tolist()
        for each, dim in ((evidence["predicted"], "outcome"), (given, "answers"))
    ]
    codes = [np.array([[place[x] for x in row] for row in rows_], np.int64) for rows_ in rows]
    answers, which = np.unique(np.concatenate(codes, axis=1), axis=1, return_inverse=True)
    which, size = which.ravel(), codes[0].shape[1]
    truth = np.array([place[x] for x in evidence["actual"].values.tolist()], np.int64)
    counts = evidence["counts"].transpose(..., "judge", "outcome").values.astype(float)
    rest = evidence["unlabelled"].transpose(..., "judge", "answers").values.astype(float)
    lead, judges, number = counts.shape[:-2], counts.shape[-2], answers.shape[1]
    known = np.zeros((*lead, judges, number, len(labels)))
    for outcome in range(size):
        known[..., which[outcome], truth[outcome]] += counts[..., outcome]
    others = np.zeros((*lead, judges, number))
    for column_ in range(rest.shape[-1]):
        others[..., which[size + column_]] += rest[..., column_]
    known = known.reshape(*lead, -1, len(labels))
    others = others.reshape(*lead, -1)
    every = np.tile(answers, judges)
    kept = (known.sum(-1) + others).reshape(-1, others.shape[-1]).any(axis=0)
    judged = np.repeat(np.arange(judges), number)
    return known[..., kept, :], others[..., kept], every[:, kept], judged[kept]


def strata_of(evidence: xr.DataArray | xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the labelled examples (K, C) and the others (K,) of each stratum, all slices."""
    if isinstance(evidence, xr.Dataset):
        known, others = by_stratum(evidence)[:2]
        slices = tuple(range(others.ndim - 1))
        return known.sum(slices), others.sum(slices)
    cells = ("judge", "predicted", "actual")
    rest = [dim for dim in evidence.dims if dim not in cells]
    table = evidence.sum(rest).transpose(*cells).values
    return table.reshape(-1, table.shape[-1]), evidence["unlabelled"].sum(rest).values.ravel()

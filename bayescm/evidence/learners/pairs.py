"""Classifiers cross-validated side by side: what each said of every example, fold by fold."""

from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import DESIGN
from bayescm.evidence.cross_validation import cross_predictions
from bayescm.evidence.learners.halves import halvings
from bayescm.evidence.outcomes import from_classifiers
from bayescm.evidence.splits import slices_by
from bayescm.validate import fail


def cross_outcomes(
    estimators: Any,
    X: Any,
    y: Any,
    cv: Any = 10,
    *,
    halves: int = 0,
    positive: Any = None,
    by: Any = None,
    random_state: int = 0,
    **keywords: Any,
) -> xr.Dataset:
    """
    Cross-validate classifiers on the same folds and keep their joint answers to every example.

    Parameters
    ----------
    estimators : mapping of str to estimator
        Scikit-learn classifiers; all see the same splits.
    X : array_like, shape (n, ...)
        Features.
    y : array_like, shape (n,)
        True labels.
    cv : int, splitter or iterable of (train, test)
        A number K >= 2 means stratified K folds, shuffled. One pass over the data.
    halves : int, default 0
        How often the classifiers are trained on disjoint halves besides, each tested on the other,
        as `cross_halves` does it; 8 are plenty. They show how far other training sets move each.
    positive : label, optional
        The positive class.
    by : mapping of str to array_like (n,), optional
        Further dims: ``{"sex": sex}`` counts every fold slice by slice. Not beside ``halves``.
    random_state : int, default 0
        Seed of the folds and of the halvings.
    **keywords
        ``n_jobs`` and ``progress`` of `cross_confusion`.

    Returns
    -------
    Dataset
        Outcomes, dims ``(fold, ..., outcome)``, as `from_classifiers` returns them with
        ``by={"fold": fold}``; with halves also the variable ``halves``, dims
        ``(halving, half, outcome)``. `compare` takes them with ``model="paired_folds"``, which is
        the default where there are halves.

    Raises
    ------
    ValueError
        If there are fewer than two classifiers, groups, repeats, or an estimator fails.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> two = {"stump": DecisionTreeClassifier(max_depth=1), "bayes": GaussianNB()}
    >>> both = cross_outcomes(two, *load_breast_cancer(return_X_y=True), cv=5, halves=2)
    >>> both["counts"].dims, both["halves"].dims, int(both["counts"].sum())
    (('fold', 'outcome'), ('halving', 'half', 'outcome'), 569)
    """
    if not hasattr(estimators, "items") or len(estimators) < 2:
        todo = 'pass {"a": one, "b": other}'
        raise fail("too few classifiers to compare", estimators, "a mapping of two or more", todo)
    if keywords.get("groups") is not None:
        todo = "cross_confusion(..., groups=) and compare()"
        raise fail("pairs know no groups", "groups", "examples drawn one by one", todo)
    slices = slices_by(by, X, y)
    if slices and halves:
        todo = "leave halves= out, or select the examples of a slice"
        raise fail("halves of slices", list(slices), "halves=, or by=", todo)
    known = {"random_state": random_state, **keywords}
    parts = [cross_predictions(estimators, X, y, cv, **known)]
    if int(parts[0]["repeat"].max()) > 0:
        repeats = int(parts[0]["repeat"].max()) + 1
        raise fail("pairs take one pass over the data", repeats, "one repeat", "pass cv=10")
    folds = int(parts[0]["fold"].max()) + 1
    if halves:
        splits = halvings(X, y, halves, None, random_state)
        parts.append(cross_predictions(estimators, X, y, splits, **known))
    place = [part["repeat"].values * 2 + part["fold"].values for part in parts]
    place[1:] = [each + folds for each in place[1:]]
    example = parts[0]["example"].values
    told = np.concatenate([part["predicted"].values for part in parts], axis=1)
    outcomes = from_classifiers(
        np.concatenate([part["actual"].values for part in parts]),
        dict(zip(estimators, told, strict=True)),
        positive=positive,
        by={"fold": np.concatenate(place)} | {name: each[example] for name, each in slices.items()},
    )
    found = outcomes.isel(fold=slice(folds))
    if halves:
        shape = (halves, 2, outcomes.sizes["outcome"])
        table = outcomes["counts"].values[folds:].reshape(shape)
        found["halves"] = (("halving", "half", "outcome"), table)
    known = {name: parts[0].coords[name].item() for name in DESIGN}
    return found.assign_coords(known | ({"fixed_totals": False} if slices else {}))

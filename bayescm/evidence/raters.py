"""Evidence of several raters who labelled the same examples, without a known ground truth."""

import json
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.concatenation import matched, parts_of_all, same_scalars
from bayescm.evidence.counts import TABULATED, default_measures
from bayescm.evidence.descriptions import describe_ratings
from bayescm.evidence.evidence_type import (
    Columns,
    DefaultModel,
    EvidenceType,
)
from bayescm.evidence.identifiers import as_pandas, check_no_identifiers, long_form
from bayescm.evidence.labels import (
    UnknownLabelError,
    as_labels,
    check_exact,
    check_no_missing_text,
    check_plain_labels,
    obvious_positive,
)
from bayescm.evidence.patterns import (
    PatternCounts,
    has_patterns,
    number_of_examples,
    pattern_table,
    patterns_of_batches,
    watched_measures,
)
from bayescm.evidence.resampling import resample_counts
from bayescm.validate import check_row_order, fail, suggest

FEW_GOLD = 5  # minimum number of gold labels to judge raters or name classes; fewer may all be hard


def from_raters(
    raters: Mapping[str, Any],
    *,
    predicted: Mapping[str, Any] | None = None,
    gold: Any = None,
    group: Any = None,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
) -> xr.Dataset:
    """
    Return the labels of several raters as evidence, without a ground truth.

    Each rater's error rates are estimated from the agreement between raters. Raters are people,
    models that act as judges, or classifiers.

    Parameters
    ----------
    raters : mapping of str to array_like, shape (n,) or (n, k), or DataFrame
        Labels of each rater, missing (None, NaN or NA) for unrated examples. A rater who rated
        examples repeatedly has k columns. A DataFrame can have one column per rater. Alternatively,
        a DataFrame with one row per label and columns named task, worker and label, or synonyms
        such as item, annotator and rating.
    predicted : mapping of str to array_like, shape (n,), optional
        Predictions of classifiers, which are treated like raters.
    gold : array_like, shape (n,), optional
        True labels of some examples, missing for the others. If ``raters`` has one row per label,
        ``gold``, ``predicted`` and ``group`` are mappings or Series by task.
    group : array_like, shape (n,), optional
        Population of each example. If the prevalence differs between populations but the error
        rates do not, the error rates of two raters can be identified from two populations.
    labels : sequence, optional
        All class labels. By default, the sorted labels that occur.
    positive : label, optional
        Positive class. By default inferred if the labels are {0, 1} or {False, True}.

    Returns
    -------
    Dataset
        Examples with the same ratings share one ``pattern``. The default model is ``noisy_labels``.
        The variables are:

        - ``counts`` (pattern): the number of examples.
        - ``votes`` (classifier, pattern, predicted): how often a rater gave each label.
        - ``gold`` (pattern): the position of the true label in ``actual``, or -1.
        - ``pattern_of`` (example), a coordinate: the pattern of each example.

    Raises
    ------
    ValueError
        If lengths differ, a label is unknown, or the design does not identify the error rates, as
        with two raters of one population without gold labels. Also if a column of a table contains
        row names or row numbers.

    Warns
    -----
    UserWarning
        If there are no gold labels, and only three raters, or two raters and several populations.
        The errors of the raters are then assumed to be independent, which cannot be tested. Also if
        the raters contradict the gold labels.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ann, bob = [1, 0, 1, 1, 0, 0, 1, 0] * 5, [1, 0, 1, 0, 0, 0, 1, 0] * 5
    >>> eve, judge = [1, 0, 1, 1, 0, 1, 1, 0] * 5, [1, 1, 1, 1, 0, 0, 1, 0] * 5
    >>> evidence = from_raters({"ann": ann, "bob": bob, "eve": eve, "judge": judge})
    >>> dict(evidence.sizes)["classifier"], int(evidence.counts.sum())
    (4, 40)
    """
    options: dict[str, Any] = {"group": group, "labels": labels, "positive": positive}
    ratings = count_patterns(raters, predicted=predicted, gold=gold, **options)
    _check_design(ratings)
    _check_gold(ratings)
    return ratings


def count_patterns(
    raters: Mapping[str, Any],
    *,
    predicted: Mapping[str, Any] | None = None,
    gold: Any = None,
    group: Any = None,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
) -> xr.Dataset:
    """Return labels of raters by pattern, whether or not they identify the error rates."""
    raters = as_pandas(raters)
    if isinstance(raters, pd.DataFrame):
        if roles := long_form(raters, ("item", "rater", "label")):
            raters, items = _by_rater(raters, **roles)
            predicted = {
                name: _of_items(name, values, items) for name, values in (predicted or {}).items()
            }
            gold, group = _of_items("gold", gold, items), _of_items("group", group, items)
        else:
            todo = "leave `{name}` out, or pass columns named task, worker and label alone"
            check_no_identifiers(raters, "labels of raters", todo, once=False, labels=True)
    check_row_order({"raters": raters, "predicted": predicted, "gold": gold, "group": group})
    columns = _columns(raters, predicted)
    truth = None if gold is None else _column("gold", gold)
    sizes = {name: len(column) for name, column in columns.items()}
    sizes |= {} if truth is None else {"gold": len(truth)}
    if len(set(sizes.values())) > 1 or 0 in sizes.values():
        raise fail(
            "The raters need equal numbers of examples, at least one",
            sizes,
            "",
            "give every rater one value per example, missing if there is no label",
        )
    arrays = [*columns.values(), *([] if truth is None else [truth])]
    classes = _labels(arrays, labels, positive)
    votes = np.stack([_votes(name, column, classes) for name, column in columns.items()])
    sure = _places("gold", truth, classes) if truth is not None else np.full(votes.shape[1], -1)
    populations = _groups(group, votes.shape[1])
    ratings = _by_pattern(votes, sure, populations, list(columns), classes)
    label = obvious_positive(classes.tolist()) if positive is None else positive
    return ratings if label is None else ratings.assign_coords(positive=label)


def _by_pattern(votes, sure, populations, raters, classes):
    """Group examples with equal votes (J, n, C), gold labels (n,) and populations (n,)."""
    population, names = populations
    flat = np.column_stack([votes.transpose(1, 0, 2).reshape(votes.shape[1], -1), population, sure])
    rows, which, counts = np.unique(flat, axis=0, return_inverse=True, return_counts=True)
    ratings = xr.Dataset(
        {
            "counts": ("pattern", counts),
            "votes": (
                ("classifier", "pattern", "predicted"),
                rows[:, :-2].reshape(-1, len(votes), len(classes)).swapaxes(0, 1),
            ),
            "gold": ("pattern", rows[:, -1]),
        },
        coords={"classifier": raters, "actual": classes, "predicted": classes},
    )
    ratings = ratings.assign_coords(pattern_of=("example", which.ravel()))
    if names is not None:
        ratings = ratings.assign(group=("pattern", rows[:, -2])).assign_coords(population=names)
    return ratings


def _by_rater(frame, item, rater, label):
    """Return the labels (n, k) of each rater, and the items in order of appearance."""
    for name in (item, rater):
        if frame[name].isna().any():
            todo = "fill it in, or leave these rows out"
            raise fail(f"Column {name!r} has missing values", ..., "", todo)
    rows = frame[[item, rater, label]].astype({label: object}).reset_index(drop=True)
    attempt = rows.groupby([item, rater], observed=True).cumcount()
    items = pd.Index(pd.unique(rows[item]))
    raters = {}
    for name, of_rater in rows.groupby(rater, sort=False, observed=True):
        table = of_rater.assign(attempt=attempt.loc[of_rater.index])
        table = table.pivot(index=item, columns="attempt", values=label).reindex(items)
        raters[str(name)] = table.to_numpy(object)
    return raters, items


def _of_items(name, values, items):
    """Return values in the order of the items, from a mapping or Series by item."""
    if values is None:
        return None
    if not isinstance(values, Mapping | pd.Series):
        todo = f"pass {name} as a Series or a mapping by item"
        raise fail(f"{name} must be labelled by item, because the labels are rows", ..., "", todo)
    return pd.Series(values, dtype=object).reindex(items).to_numpy(object)


def _columns(raters, predicted):
    raters_and_classifiers = [*_by_name(raters), *_by_name({} if predicted is None else predicted)]
    if not raters_and_classifiers:
        raise fail("No raters are given", ..., "", 'pass e.g. {"ann": labels, "bob": labels}')
    names = [name for name, _ in raters_and_classifiers]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise fail("The rater {} is named twice", twice, "", "rename one of them")
    return {name: _column(name, labels_of) for name, labels_of in raters_and_classifiers}


def _by_name(columns):
    """Return pairs of name and labels from a mapping or the columns of a table."""
    if not hasattr(columns, "items"):
        raise fail(
            f"Raters must be a mapping from names to labels, not a {type(columns).__name__}",
            ...,
            "",
            'pass e.g. {"ann": labels, "bob": labels}',
            TypeError,
        )
    return [(str(name), labels) for name, labels in columns.items()]


def _column(name, values):
    """Return labels (n, k) as objects, with None for missing labels."""
    if isinstance(values, list | tuple):  # inner lists are repeated labels, but tuples are an error
        check_plain_labels([label for label in values if isinstance(label, tuple)])
    table = pd.DataFrame(values)
    array = table.astype(object).where(table.notna(), None).to_numpy()
    if array.ndim != 2:
        raise fail(
            f"{name} must have the shape (n,) or (n, k)",
            array.shape,
            "",
            "pass one row per example",
        )
    floats = [number for number in array.ravel().tolist() if isinstance(number, float)]
    check_exact(name, np.array(floats, float))
    whole = np.vectorize(lambda x: int(x) if isinstance(x, float) and x == int(x) else x, [object])
    return whole(array) if array.size else array


def _labels(arrays, labels, positive):
    """Return the classes. With two classes, the positive one is last."""
    if labels is None:
        distinct = {
            label for array in arrays for label in array.ravel().tolist() if label is not None
        }
        check_no_missing_text(distinct)
        check_plain_labels(distinct)
        kinds = {type(label) for label in distinct}
        labels = sorted(distinct, key=str) if len(kinds) > 1 else sorted(distinct)
    classes = as_labels(labels)
    if positive is not None and positive not in classes.tolist():
        todo = suggest(positive, classes.tolist())
        raise fail(
            "The positive class {} is not among the labels", positive, classes.tolist(), todo
        )
    return classes[::-1] if len(classes) == 2 and positive == classes[0] else classes


def _votes(name, array, labels):
    """Return how often each label was given, (n, C)."""
    votes = np.zeros((len(array), len(labels)), np.int64)
    for column in array.T:
        places = _places(name, column[:, None], labels)
        is_label = places >= 0
        np.add.at(votes, (np.flatnonzero(is_label), places[is_label]), 1)
    return votes


def _places(name, array, labels):
    """Return the position (n,) of every label, or -1 if it is missing."""
    position = {label: index for index, label in enumerate(labels.tolist())} | {None: -1}
    unknown = [value for value in array.ravel().tolist() if value not in position]
    if unknown:
        raise fail(
            f"{name} contains {{}}, which is not a class",
            unknown[0],
            labels.tolist(),
            "add it to labels if it is a class, or make it missing if it marks an abstention",
            UnknownLabelError,
        )
    return np.array([position[value] for value in array.ravel().tolist()], np.int64)


def _groups(group, size):
    """Return the population (n,) of every example, and the population names or None."""
    if group is None:
        return np.zeros(size, int), None
    populations = pd.Categorical(pd.Series(group).reset_index(drop=True))
    check_no_missing_text(populations.categories, "the groups", "drop these examples, or rename it")
    if len(populations) != size or (populations.codes < 0).any():
        todo = "name the population of every example"
        raise fail(
            f"`group` must have one value for each of the {size} examples, none missing; it "
            f"has {len(populations)}",
            ...,
            "",
            todo,
        )
    return populations.codes.astype(int), populations.categories.to_numpy()


def _check_design(evidence):
    """Raise an error if the error rates are not identified; warn if dependence is untestable."""
    if (evidence["gold"] >= 0).any():
        return
    votes = evidence["votes"].sum("predicted") > 0
    overlap = int((votes.sum("classifier").where(evidence["counts"] > 0)).max())
    number = evidence.sizes["classifier"]
    populations = evidence.sizes.get("population", 1)
    if overlap == 2 and populations > 1:
        warnings.warn(
            "With two raters and several populations, the model assumes that prevalences "
            "differ, that error rates are the same in all populations, and that the raters "
            "err independently. None of this can be tested. Add a rater, or pass gold= for "
            "some examples.",
            stacklevel=3,
        )
        return
    if overlap < 3 and int(evidence["votes"].sum("predicted").max()) < 2:
        got = f"{overlap} rater{'s' * (overlap != 1)} per example"
        raise fail(
            f"With {got}, nothing identifies which labels are right",
            ...,
            "",
            "add raters until there are three, or pass `gold=` with true labels for at "
            "least 30 examples",
        )
    if number == 3:
        warnings.warn(
            "With three raters and no gold labels, the model assumes that raters err "
            "independently and cannot test it. If they make the same errors, their "
            "accuracy is overestimated. Add a rater, or pass gold= for some examples.",
            stacklevel=3,
        )


def _check_gold(evidence):
    """Warn if the raters contradict the gold labels."""
    sure = evidence.isel(pattern=(evidence["gold"] >= 0).values)
    votes, weight = sure["votes"].values, sure["counts"].values
    right = (votes[:, np.arange(len(weight)), sure["gold"].values] * weight).sum()
    total = (votes.sum(-1) * weight).sum()
    if weight.sum() >= FEW_GOLD and right * sure.sizes["actual"] < total:
        warnings.warn(
            f"Only {right} of {total} labels agree with the gold labels, fewer than "
            "expected by chance. The gold labels are assumed to be correct, so the raters "
            "are estimated to be worse than chance. Check that gold= uses the same class "
            "coding as the raters.",
            stacklevel=3,
        )


def as_ratings(evidence: xr.Dataset) -> xr.Dataset:
    """Validate ratings and return them in canonical order."""
    if not isinstance(evidence, xr.Dataset) or "votes" not in evidence:
        todo = 'make them with `from_raters`({"ann": ..., "bob": ..., "judge": ...})'
        raise fail(
            f"This function needs labels from several raters, not a {type(evidence).__name__}",
            ...,
            "",
            todo,
        )
    for part in ("counts", "votes", "gold", "classifier", "actual", "predicted"):
        if part not in evidence.variables:
            raise fail(
                f"The ratings have no variable {part}",
                ...,
                "",
                "build them with `from_raters`, and keep all classifiers",
            )
    evidence = evidence.transpose("classifier", "pattern", "predicted", ...)
    labels = evidence["actual"].values.tolist()
    if len(labels) == 2 and "positive" in evidence.coords and evidence["positive"] == labels[0]:
        evidence = evidence.isel(actual=[1, 0], predicted=[1, 0])
        gold = evidence["gold"]
        evidence = evidence.assign(gold=gold.where(gold < 0, 1 - gold))
    return evidence


def combine_ratings(members: Sequence[xr.Dataset], dim: str, names: list | None) -> xr.Dataset:
    """Return ratings of the same raters on several sets of examples, see `bayescm.combine`."""
    if dim not in ("example", "group"):
        todo = "pass `dim='example'` to treat all examples as one population, or `dim='group'`; "
        todo += "give all raters of the same examples to `from_raters` at once"
        raise fail(f"Ratings cannot be combined along {dim}", ..., "", todo)
    order = members[0]["actual"].values.tolist()
    members = [_gold_in_order(member, order) for member in members]
    for side in ("classifier", "actual", "predicted"):
        members = matched(members, side, "raters" if side == "classifier" else "classes")
    scalars = same_scalars(members, [dim])
    every = [member.isel(pattern=_pattern_of(member)) for member in members]
    groups = [
        {"group": of["population"].values[of["group"].values]} if "group" in of else {}
        for of in every
    ]
    parts = parts_of_all(
        [of.rename(pattern="example") for of in every], groups, dim, names, "example"
    )
    votes = np.concatenate([of["votes"].values for of in every], axis=1)
    sure = np.concatenate([of["gold"].values for of in every])
    populations = _groups(parts.get("group"), len(sure))
    raters, classes = (members[0][side].values for side in ("classifier", "actual"))
    ratings = _by_pattern(votes, sure, populations, raters, classes)
    return as_ratings(ratings.assign_coords(scalars))


def _gold_in_order(ratings, order):
    """Re-index gold labels to a given order of the classes."""
    places = [order.index(x) if x in order else -1 for x in ratings["actual"].values.tolist()]
    return ratings.assign(gold=("pattern", np.array([*places, -1])[ratings["gold"].values]))


def _pattern_of(ratings):
    """Return the pattern of each example, in pattern order if the coordinate was dropped."""
    if "pattern_of" in ratings.coords:
        return ratings["pattern_of"].values
    return np.repeat(np.arange(ratings.sizes["pattern"]), ratings["counts"].values)


# Batches of a monitor

_FORM = "ratings"


def as_batch(evidence: xr.Dataset, like: xr.DataArray | None = None) -> xr.DataArray:
    """
    Return ratings in the form stored by a ledger, dims (pattern).

    Raises
    ------
    ValueError
        If the examples are in groups.
    """
    evidence = as_ratings(evidence)
    if "group" in evidence:
        raise fail(
            "A batch of ratings cannot have groups",
            ...,
            "",
            "leave `group=` out; add each group under its own name",
        )
    labels, raters = evidence["actual"].values.tolist(), evidence["classifier"].values.tolist()
    patterns = []
    votes, gold = evidence["votes"].values, evidence["gold"].values.tolist()
    for index in range(evidence.sizes["pattern"]):
        given = {
            str(rater): np.repeat(np.arange(len(labels)), votes[place, index]).tolist()
            for place, rater in enumerate(raters)
        }
        named = {rater: [labels[code] for code in codes] for rater, codes in given.items() if codes}
        patterns.append([named, None if gold[index] < 0 else labels[gold[index]]])
    facts = {"labels": labels, "positive": None, "raters": list(map(str, raters))}
    if "positive" in evidence.coords:
        facts["positive"] = evidence["positive"].item()
    return pattern_table(patterns, evidence["counts"].values, _FORM, facts)


def ratings_of(table: xr.DataArray) -> xr.Dataset:
    """Return ratings, given the counts (pattern) of their patterns."""
    labels, raters = table.attrs["labels"], table.attrs["raters"]
    table = table[table.values > 0]
    votes = np.zeros((len(raters), table.size, len(labels)), np.int64)
    gold = np.full(table.size, -1)
    for index, text in enumerate(table["pattern"].values.tolist()):
        given, truth = json.loads(text)
        for rater, named in given.items():
            np.add.at(votes[raters.index(rater), index], [labels.index(name) for name in named], 1)
        gold[index] = -1 if truth is None else labels.index(truth)
    evidence = xr.Dataset(
        {
            "counts": ("pattern", table.values),
            "votes": (("classifier", "pattern", "predicted"), votes),
            "gold": ("pattern", gold),
        },
        {"classifier": raters, "actual": labels, "predicted": labels},
    )
    label = table.attrs["positive"]
    return evidence if label is None else evidence.assign_coords(positive=label)


def add_batches(
    batches: Sequence[PatternCounts], like: xr.DataArray, coords: Mapping[str, np.ndarray]
) -> xr.Dataset:
    """Return the ratings of several batches as evidence."""
    return ratings_of(patterns_of_batches(batches, like).sum("step", keep_attrs=True))


def _default_model(ratings, keywords, members=None, compared=None):
    """Return the default model of ratings, or of the patterns of a batch."""
    return DefaultModel("noisy_labels", ratings_of(ratings) if has_patterns(ratings) else ratings)


RATINGS = EvidenceType(
    name="ratings",
    made_by="from_raters",
    unit="examples",
    matches=lambda evidence: isinstance(evidence, xr.Dataset) and "votes" in evidence,
    canonical=as_ratings,
    default_model=_default_model,
    default_measures=lambda ratings: default_measures(ratings["actual"], TABULATED),
    size=lambda ratings: float(ratings["counts"].sum()),
    values=lambda ratings: ratings["counts"],
    is_whole=lambda ratings: ratings["counts"].dtype.kind != "f",
    sentences=describe_ratings,
    combine=combine_ratings,
    resample=resample_counts("pattern"),
    batch_forms=(_FORM,),
    by_system=lambda ratings: {},  # a single model for all raters
    watched_measures=watched_measures,
    as_batch=as_batch,
    add=add_batches,
    batch_sizes=number_of_examples,
    one_by_one=has_patterns,
    recorded_together="rater",
    columns=Columns(
        (("raters",),),
        ("predicted", "gold", "group", "labels", "positive", "numeric_labels"),
    ),
)

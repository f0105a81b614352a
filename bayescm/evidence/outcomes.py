"""
Outcomes of several classifiers on the same examples, with the count of each outcome.

An outcome is a true class together with the predictions of all classifiers. Outcomes are an
``xr.Dataset`` with ``counts`` (..., outcome) and the coordinates ``actual`` (outcome),
``predicted`` (classifier, outcome) and ``label``, the classes. With two classes, the positive one
is last. Only observed outcomes are stored, so the number of classifiers is not limited.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.concatenation import matched, same_scalars
from bayescm.evidence.counts import (
    TABULATED,
    concat_along,
    default_measures,
    is_outcomes,
    make_counts,
    with_design,
)
from bayescm.evidence.default_models import (
    MODEL_OF_DIM,
    model_of_counts,
    model_of_groups,
    model_of_keyword,
)
from bayescm.evidence.descriptions import describe_counts
from bayescm.evidence.evidence_type import (
    Columns,
    DefaultModel,
    EvidenceType,
    name_of,
    systems_of,
)
from bayescm.evidence.identifiers import as_pandas, check_no_identifiers
from bayescm.evidence.labels import UnknownLabelError, as_labels, default_labels, obvious_positive
from bayescm.evidence.resampling import resample_counts
from bayescm.evidence.tabulate import axes_of, check_sizes, column, factorize
from bayescm.validate import check_counts, check_row_order, fail, suggest, unmasked


def from_classifiers(
    actual: Any,
    predictions: Mapping[str, Any] | Iterable[tuple[str, Any]],
    *,
    labels: Sequence | None = None,
    positive: Hashable | None = None,
    abstain: Hashable | None = None,
    by: Mapping[str, Any] | None = None,
    weights: Any = None,
) -> xr.Dataset:
    """
    Return outcomes of several classifiers on the same examples.

    Use this to compare classifiers on one test set: the comparison is paired, because outcomes
    record which classifiers err on the same examples.

    Parameters
    ----------
    actual : array_like, shape (n,)
        True labels: strings, integers or booleans, without missing values.
    predictions : mapping or iterable of pairs
        Name of each classifier and its predictions, shape (n,), in the order of ``actual``. A
        DataFrame with one column per classifier is also accepted.
    labels : sequence, optional
        All class labels, in order. By default the sorted labels in ``actual``. Include classes that
        are absent from the sample.
    positive : label, optional
        Positive class. By default inferred if the labels are {0, 1} or {False, True}.
    abstain : label, optional
        Label that marks an abstention, as in :func:`bayescm.from_predictions`. Measures of a
        classifier are computed from the examples that it answered, and ``coverage`` is their
        proportion.
    by : mapping of str to array_like (n,), optional
        Leading dimensions, e.g. ``{"group": site}`` or ``{"fold": fold}``.
    weights : array_like of int, shape (n,), optional
        Number of examples that each row represents.

    Returns
    -------
    Dataset
        Variable ``counts`` (..., outcome) and coordinates ``actual`` (outcome), ``predicted``
        (classifier, outcome), ``label``, ``classifier`` and, if there is a positive class,
        ``positive``.

    Raises
    ------
    ValueError
        If lengths differ, a classifier is named twice, or a label is missing or unknown. If indexes
        of pandas objects have the same labels in a different order.

    Examples
    --------
    >>> both = from_classifiers([1, 1, 0, 0, 0], {"a": [1, 0, 0, 0, 1], "b": [1, 1, 0, 0, 0]})
    >>> both.counts.values
    array([2, 1, 1, 1])
    >>> counts_of(both).sel(classifier="a").values
    array([[2, 1],
           [1, 1]])
    """
    names = _answers_by_name(predictions)
    check_row_order({"actual": actual, "predictions": names, "by": by, "weights": weights})
    columns = {"actual": column("actual", actual)}
    for name, answers in names.items():
        columns[f"predicted by {name}"] = column(f"predicted by {name}", answers)
    axes = axes_of(by, ("classifier", "outcome", "label"))
    sizes = {name: len(labels_of) for name, labels_of in columns.items()}
    if weights is not None:
        weights = check_counts(
            unmasked(weights, "weights"), name="a weight", todo="count whole examples"
        )
        sizes["weights"] = len(weights)
    check_sizes(sizes | {name: len(axis.codes) for name, axis in axes.items()})
    codes, labels = _encode(columns, labels, abstain)
    outcome, first = _outcomes(codes)
    table, coords = _tally(outcome, len(first), axes, weights)
    labels, codes, positive = _canonical(labels, codes, positive, abstain)
    coords |= {
        "actual": ("outcome", labels[codes[0, first]]),
        "predicted": (("classifier", "outcome"), labels[codes[1:, first]]),
        "classifier": list(names),
        "label": labels,
    }
    scalars = {"positive": positive, "abstain": abstain}
    coords |= {name: label for name, label in scalars.items() if label is not None}
    return as_outcomes(xr.Dataset({"counts": ((*axes, "outcome"), table)}, coords=coords))


def _answers_by_name(predictions):
    """Return the predictions by classifier, or raise an error if a name occurs twice."""
    predictions = as_pandas(predictions)
    if isinstance(predictions, pd.DataFrame):
        check_no_identifiers(predictions, "predictions", "leave `{name}` out", labels=True)
        predictions = predictions.rename(columns=str)  # names may be numbers
    pairs = predictions.items() if hasattr(predictions, "items") else predictions
    try:
        pairs = [(name, answers) for name, answers in pairs]
    except (TypeError, ValueError):
        todo = 'pass {"a": pred_a, "b": pred_b}'
        raise fail(
            "Predictions must be a mapping from names to predictions",
            predictions,
            "",
            todo,
            TypeError,
        ) from None
    names = [name for name, _ in pairs]
    for name in names:
        if not isinstance(name, str):
            todo = f'pass {{"{name}": predictions}}'
            raise fail("The name of a classifier must be a string", name, "", todo, TypeError)
        if names.count(name) > 1:
            raise fail("The classifier {} is named twice", name, "", "rename one of them")
    if not names:
        raise fail("No classifiers are given", ..., "", 'pass e.g. {"a": pred_a}')
    return dict(pairs)


def _encode(columns, labels, abstain):
    """Return class indices (1 + J, n), and the labels with the abstention last."""
    factors = [factorize(name, column) for name, column in columns.items()]
    if labels is None:
        present = set().union(*(set(column) for _, column in factors)) - {abstain}
        labels = default_labels(factors[0][1], present, columns["actual"])
    if abstain is not None:
        labels = [*(label for label in labels if label != abstain), abstain]
    labels = as_labels(labels)
    position = {label: index for index, label in enumerate(labels.tolist())}
    codes = np.empty((len(columns), len(factors[0][0])), np.int64)
    for row, (name, (inverse, present_labels)) in enumerate(zip(columns, factors, strict=True)):
        for label in present_labels:
            if label not in position:
                raise fail(
                    f"{name} contains {{}}, which is not a class",
                    label,
                    list(position),
                    [
                        f"{suggest(label, position)} add it to `labels` if it is a class",
                        f"pass `abstain={label!r}` if it marks an abstention",
                        "leave its rows out",
                    ],
                    UnknownLabelError,
                )
        codes[row] = np.array([position[label] for label in present_labels])[inverse]
    return codes, labels


def _outcomes(codes):
    """Return the index of the outcome of every example, and one example of every outcome."""
    outcome = np.zeros(codes.shape[1], np.int64)
    for row in codes:
        _, outcome = np.unique(outcome * (codes.max() + 1) + row, return_inverse=True)
    _, first = np.unique(outcome, return_index=True)
    return outcome, first


def _tally(outcome, number, axes, weights):
    """Count the outcomes along the leading axes."""
    index, shape = np.zeros(len(outcome), np.intp), []
    for axis in axes.values():
        index = index * len(axis.values) + axis.codes
        shape.append(len(axis.values))
    shape.append(number)
    table = np.bincount(index * number + outcome, weights, int(np.prod(shape))).reshape(shape)
    return table.astype(np.int64), {name: axis.values for name, axis in axes.items()}


def _canonical(labels, codes, positive, abstain):
    """Put the positive class second if there are two classes."""
    real = [label for label in labels.tolist() if label != abstain]
    if positive is None and len(real) == 2:
        positive = obvious_positive(real)
    if positive is not None and positive not in real:
        todo = suggest(positive, real)
        raise fail("The positive class {} is not among the labels", positive, real, todo)
    if len(real) == 2 and positive == real[0]:
        order = np.arange(len(labels))
        order[:2] = 1, 0
        return labels[order], order[codes], real[0]
    return labels, codes, positive


# Validation


def as_outcomes(evidence: xr.Dataset) -> xr.Dataset:
    """
    Validate outcomes and return them in canonical form.

    With two classes, the positive one is last in ``label``.

    Parameters
    ----------
    evidence : Dataset
        Result of :func:`from_classifiers`, or a selection of it.

    Returns
    -------
    Dataset

    Raises
    ------
    TypeError, ValueError
        If a variable is missing, a count is invalid, or a label is unknown.
    """
    if not is_outcomes(evidence):
        got = name_of(evidence) or type(evidence).__name__
        scores = isinstance(evidence, xr.Dataset) and "score" in evidence
        todo = "use compare(scores, 'auc')" if scores else "use `from_classifiers`"
        what = f"This function needs outcomes of classifiers, not {got}"
        raise fail(what, ..., "", todo, TypeError)
    for part in ("counts", "actual", "predicted", "label"):
        if part not in evidence.variables:
            raise fail(f"The outcomes lack the variable {part}", ..., "", "keep this variable")
    if "classifier" not in evidence.variables["predicted"].dims:
        evidence = _with_classifier(evidence)
    variables = evidence.variables
    check_counts(variables["counts"].values, fractional=True)
    labels = as_labels(variables["label"].values).tolist()
    labels_used = {
        *variables["actual"].values.tolist(),
        *variables["predicted"].values.ravel().tolist(),
    }
    if not labels_used <= set(labels):
        raise fail(
            "The labels {} are not classes",
            sorted(labels_used - set(labels)),
            labels,
            "add them to the variable label",
        )
    if "abstain" in variables:
        _check_truth(evidence)
    none = variables["abstain"].values.item() if "abstain" in variables else None
    real = [label for label in labels if label != none]
    if (
        len(real) == 2
        and "positive" in variables
        and variables["positive"].values.item() == real[0]
    ):
        real = real[::-1]
    order = [labels.index(label) for label in [*real, *(set(labels) - set(real))]]
    return evidence if order == sorted(order) else evidence.isel(label=order)


def _check_truth(evidence):
    """Raise an error if an abstention is the true class of an example."""
    label = evidence["abstain"].item()
    wrong = evidence["counts"].values[..., evidence["actual"].values == label].sum()
    if wrong or label not in evidence["label"].values.tolist():
        raise fail(
            "Some examples have the class {}, which marks abstentions",
            label,
            "",
            "correct their labels, or mark abstentions with another label",
        )


def _with_classifier(evidence):
    """Restore the dimension ``classifier`` after a single classifier was selected."""
    name = evidence.coords["classifier"].item() if "classifier" in evidence.coords else "classifier"
    answers = (("classifier", "outcome"), evidence["predicted"].values[None])
    bare = evidence.drop_vars(["predicted", "classifier"], errors="ignore")
    return bare.assign_coords(predicted=answers, classifier=[name])


def combine_outcomes(members: Sequence[xr.Dataset], dim: str, names: list | None) -> xr.Dataset:
    """
    Return outcomes of the same classifiers on several sets of examples, see `bayescm.combine`.

    Outcomes that occur in one member only have the count 0 in all other members. Unlabelled
    examples (`bayescm.from_partly_labelled`) are combined in the same way.
    """
    if dim in ("classifier", "outcome", "label"):
        todo = "use another name, e.g. `dim='data_set'`, or pass all classifiers of "
        todo += "one test set to `from_classifiers` at once"
        raise fail(
            f"Outcomes cannot be combined along {dim}, because it is unknown which "
            "predictions belong to the same example",
            ...,
            "",
            todo,
        )
    for member in members:
        if more := sorted(map(str, {*member.data_vars} - {"counts"})):
            todo = f"leave them out with drop_vars({more})"
            raise fail("Outcomes cannot be combined with {}", more, "", todo)
    members = matched(members, "classifier", "classifiers")
    scalars = same_scalars(members, [dim])
    labels = as_labels(
        list(dict.fromkeys(x for member in members for x in member["label"].values.tolist()))
    )
    table = _side_by_side([member["counts"] for member in members], "outcome", dim, names)
    actual = np.concatenate([member["actual"].values for member in members])
    coords = {"actual": ("outcome", actual), "predicted": _answers_of_all(members, "predicted")}
    coords |= {"classifier": members[0]["classifier"].values, "label": labels} | scalars
    if "unlabelled" in members[0].coords:
        rest = [member["unlabelled"].reset_coords(drop=True) for member in members]
        coords["unlabelled"] = _side_by_side(rest, "answers", dim, names).variable
        coords["answered"] = _answers_of_all(members, "answered")
    return as_outcomes(table.to_dataset(name="counts").assign_coords(coords))


def _side_by_side(tables, along, dim, names):
    """Concatenate tables along a dimension, with separate columns that are 0 in other tables."""
    ends = np.cumsum([0, *(table.sizes[along] for table in tables)])
    padded = [
        table.drop_vars([name for name in table.coords if along in table[name].dims]).pad(
            {along: (start, ends[-1] - end)}, constant_values=0
        )
        for table, start, end in zip(tables, ends, ends[1:], strict=False)
    ]
    return concat_along(padded, dim, names).transpose(dim, ..., along)


def _answers_of_all(members, name):
    """Return the dimensions and values of the concatenated predictions of all members."""
    dims = members[0][name].dims
    return dims, np.concatenate([member[name].transpose(*dims).values for member in members], -1)


# Confusion matrices of single classifiers


def counts_of(outcomes: xr.Dataset) -> xr.DataArray:
    """
    Return the confusion matrix of each classifier.

    Parameters
    ----------
    outcomes : Dataset
        From :func:`from_classifiers`.

    Returns
    -------
    DataArray, dims (..., classifier, actual, predicted)
        Confusion matrices, without the information that they share the same examples.
    """
    return tables_of(as_outcomes(outcomes))


def matrices_of(evidence: Any) -> Any:
    """Return confusion matrices of the classifiers for outcomes, and other evidence unchanged."""
    return counts_of(evidence) if is_outcomes(evidence) else evidence


def tables_of(outcomes: xr.Dataset, parts: tuple | None = None) -> xr.DataArray:
    """Return the confusion matrix of each classifier from canonical outcomes or `arrays`."""
    variables = outcomes.variables
    labels = variables["label"].values
    counts, actual, predicted = parts or arrays(outcomes)
    dims = (*(dim for dim in variables["counts"].dims if dim != "outcome"), "classifier")
    coords: dict[Any, Any] = {dim: variables[dim].values for dim in dims if dim in variables}
    coords |= {name: coord for name, coord in outcomes.coords.variables.items() if coord.ndim == 0}
    positive = coords.pop("positive", None)
    positive = positive if positive is None else positive.item()
    matrices = marginal_matrices(counts, actual, predicted, len(labels))
    return with_design(make_counts(matrices, labels, positive, dims, coords))


def halves_of(outcomes: xr.Dataset) -> xr.DataArray:
    """Return the counts of each classifier in the halves, dims (repeat, half, classifier, ...)."""
    halves = outcomes.drop_vars("counts").rename(halves="counts", halving="repeat")
    return counts_of(halves.drop_dims("fold", errors="ignore"))


# Outcomes as arrays, and marginal confusion matrices (numpy only)


_FEW = 5  # up to this number of classes, a matrix product is faster than sorting


def arrays(outcomes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return outcomes as arrays, without duplicates.

    Returns
    -------
    counts : ndarray, shape (..., M)
    actual : ndarray of int, shape (M,)
        Index of the true class in ``label``.
    predicted : ndarray of int, shape (J, M)
        Index of the predicted class of each classifier in ``label``.
    """
    variables = outcomes.variables  # avoids slow labelled arrays
    position = {label: index for index, label in enumerate(variables["label"].values.tolist())}
    answers = variables["predicted"].transpose("classifier", "outcome").values.tolist()
    rows = [variables["actual"].values.tolist(), *answers]
    codes = np.array([[position[label] for label in row] for row in rows], np.int64)
    # After selecting classifiers, some outcomes become identical and are merged.
    codes, inverse = np.unique(codes, axis=1, return_inverse=True)
    with_duplicates = variables["counts"].transpose(..., "outcome").values
    counts = np.zeros((*with_duplicates.shape[:-1], codes.shape[1]), with_duplicates.dtype)
    for index, position_of in enumerate(inverse.ravel()):
        counts[..., position_of] += with_duplicates[..., index]
    return counts, codes[0], codes[1:]


def marginal_matrices(weights, actual, predicted, classes: int) -> np.ndarray:
    """
    Sum the weights of outcomes to the confusion matrix of each classifier.

    Parameters
    ----------
    weights : ndarray, shape (..., M)
        Counts or probabilities of the outcomes.
    actual, predicted : ndarray of int, shape (M,) and (J, M)
        Class indices of the true class and of each prediction.
    classes : int
        Number of classes C.

    Returns
    -------
    ndarray, shape (..., J, C, C)
    """
    if classes <= _FEW and weights.dtype.kind == "f" and weights.ndim > 1:
        return _matrices_by_product(weights, actual * classes + predicted, classes)
    total = np.zeros((*weights.shape[:-1], len(predicted), classes**2), weights.dtype)
    for judge, answers in enumerate(predicted):
        code = actual * classes + answers
        order = np.argsort(code, kind="stable")
        cells, starts = np.unique(code[order], return_index=True)
        if len(cells) == len(code):
            total[..., judge, code] = weights
        elif len(cells):
            total[..., judge, cells] = np.add.reduceat(weights[..., order], starts, axis=-1)
    return total.reshape(*total.shape[:-1], classes, classes)


def _matrices_by_product(weights, code, classes):
    """Sum weights to matrices by a matrix product."""
    cells = np.arange(classes**2)[:, None] == code[:, None, :]
    total = masked_sums(weights, cells.reshape(-1, code.shape[-1]))
    return total.reshape(*total.shape[:-1], len(code), classes, classes)


def masked_sums(weights: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """
    Sum weights (..., M) over each mask (K, M) by a matrix product, giving (..., K).

    Equal masks are summed once, so that their sums are exactly equal.
    """
    first_of_mask: dict[bytes, int] = {}
    positions = [
        first_of_mask.setdefault(mask.tobytes(), len(first_of_mask))
        for mask in np.packbits(masks, axis=1)
    ]
    distinct = masks[np.unique(positions, return_index=True)[1]]
    sums = weights @ distinct.T.astype(weights.dtype)
    return sums if len(distinct) == len(masks) else sums[..., positions]


# Evidence type


def model_of_outcomes(
    outcomes: xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """
    Return the default model of outcomes.

    Classifiers are paired. If classifiers are compared in a cross-validation, they are paired fold
    by fold. Without a comparison, folds and groups are pooled separately for each classifier, from
    its confusion matrices, because pairing is only used for comparisons.
    """
    if (model := model_of_keyword(keywords)) is not None:
        return DefaultModel(model, outcomes)
    if "group" in (members, compared):
        of_groups = model_of_groups(outcomes, keywords, robust=False)
        if of_groups is not None:
            return of_groups
    if members in MODEL_OF_DIM:
        model = MODEL_OF_DIM["fold"] if members == "fold" else "paired_outcomes"
        return DefaultModel(model, outcomes)
    is_compared = compared in outcomes.dims
    if is_compared and "fold" in outcomes.dims and compared != "fold":
        if "halves" in outcomes:
            return DefaultModel("paired_folds", outcomes)
        return DefaultModel("correlated_t", outcomes, {"dim": compared})
    if is_compared or not set(MODEL_OF_DIM) & set(outcomes.dims):
        return DefaultModel("paired_outcomes", outcomes)
    counts = counts_of(outcomes)
    halves = {"halves": halves_of(outcomes)} if "halves" in outcomes else {}
    return DefaultModel(model_of_counts(counts, keywords).model, counts, halves)


def describe_outcomes(outcomes: xr.Dataset, written: Callable[[Any], str] = str) -> list[str]:
    """Describe the joint predictions of classifiers in sentences."""
    return describe_counts(counts_of(outcomes), written, paired=True)


def _sum_over(outcomes, dims):
    return outcomes.assign(counts=outcomes["counts"].sum(dims)).drop_dims(dims)


OUTCOMES = EvidenceType(
    name="outcomes",
    made_by="from_classifiers",
    unit="examples",
    matches=is_outcomes,
    canonical=as_outcomes,
    default_model=model_of_outcomes,
    default_measures=lambda outcomes: default_measures(counts_of(outcomes), TABULATED),
    size=lambda outcomes: float(outcomes["counts"].sum()),
    values=lambda outcomes: outcomes["counts"],
    is_whole=lambda outcomes: outcomes["counts"].dtype.kind != "f",
    sum_over=_sum_over,
    combine=combine_outcomes,
    sentences=describe_outcomes,
    resample=resample_counts("outcome"),
    batch_forms=("paired_outcomes",),  # used by challenges
    by_system=lambda outcomes: systems_of(counts_of(outcomes)),
    columns=Columns(
        (),
        (
            "actual",
            "predicted",
            "labels",
            "positive",
            "numeric_labels",
            "abstain",
            "fold",
            "group",
            "by",
        ),
    ),
)

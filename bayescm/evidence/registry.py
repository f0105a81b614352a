"""
Registry of the types of evidence.

This is the only place that distinguishes between types. A fit is also a type, because it supports
the same functions. Each type is defined in the file of its constructor. To add a type, append it to
`TYPES`.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

import xarray as xr

from bayescm.evidence.attempts import ATTEMPTS
from bayescm.evidence.counts import COUNTS, TABULATED, default_measures, not_counts
from bayescm.evidence.evidence_type import (
    BATCH_FORM,
    EVIDENCE_GROUP,
    TYPE_ATTRIBUTE,
    EvidenceType,
    always,
    number_of,
)
from bayescm.evidence.item_counts import ITEM_COUNTS
from bayescm.evidence.item_scores import ITEM_SCORES
from bayescm.evidence.multilabel import MULTILABEL
from bayescm.evidence.outcomes import OUTCOMES
from bayescm.evidence.partly_labelled import PARTLY_LABELLED
from bayescm.evidence.preferences import PREFERENCES
from bayescm.evidence.raters import RATINGS
from bayescm.evidence.results import RESULTS
from bayescm.evidence.scores import PROBABILITIES, SCORES
from bayescm.evidence.trees import cells_of, variables_of, with_positive_class
from bayescm.validate import fail


def _measures_of_fit(tree):
    """Return the default measures of the evidence in a tree, or of its cell probabilities."""
    if EVIDENCE_GROUP in tree.children:
        stored = tree[EVIDENCE_GROUP].to_dataset()
        entry = type_named(stored.attrs[TYPE_ATTRIBUTE])
        return entry.default_measures(entry.from_dataset(stored))
    tree = with_positive_class(tree)
    return default_measures(cells_of(tree, "posterior", variables_of(tree)["parameter"]), TABULATED)


def _describe_fit(tree, written=str):
    """Describe the evidence in a tree, or its confusion matrices."""
    if EVIDENCE_GROUP in tree.children:
        stored = tree[EVIDENCE_GROUP].to_dataset()
        entry = type_named(stored.attrs[TYPE_ATTRIBUTE])
        return entry.describe(entry.from_dataset(stored), written)
    data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if "counts" in data and {"actual", "predicted"} <= {*data["counts"].dims}:
        return COUNTS.describe(data["counts"], written)
    return [f"{number_of(FIT.size(tree), FIT.unit)}."]


FIT = EvidenceType(
    name="fit",
    made_by="fit",
    unit="draws",
    matches=lambda evidence: isinstance(evidence, xr.DataTree),
    canonical=with_positive_class,
    default_model=always("fit"),
    default_measures=_measures_of_fit,
    size=lambda tree: tree["posterior"].sizes["chain"] * tree["posterior"].sizes["draw"],
    values=lambda tree: tree["constant_data"]["counts"],
    sentences=_describe_fit,
)

# The first match determines the type. All DataArrays that are not partly labelled are counts, and
# the types after FIT are Datasets.
TYPES: list[EvidenceType] = [
    PARTLY_LABELLED,
    COUNTS,
    FIT,
    OUTCOMES,
    PROBABILITIES,
    SCORES,
    PREFERENCES,
    RATINGS,
    ATTEMPTS,
    ITEM_SCORES,
    MULTILABEL,
    ITEM_COUNTS,
    RESULTS,
]


def type_of(evidence: Any) -> EvidenceType:
    """
    Return the type of evidence.

    Raises
    ------
    TypeError
        If the object is not evidence of any type.

    Examples
    --------
    >>> import bayescm as bcm
    >>> type_of(bcm.from_cells(tp=65, fn=15, fp=35, tn=30)).name
    'counts'
    >>> type_of(bcm.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])).name
    'scores'
    """
    if (form := getattr(evidence, "attrs", {}).get(BATCH_FORM)) is not None:
        return next(entry for entry in TYPES if form in entry.batch_forms)
    entry = next((entry for entry in TYPES if entry.matches(evidence)), None)
    if entry is not None:
        return entry
    if is_members(evidence):
        raise _several(evidence)
    if not isinstance(evidence, xr.Dataset):
        raise not_counts(evidence)
    names = [f"{entry.name} ({entry.made_by})" for entry in TYPES]
    allowed = f"{', '.join(names[:-1])} or {names[-1]}"
    got = ", ".join(map(str, evidence.variables)) or "no variables"
    raise fail(
        f"This Dataset is not evidence; its variables are: {got}",
        ...,
        allowed,
        "build it with one of these functions",
        TypeError,
    )


def _several(members):
    """Return the error for a mapping in place of a single piece of evidence."""
    first = next(iter(members.values()), None)
    entry = next((entry for entry in TYPES if entry.matches(first)), COUNTS)
    if entry is COUNTS:
        return not_counts(members)
    return fail(
        f"A mapping of several pieces of evidence ({entry.name}) is not supported here",
        ...,
        "",
        "use each separately, or, if all have the same examples, combine them: "
        f"{entry.made_by}({{'a': ..., 'b': ...}})",
        TypeError,
    )


def type_named(name: Any) -> EvidenceType:
    """Return the type of evidence with a given name, or raise an error if it does not exist."""
    by_name = {entry.name: entry for entry in TYPES}
    if name not in by_name:
        raise fail(
            "Unknown type of evidence {}",
            name,
            "",
            "install the version of bayescm that saved it, or build the evidence again",
        )
    return by_name[name]


def is_members(evidence: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Return True if the object is a mapping from names to pieces of evidence."""
    return isinstance(evidence, Mapping) and not isinstance(evidence, xr.Dataset | xr.DataTree)

"""
Which model answers, where the user names none: by the type of the evidence, and by its design.

==================  ===============================================  ==============================
evidence            design, or what is asked                         model
==================  ===============================================  ==============================
counts              one table, or tables that stand by themselves    ``dirichlet_multinomial``
                    the totals of the classes, or a prevalence,      ``fixed_totals``
                    are known
                    weighted examples                                ``importance_weighted``
                    folds                                            ``hierarchical_folds``
                    groups, and three or more groups compared        ``hierarchical_groups``
                    groups compared, or each of them, two classes    ``robust_groups``
                    the same, with covariates                        ``hierarchical_groups``
                    classifiers compared in the same folds           ``correlated_t``
outcomes            classifiers on the same examples                 ``paired_outcomes``
                    folds or groups, nothing compared                those of the counts of each
                    classifiers compared in the same folds           ``correlated_t``
                    and with halves of them                          ``paired_folds``
                    groups compared, or each of them                 ``hierarchical_groups``
partly labelled     one sample                                       ``partly_labelled``
                    errors known from elsewhere                      ``transferred_errors``
scores                                                               ``scores``
probabilities       two classes                                      ``calibration``
                    more classes                                     ``dirichlet_calibration``
                    groups                                           ``hierarchical_calibration``
                    folds                                            ``fold_forecasts``
item scores                                                          ``item_scores``
                    each of the slices, partially pooled             ``item_score_slices``
attempts                                                             ``repeated_items``
ratings                                                              ``noisy_labels``
several labels, item counts                                          ``multilabel``
results                                                              ``hierarchical_differences``
a fit                                                                its own draws
==================  ===============================================  ==============================

``label_error=`` names ``mislabelled``, of counts, outcomes and partly labelled evidence. A type
with one model says so in its own file by `always`; one with several designs has a function here,
of (evidence, keywords, members, compared), which are described at
`EvidenceType.default_model`.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import xarray as xr

from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.evidence.type import DefaultModel

# Of evidence with such a dim; folds come before the groups they are of.
_MODEL_OF_DIM = {"fold": "hierarchical_folds", "group": "hierarchical_groups"}
# Of two groups chosen beforehand nothing is known of how groups differ: each stands by itself.
_ENOUGH_GROUPS = 3
# Keywords of one model alone, which name it wherever they are passed.
_MODEL_OF_KEYWORD = {"label_error": "mislabelled"}
# Keywords that groups of which a few are unlike all others do not take.
_OF_COVARIATES = {"covariates", "slope"}


def model_of_counts(
    counts: xr.DataArray,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """
    Return the default model of counts.

    Folds and groups are pooled. Where the groups themselves are asked for, of two classes, a few
    may be unlike all others. Compared are three or more groups after pooling, what was tested on
    the same folds by the correlated t, and other members as they stand by themselves.
    """
    if (model := _model_of_keyword(keywords)) is not None:
        return DefaultModel(model, counts)
    dim = "group" if _are_pooled(counts, compared) else members
    if dim in _MODEL_OF_DIM:
        two_classes = counts.sizes.get("actual") == 2
        robust = dim == "group" and two_classes and not _OF_COVARIATES & keywords.keys()
        return DefaultModel("robust_groups" if robust else _MODEL_OF_DIM[dim], counts)
    if compared not in counts.dims:
        pooled = next((model for dim, model in _MODEL_OF_DIM.items() if dim in counts.dims), None)
        return DefaultModel(pooled or _model_of_tables(counts), counts)
    if "fold" in counts.dims and compared != "fold":
        return DefaultModel("correlated_t", counts, {"dim": compared})
    return DefaultModel(_model_of_tables(counts), counts)


def _model_of_tables(counts):
    """Return the model of tables each of which stands by itself."""
    if "effective" in counts.coords:
        return "importance_weighted"
    return "fixed_totals" if "prevalence" in counts.coords else "dirichlet_multinomial"


def model_of_outcomes(
    outcomes: xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """
    Return the default model of outcomes.

    Classifiers are paired, and those compared in a cross-validation fold by fold. Where nothing
    is compared folds and groups are pooled, each classifier by its own tables, for pairs are pooled
    by name only.
    """
    # Here, since that file has the entry of outcomes, which names this function.
    from bayescm.evidence.outcomes import counts_of, halves_of

    if (model := _model_of_keyword(keywords)) is not None:
        return DefaultModel(model, outcomes)
    dim = "group" if _are_pooled(outcomes, compared) else members
    if dim in _MODEL_OF_DIM:
        return DefaultModel(_MODEL_OF_DIM[dim], outcomes)
    is_compared = compared in outcomes.dims
    if is_compared and "fold" in outcomes.dims and compared != "fold":
        if "halves" in outcomes:
            return DefaultModel("paired_folds", outcomes)
        return DefaultModel("correlated_t", outcomes, {"dim": compared})
    if is_compared or not set(_MODEL_OF_DIM) & set(outcomes.dims):
        return DefaultModel("paired_outcomes", outcomes)
    counts = counts_of(outcomes)
    halves = {"halves": halves_of(outcomes)} if "halves" in outcomes else {}
    return DefaultModel(model_of_counts(counts, keywords).model, counts, halves)


def _are_pooled(evidence, compared):
    """Say whether the members compared are groups, and so many that they are pooled first."""
    return compared == "group" and evidence.sizes.get("group", 0) >= _ENOUGH_GROUPS


def _model_of_keyword(keywords):
    """Return the model that a keyword names, being of this model alone, or None."""
    return next((model for name, model in _MODEL_OF_KEYWORD.items() if name in keywords), None)


def model_of_partly_labelled(
    evidence: xr.DataArray | xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """Return the default model; slices stand by themselves, whatever is asked of them."""
    usual = "transferred_errors" if "transfer" in evidence.coords else "partly_labelled"
    return DefaultModel(_model_of_keyword(keywords) or usual, evidence)


def model_of_probabilities(
    evidence: xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """Return the default model of probabilities; folds are averaged, which is no model of them."""
    if "fold" in evidence:
        return DefaultModel("fold_forecasts", evidence)
    if "group" in evidence:
        return DefaultModel("hierarchical_calibration", evidence)
    several = "class" in evidence.dims
    return DefaultModel("dirichlet_calibration" if several else "calibration", evidence)


def model_of_item_scores(
    evidence: xr.Dataset,
    keywords: Mapping[str, Any],
    members: Hashable | None = None,
    compared: Hashable | None = None,
) -> DefaultModel:
    """Return the model of slices that are partially pooled where these are asked for."""
    pooled = members in slice_dims(evidence)
    return DefaultModel("item_score_slices" if pooled else "item_scores", evidence)

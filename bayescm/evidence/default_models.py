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
                    groups                                           ``hierarchical_groups``
                    groups compared, or each of them                 see below
                    classifiers compared in the same folds           ``correlated_t``
outcomes            classifiers on the same examples                 ``paired_outcomes``
                    folds or groups, nothing compared                those of the counts of each
                    classifiers compared in the same folds           ``correlated_t``
                    and with halves of them                          ``paired_folds``
                    groups compared, or each of them                 see below
partly labelled     one sample                                       ``partly_labelled``
                    errors known from elsewhere                      ``transferred_errors``
scores                                                               ``scores``
                    batches of a monitor, in bins                    ``binned_forecasts``
                    each of the groups                               ``score_groups``
probabilities       two classes                                      ``calibration``
                    batches of a monitor, in bins                    ``binned_forecasts``
                    more classes                                     ``dirichlet_calibration``
                    groups                                           ``hierarchical_calibration``
                    each of the groups                               ``score_groups``
                    folds                                            ``fold_forecasts``
item scores                                                          ``item_scores``
attempts                                                             ``repeated_items``
several labels, item counts                                          ``multilabel``
                    each slice of one of these three                 see below
ratings                                                              ``noisy_labels``
preferences                                                          ``preferences``
results             several data sets                                ``hierarchical_differences``
                    one data set                                     ``correlated_t``
a fit                                                                its own draws
==================  ===============================================  ==============================

**Groups compared, or each of them.** How far groups are apart (`gap`), which ones are bad
(`worst_slices`) and comparisons of groups use the same model, by the number of groups.
``interval(..., of="group")`` uses the model that pools the groups (``hierarchical_groups``).

=============  =====================================  ==============================================
groups         counts and outcomes                    slices of items, attempts or several labels
=============  =====================================  ==============================================
two            not pooled: the model of tables        not pooled: the model of one sample
three to five  ``hierarchical_groups``, ``spread=3``  ``item_score_slices``
six or more    ``robust_groups`` (two classes);       ``item_score_slices``
               ``hierarchical_groups`` (others)
=============  =====================================  ==============================================

Two groups do not show how far groups differ, and the prior of the spread would decide how far they
are shrunk towards each other. Three to five show it a little: their prior is wide and does not
favour equal groups. Six or more show it well enough for a prior by which most groups are alike and
a few are not. Groups of examples with scores or probabilities are pooled as slices are
(``score_groups``). Coverage is in docs/results/few_groups.csv, few_slices.csv, score_groups.csv and
gaps.csv. A keyword of a model that pools (``spread``, ``deviation``, ``covariates``) pools two
groups as well.

``label_error=`` names ``mislabelled``, of counts, outcomes and partly labelled evidence. A type
with one model says so in its own file by `always`. A type with several designs has a function here,
or in its own file (`outcomes.model_of_outcomes`); its arguments are described at
`EvidenceType.default_model`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.evidence.evidence_type import DefaultModel

# Of evidence with such a dim; folds come before the groups they are of.
MODEL_OF_DIM = {"fold": "hierarchical_folds", "group": "hierarchical_groups"}
# Fewer groups are not pooled.
ENOUGH_GROUPS = 3
# Fewer groups do not show whether most are alike.
MANY_GROUPS = 6
# Scale of the half-normal prior of the spread between three to five groups, in logits. Of 1, 2, 3
# and 5, this one has the best mean coverage of gaps of 0.1, 0.3 and 0.5 in groups of 10, 30 and 100
# (docs/results/few_groups.csv: 0.94, and at least 0.90 in a case).
WIDE_SPREAD = 3.0
# Keywords of one model alone, which name it wherever they are passed.
_MODEL_OF_KEYWORD = {"label_error": "mislabelled"}
# Keywords of models that pool groups; those that `robust_groups` does not take, and it alone takes.
_OF_POOLING = {"spread", "deviation", "covariates", "slope"}
_OF_COVARIATES, _OF_OUTLIERS = {"covariates", "slope"}, {"deviation"}


def model_of_counts(
    counts: xr.DataArray,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """
    Return the default model of counts.

    Folds and groups are pooled. Groups that are compared, or each of which is asked for, have a
    model by their number (`model_of_groups`). Members tested on the same folds are compared by the
    correlated t, and other members as they stand by themselves.
    """
    if (model := model_of_keyword(keywords)) is not None:
        return DefaultModel(model, counts)
    if "group" in (members, compared):
        two_classes = counts.sizes.get("actual") == 2
        of_groups = model_of_groups(counts, keywords, robust=two_classes)
        if of_groups is not None:
            return of_groups
    if members in MODEL_OF_DIM:
        model = MODEL_OF_DIM["fold"] if members == "fold" else _model_of_tables(counts)
        return DefaultModel(model, counts)
    if compared not in counts.dims:
        pooled = next((model for dim, model in MODEL_OF_DIM.items() if dim in counts.dims), None)
        return DefaultModel(pooled or _model_of_tables(counts), counts)
    if "fold" in counts.dims and compared != "fold":
        return DefaultModel("correlated_t", counts, {"dim": compared})
    return DefaultModel(_model_of_tables(counts), counts)


def model_of_groups(evidence, keywords, *, robust):
    """Return the model of single groups by their number, or None if they are not pooled."""
    number, named = evidence.sizes.get("group", 0), _OF_POOLING & keywords.keys()
    if number < ENOUGH_GROUPS and not named:
        return None
    if robust and not _OF_COVARIATES & named and (number >= MANY_GROUPS or _OF_OUTLIERS & named):
        return DefaultModel("robust_groups", evidence)
    design = {"spread": WIDE_SPREAD} if number < MANY_GROUPS else {}
    return DefaultModel("hierarchical_groups", evidence, design)


def _model_of_tables(counts):
    """Return the model of tables each of which stands by itself."""
    if "effective" in counts.coords:
        return "importance_weighted"
    return "fixed_totals" if "prevalence" in counts.coords else "dirichlet_multinomial"


def model_of_keyword(keywords):
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
    return DefaultModel(model_of_keyword(keywords) or usual, evidence)


def model_of_probabilities(
    evidence: xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """Return the default model of probabilities; folds are averaged, which is no model of them."""
    if "fold" in evidence:
        return DefaultModel("fold_forecasts", evidence)
    if "group" in evidence and members == "group":
        return DefaultModel("score_groups", evidence)
    if "group" in evidence:
        return DefaultModel("hierarchical_calibration", evidence)
    several = "class" in evidence.dims
    return DefaultModel("dirichlet_calibration" if several else "calibration", evidence)


def model_of_scores(
    evidence: xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """Return the default model of scores: each of the groups is partially pooled."""
    of_groups = "group" in evidence and members == "group"
    return DefaultModel("score_groups" if of_groups else "scores", evidence)


def of_items(model: str, of_sums: str | None = None) -> Callable[..., DefaultModel]:
    """
    Return the `default_model` of a type whose items may come in slices.

    Each of three or more slices is asked of `item_score_slices`, everything else of the model. Sums
    of batches of a monitor have another model if one is named.
    """

    def default_model(evidence, keywords, members=None, compared=None):
        if isinstance(evidence, xr.DataArray):
            return DefaultModel(of_sums or model, evidence)
        dims = slice_dims(evidence)
        slices = math.prod(evidence.sizes[dim] for dim in dims)
        pooled = slices >= ENOUGH_GROUPS or not _OF_POOLING.isdisjoint(keywords)
        return DefaultModel("item_score_slices" if members in dims and pooled else model, evidence)

    return default_model

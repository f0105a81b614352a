"""
Default models: the model for each type of evidence and design if the user does not name one.

==================  ===============================================  ==============================
evidence            design or question                               model
==================  ===============================================  ==============================
counts              one table, or independent tables                 ``dirichlet_multinomial``
                    known class totals, or a known prevalence        ``fixed_totals``
                    weighted examples                                ``importance_weighted``
                    folds                                            ``hierarchical_folds``
                    groups                                           ``hierarchical_groups``
                    groups compared, or single groups                see below
                    classifiers compared in the same folds           ``correlated_t``
outcomes            classifiers on the same examples                 ``paired_outcomes``
                    folds or groups without a comparison             models of counts
                    classifiers compared in the same folds           ``correlated_t``
                    the same, with halves                            ``paired_folds``
                    groups compared, or single groups                see below
partly labelled     one sample                                       ``partly_labelled``
                    error rates from another population              ``transferred_errors``
scores                                                               ``scores``
                    batches of a monitor, binned                     ``binned_forecasts``
                    single groups                                    ``score_groups``
probabilities       two classes                                      ``calibration``
                    batches of a monitor, binned                     ``binned_forecasts``
                    more classes                                     ``dirichlet_calibration``
                    groups                                           ``hierarchical_calibration``
                    single groups                                    ``score_groups``
                    folds                                            ``fold_forecasts``
item scores                                                          ``item_scores``
attempts                                                             ``repeated_items``
multilabel, item counts                                              ``multilabel``
                    single slices of the last three types            see below
ratings                                                              ``noisy_labels``
preferences                                                          ``preferences``
results             several data sets                                ``hierarchical_differences``
                    one data set                                     ``correlated_t``
a fit                                                                draws of the fit
==================  ===============================================  ==============================

**Groups compared, or single groups.** `gap`, `worst_slices` and comparisons of groups use the same
model, which depends on the number of groups. ``interval(..., of="group")`` uses the model that
pools the groups (``hierarchical_groups``).

=============  =====================================  ==============================================
groups         counts and outcomes                    slices of items, attempts, multilabel data
=============  =====================================  ==============================================
two            not pooled: the model of tables        not pooled: the model of one sample
three to five  ``hierarchical_groups``, ``spread=3``  ``item_score_slices``
six or more    ``robust_groups`` (two classes);       ``item_score_slices``
               ``hierarchical_groups`` (others)
=============  =====================================  ==============================================

Two groups contain no information on the spread between groups, so its prior would determine how far
they are shrunk towards each other. Three to five groups contain little information. Their prior is
wide and does not favour equal groups. Six or more groups contain enough information for a prior
that expects most groups to be similar and a few to be outliers.

Groups of examples with scores or probabilities are pooled in the same way as slices
(``score_groups``). Coverage is reported in docs/results/few_groups.csv, few_slices.csv,
score_groups.csv and gaps.csv. If a keyword of a pooling model (``spread``, ``deviation``,
``covariates``) is given, two groups are pooled as well.

``label_error=`` selects ``mislabelled`` for counts, outcomes and partly labelled data. A type with
a single model declares it with `always` in its own file. A type with several designs has a function
here, or in its own file (`outcomes.model_of_outcomes`). `EvidenceType.default_model` describes the
arguments of these functions.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.evidence.evidence_type import DefaultModel

# Pooling models by dimension. Folds take precedence over groups.
MODEL_OF_DIM = {"fold": "hierarchical_folds", "group": "hierarchical_groups"}
# Minimum number of groups to be pooled.
ENOUGH_GROUPS = 3
# Minimum number of groups to judge whether most of them are similar.
MANY_GROUPS = 6
# Scale of the half-normal prior for the spread between three to five groups, in logits. Among 1, 2,
# 3 and 5, this scale has the best mean coverage for gaps of 0.1, 0.3 and 0.5 in groups of 10, 30
# and 100 (docs/results/few_groups.csv: mean 0.94, minimum 0.90).
WIDE_SPREAD = 3.0
# Keywords that belong to a single model and therefore select it.
_MODEL_OF_KEYWORD = {"label_error": "mislabelled"}
# Keywords of pooling models. The next two sets contain the keywords that `robust_groups` does not
# accept, and the keywords that only `robust_groups` accepts.
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

    Folds and groups are pooled. For comparisons of groups, or estimates of single groups, the model
    depends on the number of groups (`model_of_groups`). Members tested on the same folds are
    compared with the correlated t model, and other members are treated as independent.
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
    """Return the model for single groups, given their number, or None if they are not pooled."""
    number, named = evidence.sizes.get("group", 0), _OF_POOLING & keywords.keys()
    if number < ENOUGH_GROUPS and not named:
        return None
    if robust and not _OF_COVARIATES & named and (number >= MANY_GROUPS or _OF_OUTLIERS & named):
        return DefaultModel("robust_groups", evidence)
    design = {"spread": WIDE_SPREAD} if number < MANY_GROUPS else {}
    return DefaultModel("hierarchical_groups", evidence, design)


def _model_of_tables(counts):
    """Return the model of independent tables."""
    if "effective" in counts.coords:
        return "importance_weighted"
    return "fixed_totals" if "prevalence" in counts.coords else "dirichlet_multinomial"


def model_of_keyword(keywords):
    """Return the model that is selected by one of its keywords, or None."""
    return next((model for name, model in _MODEL_OF_KEYWORD.items() if name in keywords), None)


def model_of_partly_labelled(
    evidence: xr.DataArray | xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """Return the default model of partly labelled data, whose slices are independent."""
    usual = "transferred_errors" if "transfer" in evidence.coords else "partly_labelled"
    return DefaultModel(model_of_keyword(keywords) or usual, evidence)


def model_of_probabilities(
    evidence: xr.Dataset,
    keywords: Mapping[str, Any],
    members: str | None = None,
    compared: str | None = None,
) -> DefaultModel:
    """Return the default model of probabilities. Folds are averaged rather than modelled."""
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
    """Return the default model of scores. Single groups are partially pooled."""
    of_groups = "group" in evidence and members == "group"
    return DefaultModel("score_groups" if of_groups else "scores", evidence)


def of_items(model: str, of_sums: str | None = None) -> Callable[..., DefaultModel]:
    """
    Return the `default_model` function of a type whose items may have slices.

    Estimates of single slices use `item_score_slices` if there are at least three slices, or if a
    keyword of a pooling model is given. All other estimates use ``model``. Sums of batches of a
    monitor use ``of_sums`` if it is given.
    """

    def default_model(evidence, keywords, members=None, compared=None):
        if isinstance(evidence, xr.DataArray):
            return DefaultModel(of_sums or model, evidence)
        dims = slice_dims(evidence)
        slices = math.prod(evidence.sizes[dim] for dim in dims)
        pooled = slices >= ENOUGH_GROUPS or not _OF_POOLING.isdisjoint(keywords)
        return DefaultModel("item_score_slices" if members in dims and pooled else model, evidence)

    return default_model

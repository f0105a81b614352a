"""Posteriors of all models without MCMC, using only numpy and scipy."""

from bayescm.posteriors.averaged_folds import averaged_folds
from bayescm.posteriors.binormal import binormal
from bayescm.posteriors.calibration import calibration
from bayescm.posteriors.crossed_groups import crossed_groups
from bayescm.posteriors.dirichlet_calibration import dirichlet_calibration
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.posteriors.drifting import drifting
from bayescm.posteriors.fixed_totals import fixed_totals
from bayescm.posteriors.hierarchical_calibration import hierarchical_calibration
from bayescm.posteriors.hierarchical_differences import hierarchical_differences
from bayescm.posteriors.hierarchical_folds import hierarchical_folds
from bayescm.posteriors.hierarchical_groups import hierarchical_groups
from bayescm.posteriors.hierarchical_rows import hierarchical_rows
from bayescm.posteriors.importance_weighted import importance_weighted
from bayescm.posteriors.item_score_slices import item_score_slices
from bayescm.posteriors.item_scores import item_scores
from bayescm.posteriors.mislabelled import mislabelled
from bayescm.posteriors.multilabel import multilabel
from bayescm.posteriors.noisy_labels import noisy_labels
from bayescm.posteriors.paired_folds import paired_folds
from bayescm.posteriors.paired_outcomes import paired_outcomes
from bayescm.posteriors.partly_labelled import partly_labelled
from bayescm.posteriors.pooled_folds import pooled_folds
from bayescm.posteriors.preferences import preferences
from bayescm.posteriors.repeated_items import repeated_items
from bayescm.posteriors.robust_groups import robust_groups
from bayescm.posteriors.scores import scores
from bayescm.posteriors.transferred_errors import transferred_errors

__all__ = [
    "averaged_folds",
    "binormal",
    "calibration",
    "crossed_groups",
    "dirichlet_calibration",
    "dirichlet_multinomial",
    "drifting",
    "fixed_totals",
    "hierarchical_calibration",
    "hierarchical_differences",
    "hierarchical_folds",
    "hierarchical_groups",
    "hierarchical_rows",
    "importance_weighted",
    "item_score_slices",
    "item_scores",
    "mislabelled",
    "multilabel",
    "noisy_labels",
    "paired_folds",
    "paired_outcomes",
    "partly_labelled",
    "pooled_folds",
    "preferences",
    "repeated_items",
    "robust_groups",
    "scores",
    "transferred_errors",
]

"""The catalogue of models: each is one file of plain PyMC that imports nothing from bayescm."""

from bayescm.models.averaged_folds import averaged_folds
from bayescm.models.binormal import binormal
from bayescm.models.calibration import calibration
from bayescm.models.crossed_groups import crossed_groups
from bayescm.models.dirichlet_calibration import dirichlet_calibration
from bayescm.models.dirichlet_multinomial import dirichlet_multinomial
from bayescm.models.drifting import drifting
from bayescm.models.fixed_totals import fixed_totals
from bayescm.models.hierarchical_calibration import hierarchical_calibration
from bayescm.models.hierarchical_differences import hierarchical_differences
from bayescm.models.hierarchical_folds import hierarchical_folds
from bayescm.models.hierarchical_groups import hierarchical_groups
from bayescm.models.hierarchical_rows import hierarchical_rows
from bayescm.models.importance_weighted import importance_weighted
from bayescm.models.item_score_slices import item_score_slices
from bayescm.models.item_scores import item_scores
from bayescm.models.mislabelled import mislabelled
from bayescm.models.multilabel import multilabel
from bayescm.models.noisy_labels import noisy_labels
from bayescm.models.paired_folds import paired_folds
from bayescm.models.paired_outcomes import paired_outcomes
from bayescm.models.partly_labelled import partly_labelled
from bayescm.models.pooled_folds import pooled_folds
from bayescm.models.preferences import preferences
from bayescm.models.repeated_items import repeated_items
from bayescm.models.robust_groups import robust_groups
from bayescm.models.scores import scores
from bayescm.models.transferred_errors import transferred_errors

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

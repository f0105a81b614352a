"""The direct siblings of the models: the same names, without MCMC, in numpy and scipy only."""

from bayescm.direct.averaged_folds import averaged_folds
from bayescm.direct.binormal import binormal
from bayescm.direct.calibration import calibration
from bayescm.direct.crossed_groups import crossed_groups
from bayescm.direct.dirichlet_calibration import dirichlet_calibration
from bayescm.direct.dirichlet_multinomial import dirichlet_multinomial
from bayescm.direct.drifting import drifting
from bayescm.direct.fixed_totals import fixed_totals
from bayescm.direct.hierarchical_calibration import hierarchical_calibration
from bayescm.direct.hierarchical_differences import hierarchical_differences
from bayescm.direct.hierarchical_folds import hierarchical_folds
from bayescm.direct.hierarchical_groups import hierarchical_groups
from bayescm.direct.hierarchical_rows import hierarchical_rows
from bayescm.direct.importance_weighted import importance_weighted
from bayescm.direct.mislabelled import mislabelled
from bayescm.direct.noisy_labels import noisy_labels
from bayescm.direct.paired_folds import paired_folds
from bayescm.direct.paired_outcomes import paired_outcomes
from bayescm.direct.partly_labelled import partly_labelled
from bayescm.direct.pooled_folds import pooled_folds
from bayescm.direct.repeated_items import repeated_items
from bayescm.direct.robust_groups import robust_groups
from bayescm.direct.scores import scores
from bayescm.direct.transferred_errors import transferred_errors

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
    "mislabelled",
    "noisy_labels",
    "paired_folds",
    "paired_outcomes",
    "partly_labelled",
    "pooled_folds",
    "repeated_items",
    "robust_groups",
    "scores",
    "transferred_errors",
]

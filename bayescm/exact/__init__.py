"""The exact siblings of the models: the same names, numpy and scipy only."""

from bayescm.exact.averaged_folds import averaged_folds
from bayescm.exact.binormal import binormal
from bayescm.exact.dirichlet_multinomial import dirichlet_multinomial
from bayescm.exact.drifting import drifting
from bayescm.exact.fixed_totals import fixed_totals
from bayescm.exact.hierarchical_folds import hierarchical_folds
from bayescm.exact.hierarchical_groups import hierarchical_groups
from bayescm.exact.hierarchical_rows import hierarchical_rows
from bayescm.exact.paired_outcomes import paired_outcomes
from bayescm.exact.pooled_folds import pooled_folds
from bayescm.exact.scores import scores

__all__ = [
    "averaged_folds",
    "binormal",
    "dirichlet_multinomial",
    "drifting",
    "fixed_totals",
    "hierarchical_folds",
    "hierarchical_groups",
    "hierarchical_rows",
    "paired_outcomes",
    "pooled_folds",
    "scores",
]

"""The catalogue of models: one method, one stand-alone file of plain PyMC."""

from bayescm.models.dirichlet_multinomial import dirichlet_multinomial
from bayescm.models.fixed_totals import fixed_totals
from bayescm.models.hierarchical_folds import hierarchical_folds

__all__ = ["dirichlet_multinomial", "fixed_totals", "hierarchical_folds"]

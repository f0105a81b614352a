"""The exact siblings of the models: the same names, numpy and scipy only."""

from bayescm.exact.dirichlet_multinomial import dirichlet_multinomial
from bayescm.exact.fixed_totals import fixed_totals
from bayescm.exact.paired_outcomes import paired_outcomes

__all__ = ["dirichlet_multinomial", "fixed_totals", "paired_outcomes"]

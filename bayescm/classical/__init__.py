"""The frequentist catalogue: intervals to put beside the posterior ones."""

from bayescm.classical.bootstrap import bootstrap
from bayescm.classical.correlated_t import correlated_t
from bayescm.classical.delta import delta
from bayescm.classical.fold_t import fold_t
from bayescm.classical.max_z import max_abs_z
from bayescm.classical.proportion import proportion

__all__ = ["bootstrap", "correlated_t", "delta", "fold_t", "max_abs_z", "proportion"]

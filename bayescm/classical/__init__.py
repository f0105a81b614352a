"""The frequentist catalogue: intervals to put beside the posterior ones."""

from bayescm.classical.fold_t import fold_t

__all__ = ["fold_t"]

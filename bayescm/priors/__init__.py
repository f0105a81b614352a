"""
Priors as pseudo-counts: prior knowledge, expressed as a number of examples.

Every function returns a concentration, a DataArray with dimensions (actual, predicted), which
models accept as ``concentration=``. Its sum is the number of examples to which the prior is
equivalent (`examples`, also stored as an attribute).
"""

from bayescm.answers.evidence_for import evidence_for
from bayescm.priors.checks import conflict, predictive, sensitivity, table
from bayescm.priors.elicitation import beta, elicit, from_rates
from bayescm.priors.pseudo_counts import (
    default,
    examples,
    from_counts,
    from_posterior,
    haldane,
    jeffreys,
    uniform,
)

__all__ = [
    "beta",
    "conflict",
    "default",
    "elicit",
    "evidence_for",
    "examples",
    "from_counts",
    "from_posterior",
    "from_rates",
    "haldane",
    "jeffreys",
    "predictive",
    "sensitivity",
    "table",
    "uniform",
]

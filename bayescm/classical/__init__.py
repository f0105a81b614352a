"""Frequentist intervals and tests, for comparison with the posterior ones."""

from bayescm.classical.clusters import design_effect, effective_counts
from bayescm.classical.curves import (
    curve_bootstrap,
    delong,
    delong_compare,
    hull_areas,
    precision_recall_bands,
    roc_bands,
)
from bayescm.classical.folds import combined_5x2, correlated_t, fold_t
from bayescm.classical.intervals import bootstrap, delta, proportion
from bayescm.classical.judges import prediction_powered, rogan_gladen
from bayescm.classical.max_z import max_abs_z
from bayescm.classical.paired import cochran_q, mcnemar, paired_difference
from bayescm.classical.probabilities import corp, hosmer_lemeshow, isotonic_band, spiegelhalter_z
from bayescm.classical.ranks import friedman, nemenyi, signed_rank

__all__ = [
    "bootstrap",
    "cochran_q",
    "combined_5x2",
    "corp",
    "correlated_t",
    "curve_bootstrap",
    "delong",
    "delong_compare",
    "delta",
    "design_effect",
    "effective_counts",
    "fold_t",
    "friedman",
    "hosmer_lemeshow",
    "hull_areas",
    "isotonic_band",
    "max_abs_z",
    "mcnemar",
    "nemenyi",
    "paired_difference",
    "precision_recall_bands",
    "prediction_powered",
    "proportion",
    "roc_bands",
    "rogan_gladen",
    "signed_rank",
    "spiegelhalter_z",
]

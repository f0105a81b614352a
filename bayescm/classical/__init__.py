"""Frequentist intervals, for comparison with the posterior ones."""

from bayescm.classical.bootstrap import bootstrap
from bayescm.classical.combined_f import combined_5x2
from bayescm.classical.correlated_t import correlated_t
from bayescm.classical.curve_bootstrap import curve_bootstrap
from bayescm.classical.delong import delong, delong_compare
from bayescm.classical.delta import delta
from bayescm.classical.fold_t import fold_t
from bayescm.classical.judges.rates import prediction_powered, rogan_gladen
from bayescm.classical.many.ranks import friedman, nemenyi
from bayescm.classical.many.signed_rank import signed_rank
from bayescm.classical.max_z import max_abs_z
from bayescm.classical.paired import cochran_q, mcnemar, paired_difference
from bayescm.classical.probabilities.goodness import hosmer_lemeshow, spiegelhalter_z
from bayescm.classical.probabilities.isotonic import corp, isotonic_band
from bayescm.classical.proportion import proportion
from bayescm.classical.roc_bands import hull_areas, precision_recall_bands, roc_bands

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

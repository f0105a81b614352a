"""ROC and precision-recall curves with bands, thresholds, and predictive values by prevalence."""

from bayescm.curves import calibration
from bayescm.curves.areas import (
    auc,
    average_precision,
    compare,
    estimate,
    fold_auc,
    max_f1,
    number_draws,
    partial_auc,
)
from bayescm.curves.decisions import decision_curve, expected_cost
from bayescm.curves.prevalence import predictive_values
from bayescm.curves.roc import (
    band,
    points,
    precision_recall,
    precision_recall_draws,
    roc,
    roc_draws,
)
from bayescm.curves.selective import risk_coverage
from bayescm.curves.thresholds import (
    at_threshold,
    best_threshold,
    classify,
    threshold,
    threshold_draws,
)
from bayescm.evidence.scores import at_prevalence, one_vs_rest, pool_folds, top_label

__all__ = [
    "at_prevalence",
    "at_threshold",
    "auc",
    "average_precision",
    "band",
    "best_threshold",
    "calibration",
    "classify",
    "compare",
    "decision_curve",
    "estimate",
    "expected_cost",
    "fold_auc",
    "max_f1",
    "number_draws",
    "one_vs_rest",
    "partial_auc",
    "points",
    "pool_folds",
    "precision_recall",
    "precision_recall_draws",
    "predictive_values",
    "risk_coverage",
    "roc",
    "roc_draws",
    "threshold",
    "threshold_draws",
    "top_label",
]

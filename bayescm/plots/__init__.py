"""Plots: one file per theme; each function returns a ``matplotlib.figure.Figure``."""

from bayescm.plots.checks import plot_diagnostics, plot_predictive
from bayescm.plots.comparison import plot_differences
from bayescm.plots.curves import plot_curve_numbers, plot_precision_recall, plot_roc
from bayescm.plots.decisions import (
    plot_corp,
    plot_decision_curve,
    plot_expected_cost,
    plot_risk_coverage,
)
from bayescm.plots.densities import plot_posterior, plot_prior_posterior
from bayescm.plots.folds import plot_folds, plot_omega
from bayescm.plots.forest import plot_forest
from bayescm.plots.learning import plot_learning_curve
from bayescm.plots.matrix import plot_matrix
from bayescm.plots.online import plot_history
from bayescm.plots.planning import plot_plan
from bayescm.plots.priors import plot_priors
from bayescm.plots.probabilities import plot_calibration
from bayescm.plots.ranks import plot_ranks, plot_tiers
from bayescm.plots.regions import plot_region
from bayescm.plots.slices import plot_slices
from bayescm.plots.studies import plot_sroc, plot_studies
from bayescm.plots.thresholds import plot_threshold

__all__ = [
    "plot_calibration",
    "plot_corp",
    "plot_curve_numbers",
    "plot_decision_curve",
    "plot_diagnostics",
    "plot_differences",
    "plot_expected_cost",
    "plot_folds",
    "plot_forest",
    "plot_history",
    "plot_learning_curve",
    "plot_matrix",
    "plot_omega",
    "plot_plan",
    "plot_posterior",
    "plot_precision_recall",
    "plot_predictive",
    "plot_prior_posterior",
    "plot_priors",
    "plot_ranks",
    "plot_region",
    "plot_risk_coverage",
    "plot_roc",
    "plot_slices",
    "plot_sroc",
    "plot_studies",
    "plot_threshold",
    "plot_tiers",
]

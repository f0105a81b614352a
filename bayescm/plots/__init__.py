"""Plots, with one module per topic. Each function returns a ``matplotlib.figure.Figure``."""

from bayescm.plots.calibration import plot_calibration, plot_corp
from bayescm.plots.checks import plot_diagnostics, plot_predictive
from bayescm.plots.comparison import plot_differences, plot_ranks, plot_tiers
from bayescm.plots.curves import (
    plot_curve_numbers,
    plot_precision_recall,
    plot_predictive_values,
    plot_roc,
    plot_threshold,
)
from bayescm.plots.decisions import plot_decision_curve, plot_expected_cost, plot_risk_coverage
from bayescm.plots.densities import (
    plot_posterior,
    plot_prior_posterior,
    plot_priors,
    plot_region,
)
from bayescm.plots.folds import plot_folds, plot_omega
from bayescm.plots.forest import plot_forest, plot_slices
from bayescm.plots.frontier import plot_frontier
from bayescm.plots.item_scores import plot_item_scores
from bayescm.plots.matrix import plot_matrix
from bayescm.plots.online import plot_history
from bayescm.plots.paper import paper_columns
from bayescm.plots.preferences import plot_preferences
from bayescm.plots.sample_size import plot_learning_curve, plot_plan
from bayescm.plots.studies import plot_sroc, plot_studies

__all__ = [
    "paper_columns",
    "plot_calibration",
    "plot_corp",
    "plot_curve_numbers",
    "plot_decision_curve",
    "plot_diagnostics",
    "plot_differences",
    "plot_expected_cost",
    "plot_folds",
    "plot_forest",
    "plot_frontier",
    "plot_history",
    "plot_item_scores",
    "plot_learning_curve",
    "plot_matrix",
    "plot_omega",
    "plot_plan",
    "plot_posterior",
    "plot_precision_recall",
    "plot_predictive",
    "plot_predictive_values",
    "plot_preferences",
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

"""The posterior distribution of any performance measure of a classifier."""

from importlib import import_module

__version__ = "0.1.0"

# Where each public name lives. Loaded on first use, so that `import bayescm` costs no more
# than xarray and the direct routes never load PyMC.
_HOME = {
    "evidence": [
        "from_cells",
        "from_matrix",
        "from_partly_labelled",
        "from_partly_labelled_counts",
        "from_predictions",
        "from_raters",
        "from_frame",
        "read",
        "combine",
        "at_prevalence",
    ],
    "evidence.outcomes": ["from_classifiers"],
    "evidence.scored.attempts": ["from_attempts"],
    "evidence.scored.frames": ["from_scored_frame"],
    "evidence.scored.results": ["from_results"],
    "evidence.scored.probabilities": ["from_probabilities"],
    "evidence.scored.scores": ["from_scores"],
    "evidence.scored.folds": ["cross_scores"],
    "evidence.cross_validation": ["cross_confusion"],
    "evidence.learners.halves": ["cross_halves"],
    "curves.calibration.recalibrating": ["recalibrated"],
    "curves": ["calibration"],
    "evidence.learners.pairs": ["cross_outcomes"],
    "curves.deciding.costs": ["expected_cost"],
    "curves.deciding.decisions": ["decision_curve"],
    "curves.deciding.selective": ["risk_coverage"],
    "answers.interval": ["interval"],
    "answers.numbers": [
        "cdf",
        "quantile",
        "mean",
        "sd",
        "mode",
        "skewness",
        "prob_above",
    ],
    "planning.labels_worth": ["labels_worth"],
    "answers.proportion": ["proportion"],
    "posterior.files": ["load", "save"],
    "posterior.fit": ["fit"],
    "measures.labelled": ["measure"],
    "answers.summary": ["summary"],
    "answers.check": ["check"],
    "answers.raters.agreement": ["agreement"],
    "answers.raters.unseen": ["assumed_dependence", "true_classes"],
    "answers.evidence_for": ["evidence_for"],
    "answers.classification_report": ["classification_report"],
    "answers.compare": ["compare"],
    "answers.ranking.ranks": ["ranks"],
    "answers.tables.bars": ["table"],
    "answers.tables.great": ["great_table"],
    "answers.groups.gaps": ["gap"],
    "answers.groups.heterogeneity": ["heterogeneity", "study_covariates"],
    "answers.groups.slices": ["worst_slices"],
    "answers.joint": ["joint_interval", "conclusions"],
    "answers.region": ["region", "correlation"],
    "answers.learners.best": ["best"],
    "classical.design_effect": ["design_effect", "effective_counts"],
    "integrations": ["mlflow", "sklearn"],
    "integrations.metrics": ["as_metrics"],
    "answers.learners.learning": ["learning_curve"],
    "reporting": ["report"],
    "planning": [
        "plan",
        "plan_above",
        "plan_attempts",
        "plan_auc",
        "plan_comparison",
        "plan_labels",
    ],
    "plots": [
        "plot_posterior",
        "plot_ranks",
        "plot_tiers",
        "plot_forest",
        "plot_region",
        "plot_prior_posterior",
        "plot_predictive",
        "plot_diagnostics",
        "plot_differences",
        "plot_matrix",
        "plot_roc",
        "plot_slices",
        "plot_sroc",
        "plot_studies",
        "plot_precision_recall",
        "plot_curve_numbers",
        "plot_threshold",
        "plot_plan",
        "plot_history",
        "plot_priors",
        "plot_folds",
        "plot_learning_curve",
        "plot_omega",
        "plot_calibration",
        "plot_decision_curve",
        "plot_corp",
        "plot_expected_cost",
        "plot_risk_coverage",
    ],
}
_MODULES = [
    "classical",
    "curves",
    "direct",
    "distributions",
    "evidence",
    "measures",
    "models",
    "online",
    "planning",
    "plots",
    "priors",
    "simulation",
    "studies",
]
_NAMES = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted([*_NAMES, *_MODULES])


def __getattr__(name):
    if name in _NAMES:
        value = getattr(import_module(f"bayescm.{_NAMES[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"bayescm.{name}")
    else:
        raise AttributeError(f"module 'bayescm' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return __all__

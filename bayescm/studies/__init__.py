"""
Simulated coverage: published works, with our figures beside theirs, and our own methods.

Each study is loaded on first use: ``bayescm.studies.wang_li``. `run_study` runs any by its name.
"""

from importlib import import_module

_HOME = {
    "published": ["caelen", "caelen_sequential", "thesis", "wang_2015", "wang_li", "yuan_jiang"],
    "ours": [
        "calibration_bands",
        "challengers",
        "comparisons",
        "curves",
        "designs",
        "folds",
        "groups",
        "judges",
        "hard_counts",
        "meta_analysis",
        "online",
        "priors",
        "probabilities",
        "run_length",
        "weights",
    ],
    "learners": [
        "best",
        "differing_folds",
        "halves",
        "many_classes",
        "pairs",
        "ranks",
        "training_sizes",
    ],
    "forecasts": [
        "binned_intervals",
        "class_probabilities",
        "forecast_streams",
        "site_pairs",
        "sites",
    ],
    "judged": ["agreement", "label_errors", "labelling", "raters", "transfer"],
    "slices": ["attempts", "crossed", "gaps", "meta_regression", "worst"],
}
_FOLDERS = {name: folder for folder, names in _HOME.items() for name in names}
__all__ = sorted([*_FOLDERS, "run_study"])


def __getattr__(name):
    if name == "run_study":
        value = import_module("bayescm.studies.command").run_study
    elif name in _FOLDERS:
        value = import_module(f"bayescm.studies.{_FOLDERS[name]}.{name}")
    else:
        raise AttributeError(f"module 'bayescm.studies' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return __all__

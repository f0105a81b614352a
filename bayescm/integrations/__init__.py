"""
Integrations with scikit-learn, experiment trackers, evaluation logs and pytest.

Modules are imported on first use, because pytest imports this package in every project at startup.
"""

from importlib import import_module

__all__ = ["inspect", "lm_eval", "mlflow", "sklearn"]

_OF_LOGS = ("inspect", "lm_eval")


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'bayescm.integrations' has no attribute {name!r}")
    if name in _OF_LOGS:
        return getattr(import_module("bayescm.integrations.evaluation_logs"), name)
    return import_module(f"bayescm.integrations.{name}")

"""
Other tools: scikit-learn, trackers of experiments, pytest.

Loaded on first use: pytest loads this folder whenever it starts, in anybody's project.
"""

from importlib import import_module

__all__ = ["mlflow", "sklearn"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'bayescm.integrations' has no attribute {name!r}")
    return import_module(f"bayescm.integrations.{name}")

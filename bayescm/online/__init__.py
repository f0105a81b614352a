"""
Evaluation batch by batch: sequential updates, and a monitor that never loses a batch.

Loaded on first use: recording a batch needs none of what works out the answers. No file is named as
a function is.
"""

from importlib import import_module

_HOME = {
    "acting.challenging": ["Challenge"],
    "acting.hooks": ["Hook", "to_command", "to_log", "to_url"],
    "acting.notifying": ["notify"],
    "bayes_factor": ["change", "log_bayes_factor"],
    "store.ledger": ["Ledger"],
    "forecasts.monitor": ["ForecastMonitor"],
    "forecasts.tables": ["forecast_table"],
    "monitor": ["Monitor"],
    "opening": ["opened"],
    "predictive_check": ["surprise"],
    "probabilities": ["prob_below", "prob_worse"],
    "rules": ["alarms"],
    "store.copies": ["backup", "restore", "verify"],
    "store.rolling": ["roll_up"],
    "series": ["accumulate", "history", "with_room"],
    "updating": ["intervals", "update"],
    "web.serving": ["dashboard", "serve"],
}
_NAMES = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_NAMES)


def __getattr__(name):
    if name not in _NAMES:
        raise AttributeError(f"module 'bayescm.online' has no attribute {name!r}")
    value = getattr(import_module(f"bayescm.online.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__

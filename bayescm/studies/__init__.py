"""
Simulated coverage: published works, with our figures beside theirs, and our own methods.

Each study is loaded on first use: ``bayescm.studies.wang_li``.
"""

from importlib import import_module

_HOME = {
    "published": ["caelen", "caelen_sequential", "thesis", "wang_2015", "wang_li", "yuan_jiang"],
    "ours": ["comparisons", "curves", "designs", "meta_analysis", "online", "priors", "run_length"],
}
_FOLDERS = {name: folder for folder, names in _HOME.items() for name in names}

__all__ = sorted(_FOLDERS)


def __getattr__(name):
    if name not in _FOLDERS:
        raise AttributeError(f"module 'bayescm.studies' has no attribute {name!r}")
    value = import_module(f"bayescm.studies.{_FOLDERS[name]}.{name}")
    globals()[name] = value
    return value


def __dir__():
    return __all__

"""
Performance measures: the catalogue, and measures of labelled counts.

Examples
--------
>>> from bayescm import measures
>>> measures.resolve("sensitivity").__name__
'recall'
"""

from bayescm.measures import catalogue
from bayescm.measures.catalogue import Kernel, cost, fbeta, names, one_vs_rest, resolve, tversky
from bayescm.measures.over_folds import fold_macro, fold_micro

__all__ = [
    "Kernel",
    "cost",
    "fbeta",
    "fold_macro",
    "fold_micro",
    "names",
    "one_vs_rest",
    "resolve",
    "tversky",
]


def __getattr__(name):
    # Every measure of the catalogue is a member too: measures.recall.
    if name in names():
        return getattr(catalogue, name)
    raise AttributeError(f"module 'bayescm.measures' has no attribute {name!r}")

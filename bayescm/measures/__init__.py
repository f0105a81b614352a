"""
Performance measures: the catalogue of measures, and measures of labelled counts.

Examples
--------
>>> from bayescm import measures
>>> measures.recall([[30, 35], [15, 65]])
np.float64(0.8125)
>>> measures.resolve("sensitivity").same_as(measures.recall)
True
"""

from bayescm.measures import catalogue
from bayescm.measures.catalogue import cost, fbeta, measure, names, one_vs_rest, resolve, tversky
from bayescm.measures.display_names import display_name
from bayescm.measures.measure import Measure
from bayescm.measures.over_folds import fold_macro, fold_micro

__all__ = [
    "Measure",
    "cost",
    "display_name",
    "fbeta",
    "fold_macro",
    "fold_micro",
    "measure",
    "names",
    "one_vs_rest",
    "resolve",
    "tversky",
]


def __getattr__(name: str) -> Measure:
    # Every measure of the catalogue is also an attribute, such as measures.recall.
    if name in names():
        return getattr(catalogue, name)
    raise AttributeError(f"module 'bayescm.measures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *names()])

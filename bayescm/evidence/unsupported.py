"""
Public functions that do not support a type or a design of evidence, with the statistical reason.

The documentation shows this table, and `tests/test_every_type.py` tests every public function with
every type of evidence against it. Functions that ask for what only some evidence has, such as the
ROC curve of scores or the gap between groups, are not in it.
"""

from typing import NamedTuple


class Unsupported(NamedTuple):
    """
    Functions that do not support some evidence.

    Attributes
    ----------
    functions : tuple of str
        Public names.
    types : tuple of str
        Names of types of evidence; empty for every type.
    designs : tuple of str
        ``"folds"``, ``"groups"``, ``"clusters"``; empty for every design.
    reason : str
        Whole sentences.
    """

    functions: tuple[str, ...]
    types: tuple[str, ...]
    designs: tuple[str, ...]
    reason: str


# Results have no measures of a single classifier.
NO_LEVEL = (
    "Results describe differences between classifiers. The level of a single classifier depends on "
    "the choice of the data sets and has no posterior distribution"
)
# Measures of fits by NUTS that do not follow from the variables of the PyMC model.
OF_SLICES = (
    "The PyMC model of slices describes the mean score of each slice, and not how scores are "
    "distributed"
)
OF_VOTES = "The PyMC model describes right and wrong answers, and not which answers are equal"
_OF_LEVELS = (
    "measure", "interval", "distribution", "prob_above", "summary", "joint_interval", "check",
    "plot_forest", "plot_posterior",
)  # fmt: skip
UNSUPPORTED = (
    Unsupported(_OF_LEVELS, ("results",), (), f"{NO_LEVEL}."),
    Unsupported(
        ("Monitor.add",), ("results",), (), "Results of data sets are not a sample over time."
    ),
    Unsupported(
        ("Monitor.add",),
        (),
        ("folds", "groups", "clusters"),
        "A batch is one sample of independent examples or items. Groups in every batch would have "
        "to be modelled over time as well.",
    ),
    Unsupported(
        ("plan",),
        (),
        ("folds", "groups"),
        "The width depends on the number of groups and on their sizes. These are two questions.",
    ),
    Unsupported(
        ("plan",),
        ("item counts", "multilabel", "preferences"),
        ("clusters",),
        "The width depends on the number of clusters and on their sizes. These are two questions.",
    ),
    Unsupported(
        ("plan",),
        ("results",),
        (),
        "The width depends on the number of data sets, which is not a decision.",
    ),
)

# The same for fits with method="nuts". The functions are measures.
UNSUPPORTED_BY_NUTS = (
    Unsupported(("sd", "median", "quantile"), ("item scores",), ("slices",), f"{OF_SLICES}."),
    Unsupported(("majority_at",), ("attempts with a truth",), (), f"{OF_VOTES}."),
)

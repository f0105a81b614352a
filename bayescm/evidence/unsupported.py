"""
Public functions that do not support a type or design of evidence, with the statistical reason.

The documentation shows this table, and `tests/test_every_type.py` checks it by calling every public
function with every type of evidence. The table does not include functions that need properties of a
particular type, such as the ROC curve of scores or the gap between groups.
"""

from typing import NamedTuple


class Unsupported(NamedTuple):
    """
    Functions that do not support certain evidence, with the reason.

    Attributes
    ----------
    functions : tuple of str
        Public names of the functions.
    types : tuple of str
        Names of types of evidence. Empty for all types.
    designs : tuple of str
        Designs: ``"folds"``, ``"groups"`` or ``"clusters"``. Empty for all designs.
    reason : str
        Reason, in whole sentences.
    """

    functions: tuple[str, ...]
    types: tuple[str, ...]
    designs: tuple[str, ...]
    reason: str


# Reason why results do not support measures of a single classifier.
NO_LEVEL = (
    "Results describe differences between classifiers. The level of a single classifier depends on "
    "the choice of the data sets and has no posterior distribution"
)
# Reasons why some measures cannot be computed from the variables of models fitted by NUTS.
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
        "The width depends on both the number and the sizes of the groups, so a single size is not "
        "enough.",
    ),
    Unsupported(
        ("plan",),
        ("item counts", "multilabel", "preferences"),
        ("clusters",),
        "The width depends on both the number and the sizes of the clusters, so a single size is "
        "not enough.",
    ),
    Unsupported(
        ("plan",),
        ("results",),
        (),
        "The width depends on the number of data sets, which is not a choice.",
    ),
)

# Unsupported measures for fits with method="nuts".
UNSUPPORTED_BY_NUTS = (
    Unsupported(("sd", "median", "quantile"), ("item scores",), ("slices",), f"{OF_SLICES}."),
    Unsupported(("majority_at",), ("attempts with a truth",), (), f"{OF_VOTES}."),
)

"""
Sample sizes: for an interval, for a requirement, for a comparison; stopping rules; what to label.

A plan looks for a size ``n`` at which the goal is reached with a given probability, the
*assurance*, over future test sets of that size. For measures that are one proportion
(recall, accuracy, ...) and for P(better) the assurance is summed exactly over all outcomes; for
every other measure it is simulated, and the table reports the error.
"""

from bayescm.planning.areas import hanley_mcneil, plan_auc
from bayescm.planning.attempts import plan_attempts
from bayescm.planning.comparisons import plan_comparison
from bayescm.planning.item_scores import plan_item_scores
from bayescm.planning.labels import choose, labels_worth, plan_labels
from bayescm.planning.proportions import (
    UNITS,
    operating_characteristics,
    plan,
    plan_above,
    width_curve,
)

__all__ = [
    "UNITS",
    "choose",
    "hanley_mcneil",
    "labels_worth",
    "operating_characteristics",
    "plan",
    "plan_above",
    "plan_attempts",
    "plan_auc",
    "plan_comparison",
    "plan_item_scores",
    "plan_labels",
    "width_curve",
]

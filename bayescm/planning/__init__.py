"""
Sample size planning for intervals, requirements and comparisons; stopping rules; label selection.

Plans find a size ``n`` at which a goal is reached with a given probability, the *assurance*, over
future test sets of that size. For measures that are a single proportion (recall, accuracy, ...) and
for P(better), the assurance is computed exactly by summing over all outcomes. For all other
measures it is simulated, and the table reports the error.
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

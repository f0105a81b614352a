"""Several raters of the same items, none of whom need be right: their agreement, and the truth."""

from bayescm.answers.raters.agreement import agreement
from bayescm.answers.raters.unseen import assumed_dependence, true_classes

__all__ = ["agreement", "assumed_dependence", "true_classes"]

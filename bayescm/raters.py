"""Several raters of the same items, none of whom need be right: their agreement, and the truth."""

from bayescm.answers.agreement import agreement, assumed_dependence, true_classes

__all__ = ["agreement", "assumed_dependence", "true_classes"]

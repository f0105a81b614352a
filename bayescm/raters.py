"""Agreement between raters of the same examples, and estimates of the true classes."""

from bayescm.answers.agreement import agreement, assumed_dependence, true_classes

__all__ = ["agreement", "assumed_dependence", "true_classes"]

"""Learning algorithms: the best of many, learning curves, and cross-validation."""

from bayescm.answers.best import best
from bayescm.answers.learning import learning_curve
from bayescm.evidence.cross_validation import cross_halves, cross_scores

__all__ = ["best", "cross_halves", "cross_scores", "learning_curve"]

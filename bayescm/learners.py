"""Learning algorithms: the best of many, learning curves, and cross-validation for them."""

from bayescm.answers.learners.best import best
from bayescm.answers.learners.learning import learning_curve
from bayescm.evidence.cross_validation import cross_halves, cross_scores
from bayescm.answers.best import best
from bayescm.answers.learning import learning_curve
from bayescm.evidence.learners.halves import cross_halves
from bayescm.evidence.scored.folds import cross_scores

__all__ = ["best", "cross_halves", "cross_scores", "learning_curve"]

"""Pairwise preferences: all functions for votes on pairs of systems, in one place."""

from bayescm.answers.preferences import check_fit, win_rates
from bayescm.evidence.preferences import from_preferences, from_rankings
from bayescm.planning.preferences import plan_pairs, plan_preferences
from bayescm.plots.preferences import plot_preferences

__all__ = [
    "check_fit",
    "from_preferences",
    "from_rankings",
    "plan_pairs",
    "plan_preferences",
    "plot_preferences",
    "win_rates",
]

"""
How much evidence is enough: for an interval of a wanted width, or for a decision between two.

A plan asks for a size ``n`` such that the goal is reached with a given probability, the
*assurance*, over the test sets of that size that may come. For measures that are one proportion
(recall, accuracy, ...) and for P(better) the assurance is summed exactly over all outcomes; for
every other measure it is simulated, and the table says with which error.
"""

from bayescm.planning.comparisons import plan_comparison
from bayescm.planning.sizes import UNITS
from bayescm.planning.widths import plan, width_curve

__all__ = ["UNITS", "plan", "plan_comparison", "width_curve"]

"""
Analyses: distributions, intervals, summaries, comparisons, simultaneous statements and regions.

Common functions are available at the top level of the package. Specialised functions are available
here, and are imported on first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

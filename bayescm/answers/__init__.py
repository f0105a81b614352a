"""
Answers: distributions, intervals, summaries, comparisons, joint statements and regions.

The usual ones are at the top of the package; those for fewer users are here, loaded on first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

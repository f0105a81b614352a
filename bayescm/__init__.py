"""The posterior distribution of any performance measure of a classifier."""

from lazy_loader import attach_stub

__version__ = "0.1.0"

# Public names are written in the stub and nowhere else, and loaded on first use: `import bayescm`
# takes milliseconds, and what answers directly never loads PyMC.
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)

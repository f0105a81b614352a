"""The posterior distribution of any performance measure of a classifier."""

from importlib import import_module

from lazy_loader import attach_stub

__version__ = "0.1.0"

# Public names are listed only in the stub and are loaded on first use. As a result, `import
# bayescm` takes milliseconds, and functions that do not sample by NUTS never load PyMC.
_load, __dir__, __all__ = attach_stub(__name__, __file__)
# Modules for authors of models and measures, which can be imported but are not listed.
_UNLISTED = ("posteriors", "distributions", "evidence", "simulation")


def __getattr__(name):
    if name in __all__:
        return _load(name)
    if name in _UNLISTED:
        return import_module(f"bayescm.{name}")
    raise AttributeError(f"module 'bayescm' has no attribute {name!r}{_elsewhere(name)}")


def _elsewhere(name):
    """Return a hint about a name that is public in another module, or an empty string."""
    if name.startswith("_"):
        return ""
    from bayescm.answers.interval import MeasureDistribution

    if hasattr(MeasureDistribution, name):
        return f": use bcm.distribution(evidence, measure).{name}()"
    homes = "plots planning meta raters learners curves calibration priors answers evidence"
    for home in (*homes.split(), "classical", "measures", "online"):
        if name in __getattr__(home).__all__:
            return f": it is bcm.{home}.{name}"
    from bayescm.measures.catalogue import is_named
    from bayescm.validate import suggest

    if name in ("hdi", "eti"):
        return f": use bcm.interval(evidence, measure, kind={name!r})"
    if is_named(name):
        return f": it is a measure, use bcm.interval(evidence, {name!r})"
    return f": {question}" if (question := suggest(name, __all__)) else ""

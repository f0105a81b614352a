"""The monitor of a classifier that a ledger has, of whatever its batches are."""

from collections.abc import Mapping
from typing import Any

from bayescm.measures.catalogue import resolve
from bayescm.online.forecasts.monitor import ForecastMonitor
from bayescm.online.ledger import Ledger, ledger_of
from bayescm.online.monitor import BaseMonitor, Monitor

_KINDS: dict[str, type[BaseMonitor]] = {each.dim: each for each in (Monitor, ForecastMonitor)}


def opened(store: Any, classifier: str, **settings: Any) -> Any:
    """
    Return the monitor of a classifier: a `Monitor` of counts, or a `ForecastMonitor`.

    Parameters
    ----------
    store : str or Ledger
    classifier : str
        Its name in the store.
    **settings
        Those of the two monitors; None stands for the default.

    Returns
    -------
    Monitor or ForecastMonitor

    Raises
    ------
    ValueError
        If the ledger has no batches of this classifier.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ledger = bcm.online.Ledger("sqlite://")
    >>> _ = ledger.record("spam filter", "monday", bcm.from_cells(tp=65, fn=15, fp=35, tn=30))
    >>> type(opened(ledger, "spam filter")).__name__
    'Monitor'
    """
    ledger = ledger_of(store, create=False)
    given = {name: value for name, value in settings.items() if value is not None}
    return _KINDS[str(ledger.empty(classifier).dims[1])](ledger, classifier, **given)


def among_others(ledger: Ledger, classifier: str, settings: Mapping[str, Any]) -> Any:
    """Return the monitor of one of many classifiers: what is of the other kind is left out."""
    kind = _KINDS[str(ledger.empty(classifier).dims[1])]
    given = {name: value for name, value in settings.items() if value is not None}
    if not issubclass(kind, Monitor):
        given.pop("concentration", None)
    if "measures" in given:
        given["measures"] = [
            each for each in given["measures"] if _fits(each, kind.variable)
        ] or None
    return kind(ledger, classifier, **given)


def rules_for(monitor: BaseMonitor, rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules that a monitor has, without limits of measures of the other kind."""
    found = {name: each for name, each in rules.items() if name in monitor.rules}
    for name, each in found.items():
        if isinstance(each, Mapping):
            found[name] = {
                key: value for key, value in each.items() if _fits(key, monitor.variable)
            }
    return found


def _fits(measure, variable):
    """Say whether a measure is of a variable, or not known at all, which is told later."""
    try:
        takes = resolve(measure).takes
    except (ValueError, TypeError):
        return True
    return callable(measure) or takes == variable

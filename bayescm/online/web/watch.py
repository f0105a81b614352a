"""What the dashboard shows of each classifier; read again only where the ledger has grown."""

import json
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

from bayescm.online.acting.challenging import Challenge
from bayescm.online.encoding import zero_counts
from bayescm.online.ledger import Ledger
from bayescm.online.monitor import BaseMonitor, Monitor
from bayescm.online.opening import among_others, rules_for
from bayescm.online.rules import alarms, evaluate_rules
from bayescm.online.web.challenges import Challenges
from bayescm.validate import check_keywords, check_kind, check_prob

SHOWN = 200  # batches in a history
_OURS = ("concentration", "forgetting", "window", "measures", "order")


class Now(NamedTuple):
    """What is known of a classifier now: its size, its measures, its alarms; or what is wrong."""

    classifier: str
    batches: int = 0
    examples: float = 0
    latest: str = ""
    measures: pd.DataFrame = pd.DataFrame()
    alarms: pd.DataFrame = pd.DataFrame()
    problem: str = ""

    @property
    def caution(self) -> str:
        """What is doubtful about the measures, empty where nothing is."""
        return self.measures.attrs.get("caution", "")

    @property
    def new(self) -> pd.DataFrame:
        """The alarms that nobody has acknowledged."""
        return self.alarms if self.alarms.empty else self.alarms[~self.alarms["acknowledged"]]


@dataclass
class Watch:
    """
    All classifiers of a ledger, by the same settings.

    Attributes
    ----------
    ledger : Ledger
    settings : dict
        Those of `Monitor`.
    rules : dict
        Those of `Monitor.alarms`.
    prob, kind : float, str
        Of the intervals.
    challenges : Challenges
        Those of the ledger.
    """

    ledger: Ledger
    settings: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, Any] = field(default_factory=dict)
    prob: float = 0.95
    kind: str = "hdi"
    challenges: Challenges = field(kw_only=True)
    _monitors: dict[str, BaseMonitor] = field(default_factory=dict)
    _known: dict[str, tuple[Any, Now]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def names(self) -> list[str]:
        """Return the names of the classifiers."""
        return self.ledger.classifiers()

    def monitor(self, classifier: str) -> BaseMonitor:
        """Return the monitor of a classifier, which keeps the batches it has read."""
        if classifier not in self._monitors:
            self._monitors[classifier] = among_others(self.ledger, classifier, self.settings)
        return self._monitors[classifier]

    def now(self, classifier: str) -> Now:
        """
        Return what is known of a classifier now.

        A question that cannot be answered of this one (a measure of two classes asked of three, a
        damaged entry) is told in its place; the others are shown.
        """
        with self._turn:  # one classifier is worked out at a time, however many ask
            last = self.ledger.last(classifier)
            key = (last.hash, len(self.ledger.acknowledgements(classifier)))
            if self._known.get(classifier, ("", None))[0] != key:
                self._known[classifier] = (key, self._read(classifier, last))
            return self._known[classifier][1]

    def _read(self, classifier, last):
        monitor = self.monitor(classifier)
        about = Now(classifier, last.batches, 0, last.latest[:19] + "Z")
        try:
            return about._replace(
                examples=_examples(monitor, last),
                measures=monitor.summary(prob=self.prob, kind=self.kind),
                alarms=monitor.alarms(**rules_for(monitor, self.rules)),
            )
        except (ValueError, TypeError) as problem:
            return about._replace(problem=str(problem))

    def history(self, classifier: str) -> tuple[xr.Dataset, xr.Dataset]:
        """Return the intervals after each of the latest batches, and what each batch shows."""
        monitor = self.monitor(classifier)
        ends = monitor.history(prob=self.prob, kind=self.kind, last=SHOWN)
        return ends, monitor.observed(last=SHOWN)


def watch(ledger: Ledger, settings: dict[str, Any]) -> Watch:
    """Return a watch of a ledger; settings of monitors, rules and intervals by their names."""
    chosen = dict(settings)
    prob = check_prob(chosen.pop("prob", 0.95))
    kind = check_kind(chosen.pop("kind", "hdi"))
    rule = chosen.pop("challenge", None) or {}
    ours = {name: chosen.pop(name) for name in _OURS if name in chosen}
    check_keywords(
        evaluate_rules, {name: each for name, each in chosen.items() if name != "tolerance"}
    )
    Monitor(ledger, "any", **ours)  # refuses what no classifier could be watched by
    general = {name: value for name, value in chosen.items() if name in ("rate", "horizon")}
    alarms(zero_counts([0, 1], 1).expand_dims("step") + 1, "accuracy", **general)
    check_keywords(Challenge, rule)
    return Watch(ledger, ours, chosen, prob, kind, challenges=Challenges(ledger, rule))


def _examples(monitor, last):
    if last.total is None:
        return float(monitor.batches().sum())
    return sum(each for row in json.loads(last.total) for each in row)

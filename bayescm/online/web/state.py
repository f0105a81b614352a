"""
State of the dashboard: the current results of each classifier and challenge of a ledger.

Results are cached and recomputed only if the ledger has changed or a batch has become overdue.
"""

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

from bayescm.online.challenge import GO_ON, PROMOTE, Challenge, verdict
from bayescm.online.encoding import sizes_of, unit_of, what_changes
from bayescm.online.incidents import OPEN, standing
from bayescm.online.ledger import Ledger
from bayescm.online.monitor import Monitor, applicable_rules, monitor_of
from bayescm.online.rules import HORIZON, RATE, check_rate, check_rules
from bayescm.validate import check_kind, check_prob

SHOWN = 200  # largest number of batches in a history
_SETTINGS = ("concentration", "forgetting", "window", "measures", "order", "season")


class ClassifierState(NamedTuple):
    """
    Current results of a classifier: size, measures and alarms, or else the problem.

    ``in_force`` is the number of batches since the latest change of ``changing``, and ``examples``
    is their number of examples or items. ``since`` is the time of the first of these batches.
    """

    classifier: str
    batches: int = 0
    in_force: int = 0
    examples: float = 0
    unit: str = "examples"
    changing: str = "answers"
    since: str = ""
    latest: str = ""
    incidents: pd.DataFrame = pd.DataFrame()
    measures: pd.DataFrame = pd.DataFrame()
    alarms: pd.DataFrame = pd.DataFrame()
    problem: str = ""

    @property
    def caution(self) -> str:
        """Caution about the measures, or an empty string."""
        return self.measures.attrs.get("caution", "")

    @property
    def has_changed(self) -> bool:
        """Whether the current results use only the batches since a change."""
        return self.in_force < self.batches

    @property
    def open(self) -> pd.DataFrame:
        """Open incidents."""
        table = self.incidents
        return table if table.empty else table[table["state"] == OPEN]

    @property
    def standing(self) -> list[str]:
        """Sentences about incidents that are open, or acknowledged with a rule still on."""
        return [f"{text[0].upper()}{text[1:]}." for text in standing(self.incidents)]

    @property
    def new(self) -> pd.DataFrame:
        """Alarms that have not been acknowledged."""
        return self.alarms if self.alarms.empty else self.alarms[~self.alarms["acknowledged"]]


class ChallengeState(NamedTuple):
    """Current results of a challenge, or else the problem."""

    name: str
    champion: str
    challenger: str
    batches: int = 0
    examples: float = 0
    difference: float = float("nan")
    lower: float = float("nan")
    upper: float = float("nan")
    p_better: float = float("nan")
    decision: str = GO_ON
    verdict: str = ""
    rule: str = ""
    since: str = ""
    problem: str = ""

    @property
    def is_promoted(self) -> bool:
        """Whether the challenger should replace the champion."""
        return self.decision == PROMOTE

    @property
    def is_decided(self) -> bool:
        """Whether there is a decision."""
        return self.decision != GO_ON


@dataclass
class DashboardState:
    """
    All classifiers and challenges of a ledger, with shared settings.

    Attributes
    ----------
    ledger : Ledger
        The ledger.
    settings : dict
        Arguments of `Monitor`.
    rules : dict
        Arguments of `Monitor.alarms`.
    classifiers : dict
        Settings and rules of single classifiers, by name.
    prob, kind : float, str
        Probability and kind of the intervals.
    """

    ledger: Ledger
    settings: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, Any] = field(default_factory=dict)
    classifiers: dict[str, dict[str, Any]] = field(default_factory=dict)
    prob: float = 0.95
    kind: str = "hdi"
    _monitors: dict[str, Monitor] = field(default_factory=dict)
    _classifiers: dict[str, tuple[Any, ClassifierState]] = field(default_factory=dict)
    _challenges: dict[str, tuple[str, ChallengeState]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def names(self) -> list[str]:
        """Return the names of the classifiers."""
        return self.ledger.classifiers()

    def monitor(self, classifier: str) -> Monitor:
        """Return the monitor of a classifier, which caches the batches that it has read."""
        if classifier not in self._monitors:
            specific = self.classifiers.get(classifier, {})
            settings = {name: value for name, value in specific.items() if name in _SETTINGS}
            monitor = monitor_of(self.ledger, classifier, self.settings, settings)
            self._monitors[classifier] = monitor
        return self._monitors[classifier]

    def rules_of(self, classifier: str) -> dict[str, Any]:
        """Return the alarm rules of a classifier."""
        specific = self.classifiers.get(classifier, {})
        rules = {name: rule for name, rule in specific.items() if name not in _SETTINGS}
        return applicable_rules(self.monitor(classifier), self.rules, rules)

    def classifier(self, name: str) -> ClassifierState:
        """
        Return the current results of a classifier.

        If they cannot be computed, for example because of a damaged entry or a measure that
        requires two classes, the state contains the error message.
        """
        with self._lock:  # one computation at a time, for any number of requests
            last = self.ledger.last(name)
            key = (last.hash, len(self.ledger.acknowledgements(name)), self._is_silent(name))
            if self._classifiers.get(name, ("", None))[0] != key:
                self._classifiers[name] = (key, self._classifier_state(name, last))
            return self._classifiers[name][1]

    def _is_silent(self, name):
        """Return True if a batch of a classifier is known to be overdue."""
        try:
            return self.monitor(name).is_silent(self.rules_of(name).get("silence"))
        except (ValueError, TypeError):  # `_classifier_state` reports the error
            return False

    def _classifier_state(self, name, last):
        monitor = self.monitor(name)
        # If the entries cannot be read, the latest time may be the time of a corrected batch.
        state = ClassifierState(name, last.batches, latest=last.latest[:19] + "Z")
        rules = self.rules_of(name)
        try:
            state = state._replace(latest=monitor.latest()[:19] + "Z")
            batches = monitor.since_change(**rules)
            alarms, incidents = monitor.alarms_and_incidents(**rules)
            return state._replace(
                in_force=batches.sizes["step"],
                examples=sizes_of(batches).values.sum().item(),
                unit=unit_of(batches),
                changing=what_changes(batches),
                since=str(batches["at"].values[0])[:19] + "Z",
                measures=monitor.summary(prob=self.prob, kind=self.kind, **rules),
                alarms=alarms,
                incidents=incidents,
            )
        except (ValueError, TypeError) as problem:
            return state._replace(problem=str(problem))

    def history(self, classifier: str) -> tuple[xr.Dataset, xr.Dataset]:
        """Return the intervals after each of the latest batches, and the values in each batch."""
        monitor = self.monitor(classifier)
        rules = self.rules_of(classifier)
        ends = monitor.history(prob=self.prob, kind=self.kind, last=SHOWN, **rules)
        return ends, monitor.observed(last=SHOWN)

    def challenges(self) -> list[ChallengeState]:
        """Return the current results of all challenges."""
        with self._lock:
            challenges = self.ledger.challenges()
            for name, facts in challenges.items():
                key = self.ledger.last(name).hash
                if self._challenges.get(name, ("", None))[0] != key:
                    self._challenges[name] = (key, self._challenge_state(name, facts))
            return [self._challenges[name][1] for name in challenges]

    def _challenge_state(self, name, facts):
        champion, challenger = map(str, facts["classifiers"])
        state = ChallengeState(name, champion, challenger)
        try:
            challenge = Challenge(self.ledger, name)
            history = challenge.history()
        except (ValueError, TypeError) as problem:
            return state._replace(problem=str(problem))
        last = history.iloc[-1]
        since = history.loc[history["decision"] == last["decision"], "at"].iloc[0]
        numbers: dict[str, Any] = {
            key: float(last[key]) for key in ("difference", "lower", "upper", "p_better")
        }
        return state._replace(
            batches=len(history),
            examples=float(last["n"]),
            decision=str(last["decision"]),
            verdict=verdict(history),
            rule=str(challenge.rule),
            since=str(since)[:16] + "Z",
            **numbers,
        )


def dashboard_state(ledger: Ledger, settings: dict[str, Any]) -> DashboardState:
    """Return the state of a ledger, given the settings of monitors, rules and intervals."""
    rules = dict(settings)
    prob = check_prob(rules.pop("prob", 0.95))
    kind = check_kind(rules.pop("kind", "hdi"))
    classifiers = dict(rules.pop("classifiers", None) or {})
    of_monitors = {name: rules.pop(name) for name in _SETTINGS if name in rules}
    check_rules(rules)
    for classifier, specific in classifiers.items():
        check_rules({name: rule for name, rule in specific.items() if name not in _SETTINGS})
        settings_of_one = {name: specific[name] for name in _SETTINGS if name in specific}
        Monitor(ledger, classifier, **settings_of_one)
    # Invalid settings are rejected even if the ledger has no classifiers yet.
    Monitor(ledger, "any", **of_monitors)
    check_rate(rules.get("rate", RATE), rules.get("horizon", HORIZON))
    return DashboardState(ledger, of_monitors, rules, classifiers, prob, kind)

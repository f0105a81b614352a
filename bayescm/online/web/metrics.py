"""Metrics of the dashboard for Prometheus."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from bayescm.online.challenge import FUTILE, GO_ON, PROMOTE
from bayescm.online.web.state import ChallengeState, ClassifierState, DashboardState

TYPE = CONTENT_TYPE_LATEST


def exposition(state: DashboardState) -> bytes:
    """Return the metrics of all classifiers in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Collector(state))
    return generate_latest(registry)


class _Collector(Collector):
    """Collector that computes the metric families on request."""

    def __init__(self, state: DashboardState):
        self._state = state

    def describe(self) -> list[Any]:
        """Return an empty list, because the families depend on the ledger."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metric families."""
        states = [self._state.classifier(name) for name in self._state.names()]
        for name, (meaning, value) in _OF_CLASSIFIERS.items():
            family = GaugeMetricFamily(f"bayescm_{name}", meaning, labels=["classifier"])
            for state in states:
                family.add_metric([state.classifier], float(value(state)))
            yield family
        yield self._measures(states)
        yield from _challenge_families(self._state.challenges())

    def _measures(self, states):
        mass = f"{100 * self._state.prob:.4g}%"
        meaning = "Posterior mean of each measure since the latest change, and the bounds of its "
        meaning += f"{mass} interval."
        # All series of a family must have the same label names, such as `system` for votes.
        parts = dict.fromkeys(["class", *[n for state in states for n in _parts(state.measures)]])
        labels = ["classifier", "measure", *parts, "bound"]
        family = GaugeMetricFamily("bayescm_measure", meaning, labels=labels)
        for state in states:
            for row in state.measures.to_dict("records"):
                names = [state.classifier, str(row["measure"])]
                names += ["" if pd.isna(label := row.get(n, "")) else str(label) for n in parts]
                for bound in ("lower", "mean", "upper"):
                    if np.isfinite(row[bound]):
                        family.add_metric([*names, bound], float(row[bound]))
        return family


def _parts(measures: pd.DataFrame) -> list[str]:
    """Return the label columns of a summary, which are between the measure and the numbers."""
    names = list(measures)
    return names[names.index("measure") + 1 : names.index("point")] if names else []


def _challenge_families(states: list[ChallengeState]) -> Iterator[GaugeMetricFamily]:
    """Yield the families of the challenges. Invalid ones appear only in the family `problem`."""
    judged = [state for state in states if not state.problem]
    decided = [state for state in judged if state.is_decided]
    decisions = {decision: partial(_is, decision) for decision in (GO_ON, PROMOTE, FUTILE)}
    bounds = {name: attrgetter(name) for name in ("lower", "upper")}
    better = "Posterior probability that the challenger is better by the margin."
    difference = "Challenger minus champion: posterior mean and bounds of the 95% interval."
    yield _family("batches", "Batches of a challenge.", judged, attrgetter("batches"))
    yield _family("examples", "Examples of a challenge.", judged, attrgetter("examples"))
    yield _family("probability_better", better, judged, attrgetter("p_better"))
    numbers = bounds | {"mean": attrgetter("difference")}
    yield _family("difference", difference, judged, numbers, "bound")
    yield _family("decision", "1 for the current decision, else 0.", judged, decisions, "decision")
    since = "Time of the batch that decided it."
    yield _family("decided_timestamp_seconds", since, decided, lambda state: _time(state.since))
    problem = "1 if the challenge cannot be evaluated."
    yield _family("problem", problem, states, lambda state: bool(state.problem))


def _is(decision: str, state: ChallengeState) -> bool:
    return state.decision == decision


def _family(name, meaning, states, values, label=None):
    """Return a family with one value per challenge, or one per value of a label."""
    labels = ["challenge", "champion", "challenger", *([label] if label else [])]
    family = GaugeMetricFamily(f"bayescm_challenge_{name}", meaning, labels=labels)
    for state in states:
        for part, value in (values if label else {"": values}).items():
            family.add_metric([*state[:3], *([part] if label else [])], float(value(state)))
    return family


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


# Metrics of a classifier: name, description, and function of its state.
_OF_CLASSIFIERS: dict[str, tuple[str, Callable[[ClassifierState], float]]] = {
    "batches": ("Batches that count.", lambda state: state.batches),
    "batches_since_change": (
        "Batches since the latest change, by which measures are known.",
        lambda state: state.in_force,
    ),
    "examples": ("Examples since the latest change.", lambda state: state.examples),
    "since_timestamp_seconds": (
        "Time of the first batch since the latest change.",
        lambda state: _time(state.since or state.latest),
    ),
    "open_incidents": ("Incidents that are open.", lambda state: len(state.open)),
    "alarms": ("Alarms so far.", lambda state: len(state.alarms)),
    "new_alarms": ("Alarms that nobody has acknowledged.", lambda state: len(state.new)),
    "latest_timestamp_seconds": ("Time of the latest batch.", lambda state: _time(state.latest)),
    "caution": (
        "1 if the measures have a caution.",
        lambda state: bool(state.caution),
    ),
    "problem": ("1 if the classifier cannot be evaluated.", lambda state: bool(state.problem)),
}

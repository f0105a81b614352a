"""The numbers of the dashboard for Prometheus."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from bayescm.online.challenge import FUTILE, GO_ON, PROMOTE
from bayescm.online.web.state import ChallengeState, ClassifierState, DashboardState

TYPE = CONTENT_TYPE_LATEST


def exposition(state: DashboardState) -> bytes:
    """Return every classifier's numbers in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Collector(state))
    return generate_latest(registry)


class _Collector(Collector):
    """The families of numbers, read as they are asked for."""

    def __init__(self, state: DashboardState):
        self._state = state

    def describe(self) -> list[Any]:
        """Say that what there is depends on the ledger."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the families."""
        found = [self._state.classifier(name) for name in self._state.names()]
        sizes = {
            "batches": ("Batches in force.", lambda now: now.batches),
            "examples": ("Examples in force.", lambda now: now.examples),
            "alarms": ("Alarms so far.", lambda now: len(now.alarms)),
            "new_alarms": ("Alarms that nobody has acknowledged.", lambda now: len(now.new)),
            "latest_timestamp_seconds": ("Time of the latest batch.", _seconds),
            "caution": ("1 where the measures are shown with a caution.", _doubtful),
            "problem": ("1 where the classifier cannot be judged.", lambda now: bool(now.problem)),
        }
        for name, (told, value) in sizes.items():
            family = GaugeMetricFamily(f"bayescm_{name}", told, labels=["classifier"])
            for now in found:
                family.add_metric([now.classifier], float(value(now)))
            yield family
        yield self._measures(found)
        yield from _challenge_families(self._state.challenges())

    def _measures(self, found):
        mass = f"{100 * self._state.prob:.4g}%"
        told = f"Posterior mean of each measure and the bounds of its {mass} interval."
        labels = ["classifier", "measure", "class", "bound"]
        family = GaugeMetricFamily("bayescm_measure", told, labels=labels)
        for now in found:
            for row in now.measures.to_dict("records"):
                part = str(row.get("class", ""))
                for bound in ("lower", "mean", "upper"):
                    if np.isfinite(row[bound]):
                        names = [now.classifier, str(row["measure"]), part, bound]
                        family.add_metric(names, float(row[bound]))
        return family


def _challenge_families(found: list[ChallengeState]) -> Iterator[GaugeMetricFamily]:
    """Yield the families of the challenges; of one that cannot be judged only that it cannot."""
    known = [state for state in found if not state.problem]
    decided = [state for state in known if state.is_decided]
    decisions = {each: partial(_is, each) for each in (GO_ON, PROMOTE, FUTILE)}
    bounds = {name: attrgetter(name) for name in ("lower", "upper")}
    better = "Posterior probability that the challenger is better by the margin."
    apart = "Challenger minus champion: posterior mean and bounds of the 95% interval."
    yield _family("batches", "Batches of a challenge.", known, attrgetter("batches"))
    yield _family("examples", "Examples of a challenge.", known, attrgetter("examples"))
    yield _family("probability_better", better, known, attrgetter("p_better"))
    yield _family("difference", apart, known, bounds | {"mean": attrgetter("difference")}, "bound")
    yield _family("decision", "1 for what is decided, else 0.", known, decisions, "decision")
    since = "Time of the batch that decided it."
    yield _family("decided_timestamp_seconds", since, decided, lambda state: _time(state.since))
    told = "1 where the challenge cannot be judged."
    yield _family("problem", told, found, lambda state: bool(state.problem))


def _is(decision: str, state: ChallengeState) -> bool:
    return state.decision == decision


def _family(name, told, states, values, label=None):
    """Return a family with a number of each challenge, or one for each value of a label."""
    labels = ["challenge", "champion", "challenger", *([label] if label else [])]
    family = GaugeMetricFamily(f"bayescm_challenge_{name}", told, labels=labels)
    for state in states:
        for part, value in (values if label else {"": values}).items():
            family.add_metric([*state[:3], *([part] if label else [])], float(value(state)))
    return family


def _doubtful(state: ClassifierState) -> bool:
    return bool(state.caution)


def _seconds(state: ClassifierState) -> float:
    return _time(state.latest)


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()

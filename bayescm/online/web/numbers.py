"""The numbers of the dashboard for Prometheus."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import numpy as np
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from bayescm.online.web.watch import Now, Watch

TYPE = CONTENT_TYPE_LATEST


def exposition(watch: Watch) -> bytes:
    """Return every classifier's numbers in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Numbers(watch))
    return generate_latest(registry)


class _Numbers(Collector):
    """The families of numbers, read as they are asked for."""

    def __init__(self, watch: Watch):
        self._watch = watch

    def describe(self) -> list[Any]:
        """Say that what there is depends on the ledger."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the families."""
        found = [self._watch.now(name) for name in self._watch.names()]
        sizes = {
            "batches": ("Batches in force.", lambda now: now.batches),
            "examples": ("Examples in force.", lambda now: now.examples),
            "alarms": ("Alarms so far.", lambda now: len(now.alarms)),
            "new_alarms": ("Alarms that nobody has acknowledged.", lambda now: len(now.new)),
            "latest_timestamp_seconds": ("Time of the latest batch.", _seconds),
            "problem": ("1 where the classifier cannot be judged.", lambda now: bool(now.problem)),
        }
        for name, (told, value) in sizes.items():
            family = GaugeMetricFamily(f"bayescm_{name}", told, labels=["classifier"])
            for now in found:
                family.add_metric([now.classifier], float(value(now)))
            yield family
        yield self._measures(found)

    def _measures(self, found):
        mass = f"{100 * self._watch.prob:.4g}%"
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


def _seconds(now: Now) -> float:
    return datetime.fromisoformat(now.latest).timestamp()

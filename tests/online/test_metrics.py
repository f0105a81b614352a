"""Metrics for Prometheus of every type of evidence that the dashboard supports."""

from collections import Counter

import pytest
import specimen_ledger
from prometheus_client.parser import text_string_to_metric_families

import bayescm as bcm
from bayescm import online
from bayescm.online.web.metrics import exposition
from bayescm.online.web.state import dashboard_state

LABELS = ["cat", "dog", "fox"]


def series(store, **settings):
    """Return the series of measures, and check that each one occurs once."""
    with online.Ledger(str(store)) as ledger:
        text = exposition(dashboard_state(ledger, settings)).decode()
    samples = [x for each in text_string_to_metric_families(text) for x in each.samples]
    times = Counter((x.name, *sorted(x.labels.items())) for x in samples)
    assert {key: number for key, number in times.items() if number > 1} == {}
    return [x.labels for x in samples if x.name == "bayescm_measure"]


def test_series_of_votes_and_of_measures_without_a_class_are_unique(tmp_path):
    store = tmp_path / "eval.db"
    with online.Monitor(str(store), "arena") as monitor:
        pairs = {"left": ["a", "b", "c"] * 20, "right": ["b", "c", "a"] * 20}
        monitor.add("one", bcm.from_preferences(**pairs, winner=["left", "right", "tie"] * 20))
    with online.Monitor(str(store), "animals") as monitor:
        monitor.add("one", bcm.from_matrix([[9, 1, 0], [2, 8, 0], [0, 1, 9]], labels=LABELS))
    measures = {"animals": {"measures": ["accuracy", "recall"]}}
    labels = series(store, classifiers=measures)
    assert {x["system"] for x in labels if x["classifier"] == "arena"} == {"a", "b", "c"}
    classes = {(x["measure"], x["class"]) for x in labels if x["classifier"] == "animals"}
    assert classes == {("accuracy", ""), *[("recall", label) for label in LABELS]}


@pytest.mark.long
def test_series_of_every_type_are_unique():
    with specimen_ledger.ledger() as store:
        labels = series(store)
        with online.Ledger(store) as ledger:
            assert {x["classifier"] for x in labels} == {*ledger.classifiers()}
    assert all(x["rater"] for x in labels if x["classifier"] == "ratings")

"""Sums of batches are evidence of their types, which the default posteriors take."""

import warnings

import numpy as np
import pandas as pd
import pytest
import specimen_ledger
from specimen_ledger import BATCHES, SAMPLED, day_name

import bayescm as bcm
from bayescm.answers.interval import resolve_measures
from bayescm.evidence.registry import TYPES, type_of
from bayescm.fitting.posterior_for import posterior_of
from bayescm.online import Monitor

QUICK = [name for name in BATCHES if name not in SAMPLED]
# In widths of an interval. Forecasts are moved to the middles of bins. Sums of attempts have the
# shares of right answers, whose model does not know how many attempts these are of.
TOLERANCE = {"probabilities": 0.15, "scores": 0.15, "attempts": 0.1}
# The slope of a calibration curve is another model in bins.
MEASURES = {"probabilities": ["auc", "brier"], "scores": ["auc"], "partly labelled": ["recall"]}


def filled(name, days=4):
    edges = np.linspace(-3, 4, 71) if name == "scores" else None
    monitor = Monitor("sqlite://", name, measures=MEASURES.get(name), edges=edges)
    for day in range(days):
        monitor.add(day_name(day), BATCHES[name](day))
    return monitor


@pytest.mark.long
@pytest.mark.parametrize("name", QUICK)
def test_sums_have_the_posterior_of_their_units(name):
    with filled(name) as monitor, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sums = monitor.batches().sum("step", keep_attrs=True)
        expected = bcm.summary(_units(name, monitor), _measures(monitor))
        found = monitor.summary()
        entry = type_of(sums)
        assert entry.alarm_rules(sums)
        assert float(entry.batch_sizes(sums)) == monitor.n_examples()
        posterior = posterior_of(sums)
        for row, measure in enumerate(resolve_measures(posterior, _measures(monitor))):
            interval = np.reshape(posterior.distribution(measure).hdi(0.95), (-1, 2))[0]
            own = expected[["lower", "upper"]].iloc[_row(expected, found, row)].to_numpy(float)
            width = own[1] - own[0]
            np.testing.assert_allclose(interval, own, atol=TOLERANCE.get(name, 0.03) * width)


def _units(name, monitor):
    if name not in ("counts", "two classes", "probabilities", "scores"):
        return monitor.evidence()
    if name in ("counts", "two classes"):
        return sum(BATCHES[name](day) for day in range(1, 4)) + BATCHES[name](0)
    parts = [BATCHES[name](day) for day in range(4)]
    columns = [np.concatenate([part[key].values for part in parts]) for key in ("actual", "score")]
    make = bcm.from_scores if name == "scores" else bcm.from_probabilities
    return make(*columns, positive=1)


def _measures(monitor):
    measures = monitor.measures or list(dict.fromkeys(monitor.summary()["measure"]))
    return [measures] if isinstance(measures, str) else measures


def _row(expected, found, index):
    """Return the row of a measure: its first one, if it has one for each class."""
    names = list(dict.fromkeys(found["measure"]))
    return int((expected["measure"] == names[index]).to_numpy().argmax())


def test_a_type_that_has_batches_names_their_form():
    for entry in TYPES:
        assert entry.batch_forms or entry.as_batch is None
    sums = filled("tags").batches()
    assert type_of(sums).name == "multilabel"
    assert type_of(sums.isel(step=0, drop=True)).name == "multilabel"


@pytest.mark.parametrize(("measure", "counted"), [("share_at_least(4)", 3), ("share_above(4)", 1)])
def test_a_share_counts_the_mark_itself_if_it_is_at_least(measure, counted):
    scores = [1.0, 2.0, 4.0, 4.0, 5.0]
    with Monitor("sqlite://", "marks", measures=[measure]) as monitor:
        monitor.add("a", bcm.from_item_scores(scores, range=(1, 5)))
        summary = monitor.summary()
    assert summary["point"].item() == counted / 5
    assert summary["mean"].item() == pytest.approx((counted + 0.5) / 6)


@pytest.mark.long
def test_tails_are_those_of_distributions_that_are_accurate_there():
    with filled("marks") as marks, filled("tags") as tags, filled("two classes") as counts:
        trusted = {
            monitor.classifier: [
                posterior.distribution(measure).accurate_tails
                for measure in resolve_measures(posterior, names)
            ]
            for monitor, names in (
                (marks, ["mean", "share_above(3)"]),
                (tags, ["f1_micro", "f1_samples"]),
                (counts, ["recall", "f1", "mcc"]),
            )
            for posterior in [posterior_of(_sums(monitor, names))]
        }
    assert trusted == {"marks": [True] * 2, "tags": [True] * 2, "two classes": [True, True, False]}


def _sums(monitor, names):
    monitor.measures = names
    return monitor.batches().sum("step", keep_attrs=True)


@pytest.mark.long
def test_the_evidence_is_that_since_the_latest_change():
    with filled("marks", days=specimen_ledger.DAYS) as monitor:
        assert monitor.evidence().sizes["item"] == monitor.n_examples()
        assert monitor.evidence().sizes["item"] < monitor.item_scores().sizes["item"]


@pytest.mark.long
def test_means_of_different_scales_have_no_difference():
    first, second = (
        posterior.distribution(resolve_measures(posterior, "mean")[0])
        for name in ("marks", "errors")
        for posterior in [posterior_of(_sums(filled(name), ["mean"]))]
    )
    assert first.minus(second) is None
    assert first.minus(first).cdf(0.0) == pytest.approx(0.5, abs=0.02)


def test_evidence_without_batches_is_not_recorded():
    rows = [
        (site, name, run, score + run / 100)
        for site in "xyz"
        for name, score in (("a", 0.8), ("b", 0.7))
        for run in (0, 1)
    ]
    columns = ["data_set", "classifier", "run", "accuracy"]
    results = bcm.from_results(
        pd.DataFrame(rows, columns=columns), measure="accuracy", test_share=0.1
    )
    with (
        Monitor("sqlite://", "a") as monitor,
        pytest.raises(TypeError, match="A monitor does not support evidence of type"),
    ):
        monitor.add("monday", results)

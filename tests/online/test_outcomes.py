"""A batch of several classifiers or systems is recorded for each of them."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.evidence.outcomes import counts_of
from bayescm.online import Ledger, Monitor, verify

RNG = np.random.default_rng(5)
ACTUAL = np.arange(60) % 2


def outcomes(*names, positive=1, seed=1):
    rng = np.random.default_rng(seed)
    errors = {name: rng.random(60) < 0.2 for name in names}
    predictions = {name: np.where(error, 1 - ACTUAL, ACTUAL) for name, error in errors.items()}
    return bcm.from_classifiers(ACTUAL, predictions, positive=positive)


@pytest.mark.long
def test_every_classifier_has_its_own_history(tmp_path):
    store = f"sqlite:///{tmp_path}/eval.db"
    batches = [outcomes("a", "b", seed=seed) for seed in (1, 2)]
    with Monitor(store, "a") as monitor:
        assert monitor.add("monday", batches[0])
        assert not monitor.add("monday", batches[0])
        assert monitor.add("tuesday", batches[1])
    assert verify(store)["entries"].tolist() == [2, 2]
    with Ledger(store) as ledger:
        assert ledger.classifiers() == ["a", "b"]
        for name in "ab":
            expected = [counts_of(batch).sel(classifier=name) for batch in batches]
            found = Monitor(ledger, name).batches()
            np.testing.assert_array_equal(found.values, expected)


def test_a_classifier_may_join_later():
    with Ledger("sqlite://") as ledger:
        Monitor(ledger, "a").add("monday", outcomes("a", "b"))
        assert Monitor(ledger, "a").add("tuesday", outcomes("a", "b", "c", seed=2))
        steps = [Monitor(ledger, name).batches().sizes["step"] for name in "abc"]
        assert steps == [2, 2, 1]


def test_an_invalid_batch_records_nothing():
    with Ledger("sqlite://") as ledger:
        with pytest.raises(ValueError, match="Open a Monitor for one of these"):
            Monitor(ledger, "c").add("monday", outcomes("a", "b"))
        assert ledger.classifiers() == []
        Monitor(ledger, "b").add("monday", bcm.from_predictions(ACTUAL, ACTUAL, positive=0))
        with pytest.raises(ValueError, match="not the positive class of classifier 'b'"):
            Monitor(ledger, "a").add("tuesday", outcomes("a", "b"))
        assert ledger.classifiers() == ["b"]


SCORES = {name: ACTUAL + RNG.normal(0, 1, 60).round(2) for name in "ab"}
SEVERAL = {
    "scores": bcm.from_scores(ACTUAL, SCORES),
    "probabilities": bcm.from_probabilities(
        ACTUAL, {name: (1 / (1 + np.exp(-score))).round(3) for name, score in SCORES.items()}
    ),
    "item scores": bcm.from_item_scores({name: RNG.random(30) for name in "ab"}, range=(0, 1)),
    "several labels": bcm.from_multilabel(
        RNG.random((40, 3)) < 0.5, {name: RNG.random((40, 3)) < 0.5 for name in "ab"}
    ),
    "attempts": bcm.from_attempts({name: RNG.integers(0, 2, (30, 4)) for name in "ab"}),
    "item counts": bcm.from_item_counts(
        {name: {cell: RNG.poisson(4, 30) for cell in ("tp", "fp", "fn")} for name in "ab"}
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SEVERAL)
def test_every_system_has_its_own_history(name):
    evidence = SEVERAL[name]
    edges = {"edges": np.linspace(-3, 3, 13)} if name == "scores" else {}
    with Ledger("sqlite://") as ledger:
        assert Monitor(ledger, "b", **edges).add("monday", evidence)
        assert ledger.classifiers() == ["a", "b"]
        with Ledger("sqlite://") as alone:
            monitor = Monitor(alone, "b", **edges)
            monitor.add("monday", evidence.sel(classifier="b", drop=True))
            expected = monitor.summary()
        assert Monitor(ledger, "b").summary().equals(expected)
        with pytest.raises(ValueError, match="Open a Monitor for one of these"):
            Monitor(ledger, "c").add("monday", evidence)

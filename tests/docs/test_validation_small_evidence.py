"""The true values of small samples are those of very large ones."""

import numpy as np
import pytest
from validation import small_evidence
from validation.small_evidence import CASES, FOLDS, JOINT, LABELS, RATES_OF_ITEMS

import bayescm as bcm


def test_every_case_has_its_values_for_both_kinds():
    rng = np.random.default_rng(1)
    for setting in CASES.values():
        _, values = small_evidence.draw(rng, *setting)
        assert {name.rsplit(", ", 1)[1] for name in values} == {"hdi", "eti"}
        assert np.isfinite(list(values.values())).all()


@pytest.mark.parametrize("name", FOLDS)
def test_expected_measures_of_folds_are_means_over_many_folds(name):
    cells = small_evidence.varied(FOLDS[name], np.random.default_rng(2).normal(size=(200_000, 2)))
    for measure, value in small_evidence.averages(FOLDS[name], ("recall", "f1")).items():
        assert bcm.measures.resolve(measure)(cells).mean() == pytest.approx(value, abs=5e-4)


@pytest.mark.long
@pytest.mark.parametrize("name", RATES_OF_ITEMS)
def test_rates_of_items_have_their_means(name):
    draw, mean, passed = RATES_OF_ITEMS[name]
    rng = np.random.default_rng(3)
    rates = np.concatenate([draw(rng) for _ in range(20_000)])
    assert rates.mean() == pytest.approx(mean, abs=0.005)
    assert (1 - (1 - rates) ** 4).mean() == pytest.approx(passed, abs=0.005)


@pytest.mark.parametrize("name", LABELS)
def test_f1_of_several_labels_is_that_of_many_examples(name):
    common, wrong = LABELS[name]
    rng = np.random.default_rng(4)
    actual = rng.random((200_000, 4)) < common
    predicted = np.where(rng.random(actual.shape) < wrong, ~actual, actual)
    hits, errors = (actual & predicted).sum(0), (actual != predicted).sum(0)
    _, values = small_evidence.several_labels(rng, name)
    assert values["f1_micro"] == pytest.approx(
        2 * hits.sum() / (2 * hits + errors).sum(), abs=0.005
    )
    assert values["f1_macro"] == pytest.approx((2 * hits / (2 * hits + errors)).mean(), abs=0.005)


@pytest.mark.parametrize("name", JOINT)
def test_agreement_is_that_of_the_published_formulas(name):
    rng = np.random.default_rng(5)
    _, values = small_evidence.raters(rng, name)
    a, b = np.divmod(np.repeat(np.arange(4), np.rint(JOINT[name].ravel() * 100).astype(int)), 2)
    table = bcm.raters.agreement({"a": a, "b": b}, list(values), labels=[0, 1])
    assert table["point"].tolist() == pytest.approx(list(values.values()), abs=0.01)

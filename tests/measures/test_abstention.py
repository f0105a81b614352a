"""Abstentions: measures are of the answered, and what is not answered is seen."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.classical import delta

RNG = np.random.default_rng(6)
TRUTH = RNG.choice(["cat", "dog", "owl"], 300, p=[0.5, 0.3, 0.2])
SAID = np.where(RNG.random(300) < 0.8, TRUTH, RNG.choice(["cat", "dog", "owl"], 300))
HIDDEN = RNG.random(300) < 0.2
ANSWERS = np.where(HIDDEN, "refused", SAID)
COUNTS = bcm.from_predictions(TRUTH, ANSWERS, abstain="refused")
ANSWERED = bcm.from_predictions(TRUTH[~HIDDEN], SAID[~HIDDEN])
# A prior of each answered cell as in a table of three classes.
NAMES = ["accuracy", "recall_macro", "f1_macro", "recall", "mcc", "f1"]


@pytest.mark.long
def test_measures_are_of_the_answered():
    for name in NAMES:
        given = bcm.measure(COUNTS, name)[name]
        np.testing.assert_allclose(given, bcm.measure(ANSWERED, name)[name])
        ours, plain = (bcm.interval(each, name, draws=None) for each in (COUNTS, ANSWERED))
        np.testing.assert_allclose(ours, plain, atol=0.006)
        assert ours.dims == plain.dims
    assert bcm.measure(COUNTS, "selective_risk").selective_risk == pytest.approx(
        1 - bcm.measure(ANSWERED, "accuracy").accuracy.item()
    )


@pytest.mark.long
def test_coverage_and_abstentions_as_misses():
    assert bcm.measure(COUNTS, "coverage").coverage == pytest.approx(1 - HIDDEN.mean())
    table = bcm.summary(COUNTS, ["coverage", "accuracy_of_all", "recall_of_all_macro"])
    assert (table["lower"] < table["point"]).all()
    assert (table["point"] < table["upper"]).all()
    assert table["how"].tolist()[:2] == ["closed form"] * 2
    missed = [(label == ANSWERS)[label == TRUTH].mean() for label in ("cat", "dog", "owl")]
    np.testing.assert_allclose(bcm.measure(COUNTS, "recall_of_all").recall_of_all, missed)
    assert table["point"][2] == pytest.approx(np.mean(missed))


def test_of_two_classes_the_positive_one_is_measured():
    sick = np.where(TRUTH == "owl", "sick", "well")
    answers = np.where(HIDDEN, "refused", np.where(SAID == "owl", "sick", "well"))
    counts = bcm.from_predictions(sick, answers, abstain="refused", positive="sick")
    plain = bcm.from_predictions(sick[~HIDDEN], answers[~HIDDEN], positive="sick")
    for name in ("recall", "precision", "f1"):
        np.testing.assert_allclose(bcm.interval(counts, name), bcm.interval(plain, name))
    share = bcm.measure(counts, "recall_of_all").recall_of_all.item()
    assert share == pytest.approx((answers == sick)[sick == "sick"].mean())
    low, high = bcm.interval(counts, "recall_of_all").values
    assert low < share < high


@pytest.mark.long
def test_a_tree_answers_alike():
    tree = bcm.fit(COUNTS, draws=2000, chains=2, random_seed=1)
    assert not tree["posterior"]["theta"].sel(actual="refused").any()
    for of in ("parameter", "predictive"):
        for name in ("accuracy", "f1_macro", "coverage"):
            ours, plain = (bcm.interval(each, name, of=of) for each in (tree, COUNTS))
            np.testing.assert_allclose(ours, plain, atol=0.015)


@pytest.mark.long
def test_classifiers_that_abstain_on_different_examples_are_compared_as_pairs():
    both = bcm.from_classifiers(TRUTH, {"a": ANSWERS, "b": SAID}, abstain="refused")
    table = bcm.compare(both, ["accuracy", "coverage", "accuracy_of_all"])
    assert table["paired"].all()
    by = table.set_index("measure")
    assert by.loc["coverage", "upper"] < -0.1
    assert by.loc["accuracy_of_all", "p_worse"] > 0.999
    # The same answers where both answer: the difference is narrower than unpaired.
    apart = bcm.compare({"a": COUNTS[...], "b": bcm.from_predictions(TRUTH, SAID)}, "accuracy")
    widths = (by["upper"] - by["lower"])["accuracy"], (apart["upper"] - apart["lower"])[0]
    assert widths[0] < 0.8 * widths[1]
    ends = delta(both, ["accuracy", "coverage"])
    assert float(ends.coverage.sel(classifier="a", bound="upper")) < 0.9


@pytest.mark.long
def test_a_refusal_without_the_word_is_said_where_it_would_enter_an_average():
    labels = ["cat", "dog", "owl", "refused"]
    hidden = bcm.from_predictions(TRUTH, ANSWERS, labels=labels)
    for measure in ("precision_macro", "f1_macro"):
        with pytest.warns(UserWarning, match=f"{measure} includes .* abstain='refused'"):
            bcm.summary(hidden, measure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The recall of a class without examples is 0/0, and its weight is 0.
        bcm.summary(hidden, ["recall_macro", "f1_weighted"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bcm.summary(COUNTS, "recall_macro")


def test_the_warning_shows_numbers_as_they_were_written():
    hidden = bcm.from_predictions([0, 1, 0, 1], [0, 1, 9, 0], labels=[0, 1, 9])
    with pytest.warns(UserWarning, match="class 9, which is predicted for 1 example but "):
        bcm.measure(hidden, "precision_macro")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ((["a", "b", "no"], ["a", "b", "b"]), "examples have the class"),
        ((["a", "b", "a"], ["a", "huh", "b"]), "abstain='huh'"),
        ((["a", "a"], ["a", "no"]), "two classes"),
    ],
)
def test_what_is_no_abstention_is_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        bcm.from_predictions(*columns, abstain="no")


def test_models_without_abstentions_say_so():
    fold = np.arange(300) % 5
    folds = bcm.from_predictions(TRUTH, ANSWERS, abstain="refused", by={"fold": fold})
    with pytest.raises(ValueError, match="This model does not support abstentions"):
        bcm.interval(folds, "accuracy")
    frame = pd.DataFrame({"y": TRUTH, "p": ANSWERS})
    pooled = bcm.from_frame(frame, actual="y", predicted="p", abstain="refused")
    np.testing.assert_array_equal(pooled, folds.sum("fold"))

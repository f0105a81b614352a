"""A judge has seen everything, people only a part."""

from decimal import Decimal

import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(8)
# In an order that has nothing to do with the labels, and whose shares are exact.
ORDER = np.arange(400) * 237 % 400
TRUTH = (ORDER % 5 < 2).astype(int)
JUDGE = np.where(ORDER // 5 * 37 % 10 < 1, 1 - TRUTH, TRUTH)
SAID = np.where(ORDER // 5 * 17 % 80 < 16, 1 - TRUTH, TRUTH)
LABELLED = np.arange(400) < 60
HUMAN = [int(each) if seen else None for each, seen in zip(TRUTH, LABELLED, strict=True)]


class Variable:
    """As those of TensorFlow: only the array protocol tells what it holds."""

    def __init__(self, data):
        self.data = np.asarray(data)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype)


def width(ends):
    return float(ends.sel(bound="upper") - ends.sel(bound="lower"))


def test_a_judge_is_worth_labels():
    alone = bcm.from_predictions(TRUTH[LABELLED], SAID[LABELLED])
    both = bcm.from_partly_labelled(HUMAN, SAID, JUDGE)
    for name, share in (("prevalence", 0.8), ("f1", 1.0)):
        assert width(bcm.interval(both, name)) < share * width(bcm.interval(alone, name))
    assert both.sum() == 60
    assert both["unlabelled"].sum() == 340
    point = bcm.summary(both, "prevalence")["point"].item()
    strata = [TRUTH[LABELLED & (p == SAID) & (j == JUDGE)].mean() for p in (0, 1) for j in (0, 1)]
    shares = [((p == SAID) & (j == JUDGE)).mean() for p in (0, 1) for j in (0, 1)]
    assert point == pytest.approx(np.dot(strata, shares))


def test_all_labelled_leaves_nothing_open_of_the_items_at_hand():
    known = bcm.from_partly_labelled(TRUTH, SAID, JUDGE)
    ends = bcm.interval(known, "f1", of="finite")
    np.testing.assert_allclose(ends, bcm.measure(bcm.from_predictions(TRUTH, SAID), "f1").f1)
    assert width(bcm.interval(known, "f1", of="predictive")) > width(bcm.interval(known, "f1"))


def test_strata_that_were_labelled_more_need_no_weights():
    chosen = LABELLED | (JUDGE == 1)
    human = [int(each) if seen else None for each, seen in zip(TRUTH, chosen, strict=True)]
    low, high = bcm.interval(bcm.from_partly_labelled(human, judge=JUDGE), "prevalence").values
    assert low < TRUTH.mean() < high
    assert TRUTH[chosen].mean() > high


def test_scores_that_tie_are_still_cut():
    rare = np.where((TRUTH == 1) & (ORDER % 3 > 0), 0.5, 0.0)  # a quantile is 0 as all others are
    cut = bcm.from_partly_labelled(HUMAN, SAID, rare)
    said = bcm.from_partly_labelled(HUMAN, SAID, np.where(rare > 0, "yes", "no"))
    np.testing.assert_array_equal(cut, said)
    np.testing.assert_array_equal(cut["unlabelled"], said["unlabelled"])


def test_scores_of_a_table_without_types_are_scores():
    scores = RNG.normal(3 * TRUTH).round(2)
    expected = bcm.from_partly_labelled(HUMAN, SAID, scores)
    for given in (scores.astype(object), [Decimal(str(each)) for each in scores]):
        np.testing.assert_array_equal(bcm.from_partly_labelled(HUMAN, SAID, given), expected)


@pytest.mark.long
def test_a_judge_may_be_scores_or_several():
    scores = RNG.normal(3 * TRUTH)
    for judge in (scores, {"a": JUDGE, "b": scores}, JUDGE.astype(str)):
        counts = bcm.from_partly_labelled(HUMAN, SAID, judge)
        assert counts.sum() == 60
        low, high = bcm.interval(counts, "prevalence", of="finite").values
        assert 0 <= low < high <= 1
    assert bcm.from_partly_labelled(HUMAN, judge=scores).sizes["judge"] == 5


def test_what_only_the_array_protocol_tells_is_an_array():
    truth, said, judge = (Variable(each) for each in (TRUTH, SAID, JUDGE))
    human = Variable(np.where(LABELLED, TRUTH, np.nan))
    expected = bcm.from_partly_labelled(HUMAN, SAID, JUDGE)
    for given in ((HUMAN, SAID, judge), (human, said, JUDGE)):
        assert bcm.from_partly_labelled(*given).identical(expected)
    both = bcm.from_partly_labelled(HUMAN, SAID, {"a": judge, "b": judge})
    assert both.sum() == expected.sum()
    assert bcm.from_predictions(truth, said).identical(bcm.from_predictions(TRUTH, SAID))


@pytest.mark.long
def test_a_tree_answers_alike():
    counts = bcm.from_partly_labelled(HUMAN, SAID, JUDGE)
    tree = bcm.fit(counts, draws=1000, chains=2, random_seed=1)
    ours, plain = bcm.interval(tree, "f1"), bcm.interval(counts, "f1")
    np.testing.assert_allclose(ours, plain, atol=0.03)


OTHER = np.where(ORDER // 5 * 31 % 80 < 12, 1 - SAID, SAID)


@pytest.mark.long
def test_classifiers_are_compared_by_the_labels_that_they_share():
    both = bcm.from_partly_labelled(HUMAN, {"said": SAID, "other": OTHER}, JUDGE)
    alone = bcm.from_classifiers(TRUTH[:60], {"said": SAID[:60], "other": OTHER[:60]})
    (row,) = bcm.compare(both, "accuracy", random_seed=1).to_dict("records")
    (bare,) = bcm.compare(alone, "accuracy").to_dict("records")
    assert row["paired"]
    assert row["upper"] - row["lower"] < 0.9 * (bare["upper"] - bare["lower"])
    assert row["lower"] < (SAID == TRUTH).mean() - (OTHER == TRUTH).mean() < row["upper"]
    one = bcm.summary(bcm.from_partly_labelled(HUMAN, SAID, JUDGE), "f1")
    same = bcm.summary(both, "f1").query("classifier == 'said'")
    np.testing.assert_allclose(same[["lower", "upper"]], one[["lower", "upper"]], atol=0.05)
    every = bcm.from_partly_labelled(TRUTH, {"said": SAID, "other": OTHER}, JUDGE)
    ends = bcm.interval(every, "f1", of="finite")
    values = bcm.measure(bcm.from_classifiers(TRUTH, {"said": SAID, "other": OTHER}), "f1")
    np.testing.assert_allclose(ends.sel(bound="lower"), values["f1"])


def test_counts_say_the_same_as_examples():
    counts = bcm.from_partly_labelled(HUMAN, SAID, JUDGE)
    again = bcm.evidence.from_partly_labelled_counts(
        counts.values, counts["unlabelled"].values, judge=["0", "1"]
    )
    np.testing.assert_array_equal(bcm.interval(again, "f1"), bcm.interval(counts, "f1"))
    with pytest.raises(ValueError, match="The shapes of the counts do not match"):
        bcm.evidence.from_partly_labelled_counts([[3, 1], [1, 4]], [5, 6, 7])


def test_an_abstention_is_no_class():
    answers = np.where(np.arange(400) % 9, SAID, -1)
    counts = bcm.from_partly_labelled(HUMAN, answers, JUDGE, abstain=-1)
    found = bcm.summary(counts, ["coverage", "prevalence"], of="finite").set_index("measure")
    assert found["mean"]["coverage"] == pytest.approx((answers != -1).mean())
    assert found["lower"]["prevalence"] < TRUTH.mean() < found["upper"]["prevalence"]


@pytest.mark.filterwarnings("ignore:The judge does not help")
def test_what_labels_were_chosen_by_is_allowed_for():
    site = np.where(ORDER // 5 % 2, np.where(TRUTH == 1, "a", "b"), "a")
    chosen = (site == "a") | (np.arange(400) < 40)
    human = [int(each) if seen else None for each, seen in zip(TRUTH, chosen, strict=True)]
    counts = bcm.from_partly_labelled(human, judge=JUDGE, design=site)
    low, high = bcm.interval(counts, "prevalence").values
    assert low < TRUTH.mean() < high < TRUTH[chosen].mean() + 0.05


def test_labels_are_worth_more_with_a_good_judge_and_no_more_with_a_useless_one():
    good = bcm.planning.labels_worth(
        bcm.from_partly_labelled(HUMAN, SAID, JUDGE), ["prevalence", "f1"]
    )
    assert (good["labels"] == 60).all()
    assert (good["worth"] > 75).all()
    with pytest.warns(UserWarning, match="does not help"):
        counts = bcm.from_partly_labelled(HUMAN, judge=np.arange(400) // 2 % 2)
    assert bcm.planning.labels_worth(counts, "prevalence")["worth"].item() == pytest.approx(
        60, rel=0.15
    )


@pytest.mark.filterwarnings("ignore:The judge does not help")
@pytest.mark.parametrize(
    ("human", "judge", "words"),
    [
        (HUMAN, np.ones(400, int), "The judge gives every example the same label"),
        (
            ["ab"[each] if each in (0, 1) else None for each in HUMAN],
            np.tile(list("abc?"), 100),
            "which people do not use",
        ),
        (
            [*([None] * 350), *TRUTH[350:]],
            np.arange(400) // 200,
            "stratum without a label, where the estimate comes",
        ),
    ],
)
def test_a_judge_that_cannot_help_is_warned_of(human, judge, words):
    with pytest.warns(UserWarning, match=words):
        bcm.from_partly_labelled(human, judge=judge)


def test_without_a_classifier_there_is_nothing_but_a_rate():
    counts = bcm.from_partly_labelled(HUMAN, judge=RNG.normal(3 * TRUTH))
    with pytest.raises(ValueError, match="needs predictions, and the evidence has none"):
        bcm.interval(counts, "f1")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((HUMAN,), "Labels alone are not enough"),
        (([None] * 400, SAID, JUDGE), "examples is labelled"),
        ((HUMAN, SAID[:5]), "The columns have different lengths"),
        ((HUMAN, SAID, [JUDGE, JUDGE]), "judge must be labels, not a list"),
        ((HUMAN, SAID, Variable(3)), "judge must have one axis, but its shape"),
    ],
)
def test_bad_input_says_what_is_wrong(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        bcm.from_partly_labelled(*given)

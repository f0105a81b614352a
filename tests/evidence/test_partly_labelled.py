"""A judge has seen everything, people only a part."""

import numpy as np
import pytest

import bayescm as bcm

RNG = np.random.default_rng(8)
TRUTH = (RNG.random(400) < 0.4).astype(int)
JUDGE = np.where(RNG.random(400) < 0.9, TRUTH, 1 - TRUTH)
SAID = np.where(RNG.random(400) < 0.8, TRUTH, 1 - TRUTH)
LABELLED = np.arange(400) < 60
HUMAN = [int(each) if seen else None for each, seen in zip(TRUTH, LABELLED, strict=True)]


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


def test_a_judge_may_be_scores_several_or_one_that_never_varies():
    scores = RNG.normal(TRUTH)
    for judge in (scores, {"a": JUDGE, "b": scores}, np.ones(400, int), JUDGE.astype(str)):
        counts = bcm.from_partly_labelled(HUMAN, SAID, judge)
        assert counts.sum() == 60
        low, high = bcm.interval(counts, "prevalence", of="finite").values
        assert 0 <= low < high <= 1
    assert bcm.from_partly_labelled(HUMAN, judge=scores).sizes["judge"] == 5


def test_a_tree_answers_alike():
    counts = bcm.from_partly_labelled(HUMAN, SAID, JUDGE)
    tree = bcm.fit(counts, draws=1000, chains=2, random_seed=1)
    ours, plain = bcm.interval(tree, "f1"), bcm.interval(counts, "f1")
    np.testing.assert_allclose(ours, plain, atol=0.03)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((HUMAN,), "nothing but labels"),
        (([None] * 400, SAID, JUDGE), "nobody labelled"),
        ((HUMAN, SAID[:5]), "differ in length"),
    ],
)
def test_bad_input_says_what_is_wrong(given, words):
    with pytest.raises(ValueError, match=words):
        bcm.from_partly_labelled(*given)

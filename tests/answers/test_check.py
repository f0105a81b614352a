import numpy as np
import pytest

import bayescm as bcm
from bayescm.answers.check import parse

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("recall>0.9", ("recall", {}, True, 0.9, 0.95)),
        (" fbeta(0.5) <= 12% @ 90% ", ("fbeta(0.5)", {}, False, 0.12, 0.9)),
        ("LR+ > 3", ("LR+", {}, True, 3, 0.95)),
        ("pass@4 > .6 @ .9", ("pass@4", {}, True, 0.6, 0.9)),
        ("f1_macro[a, b] > .5", ("f1_macro[a, b]", {}, True, 0.5, 0.95)),
        (
            "f1[site=B, classifier=new] >= -.5",
            ("f1", {"site": "B", "classifier": "new"}, True, -0.5, 0.95),
        ),
    ],
)
def test_requirements_are_read(text, read):
    found = parse(text)
    term = found.first
    assert (term.measure, term.where, found.above, found.threshold, found.level) == read


@pytest.mark.parametrize(
    "text",
    [
        "recall",
        "recall = 0.9",
        "recall > high",
        "f1 - f1 - f1 > 0",
        "f1[] > 0",
        "f1[site=] > 0",
        "f1 > 0 @ 0.2",
        7,
    ],
)
def test_what_is_no_requirement_is_refused(text):
    with pytest.raises(ValueError, match=r"is not a requirement|cannot be read|The level of"):
        bcm.check(COUNTS, [text])


def test_outcomes_go_by_the_posterior_probability():
    texts = ["recall > 0.7", "precision > 0.9", "f1 > 0.7", "recall < 0.85 @ 0.8"]
    table = bcm.check(COUNTS, texts)
    above = [float(bcm.prob_above(COUNTS, *pair)) for pair in (("recall", 0.7), ("precision", 0.9))]
    assert table["probability"].tolist()[:2] == pytest.approx(above)
    assert table["outcome"].tolist() == ["met", "failed", "not yet known", "met"]


def test_what_is_judged_stands_beside_the_outcome():
    both = bcm.from_classifiers(
        [1, 0] * 60, {"new": [1, 0] * 60, "old": [1, 1, 1, 0] * 30}, positive=1
    )
    required = ["recall > 0.7", "fpr - fpr[classifier=old] < 0"]
    table = bcm.check(both, required, classifier="new")
    assert table["classifier"].tolist() == ["new", "new"]
    recall = bcm.interval(both, "recall").sel(classifier="new")
    assert table.loc[0, ["lower", "upper"]].tolist() == pytest.approx(recall.values, abs=1e-9)
    assert table.loc[0, "mean"] == pytest.approx(bcm.distribution(both, "recall").mean()[0])
    row = bcm.compare(both, "fpr").iloc[0]
    assert table.loc[1, "mean"] == pytest.approx(row["mean"], abs=0.005)
    assert table.loc[1, "lower"] < table.loc[1, "mean"] < table.loc[1, "upper"] < 0


SCORES = np.random.default_rng(3).beta(2, 1, (2, 60)).round(2)
SYSTEMS = {
    "item scores": bcm.from_item_scores(dict(zip("ab", SCORES, strict=True)), range=(0, 1)),
    "classifiers": bcm.from_classifiers(
        [1, 0] * 9, {"a": [1, 0] * 9, "b": [1, 1, 0] * 6}, positive=1
    ),
    "independent": bcm.from_matrix([[[9, 2], [1, 8]], [[7, 4], [2, 9]]], dims=["classifier"]),
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("evidence", "measure"),
    [
        ("item scores", "mean"),
        ("item scores", "share_above(0.5)"),
        ("item scores", "median"),
        ("classifiers", "accuracy"),
        ("independent", "f1"),
    ],
)
def test_a_difference_of_two_classifiers_is_that_of_compare(evidence, measure):
    evidence = SYSTEMS[evidence]
    row, names = bcm.compare(evidence, measure).iloc[0], evidence["classifier"].values
    text = "{m}[classifier={}] - {m}[classifier={}] > 0".format(*names, m=measure)
    judged = bcm.check(evidence, text).iloc[0]
    columns = ["mean", "lower", "upper", "p_better"]
    columns_judged = ["mean", "lower", "upper", "probability"]
    assert judged[columns_judged].tolist() == pytest.approx(row[columns].tolist(), abs=1e-6)


def test_what_is_needed_would_decide():
    row = bcm.check(COUNTS, "recall > 0.75").iloc[0]
    number, unit = row["needed"].split(" more ")
    assert (row["outcome"], unit) == ("not yet known", "positives")
    times = 1 + int(number.replace(",", "")) / 80
    more = bcm.from_cells(tp=round(65 * times), fn=round(15 * times), fp=35, tn=30)
    assert bcm.check(more, "recall > 0.75")["probability"][0] == pytest.approx(0.95, abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize("by", [None, "site"])
def test_what_a_difference_needs_would_decide(by):
    def asked(times):
        cells = np.array([[40, 5], [8, 47]]) * times, np.array([[38, 8], [6, 48]]) * times
        dims = ("classifier",) if by is None else (by,)
        both = bcm.from_matrix(np.round(np.stack(cells)).astype(int), dims=dims)
        part = "classifier=1" if by is None else "site=1"
        first = "accuracy" if by is None else "accuracy[site=0]"
        both = both.assign_coords({dims[0]: [0, 1]})
        classifier = 0 if by is None else None
        requirement = f"{first} - accuracy[{part}] > -0.02"
        return bcm.check(both, requirement, classifier=classifier).iloc[0]

    row = asked(1)
    number, unit = row["needed"].split(" more ")
    assert (row["outcome"], unit) == ("not yet known", "examples")
    times = 1 + int(number.replace(",", "")) / 200
    assert asked(times)["probability"] == pytest.approx(0.95, abs=0.015)


def test_parts_and_differences():
    rng = np.random.default_rng(0)
    truth, site = rng.integers(0, 2, 400), np.array(["A", "B"])[np.arange(400) % 2]
    answers = {
        name: np.where(rng.random(400) < share, truth, 1 - truth)
        for name, share in (("new", 0.9), ("old", 0.8))
    }
    both = bcm.from_classifiers(truth, answers, positive=1, by={"site": site})
    required = ["accuracy - accuracy[classifier=old] > 0.05", "recall[site=B] > 0.8"]
    table = bcm.check(both, required, classifier="new")
    whole = bcm.from_classifiers(truth, answers, positive=1)
    better = bcm.compare(whole, "accuracy", rope=0.05)["p_better"][0]
    assert table["probability"][0] == pytest.approx(better, abs=0.01)
    alone = bcm.from_predictions(truth[site == "B"], answers["new"][site == "B"])
    assert table["probability"][1] == pytest.approx(float(bcm.prob_above(alone, "recall", 0.8)))
    required = ["recall > 0.8", "recall[site=B] > 0.5"]
    by_site = bcm.check(both, required, by="site", classifier="new")
    assert by_site["site"].tolist() == ["A", "B", "B"]
    assert by_site["probability"][1] == pytest.approx(table["probability"][1])
    three = bcm.from_matrix([[5, 1, 0], [0, 5, 1], [1, 0, 9]], labels=["a", "b", "c"])
    chosen = bcm.check(three, ["recall[class=c] > 0.5", "recall[c] > 0.5"], level=0.9)
    assert chosen["outcome"].tolist() == ["met", "met"]
    assert chosen["probability"][0] == chosen["probability"][1]
    twice = bcm.combine([COUNTS, COUNTS], dim="site").assign_coords(site=["A", "A"])
    for evidence, text, said in (
        (both, "recall[site=C] > 0.8", "Unknown site"),
        (COUNTS, "recall[site=A] > 0.8", "The evidence has no dimension"),
        (twice, "recall[site=A] > 0.8", "Several sites have the name"),
        (three, "recall > 0.5", "a value for each class"),
        (three, "recall[d] > 0.5", "Unknown class"),
        (both, "recall > 0.8", "recall has a value for each classifier"),
    ):
        with pytest.raises(ValueError, match=said):
            bcm.check(evidence, text)


@pytest.mark.long
def test_what_cannot_be_added_up_is_asked_as_a_whole():
    rng = np.random.default_rng(1)
    truth = np.arange(300) % 2
    chance = {name: rng.beta(1 + 4 * truth, 5 - 4 * truth).clip(0.01, 0.99) for name in "ab"}
    judge = np.where(rng.random(300) < 0.1, 1 - truth, truth)
    known = [one if place < 60 else None for place, one in enumerate(truth)]
    judged = bcm.from_partly_labelled(known, judge, judge[::-1], positive=1)
    forecasts = bcm.from_probabilities(truth, chance, positive=1)
    for evidence, measure, threshold in (
        (forecasts, "ece", 0.1),
        (judged, "recall", 0.85),
        (bcm.fit(COUNTS, draws=500), "f1", 0.7),
    ):
        above = bcm.prob_above(evidence, measure, threshold).values.ravel()
        name = evidence["classifier"][0].item() if "classifier" in evidence.dims else None
        table = bcm.check(evidence, f"{measure} > {threshold} @ 0.99", classifier=name)
        assert table["probability"][0] == pytest.approx(above[0])
        assert table["needed"][0] == ""
    named = bcm.check(forecasts, "brier[classifier=a] - brier[classifier=b] > 0")
    paired = bcm.compare(forecasts, "brier")
    assert named["probability"][0] == pytest.approx(1 - paired["p_better"][0], abs=0.02)
    with pytest.raises(ValueError, match="has no dimension 'judge'"):
        bcm.check(judged, "recall[judge=0] > 0.8")
    with pytest.raises(TypeError, match="A dict is not evidence"):
        bcm.check({"a": COUNTS}, "f1 > 0.5")


def drawn_near_the_level(share):
    """Return the requirement of repeated answers whose probability is about the share."""
    rng = np.random.default_rng(4)
    answers = bcm.from_attempts((rng.random((40, 4)) < rng.random((40, 1))).astype(float))
    limit = bcm.distribution(answers, "pass_at(2)", draws=20_000).quantile(1 - share).item()
    return answers, f"pass_at(2) > {limit:.6f} @ 0.95"


@pytest.mark.long
def test_no_outcome_of_draws_is_a_matter_of_luck():
    answers, at_level = drawn_near_the_level(0.95)
    _, met = drawn_near_the_level(0.975)
    for seed in range(3):
        outcomes = bcm.check(answers, [at_level, met], random_seed=seed)["outcome"].tolist()
        assert outcomes == ["not yet known", "met"]
    # Of few draws, which were asked for, the same is said.
    assert bcm.check(answers, "pass_at(2) > 0.3", draws=400)["outcome"].item() == "met"
    near = [bcm.check(answers, at_level, draws=400, random_seed=seed) for seed in range(5)]
    assert {table["outcome"].item() for table in near} == {"not yet known"}


@pytest.mark.long
def test_what_is_needed_of_items_would_decide():
    scores = np.random.default_rng(2).beta(4, 2, 40)
    items = bcm.from_item_scores(scores, range=(0, 1))
    (row,) = bcm.check(items, "mean > 0.62").to_dict("records")
    number = int(row["needed"].removesuffix(" more items").replace(",", ""))
    times = {"weights": np.full(40, 1 + number / 40), "weights_are": "counts"}
    more = bcm.check(bcm.from_item_scores(scores, range=(0, 1), **times), "mean > 0.62")
    assert row["outcome"] == "not yet known"
    assert more["probability"].item() == pytest.approx(0.95, abs=0.015)
    answers = bcm.from_attempts(np.tile([[1, 0], [1, 1], [0, 0]], (9, 1)))
    of_these = bcm.check(answers, "mean > 0.55", of="finite", draws=400)
    assert of_these["needed"].item() == ""
    clustered = bcm.from_item_scores(scores, range=(0, 1), group=np.arange(40) % 10)
    in_clusters = bcm.check(clustered, "mean > 0.62")["needed"].item()
    assert in_clusters.endswith(" more clusters")  # more items of the same ones tell little
    sliced = bcm.from_item_scores(scores, range=(0, 1), by={"topic": np.arange(40) % 2})
    assert (bcm.check(sliced, "mean > 0.62", by="topic")["needed"] == "").all()


def test_exact_outcomes_turn_at_the_level_itself():
    limit = bcm.distribution(COUNTS, "recall").quantile(0.05).item()
    texts = [f"recall > {limit - 1e-6:.9f}", f"recall > {limit + 1e-6:.9f}"]
    assert bcm.check(COUNTS, texts)["outcome"].tolist() == ["met", "not yet known"]


def test_one_more_example_is_one():
    counts = bcm.from_cells(tp=2, fn=0, fp=1, tn=1)
    assert bcm.check(counts, "recall > 0.5")["needed"].tolist() == ["1 more positive"]


@pytest.mark.long
def test_scores_are_checked_in_each_fold_and_each_group():
    rng = np.random.default_rng(5)
    truth, part = np.arange(60) % 2, np.array(["b", "a", "c"])[np.arange(60) // 20]
    score = truth * np.array([0.5, 2.0, 9.0])[np.arange(60) // 20] + rng.normal(size=60)
    for by in ("fold", "group"):
        evidence = bcm.from_scores(truth, score, by={by: part})
        table = bcm.check(evidence, "auc > 0.9 @ 0.8", by=by, random_seed=1)
        assert table[by].tolist() == ["a", "b", "c"]
        assert table["outcome"].tolist()[1:] == ["failed", "met"]
        lower = bcm.interval(evidence, "auc", random_seed=1).sel(bound="lower")
        np.testing.assert_allclose(table["lower"], lower, atol=0.02)
        one = bcm.check(evidence, f"auc[{by}=c] > 0.9 @ 0.8")
        assert one["outcome"].tolist() == ["met"]
        with pytest.raises(ValueError, match=f"Unknown {by}"):
            bcm.check(evidence, f"auc[{by}=d] > 0.9")

"""Several labels for each example: against scikit-learn, tables of one label and own draws."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.measures.measure import AVERAGES as AVERAGED
from bayescm.posteriors import multilabel

RNG = np.random.default_rng(4)
LABELS = ["cat", "dog", "eel", "fox"]
DIFFICULTY = RNG.random((80, 1))
ACTUAL = RNG.random((80, 4)) < [0.5, 0.3, 0.2, 0.1]
A = np.where(RNG.random((80, 4)) < 0.3 * DIFFICULTY, ~ACTUAL, ACTUAL)
B = np.where(RNG.random((80, 4)) < 0.6 * DIFFICULTY, ~ACTUAL, ACTUAL)
ONE = bcm.from_multilabel(ACTUAL, A, labels=LABELS)
BOTH = bcm.from_multilabel(ACTUAL, {"a": A, "b": B}, labels=LABELS)
AVERAGES = ["micro", "macro", "weighted", "samples"]


def points(evidence, measures):
    return bcm.summary(evidence, measures, draws=10)["point"].to_numpy()


@pytest.mark.parametrize("measure", ["precision", "recall", "f1", "jaccard"])
def test_points_are_those_of_scikit_learn(measure):
    function = getattr(metrics, f"{measure}_score")
    undefined = {"zero_division": 0.0 if measure == "jaccard" else np.nan}
    names = [f"{measure}_{how}" for how in AVERAGES]
    expected = [function(ACTUAL, A, average=how, **undefined) for how in AVERAGES]
    if measure == "jaccard":  # which knows no NaN: examples without any label count as 0 there
        some = (ACTUAL | A).any(axis=1)
        expected[3] = metrics.jaccard_score(ACTUAL[some], A[some], average="samples")
    np.testing.assert_allclose(points(ONE, names), expected, rtol=1e-12)
    of_labels = function(ACTUAL, A, average=None)
    np.testing.assert_allclose(points(ONE, measure), of_labels, rtol=1e-12)
    np.testing.assert_allclose(points(ONE, f"{measure}[eel]"), of_labels[2], rtol=1e-12)


def test_examples_and_labels_that_are_wrong_are_those_of_scikit_learn():
    expected = [metrics.accuracy_score(ACTUAL, A), metrics.hamming_loss(ACTUAL, A)]
    np.testing.assert_allclose(points(ONE, ["subset_accuracy", "hamming_loss"]), expected)


@pytest.mark.long
@pytest.mark.parametrize("measure", ["recall", "f1", "specificity", "mcc", "accuracy"])
def test_one_label_is_its_table(measure):
    table = bcm.from_predictions(ACTUAL[:, 1], A[:, 1], positive=True)
    of_label = bcm.interval(ONE, f"{measure}[dog]")
    np.testing.assert_allclose(of_label, bcm.interval(table, measure), atol=1e-6)
    drawn = bcm.distribution(ONE, f"{measure}[dog]", draws=20_000).quantile([0.1, 0.5, 0.9])
    exact = bcm.distribution(table, measure)
    np.testing.assert_allclose(exact.cdf(drawn.values), [0.1, 0.5, 0.9], atol=0.012)


def test_averages_follow_own_draws():
    rng = np.random.default_rng(2)
    weight = rng.standard_exponential((20_000, 80))
    tp, fn, fp = (weight @ (x.astype(float)) for x in (ACTUAL & A, ACTUAL & ~A, ~ACTUAL & A))
    pseudo = rng.gamma(0.5, size=(3, 20_000))
    tp_sum, fn_sum, fp_sum = (x.sum(1) + y for x, y in zip((tp, fn, fp), pseudo, strict=True))
    own = {"f1_micro": 2 * tp_sum / (2 * tp_sum + fn_sum + fp_sum)}
    own["recall_micro"] = tp_sum / (tp_sum + fn_sum)
    for name, values in own.items():
        quantiles = bcm.distribution(ONE, name).quantile([0.025, 0.5, 0.975])
        expected = np.quantile(values, [0.025, 0.5, 0.975])
        np.testing.assert_allclose(quantiles, expected, atol=0.12 * values.std())


@pytest.mark.long
def test_macro_averages_of_many_rare_labels_are_not_drawn_to_a_half():
    rng = np.random.default_rng(6)
    actual = rng.random((200, 60)) < 0.03
    predicted = np.where(rng.random((200, 60)) < 0.8, actual, False)
    evidence = bcm.from_multilabel(actual, predicted)
    sample = metrics.recall_score(actual, predicted, average="macro", zero_division=np.nan)
    distribution = bcm.distribution(evidence, "recall_macro")
    assert float(distribution.mean()) == pytest.approx(sample, abs=0.01)
    counts = (actual.sum(0))[actual.any(0)]
    error = np.sqrt((0.8 * 0.2 / counts).sum()) / len(counts)
    assert float(distribution.sd()) == pytest.approx(error, rel=0.25)


def test_labels_of_one_example_are_no_independent_examples():
    hard = RNG.random((100, 1)) < 0.5
    actual = RNG.random((100, 20)) < 0.3
    wrong = hard & (RNG.random((100, 20)) < 0.6)
    evidence = bcm.from_multilabel(actual, np.where(wrong, ~actual, actual))
    sd = float(bcm.distribution(evidence, "recall_micro").sd())
    recall = metrics.recall_score(actual, np.where(wrong, ~actual, actual), average="micro")
    flattened = np.sqrt(recall * (1 - recall) / actual.sum())
    assert sd > 1.4 * flattened


@pytest.mark.long
def test_systems_are_paired_by_example():
    for measure in ("f1_micro", "f1_macro", "f1_samples", "hamming_loss"):
        row = bcm.compare(BOTH, measure).iloc[0]
        apart = {name: bcm.from_multilabel(ACTUAL, x) for name, x in (("a", A), ("b", B))}
        alone = bcm.compare(apart, measure).iloc[0]
        assert row["paired"]
        assert row["sd"] < alone["sd"]
        assert row["p_better"] > 0.9


@pytest.mark.long
def test_two_copies_of_a_system_may_differ_in_other_examples_and_are_warned_of():
    copies = bcm.from_multilabel(ACTUAL, {"a": A, "b": A})
    for measure in ("f1_micro", "f1_macro", "recall[1]", "hamming_loss"):
        with pytest.warns(UserWarning, match="a and b have equal scores on all 80 examples"):
            row = bcm.compare(copies, measure).iloc[0]
        assert row["lower"] < 0 < row["upper"]
        assert row["p_better"] == pytest.approx(0.5, abs=0.03)


@pytest.mark.long
def test_systems_that_differ_in_few_examples_are_warned_of():
    near = A.copy()
    near[:12, 0] ^= True
    near[0, 1] ^= True
    with pytest.warns(UserWarning, match="differ in 12 of 80 examples"):
        bcm.compare(bcm.from_multilabel(ACTUAL, {"a": A, "b": near}), "f1_micro")
    near = A.copy()
    near[:5, 0] ^= True
    with pytest.warns(UserWarning, match="differ in 5 of 80 examples"):
        bcm.compare(bcm.from_multilabel(ACTUAL, {"a": A, "b": near}), "f1_micro")
    near[:20, 0] = ~A[:20, 0]
    bcm.compare(bcm.from_multilabel(ACTUAL, {"a": A, "b": near}), "f1_micro")
    summary = bcm.summary(bcm.from_multilabel(ACTUAL, {"a": A, "b": A}), "f1_micro")
    assert len(summary) == 2  # which compares nothing, and is not warned of


@pytest.mark.long
def test_the_difference_in_one_label_is_that_of_its_joint_table():
    both = bcm.from_classifiers(ACTUAL[:, 1], {"a": A[:, 1], "b": B[:, 1]}, positive=True)
    for measure in ("recall", "f1", "specificity"):
        of_label = bcm.compare(BOTH, f"{measure}[dog]").iloc[0]
        expected = bcm.compare(both, measure).iloc[0]
        columns = ["mean", "sd", "lower", "upper"]
        difference = (of_label[columns] - expected[columns]).to_numpy(float)
        np.testing.assert_allclose(difference / expected["sd"], 0, atol=0.12)


@pytest.mark.long
def test_pseudo_examples_have_the_same_labels_for_all_systems():
    posterior, rng = multilabel(BOTH), np.random.default_rng(2)
    cells = posterior.population(np.arange(80), 20_000, rng, "population").prior_cells
    tp, fn, fp, tn = np.moveaxis(cells[..., 0], -1, 0)
    np.testing.assert_allclose(tp[:, 0] + fn[:, 0], tp[:, 1] + fn[:, 1])
    np.testing.assert_allclose(fp[:, 0] + tn[:, 0], fp[:, 1] + tn[:, 1])
    for cell in (tp, fn, fp, tn):  # that of each system by itself is Gamma(1/2)
        for system in (0, 1):
            assert stats.kstest(cell[:, system], stats.gamma(0.5).cdf).pvalue > 0.001
    share = tp / (tp + fn)
    assert abs(np.corrcoef(share.T)[0, 1]) < 0.03


@pytest.mark.long
def test_clusters_widen_intervals():
    cluster = np.arange(80) // 8
    order = np.argsort(DIFFICULTY[:, 0])  # whole clusters are easy or hard
    plain = bcm.from_multilabel(ACTUAL[order], B[order])
    clustered = bcm.from_multilabel(ACTUAL[order], B[order], group=cluster)
    for measure in ("f1_micro", "hamming_loss", "recall[0]"):
        lengths = [
            float(np.diff(bcm.interval(evidence, measure, kind="eti"))[0])
            for evidence in (plain, clustered)
        ]
        assert lengths[1] > lengths[0]
    with pytest.raises(ValueError, match="Only 4 clusters of examples"):
        bcm.interval(bcm.from_multilabel(ACTUAL, B, group=cluster % 4), "f1_micro")
    few = bcm.from_multilabel(ACTUAL, B, group=cluster % 6)
    assert "only 6 clusters" in bcm.interval(few, "f1_micro").attrs["caution"]


@pytest.mark.long
def test_slices_have_answers_of_their_own():
    site = np.arange(80) % 2
    sliced = bcm.from_multilabel(ACTUAL, {"a": A, "b": B}, by={"site": site})
    table = bcm.summary(sliced, ["f1_micro", "hamming_loss", "recall"])
    first = bcm.summary(bcm.from_multilabel(ACTUAL[::2], A[::2]), ["f1_micro", "hamming_loss"])
    where = (table["site"] == 0) & (table["classifier"] == "a") & table["class"].isna()
    np.testing.assert_allclose(table[where]["point"], first["point"])
    np.testing.assert_allclose(table[where]["lower"], first["lower"], atol=0.01)


def test_labels_of_few_positives_are_cautioned_of():
    rare = ACTUAL.copy()
    rare[:, 3] = False
    rare[:2, 3] = True
    evidence = bcm.from_multilabel(rare, A, labels=LABELS)
    assert "(fox)" in bcm.interval(evidence, "f1_macro").attrs["caution"]
    assert "caution" not in bcm.interval(ONE, "f1_macro").attrs


@pytest.mark.long
def test_counts_of_labels_that_were_never_seen_are_left_out_of_averages():
    wide = [np.c_[x, np.zeros((80, 2), bool)] for x in (ACTUAL, A)]
    narrow, wider = (bcm.from_multilabel(*pair) for pair in ((ACTUAL, A), wide))
    for measure in ("recall_macro", "f1_weighted"):
        one, two = (bcm.interval(each, measure, kind="eti") for each in (narrow, wider))
        np.testing.assert_allclose(one, two, atol=0.02)


def test_nan_of_examples_without_labels_are_left_out():
    actual, predicted = np.array([[1, 0], [0, 0], [0, 0]]), np.array([[1, 0], [0, 1], [0, 0]])
    evidence = bcm.from_multilabel(actual, predicted)
    expected = [1.0, 0.5, 0.5, 2 / 3]
    names = ["recall_samples", "precision_samples", "f1_samples", "subset_accuracy"]
    np.testing.assert_allclose(points(evidence, names), expected)


def test_mean_of_all_right_is_a_beta():
    right = int((ACTUAL == A).all(axis=1).sum())
    beta = stats.beta(right + 0.5, 80 - right + 0.5)
    distribution = bcm.distribution(ONE, "subset_accuracy")
    np.testing.assert_allclose(distribution.interval(kind="eti"), beta.interval(0.95), atol=2e-3)


# Weights of the examples

COUNTS = RNG.integers(0, 4, 80)
WEIGHED = ["f1_micro", "f1_macro", "f1_weighted", "f1_samples", "subset_accuracy", "recall[cat]"]
NUMBERS_OF = ["point", "mean", "lower", "upper"]


@pytest.mark.long
def test_weights_that_are_counts_stand_for_so_many_examples():
    rows = np.repeat(np.arange(80), COUNTS)
    repeated = bcm.from_multilabel(ACTUAL[rows], {"a": A[rows], "b": B[rows]}, labels=LABELS)
    systems = {"a": A, "b": B}
    weighed = bcm.from_multilabel(ACTUAL, systems, labels=LABELS, weights=COUNTS)
    tables = [bcm.summary(evidence, WEIGHED, draws=2000) for evidence in (weighed, repeated)]
    np.testing.assert_allclose(tables[0]["point"], tables[1]["point"], rtol=1e-12)
    np.testing.assert_allclose(tables[0][NUMBERS_OF], tables[1][NUMBERS_OF], atol=0.025)
    rows = [bcm.compare(evidence, ["f1_macro", "hamming_loss"]) for evidence in (weighed, repeated)]
    np.testing.assert_allclose(rows[0][["mean", "sd"]], rows[1][["mean", "sd"]], atol=2e-3)


@pytest.mark.long
def test_importance_weights_have_points_of_their_own_and_the_effective_number_of_examples():
    weights = RNG.choice([0.5, 4.0], 80, p=[0.7, 0.3])
    options = {"weights": weights, "weights_are": "importance", "labels": LABELS}
    weighed = bcm.from_multilabel(ACTUAL, A, **options)
    table = bcm.summary(weighed, WEIGHED, draws=4000).set_index("measure")
    for name in ("micro", "macro", "weighted"):
        known = metrics.f1_score(ACTUAL, A, average=name, sample_weight=weights)
        assert table["point"][f"f1_{name}"] == pytest.approx(known)
    # The delta method of the mean score of the examples, by their weights
    right = (ACTUAL == A).all(axis=1)
    mean = np.average(right, weights=weights)
    error = np.sqrt((weights**2 * (right - mean) ** 2).sum()) / weights.sum()
    assert table["sd"]["subset_accuracy"] == pytest.approx(error, rel=0.1)
    plain = bcm.summary(ONE, WEIGHED, draws=4000)
    assert table["sd"]["f1_micro"] > 1.1 * plain["sd"][0]
    # The scale of the weights does not matter, and equal ones are none.
    again = bcm.from_multilabel(ACTUAL, A, **options | {"weights": 1000 * weights})
    np.testing.assert_allclose(bcm.summary(again, WEIGHED, draws=4000)["mean"], table["mean"])
    alike = bcm.from_multilabel(ACTUAL, A, **options | {"weights": np.full(80, 7.0)})
    equal = bcm.summary(alike, WEIGHED, draws=4000)
    np.testing.assert_allclose(equal[NUMBERS_OF], plain[NUMBERS_OF], atol=0.015)


@pytest.mark.long
def test_weights_of_areas_stand_for_so_many_examples():
    rows, asked = np.repeat(np.arange(80), COUNTS), ["auc_macro", "auc_micro", "auc_weighted"]
    options = {"labels": LABELS[:2]}
    actual, predicted, scores = ACTUAL[:, :2], A[:, :2], ACTUAL[:, :2] + RNG.normal(0, 1, (80, 2))
    weighed = bcm.from_multilabel(actual, predicted, scores=scores, weights=COUNTS, **options)
    several = actual[rows], predicted[rows]
    repeated = bcm.from_multilabel(*several, scores=scores[rows], **options)
    tables = [bcm.summary(evidence, asked, draws=1500) for evidence in (weighed, repeated)]
    np.testing.assert_allclose(tables[0]["point"], tables[1]["point"], rtol=1e-9)
    np.testing.assert_allclose(tables[0][NUMBERS_OF], tables[1][NUMBERS_OF], atol=0.02)


def test_few_effective_examples_and_positives_are_cautioned_of():
    weights = np.where(np.arange(80) < 3, 100.0, 0.5)
    options = {"weights": weights, "weights_are": "importance", "labels": LABELS}
    heavy = bcm.from_multilabel(ACTUAL, A, **options)
    caution = bcm.interval(heavy, "f1_micro", draws=100).attrs["caution"]
    assert "so unequal that the examples are worth" in caution
    assert "Some labels have fewer than 4 examples" in caution
    with pytest.raises(ValueError, match="Fractional weights need weights_are"):
        bcm.from_multilabel(ACTUAL, A, weights=weights)
    with pytest.raises(ValueError, match="needs weights"):
        bcm.from_multilabel(ACTUAL, A, weights_are="counts")
    with pytest.raises(ValueError, match="and weights"):
        bcm.models.multilabel(heavy)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: multilabel(ONE, concentration=0), "concentration"),
        (lambda: bcm.interval(ONE, "accuracy"), "subset_accuracy"),
        (lambda: bcm.interval(ONE, "f1[cow]"), "Unknown label.*cow"),
        (lambda: bcm.interval(ONE, "accuracy_samples"), "no mean over examples"),
        (lambda: bcm.interval(ONE, "lift_samples"), "has no mean over examples, because it"),
        (lambda: bcm.interval(ONE, "f1_micro", of="finite"), "is not available"),
        (
            lambda: bcm.interval(bcm.from_cells(tp=1, fn=2, fp=3, tn=4), "f1_samples"),
            "several labels",
        ),
    ],
)
def test_what_is_refused(ask, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ask()


# Scores of the labels

NUMBERS = np.random.default_rng(6).normal(ACTUAL, 1).round(1)  # some of them tied
OTHERS = np.random.default_rng(7).normal(ACTUAL, 2)
SCORED = bcm.from_multilabel(ACTUAL, A, labels=LABELS, scores=NUMBERS)
few = pytest.mark.filterwarnings("ignore:.* fewer than 20 positives")


@pytest.mark.parametrize("how", ["macro", "micro", "weighted"])
@few
def test_areas_are_those_of_scikit_learn(how):
    functions = [metrics.roc_auc_score, metrics.average_precision_score]
    got = points(SCORED, [f"auc_{how}", f"average_precision_{how}"])
    np.testing.assert_allclose(got, [f(ACTUAL, NUMBERS, average=how) for f in functions])


@few
def test_areas_of_labels_and_ranks_of_examples_are_those_of_scikit_learn():
    np.testing.assert_allclose(
        points(SCORED, ["auc"]), metrics.roc_auc_score(ACTUAL, NUMBERS, average=None)
    )
    dog = metrics.roc_auc_score(ACTUAL[:, 1], NUMBERS[:, 1])
    assert points(SCORED, ["auc[dog]"]) == pytest.approx(dog)
    expected = metrics.label_ranking_average_precision_score(ACTUAL, NUMBERS)
    assert points(SCORED, ["lrap"]) == pytest.approx(expected)


@pytest.mark.long
def test_draws_of_areas_follow_weights_of_examples():
    rng, names = np.random.default_rng(8), ["auc_micro", "auc[cat]"]
    kernels = [bcm.measures.resolve(name, "example_cells") for name in names]
    posterior = multilabel(SCORED)
    weight = rng.standard_gamma(1, (200, 80))
    every, alone = np.repeat(weight, 4, axis=1), weight
    expected = [
        [metrics.roc_auc_score(ACTUAL.ravel(), NUMBERS.ravel(), sample_weight=w) for w in every],
        [metrics.roc_auc_score(ACTUAL[:, 0], NUMBERS[:, 0], sample_weight=w) for w in alone],
    ]
    kernels = [posterior.bound(kernel) for kernel in kernels]
    for got, values in zip(posterior.draw(kernels, 1000, rng), expected, strict=True):
        assert stats.ks_2samp(got, values).pvalue > 0.001


@pytest.mark.long
@few
def test_scored_systems_are_compared_by_example_and_tables_are_matched_by_name():
    pair = {"a": NUMBERS, "b": OTHERS}
    both = bcm.from_multilabel(ACTUAL, {"a": A, "b": B}, labels=LABELS, scores=pair)
    row = bcm.compare(both, "auc_macro").iloc[0]
    assert row["p_better"] > 0.95
    frame = pd.DataFrame(NUMBERS, columns=LABELS)[LABELS[::-1]]
    turned = bcm.from_multilabel(ACTUAL, A, labels=LABELS, scores=frame)
    assert turned.identical(SCORED)


def test_labels_without_positives_are_left_out_and_few_are_warned_of():
    none = ACTUAL.copy()
    none[:, 3] = False
    evidence = bcm.from_multilabel(none, A, labels=LABELS, scores=NUMBERS)
    with pytest.warns(UserWarning, match=r"label.* fewer than 20 positives \(the fewest: "):
        values = points(evidence, ["auc", "auc_macro"])
    np.testing.assert_allclose(
        values[:3].mean(), metrics.roc_auc_score(none[:, :3], NUMBERS[:, :3])
    )
    assert np.isnan(values[3])
    assert values[4] == pytest.approx(values[:3].mean())


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: bcm.interval(ONE, "auc_macro"), "auc needs scores of the labels"),
        (lambda: bcm.interval(ONE, "lrap"), "needs scores of the labels"),
        (lambda: bcm.interval(SCORED, "auc_top_label"), "several true labels"),
        (lambda: bcm.from_multilabel(ACTUAL, A, scores=NUMBERS[:9]), "Scores must have the shape"),
        (
            lambda: bcm.from_multilabel(ACTUAL, A, scores={"a": NUMBERS}),
            "from (different|the) systems",
        ),
        (
            lambda: bcm.from_multilabel(ACTUAL, {"b": A}, scores={"a": NUMBERS}),
            "The scores are from the systems",
        ),
        (lambda: bcm.from_multilabel(ACTUAL, A, scores=NUMBERS / 0), "missing or infinite"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_is_refused_of_scores(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


@pytest.mark.long
def test_examples_that_are_undefined_for_one_system_count_as_in_the_summary():
    actual = [{"x"}] * 10 + [set()] * 10
    evidence = bcm.from_multilabel(actual, {"a": actual, "b": [{"x"}] * 20}, labels=["x", "y"])
    for measure in ("f1_samples", "precision_samples", "jaccard_samples"):
        means = bcm.summary(evidence, measure)["mean"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = bcm.compare(evidence, measure).iloc[0]
            best = bcm.ranks(evidence, measure)["p_best"]
        assert row["mean"] == pytest.approx(means[0] - means[1], abs=0.01)
        assert row["lower"] > 0.1
        assert best[0] == pytest.approx(row["p_better"], abs=0.01)


def test_influences_are_the_changes_by_one_example_more():
    posterior = multilabel(BOTH)
    sample = posterior.sample(np.arange(len(ACTUAL)))
    f1 = resolve("f1_micro", "example_cells").form.measure
    influence = sample.influence(AVERAGED["micro"], f1.formula)
    more = np.r_[np.arange(len(ACTUAL)), 7]
    for system, predicted in enumerate((A, B)):
        values = [
            metrics.f1_score(ACTUAL[rows], predicted[rows], average="micro")
            for rows in (np.arange(len(ACTUAL)), more)
        ]
        change = (len(ACTUAL) + 1) * (values[1] - values[0])
        assert influence[system, 7] == pytest.approx(change, rel=1e-9)


@pytest.mark.long
def test_few_examples_with_many_errors_leave_micro_averages_open():
    # All labels of two examples: the share that both systems got alike says little of others.
    wins = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        actual = rng.random((60, 8)) < 0.4
        predicted = actual ^ (rng.random((60, 8)) < 0.1)
        near = predicted.copy()
        near[rng.choice(60, 2, replace=False)] ^= rng.random((2, 8)) < 0.5
        evidence = bcm.from_multilabel(actual, {"a": predicted, "b": near})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = bcm.compare(evidence, "f1_micro", draws=1000).iloc[0]
        wins += max(row["p_better"], row["p_worse"]) > 0.95
    assert wins <= 4

"""Several raters and no truth: what each is worth against the class that nobody has seen."""

import re
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy.special import betaln, gammaln, softmax

import bayescm as bcm
from bayescm.posteriors import noisy_labels

REFERENCE = Path(__file__).parents[1] / "reference"
RNG = np.random.default_rng(5)
SIZE = 400
TRUTH = RNG.random(SIZE) < 0.35
RATES = {"ann": 0.9, "bob": 0.8, "eve": 0.75, "llm": 0.85}
SAID = {name: np.where(RNG.random(SIZE) < rate, TRUTH, ~TRUTH) for name, rate in RATES.items()}


@pytest.mark.long
def test_rates_against_the_unseen_truth_are_found():
    evidence = bcm.from_raters(SAID)
    ends = bcm.interval(evidence, ["recall", "f1", "prevalence"])
    for rater, answers in SAID.items():
        truth = bcm.measure(bcm.from_predictions(TRUTH, answers), ["recall", "f1", "prevalence"])
        for name, number in truth.items():
            low, high = ends.sel(classifier=rater, measure=name).values
            assert low - 0.03 < float(number) < high + 0.03, (name, rater)
    effective = re.search(r"\((.*) effective\)", ends.attrs["how"])[1]
    # A thousand left bounds off by a fifth of a standard deviation.
    assert float(effective.replace(",", "")) > 1_500
    row = bcm.compare(evidence, "accuracy", reference="eve").iloc[0]
    assert row["paired"]
    assert row["p_better"] > 0.95


def test_the_anaesthetists_of_dawid_and_skene():
    # 45 patients, classes of fitness 1 to 4; the first observer judged each patient three times.
    table = pd.read_csv(REFERENCE / "anaesthetists.csv", index_col="patient")
    others = table.columns[3:]
    raters = {"first": table[table.columns[:3]]} | {each: table[each] for each in others}
    prevalence, rates = noisy_labels(bcm.from_raters(raters)).votes.most_likely()
    (prevalence,) = prevalence
    np.testing.assert_allclose(prevalence, [0.40, 0.42, 0.11, 0.07], atol=0.0051)
    np.testing.assert_allclose(
        rates[0, 1:3], [[0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0]], atol=0.01
    )
    np.testing.assert_allclose(rates[0, 3], [0, 0, 0.56, 0.44], atol=0.01)


@pytest.mark.long
def test_gold_labels_make_a_class_known_and_identify_two_raters():
    gold = [bool(each) if place < 80 else None for place, each in enumerate(TRUTH)]
    two = {name: SAID[name] for name in ("ann", "bob")}
    with pytest.raises(ValueError, match="nothing identifies which labels are right"):
        bcm.from_raters(two)
    evidence = bcm.from_raters(two, gold=gold)
    low, high = bcm.interval(evidence, "recall").sel(classifier="ann").values
    assert low < 0.9 < high
    posterior = noisy_labels(evidence)
    chances = posterior.true_classes(500, RNG)[evidence["pattern_of"].values]
    np.testing.assert_array_equal(chances[:80, 1] > 0.5, TRUTH[:80])
    assert ((chances[:80] == 0) | (chances[:80] == 1)).all()


def enumerated_draws(counts, size, rng):
    """Draw the prevalence and the rates (size, 7) given enumerated numbers of true positives."""
    votes = np.array(list(product((0, 1), repeat=3)))
    positive = np.indices(np.array(counts) + 1).reshape(len(counts), -1).T  # of each pattern
    negative = np.array(counts) - positive
    shapes = [(1 + positive.sum(1), 1 + negative.sum(1))]
    shapes += [(2 + negative @ (1 - rater), 1 + negative @ rater) for rater in votes.T]
    shapes += [(2 + positive @ rater, 1 + positive @ (1 - rater)) for rater in votes.T]
    logs = -(gammaln(positive + 1) + gammaln(negative + 1)).sum(1)
    logs += sum(betaln(*shape) for shape in shapes)
    way = rng.choice(len(logs), size, p=softmax(logs))
    draws = np.stack([rng.beta(a[way], b[way]) for a, b in shapes], axis=1)
    return draws[draws[:, 1:].mean(1) > 0.5]  # raters are right more often than not


@pytest.mark.long
def test_limits_of_few_examples_are_those_of_enumerated_classes():
    counts = [4, 2, 2, 2, 1, 2, 2, 5]  # of the votes 000, 001, ..., 111
    votes = np.repeat(list(product((0, 1), repeat=3)), counts, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of three raters
        evidence = bcm.from_raters(dict(zip("abc", votes.T.tolist(), strict=True)))
    share, *rates = enumerated_draws(counts, 100_000, np.random.default_rng(1)).T
    positive, negative = share * rates[3], (1 - share) * (1 - rates[0])
    expected = {"prevalence": share, "precision": positive / (positive + negative)}
    for measure, draws in expected.items():
        ends = bcm.interval(evidence, measure, kind="eti").sel(classifier="a").values
        # A proposal of one component left the lower limits at .070 and .086.
        np.testing.assert_allclose(ends, np.quantile(draws, [0.025, 0.975]), atol=0.03)


def test_three_raters_come_with_a_caution():
    with pytest.warns(UserWarning, match="assumes that raters err independently"):
        bcm.from_raters({name: SAID[name] for name in ("ann", "bob", "eve")})


@pytest.mark.long
def test_model_and_direct_posterior_are_one_density():
    evidence = bcm.from_raters(SAID, predicted={"model": np.where(TRUTH, TRUTH, SAID["bob"])})
    posterior = noisy_labels(evidence, dependence=0)
    drawn = posterior.variables(3, np.random.default_rng(1))
    model = remove_value_transforms(bcm.models.noisy_labels(evidence, dependence=0))
    function = model.compile_logp(jacobian=False, mode=Mode("py", None))
    points = [{name: drawn[name][i] for name in ("prevalence", "rates")} for i in range(3)]
    gaps = [float(function(point)) - posterior.log_density(point) for point in points]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def test_raters_that_contradict_the_gold_labels_are_warned_of():
    gold = [int(not each) if place < 20 else None for place, each in enumerate(TRUTH)]
    with pytest.warns(UserWarning, match="same class coding as the raters"):
        bcm.from_raters(SAID, gold=gold)


@pytest.mark.long
def test_gold_labels_name_the_classes_where_most_raters_are_mostly_wrong():
    rates = {"ann": 0.85, "bob": 0.3, "eve": 0.25}
    said = {name: np.where(RNG.random(SIZE) < rate, TRUTH, ~TRUTH) for name, rate in rates.items()}
    gold = [bool(each) if place < 30 else None for place, each in enumerate(TRUTH)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # by chance fewer of these may agree with the gold labels
        posterior = noisy_labels(bcm.from_raters(said, gold=gold), dependence=0)
    drawn = posterior.variables(400, np.random.default_rng(1))
    right = np.diagonal(drawn["rates"], axis1=-2, axis2=-1).mean((0, 2))
    np.testing.assert_allclose(right, list(rates.values()), atol=0.15)  # turned round: off by .5
    model = remove_value_transforms(bcm.models.noisy_labels(posterior.ratings, dependence=0))
    function = model.compile_logp(jacobian=False, mode=Mode("py", None))
    points = [{name: drawn[name][i] for name in ("prevalence", "rates")} for i in range(3)]
    gaps = [float(function(point)) - posterior.log_density(point) for point in points]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def test_gold_labels_that_hardly_tell_are_warned_of():
    place = np.arange(100)
    truth = place % 2
    said = {name: truth ^ (place % 10 == 5 + r) for r, name in enumerate("abcd")}
    for name in "cd":
        said[name][4] ^= 1
    gold = [*(1 - truth[:3]), *truth[3:5], *[None] * 95]
    with pytest.warns(UserWarning, match="same class coding as the raters"):
        evidence = bcm.from_raters(said, gold=gold)
    with pytest.warns(UserWarning, match="hardly identify the classes"):
        assert noisy_labels(evidence).plug_in[1].shape == (4, 2, 2)


@pytest.mark.long
def test_more_classes_are_drawn_in_turn():
    truth = RNG.integers(0, 3, 300)
    said = {
        name: np.where(RNG.random(300) < rate, truth, RNG.integers(0, 3, 300))
        for name, rate in RATES.items()
    }
    evidence = bcm.from_raters(said)
    ends = bcm.interval(evidence, "accuracy", draws=800)
    for rater, answers in said.items():
        low, high = ends.sel(classifier=rater).values
        assert low - 0.03 < (answers == truth).mean() < high + 0.03
    tree = bcm.fit(evidence, draws=50, chains=1)
    assert tree.attrs["sampling_method"] == "gibbs"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"raters": {"a": [1, 0], "b": [1]}}, "equal numbers of examples"),
        ({"raters": {}}, "No raters"),
        ({"raters": {"a": [1, 0]}, "predicted": {"a": [1, 0]}}, "named twice"),
        ({"raters": {1: [1, 0], "1": [1, 0]}}, "named twice"),
        ({"raters": SAID, "labels": [False, 3]}, "mixed types"),
        ({"raters": SAID, "positive": "yes"}, "not among the labels"),
    ],
)
def test_bad_input_says_what_is_wrong(given, words):
    with pytest.raises(ValueError, match=words):
        bcm.from_raters(**given)


@pytest.mark.long
def test_two_tests_in_two_populations_as_hui_and_walter_printed():
    # Hui & Walter (1980), two tests for tuberculosis: their Table 1, and the estimates.
    cells = {"one": [14, 4, 9, 528], "two": [887, 31, 37, 367]}
    rows = [
        (place, *pair)
        for place, counts in cells.items()
        for pair, count in zip(((1, 1), (1, 0), (0, 1), (0, 0)), counts, strict=True)
        for _ in range(count)
    ]
    place, first, second = zip(*rows, strict=True)
    with pytest.warns(UserWarning, match="With two raters"):
        evidence = bcm.from_raters({"first": first, "second": second}, group=place)
    prevalence, rates = noisy_labels(evidence).votes.most_likely()
    np.testing.assert_allclose(prevalence[:, 1], [0.0268, 0.7168], atol=2e-4)
    np.testing.assert_allclose(rates[:, 0, 1], [0.0067, 0.0159], atol=2e-4)
    np.testing.assert_allclose(rates[:, 1, 0], [0.0339, 0.0312], atol=2e-4)
    ends = bcm.interval(evidence, "specificity")
    assert (ends.sel(bound="lower") > 0.96).all()


@pytest.mark.long
def test_errors_together_flatter_the_raters_and_four_of_them_show_it():
    rng, size = np.random.default_rng(7), 1500
    truth = rng.random(size) < 0.4
    hard = np.sqrt(0.4) * rng.standard_normal(size)
    said = {}
    for name in "abcde":
        right = hard + np.sqrt(0.6) * rng.standard_normal(size) < 0.84  # of four in five
        said[name] = np.where(right, truth, ~truth)
    evidence = bcm.from_raters(said)
    table = bcm.raters.assumed_dependence(evidence, "accuracy", dependence=(0, 0.4))
    means = table.groupby("dependence")["mean"].mean()
    assert means[0.0] > means[0.4] + 0.02
    assert means[0.4] == pytest.approx(0.8, abs=0.04)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # hardly identified
        drawn = noisy_labels(evidence, dependence=(1, 3)).variables(1000, rng)
    assert np.quantile(drawn["dependence"], 0.05) > 0.03


@pytest.mark.long
def test_the_model_knows_dependence_and_populations():
    said = {name: each[:24] for name, each in SAID.items()}
    evidence = bcm.from_raters(said, group=np.arange(24) % 2)
    posterior = noisy_labels(evidence)  # of four raters, the dependence is learned
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few examples hardly identify the rates
        drawn = posterior.variables(2, RNG)
    assert drawn["prevalence"].shape == (2, 2, 2)
    model = bcm.models.noisy_labels(evidence)
    logp = remove_value_transforms(model).compile_logp(jacobian=False, mode=Mode("py", None))
    names = ("prevalence", "rates", "dependence")
    points = [{name: drawn[name][place] for name in names} for place in range(2)]
    assert np.ptp([logp(each) - posterior.log_density(each) for each in points]) < 1e-4


def test_raters_are_the_columns_of_a_table_too():
    given = {"ann": [0, 1, 1, 0], "bob": [0, 1, 0, 0], "eve": [0, 1, 1, None]}
    with warnings.catch_warnings(action="ignore"):
        assert bcm.from_raters(pd.DataFrame(given)).identical(bcm.from_raters(given))


@pytest.mark.long
def test_a_summary_of_raters_has_the_usual_measures():
    few = {name: answers[:60] for name, answers in SAID.items()}
    table = bcm.summary(bcm.from_raters(few), draws=200)
    assert [*dict.fromkeys(table["measure"])] == bcm.summary(
        bcm.from_predictions(TRUTH, SAID["ann"])
    )["measure"].tolist()
    assert set(table["classifier"]) == set(SAID)


@pytest.mark.long
def test_every_example_has_its_classes():
    chances = bcm.raters.true_classes(bcm.from_raters(SAID))
    assert chances.dims == ("example", "actual")
    np.testing.assert_allclose(chances.sum("actual"), 1)
    most = chances.idxmax("actual").values
    votes = np.mean([each == TRUTH for each in SAID.values()], axis=1).max()
    assert np.mean(most == TRUTH) > votes - 0.02


def test_dependence_is_learned_where_most_examples_show_it():
    three = {name: SAID[name] for name in ("ann", "bob", "eve")}
    some = {**three, "llm": [bool(x) if i % 3 == 0 else None for i, x in enumerate(SAID["llm"])]}
    gold = [bool(TRUTH[0])] + [None] * (SIZE - 1)
    classes = {name: np.arange(SIZE) % 3 for name in SAID}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of three raters
        cases = [{"raters": SAID}, {"raters": three, "gold": gold}, {"raters": three}]
        cases += [{"raters": some}, {"raters": classes}]
        found = [noisy_labels(bcm.from_raters(**each)).dependence for each in cases]
    assert found == [(1, 9), (1, 9), 0, 0, 0]


@pytest.mark.parametrize("given", [1.0, -0.1, (1, 0)])
def test_dependence_out_of_range_is_refused(given):
    with pytest.raises(ValueError, match="dependence"):
        bcm.interval(bcm.from_raters(SAID), "recall", dependence=given)

"""Sets of ranks that hold jointly, and tiers that agree with the pairs."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.answers.compare import draw_measures
from bayescm.answers.ranks import rank_sets, tiers, told_apart
from bayescm.fitting.question import Question
from bayescm.measures import resolve

TRUTH = np.arange(240) % 5 < 2
RNG = np.random.default_rng(3)
ERRORS = {  # in each of four folds of sixty examples
    "a": [4, 3, 4, 4],
    "b": [6, 7, 5, 6],
    "c": [8, 8, 9, 7],
    "d": [11, 12, 12, 13],
    "e": [17, 19, 18, 18],
}
EQUALLY = {"a": [4, 3, 4, 4], "b": [6, 5, 6, 6]}  # two more in every fold
PLACES = np.tile(np.arange(60)[:, None], 4)
ANSWERS = {
    name: TRUTH ^ (RNG.permuted(PLACES, axis=0) < each).ravel() for name, each in ERRORS.items()
}
OUTCOMES = bcm.from_classifiers(TRUTH, ANSWERS, positive=True)
COUNTS = {
    name: bcm.from_cells(tp=60 - each, fn=each, fp=each, tn=70 - each)
    for name, each in zip("abcd", (2, 9, 13, 30), strict=True)
}
ROWS = [
    (f"set {i}", name, fold, 0.8 - sum(each) / 240 + effect + RNG.normal(0, 0.03))
    for i in range(8)
    for name, each in ERRORS.items()
    for effect in [RNG.normal(0, 0.03)]
    for fold in range(5)
]
RESULTS = bcm.from_results(
    pd.DataFrame(ROWS, columns=["data_set", "classifier", "fold", "error_rate"])
)
FOLDS = bcm.from_classifiers(TRUTH, ANSWERS, positive=True, by={"fold": np.arange(240) % 4})


def apart(table):
    """Return the pairs that share no tier, the better one first."""
    rows = list(table.sort_values("expected_rank").itertuples())
    return {
        (one.classifier, two.classifier)
        for one, two in combinations(rows, 2)
        if not set(one.tiers.split(", ")) & set(two.tiers.split(", "))
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("evidence", "measure", "options"),
    [
        (OUTCOMES, "f1", {"draws": 4000}),
        (OUTCOMES, "error_rate", {"draws": 4000}),
        (COUNTS, "recall", {"draws": 4000}),
        (RESULTS, None, {}),
        (FOLDS, "accuracy", {"draws": 4000}),
    ],
)
@pytest.mark.filterwarnings("ignore:.*same class totals:UserWarning")
def test_tiers_and_pairs_agree(evidence, measure, options):
    table = bcm.ranks(evidence, measure, **options)
    pairs = bcm.compare(evidence, measure, **options)
    better = {(row.first, row.second): row.p_better for row in pairs.itertuples()}
    better |= {(row.second, row.first): row.p_worse for row in pairs.itertuples()}
    separate = apart(table)
    assert separate
    assert len(separate) < len(pairs)
    assert min(better[pair] for pair in separate) > 0.95
    named = table.set_index("classifier")
    for name, row in named.iterrows():
        assert row["best_rank"] == 1 + sum(two == name for _, two in separate)
        assert row["worst_rank"] == len(named) - sum(one == name for one, _ in separate)
        assert row["best_rank"] - 0.1 < row["expected_rank"] < row["worst_rank"] + 0.1


@pytest.mark.parametrize("answer", [bcm.ranks, bcm.compare])
def test_the_same_difference_in_every_fold_is_no_certainty(answer):
    wrong = {name: (RNG.permuted(PLACES, axis=0) < each).ravel() for name, each in EQUALLY.items()}
    answers = {name: TRUTH ^ each for name, each in wrong.items()}
    folds = bcm.from_classifiers(TRUTH, answers, positive=True, by={"fold": np.arange(240) % 4})
    with pytest.warns(UserWarning, match="the same number in every fold"):
        answer(folds, "accuracy", draws=1000)
    paired = bcm.compare(folds, "accuracy", model="paired_folds", draws=1000)
    assert paired["sd"].min() > 0.01


def test_all_sets_hold_in_as_many_draws_as_asked():
    rng = np.random.default_rng(1)
    level = np.array([0, 0.1, 1.0, 3.0, 3.2, 7.0])
    mixing = np.sin(np.arange(1, 37)).reshape(6, 6) * [[0.1], [0.3], [0.2], [1], [0.4], [0.5]]
    draws = level + rng.gamma(2.0, size=(9000, 6)) @ mixing.T  # skewed, correlated, unequal
    ranks = 1 + (draws[:, None] > draws[..., None]).sum(-1)
    shares = []
    for prob in (0.5, 0.95):
        above = told_apart(draws, prob)
        low, high = rank_sets(above)
        shares.append(((low <= ranks) & (ranks <= high)).all(1).mean())
        assert above.sum() > 1
        assert not (above & above.T).any()
    assert shares[0] >= 0.5
    assert shares[1] >= 0.95


def test_members_share_a_tier_exactly_where_they_are_not_told_apart():
    rng = np.random.default_rng(4)
    for number in (1, 2, 7, 12):
        centre, reach = rng.normal(size=number), rng.uniform(0.05, 1.2, number)
        above = (centre - reach)[:, None] > centre + reach
        found = tiers(above, np.argsort(-centre))
        shared = np.zeros(above.shape, bool)
        for members in found:
            shared[np.ix_(members, members)] = True
        np.testing.assert_array_equal(shared, ~(above | above.T))
        assert len(found) <= number


def test_members_that_are_equal_or_certain():
    values = np.random.default_rng(0).normal(size=(500, 1)) + np.array([0.0, 0.0, 2.0])
    above = told_apart(values)
    np.testing.assert_array_equal(above, [[0, 0, 0], [0, 0, 0], [1, 1, 0]])
    assert not told_apart(np.empty((0, 3))).any()


# Of the next twelve examples many draws tie, and some ratios are infinite.
@pytest.mark.parametrize("measure", ["error_rate", "positive_likelihood_ratio", "f1"])
def test_those_who_tie_share_their_ranks_evenly(measure):
    asked = {"of": "predictive", "n": 12, "draws": 400, "random_seed": 2}
    drawn = draw_measures(OUTCOMES, measure, Question.of_keywords(**asked))
    values = resolve(measure).oriented(drawn[measure].transpose("draw", ...).values)
    values = values[~np.isnan(values).any(axis=1)]
    above = (values[:, :, None] > values[:, None]).sum(axis=1)  # how many are better than each
    tied = (values[:, :, None] == values[:, None]).sum(axis=1)
    assert (tied > 1).any()
    place = np.arange(5)[:, None, None]
    shares = np.where((above <= place) & (place < above + tied), 1 / tied, 0).mean(axis=1)
    with np.errstate(invalid="ignore"):  # infinite less infinite, in the expected loss
        table = bcm.ranks(OUTCOMES, measure, **asked)
    found = table[[f"rank_{place}" for place in range(1, 6)]].to_numpy()
    np.testing.assert_allclose(found, shares.T, atol=1e-12)
    np.testing.assert_allclose(table["p_best"], shares[0], atol=1e-12)


def test_no_tier_is_left_whose_pairs_share_others():
    apart = np.zeros((6, 6), bool)
    for one, two in ((0, 3), (0, 4), (0, 5), (1, 4), (2, 5), (3, 5)):
        apart[one, two] = True
    found = [set(each.tolist()) for each in tiers(apart, np.arange(6))]
    pairs = [set(combinations(sorted(each), 2)) for each in found]
    for place, own in enumerate(pairs):
        assert own - set().union(*pairs[:place], *pairs[place + 1 :])


@pytest.mark.parametrize("prob", [0, 1.2])
def test_other_probabilities_are_refused(prob):
    with pytest.raises(ValueError, match="prob"):
        bcm.ranks(OUTCOMES, "f1", prob=prob)


@pytest.mark.long
def test_ranks_of_results_agree_with_every_pair():
    """Robust locations do not add up, so that normal levels alone are .06 and more off."""
    rng = np.random.default_rng(8)
    spread = rng.uniform(0.01, 0.05, 6)[:, None]
    shape = 8, 6, 10
    runs = 0.8 + spread * rng.standard_t(3, (8, 6, 1)) + 0.03 * rng.standard_normal(shape)
    index = np.indices(shape).reshape(3, -1)
    columns = dict(zip(("data_set", "classifier", "fold"), index, strict=True))
    results = bcm.from_results(pd.DataFrame(columns | {"accuracy": runs.ravel()}))
    for of in ("parameter", "new"):
        table = bcm.ranks(results, of=of).set_index("classifier")
        pairs = bcm.compare(results, of=of)
        posterior = bcm.posteriors.hierarchical_differences(results)
        levels = posterior.draw(posterior.measured, 20_000, np.random.default_rng(1), of=of)[0]
        above = [(levels[:, i] > levels[:, j]).mean() for i, j in combinations(range(6), 2)]
        np.testing.assert_allclose(above, pairs["p_better"], atol=0.01)
        assert "caution" not in table.attrs
        for name, row in table.iterrows():
            least = [*pairs.loc[pairs["first"] == name, "p_better"]]
            least += [*pairs.loc[pairs["second"] == name, "p_worse"]]
            assert row["p_best"] < min(least) + 0.01


def test_of_two_classifiers_the_better_is_the_best():
    two = RESULTS.isel(classifier=[1, 2])
    table, (p_better,) = bcm.ranks(two), bcm.compare(two)["p_better"]
    np.testing.assert_allclose(table["p_best"], [p_better, 1 - p_better], atol=0.005)


@pytest.mark.long
def test_pairs_in_a_circle_are_cautioned_of_and_tell_none_apart():
    rng = np.random.default_rng(0)
    rows = [
        (data_set, name, fold, level + rng.normal(0, 0.02))
        for data_set in range(12)
        for name, level in zip(("ab", "bc", "ca")[data_set % 3], (0.85, 0.80), strict=True)
        for fold in range(5)
    ]
    results = pd.DataFrame(rows, columns=["data_set", "classifier", "fold", "accuracy"])
    with pytest.warns(UserWarning, match="No ranking of all classifiers agrees with every pair"):
        table = bcm.ranks(bcm.from_results(results))
    assert "No ranking of all classifiers agrees" in table.attrs["caution"]
    assert table["best_rank"].tolist() == [1, 1, 1]
    assert table["worst_rank"].tolist() == [3, 3, 3]
    assert table["tiers"].tolist() == ["1", "1", "1"]


@pytest.mark.long
def test_classifiers_of_a_mapping_are_ranked_within_each_data_set():
    answers = {"a": [1, 1, 0, 0] * 9, "b": [1, 0, 0, 0] * 9}
    both = bcm.from_classifiers([1, 1, 0, 0] * 9, answers)
    table = bcm.ranks({"one": both, "other": both}, "accuracy")
    assert table["data_set"].tolist() == ["one", "one", "other", "other"]
    alone = bcm.ranks(both, "accuracy")
    for name in ("one", "other"):
        of_member = table[table["data_set"] == name].drop(columns="data_set")
        pd.testing.assert_frame_equal(of_member.reset_index(drop=True), alone)


@pytest.mark.parametrize("prob", [0.5, 0.95])
def test_central_ranks_have_at_most_half_of_the_rest_on_either_side(prob):
    table = bcm.ranks(OUTCOMES, "f1", draws=4000, prob=prob)
    shares = table[[f"rank_{place}" for place in range(1, 6)]].to_numpy()
    place = np.arange(1, 6)
    for row, low, high in zip(shares, table["lower_rank"], table["upper_rank"], strict=True):
        tail = (1 - prob) / 2
        assert row[place < low].sum() <= tail + 1e-6
        assert row[place > high].sum() <= tail + 1e-6
        # And no rank could be left out.
        assert row[place <= low].sum() > tail - 1e-6
        assert row[place >= high].sum() > tail - 1e-6
    sets = table["worst_rank"] - table["best_rank"]
    assert (table["upper_rank"] - table["lower_rank"] <= sets).all()

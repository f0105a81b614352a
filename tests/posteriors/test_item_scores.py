"""The Dirichlet process of item scores, against betas, gamma draws and own formulas."""

import numpy as np
import pytest
from scipy import stats

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.posteriors import item_score_slices, item_scores
from bayescm.posteriors.item_score_slices import (
    extreme_slice,
    partially_pooled,
    partially_pooled_shares,
    spread_posterior,
)
from bayescm.posteriors.item_scores import dirichlet_mean

RNG = np.random.default_rng(3)
QUALITY = RNG.beta(3, 2, 80)
A = np.clip(QUALITY + RNG.normal(0, 0.1, 80), 0, 1)
B = np.clip(QUALITY + RNG.normal(-0.03, 0.1, 80), 0, 1)
TOPIC = np.arange(80) % 8
ONE = bcm.from_item_scores(A, range=(0, 1))
BOTH = bcm.from_item_scores({"a": A, "b": B}, range=(0, 1))


def test_scores_of_0_and_1_are_the_beta_of_jeffreys():
    right = np.repeat([1.0, 0.0], [17, 5])
    evidence = bcm.from_item_scores(right, range=(0, 1))
    beta = stats.beta(17.5, 5.5)
    for measure in ("mean", "share_above(0.5)"):
        distribution = bcm.distribution(evidence, measure)
        np.testing.assert_allclose(distribution.mean(), beta.mean(), atol=2e-3)
        np.testing.assert_allclose(
            distribution.interval(kind="eti"), beta.interval(0.95), atol=8e-3
        )


def test_moments_of_the_mean_are_those_of_gamma_draws():
    score, weight = RNG.random(9), RNG.integers(1, 4, 9) + 0.5
    draws = RNG.dirichlet(weight, 400_000) @ score
    moments = dirichlet_mean(score, weight)
    np.testing.assert_allclose(moments[:2], [draws.mean(), draws.std()], rtol=4e-3)
    assert moments[2] == pytest.approx(stats.skew(draws), abs=0.02)
    assert moments[3] == pytest.approx(stats.kurtosis(draws), abs=0.04)


@pytest.mark.long
def test_draws_follow_own_gamma_draws():
    weights = np.random.default_rng(1).gamma(np.r_[np.ones(80), 0.5, 0.5], size=(40_000, 82))
    atoms = np.r_[A, 0, 1]
    order = np.argsort(atoms)
    below = np.cumsum(weights[:, order], axis=1) / weights.sum(1, keepdims=True)
    own = {
        "mean": weights @ atoms / weights.sum(1),
        "median": atoms[order][(below < 0.5).sum(1)],
        "quantile(0.9)": atoms[order][(below < 0.9).sum(1)],
        "share_above(0.7)": weights @ (atoms > 0.7) / weights.sum(1),
    }
    square = weights @ atoms**2 / weights.sum(1)
    own["sd"] = np.sqrt(square - own["mean"] ** 2)
    for name, values in own.items():
        quantiles = bcm.distribution(ONE, name).quantile([0.1, 0.5, 0.9])
        error = 5 * values.std() / 100
        np.testing.assert_allclose(quantiles, np.quantile(values, [0.1, 0.5, 0.9]), atol=error)


def test_the_point_is_that_of_the_sample():
    table = bcm.summary(BOTH, ["mean", "sd", "share_above(0.7)"])
    expected = [x for f in (np.mean, np.std, lambda s: (s > 0.7).mean()) for x in (f(A), f(B))]
    np.testing.assert_allclose(table["point"], expected, rtol=1e-12)


def test_many_items_are_weighed_in_blocks_and_known_by_moments():
    scores = np.random.default_rng(5).beta(2, 5, 30_000)
    evidence = bcm.from_item_scores(scores, range=(0, 1))
    sd = bcm.distribution(evidence, "mean").sd()
    assert float(sd) == pytest.approx(scores.std() / 30_000**0.5, rel=1e-3)
    (draws,) = item_scores(evidence).draw(
        [resolve("mean", "item_scores")], 2000, np.random.default_rng(1)
    )
    assert draws.std() == pytest.approx(float(sd), rel=0.08)


def test_systems_are_paired_by_item():
    table = bcm.compare(BOTH, "mean", kind="eti")
    length = float(table["upper"][0] - table["lower"][0])
    t = stats.t.interval(0.95, 79, 0, stats.sem(A - B))
    assert bool(table["paired"][0])
    assert length == pytest.approx(t[1] - t[0], rel=0.05)
    apart = {"a": ONE, "b": bcm.from_item_scores(B, range=(0, 1))}
    independent = bcm.compare(apart, "mean", kind="eti")
    assert float(independent["upper"][0] - independent["lower"][0]) > 1.5 * length
    assert bcm.ranks(BOTH, "mean")["p_best"].iloc[0] > 0.9


@pytest.mark.parametrize("number", [3, 80])
@pytest.mark.parametrize("range_of_scores", [None, (0, 1)])
def test_two_copies_of_a_system_may_differ_in_other_items_and_are_warned_of(
    number, range_of_scores
):
    copies = bcm.from_item_scores({"a": A[:number], "b": A[:number]}, range=range_of_scores)
    for measure in ("mean", "sd", "share_above(0.5)"):
        with pytest.warns(UserWarning, match=f"a and b have equal scores on all {number} items"):
            row = bcm.compare(copies, measure).iloc[0]
        assert row["lower"] < -1e-3 < 1e-3 < row["upper"]
        assert row["p_better"] == pytest.approx(0.5, abs=0.02)


@pytest.mark.long
def test_pairs_are_dropped_where_one_of_them_is_missing():
    partial = A.copy()
    partial[:20] = np.nan
    dropped = bcm.from_item_scores({"a": partial, "b": B}, range=(0, 1), missing="drop pairs")
    common = bcm.from_item_scores({"a": A[20:], "b": B[20:]}, range=(0, 1))
    numbers = ["mean", "lower", "upper"]
    for measure in ("mean", "median"):
        both = [bcm.compare(evidence, measure)[numbers] for evidence in (dropped, common)]
        np.testing.assert_allclose(*both, atol=0.01)
    table = bcm.summary(dropped, "mean")
    assert table["point"].tolist() == pytest.approx([A[20:].mean(), B[20:].mean()])
    for answer in (table, bcm.compare(dropped, "mean"), bcm.ranks(dropped, "mean")):
        assert "Only the 60 of 80 items with scores of all systems" in answer.attrs["caution"]


def test_items_that_one_system_lacks_do_not_turn_the_result_round():
    quality = np.random.default_rng(2).random(60)
    hard = quality < 0.35
    worse = np.where(hard, np.nan, quality - 0.05)
    evidence = bcm.from_item_scores({"a": worse, "b": quality}, range=(-1, 1), missing="drop pairs")
    assert bcm.compare(evidence, "mean")["p_better"].item() < 0.02
    assert bcm.ranks(evidence, "mean")["p_best"].iloc[0] < 0.02
    assert (np.diff(bcm.summary(evidence, "mean")["mean"]) > 0).all()


def test_systems_without_a_common_item_are_refused():
    scores = {"a": [1.0, np.nan, 0.5], "b": [np.nan, 1.0, 0.2], "c": [0.1, 0.2, np.nan]}
    evidence = bcm.from_item_scores(scores, range=(0, 1), missing="drop pairs")
    with pytest.raises(ValueError, match="No item has a score of every system"):
        bcm.summary(evidence, "mean")
    two = bcm.compare(evidence.sel(classifier=["a", "b"]), "mean")
    assert "Only the 1 of 3 items" in two.attrs["caution"]


def test_errors_are_better_where_they_are_lower():
    errors = bcm.from_item_scores({"a": 1 - A, "b": 1 - B}, range=(0, 1), lower_is_better=True)
    table = bcm.compare(errors, "mean")
    assert table["p_better"][0] == pytest.approx(bcm.compare(BOTH, "mean")["p_better"][0])


def test_clusters_widen_intervals_and_say_where_they_are_few():
    score = 0.5 + 0.2 * np.sin(TOPIC)[:, None] + 0 * A[:, None]
    score = np.clip(score[:, 0] + RNG.normal(0, 0.05, 80), 0, 1)
    plain = bcm.interval(bcm.from_item_scores(score, range=(0, 1)), "mean")
    evidence = bcm.from_item_scores(score, range=(0, 1), group=TOPIC)
    population, finite = (bcm.interval(evidence, "mean", of=of) for of in ("population", "finite"))
    lengths = [float(each[1] - each[0]) for each in (finite, plain, population)]
    assert lengths == sorted(lengths)
    assert "8 clusters" in population.attrs["caution"]
    assert "caution" not in finite.attrs
    with pytest.raises(ValueError, match="at least 5 are needed"):
        bcm.interval(bcm.from_item_scores(A, group=TOPIC % 4), "mean")


def test_weights_that_are_counts_are_repetitions():
    whole = bcm.from_item_scores(
        A[:30], range=(0, 1), weights=np.arange(30) % 3 + 1, weights_are="counts"
    )
    repeated = bcm.from_item_scores(np.repeat(A[:30], np.arange(30) % 3 + 1), range=(0, 1))
    np.testing.assert_allclose(
        bcm.interval(whole, "mean"), bcm.interval(repeated, "mean"), atol=1e-3
    )


def test_importance_weights_are_those_of_a_ratio():
    weight = RNG.gamma(2, size=80)
    evidence = bcm.from_item_scores(A, weights=weight, weights_are="importance")
    mean = weight @ A / weight.sum()
    assert float(bcm.summary(evidence, "mean")["point"].iloc[0]) == pytest.approx(mean)
    error = np.sqrt((weight**2 * (A - mean) ** 2).sum()) / weight.sum()
    assert float(bcm.distribution(evidence, "mean").sd()) == pytest.approx(error, rel=0.05)
    heavy = bcm.from_item_scores(A, weights=weight**6, weights_are="importance")
    assert "items of equal weight" in bcm.interval(heavy, "mean").attrs["caution"]


def test_a_scale_without_ends_is_cautioned_of():
    assert (
        "range of the scores is unknown"
        in bcm.interval(bcm.from_item_scores(A[:20]), "mean").caution
    )
    same = bcm.interval(bcm.from_item_scores(np.ones(50)), "mean")
    assert "same score" in same.attrs["caution"]
    assert (
        "caution" not in bcm.interval(bcm.from_item_scores(np.ones(50), range=(0, 1)), "mean").attrs
    )


@pytest.mark.long
def test_slices_have_answers_of_their_own_and_are_pooled_for_gaps():
    sliced = bcm.from_item_scores({"a": A, "b": B}, range=(0, 1), by={"topic": TOPIC})
    table = bcm.summary(sliced, "mean").set_index(["topic", "classifier"])
    alone = bcm.interval(bcm.from_item_scores(A[TOPIC == 3], range=(0, 1)), "mean")
    np.testing.assert_allclose(
        table.loc[(3, "a"), ["lower", "upper"]].astype(float), alone, atol=0.015
    )
    gap = bcm.gap(sliced, "mean", dim="topic")
    assert (gap["point"] < gap["observed"]).all()
    worst = bcm.worst_slices(sliced.isel(classifier=0, drop=True), "mean", dim="topic")
    assert worst["examples"].tolist() == [10] * 8
    assert set(worst["topic"]) == set(range(8))


def test_partial_pooling_is_the_normal_model():
    y, sd = np.array([0.3, 0.5, 0.55, 0.7]), np.array([0.05, 0.04, 0.06, 0.05])
    rng = np.random.default_rng(2)
    apart = y + sd * rng.standard_normal((40_000, 4))
    pooled = partially_pooled(apart, 0.5, rng.random(40_000), rng.standard_normal(40_000))
    # The same by quadrature over spread and mean together.
    tau = np.linspace(0.0005, 2.5, 4000)[:, None]
    total = sd**2 + tau**2
    precision = (1 / total).sum(1)
    center = (y / total).sum(1) / precision
    log = stats.norm.logpdf(y, center[:, None], np.sqrt(total)).sum(1) - np.log(precision) / 2
    share = np.exp(log - (tau[:, 0] / 0.5) ** 2 / 2 - log.max())
    kept = tau**2 / total
    mean = (share / share.sum()) @ (kept * y + (1 - kept) * center[:, None])
    np.testing.assert_allclose(pooled.mean(0), mean, atol=2e-3)
    grid, probability = spread_posterior(y, sd**2, 0.5)
    assert grid @ probability == pytest.approx(
        float((share * tau[:, 0]).sum() / share.sum()), rel=0.02
    )


@pytest.mark.parametrize("size", [50, 5_000, 200_000])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_slices_with_small_errors_are_pooled_as_a_fine_grid_says(size, scale):
    """Standard errors far below the prior scale of the spread; 10 equal slices."""
    rng = np.random.default_rng(size)
    sd = 0.1 * scale / np.sqrt(size)
    y = 0.4 * scale + sd * rng.standard_normal(10)
    grid, share = spread_posterior(y, np.full(10, sd**2), 0.5 * scale)
    tau = np.linspace(0, 40 * sd, 200_001)[1:, None]
    total = sd**2 + tau**2
    center = y.mean()
    log = -((y - center) ** 2 / total).sum(1) / 2 - 4.5 * np.log(total[:, 0])
    log -= (tau[:, 0] / (0.5 * scale)) ** 2 / 2
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    for moment in (1, 2):
        assert grid**moment @ share == pytest.approx(float(weight @ tau[:, 0] ** moment), rel=0.01)
    below = float(weight[tau[:, 0] < sd].sum())
    assert share[grid < sd].sum() == pytest.approx(below, abs=0.02)


@pytest.mark.long
def test_many_equal_slices_with_small_errors_are_not_flagged():
    rng = np.random.default_rng(11)
    topic = np.repeat(np.arange(40), 500)
    scores = rng.uniform(0.3, 0.5, 20_000)
    evidence = bcm.from_item_scores(scores, range=(0, 1), by={"topic": topic})
    table = bcm.worst_slices(evidence, "mean", dim="topic", draws=1000)
    assert not table["flagged"].any()
    alone = scores.reshape(40, 500).mean(1)
    gap = bcm.gap(evidence, "mean", dim="topic", draws=1000)
    assert float(gap.point) < 0.4 * np.ptp(alone)


def test_a_slice_without_a_value_or_an_error_is_not_pooled():
    rng = np.random.default_rng(1)
    apart = np.array([0.3, 0.5, 0.7]) + 0.1 * rng.standard_normal((5000, 3))
    known, missing = np.full((5000, 1), 0.9), np.full((5000, 1), np.nan)
    numbers = {"uniform": rng.random(5000), "normal": rng.standard_normal(5000)}
    pooled = partially_pooled(np.hstack([apart, known, missing]), 0.5, **numbers)
    np.testing.assert_array_equal(pooled[:, :3], partially_pooled(apart, 0.5, **numbers))
    np.testing.assert_array_equal(pooled[:, 3], 0.9)
    assert np.isnan(pooled[:, 4]).all()
    shares = {"low": 0.0, "high": 1.0, "spread": 0.5, **numbers}
    pooled = partially_pooled_shares(np.hstack([apart, known, missing]), **shares)
    assert (pooled[:, 3] == 0.9).all()
    assert np.isnan(pooled[:, 4]).all()
    assert pooled[:, 0].mean() > apart[:, 0].mean()


@pytest.mark.parametrize(("size", "rate"), [(25, 0.7), (25, 0.95), (100, 0.95)])
def test_equal_proportions_are_not_taken_for_different_ones(size, rate):
    """On its own scale, a slice without an error would have the smallest standard error."""
    numbers = np.random.default_rng(2)
    hits = numbers.binomial(size, rate, 60)
    apart = numbers.beta(hits + 0.5, size - hits + 0.5, (2000, 60))
    shares = {"low": 0.0, "high": 1.0, "spread": 0.5}
    given = {"uniform": numbers.random(2000), "normal": numbers.standard_normal(2000)}
    pooled = partially_pooled_shares(apart, **shares, **given)
    # 60 equal proportions: the right spread is 0.
    assert np.quantile(np.ptp(pooled, axis=1), 0.05) < 0.25 * np.ptp(hits / size)
    assert pooled.mean() == pytest.approx(hits.mean() / size, abs=0.02)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: item_scores(ONE, concentration=-1), "concentration"),
        (
            lambda: item_scores(bcm.from_item_scores(A), concentration=2),
            "concentration needs the range of the scores",
        ),
        (lambda: item_score_slices(ONE), "no slices"),
        (lambda: bcm.interval(ONE, "f1"), "item scores.*quantile|not a measure of item scores"),
        (lambda: bcm.interval(ONE, "quantile(2)"), "quantile needs a proportion"),
        (
            lambda: bcm.interval(
                bcm.from_item_scores(A, range=(0, 1), group=np.arange(80) // 8), "mean", of="group"
            ),
            "item_score_slices",
        ),
        (lambda: bcm.interval(ONE, "share_above(x)"), "cannot read|mark"),
        (lambda: bcm.interval(ONE, "share_at_least(x)"), "cannot read|mark"),
        (lambda: bcm.interval(ONE, "share_at_least(-1)"), "inside the range"),
        (lambda: bcm.interval(ONE, "mean", of="finite"), "is not available"),
    ],
)
def test_what_is_refused(ask, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ask()


def judged(seed, correlation, scored=50, size=600):
    """Return people's scores of some items, and those of a judge of all."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((2, size))
    normal[1] = correlation * normal[0] + np.sqrt(1 - correlation**2) * normal[1]
    people = stats.beta(5, 2).ppf(stats.norm.cdf(normal[0]))
    people[rng.permutation(size)[scored:]] = np.nan
    return people, 3 * normal[1]


@pytest.mark.long
def test_a_good_judge_narrows_the_mean_and_a_bad_one_leaves_it():
    for correlation, most in ((0.9, 0.75), (0.0, 1.1)):
        people, judge = judged(1, correlation)
        both = bcm.interval(
            bcm.from_item_scores(people, judge=judge, range=(0, 1)), "mean", kind="eti"
        )
        alone = bcm.interval(
            bcm.from_item_scores(people[~np.isnan(people)], range=(0, 1)), "mean", kind="eti"
        )
        assert float(both[1] - both[0]) < most * float(alone[1] - alone[0])
        assert ("hardly correlated" in both.attrs.get("caution", "")) is (correlation == 0)


@pytest.mark.long
def test_the_mean_beside_a_judge_is_the_regression_estimator():
    people, judge = judged(2, 0.8)
    scored = ~np.isnan(people)
    slope = np.cov(people[scored], judge[scored], bias=True)[0, 1] / judge[scored].var()
    mean = people[scored].mean() + slope * (judge.mean() - judge[scored].mean())
    evidence = bcm.from_item_scores(people, judge=judge)
    assert float(bcm.summary(evidence, "mean")["point"].iloc[0]) == pytest.approx(mean)


@pytest.mark.long
def test_intervals_beside_a_judge_hold_the_mean():
    held = []
    for seed in range(30):
        people, judge = judged(seed, 0.7, scored=30, size=300)
        evidence = bcm.from_item_scores(people, judge=judge, range=(0, 1))
        low, high = bcm.interval(evidence, "mean", kind="eti", draws=300).values
        held.append(low < 5 / 7 < high)
    assert 0.85 < np.mean(held) <= 1


@pytest.mark.long
def test_systems_that_are_judged_are_compared_as_pairs():
    people, judge = judged(3, 0.9)
    other, its_judge = np.clip(people - 0.05, 0, 1), judge - 0.2
    evidence = bcm.from_item_scores(
        {"a": people, "b": other}, judge={"a": judge, "b": its_judge}, range=(0, 1)
    )
    row = bcm.compare(evidence, "mean").iloc[0]
    assert row["paired"]
    assert 0.04 < row["lower"] < row["upper"] < 0.06


def test_a_judge_must_have_scored_every_item():
    people, judge = judged(4, 0.9)
    for wrong, words in (
        ({"judge": judge[:-1]}, "The columns have different lengths"),
        ({"judge": np.where(np.arange(600), judge, np.nan)}, "missing"),
        ({"judge": judge, "missing": "worst"}, "cannot be combined"),
        (
            {"judge": judge, "group": np.arange(600) // 10},
            "A judge cannot be combined with clusters",
        ),
        ({"judge": "score"}, "judge can name a column only"),
    ):
        with pytest.raises(ValueError, match=words):
            bcm.from_item_scores(people, **wrong)
    people[np.flatnonzero(~np.isnan(people))[5:]] = np.nan
    with pytest.raises(ValueError, match="items are scored by people"):
        bcm.from_item_scores(people, judge=judge)


def test_systems_are_compared_by_their_means():
    scores = np.random.default_rng(2).random((2, 30))
    both = bcm.from_item_scores(dict(zip("ab", scores, strict=True)), range=(0, 1))
    assert bcm.compare(both)["measure"].tolist() == ["mean"]
    assert set(bcm.summary(both)["measure"]) == {"mean", "sd"}


def test_a_share_above_a_mark_is_strictly_above_it_and_says_so():
    marks = bcm.from_item_scores([1, 2, 3, 3, 4], range=(1, 5))
    assert bcm.summary(marks, "share_above(3)")["point"].item() == pytest.approx(0.2)
    assert bcm.measures.display_name("share_above(3)") == "share strictly above 3"


def test_a_share_at_least_a_mark_has_the_mark():
    marks = {"a": [1, 2, 3, 3, 4, 5] * 20, "b": [1, 4, 2, 3, 4, 4] * 20}
    rubric = bcm.from_item_scores(marks, range=(1, 5))
    table = bcm.summary(rubric, ["share_at_least(4)", "share_above(3)"])
    assert table["point"].tolist() == pytest.approx([1 / 3, 1 / 2, 1 / 3, 1 / 2])
    numbers = ["mean", "lower", "upper"]
    np.testing.assert_array_equal(table[numbers][:2], table[numbers][2:4])
    rows = bcm.compare(rubric, ["share_at_least(4)", "share_above(3)"])
    assert rows[numbers].iloc[0].tolist() == rows[numbers].iloc[1].tolist()
    draws = bcm.distribution(rubric, "share_at_least(4)", draws=4000).mean()
    np.testing.assert_allclose(draws, table["mean"][:2], atol=0.02)
    assert bcm.measures.display_name("share_at_least(4)") == "share at least 4"
    outcome = bcm.check(rubric, "share_at_least(4) > 0.01 @ 0.9", by="classifier")["outcome"]
    assert outcome.tolist() == ["met", "met"]


def test_systems_that_are_nearly_alike_are_warned_of():
    scores = np.random.default_rng(4).random(40)
    near = scores.copy()
    near[:5] = np.random.default_rng(5).random(5)
    copies, few = (
        bcm.from_item_scores({"a": scores, "b": other}, range=(0, 1)) for other in (scores, near)
    )
    for measure in ("median", "mean"):
        with pytest.warns(UserWarning, match="a and b have equal scores on all 40 items"):
            bcm.compare(copies, measure)
        with pytest.warns(UserWarning, match="differ in 5 of 40 items"):
            bcm.compare(few, measure)
    right = {"a": (scores > 0.5) * 1.0, "b": (near > 0.5) * 1.0}
    bcm.compare(bcm.from_item_scores(right, range=(0, 1)), "mean")  # by one and the same amount


# The joint posterior of several systems, against plain numpy


def brute_force(scores, weight, size, rng, low=0.0, high=1.0):
    """Return draws of mean, sd and median of several systems, (size, 3, K)."""
    systems, number = scores.shape
    largest = np.array(
        [
            min(np.abs(scores[k] - scores[j]).max() for j in range(systems) if j != k)
            for k in range(systems)
        ]
    )
    draws = np.empty((size, 3, systems))
    for s in range(size):
        gammas = np.r_[rng.gamma(weight), rng.gamma(0.5, size=4)]
        sides = [
            rng.permutation(np.repeat([-1, 1], [systems // 2, systems - systems // 2]))
            * rng.choice([-1, 1])
            for _ in range(2)
        ]
        centers = rng.choice(number, 2, p=weight / weight.sum())
        for k in range(systems):
            half = largest[k] / 2
            pseudo = [
                min(max(scores[k, center], low + half), high - half) + side[k] * half
                for center, side in zip(centers, sides, strict=True)
            ]
            atoms = np.r_[scores[k], low, high, pseudo]
            share = gammas / gammas.sum()
            order = np.argsort(atoms)
            mean = share @ atoms
            draws[s, 0, k] = mean
            draws[s, 1, k] = np.sqrt(share @ (atoms - mean) ** 2)
            draws[s, 2, k] = atoms[order][np.searchsorted(share[order].cumsum(), 0.5)]
    return draws


@pytest.mark.long
@pytest.mark.parametrize("systems", [2, 3])
def test_the_joint_draws_are_those_of_plain_numpy(systems):
    rng = np.random.default_rng(systems)
    scores = np.tile(rng.beta(3, 2, 15), (systems, 1))
    for system in range(1, systems):
        scores[system, system : system + 3] = rng.beta(3, 2, 3)
    weight = rng.integers(1, 3, 15).astype(float)
    names = "abc"[:systems]
    evidence = bcm.from_item_scores(
        dict(zip(names, scores, strict=True)), range=(0, 1), weights=weight, weights_are="counts"
    )
    posterior = item_scores(evidence)
    measures = [posterior.bound(resolve(name, "item_scores")) for name in ("mean", "sd", "median")]
    drawn = np.stack(posterior.draw(measures, 20_000, np.random.default_rng(1)), axis=1)
    own = brute_force(scores, weight, 5000, np.random.default_rng(2))
    with_differences = [
        np.concatenate([draws, draws[..., :1] - draws[..., 1:]], axis=2).reshape(len(draws), -1)
        for draws in (drawn, own)
    ]
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        at = np.quantile(with_differences[1], level, axis=0) + 1e-9
        shares = [(draws <= at).mean(axis=0) for draws in with_differences]
        np.testing.assert_allclose(*shares, atol=0.03)
    # The moments of one mean and of a difference
    mean = own[:, 0]
    distribution = posterior.exact_distribution(measures[0])
    np.testing.assert_allclose(distribution.mean(), mean.mean(0), atol=0.05 * mean.std(0).max())
    np.testing.assert_allclose(distribution.sd(), mean.std(0), rtol=0.04)
    of_pair = posterior._moments_of(scores, posterior.ends, weight, 0, 1)
    difference = mean[:, 0] - mean[:, 1]
    assert of_pair[2] == pytest.approx(difference.mean(), abs=0.05 * difference.std())
    assert of_pair[3] == pytest.approx(difference.std(), rel=0.04)
    assert of_pair[4] == pytest.approx(stats.skew(difference), abs=0.3)


@pytest.mark.parametrize("systems", [2, 5, pytest.param(20, marks=pytest.mark.long)])
def test_a_system_beside_others_is_known_as_well_as_alone(systems):
    rng = np.random.default_rng(systems)
    for number in (10, 100, 1000):
        quality = rng.beta(3, 2, number)
        scores = np.clip(quality + rng.normal(0, 0.12, (systems, number)), 0, 1)
        names = [f"s{k}" for k in range(systems)]
        evidence = bcm.from_item_scores(dict(zip(names, scores, strict=True)), range=(0, 1))
        posterior = item_scores(evidence)
        mean = posterior.bound(resolve("mean", "item_scores"))
        together = posterior.exact_distribution(mean)
        alone = [
            item_scores(evidence.sel(classifier=[name])).exact_distribution(mean).sd().item()
            for name in names
        ]
        np.testing.assert_allclose(together.sd(), alone, rtol=0.05)


def test_a_pair_among_ten_is_compared_as_well_as_alone():
    rng = np.random.default_rng(8)
    quality = rng.beta(3, 2, 40)
    near = np.where(np.arange(40) < 4, quality[::-1], quality)
    others = np.clip(quality + rng.normal(0, 0.3, (8, 40)), 0, 1)
    scores = {"a": quality, "b": near} | {f"s{k}": row for k, row in enumerate(others)}
    ten = item_scores(bcm.from_item_scores(scores, range=(0, 1)))
    two = item_scores(bcm.from_item_scores({"a": quality, "b": near}, range=(0, 1)))
    spreads = [
        posterior._moments_of(posterior.score, posterior.ends, posterior.weight, 0, 1)[3]
        for posterior in (ten, two)
    ]
    assert 0.7 < spreads[0] / spreads[1] < 1.3


def _slices_with_one_apart(kind, slices, distance, seed=0):
    """Return items of slices, 40 each, one of which is lower than all others."""
    rng = np.random.default_rng(seed)
    level = np.full(slices, 0.8)
    level[slices // 2] -= distance
    topic = np.repeat([f"t{index}" for index in range(slices)], 40)
    by, rate = {"topic": topic}, np.repeat(level, 40)
    if kind == "item scores":
        return bcm.from_item_scores(rng.beta(5 * rate, 5 * (1 - rate)), range=(0, 1), by=by)
    right = rng.random(len(rate)) < rate
    return bcm.from_attempts(right[:, None].astype(int), by=by)


@pytest.mark.parametrize("kind", ["item scores", "attempts"])
@pytest.mark.parametrize("ask", [bcm.gap, bcm.worst_slices])
def test_a_slice_unlike_all_others_comes_with_a_caution(kind, ask):
    keywords = {"dim": "topic", "draws": 500}
    apart = ask(_slices_with_one_apart(kind, 12, 0.5), "mean", **keywords)
    assert "by more than normal effects explain: t6" in apart.attrs["caution"]
    alike = ask(_slices_with_one_apart(kind, 12, 0), "mean", **keywords)
    assert "normal effects" not in alike.attrs.get("caution", "")


def test_the_extremes_of_many_slices_come_with_a_caution():
    found = bcm.gap(_slices_with_one_apart("item scores", 24, 0), "mean", dim="topic", draws=500)
    assert "extremes of 24 members of topic" in found.caution


def test_the_p_value_of_the_extreme_slice_is_rarely_small_by_chance():
    """The p-value is conservative: it is multiplied by the number of slices."""
    rng = np.random.default_rng(6)
    values = []
    for _ in range(200):
        effects = rng.normal(0, 0.1, 10)
        y = effects + rng.normal(0, 0.1, 10)
        draws = y + 0.1 * rng.standard_normal((400, 10))
        values.append(extreme_slice(draws, 0.5)[1])
    assert 0.005 < np.mean(np.array(values) < 0.05) < 0.1


@pytest.mark.parametrize("sizes", [2, 3])
def test_two_or_three_slices_have_no_extreme_one(sizes):
    draws = np.random.default_rng(7).normal([0, 5, 0][:sizes], 0.1, (400, sizes))
    assert extreme_slice(draws, 0.5) == (0, 1.0)

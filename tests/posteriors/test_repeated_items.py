"""The rates of items that were answered several times."""

from itertools import product

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy.special import gammaln, xlogy
from scipy.stats import beta, kstest

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.measures.attempts import Rates
from bayescm.posteriors.repeated_items import RATES_AND_WRONG, RATES_ONLY, SUPPORT

RNG = np.random.default_rng(5)
RATES = RNG.choice([0, 0.1, 0.8, 1], 60)
ANSWERS = (RNG.random((60, 8)) < RATES[:, None]).astype(float)


@pytest.fixture(scope="module")
def evidence():
    return bcm.from_attempts(ANSWERS)


PRIOR = np.full(21, 0.9 / 19)
PRIOR[[0, -1]] = 0.05
BOTH = ["population", "finite"]


def table(items):
    """Return answers, of pairs (right, made)."""
    made = max(number for _, number in items)
    rows = [[1.0] * right + [0.0] * (number - right) for right, number in items]
    return np.array([row + [np.nan] * (made - len(row)) for row in rows])


def drawn(evidence, names, of, size=1000, **keywords):
    posterior = bcm.posteriors.repeated_items(evidence, **keywords)
    measures = [resolve(name) for name in names]
    return posterior.draw(measures, size, np.random.default_rng(1), of=of)


def enumerated(likely, prior):
    """Return the posterior chance of every way that items may have sorts, and the counts of these.

    The chance of the sorts is Dirichlet-multinomial, in which the shares are integrated out.
    """
    items, sorts = likely.shape
    ways = np.array(list(product(range(sorts), repeat=items)))
    counts = np.zeros((len(ways), sorts))
    for sort in ways.T:
        counts[np.arange(len(ways)), sort] += 1
    log = gammaln(prior + counts).sum(1)
    chance = np.exp(log - log.max()) * likely[np.arange(items), ways].prod(1)
    return chance / chance.sum(), counts


def assert_moments(draws, chance, mean, square):
    """Check the first two moments of draws within five standard errors."""
    for power, exact in ((1, chance @ mean), (2, chance @ square)):
        error = (draws**power).std() / len(draws) ** 0.5
        assert abs((draws**power).mean() - exact) < 5 * error + 1e-12


def check_enumerated(evidence, values, likely, prior, size=1000):
    """Check draws of means over items of values of their sorts, of either estimand."""
    chance, counts = enumerated(likely, prior)
    items, total = len(likely), len(likely) + prior.sum()
    of_hand, of_all = (
        drawn(evidence, values, of, size, concentration=prior.sum())
        for of in ("finite", "population")
    )
    for each, here, everywhere in zip(values.values(), of_hand, of_all, strict=True):
        at_hand = counts @ each / items
        assert_moments(here, chance, at_hand, at_hand**2)
        # Given the sorts the shares are Dirichlet.
        mean = (prior + counts) @ each / total
        spread = ((prior + counts) @ each**2 / total - mean**2) / (total + 1)
        assert_moments(everywhere, chance, mean, spread + mean**2)


@pytest.mark.parametrize(
    ("items", "concentration"),
    [
        ([(1, 4)], 1.0),
        ([(5, 5)] * 3, 1.0),
        ([(0, 2), (3, 3), (1, 6)], 1.0),
        ([(2, 2), (0, 7), (0, 7)], 6.0),
    ],
)
def test_few_items_have_the_posterior_of_the_model(items, concentration):
    likely = np.array([SUPPORT**x * (1 - SUPPORT) ** (n - x) for x, n in items])
    values = {"mean": SUPPORT, "pass_at(2)": 1 - (1 - SUPPORT) ** 2, "pass_all(2)": SUPPORT**2}
    check_enumerated(bcm.from_attempts(table(items)), values, likely, concentration * PRIOR)


@pytest.mark.long
def test_few_items_have_the_posterior_of_the_model_of_votes():
    evidence = bcm.from_attempts(np.array([[0, 0, 1, 2, 3], [1, 1, 1, 2, 0]]), truth=np.zeros(2))
    posterior, votes = bcm.posteriors.repeated_items(evidence), resolve("majority_at(3)")
    likely = RATES_AND_WRONG.likelihood(posterior.patterns(RATES_AND_WRONG)[0])
    sorts = np.eye(len(RATES_AND_WRONG.support))
    rates = Rates(RATES_AND_WRONG.support, sorts, RATES_AND_WRONG.wrong)
    values = {"majority_at(3)": votes(rates)}
    check_enumerated(evidence, values, likely, RATES_AND_WRONG.prior, size=500)


def urn(items, chains, sweeps):
    """Draw sorts item by item, the shares integrated out (a Polya urn), one draw of each chain."""
    rng, row = np.random.default_rng(0), np.arange(chains)
    likely = np.array([SUPPORT**x * (1 - SUPPORT) ** (n - x) for x, n in items])
    own = np.array([rng.choice(21, chains, p=each / each.sum()) for each in likely])
    counts = np.zeros((chains, 21))
    np.add.at(counts, (np.tile(row, (len(items), 1)), own), 1)
    for _ in range(sweeps):
        for place, each in enumerate(likely):
            counts[row, own[place]] -= 1
            edges = ((PRIOR + counts) * each).cumsum(1)
            own[place] = (edges < rng.random((chains, 1)) * edges[:, -1:]).sum(1)
            counts[row, own[place]] += 1
    shares = rng.standard_gamma(PRIOR + counts)
    return {"population": shares / shares.sum(1, keepdims=True), "finite": counts / len(items)}


# Two samples of one distribution, of 1,000 draws each, are further apart than this once in 10,000
# times (Kolmogorov).
FAR = 2.23 * (2 / 1000) ** 0.5


def distance(first, second):
    """Return the largest distance between two empirical distributions."""
    at = np.sort(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(each), at + 1e-9) / len(each) for each in (first, second)]
    return np.abs(below[0] - below[1]).max()


@pytest.mark.parametrize(
    "items",
    [
        [(0, 2), (4, 4), (1, 6), (3, 5), (0, 8), (2, 3), (7, 8), (5, 5), (1, 2), (0, 6)],
        pytest.param(
            [(0, 4)] * 14 + [(1, 4)] * 6 + [(3, 4)] * 5 + [(4, 4)] * 8, marks=pytest.mark.long
        ),
    ],
    ids=["unequal", "many"],
)
def test_draws_are_those_of_another_sampler(items):
    wanted = urn(items, 1000, 80)
    names = ["mean", "pass_at(3)", "pass_all(3)", "majority_at(3)"]
    for of in BOTH:
        rates = Rates(SUPPORT, wanted[of])
        for name, draws in zip(
            names, drawn(bcm.from_attempts(table(items)), names, of), strict=True
        ):
            assert distance(draws, resolve(name)(rates)) < FAR, (name, of)


def test_the_bootstrap_is_not_the_posterior_of_few_items():
    """The negative control of the distances above."""
    items = [(0, 5)] * 5
    posterior = bcm.posteriors.repeated_items(bcm.from_attempts(table(items)))
    shares = posterior.bootstrap(RATES_ONLY, 4000, np.random.default_rng(0))[:, 0]
    passed = resolve("pass_at(3)")
    exact = passed(Rates(SUPPORT, urn(items, 4000, 40)["population"]))
    assert distance(passed(Rates(SUPPORT, shares)), exact) > 1.3 * FAR


@pytest.mark.long
def test_the_error_of_a_bound_is_how_far_seeds_differ(evidence):
    found = [
        bcm.interval(evidence, "pass_at(4)", kind="eti", random_seed=seed, draws=100)
        for seed in range(16)
    ]
    spread = np.std([each.values for each in found], axis=0, ddof=1).max()
    # The error bounds that of both ends in 95 of 100: 2.4 standard errors or somewhat more. Of 16
    # seeds a standard deviation errs by 18 %.
    assert 1.5 < np.mean([each.attrs["error"] for each in found]) / spread < 5


@pytest.mark.parametrize(
    ("of", "about"),
    [
        ("population", "all items like these"),
        pytest.param("new", "a new", marks=pytest.mark.long),
    ],
)
def test_fewer_than_six_items_are_cautioned_of(of, about):
    few, enough = (bcm.from_attempts(table([(1, 3)] * number)) for number in (5, 6))
    asked = {"of": of, "draws": 50}
    said = bcm.interval(few, "mean", **asked).attrs["caution"]
    assert said.startswith(f"5 items are few: what is said of {about}")
    assert bcm.summary(few, ["mean"], **asked).attrs["caution"] == said
    assert "caution" not in bcm.interval(enough, "mean", **asked).attrs
    assert "caution" not in bcm.interval(few, "mean", of="finite", draws=50).attrs
    both = bcm.from_attempts({"a": table([(1, 3)] * 2), "b": table([(2, 3)] * 2)})
    assert bcm.compare(both, "mean", **asked).attrs["caution"].startswith("2 items are few")
    assert "counts as 2.5 items" in bcm.interval(few, "mean", concentration=2.5, **asked).caution


@pytest.mark.long
@pytest.mark.slow
def test_a_fit_knows_that_answers_are_whole(evidence):
    tree = bcm.fit(evidence, draws=50, chains=2)
    assert tree.attrs["sampling_method"] == "gibbs"
    assert tree["log_likelihood"]["right"].sizes == {"chain": 2, "draw": 50, "item": 60}


@pytest.mark.long
def test_the_model_has_the_density_of_the_mixture():
    items = [(0, 2), (4, 4), (1, 6)]
    evidence = bcm.from_attempts(table(items))
    model = remove_value_transforms(bcm.models.repeated_items(evidence, concentration=2.0))
    logp = model.compile_logp(jacobian=False, mode=Mode("py", None))
    likely = np.array([SUPPORT**x * (1 - SUPPORT) ** (n - x) for x, n in items])
    share = np.random.default_rng(1).dirichlet(np.ones(21), 6)
    density = np.log(share @ likely.T).sum(1) + xlogy(2 * PRIOR - 1, share).sum(1)
    assert np.ptp([logp({"share": row}) for row in share] - density) < 1e-6


@pytest.mark.long
def test_the_items_at_hand_are_known_best_and_a_new_one_least(evidence):
    width = {
        of: np.ptp(bcm.interval(evidence, "pass_at(4)", of=of, kind="eti", draws=400).values)
        for of in ("finite", "population", "new")
    }
    assert width["finite"] < width["population"] < width["new"]
    points = bcm.distribution(evidence, ["mean", "pass_at(4)"], of="finite", draws=300).mean()
    unbiased = 1 - np.array([_none(8 - int(x)) for x in ANSWERS.sum(1)])
    assert float(points.sel(measure="pass_at(4)")) == pytest.approx(unbiased.mean(), abs=0.03)
    assert float(points.sel(measure="mean")) == pytest.approx(ANSWERS.mean(), abs=0.01)


def _none(wrong):
    """Return the chance that four of eight answers are all among the wrong ones."""
    return np.prod([max(wrong - each, 0) / (8 - each) for each in range(4)])


@pytest.mark.long
def test_systems_are_paired_by_their_items():
    harder = (RNG.random((60, 8)) < 0.9 * RATES[:, None]).astype(float)
    both = bcm.from_attempts({"a": ANSWERS, "b": harder})
    paired = bcm.compare(both, "mean", draws=300).iloc[0]
    alone = {"a": bcm.from_attempts(ANSWERS), "b": bcm.from_attempts(harder)}
    apart = bcm.compare(alone, "mean", draws=300)
    assert paired["paired"]
    assert paired["sd"] < 0.6 * apart["sd"][0]
    assert paired["mean"] == pytest.approx(ANSWERS.mean() - harder.mean(), abs=0.02)


@pytest.mark.long
def test_one_answer_does_not_tell_systems_apart():
    other = ANSWERS.copy()
    place = tuple(np.argwhere(other == 0)[0])
    other[place] = 1
    solved = {"a": np.ones((10, 3)), "b": np.ones((10, 5))}  # more attempts are no better answers
    for given in ({"a": ANSWERS, "b": other}, solved):
        row = bcm.compare(bcm.from_attempts(given), "mean", draws=100).iloc[0]
        assert 0.1 < row["p_better"] < 0.9
        assert row["lower"] < 0 < row["upper"]


def test_more_answers_than_there_are_is_refused(evidence):
    with pytest.raises(ValueError, match="sample 32 answers to each item"):
        bcm.interval(evidence, "pass_at(32)")
    with pytest.raises(ValueError, match="concentration must be positive"):
        bcm.interval(evidence, "mean", concentration=0)
    with pytest.raises(ValueError, match="not a measure of attempts"):
        bcm.interval(evidence, "f1")
    with pytest.raises(ValueError, match="pass_at needs a number"):
        bcm.interval(evidence, "pass_at(0)")
    with pytest.raises(ValueError, match=r"the measure trace failed.*It got .*attempts.Rates"):
        bcm.interval(evidence, np.trace)
    with pytest.raises(ValueError, match="not a measure of cells"):
        bcm.interval(bcm.from_cells(tp=1, fn=1, fp=1, tn=1), "pass_at(2)")


def test_a_fit_has_the_shares_of_all_rates(evidence):
    found = bcm.posteriors.repeated_items(evidence).variables(50, np.random.default_rng(0))["share"]
    assert found.shape == (50, 21)
    np.testing.assert_allclose(found.sum(1), 1)


@pytest.mark.long
def test_items_of_a_group_are_drawn_together():
    group = np.repeat(np.arange(12), 5)
    rng = np.random.default_rng(2)
    rates = np.repeat(rng.random(12), 5)
    table = (rng.random((60, 4)) < rates[:, None]).astype(float)
    grouped, alone = bcm.from_attempts(table, group=group), bcm.from_attempts(table)
    width = {
        name: float(bcm.interval(each, "mean", kind="eti", draws=500).diff("bound").item())
        for name, each in {"grouped": grouped, "alone": alone}.items()
    }
    # All items of a group are alike: twelve draws, and not sixty.
    means = table.reshape(12, -1).mean(1)
    normal = 2 * 2.2 * means.std(ddof=1) / 12**0.5  # of eleven degrees of freedom
    assert width["grouped"] == pytest.approx(normal, rel=0.2)
    assert width["grouped"] > 1.5 * width["alone"]
    few = bcm.from_attempts(table, group=np.repeat(range(4), 15))
    with pytest.raises(ValueError, match="too few groups of items"):
        bcm.interval(few, "mean")
    with pytest.raises(ValueError, match="drop_vars"):
        bcm.models.repeated_items(grouped)


@pytest.mark.long
def test_a_majority_of_answers_is_their_plurality(evidence):
    # No two wrong answers are equal: two right ones of three are enough, and one in a third.
    place = np.arange(1, 9) * np.ones((60, 1))
    apart = bcm.from_attempts(np.where(ANSWERS == 1, 0, place), truth=np.zeros(60))
    same = bcm.from_attempts(1 - ANSWERS, truth=np.zeros(60))
    found, asked = {}, {"of": "finite", "kind": "eti", "draws": 300}
    for name, each in {"apart": apart, "same": same, "half": evidence}.items():
        answer = bcm.interval(each, "majority_at(3)", **asked)
        found[name] = answer.mean().item(), answer.attrs["how"]
    p = RATES
    assert found["apart"][0] == pytest.approx(
        np.mean(p**3 + 3 * p**2 * (1 - p) + p * (1 - p) ** 2), abs=0.03
    )
    assert found["same"][0] == pytest.approx(found["half"][0], abs=0.01)
    assert found["apart"][0] > found["half"][0] + 0.01
    assert found["apart"][1].endswith("the plurality of the answers")
    assert found["half"][1].endswith("more than half right")
    half = bcm.interval(apart.drop_vars("answer"), "majority_at(3)", **asked)
    assert half.attrs["how"] == found["half"][1]
    # What is no vote does not go by the answers.
    means = [bcm.interval(each, "mean", draws=50) for each in (apart, evidence)]
    assert means[0].equals(means[1])


@pytest.mark.long
def test_pluralities_are_not_compared_with_majorities(evidence):
    known = bcm.from_attempts(1 - ANSWERS, truth=np.zeros(60))
    with pytest.raises(ValueError, match="the answers themselves are not known of b"):
        bcm.compare({"a": known, "b": evidence}, "majority_at(3)")
    assert len(bcm.compare({"a": known, "b": evidence}, "mean", draws=50)) == 1


@pytest.mark.long
def test_systems_are_paired_by_their_items_where_answers_are_known():
    wrong = RNG.integers(1, 4, ANSWERS.shape)
    first = np.where(ANSWERS == 1, 0, wrong)
    second = np.where(RNG.random(first.shape) < 0.2, 0, first)
    both = bcm.from_attempts({"a": first, "b": second}, truth=np.zeros(60))
    paired = bcm.compare(both, "majority_at(3)", draws=150).iloc[0]
    apart = bcm.compare({k: both.sel(classifier=k) for k in "ab"}, "majority_at(3)", draws=150)
    assert paired["sd"] < 0.7 * apart["sd"][0]
    assert paired["p_better"] < 0.05


# One attempt at each item


def single(right, items=60):
    """Return one answer to each item, so many of them right."""
    return bcm.from_attempts((np.arange(items) < right).astype(float)[:, None])


@pytest.mark.parametrize("right", [0, 6, 48])
def test_the_mean_of_single_answers_is_beta_and_depends_on_no_seed(right):
    exact = bcm.distribution(single(right), "mean")
    ends = beta(right + 0.5, 60 - right + 0.5).ppf([0.025, 0.975])
    answers = [bcm.interval(single(right), "mean", kind="eti", random_seed=seed) for seed in (0, 1)]
    for answer in answers:
        np.testing.assert_allclose(answer.values, ends, rtol=1e-6)
    assert exact.mean().item() == pytest.approx((right + 0.5) / 61)
    assert bcm.summary(single(right))["point"].item() == right / 60
    draws = drawn(single(right), ["mean"], "population", size=4000)[0]
    assert kstest(draws, beta(right + 0.5, 60 - right + 0.5).cdf).pvalue > 1e-3
    three = beta(right + 1.5, 60 - right + 1.5).ppf(0.025)
    answer = bcm.interval(single(right), "mean", kind="eti", concentration=3.0)
    assert answer.values[0] == pytest.approx(three, rel=1e-6)


def pair_of_single_answers():
    """Return answers to 60 items, of which the first alone has 9 right, the second alone 4."""
    kind = np.repeat(range(4), [30, 9, 4, 17])
    return {"a": kind < 2, "b": np.isin(kind, [0, 2])}


def test_a_difference_of_single_answers_is_of_the_items_that_one_system_has_right():
    answers = bcm.from_attempts(pair_of_single_answers())
    rows = [bcm.compare(answers, "accuracy", kind="eti", random_seed=seed) for seed in (0, 1)]
    numbers = ["mean", "lower", "upper", "p_better"]
    np.testing.assert_array_equal(rows[0][numbers], rows[1][numbers])
    share = np.random.default_rng(0).dirichlet([9.25, 4.25, 47.5], 400_000)
    difference = share[:, 0] - share[:, 1]
    expected = [
        difference.mean(),
        *np.quantile(difference, [0.025, 0.975]),
        (difference > 0).mean(),
    ]
    np.testing.assert_allclose(rows[0][numbers].to_numpy().ravel(), expected, atol=1e-3)
    # Draws of all systems at once, for ranks, are right by themselves as often.
    draws = drawn(answers, ["mean"], "population", size=20_000)[0]
    np.testing.assert_allclose(np.ptp(draws.mean(0)), expected[0], atol=1e-3)
    assert (draws[:, 0] - draws[:, 1]).std() == pytest.approx(difference.std(), rel=0.03)


@pytest.mark.parametrize(("measure", "of"), [("mean", "new"), ("pass_at(2)", "population")])
def test_differences_that_one_answer_to_each_does_not_tell_are_refused(measure, of):
    for group in (None, np.arange(60) // 5):
        answers = bcm.from_attempts(pair_of_single_answers(), group=group)
        with pytest.raises(ValueError, match=r"how items differ.*sample 2 answers to each"):
            bcm.compare(answers, measure, of=of, draws=100)


def test_systems_alike_in_all_single_answers_may_differ_in_others():
    alike = bcm.from_attempts({"a": np.arange(60) < 40, "b": np.arange(60) < 40})
    row = bcm.compare(alike, "mean").iloc[0]
    assert row["lower"] < 0 < row["upper"]
    assert row["p_better"] == pytest.approx(0.5)


def test_single_answers_in_slices_are_known_exactly_by_slice():
    topic = np.arange(60) % 2
    answers = pair_of_single_answers()
    sliced = bcm.from_attempts(answers, by={"topic": topic})
    alone = bcm.from_attempts({name: right[topic == 1] for name, right in answers.items()})
    of_topic = bcm.interval(sliced, "mean").sel(topic=1)
    np.testing.assert_allclose(of_topic.values, bcm.interval(alone, "mean").values)
    row, expected = bcm.compare(sliced, "mean").iloc[1], bcm.compare(alone, "mean").iloc[0]
    assert row[["mean", "lower", "upper"]].tolist() == pytest.approx(
        expected[["mean", "lower", "upper"]].tolist()
    )
    empty = {"topic": np.arange(60) // 30, "year": np.arange(60) // 30}
    means = bcm.distribution(bcm.from_attempts(answers, by=empty), "mean").mean()
    assert means.isel(classifier=0).isnull().values.tolist() == [[False, True], [True, False]]


def test_single_answers_in_groups_vary_with_these():
    answers = np.repeat(np.random.default_rng(3).random(12) < 0.6, 5)
    grouped = bcm.interval(bcm.from_attempts(answers, group=np.arange(60) // 5), "mean")
    alone = bcm.interval(bcm.from_attempts(answers), "mean")
    # Twelve items and not sixty: twice as wide and more
    assert 1.9 < (grouped.diff("bound") / alone.diff("bound")).item() < 2.8
    with pytest.raises(ValueError, match="too few groups of items"):
        bcm.interval(bcm.from_attempts(answers, group=np.arange(60) // 15), "mean")


@pytest.mark.long
@pytest.mark.parametrize(
    ("measure", "of"),
    [
        ("pass_at(2)", "population"),
        ("pass^2", "population"),
        ("majority_at(3)", "population"),
        ("variance_between", "population"),
        ("mean", "finite"),
        ("mean", "new"),
        (lambda rates: rates.mean(np.sqrt), "population"),
    ],
)
def test_one_attempt_does_not_tell_how_items_differ(measure, of):
    nearly = np.full((60, 2), np.nan)
    nearly[:, 0], nearly[:20, 1] = np.arange(60) % 2, 1
    for evidence in (single(30), bcm.from_attempts(nearly)):
        with pytest.raises(ValueError, match=r"how items differ.*sample \d answers to each"):
            bcm.interval(evidence, measure, of=of)
        assert bcm.interval(evidence, "mean", draws=100).notnull().all()


def test_one_attempt_is_not_fitted_or_planned_from():
    with pytest.raises(ValueError, match="shares of the rates are not known"):
        bcm.posteriors.repeated_items(single(30)).variables(10, RNG)
    with pytest.raises(ValueError, match="plan the number of items"):
        bcm.planning.plan_attempts(single(30), "mean")


@pytest.mark.long
def test_slices_have_answers_of_their_own():
    topic = np.arange(60) % 2
    both = {"a": ANSWERS, "b": ANSWERS[::-1]}
    sliced = bcm.from_attempts(both, by={"topic": topic})
    table = bcm.summary(sliced, ["mean", "pass@4"], draws=150)
    assert table[["topic", "classifier"]].drop_duplicates().shape == (4, 2)
    alone = bcm.from_attempts({name: answers[topic == 1] for name, answers in both.items()})
    expected = bcm.summary(alone, ["mean", "pass@4"], draws=150)
    rows = table[table["topic"] == 1]
    # The error of the mean of 150 draws of a standard deviation of .07 is .006.
    np.testing.assert_allclose(rows["mean"], expected["mean"], atol=0.03)
    np.testing.assert_array_equal(rows["point"], expected["point"])
    pairs = bcm.compare(sliced, "mean", draws=50)
    assert pairs["topic"].tolist() == [0, 1]
    assert pairs["paired"].all()
    across = bcm.compare(sliced, "mean", dim="topic", draws=50)
    assert not across["paired"].any()


@pytest.mark.long
def test_slices_without_items_are_undefined_and_have_no_model():
    crossed = {"topic": np.arange(60) // 30, "year": np.arange(60) // 30}
    sliced = bcm.from_attempts(ANSWERS, by=crossed)
    means = bcm.distribution(sliced, "mean", draws=50).mean()
    assert means.isnull().values.tolist() == [[False, True], [True, False]]
    with pytest.raises(ValueError, match="come in slices"):
        bcm.models.repeated_items(sliced)
    with pytest.raises(ValueError, match="a plan is of one slice"):
        bcm.planning.plan_attempts(sliced, "mean")


@pytest.mark.long
def test_systems_of_one_attempt_are_paired_by_their_items():
    rng = np.random.default_rng(3)
    # Both right, one alone, the other alone, none: rates .7 and .6, the answers correlated by .5.
    kind = rng.choice(4, 200, p=[0.532, 0.168, 0.068, 0.232])
    right = {"a": kind < 2, "b": np.isin(kind, [0, 2])}
    row = bcm.compare(bcm.from_attempts(right), "accuracy", draws=400).iloc[0]
    assert row["paired"]
    # The variance of a difference of pairs; the prior adds an item to 200.
    difference = right["a"].astype(float) - right["b"]
    assert row["mean"] == pytest.approx(difference.mean(), abs=0.01)
    assert row["sd"] == pytest.approx(difference.std() / 200**0.5, rel=0.17)
    apart = {name: bcm.from_attempts(answers) for name, answers in right.items()}
    assert bcm.compare(apart, "accuracy", draws=400)["sd"].item() > 1.2 * row["sd"]

"""The rates of items that were answered several times."""

from itertools import product

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy.special import betaln, gammaln
from scipy.stats import beta, kstest

import bayescm as bcm
from bayescm.inference import binomial_mixture
from bayescm.measures import resolve

RNG = np.random.default_rng(5)
RATES = RNG.choice([0, 0.1, 0.8, 1], 60)
ANSWERS = (RNG.random((60, 8)) < RATES[:, None]).astype(float)


@pytest.fixture(scope="module")
def evidence():
    return bcm.from_attempts(ANSWERS)


def table(items):
    """Return answers, of pairs (right, made)."""
    made = max(number for _, number in items)
    rows = [[1.0] * right + [0.0] * (number - right) for right, number in items]
    return np.array([row + [np.nan] * (made - len(row)) for row in rows])


def drawn(evidence, names, of, size=1000, **keywords):
    posterior = bcm.posteriors.repeated_items(evidence, **keywords)
    measures = [resolve(name) for name in names]
    return posterior.draw(measures, size, np.random.default_rng(1), of=of)


# The posterior of few items by brute force: a sum over all ways to divide the items among
# components, and over a grid of mu and rho. All else is integrated out.

INNER, END = 22, 0.02  # components between 0 and 1, and the prior share of the rates 0 and 1


def partitions(items):
    """Yield all ways to put items into sets."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for place, members in enumerate(smaller):
            yield [*smaller[:place], [first, *members], *smaller[place + 1 :]]


def powers(first, second, k):
    """Return the mean of (1 - q)^k for beta variables q."""
    return np.exp(betaln(first, second + k) - betaln(first, second))


def brute_force(items, concentration, k):
    """Return mean and variance of pass@k, of the items (finite) and of all items (population)."""
    angle, root = np.meshgrid((np.arange(60) + 0.5) / 60 * np.pi / 2, (np.arange(60) + 0.5) / 60)
    mu, phi = np.sin(angle) ** 2, 1 / root**4 - 1
    base = 0.5 + mu * phi, 0.5 + (1 - mu) * phi
    number, logs, moments = len(items), [], []
    of_inner = concentration * (1 - 2 * END) / INNER
    for sets in partitions(list(range(number))):
        for labels in product(("zero", "one", "inner"), repeat=len(sets)):
            inner = labels.count("inner")
            if labels.count("zero") > 1 or labels.count("one") > 1:
                continue
            log = gammaln(INNER + 1) - gammaln(INNER - inner + 1) + 0 * mu
            # Parameter of the Dirichlet, items, mean and mean square of the measure of components
            parts = {"zero": [concentration * END, 0, 0.0, 0.0]}
            parts["one"] = [concentration * END, 0, 1.0, 1.0]
            for place, (members, label) in enumerate(zip(sets, labels, strict=True)):
                right = sum(items[i][0] for i in members)
                wrong = sum(items[i][1] - items[i][0] for i in members)
                prior = of_inner if label == "inner" else concentration * END
                log = log + gammaln(prior + len(members)) - gammaln(prior)
                if label != "inner":
                    log = log + (0 if (right if label == "zero" else wrong) == 0 else -np.inf)
                    parts[label][1] = len(members)
                    continue
                first, second = base[0] + right, base[1] + wrong
                log = log + betaln(first, second) - betaln(*base)
                none, square = powers(first, second, k), powers(first, second, 2 * k)
                parts[place] = [of_inner, len(members), 1 - none, 1 - 2 * none + square]
            logs.append(log)
            none, square = powers(*base, k), powers(*base, 2 * k)
            empty = [of_inner, 0, 1 - none, 1 - 2 * none + square]
            moments.append(of_components([*parts.values(), *[empty] * (INNER - inner)], number))
    weight = np.exp(np.array(logs) - np.max(logs))
    weight /= weight.sum()
    mean, square = (
        (weight[:, None] * np.array(m)).sum((0, 2, 3)) for m in zip(*moments, strict=True)
    )
    return mean, square - mean**2


def of_components(parts, number):
    """Return the first two moments, both of the items and of all items, given the components."""
    prior, count, mean, square = zip(*parts, strict=True)
    spread = [b - a**2 for a, b in zip(mean, square, strict=True)]
    shares = [n / number for n in count]
    at_hand = sum(n * m for n, m in zip(shares, mean, strict=True))
    at_hand_square = at_hand**2 + sum(n**2 * v for n, v in zip(shares, spread, strict=True))
    weights = [p + n for p, n in zip(prior, count, strict=True)]
    total = sum(weights)
    first = sum(w * m for w, m in zip(weights, mean, strict=True))
    second = first**2
    second = second + sum(w**2 * v + w * s for w, v, s in zip(weights, spread, square, strict=True))
    whole = np.zeros((60, 60))
    firsts = np.array([at_hand + whole, first / total + whole])
    return firsts, np.array([at_hand_square + whole, second / (total * (total + 1)) + whole])


@pytest.mark.parametrize(
    ("items", "concentration"),
    [
        ([(1, 4)], 1.0),
        pytest.param([(0, 5)] * 3, 1.0, marks=pytest.mark.long),
        pytest.param([(0, 2), (3, 3), (1, 600)], 1.0, marks=pytest.mark.long),
        pytest.param([(2, 2), (0, 70), (0, 7), (3, 1000)], 6.0, marks=pytest.mark.long),
    ],
)
def test_few_items_have_the_posterior_of_the_model(items, concentration):
    evidence = bcm.from_attempts(table(items))
    kernels = {"mean": 1, "pass_at(2)": 2}
    for of, place in (("finite", 0), ("population", 1)):
        posterior = bcm.posteriors.repeated_items(evidence, concentration=concentration)
        drawn = posterior.mixtures(6000, np.random.default_rng(3))
        rates = posterior.rates(drawn, of, np.random.default_rng(4))
        for name, k in kernels.items():
            mean, variance = brute_force(items, concentration, k)
            draws = resolve(name)(rates)[:, 0]
            sd = variance[place] ** 0.5
            # Six standard errors of a mean of 2,400 independent draws or more
            assert abs(draws.mean() - mean[place]) < 6 * sd / 2400**0.5
            assert draws.std() == pytest.approx(sd, rel=0.1)


def of_prior(rng, items, attempts):
    """Return right answers to items with rates from the prior, and the true parameters."""
    prior = np.r_[END, END, np.full(INNER, (1 - 2 * END) / INNER)]
    mu, rho = np.sin(rng.uniform(0, np.pi / 2)) ** 2, max(rng.random() ** 4, 1e-7)
    phi = 1 / rho - 1
    rate = np.r_[0, 1, rng.beta(0.5 + mu * phi, 0.5 + (1 - mu) * phi, INNER)]
    weight = rng.dirichlet(prior)
    right = rng.binomial(attempts, rate[rng.choice(len(rate), items, p=weight)])
    return right, weight @ rate, mu, rho


@pytest.mark.long
def test_draws_are_calibrated():
    """Simulation-based calibration (Talts et al. 2018): ranks of true values are uniform."""
    rng, number = np.random.default_rng(1), np.array([3, 5, 8, 200, 2, 4, 60, 9, 10, 2, 40, 6.0])
    truths, kinds = [], []
    for _ in range(300):
        right, *truth = of_prior(rng, 12, number.astype(int))
        truths.append(truth)
        kinds.append(binomial_mixture.Items(right.astype(float), number, np.ones(12, int)))
    prior = np.r_[END, END, np.full(INNER, (1 - 2 * END) / INNER)]
    drawn = binomial_mixture.draw(kinds, prior, 100, rng, burn=100, chains=10, thin=10)
    variables = [(drawn.weight * drawn.rate).sum(-1), drawn.mu, drawn.rho]
    for draws, truth in zip(variables, np.transpose(truths), strict=True):
        ranks = (draws < truth).mean(0) + (draws == truth).mean(0) * rng.random(300)
        assert kstest(ranks, "uniform").pvalue > 1e-3


# Many attempts


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "attempts"),
    [([1, 2] * 5, 200), ([3, 4, 4, 6, 2, 5], 500), ([996, 998, 999] * 4, 1000)],
)
def test_the_mean_of_observed_items_is_as_uncertain_as_counting_makes_it(right, attempts):
    evidence = bcm.from_attempts(table([(x, attempts) for x in right]))
    drawn = bcm.distribution(evidence, "mean", of="finite")
    p, total = np.mean(right) / attempts, attempts * len(right)
    assert drawn.sd().item() == pytest.approx((p * (1 - p) / total) ** 0.5, rel=0.12)
    assert drawn.mean().item() == pytest.approx(p, abs=0.5 * drawn.sd().item())


@pytest.mark.long
def test_rare_successes_of_all_items_do_not_make_others_frequent():
    evidence = bcm.from_attempts(table([(1, 200)] * 10))
    lower, upper = bcm.interval(evidence, "mean").values
    assert lower < 0.005 < upper < 0.06
    # Items that are never or always solved are lumps, of which an unseen one may be at either end.
    lumps = bcm.interval(bcm.from_attempts(table([(0, 200)] * 8 + [(200, 200)] * 2)), "mean")
    assert lumps.values[0] < 0.06
    assert lumps.values[1] > 0.4


@pytest.mark.long
def test_observed_items_with_unequal_attempts():
    rng = np.random.default_rng(8)
    number = np.r_[rng.integers(2, 1000, 30), 1]
    rates = rng.uniform(0.2, 0.4, len(number))
    right = rng.binomial(number, rates)
    evidence = bcm.from_attempts(table(list(zip(right.tolist(), number.tolist(), strict=True))))
    means = bcm.distribution(evidence, ["mean", "pass@2"], of="finite", draws=1500).mean()
    assert means.sel(measure="mean").item() == pytest.approx(rates.mean(), abs=0.02)
    assert means.sel(measure="pass@2").item() == pytest.approx(
        np.mean(1 - (1 - rates) ** 2), abs=0.03
    )


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
        ("population", "the population of items"),
        pytest.param("new", "a new", marks=pytest.mark.long),
    ],
)
def test_fewer_than_six_items_are_cautioned_of(of, about):
    few, enough = (bcm.from_attempts(table([(1, 3)] * number)) for number in (5, 6))
    asked = {"of": of, "draws": 50}
    said = bcm.interval(few, "mean", **asked).attrs["caution"]
    assert said.startswith(f"With only 5 items, the estimate for {about}")
    assert bcm.summary(few, ["mean"], **asked).attrs["caution"] == said
    assert "caution" not in bcm.interval(enough, "mean", **asked).attrs
    assert "caution" not in bcm.interval(few, "mean", of="finite", draws=50).attrs
    both = bcm.from_attempts({"a": table([(1, 3)] * 2), "b": table([(2, 3)] * 2)})
    assert bcm.compare(both, "mean", **asked).attrs["caution"].startswith("With only 2 items")
    assert "worth 2.5 items" in bcm.interval(few, "mean", concentration=2.5, **asked).caution


@pytest.mark.long
@pytest.mark.slow
def test_a_fit_knows_that_answers_are_whole(evidence):
    tree = bcm.fit(evidence, draws=50, chains=2)
    assert tree.attrs["sampling_method"] == "gibbs"
    assert tree["log_likelihood"]["right"].sizes == {"chain": 2, "draw": 50, "item": 60}


@pytest.mark.long
@pytest.mark.parametrize("concentration", [1.0, 2.5])
def test_model_and_direct_posterior_have_the_same_density(concentration):
    items = [(0, 2), (4, 4), (1, 6), (3, 700)]
    evidence = bcm.from_attempts(table(items))
    asked = {"concentration": concentration}
    model = remove_value_transforms(bcm.models.repeated_items(evidence, **asked))
    logp = model.compile_logp(jacobian=False, mode=Mode("py", None))
    posterior = bcm.posteriors.repeated_items(evidence, **asked)
    rng = np.random.default_rng(1)
    points = [
        {"mu": mu, "rho": rho, "rate": rng.random(22), "share": rng.dirichlet(np.ones(24))}
        for mu, rho in rng.uniform(0.02, 0.98, (6, 2))
    ]
    constant = [logp(point) - posterior.log_density(point) for point in points]
    assert np.ptp(constant) < 1e-6
    # The other prior is another density.
    other = bcm.posteriors.repeated_items(evidence, concentration=4.0)
    assert np.ptp([logp(point) - other.log_density(point) for point in points]) > 0.1
    drawn = posterior.variables(3, rng)
    assert {name: values.shape[1:] for name, values in drawn.items()} == {
        "share": (24,),
        "rate": (22,),
        "mu": (),
        "rho": (),
    }


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


@pytest.mark.long
def test_more_answers_than_there_are_is_refused(evidence):
    with pytest.raises(ValueError, match="ollect at least 32 attempts per item"):
        bcm.interval(evidence, "pass_at(32)")
    with pytest.raises(ValueError, match=r"concentration must be a finite number >"):
        bcm.interval(evidence, "mean", concentration=0)
    with pytest.raises(ValueError, match="not a measure of attempts"):
        bcm.interval(evidence, "f1")
    with pytest.raises(ValueError, match="pass_at needs a number"):
        bcm.interval(evidence, "pass_at(0)")
    with pytest.raises(ValueError, match=r"The measure trace failed.*it got .*attempts.Rates"):
        bcm.interval(evidence, np.trace)
    with pytest.raises(ValueError, match="not a measure of cells"):
        bcm.interval(bcm.from_cells(tp=1, fn=1, fp=1, tn=1), "pass_at(2)")


@pytest.mark.long
def test_a_fit_has_the_shares_of_all_rates(evidence):
    found = bcm.posteriors.repeated_items(evidence).variables(50, np.random.default_rng(0))["share"]
    assert found.shape == (50, 24)
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
    with pytest.raises(ValueError, match="At least 5 groups of items"):
        bcm.interval(few, "mean")
    with pytest.raises(ValueError, match="drop_vars"):
        bcm.models.repeated_items(grouped)


@pytest.mark.long
@pytest.mark.parametrize("attempts", [3, 300])
def test_groups_of_items_that_are_never_or_always_solved_have_an_interval(attempts):
    """Shares of the grid must not round below 0 if mu and rho are at the ends of their range."""
    right = np.array([0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1])
    evidence = bcm.from_attempts(
        table([(x * attempts, attempts) for x in right]), group=np.arange(18) // 3
    )
    lower, upper = bcm.interval(evidence, "mean", draws=400).values
    assert 0 <= lower < 7 / 18 < upper <= 1


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
    with pytest.raises(ValueError, match="b does not contain the answers"):
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
        with pytest.raises(ValueError, match=r"attempts per item.*collect at least 2 attempts"):
            bcm.compare(answers, measure, of=of, draws=100)


def test_systems_alike_in_all_single_answers_may_differ_in_others():
    alike = bcm.from_attempts({"a": np.arange(60) < 40, "b": np.arange(60) < 40})
    row = bcm.compare(alike, "mean").iloc[0]
    assert row["lower"] < 0 < row["upper"]
    assert row["p_better"] == pytest.approx(0.5)


@pytest.mark.long
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
    with pytest.raises(ValueError, match="At least 5 groups of items"):
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
        with pytest.raises(ValueError, match=r"attempts per item.*collect at least \d attempts"):
            bcm.interval(evidence, measure, of=of)
        assert bcm.interval(evidence, "mean", draws=100).notnull().all()


def test_one_attempt_is_not_fitted_or_planned_from():
    with pytest.raises(ValueError, match="distribution of item rates needs at least two attempts"):
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
    with pytest.raises(ValueError, match="items are in slices"):
        bcm.models.repeated_items(sliced)
    with pytest.raises(ValueError, match="needs attempts of one slice"):
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


# Several systems on the same items


def near_copies(rng, items, share):
    """Return answers of two systems that differ in a share of the items, by chance."""
    rates = rng.beta(0.3, 0.5, items)
    first, again = (rng.random((2, items, 8)) < rates[:, None]).astype(float)
    differ = rng.random(items) < share
    return {"a": first, "b": np.where(differ[:, None], again, first)}


@pytest.mark.long
@pytest.mark.parametrize(("items", "share"), [(50, 0.03), (50, 0.1), (100, 0.01)])
def test_near_copies_are_seldom_told_apart(items, share):
    rng, verdicts = np.random.default_rng(6), 0
    for _ in range(40):
        evidence = bcm.from_attempts(near_copies(rng, items, share))
        row = bcm.compare(evidence, "mean", draws=400).iloc[0]
        verdicts += max(row["p_better"], row["p_worse"]) > 0.95
    # Nominal: 4 of 40. More than 9 would have a probability of 0.005 at a rate of 0.1.
    assert verdicts <= 9


@pytest.mark.long
def test_a_system_has_the_same_posterior_alone_and_with_others():
    rng = np.random.default_rng(7)
    answers = near_copies(rng, 40, 0.3) | {"c": (rng.random((40, 8)) < 0.4).astype(float)}
    together = bcm.summary(bcm.from_attempts(answers), ["mean", "pass@4"])
    for name in answers:
        alone = bcm.summary(bcm.from_attempts(answers[name]), ["mean", "pass@4"])
        with_others = together[together["classifier"] == name]
        np.testing.assert_allclose(with_others["mean"], alone["mean"], atol=0.01)
        lengths = (each["upper"] - each["lower"] for each in (with_others, alone))
        np.testing.assert_allclose(next(lengths), np.asarray(next(lengths)), rtol=0.1)


@pytest.mark.long
@pytest.mark.parametrize("of", ["population", "finite", "new"])
def test_comparisons_ranks_and_means_agree(of):
    rng = np.random.default_rng(9)
    rates = rng.beta(0.6, 0.6, 30)
    answers = {"a": rng.random((30, 6)) < rates[:, None]}
    answers |= {"b": rng.random((30, 6)) < rates[:, None] ** 0.8}
    evidence = bcm.from_attempts({name: table.astype(float) for name, table in answers.items()})
    asked = {"of": of, "draws": 1500, "random_seed": 3}
    row = bcm.compare(evidence, "mean", **asked).iloc[0]
    means = bcm.summary(evidence, "mean", **asked)["mean"]
    assert row["mean"] == pytest.approx(means[0] - means[1], abs=0.01)
    best = bcm.ranks(evidence, "mean", **asked).set_index("classifier")["p_best"]
    # A tie counts half for each of the two.
    assert best["a"] == pytest.approx(row["p_better"] + row["p_rope"] / 2, abs=0.02)


@pytest.mark.long
def test_the_difference_at_one_new_item_is_paired():
    """System b is better by 0.02 to 0.15 at every item, whose rates are anywhere."""
    rng = np.random.default_rng(3)
    rates = rng.uniform(0, 0.85, 100)
    better = rates + rng.uniform(0.02, 0.15, 100)
    both = {
        "a": rng.random((100, 400)) < rates[:, None],
        "b": rng.random((100, 400)) < better[:, None],
    }
    evidence = bcm.from_attempts({name: table.astype(float) for name, table in both.items()})
    row = bcm.compare(evidence, "mean", of="new", draws=1500).iloc[0]
    assert row["lower"] > -0.25
    assert row["upper"] < 0.1
    assert row["p_worse"] > 0.85
    # A single system has the posterior of one new item that it has alone.
    alone = bcm.from_attempts(both["a"].astype(float))
    draws = [
        posterior.draw([resolve("mean")], 4000, np.random.default_rng(2), of="new")[0].reshape(
            4000, -1
        )
        for posterior in map(bcm.posteriors.repeated_items, (evidence, alone))
    ]
    assert distance(draws[0][:, 0], draws[1][:, 0]) < 2.23 * (2 / 1600) ** 0.5


@pytest.mark.long
def test_systems_on_unrelated_items_are_not_paired_at_a_new_item():
    rng, ratio = np.random.default_rng(4), []
    for _ in range(8):
        rates = rng.uniform(0, 0.9, (2, 60))
        table = (rng.random((2, 60, 20)) < rates[..., None]).astype(float)
        evidence = bcm.from_attempts(dict(zip("ab", table, strict=True)))
        posterior = bcm.posteriors.repeated_items(evidence)
        draws = posterior.draw([resolve("mean")], 800, np.random.default_rng(1), of="new")[0]
        ratio.append((draws[:, 0] - draws[:, 1]).std() / np.hypot(*draws.std(axis=0)))
    assert 0.9 < np.mean(ratio) < 1.1


def distance(first, second):
    """Return the largest distance between two empirical distributions."""
    at = np.sort(np.concatenate([first, second]))
    below = [np.searchsorted(np.sort(each), at + 1e-9) / len(each) for each in (first, second)]
    return np.abs(below[0] - below[1]).max()


@pytest.mark.long
@pytest.mark.parametrize("attempts", [2, 3, 4])
def test_few_attempts_hardly_pair_systems_at_one_new_item(attempts):
    rng = np.random.default_rng(attempts)
    both = {name: rng.integers(0, 2, (12, attempts)).astype(float) for name in "ab"}
    row = bcm.compare(bcm.from_attempts(both), "mean", of="new", draws=100)
    assert ("Collect at least 4 attempts" in row.attrs.get("caution", "")) == (attempts < 4)
    alone = bcm.interval(bcm.from_attempts(both["a"]), "mean", of="new", draws=100)
    assert "caution" not in alone.attrs

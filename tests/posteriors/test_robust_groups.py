"""Robust groups beside their posterior written out: a sum over parameters, and over logits."""

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, xlogy

import bayescm as bcm
from bayescm.measures import resolve
from bayescm.posteriors.robust_groups import (
    NormalMixtureRates,
    draw_between_nodes,
    robust_groups,
)

SCALE, DEVIATION = 0.5, 1.2
LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


def many(number, deviating, seed):
    rng = np.random.default_rng(seed)
    totals = rng.integers(8, 90, number)
    logits = 1.1 + 0.15 * rng.standard_normal(number) - 1.3 * (np.arange(number) < deviating)
    return rng.binomial(totals, expit(logits)), totals


RATES = {
    "two alike": ([31, 17], [40, 25]),
    "two apart": ([47, 22], [50, 60]),
    "three large ones": ([2700, 2450, 2610], [3000, 3000, 3000]),
    "five, one of which deviates": ([52, 61, 20, 44, 57], [60, 70, 48, 50, 66]),
    "six without success": ([0] * 6, [4, 30, 12, 9, 21, 7]),
    "forty": many(40, 2, 5),
}


class WrittenOut:
    """The posterior of the recall of groups as a table of (tau, m, omega)."""

    def __init__(self, hits, totals):
        self.hits, self.totals = np.asarray(hits, float), np.asarray(totals, float)
        rate = (self.hits + 0.5) / (self.totals + 1)
        self.error = 1 / np.sqrt((self.totals * rate * (1 - rate)).max())
        edges = np.expm1(np.linspace(0, np.log(4 * SCALE / 0.002 + 1), 71)) * 0.002
        self.tau = (edges[1:] + edges[:-1]) / 2
        either = sum(ndtr(edges / scale) for scale in (SCALE, SCALE / 25))
        odds = np.linspace(-9, 3, 31)
        self.omega = expit((odds[1:] + odds[:-1]) / 2)
        prior = np.diff(either)[:, None, None] * -np.diff((1 - expit(odds)) ** 9)
        low, high = logit(rate).min() - 9, logit(rate).max() + 9
        for number in (81, 161, 401):
            self.m = np.linspace(low, high, number)
            taus = self.tau if number == 401 else self.tau[::7]
            beta = (self.m / 2 - np.logaddexp(0, self.m))[:, None]  # Beta(1/2, 1/2)
            logs = np.stack([self.log_likelihood(tau) + beta for tau in taus])
            kept = np.flatnonzero(logs.max((0, 2)) > logs.max() - 25)
            low, high = self.m[max(kept[0] - 1, 0)], self.m[min(kept[-1] + 1, number - 1)]
        self.mass = np.exp(logs - logs.max()) * prior
        self.mass /= self.mass.sum()

    def log_likelihood(self, tau):
        """Return the log likelihood (m, omega)."""
        wide = np.hypot(tau, DEVIATION / 2)
        alike = self.average(self.m, tau)
        apart = sum(self.average(self.m + off, wide) for off in (-DEVIATION, DEVIATION)) / 2
        return np.stack(
            [np.log((1 - omega) * alike + omega * apart).sum(1) for omega in self.omega], axis=1
        )

    def average(self, middle, scale):
        """Return the likelihoods (m, group) averaged over normal logits."""
        if scale < self.error / 2:
            nodes, weights = np.polynomial.hermite_e.hermegauss(15)
            parts = (self.likelihood(middle + scale * node) for node in nodes)
            return sum(w * part for w, part in zip(weights / weights.sum(), parts, strict=True))
        step = min(scale, self.error, 0.5) / 2.5
        x = np.arange(middle.min() - 7 * scale, middle.max() + 7 * scale, step)
        return step * normal(x, middle[:, None], scale) @ self.likelihood(x)

    def likelihood(self, x):
        """Return the likelihoods (x, group)."""
        share = self.hits / self.totals
        highest = xlogy(self.hits, share) + xlogy(self.totals - self.hits, 1 - share)
        logs = self.hits * x[:, None] - self.totals * np.logaddexp(0, x)[:, None]
        return np.exp(logs - highest)

    def typical(self, rate):
        """Return the probability that the typical rate is below."""
        return np.interp(logit(rate), self.m, self.below(self.mass.sum((0, 2))))

    def population(self, rate):
        """Return the probability that the rate averaged over all groups is below."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(31)
        total = 0.0
        for tau, mass in zip(self.tau, self.mass, strict=True):
            wide = np.hypot(tau, DEVIATION / 2)
            alike, down, up = (
                expit(self.m[:, None] + off + scale * nodes) @ weights / weights.sum()
                for off, scale in ((0, tau), (-DEVIATION, wide), (DEVIATION, wide))
            )
            for omega, each in zip(self.omega, mass.T, strict=True):
                rates = (1 - omega) * alike + omega * (down + up) / 2
                total += np.interp(rate, rates, self.below(each))
        return total

    def new(self, rate):
        """Return the probability that the rate of a new group is below."""
        total, tau = 0.0, self.tau[:, None]
        parts = ((0, tau, 1 - self.omega), *self.apart(tau))
        for off, scale, share in parts:
            total += (self.mass @ share * ndtr((logit(rate) - self.m - off) / scale)).sum()
        return total

    def apart(self, tau):
        """Give the components of groups that deviate."""
        wide = np.hypot(tau, DEVIATION / 2)
        return [(off, wide, self.omega / 2) for off in (-DEVIATION, DEVIATION)]

    @staticmethod
    def below(mass):
        return np.cumsum(mass) - mass / 2


def normal(x, middle, scale):
    return np.exp(-(((x - middle) / scale) ** 2) / 2) / (scale * np.sqrt(2 * np.pi))


def cells(hits, totals):
    hits, totals = np.asarray(hits), np.asarray(totals)
    rest = np.broadcast_to([40, 10], (len(hits), 2))
    return np.stack([rest, np.stack([totals - hits, hits], axis=-1)], axis=-2)


QUICK = ("two apart",)


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=[] if n in QUICK else pytest.mark.long) for n in RATES],
)
def written_out(request):
    return WrittenOut(*RATES[request.param])


@pytest.mark.long
@pytest.mark.parametrize("of", ["typical", "population", "new"])
def test_quantiles_are_those_of_the_integrals(written_out, of):
    """To .005 of the length of the 95% interval and a Monte Carlo standard error."""
    posterior = robust_groups(cells(written_out.hits, written_out.totals))
    size = 2**16
    draws = posterior.draw([resolve("recall")], size, np.random.default_rng(1), of=of)[0]
    quantiles = np.quantile(draws, LEVELS)
    off = 0.005 * (quantiles[-1] - quantiles[0])
    errors = np.sqrt(LEVELS * (1 - LEVELS) / size)
    below = getattr(written_out, of)
    for level, quantile, error in zip(LEVELS, quantiles, errors, strict=True):
        low, high = below(max(quantile - off, 1e-12)), below(quantile + off)
        assert low - error <= level <= high + error, (level, quantile)


@pytest.mark.long
def test_the_error_that_an_interval_states_is_not_less_than_that_which_it_has(written_out):
    counts = cells(written_out.hits, written_out.totals)
    found = bcm.interval(
        bcm.from_matrix(counts, dims=("group",)), "recall", model="robust_groups", kind="eti"
    )
    error = found.attrs["error"]
    for level, end in zip((0.025, 0.975), found.values, strict=True):
        low, high = (written_out.population(end + off) for off in (-1.5 * error, 1.5 * error))
        assert low <= level <= high
    # A bound of 95% on both ends is some 2.2 standard errors of each.
    assert error < 0.06 * (found[1] - found[0])


@pytest.mark.long
def test_every_draw_is_another_value():
    posterior = robust_groups(cells([18, 43, 30, 25], [20, 60, 35, 40]))
    measures = [resolve(name) for name in ("recall", "f1")]
    for of in ("typical", "population", "new", "finite"):
        for draws in posterior.draw(measures, 3000, np.random.default_rng(4), of=of):
            assert len(np.unique(draws)) == 3000


@pytest.mark.long
@pytest.mark.parametrize("spread", [0.01, 0.1, 0.3, 0.8])
def test_logits_of_groups_have_their_density_given_the_parameters(spread):
    """However narrow the spread is beside the steps of the grid."""
    hits, totals = np.array([40.0, 3.0, 300.0, 0.0]), np.array([50.0, 8.0, 480.0, 0.0])
    rates = NormalMixtureRates(hits, totals, np.full(2, 0.5), SCALE, DEVIATION)
    drawn = {"middle": np.array([1.2]), "spread": np.array([spread]), "outlying": np.array([0.1])}
    logits = rates.draw_logits(drawn, np.array([40_000]), np.random.default_rng(3))
    x = np.linspace(-7, 9, 64_001)
    wide = np.hypot(spread, DEVIATION / 2)
    prior = 0.9 * normal(x, 1.2, spread)
    prior += 0.05 * (normal(x, 1.2 - DEVIATION, wide) + normal(x, 1.2 + DEVIATION, wide))
    for column, hit, total in zip(logits.T, hits, totals, strict=True):
        logs = hit * x - total * np.logaddexp(0, x)
        below = np.cumsum(prior * np.exp(logs - logs.max()))
        levels = np.interp(np.quantile(column, LEVELS), x, below / below[-1])
        # Three standard errors of 40,000 independent draws.
        np.testing.assert_array_less(np.abs(levels - LEVELS), 3 * np.sqrt(0.25 / 40_000))


@pytest.mark.long
@pytest.mark.parametrize("number", [48, 80, 112])
def test_draws_with_the_same_parameters_for_several_groups_cover_the_whole_posterior(number):
    """The quasi-random points of the shared parameters are not all in one part of the cube."""
    rates = NormalMixtureRates(*many(number, 2, 5), np.full(2, 0.5), SCALE, DEVIATION)
    shared, plain = (
        rates.draw(4000, np.random.default_rng(7), groups=groups) for groups in (True, False)
    )
    for name in ("middle", "spread", "outlying"):
        ends = np.quantile(plain[name], LEVELS)
        below = (shared[name][:, None] <= ends).mean(axis=0)
        np.testing.assert_allclose(below, LEVELS, atol=0.01)


def test_small_deviations_are_no_deviations():
    hits, totals = np.array([40.0, 33.0]), np.array([50.0, 44.0])
    rates = NormalMixtureRates(hits, totals, np.full(2, 0.5), SCALE, 1e-4)
    drawn = {"middle": np.array([1.2]), "spread": np.array([0.05]), "outlying": np.array([0.9])}
    logits = rates.draw_logits(drawn, np.array([20_000]), np.random.default_rng(3))
    # The prior is much narrower than the likelihood: the mean moves by its slope times a variance.
    slope = hits - totals * expit(1.2)
    np.testing.assert_allclose(logits.mean(0), 1.2 + 0.05**2 * slope, atol=0.0015)
    np.testing.assert_allclose(logits.std(0), 0.05, rtol=0.03)


def test_kinds_of_densities_are_inverted_together_as_one_by_one():
    rng = np.random.default_rng(1)
    nodes = np.linspace(-3, 3, 41)
    root = np.sqrt(normal(nodes, rng.normal(0, 0.5, (5, 9, 1)), 0.7))
    count = np.array([3, 1, 4, 1, 5])
    uniform = rng.random((count.sum(), 9))
    together = draw_between_nodes(nodes[None], root, count, Uniform(uniform))
    ends = np.concatenate([[0], np.cumsum(count)])
    parts = [
        draw_between_nodes(
            nodes[None], root[[i]], count[[i]], Uniform(uniform[ends[i] : ends[i + 1]])
        )
        for i in range(5)
    ]
    np.testing.assert_allclose(together, np.concatenate(parts), rtol=1e-12)


def test_a_normal_density_between_coarse_nodes_keeps_its_moments():
    nodes = np.linspace(-6, 6, 17)
    root = np.sqrt(normal(nodes, 0.2, 1.0))[None, None]
    drawn = draw_between_nodes(nodes[None], root, np.array([400_000]), np.random.default_rng(5))
    assert drawn.mean() == pytest.approx(0.2, abs=0.005)
    assert drawn.std() == pytest.approx(1.0, abs=0.005)


class Uniform:
    """Uniform numbers that are chosen beforehand."""

    def __init__(self, numbers):
        self.numbers = numbers

    def random(self, shape):
        """Return them."""
        assert self.numbers.shape == tuple(shape)
        return self.numbers


@pytest.mark.long
def test_rates_drawn_from_the_prior_have_uniform_ranks():
    """Simulation-based calibration: 100 data sets of 2 to 15 groups, chi-squared of tenths."""
    rng, ranks = np.random.default_rng(7), []
    for _ in range(100):
        number = rng.integers(2, 16)
        middle = logit(np.clip(rng.beta(2, 1), 1e-12, 1 - 1e-12))
        spread = np.abs(rng.standard_normal()) * SCALE * rng.choice([1, 1 / 25])
        share = rng.beta(1, 9)
        wide = np.hypot(spread, DEVIATION / 2)
        odd = rng.random(number + 1) < share
        off = odd * DEVIATION * rng.choice([-1, 1], number + 1)
        scale = np.where(odd, wide, spread)
        logits = middle + off + scale * rng.standard_normal(number + 1)
        totals = rng.integers(4, 300, number)
        hits = rng.binomial(totals, expit(logits[:-1]))
        rates = NormalMixtureRates(
            hits.astype(float), totals.astype(float), np.array([2, 1]), 0.5, DEVIATION
        )
        drawn = rates.draw(999, rng, groups=True)
        true = {"middle": middle, "spread": spread, "outlying": share, "new": logits[-1]}
        below = [np.mean(drawn[name] < value) for name, value in true.items()]
        below += [
            np.mean(np.ptp(drawn["logits"], axis=1) < np.ptp(logits[:-1])),
            np.mean(drawn["logits"].min(1) < logits[:-1].min()),
        ]
        ranks.append(below)
    for column in np.transpose(ranks):
        counts = np.histogram(column, np.linspace(0, 1, 11))[0]
        # The .9999 quantile of chi-squared of nine degrees of freedom.
        assert ((counts - 10) ** 2 / 10).sum() < 33.7, counts

"""Partial pooling: its two limits, its integrals, and the bivariate model of meta-analysis."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from reference_cases import REFERENCE, data_file
from scipy.integrate import dblquad
from scipy.special import betaln, expit, logit
from scipy.stats import beta, multinomial, multivariate_normal, norm
from validation.meta_analysis import bivariate_binomial, bivariate_normal

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.answers.heterogeneity import shares_beyond_chance
from bayescm.distributions.empirical import Empirical
from bayescm.measures import resolve
from bayescm.papers.thesis import dependent_images
from bayescm.posteriors.logit_normal_groups import LogitNormalRates
from bayescm.simulation import generator

RNG = np.random.default_rng(6)
SITES = np.array([[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]], [[20, 5], [0, 0]]])
GROUPS = bcm.from_matrix(SITES, positive=1, dims=("group",))
MANY = RNG.integers(1, 15, (5, 3, 3)) + 12 * np.eye(3, dtype=int)


@pytest.mark.long
def test_each_group_may_be_asked_for():
    counts = bcm.from_matrix(SITES[:3], positive=1, dims=("group",))
    each = bcm.interval(counts, "recall", of="group", draws=2000)
    assert each.dims == ("group", "bound")
    alone = bcm.interval(counts, "recall", model="dirichlet_multinomial")
    assert np.ptp(each.mean("bound").values) < np.ptp(alone.mean("bound").values)
    assert bcm.summary(counts, "recall", of="group")["group"].tolist() == [0, 1, 2]


@pytest.mark.long
def test_draws_of_each_group_are_worth_no_more_than_the_parameters():
    posterior = posteriors.hierarchical_groups(
        bcm.from_matrix(SITES[:3], positive=1, dims=("group",))
    )
    assert posterior.by("group").effective_draws == posterior.effective_draws < 10_000


@pytest.mark.long
@pytest.mark.parametrize("cells", [SITES, MANY])
def test_no_variation_is_pooling(cells):
    posterior = posteriors.hierarchical_groups(cells, spread=1e-3)
    pooled = posteriors.dirichlet_multinomial(cells.sum(0))
    kernel = resolve("accuracy")
    (drawn,) = posterior.draw([kernel], 6000, np.random.default_rng(0))
    distribution = pooled.distribution(kernel)
    assert drawn.mean() == pytest.approx(distribution.mean(), abs=0.05 * distribution.sd())
    assert drawn.std() == pytest.approx(distribution.sd(), rel=0.06)


def test_infinite_variation_leaves_groups_to_themselves():
    cells = SITES[:3]
    (collection,) = posteriors.hierarchical_groups(cells).collections
    wide = np.array([[0.0, 0.0, np.log(30), np.log(30), 0.0]])
    effects = collection.rates.draw_effects(np.repeat(wide, 20_000, 0), np.random.default_rng(0))
    recall = expit(collection.rates.logits(np.repeat(wide, 20_000, 0), effects))[..., 0]
    alone = beta(cells[:, 1, 1], cells[:, 1, 0])  # flat in the logit
    np.testing.assert_allclose(recall.mean(0), alone.mean(), atol=0.003)
    np.testing.assert_allclose(recall.std(0), alone.std(), rtol=0.05)


@pytest.mark.long
def test_groups_are_drawn_towards_the_others():
    drawn = posteriors.hierarchical_groups(SITES).variables(6000, np.random.default_rng(0))
    recall = resolve("recall")
    shrunken = recall(drawn["theta_group"]).mean(0)
    raw = recall(SITES[:3])
    middle = recall(SITES.sum(0))
    assert (np.abs(shrunken[:3] - middle) < np.abs(raw - middle)).all()
    own = recall(drawn["theta_group"]).std(0)
    assert own[3] > own[:3].max()  # the site without positives: only the others speak for it
    new = recall(drawn["theta_new"])
    assert new.std() > recall(drawn["theta"]).std()


@pytest.mark.long
def test_the_integral_over_a_group():
    rates = LogitNormalRates(
        np.array([[7.0, 3.0]]), np.array([[9.0, 20.0]]), np.full((2, 2), 0.5), 1.0
    )
    point = np.array([[0.3, -0.6, np.log(0.9), np.log(1.4), np.arctanh(-0.4)]])
    covariance = [[0.81, -0.4 * 0.9 * 1.4], [-0.4 * 0.9 * 1.4, 1.96]]
    distribution = multivariate_normal([0.3, -0.6], covariance)

    def height(y, x):
        first = 7 * x - 9 * np.logaddexp(0, x)
        return np.exp(first + 3 * y - 20 * np.logaddexp(0, y)) * distribution.pdf([x, y])

    expected, _ = dblquad(height, -7, 7, -9, 7, epsabs=1e-14)
    found = rates.log_posterior(point) - rates.log_prior(point)
    assert found[0] == pytest.approx(np.log(expected), abs=1e-3)


@pytest.mark.long
def test_the_log_likelihood_of_a_group_has_its_effects_integrated_out():
    """Of whole matrices, against an average over effects drawn from their distribution."""
    two, sites = posteriors.hierarchical_groups(SITES), SITES.reshape(-1, 4)
    drawn = two.variables(3, np.random.default_rng(0))
    found = two.log_likelihood(drawn)
    assert found.dims == ("sample", "group")
    effects = np.random.default_rng(1).standard_normal((60_000, 3))
    for place in range(3):
        effect, rho = effects.copy(), drawn["correlation"][place]
        effect[:, 2] = rho * effect[:, 1] + (1 - rho**2) ** 0.5 * effect[:, 2]
        middle = logit(drawn["rates"][place]) + drawn["spread"][place] * effect
        share, recall, specificity = expit(middle).T
        rows = [(1 - share) * specificity, (1 - share) * (1 - specificity)]
        theta = np.stack([*rows, share * (1 - recall), share * recall], axis=1)
        logs = np.array([multinomial(each.sum(), theta).logpmf(each) for each in sites])
        heights = np.exp(logs)
        known, error = heights.mean(1), heights.std(1) / len(effects) ** 0.5
        assert (np.abs(np.exp(found[place].values) - known) < 5 * error).all()


def test_the_prior_is_what_it_says():
    rates = LogitNormalRates(
        np.zeros((2, 2)), np.zeros((2, 2)), np.array([[2.0, 3.0], [4.0, 1.5]]), 0.7
    )
    points = np.random.default_rng(0).normal(size=(4, 5))
    means, logs, turned = points[:, :2], points[:, 2:4], points[:, 4]
    expected = 0
    for rate, (a, b) in zip(means.T, rates.prior, strict=True):
        expected = expected + a * rate - (a + b) * np.logaddexp(0, rate) - betaln(a, b)
    expected = expected + (norm.logpdf(np.exp(logs), 0, 0.7) + np.log(2) + logs).sum(1)
    rho = np.tanh(turned)
    expected = expected + beta(2, 2).logpdf((1 + rho) / 2) - np.log(2) + np.log1p(-(rho**2))
    np.testing.assert_allclose(rates.log_prior(points), expected)
    np.testing.assert_allclose(rates.log_posterior(points), expected)  # no trials: no evidence


def log_of_model(model, points, names):
    """Return a PyMC model's log density of some free variables, at every draw."""
    of_names = [variable for variable in model.free_RVs if variable.name in names]
    function = model.compile_logp(vars=of_names, jacobian=False, mode=Mode("py", None))
    inputs = {variable.name for variable in function.f.maker.fgraph.inputs}
    free = {variable.name: points[variable.name] for variable in model.free_RVs}
    return [
        float(function({name: values[i] for name, values in free.items() if name in inputs}))
        for i in range(len(points["spread"]))
    ]


@pytest.mark.long
def test_the_prior_of_two_classes_is_that_of_the_model():
    model = remove_value_transforms(models.hierarchical_groups(GROUPS))
    posterior = posteriors.hierarchical_groups(GROUPS)
    points = posterior.variables(5, np.random.default_rng(0))
    rates, spread, rho = points["rates"], points["spread"], 2 * points["scaled_correlation"] - 1
    middle, logs = logit(rates), np.log(spread)
    (collection,) = posterior.collections
    share = np.stack([middle[:, 0], logs[:, 0]], axis=1)
    pair = np.column_stack([middle[:, 1:], logs[:, 1:], np.arctanh(rho)])
    direct = collection.shares.log_prior(share) + collection.rates.log_prior(pair)
    # From densities of logits, logs and atanh to those of rates, spreads and (1 + rho) / 2.
    direct -= np.log(rates * (1 - rates)).sum(1) + logs.sum(1) + np.log((1 - rho**2) / 2)
    of_model = log_of_model(model, points, ("rates", "spread", "scaled_correlation"))
    np.testing.assert_allclose(of_model, direct, atol=1e-6)


@pytest.mark.long
def test_the_density_of_more_classes_is_that_of_the_model():
    counts = bcm.from_matrix(MANY[:2], labels=list("abc"), dims=("group",))
    model = remove_value_transforms(models.hierarchical_groups(counts))
    posterior = posteriors.hierarchical_groups(counts)
    points = posterior.variables(5, np.random.default_rng(0))
    of_parts = [points["shares"]]
    of_parts += [np.stack([right, 1 - right], axis=-1) for right in points["right"].T]
    of_parts += [points["errors"][:, row] for row in range(3)]
    (collection,), direct = posterior.collections, 0.0
    spreads = np.log(points["spread"])
    for index, (hierarchy, shares) in enumerate(zip(collection.hierarchies, of_parts, strict=True)):
        parameters = np.column_stack([shares, spreads[:, index]])
        direct = direct + hierarchy.log_posterior(parameters) - spreads[:, index]
    names = ("shares", "right", "errors", "spread")
    function = model.compile_logp(jacobian=False, mode=Mode("py", None))
    of_model = [
        float(function({variable: points[variable][i] for variable in names})) for i in range(5)
    ]
    np.testing.assert_allclose(of_model - direct, (of_model - direct)[0], atol=1e-6)
    wider = posteriors.hierarchical_groups(counts, spread=2.0).collections[0].hierarchies[0]
    parameters = np.column_stack([points["shares"], spreads[:, 0]])
    moved = wider.log_posterior(parameters) - collection.hierarchies[0].log_posterior(parameters)
    assert np.ptp(moved) > 0.01


@pytest.mark.long
def test_weights_stay_even_for_two_classes():
    for cells in (SITES, SITES[:2], 100 * SITES):
        assert posteriors.hierarchical_groups(cells).effective_draws > 600


@pytest.mark.parametrize(
    "model", ["hierarchical_groups", pytest.param("robust_groups", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("of", ["group", "finite"])
def test_a_known_prevalence_is_that_of_each_group_too(model, of):
    sites = bcm.from_matrix(SITES[:3], dims=("group",), positive=1)
    rare = bcm.at_prevalence(sites, 0.01)
    options = {"of": of, "model": model, "draws": 1000}
    table = bcm.summary(rare, ["prevalence", "precision", "recall"], **options)
    table = table.set_index("measure")
    np.testing.assert_allclose(table.loc["prevalence", ["mean", "point"]].astype(float), 0.01)
    assert (table.loc["precision", ["mean", "point"]].astype(float) < 0.2).all(axis=None)
    own = bcm.summary(sites, "recall", **options)
    np.testing.assert_allclose(table.loc["recall", "mean"], own["mean"].squeeze())


@pytest.mark.long
def test_a_known_prevalence_moves_what_depends_on_it():
    posterior = posteriors.hierarchical_groups(SITES, prevalence=0.01)
    rng = np.random.default_rng(0)
    share, precision = posterior.draw([resolve("prevalence"), resolve("precision")], 500, rng)
    np.testing.assert_allclose(share, 0.01)
    assert precision.mean() < 0.1


@pytest.mark.long
def test_batches_are_collections_of_their_own():
    both = posteriors.hierarchical_groups(np.stack([SITES, SITES[::-1]]))
    drawn = both.variables(2000, np.random.default_rng(0))
    assert drawn["theta"].shape == (2000, 2, 2, 2)
    assert drawn["theta_group"].shape == (2000, 2, 4, 2, 2)
    recall = resolve("recall")(drawn["theta_group"]).mean(0)
    np.testing.assert_allclose(recall[0], recall[1][::-1], atol=0.02)


@pytest.mark.long
def test_intervals_use_the_groups_up():
    counts = bcm.from_matrix(SITES, labels=["well", "sick"], positive="sick", dims=("group",))
    ends = bcm.interval(counts, "recall", random_seed=0)
    assert ends.dims == ("bound",)
    pooled = bcm.interval(counts.sum("group"), "recall")
    assert float(ends.diff("bound")[0]) > float(pooled.diff("bound")[0])


BAD = {
    "one group": ((SITES[:1],), {}, "A dimension group with at least two groups"),
    "no group": ((SITES[0],), {}, "Confusion matrices must have the shape"),
    "spread": ((SITES,), {"spread": -1}, "spread must be a finite number > 0"),
    "concentration": ((SITES,), {"concentration": 0}, "concentration must be finite numbers >"),
    "prevalence": ((SITES,), {"prevalence": 1.5}, "prevalence"),
    "shares of two": ((SITES,), {"prevalence": [0.8, 0.2]}, "prevalence"),
    "shares of many": ((MANY,), {"prevalence": [0.5, 0.3, 0.2]}, "needs two classes"),
    "prevalence of many": ((MANY,), {"prevalence": 0.5}, "needs two classes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    given, keywords, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        posteriors.hierarchical_groups(*given, **keywords).draw(
            [resolve("accuracy")], 2, np.random.default_rng(0)
        )


def test_counts_without_groups_are_refused():
    with pytest.raises(ValueError, match="A dimension group with at least two groups"):
        bcm.interval(bcm.from_cells(tp=1, fn=1, fp=1, tn=1), "f1", model="hierarchical_groups")


@pytest.mark.long
@pytest.mark.parametrize("index", [48, 7, 21])
def test_extreme_groups_have_finite_draws(index):
    """Images whose pixels repeat each other: many are all positive, or wholly right or wrong."""
    counts, _ = dependent_images(generator(0, index), 0.95)
    posterior = posteriors.hierarchical_groups(counts.isel(batch=0).values)
    drawn = posterior.variables(500, np.random.default_rng(0))
    for name in ("rates", "spread", "theta", "theta_group", "theta_new"):
        assert np.isfinite(drawn[name]).all(), name
    assert posterior.effective_draws > 200


def test_the_integral_over_groups_far_from_typical():
    """All right, all wrong, and in between, where a typical group is nearly always right."""
    hits, totals = np.array([[87.0, 40], [0, 3], [52, 0], [0, 25]]), np.array([87.0, 62, 62, 25])
    totals = np.stack([totals, np.array([40.0, 60, 30, 25])], axis=1)
    rates = LogitNormalRates(hits, totals, np.full((2, 2), 0.5), 3.0)
    point = np.array([[3.5, 2.9, np.log(5.0), np.log(5.1), 0.0]])
    grid = np.linspace(-9, 9, 1201)
    distribution = norm.pdf(grid) * (grid[1] - grid[0])
    expected = 0.0
    for rate in range(2):  # independent, so that each is an integral of its own
        logits = point[0, rate] + np.exp(point[0, 2 + rate]) * grid
        heights = hits[:, [rate]] * logits - totals[:, [rate]] * np.logaddexp(0, logits)
        expected += np.log(np.exp(heights) @ distribution).sum()
    found = rates.log_posterior(point) - rates.log_prior(point)
    assert found[0] == pytest.approx(expected, abs=0.5)


@pytest.mark.long
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_wide_spreads_leave_the_weights_even(spread):
    counts, _ = dependent_images(np.random.default_rng([3, 0]), 0.95)
    posterior = posteriors.hierarchical_groups(counts.isel(batch=0).values, spread=spread)
    assert posterior.effective_draws > 1250  # half of the points


@pytest.mark.long
@pytest.mark.parametrize("scale", [1e-2, 1.0, 20.0])
def test_perfect_and_hopeless_groups(scale):
    cells = np.array([[[50, 0], [0, 50]], [[0, 50], [50, 0]], [[9, 0], [0, 0]]])
    drawn = posteriors.hierarchical_groups(cells, spread=scale).variables(
        400, np.random.default_rng(0)
    )
    assert all(np.isfinite(each).all() for each in drawn.values())


@pytest.mark.long
def test_the_average_over_groups_is_that_of_new_ones():
    posterior = posteriors.hierarchical_groups(np.concatenate([SITES, 3 * SITES[::-1]]))
    rng = np.random.default_rng(0)
    recall = resolve("recall")
    (average,) = posterior.draw([recall], 20_000, rng, of="population")
    drawn = posterior.variables(20_000, rng)
    assert average.mean() == pytest.approx(recall(drawn["theta_new"]).mean(), abs=0.01)
    typical = recall(drawn["theta_typical"]).mean()
    assert 0.5 < average.mean() < typical
    assert average.std() < recall(drawn["theta_new"]).std()
    assert recall(drawn["theta"]).mean() == pytest.approx(average.mean(), abs=0.005)


@pytest.mark.long
def test_the_model_averages_over_groups_as_its_direct_posterior_does():
    counts = bcm.from_matrix(SITES, labels=["sick", "well"], positive="well", dims=("group",))
    drawn = bcm.fit(counts, draws=40, chains=1)["posterior"].isel(chain=0)
    nodes = np.random.default_rng(0).standard_normal(200_000)
    for place in (0, 39):
        logits = logit(drawn["rates"].values[place])
        share, recall, specificity = expit(
            logits[:, None] + drawn["spread"].values[place][:, None] * nodes
        ).mean(1)
        expected = [[(1 - share) * specificity, (1 - share) * (1 - specificity)]]
        expected += [[share * (1 - recall), share * recall]]
        np.testing.assert_allclose(drawn["theta"].values[place], expected, atol=0.004)


@pytest.mark.long
def test_the_point_estimate_is_of_the_same_estimand():
    """Twelve sites of unequal sizes: the point estimates lie where the posterior does."""
    rng = np.random.default_rng(3)
    right = expit([[1.5], [2.0]] + 1.2 * rng.standard_normal((2, 12)))
    sizes = rng.integers(10, 400, (2, 12))
    (tn, tp), (n, p) = rng.binomial(sizes, right), sizes
    posterior = posteriors.hierarchical_groups(np.moveaxis([[tn, n - tn], [p - tp, tp]], -1, 0))
    for of in ("population", "typical", "finite"):
        for name in ("recall", "f1"):
            (drawn,) = posterior.draw([resolve(name)], 4000, rng, of=of)
            point = posterior.point(resolve(name), of)
            assert abs(point - drawn.mean()) < 0.75 * drawn.std(), (of, name)
    assert posterior.estimand_name("parameter") == "population"
    assert posterior.point(resolve("recall"), "typical") > posterior.point(resolve("recall"))


def test_the_point_estimate_weighs_small_groups_little():
    sizes = np.array([500, 400, 2])
    tp = np.array([450, 360, 0])
    cells = np.moveaxis([[sizes, 0 * tp], [sizes - tp, tp]], -1, 0)
    found = posteriors.hierarchical_groups(cells).point(resolve("recall"))
    assert 0.8 < found < 0.9
    rare = posteriors.hierarchical_groups(cells, prevalence=0.01)
    assert rare.point(resolve("prevalence")) == pytest.approx(0.01)


# Many groups, and large ones.

LARGE_SHARES = np.array(
    [
        [[0.345, 7e-6], [0.0345, 0.62]],
        [[0.362, 1e-5], [0.043, 0.58]],
        [[0.336, 2e-5], [0.027, 0.64]],
    ]
)


@pytest.mark.long
@pytest.mark.parametrize("size", [1e2, 1e6, 1e9])
def test_large_sites_have_finite_intervals_about_their_rates(size):
    sites = bcm.from_matrix(
        np.round(LARGE_SHARES * size), dims=("group",), labels=[0, 1], positive=1
    )
    found = bcm.interval(sites, "recall", of="finite")
    low, high = found.values
    assert np.isfinite(found.attrs["error"])
    rates = bcm.measure(sites, "recall")["recall"].mean().item()
    assert low < rates < high
    assert high - low < 4 * np.sqrt(0.05 / size)


def test_fewer_nodes_are_enough_for_many_groups():
    rng = np.random.default_rng(3)
    totals = rng.integers(0, 60, (300, 2))
    hits = rng.binomial(totals, expit(1.5 + 0.6 * rng.standard_normal((300, 2))))
    rates = LogitNormalRates(hits.astype(float), totals.astype(float), np.full((2, 2), 0.5), 1.0)
    known = np.array([1.5, 1.5, np.log(0.6), np.log(0.6), 0.0])
    points = known + [0.05, 0.05, 0.08, 0.08, 0.1] * rng.standard_normal((40, 5))
    off = rates.log_posterior(points) - rates.log_prior(points)
    off -= rates.log_likelihood(points).sum(1)
    assert off.std() < 0.02  # what they are off in common has no effect


@pytest.mark.long
def test_members_of_many_groups_are_drawn_less_often():
    few, many = (
        posteriors.hierarchical_groups(np.full((size, 2, 2), 5)).by("group") for size in (6, 900)
    )
    assert few.draws_by_default("parameter") == 20_000
    assert many.draws_by_default("parameter") * 900 <= 1e6


@pytest.mark.long
def test_the_error_is_that_of_as_many_draws_as_the_points_are_worth():
    cells = {"tp": [40, 10, 35, 22], "fn": [5, 30, 8, 4], "fp": [9, 4, 20, 3]}
    sites = bcm.from_cells(**cells, tn=[41, 50, 30, 44]).rename(batch="group")
    posterior = posteriors.hierarchical_groups(sites)
    found = bcm.interval(sites, "recall", kind="eti", of="population")
    sampled = posterior.draw([bcm.measures.recall], 20_000, np.random.default_rng(0))[0]
    alone = Empirical(sampled)
    assert posterior.effective_draws < 15_000
    ratio = found.attrs["error"] / alone.error_at(alone.eti(0.95)).max()
    assert ratio > 0.6 * np.sqrt(20_000 / posterior.effective_draws)


# Studies of diagnostic tests beside the fits of lme4, and what mada and metandi print.

KNOWN = json.loads((REFERENCE / "meta_analysis.json").read_text())


def studies(name):
    """Return the counts of a collection, and keywords of its covariate if it has one."""
    if name in KNOWN:
        frame = pd.DataFrame(KNOWN[name])
    else:
        frame = pd.read_csv(data_file(f"confusion/{name}.csv"))
        frame = frame[frame["marker"] == "Telomerase"] if "marker" in frame else frame
    cells = {key: frame[key.upper()].to_numpy() for key in ("tp", "fn", "fp", "tn")}
    counts = bcm.from_cells(**cells).rename(batch="group")
    if "SAQ" not in frame:
        return counts, {}
    counts = counts.assign_coords(asked=("group", frame["SAQ"].map({True: "SAQ", False: "IAQ"})))
    return counts, {"covariates": bcm.meta.study_covariates(counts, {"asked": "IAQ"})}


@cache
def fitted(name):
    """Return draws of a collection's posterior."""
    counts, keywords = studies(name)
    posterior = posteriors.hierarchical_groups(counts, **keywords)
    assert posterior.effective_draws > 600
    return posterior.variables(8000, np.random.default_rng(0))


@pytest.mark.long
@pytest.mark.parametrize("name", list(KNOWN["lme4"]))
def test_the_posterior_beside_the_fit_of_lme4(name):
    drawn, known = fitted(name), KNOWN["lme4"][name]
    logits = logit(drawn["rates"][:, 1:])
    for place, rate in enumerate(("sensitivity", "specificity")):
        middle, error = known[rate]
        assert np.median(logits[:, place]) == pytest.approx(middle, abs=0.5 * error)
        # lme4 takes the spread between studies for known.
        assert 0.85 < logits[:, place].std() / error < 1.35
    spread, rho = drawn["spread"][:, 1:], drawn["correlation"]
    np.testing.assert_allclose(np.median(spread, axis=0), known["sd"], rtol=0.15)
    assert np.quantile(rho, 0.02) - 0.1 < max(known["correlation"], -0.95) < np.quantile(rho, 0.98)
    for place, (slope, error) in enumerate(known.get("slopes", ()), start=1):
        found = drawn["slope"][:, 0, place]
        assert np.median(found) == pytest.approx(slope, abs=0.5 * error)
        assert 0.85 < found.std() / error < 1.2
        printed, error = KNOWN["mada"][name]["slopes"][place - 1]
        assert np.median(found) == pytest.approx(printed, abs=0.6 * error)


@pytest.mark.parametrize("name", list(KNOWN["metandi"]))
@pytest.mark.long
def test_the_table_that_metandi_prints(name):
    known, (counts, _) = KNOWN["metandi"][name], studies(name)
    printed, errors = np.transpose([known["sensitivity"], known["specificity"]])
    means, between = bivariate_binomial(counts.values)
    assert (np.abs(means - printed) < 0.01 * errors).all()
    np.testing.assert_allclose(between, [*known["sd"], known["correlation"]], atol=2e-3)
    logits = logit(fitted(name)["rates"][:, 1:])
    assert (np.abs(np.median(logits, axis=0) - printed) < 0.5 * errors).all()
    np.testing.assert_allclose(expit(np.median(logits, axis=0)), known["summary"], atol=0.03)
    # metandi, too, takes the spread between studies for known.
    assert (logits.std(0) / errors > 0.85).all()
    assert (logits.std(0) / errors < 1.35).all()


@pytest.mark.long
def test_i2_of_audit_c_beside_the_one_that_mada_prints():
    counts, _ = studies("mada_auditc")
    cells, known = counts.values, KNOWN["mada"]["mada_auditc"]
    means, errors, (*between, rho) = bivariate_normal(cells)
    np.testing.assert_allclose(
        means, [known[each][0] for each in ("sensitivity", "specificity")], atol=6e-4
    )
    np.testing.assert_allclose(
        errors, [known[each][1] for each in ("sensitivity", "specificity")], atol=6e-4
    )
    np.testing.assert_allclose([*between, rho], [*known["sd"], known["correlation"]], atol=6e-4)
    # The print has errors of the means for variances between studies, and examples by answer
    # instead of by truth. With these it is reproduced to its last digit.
    _, printed = shares_beyond_chance(np.swapaxes(cells, -1, -2), means, errors, rho)
    assert round(float(printed), 3) == known["i2"]
    _, stated = shares_beyond_chance(cells, means, np.array(between), rho)
    assert stated == pytest.approx(0.841, abs=6e-4)
    drawn = fitted("mada_auditc")
    rates, rho = drawn["rates"][:, 1:], drawn["correlation"]
    _, found = shares_beyond_chance(cells, logit(rates), drawn["spread"][:, 1:], rho)
    low, high = np.quantile(found, [0.025, 0.975])
    assert known["i2"] < low < stated < high


@pytest.mark.long
def test_the_published_estimates_of_audit_c():
    counts, _ = studies("mada_auditc")
    found = np.quantile(fitted("mada_auditc")["rates"][:, 1:], [0.025, 0.5, 0.975], axis=0)
    likely, printed = expit(bivariate_binomial(counts.values)[0]), expit([2.100, 1.264])
    # One study misses none of 752: half an example added pulls the normal model towards one half.
    np.testing.assert_allclose(found[1], likely, atol=0.01)
    np.testing.assert_allclose(found[1], printed, atol=0.035)
    assert (found[0] < printed).all()
    assert (printed < found[2]).all()


@pytest.mark.long
def test_the_published_telomerase_estimates():
    """Glas et al. (2003): sensitivity .75, specificity .86 (.71 to .94)."""
    low, middle, high = np.quantile(
        fitted("bamdit_glas")["rates"][:, 1:], [0.025, 0.5, 0.975], axis=0
    )
    np.testing.assert_allclose(middle, [0.75, 0.86], atol=0.04)
    assert low[1] < 0.77
    assert 0.92 < high[1] < 0.98


@pytest.mark.long
@pytest.mark.parametrize("cells", [SITES, np.arange(18).reshape(2, 3, 3) % 7 + 1])
def test_more_draws_are_of_more_points_of_the_parameters(cells):
    counts = bcm.from_matrix(cells, dims=("group",))
    default, more = (
        bcm.interval(counts, "accuracy", of="typical", kind="eti", draws=draws)
        for draws in (None, 50_000)
    )
    assert more.error < 0.75 * default.error
    np.testing.assert_allclose(more, default, atol=float(2 * default.error))
    few = posteriors.hierarchical_groups(cells).with_draws(100)
    assert few.effective_draws == posteriors.hierarchical_groups(cells).effective_draws


def test_a_scale_of_slopes_is_refused_where_there_are_no_covariates():
    cells = [[[40, 10], [5, 45]], [[30, 20], [9, 41]], [[45, 5], [12, 38]]]
    with pytest.raises(ValueError, match="slope has no effect without covariates"):
        posteriors.hierarchical_groups(cells, slope=1.0)


@pytest.mark.long
def test_limits_of_ratios_of_a_new_group_are_within_their_stated_error():
    """Against ten times as many points of the parameters, and as many new groups for each."""
    measures = [resolve(name) for name in ("dor", "LR+", "LR-")]
    posterior = posteriors.hierarchical_groups(SITES)
    many = replace(posterior, points=60_000)
    for of_default, of_many in zip(
        posterior.distributions(measures, of="new"),
        many.distributions(measures, of="new", random_seed=1),
        strict=True,
    ):
        ends, errors = of_default.interval_with_error(0.95, "eti")
        known, known_errors = of_many.interval_with_error(0.95, "eti")
        assert (np.abs(ends - known) < errors + known_errors).all()
        assert (errors < 0.15 * ends).all()

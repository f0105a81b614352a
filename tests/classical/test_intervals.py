"""Proportions, the delta method and the bootstrap, against worked samples and other code."""

import numpy as np
import pytest
import xarray as xr
from reference_cases import cases
from scipy.stats import beta, binom
from scipy.stats import bootstrap as scipys
from statsmodels.stats.proportion import proportion_confint

import bayescm as bcm
from bayescm.classical import bootstrap, delta, proportion
from bayescm.classical.intervals import (
    acceleration,
    delta_moments,
    gradients,
    multinomial_samples,
    resample,
)
from bayescm.evidence.outcomes import counts_of
from bayescm.measures import names

METHODS = ["wilson", "clopper_pearson", "agresti_coull", "plus_four", "wald"]
THEIRS = {"wilson": "wilson", "clopper_pearson": "beta", "agresti_coull": "agresti_coull"}


@pytest.mark.parametrize("case", cases("coverage-"))
def test_exact_coverage(case):
    n, p = case["inputs"]["n"], case["inputs"]["p"]
    hits = np.arange(n + 1)
    for method in METHODS:
        ends = proportion(hits, n, method=method, prob=case["inputs"]["level"])
        covers = (ends.sel(bound="lower") <= p) & (p <= ends.sel(bound="upper"))
        result = binom.pmf(hits, n, p) @ covers.values
        assert result == pytest.approx(case["expected"][method], abs=case["tol"]["abs"]), method


@pytest.mark.parametrize("prob", [0.8, 0.95])
def test_exact_jeffreys_and_mid_p_follow_their_definitions(prob):
    hits, number, tail = np.array([0, 1, 7, 29, 30]), 30, (1 - prob) / 2
    lower, upper = proportion(hits, number, method="mid-p", prob=prob).values.T
    above = binom.sf(hits, number, lower) + binom.pmf(hits, number, lower) / 2
    below = binom.cdf(hits - 1, number, upper) + binom.pmf(hits, number, upper) / 2
    np.testing.assert_allclose(above[1:], tail)
    np.testing.assert_allclose(below[:-1], tail)
    assert (lower[0], upper[-1]) == (0, 1)
    jeffreys = proportion(hits, number, method="jeffreys", prob=prob).values
    wanted = beta.ppf([[tail, 1 - tail]], hits[:, None] + 0.5, number - hits[:, None] + 0.5)
    wanted[0, 0], wanted[-1, 1] = 0, 1
    np.testing.assert_allclose(jeffreys, wanted)
    exact = [proportion(hits, number, method=m, prob=prob) for m in ("exact", "clopper_pearson")]
    assert exact[0].identical(exact[1])


@pytest.mark.parametrize("method", THEIRS)
@pytest.mark.parametrize("prob", [0.8, 0.95])
def test_parity_with_statsmodels(method, prob):
    hits, number = np.array([0, 1, 7, 50, 99, 100]), 100
    theirs = np.stack(proportion_confint(hits, number, 1 - prob, THEIRS[method]), axis=-1)
    ours = np.clip(proportion(hits, number, method=method, prob=prob), 0, 1)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_labels_are_kept():
    trials = xr.DataArray([10, 20], dims="site", coords={"site": ["x", "y"]})
    result = proportion(xr.DataArray([3, 4], dims="site", coords=trials.coords), trials)
    assert result.dims == ("site", "bound")
    assert result.site.values.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("hits", "number", "message"),
    [
        (3, 2, "more successes"),
        (0, 0, "A proportion needs at least one trial"),
        (-1, 5, "negative"),
        (0.5, 5, "whole number"),
    ],
)
def test_bad_counts_are_named(hits, number, message):
    with pytest.raises(ValueError, match=message):
        proportion(hits, number)


ALIAS = {"tversky_0.3_0.7": "tversky(0.3,0.7)"}
FORMS = {"I": None, "II_shared": "shared", "II_diag": "diagonal"}


def outcomes_of(cells):
    rows = np.array([[int(digit) for digit in key] for key in cells for _ in range(cells[key])])
    return bcm.from_classifiers(rows[:, 0], {f"S{j}": rows[:, j] for j in (1, 2, 3)})


def canonical(name):
    return bcm.measures.resolve(ALIAS.get(name, name)).__name__


@pytest.mark.parametrize("case", cases("delta-individual"))
@pytest.mark.parametrize("form", FORMS)
def test_single_intervals(case, form):
    name = canonical(case["inputs"]["measure"])
    result = delta(outcomes_of(case["inputs"]["cell_counts_y_s1_s2_s3"]), name, blur=FORMS[form])
    for who in ("S1", "S2", "S3"):
        expected = case["expected"][who][form]["individual"][0]
        ends = result[name].sel(classifier=who)
        np.testing.assert_allclose(ends, expected, rtol=1e-9)


@pytest.mark.parametrize("case", cases("delta-joint"))
@pytest.mark.parametrize("form", FORMS)
def test_joint_intervals(case, form):
    pairs = [(f"S{position + 1}", canonical(name)) for name, position in case["inputs"]["params"]]
    asked = list(dict.fromkeys(name for _, name in pairs))
    both = outcomes_of(case["inputs"]["cell_counts_y_s1_s2_s3"])
    result = delta(both, asked, joint=True, blur=FORMS[form], pairs=pairs)
    rtol = case["tol"]["rel"] if len(pairs) <= 4 else 1e-3
    for (who, name), expected in zip(pairs, case["expected"][form]["joint"], strict=True):
        np.testing.assert_allclose(result[name].sel(classifier=who), expected, rtol=rtol)
    assert int(sum(each.notnull().sum() for each in result.values())) == 2 * len(pairs)


@pytest.mark.parametrize("case", cases("agresti-coull"))
def test_blurring_is_agresti_and_coulls_correction_for_rare_events(case):
    inputs, expected = case["inputs"], case["expected"]
    n, share = inputs["n"], inputs["phat"]
    z = 1.959963984540054
    extra = z**2 / (2 * n**2)
    assert extra == pytest.approx(expected["z2_over_2n2"], rel=1e-9)
    first_order = extra * (1 - 6 * share * (1 - share))
    name = "first_order_z2_over_2n2_times_1_minus_6pq"
    assert first_order == pytest.approx(expected[name], rel=1e-9)
    hits = round(n * share)
    ends = bcm.classical.proportion(hits, n, method="agresti_coull").values
    variance = (np.ptp(ends) / 2 / z) ** 2 - share * (1 - share) / n
    assert variance == pytest.approx(expected["ac_var_minus_wald_var"], rel=1e-6, abs=1e-12)


def random_cells(classes, seed=0):
    return np.random.default_rng(seed).integers(3, 40, (classes, classes))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", [name for name in names() if not name.startswith("number_needed")])
def test_gradients_are_right_for_every_measure(classes, name):
    table = random_cells(classes) / random_cells(classes).sum()
    labels = list(range(classes))
    sample = multinomial_samples(bcm.from_matrix(random_cells(classes), labels=labels), name)
    slopes = gradients(sample, table)
    kernel = sample.measures[0]
    for cell in np.ndindex(table.shape):
        step = np.zeros_like(table)
        step[cell] = 1e-6
        rise = (np.ravel(kernel(table + step)) - np.ravel(kernel(table - step))) / 2e-6
        np.testing.assert_allclose(slopes[(slice(None), *cell)], rise, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["accuracy", "recall", "precision"])
def test_proportions_have_walds_interval(name):
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    hits, number = {"accuracy": (95, 145), "recall": (65, 80), "precision": (65, 100)}[name]
    wald = bcm.classical.proportion(hits, number, method="wald")
    np.testing.assert_allclose(delta(counts, name)[name], wald, rtol=1e-12)


def test_variance_of_macro_f1_is_that_of_simulated_samples():
    cells = random_cells(4)
    counts = bcm.from_matrix(cells, labels=list("abcd"))
    sample = multinomial_samples(counts, ["f1_macro", "f1_micro", "f1_weighted"])
    estimate, covariance = delta_moments(sample, sample.counts[0])
    rng = np.random.default_rng(1)
    drawn = rng.multinomial(cells.sum(), cells.ravel() / cells.sum(), 20_000).reshape(-1, 4, 4)
    values = sample.evaluate(drawn)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), values.std(0), rtol=0.03)
    np.testing.assert_allclose(estimate[1], np.trace(cells) / cells.sum())


def test_the_same_examples_covary_and_others_do_not():
    rng = np.random.default_rng(0)
    actual = rng.integers(2, size=500)
    answers = np.where(rng.random(500) < 0.8, actual, 1 - actual)
    both = bcm.from_classifiers(actual, {"a": answers, "b": answers})
    sample = multinomial_samples(both, "f1")
    _, covariance = delta_moments(sample, sample.counts[0])
    assert covariance[0, 1] == pytest.approx(covariance[0, 0])
    apart = multinomial_samples(counts_of(both), "f1")
    _, covariance = delta_moments(apart, apart.counts[0])
    assert covariance[0, 1] == 0


SINGULAR = {
    "a perfect rule": {"a": lambda y, s: y, "b": lambda y, s: s},
    "two identical rules": {"a": lambda y, s: s, "b": lambda y, s: s},
    "a rule that never says yes": {"a": lambda y, s: 0 * y, "b": lambda y, s: s},
}


@pytest.mark.parametrize("blur", FORMS.values())
@pytest.mark.parametrize("rules", SINGULAR)
def test_singular_covariances_are_survived(rules, blur):
    rng = np.random.default_rng(2)
    actual = rng.integers(2, size=300)
    sloppy = np.where(rng.random(300) < 0.8, actual, 1 - actual)
    answers = {name: rule(actual, sloppy) for name, rule in SINGULAR[rules].items()}
    both = bcm.from_classifiers(actual, answers)
    # F1 and Jaccard say the same; four measures live on three averages.
    result = delta(both, ["f1", "jaccard", "accuracy", "recall"], joint=True, blur=blur)
    sure = result.sel(classifier="b")
    alone = delta(both.sel(classifier=["b"]), "f1", blur=blur)
    for each in sure.values():
        assert np.isfinite(each).all()
        assert float(each[1] - each[0]) > 0
    assert float(sure.f1[1] - sure.f1[0]) >= float(alone.f1[0, 1] - alone.f1[0, 0])


@pytest.mark.parametrize(("scale", "name"), [("logit", "f1"), ("atanh", "mcc"), ("log", "lift")])
@pytest.mark.parametrize("cells", [(9, 1, 1, 9), (9, 1, 0, 40), (12, 0, 0, 30)])
def test_scales_keep_the_limits_in_range(scale, name, cells):
    counts = bcm.from_cells(**dict(zip(("tp", "fn", "fp", "tn"), cells, strict=True)))
    low, high = {"logit": (0, 1), "atanh": (-1, 1), "log": (0, np.inf)}[scale]
    lower, upper = delta(counts, name, scale=scale, blur="shared")[name].values
    assert low <= lower <= upper <= high
    lower, upper = delta(counts, name)[name].values
    assert lower <= upper


def test_all_scales_agree_for_many_examples():
    counts = bcm.from_cells(tp=650_000, fn=150_000, fp=350_000, tn=300_000)
    plain = delta(counts, "f1").f1
    np.testing.assert_allclose(delta(counts, "f1", scale="logit").f1, plain, atol=1e-6)


def test_a_function_that_knows_no_complex_numbers():
    def share(cells):
        return cells[..., 1, 1].real / cells.sum((-2, -1)).real

    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    ends = delta(counts, share).share.values
    expected = bcm.classical.proportion(65, 145, method="wald").values
    np.testing.assert_allclose(ends, expected, atol=1e-8)


def test_dims_are_kept_and_classes_are_a_dim():
    counts = bcm.from_matrix(np.stack([random_cells(3), random_cells(3, 1)]), labels=list("abc"))
    result = delta(counts, ["recall", "accuracy"])
    assert result.recall.dims == ("batch", "class", "bound")
    assert result.accuracy.dims == ("batch", "bound")
    single = delta(counts.isel(batch=1), "recall")
    xr.testing.assert_allclose(result.recall.isel(batch=1), single.recall)


def test_undefined_measures_are_nan_and_do_not_count():
    counts = bcm.from_cells(tp=0, fn=20, fp=0, tn=80)
    result = delta(counts, ["precision", "accuracy"], joint=True)
    assert np.isnan(result.precision).all()
    np.testing.assert_allclose(result.accuracy, delta(counts, "accuracy").accuracy)


BAD = {
    "blur": ({"blur": "both"}, "Unknown blur"),
    "scale": ({"scale": "probit"}, "Unknown scale"),
    "prob": ({"prob": 95}, "prob must be a number"),
    "pairs": ({"pairs": [("z", "f1")]}, "is not in the evidence"),
    "No pairs": ({"pairs": []}, "pairs are given"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_of_the_delta_method_are_named(case):
    keywords, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        delta(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1", **keywords)


def test_an_empty_matrix_is_refused():
    with pytest.raises(ValueError, match="no examples"):
        delta(bcm.from_cells(tp=0, fn=0, fp=0, tn=0), "f1")


COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
ACTUAL = np.repeat([1, 1, 0, 0], [65, 15, 35, 30])
PREDICTED = np.repeat([1, 0, 1, 0], [65, 15, 35, 30])


def f1(actual, predicted, axis=-1):
    hits = (actual * predicted).sum(axis)
    return 2 * hits / (actual.sum(axis) + predicted.sum(axis))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_parity_with_scipy_on_the_examples(method):
    theirs = scipys(
        (ACTUAL, PREDICTED),
        f1,
        paired=True,
        vectorized=True,
        n_resamples=20_000,
        method=method,
        rng=np.random.default_rng(0),
    ).confidence_interval
    ours = bootstrap(COUNTS, "f1", method=method, resamples=20_000, random_seed=1).f1
    np.testing.assert_allclose(ours, [theirs.low, theirs.high], atol=0.003)


def test_acceleration_is_that_of_the_jackknife():
    left_out = np.array(
        [f1(np.delete(ACTUAL, i), np.delete(PREDICTED, i)) for i in range(len(ACTUAL))]
    )
    off = left_out.mean() - left_out
    expected = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    result = acceleration(multinomial_samples(COUNTS, "f1"))
    np.testing.assert_allclose(result.ravel(), expected, rtol=1e-9)


def test_pairs_are_resampled_together():
    both = bcm.from_classifiers(ACTUAL, {"a": PREDICTED, "b": PREDICTED})
    drawn = resample(multinomial_samples(both, "f1"), 100, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[..., 0, :], drawn[..., 1, :])


def test_seeds_repeat_and_differ():
    one, two, three = (bootstrap(COUNTS, "mcc", random_seed=seed).mcc for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(three)


def test_undefined_resamples_are_left_out():
    rare = bcm.from_cells(tp=1, fn=0, fp=0, tn=30)
    ends = bootstrap(rare, "precision", random_seed=0).precision.values
    np.testing.assert_array_equal(ends, [1, 1])
    never = bcm.from_cells(tp=0, fn=5, fp=0, tn=30)
    for method in ("percentile", "bca"):
        assert np.isnan(bootstrap(never, "precision", method=method, random_seed=0).precision).all()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"method": "basic"}, "Unknown method"),
        ({"resamples": 1}, "resamples must be a whole number"),
    ],
)
def test_bad_arguments_of_the_bootstrap_are_named(keywords, message):
    with pytest.raises(ValueError, match=message):
        bootstrap(COUNTS, "f1", **keywords)


def test_fractional_counts_are_refused():
    with pytest.raises(ValueError, match="not a whole number"):
        bootstrap(COUNTS / 2, "f1")

"""How far groups are apart: statistics, names, pairs, and what is refused."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, log_expit, ndtr

import bayescm as bcm
from bayescm.answers.gaps import interval_up_to
from bayescm.distributions import dirichlet
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.default_models import model_of_counts
from bayescm.posteriors.base import CountsPosterior, as_labelled_counts

STATISTICS = {
    "range": lambda v: v.max(-1) - v.min(-1),
    "ratio": lambda v: v.min(-1) / v.max(-1),
    "worst": lambda v: v.min(-1),
}


@pytest.fixture(scope="module")
def sites():
    cells = [[[41, 9], [5, 45]], [[30, 20], [9, 41]], [[38, 12], [12, 30]], [[20, 5], [0, 0]]]
    empty = np.zeros((1, 2, 2), int)
    return bcm.from_matrix([*cells, *empty], labels=[0, 1], dims=("group",))


class Apart(CountsPosterior):
    """Groups that have nothing in common: quick, and known."""

    pooled_dims = ("group",)
    estimands = {"parameter": "theta_group", "finite": "theta_group"}  # noqa: RUF012

    def __init__(self, counts):
        self.counts = as_labelled_counts(counts, "group")

    def variables(self, size, rng):
        return {"theta_group": dirichlet.draw(self.counts.values + 0.5, size, rng, axes=2)}


def gap(evidence, measure, draws=3000, **keywords):
    return bcm.gap(evidence, measure, model=Apart, draws=draws, **keywords)


@pytest.mark.parametrize("statistic", list(STATISTICS))
def test_a_gap_is_the_statistic_of_the_draws_of_all_groups(sites, statistic):
    rng = np.random.default_rng(1)
    tp, fn = sites.values[:, 1, 1] + 0.5, sites.values[:, 1, 0] + 0.5
    values = STATISTICS[statistic](rng.beta(tp, fn, (40_000, 5)))
    found = gap(sites, "recall", statistic=statistic, delta=0.5, kind="eti")
    np.testing.assert_allclose(found, np.quantile(values, [0.025, 0.975]), atol=0.03)
    assert found.point == pytest.approx(values.mean(), abs=0.02)
    assert found.p_below == pytest.approx((values < 0.5).mean(), abs=0.04)
    seen = np.array([45 / 50, 41 / 50, 30 / 42])
    assert found.observed == pytest.approx(STATISTICS[statistic](seen))


def test_deviations_have_a_row_for_every_group_also_an_empty_one(sites):
    found = gap(sites, "specificity", statistic="deviation")
    assert found.sizes == {"group": 5, "bound": 2}
    assert np.isnan(found.observed.values).tolist() == [False] * 4 + [True]
    assert float(found.point.sum()) == pytest.approx(0, abs=1e-9)
    width = found.diff("bound").values[:, 0]
    assert width.argmax() == 4


def test_the_names_of_fairlearn_are_the_worse_of_their_measures(sites):
    both = gap(sites, "equalized_odds_difference")
    one, two = (gap(sites, each) for each in ("recall", "fpr"))
    assert both.observed == max(one.observed, two.observed)
    assert float(both.point) > max(one.point, two.point)
    ratio = gap(sites, "equalized_odds_ratio")
    assert ratio.attrs["statistic"] == "ratio"
    assert float(ratio.point) < float(gap(sites, "recall", statistic="ratio").point)
    parity = gap(sites, "demographic_parity_difference")
    np.testing.assert_array_equal(parity, gap(sites, "predicted_prevalence"))


@pytest.mark.long
def test_of_many_equal_groups_most_of_the_gap_is_noise():
    rng = np.random.default_rng(3)
    tp = rng.binomial(40, 0.8, 12)
    groups = bcm.from_cells(tp=tp, fn=40 - tp, fp=[8] * 12, tn=[32] * 12).rename(batch="group")
    found = bcm.gap(groups, "recall", delta=0.15)
    assert float(found.point) < 0.8 * float(found.observed)
    assert found.p_below > 0.7


def test_lower_is_better_turns_the_worst(sites):
    worst = gap(sites, "fpr", statistic="worst", kind="eti")
    best = gap(sites, "specificity", statistic="worst", kind="eti")
    np.testing.assert_allclose(worst.values[::-1], 1 - best.values, atol=1e-6)


@pytest.mark.long
def test_gaps_of_classifiers_are_paired():
    rng = np.random.default_rng(1)
    actual = rng.random(1200) < 0.5
    group = np.arange(1200) % 4
    wrong = rng.random(1200) < np.array([0.05, 0.05, 0.05, 0.35])[group]
    fair = wrong & (rng.random(1200) < 0.3)
    answers = {"old": actual ^ wrong, "new": actual ^ fair}
    both = bcm.from_classifiers(actual, answers, positive=True, by={"group": group})
    apart = bcm.gap(both, "accuracy")
    assert apart.dims == ("classifier", "bound")
    shrunk = bcm.gap(both, "accuracy", reference="old", delta=0)
    assert shrunk.classifier.values.tolist() == ["new"]
    assert shrunk.p_below > 0.99
    assert "was not measured" in shrunk.attrs["caution"]
    np.testing.assert_allclose(shrunk.point, apart.point.diff("classifier"), atol=1e-9)
    assert shrunk.observed == pytest.approx(apart.observed.diff("classifier").item())
    with pytest.raises(ValueError, match="as the reference"):
        bcm.gap(both, "accuracy", reference="odl")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"statistic": "rang"}, "Unknown statistic"),
        ({"of": "new"}, "Unknown of"),
        ({"delta": "small"}, "delta must be a finite number"),
        ({"delta": float("nan")}, "delta must be a finite number"),
        ({"reference": "a"}, "A reference needs outcomes of classifiers on"),
        ({"dim": "site"}, "The evidence has no dimension"),
        ({"measure": "equalised_odds_difference"}, "equalized_odds_difference"),
        (
            {"measure": "equalized_odds_difference", "statistic": "ratio"},
            "the statistic of equalized_odds_difference",
        ),
        ({"measure": ["recall", "f1"]}, "Call the function once for each measure"),
        ({"draws": 0}, "draws must be"),
    ],
)
def test_what_has_no_meaning_is_refused(sites, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gap(sites, **{"measure": "recall", "draws": 9} | given)


@pytest.mark.long
def test_groups_by_another_name_are_pooled_too(sites):
    asked = {"statistic": "deviation", "draws": 300}
    found = bcm.gap(sites.rename(group="site"), "recall", dim="site", **asked)
    xr.testing.assert_identical(found, bcm.gap(sites, "recall", **asked).rename(group="site"))
    with pytest.raises(ValueError, match="cannot be partially pooled"):
        bcm.gap(sites.rename(group="batch"), "recall", dim="batch")


@pytest.mark.long
def test_the_combinations_of_attributes_are_groups(sites):
    cells = np.stack([sites.values[:3], sites.values[[1, 0, 2]]])
    counts = bcm.from_matrix(cells, labels=[0, 1], dims=("sex", "age"))
    found = bcm.gap(counts, "recall", dim=("sex", "age"), draws=200)
    assert found.dims == ("bound",)
    seen = cells[..., 1, 1] / cells[..., 1, :].sum(-1)
    assert found.observed == pytest.approx(seen.max() - seen.min())
    assert found.point < found.observed


def test_groups_of_one_classifier_need_no_caution(sites):
    assert "caution" not in gap(sites, "recall", draws=100).attrs


@pytest.mark.long
def test_three_groups_are_pooled_to_be_compared_and_two_are_not(sites):
    pooled = bcm.compare(sites[:3], "recall", dim="group", draws=2000)
    wide = {"model": "hierarchical_groups", "spread": 3.0}
    named = bcm.compare(sites[:3], "recall", dim="group", draws=2000, **wide)
    np.testing.assert_array_equal(pooled["mean"], named["mean"])
    two = bcm.compare(sites[:2], "recall", dim="group")
    assert two["mean"][0] == pytest.approx(45.5 / 51 - 41.5 / 51, abs=0.01)


# Few groups: which model, the ends of the scale, and the caution.


def groups_of(hits, size):
    """Return groups with so many hits of so many positives each."""
    tp = np.asarray(hits)
    negatives = {"fp": np.full(len(tp), 6), "tn": np.full(len(tp), 40)}
    return bcm.from_cells(tp=tp, fn=size - tp, **negatives).rename(batch="group")


@pytest.mark.long
@pytest.mark.parametrize(("hits", "size"), [((28, 18), 30), ((5, 9), 10), ((88, 61), 100)])
@pytest.mark.parametrize("measure", ["recall", "f1"])
def test_the_gap_of_two_groups_is_their_comparison(hits, size, measure):
    pair = groups_of(hits, size)
    for delta in (0.1, 0.25, 0.4):
        found = bcm.gap(pair, measure, kind="eti", delta=delta)
        row = bcm.compare(pair, measure, dim="group", kind="eti", rope=delta).iloc[0]
        assert float(found.p_below) == pytest.approx(row["p_rope"], abs=0.015)
    ends = np.sort(np.abs([row["lower"], row["upper"]]))
    if ends[0] > 0.1:  # next to no mass is folded at 0
        np.testing.assert_allclose(found, ends, atol=0.012)


@pytest.mark.long
def test_the_gap_of_two_sets_of_classifiers_and_of_items_is_their_comparison():
    rng = np.random.default_rng(4)
    actual, group = rng.random(240) < 0.5, np.arange(240) % 2
    wrong = rng.random(240) < np.where(group == 0, 0.05, 0.4)
    answers = {"a": actual ^ wrong, "b": actual ^ (wrong & (rng.random(240) < 0.9))}
    both = bcm.from_classifiers(actual, answers, positive=True, by={"group": group})
    asked = {"kind": "eti", "draws": 20_000}
    found = bcm.gap(both, "accuracy", **asked)
    rows = bcm.compare(both, "accuracy", dim="group", **asked)
    np.testing.assert_allclose(found, np.sort(rows[["lower", "upper"]].abs(), axis=1), atol=0.012)
    assert "one standard deviation" not in found.attrs.get("caution", "")
    items = bcm.from_item_scores(1.0 - wrong, range=(0, 1), by={"site": group})
    row = bcm.compare(items, "mean", dim="site", kind="eti").iloc[0]
    found = bcm.gap(items, "mean", dim="site", **asked)
    np.testing.assert_allclose(found, np.sort(np.abs([row["lower"], row["upper"]])), atol=0.012)


@pytest.mark.long
def test_the_interval_of_groups_that_may_be_equal_starts_at_the_end_of_the_scale():
    lengths = []
    for size in (20, 200):
        equal = groups_of([0.7 * size] * 2, size)
        gap_of_recall = bcm.gap(equal, "recall")
        ratio = bcm.gap(equal, "recall", statistic="ratio")
        assert gap_of_recall[0] == 0
        assert ratio[1] == 1
        assert bcm.gap(equal, "recall", kind="eti")[0] > 0
        lengths.append(float(gap_of_recall[1]))
    assert lengths[1] < lengths[0] / 2.5
    # The density of the absolute difference is twice that of the difference.
    a, b = 140.5, 60.5
    sd = np.sqrt(2 * a * b / ((a + b) ** 2 * (a + b + 1)))
    assert lengths[1] == pytest.approx(1.96 * sd, rel=0.03)
    apart = bcm.gap(groups_of([10, 95], 100), "recall")
    assert apart[0] > 0.7
    assert bcm.gap(groups_of([10, 95], 100), "recall", statistic="ratio")[1] < 0.3


def test_an_interval_reaches_the_end_of_the_scale_only_if_the_density_is_highest_there():
    rng = np.random.default_rng(0)
    falling, far = rng.exponential(1, (20_000, 1)), 5 + rng.standard_normal((20_000, 1))
    ends, errors = interval_up_to(Empirical(falling), 0.9, "hdi", (0, 0.0))
    np.testing.assert_allclose(ends, [[0, -np.log(0.1)]], rtol=0.03)
    assert errors[0, 0] == 0
    ends, _ = interval_up_to(Empirical(1 - falling), 0.9, "hdi", (1, 1.0))
    np.testing.assert_allclose(ends, [[1 + np.log(0.1), 1]], rtol=0.03)
    gamma = rng.gamma(3, 1, (20_000, 1))
    for draws in (far, gamma):
        given = Empirical(draws)
        found, _ = interval_up_to(given, 0.9, "hdi", (0, 0.0))
        np.testing.assert_array_equal(found, given.hdi(0.9))
    both = np.concatenate([falling, far], axis=1)
    assert (interval_up_to(Empirical(both), 0.9, "hdi", (0, 0.0))[0][:, 0] > 0).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("groups", "model", "keywords"),
    [
        (2, "dirichlet_multinomial", {}),
        (3, "hierarchical_groups", {"spread": 3.0}),
        (5, "hierarchical_groups", {"spread": 3.0}),
        (6, "robust_groups", {}),
    ],
)
def test_the_number_of_groups_decides_how_they_are_pooled(groups, model, keywords):
    counts = groups_of([12] * groups, 20)
    for question in ({"members": "group"}, {"compared": "group"}):
        chosen = model_of_counts(counts, {}, **question)
        assert (chosen.model, dict(chosen.keywords)) == (model, keywords)


@pytest.mark.parametrize(
    ("keywords", "model"),
    [
        ({"spread": 0.5}, "hierarchical_groups"),
        ({"deviation": 2.0}, "robust_groups"),
        ({"covariates": {"beds": 1}}, "hierarchical_groups"),
    ],
)
def test_a_keyword_of_a_model_that_pools_pools_two_groups(keywords, model):
    assert model_of_counts(groups_of([9, 12], 20), keywords, "group").model == model


def test_one_group_has_no_gap():
    with pytest.raises(ValueError, match="At least two groups are needed"):
        bcm.gap(groups_of([9], 20), "recall")


@pytest.mark.long
@pytest.mark.parametrize(
    ("hits", "size", "words"),
    [
        ((45, 60, 95), 100, None),
        ((12, 12, 12, 12, 12), 20, "without partial pooling, the interval is"),
        ((3, 0), 3, "twice the pseudo-counts"),
        ((30, 12), 40, None),
    ],
)
def test_a_prior_that_decides_the_gap_is_said(hits, size, words):
    caution = bcm.gap(groups_of(hits, size), "recall").attrs.get("caution")
    assert caution is None if words is None else words in caution


@pytest.mark.long
def test_a_few_groups_are_pooled_as_on_a_grid():
    """The normal model of the logits by brute force: a grid of the middle, spread and logits."""
    hits, size = np.array([28, 18, 27]), 30
    found = bcm.gap(groups_of(hits, size), "recall", kind="eti", draws=20_000)
    x, h = np.linspace(-8, 9, 400, retstep=True)
    middle, tau = np.linspace(-6, 7, 90), np.geomspace(0.02, 12, 70)
    m, t = (array.ravel() for array in np.meshgrid(middle, tau, indexing="ij"))
    edges = np.concatenate([[-np.inf], x[1:] - h / 2, [np.inf]])
    weight = np.diff(ndtr((edges - m[:, None]) / t[:, None]), axis=1)
    likelihood = np.exp(hits[:, None] * log_expit(x) + (size - hits[:, None]) * log_expit(-x))
    log = np.log(weight @ likelihood.T + 1e-300).sum(1) - t**2 / 18 + np.log(t)
    log += 0.5 * log_expit(m) + 0.5 * log_expit(-m)
    rng = np.random.default_rng(1)
    share = np.exp(log - log.max())
    at = rng.choice(len(m), 4000, p=share / share.sum())
    conditional = (weight[at, None] * likelihood).cumsum(-1)
    place = (conditional < conditional[..., -1:] * rng.random((4000, 3, 1))).sum(-1)
    recall = expit(x[place] + h * (rng.random(place.shape) - 0.5))
    expected = np.quantile(np.ptp(recall, axis=1), [0.025, 0.975])
    np.testing.assert_allclose(found, expected, atol=0.03)

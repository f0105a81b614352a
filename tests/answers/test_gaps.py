"""How far groups are apart: statistics, names, pairs, and what is refused."""

import numpy as np
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.distributions import dirichlet
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
    with pytest.raises(ValueError, match="the reference is not a classifier"):
        bcm.gap(both, "accuracy", reference="odl")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"statistic": "rang"}, "unknown statistic"),
        ({"of": "new"}, "unknown of"),
        ({"delta": "small"}, "delta must be a number"),
        ({"delta": float("nan")}, "delta must be a number"),
        ({"reference": "a"}, "a reference needs pairs"),
        ({"dim": "site"}, "no such dim"),
        ({"measure": "equalised_odds_difference"}, "equalized_odds_difference"),
        ({"measure": "equalized_odds_difference", "statistic": "ratio"}, "has a statistic"),
        ({"measure": ["recall", "f1"]}, "one measure at a time"),
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
    with pytest.raises(ValueError, match="not pooled"):
        bcm.gap(sites.rename(group="batch"), "recall", dim="batch")


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
    named = bcm.compare(sites[:3], "recall", dim="group", model="robust_groups", draws=2000)
    np.testing.assert_array_equal(pooled["mean"], named["mean"])
    two = bcm.compare(sites[:2], "recall", dim="group")
    assert two["mean"][0] == pytest.approx(45.5 / 51 - 41.5 / 51, abs=0.01)

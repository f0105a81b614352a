"""Which slices are bad: flags, what they promise, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.posteriors.base import PerMember
from bayescm.posteriors.robust_groups import robust_groups

BAD = 4


def made(groups, seed=1):
    rng = np.random.default_rng(seed)
    rate = np.full((groups, 2), 0.85)
    rate[:BAD, 0] = 0.5
    size = rng.integers(60, 120, (groups, 2))
    hits = rng.binomial(size, rate)
    names = [f"s{place}" for place in range(groups)]
    cells = {
        "tp": hits[:, 0],
        "fn": (size - hits)[:, 0],
        "fp": (size - hits)[:, 1],
        "tn": hits[:, 1],
    }
    return bcm.from_cells(**cells).rename(batch="group").assign_coords(group=names)


@pytest.fixture(scope="module")
def slices():
    return made(60)


@pytest.fixture(scope="module")
def table(slices):
    return bcm.worst_slices(slices, "recall", threshold=0.7, k=BAD, draws=1000)


@pytest.mark.long
def test_those_that_are_bad_are_flagged_worst_first(table):
    assert set(table[table["flagged"]]["group"]) == {f"s{place}" for place in range(BAD)}
    assert set(table.head(BAD)["group"]) == set(table[table["flagged"]]["group"])
    assert (table["p_bad"].diff().dropna() <= 0).all()
    assert table["p_worst"].sum() == pytest.approx(BAD)


def test_expected_false_discoveries_are_the_chances_that_those_flagged_are_good(table):
    flagged = table[table["flagged"]]
    false = (1 - flagged["p_bad"]).sum()
    assert table.attrs["expected_false"] == pytest.approx(false)
    assert flagged["expected_fdr"].iloc[-1] == pytest.approx(false / len(flagged))
    assert (table["expected_fdr"][~table["flagged"]] > table.attrs["fdr"]).all()
    assert table.attrs["expected_bad"] == pytest.approx(table["p_bad"].sum())


@pytest.mark.long
def test_more_are_flagged_where_more_may_be_false(slices, table):
    more = bcm.worst_slices(slices, "recall", threshold=0.7, fdr=0.7, draws=1000)
    assert more["flagged"].sum() > table["flagged"].sum()


@pytest.mark.long
def test_worse_is_above_where_lower_is_better(slices):
    found = bcm.worst_slices(slices, "fnr", threshold=0.3, k=BAD, draws=1000)
    assert set(found.head(BAD)["group"]) == {f"s{place}" for place in range(BAD)}
    assert found["flagged"].sum() == BAD
    assert set(found.nlargest(BAD, "p_worst")["group"]) == set(found.head(BAD)["group"])


@pytest.mark.long
def test_without_a_threshold_a_slice_is_compared_with_the_rest(slices):
    found = bcm.worst_slices(slices, "recall", delta=0.15, draws=1000)
    assert found["flagged"].sum() == BAD
    counts = slices.sel(group=found["group"].to_numpy())
    np.testing.assert_array_equal(found["examples"], counts.sum(("actual", "predicted")))
    seen = counts.sel(actual="positive")
    np.testing.assert_allclose(
        found["observed"], seen.sel(predicted="positive") / seen.sum("predicted")
    )


@pytest.mark.long
def test_combinations_of_several_attributes_are_slices_too():
    counts = bcm.from_matrix(made(12).values.reshape(3, 4, 2, 2), dims=("sex", "age"))
    found = bcm.worst_slices(counts, "recall", dim=("sex", "age"), threshold=0.7, draws=500)
    assert len(found) == 12
    worst = found.head(BAD)
    assert set(zip(worst["sex"], worst["age"], strict=True)) == {(0, age) for age in range(BAD)}


@pytest.mark.long
def test_an_empty_slice_is_answered_and_not_flagged(slices):
    counts = slices.copy(data=np.where(np.arange(60)[:, None, None] == 9, 0, slices.values))
    row = bcm.worst_slices(counts, "recall", threshold=0.7, draws=500).set_index("group").loc["s9"]
    assert np.isnan(row["observed"])
    assert 0 < row["lower"] < row["upper"] < 1
    assert not row["flagged"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"fdr": 1}, "fdr"),
        ({"k": 0}, "k must be a number of slices"),
        ({"threshold": "low"}, "threshold must be a finite number"),
        ({"dim": "site"}, "The evidence has no dimension"),
        ({"dim": []}, "The evidence has no dimension of groups"),
        ({"dim": ("group", "age")}, "crossed_groups needs two or more attributes"),
        ({"deviation": 0}, "deviation must be a finite number"),
    ],
)
def test_what_has_no_meaning_is_refused(slices, keywords, problem):
    with pytest.raises(ValueError, match=problem):
        bcm.worst_slices(slices, "recall", **keywords)


@pytest.mark.long
def test_slices_by_another_name_are_pooled_as_groups_are(slices, table):
    sites = slices.rename(group="site")
    found = bcm.worst_slices(sites, "recall", dim="site", threshold=0.7, k=BAD, draws=1000)
    pd.testing.assert_frame_equal(found, table.rename(columns={"group": "site"}))


def test_slices_that_are_not_pooled_are_refused_unless_asked_for(slices):
    batches = slices.rename(group="batch")
    with pytest.raises(ValueError, match="cannot be partially pooled"):
        bcm.worst_slices(batches, "recall", dim="batch")
    apart = {"model": "dirichlet_multinomial", "draws": 500}
    assert len(bcm.worst_slices(batches, "recall", dim="batch", **apart)) == 60


@pytest.mark.long
def test_one_group_that_deviates_is_hardly_drawn_towards_the_others():
    """A normal spread is drawn wide by the group that is apart, and draws it to the others."""
    apart = made(24, seed=3).isel(group=slice(BAD - 1, None))
    seen = float(bcm.measure(apart.isel(group=0), "recall")["recall"])
    found = {}
    for model in ("hierarchical_groups", "robust_groups"):
        draws = bcm.gap(apart, "recall", statistic="worst", model=model, draws=1500)
        found[model] = float(draws.point)
    assert abs(found["robust_groups"] - seen) < abs(found["hierarchical_groups"] - seen)


@pytest.mark.long
def test_the_grid_is_the_posterior_of_conjugate_rates_where_groups_are_alike():
    """With a tiny spread and deviation the groups are one sample: a beta posterior."""
    counts = made(5).isel(group=slice(BAD, None)).values.repeat(2, 0)
    posterior = robust_groups(counts, spread=1e-3, deviation=1e-3)
    recall = posterior.variables(4000, np.random.default_rng(0))["rates"][:, 1]
    hits, misses = counts[:, 1, 1].sum() + 0.5, counts[:, 1, 0].sum() + 0.5
    mean = hits / (hits + misses)
    assert recall.mean() == pytest.approx(mean, abs=0.004)
    spread = np.sqrt(mean * (1 - mean) / (hits + misses + 1))
    assert recall.std() == pytest.approx(spread, rel=0.1)
    own = PerMember(posterior, "group").cells("parameter", 500, np.random.default_rng(0))
    assert own.shape == (500, 2, 2, 2)


@pytest.mark.long
def test_a_picture_names_few_slices_and_of_many_only_some(slices):
    few = bcm.plots.plot_slices(slices.isel(group=slice(8)), "recall", threshold=0.7, draws=500)
    worst = few.axes[0].get_yticklabels()[:BAD]
    assert {each.get_text() for each in worst} == {f"s{place}" for place in range(BAD)}
    assert len(few.axes[0].get_yticks()) == 8
    many = bcm.plots.plot_slices(slices, "recall", threshold=0.7, draws=500)
    assert 1 <= len(many.axes[0].get_yticks()) <= BAD
    assert "flagged" in many.get_suptitle()


@pytest.mark.long
def test_robust_groups_answer_for_their_population(slices):
    found = bcm.interval(slices.isel(group=slice(8)), "recall", model="robust_groups", draws=2000)
    assert 0 < found.sel(bound="lower") < found.sel(bound="upper") < 1


# Slices of items: attempts, and several labels for each example.


def sliced_items(kind, rate, size, seed):
    """Return items in slices, each right with the probability of its slice."""
    rng = np.random.default_rng(seed)
    topic = np.repeat(np.arange(len(rate)), size)
    right = rng.random(len(topic)) < np.repeat(rate, size)
    if kind == "answers":
        return bcm.from_attempts(right[:, None].astype(int), by={"topic": topic}), "mean"
    if kind == "attempts":
        answers = (rng.random((len(topic), 3)) < np.repeat(rate, size)[:, None]).astype(int)
        return bcm.from_attempts(answers, by={"topic": topic}), "mean"
    actual = np.stack([np.ones(len(topic), int), (rng.random(len(topic)) < 0.5).astype(int)], 1)
    predicted = actual * np.stack([right, rng.random(len(topic)) < 0.8], axis=1)
    evidence = bcm.from_multilabel(actual, predicted.astype(int), by={"topic": topic})
    return evidence, "recall" if kind == "label" else "f1_micro"


@pytest.mark.parametrize(
    "kind", ["answers", pytest.param("attempts", marks=pytest.mark.long), "label", "labels"]
)
def test_equal_slices_of_items_are_partially_pooled(kind):
    evidence, measure = sliced_items(kind, np.full(12, 0.8), 30, seed=5)
    asked = {"dim": "topic", "draws": 400}
    found = bcm.gap(evidence, measure, **asked)
    model = "repeated_items" if kind in ("answers", "attempts") else "multilabel"
    alone = bcm.gap(evidence, measure, model=model, **asked)
    first = {"class": 0} if "class" in found.dims else {}
    assert float(found.isel(first).point) < 0.7 * float(alone.isel(first).point)
    assert found.isel(first)[0] == 0  # their density is highest at 0
    assert "partially pooled" in found.attrs["how"]
    table = bcm.worst_slices(evidence, measure, **asked)
    assert not table["flagged"].any()
    assert set(table["topic"]) == set(range(12))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["answers", "label"])
def test_a_bad_slice_of_items_is_flagged(kind):
    rate = np.r_[0.4, np.full(11, 0.85)]
    evidence, measure = sliced_items(kind, rate, 60, seed=6)
    table = bcm.worst_slices(evidence, measure, dim="topic", draws=400)
    table = table[table["class"] == table["class"].iloc[0]] if "class" in table else table
    assert table["topic"][table["flagged"]].tolist() == [0]
    found = bcm.gap(evidence, measure, dim="topic", draws=400)
    found = found.isel({"class": 0}) if "class" in found.dims else found
    assert found[0] < 0.45 < found[1]
    assert found[0] > 0.1


@pytest.mark.long
@pytest.mark.parametrize("kind", ["answers", "label"])
def test_two_slices_of_items_are_not_pooled_unless_a_spread_is_given(kind):
    evidence, measure = sliced_items(kind, np.array([0.5, 0.9]), 25, seed=7)
    asked = {"dim": "topic", "draws": 4000, "kind": "eti"}
    found = bcm.gap(evidence, measure, **asked)
    row = bcm.compare(evidence, measure, dim="topic", kind="eti").iloc[0]
    found = found.isel({"class": 0}) if "class" in found.dims else found
    assert row["lower"] * row["upper"] > 0
    np.testing.assert_allclose(found, np.sort(np.abs([row["lower"], row["upper"]])), atol=0.02)
    pooled = bcm.gap(evidence, measure, spread=0.05, **asked)
    pooled = pooled.isel({"class": 0}) if "class" in pooled.dims else pooled
    assert float(pooled.point) < 0.7 * float(found.point)


@pytest.mark.long
def test_systems_and_labels_have_gaps_of_their_own():
    rng = np.random.default_rng(8)
    topic = np.repeat(np.arange(5), 40)
    actual = (rng.random((200, 2)) < 0.6).astype(int)
    keep = rng.random((200, 2)) < np.where(topic == 4, 0.3, 0.9)[:, None]
    predicted = {"a": actual * keep, "b": actual * (rng.random((200, 2)) < 0.85)}
    evidence = bcm.from_multilabel(actual, predicted, by={"topic": topic})
    found = bcm.gap(evidence, "recall", dim="topic", draws=500)
    assert set(found.dims) == {"classifier", "class", "bound"}
    assert (found.point.sel(classifier="a") > found.point.sel(classifier="b") + 0.2).all()
    shrunk = bcm.gap(evidence, "f1_micro", dim="topic", reference="a", delta=0, draws=500)
    assert float(shrunk.p_below.sel(classifier="b")) > 0.95


def test_a_slice_of_attempts_without_items_is_left_out():
    evidence, _ = sliced_items("answers", np.full(4, 0.7), 20, seed=9)
    kept = evidence.isel(item=evidence["slice_topic"].values != 2)
    table = bcm.worst_slices(kept, "mean", dim="topic", draws=300).set_index("topic")
    assert np.isnan(table.loc[2, "mean"])
    assert table.drop(index=2)[["mean", "lower", "upper"]].notna().all(axis=None)
    assert np.isfinite(bcm.gap(kept, "mean", dim="topic", draws=300)).all()

"""Several attributes at once: against the prior weighted by the likelihood, and at the limits."""

import numpy as np
import pytest
from monte_carlo import assert_converged, assert_same_distribution, measured, sampled_by_nuts
from pytensor.compile.mode import Mode
from scipy.special import expit, logit
from scipy.stats import binom

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.measures import resolve
from bayescm.posteriors.crossed_groups import curve_basis

CELLS = np.array(
    [
        [[[9, 2], [1, 7]], [[14, 1], [5, 6]], [[3, 3], [0, 0]]],
        [[[6, 4], [2, 2]], [[0, 0], [0, 0]], [[8, 0], [9, 4]]],
    ]
)
PEOPLE = bcm.from_matrix(CELLS, labels=["well", "sick"], positive="sick", dims=("sex", "age"))
PEOPLE = PEOPLE.assign_coords(sex=["f", "m"], age=["young", "middle", "old"])

THREE = bcm.from_matrix(
    np.random.default_rng(3)
    .multinomial(25, [0.24, 0.04, 0.02, 0.1, 0.2, 0.1, 0, 0.1, 0.2], (2, 3))
    .reshape(2, 3, 3, 3),
    labels=["a", "b", "c"],
    dims=("sex", "age"),
)


def weighted_prior(hits, totals, size=300_000):
    """Return draws of the rates of cells (size, 2, 3) from the prior, and their weights."""
    rng = np.random.default_rng(8)
    sex, age = np.abs(rng.standard_normal((2, size)))
    own = 0.5 * np.abs(rng.standard_normal(size))
    logits = logit(rng.beta(0.5, 0.5, size))[:, None, None]
    logits = logits + sex[:, None, None] * rng.standard_normal((size, 2, 1))
    logits = logits + age[:, None, None] * rng.standard_normal((size, 1, 3))
    logits = logits + own[:, None, None] * rng.standard_normal((size, 2, 3))
    heights = binom.logpmf(hits, totals, expit(logits)).sum((1, 2))
    weights = np.exp(heights - heights.max())
    return expit(logits), weights / weights.sum()


@pytest.mark.long
def test_cells_seen_and_unseen_are_those_of_the_prior_weighted_by_the_likelihood():
    rates, weights = weighted_prior(CELLS[..., 1, 1], CELLS[..., 1, :].sum(-1))
    mean = np.tensordot(weights, rates, 1)
    deviation = np.sqrt(np.tensordot(weights, (rates - mean) ** 2, 1))
    theta = posteriors.crossed_groups(PEOPLE).variables(8000, np.random.default_rng(0))["theta"]
    recall = resolve("recall")(theta)
    effective = 1 / (1 / 8000 + (weights**2).sum())
    error = 5 * deviation / effective**0.5
    assert (np.abs(recall.mean(0) - mean) < error).all()
    assert (np.abs(recall.std(0) - deviation) < error).all()
    assert deviation[1, 1] > 1.2 * deviation[0, 0]  # nobody has seen it


@pytest.mark.long
def test_three_classes_without_differences_are_one_sample():
    posterior = posteriors.crossed_groups(THREE, spread=1e-3, interaction=1e-3, concentration=1)
    whole = posteriors.dirichlet_multinomial(THREE.sum(["sex", "age"]), concentration=1)
    drawn, alone = (
        each.variables(4000, np.random.default_rng(0))["theta"] for each in (posterior, whole)
    )
    for function in (np.mean, np.std):
        expected = np.broadcast_to(function(alone, 0), (2, 3, 3, 3))
        np.testing.assert_allclose(function(drawn, 0), expected, atol=0.004)


@pytest.mark.long
def test_shares_of_three_classes_that_are_known():
    posterior = posteriors.crossed_groups(THREE, prevalence={"a": 0.1, "b": 0.2, "c": 0.7})
    theta = posterior.variables(50, np.random.default_rng(0))["theta"]
    shares = np.broadcast_to([0.1, 0.2, 0.7], (50, 2, 3, 3))
    np.testing.assert_allclose(theta.sum(-1), shares)


@pytest.mark.long
def test_without_differences_the_cells_are_one_sample():
    posterior = posteriors.crossed_groups(PEOPLE, spread=1e-3, interaction=1e-3)
    whole = bcm.interval(PEOPLE.sum(["sex", "age"]), "recall", kind="eti", concentration=0.5)
    drawn = resolve("recall")(posterior.variables(4000, np.random.default_rng(0))["theta"])
    ends = np.quantile(drawn, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(
        ends, np.broadcast_to(whole.values[:, None, None], ends.shape), atol=0.02
    )


@pytest.mark.long
def test_every_question_goes_to_the_cells():
    found = bcm.interval(PEOPLE, "recall", model="crossed_groups", random_seed=1)
    assert found.dims == ("sex", "age", "bound")
    assert np.isfinite(found.values).all()
    turned = PEOPLE.transpose("age", "sex", ...).isel(actual=[1, 0], predicted=[1, 0])
    again = bcm.interval(turned, "recall", model="crossed_groups", random_seed=2)
    np.testing.assert_allclose(again.transpose(*found.dims), found, atol=0.05)
    table = bcm.summary(PEOPLE, ["recall", "f1"], model="crossed_groups")
    assert len(table) == 2 * CELLS[..., 0, 0].size
    assert table["point"].notna().all()
    pairs = bcm.compare(PEOPLE, "recall", dim="age", model="crossed_groups", reference="old")
    assert len(pairs) == 4
    known = bcm.summary(PEOPLE, "prevalence", model="crossed_groups", prevalence=0.1)
    np.testing.assert_allclose(known["mean"], 0.1)


@pytest.mark.parametrize(
    ("evidence", "keywords", "said"),
    [
        (PEOPLE.sum("age"), {}, "for one attribute, use hierarchical_groups"),
        (THREE, {"prevalence": 0.2}, "one proportion per class"),
        (PEOPLE.rename(age="fold"), {}, "'fold' are not attributes of examples"),
        (PEOPLE.rename(age="batch"), {}, "'batch' are not attributes of examples"),
        (bcm.from_classifiers([0, 1], {"a": [0, 1], "b": [1, 1]}), {}, "one classifier"),
        (PEOPLE, {"interaction": 0}, "interaction must be a finite number"),
        (PEOPLE, {"spread": "wide"}, "spread must be a finite number > 0"),
        (PEOPLE, {"concentration": -1}, "concentration must be finite numbers >"),
        (PEOPLE, {"prevalence": 2}, "prevalence must be proportions"),
    ],
)
def test_what_makes_no_sense_is_refused(evidence, keywords, said):
    with pytest.raises(ValueError, match=said):
        bcm.interval(evidence, "recall", model="crossed_groups", **keywords)


# Attributes of numbers: slopes and curves in the place of levels.

AGES = np.arange(25, 85, 10)


def people(size, seed=4):
    """Return counts by sex and age, where recall falls with age on the logit scale."""
    rng = np.random.default_rng(seed)
    recall = np.broadcast_to(expit(3 - 0.05 * (AGES - 25)), (2, len(AGES)))
    hits, right = rng.binomial(size, recall), rng.binomial(size, 0.9, recall.shape)
    cells = np.stack([np.stack([right, size - right], -1), np.stack([size - hits, hits], -1)], -2)
    counts = bcm.from_matrix(cells, positive=1, dims=("sex", "age"))
    return counts.assign_coords(sex=["f", "m"], age=AGES)


def recall_of(counts, **keywords):
    return bcm.interval(counts, "recall", model="crossed_groups", random_seed=1, **keywords)


def length(found):
    return found.sel(bound="upper", drop=True) - found.sel(bound="lower", drop=True)


def test_a_curve_goes_on_as_a_line_and_unseen_values_do_not_move_it():
    rng = np.random.default_rng(0)
    levels, seen = np.arange(20.0, 81.0), rng.integers(1, 9, 61)
    columns = curve_basis(levels, seen)
    more = np.arange(0.0, 121.0)
    with_unseen = curve_basis(more, _padded(seen))
    np.testing.assert_allclose(with_unseen[20:81], columns, atol=1e-10)
    bend = np.diff(with_unseen, 2, axis=0)
    assert np.abs(bend[:18]).max() < 1e-9 > np.abs(bend[82:]).max()
    assert np.abs(bend[25:75, 1:]).max() > 1e-4
    share = seen / seen.sum()
    np.testing.assert_allclose(share @ columns, 0, atol=1e-10)
    np.testing.assert_allclose(share @ columns[:, 0] ** 2, 1)
    np.testing.assert_allclose((share @ columns[:, 1:] ** 2).sum(), 1)


def _padded(seen):
    return np.concatenate([np.zeros(20), seen, np.zeros(40)])


@pytest.mark.long
def test_the_model_computes_the_cells_of_the_direct_posterior():
    counts = people(9)
    model = models.crossed_groups(counts, smooth="age")
    direct_posterior = posteriors.crossed_groups(counts, smooth="age")
    drawn = direct_posterior.variables(3, np.random.default_rng(0))
    free = [model[each.name] for each in model.free_RVs]
    assert model.coords["attribute"] == ("sex", "age", "age curve")
    function = model.compile_fn(model["theta"], inputs=free, point_fn=False, mode=Mode("py", None))
    for index in range(3):
        found = function(*(drawn[each.name][index] for each in free))
        np.testing.assert_allclose(found, drawn["theta"][index], atol=1e-9)


@pytest.mark.long
def test_neighbouring_ages_learn_from_each_other_and_unseen_ones_are_answered():
    counts = people(25)
    smooth, apart = recall_of(counts, smooth="age"), recall_of(counts)
    truth = expit(3 - 0.05 * (AGES - 25))
    assert ((smooth[..., 0] < truth) & (truth < smooth[..., 1])).mean() > 0.8
    assert length(smooth).mean() < 0.97 * length(apart).mean()
    ages = sorted([*AGES.tolist(), 50, 100])
    asked = recall_of(counts.reindex(age=ages, fill_value=0), smooth="age")
    np.testing.assert_allclose(asked.sel(age=AGES), smooth, atol=0.05)
    width = length(asked).mean("sex").values
    assert width[ages.index(50)] < width[ages.index(100)]


@pytest.mark.parametrize(
    ("counts", "smooth", "said"),
    [
        (people(5), "agee", "Unknown attribute.*Did you mean"),
        (people(5), 5, "smooth must be names"),
        (people(5), ["age", "sex"], "Give numbers as labels, or leave smooth out"),
        (people(5).isel(age=[0, 1, 2, 3]), "age", "values, but a smooth curve needs"),
        (people(5) * (people(5)["age"] < 60), "age", "values, but a smooth curve needs"),
    ],
)
def test_what_cannot_be_smooth_is_refused(counts, smooth, said):
    with pytest.raises((ValueError, TypeError), match=said):
        recall_of(counts, smooth=smooth)


@pytest.mark.long
def test_nuts_agrees_on_smooth_attributes():
    counts = people(12)
    fitted = sampled_by_nuts(models.crossed_groups(counts, smooth="age"), seed=1)
    assert_converged(fitted)
    quick = posteriors.crossed_groups(counts, smooth="age").variables(
        8000, np.random.default_rng(0)
    )
    assert_same_distribution(fitted["posterior"]["rates"], quick["rates"])
    recall = measured(fitted["posterior"]["theta"], "recall")
    assert_same_distribution(recall, resolve("recall")(quick["theta"]))

"""Attributes of numbers: slopes and curves in the place of levels."""

import numpy as np
import pytest
from monte_carlo import assert_converged, assert_same_distribution, measured, sampled_by_nuts
from pytensor.compile.mode import Mode
from scipy.special import expit

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.measures import resolve
from bayescm.posteriors.crossed_groups import curve_of

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
    columns = curve_of(levels, seen)
    more = np.arange(0.0, 121.0)
    with_unseen = curve_of(more, _padded(seen))
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


def test_the_model_computes_the_siblings_cells():
    counts = people(9)
    model = models.crossed_groups(counts, smooth="age")
    sibling = posteriors.crossed_groups(counts, smooth="age")
    drawn = sibling.variables(3, np.random.default_rng(0))
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
        (people(5), "agee", "smooth is of an attribute.*Did you mean"),
        (people(5), 5, "smooth must be names"),
        (people(5), ["age", "sex"], "labels of sex are not numbers"),
        (people(5).isel(age=[0, 1, 2, 3]), "age", "too few values of age"),
        (people(5) * (people(5)["age"] < 60), "age", "too few values of age"),
    ],
)
def test_what_cannot_be_smooth_is_refused(counts, smooth, said):
    with pytest.raises((ValueError, TypeError), match=said):
        recall_of(counts, smooth=smooth)


@pytest.mark.long
def test_nuts_agrees():
    counts = people(12)
    fitted = sampled_by_nuts(models.crossed_groups(counts, smooth="age"), seed=1)
    assert_converged(fitted)
    quick = posteriors.crossed_groups(counts, smooth="age").variables(
        8000, np.random.default_rng(0)
    )
    assert_same_distribution(fitted["posterior"]["rates"], quick["rates"])
    recall = measured(fitted["posterior"]["theta"], "recall")
    assert_same_distribution(recall, resolve("recall")(quick["theta"]))

"""Slots: distributions that hold for every sample of scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayescm.posteriors.roc import slots
from bayescm.posteriors.roc.slots import block_bounds, block_weights, cells, slots_of
from bayescm.posteriors.scores import area_distribution


@st.composite
def samples(draw, views=1):
    size = draw(st.integers(2, 30))
    levels = st.integers(-4, 4).map(float) | st.sampled_from([np.inf, -np.inf])
    scores = [draw(st.lists(levels, min_size=size, max_size=size)) for _ in range(views)]
    positive = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    positive[:2] = [True, False]
    weight = st.sampled_from([1.0, 1.0, 2.0, 0.25])
    weights = np.array(draw(st.lists(weight, min_size=size, max_size=size)))
    return np.array(scores), positive, weights


@pytest.mark.long
@settings(deadline=None)
@given(samples())
def test_every_example_weighs_its_weight(sample):
    (scores,), positive, weights = sample
    found = slots_of(scores, positive, weights)
    totals = [weights[~positive].sum(), weights[positive].sum()]
    np.testing.assert_allclose(found.concentration.sum(1), totals)
    assert (found.concentration[:, ~found.tied] > 0).all()


@pytest.mark.long
@settings(deadline=None)
@given(samples())
def test_turning_the_scale_around_turns_the_slots_around(sample):
    (scores,), positive, weights = sample
    found, turned = slots_of(scores, positive, weights), slots_of(-scores, ~positive, weights)
    np.testing.assert_allclose(turned.concentration[::-1, ::-1], found.concentration)


@pytest.mark.long
@settings(deadline=None)
@given(samples())
def test_only_the_order_counts(sample):
    (scores,), positive, weights = sample
    stretched = np.where(np.isfinite(scores), np.exp(np.clip(scores, -9, 9)), scores)
    found, other = (slots_of(each, positive, weights) for each in (scores, stretched))
    np.testing.assert_array_equal(other.concentration, found.concentration)


@pytest.mark.long
@settings(deadline=None)
@given(samples())
def test_a_whole_weight_is_that_many_copies(sample):
    (scores,), positive, _ = sample
    copies = np.arange(len(scores)) % 3 + 1
    once = slots_of(scores, positive, copies.astype(float))
    many = slots_of(np.repeat(scores, copies), np.repeat(positive, copies), np.ones(copies.sum()))
    np.testing.assert_allclose(once.concentration, many.concentration)


@pytest.mark.long
@settings(deadline=None)
@given(samples(views=3))
def test_cells_refine_the_slots_of_every_view(sample):
    scores, positive, weights = sample
    views = [slots_of(each, positive, weights) for each in scores]
    length, example, slot = cells(views, weights)
    np.testing.assert_allclose(np.bincount(example, length, len(weights)), weights)
    for each, row in zip(views, slot, strict=True):
        for side in (0, 1):
            own = positive[example] == bool(side)
            mass = np.bincount(row[own], length[own], each.concentration.shape[1])
            np.testing.assert_allclose(mass, each.concentration[side], atol=1e-7)


def test_a_gap_spreads_over_the_slots_that_the_other_class_leaves():
    # From the top: + - - +, so the positives' inner gap is cut in three, the negatives' not at all.
    found = slots_of(np.array([4.0, 3, 2, 1]), np.array([True, False, False, True]), np.ones(4))
    np.testing.assert_allclose(found.concentration[0], [1 / 4, 1 / 4, 1, 1 / 4, 1 / 4])
    np.testing.assert_allclose(found.concentration[1], [1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 2])


def test_ties_keep_all_but_the_outer_halves():
    found = slots_of(np.array([2.0, 2, 2, 1]), np.array([True, True, True, False]), np.ones(4))
    assert found.tied.tolist() == [False, True, False, False]
    np.testing.assert_allclose(found.concentration[0], [1 / 8, 1 / 4, 1 / 8, 1 / 2])
    np.testing.assert_allclose(found.concentration[1], [1 / 2, 2, 1 / 4, 1 / 4])


@pytest.mark.parametrize(
    ("threshold", "place"),
    [(9, 1), (4, 1), (3.5, 1.5), (3, 2), (1.25, 3.75), (1, 4), (0.9, 4), (-np.inf, 5), (np.inf, 0)],
)
def test_thresholds_have_a_place_among_the_slots(threshold, place):
    found = slots_of(np.array([4.0, 3, 2, 1]), np.array([True, False, False, True]), np.ones(4))
    assert found.above(np.array([threshold])).item() == place


def test_a_threshold_beside_an_infinite_score():
    found = slots_of(np.array([np.inf, 0, -np.inf]), np.array([True, False, False]), np.ones(3))
    np.testing.assert_allclose(found.above(np.array([np.inf, 5.0, 0.0, -5.0])), [1, 1.5, 2, 2.5])


def test_blocks_are_light_and_finer_at_the_ends():
    rng = np.random.default_rng(1)
    positive = rng.random(5000) < 0.3
    found = slots_of(rng.normal(positive, 1), positive, np.ones(5000))
    cuts = block_bounds(found, 256, uncut=[17.5, 3000])
    assert cuts[0] == 0
    assert cuts[-1] == 5001
    assert {17, 18, 3000} <= set(cuts.tolist())
    share = np.add.reduceat(found.concentration, cuts[:-1], axis=1)
    assert (share / share.sum(1, keepdims=True)).max() < 0.015
    assert len(cuts) < 300
    assert np.diff(cuts)[0] < np.diff(cuts).max() / 4


def test_where_the_open_ends_begin():
    found = slots_of(np.array([5.0, 4, 3, 2, 1]), np.array([1, 0, 1, 0, 0], bool), np.ones(5))
    assert found.open_ends == (2, 3)  # above the second score, and down to the third
    assert found.concentration[0, :2].sum() == 0.5
    assert found.concentration[1, 3:].sum() == 0.5
    tied = slots_of(np.array([5.0, 5, 4, 3, 3]), np.array([1, 1, 0, 1, 0], bool), np.ones(5))
    assert tied.concentration[0, : tied.open_ends[0]].sum() == 0.5
    assert tied.concentration[1, tied.open_ends[1] :].sum() == 0.5


@pytest.mark.parametrize("digits", [None, 1])
def test_blocks_of_very_many_scores_have_the_area_of_all_of_them(digits, monkeypatch):
    rng = np.random.default_rng(8)
    positive, weights = rng.random(20_000) < 0.3, rng.exponential(size=20_000) + 0.1
    score = rng.normal(positive, 1) if digits is None else rng.normal(positive, 1).round(digits)
    score[:3] = np.inf, np.inf, -np.inf
    exact = area_distribution(slots_of(score, positive, weights).concentration)
    monkeypatch.setattr(slots, "_MANY", 100)
    monkeypatch.setattr(slots, "_BLOCKS", 2000)
    monkeypatch.setattr(slots, "_CHUNK", 3000)  # the last one is shorter
    found = area_distribution(block_weights(score, positive, weights))
    assert found.mean() == pytest.approx(exact.mean(), abs=0.01 * exact.sd())
    assert found.sd() == pytest.approx(exact.sd(), rel=1e-3)

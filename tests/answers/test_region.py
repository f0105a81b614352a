"""Regions of two measures and correlations."""

import numpy as np
import pytest
from reference_cases import cases

import bayescm as bcm
from bayescm.answers import regions
from bayescm.answers.compare import draw_measures
from bayescm.fitting.question import Question

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
PAIR = ("recall", "precision")


@pytest.mark.long
@pytest.mark.parametrize("cells", [(65, 15, 35, 30), (9, 0, 1, 30), (650, 150, 3, 9000)])
def test_regions_hold_their_share_of_fresh_draws(cells):
    counts = bcm.from_cells(**dict(zip(("tp", "fn", "fp", "tn"), cells, strict=True)))
    fresh = draw_measures(counts, list(PAIR), Question(draws=20_000, random_seed=1))
    for prob in (0.5, 0.9):
        where = bcm.answers.region(counts, PAIR, prob=prob, draws=50_000, random_seed=0)
        inside = where.inside.sel(recall=fresh.recall, precision=fresh.precision, method="nearest")
        assert float(inside.mean()) == pytest.approx(prob, abs=0.02)


@pytest.mark.long
def test_the_region_is_the_smallest():
    where = bcm.answers.region(COUNTS, PAIR, random_seed=0)
    draws = draw_measures(COUNTS, list(PAIR), Question(random_seed=1))
    both = np.stack([draws.recall, draws.precision])
    # An ellipse of the same mass, which a nearly normal distribution makes nearly the best.
    area = np.pi * 5.991 * np.sqrt(np.linalg.det(np.cov(both)))
    assert float(where.area) == pytest.approx(area, rel=0.08)


@pytest.mark.long
def test_a_larger_probability_takes_more_room():
    small, large = (bcm.answers.region(COUNTS, PAIR, prob=p, random_seed=0) for p in (0.5, 0.95))
    assert not (small.inside & ~large.inside).any()
    assert float(small.area) < float(large.area)


@pytest.mark.long
def test_the_density_integrates_to_one():
    where = bcm.answers.region(COUNTS, PAIR, random_seed=0)
    cell = np.prod([float(where[name][1] - where[name][0]) for name in PAIR])
    assert float(where.density.sum() * cell) == pytest.approx(1)


@pytest.mark.long
def test_members_share_a_grid():
    actual = np.tile([1, 0, 1, 1, 0], 40)
    answers = {"a": np.roll(actual, 1), "b": actual}
    where = bcm.answers.region(bcm.from_classifiers(actual, answers), PAIR, random_seed=0)
    assert where.density.dims == ("classifier", *PAIR)
    assert where.area.dims == ("classifier",)


@pytest.mark.parametrize("bad", ["f1", ("f1",), ("f1", "recall", "mcc")])
def test_a_region_is_of_two_measures(bad):
    with pytest.raises(ValueError, match="A region needs exactly two measures"):
        bcm.answers.region(COUNTS, bad)


@pytest.mark.long
def test_a_region_for_every_class():
    counts = bcm.from_matrix(np.eye(3, dtype=int) + 3, labels=list("abc"))
    assert bcm.answers.region(counts, PAIR).area.dims == ("class",)
    with pytest.raises(ValueError, match=r"Only one of the measures .* has one value per class"):
        bcm.answers.region(counts, ("recall", "f1_macro"))


@pytest.mark.long
@pytest.mark.parametrize("case", cases("caelen-predictive-MCC"))
def test_caelens_correlation(case):
    order = ("tp", "tn", "fp", "fn")
    cells = dict(zip(order, case["inputs"]["v_tp_tn_fp_fn"], strict=True))
    found = bcm.answers.correlation(
        bcm.from_cells(**cells),
        ["precision", "recall"],
        of="predictive",
        concentration=float(case["inputs"]["alpha"][0]),
        draws=200_000,
        prob=0.999,
        random_seed=0,
    ).isel(measure=0, other=1)
    assert found.lower < case["expected"]["corr_precision_recall"] < found.upper


def test_a_measure_and_its_complement():
    found = bcm.answers.correlation(COUNTS, ["recall", "fnr", "specificity"], random_seed=0)
    table = found.correlation
    np.testing.assert_allclose(np.diag(table), 1)
    assert float(table.sel(measure="recall", other="fnr")) == pytest.approx(-1)
    middle = found.sel(measure="recall", other="specificity")  # independent a posteriori
    assert middle.lower < 0 < middle.upper


def test_a_correlation_needs_two():
    with pytest.raises(ValueError, match="A correlation needs two or more measures"):
        bcm.answers.correlation(COUNTS, ["f1"])


def test_nothing_is_compared_and_so_nothing_warned_of():
    """Two classifiers with the same class totals: `compare` warns, a region does not."""
    counts = bcm.from_cells(tp=[65, 60], fn=[15, 20], fp=[35, 30], tn=[30, 35])
    both = counts.rename(batch="classifier")
    assert (
        bcm.answers.correlation(both, ["precision", "recall"], draws=200).sizes["classifier"] == 2
    )
    with pytest.warns(UserWarning, match="same class totals"):
        bcm.compare(both, "recall", draws=200)


def test_repeated_draws_are_smoothed_as_the_different_ones_among_them():
    draws = np.random.default_rng(0).normal([[0.5], [0.6]], 0.05, (2, 500))
    grids = [regions._grid(each, (0, 1)) for each in draws]
    density, level = regions._highest(draws, grids, 0.9)
    repeated, same_level = regions._highest(np.repeat(draws, 30, axis=1), grids, 0.9)
    np.testing.assert_allclose(repeated, density, atol=0.005 * density.max())
    assert same_level == pytest.approx(level, rel=0.01)

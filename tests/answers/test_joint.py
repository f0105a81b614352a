"""Simultaneous intervals: they hold at once, and words follow from them alone."""

import time

import numpy as np
import pytest
import xarray as xr
from validation.comparisons import classifiers_with_shared_errors

import bayescm as bcm
from bayescm.answers.joint import envelope
from bayescm.classical import delta
from bayescm.evidence.outcomes import marginal_matrices
from bayescm.measures import resolve
from bayescm.posteriors.joint_table import classifier_priors
from bayescm.posteriors.paired_outcomes import PairedOutcomes

MEASURES = ["f1", "accuracy", "precision", "recall"]


@pytest.fixture(scope="module")
def three():
    cells, p = classifiers_with_shared_errors(0.3, (0.05, 0.15, 0.3), 0.5)
    drawn = np.random.default_rng(4).choice(len(p), 3000, p=p)
    names = dict(zip("abc", cells[1:, drawn], strict=True))
    return bcm.from_classifiers(cells[0, drawn], names)


SCENARIOS = [(200, 0.5, (0.2, 0.25, 0.3), 0.5), (500, 0.1, (0.05, 0.07, 0.1), 0.5)]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_intervals_hold_jointly_as_often_as_they_say(scenario):
    n, positives, rates, shared = scenario
    cells, p = classifiers_with_shared_errors(positives, rates, shared)
    kernels = [resolve(name) for name in MEASURES]
    truth = np.concatenate(
        [kernel(marginal_matrices(p, cells[0], cells[1:], 2)) for kernel in kernels]
    )
    rng = np.random.default_rng(0)
    held, single = 0, 0
    for _ in range(200):
        counts = rng.multinomial(n, p)
        matrices = bcm.from_matrix(
            marginal_matrices(counts, cells[0], cells[1:], 2), dims=("classifier",)
        )
        posterior = PairedOutcomes(
            matrices, counts, cells[0], cells[1:], classifier_priors(None, 3, 2)
        )
        draws = np.concatenate(posterior.draw(kernels, 2000, rng), axis=1)
        ends, _ = envelope(draws, 0.95)
        held += ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all()
        alone = np.quantile(draws, [0.025, 0.975], axis=0)
        single += ((alone[0] <= truth) & (truth <= alone[1])).all()
    assert 0.93 - 0.016 <= held / 200 <= 0.97 + 0.016  # the bar, and the error of 200 samples
    assert single / 200 < 0.85  # single intervals do not hold jointly: the negative control


def test_the_share_of_draws_inside_is_the_probability():
    draws = np.random.default_rng(0).standard_normal((5000, 7)).cumsum(1)
    ends, reached = envelope(draws, 0.9)
    inside = ((draws >= ends[:, 0]) & (draws <= ends[:, 1])).all(1)
    assert inside.mean() == pytest.approx(reached)
    assert 0.9 <= reached < 0.905


def test_one_measure_has_its_own_interval():
    draws = np.random.default_rng(0).standard_normal((10_000, 1))
    ends, _ = envelope(draws, 0.95)
    np.testing.assert_allclose(ends[0], np.quantile(draws, [0.025, 0.975]), atol=0.01)


def test_copies_cost_nothing():
    draws = np.random.default_rng(0).standard_normal((4000, 1))
    once, _ = envelope(draws, 0.95)
    often, _ = envelope(np.concatenate([draws, -draws, np.exp(draws)], 1), 0.95)
    np.testing.assert_allclose(often[0], once[0])


@pytest.mark.long
def test_intervals_agree_with_the_delta_method_for_many_examples(three):
    many = three.assign(counts=three.counts * 100)
    ours = bcm.joint_interval(many, MEASURES, random_seed=0)
    theirs = delta(many, MEASURES, joint=True)
    assert set(ours) == set(theirs)
    for name in MEASURES:
        assert ours[name].dims == theirs[name].dims
        length = theirs[name].diff("bound").values
        assert (np.abs(ours[name] - theirs[name]) < 0.12 * length).all()


@pytest.mark.long
def test_pairs_leave_out_the_others(three):
    chosen = bcm.joint_interval(three, ["f1", "recall"], pairs=[("a", "f1")], random_seed=0)
    assert int(chosen.f1.notnull().sum()) == 2
    assert chosen.recall.isnull().all()
    every = bcm.joint_interval(three, ["f1", "recall"], random_seed=0)
    assert float(chosen.f1.sel(classifier="a").diff("bound")[0]) < float(
        every.f1.sel(classifier="a").diff("bound")[0]
    )


def test_batches_hold_by_themselves():
    counts = bcm.from_cells(tp=[65, 6], fn=[15, 2], fp=[35, 3], tn=[30, 3])
    both = bcm.joint_interval(counts, ["precision", "recall"], random_seed=0)
    assert both.precision.dims == ("batch", "bound")
    assert both.prob_all.shape == (2,)
    alone = bcm.joint_interval(counts.isel(batch=0), ["precision", "recall"], random_seed=0)
    xr.testing.assert_allclose(both.isel(batch=0).precision, alone.precision, atol=0.01)


def test_classes_hold_together():
    counts = bcm.from_matrix(np.diag([9, 8, 7]) + 1, labels=list("xyz"))
    found = bcm.joint_interval(counts, "recall", random_seed=0)
    assert found.recall.dims == ("class", "bound")


@pytest.mark.long
def test_a_measure_undefined_throughout_is_left_out(three):
    def never(cells):
        return np.full(cells.shape[:-2], np.nan)

    both = bcm.joint_interval(three, ["f1", never], random_seed=0)
    assert both.never.isnull().all()
    xr.testing.assert_allclose(both.f1, bcm.joint_interval(three, "f1", random_seed=0).f1)


def test_twelve_measures_from_ten_thousand_draws_are_quick():
    draws = np.random.default_rng(0).standard_normal((10_000, 12))
    envelope(draws, 0.95)
    start = time.process_time()
    envelope(draws, 0.95)
    assert time.process_time() - start < 0.2


def test_conclusions(three):
    joint = bcm.joint_interval(three, ["f1", "accuracy"], random_seed=0)
    said = bcm.answers.conclusions(joint, above={"accuracy": 0.9})
    assert "a is the best of all in F1" in said
    assert "c is the worst of all in accuracy" in said
    assert "accuracy of a is above 0.9" in said
    assert "accuracy of c is below 0.9" in said
    gap = float(joint.f1.sel(classifier="a", bound="lower"))
    gap -= float(joint.f1.sel(classifier="b", bound="upper"))
    (claim,) = [each for each in said if each.startswith("a beats b in F1")]
    claimed = float(claim.rsplit(" ", 1)[1])
    assert 0.9 * gap <= claimed <= gap


def intervals(**ends):
    coords = {"classifier": list(ends), "bound": ["lower", "upper"]}
    return xr.Dataset({"f1": (("classifier", "bound"), list(ends.values()))}, coords=coords)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"a": [0.5, 0.6], "b": [0.55, 0.7]}, []),
        ({"a": [0.5, 0.6], "b": [0.45, 0.7]}, ["the interval of a in F1 lies inside that of b"]),
        ({"a": [0.5, 0.6], "b": [0.61234, 0.7]}, ["b beats a in F1 by at least 0.012"]),
        ({"a": [5.0, 6.0], "b": [26.0, 30.0]}, ["b beats a in F1 by at least 20"]),
        ({"a": [0.5, 0.6], "b": [np.nan, np.nan]}, []),
    ],
)
def test_what_follows_from_two_intervals(ends, said):
    assert bcm.answers.conclusions(intervals(**ends)) == said


def test_conclusions_hold_of_the_delta_method_too(three):
    said = bcm.answers.conclusions(delta(three, "f1", joint=True, blur="shared"))
    assert any(each.startswith("a beats c in F1") for each in said)


def test_classes_are_named():
    counts = bcm.from_matrix(np.diag([90, 80, 70]) + 1, labels=list("xyz"))
    said = bcm.answers.conclusions(
        bcm.joint_interval(counts, "recall", random_seed=0), above={"recall": 0.5}
    )
    assert "recall[x] of it is above 0.5" in said


@pytest.mark.parametrize("bad", [[("z", "f1")], [("a", "recall")]])
def test_unknown_pairs_are_named(three, bad):
    with pytest.raises(ValueError, match="is not in the evidence"):
        bcm.joint_interval(three, "f1", pairs=bad)


def test_pairs_need_classifiers():
    with pytest.raises(ValueError, match="pairs needs evidence with classifiers"):
        bcm.joint_interval(bcm.from_cells(tp=6, fn=5, fp=3, tn=3), "f1", pairs=[("a", "f1")])


def test_intervals_over_folds_stay_in_the_range_of_the_measure():
    tables = [
        [[24, 1, 0, 25], [25, 0, 1, 24], [24, 0, 0, 26], [23, 1, 1, 25], [25, 0, 0, 25]],
        [[24, 0, 1, 25], [23, 1, 1, 25], [26, 0, 0, 24], [24, 1, 0, 25], [25, 1, 1, 23]],
    ]
    folds = bcm.from_matrix(np.reshape(tables, (2, 5, 2, 2)), dims=("classifier", "fold"))
    found = bcm.joint_interval(folds, ["precision", "mcc"])
    assert float(found.to_array().max()) == 1
    assert (found.to_array().sel(bound="lower") < 0.97).all()

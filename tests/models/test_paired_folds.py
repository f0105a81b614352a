"""Classifiers on the same folds: the model and its direct posterior, and what pairing is for."""

import numpy as np
import pytest
import xarray as xr
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor import function
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.posteriors import paired_outcomes

RNG = np.random.default_rng(2)
CELLS = np.indices((2, 2, 2)).reshape(3, -1)
OFTEN = np.array([12, 2, 2, 3, 3, 2, 1, 14])
FOLDS = RNG.poisson(OFTEN, (5, 8))
HALVES = RNG.poisson(2 * OFTEN, (3, 2, 8))


THREE = np.indices((2, 2, 2, 2)).reshape(4, -1)
OF_THREE = RNG.poisson(4, (5, 16)), RNG.poisson(6, (3, 2, 16))


def outcomes(folds=FOLDS, halves=None):
    cells = CELLS if np.shape(folds)[-1] == 8 else THREE
    coords = {"actual": ("outcome", cells[0]), "predicted": (("classifier", "outcome"), cells[1:])}
    coords |= {"label": [0, 1], "classifier": list("abc")[: len(cells) - 1], "positive": 1}
    found = xr.Dataset({"counts": (("fold", "outcome"), folds)}, coords=coords)
    found = found.assign_coords(fold=np.arange(len(folds)))
    return (
        found if halves is None else found.assign(halves=(("halving", "half", "outcome"), halves))
    )


@pytest.mark.long
@pytest.mark.parametrize("seen", [(FOLDS,), (FOLDS, HALVES), OF_THREE], ids=["folds", "2", "3"])
def test_model_and_direct_posterior_have_one_density_and_one_theta(seen):
    evidence = outcomes(*seen)
    posterior = posteriors.paired_folds(evidence, spread=0.5)
    drawn = posterior.variables(4, np.random.default_rng(1))
    model = remove_value_transforms(models.paired_folds(evidence, spread=0.5))
    names, mode = [each.name for each in model.free_RVs], Mode("py", None)
    density = model.compile_logp(jacobian=False, mode=mode)
    theta = function([model[name] for name in names], model["theta"], mode=mode)
    points = [{name: drawn[name][i] for name in names} for i in range(4)]
    gaps = [density(point) for point in points] - posterior.log_density(drawn)
    assert np.ptp(gaps) < 1e-8
    other = posteriors.paired_folds(evidence, spread=0.2)
    assert np.ptp([density(point) for point in points] - other.log_density(drawn)) > 1e-3
    for index, point in enumerate(points):
        np.testing.assert_allclose(theta(**point), drawn["theta"][index], atol=1e-12)


def length(evidence, measure="recall", **options):
    row = bcm.compare(evidence, measure, draws=4000, kind="eti", **options).iloc[0]
    return row["upper"] - row["lower"]


def test_what_classifiers_have_in_common_cancels_and_what_moves_one_does_not():
    quiet = np.tile(2 * OFTEN, (4, 2, 1))
    loud = quiet.copy()
    loud[:, 0, [0, 4]], loud[:, 0, [2, 6]] = loud[:, 0, [0, 4]] - 6, loud[:, 0, [2, 6]] + 6
    loud[:, 1, [1, 5]] = loud[:, 1, [1, 5]] + [2, 2]
    still = length(outcomes(halves=quiet))
    pooled = paired_outcomes(outcomes().sum("fold"))
    apart = {name: pooled.counts.sel(classifier=name, drop=True) for name in "ab"}
    assert still < 0.9 * length({"a": apart["a"], "b": apart["b"] + 1})
    assert length(outcomes(halves=loud)) > 1.15 * still


def test_separations_go_together_as_answers_agree():
    """Twins, and a third that is right and wrong on its own."""
    answers = (THREE[1:] == THREE[0]).astype(int)
    table = np.where(answers[0] == answers[1], 20, 0) * np.where(answers[2], 2, 1)
    root = posteriors.paired_folds(outcomes(np.tile(table, (4, 1)))).separations.root
    together = root @ root.T
    np.testing.assert_allclose(together.diagonal(), 1)
    assert together[0, 1] > 0.99
    assert abs(together[0, 2]) < 0.01
    against = np.tile([8, 8, 8, 0, 8, 8, 8, 0], (4, 1))
    against = posteriors.paired_folds(outcomes(against)).separations.root
    assert 0 <= (against @ against.T)[0, 1] < 1e-9


def test_halves_that_differ_in_how_much_is_right_make_intervals_longer():
    quiet = np.tile(2 * OFTEN, (4, 2, 1))
    loud = quiet.copy()
    loud[:, 0, [0, 7]], loud[:, 0, [3, 4]] = loud[:, 0, [0, 7]] - 5, loud[:, 0, [3, 4]] + 5
    loud[:, 1, [0, 7]], loud[:, 1, [3, 4]] = loud[:, 1, [0, 7]] + 5, loud[:, 1, [3, 4]] - 5
    still = length(outcomes(halves=quiet), "accuracy")
    assert length(outcomes(halves=loud), "accuracy") > 1.1 * still
    spreads = [
        posteriors.paired_folds(outcomes(halves=each)).separations.draw(
            2000, np.random.default_rng(1)
        )
        for each in (quiet, loud)
    ]
    assert np.median(spreads[1]) > 1.5 * np.median(spreads[0])


def test_spreads_of_separations_are_drawn_as_their_density_says():
    separations = posteriors.paired_folds(outcomes(halves=HALVES)).separations
    spreads = np.geomspace(1e-3, 20, 4000)
    density = np.exp(separations.log_density(spreads)) * spreads
    drawn = np.log(separations.draw(20_000, np.random.default_rng(1)))
    mean = np.average(np.log(spreads), weights=density)
    variance = np.average((np.log(spreads) - mean) ** 2, weights=density)
    assert abs(drawn.mean() - mean) < 0.03
    assert abs(drawn.std() / np.sqrt(variance) - 1) < 0.05


@pytest.mark.long
def test_a_twin_differs_by_little():
    both = outcomes(np.tile([60, 0, 0, 15, 12, 0, 0, 63], (5, 1)))
    row = bcm.compare(both, "f1", model="paired_folds").iloc[0]
    assert abs(row["mean"]) < 0.01
    assert 0.3 < row["p_better"] < 0.7


def test_other_evidence_is_refused():
    with pytest.raises(ValueError, match="needs the outcomes of one cross-validation"):
        posteriors.paired_folds(outcomes().isel(fold=0))
    with pytest.raises(ValueError, match="Two or more classifiers are needed"):
        posteriors.paired_folds(outcomes().sel(classifier=["a"]))
    with pytest.raises(ValueError, match="spread must be a finite number > 0"):
        posteriors.paired_folds(outcomes(), spread=0)

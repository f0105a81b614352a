"""Experiments on curves: the populations are right, and the band beats one that must fail."""

import numpy as np
import pytest
import xarray as xr
from validation import experiments
from validation.curves import (
    FPR,
    POPULATIONS,
    band_as_interval,
    curve_intervals,
    difference_intervals,
    population_curve,
    scores_of_pair,
    scores_of_population,
    shift_of_area,
    threshold_intervals,
)

from bayescm import simulation
from bayescm.curves import band, estimate
from bayescm.evidence.scores import score_arrays
from bayescm.measures.curves import Curve, auc, tpr_at


@pytest.mark.long
@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("area", [0.8, 0.96, 0.99])
def test_populations_have_the_area_of_their_setting(population, area):
    shift = shift_of_area(population, area)
    exact = auc(population_curve(population, shift, 0.3))[0]
    assert exact == pytest.approx(area, abs=1e-8)
    rng = np.random.default_rng(1)
    evidence, truth = scores_of_population(rng, population, area, 20_000, 0.3)
    for name in ("auc", "average_precision"):
        assert estimate(evidence, name).item() == pytest.approx(truth[name], abs=0.015)


@pytest.mark.parametrize(("table", "size"), [("coverage", 60), ("paired", 32), ("threshold", 5)])
def test_all_cases_have_a_setting_of_their_own(table, size):
    (experiment,) = experiments("curves", table)
    assert len(set(experiment.cases.values())) == len(experiment.cases) == size


def plain_bootstrap(evidence):
    """Return the band of the Bayesian bootstrap of the examples: no open ends, no gaps."""
    matrix, _, codes = score_arrays(evidence)
    rng, order = np.random.default_rng(1), np.argsort(-matrix[0])
    rates = []
    for side in (0, 1):
        mass = rng.standard_exponential((500, len(codes))) * (codes[order] == side)
        total = np.pad(np.cumsum(mass, axis=1), ((0, 0), (1, 0)))
        rates.append(total / total[:, -1:])
    pieces = np.full(len(codes), 0.5), np.zeros(len(codes), bool), np.arange(len(codes) + 1)
    tpr = tpr_at(Curve(*rates, np.full(500, 0.3), *pieces), FPR)
    bounds = band(xr.DataArray(tpr, dims=("draw", "fpr"))).values
    return {"roc band": band_as_interval(bounds, evidence.attrs["tpr"])}


@pytest.mark.long
def test_the_band_holds_the_curve_where_the_bayesian_bootstrap_does_not():
    table = simulation.run(
        lambda rng: scores_of_population(rng, "binormal", 0.8, 50, 0.3),
        {
            "posterior": lambda evidence: curve_intervals(evidence, draws=500),
            "bootstrap": plain_bootstrap,
        },
        replications=40,
        seed=1,
    )
    doc = table.set_index(["measure", "method"])["doc"]
    assert doc["roc band", "posterior"] > 0.82
    assert doc["pr band", "posterior"] > 0.82
    assert doc["auc", "posterior"] > 0.8
    assert doc["roc band", "bootstrap"] < 0.7


@pytest.mark.long
def test_differences_and_best_thresholds_cover():
    (paired,) = experiments("curves", "paired")
    table = simulation.run(
        lambda rng: scores_of_pair(rng, 0.8, 0.85, 0.3, 50, 0.3),
        {
            "posterior": lambda evidence: difference_intervals(evidence, draws=300),
            "DeLong": paired.methods["DeLong"],
        },
        replications=20,
        seed=1,
    )
    assert (table["doc"] > 0.7).all()
    length = table[table["measure"] == "auc"].set_index("method")["il"]
    assert length["posterior"] == pytest.approx(length["DeLong"], rel=0.1)
    (threshold,) = experiments("curves", "threshold")
    setting = {"population": "binormal", "area": 0.8, "prevalence": 0.3}
    table = simulation.run(
        lambda rng: threshold.draw(rng, "binormal", 0.8, 50, 0.3),
        {"posterior": lambda evidence: threshold_intervals(evidence, **setting, draws=300)},
        replications=40,
        seed=1,
    )
    assert (table[table["measure"].str.startswith("value")]["doc"] > 0.74).all()

"""Coverage of curves: the studies run, and the distribution they judge beats one that must fail."""

import numpy as np
import pytest

from bayescm.curves import band, numbers
from bayescm.direct.roc import curve
from bayescm.direct.roc.curve import Curve
from bayescm.direct.scores import arrays
from bayescm.simulation import coverage
from bayescm.studies.ours.curves import answers, populations


@pytest.mark.parametrize("population", populations.POPULATIONS)
@pytest.mark.parametrize("area", populations.AREAS)
def test_populations_have_the_area_they_are_asked_for(population, area):
    shift = populations.find_shift(population, area)
    assert curve.auc(populations.whole(population, shift, 0.3))[0] == pytest.approx(area, abs=1e-8)
    evidence, truth = populations.sample(
        np.random.default_rng(1), population=population, area=area, n=20_000, prevalence=0.3
    )
    for name in ("auc", "average_precision"):
        assert numbers.estimate(evidence, name).item() == pytest.approx(truth[name], abs=0.015)


def plain_bootstrap(evidence):
    """Return the band of the Bayesian bootstrap of the examples: no open ends, no gaps."""
    matrix, _, codes = arrays(evidence)
    rng, order = np.random.default_rng(1), np.argsort(-matrix[0])
    rates = []
    for side in (0, 1):
        mass = rng.standard_exponential((500, len(codes))) * (codes[order] == side)
        total = np.pad(np.cumsum(mass, axis=1), ((0, 0), (1, 0)))
        rates.append(total / total[:, -1:])
    pieces = np.full(len(codes), 0.5), np.zeros(len(codes), bool), np.arange(len(codes) + 1)
    drawn = curve.tpr_at(Curve(*rates, np.full(500, 0.3), *pieces), populations.FPR)
    bounds = band(numbers.xr.DataArray(drawn, dims=("draw", "fpr"))).values
    return {"roc band": populations.as_interval(bounds, evidence.attrs["tpr"])}


@pytest.mark.long
def test_the_band_holds_the_curve_where_the_bayesian_bootstrap_does_not():
    study = populations.study("binormal", 0.8, 50, 0.3, draws=500)
    methods = {"posterior": study.methods["posterior"], "bootstrap": plain_bootstrap}
    table = coverage.run(study, methods, replications=40, seed=1)
    doc = table.set_index(["measure", "method"])["doc"]
    assert doc["roc band", "posterior"] > 0.82
    assert doc["pr band", "posterior"] > 0.82
    assert doc["auc", "posterior"] > 0.8
    assert doc["roc band", "bootstrap"] < 0.7


@pytest.mark.long
def test_differences_and_choices_have_studies_too():
    paired = coverage.run(
        answers.paired_study((0.8, 0.85), 0.3, 50, 0.3, draws=300), replications=20, seed=1
    )
    assert (paired["doc"] > 0.7).all()
    length = paired[paired.measure == "auc"].set_index("method")["il"]
    assert length["posterior"] == pytest.approx(length["DeLong"], rel=0.1)
    chosen = coverage.run(
        answers.choice_study("binormal", 0.8, 50, 0.3, draws=300), replications=40, seed=1
    )
    assert (chosen[chosen.measure.str.startswith("value")]["doc"] > 0.74).all()

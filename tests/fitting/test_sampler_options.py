"""The options of `pymc.sample` reach the sampler from every function, or are errors."""

import inspect
from functools import partial

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.fitting import nuts as sampling
from bayescm.fitting.sampler_options import OPTIONS

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
PAIR = {"a": COUNTS, "b": COUNTS + 1}
SITES = xr.concat([COUNTS, COUNTS + 1, 2 * COUNTS], "group").assign_coords(group=list("xyz"))
GAMMA = partial(pm.Gamma, alpha=2, beta=4)
WIDE = partial(pm.HalfNormal, sigma=0.5, dims="rate")
# Arguments of `pymc.sample` that the functions here set themselves, or have under this name.
SET_HERE = {
    "discard_tuned_samples",
    "draws",
    "compute_convergence_checks",
    "keep_warning_stat",
    "kwargs",
    "model",
    "nuts_sampler_kwargs",  # deprecated in favour of nuts=
    "progressbar_theme",
    "quiet",
    "random_seed",
    "return_inferencedata",
    "step",  # made inside the model
    "trace",
    "var_names",
}


class StopError(Exception):
    """Raised in the place of sampling."""


@pytest.fixture
def reached(monkeypatch):
    """Record the arguments with which the sampler is called; it is not run."""
    arguments = {}

    def stop(model, **keywords):
        arguments.update(keywords)
        raise StopError

    monkeypatch.setattr(sampling, "nuts", stop)
    return arguments


def test_the_options_are_those_of_pymc():
    names = set(inspect.signature(pm.sample).parameters)
    of_nuts = {"max_treedepth", "nuts", "target_accept"}  # by the keywords of pm.sample
    assert {*OPTIONS} == names - SET_HERE | of_nuts


CALLS = {
    "fit": lambda **options: bcm.fit(COUNTS, concentration=GAMMA, **options),
    "interval": lambda **options: bcm.interval(COUNTS, "f1", concentration=GAMMA, **options),
    "summary": lambda **options: bcm.summary(COUNTS, "f1", concentration=GAMMA, **options),
    "compare": lambda **options: bcm.compare(PAIR, "f1", concentration=GAMMA, **options),
    "ranks": lambda **options: bcm.ranks(PAIR, "f1", concentration=GAMMA, **options),
    "check": lambda **options: bcm.check(COUNTS, ["f1 > 0.5"], concentration=GAMMA, **options),
    "gap": lambda **options: bcm.gap(SITES, "recall", spread=WIDE, **options),
    "joint_interval": lambda **options: bcm.joint_interval(
        COUNTS, ["recall", "precision"], concentration=GAMMA, **options
    ),
    "plot_forest": lambda **options: bcm.plot_forest(
        COUNTS, ["f1"], concentration=GAMMA, **options
    ),
    "plot_posterior": lambda **options: bcm.plot_posterior(
        COUNTS, ["f1"], concentration=GAMMA, **options
    ),
    "priors.table": lambda **options: bcm.priors.table(COUNTS, {"wide": GAMMA}, "f1", **options),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_options_reach_the_sampler(call, reached):
    asked = {"target_accept": 0.8, "max_treedepth": 6, "cores": 1, "nuts_sampler": "pymc"}
    with pytest.raises(StopError):
        call(chains=2, tune=90, progressbar=False, **asked)
    assert (reached["chains"], reached["tune"]) == (2, 90)
    assert {**reached["options"]} == {"progressbar": False, **asked}


def test_a_report_passes_options_too(reached, tmp_path):
    with pytest.raises(StopError):
        bcm.report(COUNTS, tmp_path / "r.md", concentration=GAMMA, target_accept=0.8)
    assert reached["options"]["target_accept"] == 0.8


def test_models_without_a_fit_pass_options_too(monkeypatch):
    arguments = {}

    def stop(model, **keywords):
        arguments.update(keywords)
        raise StopError

    monkeypatch.setattr("bayescm.fitting.nuts.nuts", stop)
    models = {
        "wide": bcm.models.dirichlet_multinomial(COUNTS, concentration=GAMMA),
        "flat": bcm.fit(COUNTS, draws=10),
    }
    with pytest.raises(StopError):
        bcm.priors.evidence_for(models, tune=70, target_accept=0.8)
    assert (arguments["tune"], arguments["options"]) == (70, {"target_accept": 0.8})


FLAT = {name: bcm.fit(COUNTS, concentration=1.0, draws=10) for name in "ab"}
REFUSED = {
    "direct": (lambda: bcm.interval(COUNTS, "f1", tune=100), "tune has no effect: .*direct"),
    "two": (
        lambda: bcm.summary(COUNTS, "f1", cores=1, init="adapt_diag"),
        "cores and init have no effect: .*Leave cores and init out, or .*method='nuts'",
    ),
    "direct fit": (lambda: bcm.fit(COUNTS, target_accept=0.9), "target_accept has no effect"),
    "no PyMC model": (
        lambda: bcm.fit(bcm.from_item_scores({"a": [1, 0, 1], "b": [0, 1, 1]}), tune=3),
        "tune has no effect",
    ),
    "a tree": (lambda: bcm.interval(FLAT["a"], "f1", cores=1), "has been sampled already"),
    "fits": (lambda: bcm.priors.evidence_for(FLAT, tune=3), "tune has no effect: fits have"),
    "misspelt": (
        lambda: bcm.fit(COUNTS, method="nuts", target_acept=0.9),
        "Did you mean 'target_accept'. Expected one of 'concentration', .*'max_treedepth'",
    ),
    "misspelt with a prior": (
        lambda: bcm.interval(COUNTS, "f1", concentration=GAMMA, max_tree_depth=3),
        "Did you mean 'max_treedepth' or .* Expected one of",
    ),
    "misspelt for fits": (
        lambda: bcm.priors.evidence_for(FLAT, tuen=3),
        "Did you mean 'tune'. Expected one of",
    ),
    "percent": (
        lambda: bcm.fit(COUNTS, method="nuts", target_accept=95),
        r"target_accept=0.95",
    ),
    "no draws to adapt": (lambda: bcm.fit(COUNTS, method="nuts", tune=0), "tune must be a whole"),
    "no core": (lambda: bcm.fit(COUNTS, method="nuts", cores=0), "cores must be a whole"),
    "unknown sampler": (
        lambda: bcm.fit(COUNTS, method="nuts", nuts_sampler="stan"),
        r"Unknown nuts_sampler.*'nutpie'",
    ),
    "of another sampler": (
        lambda: bcm.fit(COUNTS, method="nuts", nuts_sampler="nutpie", init="adapt_diag"),
        "Leave init out, or pass nuts_sampler",
    ),
    "of the tree": (
        lambda: bcm.fit(COUNTS, method="nuts", idata_kwargs={"log_likelihood": True}),
        "has no effect in idata_kwargs",
    ),
    "of the steps": (
        lambda: bcm.fit(COUNTS, method="nuts", nuts_sampler="pymc", nuts={"target": 0.9}),
        "'target_accept'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_without_effect_are_errors(name):
    call, words = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_a_progress_bar_that_is_not_wanted_is_no_error():
    assert "posterior" in bcm.fit(COUNTS, draws=10, progressbar=False).children
    with pytest.raises(TypeError, match="progressbar has no effect"):
        bcm.fit(COUNTS, draws=10, progressbar=True)


def test_a_model_has_no_keyword_of_the_sampler():
    def mine(counts, *, init=1.0):
        return pm.Model()

    for call in (bcm.fit, partial(bcm.interval, measure="f1")):
        with pytest.raises(TypeError, match="Rename the keyword of the model"):
            call(COUNTS, model=mine, init=2.0)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The sampler may have missed")
@pytest.mark.parametrize(
    ("options", "library"),
    [
        ({"max_treedepth": 2, "cores": 1, "nuts": {"adaptation": "low_rank"}}, "nutpie"),
        ({"init": "adapt_diag", "max_treedepth": 2, "target_accept": 0.7}, "pymc"),
        ({"initvals": {"p": 0.4}}, "nutpie"),
        ({"nuts_sampler": "pymc", "idata_kwargs": {"include_transformed": True}}, "pymc"),
        ({"idata_kwargs": {"include_transformed": True}}, "nutpie"),
    ],
)
def test_options_have_their_effect(options, library):
    def mine(counts):
        with pm.Model(coords={"actual": [0, 1], "predicted": [0, 1]}) as model:
            p = pm.Beta("p", 1, 1)
            hits, total = int(counts.values.trace()), int(counts.sum())
            pm.Binomial("hits", n=total, p=p, observed=hits)
            cells = pm.math.stack([[p / 2, (1 - p) / 2], [(1 - p) / 2, p / 2]])
            pm.Deterministic("theta", cells, dims=("actual", "predicted"))
        return model

    tree = bcm.fit(COUNTS, mine, draws=200, tune=200, chains=2, **options)
    assert tree["posterior"].attrs["inference_library"] == library
    if options.get("max_treedepth"):
        depth = "depth" if library == "nutpie" else "tree_depth"
        assert tree["sample_stats"][depth].max() <= 2
    transformed = "unconstrained_posterior" in tree.children
    assert transformed == ("idata_kwargs" in options)
    if transformed:
        values = tree["unconstrained_posterior"]["p_logodds__"]
        np.testing.assert_allclose(1 / (1 + np.exp(-values)), tree["posterior"]["p"])
    assert float(tree["posterior"]["p"].mean()) == pytest.approx(96 / 147, abs=0.02)

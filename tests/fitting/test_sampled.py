"""Models and priors without a direct posterior are sampled wherever a posterior is asked for."""

import inspect
import runpy
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.registry import type_of
from bayescm.fitting import sampled
from bayescm.fitting.models_by_name import prepare
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.posteriors import dirichlet_multinomial
from bayescm.posteriors.base import Posterior

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
FEW = {"draws": 500, "tune": 500, "chains": 2}


def flat(counts, *, weight=0.5):
    """Model the cells of one matrix, by a Dirichlet distribution."""
    cells = ("actual", "predicted")
    with pm.Model(coords={dim: counts[dim].values for dim in cells}) as model:
        theta = pm.Dirichlet("share", np.full(4, weight))
        table = counts.values.ravel().astype(int)
        pm.Multinomial("table", n=table.sum(), p=theta, observed=table)
        pm.Deterministic("theta", theta.reshape((2, 2)), dims=cells)
    return model


@pytest.mark.long
def test_a_model_that_is_a_function_is_sampled_and_remembered(monkeypatch):
    known = bcm.distribution(COUNTS, ["f1", "mcc"], concentration=0.5)
    found = bcm.distribution(COUNTS, ["f1", "mcc"], model=flat, **FEW)
    difference = (found.mean() - known.mean()).values
    error = 5 * known.sd().values / np.sqrt(500)
    assert (np.abs(difference) < error).all()
    np.testing.assert_allclose(found.sd(), known.sd(), rtol=0.15)
    assert found.interval().attrs["how"] == "NUTS (1,000 draws in 2 chains)"
    monkeypatch.setattr(sampled, "fit", lambda *_, **__: pytest.fail("sampled again"))
    table = bcm.summary(COUNTS, "f1", model=flat, **FEW)
    assert table["mean"].item() == found.mean().values[0]
    assert table["point"].item() == pytest.approx(65 / 90)  # as observed, and no median of draws
    with pytest.raises(pytest.fail.Exception, match="sampled again"):
        bcm.summary(COUNTS, "f1", model=flat, weight=1.0, **FEW)


@pytest.mark.long
def test_a_prior_of_another_family_is_sampled(monkeypatch, capsys):
    narrow = partial(pm.Gamma, alpha=2000, beta=1000)  # as good as a concentration of 2
    known = bcm.distribution(COUNTS, "f1", concentration=2.0)
    found = bcm.distribution(COUNTS, "f1", concentration=narrow, **FEW)
    assert abs(float(found.mean() - known.mean())) < 5 * float(known.sd()) / np.sqrt(500)
    monkeypatch.setattr(sampled, "watched", lambda: True)
    pair = bcm.compare({"a": COUNTS, "b": COUNTS + 1}, "f1", concentration=narrow, **FEW)
    plain = bcm.compare({"a": COUNTS, "b": COUNTS + 1}, "f1", concentration=2.0)
    assert pair["mean"].item() == pytest.approx(plain["mean"].item(), abs=0.01)
    assert capsys.readouterr().err.startswith("Up to 2 posteriors are sampled, one after another.")


@pytest.mark.long
def test_requirements_on_a_sampled_model(monkeypatch, capsys):
    monkeypatch.setattr(sampled, "watched", lambda: True)
    both = xr.concat([COUNTS, 2 * COUNTS], "site").assign_coords(site=["a", "b"])
    asked = ["recall > 0.75", "f1 > 0.72", "recall[site=b] - recall[site=a] > 0"]
    table = bcm.check(both, asked, by="site", model=flat, random_seed=5, **FEW)
    known = bcm.check(both, asked, by="site", concentration=0.5)
    assert table["requirement"].tolist() == known["requirement"].tolist()
    np.testing.assert_allclose(table["probability"], known["probability"], atol=0.06)
    open_ones = table["outcome"] == "not yet known"
    assert (table.loc[open_ones, "needed"].str.contains("more")).all()
    assert capsys.readouterr().err.count("Up to 2 posteriors are sampled") == 1
    monkeypatch.setattr(sampled, "fit", lambda *_, **__: pytest.fail("sampled again"))
    again = bcm.check(both, asked[0], by="site", model=flat, random_seed=5, **FEW)
    assert again["probability"].tolist() == table["probability"][:2].tolist()


@pytest.mark.long
def test_gaps_and_slices_of_a_sampled_model(monkeypatch):
    tp = np.array([45, 40, 44, 30])

    def as_the_number_has_it(name):
        scales = [pm.HalfNormal.dist(1 / 25), pm.HalfNormal.dist(1)]
        return pm.Mixture(name, w=[0.5, 0.5], comp_dists=scales, dims="rate")

    sites = bcm.from_cells(tp=tp, fn=50 - tp, fp=[9] * 4, tn=[41] * 4).rename(batch="group")
    asked = {"model": "hierarchical_groups", "random_seed": 5, **FEW}
    asked["spread"] = as_the_number_has_it
    gap = bcm.gap(sites, "recall", **asked)
    known = bcm.gap(sites, "recall", model="hierarchical_groups", spread=1.0)
    assert gap.attrs["how"] == "NUTS (1,000 draws in 2 chains)"
    # Some 100 effective draws of a standard deviation of .08.
    assert float(gap.point) == pytest.approx(float(known.point), abs=0.03)
    monkeypatch.setattr(sampled, "fit", lambda *_, **__: pytest.fail("sampled again"))
    table = bcm.worst_slices(sites, "recall", **asked)
    assert table["group"][0] == 3
    with pytest.raises(pytest.fail.Exception, match="sampled again"):
        bcm.gap(sites, "recall", **asked | {"random_seed": 6})


@pytest.mark.long
def test_a_copied_model_of_groups_answers_as_the_one_of_the_catalogue(tmp_path):
    path = tmp_path / "my_models.py"
    path.write_text(inspect.getsource(inspect.getmodule(bcm.models.hierarchical_groups)))
    mine = runpy.run_path(str(path))["hierarchical_groups"]
    mine.__module__ = "my_models"
    tp = np.array([45, 40, 44, 30])
    sites = bcm.from_cells(tp=tp, fn=50 - tp, fp=[9] * 4, tn=[41] * 4).rename(batch="group")
    asked = {"of": ["population", "typical", "finite", "new"], "kind": "eti", **FEW}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The sampler may have missed")
        table = bcm.summary(sites, "recall", model=mine, **asked)
    known = bcm.summary(sites, "recall", of=asked["of"], kind="eti")
    assert table["of"].tolist() == known["of"].tolist()
    np.testing.assert_allclose(table["mean"], known["mean"], atol=0.03)
    np.testing.assert_allclose(table["sd"], known["sd"], rtol=0.35)
    assert table["point"].tolist() == pytest.approx([tp.sum() / 200] * 4)


@pytest.mark.long
def test_a_report_of_a_sampled_model_samples_it_once(tmp_path, monkeypatch):
    fits = []
    monkeypatch.setattr(sampled, "fit", lambda *a, **k: fits.append(k) or bcm.fit(*a, **k))
    path = bcm.report(COUNTS, tmp_path / "r.md", model=flat, random_seed=7, **FEW)
    text = path.read_text()
    assert "NUTS (1,000 draws in 2 chains)" in text
    assert [(each["random_seed"], each["draws"]) for each in fits] == [(7, 500)]


def test_a_function_that_returns_a_posterior_is_not_sampled():
    def annotated(counts, *, weight=0.5) -> Posterior:
        return dirichlet_multinomial(counts, concentration=weight)

    def plain(counts, *, weight=0.5):
        return dirichlet_multinomial(counts, concentration=weight)

    known = bcm.interval(COUNTS, "f1", concentration=1.0)
    for function in (annotated, plain):
        found = bcm.interval(COUNTS, "f1", model=function, weight=1.0)
        np.testing.assert_array_equal(found, known)
        with pytest.raises(TypeError, match="has no keyword"):
            bcm.interval(COUNTS, "f1", model=function, other=1.0)


def test_a_function_that_returns_neither_is_refused():
    with pytest.raises(ValueError, match=r"Return a pymc\.Model"):
        bcm.interval(COUNTS, "f1", model=lambda counts: counts)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        ("dirichlet", ValueError, "Unknown model"),
        (3, TypeError, "Pass the function itself"),
        (["scores"], TypeError, "Pass the function itself"),
    ],
)
def test_what_is_no_model_is_refused(model, error, words):
    with pytest.raises(error, match=words):
        bcm.interval(COUNTS, "f1", model=model)


def test_a_keyword_of_the_model_alone_has_it_sampled(monkeypatch):
    def further(counts, *, concentration=None, weight=1.0):
        raise NotImplementedError

    calls: list = []

    def noted(*call, **_):
        calls.append(call)
        return SimpleNamespace(at=lambda of: of)

    monkeypatch.setattr(bcm.models, "dirichlet_multinomial", further)
    monkeypatch.setattr(sampled, "sampled_posterior", noted)
    posterior_of(COUNTS, Question.of_keywords(weight=0.5))
    assert calls[0][1:] == ("dirichlet_multinomial", {"weight": 0.5})
    with pytest.raises(TypeError, match="dirichlet_multinomial has no keyword"):
        posterior_of(COUNTS, Question.of_keywords(heft=0.5))


def test_a_prior_of_another_family_where_the_model_takes_none_is_refused():
    sites = xr.concat([COUNTS, COUNTS], "group")
    with pytest.raises(
        TypeError, match=r"hierarchical_groups takes no .*'concentration'. .*'spread'"
    ):
        bcm.interval(sites, "recall", concentration=partial(pm.Gamma, alpha=2, beta=4))
    folds, wide = sites.rename(group="fold"), partial(pm.HalfNormal, sigma=1.0)
    _, model, keywords = prepare(type_of(folds), folds, "hierarchical_folds", {"spread": wide})
    assert keywords["spread"] is wide
    assert model is bcm.models.hierarchical_folds


def test_a_direct_posterior_of_ones_own_is_a_posterior():
    with pytest.raises(TypeError, match="or leave it out"):
        bcm.fit(COUNTS, flat, direct=lambda counts: counts)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (COUNTS, COUNTS.copy(deep=True), True),
        (COUNTS, COUNTS + 1, False),
        (COUNTS, COUNTS.rename("another"), False),
        (partial(pm.Gamma, alpha=2), partial(pm.Gamma, alpha=2), True),
        (partial(pm.Gamma, alpha=2), partial(pm.Gamma, alpha=3), False),
        ({"a": np.arange(3)}, {"a": np.arange(3)}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ([1, "x"], [1, "y"], False),
        (flat, flat, True),
        (flat, lambda counts: None, False),
    ],
)
def test_questions_are_the_same_only_where_that_is_certain(one, other, same):
    assert sampled._is_same(one, other) is same


def test_an_estimand_that_only_the_direct_posterior_has_is_refused_before_sampling(monkeypatch):
    monkeypatch.setattr(sampled, "fit", lambda *_, **__: pytest.fail("sampled"))
    tables = np.arange(1, 28).reshape(3, 3, 3)
    sites = bcm.from_matrix(tables, labels=list("xyz")).rename(batch="group")
    asked = {"spread": partial(pm.HalfCauchy, beta=0.5, dims="part")}
    for of in ("new", "group", "finite"):
        with pytest.raises(ValueError, match="numbers instead of functions as priors"):
            bcm.interval(sites, "recall[z]", of=of, **asked)
    with pytest.raises(ValueError, match="of='mean' is not available"):
        bcm.interval(sites, "recall[z]", of="mean", **asked)
    with pytest.raises(pytest.fail.Exception, match="sampled"):
        bcm.interval(sites, "recall[z]", of="typical", **asked)


def test_a_prior_of_the_spread_with_other_dims_is_an_error_with_the_right_ones():
    tables = np.arange(1, 28).reshape(3, 3, 3)
    sites = bcm.from_matrix(tables, labels=list("xyz")).rename(batch="group")
    with pytest.raises(ValueError, match="Pass dims='part'"):
        bcm.fit(sites, spread=partial(pm.HalfCauchy, beta=0.5, dims="actual"))

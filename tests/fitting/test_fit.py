import json

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pytensor.graph.rewriting.utils import rewrite_graph

import bayescm as bcm
from bayescm import models
from bayescm.fitting import compiled, tree
from bayescm.fitting import nuts as sampling

COUNTS = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
THREE = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=list("abc"))
GROUPS = {
    "posterior",
    "posterior_predictive",
    "log_likelihood",
    "log_prior",
    "prior",
    "prior_predictive",
    "observed_data",
    "constant_data",
}
FIRST = {"draw": slice(10)}
PRIOR_GROUPS = {"prior", "prior_predictive", "log_prior"}


def fit(*args, **keywords):
    return bcm.fit(*args, **{"draws": 500, "random_seed": 1, **keywords})


@pytest.fixture(scope="module")
def iid():
    return fit(COUNTS)


@pytest.fixture(scope="module")
def nuts():
    return fit(COUNTS, method="nuts")


@pytest.fixture(scope="module", params=["iid", pytest.param("nuts", marks=pytest.mark.long)])
def either(request):
    return request.getfixturevalue(request.param)


# One tree from either route


@pytest.mark.long
def test_groups(iid, nuts):
    assert set(iid.children) == GROUPS
    assert set(nuts.children) == GROUPS | {"sample_stats"}


@pytest.mark.long
@pytest.mark.parametrize("group", sorted(GROUPS))
def test_same_dims_coords_and_types(iid, nuts, group):
    ours, theirs = iid[group].to_dataset(), nuts[group].to_dataset()
    assert list(ours.data_vars) == list(theirs.data_vars)
    assert ours.sizes == theirs.sizes
    for name in ours.data_vars:
        assert ours[name].dims == theirs[name].dims
        assert ours[name].dtype == theirs[name].dtype
    assert ours.coords.equals(theirs.coords)
    assert all(ours[name].dtype == theirs[name].dtype for name in ours.coords)


def test_scalar_coords_are_in_every_group(either):
    assert {name for name in either.children if "positive" in either[name].coords} == set(
        either.children
    )
    assert {str(each["positive"].values) for each in either.children.values()} == {"sick"}


@pytest.mark.long
def test_attributes_say_how(iid, nuts):
    assert iid.attrs["sampling_method"] == iid["posterior"].attrs["sampling_method"] != "nuts"
    assert nuts.attrs["sampling_method"] == nuts["posterior"].attrs["sampling_method"] == "nuts"
    assert iid.attrs["model"] == nuts.attrs["model"] == "dirichlet_multinomial"
    assert nuts["posterior"].attrs["inference_library"] == "nutpie"
    assert nuts["posterior"].attrs["tuning_steps"] == 1000
    assert iid["posterior"].attrs["sampling_time"] < 1


@pytest.mark.long
def test_logs_are_those_of_pymc(either):
    model = bcm.models.dirichlet_multinomial(bcm.evidence.as_counts(COUNTS))
    bare = xr.DataTree.from_dict({"posterior": either["posterior"].to_dataset().isel(FIRST)})
    keywords = {"model": model, "progressbar": False, "extend_inferencedata": False}
    likelihood = pm.compute_log_likelihood(bare, **keywords)
    prior = pm.stats.compute_log_prior(bare, **keywords)
    ours = either.isel(FIRST)
    np.testing.assert_allclose(ours["log_likelihood"]["cell_counts"], likelihood["cell_counts"])
    np.testing.assert_allclose(ours["log_prior"]["theta_cell"], prior["theta_cell"])


def test_counts_are_kept_with_the_tree(either):
    assert either["constant_data"]["counts"].sel(actual="sick", predicted="sick") == 65
    assert either["observed_data"]["cell_counts"].sel(cell="sick->sick") == 65


# What others do with the tree


@pytest.mark.long
def test_arviz_takes_it(either):
    table = az.summary(either, var_names="theta", ci_prob=0.95, ci_kind="hdi", round_to="none")
    assert table.loc["theta[sick, sick]", "mean"] == pytest.approx(65.5 / 147, abs=0.01)
    az.plot_dist(either, var_names="theta", backend="none", ci_prob=0.95, ci_kind="hdi")
    sensitive = az.psense_summary(either, var_names="theta", round_to=6)
    assert np.isfinite(sensitive[["prior", "likelihood"]].to_numpy()).all()


@pytest.mark.long
def test_pymc_predicts_from_it(either):
    model = bcm.models.dirichlet_multinomial(bcm.evidence.as_counts(COUNTS))
    new = pm.sample_posterior_predictive(either, model=model, random_seed=2, progressbar=False)
    assert new["posterior_predictive"]["cell_counts"].sum("cell").values.min() == 145


@pytest.mark.long
def test_loo_compares_matrices_of_a_batch():
    batch = xr.concat([COUNTS, COUNTS + 5, COUNTS + 20, COUNTS + 9], "site")
    with pytest.warns(UserWarning, match="shape parameter|Pareto"):
        assert az.loo(fit(batch)).n_data_points == 4


@pytest.mark.long
def test_netcdf_round_trip(either, tmp_path):
    bcm.save(either, tmp_path / "fit.nc")
    again = bcm.load(tmp_path / "fit.nc")
    assert list(again.children) == list(either.children)
    for name, group in either.children.items():
        assert again[name].to_dataset().identical(group.to_dataset())
    assert dict(again.attrs) == dict(either.attrs)
    assert [each.name for each in tmp_path.iterdir()] == ["fit.nc"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning", "ignore:.*onsolidated metadata")
def test_zarr_round_trip(either, tmp_path):
    either.to_zarr(tmp_path / "fit.zarr")
    with xr.open_datatree(tmp_path / "fit.zarr", engine="zarr") as again:
        for name, group in either.children.items():
            assert again[name].to_dataset().equals(group.to_dataset())


def test_a_failed_save_leaves_the_old_file(iid, tmp_path):
    path = tmp_path / "fit.nc"
    bcm.save(iid, path)
    before = path.read_bytes()
    broken = iid.copy()
    broken["posterior"].attrs["no netCDF attribute"] = {}
    with pytest.raises(TypeError):
        bcm.save(broken, path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_loading_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bcm.load(tmp_path / "none.nc")
    (tmp_path / "other.nc").write_text("y,yhat\n1,1\n")
    with pytest.raises(ValueError, match="not a saved fit or evidence"):
        bcm.load(tmp_path / "other.nc")


def test_saving_into_no_folder(iid, tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        bcm.save(iid, tmp_path / "none" / "fit.nc")


def test_saving_neither_a_tree_nor_evidence(tmp_path):
    with pytest.raises(TypeError, match="only fits and evidence can"):
        bcm.save([[9, 2], [3, 8]], tmp_path / "fit.nc")


# Samplers compiled once


@pytest.fixture
def no_compiler(monkeypatch, nuts):
    import nutpie

    def refuse(*args, **keywords):
        raise AssertionError("compiled again")

    monkeypatch.setattr(nutpie, "compile_pymc_model", refuse)


@pytest.mark.long
def test_new_counts_of_the_same_shape_reuse_the_sampler(no_compiler):
    other = bcm.from_matrix([[5, 1], [2, 900]], labels=["x", "y"], positive="y")
    fitted = fit(other, method="nuts", concentration=2.0)
    expected = (other + 2) / (other.sum() + 8)
    means = fitted["posterior"]["theta"].mean(("chain", "draw"))
    np.testing.assert_allclose(means, expected, atol=0.01)
    assert fitted["posterior"]["actual"].values.tolist() == ["x", "y"]


@pytest.mark.long
def test_a_function_of_the_same_graph_reuses_the_sampler(no_compiler):
    def half(counts, share=0.5):
        return bcm.models.dirichlet_multinomial(counts, concentration=share)

    fitted = fit(COUNTS, half, share=3.0)
    assert fitted.attrs["model"].endswith("half")
    assert json.loads(fitted.attrs["model_keywords"]) == {"share": 3.0}
    assert fitted["constant_data"]["concentration"].values.tolist() == [[3, 3], [3, 3]]


def with_prior(a):
    counts = bcm.evidence.as_counts(COUNTS)
    return bcm.models.fixed_totals(counts, prevalence=lambda name: pm.Beta(name, a, 8))


def baked_in(counts):
    with pm.Model(coords={"cell": list("abcd")}) as model:
        theta = pm.Dirichlet("theta_cell", np.ones(4), dims="cell")
        pm.Multinomial("cell_counts", n=int(counts.sum()), p=theta, observed=counts.values.ravel())
    return model


def float_total(counts):
    with pm.Model() as model:
        theta = pm.Dirichlet("theta_cell", np.ones(4))
        pm.Multinomial("y", n=float(counts.sum()), p=theta, observed=counts.values.ravel())
        pm.Deterministic("theta", theta.reshape((2, 2)))
    return model


@pytest.mark.long
def test_a_model_of_the_users_own(monkeypatch):
    draws = np.random.default_rng(1).dirichlet(np.arange(1, 5), size=(2, 500))
    groups = {
        "posterior": xr.Dataset({"theta_cell": (("chain", "draw", "theta_cell_dim_0"), draws)}),
        "sample_stats": xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 500), bool))}),
    }
    sampled = xr.DataTree.from_dict(groups)
    sampled.attrs["inference_library"] = "nutpie"
    monkeypatch.setattr(sampling, "nuts", lambda *_, **__: sampled)
    fitted = fit(COUNTS, float_total, chains=2)
    assert fitted["posterior"]["theta_cell"].shape == (2, 500, 4)
    assert fitted["posterior_predictive"]["y"].sum("y_dim_0").values.min() == 145
    assert fitted.attrs["sampling_reason"].endswith("float_total has no direct posterior")


@pytest.mark.long
def test_a_sampler_is_known_by_its_graph_before_it_was_compiled():
    """Compilers rewrite in place what depends on the data alone."""
    groups = bcm.from_cells(tp=[9, 7, 8], fn=[1, 3, 2], fp=2, tn=8).rename(batch="group")
    model, again = (models.hierarchical_groups(groups) for _ in range(2))
    known = sampling.computation_of(model)
    rewrite_graph(model.logp(), include=("canonicalize", "stabilize"))
    assert compiled.same(known, sampling.computation_of(again))


@pytest.mark.long
@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (with_prior(2), with_prior(2), True),
        (with_prior(2), with_prior(3), False),
        (baked_in(COUNTS), baked_in(COUNTS), True),
        (baked_in(COUNTS), baked_in(COUNTS + 1), False),
    ],
    ids=["same function", "another number in it", "same counts", "other counts without pm.Data"],
)
def test_only_the_same_computation_reuses_a_sampler(one, two, same):
    assert compiled.same(*(sampling.computation_of(model) for model in (one, two))) is same


# Which route


@pytest.mark.long
def test_a_prior_of_another_family_goes_to_nuts():
    few = {"chains": 2, "draws": 500, "tune": 500, "random_seed": 1}
    fitted = fit(COUNTS, "fixed_totals", prevalence=lambda name: pm.Beta(name, 2, 8), **few)
    assert fitted.attrs["sampling_method"] == "nuts"
    assert fitted.attrs["sampling_reason"] == "prevalence has a prior of another family"
    assert fitted["posterior"]["prevalence"].mean() == pytest.approx(0.2, abs=0.02)


def test_exact_where_there_is_no_exact_form():
    with pytest.raises(ValueError, match="prior of another family"):
        fit(COUNTS, concentration=lambda name: pm.HalfNormal(name, 1), method="direct")
    with pytest.raises(ValueError, match=r"baked_in has no direct posterior"):
        fit(COUNTS, baked_in, method="direct")


def test_prevalence_of_the_evidence_is_the_models():
    fitted = fit(bcm.at_prevalence(COUNTS, 0.01))
    assert fitted.attrs["model"] == "fixed_totals"
    theta = fitted["posterior"]["theta"].sum("predicted").sel(actual="sick")
    np.testing.assert_allclose(theta, 0.01)
    assert fitted["constant_data"]["prevalence"].sel(actual="sick") == 0.01


# Evidence of other shapes


@pytest.mark.long
def test_a_batch_is_fitted_matrix_by_matrix():
    batch = COUNTS.expand_dims(site=["a", "b"]) * xr.DataArray([1, 10], dims="site")
    fitted = fit(batch, draws=2000)
    assert fitted["posterior"]["theta"].dims == ("chain", "draw", "site", "actual", "predicted")
    assert fitted["log_likelihood"]["cell_counts"].dims == ("chain", "draw", "site")
    assert fitted["posterior"]["site"].values.tolist() == ["a", "b"]
    spread = fitted["posterior"]["theta"].std(("chain", "draw"))
    np.testing.assert_allclose(spread.sel(site="a") / spread.sel(site="b"), 10**0.5, rtol=0.1)


@pytest.mark.long
def test_arrays_are_in_the_order_the_user_gave():
    weights = [[100.0, 1.0], [2.0, 3.0]]
    fitted = fit(COUNTS, concentration=weights)
    assert fitted["constant_data"]["concentration"].sel(actual="sick", predicted="sick") == 100
    shares = fit(COUNTS, "fixed_totals", prevalence=[0.1, 0.9])["constant_data"]["prevalence"]
    assert shares.sel(actual="sick") == 0.1


def test_many_classes_with_an_empty_cell():
    fitted = fit(THREE)
    assert fitted["posterior"]["theta"].shape == (4, 500, 3, 3)
    assert np.isfinite(fitted["log_likelihood"]["cell_counts"]).all()


@pytest.mark.long
def test_an_improper_prior_has_no_groups():
    fitted = fit(COUNTS, concentration=0)
    assert set(fitted.children) == GROUPS - PRIOR_GROUPS
    mean = fitted["posterior"]["theta"].mean(("chain", "draw"))
    np.testing.assert_allclose(mean, fitted["constant_data"]["counts"] / 145, atol=0.01)


def test_fractional_counts_have_no_likelihood():
    half = bcm.from_cells(tp=32.5, fn=7.5, fp=17.5, tn=15, fractional=True)
    fitted = fit(half)
    assert set(fitted.children) == GROUPS - tree.LIKELIHOOD
    assert fitted["constant_data"]["counts"].sum() == 72.5
    with pytest.raises(ValueError, match="fractional counts"):
        fit(half, method="nuts")


def test_huge_counts():
    fitted = fit(COUNTS * 10**10)
    assert fitted["observed_data"]["cell_counts"].sum() == 145e10
    assert fitted["posterior_predictive"]["cell_counts"].sum("cell").values.min() == 145 * 10**10


@pytest.mark.long
def test_same_seed_same_tree(iid):
    again = fit(COUNTS)
    for name in GROUPS:
        assert again[name].to_dataset().equals(iid[name].to_dataset())
    other = fit(COUNTS, random_seed=2)
    assert not other["posterior"].to_dataset().equals(iid["posterior"].to_dataset())


# Bad input


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"model": "dirichlet_multinomal"}, ValueError, "Did you mean 'dirichlet_multinomial'"),
        ({"model": 3}, TypeError, "A model must be a name"),
        ({"method": "mcmc"}, ValueError, r"Unknown method.*'auto', 'direct' or 'nuts'"),
        ({"nuts_sampler": "stan"}, ValueError, "Unknown nuts_sampler"),
        ({"concentraton": 1}, TypeError, "Did you mean 'concentration'"),
        ({"draws": 0}, ValueError, "draws must be a whole number"),
        ({"chains": 2.5}, ValueError, "chains must be a whole number"),
        ({"draws": 10**9}, ValueError, "A variable of the tree would need"),
        (
            {"method": "nuts", "model": "fixed_totals", "prevalence": 1.5},
            ValueError,
            "prevalence must lie between 0 and 1",
        ),
        (
            {"method": "nuts", "concentration": 0.001},
            ValueError,
            "NUTS is not reliable for a concentration",
        ),
        (
            {"model": "fixed_totals", "prevalence": 1.5},
            ValueError,
            "prevalence must lie between 0 and 1",
        ),
        (
            {"model": "fixed_totals", "prevalence": [0.1, 0.2, 0.7]},
            ValueError,
            "which are not the classes of the counts",
        ),
    ],
)
def test_errors_say_what_to_do(keywords, error, words):
    with pytest.raises(error, match=words) as caught:
        fit(COUNTS, **keywords)
    assert getattr(caught.value, "advice", None)


def test_whole_number_variables_are_refused():
    def discrete(counts):
        with pm.Model() as model:
            pm.Deterministic("theta", pm.Poisson("k", 3) * np.ones((2, 2)))
        return model

    with pytest.raises(ValueError, match="Marginalise these out, or sample the model"):
        fit(COUNTS, discrete)


@pytest.mark.parametrize(
    ("divergent", "shift", "words"),
    [
        (True, 0, "3 of 400 draws diverged"),
        (False, 9, "the chains disagree (r-hat"),
        (False, 0, ""),
    ],
)
def test_troubles_in_plain_words(divergent, shift, words):
    draws = np.tile(np.arange(100) * 37 % 100 / 100, (4, 1))  # they agree
    draws[3] += shift
    diverging = np.zeros((4, 100), bool)
    diverging[0, :3] = divergent
    dims = ("chain", "draw")
    groups = {
        "posterior": xr.Dataset({"x": (dims, draws)}),
        "sample_stats": xr.Dataset({"diverging": (dims, diverging)}),
    }
    troubles = sampling.troubles_of(xr.DataTree.from_dict(groups), ["x"])
    assert troubles.startswith(words)
    assert bool(troubles) == bool(words)


@pytest.mark.long
def test_chains_that_disagree_are_warned_of_where_the_caller_stands_and_in_every_answer():
    with pytest.warns(UserWarning, match="may have missed part of the posterior") as warned:
        tree = fit(COUNTS, method="nuts", draws=30, tune=1, chains=3)
    assert [warning.filename for warning in warned] == [__file__]
    caution = "The sampler may have missed part of the posterior: "
    assert bcm.summary(tree, "recall").attrs["caution"].startswith(caution)


def test_a_function_that_returns_no_model_of_cells_is_refused():
    def empty(counts):
        with pm.Model() as model:
            pm.Beta("rate", 1, 1)
        return model

    with pytest.raises(ValueError, match="The model has no variable theta of cell"):
        fit(COUNTS, empty)
    with pytest.raises(TypeError, match="The function must return a pymc"):
        fit(COUNTS, lambda counts: 3)


@pytest.mark.long
def test_a_free_variable_without_dims_has_the_shape_of_its_direct_draws():
    def unnamed(counts):
        coords = {dim: counts[dim].values for dim in ("actual", "predicted")}
        with pm.Model(coords=coords) as model:
            theta = pm.Dirichlet("theta_cell", np.full(4, 0.5))
            pm.Deterministic("theta", theta.reshape((2, 2)), dims=("actual", "predicted"))
            cells, number = counts.values.ravel(), int(counts.sum())
            pm.Multinomial("cells", n=number, p=theta, observed=cells)
        return model

    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    direct = bcm.posteriors.dirichlet_multinomial
    tree = bcm.fit(counts, unnamed, direct=direct, draws=50, chains=2, random_seed=1)
    assert tree.attrs["sampling_method"] == "conjugate"
    assert tree["posterior"]["theta_cell"].shape == (2, 50, 4)
    expected = bcm.fit(counts, draws=50, chains=2, random_seed=1)["posterior"]["theta"]
    np.testing.assert_allclose(tree["posterior"]["theta"], expected)

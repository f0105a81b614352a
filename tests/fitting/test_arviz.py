"""What the docs promise of ArviZ, on every kind of tree that they promise it for."""

import arviz as az
import numpy as np
import pytest
from scipy.stats import dirichlet_multinomial

import bayescm as bcm
from bayescm.fitting import tree

RNG = np.random.default_rng(7)
TWO = {"labels": ["well", "sick"], "positive": "sick"}
GROUPS = bcm.from_matrix(RNG.integers(9, 20, (8, 2, 2)), **TWO, dims=("group",))
KINDS = {
    "matrix": (GROUPS.isel(group=0, drop=True), None),
    "given totals": (GROUPS.isel(group=0, drop=True), "fixed_totals"),
    "groups": (GROUPS, None),
    "groups of three classes": (
        bcm.from_matrix(RNG.integers(3, 9, (5, 3, 3)), labels=list("abc"), dims=("group",)),
        None,
    ),
    "folds": (GROUPS.rename(group="fold"), None),
    "averaged folds": (GROUPS.rename(group="fold"), "averaged_folds"),
    "pooled folds": (GROUPS.rename(group="fold"), "pooled_folds"),
}
FEW_DRAWS = "ignore:Estimated shape parameter"  # they make it warn earlier than at 0.7
BY_UNIT = {"groups": 8, "groups of three classes": 5, "folds": 16}


QUICK = ["matrix"]


class Trees(dict):
    """The fits, each made when it is asked for."""

    def __missing__(self, name):
        evidence, model = KINDS[name]
        self[name] = bcm.fit(evidence, model, draws=250, chains=2, concentration=2.0)
        return self[name]


@pytest.fixture(scope="module")
def trees():
    return Trees()


@pytest.mark.parametrize(
    "kind",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.long) for each in KINDS],
)
def test_every_tree_is_summarised(trees, kind):
    measured = bcm.measure(trees[kind], ["accuracy"])
    table = az.summary(measured, ci_prob=0.95, ci_kind="hdi", kind="stats", round_to="none")
    assert 0 < table["mean"].iloc[0] < 1
    assert not table.isna().any(axis=None)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["matplotlib", "plotly", "bokeh"])
def test_measures_are_drawn_by_arviz_with_any_backend(trees, backend):
    pytest.importorskip(backend)
    measured = bcm.measure(trees["matrix"], ["accuracy", "mcc"])
    for plot in (az.plot_forest, az.plot_dist):
        drawn = plot(measured, backend=backend)
        assert drawn.backend == backend
        assert {"accuracy", "mcc"} <= set(drawn.viz["point_estimate"].data_vars)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["matrix", "given totals"])
def test_the_prior_of_a_matrix_is_scaled(trees, kind):
    table = az.psense_summary(trees[kind], var_names=["theta"], round_to=6)
    assert np.isfinite(table[["prior", "likelihood"]].to_numpy(float)).all()


@pytest.mark.filterwarnings(FEW_DRAWS)
@pytest.mark.parametrize(
    "kind",
    [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.long) for kind in BY_UNIT],
)
def test_units_are_left_out(trees, kind):
    left = az.loo(trees[kind], pointwise=True)
    assert np.size(left.pareto_k) == BY_UNIT[kind]
    assert np.mean(np.asarray(left.pareto_k) < 0.75) > 0.5


@pytest.mark.long
@pytest.mark.filterwarnings(FEW_DRAWS)
def test_models_of_folds_are_compared(trees):
    evidence, model = KINDS["pooled folds"]
    fit = bcm.fit(evidence, model, omega=1.0, draws=250, chains=2, concentration=2.0)
    table = az.compare({"averaged folds": trees["averaged folds"], "pooled folds": fit})
    assert set(table.index) == {"averaged folds", "pooled folds"}


@pytest.mark.long
def test_nothing_is_left_out_of_a_discounted_likelihood(trees):
    with pytest.raises(TypeError, match="log likelihood not found"):
        az.loo(trees["pooled folds"])
    assert "a power below 1" in trees["pooled folds"].attrs["why_no_log_likelihood"]


@pytest.mark.long
def test_the_parts_of_a_groups_likelihood_make_one(trees):
    """The model of three classes has shares, what is right and the errors as three variables."""
    tree = trees["groups of three classes"]
    shares, right, errors = (tree["posterior"][name] for name in ("shares", "right", "errors"))
    assert list(tree["log_likelihood"].data_vars) == ["cell_counts"]
    assert tree["log_likelihood"]["cell_counts"].dims == ("chain", "draw", "group")
    at = {"chain": 0, "draw": 3}
    cells = tree["constant_data"]["counts"].isel(group=2).values.astype(int)
    worth = 4 / tree["posterior"]["spread"].isel(at).values ** 2
    hits = right.isel(at).values
    wrong = cells[~np.eye(3, dtype=bool)].reshape(3, 2)
    seen_right = np.stack([np.diag(cells), wrong.sum(1)], axis=1)
    parts = [
        (shares.isel(at).values, cells.sum(1)),
        *zip(np.stack([hits, 1 - hits], axis=1), seen_right, strict=True),
        *zip(errors.isel(at).values, wrong, strict=True),
    ]
    known = sum(
        dirichlet_multinomial(weight * share, int(seen.sum())).logpmf(seen)
        for weight, (share, seen) in zip(worth, parts, strict=True)
    )
    found = tree["log_likelihood"]["cell_counts"].isel(at, drop=True).isel(group=2)
    assert float(found) == pytest.approx(known)


@pytest.mark.long
def test_a_tree_says_whether_effects_are_integrated_out_of_its_log_likelihood():
    assert bcm.fit(GROUPS, draws=10, chains=2).attrs["log_likelihood_effects"] == "integrated out"
    # Sampled as a model of its own, it has the log likelihood given these effects.
    copy = bcm.models.hierarchical_groups(GROUPS)
    effects = ["effect_prevalence", "effect_recall", "effect_specificity"]
    assert tree._effects_of_units(copy) == effects
    assert tree._effects_of_units(bcm.models.dirichlet_multinomial(GROUPS[0])) == []
    assert tree._effects_of_units(bcm.models.pooled_folds(GROUPS.rename(group="fold"))) == []

"""Trees that a user sampled, with variables of other dims than `theta`, work everywhere."""

import json
from functools import partial

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence.trees import estimands_by_name
from bayescm.plots import folds as plots_of_folds
from bayescm.reporting import figures

CELLS = ("actual", "predicted")
SITES = bcm.from_cells(tp=[40, 30, 35], fn=[10, 20, 15], fp=[9] * 3, tn=[41] * 3)
SITES = SITES.rename(batch="group").assign_coords(group=list("xyz"))
FEWER = {"theta_typical": (), "theta_new": (), "theta_abroad": ()}


def own_tree():
    """Return a tree as of `pm.sample`: theta by group, and other cell probabilities without."""
    rng = np.random.default_rng(1)
    coords = {"actual": [0, 1], "predicted": [0, 1], "group": list("xyz")}
    posterior = {}
    for name, lead in {"theta": ("group",), **FEWER}.items():
        shape = (2, 100, *(3 for _ in lead))
        values = rng.dirichlet([8, 2, 3, 7], shape).reshape(*shape, 2, 2)
        posterior[name] = (("chain", "draw", *lead, *CELLS), values)
    counts = SITES.drop_vars("positive").assign_coords(actual=[0, 1], predicted=[0, 1])
    groups = {"posterior": xr.Dataset(posterior, coords)}
    groups["constant_data"] = xr.Dataset({"counts": counts.astype(float)})
    return xr.DataTree.from_dict(groups)


TREE = own_tree()


def asked(function, *arguments, **keywords):
    return function(TREE, *arguments, positive=1, **keywords)


@pytest.mark.long
@pytest.mark.parametrize("of", ["typical", "new", "abroad"])
def test_an_estimand_has_the_name_and_the_dims_of_its_variable(of):
    draws = TREE["posterior"][f"theta_{of}"]
    recall = draws[..., 1, 1] / draws[..., 1, :].sum("predicted")
    table = asked(bcm.summary, "recall", of=of)
    assert "group" not in table
    assert table["of"].tolist() == [of]
    assert table["mean"].item() == pytest.approx(float(recall.mean()))
    assert table["point"].item() == pytest.approx(105 / 150)  # the groups added up
    assert asked(bcm.interval, "recall", of=of).shape == (2,)
    assert asked(bcm.prob_above, "recall", 0.5, of=of).shape == ()
    assert asked(bcm.joint_interval, ["recall", "f1"], of=of)["f1"].shape == (2,)
    assert asked(bcm.measure, "recall", of=of)["recall"].dims == ("chain", "draw")
    (outcome,) = asked(bcm.check, ["recall > 0.1"], of=of)["outcome"]
    assert outcome == "met"


def test_the_parameter_of_each_group_keeps_its_dim():
    for of in ("parameter", "predictive"):
        assert asked(bcm.interval, "recall", of=of).dims == ("group", "bound")
    table = asked(bcm.summary, "recall", of=["parameter", "typical"])
    assert table["of"].tolist() == ["parameter"] * 3 + ["typical"]
    with pytest.raises(ValueError, match="is not available for this evidence and model"):
        asked(bcm.interval, "recall", of="population")
    with pytest.raises(ValueError, match=r"'typical'.*'new' or 'abroad'"):
        asked(bcm.interval, "recall", of="elsewhere")


@pytest.mark.long
def test_plots_of_a_variable_with_fewer_dims():
    assert asked(bcm.plot_posterior, ["recall"], of="typical").axes
    assert asked(bcm.plot_forest, ["recall"], of="abroad").axes


def test_models_of_the_catalogue_keep_their_estimands():
    dims = {"theta": CELLS, "theta_typical": CELLS, "theta_new": CELLS}
    found = estimands_by_name({**dims, "theta_group": ("group", *CELLS), "theta_cell": ("cell",)})
    assert found == {
        "parameter": "theta",
        "predictive": "theta_new",
        "finite": "theta_group",
        "population": "theta",
        "typical": "theta_typical",
        "new": "theta_new",
    }


@pytest.mark.long
def test_trees_whose_log_likelihoods_differ_in_kind_are_warned_about():
    trees = {name: bcm.fit(SITES.sum("group"), draws=10) for name in "ab"}
    trees["a"].attrs["log_likelihood_effects"] = "integrated out"
    trees["b"].attrs["log_likelihood_effects"] = "conditional on share"
    with pytest.warns(UserWarning, match=r"differently \(a: integrated out, b: conditional on"):
        bcm.priors.evidence_for(trees)
    trees["a"].attrs["log_likelihood_effects"] = "conditional on effect"
    bcm.priors.evidence_for(trees)


# Reports of many members


@pytest.mark.long
def test_a_report_of_many_members_has_several_figures(tmp_path):
    rng = np.random.default_rng(1)
    labels = {"actual": ["n", "p"], "predicted": ["n", "p"], "group": range(30)}
    theta = rng.dirichlet([8, 2, 3, 7], (2, 50, 30)).reshape(2, 50, 30, 2, 2)
    dims = ("chain", "draw", "group", *CELLS)
    groups = {"posterior": xr.Dataset({"theta": (dims, theta)}, labels)}
    counts = rng.integers(3, 9, (30, 2, 2))
    groups["constant_data"] = xr.Dataset({"counts": (dims[2:], counts)}, labels)
    tree = xr.DataTree.from_dict(groups)
    parts = figures._parts_of_fit(tree, ["accuracy", "cohen_kappa"], 24)
    assert [(part["posterior"].sizes["group"], names) for part, names in parts] == [
        (15, ["accuracy"]),
        (15, ["accuracy"]),
        (15, ["cohen_kappa"]),
        (15, ["cohen_kappa"]),
    ]
    assert figures._parts_of_fit(tree, ["accuracy"], 30) == [(tree, ["accuracy"])]
    text = bcm.report(tree, tmp_path / "r.md", measures=["accuracy"], progressbar=False).read_text()
    assert "Part 2 of 2." in text


@pytest.mark.long
def test_a_report_of_a_hundred_folds_has_several_figures():
    rng = np.random.default_rng(1)
    counts = xr.DataArray(
        rng.integers(3, 9, (10, 10, 2, 2)),
        {"actual": ["n", "p"], "predicted": ["n", "p"]},
        ("repeat", "fold", *CELLS),
    ).assign_coords(positive="p")
    drawn = plots_of_folds.fold_figures(counts, "recall")
    named = [[text.get_text() for text in figure.axes[0].get_yticklabels()] for figure in drawn]
    folds = [label for labels in named for label in labels if label.startswith("repeat")]
    assert len(drawn) == 2
    assert len(set(folds)) == 100
    assert all(labels[-1] == "resampled t" for labels in named)
    with pytest.raises(ValueError, match="or write a report, which has several figures"):
        bcm.plots.plot_folds(counts, "recall")


# What a tree says about its origin


@pytest.mark.long
def test_a_tree_has_its_seed_and_versions():
    counts = SITES.sum("group")
    for seed in (3, None, np.random.SeedSequence(3)):
        tree = bcm.fit(counts, draws=10, random_seed=seed)
        again = bcm.fit(counts, draws=10, random_seed=tree.attrs["random_seed"])
        assert again["posterior"]["theta"].equals(tree["posterior"]["theta"])
    versions = json.loads(tree.attrs["versions"])
    assert {"bayescm", "pymc", "arviz", "numpy"} <= versions.keys()
    assert versions["pymc"] == pm.__version__
    of_items = bcm.fit(bcm.from_item_scores({"a": [1, 0, 1], "b": [0, 1, 1]}), draws=10)
    assert json.loads(of_items.attrs["versions"]).keys() == {"bayescm", "numpy", "scipy"}


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        (partial(pm.Gamma, alpha=2, beta=4), "Gamma(alpha=2, beta=4)"),
        (lambda name: pm.HalfNormal(name, 2), "HalfNormal(0, 2)"),
    ],
)
def test_a_prior_is_stored_in_words(prior, words, monkeypatch):
    from bayescm.fitting import fit

    counts = SITES.sum("group")
    model = bcm.models.dirichlet_multinomial(counts, concentration=prior)
    found = fit._described(bcm.models.dirichlet_multinomial, {"concentration": prior}, model)
    assert json.loads(found["model_keywords"]) == {"concentration": words}

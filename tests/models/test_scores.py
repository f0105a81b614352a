"""Models of scores: each and its direct posterior are one posterior."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import curves, posteriors

RNG = np.random.default_rng(1)
ACTUAL = np.array([0, 0, 1, 1, 0, 1, 0, 1, 1, 0])
SCORE = np.round(RNG.normal(ACTUAL, 1), 1)
OTHER = np.round(SCORE + RNG.normal(size=10))
PLAIN = bcm.from_scores(ACTUAL, SCORE)
PAIRED = bcm.from_scores(ACTUAL, {"a": SCORE, "b": OTHER})
WEIGHTED = bcm.from_scores(ACTUAL, OTHER, weights=np.arange(10) % 3 + 1)
CASES = {
    "scores": ("scores", PLAIN, {}),
    "scores-paired": ("scores", PAIRED, {}),
    "scores-weighted": ("scores", WEIGHTED, {"prevalence": (2, 8)}),
    "binormal": ("binormal", PLAIN, {}),
    "binormal-prior": ("binormal", PLAIN, {"concentration": 2, "prevalence": (2, 8)}),
}


@pytest.mark.long
@pytest.mark.slow
def test_a_fit_of_scores_is_a_tree_like_any_other():
    tree = bcm.fit(PAIRED, draws=200, chains=2, random_seed=1)
    assert tree.attrs["model"] == "scores"
    assert tree.attrs["sampling_method"] != "nuts"
    posterior = tree["posterior"]
    assert posterior["auc"].dims == ("chain", "draw", "classifier")
    assert posterior["tpr"].dims == ("chain", "draw", "classifier", "example")
    assert "prior" not in tree.children  # it is improper
    areas = curves.number_draws(PAIRED)
    assert float(posterior["auc"].std()) > 0
    np.testing.assert_allclose(
        posterior["auc"].mean(("chain", "draw")), areas.mean("draw"), atol=0.04
    )


@pytest.mark.long
def test_a_fit_of_binormal_scores_has_its_prior():
    tree = bcm.fit(PLAIN, "binormal", draws=200, chains=2, random_seed=1)
    assert {"posterior", "prior", "observed_data"} <= set(tree.children)
    areas = curves.number_draws(PLAIN, model="binormal")
    assert float(tree["posterior"]["auc"].mean()) == pytest.approx(float(areas.mean()), abs=0.03)


def test_nuts_refuses_concentrations_it_gets_wrong():
    evidence = bcm.from_scores([0] * 100 + [1] * 5, [*range(100), 200, 201, 202, 203, 204])
    with pytest.raises(ValueError, match="not reliable"):
        bcm.fit(evidence, method="nuts")


def test_folds_have_no_pymc_model_and_direct_draws():
    folds = bcm.from_scores(ACTUAL, SCORE, fold=np.arange(10) % 2)
    with pytest.raises(ValueError, match="no PyMC model"):
        bcm.fit(folds, method="nuts")
    tree = bcm.fit(folds, draws=100)
    assert tree.attrs["sampling_method"] != "nuts"
    assert set(tree["posterior"].data_vars) == {"auc", "average_precision"}


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (PAIRED, "single plain sample"),
        (WEIGHTED, "single plain sample"),
        (bcm.from_scores([0, 1, 1], [1, 2, np.inf]), "infinite"),
        (bcm.from_scores([0, 0, 1], [1, 1, 2]), "do not vary"),
    ],
    ids=["paired", "weighted", "infinite", "constant"],
)
def test_binormal_says_what_it_cannot_take(evidence, words):
    with pytest.raises(ValueError, match=words):
        posteriors.binormal(evidence)

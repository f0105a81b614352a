"""Numbers about curves: equal to scikit-learn's where both define them, posterior elsewhere."""

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
)
from sklearn.preprocessing import label_binarize

import bayescm as bcm
from bayescm import curves


def sample(size=150, kind="plain", seed=0):
    rng = np.random.default_rng(seed)
    actual = (rng.random(size) < 0.3).astype(int)
    actual[:2] = 0, 1
    score = rng.normal(actual, 1)
    if kind == "tied":
        score = np.round(score)
    if kind == "rare":
        actual[20:] = 0
    weights = rng.random(size) if kind == "weighted" else None
    return actual, score, weights


KINDS = ["plain", "tied", "weighted", "rare"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_scikit_learns(kind, seed):
    actual, score, weights = sample(kind=kind, seed=seed)
    kind_of = None if weights is None else "importance"
    evidence = bcm.from_scores(actual, score, weights=weights, weights_are=kind_of)
    given = {"sample_weight": weights}
    expected = {
        "auc": roc_auc_score(actual, score, **given),
        "average_precision": average_precision_score(actual, score, **given),
        "partial_auc(0.2)": roc_auc_score(actual, score, max_fpr=0.2, **given),
    }
    precision, recall, _ = precision_recall_curve(actual, score, **given)
    expected["max_f1"] = (2 * precision * recall / (precision + recall + 1e-300)).max()
    for name, value in expected.items():
        assert curves.estimate(evidence, name).item() == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_averages_over_classes_are_scikit_learns(average):
    rng = np.random.default_rng(1)
    actual, proba = rng.integers(0, 3, 80), rng.dirichlet(np.ones(3), 80)
    evidence = bcm.from_scores(actual, proba)
    found = curves.estimate(evidence, average=average).item()
    assert found == pytest.approx(
        roc_auc_score(actual, proba, multi_class="ovr", average=average), abs=1e-12
    )
    found = curves.estimate(evidence, "average_precision", average=average).item()
    hot = label_binarize(actual, classes=[0, 1, 2])
    assert found == pytest.approx(average_precision_score(hot, proba, average=average), abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("name", ["auc", "average_precision", "max_f1"])
@pytest.mark.parametrize("kind", ["eti", "hdi"])
def test_intervals_hold_the_estimate(name, kind):
    actual, score, _ = sample(400)
    evidence = bcm.from_scores(actual, score)
    found = getattr(curves, name)(evidence, kind=kind)
    assert found.dims == ("bound",)
    lower, upper = found.values
    assert 0 <= lower < curves.estimate(evidence, name) < upper <= 1
    wider = getattr(curves, name)(evidence, kind=kind, prob=0.99)
    assert wider[1] - wider[0] > upper - lower


def test_the_same_seed_gives_the_same_interval():
    evidence = bcm.from_scores(*sample()[:2])
    same = [curves.auc(evidence, random_seed=3, draws=100) for _ in range(2)]
    xr.testing.assert_identical(*same)
    other = curves.auc(evidence, random_seed=4, draws=100)
    assert (other != same[0]).all()


def test_dims_of_folds_classifiers_and_classes():
    rng = np.random.default_rng(1)
    actual, proba = np.arange(60) % 3, rng.random((60, 3))
    evidence = bcm.from_scores(actual, {"a": proba, "b": -proba}, fold=np.arange(60) // 30)
    found = curves.auc(evidence, draws=50)
    assert found.dims == ("fold", "classifier", "class", "bound")
    assert found.shape == (2, 2, 3, 2)
    assert curves.auc(evidence, average="micro", draws=50).dims == ("fold", "classifier", "bound")
    macro = curves.number_draws(evidence, average="macro", draws=50)
    plain = curves.number_draws(evidence, draws=50)
    xr.testing.assert_allclose(macro, plain.mean("class"))
    values = curves.estimate(evidence)
    assert values.sel(classifier="b").mean() == pytest.approx(
        1 - values.sel(classifier="a").mean().item()
    )


def test_partial_area_and_own_functions():
    evidence = bcm.from_scores(*sample(400)[:2])
    whole = curves.partial_auc(evidence, max_fpr=1.0)
    np.testing.assert_allclose(whole, curves.auc(evidence), atol=0.015)
    own = curves.number_draws(evidence, lambda c: c.tpr[:, 1], draws=20)
    assert own.dims == ("draw",)


@pytest.mark.long
def test_precision_moves_with_the_prevalence_and_the_area_does_not():
    evidence = bcm.from_scores(*sample(400)[:2])
    rare = curves.at_prevalence(evidence, 0.01)
    np.testing.assert_allclose(curves.auc(rare), curves.auc(evidence), atol=0.01)
    assert curves.average_precision(rare)[1] < curves.average_precision(evidence)[0]
    assert curves.estimate(rare, "average_precision") < 0.2


@pytest.mark.long
def test_binormal_is_a_model_too():
    evidence = bcm.from_scores(*sample(14, seed=3)[:2])
    for function in (curves.auc, curves.average_precision, curves.max_f1):
        lower, upper = function(evidence, model="binormal").values
        assert 0 <= lower < upper <= 1
    with pytest.raises(ValueError, match="unknown model"):
        curves.auc(evidence, model="trinormal")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: curves.auc(e, prob=1.2), "prob"),
        (lambda e: curves.auc(e, kind="sd"), "kind"),
        (lambda e: curves.auc(e, draws=1), "draws"),
        (lambda e: curves.auc(e, average="macro"), "average is for three classes or more"),
        (lambda e: curves.estimate(e, "aucs"), "unknown measure"),
        (lambda e: curves.partial_auc(e, max_fpr=0), "max_fpr"),
        (lambda e: curves.estimate(e, "partial_auc(x)"), "parameters of a measure"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(bcm.from_scores(*sample()[:2]))

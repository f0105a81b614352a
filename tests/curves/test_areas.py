"""Areas and other measures of curves: scikit-learn's in the sample, and their posterior."""

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
from bayescm.classical import delong_compare


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
    xr.testing.assert_allclose(macro.mean("draw"), plain.mean(["draw", "class"]))
    alone = evidence.sel(classifier="a", drop=True)
    macro = curves.number_draws(alone, average="macro", draws=50)
    xr.testing.assert_allclose(macro, curves.number_draws(alone, draws=50).mean("class"))
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
    with pytest.raises(ValueError, match="Unknown model 'trinormal'"):
        curves.auc(evidence, model="trinormal")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: curves.auc(e, prob=1.2), "prob"),
        (lambda e: curves.auc(e, kind="sd"), "kind"),
        (lambda e: curves.auc(e, draws=1), "draws"),
        (lambda e: curves.auc(e, average="macro"), "auc_macro needs three or more classes"),
        (lambda e: curves.estimate(e, "aucs"), "Unknown measure"),
        (lambda e: curves.partial_auc(e, max_fpr=0), "max_fpr"),
        (lambda e: curves.estimate(e, "partial_auc(x)"), "The parameters of the measure"),
    ],
)
def test_bad_arguments_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(bcm.from_scores(*sample()[:2]))


# One area for all folds


def folds(size=300):
    rng = np.random.default_rng(1)
    actual = np.arange(size) % 3 == 0
    fold = np.arange(size) // 3 % 5
    score = rng.normal(1.2 * actual, 1) + 10 * fold  # every model on a scale of its own
    return bcm.from_scores(actual, {"a": score, "b": -score}, fold=fold)


@pytest.mark.long
def test_the_mean_area_lies_inside_and_correlation_widens_it():
    evidence = folds()
    mean = curves.estimate(evidence).mean("fold")
    free, default, strong = (
        curves.fold_auc(evidence, rho=rho, kind="eti", draws=1000) for rho in (0, None, 0.5)
    )
    assert free.dims == ("classifier", "bound")
    assert ((free[:, 0] < mean) & (mean < free[:, 1])).all()
    length = [float(each[0, 1] - each[0, 0]) for each in (free, default, strong)]
    assert length[1] == pytest.approx(length[0] * np.sqrt(1 + 5 / 4), rel=0.02)
    assert length[0] < length[1] < length[2]


def test_the_share_of_a_test_set_is_taken_from_the_evidence():
    evidence = folds()
    same = curves.fold_auc(evidence.assign_coords(test_share=0.5), draws=100)
    np.testing.assert_allclose(same, curves.fold_auc(evidence, rho=0.5, draws=100))


def test_scales_of_their_own_spoil_a_pool_but_not_ranks_within_folds():
    evidence = folds().isel(classifier=0)
    plain, ranked = (
        curves.estimate(curves.pool_folds(evidence, ranks=each)) for each in (False, True)
    )
    assert plain < 0.6
    assert ranked == pytest.approx(curves.estimate(evidence).mean().item(), abs=0.02)


def test_bad_arguments_of_a_mean_over_folds_are_refused():
    with pytest.raises(ValueError, match="the scores have the dimensions"):
        curves.fold_auc(bcm.from_scores([0, 1], [1, 2]), draws=20)
    with pytest.raises(ValueError, match="rho"):
        curves.fold_auc(folds(), rho=1, draws=20)


# Paired differences


def pair(size=300, seed=1):
    rng = np.random.default_rng(seed)
    actual = rng.random(size) < 0.4
    good = rng.normal(1.5 * actual, 1)
    return actual, {"good": good, "worse": good + rng.normal(size=size)}


@pytest.mark.long
def test_the_columns_are_those_of_every_comparison():
    found = curves.compare(bcm.from_scores(*pair(1000)))
    plain = bcm.compare(bcm.from_classifiers([0, 1, 1], {"a": [0, 1, 0], "b": [0, 1, 1]}), "f1")
    assert list(found.columns) == list(plain.columns)
    row = found.iloc[0]
    assert row["p_better"] > 0.99
    assert "good is better than worse in AUC" in row["sentence"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_areas_agree_with_delong(seed):
    evidence = bcm.from_scores(*pair(seed=seed))
    ours, theirs = curves.compare(evidence).iloc[0], delong_compare(evidence).iloc[0]
    assert ours["mean"] == pytest.approx(theirs["difference"], abs=0.15 * theirs["sd"])
    assert ours["sd"] == pytest.approx(theirs["sd"], rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize("measure", ["auc", "average_precision", "partial_auc(0.2)", "max_f1"])
def test_copies_do_not_differ_in_anything(measure):
    actual, scores = pair(80)
    row = curves.compare(
        bcm.from_scores(actual, {"a": scores["good"], "b": 2 * scores["good"]}), measure, rope=0.01
    ).iloc[0]
    assert abs(row["mean"]) < 1e-9
    assert row["sd"] < 1e-9
    assert row["p_rope"] == 1


def test_an_area_is_the_same_beside_another():
    actual, scores = pair(80)
    both = curves.auc(bcm.from_scores(actual, scores))
    for name, values in scores.items():
        alone = curves.auc(bcm.from_scores(actual, values))
        np.testing.assert_allclose(both.sel(classifier=name), alone, rtol=1e-12)


def test_all_pairs_or_against_a_reference_and_fold_by_fold():
    actual, scores = pair(90)
    three = {**scores, "worst": -scores["good"]}
    evidence = bcm.from_scores(actual, three, fold=np.arange(90) % 2)
    found = curves.compare(evidence, draws=50)
    assert len(found) == 2 * 3
    assert found.columns[0] == "fold"
    found = curves.compare(evidence, reference="worst", draws=50)
    assert set(found["second"]) == {"worst"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(reference="x"), "reference"),
        (dict(rope=-1), "rope"),
        (dict(prob=2), "prob"),
        (dict(measure="auk"), "Unknown measure"),
    ],
)
def test_bad_arguments_of_a_comparison_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        curves.compare(bcm.from_scores(*pair(50)), **change)


def test_one_classifier_is_nothing_to_compare():
    actual, scores = pair(50)
    with pytest.raises(ValueError, match="The evidence has no dimension"):
        curves.compare(bcm.from_scores(actual, scores["good"]))

"""Joint draws of classifiers on the same examples: disagreement that was not seen."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import average_precision_score

import bayescm as bcm
from bayescm.inference.bayesian_bootstrap import Disagreement
from bayescm.posteriors.shared_examples import SharedExamples

MEASURES = (
    "brier",
    "log_loss",
    "brier_skill",
    "calibration_in_the_large",
    "average_precision",
    "partial_auc(0.2)",
)
OF_CLASSES = ("brier", "log_loss", "auc_macro", "average_precision_macro", "auc[2]", "auc_micro")


def copies(n=60, differ=1, classifiers=2, seed=1, classes=2, by=1.0):
    """Return classifiers that differ in few examples, each from the first one in others."""
    rng = np.random.default_rng(seed)
    actual = np.arange(n) % classes
    right = 1.5 * np.eye(classes)[actual]
    first = right + rng.normal(size=(n, classes))
    names, rows = "abcdefghijklmnopqrst"[:classifiers], []
    for k in range(classifiers):
        row = first.copy()
        if k:
            changed = rng.choice(n, differ, replace=False)
            row[changed] = right[changed] + by * rng.normal(size=(differ, classes))
        rows.append(softmax(row, axis=1))
    if classes == 2:
        rows = [row[:, 1] for row in rows]
    forecasts = dict(zip(names, rows, strict=True))
    return bcm.from_probabilities(actual, forecasts, positive=1 if classes == 2 else None)


# The values of examples.


def test_the_values_of_examples_for_a_mean_are_their_losses():
    evidence = copies(20, differ=4)
    posterior = bcm.posteriors.calibration(evidence)
    p, y = evidence["score"].values, evidence["actual"].values
    examples = SharedExamples([p], np.ones(20))
    values = bcm.measures.resolve("brier")(posterior.sampled(examples.weights()))
    np.testing.assert_allclose(values[0] + 21 * (values[1:] - values[0]), ((p - y) ** 2).T)


def test_the_value_of_an_example_for_a_curve_is_by_adding_it():
    evidence = copies(30, differ=6)
    p, y = evidence["score"].values, evidence["actual"].values
    examples = SharedExamples([p], np.ones(30))
    posterior = bcm.posteriors.scores(evidence)
    from bayescm.posteriors.roc.curve_posterior import empirical_curves

    curves = empirical_curves(evidence, examples.weights())
    values = bcm.measures.resolve("average_precision")(curves[1])
    assert values[0] == pytest.approx(posterior.point(bcm.measures.resolve("ap"))[1])
    for i in (0, 7, 29):
        more = np.append(np.arange(30), i)
        assert values[1 + i] == pytest.approx(average_precision_score(y[more], p[1][more]))


def test_draws_with_pseudo_examples_are_those_of_plain_loops():
    rng = np.random.default_rng(5)
    loss, draws = rng.random((3, 8)), rng.random((40, 3))
    values = np.concatenate([loss.mean(1)[None], (loss.sum(1)[None] + loss.T) / 9])
    pseudo = Disagreement(
        rng.gamma(0.5, size=(40, 2)),
        rng.integers(8, size=(40, 2)),
        rng.choice([-1.0, 1], (40, 3, 2)),
    )
    moved = SharedExamples([loss], np.ones(8)).moved(draws, values, pseudo)
    for s in range(40):
        for k in range(3):
            apart = min(np.abs(loss[k] - loss[other]).max() for other in range(3) if other != k)
            total, weight = 8 * draws[s, k], 8.0
            for j in range(2):
                center = loss[k, pseudo.item[s, j]]
                center = min(max(center, loss.min() + apart / 2), loss.max() - apart / 2)
                total += pseudo.weight[s, j] * (center + pseudo.sign[s, k, j] * apart / 2)
                weight += pseudo.weight[s, j]
            assert moved[s, k] == pytest.approx(total / weight)


def test_of_many_examples_those_that_differ_most_are_chosen():
    rng = np.random.default_rng(6)
    first = rng.random(5000)
    second = first.copy()
    second[[17, 4321]] = 1 - second[[17, 4321]]
    examples = SharedExamples([np.stack([first, second])], np.full(5000, 2.0))
    assert {17, 4321} <= {*examples.index.tolist()}
    assert len(examples.index) <= 400
    weights = examples.weights()
    assert weights.sum(axis=1).tolist() == [10_000] + [10_001] * len(examples.index)


# The joint draws.


@pytest.mark.parametrize("classifiers", [2, 5, pytest.param(20, marks=pytest.mark.long)])
def test_a_classifier_among_others_has_the_interval_that_it_has_alone(classifiers):
    evidence = copies(40, differ=5, classifiers=classifiers)
    alone = evidence.sel(classifier="b", drop=True)
    for measure in ("brier", "log_loss", "average_precision"):
        of_one = bcm.interval(alone, measure, kind="eti", draws=4000).values
        of_all = bcm.interval(evidence, measure, kind="eti", draws=4000).sel(classifier="b").values
        assert np.ptp(of_all) == pytest.approx(np.ptp(of_one), rel=0.05)
        assert of_all == pytest.approx(of_one, abs=0.05 * np.ptp(of_one))


@pytest.mark.long
@pytest.mark.parametrize("measure", [*MEASURES, "auc"])
def test_a_difference_has_the_mean_of_the_difference_and_best_is_better(measure):
    evidence = copies(50, differ=3, seed=2)
    row = bcm.compare(evidence, measure, draws=2000).iloc[0]
    posterior = bcm.posteriors.calibration(evidence)
    draws = posterior.draw([bcm.measures.resolve(measure)], 2000, np.random.default_rng(0))[0]
    first, second = draws.mean(axis=0)
    assert row["mean"] == pytest.approx(first - second, abs=1e-12)
    best = bcm.ranks(evidence, measure, draws=2000)
    p_best = best.set_index("classifier")["p_best"]["a"]
    assert p_best == pytest.approx(row["p_better"], abs=0.001)
    if measure in ("brier_skill", "calibration_in_the_large"):  # below 0: ratios do not say
        return
    ratio = bcm.compare(evidence, measure, draws=2000, contrast="ratio").iloc[0]
    assert ratio["p_better"] == pytest.approx(row["p_better"], abs=0.001)


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("measure", MEASURES)
def test_one_example_does_not_decide(measure, n):
    """One example of many that is forecast better: no verdict, by weights alone a certain one."""
    rng = np.random.default_rng(8)
    actual = np.arange(n) % 2
    p = expit(1.5 * actual - 0.75 + rng.normal(size=n))
    worse = p.copy()
    worst = np.flatnonzero(actual == 1)[np.argsort(p[actual == 1])[-3]]
    worse[worst] = 0.3
    row = bcm.compare(bcm.from_probabilities(actual, {"a": p, "b": worse}), measure).iloc[0]
    assert row["lower"] < 0 < row["upper"]
    assert 0.05 < row["p_better"] < 0.95


@pytest.mark.long
@pytest.mark.parametrize("measure", OF_CLASSES)
def test_one_example_of_several_classes_does_not_decide(measure):
    row = bcm.compare(copies(60, classes=3, seed=3), measure).iloc[0]
    assert row["lower"] < 0 < row["upper"]
    assert 0.05 < row["p_better"] < 0.95


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_near_copies_are_seldom_told_apart(classes):
    """Exchangeable classifiers that differ in three of 60 examples; 150 sets."""
    verdicts, covered = {}, {}
    for seed in range(150):
        evidence = copies(60, differ=3, seed=seed, classes=classes)
        model = bcm.posteriors.calibration if classes == 2 else bcm.posteriors.dirichlet_calibration
        measures = MEASURES if classes == 2 else OF_CLASSES
        posterior = model(evidence)
        kernels = [posterior.bound(bcm.measures.resolve(name)) for name in measures]
        for name, draws in zip(
            measures, posterior.draw(kernels, 400, np.random.default_rng(seed)), strict=True
        ):
            gap = draws[:, 0] - draws[:, 1]
            low, high = np.quantile(gap, [0.025, 0.975])
            covered[name] = covered.get(name, 0) + (low <= 0 <= high)
            verdicts[name] = verdicts.get(name, 0) + (not 0.05 < (gap > 0).mean() < 0.95)
    assert min(covered.values()) >= 0.92 * 150, covered
    assert max(verdicts.values()) <= 0.15 * 150, verdicts


@pytest.mark.long
def test_many_examples_that_differ_do_decide():
    rng = np.random.default_rng(9)
    actual = np.arange(400) % 2
    odds = 2 * actual - 1 + rng.normal(size=400)
    other = odds - 0.6 * (2 * actual - 1) + 0.4 * rng.normal(size=400)
    evidence = bcm.from_probabilities(actual, {"good": expit(odds), "worse": expit(other)})
    assert (bcm.compare(evidence, ["brier", "log_loss", "ap"])["p_better"] > 0.999).all()


@pytest.mark.parametrize("measure", ["average_precision", "partial_auc(0.1)", "max_f1"])
def test_scores_in_groups_are_joint_in_each_group(measure):
    rng = np.random.default_rng(10)
    actual, group = np.arange(120) % 2, np.arange(120) // 60
    a = actual + rng.normal(size=120)
    b = np.where(np.arange(120) % 40 == 1, -1.0, a)
    table = bcm.compare(bcm.from_scores(actual, {"a": a, "b": b}, fold=group), measure, draws=500)
    assert len(table) == 2
    assert (table["lower"] < 0).all()
    assert (table["upper"] > 0).all()


def test_a_net_benefit_of_one_example_does_not_decide():
    evidence = copies(80, seed=12, by=3.0)
    found = bcm.curves.decision_curve(evidence, thresholds=[0.3, 0.5, 0.7], simultaneous=False)
    pair = found["difference"].sel(classifier="a", other="b")
    assert (pair.sel(bound="lower") < 0).all()
    assert (pair.sel(bound="upper") > 0).all()
    assert (found["p_best"].sel(strategy=["a", "b"]) > 0.05).all()
    alone = bcm.curves.decision_curve(
        evidence.sel(classifier="b", drop=True), thresholds=[0.3, 0.5, 0.7], simultaneous=False
    )
    np.testing.assert_allclose(found["interval"].sel(classifier="b"), alone["interval"], atol=0.015)


@pytest.mark.long
def test_sites_are_compared_with_disagreement_that_was_not_seen():
    rng = np.random.default_rng(13)
    actual, group = np.arange(200) % 2, np.arange(200) // 50
    p = expit(1.5 * actual - 0.75 + rng.normal(size=200))
    worse = p.copy()
    worse[np.flatnonzero(actual)[np.argmax(p[actual == 1])]] = 0.2
    evidence = bcm.from_probabilities(actual, {"a": p, "b": worse}, group=group)
    row = bcm.compare(evidence, "brier", draws=500).iloc[0]
    assert row["lower"] < 0 < row["upper"]
    assert row["p_better"] < 0.95


@pytest.mark.long
def test_an_area_of_risk_by_coverage_of_one_example_does_not_decide():
    rng = np.random.default_rng(14)
    actual = np.arange(90) % 2
    p = expit(1.5 * actual - 0.75 + rng.normal(size=90))
    worse = p.copy()
    worse[np.flatnonzero(actual)[np.argmax(p[actual == 1])]] = 0.3
    forecasts = {"a": p, "b": worse, "copy": p}
    found = bcm.curves.risk_coverage(bcm.from_probabilities(actual, forecasts, positive=1))
    low, high = found["area_difference"].sel(classifier="a", other="b").values
    assert low < 0 < high
    assert found["p_best"].sel(classifier="b").item() > 0.05
    assert found["p_best"].sel(classifier="a") == found["p_best"].sel(classifier="copy")
    assert (found["area_difference"].sel(classifier="a", other="copy") == 0).all()
    alone = bcm.curves.risk_coverage(bcm.from_probabilities(actual, worse, positive=1))
    np.testing.assert_allclose(
        found["area_interval"].sel(classifier="b"), alone["area_interval"], rtol=0.06
    )

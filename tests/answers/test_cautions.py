"""Classes without examples in averages, and point estimates outside their own interval."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

import bayescm as bcm
from bayescm.answers.interval import resolve_measures
from bayescm.fitting.posterior_for import posterior_of

AVERAGES = [
    f"{name}_{how}" for name in ("precision", "recall", "f1") for how in ("macro", "weighted")
]
SCORES = {"precision": precision_score, "recall": recall_score, "f1": f1_score}


def _predictions(seed, n, classes=4, never_predicted=()):
    """Return labels of classes 0, 1 and 2 of several, and predictions that are mostly right."""
    rng = np.random.default_rng(seed)
    actual = rng.choice(3, n, p=[0.5, 0.35, 0.15])
    predicted = np.where(rng.random(n) < 0.8, actual, rng.integers(0, 3, n))
    return actual, np.where(np.isin(predicted, never_predicted), 0, predicted)


def _dirichlet_average(counts, name, how, size=40_000):
    """Return draws of an average over the classes for which counts (C, C) define the measure."""
    classes = len(counts)
    flat = np.random.default_rng(5).dirichlet(np.ravel(counts + 2 / classes**2), size)
    theta = flat.reshape(-1, classes, classes)

    def of_each_class(cells):
        hits = np.diagonal(cells, axis1=-2, axis2=-1)
        actual, predicted = cells.sum(-1), cells.sum(-2)
        with np.errstate(invalid="ignore"):
            return {
                "precision": hits / predicted,
                "recall": hits / actual,
                "f1": 2 * hits / (actual + predicted),
            }[name], actual

    used = ~np.isnan(of_each_class(counts)[0])
    values, shares = (array[:, used] for array in of_each_class(theta))
    weights = shares if how == "weighted" else np.ones_like(shares)
    return (values * weights).sum(-1) / weights.sum(-1)


@pytest.mark.long
@pytest.mark.parametrize("never_predicted", [(), (2,)])
@pytest.mark.parametrize("name", AVERAGES)
def test_point_and_posterior_leave_out_the_classes_that_scikit_learn_leaves_out(
    name, never_predicted
):
    actual, predicted = _predictions(1, 60, never_predicted=never_predicted)
    labels = range(5)
    counts = bcm.from_predictions(actual, predicted, labels=labels)
    table = bcm.summary(counts, name)
    measure, how = name.split("_")
    expected = SCORES[measure](actual, predicted, labels=labels, average=how, zero_division=np.nan)
    assert table["point"].item() == pytest.approx(expected)
    draws = _dirichlet_average(counts.values, measure, how)
    assert table["mean"].item() == pytest.approx(draws.mean(), abs=0.1 * draws.std())
    assert table["sd"].item() == pytest.approx(draws.std(), rel=0.05)
    ends = bcm.interval(counts, name, kind="eti").values
    np.testing.assert_allclose(ends, np.quantile(draws, [0.025, 0.975]), atol=0.1 * draws.std())
    left_out = "2, 3, 4" if never_predicted and measure == "precision" else "3, 4"
    assert table.attrs["caution"].endswith(f": {left_out}.")


@pytest.mark.long
def test_a_listed_class_without_examples_hardly_changes_an_average():
    actual, predicted = _predictions(2, 400)
    names = ["f1_macro", "balanced_accuracy", "recall_weighted"]
    three, eight = (
        bcm.summary(bcm.from_predictions(actual, predicted, labels=range(k)), names) for k in (3, 8)
    )
    np.testing.assert_allclose(three["point"], eight["point"])
    np.testing.assert_allclose(three["lower"], eight["lower"], atol=0.02)
    assert "caution" not in three.attrs
    assert "balanced accuracy" in eight.attrs["caution"]


@pytest.mark.long
@pytest.mark.parametrize("of", ["parameter", "predictive"])
def test_every_member_of_a_batch_leaves_out_its_own_classes(of):
    tables = np.array([[[9, 1, 0], [2, 7, 0], [0, 0, 0]], [[9, 1, 2], [2, 7, 1], [1, 1, 8]]])
    batch = bcm.from_matrix(tables, labels=list("abc"), dims=("batch",))
    together = bcm.summary(batch, ["f1_macro", "precision_weighted"], of=of)
    for member in (0, 1):
        alone = bcm.summary(batch.isel(batch=member), ["f1_macro", "precision_weighted"], of=of)
        rows = together[together["batch"] == member]
        np.testing.assert_allclose(rows["point"], alone["point"])
        np.testing.assert_allclose(rows["mean"], alone["mean"], atol=0.01)
        np.testing.assert_allclose(rows["lower"], alone["lower"], atol=0.04)
    assert "f1_macro" not in together.attrs["caution"]
    assert "F1 (macro), precision (weighted): c (0)." in together.attrs["caution"]


# Systems of which one never predicts the class 2: their averages of precision differ in classes.
def _two_systems(**by):
    actual, a = _predictions(3, 120, never_predicted=(2,))
    _, b = _predictions(4, 120)
    b = np.where(np.random.default_rng(6).random(120) < 0.7, actual, b)
    return bcm.from_classifiers(actual, {"a": a, "b": b}, **by)


EVIDENCE = {
    "outcomes": _two_systems,
    "folds": lambda: _two_systems(by={"fold": np.arange(120) % 4}),
    "groups": lambda: _two_systems(by={"group": np.arange(120) % 4}),
    "two mappings": lambda: {
        name: bcm.from_predictions(*_predictions(seed, 80, never_predicted=never), labels=range(3))
        for name, seed, never in (("a", 3, (2,)), ("b", 4, ()))
    },
}


@pytest.mark.long
@pytest.mark.parametrize("name", EVIDENCE)
def test_differences_and_ranks_are_of_the_same_averages_as_the_summary(name):
    evidence = EVIDENCE[name]()
    measures = ["precision_macro", "recall_macro"]
    table = bcm.summary(evidence, measures)
    means = table.pivot(index="measure", columns="classifier", values="mean").astype(float)
    of_all = {"model": "hierarchical_groups"} if name == "groups" else {}
    comparison = bcm.compare(evidence, measures, **of_all)
    compared = comparison.set_index("measure")
    # Folds are compared with the correlated t, and summarised with a model of their effects.
    tolerance = 0.05 if name == "folds" else 0.01
    np.testing.assert_allclose(
        compared["mean"].astype(float)[means.index], means["a"] - means["b"], atol=tolerance
    )
    written = "a: Averages leave out" if name == "two mappings" else "precision (macro): 2 (a)."
    assert written in table.attrs["caution"]
    for answer in (comparison, bcm.ranks(evidence, measures, **of_all)):
        assert "precision (macro): 2 (a)." in answer.attrs["caution"]
        assert "partly a difference between classes" in answer.attrs["caution"]


@pytest.mark.long
def test_folds_and_groups_keep_a_class_that_only_some_of_them_lack():
    tables = np.array([[[9, 1, 0], [2, 7, 0], [0, 0, 0]], [[9, 1, 2], [2, 7, 1], [1, 1, 8]]] * 3)
    for dim in ("fold", "group"):
        table = bcm.summary(bcm.from_matrix(tables, labels=list("abc"), dims=(dim,)), "f1_macro")
        assert "Averages leave out" not in table.attrs.get("caution", "")
        pooled = bcm.summary(bcm.from_matrix(tables.sum(0), labels=list("abc")), "f1_macro")
        assert table["mean"].item() == pytest.approx(pooled["mean"].item(), abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "dims"),
    [
        ("averaged_folds", ("fold",)),
        ("averaged_folds", ("batch", "fold")),
        ("pooled_folds", ("batch", "fold")),
        ("hierarchical_groups", ("group",)),
    ],
)
def test_models_of_folds_and_groups_leave_out_classes_that_no_member_has(model, dims):
    rng = np.random.default_rng(7)
    cells = rng.integers(2, 9, (2, 4, 3, 3)) + 9 * np.eye(3, dtype=int)
    cells[0, :, 2], cells[0, :, :, 2] = 0, 0
    cells = cells if len(dims) == 2 else cells[0]
    counts = bcm.from_matrix(cells, labels=list("abc"), dims=dims)
    whole = bcm.summary(counts, "recall_macro", model=model)
    first = counts if len(dims) == 1 else counts.isel(batch=0)
    without = bcm.from_matrix(first.values[..., :2, :2], labels=list("ab"), dims=dims[-1:])
    expected = bcm.summary(without, "recall_macro", model=model)
    assert whole["point"][0] == pytest.approx(expected["point"][0])
    assert whole["mean"][0] == pytest.approx(expected["mean"][0], abs=0.04)
    assert "c" in whole.attrs["caution"]


@pytest.mark.long
def test_a_fit_leaves_out_the_same_classes():
    counts = bcm.from_predictions(*_predictions(8, 50), labels=range(5))
    names = ["f1_macro", "f1_macro[0,1,4]", "balanced_accuracy"]
    tree = bcm.fit(counts, draws=4000)
    direct, fitted = bcm.summary(counts, names), bcm.summary(tree, names)
    np.testing.assert_allclose(fitted["point"], direct["point"])
    np.testing.assert_allclose(fitted["mean"], direct["mean"], atol=0.01)
    assert fitted.attrs["caution"] == direct.attrs["caution"]
    draws = bcm.measure(tree, "f1_macro")["f1_macro"]
    assert float(draws.mean()) == pytest.approx(fitted["mean"][0], abs=0.003)


@pytest.mark.long
def test_abstentions_do_not_bring_back_a_class_without_examples():
    actual, predicted = _predictions(9, 60)
    predicted = np.where(np.arange(60) % 9 == 0, -1, predicted)
    counts = bcm.from_predictions(actual, predicted, labels=range(4), abstain=-1)
    for name in ("f1_macro", "f1_of_all_macro", "recall_of_all_macro"):
        table = bcm.summary(counts, name)
        assert table["lower"].item() < table["point"].item() < table["upper"].item()
        assert table["mean"].item() == pytest.approx(table["point"].item(), abs=0.05)
        assert table.attrs["caution"].endswith(": 3.")


@pytest.mark.long
def test_averages_over_labels_without_examples():
    rng = np.random.default_rng(10)
    truth = np.c_[rng.random((60, 2)) < 0.4, np.zeros((60, 2), bool)]
    wrong = (rng.random((60, 4)) < 0.1) & [True, True, True, False]
    labels = ["x", "y", "false alarms", "never"]
    evidence = bcm.from_multilabel(truth, truth ^ wrong, labels=labels)
    without = bcm.from_multilabel(truth[:, :3], (truth ^ wrong)[:, :3], labels=labels[:3])
    names = ["f1_macro", "f1_weighted", "precision_macro", "recall_macro"]
    table, expected = bcm.summary(evidence, names), bcm.summary(without, names)
    np.testing.assert_allclose(table["point"], expected["point"])
    np.testing.assert_allclose(table["mean"], expected["mean"], atol=0.02)
    caution = table.attrs["caution"]
    assert "F1 (macro), F1 (weighted), precision (macro): never" in caution
    assert "recall (macro): false alarms, never" in caution


@pytest.mark.long
def test_a_report_says_which_classes_its_averages_leave_out():
    actual, predicted = _predictions(11, 40)
    report = bcm.classification_report(actual, predicted, labels=range(4))
    for how in ("macro avg", "weighted avg"):
        rows = report.frame[report.frame["name"] == how]
        assert ((rows["lower"] < rows["point"]) & (rows["point"] < rows["upper"])).all()
    assert report.frame.attrs["caution"].endswith(": 3.")
    assert "Caution: Averages leave out" in repr(report)
    assert "Caution" not in repr(bcm.classification_report(actual, predicted))


# Point estimates outside their own interval.


@pytest.mark.long
def test_a_point_outside_its_own_interval_comes_with_the_reason():
    counts = bcm.from_predictions(*_predictions(12, 20), labels=range(4))
    strong = bcm.summary(counts, ["f1_macro", "accuracy"], concentration=2.0).attrs["caution"]
    assert strong.count("is outside its own 99% interval") == 2
    assert "the prior is worth 32 examples, compared with 20 tested ones" in strong
    assert "outside" not in bcm.summary(counts, ["f1_macro", "accuracy"]).attrs["caution"]


def test_a_point_outside_its_own_interval_whatever_the_type_of_evidence():
    same = bcm.from_item_scores({"a": np.full(3, 4.0)}, range=(1, 5))
    caution = bcm.summary(same, ["mean", "sd"]).attrs["caution"]
    assert "The point estimate of SD (a), 0, is outside" in caution
    assert "it is at the end of its range" in caution
    perfect = bcm.from_cells(tp=5, fn=0, fp=0, tn=5)
    ratio = bcm.summary(perfect, "positive_likelihood_ratio").attrs["caution"]
    assert "its denominator is 0 in the evidence" in ratio


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hdi", "eti"])
@pytest.mark.parametrize("n", [1, 5, 100])
def test_perfect_results_are_not_cautioned_of(n, kind):
    names = ["accuracy", "recall", "f1", "mcc", "cohen_kappa", "balanced_accuracy"]
    table = bcm.summary(bcm.from_cells(tp=n, fn=0, fp=0, tn=n), names, kind=kind, prob=0.5)
    assert "outside" not in table.attrs.get("caution", "")


def test_measures_are_bound_once():
    """A measure that was bound to the evidence keeps its classes if it is bound again."""
    counts = bcm.from_predictions(*_predictions(13, 50), labels=range(5))
    posterior = posterior_of(counts)
    for name in ("f1_macro", "f1_macro[0,1,4]"):
        (kernel,) = resolve_measures(posterior, name)
        (again,) = resolve_measures(posterior, [kernel])
        np.testing.assert_array_equal(kernel.included, again.included)
        assert kernel.included.tolist() == [True, True, name == "f1_macro", False, False]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:a and near have equal scores")
def test_areas_of_labels_share_weights_only_which_comparisons_say():
    rng = np.random.default_rng(0)
    actual = rng.random((60, 3)) < 0.5
    score = actual + rng.normal(0, 1, (60, 3))
    near = score + np.where(np.arange(60) == 0, 1.0, 0.0)[:, None]
    scores = {"a": score, "near": near}
    predicted = {name: each > 0.5 for name, each in scores.items()}
    evidence = bcm.from_multilabel(actual, predicted, scores=scores, labels=list("xyz"))
    for ask in (bcm.compare, bcm.ranks):
        caution = ask(evidence, "auc_macro").attrs["caution"]
        assert "share only the weights of the examples" in caution
        assert "share the weights" not in ask(evidence, "f1_micro").attrs.get("caution", "")

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bayescm as bcm

X, Y = load_breast_cancer(return_X_y=True)
NAMES = np.array(["malignant", "benign"])[Y]
MODEL = GaussianNB().fit(X[::2], NAMES[::2])
REST = X[1::2], NAMES[1::2]
LINE = LinearRegression().fit(X[:50], Y[:50])


def evidence(positive="malignant"):
    return bcm.from_predictions(REST[1], MODEL.predict(REST[0]), positive=positive)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("lower", lambda c: bcm.interval(c, "recall", prob=0.9).sel(bound="lower")),
        ("upper", lambda c: bcm.interval(c, "recall", prob=0.9).sel(bound="upper")),
        ("mean", lambda c: bcm.distribution(c, "recall").mean()),
        (0.2, lambda c: bcm.distribution(c, "recall").quantile(0.2)),
    ],
)
def test_a_score_is_a_point_of_the_posterior(at, expected):
    score = bcm.sklearn.scorer("recall", at=at, prob=0.9)
    # The last class in sorted order is the positive one, as in scikit-learn.
    assert score(MODEL, *REST) == pytest.approx(expected(evidence("malignant")).item())
    chosen = bcm.sklearn.scorer("recall", at=at, prob=0.9, positive="benign")
    assert chosen(MODEL, *REST) == pytest.approx(expected(evidence("benign")).item())


def test_a_loss_is_negative_and_its_lower_bound_the_cautious_one():
    score = bcm.sklearn.scorer("error_rate")(MODEL, *REST)
    assert score == pytest.approx(-bcm.interval(evidence(), "error_rate").values[1])
    point = bcm.sklearn.scorer("error_rate", at=0.1)(MODEL, *REST)
    assert point == pytest.approx(-bcm.distribution(evidence(), "error_rate").quantile(0.9).item())


@pytest.mark.long
def test_a_measure_of_probabilities_asks_for_them():
    score = bcm.sklearn.scorer("brier", at="mean")(MODEL, *REST)
    shares = MODEL.predict_proba(REST[0])[:, 1]
    evidence = bcm.from_probabilities(REST[1], shares, positive="malignant")
    assert score == pytest.approx(-bcm.distribution(evidence, "brier").mean().item())


@pytest.mark.long
def test_searches_and_cross_validations_take_it():
    both = {"cautious": bcm.sklearn.scorer("f1"), "mean": bcm.sklearn.scorer("f1", at="mean")}
    scores = cross_validate(GaussianNB(), X, Y, cv=3, scoring=both)
    assert (scores["test_cautious"] < scores["test_mean"]).all()
    grid = {"var_smoothing": [1e-9, 1e-1]}
    search = GridSearchCV(GaussianNB(), grid, scoring=both["cautious"], cv=3).fit(X, Y)
    assert 0.8 < search.best_score_ < 1
    assert clone(search).scoring == both["cautious"] == get_scorer(both["cautious"])
    again = pickle.loads(pickle.dumps(both["mean"]))
    assert again(search.best_estimator_, X, Y) == both["mean"](search.best_estimator_, X, Y)


@pytest.mark.long
def test_many_classes_need_one_number():
    features, species = load_iris(return_X_y=True)
    model = GaussianNB().fit(features, species)
    assert 0.8 < bcm.sklearn.scorer("f1_macro")(model, features, species) < 1
    with pytest.raises(ValueError, match="A scorer must return a single number, but f"):
        bcm.sklearn.scorer("f1")(model, features, species)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"at": "bottom"}, "or a quantile"),
        ({"at": 1.5}, "or a quantile"),
        ({"prob": 2}, "prob"),
        ({"kind": "x"}, "kind"),
        ({"measure": "f1x"}, "Unknown measure"),
    ],
)
def test_mistakes_are_said_before_the_search(keywords, words):
    with pytest.raises(ValueError, match=words):
        bcm.sklearn.scorer(**{"measure": "f1"} | keywords)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "ConfusionMatrixDisplay",
        "RocCurveDisplay",
        "PrecisionRecallDisplay",
        "CalibrationDisplay",
    ],
)
def test_displays_draw_where_they_are_told(name):
    display = getattr(bcm.sklearn, name)
    _, ax = plt.subplots()
    model = LogisticRegression(max_iter=500).fit(X[::2, :2], NAMES[::2])
    shown = display.from_estimator(model, X[1::2, :2], NAMES[1::2], ax=ax, prob=0.9)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert ax.has_data() or ax.images or ax.texts
    shares = model.predict_proba(X[1::2, :2])[:, 1]
    predicted = model.predict(X[1::2, :2])
    answers = predicted if name.startswith("Confusion") else shares
    again = display.from_predictions(NAMES[1::2], answers, prob=0.9, positive="malignant")
    assert again.figure_ is not shown.figure_
    assert len(again.ax_.lines) == len(ax.lines)
    with pytest.raises(TypeError, match="Unknown keyword pos_label"):
        again.plot(pos_label="benign")
    for wrong, message in ((LogisticRegression(), "not fitted"), (LINE, "not a classifier")):
        with pytest.raises((NotFittedError, TypeError), match=message):
            display.from_estimator(wrong, X, Y)


@pytest.mark.long
def test_a_classifier_without_probabilities_is_named():
    from sklearn.svm import LinearSVC

    model = LinearSVC().fit(X[::2, :2], Y[::2])
    with pytest.raises(TypeError, match="has no predict_proba, so there are no probabilities"):
        bcm.sklearn.CalibrationDisplay.from_estimator(model, X[1::2, :2], Y[1::2])
    shown = bcm.sklearn.RocCurveDisplay.from_estimator(model, X[1::2, :2], Y[1::2])
    assert shown.ax_.get_xlabel() == "false positive rate"


def fitted_search(cv=5, scoring="accuracy", **options):
    tree = DecisionTreeClassifier(random_state=0)
    grid = {"max_depth": [1, 4], "criterion": ["gini"]}
    return GridSearchCV(tree, grid, scoring=scoring, cv=cv, **options).fit(X[:200], Y[:200])


def test_candidates_of_a_search_are_compared_by_the_correlated_t():
    search = fitted_search()
    results = bcm.sklearn.from_search(search)
    assert results["classifier"].values.tolist() == ["max_depth=1", "max_depth=4"]
    assert (results["measured"].item(), results["test_share"].item()) == ("accuracy", 0.2)
    scores = np.array([search.cv_results_[f"split{i}_test_score"] for i in range(5)])
    difference = scores[:, 0] - scores[:, 1]
    # Nadeau and Bengio's variance, with a quarter of the training examples tested.
    scale = np.sqrt(difference.var(ddof=1) * (1 / 5 + 1 / 4))
    expected = stats.t(4, difference.mean(), scale)
    row = bcm.compare(results).loc[0]
    assert row["mean"] == pytest.approx(difference.mean())
    assert (row["lower"], row["upper"]) == pytest.approx(expected.interval(0.95))
    assert row["p_better"] == pytest.approx(expected.sf(0))
    ranks = bcm.ranks(results, random_seed=1).set_index("classifier")
    assert ranks.loc["max_depth=1", "p_best"] == pytest.approx(expected.sf(0), abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize(
    ("cv", "share"),
    [
        (StratifiedKFold(4), 1 / 4),
        (RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0), 1 / 4),
        (ShuffleSplit(3, test_size=0.3, random_state=0), 0.3),
    ],
)
def test_the_share_of_test_examples_is_that_of_the_splitter(cv, share):
    results = bcm.sklearn.from_search(fitted_search(cv))
    assert results["test_share"].item() == pytest.approx(share)


@pytest.mark.long
def test_searches_that_do_not_tell_are_errors():
    several = fitted_search(scoring=["accuracy", "f1"], refit="f1")
    with pytest.raises(ValueError, match=r"several metrics.*metric="):
        bcm.sklearn.from_search(several)
    assert bcm.sklearn.from_search(several, "f1")["measured"].item() == "f1"
    with pytest.raises(ValueError, match="The search has no metric"):
        bcm.sklearn.from_search(several, "mcc")
    with pytest.raises(NotFittedError):
        bcm.sklearn.from_search(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}))
    unknown = fitted_search(ShuffleSplit(3, random_state=0))
    with pytest.raises(ValueError, match="test_share="):
        bcm.sklearn.from_search(unknown)
    assert bcm.sklearn.from_search(unknown, test_share=0.1).sizes["run"] == 3


@pytest.mark.long
def test_a_report_of_a_search_is_about_one_data_set(tmp_path):
    path = bcm.report(bcm.sklearn.from_search(fitted_search()), tmp_path / "search.md")
    assert "say nothing about other data sets" in path.read_text()


@pytest.mark.long
def test_a_scorer_that_is_named_as_a_loss_is_better_if_it_is_higher():
    scoring = {"log_loss": "neg_log_loss", "accuracy": "accuracy"}
    search = fitted_search(scoring=scoring, refit="accuracy")
    results = bcm.sklearn.from_search(search, "log_loss")
    assert results["measured"].item() == "neg_log_loss"
    ranks = bcm.ranks(results, random_seed=1).set_index("classifier")
    best = ranks["expected_rank"].idxmin()
    means = search.cv_results_["mean_test_log_loss"]
    assert best == results["classifier"].values[np.argmax(means)]

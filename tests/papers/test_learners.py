import numpy as np
import pytest
from reference_cases import DATA, data_file
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from bayescm.papers.learners import Gaussians, PrunedTree, Rows, classifier

X, Y = load_breast_cancer(return_X_y=True)
NOISE = np.random.default_rng(0).standard_normal((200, 5))
COIN = np.random.default_rng(1).integers(0, 2, 200)


@pytest.mark.parametrize(
    "name", ["tree", "perceptron", "svm", "linear svm", "logistic", "bayes", "knn"]
)
def test_every_classifier_learns_something(name):
    model = clone(classifier(name, seed=1)).fit(X[::2], Y[::2])
    assert (model.predict(X[1::2]) == Y[1::2]).mean() > 0.85


def test_same_seed_same_perceptron():
    first, second = (classifier("perceptron", seed=3).fit(NOISE, COIN) for _ in range(2))
    assert (first.predict(NOISE) == second.predict(NOISE)).all()


def test_pruning_costs_at_most_its_share_of_errors_for_every_leaf():
    grown = DecisionTreeClassifier(min_samples_split=20, min_samples_leaf=7, random_state=0)
    grown.fit(NOISE, COIN)
    root = min((COIN == 0).sum(), (COIN == 1).sum())
    for cp in (0.0, 0.01, 0.05, 0.2):
        pruned = PrunedTree(cp=cp, random_state=0).fit(NOISE, COIN)
        lost = (pruned.predict(NOISE) != COIN).sum() - (grown.predict(NOISE) != COIN).sum()
        assert 0 <= lost <= cp * root * grown.get_n_leaves()


def test_a_high_price_leaves_the_majority_class():
    pruned = PrunedTree(cp=1.1, random_state=0).fit(X, Y)
    assert (pruned.predict(X) == 1).all()


def test_no_price_changes_no_prediction():
    pruned = PrunedTree(cp=0.0, random_state=0).fit(X, Y)
    grown = DecisionTreeClassifier(min_samples_split=20, min_samples_leaf=7, random_state=0)
    assert (pruned.predict(X) == grown.fit(X, Y).predict(X)).all()


def test_more_than_two_classes_and_string_labels():
    x, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    assert (PrunedTree(random_state=0).fit(x, names).predict(x) == names).mean() > 0.9


def test_random_class_sizes_on_request():
    _, classes = Gaussians(2, 1, 1, balanced=False).sample(np.random.default_rng(0), 200)
    assert classes.sum() not in (100, 0)


def test_swapped_classes_are_the_same_population():
    first, _ = Gaussians(3, 2, 4).sample(np.random.default_rng(0), 4000)
    second, classes = Gaussians(3, 2, 4, swapped=True).sample(np.random.default_rng(0), 4000)
    for rows, shift, scale in [(classes == 0, 2, 4), (classes == 1, 0, 1)]:
        np.testing.assert_allclose(second[rows].mean(0), shift, atol=0.2)
        np.testing.assert_allclose(second[rows].var(0), scale, rtol=0.15)
    assert not np.allclose(first, second)


def test_letters_and_gamma_rays():
    folder = str(data_file("uci/letter.csv.gz").parent)
    letters, letter_classes = Rows("letter", folder).sample(np.random.default_rng(0), 200)
    rays, ray_classes = Rows("magic", str(DATA)).sample(np.random.default_rng(0), 200)
    assert letters.shape == (200, 16)
    assert rays.shape == (200, 10)
    assert letter_classes.sum() == round(200 * 9940 / 20_000)
    assert ray_classes.sum() == 100


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"magic.csv.gz is missing.*UCI.*--data"):
        Rows("magic", str(tmp_path))

"""The measures: parity, permutation, scale, batches, digits, derivatives, names."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_cases import cases
from sklearn import metrics

from bayescm import measures

RNG = np.random.default_rng(20240607)
PARAMETRISED = ["fbeta(0.5)", "fbeta(2)", "tversky(0.3,0.7)"]
ONE_CLASS = [name for name in measures.names() if measures.resolve(name).one_class] + PARAMETRISED
WHOLE = [name for name in measures.names() if not measures.resolve(name).one_class]
SOME = ["precision", "npv", "f1", "informedness", "fbeta(0.5)"]
AVERAGED = [f"{name}_{how}" for name in SOME for how in ("macro", "micro", "weighted")]
EVERY = [*ONE_CLASS, *WHOLE, *AVERAGED]
distributions = settings(deadline=None, derandomize=True, max_examples=60)


def random_cells(*shape):
    return RNG.gamma(1.0, size=shape)


@st.composite
def label_vectors(draw):
    """Two label vectors over classes of which some may occur in neither, one or both."""
    size = draw(st.integers(2, 6))
    n = draw(st.integers(1, 30))
    vector = st.lists(st.integers(0, size - 1), min_size=n, max_size=n)
    return size, np.array(draw(vector)), np.array(draw(vector))


def tabulated(size, actual, predicted):
    return metrics.confusion_matrix(actual, predicted, labels=range(size))


def close(ours, theirs, name=""):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, equal_nan=True, err_msg=name)


# Parity with scikit-learn


@distributions
@given(label_vectors(), st.sampled_from([None, "macro", "micro", "weighted"]))
def test_precision_recall_and_f_are_those_of_scikit_learn(vectors, average):
    size, actual, predicted = vectors
    cells = tabulated(*vectors)
    suffix = f"_{average}" if average else ""
    for beta, name in ((1, "f1"), (0.5, "fbeta(0.5)"), (2, "fbeta(2)")):
        expected = metrics.precision_recall_fscore_support(
            actual, predicted, beta=beta, labels=range(size), average=average, zero_division=np.nan
        )[:3]
        for base, theirs in zip(("precision", "recall", name), expected, strict=True):
            ours = measures.resolve(base + suffix)(cells)
            close(ours, theirs[1] if size == 2 and average is None else theirs)


@distributions
@given(label_vectors())
def test_whole_matrix_measures_are_those_of_scikit_learn(vectors):
    _, actual, predicted = vectors
    cells = tabulated(*vectors)
    close(measures.accuracy(cells), metrics.accuracy_score(actual, predicted))
    close(measures.error_rate(cells), metrics.zero_one_loss(actual, predicted))
    with warnings.catch_warnings():  # it warns of answers that are no class of the sample
        warnings.simplefilter("ignore")
        close(measures.balanced_accuracy(cells), metrics.balanced_accuracy_score(actual, predicted))
        kappa = metrics.cohen_kappa_score(actual, predicted, replace_undefined_by=np.nan)
        mcc = metrics.matthews_corrcoef(actual, predicted)
    close(measures.cohen_kappa(cells), kappa)
    ours = measures.mcc(cells)
    # It returns 0 for 0/0, where one class takes all the answers or all the examples.
    alone = len(set(actual)) == 1 or len(set(predicted)) == 1
    assert np.isnan(ours) if alone else abs(ours - mcc) < 1e-12


@distributions
@given(label_vectors())
def test_jaccard_is_that_of_scikit_learn_where_it_is_defined(vectors):
    size, actual, predicted = vectors
    present = sorted(set(actual) | set(predicted))
    ours = measures.jaccard(tabulated(*vectors))
    theirs = metrics.jaccard_score(actual, predicted, labels=present, average=None)
    if size > 2:
        close(ours[present], theirs)
        assert np.isnan(np.delete(ours, present)).all()
    elif 1 in present:
        close(ours, theirs[present.index(1)])


def test_likelihood_ratios_are_those_of_scikit_learn():
    actual, predicted = RNG.integers(0, 2, (2, 200))
    cells = tabulated(2, actual, predicted)
    expected = metrics.class_likelihood_ratios(actual, predicted)
    close(measures.positive_likelihood_ratio(cells), expected[0])
    close(measures.negative_likelihood_ratio(cells), expected[1])


# Distributions over every measure


@pytest.mark.parametrize("size", [2, 3, 5])
def test_renaming_the_classes_changes_nothing(size):
    for name in EVERY:
        kernel, cells = measures.resolve(name), random_cells(7, size, size)
        order = RNG.permutation(size)
        moved = kernel(cells[:, order][:, :, order])
        if size == 2 and kernel.one_class:  # the value of whichever class is the positive one now
            close(moved, kernel(measures.one_vs_rest(cells)[:, order[1]]), name)
        else:
            close(moved, kernel(cells)[:, order] if kernel.one_class else kernel(cells), name)


def test_needs_positive_says_whether_swapping_two_classes_matters():
    for name in EVERY:
        kernel, cells = measures.resolve(name), random_cells(5, 2, 2)
        same = np.allclose(kernel(cells), kernel(cells[:, ::-1, ::-1]), rtol=1e-12)
        assert same is not kernel.needs_positive, name


@pytest.mark.parametrize("size", [2, 4])
def test_counts_and_probabilities_give_the_same(size):
    for name in EVERY:
        kernel, cells = measures.resolve(name), random_cells(6, size, size)
        close(kernel(cells / cells.sum(axis=(1, 2), keepdims=True)), kernel(cells), name)
        close(kernel(cells * 1e9), kernel(cells), name)


@pytest.mark.parametrize("size", [2, 4])
def test_a_batch_is_a_loop(size):
    for name in EVERY:
        kernel, cells = measures.resolve(name), random_cells(2, 3, size, size)
        looped = [[kernel(cells[i, j]) for j in range(3)] for i in range(2)]
        np.testing.assert_array_equal(kernel(cells), looped, name)
        shape = (2, 3, size) if kernel.one_class and size > 2 else (2, 3)
        assert kernel(cells).shape == shape, name


@pytest.mark.parametrize("size", [2, 3])
def test_nothing_over_nothing_is_nan_without_a_warning(size):
    for name in EVERY:
        assert np.isnan(measures.resolve(name)(np.zeros((size, size), int))).all(), name


def test_a_class_of_many_is_that_class_against_the_rest():
    for name in ONE_CLASS:
        kernel, cells = measures.resolve(name), random_cells(5, 4, 4)
        close(kernel(cells), kernel(measures.one_vs_rest(cells)), name)


@pytest.mark.parametrize("size", [2, 3])
def test_complex_step_gives_the_derivative(size):
    for name in EVERY:
        if name.startswith("overlap"):
            continue
        # Away from cells of nothing, where a difference of second order is not accurate.
        kernel, cells = measures.resolve(name), 0.2 + random_cells(size, size)
        direction = random_cells(size, size)
        exact = kernel(cells + 1e-30j * direction).imag / 1e-30
        step = 1e-5
        near = (kernel(cells + step * direction) - kernel(cells - step * direction)) / (2 * step)
        np.testing.assert_allclose(exact, near, rtol=1e-6, atol=1e-8, err_msg=name)


def test_every_kernel_survives_pickling_and_its_own_name():
    for name in [*EVERY, "cost([[0,1],[5,0]])"]:
        kernel = measures.resolve(name)
        copies = pickle.loads(pickle.dumps(kernel)), measures.resolve(kernel.__name__)
        cells = random_cells(3, 2, 2)
        for copy in copies:
            assert copy.__name__ == kernel.__name__ == name
            np.testing.assert_array_equal(copy(cells), kernel(cells))


# Digits


def exact_values(tp, fn, fp, tn):
    """Return the measures without a square root, as fractions."""
    n, p, m = tp + fn + fp + tn, tp + fp, tp + fn
    return {
        "accuracy": (tp + tn) / n,
        "error_rate": (fn + fp) / n,
        "fpr": fp / (fp + tn),
        "fnr": fn / (fn + tp),
        "fdr": fp / p,
        "for_": fn / (fn + tn),
        "npv": tn / (fn + tn),
        "f1": 2 * tp / (2 * tp + fn + fp),
        "jaccard": tp / (tp + fn + fp),
        "lift": tp * n / (p * m),
        "positive_likelihood_ratio": tp * (fp + tn) / (m * fp),
        "negative_likelihood_ratio": fn * (fp + tn) / (m * tn),
        "diagnostic_odds_ratio": tp * tn / (fp * fn),
        "informedness": (tp * tn - fp * fn) / (m * (fp + tn)),
        "markedness": (tp * tn - fp * fn) / (p * (fn + tn)),
        "cohen_kappa": 2 * (tp * tn - fp * fn) / (p * (fp + tn) + (fn + tn) * m),
    }


EXTREMES = [
    (10**6, 3, 7, 10**9),
    (10**12, 1, 1, 10**12),
    (1, 10**12, 10**12, 1),
    (10**12, 10**12, 1, 1),
    (Fraction(1, 10**12), Fraction(3, 10**12), Fraction(1, 2), Fraction(1, 2)),
    (Fraction(1, 10**12), Fraction(3, 10**12), Fraction(7, 10**12), Fraction(1)),
]


@pytest.mark.parametrize("cells", EXTREMES, ids=str)
def test_measures_keep_their_digits_at_the_extremes(cells):
    tp, fn, fp, tn = cells
    array = np.array([[float(tn), float(fp)], [float(fn), float(tp)]])
    for name, value in exact_values(*map(Fraction, cells)).items():
        np.testing.assert_allclose(measures.resolve(name)(array), float(value), rtol=1e-14)
    p, m = Fraction(tp + fp), Fraction(tp + fn)
    square = Fraction(tp * tn - fp * fn) ** 2 / (p * m * (fn + tn) * (fp + tn))
    np.testing.assert_allclose(measures.mcc(array) ** 2, float(square), rtol=1e-13)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1.0, 1e12, 1e70])
@pytest.mark.parametrize("size", [2, 3])
def test_mcc_neither_overflows_nor_underflows(scale, size):
    cells = random_cells(size, size)
    np.testing.assert_allclose(measures.mcc(cells * scale), measures.mcc(cells), rtol=1e-12)


def test_the_sign_of_a_difference_is_exact():
    independent = np.array([[6, 4], [9, 6]])
    for name in ("mcc", "informedness", "markedness", "cohen_kappa"):
        assert measures.resolve(name)(independent) == 0


def test_one_vs_rest_adds_and_never_subtracts():
    cells = np.array([[1.0, 1e-20, 2e-20], [3e-20, 4e-20, 5e-20], [6e-20, 7e-20, 8e-20]])
    tn = measures.one_vs_rest(cells)[0, 0, 0]
    np.testing.assert_allclose(tn, 24e-20, rtol=1e-15)


# Relations between measures, and reference values


def test_relations():
    cells = random_cells(50, 2, 2)
    value = {name: measures.resolve(name)(cells) for name in [*ONE_CLASS, *WHOLE]}
    close(value["f1"], 2 * value["jaccard"] / (1 + value["jaccard"]))
    close(value["fowlkes_mallows"] ** 2, value["precision"] * value["recall"])
    close(value["overlap"], np.maximum(value["precision"], value["recall"]))
    close(value["lift"], value["precision"] / value["prevalence"])
    close(value["informedness"], value["recall"] + value["specificity"] - 1)
    close(value["markedness"], value["precision"] + value["npv"] - 1)
    close(value["mcc"] ** 2, value["informedness"] * value["markedness"])
    close(value["balanced_accuracy"], (value["recall"] + value["specificity"]) / 2)
    close(measures.tversky(0.2, 0.8)(cells), measures.fbeta(0.5)(cells))
    close(measures.fbeta(0)(cells), value["precision"])
    for first, second in (("fdr", "precision"), ("fnr", "recall"), ("fpr", "specificity")):
        close(value[first] + value[second], 1)
    close(value["for_"] + value["npv"], 1)
    close(value["accuracy"] + value["error_rate"], 1)


def test_tversky_weighs_false_negatives_first():
    cells = np.array([[0, 2], [3, 5]])  # 3 false negatives, 2 false positives
    assert measures.tversky(1, 0)(cells) == measures.recall(cells) == 5 / 8
    assert measures.tversky(0, 1)(cells) == measures.precision(cells) == 5 / 7


NAMES = {"f0.5": "fbeta(0.5)", "tversky_0.3_0.7": "tversky(0.3,0.7)"}


@pytest.mark.parametrize("case", cases("delta-individual-"))
def test_values_and_gradients_of_the_reference(case):
    name = case["id"].split("-")[3]
    kernel = measures.resolve(NAMES.get(name, name))
    for rule in range(3):
        expected = case["expected"][f"S{rule + 1}"]
        averages = expected["averages_Y_S_YS"]
        point = np.array([averages[4 + rule], averages[0], averages[1 + rule]])
        close_to = {"rtol": 1e-9, "atol": 1e-12}
        np.testing.assert_allclose(kernel(from_averages(point)), expected["theta"][0], **close_to)
        steps = from_averages(point[:, None] + 1e-30j * np.eye(3))
        np.testing.assert_allclose(
            kernel(steps).imag / 1e-30, expected["gradients_a_b_c"][0], **close_to
        )


def from_averages(point):
    """Return cells of the shares of true positives, positives and predicted positives."""
    a, b, c = point
    return np.moveaxis(np.array([[1 - b - c + a, c - a], [b - a, a]]), (0, 1), (-2, -1))


# Names, parameters and functions


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("sensitivity", "recall"),
        ("tpr", "recall"),
        ("tnr", "specificity"),
        ("ppv", "precision"),
        ("g_score", "fowlkes_mallows"),
        ("cosine", "fowlkes_mallows"),
        ("youden", "informedness"),
        ("kappa", "cohen_kappa"),
        ("f2_macro", "fbeta(2)_macro"),
        ("fbeta(1)", "f1"),
        ("tversky( 0.3, 0.7 )", "tversky(0.3,0.7)"),
        ("tversky(1,1)", "jaccard"),
        ("cost([[0, 1], [5, 0]])", "cost([[0,1],[5,0]])"),
        (measures.fbeta(1 / 3), "fbeta(0.3333333333333333)"),
    ],
)
def test_every_name_leads_to_one_canonical_name(alias, name):
    assert measures.resolve(alias).__name__ == name


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("recal", "did you mean recall"),
        ("F1", "did you mean f1"),
        ("f1_makro", "f1_macro"),
        ("G-score", "g_score"),
        ("accuracy_macro", "not averaged over classes"),
        ("fbeta", r"fbeta\(beta\)"),
        ("fbeta()", "unknown measure"),
        ("fbeta(1,2)", r"fbeta\(beta\)"),
        ("fbeta(two)", "unreadable"),
        ("fbeta(-1)", ">= 0"),
        ("tversky(0.5)", r"tversky\(alpha,beta\)"),
        ("cost([1,2])", "square"),
        ("cost([[0,1],[1e999,0]])", "finite"),
        ("nothing like it", "choose one of these"),
        ("", "unknown measure"),
    ],
)
def test_a_wrong_name_is_an_error_that_helps(bad, said):
    with pytest.raises(ValueError, match=said):
        measures.resolve(bad)


def test_something_else_is_no_measure():
    with pytest.raises(TypeError, match="a name or a function"):
        measures.resolve(3)


def test_cost_weighs_the_cells():
    cells = random_cells(4, 3, 3)
    matrix = RNG.normal(size=(3, 3))
    probabilities = cells / cells.sum(axis=(1, 2), keepdims=True)
    close(measures.cost(matrix)(cells), np.einsum("bij,ij->b", probabilities, matrix))
    close(measures.cost(1 - np.eye(3))(cells), measures.error_rate(cells))
    with pytest.raises(ValueError, match="wrong size"):
        measures.cost(matrix)(random_cells(2, 2))


def balance(cells):
    return cells[..., 0, 0] / cells[..., 1, 1]


def test_a_function_of_ones_own_is_a_measure():
    kernel = measures.resolve(balance)
    assert (kernel.__name__, kernel.one_class, kernel.needs_positive) == ("balance", False, False)
    assert np.isnan(kernel(np.zeros((2, 2), int)))
    assert measures.resolve(kernel) is kernel
    assert pickle.loads(pickle.dumps(kernel))([[4, 0], [0, 2]]) == 2


def test_a_function_that_drops_the_batch_is_an_error_that_helps():
    kernel = measures.resolve(lambda cells: cells[1, 1] / cells.sum())
    with pytest.raises(ValueError, match=r"cells\[\.\.\., i, j\]"):
        kernel(random_cells(3, 2, 2))

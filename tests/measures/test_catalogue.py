"""The measures: parity, their facts, permutation, scale, batches, digits, derivatives, names."""

import pickle
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_cases import cases
from sklearn import metrics

from bayescm import measures
from bayescm.distributions.closed_forms import distribution
from bayescm.measures.catalogue import among
from bayescm.measures.measure import MeanOverClasses
from bayescm.posteriors import fixed_totals

RNG = np.random.default_rng(20240607)
PARAMETRISED = ["fbeta(0.5)", "fbeta(2)", "tversky(0.3,0.7)"]
ONE_CLASS = [name for name in measures.names() if measures.resolve(name).one_class] + PARAMETRISED
WHOLE = [name for name in measures.names() if not measures.resolve(name).one_class]
SOME = ["precision", "npv", "f1", "informedness", "fbeta(0.5)"]
AVERAGED = [f"{name}_{how}" for name in SOME for how in ("macro", "micro", "weighted")]
COST = "cost([[0,1],[5,0]])"
EVERY = [*ONE_CLASS, *WHOLE, *AVERAGED]
distributions = settings(deadline=None, derandomize=True, max_examples=30)


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


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.long
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


def test_the_number_needed_to_diagnose_is_one_over_youdens_index():
    cells = np.array([[[40, 10], [5, 45]], [[10, 40], [45, 5]], [[5, 5], [5, 5]]], float)
    close(measures.resolve("nnd")(cells), [1 / 0.7, np.inf, np.inf])


# What holds of every measure


@pytest.mark.parametrize("name", EVERY)
def test_renaming_the_classes_changes_nothing(name):
    kernel, ordered = measures.resolve(name), name.endswith(("_linear", "_quadratic"))
    for size in (2, 3, 5):
        order = np.arange(size)[::-1] if ordered else RNG.permutation(size)
        cells = random_cells(7, size, size)
        moved = kernel(cells[:, order][:, :, order])
        if size == 2 and kernel.one_class:  # the value of whichever class is the positive one now
            close(moved, kernel(measures.one_vs_rest(cells)[:, order[1]]))
        else:
            close(moved, kernel(cells)[:, order] if kernel.one_class else kernel(cells))


def test_needs_positive_says_whether_swapping_two_classes_matters():
    for name in EVERY:
        kernel, cells = measures.resolve(name), random_cells(5, 2, 2)
        same = np.allclose(kernel(cells), kernel(cells[:, ::-1, ::-1]), rtol=1e-12)
        assert same is not kernel.needs_positive, name


@pytest.mark.parametrize("name", EVERY)
def test_scale_changes_nothing_and_a_batch_is_a_loop(name):
    kernel = measures.resolve(name)
    for size in (2, 4):
        cells = random_cells(2, 3, size, size)
        values = kernel(cells)
        close(kernel(cells / cells.sum(axis=(-2, -1), keepdims=True)), values)
        close(kernel(cells * 1e9), values)
        looped = [[kernel(cells[i, j]) for j in range(3)] for i in range(2)]
        np.testing.assert_array_equal(values, looped)
        assert values.shape == ((2, 3, size) if kernel.one_class and size > 2 else (2, 3))


@pytest.mark.parametrize("size", [2, 3])
def test_nothing_over_nothing_is_nan_without_a_warning(size):
    for name in EVERY:
        assert np.isnan(measures.resolve(name)(np.zeros((size, size), int))).all()


def test_a_class_of_many_is_that_class_against_the_rest():
    cells = random_cells(5, 4, 4)
    for name in ONE_CLASS:
        kernel = measures.resolve(name)
        close(kernel(cells), kernel(measures.one_vs_rest(cells)))


WITH_KINKS = ("overlap", "number_needed_to_diagnose")


@pytest.mark.parametrize("name", [name for name in EVERY if not name.startswith(WITH_KINKS)])
def test_complex_step_gives_the_derivative(name):
    kernel, step = measures.resolve(name), 1e-5
    for size in (2, 3):
        cells, direction = 0.1 + random_cells(size, size), random_cells(size, size)
        exact = kernel(cells + 1e-30j * direction).imag / 1e-30
        near = (kernel(cells + step * direction) - kernel(cells - step * direction)) / (2 * step)
        np.testing.assert_allclose(exact, near, rtol=1e-6, atol=1e-7)


# What a measure says of itself


def extreme_cells(size):
    """Return random cells, and cells of which some are empty or huge."""
    some = random_cells(300, size, size)
    return np.concatenate([some, some * (RNG.random(some.shape) < 0.5), some**8])


@pytest.mark.parametrize("name", [*EVERY, COST])
def test_the_range_holds_and_is_reached(name):
    kernel = measures.resolve(name)
    low, high = kernel.range
    for size in (2, 3) if name != COST else (2,):
        values = kernel(extreme_cells(size))
        values = values[~np.isnan(values)]
        assert values.min() >= low - 1e-12
        assert values.max() <= high + 1e-12
    near = kernel(random_cells(20_000, 2, 2) ** 6)
    least, most = np.nanmin(near), np.nanmax(near)
    assert least < low + 0.05 or kernel.abstentions == "all"  # nothing abstains here
    assert most > (1e3 if np.isinf(high) else high - 0.05)


@pytest.mark.parametrize("name", [*EVERY, COST])
def test_lower_is_better_where_a_mistake_raises_the_value(name):
    """A misclassified example that is put right makes every measure better, or changes nothing."""
    kernel, cells = measures.resolve(name), random_cells(50, 2, 2)
    if kernel.same_as(measures.prevalence) or kernel.same_as(measures.predicted_prevalence):
        return  # neither good nor bad
    sign = -1 if kernel.lower_is_better else 1
    for row in (0, 1):
        better = cells.copy()
        moved = better[:, row, 1 - row] / 2
        better[:, row, 1 - row] -= moved
        better[:, row, row] += moved
        assert (sign * kernel(better) >= sign * kernel(cells) - 1e-12).all()


def test_complements_point_the_other_way():
    pairs = [("accuracy", "error_rate"), ("recall", "fnr"), ("specificity", "fpr")]
    for good, bad in [*pairs, ("precision", "fdr"), ("npv", "for_")]:
        good, bad = measures.resolve(good), measures.resolve(bad)
        assert bad.lower_is_better is not good.lower_is_better is False
        assert bad.form == good.form[::-1]
        assert bad.unit == good.unit


def test_every_measure_says_what_it_is():
    for name in measures.names():
        kernel = measures.resolve(name)
        assert kernel.__doc__.strip().endswith(".")
        assert len(kernel.__doc__.strip().splitlines()) == 1
        assert kernel.takes == "cells"
        assert getattr(measures, name) is kernel
        assert (name, name) == (kernel.__name__, kernel.canonical)


FORMS = [
    name
    for name in [*EVERY, COST]
    if not isinstance(measures.resolve(name).form, MeanOverClasses | None)
]


@pytest.mark.parametrize("name", FORMS)
def test_what_it_says_of_its_distribution_agrees_with_draws(name):
    kernel, rng = measures.resolve(name), np.random.default_rng(5)
    weights = np.array([[12.5, 3.5], [2.5, 20.5]])
    known = distribution(kernel, weights)
    assert known is not None
    drawn = np.sort(kernel(rng.dirichlet(weights.ravel(), 100_000).reshape(-1, 2, 2)))
    levels = np.array([0.025, 0.3, 0.5, 0.9, 0.975])
    shares = np.searchsorted(drawn, known.quantile(levels)) / len(drawn)
    assert shares == pytest.approx(levels, abs=0.008)
    wrong = distribution(kernel, weights[::-1])  # a negative control
    if not kernel.same_as(measures.predicted_prevalence):
        assert abs(wrong.quantile(0.5) - known.quantile(0.5)) > 0.01


def test_the_distribution_of_many_classes_is_that_of_right_and_wrong():
    weights, rng = 1 + random_cells(3, 3), np.random.default_rng(6)
    theta = rng.dirichlet(weights.ravel(), 50_000).reshape(-1, 3, 3)
    for name in [*FORMS, "recall_micro", "fnr_micro", "overlap_micro", "fbeta(2)_micro"]:
        kernel = measures.resolve(name)
        known = None if kernel.one_class else distribution(kernel, weights)
        right = kernel.form is not None and "right" in kernel.form
        assert (known is not None) == right
        if right:
            assert known.mean() == pytest.approx(kernel(theta).mean(), abs=0.005)


def test_a_measure_that_says_nothing_has_no_closed_form():
    bare = measures.measure(lambda cells: cells[..., 1, 1])
    assert distribution(bare, np.ones((2, 2))) is None
    integrated = fixed_totals([[3, 1], [2, 4]]).exact_distribution(bare)
    assert integrated.how == "pre-integration"


# Names


ALIASES = {alias: name for name in measures.names() for alias in measures.resolve(name).aliases} | {
    "f0.5": "fbeta(0.5)",
    "f2": "fbeta(2)",
    "fbeta(1)": "f1",
    "tversky(1, 1)": "jaccard",
}


def test_no_name_means_two_measures():
    every = [*measures.names()]
    every += [alias for name in measures.names() for alias in measures.resolve(name).aliases]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("alias", ALIASES)
def test_a_measure_is_the_same_under_every_name(alias):
    one, other = measures.resolve(alias), measures.resolve(ALIASES[alias])
    assert (one.__name__, one.canonical) == (alias, other.canonical)
    assert one.same_as(other)
    assert not one.same_as(measures.predicted_prevalence)
    facts = ["form", "unit", "range", "lower_is_better", "one_class", "needs_positive", "takes"]
    assert [getattr(one, fact) for fact in facts] == [getattr(other, fact) for fact in facts]
    cells = random_cells(5, 3, 3)
    np.testing.assert_array_equal(one(cells), other(cells))
    for how in ("macro", "micro", "weighted") if one.one_class else ():
        mean = measures.resolve(f"{alias}_{how}")
        assert mean.__name__ == f"{alias}_{how}"
        assert mean.same_as(measures.resolve(f"{other.canonical}_{how}"))
        np.testing.assert_array_equal(
            mean(cells), measures.resolve(f"{other.canonical}_{how}")(cells)
        )


@pytest.mark.parametrize("name", [*EVERY, COST, *ALIASES])
def test_every_measure_survives_pickling_and_its_own_name(name):
    kernel, cells = measures.resolve(name), random_cells(3, 2, 2)
    for copy in (pickle.loads(pickle.dumps(kernel)), measures.resolve(kernel.__name__)):
        assert copy.__name__ == kernel.__name__ == name
        assert copy.same_as(kernel)
        np.testing.assert_array_equal(copy(cells), kernel(cells))


def test_a_measure_is_found_under_another_name():
    watched = [measures.resolve(name) for name in ("sensitivity", "f1", "ppv", "precision")]
    assert among(watched, "recall") == [0]
    assert among(watched, "ppv") == [2]
    assert among(watched, "npv") == []


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


# Wrong names, parameters and functions


@pytest.mark.parametrize(
    "name", ["F1", "MCC", "AUC", "PPV", "F1_macro", "Fbeta(0.5)", "Recall[B]", "LR+", "Brier"]
)
def test_a_name_may_have_capitals_and_keeps_them(name):
    entry = measures.resolve(name)
    base = name if name.startswith("LR") else name.partition("[")[0].lower()
    same = measures.resolve(base + ("[B]" if "[" in name else ""))
    assert entry.same_as(same)
    assert entry.__name__ == name


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("recal", "Did you mean 'recall'"),
        ("f1_makro", "f1_macro"),
        ("G-score", "g_score"),
        ("accuracy_macro", "has no average over classes"),
        ("fbeta", r"fbeta\(beta\)"),
        ("fbeta()", "Unknown measure"),
        ("fbeta(1,2)", r"fbeta\(beta\)"),
        ("fbeta(two)", "The parameters of the measure"),
        ("fbeta(-1)", ">= 0"),
        ("tversky(0.5)", r"tversky\(alpha,beta\)"),
        ("cost([1,2])", "square"),
        ("cost([[0,1],[1e999,0]])", "finite"),
        ("nothing like it", "Unknown measure"),
        ("", "Unknown measure"),
    ],
)
def test_a_wrong_name_is_an_error_that_helps(bad, said):
    with pytest.raises(ValueError, match=said):
        measures.resolve(bad)


@pytest.mark.parametrize("wrong", [3, None, ["f1"], b"f1"])
def test_something_else_is_no_measure(wrong):
    with pytest.raises(TypeError, match=r"not a measure.*a name or a function of cells"):
        measures.resolve(wrong)


def test_cost_weighs_the_cells():
    cells = random_cells(4, 3, 3)
    matrix = RNG.normal(size=(3, 3))
    probabilities = cells / cells.sum(axis=(1, 2), keepdims=True)
    close(measures.cost(matrix)(cells), np.einsum("bij,ij->b", probabilities, matrix))
    close(measures.cost(1 - np.eye(3))(cells), measures.error_rate(cells))
    with pytest.raises(ValueError, match="The cost matrix must have the shape"):
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


def test_bare_functions_are_taken_as_higher_is_better_and_say_so():
    bare = measures.resolve(balance)
    assert (bare.lower_is_better, bare.direction_assumed) == (False, True)
    assert bare.range == (-np.inf, np.inf)
    assert bare.form is bare.unit is None
    said = measures.measure(balance, lower_is_better=True, range=(0, None), name="ratio")
    assert (said.lower_is_better, said.direction_assumed, said.range) == (True, False, (0, np.inf))
    assert said.__name__ == "ratio"
    assert measures.resolve(said) is said
    assert said.same_as(bare)
    assert not said.same_as(measures.f1)


def test_attributes_of_a_function_are_its_facts():
    def loss(cells):
        return cells[..., 0, 1]

    loss.needs_positive, loss.lower_is_better, loss.range = True, True, (0, 1)
    kernel = measures.resolve(loss)
    assert (kernel.needs_positive, kernel.lower_is_better, kernel.range) == (True, True, (0, 1))
    assert not kernel.direction_assumed


def test_a_function_called_as_a_measure_is_another_one():
    def recall(cells):
        return cells[..., 0, 0]

    mine = measures.resolve(recall)
    assert mine.__name__ == "recall"
    assert not mine.same_as(measures.recall)
    assert mine.form is None


@pytest.mark.parametrize(
    ("keywords", "said"), [({"range": (1, 0)}, "range"), ({"range": (1, 1)}, "range")]
)
def test_impossible_facts_are_refused(keywords, said):
    with pytest.raises(ValueError, match=said):
        measures.measure(balance, **keywords)
    with pytest.raises(TypeError, match="A measure must be a function"):
        measures.measure("f1")


@pytest.mark.parametrize("how", ["linear", "quadratic"])
def test_weighted_kappa_is_that_of_scikit_learn(how):
    actual = RNG.integers(0, 5, 200)
    predicted = np.where(RNG.random(200) < 0.5, actual, RNG.integers(0, 5, 200))
    cells = metrics.confusion_matrix(actual, predicted)
    expected = metrics.cohen_kappa_score(actual, predicted, weights=how)
    close(measures.resolve(f"cohen_kappa_{how}")(cells), expected)
    assert abs(measures.cohen_kappa(cells) - expected) > 1e-6


def test_true_negatives_are_made_where_they_are_used():
    from bayescm.measures.measure import every_class

    cells = np.random.default_rng(0).random((20, 20))
    for name in measures.names():
        kernel = measures.resolve(name)
        if kernel.one_class and kernel.takes == "cells" and kernel.collapse is None:
            whole = kernel.formula(*every_class(cells))
            np.testing.assert_array_equal(kernel(cells), whole, err_msg=name)


ABBREVIATIONS = {
    "sens": "recall",
    "SPEC": "specificity",
    "ppv": "precision",
    "NPV": "npv",
    "plr": "positive_likelihood_ratio",
    "nlr": "negative_likelihood_ratio",
    "acc": "accuracy",
    "bacc": "balanced_accuracy",
    "FOR": "for_",
    "dice": "f1",
    "IoU": "jaccard",
    "csi": "jaccard",
    "AUROC": "auc",
}


@pytest.mark.parametrize(("abbreviation", "name"), ABBREVIATIONS.items())
def test_usual_abbreviations_are_known(abbreviation, name):
    assert measures.resolve(abbreviation).same_as(measures.resolve(name))


@pytest.mark.parametrize(
    ("name", "variable", "meant"),
    [
        ("auprc", "cells", "average_precision"),
        ("pr_auc", "curve", "average_precision"),
        ("nll", "probabilities", "log_loss"),
        ("F-measure", "cells", "f1"),
        ("exact_match", "example_cells", "subset_accuracy"),
        ("average", "item_scores", "mean"),
        ("self_consistency", "attempts", "majority_at(5)"),
    ],
)
def test_names_of_elsewhere_suggest_the_measure_that_is_meant(name, variable, meant):
    with pytest.raises(ValueError, match=re.escape(f"Did you mean {meant!r}?")):
        measures.resolve(name, variable)
    assert measures.resolve(meant).__name__ == meant


def test_names_of_other_variables_are_suggested_only_where_none_of_its_own_is_near():
    with pytest.raises(ValueError, match=r"Did you mean 'bacc'\?"):
        measures.resolve("ba", "cells")
    with pytest.raises(ValueError, match=r"Did you mean 'hamming_loss'\?"):
        measures.resolve("hamming_los", "cells")

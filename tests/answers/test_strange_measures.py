"""What is no measure is an error that says what is wrong, whoever is asked."""

import evidence_of_types
import numpy as np
import pytest

import bayescm as bcm

EVIDENCE = evidence_of_types.evidence()


def one_number(cells):
    return 0.5


def breaks(cells):
    raise RuntimeError("out of order")


def words(cells):
    return np.full(cells.shape[:-2], "good")


def whole_matrix(cells):
    return cells


STRANGE = {
    "one number": (one_number, "The measure one_number returned the shape"),
    "an error": (breaks, "The measure breaks failed"),
    "words": (words, "The measure words must return numbers"),
    "the whole matrix": (whole_matrix, "The measure whole_matrix returned the shape"),
    "a wrong name": ("rcall", "Unknown measure"),
    "a number": (3, "is not a measure"),
    "nothing": ([], "No measures"),
    "the same twice": (["f1", "f1"], "is named twice"),
}
OF_ONE = [bcm.interval, bcm.summary, bcm.joint_interval, bcm.plot_forest, bcm.plot_posterior]


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", ["two", "three", "outcomes", "folds", "groups of classifiers"])
def test_what_is_no_measure_is_named(name, kind):
    measure, message = STRANGE[name]
    with pytest.raises((ValueError, TypeError), match=message):
        bcm.summary(EVIDENCE[kind], measure)


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("ask", [*OF_ONE, bcm.compare, bcm.ranks])
def test_every_question_names_what_is_no_measure(name, ask):
    measure, message = STRANGE[name]
    with pytest.raises((ValueError, TypeError), match=message):
        ask(EVIDENCE["outcomes"], measure)


@pytest.mark.parametrize("kind", ["two", "outcomes", "folds"])
def test_an_enormous_beta_is_recall(kind):
    columns = ["point", "mean", "lower", "upper"]
    found, expected = (bcm.summary(EVIDENCE[kind], name) for name in ("fbeta(1e200)", "recall"))
    np.testing.assert_allclose(found[columns], expected[columns], atol=0.02)

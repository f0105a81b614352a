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
    "one number": (one_number, r"one_number returned a wrong shape: \(\)"),
    "an error": (breaks, "breaks failed with RuntimeError: out of order"),
    "words": (words, "words returned no numbers"),
    "the whole matrix": (whole_matrix, "whole_matrix returned a wrong shape"),
    "a wrong name": ("rcall", "unknown measure: 'rcall'. Did you mean 'recall'"),
    "a number": (3, "not a measure: 3"),
    "nothing": ([], "no measures"),
    "the same twice": (["f1", "f1"], "the same measure twice"),
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

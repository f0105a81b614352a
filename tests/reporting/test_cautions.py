"""Each caution appears when it should, and not when not."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm.reporting import cautions

PLENTY = {"tp": 65, "fn": 15, "fp": 35, "tn": 30}


def said(counts, measures=("recall", "precision"), **keywords):
    table = bcm.summary(counts, list(measures))
    return " ".join(cautions.of_counts(counts, table, **keywords).sentences)


def folds(errors, dim="fold"):
    wrong = np.array(errors)
    return bcm.from_cells(tp=20 - wrong, fn=wrong, fp=2, tn=18).rename(batch=dim)


@pytest.mark.long
@pytest.mark.parametrize(
    ("quiet", "loud", "words"),
    [
        ({}, {"tp": 6, "fn": 3}, "Fewer than 20 examples: positive (9)"),
        (
            {},
            {"tp": 3, "fn": 2, "fp": 2, "tn": 3},
            "The prior is worth 2 examples, more than a tenth of the 10",
        ),
        ({}, {"tp": 3, "fn": 2}, "more than a tenth of the examples of positive (1 to 5)"),
    ],
)
def test_small_and_empty_classes(quiet, loud, words):
    prior = np.full((2, 2), 0.5)
    assert words not in said(bcm.from_cells(**PLENTY | quiet), prior=prior)
    assert words in said(bcm.from_cells(**PLENTY | loud), prior=prior)


@pytest.mark.parametrize(
    ("apart", "words"),
    [
        ((), "No cautions."),  # 2 beside the 60 of all three folds
        (("fold",), "The prior is worth 2 examples, more than a tenth of the 12 of fold 1:"),
    ],
)
def test_a_prior_is_compared_with_what_it_stands_beside(apart, words):
    parts = bcm.from_cells(tp=[10, 2, 10], fn=[2, 4, 2], fp=[2, 1, 2], tn=[10, 5, 10])
    counts, prior = parts.rename(batch="fold"), np.full((2, 2), 0.5)
    table = bcm.summary(counts.sum("fold"), "recall")
    assert words in " ".join(cautions.of_counts(counts, table, prior=prior, apart=apart).sentences)
    of_each = np.array([0.1, 0.5, 0.1])[:, None, None] * np.ones((3, 2, 2))
    lines = cautions.of_counts(counts, table, prior=of_each, apart=["fold"]).sentences
    assert "a tenth of the 12 of fold 1:" in " ".join(lines)


def test_a_prior_that_is_heavy_in_a_class_of_a_fold_names_both():
    counts = bcm.from_cells(tp=[30, 3], fn=[30, 2], fp=20, tn=20).rename(batch="fold")
    table = bcm.summary(counts.sum("fold"), "recall")
    section = cautions.of_counts(counts, table, prior=np.full((2, 2), 0.5), apart=["fold"])
    assert "more than a tenth of the examples of positive of fold 1 (1 to 5):" in " ".join(
        section.sentences
    )


def test_undefined_draws():
    counts = bcm.from_cells(**PLENTY)
    table = bcm.summary(counts, "precision").assign(undefined=0.03)
    sentences = cautions.of_counts(counts, table).sentences
    assert "precision is undefined (0/0) in 3% of" in " ".join(sentences)
    assert "is undefined" not in said(counts)


def test_matrices_that_look_paired():
    alike = bcm.combine(
        {"a": bcm.from_cells(**PLENTY), "b": bcm.from_cells(**PLENTY)}, dim="classifier"
    )
    other = bcm.from_cells(**PLENTY | {"tp": 64})
    unlike = bcm.combine({"a": bcm.from_cells(**PLENTY), "b": other}, dim="classifier")
    assert "seem to be tested on the same examples" in said(alike)
    assert "seem to be" not in said(alike, paired=True)
    assert "seem to be" not in said(unlike)


@pytest.mark.parametrize("dim", ["fold", "group", "step"])
def test_parts_that_differ_more_than_chance(dim):
    counts = folds([1, 2, 1, 12, 2], dim)
    even = folds([3, 4, 3, 4, 4], dim)
    table = bcm.summary(counts.sum(dim), "recall")
    parts = "batches" if dim == "step" else f"{dim}s"
    assert f"The {parts} differ" in " ".join(cautions.of_counts(counts, table).sentences)
    assert "differ" not in " ".join(cautions.of_counts(even, table).sentences)


@pytest.mark.long
def test_folds_that_differ_by_chance_alone_are_seldom_named():
    rng = np.random.default_rng(5)
    table = bcm.summary(bcm.from_cells(**PLENTY), "recall")
    named = [
        "differ" in " ".join(cautions.of_counts(folds(rng.binomial(20, 0.05, 10)), table).sentences)
        for _ in range(100)
    ]
    assert np.mean(named) <= 0.04


def test_totals_fixed_by_sampling():
    counts = bcm.from_cells(**PLENTY)
    assert "fixed by the sampling" in said(counts, fixed=True)
    assert "fixed by the sampling" in said(counts.assign_coords(fixed_totals=True))
    assert said(counts) == "No cautions."

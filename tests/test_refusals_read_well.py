"""
Wrong calls that users of other libraries make first, and the advice that each ends in.

Every message was read as its reader would: what is asserted is the part that must be right, the
name or the call that helps. Not the whole wording, which may be improved.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayescm as bcm

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
TRUTH, FIRST, SECOND = [1, 1, 0, 0] * 9, [1, 1, 0, 1] * 9, [1, 0, 0, 0] * 9
BOTH = bcm.from_classifiers(TRUTH, {"a": FIRST, "b": SECOND}, positive=1)
NUMBERS = np.random.default_rng(1).random(36)
SCORES = bcm.from_scores(TRUTH, NUMBERS, positive=1)
HOSPITALS = bcm.from_cells(tp=[40, 10, 35], fn=[5, 30, 8], fp=[9, 4, 20], tn=[41, 50, 30])
HOSPITALS = HOSPITALS.rename(batch="hospital")
ITEMS = bcm.from_item_scores({"a": NUMBERS, "b": NUMBERS[::-1]}, range=(0, 1))
ANSWERS = bcm.from_attempts(np.resize([1, 0, 1, 1, 0], (9, 4)))
PETS = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]], labels=["cat", "cow", "dog"])
TABLE = pd.DataFrame({"y": TRUTH, "a": FIRST})
NUMBERED = pd.DataFrame({"data_set": [1, 2, 3], "a": [0.7, 0.8, 0.9], "b": [0.6, 0.9, 0.8]})
SUMMED = pd.Series([0.25, 0.5, 0.375], index=["q1", "q2", "all"])
LONG = pd.DataFrame({"task": [1, 1, 2, 2], "worker": list("uvuv"), "label": [1, 0, 1, 1]})
IN_SITES = bcm.from_predictions(TRUTH, FIRST, positive=1, by={"group": np.arange(36) % 3})
FOLDS = bcm.from_classifiers(
    TRUTH, {"a": FIRST, "b": SECOND}, positive=1, by={"fold": np.arange(36) % 3}
)


def f1(**keywords):
    return bcm.interval(COUNTS, "f1", **keywords)


CALLS = {
    # Keywords of other libraries.
    "prior": (lambda: f1(prior=1.0), "The prior is concentration="),
    "priors": (lambda: f1(priors=1.0), "The prior is concentration="),
    "alpha": (lambda: f1(alpha=0.05), "prob=0.95, which is 1 - alpha"),
    "ci": (lambda: bcm.summary(COUNTS, "f1", ci=0.9), "probability of an interval is prob="),
    "level": (lambda: f1(level=0.9), "probability of an interval is prob="),
    "confidence_level": (lambda: f1(confidence_level=0.9), "probability of an interval is prob="),
    "hdi_prob": (lambda: f1(hdi_prob=0.9), "probability of an interval is prob="),
    "ci_prob": (
        lambda: bcm.compare(BOTH, "f1", ci_prob=0.9),
        "probability of an interval is prob=",
    ),
    "seed": (lambda: f1(seed=1), "The seed is random_seed="),
    "random_state": (lambda: bcm.ranks(BOTH, "f1", random_state=1), "The seed is random_seed="),
    "n_samples": (lambda: f1(n_samples=100), "The number of draws is draws="),
    "method": (lambda: f1(method="hdi"), "kind='hdi' or kind='eti'"),
    "measures": (lambda: bcm.interval(COUNTS, measures="f1"), "the second argument"),
    "measure": (lambda: bcm.summary(COUNTS, measure="f1"), "the second argument"),
    "metric": (lambda: bcm.interval(COUNTS, metric="f1"), "the second argument"),
    "pos_label": (lambda: f1(pos_label=1), "The positive class is positive="),
    "average": (lambda: f1(average="macro"), "'f1_macro'"),
    "labels of classes": (lambda: f1(labels=[0, 1]), r"from_predictions\(..., labels="),
    "sample_weight": (lambda: f1(sample_weight=np.ones(9)), r"from_predictions\(..., weights="),
    "prevalence of the target": (lambda: f1(prevalence=0.1), r"at_prevalence\(counts, 0.1\)"),
    "k": (lambda: bcm.interval(ANSWERS, "pass_at(2)", k=2), "'pass@4'"),
    "beta": (lambda: bcm.interval(COUNTS, "f1", beta=2), r"'fbeta\(0.5\)'"),
    "misspelled": (lambda: f1(concentraton=1), "Did you mean 'concentration'"),
    # Values.
    "percent": (lambda: f1(prob=95), "e.g. prob=0.95"),
    "HDI": (lambda: f1(kind="HDI"), "Did you mean 'hdi'"),
    "equal-tailed": (lambda: f1(kind="equal-tailed"), "'eti' has equal tails"),
    "population": (lambda: f1(of="population"), r"by=\{'group': site\}"),
    "n": (lambda: f1(n=100), "pass of='predictive'"),
    "model": (lambda: f1(model="dirichlet"), "Did you mean 'dirichlet_multinomial'"),
    "no groups": (lambda: f1(model="hierarchical_groups"), r"by=\{'group': site\}"),
    "groups by another name": (
        lambda: bcm.interval(HOSPITALS, "recall", model="hierarchical_groups"),
        r"counts.rename\(hospital='group'\)",
    ),
    "positive": (lambda: f1(positive="sick"), "'negative' or 'positive'"),
    "positive as text": (lambda: bcm.summary(BOTH, positive="1"), "Did you mean 1"),
    "prior in words": (lambda: f1(concentration="flat"), "concentration=0.5"),
    "negative prior": (lambda: f1(concentration=-1), "concentration=0.5"),
    "one draw": (lambda: f1(draws=1), "draws=20000"),
    "threshold": (lambda: bcm.prob_above(COUNTS, "f1", "80%"), "Pass one number"),
    "prevalence": (lambda: bcm.at_prevalence(COUNTS, 5), "e.g. 0.01"),
    "rope": (lambda: bcm.compare(BOTH, "f1", rope=-0.01), "rope=0.01"),
    # Measures.
    "recal": (lambda: bcm.interval(COUNTS, "recal"), "Did you mean 'recall'"),
    "in full": (
        lambda: bcm.interval(COUNTS, "positive predictive value"),
        "Did you mean 'positive_predictive_value'",
    ),
    "with a space": (lambda: bcm.interval(COUNTS, "balanced accuracy"), "'balanced_accuracy'"),
    "with a hyphen": (lambda: bcm.interval(COUNTS, "f1-score"), "Did you mean 'f1_score'"),
    "kappa": (lambda: bcm.interval(COUNTS, "cohens_kappa"), "Did you mean 'cohen_kappa'"),
    "auc": (lambda: bcm.interval(COUNTS, "auc"), r"from_scores\(actual, scores\)"),
    "pass@k": (lambda: bcm.interval(COUNTS, "pass@2"), "from_attempts"),
    "brier": (lambda: bcm.interval(SCORES, "brier"), "from_probabilities"),
    "f1 of scores": (lambda: bcm.interval(SCORES, "f1"), r"curves.at_threshold\(scores, 'f1'"),
    "class": (lambda: bcm.interval(PETS, "f1[cats]"), "'cat', 'cow' or 'dog'"),
    "several in one": (lambda: bcm.interval(COUNTS, "f1,mcc"), "one by one"),
    "auprc": (lambda: bcm.interval(SCORES, "auprc"), "Did you mean 'average_precision'"),
    "accuracy of scores of items": (lambda: bcm.interval(ITEMS, "accuracy"), "or from_attempts"),
    "a letter in the place of a number": (
        lambda: bcm.interval(ANSWERS, "pass_at(k)"),
        "rite a number instead of k",
    ),
    "mark": (lambda: bcm.interval(ITEMS, "share_at_least(4)"), r"inside the range \(0, 1\)"),
    # Evidence.
    "cells in a row": (lambda: bcm.from_matrix([65, 15, 35, 30]), r"\[\[TN, FP\], \[FN, TP\]\]"),
    "file": (lambda: bcm.summary("predictions.csv"), r"bcm.read\('predictions.csv'\)"),
    "attempts of different numbers": (lambda: bcm.from_attempts([[1, 0], [1]]), "Put NaN"),
    "scores of different numbers": (
        lambda: bcm.from_item_scores({"a": [0.1, 0.2], "b": [0.3]}),
        "Put None where a score is missing",
    ),
    "one rater": (lambda: bcm.from_raters({"ann": TRUTH}), "1 rater per example"),
    "list": (lambda: bcm.interval([[65, 15], [35, 30]], "f1"), "from_matrix for a matrix"),
    "labels": (lambda: bcm.interval(TRUTH, FIRST), "from_predictions for predictions"),
    "DataFrame": (lambda: bcm.interval(TABLE, "f1"), "from_frame for a table"),
    "dict of cells": (
        lambda: bcm.interval({"tp": 65, "fn": 15, "fp": 35, "tn": 30}, "f1"),
        r"from_cells\(tp=65",
    ),
    "dict of counts": (lambda: bcm.interval({"a": COUNTS}, "f1"), "combine"),
    "shares": (lambda: bcm.from_cells(tp=0.6, fn=0.1, fp=0.2, tn=0.1), "Count whole examples"),
    "lengths": (lambda: bcm.from_predictions([1, 0, 1], [1, 0]), "Align the columns"),
    "scores as answers": (lambda: bcm.from_predictions(TRUTH, NUMBERS), "from_scores"),
    "missing": (lambda: bcm.from_predictions([1, 0, np.nan], [1, 0, 1]), "Drop these examples"),
    "classifiers": (lambda: bcm.from_classifiers(TRUTH, [FIRST, SECOND]), r'\{"a": pred_a'),
    "turned round": (lambda: bcm.from_scores(NUMBERS, TRUTH), r"from_scores\(actual, scores\)"),
    "percentages": (lambda: bcm.from_probabilities(TRUTH, 100 * NUMBERS), "Divide percentages"),
    "results of evidence": (lambda: bcm.from_results(FOLDS), r"from_results\(measure\("),
    "combine data sets": (lambda: bcm.combine({"x": BOTH, "y": BOTH}), "dim='data_set'"),
    "numbering of data sets": (
        lambda: bcm.classical.friedman(NUMBERED),
        r"results.set_index\('data_set'\)",
    ),
    "numbering of items": (lambda: bcm.from_item_scores(NUMBERED), "Pass item='data_set'"),
    "columns of raters": (
        lambda: bcm.from_raters(NUMBERED.assign(worker="w", task=7)),
        "columns named task, worker and label",
    ),
    "rows of answers": (
        lambda: bcm.from_attempts(pd.DataFrame({"item": [0, 1], "ok": [1, 0]})),
        "pass item='item' and correct=",
    ),
    "row of means": (
        lambda: bcm.from_item_scores({"a": SUMMED, "b": SUMMED}),
        "Item 'all' is the mean .*Leave the row out",
    ),
    "gold beside rows of labels": (
        lambda: bcm.from_raters(LONG, gold=[1, 0]),
        "Pass gold as a Series or a mapping by item",
    ),
    "tags of words": (
        lambda: bcm.from_multilabel([["O", "O"]], [["O", "B-PER"]]),
        r"from_item_counts\(tp=",
    ),
    "lists as text": (lambda: bcm.from_multilabel(["['a']"], ["['a']"]), "json.loads"),
    "fold without a score": (
        lambda: bcm.classical.correlated_t([0.8, None], [0.7, 0.6], n_folds=2),
        "in fold 1 .counted from 0.*Complete the fold",
    ),
    "sides of a table": (
        lambda: bcm.from_matrix(
            pd.DataFrame([[1, 2], [3, 4]]).rename_axis("yhat", axis=0).rename_axis("y_pred", axis=1)
        ),
        "Name the rows actual and the columns predicted",
    ),
    "sum without the positive class": (
        lambda: bcm.summary(
            PETS.isel(actual=[0, 1], predicted=[0, 1]).assign_coords(positive="dog")
        ),
        r"combine\(\[x, y\], dim='batch'\).sum\('batch'\)",
    ),
    "column": (lambda: bcm.from_frame(TABLE, actual="truth", predicted="a"), "'y' or 'a'"),
    # Questions.
    "compare one": (lambda: bcm.compare(COUNTS, "f1"), r'\{"a": counts_a, "b": counts_b\}'),
    "compare two": (lambda: bcm.compare(COUNTS, COUNTS + 1), r'compare\(\{"a": first'),
    "data sets together": (
        lambda: bcm.joint_interval({"x": BOTH, "y": BOTH}, "f1"),
        "se each of them separately",
    ),
    "reference": (lambda: bcm.compare(BOTH, "f1", reference="c"), "'a' or 'b'"),
    "requirement": (lambda: bcm.check(COUNTS, ["f1 at least .5"]), "recall > 0.9"),
    "requirement of percent": (lambda: bcm.check(COUNTS, ["recall > 80"]), '"recall > 80%"'),
    "requirement of marks": (
        lambda: bcm.check(ITEMS, ["mean > 3"], by="classifier"),
        "between 0 and 1",
    ),
    "requirement of a difference": (
        lambda: bcm.check(BOTH, ["f1[classifier=a] - f1[classifier=b] > -5"]),
        "between -1 and 1",
    ),
    "plan": (lambda: bcm.plan("recall", width=0.1), "expect=0.85"),
    "plan without a pilot": (lambda: bcm.plan("recall", width=0.1), r"pilot=from_cells\(...\)"),
    "typical of folds": (
        lambda: bcm.interval(FOLDS, "f1", of="typical"),
        "Expected .*'finite'",
    ),
    "plan of f1": (lambda: bcm.plan("f1", expect=0.8, width=0.1), "pilot="),
    "report": (lambda: bcm.report(COUNTS, "report.pdf"), "rite .tex"),
    # Pictures and tables.
    "ax": (lambda: bcm.plot_forest(COUNTS, "f1", ax=3), "plt.subplots"),
    "roc of counts": (lambda: bcm.plot_roc(COUNTS), r"from_scores\(actual, scores\)"),
    "calibration of scores": (lambda: bcm.plot_calibration(SCORES), "from_probabilities"),
    "matrix of two": (lambda: bcm.plot_matrix(BOTH), r"\.sel\(classifier='a'\)"),
    "a comparison as a summary": (
        lambda: bcm.latex_table(bcm.compare(BOTH, "f1"), rows="first"),
        r"Leave rows out, or pass bcm.summary\(...\)",
    ),
    # Names that the package does not have.
    "bcm.f1": (lambda: bcm.f1(COUNTS), r"bcm.interval\(evidence, 'f1'\)"),
    "bcm.hdi": (lambda: bcm.hdi(COUNTS), "kind='hdi'"),
    "bcm.credible_interval": (lambda: bcm.credible_interval(COUNTS), "'interval'"),
    "bcm.from_confusion_matrix": (lambda: bcm.from_confusion_matrix([]), "'from_matrix'"),
    "a prevalence": (lambda: bcm.summary(COUNTS, prevalence=0.1), r"at_prevalence\(counts, 0.1\)"),
    "bcm.heterogeneity": (lambda: bcm.heterogeneity(COUNTS), "bcm.meta.heterogeneity"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_ends_in_advice_that_is_right(name):
    call, advice = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, AttributeError), match=advice):
            call()


def followed_in_a_file():
    TABLE.rename(columns={"y": "actual", "a": "predicted"}).to_csv("predictions.csv", index=False)
    return bcm.summary(bcm.read("predictions.csv"))


# The advised call for each wrong one.
FOLLOWED = {
    "prior": lambda: f1(concentration=1.0),
    "priors": lambda: f1(concentration=1.0),
    "alpha": lambda: f1(prob=0.95),
    "ci": lambda: bcm.summary(COUNTS, "f1", prob=0.9),
    "level": lambda: f1(prob=0.9),
    "confidence_level": lambda: f1(prob=0.9),
    "hdi_prob": lambda: f1(prob=0.9),
    "ci_prob": lambda: bcm.compare(BOTH, "f1", prob=0.9),
    "seed": lambda: f1(random_seed=1),
    "random_state": lambda: bcm.ranks(BOTH, "f1", random_seed=1),
    "n_samples": lambda: f1(draws=20000),
    "method": lambda: f1(kind="hdi"),
    "measures": lambda: bcm.interval(COUNTS, "f1"),
    "measure": lambda: bcm.summary(COUNTS, "f1"),
    "metric": lambda: bcm.interval(COUNTS, "f1"),
    "pos_label": lambda: f1(positive="positive"),
    "average": lambda: bcm.interval(PETS, "f1_macro"),
    "labels of classes": lambda: bcm.from_predictions(TRUTH, FIRST, labels=[0, 1]),
    "sample_weight": lambda: bcm.from_predictions(TRUTH, FIRST, weights=np.ones(36)),
    "prevalence of the target": lambda: bcm.interval(bcm.at_prevalence(COUNTS, 0.1), "f1"),
    "k": lambda: bcm.interval(ANSWERS, "pass@4"),
    "beta": lambda: bcm.interval(COUNTS, "fbeta(0.5)"),
    "misspelled": lambda: f1(concentration=1),
    "percent": lambda: f1(prob=0.95),
    "HDI": lambda: f1(kind="hdi"),
    "equal-tailed": lambda: f1(kind="eti"),
    "population": lambda: bcm.interval(IN_SITES, "f1", of="population"),
    "n": lambda: f1(of="predictive", n=100),
    "model": lambda: f1(model="dirichlet_multinomial"),
    "no groups": lambda: bcm.interval(IN_SITES, "f1", model="hierarchical_groups"),
    "groups by another name": lambda: bcm.interval(
        HOSPITALS.rename(hospital="group"), "recall", model="hierarchical_groups"
    ),
    "positive": lambda: f1(positive="negative"),
    "positive as text": lambda: bcm.summary(BOTH, positive=1),
    "prior in words": lambda: f1(concentration=0.5),
    "negative prior": lambda: f1(concentration=0.5),
    "one draw": lambda: f1(draws=20000),
    "threshold": lambda: bcm.prob_above(COUNTS, "f1", 0.8),
    "prevalence": lambda: bcm.at_prevalence(COUNTS, 0.01),
    "rope": lambda: bcm.compare(BOTH, "f1", rope=0.01),
    "recal": lambda: bcm.interval(COUNTS, "recall"),
    "in full": lambda: bcm.interval(COUNTS, "positive_predictive_value"),
    "with a space": lambda: bcm.interval(COUNTS, "balanced_accuracy"),
    "with a hyphen": lambda: bcm.interval(COUNTS, "f1_score"),
    "kappa": lambda: bcm.interval(COUNTS, "cohen_kappa"),
    "auc": lambda: bcm.interval(SCORES, "auc"),
    "pass@k": lambda: bcm.interval(ANSWERS, "pass@2"),
    "brier": lambda: bcm.interval(bcm.from_probabilities(TRUTH, NUMBERS, positive=1), "brier"),
    "f1 of scores": lambda: bcm.curves.at_threshold(SCORES, "f1", 0.5),
    "class": lambda: bcm.interval(PETS, "f1[cat]"),
    "several in one": lambda: [bcm.interval(COUNTS, name) for name in ("f1", "mcc")],
    "auprc": lambda: bcm.interval(SCORES, "average_precision"),
    "accuracy of scores of items": lambda: bcm.interval(ANSWERS, "mean"),
    "a letter in the place of a number": lambda: bcm.interval(ANSWERS, "pass_at(2)"),
    "mark": lambda: bcm.interval(ITEMS, "share_at_least(0.4)"),
    "cells in a row": lambda: bcm.from_matrix([[30, 35], [15, 65]]),
    "attempts of different numbers": lambda: bcm.from_attempts([[1, 0], [1, np.nan]]),
    "scores of different numbers": lambda: bcm.from_item_scores(
        {"a": [0.1, 0.2], "b": [0.3, None]}, missing="drop pairs"
    ),
    "one rater": lambda: bcm.from_raters({"ann": TRUTH, "bob": FIRST, "eve": SECOND}),
    "list": lambda: bcm.interval(bcm.from_matrix([[65, 15], [35, 30]], positive=1), "f1"),
    "labels": lambda: bcm.interval(bcm.from_predictions(TRUTH, FIRST, positive=1), "f1"),
    "DataFrame": lambda: bcm.interval(
        bcm.from_frame(TABLE, actual="y", predicted="a", positive=1), "f1"
    ),
    "dict of cells": lambda: bcm.interval(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), "f1"),
    "dict of counts": lambda: bcm.interval(
        bcm.combine({"a": COUNTS, "b": COUNTS}, dim="classifier"), "f1"
    ),
    "shares": lambda: bcm.from_cells(tp=6, fn=1, fp=2, tn=1),
    "lengths": lambda: bcm.from_predictions([1, 0, 1], [1, 0, 0]),
    "scores as answers": lambda: bcm.from_scores(TRUTH, NUMBERS, positive=1),
    "missing": lambda: bcm.from_predictions([1, 0], [1, 0]),
    "classifiers": lambda: bcm.from_classifiers(TRUTH, {"a": FIRST, "b": SECOND}),
    "turned round": lambda: bcm.from_scores(TRUTH, NUMBERS, positive=1),
    "percentages": lambda: bcm.from_probabilities(TRUTH, 100 * NUMBERS / 100, positive=1),
    "results of evidence": lambda: bcm.from_results(
        bcm.measure(bcm.combine({"x": FOLDS, "y": FOLDS}, dim="data_set"), "f1")
    ),
    "combine data sets": lambda: bcm.combine({"x": BOTH, "y": BOTH}, dim="data_set"),
    "numbering of data sets": lambda: bcm.classical.friedman(NUMBERED.set_index("data_set")),
    "numbering of items": lambda: bcm.from_item_scores(NUMBERED, item="data_set"),
    "row of means": lambda: bcm.from_item_scores({"a": SUMMED[:-1], "b": SUMMED[:-1]}),
    "tags of words": lambda: bcm.from_item_counts(tp=[1, 0], fp=[0, 1], fn=[1, 0]),
    "lists as text": lambda: bcm.from_multilabel([["a"], []], [["a"], ["a"]]),
    "fold without a score": lambda: bcm.classical.correlated_t([0.8, 0.9], [0.7, 0.6], n_folds=2),
    "columns of raters": lambda: bcm.from_raters(
        NUMBERED.assign(worker="w", task=7)[["task", "worker"]].assign(label=[1, 0, 1])
    ),
    "rows of answers": lambda: bcm.from_attempts(
        pd.DataFrame({"item": [0, 1], "ok": [1, 0]}), item="item", correct="ok"
    ),
    "gold beside rows of labels": lambda: bcm.from_raters(LONG, gold={1: 1, 2: 0}),
    "sides of a table": lambda: bcm.from_matrix(
        pd.DataFrame([[1, 2], [3, 4]])
        .rename_axis("actual", axis=0)
        .rename_axis("predicted", axis=1)
    ),
    "sum without the positive class": lambda: bcm.summary(
        bcm.combine([COUNTS, 2 * COUNTS], dim="batch").sum("batch")
    ),
    "report": lambda: bcm.report(COUNTS, "report.html"),
    "file": followed_in_a_file,
    "column": lambda: bcm.from_frame(TABLE, actual="y", predicted="a"),
    "compare one": lambda: bcm.compare({"a": COUNTS, "b": COUNTS + 1}, "f1"),
    "compare two": lambda: bcm.compare({"a": COUNTS, "b": COUNTS + 1}, "f1"),
    "data sets together": lambda: bcm.joint_interval(BOTH, "f1"),
    "reference": lambda: bcm.compare(BOTH, "f1", reference="a"),
    "requirement": lambda: bcm.check(COUNTS, ["recall > 0.9"]),
    "requirement of percent": lambda: bcm.check(COUNTS, ["recall > 80%"]),
    "requirement of marks": lambda: bcm.check(ITEMS, ["mean > 0.3"], by="classifier"),
    "requirement of a difference": lambda: bcm.check(
        BOTH, ["f1[classifier=a] - f1[classifier=b] > -0.05"]
    ),
    "plan": lambda: bcm.plan("recall", expect=0.85, width=0.2),
    "plan without a pilot": lambda: bcm.plan("recall", pilot=COUNTS, width=0.2),
    "typical of folds": lambda: bcm.interval(FOLDS, "f1", of="finite"),
    "plan of f1": lambda: bcm.plan("f1", pilot=COUNTS, width=0.2),
    "ax": lambda: bcm.plot_forest(COUNTS, "f1", ax=plt.subplots()[1]),
    "roc of counts": lambda: bcm.plot_roc(SCORES),
    "calibration of scores": lambda: bcm.plot_calibration(
        bcm.from_probabilities(TRUTH, NUMBERS, positive=1)
    ),
    "matrix of two": lambda: bcm.plot_matrix(BOTH.sel(classifier="a")),
    "a comparison as a summary": lambda: bcm.latex_table(bcm.compare(BOTH, "f1")),
    "bcm.f1": lambda: bcm.interval(COUNTS, "f1"),
    "bcm.hdi": lambda: f1(kind="hdi"),
    "bcm.credible_interval": lambda: bcm.interval(COUNTS, "f1"),
    "bcm.from_confusion_matrix": lambda: bcm.from_matrix([[5, 1], [2, 6]]),
    "a prevalence": lambda: bcm.summary(bcm.at_prevalence(COUNTS, 0.1)),
    "bcm.heterogeneity": lambda: bcm.meta.heterogeneity(HOSPITALS.rename(hospital="group")),
}


def test_every_advice_is_followed():
    assert FOLLOWED.keys() >= CALLS.keys()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FOLLOWED)
def test_the_advised_call_works(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert FOLLOWED[name]() is not None

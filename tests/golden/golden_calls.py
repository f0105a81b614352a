"""Golden calls: one line for every type of evidence, model, estimand and result.

A call takes a seed. `recorded.py` varies it to estimate the Monte Carlo errors of sampled figures.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import golden_evidence as evidence

import bayescm as bcm

RATES = ["precision", "recall", "f1", "mcc"]
MANY = [
    "accuracy", "balanced_accuracy", "cohen_kappa", "fbeta(2)", "fowlkes_mallows", "informedness",
    "jaccard", "lift", "markedness", "mcc", "negative_likelihood_ratio", "npv", "overlap",
    "positive_likelihood_ratio", "precision", "prevalence", "recall", "specificity",
]  # fmt: skip
ACCURATE = 1e-6  # the accuracy requested for outputs of class ``integrated``


@dataclass(frozen=True)
class Call:
    """A call and the class of its figures: ``exact``, ``integrated`` or ``sampled``."""

    answer: Callable[[int], Any]
    figures: str = "exact"


def _drawn(answer):
    return Call(answer, "sampled")


def _integrated(answer):
    return Call(lambda seed: answer(), "integrated")


def _exact(answer):
    return Call(lambda seed: answer())


e = evidence


def _mean_of_rates(cells):
    """Return the mean of recall and precision, with the positive class first."""
    tp, fn, fp = cells[..., 1, 1], cells[..., 1, 0], cells[..., 0, 1]
    return (tp / (tp + fn) + tp / (tp + fp)) / 2


def _evidence_for(seed):
    priors = {"flat": 1.0, "jeffreys": 0.5}
    fits = {name: bcm.fit(e.two(), concentration=c, random_seed=seed) for name, c in priors.items()}
    return bcm.priors.evidence_for(fits)


CALLS: dict[str, Call] = {
    # one matrix of two classes
    "summary of many measures": _integrated(lambda: bcm.summary(e.two(), MANY, accuracy=ACCURATE)),
    "summary, equal tails, .5": _integrated(
        lambda: bcm.summary(e.two(), MANY, kind="eti", prob=0.5, accuracy=ACCURATE)
    ),
    "interval of f1": _exact(lambda: bcm.interval(e.two(), "f1")),
    "interval of precision": _exact(lambda: bcm.interval(e.two(), "precision")),
    "small table": _integrated(lambda: bcm.summary(e.small(), RATES, accuracy=ACCURATE)),
    "small table, equal tails": _integrated(
        lambda: bcm.summary(e.small(), RATES, kind="eti", accuracy=ACCURATE)
    ),
    "large table": _integrated(lambda: bcm.summary(e.large(), RATES, accuracy=ACCURATE)),
    "flat prior": _integrated(
        lambda: bcm.summary(e.two(), RATES, concentration=1.0, accuracy=ACCURATE)
    ),
    "weak prior": _integrated(
        lambda: bcm.summary(e.small(), RATES, concentration=0.1, accuracy=ACCURATE)
    ),
    "quantiles": _integrated(
        lambda: bcm.distribution(e.two(), RATES, accuracy=ACCURATE).quantile(
            [0.001, 0.05, 0.5, 0.95, 0.999]
        )
    ),
    "probability above": _integrated(lambda: bcm.prob_above(e.two(), "mcc", 0.3)),
    "predictive": _exact(
        lambda: bcm.summary(e.two(), ["recall", "accuracy"], of="predictive", n=50)
    ),
    "predictive f1": _drawn(
        lambda seed: bcm.interval(e.two(), "f1", of="predictive", n=50, random_seed=seed)
    ),
    "known prevalence": _integrated(
        lambda: bcm.summary(bcm.at_prevalence(e.two(), 0.1), RATES, kind="eti", accuracy=ACCURATE)
    ),
    "fixed totals": _integrated(
        lambda: bcm.summary(e.two(), RATES, model="fixed_totals", accuracy=ACCURATE)
    ),
    "mislabelled": _drawn(
        lambda seed: bcm.summary(e.two(), RATES, label_error=0.05, random_seed=seed)
    ),
    "importance weights": _integrated(lambda: bcm.summary(e.weighted(), RATES)),
    "abstentions": _integrated(lambda: bcm.summary(e.abstentions(), ["recall", "coverage"])),
    "a function of the user": _drawn(
        lambda seed: bcm.interval(e.two(), _mean_of_rates, random_seed=seed)
    ),
    "joint interval": _drawn(
        lambda seed: bcm.joint_interval(e.two(), ["precision", "recall"], random_seed=seed)
    ),
    "region": _drawn(
        lambda seed: bcm.answers.region(e.two(), ["precision", "recall"], random_seed=seed)
    ),
    "requirements": _integrated(
        lambda: bcm.check(e.two(), ["recall > 0.7", "precision > 0.7 @ 0.9", "f1 > 0.6"])
    ),
    # the default accuracy, one entry for each function
    "summary, default accuracy": _integrated(lambda: bcm.summary(e.two(), ["mcc", "lift"])),
    "interval, default accuracy": _integrated(lambda: bcm.interval(e.small(), "mcc")),
    "quantiles, default accuracy": _integrated(
        lambda: bcm.distribution(e.small(), "mcc").quantile([0.001, 0.05, 0.5, 0.95, 0.999])
    ),
    "batch, default accuracy": _integrated(
        lambda: bcm.interval(e.batch(), ["cohen_kappa", "mcc"], kind="eti")
    ),
    "proportion": _exact(lambda: bcm.answers.proportion(18, 2)),
    "batch of tables": _integrated(lambda: bcm.interval(e.batch(), RATES, accuracy=ACCURATE)),
    # many classes
    "three classes": _integrated(
        lambda: bcm.summary(e.three(), ["accuracy", "recall", "f1", "recall_macro"])
    ),
    "three classes, macro": _drawn(
        lambda seed: bcm.summary(e.three(), ["f1_macro", "mcc", "cohen_kappa"], random_seed=seed)
    ),
    "ten classes": _drawn(
        lambda seed: bcm.summary(e.ten_classes(), ["accuracy", "f1_macro", "mcc"], random_seed=seed)
    ),
    "ten classes, each": _integrated(lambda: bcm.interval(e.ten_classes(), ["recall", "f1"])),
    # folds
    "folds": _drawn(lambda seed: bcm.summary(e.folds(), RATES, random_seed=seed)),
    "folds, finite": _drawn(
        lambda seed: bcm.summary(e.folds(), RATES, of="finite", random_seed=seed)
    ),
    "folds, pooled": _exact(
        lambda: bcm.summary(e.folds(), ["recall", "f1"], model="pooled_folds", omega=0.5)
    ),
    "folds, averaged": _drawn(
        lambda seed: bcm.summary(e.folds(), RATES, model="averaged_folds", random_seed=seed)
    ),
    "folds of three classes": _drawn(
        lambda seed: bcm.summary(e.folds_of_three(), ["accuracy", "f1_macro"], random_seed=seed)
    ),
    "repeated folds": _drawn(lambda seed: bcm.summary(e.repeated_folds(), RATES, random_seed=seed)),
    "folds with halves": _drawn(
        lambda seed: bcm.summary(e.folds(), RATES, halves=e.halves(), random_seed=seed)
    ),
    "folds of two classifiers": _drawn(
        lambda seed: bcm.compare(e.folds_of_classifiers(), RATES, random_seed=seed)
    ),
    # groups, studies, steps
    "groups": _drawn(lambda seed: bcm.summary(e.groups(), RATES, random_seed=seed)),
    **{
        f"groups, {of}": _drawn(
            lambda seed, of=of: bcm.summary(e.groups(), ["recall", "f1"], of=of, random_seed=seed)
        )
        for of in ("finite", "population", "typical", "new", "group")
    },
    "groups of three classes": _drawn(
        lambda seed: bcm.summary(e.groups_of_three(), ["accuracy", "f1_macro"], random_seed=seed)
    ),
    "rows of groups": _drawn(
        lambda seed: bcm.summary(
            e.three(), ["accuracy"], model="hierarchical_rows", random_seed=seed
        )
    ),
    "robust groups": _drawn(
        lambda seed: bcm.summary(e.groups(), ["recall"], model="robust_groups", random_seed=seed)
    ),
    "crossed groups": _drawn(
        lambda seed: bcm.summary(e.crossed(), ["recall"], model="crossed_groups", random_seed=seed)
    ),
    "gap": _drawn(lambda seed: bcm.gap(e.groups(), "recall", random_seed=seed)),
    "worst slices": _drawn(lambda seed: bcm.worst_slices(e.groups(), "recall", random_seed=seed)),
    "heterogeneity": _drawn(lambda seed: bcm.meta.heterogeneity(e.studies(), random_seed=seed)),
    "meta-analysis": _drawn(
        lambda seed: bcm.summary(
            e.studies(), ["recall", "specificity"], of="typical", random_seed=seed
        )
    ),
    "drifting": _integrated(lambda: bcm.interval(e.steps(), ["recall", "f1"], model="drifting")),
    "history": _integrated(lambda: bcm.online.history(e.steps(), ["recall", "f1"])),
    "alarms": _integrated(lambda: bcm.online.alarms(e.steps(), "recall", floor=0.8)),
    # classifiers on the same examples
    "compare": _drawn(lambda seed: bcm.compare(e.outcomes(), RATES, rope=0.01, random_seed=seed)),
    "compare accuracy": _exact(lambda: bcm.compare(e.outcomes(), "accuracy")),
    "compare independent tables": _integrated(
        lambda: bcm.compare({"a": e.two(), "b": e.small()}, RATES, kind="eti")
    ),
    "compare three classes": _drawn(
        lambda seed: bcm.compare(e.outcomes_of_three(), ["accuracy", "f1_macro"], random_seed=seed)
    ),
    "compare folds": _drawn(
        lambda seed: bcm.compare(e.outcomes_of_folds(), ["accuracy", "f1"], random_seed=seed)
    ),
    "compare groups": _drawn(
        lambda seed: bcm.compare(e.outcomes_of_groups(), ["accuracy", "f1"], random_seed=seed)
    ),
    "ranks": _drawn(lambda seed: bcm.ranks(e.many_outcomes(), ["f1"], random_seed=seed)),
    "results on data sets": _drawn(
        lambda seed: bcm.compare(e.results(), rope=0.01, random_seed=seed)
    ),
    "ranks on data sets": _drawn(lambda seed: bcm.ranks(e.results(), random_seed=seed)),
    "best": _drawn(lambda seed: bcm.learners.best(e.many_outcomes(), "accuracy", random_seed=seed)),
    # scores and probabilities
    "area": _exact(lambda: bcm.curves.auc(e.scores(), kind="eti")),
    "area, highest density": _exact(lambda: bcm.interval(e.scores(), "auc")),
    "areas summed up": _drawn(
        lambda seed: bcm.summary(e.scores(), ["auc", "ap", "partial_auc(0.2)"], random_seed=seed)
    ),
    "area of ties and weights": _drawn(
        lambda seed: bcm.curves.auc(e.tied_scores(), kind="eti", random_seed=seed)
    ),
    "area, binormal": _drawn(
        lambda seed: bcm.curves.auc(e.scores(), model="binormal", kind="eti", random_seed=seed)
    ),
    "areas of three classes": _drawn(
        lambda seed: bcm.curves.auc(
            e.scores_of_three(), average="macro", kind="eti", random_seed=seed
        )
    ),
    "area of folds": _drawn(
        lambda seed: bcm.curves.auc(e.scores_of_folds(), kind="eti", random_seed=seed)
    ),
    "areas compared": _drawn(
        lambda seed: bcm.curves.compare(e.scores_of_two(), kind="eti", random_seed=seed)
    ),
    "average precision": _drawn(
        lambda seed: bcm.curves.average_precision(e.scores(), kind="eti", random_seed=seed)
    ),
    "partial area": _drawn(
        lambda seed: bcm.curves.partial_auc(e.scores(), max_fpr=0.2, kind="eti", random_seed=seed)
    ),
    "roc curve": _drawn(lambda seed: bcm.curves.roc(e.scores(), random_seed=seed)),
    "precision-recall curve": _drawn(
        lambda seed: bcm.curves.precision_recall(e.scores(), random_seed=seed)
    ),
    "best threshold": _drawn(
        lambda seed: bcm.curves.best_threshold(e.scores(), "f1", random_seed=seed)
    ),
    "at a threshold": _drawn(
        lambda seed: bcm.curves.at_threshold(e.scores(), RATES, 0.5, random_seed=seed)
    ),
    "probabilities": _drawn(
        lambda seed: bcm.summary(
            e.probabilities(), ["brier", "log_loss", "auc", "ece"], random_seed=seed
        )
    ),
    "probabilities compared": _drawn(
        lambda seed: bcm.compare(e.probabilities_of_two(), ["brier", "log_loss"], random_seed=seed)
    ),
    "probabilities of three classes": _drawn(
        lambda seed: bcm.summary(
            e.probabilities_of_three(), ["brier", "log_loss", "auc_macro"], random_seed=seed
        )
    ),
    "probabilities of sites": _drawn(
        lambda seed: bcm.summary(e.probabilities_of_sites(), ["brier", "auc"], random_seed=seed)
    ),
    "calibration curve": _exact(
        lambda: bcm.calibration.curve(e.probabilities(), at=[0.2, 0.5, 0.8])
    ),
    "recalibrated": _drawn(
        lambda seed: bcm.calibration.recalibrated(e.probabilities(), random_seed=seed)
    ),
    "net benefit": _drawn(
        lambda seed: bcm.curves.decision_curve(
            e.probabilities(), thresholds=[0.1, 0.3, 0.5], random_seed=seed
        )
    ),
    "expected cost": _drawn(
        lambda seed: bcm.curves.expected_cost(e.probabilities(), [[0, 1], [5, 0]], random_seed=seed)
    ),
    "risk and coverage": _drawn(
        lambda seed: bcm.curves.risk_coverage(e.probabilities_of_three(), random_seed=seed)
    ),
    # attempts, judges and raters
    "attempts": _drawn(
        lambda seed: bcm.summary(
            e.attempts(), ["mean", "pass_at(4)", "pass_all(4)"], random_seed=seed
        )
    ),
    "attempts, these items": _drawn(
        lambda seed: bcm.interval(e.attempts(), "pass_at(4)", of="finite", random_seed=seed)
    ),
    "votes": _drawn(
        lambda seed: bcm.summary(
            e.votes(),
            ["win_rate", "win_rate[b]", "tie_rate", "rating", "strength", "position_advantage"],
            random_seed=seed,
        )
    ),
    "votes, clusters": _drawn(
        lambda seed: bcm.summary(e.votes(clusters=True), ["win_rate", "rating"], random_seed=seed)
    ),
    "votes, next arena": _drawn(
        lambda seed: bcm.summary(
            e.votes(), ["win_rate", "tie_rate[b]"], of="predictive", n=40, random_seed=seed
        )
    ),
    "votes, differences": _drawn(
        lambda seed: bcm.compare(e.votes(), "rating", random_seed=seed).drop(columns="sentence")
    ),
    "votes, ranks": _drawn(lambda seed: bcm.ranks(e.votes(), "rating", random_seed=seed)),
    "votes, pairs": _drawn(
        lambda seed: bcm.preferences.win_rates(e.votes(), random_seed=seed).drop(columns="sentence")
    ),
    "votes, fit": _drawn(lambda seed: bcm.preferences.check_fit(e.votes(), random_seed=seed)),
    "votes, plan": _integrated(
        lambda: bcm.preferences.plan_preferences(e.votes(), difference=("a", "b"), width=0.08)
    ),
    "votes, best pairs": _integrated(lambda: bcm.preferences.plan_pairs(e.votes(), budget=100)),
    "partly labelled": _drawn(
        lambda seed: bcm.summary(e.partly_labelled(), RATES, random_seed=seed)
    ),
    "transferred errors": _drawn(
        lambda seed: bcm.interval(e.transferred(), "prevalence", random_seed=seed)
    ),
    "raters": _drawn(
        lambda seed: bcm.summary(e.raters(), ["recall", "specificity"], random_seed=seed)
    ),
    "agreement": _drawn(
        lambda seed: bcm.raters.agreement(
            {"ann": [0, 1, 1, 0, 1, 1, 0, 1] * 5, "bob": [0, 1, 0, 0, 1, 1, 1, 1] * 5},
            random_seed=seed,
        )
    ),
    # planning, priors, fits
    "plan": _drawn(lambda seed: bcm.plan("recall", width=0.1, expect=0.85, random_seed=seed)),
    "plan above": _exact(lambda: bcm.planning.plan_above("recall", above=0.8, expect=0.9)),
    "plan of a comparison": _exact(
        lambda: bcm.planning.plan_comparison(difference=0.05, agreement=0.9)
    ),
    "elicited prior": _exact(
        lambda: bcm.priors.elicit(recall=0.8, precision=0.7, prevalence=0.3, weight=20)
    ),
    "evidence for models": _drawn(_evidence_for),
    "direct fit": _drawn(
        lambda seed: bcm.summary(bcm.fit(e.two(), random_seed=seed, draws=2000), RATES)
    ),
}

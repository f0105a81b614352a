"""Every public function on every kind of evidence: an answer, or an error of the package's own."""

import linecache
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm import classical, curves, measures, online, priors

PACKAGE = Path(bcm.__file__).parent
MODELS = Path(bcm.models.__file__).parent


# Evidence


def wrong(cells):
    return (cells[..., 0, 1] + cells[..., 1, 0]) / cells.sum((-2, -1))


def per_class(cells):
    return np.diagonal(cells, axis1=-2, axis2=-1) / cells.sum(-1)


def one_number(cells):
    return 0.5


def breaks(cells):
    raise RuntimeError("out of order")


def words(cells):
    return np.full(cells.shape[:-2], "good")


def whole_matrix(cells):
    return cells


NAMED = [
    "recall",
    "f1",
    "mcc",
    "f1_macro",
    "positive_likelihood_ratio",
    ["accuracy", "cohen_kappa"],
    ["recall", "precision"],
    ["recall", "accuracy"],
]
OWN = [wrong, [wrong, "accuracy"], measures.measure(wrong, lower_is_better=True), per_class]
STRANGE = [
    one_number,
    breaks,
    words,
    whole_matrix,
    "rcall",
    "fbeta(1e200)",
    3,
    None,
    [],
    ["f1", "f1"],
]
ESTIMANDS = ["parameter", "predictive", "finite", "fitted", "population", "new"]


SIZES = {"fold": 4, "repeat": 2, "half": 2, "group": 4, "classifier": 2, "step": 5, "batch": 3}
SIZES |= {"sex": 2, "age": 3}


def _tables(seed, *shape, classes=2):
    table = np.random.default_rng(seed).integers(1, 9, (*shape, classes, classes))
    return table + 12 * np.eye(classes, dtype=int)


def _counts(*dims, classes=2, seed=1, sizes=None):
    sizes = sizes or SIZES
    labels = ["sick", "well"] if classes == 2 else list("abc")
    positive = "sick" if classes == 2 else None
    table = _tables(seed, *(sizes[dim] for dim in dims), classes=classes)
    made = bcm.from_matrix(table, labels=labels, positive=positive, dims=dims)
    if "classifier" in dims:
        made = made.assign_coords(classifier=["one", "two"])
    return made


def _predictions(classes, seed=2, n=48):
    rng = np.random.default_rng(seed)
    actual = np.arange(n) % classes
    answers = {
        name: np.where(rng.random(n) < error, rng.integers(0, classes, n), actual)
        for name, error in (("one", 0.3), ("two", 0.5))
    }
    return actual, answers


def _outcomes(classes, **by):
    actual, answers = _predictions(classes)
    return bcm.from_classifiers(actual, answers, positive=1 if classes == 2 else None, by=by)


def _scores(classes=2, several=False, fold=None, weights=None):
    actual, _ = _predictions(classes, n=40)
    rng = np.random.default_rng(3)
    made = {}
    for name in ("one", "two"):
        noise = rng.normal(0, 0.8, (40, classes))
        score = np.eye(classes)[actual] + noise
        made[name] = score[:, 1] if classes == 2 else score
    scores, kind = made if several else made["one"], None if weights is None else "importance"
    return bcm.from_scores(actual, scores, fold=fold, weights=weights, weights_are=kind)


def evidence():
    """Return every kind of evidence that is no fit, by a name."""
    places = np.arange(48) // 12
    two, three = _counts(), _counts(classes=3)
    weights = np.random.default_rng(5).random(48)
    actual, answers = _predictions(2)
    found = {
        "two": two,
        "three": three,
        "empty cells": bcm.from_cells(tp=0, fn=0, fp=2, tn=9),
        "no positive": bcm.from_matrix([[9, 2], [3, 8]], labels=["a", "b"]),
        "batch": _counts("batch"),
        "batch of three": _counts("batch", classes=3),
        "classifiers": _counts("classifier"),
        "outcomes": _outcomes(2),
        "outcomes of three": _outcomes(3),
        "outcomes of groups": _outcomes(2, group=places),
        "outcomes of folds": _outcomes(2, fold=places),
        "folds": _counts("fold"),
        "folds of three": _counts("fold", classes=3),
        "repeats": _counts("repeat", "fold"),
        "folds of classifiers": _counts("classifier", "fold"),
        "groups": _counts("group"),
        "groups of three": _counts("group", classes=3),
        "groups of classifiers": _counts("classifier", "group"),
        "prevalence": bcm.at_prevalence(two, 0.1),
        "weights": bcm.from_predictions(
            actual, answers["one"], positive=1, weights=weights, weights_are="importance"
        ),
        "abstentions": bcm.from_predictions(
            actual, np.where(weights < 0.2, 9, answers["one"]), positive=1, abstain=9
        ),
        "steps": _counts("step"),
        "scores": _scores(),
        "scores of several": _scores(several=True),
        "scores of three": _scores(3),
        "scores of folds": _scores(fold=np.arange(40) // 2 % 4),
        "weighted scores": _scores(weights=np.random.default_rng(6).random(40)),
    }
    other = _counts(seed=9)
    return (
        found
        | _newer()
        | {
            "mapping": {"one": two, "two": other},
            "mapping of three": {"one": three, "two": _counts(classes=3, seed=9)},
            "mapping of folds": {"one": found["folds"], "two": _counts("fold", seed=9)},
            "mapping of groups": {"one": found["groups"], "two": _counts("group", seed=9)},
            "mapping of classifiers of folds": {"one": found["folds of classifiers"]},
            "empty mapping": {},
            "array": np.array([[9, 2], [3, 8]]),
            "nothing": None,
            "a number": 3,
            "text": "counts.csv",
        }
    )


def _newer():
    """Return evidence that is more than a table of labels."""
    rng = np.random.default_rng(11)
    actual, answers = _predictions(2)
    chance = {name: np.clip(rng.beta(2 + 2 * actual, 4), 0.01, 0.99) for name in ("one", "two")}
    known = np.where(rng.random(len(actual)) < 0.7, actual, np.nan)
    seen = pd.Series(known, dtype="Int64")
    learners = [f"learner {i}" for i in range(3)]
    results = pd.DataFrame(
        [
            {"data set": data, "classifier": name, "fold": fold, "accuracy": rng.beta(8, 3)}
            for data in ("x", "y", "z", "w")
            for name in learners
            for fold in range(4)
        ]
    )
    return {
        "probabilities": bcm.from_probabilities(actual, chance["one"], positive=1),
        "probabilities of several": bcm.from_probabilities(actual, chance, positive=1),
        "attempts": bcm.from_attempts(rng.integers(0, 2, (12, 5))),
        "judged rate": bcm.from_partly_labelled(seen, judge=answers["one"], positive=1),
        "judged": bcm.from_partly_labelled(
            seen, predicted=answers["one"], judge=answers["two"], positive=1
        ),
        "judged classifiers": bcm.from_partly_labelled(
            seen, predicted=answers, judge=rng.integers(0, 2, len(actual)), positive=1
        ),
        "raters": bcm.from_raters(
            {name: np.where(rng.random(48) < 0.2, 1 - actual, actual) for name in "abc"},
            predicted={"model": answers["one"]},
            positive=1,
        ),
        "halves": _counts("repeat", "half"),
        "paired folds": _outcomes(2, fold=np.arange(48) // 12),
        "crossed groups": _counts("sex", "age"),
        "results": bcm.from_results(results, data_set="data set"),
    }


# The models whose direct fits are asked, and their evidence.
FITS = {
    "fit": ("two", None),
    "fit of three": ("three", None),
    "fit of a batch": ("batch", None),
    "fit of outcomes": ("outcomes", None),
    "fit of groups": ("groups", None),
    "fit of groups of three": ("groups of three", None),
    "fit of folds": ("folds", None),
    "fit of folds of classifiers": ("folds of classifiers", None),
    "fit of pooled folds": ("repeats", "pooled_folds"),
    "fit of averaged folds": ("folds", "averaged_folds"),
    "fit of rows": ("three", "hierarchical_rows"),
    "fit at a prevalence": ("prevalence", None),
    "fit of steps": ("steps", "drifting"),
    "fit of weights": ("weights", None),
    "fit of scores": ("scores", None),
    "fit of binormal scores": ("scores", "binormal"),
    "fit of probabilities": ("probabilities", None),
    "fit of attempts": ("attempts", None),
    "fit of judged": ("judged", None),
    "fit of raters": ("raters", None),
    "fit of crossed groups": ("crossed groups", "crossed_groups"),
    "fit of results": ("results", None),
}


def fits(known, chosen=None):
    """Return fits, of every model by default, and what plain ``pm.sample`` leaves of one."""
    made = {
        name: bcm.fit(known[kind], model, draws=60, chains=2)
        for name, (kind, model) in FITS.items()
        if chosen is None or name in chosen
    }
    bare = {
        group: made["fit"][group].to_dataset().drop_vars("positive", errors="ignore")
        for group in ("posterior", "constant_data", "observed_data")
    }
    made["mapping of mixed"] = {"one": known["groups"].isel(group=0, drop=True), "two": made["fit"]}
    made["bare fit"] = xr.DataTree.from_dict(bare)
    made["fit without theta"] = xr.DataTree.from_dict(
        {"posterior": xr.Dataset({"mu": (("chain", "draw"), np.zeros((2, 9)))})}
    )
    return made


# Functions


def _of(function, **keywords):
    return lambda data, wanted, **asked: function(data, wanted, **keywords, **asked)


def _of_distribution(method, /, **values):
    return lambda data, wanted, **asked: getattr(bcm.distribution(data, wanted, **asked), method)(
        **values
    )


ASKED = {
    "interval": _of(bcm.interval),
    "interval eti": _of(bcm.interval, kind="eti"),
    "summary": _of(bcm.summary),
    "cdf": _of_distribution("cdf", x=0.5),
    "prob_above": _of(bcm.prob_above, threshold=0.5),
    "quantile": _of_distribution("quantile", q=0.5),
    "mean": _of_distribution("mean"),
    "sd": _of_distribution("sd"),
    "mode": _of_distribution("mode"),
    "skewness": _of_distribution("skewness"),
    "skewness pearson": _of_distribution("skewness", method="pearson"),
    "compare": _of(bcm.compare),
    "compare ratio": _of(bcm.compare, contrast="ratio"),
    "compare batch": _of(bcm.compare, dim="batch"),
    "compare group": _of(bcm.compare, dim="group"),
    "compare fold": _of(bcm.compare, dim="fold"),
    "ranks": _of(bcm.ranks),
    "joint_interval": _of(bcm.joint_interval),
    "region": _of(bcm.answers.region),
    "correlation": _of(bcm.answers.correlation),
    "plot_posterior": _of(bcm.plot_posterior),
    "plot_forest": _of(bcm.plot_forest),
    "plot_region": _of(bcm.plots.plot_region),
    "plot_ranks": _of(bcm.plot_ranks),
    "plot_tiers": _of(bcm.plots.plot_tiers),
    "plot_priors": lambda data, wanted, **asked: bcm.plots.plot_priors(
        data, {"flat": 1.0, "Jeffreys": 0.5}, wanted, **asked
    ),
    "priors.table": lambda data, wanted, **asked: priors.table(
        data, {"flat": 1.0, "Jeffreys": 0.5}, wanted, **asked
    ),
    "gap": _of(bcm.gap),
    "gap ratio": _of(bcm.gap, statistic="ratio"),
    "measure": lambda data, wanted, draws=None, **asked: bcm.measure(data, wanted, **asked),
}
PLAIN = {
    "measure of prior": _of(bcm.measure, group="prior"),
    "delta": _of(classical.delta),
    "delta joint": _of(classical.delta, joint=True),
    "bootstrap": _of(classical.bootstrap, resamples=20, random_seed=1),
    "fold_t": _of(classical.fold_t),
    "fold_t pooled": _of(classical.fold_t, method="resampled"),
    "design_effect": _of(bcm.classical.design_effect),
    "effective_counts": _of(bcm.classical.effective_counts),
    "fold_macro": _of(measures.fold_macro),
    "fold_micro": _of(measures.fold_micro),
    "curve_bootstrap": _of(classical.curve_bootstrap, resamples=20),
    "plot_folds": _of(bcm.plots.plot_folds),
    "plot_omega": _of(bcm.plots.plot_omega),
    "plot_threshold": _of(bcm.plots.plot_threshold),
    "plot_curve_numbers": _of(bcm.plots.plot_curve_numbers),
    "plot_prior_posterior": _of(bcm.plots.plot_prior_posterior),
    "plot_diagnostics of": _of(bcm.plots.plot_diagnostics),
    "history": _of(online.history),
    "plot_history": lambda data, wanted: bcm.plot_history(online.history(data, wanted)),
    "alarms": _of(online.alarms, floor=0.7, reference=2),
    "prob_below": _of(online.prob_below, floor=0.7),
    "surprise": _of(online.surprise),
    "sensitivity": _of(priors.sensitivity),
    "conflict": lambda data, wanted: priors.conflict(data, 1.0, draws=50),
    "curves.at_threshold": _of(curves.at_threshold, threshold=0.5, draws=50),
    "curves.best_threshold": _of(curves.best_threshold, draws=50),
    "curves.threshold": _of(curves.threshold, draws=50),
    "curves.threshold_draws": _of(curves.threshold_draws, draws=50),
    "curves.compare": _of(curves.compare, draws=50),
    "curves.estimate": _of(curves.estimate),
    "curves.number_draws": _of(curves.number_draws, draws=50),
    "plan": lambda data, wanted: bcm.plan(wanted, width=0.3, pilot=data, replications=20),
    "plan_comparison": lambda data, wanted: bcm.planning.plan_comparison(
        wanted, difference=0.1, agreement=0.8
    ),
    "plot_plan": lambda data, wanted: bcm.plots.plot_plan(wanted, width=0.3, pilot=data),
}
ALONE = {
    "heterogeneity": bcm.meta.heterogeneity,
    "check": lambda data: bcm.check(data, ["recall > 0.5 @ 0.9", "f1 > 0.9"]),
    "check of classifiers": lambda data: bcm.check(data, "recall > 0.5", by="classifier"),
    "check of parts": lambda data: bcm.check(data, ["f1[classifier=two] - f1[classifier=one] > 0"]),
    "evidence_for": bcm.priors.evidence_for,
    "latex_table": lambda data: bcm.latex_table(bcm.summary(data)),
    "as_metrics": lambda data: bcm.answers.as_metrics(data),
    "recalibrated": bcm.calibration.recalibrated,
    "expected_cost": lambda data: bcm.curves.expected_cost(data, [[0, 1], [5, 0]]),
    "decision_curve": bcm.curves.decision_curve,
    "risk_coverage": bcm.curves.risk_coverage,
    "calibration.curve": bcm.calibration.curve,
    "calibration.test": lambda data: bcm.calibration.test(data, delta=0.1),
    "plot_calibration": bcm.plot_calibration,
    "plot_decision_curve": bcm.plots.plot_decision_curve,
    "plot_corp": bcm.plots.plot_corp,
    "plot_expected_cost": lambda data: bcm.plots.plot_expected_cost(data, [[0, 1], [5, 0]]),
    "plot_risk_coverage": bcm.plots.plot_risk_coverage,
    "isotonic_band": classical.isotonic_band,
    "corp": classical.corp,
    "hosmer_lemeshow": classical.hosmer_lemeshow,
    "spiegelhalter_z": classical.spiegelhalter_z,
    "labels_worth": lambda data: bcm.planning.labels_worth(data, "f1"),
    "plan_attempts": lambda data: bcm.planning.plan_attempts(data, "mean", replications=2),
    "plan_labels": lambda data: bcm.planning.plan_labels(data, "f1", 10),
    "best": lambda data: bcm.learners.best(data, "accuracy"),
    "halves of": lambda data: bcm.interval(_counts("fold"), "recall", halves=data),
    "plot_sroc": bcm.plots.plot_sroc,
    "plot_studies": bcm.plots.plot_studies,
    "proportion": lambda data: bcm.answers.proportion(data, 3),
    "brier": lambda data: bcm.summary(data, ["brier", "log_loss", "ece", "auc"]),
    "pass_at": lambda data: bcm.summary(data, ["mean", "pass_at(2)", "pass_all(2)"]),
    "prevalence of": lambda data: bcm.interval(data, "prevalence", of="finite"),
    "fit": lambda data: bcm.fit(data, draws=20, chains=2),
    "combine": bcm.combine,
    "methods_paragraph": lambda data: bcm.methods_paragraph(data),
    "at_prevalence": lambda data: bcm.at_prevalence(data, 0.2),
    "conclusions": bcm.answers.conclusions,
    "from_matrix": bcm.from_matrix,
    "plot_matrix": bcm.plot_matrix,
    "plot_predictive": bcm.plots.plot_predictive,
    "plot_diagnostics": bcm.plots.plot_diagnostics,
    "plot_differences": bcm.plot_differences,
    "plot_roc": bcm.plot_roc,
    "plot_precision_recall": bcm.plots.plot_precision_recall,
    "accumulate": lambda data: online.accumulate(data, forgetting=0.9),
    "change": online.change,
    "with_room": lambda data: online.with_room(data, 3),
    "update": lambda data: online.update(data, data),
    "log_bayes_factor": lambda data: online.log_bayes_factor(data, data),
    "prob_worse": lambda data: online.prob_worse(data, data, "recall"),
    "delong": classical.delong,
    "delong_compare": classical.delong_compare,
    "roc_bands": classical.roc_bands,
    "precision_recall_bands": classical.precision_recall_bands,
    "hull_areas": classical.hull_areas,
    "auc": lambda data: curves.auc(data, draws=50),
    "average_precision": lambda data: curves.average_precision(data, draws=50),
    "partial_auc": lambda data: curves.partial_auc(data, max_fpr=0.2, draws=50),
    "max_f1": lambda data: curves.max_f1(data, draws=50),
    "fold_auc": lambda data: curves.fold_auc(data, draws=50),
    "roc": lambda data: curves.roc(data, draws=50),
    "precision_recall": lambda data: curves.precision_recall(data, draws=50),
    "points": curves.points,
    "pool_folds": lambda data: curves.pool_folds(data, ranks=True),
    "one_vs_rest": lambda data: curves.one_vs_rest(data, 1),
    "curves.at_prevalence": lambda data: curves.at_prevalence(data, 0.2),
    "priors.default": priors.default,
    "priors.haldane": priors.haldane,
    "priors.from_counts": priors.from_counts,
    "priors.from_posterior": priors.from_posterior,
    "priors.from_rates": lambda data: priors.from_rates(recall=(8, 2), like=data),
    "priors.elicit": lambda data: priors.elicit(recall=0.8, accuracy=0.7, weight=9, like=data),
    "priors.predictive": lambda data: priors.predictive(data, "recall", n=20, draws=50),
    "priors.examples": priors.examples,
}


def calls(known, name=None):
    """Give (what it says, the call, its keywords) of one function, or of all."""
    every = [*NAMED, *OWN, *STRANGE]
    chosen = [
        {k: v for k, v in group.items() if name in (None, k)} for group in (ALONE, PLAIN, ASKED)
    ]
    modelled = [each for each in chosen[2].items() if each[0] != "measure"]
    for kind, data in known.items():
        for said, function in chosen[0].items():
            yield f"{said}({kind})", (function, data), {}
        for (said, function), wanted in product(chosen[1].items(), every):
            yield f"{said}({kind}, {_said(wanted)})", (function, data, wanted), {}
        for (said, function), wanted in product(chosen[2].items(), every):
            for of in ESTIMANDS if _usual(wanted) else ["parameter"]:
                asked = {"of": of} if isinstance(data, xr.DataTree) else {"of": of, "draws": 40}
                yield f"{said}({kind}, {_said(wanted)}, of={of!r})", (function, data, wanted), asked
        for (said, function), model in product(modelled, bcm.posteriors.__all__):
            for of in ("parameter", "predictive"):
                asked = {"model": model, "draws": 40, "of": of}
                yield f"{said}({kind}, model={model!r}, of={of!r})", (function, data, "f1"), asked


def _usual(wanted):
    return not any(wanted is each for each in STRANGE)


def _said(wanted):
    names = [
        getattr(each, "__name__", repr(each)) for each in np.atleast_1d(np.array(wanted, object))
    ]
    return names[0] if not isinstance(wanted, list) else f"[{', '.join(names)}]"


def trouble(call, keywords):
    """Say what is wrong with a call, an error from inside or a warning of numpy's, or nothing."""
    function, *data = call
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            answer = function(*data, **keywords)
        except Exception as problem:
            return "" if _ours(problem) else f"{type(problem).__name__}: {problem}"
    return "no answer" if answer is None else _impossible(answer)


def _ours(problem):
    """Say whether an error was raised by the package itself, by its own words."""
    if not isinstance(problem, ValueError | TypeError):
        return False
    last = problem.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    path = last.tb_frame.f_code.co_filename
    own = any(Path(path).is_relative_to(place) for place in (PACKAGE, MODELS))
    return own and "raise" in linecache.getline(path, last.tb_lineno)


def _impossible(answer):
    """Say whether an answer has no intervals where it should, or reversed ones."""
    parts = answer.data_vars.values() if isinstance(answer, xr.Dataset) else [answer]
    for part in parts:
        if isinstance(part, xr.DataArray) and "bound" in part.dims:
            ends = part.sel(bound=["lower", "upper"]).transpose("bound", ...).values
            if (ends[0] > ends[1]).any():
                return "an interval is reversed"
    return ""

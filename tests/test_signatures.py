"""
One contract for all public functions: what an argument is called, where it stands, its default.

The signature names what a user comes for, and ``**keywords`` is for the model's further keywords
only. Each exception stands here with its reason.
"""

import inspect
import re
from importlib import import_module

import pytest

MODULES = (
    ["bayescm"]
    + [f"bayescm.{name}" for name in ("answers", "curves", "curves.calibration", "learners")]
    + [f"bayescm.{name}" for name in ("meta", "online", "planning", "plots", "priors", "raters")]
    + ["bayescm.integrations.mlflow", "bayescm.integrations.sklearn"]
)
DEFAULTS = {
    "prob": 0.95,
    "kind": "hdi",
    "of": "parameter",
    "n": None,
    "model": None,
    "concentration": None,
    "positive": None,
    "random_seed": 0,
    "accuracy": None,
    "level": 0.95,
    "assurance": 0.9,
    "ax": None,
}
ORDER = ("prob", "kind", "of", "n", "model", "concentration", "positive", "draws", "random_seed")
HIDDEN = ("model", "of", "concentration", "positive", "random_seed")

OTHER_DEFAULTS = {
    ("answers.proportion", "concentration"): "of a beta prior, on either side",
    ("curves.decision_curve", "concentration"): "of a beta prior, on either side",
    ("planning.plan_attempts", "concentration"): "a number of items",
    ("priors.beta", "prob"): "what experts are asked for, and no answer of a posterior",
    ("gap", "of"): "of the groups at hand alone",
    ("planning.plan_attempts", "of"): "more attempts teach of the population of items",
    ("plot_differences", "kind"): "that of the table, unless it has lost its own",
    ("plot_differences", "prob"): "that of the table, unless it has lost its own",
    ("plots.plot_curve_numbers", "kind"): "areas beside equal-tailed bands of their curves",
    ("curves.risk_coverage", "assurance"): "the probability that a promise is kept",
    ("plots.plot_risk_coverage", "assurance"): "the probability that a promise is kept",
    ("planning.plan_item_scores", "kind"): "equal tails, which a difference of 0 is outside of",
    ("online.forecast_table", "kind"): "of the forecasts: probabilities or scores",
    ("online.to_log", "level"): "of a message of `logging`",
}
POSITIONAL = {
    ("fit", "model"): "the second thing that a fit is of, as in `pm.sample`",
    ("priors.conflict", "concentration"): "the prior is what is asked about",
    ("priors.examples", "concentration"): "the prior is what is asked about",
    ("priors.predictive", "concentration"): "the prior is what is asked about",
}
NO_MODEL = "cross-validates, and asks no model"
NO_CHOICE = "of one model, its estimand and its evidence"
WITHOUT = {
    "cross_confusion": NO_MODEL,
    "cross_outcomes": NO_MODEL,
    "learners.cross_halves": NO_MODEL,
    "learners.learning_curve": "its keywords are of the cross-validation",
    "classification_report": "every class is the positive one in turn",
    "fit": "a tree has all the estimands",
    "worst_slices": "of the groups at hand alone",
    "plots.plot_slices": "of the groups at hand alone",
    "planning.labels_worth": "of the parameter alone",
    "plots.plot_priors": "the priors are an argument of their own",
    "priors.table": "the priors are an argument of their own",
    "priors.evidence_for": "its keywords are options of the sampler",
    "meta.heterogeneity": NO_CHOICE,
    "plots.plot_sroc": NO_CHOICE,
    "plots.plot_studies": NO_CHOICE,
    "raters.true_classes": NO_CHOICE,
}
OTHER_KEYWORDS = {
    "priors.elicit": "measures by their names",
    "online.notify": "the rules of `Monitor.alarms`",
    "online.dashboard": "what a page shows of every monitor",
    "online.serve": "what a page shows of every monitor",
}

NAMED_MEASURES = {
    "curves.at_threshold": "the threshold is what is asked of them",
    "online.alarms": "what `Monitor.alarms` is made of, which has them",
    "online.history": "what `Monitor.history` is made of, which has them",
    "online.intervals": "what `Monitor.history` is made of, which has them",
    "plots.plot_omega": "a panel of forty intervals for each",
    "plots.plot_threshold": "a panel of a curve for each",
    "priors.predictive": "a prior alone has no evidence whose measures are usual",
}


def _public():
    functions = {}
    for name in MODULES:
        module = import_module(name)
        for each in module.__all__:
            function = getattr(module, each)
            if inspect.isfunction(function) and function.__module__.startswith("bayescm"):
                label = f"{name}.{each}".split(".", 1)[1].removeprefix("integrations.")
                functions.setdefault(function, label)
    return {label: function for function, label in functions.items()}


FUNCTIONS = _public()
ARGUMENTS = [
    (label, parameter)
    for label, function in FUNCTIONS.items()
    for parameter in inspect.signature(function).parameters.values()
]


def test_an_argument_has_the_same_default_everywhere():
    other = {
        (label, each.name)
        for label, each in ARGUMENTS
        if each.name in DEFAULTS
        and each.default not in (DEFAULTS[each.name], inspect.Parameter.empty)
    }
    assert other == OTHER_DEFAULTS.keys()


def test_what_is_asked_of_a_model_is_asked_by_name():
    names = {*ORDER, "accuracy", "ax", "level", "assurance"} - {"n", "draws"}
    positional = {
        (label, each.name)
        for label, each in ARGUMENTS
        if each.name in names and each.kind is not inspect.Parameter.KEYWORD_ONLY
    }
    assert positional == POSITIONAL.keys()


@pytest.mark.parametrize("label", FUNCTIONS)
def test_arguments_stand_in_one_order(label):
    parameters = inspect.signature(FUNCTIONS[label]).parameters.values()
    by_name = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    by_name = [each for each in by_name if each in ORDER and (label, each) not in OTHER_DEFAULTS]
    assert by_name == sorted(by_name, key=ORDER.index)


def test_keywords_hide_nothing_that_a_user_comes_for():
    hiding = set()
    for label, function in FUNCTIONS.items():
        parameters = inspect.signature(function).parameters
        rest = [each.name for each in parameters.values() if each.kind is each.VAR_KEYWORD]
        if label in OTHER_KEYWORDS or not rest:
            assert (label in OTHER_KEYWORDS) == bool(rest)
            continue
        assert rest == ["keywords"], label
        if not {*HIDDEN} <= parameters.keys():
            hiding.add(label)
    assert hiding == WITHOUT.keys()


def test_measures_have_a_default_wherever_there_may_be_several():
    named = {
        label
        for label, each in ARGUMENTS
        if each.name == "measures"
        and each.kind is not each.VAR_KEYWORD
        and each.default is inspect.Parameter.empty
    }
    assert named == NAMED_MEASURES.keys()


@pytest.mark.parametrize("label", FUNCTIONS)
def test_every_argument_is_described(label):
    function = FUNCTIONS[label]
    text = inspect.getdoc(function)
    section = re.search(r"Parameters\n-+\n(.*?)(\n\n\w[\w ]*\n-+\n|\Z)", text, re.DOTALL)
    lines = [] if section is None else re.findall(r"^(\S.*)$", section[1], re.MULTILINE)
    described = {
        name.strip().lstrip("*") for line in lines for name in line.split(" : ")[0].split(",")
    }
    assert described >= inspect.signature(function).parameters.keys()

"""What evidence is, which model answers it, and that a further type works everywhere."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.evidence import registry
from bayescm.evidence.counts import default_measures
from bayescm.evidence.evidence_type import EvidenceType, always
from bayescm.evidence.outcomes import as_outcomes
from bayescm.evidence.registry import TYPES, type_of
from bayescm.posteriors import dirichlet_multinomial
from bayescm.validate import check_reals, fail

SICK = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
TRUTH = [1, 1, 1, 0, 0, 0]
PAIR = {"a": [1, 1, 0, 0, 0, 1], "b": [1, 0, 0, 0, 0, 0]}
OUTCOMES = bcm.from_classifiers(TRUTH, PAIR)
CHANCES = [0.9, 0.8, 0.4, 0.1, 0.3, 0.6]
RESULTS = pd.DataFrame(
    [(d, c, f, 0.5) for d in "xy" for c in "ab" for f in (1, 2)],
    columns=["data_set", "classifier", "fold", "accuracy"],
)
PARTLY = bcm.evidence.from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
EVERY_TYPE = {
    "counts": SICK,
    "outcomes": OUTCOMES,
    "scores": bcm.from_scores(TRUTH, CHANCES),
    "probabilities": bcm.from_probabilities(TRUTH, CHANCES),
    "attempts": bcm.from_attempts([[1, 0], [1, 1], [0, 0]]),
    "item scores": bcm.from_item_scores([0.2, 0.9, 0.7, 1.0, 0.4, 0.6], range=(0, 1)),
    "item counts": bcm.from_item_counts(tp=[3, 0, 5] * 2, fp=[1, 0, 2] * 2, fn=[0, 2, 1] * 2),
    "multilabel": bcm.from_multilabel([{"a"}, {"a", "b"}, set()] * 2, [{"a"}, {"b"}, {"b"}] * 2),
    "preferences": bcm.from_preferences([[0, 2, 1], [1, 0, 1], [0, 1, 0]]),
    "results": bcm.from_results(RESULTS),
    "ratings": bcm.from_raters({"a": TRUTH, "b": PAIR["a"], "c": PAIR["b"]}, gold=TRUTH),
    "partly labelled": PARTLY,
}


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_evidence_is_of_one_type(name):
    matches = [entry.name for entry in TYPES if entry.matches(EVERY_TYPE[name])]
    assert matches[0] == type_of(EVERY_TYPE[name]).name == name
    # Partly labelled evidence is counts beside, and probabilities are scores.
    assert set(matches[1:]) <= {"counts", "outcomes", "scores"}


def test_every_type_is_tried():
    assert {*EVERY_TYPE, "fit"} == {entry.name for entry in TYPES}


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY_TYPE)
def test_the_entry_describes_its_evidence(name):
    entry, evidence = type_of(EVERY_TYPE[name]), EVERY_TYPE[name]
    canonical = entry.canonical(evidence)
    assert entry.size(canonical) == {
        "counts": 145,
        "partly labelled": 2000,
        "results": 2,
        "attempts": 3,
    }.get(name, 6)
    assert entry.values(canonical).size > 1
    assert entry.is_whole(canonical)
    model = entry.default_model(canonical, {})
    assert model.evidence is canonical
    assert model.model in bcm.models.__all__
    assert all(bcm.interval(evidence, measure).notnull().all() for measure in usual(entry, name))


def usual(entry, name):
    """Return a usual measure, of those types that have any."""
    measures = entry.default_measures(EVERY_TYPE[name])
    assert bool(measures) is (name != "results")
    return measures[:1]


def test_a_fit_is_told_from_evidence():
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset()})
    assert type_of(tree).name == "fit"
    with pytest.raises(ValueError, match="Pass the evidence that it was fitted"):
        bcm.fit(tree)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([[65, 15], [35, 30]], "A list is not evidence"),
        (xr.Dataset({"x": 1}), r"counts \(from_predictions.*fit \(fit\)"),
    ],
)
def test_what_is_no_evidence(wrong, words):
    for ask in (type_of, lambda x: bcm.interval(x, "f1"), bcm.summary, bcm.fit):
        with pytest.raises(TypeError, match=words):
            ask(wrong)


# The default model of each design.

FOLDS = SICK.expand_dims(fold=5)
GROUPS, SIX = SICK.expand_dims(group=3), SICK.expand_dims(group=6)
OF_FOLDS = OUTCOMES.assign(counts=OUTCOMES["counts"].expand_dims(fold=5))
OF_GROUPS = OUTCOMES.assign(counts=OUTCOMES["counts"].expand_dims(group=3))
IN_FOLDS = EVERY_TYPE["probabilities"].assign(fold=("example", [0, 1, 2] * 2))
SCORES_OF_GROUPS = EVERY_TYPE["scores"].assign(group=("example", [0, 0, 1, 1, 2, 2]))
CHANCES_OF_GROUPS = EVERY_TYPE["probabilities"].assign(group=("example", [0, 0, 1, 1, 2, 2]))
DESIGNS = [
    (FOLDS, None, None, "hierarchical_folds"),
    (FOLDS.expand_dims(classifier=2), None, "classifier", "correlated_t"),
    (FOLDS, None, "fold", "dirichlet_multinomial"),
    (GROUPS, None, None, "hierarchical_groups"),
    (GROUPS, "group", None, "hierarchical_groups"),
    (SIX, "group", None, "robust_groups"),
    (SIX, None, "group", "robust_groups"),
    (GROUPS.isel(group=[0, 1]), "group", None, "dirichlet_multinomial"),
    (GROUPS.isel(group=[0, 1]), None, "group", "dirichlet_multinomial"),
    (bcm.at_prevalence(GROUPS.isel(group=[0, 1]), 0.1), "group", None, "fixed_totals"),
    (bcm.from_matrix(np.eye(3)).expand_dims(group=3), "group", None, "hierarchical_groups"),
    (bcm.at_prevalence(SICK, 0.1), None, None, "fixed_totals"),
    (OUTCOMES, None, "classifier", "paired_outcomes"),
    (OF_FOLDS, None, None, "hierarchical_folds"),
    (OF_FOLDS, None, "classifier", "correlated_t"),
    (OF_FOLDS, None, "fold", "paired_outcomes"),
    (OF_GROUPS, None, "classifier", "paired_outcomes"),
    (OF_GROUPS, None, "group", "hierarchical_groups"),
    (OF_GROUPS, "group", None, "hierarchical_groups"),
    (OF_GROUPS.isel(group=[0, 1]), "group", None, "paired_outcomes"),
    (PARTLY, "group", None, "partly_labelled"),
    (IN_FOLDS, None, None, "fold_forecasts"),
    (SCORES_OF_GROUPS, None, None, "scores"),
    (SCORES_OF_GROUPS, "group", None, "score_groups"),
    (CHANCES_OF_GROUPS, None, None, "hierarchical_calibration"),
    (CHANCES_OF_GROUPS, "group", None, "score_groups"),
]


@pytest.mark.parametrize(("evidence", "members", "compared", "model"), DESIGNS)
def test_the_default_model_of_a_design(evidence, members, compared, model):
    default_model = type_of(evidence).default_model
    assert default_model(evidence, {}, members=members, compared=compared).model == model


@pytest.mark.parametrize("evidence", [SICK, OUTCOMES, PARTLY, FOLDS])
def test_a_keyword_of_one_model_names_it(evidence):
    default_model = type_of(evidence).default_model
    assert default_model(evidence, {"label_error": (1, 9)}).model == "mislabelled"


@pytest.mark.parametrize("asked", [{"members": "group"}, {"compared": "group"}])
def test_groups_with_covariates_are_of_the_model_that_takes_them(asked):
    default_model = type_of(GROUPS).default_model
    for keywords in ({"covariates": {"year": 2005}}, {"slope": 1.0}):
        assert default_model(GROUPS, keywords, **asked).model == "hierarchical_groups"


# A further type: published rates in place of tables.


def from_rates(sensitivity, specificity, *, positives, negatives):
    """Return the sensitivities and specificities of classifiers as evidence."""
    names = list(sensitivity)
    columns = {"sensitivity": [*sensitivity.values()], "specificity": [*specificity.values()]}
    rates = xr.Dataset({key: ("classifier", each) for key, each in columns.items()})
    rates = rates.assign_coords(classifier=names, positives=positives, negatives=negatives)
    return as_rates(rates)


def is_rates(evidence):
    return isinstance(evidence, xr.Dataset) and "sensitivity" in evidence


def as_rates(rates):
    """Check rates on entry."""
    for name in ("sensitivity", "specificity"):
        values = check_reals(rates[name], name, "pass proportions")
        if not ((values >= 0) & (values <= 1)).all():
            raise fail("a rate is no proportion", values, "[0, 1]", "divide percentages by 100")
    return rates


def tables_of(rates):
    """Return the tables that the rates were of."""
    tp = (rates["sensitivity"] * rates["positives"]).round()
    tn = (rates["specificity"] * rates["negatives"]).round()
    return bcm.from_cells(tp=tp, fn=rates["positives"] - tp, fp=rates["negatives"] - tn, tn=tn)


def rounded_rates(rates, *, concentration=None):
    """Return the posterior of the tables that the rates were of."""
    return dirichlet_multinomial(tables_of(rates), concentration=concentration)


RATES_TYPE = EvidenceType(
    name="rates",
    made_by="from_rates",
    unit="examples",
    matches=is_rates,
    canonical=as_rates,
    default_model=always(rounded_rates),
    default_measures=lambda rates: default_measures(tables_of(rates)),
    size=lambda rates: (rates["positives"] + rates["negatives"]).item(),
    values=lambda rates: rates["sensitivity"],
)
RATES = from_rates({"a": 0.8, "b": 0.9}, {"a": 0.5, "b": 0.7}, positives=80, negatives=65)


@pytest.fixture
def with_rates(monkeypatch):
    """Rates are a type of evidence, until the end of the test."""
    monkeypatch.setattr(registry, "TYPES", [RATES_TYPE, *TYPES])


def test_a_type_is_unknown_until_it_is_listed():
    with pytest.raises(
        TypeError, match="sensitivity, specificity, classifier, positives, negatives"
    ):
        bcm.interval(RATES, "recall")


@pytest.mark.usefixtures("with_rates")
def test_a_further_type_has_intervals():
    tables = tables_of(RATES)
    assert type_of(RATES) is RATES_TYPE
    for keywords in ({}, {"concentration": 1.0}):
        expected = bcm.interval(tables, ["recall", "mcc"], **keywords)
        xr.testing.assert_equal(bcm.interval(RATES, ["recall", "mcc"], **keywords), expected)
    assert bcm.prob_above(RATES, "recall", 0.7).sel(classifier="b") > 0.99


@pytest.mark.usefixtures("with_rates")
def test_a_further_type_has_a_summary_of_its_usual_measures():
    expected = bcm.summary(tables_of(RATES), default_measures(SICK))
    pd.testing.assert_frame_equal(pd.DataFrame(bcm.summary(RATES)), pd.DataFrame(expected))
    with pytest.raises(ValueError, match="a rate is no proportion"):
        from_rates({"a": 80}, {"a": 50}, positives=80, negatives=65)


@pytest.mark.usefixtures("with_rates")
@pytest.mark.filterwarnings("ignore:a and b have the same class totals")
def test_members_of_a_further_type_are_compared_and_checked():
    table = bcm.compare(RATES, "recall")
    assert table.loc[0, "p_worse"] == pytest.approx(0.95, abs=0.03)
    met = bcm.check(RATES, ["recall[classifier=b] > 0.8 @ 0.9", "recall[classifier=a] > 0.9"])
    assert met["outcome"].tolist() == ["met", "failed"]


@pytest.mark.long
@pytest.mark.usefixtures("with_rates")
@pytest.mark.filterwarnings("ignore:a and b have the same class totals")
def test_a_further_type_is_reported(tmp_path):
    path = bcm.report(RATES, tmp_path / "rates.md", measures=["recall", "mcc"], rope=0.01)
    text = path.read_text().replace("\\_", "_")
    assert "145 examples." in text
    assert "under the model rounded_rates" in text
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert titles[0] == "What was evaluated"
    assert titles[-2:] == ["How it was computed", "Cautions"]
    assert "Which is better" in titles


# Checks of another type.
UNFIT = {name: bcm.evidence.as_counts for name in EVERY_TYPE}
UNFIT |= dict.fromkeys(("counts", "partly labelled"), as_outcomes)


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_messages_name_the_type_of_evidence(name):
    with pytest.raises(TypeError, match=f"(does not support|not) '?{name}"):
        UNFIT[name](EVERY_TYPE[name])

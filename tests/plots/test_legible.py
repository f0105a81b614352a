"""Every plot can be read in columns of a journal and on a screen, plain and dark."""

import re
from contextlib import nullcontext
from functools import cache

import legible
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import bayescm as bcm
from bayescm import plots

# Evidence of some systems, sites or data sets

SYSTEMS = ["logistic regression", "random forest", "gradient boosting", "svm"]
SYSTEMS += ["nearest neighbours", "naive Bayes", "decision tree", "mlp (tuned, 3 layers)"]
SYSTEMS += ["extra trees", "stacked_ensemble_v2", "stump", "linear discriminant"]
SITES = ["Oslo", "Rome", "Lima", "Pune", "Kyiv", "Rio de Janeiro", "Ho Chi Minh City", "Accra"]
SITES += ["Quito", "St. Petersburg", "Bonn", "Cork"]


def _rng(number):
    return np.random.default_rng([7, number])


@cache
def outcomes(number):
    rng, truth = _rng(number), np.arange(240) % 5 < 2
    labels = {
        name: truth ^ (rng.random(240) < 0.06 + 0.025 * place)
        for place, name in enumerate(SYSTEMS[:number])
    }
    if number == 1:
        return bcm.from_predictions(truth, labels[SYSTEMS[0]], positive=True)
    return bcm.from_classifiers(truth, labels, positive=True)


def _odds(number):
    rng = _rng(number)
    odds = rng.normal(-0.5, 1.4, 300)
    truth = rng.random(300) < 1 / (1 + np.exp(-odds))
    given = {
        name: odds + 0.25 * place * rng.normal(size=300)
        for place, name in enumerate(SYSTEMS[:number])
    }
    return truth, given if number > 1 else given[SYSTEMS[0]]


@cache
def scores(number):
    truth, odds = _odds(number)
    return bcm.from_scores(truth, odds, positive=True)


@cache
def chances(number):
    truth, odds = _odds(number)
    if number == 1:
        return bcm.from_probabilities(truth, 1 / (1 + np.exp(-odds)), positive=True)
    given = {name: 1 / (1 + np.exp(-values)) for name, values in odds.items()}
    return bcm.from_probabilities(truth, given, positive=True)


@cache
def items(number):
    rng = _rng(number)
    level = rng.normal(3.6, 0.9, 60)
    marks = {
        name: np.clip(np.round(level - 0.1 * place + rng.normal(0, 0.5, 60)), 1, 5)
        for place, name in enumerate(SYSTEMS[:number])
    }
    return bcm.from_item_scores(marks, range=(1, 5))


@cache
def folds(number):
    rng = _rng(number)
    tables = []
    for place in range(number):
        cells = {"tp": rng.binomial(15, 0.85 - 0.02 * place, 5), "fp": rng.binomial(15, 0.2, 5)}
        tables.append(bcm.from_cells(**cells, fn=3, tn=15).rename(batch="fold"))
    if number == 1:
        return tables[0]
    return xr.concat(tables, xr.Variable("classifier", SYSTEMS[:number]))


@cache
def sites(number):
    rng = _rng(number)
    tp, tn = rng.binomial(60, 0.8, number), rng.binomial(60, 0.9, number)
    counts = bcm.from_cells(tp=tp, fn=60 - tp, fp=60 - tn, tn=tn).rename(batch="group")
    return counts.assign_coords(group=SITES[:number])


@cache
def weeks():
    rng = np.random.default_rng(2)
    tp = rng.binomial(25, np.where(np.arange(30) < 18, 0.9, 0.7))
    tn = rng.binomial(25, 0.9, 30)
    return bcm.from_cells(tp=tp, fn=25 - tp, fp=25 - tn, tn=tn).rename(batch="step")


@cache
def classes(number):
    names = [f"class {name}" for name in SITES[: max(2, number)]]
    rows = 0.75 * np.eye(len(names)) + 0.25 / len(names)
    cells = [_rng(number).multinomial(50, row / row.sum()) for row in rows]
    return bcm.from_matrix(cells, labels=names)


@cache
def chances_of_classes(number):
    rng, names = _rng(number), SITES[: max(2, number)]
    logs = rng.normal(0, 1.2, (300, len(names)))
    given = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    truth = np.array(names)[[rng.choice(len(names), p=row) for row in given]]
    return bcm.from_probabilities(truth, given, labels=names)


@cache
def votes(number):
    rng, number = _rng(number), max(2, number)
    left = rng.integers(number, size=300)
    right = (left + rng.integers(1, number, size=300)) % number
    lead, names = rng.logistic(0.4 * (right - left)), np.array(SYSTEMS[:number])
    winner = np.where(abs(lead) < 0.3, "tie", np.where(lead > 0, "left", "right"))
    return bcm.from_preferences(left=names[left], right=names[right], winner=winner)


@cache
def comparison(number, measures=("accuracy", "f1")):
    return bcm.compare(outcomes(max(2, number)), list(measures), rope=0.01, draws=2000)


@cache
def data_sets(number):
    table = bcm.compare(outcomes(3), ["accuracy", "f1"], draws=2000)
    return dict.fromkeys(SITES[:number], table)


def curve(number):
    rows = [
        {"classifier": name, "size": size, "mean": 0.6 + 0.02 * place + 0.001 * size}
        for place, name in enumerate(SYSTEMS[:number])
        for size in (20, 40, 80)
    ]
    table = pd.DataFrame(rows).assign(measure="f1", lower=0.5, upper=0.9)
    table.attrs |= {"prob": 0.95, "kind": "hdi"}
    return table


@cache
def tree(number):
    counts = sites(number) if number > 1 else bcm.from_cells(tp=6, fn=2, fp=3, tn=9)
    return bcm.fit(counts, draws=300, random_seed=1)


def history(number):
    shown = bcm.online.history(weeks(), ["recall", "specificity", "f1"][: min(number, 3)])
    floor = {"recall": 0.8}
    alarms = bcm.online.alarms(weeks(), "recall", floor=floor)
    return plots.plot_history(shown, batches=weeks(), alarms=alarms, floor=floor)


def frontier(number):
    cost = {name: 2.0**place for place, name in enumerate(SYSTEMS[: max(2, number)])}
    table = bcm.frontier(outcomes(max(2, number)), "accuracy", cost=cost, draws=2000)
    return plots.plot_frontier(table)


def priors(number):
    given = {name: 0.5 + place for place, name in enumerate(SYSTEMS[: min(number, 7)])}
    return plots.plot_priors(bcm.from_cells(tp=13, fn=3, fp=7, tn=6), given, "recall")


def several_measures(number):
    names = ["precision", "recall", "f1", "accuracy", "mcc", "specificity", "npv", "kappa"]
    names += ["balanced_accuracy", "jaccard", "fpr", "prevalence"]
    return plots.plot_posterior(outcomes(1), names[:number], draws=2000)


FOUR = ["precision", "recall", "f1", "mcc"]
SPECS = {
    "posterior": lambda n: plots.plot_posterior(outcomes(n), FOUR[:2], reference=0.8, draws=2000),
    "posterior of measures": several_measures,
    "forest": lambda n: plots.plot_forest(outcomes(n), FOUR, draws=2000),
    "forest of one measure": lambda n: plots.plot_forest(outcomes(n), "f1", draws=2000),
    "forest of sites": lambda n: plots.plot_forest(
        sites(n), ["recall", "specificity"], model="dirichlet_multinomial"
    ),
    "forest of two scales": lambda n: plots.plot_forest(items(n), ["mean", "share_at_least(4)"]),
    "slices": lambda n: plots.plot_slices(sites(max(n, 3)), "recall", threshold=0.75),
    "region": lambda n: plots.plot_region(outcomes(n), draws=3000),
    "priors": priors,
    "prior and posterior": lambda n: plots.plot_prior_posterior(tree(1), FOUR[: min(n, 3)]),
    "predictive": lambda n: plots.plot_predictive(tree(n)),
    "differences": lambda n: plots.plot_differences(comparison(n)),
    "differences of one measure": lambda n: plots.plot_differences(comparison(n, ("accuracy",))),
    "differences of data sets": lambda n: plots.plot_differences(data_sets(n), dim="data_set"),
    "ranks": lambda n: plots.plot_ranks(outcomes(max(2, n)), "f1", draws=2000),
    "tiers": lambda n: plots.plot_tiers(outcomes(max(2, n)), "f1", draws=2000),
    "preferences": lambda n: plots.plot_preferences(votes(n)),
    "frontier": frontier,
    "roc": lambda n: plots.plot_roc(scores(n), threshold=0.0),
    "precision-recall": lambda n: plots.plot_precision_recall(scores(n), lines=10),
    "threshold": lambda n: plots.plot_threshold(scores(n), "recall"),
    "area": lambda n: plots.plot_curve_numbers(scores(n)),
    "predictive values": lambda n: plots.plot_predictive_values(
        folds(n).sum("fold"), measures="ppv" if n > 3 else ("ppv", "npv")
    ),
    "calibration": lambda n: plots.plot_calibration(chances(n)),
    "calibration of classes": lambda n: plots.plot_calibration(chances_of_classes(max(3, n))),
    "corp": lambda n: plots.plot_corp(chances(n), draws=50),
    "decision curve": lambda n: plots.plot_decision_curve(
        chances(n), thresholds=np.arange(0.05, 0.7, 0.05)
    ),
    "expected cost": lambda n: plots.plot_expected_cost(chances(n), {"fn": 4, "fp": 1}),
    "risk and coverage": lambda n: plots.plot_risk_coverage(chances(n), promise=0.15),
    "folds": lambda n: plots.plot_folds(folds(n), "f1"),
    "omega": lambda n: plots.plot_omega(folds(1), FOUR[: min(n, 3)]),
    "learning curve": lambda n: plots.plot_learning_curve(curve(n)),
    "plan": lambda n: plots.plot_plan("recall", expect=0.85, width=0.1, n=226),
    "matrix": lambda n: plots.plot_matrix(classes(n)),
    "item scores": lambda n: plots.plot_item_scores(items(n)),
    "history": history,
    "sroc": lambda n: plots.plot_sroc(sites(max(3, n))),
    "studies": lambda n: plots.plot_studies(sites(max(3, n))),
}
# Twelve classes with long names and their totals need two columns.
TOO_NARROW = {("matrix", 12, 1)}
# A plot of more systems raises an error that says what to do.
TOO_MANY = "at most"


def _faults(name, number, columns, style):
    width = nullcontext() if columns is None else plots.paper_columns(columns)
    with plt.style.context(style), width:
        found = legible.faults(SPECS[name](number))
    plt.close("all")
    return found


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SPECS)
def test_a_plot_in_one_column_can_be_read(name):
    assert _faults(name, 3, 1, "default") == []


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("number", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("name", SPECS)
def test_every_plot_can_be_read(name, number):
    for columns in (1, 2, None):
        # A dark style changes colours only.
        for style in ("default", "dark_background") if number == 3 else ("default",):
            if (name, number, columns) in TOO_NARROW:
                continue
            try:
                found = _faults(name, number, columns, style)
            except ValueError as error:
                if re.search(TOO_MANY, str(error)) is None:
                    raise
                return
            assert found == [], f"{columns} columns, {style}"


def test_what_cannot_be_read_is_found():
    figure, axes = plt.subplots(figsize=(2, 2))
    axes.set_axis_off()
    axes.text(0.1, 0.5, "first")
    axes.text(0.12, 0.5, "second")
    axes.text(0.9, 0.1, "beyond the edge")
    axes.text(0.1, 0.9, "tiny", fontsize=5)
    words = " ".join(legible.faults(figure))
    assert "'first' lies on 'second'" in words
    assert "'beyond the edge' is cut off" in words
    assert "'tiny' has 5.0 points" in words
    assert len(legible.faults(figure)) == 3

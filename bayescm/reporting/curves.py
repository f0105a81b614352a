"""The sections about scores: areas, curves, and which classifier has the better ones."""

import numpy as np
import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm.reporting import content, facts
from bayescm.reporting.cautions import few
from bayescm.reporting.parts import Picture, Section, Table
from bayescm.reporting.progress import tell

_AREAS = {"auc": "AUC", "average_precision": "average precision"}


def of_scores(scores: xr.Dataset, settings: dict) -> list[Section]:
    """Return the whole report of scores."""
    said = few(_totals(scores))
    return [
        _evaluated(scores),
        *beside(scores, settings),
        _computed(settings),
        Section("Cautions", said or ["No cautions."]),
    ]


def beside(scores: xr.Dataset, settings: dict) -> list[Section]:
    """Return the sections of curves beside those of answers."""
    tell("curves")
    known = _known(scores, settings)
    frame = known.tables[0].frame
    sections = [known]
    if scores.sizes.get("classifier", 1) > 1:
        sections.append(_better(scores, settings))
    row = frame.loc[(frame["upper"] - frame["lower"]).idxmax()]
    sections[0].sentences.append(
        f"The least certain is {row['area']}{_where(row)}, {row['upper'] - row['lower']:.3f} wide; "
        f"halving that takes about four times as many examples."
    )
    tell("pictures of curves")
    sections[0].pictures = _pictures(scores, settings)
    return sections


def _totals(scores):
    weight = scores["weight"] if "weight" in scores else xr.ones_like(scores["actual"], float)
    labels, place = np.unique(scores["actual"].values, return_inverse=True)
    sums = np.bincount(place, np.asarray(weight.values, float))
    return xr.DataArray(sums, dims="actual", coords={"actual": labels})


def _evaluated(scores):
    totals = _totals(scores)
    pairs = zip(totals["actual"].values, totals.values, strict=True)
    shares = ", ".join(f"{name} ({n:,.6g})" for name, n in pairs)
    said = [f"{scores.sizes['example']:,} examples with scores: {shares}."]
    if "positive" in scores.coords:
        said.append(f"The positive class is {scores.coords['positive'].item()}.")
    if "classifier" in scores.dims:
        names = ", ".join(str(name) for name in scores["classifier"].values)
        said.append(f"{scores.sizes['classifier']} classifiers on the same examples: {names}.")
    if "fold" in scores:
        said.append(
            "The curves are drawn fold by fold: scores of different folds need not be comparable."
        )
    if "prevalence" in scores.coords:
        share = float(scores.coords["prevalence"])
        said.append(f"Precision is for a population in which {100 * share:.4g}% are positive.")
    return Section("What was evaluated", said)


def _known(scores, settings):
    # Equal tails, as in the pictures: near the end of the scale the others cover worse.
    prob, kind = settings["prob"], "eti"
    section, rows = Section("Curves: what is known"), []
    for name, words in _AREAS.items():
        ends = getattr(bcm.curves, name)(scores, prob=prob, kind=kind)
        frame = ends.to_dataset(dim="bound").reset_coords(drop=True)
        frame = frame.to_dataframe().reset_index() if frame.sizes else _one_row(frame)
        frame.insert(0, "area", words)
        rows.append(frame)
    table = pd.concat(rows, ignore_index=True)
    section.tables = [
        Table(f"Areas under the curves, {100 * prob:.4g}% equal-tailed intervals", table)
    ]
    said = [
        f"{row['area']}{_where(row)} lies between {row['lower']:.3f} and {row['upper']:.3f} with "
        f"probability {100 * prob:.4g}%."
        for row in table.to_dict("records")
    ]
    section.sentences = content.first(said, "The table has the others.")
    return section


def _one_row(data):
    return pd.DataFrame([{name: values.item() for name, values in data.items()}])


def _where(row):
    named = [str(row[name]) for name in ("classifier", "class", "fold") if name in row]
    return f" of {', '.join(named)}" if named else ""


def _better(scores, settings):
    tables = [
        bcm.curves.compare(scores, name, prob=settings["prob"], kind="eti", rope=settings["rope"])
        for name in _AREAS
    ]
    table = pd.concat(tables, ignore_index=True)
    section = content.better(table, settings["rope"], settings["prob"])
    section.title = "Curves: which is better"
    return section


def _pictures(scores, settings):
    prob = settings["prob"]
    band = f"curve with its {100 * prob:.4g}% simultaneous band"
    return [
        Picture("roc", f"ROC {band}.", bcm.plot_roc(scores, prob=prob)),
        Picture(
            "precision-recall-curve",
            f"Precision-recall {band}.",
            bcm.plot_precision_recall(scores, prob=prob),
        ),
    ]


def _computed(settings):
    told = {
        "Model": "scores, which uses only the order of the scores",
        "Draws": "4000 per curve",
        "Seed": settings["random_seed"],
        **facts.versions(),
    }
    return Section("How it was computed", [f"{name}: {value}." for name, value in told.items()])

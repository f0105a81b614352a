"""
Coverage where labels come from a population with another prevalence: only error rates carry over.

The labels are as many of each class; the population that the judge has seen is not so. Beside the
posterior of two classes stands the interval of Lang and Reiczigel, which Lee et al. (2025) use for
judges. A classifier, if there is one, errs independently of the judge given the truth; its recall
is .85 and its specificity .9, with three classes it is right in .8 of each.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.interval import interval
from bayescm.classical import rogan_gladen
from bayescm.evidence import from_partly_labelled
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
_CLASSIFIER = {2: (0.9, 0.85), 3: (0.8, 0.8, 0.8)}  # chance to be right, by class
_JUDGES = ((0.9, 0.7), (0.9, 0.95), (0.7, 0.7))
_TWO: list[tuple] = [
    (prevalence, *judge, labels, 1000, classifier)
    for prevalence in (0.05, 0.3, 0.7)
    for judge in _JUDGES
    for labels, classifier in ((50, False), (200, False), (200, True))
]
# Of three classes "recall" is the judge's, in the last class, "specificity" in the two others.
_THREE: list[tuple] = [
    (shares, 0.9, 0.8, labels, 1000, classifier)
    for shares in ("0.2 0.3 0.5", "0.05 0.15 0.8")
    for labels, classifier in ((60, False), (240, False), (60, True), (240, True))
]
# Prevalence, recall and specificity of the judge, labels, examples judged, with a classifier.
CASES = dict(enumerate(_TWO + _THREE, start=1))
_COLUMNS = ("prevalence", "recall", "specificity", "labels", "examples", "classifier")


def _shares(prevalence):
    """Return the shares of the classes."""
    if isinstance(prevalence, str):
        return np.array(prevalence.split(), float)
    return np.array([1 - prevalence, prevalence])


def _said(truth, rights, rng):
    """Return answers; the wrong ones are any of the other classes."""
    right = rng.random(len(truth)) < np.take(rights, truth)
    return np.where(right, truth, (truth + rng.integers(1, len(rights), len(truth))) % len(rights))


def _f1(shares, rights):
    """Return the F1 of a classifier, macro-averaged over more than two classes."""
    wrong = (1 - np.array(rights)) / (len(rights) - 1)
    rows = np.where(np.eye(len(rights)), rights, wrong[:, None])
    return float(resolve("f1" if len(rights) == 2 else "f1_macro")(shares[:, None] * rows))


def generate(
    rng: np.random.Generator, case: int
) -> tuple[xr.DataArray | xr.Dataset, Mapping[str, float]]:
    """Return evidence of one case, and the true rate (and F1) where nobody labelled."""
    prevalence, recall, specificity, labels, size, classifier = case_of(CASES, case)
    shares = _shares(prevalence)
    classes = len(shares)
    where = np.repeat([0, 1], [labels, size])
    ends = np.cumsum([np.full(classes, 1 / classes), shares[::-1]], axis=1)[where, :-1]
    truth = classes - 1 - (rng.random(labels + size)[:, None] >= ends).sum(1)
    truth[:classes] = np.arange(classes)  # all classes are labelled
    judge = _said(truth, [*[specificity] * (classes - 1), recall], rng)
    predicted = _said(truth, _CLASSIFIER[classes], rng) if classifier else None
    human = [int(each) if place < labels else None for place, each in enumerate(truth)]
    known: dict[str, Any] = {"labels": range(classes), "positive": classes - 1}
    evidence = from_partly_labelled(human, predicted, judge, transfer="errors", **known)
    true = {"prevalence": float(shares[-1])}
    return evidence, true | ({"f1": _f1(shares, _CLASSIFIER[classes])} if classifier else {})


def answer(evidence: xr.DataArray, names: list[str]) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals."""
    if evidence.sizes["actual"] == 2:
        found = interval(evidence, names, kind="eti", draws=2000)
        return {name: found.sel(measure=name).values for name in names}
    asked = {"prevalence": "prevalence", "f1": "f1_macro"}
    ends = {name: interval(evidence, asked[name], kind="eti", draws=2000) for name in names}
    return {name: each.values.reshape(-1, 2)[-1] for name, each in ends.items()}


def published(evidence: xr.DataArray) -> Mapping[str, Any]:
    """Return the interval of Lang and Reiczigel, of the judge alone."""
    return {"prevalence": rogan_gladen(evidence).values}


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 27: three prevalences, three judges, 50 or 200 labels, without and with a classifier;
        28 to 35: three classes in two shares, 60 or 240 labels, without and with a classifier.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'transfer 1'
    """
    prevalence, *_, classifier = case_of(CASES, case)
    names = ["prevalence", "f1"] if classifier else ["prevalence"]
    methods: dict[str, Any] = {"transferred_errors": partial(answer, names=names)}
    if not classifier and not isinstance(prevalence, str):
        methods["rogan_gladen"] = published
    return Study(f"transfer {case}", partial(generate, case=case), methods)


table = table_of(study, CASES, columns=_COLUMNS)

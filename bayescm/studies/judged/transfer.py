"""
Coverage where labels come from a population with another prevalence: only error rates carry over.

The labels are half positive; the population that the judge has seen is not. Beside the posterior
stands the interval of Lang and Reiczigel, which Lee et al. (2025) use for judges. A classifier of
recall .85 and specificity .9, if there is one, errs independently of the judge given the truth.
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
_CLASSIFIER = (0.85, 0.9)
_JUDGES = ((0.9, 0.7), (0.9, 0.95), (0.7, 0.7))
# Prevalence, recall and specificity of the judge, labels, examples judged, with a classifier.
CASES = dict(
    enumerate(
        (
            (prevalence, *judge, labels, 1000, classifier)
            for prevalence in (0.05, 0.3, 0.7)
            for judge in _JUDGES
            for labels, classifier in ((50, False), (200, False), (200, True))
        ),
        start=1,
    )
)
_COLUMNS = ("prevalence", "recall", "specificity", "labels", "examples", "classifier")


def _said(truth, recall, specificity, rng):
    right = rng.random(len(truth)) < np.where(truth == 1, recall, specificity)
    return np.where(right, truth, 1 - truth)


def generate(
    rng: np.random.Generator, case: int
) -> tuple[xr.DataArray | xr.Dataset, Mapping[str, float]]:
    """Return evidence of one case, and the true rate (and F1) where nobody labelled."""
    prevalence, recall, specificity, labels, size, classifier = case_of(CASES, case)
    truth = (rng.random(labels + size) < np.repeat([0.5, prevalence], [labels, size])).astype(int)
    truth[:2] = 0, 1  # both classes are labelled
    judge = _said(truth, recall, specificity, rng)
    predicted = _said(truth, *_CLASSIFIER, rng) if classifier else None
    human = [int(each) if place < labels else None for place, each in enumerate(truth)]
    evidence = from_partly_labelled(human, predicted, judge, transfer="errors", labels=[0, 1])
    r, s = _CLASSIFIER
    cells = np.array([[s, 1 - s], [1 - r, r]]) * np.array([[1 - prevalence], [prevalence]])
    known = {"prevalence": prevalence}
    return evidence, known | ({"f1": float(resolve("f1")(cells))} if classifier else {})


def answer(evidence: xr.DataArray, names: list[str]) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals."""
    found = interval(evidence, names, kind="eti", draws=2000)
    return {name: found.sel(measure=name).values for name in names}


def published(evidence: xr.DataArray) -> Mapping[str, Any]:
    """Return the interval of Lang and Reiczigel, of the judge alone."""
    return {"prevalence": rogan_gladen(evidence).values}


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 27: three prevalences, three judges, 50 or 200 labels, without and with a classifier.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(1).name
    'transfer 1'
    """
    names = ["prevalence", "f1"] if case_of(CASES, case)[-1] else ["prevalence"]
    methods: dict[str, Any] = {"transferred_errors": partial(answer, names=names)}
    if len(names) == 1:
        methods["rogan_gladen"] = published
    return Study(f"transfer {case}", partial(generate, case=case), methods)


table = table_of(study, CASES, columns=_COLUMNS)

"""
What a chosen label is worth: F1 from labels of random examples, and from those of `plan_labels`.

Of 2,000 items some are positive; classifier (recall .8, specificity .95) and judge (.85, .85) err
independently of each other given the truth. After 20 random labels those chosen come in batches of
10. Each interval is a 95% equal-tailed one of the population's F1.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import bayescm as bcm
from bayescm.answers.interval import interval
from bayescm.evidence import from_partly_labelled
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
_CLASSIFIER, _JUDGE = (0.8, 0.95), (0.85, 0.85)
_ITEMS, _FIRST, _BATCH, _DRAWS = 2000, 20, 10, 2000
# Share of positives, how many labels are chosen, and of how many random ones.
CASES: dict[int, tuple] = {
    1: (0.05, (50, 100), (50, 100, 111, 222)),
    2: (0.5, (50,), (50, 111)),
}


def _said(truth, rates, rng):
    right = rng.random(len(truth)) < np.where(truth == 1, *rates)
    return np.where(right, truth, 1 - truth)


def generate(rng: np.random.Generator, case: int) -> tuple[np.ndarray, Mapping[str, float]]:
    """Return truth, predictions and judgements (3, items), and the true F1 for every method."""
    prevalence, chosen, random = case_of(CASES, case)
    truth = (rng.random(_ITEMS) < prevalence).astype(int)
    recall, specificity = _CLASSIFIER
    rates = np.array([[specificity, 1 - specificity], [1 - recall, recall]])
    f1 = float(resolve("f1")(np.array([[1 - prevalence], [prevalence]]) * rates))
    data = np.stack([truth, *(_said(truth, each, rng) for each in (_CLASSIFIER, _JUDGE))])
    return data, {f"{each} labels": f1 for each in sorted({*chosen, *random})}


def _human(truth, known):
    return [int(each) if seen else None for each, seen in zip(truth, known, strict=True)]


def _interval(data, known):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a judge that does not help
        evidence = from_partly_labelled(_human(data[0], known), data[1], data[2], labels=[0, 1])
    return evidence, interval(evidence, "f1", kind="eti", draws=_DRAWS).values


def at_random(data: np.ndarray, sizes: Sequence[int]) -> Mapping[str, Any]:
    """Return intervals from labels of the first items, which are in random order."""
    place = np.arange(data.shape[1])
    return {f"{size} labels": _interval(data, place < size)[1] for size in sizes}


def planned(data: np.ndarray, sizes: Sequence[int]) -> Mapping[str, Any]:
    """Return intervals from labels that `plan_labels` chose, batch by batch."""
    known, found = np.arange(data.shape[1]) < _FIRST, {}
    while known.sum() < max(sizes):
        evidence, _ = _interval(data, known)
        rest = max(sizes) - int(known.sum())
        plan = bcm.plan_labels(evidence, "f1", rest, batch=min(_BATCH, rest))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options: dict[str, Any] = {"labels": [0, 1], "random_seed": int(known.sum())}
            known[
                bcm.planning.choose(plan, _human(data[0], known), data[1], data[2], **options)
            ] = True
        if known.sum() in sizes:
            found[f"{known.sum()} labels"] = _interval(data, known)[1]
    return found


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1: 5 % positives; 2: half of them.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(2).name
    'labelling 2'
    """
    _, chosen, random = case_of(CASES, case)
    methods = {"random": partial(at_random, sizes=random), "chosen": partial(planned, sizes=chosen)}
    return Study(f"labelling {case}", partial(generate, case=case), methods)


table = table_of(study, CASES, columns=("prevalence",))

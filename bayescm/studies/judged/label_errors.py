"""
Coverage of measures against the truth where test labels are wrong at some rate.

Classifiers and labels err independently given the truth. The rates of errors are known, or drawn in
every data set from the Beta distribution that the answer is told. Beside it stands what comes of
taking the labels for the truth.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.compare import compare
from bayescm.answers.interval import interval
from bayescm.evidence import at_prevalence, from_matrix
from bayescm.evidence.outcomes import from_classifiers
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import case_of, table_of

TABLES = ("coverage",)
_RATES = {"known .05": 0.05, "known .02, .15": {0: 0.02, 1: 0.15}, "Beta(5, 95)": (5, 95)}
CASES: dict[int, tuple] = dict(
    enumerate(
        (
            (n, prevalence, rates)
            for n in (100, 400, 2000)
            for prevalence in (0.5, 0.15)
            for rates in _RATES
        ),
        start=1,
    )
)
OTHER, THREE, PAIRED = (len(CASES) + each for each in (1, 2, 3))
CASES |= {
    OTHER: (400, 0.5, "Beta(5, 95), at prevalence .1"),
    THREE: (400, 1 / 3, "three classes, known .08"),
    PAIRED: (400, 0.4, "two classifiers, Beta(5, 95)"),
}
_RECALL, _SPECIFICITY, _TARGET = 0.85, 0.9, 0.1
_NAMES = ("prevalence", "recall", "specificity", "precision", "f1", "mcc")
_MANY = ("accuracy", "f1_macro", "recall_macro", "mcc")
_DRAWS = 4000


def _table(prevalence, size=2, right=(_SPECIFICITY, _RECALL)):
    """Return the true cells of a classifier."""
    if size == 2:
        shares = np.array([1 - prevalence, prevalence])
        rates = [[right[0], 1 - right[0]], [1 - right[1], right[1]]]
    else:
        shares = np.array([0.5, 0.3, 0.2])
        rates = [[0.9, 0.07, 0.03], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]]
    return shares[:, None] * np.array(rates)


def _labels(truth, rates, rng, size=2):
    """Return labels that are wrong at the rates (C,) of the true classes."""
    wrong = rng.random(truth.size) < rates[truth]
    return np.where(wrong, (truth + rng.integers(1, size, truth.size)) % size, truth)


def _drawn(given, rng, size=2):
    if isinstance(given, tuple):
        return rng.beta(*given, size)
    values = given if isinstance(given, Mapping) else dict.fromkeys(range(size), given)
    return np.array([values[each] for each in range(size)])


def generate(
    rng: np.random.Generator, n: int, prevalence: float, given: Any, *, target: float | None = None
) -> tuple[xr.DataArray, Mapping[str, float]]:
    """Return counts by label, and the measures against the truth."""
    size = 3 if prevalence == 1 / 3 else 2
    cells = _table(prevalence, size)
    place = rng.choice(cells.size, n, p=cells.ravel())
    labels = _labels(place // size, _drawn(given, rng, size), rng, size)
    counts = np.zeros((size, size), int)
    np.add.at(counts, (labels, place % size), 1)
    evidence = from_matrix(counts, positive=1 if size == 2 else None)
    names = _NAMES if size == 2 else _MANY
    if target is not None:
        evidence, cells = at_prevalence(evidence, target), _table(target)
    return evidence, {name: float(resolve(name)(cells)) for name in names}


def generate_pairs(
    rng: np.random.Generator, n: int, prevalence: float, given: Any
) -> tuple[xr.Dataset, Mapping[str, float]]:
    """Return outcomes of two classifiers by label, and their true differences."""
    truth = (rng.random(n) < prevalence).astype(int)
    tables = {"a": _table(prevalence), "b": _table(prevalence, right=(0.85, 0.75))}
    right = {name: np.diagonal(cells) / cells.sum(-1) for name, cells in tables.items()}
    hard = rng.random(n)  # of the examples: the classifiers err together
    said = {name: np.where(hard < each[truth], truth, 1 - truth) for name, each in right.items()}
    labels = _labels(truth, _drawn(given, rng), rng)
    measures = {name: resolve(name) for name in ("accuracy", "recall", "f1")}
    values = {k: float(f(tables["a"]) - f(tables["b"])) for k, f in measures.items()}
    return from_classifiers(labels, said, positive=1), values


def answer(evidence: xr.DataArray, given: Any) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals; without rates labels are taken for the truth."""
    names = list(_NAMES if evidence.sizes["actual"] == 2 else _MANY)
    model = {} if given is None else {"label_error": given, "draws": _DRAWS}
    found = interval(evidence, names, kind="eti", **model)
    return {name: found.sel(measure=name).values for name in names}


def difference(evidence: xr.Dataset, given: Any) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of the differences of two classifiers."""
    model = {} if given is None else {"label_error": given}
    found = compare(evidence, ["accuracy", "recall", "f1"], kind="eti", draws=_DRAWS, **model)
    return {row["measure"]: [row["lower"], row["upper"]] for row in found.to_dict("records")}


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 18: three sizes, two prevalences and three kinds of rates; 19: at another prevalence;
        20: three classes; 21: two classifiers.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(3).name
    'label errors 100 0.5 Beta(5, 95)'
    """
    n, prevalence, rates = case_of(CASES, case)
    given: Any = _RATES.get(rates, (5, 95))
    options: dict[str, Any] = {"n": n, "prevalence": prevalence, "given": given}
    if case == THREE:
        options["given"] = given = 0.08
    if case == OTHER:
        options["target"] = _TARGET
    made = partial(generate_pairs if case == PAIRED else generate, **options)
    answers = {"mislabelled": given, "taken for the truth": None}
    asked = difference if case == PAIRED else answer
    methods = {name: partial(asked, given=each) for name, each in answers.items()}
    return Study(f"label errors {n} {prevalence:.3g} {rates}", made, methods)


table = table_of(study, CASES, columns=("n", "prevalence", "rates"))

"""
Coverage of what raters are worth against a truth that nobody has seen.

Raters are given by recall and specificity, of more than two classes by accuracy, and err
independently given the truth; or examples are hard for all alike, so that errors are correlated on
the normal scale as the model has it; or raters look at the same thing now and then, so that their
errors are correlated as such, which is none of the model's. Of each rater the measures are his own;
a row averages over the raters.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtr

from bayescm.direct.noisy_labels import noisy_labels
from bayescm.evidence import from_raters
from bayescm.measures.catalogue import resolve
from bayescm.simulation.coverage import Study
from bayescm.studies.tables import Settings, case_of, run_chosen
from bayescm.validate import check_choice

TABLES = ("coverage",)
_NAMES = ("prevalence", "recall", "specificity", "f1")
_OF_MANY = ("accuracy", "recall_macro", "f1_macro")
_DRAWS = 4000


class Setting(NamedTuple):
    """The share of positives, raters, examples, gold labels, and how errors depend."""

    prevalence: float
    raters: str
    n: int
    gold: int
    dependence: str = ""
    classes: int = 2


CASES: dict[int, Setting] = {
    1: Setting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95", 200, 0),
    2: Setting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95 0.9/0.8", 200, 0),
    3: Setting(0.5, "0.7/0.8 0.8/0.8 0.75/0.7 0.9/0.85 0.8/0.9", 300, 0),
    4: Setting(0.2, "0.8/0.9 0.7/0.95", 300, 60),
    5: Setting(0.3, "0.7/0.75 0.75/0.7 0.7/0.8 0.8/0.7", 200, 0),
    6: Setting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95 0.9/0.8", 300, 0, "difficulty 0.2"),
    7: Setting(0.5, "0.7/0.8 0.8/0.8 0.75/0.7 0.9/0.85 0.8/0.9", 300, 0, "difficulty 0.2"),
    8: Setting(0.3, "0.8/0.9 0.85/0.85 0.75/0.95", 300, 60, "difficulty 0.2"),
    9: Setting(0.4, "0.8/0.85 0.85/0.85 0.75/0.9 0.9/0.8", 300, 0, "errors 0.2"),
    10: Setting(0.4, "0.8/0.85 0.85/0.85 0.75/0.9", 300, 60, "errors 0.2"),
    11: Setting(0.25, "0.8 0.7 0.75", 300, 0, "", 4),
    12: Setting(0.25, "0.7 0.65 0.8 0.75 0.6", 200, 0, "", 4),
    # What no choice was made by: of the default dependence, and of the prior of four classes.
    13: Setting(0.25, "0.85/0.9 0.7/0.85 0.8/0.8 0.75/0.9", 400, 0),
    14: Setting(0.35, "0.75/0.85 0.8/0.9 0.85/0.75 0.7/0.8 0.9/0.9", 400, 0, "errors 0.2"),
    15: Setting(0.25, "0.85/0.9 0.7/0.85 0.8/0.8 0.75/0.9", 400, 0, "errors 0.2"),
    16: Setting(0.5, "0.8/0.75 0.7/0.9", 250, 50, "errors 0.2"),
    17: Setting(0.25, "0.85 0.6 0.75 0.7", 250, 0, "", 4),
}


def _rates(setting):
    """Return each rater's rates (R, C, C) given the truth."""
    given = [list(map(float, each.split("/"))) for each in setting.raters.split()]
    if setting.classes == 2:
        return np.array([[[sp, 1 - sp], [1 - se, se]] for se, sp in given])
    wrong = (1 - np.array(given)[:, :, None]) / (setting.classes - 1)
    same = np.eye(setting.classes)
    return np.array(given)[:, :, None] * same + wrong * (1 - same)


def _luck(rng, shape, dependence):
    """Return uniform numbers (R, n): high ones are errors, of all raters together or not."""
    kind, _, by = dependence.partition(" ")
    if kind == "errors":  # of two raters who look at the same thing now and then
        same = rng.random(shape) < float(by) ** 0.5
        return np.where(same, rng.random(shape[1]), rng.random(shape))
    if kind == "difficulty":
        hard, own = rng.standard_normal(shape[1]), rng.standard_normal(shape)
        return ndtr(float(by) ** 0.5 * hard + (1 - float(by)) ** 0.5 * own)
    return rng.random(shape)


def generate(rng: np.random.Generator, case: int) -> tuple[xr.Dataset, Mapping[str, Any]]:
    """Return ratings, and each rater's true measures."""
    setting = case_of(CASES, case)
    shares = np.full(setting.classes, 1 / setting.classes)
    if setting.classes == 2:
        shares = np.array([1 - setting.prevalence, setting.prevalence])
    truth = rng.choice(setting.classes, setting.n, p=shares)
    rates = _rates(setting)
    known: dict[str, float] = {}
    for place, rate in enumerate(rates):
        for name in _measures(setting.classes):
            known[f"{name} {place}"] = float(resolve(name)(shares[:, None] * rate))
    luck = _luck(rng, (len(rates), setting.n), setting.dependence)
    right = luck < rates[:, truth, truth]
    other = (truth + rng.integers(1, setting.classes, right.shape)) % setting.classes
    said = {f"r{place}": each for place, each in enumerate(np.where(right, truth, other))}
    labels = [int(each) if place < setting.gold else None for place, each in enumerate(truth)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of three raters
        evidence = from_raters(said, gold=labels if setting.gold else None)
    return evidence, known


def _measures(classes):
    return _NAMES if classes == 2 else _OF_MANY


def answer(evidence: xr.Dataset, dependence: Any = None) -> Mapping[str, Any]:
    """Return 95% equal-tailed intervals of every rater's measures."""
    names, rng = _measures(evidence.sizes["actual"]), np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of draws that are worth little
        posterior = noisy_labels(evidence, dependence=dependence)
        drawn = posterior.draw([resolve(name) for name in names], _DRAWS, rng)
    ends = [np.nanquantile(each, [0.025, 0.975], axis=0) for each in drawn]
    return {
        f"{name} {place}": each[:, place]
        for name, each in zip(names, ends, strict=True)
        for place in range(each.shape[1])
    }


def study(case: int) -> Study:
    """
    Return one case, ready for `bayescm.simulation.coverage.run`.

    Parameters
    ----------
    case : int
        1 to 17, as in ``CASES``; the last five had no part in any choice.

    Returns
    -------
    Study

    Examples
    --------
    >>> study(4).name
    'raters 4'
    """
    methods: dict[str, Any] = {"noisy_labels": answer}
    setting = case_of(CASES, case)
    if setting.classes == 2 and (setting.gold or len(setting.raters.split()) > 3):
        methods["dependence=0"] = partial(answer, dependence=0.0)
    return Study(f"raters {case}", partial(generate, case=case), methods)


def table(
    name: str = "coverage", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage and the length of intervals of raters' measures.

    Parameters
    ----------
    name : {"coverage"}
    case : int, optional
        One case only; see `study`.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
        A row for each case, measure and method: ``doc`` and ``il`` are means over the raters.
    """
    check_choice("table", name, list(TABLES))
    columns = Setting._fields
    frame = run_chosen(study, CASES, case, settings, columns=columns)
    frame["measure"] = frame["measure"].str.rsplit(" ", n=1).str[0]
    keys = ["case", *columns, "measure", "method", "replications", "seed", "version"]
    keys = [each for each in keys if each in frame]
    return frame.groupby(keys, sort=False, as_index=False)[["doc", "il"]].mean()

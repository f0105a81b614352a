"""Coverage of curves, of paired differences and of chosen thresholds, case by case."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pandas as pd

from bayescm.simulation.coverage import Study
from bayescm.studies.ours.curves import answers, populations, weighted
from bayescm.studies.tables import Settings
from bayescm.validate import check_choice, fail

TABLES = ("curves", "paired", "choice", "weighted")

_CHOICES = [
    ("binormal", 0.8, 50, 0.3),
    ("binormal", 0.8, 200, 0.3),
    ("binormal", 0.96, 100, 0.2),
    ("heavy", 0.96, 100, 0.2),
    ("heavy", 0.8, 200, 0.3),
]


def cases(name: str) -> list[dict[str, Any]]:
    """
    Return the settings of a table, keywords of its study.

    Examples
    --------
    >>> len(cases("curves")), len(cases("paired"))
    (60, 32)
    """
    if name == "paired":
        return [
            {"areas": areas, "correlation": correlation, "n": n, "prevalence": prevalence}
            for (n, prevalence), correlation, areas in product(
                answers.SIZES, answers.CORRELATIONS, answers.AREAS
            )
        ]
    if name == "weighted":
        pairs = product(weighted.KINDS, weighted.SIZES)
        return [{"weights": weights, "n": n} for weights, n in pairs]
    keys = ("population", "area", "n", "prevalence")
    if name == "choice":
        return [dict(zip(keys, each, strict=True)) for each in _CHOICES]
    return [
        dict(zip(keys, (population, area, *size), strict=True))
        for size, area, population in product(
            populations.SIZES, populations.AREAS, populations.POPULATIONS
        )
    ]


def study(name: str, case: int) -> Study:
    """Return one case of a table, counted from 1."""
    form: Callable[..., Study] = {  # type: ignore[assignment]
        "curves": populations.study,
        "paired": answers.paired_study,
        "choice": answers.choice_study,
        "weighted": weighted.study,
    }[name]
    return form(**_case(name, case))


def table(
    name: str = "curves", case: int | None = None, settings: Settings | None = None
) -> pd.DataFrame:
    """
    Return the coverage of what is said about curves.

    Parameters
    ----------
    name : {"curves", "paired", "choice", "weighted"}
    case : int, optional
        One case only, counted from 1.
    settings : Settings, optional
        How much is simulated, and where.

    Returns
    -------
    pandas.DataFrame
    """
    check_choice("table", name, list(TABLES))
    parts = []
    for number in range(1, len(cases(name)) + 1) if case is None else [case]:
        setting = _case(name, number)
        frame = (settings or Settings()).run(study(name, number))
        first, second = setting.pop("areas", (None, None))
        labels = {} if first is None else {"first_area": first, "second_area": second}
        parts.append(frame.assign(case=number, **labels, **setting))
    whole = pd.concat(parts, ignore_index=True)
    front = ["case", "study", *labels, *setting]
    return whole[[*front, *whole.columns.drop(front)]]


def _case(name, case):
    settings = cases(name)
    if not 1 <= case <= len(settings):
        allowed = f"1 to {len(settings)}"
        raise fail(f"no such case in table {name}", case, allowed, "choose one of these")
    return dict(settings[case - 1])

"""Classification report: measures of every class, averages and accuracy, with intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from bayescm.answers.summary import summary
from bayescm.evidence.labels import check_no_missing_text
from bayescm.evidence.predictions import from_predictions
from bayescm.validate import fail

_COLUMNS = {"precision": "precision", "recall": "recall", "f1": "f1-score"}
_AVERAGES = {"macro": "macro avg", "weighted": "weighted avg"}


@dataclass(frozen=True, repr=False)
class ClassificationReport:
    """
    Classification report in scikit-learn's format, with intervals.

    Attributes
    ----------
    frame : DataFrame
        One row per measure for each class and both averages, and one row for the accuracy. Columns
        are ``name``, ``measure``, ``point``, ``lower``, ``upper`` and ``support``.
        ``attrs["caution"]`` contains the cautions about the averages, as in `bayescm.summary`.
    digits : int
        Number of decimals to print.
    """

    frame: pd.DataFrame
    digits: int = 2

    def __repr__(self) -> str:
        """Return the report as text, with its cautions."""
        return self.table().to_string(na_rep="") + self._caution("\n\nCaution: {}")

    def _repr_html_(self) -> str:
        return self.table().to_html(na_rep="") + self._caution("<p>Caution: {}</p>", escape)

    def _caution(self, written, escaped=str):
        caution = self.frame.attrs.get("caution")
        return written.format(escaped(caution)) if caution else ""

    def table(self) -> pd.DataFrame:
        """Return the report as a table of formatted text, with one row per name."""
        rows: dict[str, dict[str, str]] = {}
        for row in self.frame.itertuples():
            cells = rows.setdefault(row.name, dict.fromkeys([*_COLUMNS.values(), "support"], ""))
            column = "f1-score" if row.measure == "accuracy" else _COLUMNS[row.measure]
            cells[column] = self._words(row.point, row.lower, row.upper)
            cells["support"] = f"{row.support:.15g}"
        return pd.DataFrame.from_dict(rows, orient="index")

    def _words(self, *numbers):
        point, lower, upper = (f"{number:.{self.digits}f}" for number in numbers)
        return f"{point} [{lower}, {upper}]"


def classification_report(
    actual: Any,
    predicted: Any,
    *,
    labels: Any = None,
    digits: int = 2,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> ClassificationReport:
    """
    Return precision, recall, F1 and accuracy with intervals, as a report.

    Point estimates are the same as in `sklearn.metrics.classification_report` with
    ``zero_division=np.nan``. Averages and their intervals exclude the classes for which the measure
    is 0/0 in the sample.

    Parameters
    ----------
    actual, predicted : array_like, shape (n,)
        True labels and predictions of the classifier.
    labels : sequence, optional
        All classes, in order. By default the sorted labels that occur.
    digits : int, default 2
        Number of decimals to print.
    prob, kind, of, n, model, concentration, draws, random_seed, accuracy, **keywords
        See `bayescm.interval`.

    Returns
    -------
    ClassificationReport
        Report that can be printed. Its attribute ``frame`` contains the numbers.

    Raises
    ------
    ValueError
        If lengths differ, if a label is missing or not a class, or if there are fewer than two
        classes.
    TypeError
        If ``positive`` is passed, or the model does not support a keyword.

    Examples
    --------
    >>> truth = ["cat"] * 40 + ["dog"] * 60
    >>> answer = ["cat"] * 30 + ["dog"] * 65 + ["cat"] * 5
    >>> classification_report(truth, answer)
                          precision             recall           f1-score support
    cat           0.86 [0.73, 0.95]  0.75 [0.61, 0.87]  0.80 [0.69, 0.89]      40
    dog           0.85 [0.75, 0.92]  0.92 [0.84, 0.97]  0.88 [0.81, 0.93]      60
    accuracy                                            0.85 [0.77, 0.91]     100
    macro avg     0.85 [0.77, 0.91]  0.83 [0.75, 0.90]  0.84 [0.76, 0.90]     100
    weighted avg  0.85 [0.78, 0.91]  0.85 [0.77, 0.91]  0.85 [0.77, 0.91]     100
    """
    if "positive" in keywords:
        raise fail(
            f"`positive={keywords['positive']!r}` has no effect: the report shows each "
            "class as the positive one",
            ...,
            "",
            "leave it out, and use the row of this class",
            TypeError,
        )
    if labels is None:
        labels = sorted({*np.unique(np.asarray(actual)).tolist(), *np.unique(predicted).tolist()})
        check_no_missing_text(labels)
    counts = from_predictions(actual, predicted, labels=labels)
    counts = counts.drop_vars("positive", errors="ignore")
    options: dict[str, Any] = {"prob": prob, "kind": kind, "of": of, "n": n, "model": model}
    options |= {"concentration": concentration, "draws": draws, "random_seed": random_seed}
    options |= {"accuracy": accuracy, **keywords}
    support = counts.sum("predicted").to_series()
    parts = [rows.assign(support=support[label]) for label, rows in _classes(counts, options)]
    names = ["accuracy", *(f"{name}_{over}" for over in _AVERAGES for name in _COLUMNS)]
    averages = summary(counts, names, **options)
    averages["name"] = [_AVERAGES.get(name.partition("_")[2], name) for name in averages["measure"]]
    averages["measure"] = [name.partition("_")[0] for name in averages["measure"]]
    parts.append(averages.assign(support=support.sum()))
    columns = ["name", "measure", "point", "lower", "upper", "support"]
    frame = pd.concat(map(pd.DataFrame, parts), ignore_index=True)[columns]
    caution = averages.attrs.get("caution")
    frame.attrs = {"caution": caution} if caution else {}
    return ClassificationReport(frame, digits)


def _classes(counts, options):
    """Yield the rows of every class. With two classes, each is the positive class in turn."""
    labels, names = counts["actual"].values.tolist(), list(_COLUMNS)
    if len(labels) == 2:
        for label in labels:
            rows = summary(counts.assign_coords(positive=label), names, **options)
            yield label, rows.assign(name=str(label))
    else:
        table = summary(counts, names, **options)
        for label in labels:
            yield label, table[table["class"] == label].assign(name=str(label))

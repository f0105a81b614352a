"""
What a measure is in terms of the cells, from which its posterior distribution is found.

`bayescm.distributions` reads the forms; nothing is computed here.
"""

from collections.abc import Callable
from typing import NamedTuple

from bayescm.measures import odds


class Proportion(NamedTuple):
    """
    The form of a proportion: of some cells among these and the rest.

    Cells are ``tp``, ``fn``, ``fp`` and ``tn``, joined by ``+``; or ``right`` and ``wrong``, those
    on and off the diagonal for any number of classes.
    """

    part: str
    rest: str


class Overlap(NamedTuple):
    """The form tp / (tp + fn_weight * fn + fp_weight * fp)."""

    fn_weight: float
    fp_weight: float


class Cost(NamedTuple):
    """The form of the mean of a number per cell, rows = actual."""

    matrix: tuple[tuple[float, ...], ...]


class MeanOverClasses(NamedTuple):
    """The form of the mean over the classes of a measure of one class of a form of its own."""

    form: "Proportion | Overlap"


class Curved(NamedTuple):
    """
    The form of a function of the calibration curve.

    ``zero`` says whether it is a distance, 0 where the forecasts are right: no two-sided interval
    holds that 0, and the lower limit is 0 where the band of the curve holds it. ``whole`` says
    whether it is of the chances of all classes given the whole forecast.
    """

    zero: bool
    whole: bool = False


class Function(NamedTuple):
    """
    The form of a function of the cells of two classes, by its odds.

    ``shares`` says of which independent shares it is made, in all of which it is monotone:
    ``"rates"`` (recall and false positive rate), ``"columns"`` (precision and false omission rate),
    ``"positives"`` (fp among all but tn, tp among the positives), ``"cells"`` (tn among all, fp
    among the rest, tp among the positives), ``"errors"`` (tp among tp and errors, fn among errors)
    or ``"table"`` (prevalence and both rates). ``odds`` is a function of `bayescm.measures.odds`.
    """

    shares: str
    odds: Callable


class Repeated(NamedTuple):
    """
    The form of a function of so many answers to one item.

    ``votes`` says whether it goes by which answers are equal, where that is known.
    """

    answers: int
    votes: bool = False


type Form = Proportion | Overlap | Cost | Function | MeanOverClasses | Curved | Repeated


def over_all_classes(form: Form | None, how: str = "micro") -> Form | None:
    """Return the form of an average; of a micro one misses and false alarms are the same number."""
    if how == "macro" and isinstance(form, Proportion | Overlap):
        return MeanOverClasses(form)
    if how != "micro":
        return None
    sums = {"tp": "right", "fn": "wrong", "fp": "wrong"}
    if isinstance(form, Proportion) and form.part in sums and form.rest in sums:
        return Proportion(sums[form.part], sums[form.rest])
    overlap = isinstance(form, Overlap) and sum(form) == 1
    # A mean of precision and recall, or the larger one, where both are the same.
    mean = isinstance(form, Function) and form.odds in (odds.fowlkes_mallows, odds.overlap)
    return Proportion("right", "wrong") if overlap or mean else None

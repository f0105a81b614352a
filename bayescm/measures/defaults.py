"""The measures that are answered where none are asked for."""

from typing import NamedTuple

import xarray as xr

from bayescm.evidence.counts import abstains, classes, positive


class Defaults(NamedTuple):
    """Measures of two classes with a positive one, of two without, and of more."""

    with_positive: tuple[str, ...]
    without_positive: tuple[str, ...]
    many_classes: tuple[str, ...]


_SIX = ("accuracy", "precision", "recall", "specificity", "f1", "mcc")
_OVERALL = ("accuracy", "balanced_accuracy", "f1_macro", "mcc")
REPORTED = Defaults(_SIX, _OVERALL, _OVERALL)
# A table has a row for each class, so that F1 of each stands beside its average.
TABULATED = Defaults(_SIX, _OVERALL, ("accuracy", "f1", "f1_macro", "mcc"))
WATCHED = Defaults(
    ("precision", "recall", "specificity", "accuracy", "f1"),
    _OVERALL,
    ("recall", "precision", "accuracy", "f1_macro"),
)
# Of all kinds of evidence: no difference depends on which class is positive.
COMPARED = ("accuracy", "f1_macro", "mcc")


def default_measures(counts: xr.DataArray, defaults: Defaults = REPORTED) -> list[str]:
    """
    Return the measures worth showing first for this kind of evidence.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
    defaults : Defaults, optional

    Returns
    -------
    list of str
        With ``coverage`` where the classifier abstains. Where nothing but a judge has seen the
        examples, ``prevalence`` comes first, and alone where the judge's answers are no classes.

    Examples
    --------
    >>> import bayescm as bcm
    >>> default_measures(bcm.from_matrix([[65, 15], [35, 30]]))
    ['accuracy', 'precision', 'recall', 'specificity', 'f1', 'mcc']
    """
    if len(classes(counts)) > 2:
        usual = defaults.many_classes
    else:
        usual = defaults.without_positive if positive(counts) is None else defaults.with_positive
    classified = counts.coords.get("classified", "classifier")
    if classified == "nothing":
        return ["prevalence"]
    first = ["prevalence"] if classified == "judge" else []
    return [*first, *usual, *(["coverage"] if abstains(counts) else [])]

"""How measures are called: other names for the same, and names with parameters."""

import ast
import re
from typing import Any

from bayescm.validate import fail

ALIASES = {
    "accuracy_score": "accuracy",
    "balanced_accuracy_score": "balanced_accuracy",
    "cohen_kappa_score": "cohen_kappa",
    "correlation": "mcc",
    "cosine": "fowlkes_mallows",
    "dor": "diagnostic_odds_ratio",
    "error": "error_rate",
    "f0.5": "fbeta(0.5)",
    "f2": "fbeta(2)",
    "fall_out": "fpr",
    "false_omission_rate": "for_",
    "g_score": "fowlkes_mallows",
    "hit_rate": "recall",
    "kappa": "cohen_kappa",
    "lr_minus": "negative_likelihood_ratio",
    "lr_plus": "positive_likelihood_ratio",
    "matthews_corrcoef": "mcc",
    "miss_rate": "fnr",
    "phi": "mcc",
    "ppv": "precision",
    "selectivity": "specificity",
    "sensitivity": "recall",
    "tnr": "specificity",
    "tpr": "recall",
    "youden": "informedness",
    "youden_j": "informedness",
}
AVERAGES = ("macro", "micro", "weighted")


def parse(text: str) -> tuple[str, tuple[Any, ...], str]:
    """
    Split the name of a measure into its base, its parameters and its average over classes.

    Examples
    --------
    >>> parse("fbeta(0.5)_macro"), parse("g_score"), parse("tversky(0.3, 0.7)")[1]
    (('fbeta', (0.5,), 'macro'), ('fowlkes_mallows', (), ''), (0.3, 0.7))
    """
    name, how = re.sub(r"\s", "", text), ""
    if name.rpartition("_")[2] in AVERAGES:
        name, _, how = name.rpartition("_")
    name = ALIASES.get(name, name)
    match = re.fullmatch(r"([^()]+)\((.+)\)", name)
    if match is None:
        return name, (), how
    try:
        return match[1], ast.literal_eval(f"({match[2]},)"), how
    except (SyntaxError, ValueError):
        allowed = "e.g. fbeta(0.5), tversky(0.3,0.7) or cost([[0,1],[5,0]])"
        todo = "write numbers separated by commas"
        raise fail("cannot read the parameters of a measure", text, allowed, todo) from None

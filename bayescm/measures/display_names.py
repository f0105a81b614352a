"""
Display names of measures and dimensions, such as "F1", "MCC" and "F1 (macro)".

In data (coordinates, DataFrames, JSON and CSV), a measure keeps the name by which it was requested.
Plots, formatted tables and sentences use its display name. The catalogue states only the display
names that do not follow from these rules::

    word_word          separate words, with abbreviations in capitals and proper names capitalised
    name_macro         name (macro), and likewise for other averages
    name(parameters)   name (parameters)
    name[a,b]          name of a, b

If ``display_names`` contains a name or its base, this entry takes precedence over the rules.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from bayescm.measures.attempts import NOTATION
from bayescm.measures.catalogue import own, resolve
from bayescm.measures.measure import Measure
from bayescm.measures.preferences import WITH_OPPONENT
from bayescm.validate import fail

type DisplayNames = Mapping[Any, str] | None

_CAPITALS = "f0.5 f1 f2 mcc auc roc ap ppv npv tpr tnr fpr fnr fdr dor ece ici sd"
_WORDS = {word: word.upper() for word in _CAPITALS.split()}
_WORDS |= {"brier": "Brier", "cohen": "Cohen's", "tversky": "Tversky", "hamming": "Hamming"}
_WORDS |= {"fleiss": "Fleiss'", "krippendorff": "Krippendorff's", "gwet": "Gwet's", "ac1": "AC1"}
_SUFFIXES = {
    "macro": "macro",
    "micro": "micro",
    "weighted": "weighted",
    "samples": "samples",
    "top_label": "top label",
    "ovr": "one versus rest",
    "full": "whole forecast",
    "linear": "linear",
    "quadratic": "quadratic",
}
# Display names of the document that is being written, such as a report.
_of_document: ContextVar[DisplayNames] = ContextVar("display names", default=None)
_NOTATION = {function: written for written, function in NOTATION.items()}


def display_name(measure: str | Callable, display_names: DisplayNames = None) -> str:
    """
    Return the display name of a measure, for plots, tables and text.

    Parameters
    ----------
    measure : str or callable
        Name of a measure. See `resolve`. The name of a custom function is also accepted.
    display_names : mapping of str to str, optional
        Display names that override the defaults.

    Returns
    -------
    str

    Raises
    ------
    ValueError, TypeError
        If ``display_names`` is not a mapping from names to text.

    Examples
    --------
    >>> [display_name(name) for name in ("f1", "mcc", "balanced_accuracy", "f1_macro", "recall[b]")]
    ['F1', 'MCC', 'balanced accuracy', 'F1 (macro)', 'recall of b']
    >>> display_name("f1_macro", {"f1": "F-measure"})
    'F-measure (macro)'
    """
    stated = check_display_names(display_names)
    name = measure if isinstance(measure, str) else own(measure).__name__
    return _display_name(name, stated)


@contextmanager
def displaying(display_names: DisplayNames) -> Iterator[None]:
    """Use these display names within the context, unless others are passed."""
    token = _of_document.set(check_display_names(display_names))
    try:
        yield
    finally:
        _of_document.reset(token)


def names_in_call(measures: Iterable[str | Callable]) -> dict[str, str]:
    """
    Return the display names that reproduce the names used in a call.

    Examples
    --------
    >>> names_in_call(["sensitivity", "ppv", "f1"])
    {'precision': 'PPV', 'recall': 'sensitivity'}
    >>> names_in_call(["sensitivity", "recall"])
    {}
    """
    entries = [_entry(measure) for measure in measures if isinstance(measure, str)]
    resolved_measures = [entry for entry in entries if entry is not None]
    in_call = {resolved.__name__ for resolved in resolved_measures}
    return {
        resolved.canonical: display_name(resolved.__name__)
        for resolved in reversed(resolved_measures)  # the first of two aliases takes effect
        if resolved.canonical and resolved.canonical not in in_call
    }


def check_display_names(display_names: DisplayNames) -> Mapping[Any, str]:
    """Return display names, by default of the document, or raise an error if they are invalid."""
    if display_names is None:
        return _of_document.get() or {}
    todo = 'pass e.g. {"f1": "F1 (macro)"}'
    if not isinstance(display_names, Mapping):
        got = type(display_names).__name__
        raise fail(
            "display_names must be a mapping from names to strings", got, "", todo, TypeError
        )
    for name, text in display_names.items():
        if not isinstance(text, str) or not text.strip():
            raise fail(
                f"The display name of {name!r} must be a string that is not empty", text, "", todo
            )
    return display_names


def distinct_display_names(
    names: Iterable[str], display_names: DisplayNames = None
) -> dict[str, str]:
    """
    Return distinct display names for several measures.

    If two names refer to the same measure, both remain unchanged. An error is raised if
    ``display_names`` assigns the same display name to two measures, since their numbers could be
    confused.

    Examples
    --------
    >>> distinct_display_names(["accuracy", "accuracy_score", "f1"])
    {'accuracy': 'accuracy', 'accuracy_score': 'accuracy_score', 'f1': 'F1'}
    """
    stated, names = check_display_names(display_names), list(dict.fromkeys(map(str, names)))
    texts = {name: _display_name(name, stated) for name in names}
    for text in set(texts.values()):
        alike = [name for name in names if texts[name] == text]
        if len(alike) > 1 and any(_display_name(name, {}) != text for name in alike):
            todo = "give each measure its own display name"
            raise fail(f"Several measures have the display name {text!r}: {{}}", alike, "", todo)
    written = list(texts.values())
    return {name: text if written.count(text) == 1 else name for name, text in texts.items()}


def display_label(label: Any, display_names: DisplayNames = None) -> str:
    """Return the display name of a label, by default the label itself."""
    stated = check_display_names(display_names)
    return stated[label] if label in stated else stated.get(str(label), str(label))


def display_dim(dim: Any, display_names: DisplayNames = None) -> str:
    """
    Return the display name of a dimension or a column of a table.

    Examples
    --------
    >>> display_dim("data_set"), display_dim("p_better")
    ('data set', 'P(better)')
    """
    text = str(dim)
    stated = check_display_names(display_names)
    if text in stated:
        return stated[text]
    spaced = text.replace("_", " ").strip()
    return f"P({spaced[2:]})" if text.startswith("p_") else spaced


def plural(word: str) -> str:
    """
    Return the plural of the name of a dimension, for several of its members.

    Examples
    --------
    >>> plural("study"), plural("survey"), plural("hospital")
    ('studies', 'surveys', 'hospitals')
    """
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def with_index(name: str, index: Iterable[str]) -> str:
    """
    Append an index in brackets to a display name.

    Examples
    --------
    >>> with_index("F1", ["classifier a"]), with_index("F1 (macro)", ["classifier a"])
    ('F1 (classifier a)', 'F1 (macro; classifier a)')
    """
    text = ", ".join(index)
    if not text:
        return name
    return f"{name[:-1]}; {text})" if name.endswith(")") else f"{name} ({text})"


def _display_name(name, stated):
    if name in stated:
        return stated[name]
    if with_labels := re.fullmatch(r"(.+)\[([^\[\]]+)\]", name):
        labels = ", ".join(label.strip() for label in with_labels[2].split(","))
        preposition = "against" if with_labels[1] in WITH_OPPONENT else "of"
        return f"{_display_name(with_labels[1], stated)} {preposition} {labels}"
    entry = _entry(name)
    if entry is not None and name in entry.display_names:
        return entry.display_names[name]
    for suffix, words in _SUFFIXES.items():
        base = name.removesuffix(f"_{suffix}")
        if base != name and entry is not None and _entry(base) is not None:
            return with_index(_display_name(base, stated), [words])
    if (call := re.fullmatch(r"(\w+)\((.+)\)", name)) and entry is not None:
        return _with_parameters(call[1], call[2], stated)
    return _spaced(name)


def _with_parameters(base, written, stated):
    parameters = re.sub(r",\s*", ", ", written)
    if base in _NOTATION:
        return f"{_NOTATION[base]}{parameters}"
    if base == "fbeta" and base not in stated:
        return f"F{parameters}"
    return with_index(_display_name(base, stated), [parameters])


@lru_cache(maxsize=1024)
def _entry(name: str) -> Measure | None:
    """Return the catalogue entry with this name, or None."""
    try:
        return resolve(name)
    except ValueError:
        return None


def _spaced(text):
    return " ".join(_WORDS.get(word, word) for word in text.split("_")).strip()

"""
Renaming and adding classes of a ledger.

The description of a classifier contains the classes of its first batch. It never changes, because
its hash is the start of the chain. An entry with the encoding `CLASSES` renames classes and adds
new ones. Each class keeps its position in the list, and an added class is appended to it:

    current classes = classes of the description, changed by each of these entries in turn.

Payloads refer to classes by position, so earlier batches need no change: they have zero counts for
a class that was added later. A name belongs to the same class for ever. Names in earlier batches,
floors, acknowledgements and pages therefore remain unambiguous.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bayescm.validate import fail, suggest

CLASSES, VERSION = "classes", 1  # encoding of entries that change the classes, and its version
_LONGEST = 200  # largest number of characters in a name


class ClassChange(NamedTuple):
    """
    Entry that changes the classes.

    Attributes
    ----------
    entry : int
        Number of the entry within its classifier.
    rename : tuple of pairs
        Old and new name of each renamed class.
    add : tuple
        Names of the added classes.
    """

    entry: int
    rename: tuple[tuple[Any, Any], ...]
    add: tuple

    @property
    def payload(self) -> str:
        """The change in the format of the ledger."""
        return json.dumps({"rename": self.rename, "add": self.add})


def change_of(entry: int, payload: str) -> ClassChange:
    """Return the change that an entry stores."""
    facts = json.loads(payload)
    return ClassChange(entry, tuple(map(tuple, facts["rename"])), tuple(facts["add"]))


def name_of_entry(number: int) -> str:
    """Return the name of the entry of a change, whose tab distinguishes it from batch names."""
    return f"classes\t{number}"


def classes_after(labels: Sequence, changes: Sequence[ClassChange]) -> list:
    """Return the classes after the given changes."""
    for change in changes:
        new = dict(change.rename)
        labels = [*(new.get(label, label) for label in labels), *change.add]
    return list(labels)


def facts_after(facts: Mapping[str, Any], changes: Sequence[ClassChange]) -> dict[str, Any]:
    """Return the shared facts with classes, positive class and rule after the given changes."""
    if not changes:
        return dict(facts)
    now = {**facts, "labels": classes_after(facts["labels"], changes)}
    names = current_names(facts["labels"], changes)
    if facts.get("positive") is not None:
        now["positive"] = names.get(facts["positive"], facts["positive"])
    if "rule" in facts:
        rule = facts["rule"]
        now["rule"] = rule | {"measure": current_measure(rule["measure"], names)}
    return now


def current_names(labels: Sequence, changes: Sequence[ClassChange]) -> dict[Any, Any]:
    """Return a dict that maps former class names to current ones."""
    names: dict[Any, Any] = {}
    for number in range(len(changes)):
        before = classes_after(labels, changes[:number])
        now = classes_after(before, changes[number:])
        names |= {old: new for old, new in zip(before, now, strict=False) if old != new}
    return names


def current_measure(measure: Any, names: Mapping[Any, Any]) -> Any:
    """
    Return the name of a measure with the current name of its class.

    Examples
    --------
    >>> current_measure("recall[cat]", {"cat": "feline"})
    'recall[feline]'
    """
    if not names or not isinstance(measure, str):
        return measure
    by_text = {str(old): str(new) for old, new in names.items()}
    return re.sub(r"\[([^\[\]]+)\]", lambda found: f"[{by_text.get(found[1], found[1])}]", measure)


# Validation


def checked_change(
    classifier: str,
    encoding: str,
    first: Mapping[str, Any],
    changes: Sequence[ClassChange],
    rename: Mapping[Any, Any] | None,
    add: Sequence | None,
) -> ClassChange:
    """
    Return a change of the classes, or raise an error if it is not valid after earlier changes.

    Parameters
    ----------
    classifier, encoding : str
        Name of the classifier and encoding of its batches.
    first : mapping
        Facts of the description.
    changes : sequence of ClassChange
        Changes so far.
    rename, add
        See `bayescm.online.Monitor.change_classes`.

    Raises
    ------
    ValueError
        If the batches have no classes, or the change is not possible.
    TypeError
        If `rename` is not a mapping, `add` is not a list, or a name is neither text nor a number.
    """
    if "labels" not in first:
        what = f"The batches of {classifier!r} have no classes: they are "
        todo = "start a new classifier if their meaning has changed"
        raise fail(what + encoding.replace("_", " "), ..., "", todo)
    renamed, added = _pairs(rename), _names(add)
    if not renamed and not added:
        todo = "pass `rename={'old': 'new'}` or `add=['new']`"
        raise fail("No class to rename or to add is given", ..., "", todo)
    labels = classes_after(first["labels"], changes)
    names = current_names(first["labels"], changes)
    _check_renamed(classifier, labels, names, renamed)
    _check_added(classifier, encoding, first, labels, renamed, added)
    after = classes_after(labels, [ClassChange(0, tuple(renamed.items()), tuple(added))])
    _check_new_names(labels, names, renamed, added, after)
    return ClassChange(0, tuple(renamed.items()), tuple(added))


def _pairs(rename):
    if rename is None:
        return {}
    if not isinstance(rename, Mapping):
        todo = "pass `rename={'old': 'new'}`"
        raise fail("`rename` must be a mapping from old to new names", rename, "", todo, TypeError)
    return {_plain(old): _checked(_plain(new)) for old, new in rename.items()}


def _names(add):
    if add is None:
        return []
    if isinstance(add, str | bytes) or not hasattr(add, "__iter__"):
        todo = "pass `add=['legal']`"
        raise fail("`add` must be a list of classes", add, "", todo, TypeError)
    return [_checked(_plain(name)) for name in add]


def _plain(label):
    """Return a label as a Python scalar for JSON."""
    return label.item() if hasattr(label, "item") else label


def _checked(name):
    is_text = isinstance(name, str)
    if is_text and (not name.strip() or not name.isprintable() or len(name) > _LONGEST):
        allowed = f"printable text of 1 to {_LONGEST} characters"
        raise fail(f"The name of a class must be {allowed}", name, "", "choose another name")
    if not isinstance(name, str | int | float):
        raise fail("The name of a class must be text or a number", name, "", "pass text", TypeError)
    return name


def _check_renamed(classifier, labels, names, renamed):
    for old, new in renamed.items():
        if old in labels and old != new:
            continue
        if old in labels:
            raise fail(
                "The new name of the class {} is the same as the old one", old, "", "leave it out"
            )
        if old in names:
            raise fail(
                f"The class {{}} of {classifier!r} has already been renamed",
                old,
                "",
                f"rename {names[old]!r}, its current name",
            )
        todo = suggest(str(old), [str(label) for label in labels]) or "pass a class of the batches"
        raise fail(f"{classifier!r} has no class {{}}", old, map(repr, labels), todo)


def _check_added(classifier, encoding, first, labels, renamed, added):
    if not added:
        return
    if encoding == "forecasts":
        todo = "start a new classifier with the probabilities of all classes"
        raise fail(
            f"{classifier!r} has binned probabilities or scores of two classes, so {{}} "
            "cannot be added",
            added,
            "",
            todo,
        )
    if first.get("positive") is not None:
        todo = "start a new classifier without `positive=`: measures are then of each class"
        raise fail(
            f"{classifier!r} has a positive class and therefore two classes, so {{}} cannot "
            "be added",
            added,
            "",
            todo,
        )
    there = {*labels} - {*renamed}
    if again := [name for name in added if name in there or added.count(name) > 1]:
        raise fail("The class {} already exists", again[0], "", "leave it out")


def _check_new_names(labels, names, renamed, added, after):
    """Raise an error if two classes would share a name, now or in earlier batches."""
    for old, new in renamed.items():
        if after.count(new) > 1 or new in labels:
            what = f"Renaming {old!r} to {new!r} would merge two classes"
            raise fail(
                what,
                ...,
                "",
                "choose a new name, or start a new classifier that has them as one class",
            )
    for name in added:
        if name in renamed or name in names:
            now = renamed.get(name, names.get(name))
            what = f"{name!r} was the name of the class that is now {now!r}"
            raise fail(
                what,
                ...,
                "",
                "choose a name that no class has had, because batches with the old name can "
                "still arrive",
            )
    place = {name: labels.index(now) for name, now in names.items()}
    for old, new in renamed.items():
        if new in place and place[new] != labels.index(old):
            what = f"{new!r} was the name of the class that is now {names[new]!r}"
            raise fail(what, ..., "", "choose a name that no other class has had")
    kinds = {type(label) for label in after}
    if len(kinds) > 1:
        todo = "rename all classes at once, or pass a name of the same type"
        raise fail(
            "The names of classes would be a mixture of text and numbers: {}",
            [*renamed.values(), *added],
            "",
            todo,
        )

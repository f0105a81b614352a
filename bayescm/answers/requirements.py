"""The small language of requirements: ``f1 - f1[classifier=old] > -0.01 @ 0.9``."""

import re
from typing import Any, NamedTuple

from bayescm.validate import fail

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TERM = r"\s*(\w+(?:\([^()]*\))?)\s*(?:\[([^\[\]]*)\])?\s*"
_LEVEL = rf"(?:@\s*({_NUMBER})\s*(%?)\s*)?"
_WHOLE = re.compile(rf"{_TERM}(?:-{_TERM})?(>=|<=|>|<)\s*({_NUMBER})\s*(%?)\s*{_LEVEL}")
_EXAMPLE = 'write e.g. "recall > 0.9 @ 0.95" or "f1 - f1[classifier=old] > -0.01"'


class Term(NamedTuple):
    """A measure, and the part of the evidence that it is of."""

    measure: str
    where: dict[str, str]


class Requirement(NamedTuple):
    """That a measure, or a difference of two, exceeds a threshold (or stays below it)."""

    text: str
    first: Term
    second: Term | None
    above: bool
    threshold: float
    level: float

    def members(self, by: str | None) -> list[dict[str, str]]:
        """Return the member of a dim that all its terms name: it is asked of no other."""
        terms = [self.first] if self.second is None else [self.first, self.second]
        if by is None or not all(by in term.where for term in terms):
            return []
        return [{by: ", ".join(dict.fromkeys(term.where[by] for term in terms))}]

    def of(self, member: dict[str, Any]) -> "Requirement":
        """Return the requirement of one member; a part that a term names itself stays."""
        first = self.first._replace(where=member | self.first.where)
        second = self.second and self.second._replace(where=member | self.second.where)
        return self._replace(first=first, second=second)


def parse(text: str, level: float = 0.95) -> Requirement:
    """
    Return what a requirement says.

    Parameters
    ----------
    text : str
        ``MEASURE > NUMBER``, ``MEASURE - MEASURE > NUMBER`` (or ``<``, ``>=``, ``<=``), with
        ``@ LEVEL`` for the probability that is asked for. A measure may name its part:
        ``recall[site=B]``, ``f1[classifier=old]``, ``recall[class=cat]``, several parted by commas.
        Numbers may be given in per cent.
    level : float, default 0.95
        The level where the text gives none.

    Raises
    ------
    ValueError
        If the text is no requirement, or its level does not lie between .5 and 1.

    Examples
    --------
    >>> parse("f1 - f1[classifier=old] > -0.01 @ 0.9")[1:]
    (Term(measure='f1', where={}), Term(measure='f1', where={'classifier': 'old'}),
     True, -0.01, 0.9)
    """
    found = _WHOLE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise fail("not a requirement", text, "MEASURE > NUMBER @ LEVEL", _EXAMPLE)
    one, where, two, other, sign, threshold, percent, asked, percents = found.groups()
    wanted = level if asked is None else float(asked) / (100 if percents else 1)
    if not 0.5 < wanted < 1:
        raise fail(f"the level of {text!r}", wanted, "a probability between 0.5 and 1", _EXAMPLE)
    second = None if two is None else Term(two, _part(other, text))
    limit = float(threshold) / (100 if percent else 1)
    return Requirement(text, Term(one, _part(where, text)), second, sign[0] == ">", limit, wanted)


def _part(text, whole):
    """Return the dims and labels in brackets."""
    pairs = [each.partition("=") for each in (text or "").split(",") if each.strip()]
    unread = [each for each in pairs if not all(part.strip() for part in each)]
    if unread or (text is not None and not pairs):
        todo = 'write e.g. "recall[site=B] > 0.8"'
        raise fail(f"cannot read the part in {whole!r}", text, "[NAME=LABEL]", todo)
    return {name.strip(): label.strip() for name, _, label in pairs}

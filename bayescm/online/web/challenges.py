"""What the dashboard shows of each challenge: who challenges whom, what is decided, since when."""

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bayescm.measures.catalogue import resolve
from bayescm.online.acting.challenging import Challenge
from bayescm.online.acting.promoting import GO_ON, PROMOTE
from bayescm.online.ledger import Ledger


class Duel(NamedTuple):
    """What is known of a challenge now; or what is wrong."""

    name: str
    champion: str
    challenger: str
    batches: int = 0
    examples: float = 0
    difference: float = float("nan")
    lower: float = float("nan")
    upper: float = float("nan")
    p_better: float = float("nan")
    decision: str = GO_ON
    since: str = ""
    problem: str = ""

    @property
    def promoted(self) -> bool:
        """Whether the challenger is to take the champion's place."""
        return self.decision == PROMOTE

    @property
    def settled(self) -> bool:
        """Whether it is decided."""
        return self.decision != GO_ON


@dataclass
class Challenges:
    """
    All challenges of a ledger, by one rule; worked out again only where the ledger has grown.

    Attributes
    ----------
    ledger : Ledger
    rule : dict
        ``measure``, ``margin``, ``prob`` and ``planned`` of `Challenge`.
    """

    ledger: Ledger
    rule: dict[str, Any] = field(default_factory=dict)
    _known: dict[str, tuple[str, Duel]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self):
        Challenge(self.ledger, "any", **self.rule)  # refuses what no challenge could be judged by
        resolve(self.rule.get("measure", "accuracy"))

    @property
    def words(self) -> str:
        """By what they are judged."""
        opened = Challenge(self.ledger, "any", **self.rule)
        measure = resolve(opened.measure).__name__
        by = f" by more than {opened.rule.margin:g}" if opened.rule.margin else ""
        sure = f"{100 * opened.rule.prob:.4g}%"
        return f"Better in {measure}{by}; promoted where that is more probable than {sure}."

    def now(self) -> list[Duel]:
        """Return what is known of each challenge now."""
        with self._turn:
            stored = self.ledger.challenges()
            for name, about in stored.items():
                last = self.ledger.last(name).hash
                if self._known.get(name, ("", None))[0] != last:
                    self._known[name] = (last, self._read(name, about))
            return [self._known[name][1] for name in stored]

    def _read(self, name, about):
        champion, challenger = map(str, about["classifiers"])
        duel = Duel(name, champion, challenger)
        try:
            history = Challenge(self.ledger, name, **self.rule).history()
        except (ValueError, TypeError) as problem:
            return duel._replace(problem=str(problem))
        last = history.iloc[-1]
        since = history.loc[history["decision"] == last["decision"], "at"].iloc[0]
        numbers: dict[str, Any] = {
            key: float(last[key]) for key in ("difference", "lower", "upper", "p_better")
        }
        return duel._replace(
            batches=len(history),
            examples=float(last["n"]),
            decision=str(last["decision"]),
            since=str(since)[:16] + "Z",
            **numbers,
        )

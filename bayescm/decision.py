"""What a difference means: the ROPE triple, the loss of a choice, and one plain sentence."""

from typing import Any

import numpy as np

from bayescm.validate import fail


def check_rope(rope: Any) -> tuple[float, float]:
    """
    Return the region of practical equivalence as (low, high).

    Parameters
    ----------
    rope : float, (float, float) or None
        Half the width, >= 0, or the ends in order with 0 between them; None is no region.
    """
    if rope is None:
        return 0.0, 0.0
    todo = "pass e.g. rope=0.01, or rope=(-0.01, 0.02)"
    allowed = "a number >= 0, or (low, high) with low <= 0 <= high"
    try:
        ends = np.asarray(rope, float)
    except (TypeError, ValueError):
        raise fail("the rope is not a number", rope, allowed, todo, TypeError) from None
    if not np.isfinite(ends).all() or ends.shape not in ((), (2,)):
        raise fail("the rope is not a region", rope, allowed, todo)
    if ends.ndim == 0:
        if ends < 0:
            raise fail("the rope is negative", rope, allowed, todo)
        return -float(ends), float(ends)
    if ends[0] > ends[1]:
        raise fail("the rope is reversed", rope, allowed, todo)
    if not ends[0] <= 0 <= ends[1]:
        raise fail("no difference at all lies outside the rope", rope, allowed, todo)
    return float(ends[0]), float(ends[1])


def decide(
    law: Any, *, rope: tuple[float, float], prob: float, kind: str, tails: Any = None
) -> dict[str, float]:
    """
    Return what the law of a difference says, from the first's point of view.

    Parameters
    ----------
    law : law
        Of one difference (first - second, higher is better): ``cdf``, ``sf``, ``mean``, ``sd``,
        ``shortfall`` and the intervals.
    rope, prob, kind
        As :func:`bayescm.compare` takes them, checked.
    tails : law, optional
        A better source of the probabilities.
    """
    tails = law if tails is None else tails
    low, high = rope
    better = float(tails.sf(high))
    worse = float(tails.cdf(low)) - (tails.mass_at(low) if hasattr(tails, "mass_at") else 0.0)
    between = 1 - better - worse
    lower, upper = getattr(law, kind)(prob)
    mean, loss = float(law.mean()), float(law.shortfall())
    return {
        "mean": mean,
        "sd": float(law.sd()),
        "lower": float(lower),
        "upper": float(upper),
        "p_better": better,
        "p_rope": 0.0 if between < 1e-12 else between,
        "p_worse": worse,
        "expected_loss": loss,
        "expected_loss_second": max(0.0, mean + loss),
    }


class Draws:
    """The law of a difference that is known by draws, NaN left out."""

    def __init__(self, draws: np.ndarray):
        from bayescm.exact.atoms import Empirical

        valid = draws[~np.isnan(draws)]
        self.undefined = 1 - len(valid) / max(len(draws), 1)
        self.draws = valid if len(valid) else np.array([np.nan, np.nan])
        self._law = Empirical(self.draws)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._law, name)

    def sf(self, x: float) -> float:
        """Return the share of the draws above x, NaN where none is defined."""
        return self._share(self.draws > x)

    def cdf(self, x: float) -> float:
        """Return the share of the draws of at most x."""
        return self._share(self.draws <= x)

    def mass_at(self, x: float) -> float:
        """Return the share of the draws that are x."""
        return self._share(self.draws == x)

    def shortfall(self) -> float:
        """Return the mean of max(0, -draw)."""
        return float(np.maximum(-self.draws, 0).mean())

    def _share(self, hits):
        return float("nan") if np.isnan(self.draws[0]) else float(hits.mean())


def sentence(row: dict[str, Any], *, rope: tuple[float, float], prob: float) -> str:
    """
    Say in words what a row of a comparison says; the verdict follows the ROPE triple alone.

    A verdict needs a probability of at least ``prob``; without one the sentence says so.
    """
    names = f"{row['first']}", f"{row['second']}"
    what = row["measure"]
    if np.isnan(row["p_better"]):
        return f"{what} is undefined for {names[0]} or {names[1]}: nothing can be said."
    margin = "" if rope == (0.0, 0.0) else f" by more than {_margin(rope)}"
    if row["p_better"] >= prob:
        verdict = f"{names[0]} is better than {names[1]} in {what}{margin}"
        return f"{verdict} (probability {_percent(row['p_better'])})."
    if row["p_worse"] >= prob:
        verdict = f"{names[0]} is worse than {names[1]} in {what}{margin}"
        return f"{verdict} (probability {_percent(row['p_worse'])})."
    if row["p_rope"] >= prob:
        verdict = f"{names[0]} and {names[1]} are practically equivalent in {what}"
        within = f"{_percent(row['p_rope'])} of a difference within {_margin(rope)}"
        return f"{verdict} (probability {within})."
    parts = [f"better {_percent(row['p_better'])}", f"worse {_percent(row['p_worse'])}"]
    if margin:
        parts.insert(1, f"equivalent {_percent(row['p_rope'])}")
    return (
        f"It is open whether {names[0]} differs from {names[1]} in {what}{margin} "
        f"(probability of {', '.join(parts)})."
    )


def _margin(rope):
    low, high = rope
    return f"{high:g}" if low == -high else f"[{low:g}, {high:g}]"


def _percent(share):
    """Return a probability as text that never rounds to certainty."""
    if 0.0005 < share < 0.9995:
        return f"{share:.1%}".replace(".0%", "%")
    return ">99.9%" if share > 0.5 else "<0.1%"

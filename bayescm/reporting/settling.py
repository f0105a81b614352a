"""Where the evidence is thin, and how much more of it would help."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm import planning
from bayescm.evidence.counts import CELLS
from bayescm.measures.catalogue import among, resolve
from bayescm.reporting.parts import Section

# A plan from a pilot of more examples than this takes too long for a sentence.
_LARGEST_PILOT = 20_000


def uncertain(
    counts: xr.DataArray, table: pd.DataFrame, measures: Sequence, prob: float, kind: str
) -> Section:
    """Say which interval is widest, and how many examples would make it half as wide."""
    title = "What is uncertain, and what would settle it"
    known_as = {each.__name__: each for each in map(resolve, measures)}
    # A coefficient runs from -1 to 1: its interval is twice as wide by its scale alone.
    scale = table["measure"].map(lambda name: np.ptp(known_as[name].range))
    width = (table["upper"] - table["lower"]) / scale.where(np.isfinite(scale), 1)
    if width.isna().all():
        return Section(title, ["Every measure is undefined."])
    row = table.loc[width.idxmax()]
    widest = float(row["upper"] - row["lower"])
    named = [str(row[dim]) for dim in ("classifier", "class", "group", "fold") if dim in row]
    of = f" of {', '.join(named)}" if named else ""
    known = "the evidence says nothing about it." if np.isnan(row["point"]) else _more(counts)
    said = [
        f"The least certain measure is {row['measure']}{of}: its interval is {widest:.3f} wide; "
        + known
    ]
    one = counts.sel(classifier=row["classifier"]) if "classifier" in row else counts
    plain = one.dims == CELLS and one.sizes["actual"] == 2 and "prevalence" not in one.coords
    small = float(one.sum()) <= _LARGEST_PILOT
    if plain and small and known_as[row["measure"]].unit:
        plan = planning.plan(
            row["measure"], width=widest / 2, pilot=one, assurance=0.9, prob=prob, kind=kind
        ).iloc[0]
        said.append(
            f"A new test set of {plan['n']:,} {plan['unit']} would make it at most "
            f"{widest / 2:.3f} wide, with 90% assurance."
        )
    return Section(title, said)


def _more(counts):
    if "group" in counts.dims:
        return (
            "more groups would make it narrower; more examples from the same groups hardly would."
        )
    if "fold" in counts.dims:
        return "halving that takes about four times as many examples, not more folds or repeats."
    return "halving that takes about four times as many examples."


def open_questions(
    evidence: xr.Dataset | xr.DataArray,
    comparison: pd.DataFrame,
    measures: Sequence,
    prob: float,
    rope: float,
) -> list[str]:
    """
    Say how many shared examples would settle what a comparison of accuracies leaves open.

    Parameters
    ----------
    evidence : Dataset
        Outcomes; for anything else nothing is said.
    comparison : DataFrame
        As `bayescm.compare` returns it.
    measures : sequence
        What was compared, as in the report.
    prob : float
        The probability from which on a verdict is given.
    rope : float
        Differences below this count as none.
    """
    if not isinstance(evidence, xr.Dataset) or "fold" in evidence.dims or "group" in evidence.dims:
        return []
    verdict = comparison[["p_better", "p_rope", "p_worse"]].max(axis=1)
    found = [resolve(each) for each in measures]
    called = [found[each].__name__ for each in among(found, "accuracy")]
    rows = comparison[comparison["measure"].isin(called) & (verdict < prob)]
    return [_settled(evidence, row, prob, rope) for row in rows.to_dict("records")[:3]]


def _settled(evidence, row, prob, rope):
    pair = f"{row['first']} and {row['second']}"
    right = evidence["predicted"] == evidence["actual"]
    differ = right.sel(classifier=row["first"]) != right.sel(classifier=row["second"])
    share = float((evidence["counts"] * differ).sum() / evidence["counts"].sum())
    gap = abs(row["mean"])
    said = f"One of {pair} is right and the other wrong on {100 * share:.3g}% of the examples. "
    if gap <= rope or gap < 5e-4:
        return said + (
            "Their accuracies are so close that more examples are more likely to show that they "
            "are equivalent than which one is better."
        )
    size = _shared_examples(gap - rope, max(share, gap), prob)
    return said + (
        f"If their accuracies do differ by {gap:.2g}, a new test set of about {size:,} shared "
        f"examples would show it with 80% assurance."
    )


def _shared_examples(gap, share, prob):
    """Return Connor's size of a paired test, with two significant digits."""
    level, power = special.ndtri([prob, 0.8])
    size = share * (level + power * np.sqrt(max(0.0, 1 - gap**2 / share))) ** 2 / gap**2
    digits = 1 - int(np.floor(np.log10(size)))
    return max(1, int(round(size, digits)))

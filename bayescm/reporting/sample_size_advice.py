"""Advice on sample size: what is uncertain, and how many more examples would resolve it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from bayescm import planning
from bayescm.evidence.counts import CELLS
from bayescm.evidence.outcomes import OUTCOMES
from bayescm.evidence.registry import type_of
from bayescm.measures.catalogue import among, resolve
from bayescm.measures.display_names import display_label, display_name
from bayescm.reporting.sections import Section

# No sample size is computed from a pilot with more examples than this, because it would take too
# long.
_LARGEST_PILOT = 20_000


def uncertain(
    counts: xr.DataArray, table: pd.DataFrame, measures: Sequence, prob: float, kind: str
) -> Section:
    """Return the section on the widest interval and the sample size that would halve its width."""
    title = "Uncertain results, and the data needed to resolve them"
    resolved_measures = {measure.__name__: measure for measure in map(resolve, measures)}
    # Coefficients range from -1 to 1, so their intervals are twice as wide by scale alone.
    scale = table["measure"].map(lambda name: np.ptp(resolved_measures[name].range))
    width = (table["upper"] - table["lower"]) / scale.where(np.isfinite(scale), 1)
    if width.isna().all():
        return Section(title, ["Every measure is undefined."])
    row = table.loc[width.idxmax()]
    widest = float(row["upper"] - row["lower"])
    dims = ("classifier", "class", "group", "fold")
    labels = [display_label(row[dim]) for dim in dims if dim in row]
    of = f" of {', '.join(labels)}" if labels else ""
    advice = (
        "the evidence contains no information about it."
        if np.isnan(row["point"])
        else _advice(counts)
    )
    is_relative = scale.nunique(dropna=False) > 1
    subject = f"The least certain measure{', relative to its range,' if is_relative else ''}"
    lines = [
        (
            f"{subject} is {display_name(row['measure'])}{of}, with an interval "
            f"{widest:.3f} wide; {advice}"
        )
    ]
    one = counts.sel(classifier=row["classifier"]) if "classifier" in row else counts
    plain = one.dims == CELLS and one.sizes["actual"] == 2 and "prevalence" not in one.coords
    small = float(one.sum()) <= _LARGEST_PILOT
    if plain and small and resolved_measures[row["measure"]].unit:
        plan = planning.plan(
            row["measure"], width=widest / 2, pilot=one, assurance=0.9, prob=prob, kind=kind
        ).iloc[0]
        lines.append(
            f"A new test set of {plan['n']:,} {plan['unit']} would make the interval at "
            f"most {widest / 2:.3f} wide, with 90% assurance."
        )
    return Section(title, lines)


def _advice(counts):
    if "group" in counts.dims:
        return "more groups would make it narrower; more examples from the same groups would not."
    if "fold" in counts.dims:
        return (
            "halving the width takes about four times as many examples, not more folds or repeats."
        )
    return "halving the width takes about four times as many examples."


def open_questions(
    evidence: xr.Dataset | xr.DataArray,
    comparison: pd.DataFrame,
    measures: Sequence,
    prob: float,
    rope: float,
) -> list[str]:
    """
    Return sentences on the sample size that would resolve open comparisons of accuracy.

    Parameters
    ----------
    evidence : Dataset
        Outcomes of classifiers. For other types of evidence, and with folds or groups, the list is
        empty.
    comparison : DataFrame
        Result of `bayescm.compare`.
    measures : sequence
        Compared measures, as in the report.
    prob : float
        Probability required for a verdict.
    rope : float
        Smallest relevant difference.
    """
    if type_of(evidence) is not OUTCOMES or {"fold", "group"} & set(evidence.dims):
        return []
    verdict = comparison[["p_better", "p_rope", "p_worse"]].max(axis=1)
    resolved_measures = [resolve(measure) for measure in measures]
    names = [resolved_measures[i].__name__ for i in among(resolved_measures, "accuracy")]
    rows = comparison[comparison["measure"].isin(names) & (verdict < prob)]
    return [_size_for_pair(evidence, row, prob, rope) for row in rows.to_dict("records")[:3]]


def _size_for_pair(evidence, row, prob, rope):
    pair = f"{display_label(row['first'])} and {display_label(row['second'])}"
    right = evidence["predicted"] == evidence["actual"]
    differ = right.sel(classifier=row["first"]) != right.sel(classifier=row["second"])
    share = float((evidence["counts"] * differ).sum() / evidence["counts"].sum())
    gap = abs(row["mean"])
    disagreement = (
        f"One of {pair} is right and the other wrong for {100 * share:.3g}% of the examples."
    )
    if gap <= rope or gap < 5e-4:
        return disagreement + (
            "Their accuracies are so close that more examples are more likely to show "
            "equivalence than a better classifier."
        )
    size = _shared_examples(gap - rope, max(share, gap), prob)
    return disagreement + (
        f"If their accuracies do differ by {gap:.2g}, a new test set of about {size:,} shared "
        f"examples would show it with 90% assurance."
    )


def _shared_examples(gap, share, prob):
    """Return Connor's sample size for a paired test, with two significant digits."""
    level, power = special.ndtri([prob, 0.9])
    size = share * (level + power * np.sqrt(max(0.0, 1 - gap**2 / share))) ** 2 / gap**2
    digits = 1 - int(np.floor(np.log10(size)))
    return max(1, int(round(size, digits)))

"""What is doubtful about what binned forecasts say."""

import numpy as np
import xarray as xr
from scipy.special import pdtrc

_FEW = 20  # examples of a class, below which intervals are too short
_SHARED = 0.1  # of the pairs of a positive and a negative, in one bin
_WIDE = 0.03  # mean distance that a forecast may have from the middle of its bin
_UNLIKELY = 0.01


def cautions(counts: xr.DataArray) -> dict[str, str]:
    """Return ``caution`` where counts, dims (actual, bin), leave doubt about what is read off."""
    said = [*_few(counts), *_coarse(counts), *_outermost(counts)]
    return {"caution": "; ".join(said)} if said else {}


def _few(counts):
    pairs = zip(counts["actual"].values.tolist(), counts.values.sum(axis=-1), strict=True)
    thin = ", ".join(f"{label} ({n:.4g})" for label, n in pairs if n < _FEW)
    if not thin:
        return []
    return [f"fewer than {_FEW} examples of {thin}: intervals of binned forecasts may be too short"]


def _coarse(counts):
    """Say so where the bins are too wide to tell forecasts apart."""
    negative, positive = counts.values.astype(float)
    pairs = positive.sum() * negative.sum()
    shared = positive @ negative / pairs if pairs else 0.0
    said = []
    if shared > _SHARED:
        said.append(f"{100 * shared:.3g}% of the pairs of a positive and a negative share a bin")
    if counts.attrs["chances"]:
        half = np.diff(counts.attrs["edges"]) / 2
        total = negative + positive
        far = total @ half / max(total.sum(), 1)
        if far > _WIDE:
            said.append(f"forecasts may be {far:.2g} from the middles of their bins on average")
    if not said:
        return []
    why = "what is shown is of the bins, and may be far from what the forecasts show"
    todo = "a monitor with more edges where forecasts are many tells them apart"
    return [f"{' and '.join(said)}: {why} ({todo})"]


def _outermost(counts):
    """Say so where forecasts next to 0 or 1 err more than any in their bin can mean."""
    if not counts.attrs["chances"]:
        return []
    edges, (negative, positive) = counts.attrs["edges"], counts.values.astype(float)
    sides = (
        (f"below {edges[1]:.4g}", positive[0], negative[0], edges[1]),
        (f"of {edges[-2]:.4g} and more", negative[-1], positive[-1], 1 - edges[-2]),
    )
    return [
        f"{wrong:.4g} of the {wrong + right:.4g} forecasts {where} are wrong, more than any of "
        "them means: the slope leans on where in their bin they lie (exact 0 and 1 stand at its "
        "middle)"
        for where, wrong, right, most in sides
        if wrong > 1 and pdtrc(wrong - 1, (wrong + right) * most) < _UNLIKELY
    ]

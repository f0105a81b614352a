"""Probabilities of many classes as ones of two: each class against the rest, or the highest."""

from collections.abc import Callable, Hashable

import xarray as xr

from bayescm.evidence.scores import as_forecasts, one_vs_rest
from bayescm.evidence.scores import top_label as highest

type View = tuple[dict[str, Hashable], xr.Dataset]


def views(evidence: xr.Dataset, top_label: bool = False) -> list[View]:
    """Return what each view is of, by dim, and its probabilities of two classes."""
    evidence = as_forecasts(evidence)
    if top_label:
        if "classifier" not in evidence.dims:
            return [({}, highest(evidence))]
        each = evidence["classifier"].values.tolist()
        return [({"classifier": k}, highest(evidence.sel(classifier=k))) for k in each]
    if "class" not in evidence.dims:
        return [({}, evidence)]
    return [({"class": k}, one_vs_rest(evidence, k)) for k in evidence["class"].values.tolist()]


def in_views(every: list[View], ask: Callable[[xr.Dataset], xr.Dataset]) -> xr.Dataset:
    """Ask each view, and put the answers and their cautions together."""
    if not every[0][0]:
        return ask(every[0][1])
    (dim,) = every[0][0]
    parts, said = [], []
    for of, view in every:
        found = ask(view).drop_vars("positive", errors="ignore")
        caution = found.attrs.pop("caution", "")
        said += [f"Of {dim} {of[dim]}: {caution}"] if caution else []
        parts.append(found.drop_vars(dim, errors="ignore").expand_dims({dim: [of[dim]]}))
    joined = xr.concat(parts, dim, join="exact", combine_attrs="drop")
    leading = [each for each in ("classifier", "class") if each in joined.dims]
    joined = joined.transpose(*leading, ...)
    return joined.assign_attrs({"caution": " ".join(said)} if said else {})

"""What all pictures share: colours, draws, words."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.asking import wanted
from bayescm.answers.draws import labelled_draws
from bayescm.measures.labelled import measure
from bayescm.posterior.route import posterior_of
from bayescm.validate import fail

# Okabe and Ito's colours, told apart by colour-blind readers too; markers say the same twice.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "D", "^", "v", "P", "X"]
GREY = "#595959"


def finish(figure):
    """Return the figure, closed in a notebook.

    There every figure that is open at the end of a cell is drawn, and the one that the cell returns
    once more.
    """
    import matplotlib.pyplot as plt

    if "inline" in plt.get_backend():
        plt.close(figure)
    return figure


def draws_of(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: Any,
    *,
    group: str = "posterior",
    of: str = "parameter",
    model: str | None = None,
    draws: int = 20_000,
    random_seed: int = 0,
    **keywords: Any,
) -> xr.Dataset:
    """
    Return draws of measures, all from the same matrices.

    Parameters
    ----------
    evidence, measures
        See `bayescm.interval`, but for a sequence of measures.
    group, of
        See `bayescm.measure`, for a fit.
    model, draws, random_seed, **keywords
        See `bayescm.interval`, for counts.

    Returns
    -------
    Dataset
        A variable per measure, dims (chain, draw, ..., [class]); only draws in which it is defined,
        as many for all measures.
    """
    if isinstance(evidence, xr.DataTree):
        values = measure(evidence, measures, group=group, of=of)
        return _defined(values.stack(every=("chain", "draw"), create_index=False))
    posterior = posterior_of(evidence, model, **keywords)
    found, of = wanted(posterior, measures, of)
    rng = np.random.default_rng(random_seed)
    drawn = labelled_draws(posterior, found, draws, rng, of=of)
    return _defined(drawn.rename(draw="every"))


def _defined(values):
    """Return the draws in which each variable is defined, cut to a common number."""
    values = values.drop_vars(["chain", "draw", "every"], errors="ignore")
    fewest = min(int(each.notnull().sum("every").min()) for each in values.values())
    if fewest < 2:
        what = [name for name, each in values.items() if each.notnull().sum("every").min() < 2]
        todo = "leave it out, or give the empty cells a prior"
        raise fail(
            "a measure is undefined (0/0) in nearly every draw",
            what,
            "measures defined in some draws",
            todo,
        )
    kept = {}
    for name, each in values.items():
        array = each.transpose("every", ...)
        order = np.argsort(np.isnan(array.values), axis=0, kind="stable")[:fewest]
        data = np.take_along_axis(array.values, order, axis=0)
        kept[name] = array.isel(every=slice(fewest)).copy(data=data)
    return xr.Dataset(kept).rename(every="draw").expand_dims("chain")


def positive_of(evidence: xr.DataArray | xr.Dataset | xr.DataTree) -> str:
    """Say which class is the positive one, or nothing where there is none."""
    holder = evidence["posterior"] if isinstance(evidence, xr.DataTree) else evidence
    if "positive" not in holder.coords:
        return ""
    return f"positive class: {holder.coords['positive'].item()}"


def words_for(prob: float, kind: str) -> str:
    """Say what kind of interval is drawn."""
    names = {"hdi": "highest-density", "eti": "equal-tailed"}
    return f"{100 * prob:g}% {names[kind]} interval"


def heading(figure, *parts: str) -> None:
    """Write what holds for the whole picture above it, in as many lines as its width asks for."""
    lines, widest = [""], figure.get_figwidth() / 0.078
    for part in filter(None, parts):
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        lines[-1:] = [longer] if len(longer) <= widest else [lines[-1], part]
    figure.suptitle("\n".join(filter(None, lines)), fontsize=10, color=GREY)


def called(name: Hashable, where: Mapping[Hashable, Any]) -> str:
    """Return the label of a measure at an index of its dims."""
    index = ", ".join(f"{dim} {value}" for dim, value in where.items())
    return f"{name} ({index})" if index else str(name)


def places(values: xr.DataArray, over: Sequence[str]) -> list[dict[Hashable, Any]]:
    """Return every index of the dims of a variable but those it is drawn over, by label."""
    rest = [dim for dim in values.dims if dim not in over]
    labels = [values[dim].values.tolist() for dim in rest]
    shape = [len(each) for each in labels]
    return [
        {dim: each[i] for dim, each, i in zip(rest, labels, index, strict=True)}
        for index in np.ndindex(*shape)
    ]

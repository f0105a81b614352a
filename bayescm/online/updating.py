"""Sequential updating: a state of pseudo-counts and counts, forgetting, windows."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.evidence.counts import CELLS, align, as_counts, in_order, positive
from bayescm.exact import dirichlet_multinomial
from bayescm.exact.atoms import Empirical
from bayescm.labelled import kernels
from bayescm.validate import check_kind, check_prob, fail

DRAWS = 20_000
_OURS = (*CELLS, "positive")


def update(
    state: xr.Dataset | xr.DataArray, counts: xr.DataArray, *, forgetting: float = 1.0
) -> xr.Dataset:
    """
    Update what is known by a batch: conjugate, exact, in closed form.

    Parameters
    ----------
    state : Dataset or DataArray
        What an earlier `update` returned, or a prior as the functions of `bayescm.priors` return
        it.
    counts : DataArray, dims (..., actual, predicted)
        A batch. Leading dims, such as ``classifier``, are updated each by itself, all at once.
    forgetting : float, default 1
        What the evidence so far is worth from now on, in (0, 1]. The prior is not forgotten. After
        many batches of n examples the evidence is worth ``n / (1 - forgetting)`` of them.

    Returns
    -------
    Dataset
        ``concentration``, the prior pseudo-counts, and ``counts``, the evidence in force. Without
        forgetting these are the sums of the counts, whole numbers, so that any order and any split
        into batches end at the same state.

    Raises
    ------
    ValueError
        Where the batch has other labels than the state, another positive class, or steps.

    Examples
    --------
    >>> import bayescm as bcm
    >>> state = update(bcm.priors.jeffreys(), bcm.from_cells(tp=6, fn=1, fp=3, tn=3))
    >>> state = update(state, bcm.from_cells(tp=7, fn=2, fp=1, tn=4))
    >>> state["counts"].values
    array([[ 7,  4],
           [ 3, 13]])
    >>> intervals(state, "recall", kind="eti")["recall"].values.round(3)
    array([0.579, 0.944])
    """
    known, counts = _as_state(state), as_counts(counts)
    check_forgetting(forgetting)
    if "step" in counts.dims:
        todo = "update with one batch at a time, or use accumulate for all steps at once"
        raise fail("a batch has no steps", counts.dims, "no dim step", todo)
    old: Any = known["counts"]
    counts = _fitted(counts, known)
    if counts.dims == old.dims and _same_members(counts, old):
        # The usual case, without xarray's alignment, which takes longer than all the rest.
        total = _remembered(old.values, forgetting) + counts.values
        return known.copy(data={"concentration": known["concentration"].values, "counts": total})
    try:
        new, old = xr.align(counts, _remembered(old, forgetting), join="exact", copy=False)
    except ValueError as problem:
        what, todo = "the batch has other members than the state", "update the same ones each time"
        raise fail(what, str(problem), "the same coordinates", todo) from None
    total = (new + old).rename("counts")
    return xr.Dataset({"concentration": known["concentration"], "counts": total})


def _remembered(counts, forgetting):
    return counts if forgetting == 1 else counts * float(forgetting)


def _same_members(counts, old):
    indexes = counts.indexes, old.indexes
    leading = [{k: v for k, v in each.items() if k not in CELLS} for each in indexes]
    same = counts.shape == old.shape and set(leading[0]) == set(leading[1])
    return same and all(leading[0][k].equals(leading[1][k]) for k in leading[0])


def _as_state(state: Any) -> xr.Dataset:
    if isinstance(state, xr.DataArray):
        prior = in_order(state).rename("concentration")
        return xr.Dataset({"concentration": prior, "counts": xr.zeros_like(prior, dtype=np.int64)})
    if not isinstance(state, xr.Dataset) or not {"concentration", "counts"} <= set(state):
        todo = "start from a prior: update(bcm.priors.jeffreys(counts), counts)"
        allowed = "what update returned, or a prior"
        raise fail("this is no state", type(state).__name__, allowed, todo, TypeError)
    return state


def _fitted(counts, state):
    """Return the counts in the order of the state's labels, without coords of their own."""
    labels = state["counts"].indexes["actual"]
    if set(counts.indexes["actual"].tolist()) != set(labels.tolist()):
        todo = "make counts with labels=[...] of all classes, and the prior like the counts"
        given = counts.indexes["actual"].tolist()
        raise fail("the batch has other labels than the state", given, str(labels.tolist()), todo)
    if positive(counts) != positive(state["counts"]):
        got, allowed = positive(counts), repr(positive(state["counts"]))
        raise fail("the batch has another positive class", got, allowed, f"pass positive={allowed}")
    if not counts.indexes["actual"].equals(labels):
        counts = counts.sel(actual=labels.values, predicted=labels.values)
    own = [k for k, v in counts.coords.variables.items() if k not in _OURS and not v.ndim]
    return counts.drop_vars(own) if own else counts


def check_forgetting(forgetting: float) -> float:
    """Return the share, or raise where it is not in (0, 1]."""
    if not isinstance(forgetting, int | float | np.number) or not 0 < forgetting <= 1:
        todo = "pass forgetting=0.98 to remember some fifty batches, 1 to remember all"
        raise fail("forgetting is not a share", forgetting, "0 < forgetting <= 1", todo)
    return float(forgetting)


def intervals(
    state: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    random_seed: int = 0,
) -> xr.Dataset:
    """
    Return posterior intervals of measures at a state, of all its members at once.

    Parameters
    ----------
    state : Dataset
        As `update` returns it.
    measures : name, function, or sequence of these
    prob : float, default 0.95
    kind : {"hdi", "eti"}
    random_seed : int, default 0
        For measures without an exact law.

    Returns
    -------
    Dataset
        One variable per measure, dims (..., [class], bound).
    """
    prob, kind = check_prob(prob), check_kind(kind)
    counts = state["counts"]
    posterior = dirichlet_multinomial(
        counts.values, concentration=_broadcast(state["concentration"], counts)
    )
    named = counts.coords.variables.items()
    coords = {k: v for k, v in named if not set(CELLS) & set(v.dims)}
    coords["bound"] = np.array(["lower", "upper"])
    found, answers = kernels(measures, counts), {}
    for kernel in found:
        ends = getattr(_law(posterior, kernel, random_seed), kind)(prob)
        dims = [*counts.dims[:-2], *(["class"] if ends.ndim == counts.ndim else []), "bound"]
        answers[kernel.__name__] = dims, ends
        if "class" in dims:
            coords["class"] = counts.indexes["actual"].values
    coords = {name: each for name, each in coords.items() if name not in answers}
    return xr.Dataset(answers, coords)


def _law(posterior, kernel, random_seed):
    law = posterior.law(kernel)
    if law is None:
        (draws,) = posterior.measure([kernel], DRAWS, np.random.default_rng(random_seed))
        law = Empirical(draws)
    return law


def law_at(counts: xr.DataArray, kernel: Callable, concentration: Any, random_seed: int = 0) -> Any:
    """Return the law of a measure given canonical counts, each leading index by itself."""
    prior = as_prior(concentration, counts).values
    return _law(dirichlet_multinomial(counts.values, concentration=prior), kernel, random_seed)


def _broadcast(concentration, counts):
    if concentration.dims == CELLS:
        return concentration.values
    return concentration.broadcast_like(counts).transpose(*counts.dims).values


def accumulate(
    counts: xr.DataArray, *, forgetting: float = 1.0, window: int | None = None
) -> xr.DataArray:
    """
    Return the evidence in force at every step.

    Parameters
    ----------
    counts : DataArray
        The batches, with a dim ``step`` in the order of time.
    forgetting : float, default 1
        As in `update`.
    window : int, optional
        How many of the latest batches count; all by default.

    Returns
    -------
    DataArray
        Dims and coords of the counts. Its intervals are those of all `update` one after the other.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[6, 7, 9], fn=[1, 2, 0], fp=3, tn=3).rename(batch="step")
    >>> accumulate(weeks).sel(actual="positive", predicted="positive").values
    array([ 6, 13, 22])
    >>> accumulate(weeks, window=2).sel(actual="positive", predicted="positive").values
    array([ 6, 13, 16])
    """
    counts, forgetting = as_counts(counts), check_forgetting(forgetting)
    axis = step_axis(counts)
    if window is not None:
        return counts.copy(data=_windowed(counts.values, axis, _check_window(window, forgetting)))
    if forgetting == 1:
        return counts.cumsum("step").assign_coords(counts.coords).rename("counts")
    from scipy.signal import lfilter

    return counts.copy(data=lfilter([1.0], [1.0, -forgetting], counts.values.astype(float), axis))


def history(
    counts: xr.DataArray,
    measures: str | Callable | Sequence[str | Callable],
    *,
    concentration: Any = None,
    prob: float = 0.95,
    kind: str = "hdi",
    **remembered: Any,
) -> xr.Dataset:
    """
    Return the interval of every measure after every batch.

    Parameters
    ----------
    counts : DataArray
        The batches, with a dim ``step`` in the order of time.
    measures : name, function, or sequence of these
    concentration : float, array_like or DataArray, optional
        Prior pseudo-counts; the default prior where it is left out.
    prob, kind
        As of `intervals`.
    **remembered
        ``forgetting`` or ``window``, as of `accumulate`.

    Returns
    -------
    Dataset
        A variable for each measure, dims (step, [class], bound); coord ``n``, the examples of each
        batch.

    Examples
    --------
    >>> import bayescm as bcm
    >>> weeks = bcm.from_cells(tp=[6, 7, 9], fn=[1, 2, 0], fp=3, tn=3).rename(batch="step")
    >>> history(weeks, "recall", kind="eti")["recall"].values.round(2)
    array([[0.5 , 0.98],
           [0.58, 0.94],
           [0.71, 0.97]])
    """
    counts = as_counts(counts)
    in_force = accumulate(counts, **remembered)
    state = {"concentration": as_prior(concentration, counts), "counts": in_force}
    ends = intervals(xr.Dataset(state), measures, prob=prob, kind=kind)
    return ends.assign_coords(n=counts.sum(CELLS))


def step_axis(counts: xr.DataArray) -> int:
    """Return the axis of the steps, or raise where there is none."""
    if "step" not in counts.dims:
        todo = "name the axis of time: from_matrix(tables, dims=('step',)), or by={'step': week}"
        raise fail("the counts have no steps", counts.dims, "a dim step", todo)
    return counts.dims.index("step")


def _check_window(window, forgetting):
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise fail("window is not a number of batches", window, "1, 2, ...", "pass window=20")
    if forgetting != 1:
        got = {"window": window, "forgetting": forgetting}
        raise fail("a window and forgetting at once", got, "one of them", "leave one out")
    return int(window)


def _windowed(values, axis, window):
    values = np.moveaxis(values, axis, 0)
    if values.dtype.kind == "f":  # sums of their own: differences of sums would leave crumbs
        sums = [values[max(0, t - window + 1) : t + 1].sum(axis=0) for t in range(len(values))]
        return np.moveaxis(np.stack(sums), 0, axis)
    sums = values.cumsum(axis=0)
    sums[window:] -= sums[:-window].copy()
    return np.moveaxis(sums, 0, axis)


def with_room(counts: xr.DataArray, steps: int) -> xr.DataArray:
    """
    Append batches of no examples, in which nothing is seen.

    The model `drifting` looks ahead through them, and a series that keeps its length while the room
    is filled is refitted by NUTS without compilation.

    Parameters
    ----------
    counts : DataArray
        With a dim ``step``.
    steps : int
        How many to append, >= 0.

    Returns
    -------
    DataArray
        The coords of the steps are dropped but for the number of the step.
    """
    counts = as_counts(counts)
    step_axis(counts)
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
        raise fail("steps is not a number of batches", steps, "0, 1, ...", "pass steps=10")
    own = [name for name, each in counts.coords.items() if "step" in each.dims]
    return counts.drop_vars(own).pad(step=(0, int(steps)), constant_values=0)


def as_prior(concentration: Any, like: xr.DataArray) -> xr.DataArray:
    """Return a concentration of any kind as a labelled one, in the order of the counts."""
    template = like.isel({dim: 0 for dim in like.dims[:-2]}, drop=True)
    size = template.sizes["actual"]
    cells = align(concentration, template)
    values = np.broadcast_to(2 / size**2 if cells is None else cells, (size, size))
    coords = {k: v for k, v in template.coords.items() if k in (*CELLS, "positive")}
    return xr.DataArray(np.array(values, float), coords, list(CELLS), name="concentration")

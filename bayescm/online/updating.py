"""Sequential updating: a state of pseudo-counts and counts, one batch at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayescm.answers.interval import check_size, known_or_drawn, resolve_measures
from bayescm.distributions import dirichlet
from bayescm.evidence.counts import CELLS, as_counts, by_labels, in_order, positive
from bayescm.online.settings import check_forgetting, prior_cells
from bayescm.posteriors.dirichlet_multinomial import DirichletMultinomial
from bayescm.validate import check_kind, check_prob, fail

_OURS = (*CELLS, "positive")


def update(
    state: xr.Dataset | xr.DataArray, counts: xr.DataArray, *, forgetting: float = 1.0
) -> xr.Dataset:
    """
    Update a state with a batch: conjugate, exact, in closed form.

    Parameters
    ----------
    state : Dataset or DataArray
        What an earlier `update` returned, or a prior as the functions of `bayescm.priors` return
        it.
    counts : DataArray, dims (..., actual, predicted)
        A batch. Leading dims, such as ``classifier``, are updated independently, all at once.
    forgetting : float, default 1
        Factor by which the evidence so far is discounted, in (0, 1]. The prior is not forgotten.
        After many batches of n examples the evidence is worth ``n / (1 - forgetting)`` examples.

    Returns
    -------
    Dataset
        ``concentration``, the prior pseudo-counts, and ``counts``, the evidence in force. Without
        forgetting these are the sums of the counts, whole numbers, so that any order and any split
        into batches end at the same state.

    Raises
    ------
    ValueError
        If the batch has different labels from the state, another positive class, or steps.

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
        raise fail("a batch must not have steps", counts.dims, "counts without a dim step", todo)
    old: Any = known["counts"]
    counts = _fitted(counts, known)
    if counts.dims == old.dims and _same_members(counts, old):
        # The usual case, without xarray's alignment, which takes longer than all the rest.
        total = _discounted(old.values, forgetting) + counts.values
        return known.copy(data={"concentration": known["concentration"].values, "counts": total})
    try:
        new, old = xr.align(counts, _discounted(old, forgetting), join="exact", copy=False)
    except ValueError as problem:
        what, todo = (
            "the batch has different members from the state",
            "update the same ones every time",
        )
        raise fail(what, problem, "the same coordinates", todo) from None
    total = (new + old).rename("counts")
    return xr.Dataset({"concentration": known["concentration"], "counts": total})


def _discounted(counts, forgetting):
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
        raise fail("not a state", type(state).__name__, allowed, todo, TypeError)
    return state


def _fitted(counts, state):
    """Return the counts in the order of the state's labels, without coords of their own."""
    labels = state["counts"].indexes["actual"]
    if set(counts.indexes["actual"].tolist()) != set(labels.tolist()):
        todo = "make counts with labels=[...] of all classes, and the prior from those counts"
        given = counts.indexes["actual"].tolist()
        raise fail(
            "the batch has different labels from the state", given, str(labels.tolist()), todo
        )
    if positive(counts) != positive(state["counts"]):
        got, allowed = positive(counts), repr(positive(state["counts"]))
        raise fail(
            "the batch has a different positive class", got, allowed, f"pass positive={allowed}"
        )
    if not counts.indexes["actual"].equals(labels):
        counts = by_labels(counts, labels)
    own = [k for k, v in counts.coords.variables.items() if k not in _OURS and not v.ndim]
    return counts.drop_vars(own) if own else counts


def intervals(
    state: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable],
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
) -> xr.Dataset:
    """
    Return posterior intervals of measures at a state, for all its members at once.

    Parameters
    ----------
    state : Dataset
        As `update` returns it.
    measures : name, function, or sequence of these
    prob : float, default 0.95
    kind : {"hdi", "eti"}
    of : {"parameter", "predictive"}, default "parameter"
        The measure itself, or that of the next test set.
    n : int, optional
        Size of the next test set; by default that of the evidence in force.
    random_seed : int, default 0
        For measures without a direct distribution.
    accuracy : float, optional
        The numerical error of a bound that is good enough, as of `bayescm.interval`.

    Returns
    -------
    Dataset
        One variable per measure, dims (..., [class], bound).

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> state = bcm.online.update(bcm.priors.jeffreys(counts), counts)
    >>> intervals(state, "recall", kind="eti")["recall"].values.round(3)
    array([0.717, 0.886])
    """
    prob, kind = check_prob(prob), check_kind(kind)
    counts = state["counts"]
    posterior = posterior_of(counts, _broadcast(state["concentration"], counts))
    found, of = resolve_measures(posterior, measures, of)
    known, answers = {"of": of, "n": check_size(n, of), "random_seed": random_seed}, {}
    for measure, distribution in zip(found, known_or_drawn(posterior, found, **known), strict=True):
        if accuracy is not None:
            distribution = distribution.to(accuracy)
        ends = getattr(distribution, kind)(prob)
        dims = [*counts.dims[:-2], *(["class"] if ends.ndim == counts.ndim else []), "bound"]
        answers[measure.__name__] = dims, ends
    named = counts.coords.variables.items()
    coords = {k: v for k, v in named if not set(CELLS) & set(v.dims) and k not in answers}
    coords["bound"] = np.array(["lower", "upper"])
    if any("class" in dims for dims, _ in answers.values()):
        coords["class"] = counts.indexes["actual"].values
    return xr.Dataset(answers, coords)


def distribution_at(
    counts: xr.DataArray, kernel: Callable, concentration: Any, random_seed: int = 0
) -> Any:
    """Return the distribution of a measure given canonical counts, each leading index by itself."""
    prior = prior_cells(concentration, counts)
    posterior = posterior_of(counts, prior)
    (distribution,) = known_or_drawn(posterior, [kernel], random_seed=random_seed)
    return distribution


def posterior_of(counts: xr.DataArray, prior: np.ndarray) -> DirichletMultinomial:
    """Return the posterior of canonical counts, of which nothing needs to be checked again."""
    return DirichletMultinomial(counts, dirichlet.pseudo_counts(counts.values, prior))


def _broadcast(concentration, counts):
    if concentration.dims == CELLS:
        return concentration.values
    return concentration.broadcast_like(counts).transpose(*counts.dims).values

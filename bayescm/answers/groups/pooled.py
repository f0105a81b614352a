"""The posterior of groups or slices, partially pooled whatever name their dim has."""

from collections.abc import Hashable, Sequence
from typing import Any

import xarray as xr

from bayescm.direct.base import Members, Posterior
from bayescm.fitting.route import members_of
from bayescm.validate import fail

GROUP = "group"
# Dims that models know by their names, whose members are no groups of examples.
_OTHERS = ("fold", "classifier", "half", "repeat", "step", "batch", "item", "attempt")


def pooled(
    evidence: Any, dim: str | Sequence[str], options: dict[str, Any]
) -> tuple[Posterior, list[str], dict[Hashable, Hashable]]:
    """
    Return the posterior of groups, the dims it knows them by, and how to name these again.

    A single dim of another name takes the place of ``group``, so that its members are pooled as
    groups are; the combinations of several go to `models.crossed_groups`.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
    dim : str or sequence of str
    options : dict
        Keywords of the caller; ``draws`` is not the model's.

    Raises
    ------
    ValueError
        If there is no such dim, or its members are not pooled and nobody asked for that.
    """
    own = {name: each for name, each in options.items() if name != "draws"}
    dims = [dim] if isinstance(dim, str) else list(dim)
    if not dims:
        raise fail("no dim of groups", dims, "one or more", 'pass dim="group"')
    fitted, named = isinstance(evidence, xr.DataTree), own.get("model") is not None
    if not fitted and not named and "unlabelled" in getattr(evidence, "coords", ()):
        todo = f"ask interval(evidence, ...) or compare(evidence, ..., dim={dims[0]!r})"
        raise fail("slices of partly labelled examples are not pooled", dims, "counts", todo)
    names: dict[Hashable, Hashable] = {}
    if len(dims) > 1 and not fitted:
        own = {"model": "crossed_groups"} | own
    elif not fitted and not named and _stands_for_groups(evidence, dims[0]):
        evidence, names, dims = evidence.rename({dims[0]: GROUP}), {GROUP: dims[0]}, [GROUP]
    posterior = members_of(evidence, dims[0], **own)
    if not fitted and "model" not in own:
        _check_pooled(posterior, dims[0])
    missing = [each for each in dims if each not in posterior.frame.dims]
    if missing:
        todo = "name the columns of groups: from_predictions(..., by={'group': site})"
        raise fail("no such dim of groups", missing[0], list(posterior.frame.dims), todo)
    return posterior, dims, names


def _stands_for_groups(evidence, dim):
    """Say whether a dim is one of groups by another name."""
    known = getattr(evidence, "dims", ())
    return dim in known and dim not in (GROUP, *_OTHERS) and GROUP not in known


def _check_pooled(posterior, dim):
    """Refuse groups that nobody asked to stand by themselves: their worst is bad by chance."""
    if dim in posterior.frame.dims and not isinstance(posterior, Members) and not posterior.pairs:
        todo = f'rename it: counts.rename({dim}="group"), or pass model="dirichlet_multinomial"'
        raise fail("members of this dim are not pooled", dim, "a dim group", todo)

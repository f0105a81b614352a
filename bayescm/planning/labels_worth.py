"""What a judge buys: how many labels alone would tell as much."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.direct.dirichlet_multinomial import dirichlet_multinomial
from bayescm.evidence.counts import CELLS
from bayescm.measures.labelled import kernels
from bayescm.posterior.route import posterior_of
from bayescm.validate import check_seed, fail

_DRAWS = 10_000


def labels_worth(
    evidence: xr.DataArray | xr.Dataset,
    measures: str | Callable | Sequence[str | Callable],
    *,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Say how many labels alone would tell as much as the labels and the judge together.

    Parameters
    ----------
    evidence : DataArray or Dataset
        From `bayescm.from_partly_labelled`.
    measures : name, function, or sequence of these
    random_seed : int, default 0
    **keywords
        ``model`` and the model's own keywords.

    Returns
    -------
    DataFrame
        One row per measure and classifier: ``measure``, ``labels``, how many there are, and
        ``worth``, how many examples, labelled and drawn at random from the same population, would
        leave the same posterior variance by themselves. A judge that tells nothing is worth none,
        and labels that lie elsewhere than the examples are worth less than they are.

    Raises
    ------
    ValueError
        If everything in the evidence is labelled to begin with.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> table = labels_worth(counts, "prevalence")
    >>> int(table.labels[0]), bool(table.worth[0] > 75)
    (50, True)
    """
    if "unlabelled" not in getattr(evidence, "coords", ()):
        todo = "make it with from_partly_labelled(actual, predicted, judge)"
        raise fail("this evidence has no unlabelled examples", ..., "partly labelled", todo)
    posterior = posterior_of(evidence, **keywords)
    found = kernels(measures, posterior.counts)
    rng = np.random.default_rng(check_seed(random_seed))
    cells = posterior.cells("parameter", _DRAWS, rng).mean(axis=0)
    labelled = posterior.pooled.sum((-2, -1))
    counts = _counts(posterior, cells * labelled[..., None, None])
    alone = dirichlet_multinomial(counts)
    weight = (alone.weights - counts.values).sum((-2, -1))
    both, bare = (each.draw(found, _DRAWS, rng) for each in (posterior, alone))
    parts = []
    for kernel, have, one in zip(found, both, bare, strict=True):
        labels, frame = posterior.classes_of(kernel), posterior.frame
        blank = (frame if labels is None else frame.then("class", labels)).filled()
        shape = (*frame.shape, *(1,) * (blank.ndim - frame.ndim))
        size, prior = labelled.reshape(shape), weight.reshape(shape)
        worth = (size + prior) * (np.nanstd(one, axis=0) / np.nanstd(have, axis=0)) ** 2 - prior
        parts.append(_rows(blank.rename(kernel.__name__), size, worth))
    return pd.concat(parts, ignore_index=True)


def _counts(posterior, cells):
    """Return cells as counts of every member of the batch."""
    dims = (*posterior.batch.dims, *CELLS)
    kept = {k: v for k, v in posterior.counts.coords.items() if set(v.dims) <= set(dims)}
    return xr.DataArray(cells, dims=dims, coords=kept, name="counts")


def _rows(blank, labels, worth):
    """Return one row for each member of the batch."""
    values = {"labels": labels, "worth": np.round(worth)}
    data = {k: (blank.dims, np.broadcast_to(each, blank.shape)) for k, each in values.items()}
    coords = {dim: (dim, blank[dim].values) for dim in blank.dims if dim in blank.coords}
    table = xr.Dataset(data, coords=coords)
    frame = table.to_dataframe().reset_index() if blank.ndim else pd.DataFrame([_plain(table)])
    frame.insert(0, "measure", blank.name)
    return frame.astype({"labels": int, "worth": int})


def _plain(table):
    return {name: each.item() for name, each in table.data_vars.items()}

"""
Posteriors of models without a direct posterior, sampled by NUTS.

Sampling takes seconds, and the same posterior is often needed several times. The most recent
posteriors are therefore cached in the process.
"""

import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.fitting.fit import check_estimand, fit
from bayescm.fitting.fitted import TreeDraws, fitted_posterior
from bayescm.fitting.nuts import watched
from bayescm.fitting.recent import Recent
from bayescm.posteriors.base import Posterior

_fits_ahead: ContextVar[int] = ContextVar("fits_ahead", default=1)


def sampled_posterior(
    evidence: Any,
    model: str | Callable,
    keywords: dict[str, Any],
    *,
    of: str = "parameter",
    random_seed: Any = 0,
    **options: Any,
) -> TreeDraws:
    """
    Return the posterior of a PyMC model, sampled by NUTS or taken from the cache.

    Parameters
    ----------
    evidence : DataArray or Dataset
    model : str or callable
        Name of a model in ``bayescm.models``, or a function ``f(counts, **keywords)`` that returns
        a ``pymc.Model`` with a variable ``theta``, dims ``(..., actual, predicted)``.
    keywords : dict
        Keywords of the model.
    of : str
        Estimand that must be available.
    random_seed : int, optional
    **options
        ``draws`` and sampler options, as in `bayescm.fit`.

    Raises
    ------
    ValueError
        If the PyMC model lacks the estimand. This is checked before sampling.

    Warns
    -----
    UserWarning
        If draws diverged, or chains disagree (r-hat above 1.01).
    """
    sampler = {**options, "random_seed": random_seed}
    question = (evidence, model, keywords, sampler)
    if random_seed is not None and (kept := _posteriors.find(question)):
        return kept
    if of not in ("parameter", "predictive"):
        check_estimand(evidence, model, keywords, of)
    if (number := _fits_ahead.get()) > 1:
        _fits_ahead.set(1)  # report only once
        if watched():
            print(f"Up to {number} posteriors are sampled, one after another.", file=sys.stderr)
    tree = fit(evidence, model, method="nuts", **sampler, **keywords)
    posterior = fitted_posterior(tree)
    posterior.sampled = True
    posterior.how = f"NUTS ({posterior.size:,} draws in {posterior.draw_clusters} chains)"
    _posteriors.keep(copy.deepcopy(question), posterior)  # in case the caller changes arrays
    return posterior


def is_sampled(posterior: Posterior) -> bool:
    """Check whether a posterior was sampled by NUTS for the current question."""
    return isinstance(posterior, TreeDraws) and posterior.sampled


@contextmanager
def several_fits(number: int) -> Iterator[None]:
    """
    Announce the number of posteriors that a result needs, before the first one is sampled.

    The message appears in terminals and notebooks, like the progress bar, and only if posteriors
    are sampled.
    """
    token = _fits_ahead.set(number)
    try:
        yield
    finally:
        _fits_ahead.reset(token)


def _is_same(first: Any, second: Any) -> bool:
    """Check whether two arguments are certainly equal."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, xr.DataArray | xr.Dataset):
        return first.identical(second)
    if isinstance(first, pd.DataFrame | pd.Series):
        return first.equals(second)
    if isinstance(first, np.ndarray):
        return np.array_equal(first, second)
    if isinstance(first, partial):
        contents = [
            (function.func, function.args, function.keywords) for function in (first, second)
        ]
        return _is_same(*contents)
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            _is_same(first[key], second[key]) for key in first
        )
    return isinstance(first, str | int | float | bool) and first == second


_posteriors: Recent[tuple, TreeDraws] = Recent(_is_same)

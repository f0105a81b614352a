"""
From evidence and the name of a measure to its posterior distribution, with the dims of the answer.

The posterior is asked for the distribution of the measure or, where it has none, for draws. Neither
PyMC nor a plotting library is loaded.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from bayescm.direct.base import Posterior
from bayescm.direct.frames import Frame
from bayescm.distributions.batches import LazyDraws
from bayescm.fitting.route import posterior_of
from bayescm.measures.labelled import kernels, of_variable, several
from bayescm.validate import check_seed, check_whole, fail

_LARGE = 2**22  # numbers of all draws that may be in memory at once
# What is asked of a posterior; other keywords are the model's own.
ASKED = ("of", "n", "draws", "random_seed", "accuracy")
Wanted = str | Callable | Sequence[str | Callable]


def distributions_of(
    evidence: xr.DataArray | xr.Dataset | xr.DataTree,
    measures: Wanted,
    *,
    model: str | Callable | None = None,
    of: str = "parameter",
    n: int | None = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
    **keywords: Any,
) -> list[tuple[Any, Frame]]:
    """
    Return the distributions of measures, and the dims and coords of their batch.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
        Counts, dims (..., actual, predicted); outcomes of several classifiers; or a fit.
    measures : name, function, or sequence of these
    model : str or callable, optional
        Name of a model with a direct sibling, or such a sibling; by default the model that fits the
        evidence.
    of : str, default "parameter"
        The estimand: the measure itself; ``"predictive"``, that of the next test set;
        ``"finite"``, the mean over the folds or groups at hand; ``"population"``, the mean over all
        groups there may be (of groups the measure itself); ``"typical"``, the group in the middle;
        ``"new"``, one new group. Each model says which of these it has. The name of a dim that the
        model uses up, such as ``"group"``, stands for each of its members, partially pooled.
    n : int, optional
        Size of the next test set; by default the observed total.
    draws : int, optional
        How many draws of each matrix, for every measure. By default the distribution itself where
        it is known, and 20,000 draws otherwise.
    random_seed : int, default 0
        Seed of the draws.
    accuracy : float, optional
        The numerical error that is good enough for the bound of an interval by quadrature (in parts
        of it where it is above 1): by default 1e-6, and 1e-3 for more than 10,000 matrices.
    **keywords
        The model's own, and ``positive``: the positive class, where the evidence does not know it
        or another one is meant.

    Returns
    -------
    list of tuples
        The distribution, and the dims, the coords and the name of the answer.

    Raises
    ------
    ValueError, TypeError
        If the evidence, the model, a measure or a keyword of the model is invalid.
    """
    posterior, of = member_by_member(posterior_of(evidence, model, **keywords), of)
    asked = {"of": of, "n": n, "draws": draws, "random_seed": random_seed, "accuracy": accuracy}
    return answers_of(posterior, measures, **asked)  # type: ignore[arg-type]


def member_by_member(posterior: Posterior, of: str) -> tuple[Posterior, str]:
    """Return the members of the dim that an estimand is named after, and what is asked of them."""
    return (posterior.members(of), "parameter") if of in posterior.uses else (posterior, of)


def answers_of(
    posterior: Posterior,
    measures: Wanted,
    *,
    of: str = "parameter",
    n: int | None = None,
    draws: int | None = None,
    random_seed: int = 0,
    accuracy: float | None = None,
) -> list[tuple[Any, Frame]]:
    """Return the distributions of measures of a posterior; parameters as for `distributions_of`."""
    found, of = wanted(posterior, measures, of)
    _check_accuracy(accuracy)
    size = check_size(n, of)
    every = known_or_drawn(posterior, found, of=of, n=size, draws=draws, random_seed=random_seed)
    if accuracy is not None:
        every = [each.to(accuracy) for each in every]
    said = {"of": posterior.says(of)}
    if doubts := posterior.doubts(of):
        said |= {"caution": " ".join(doubts)}
    return [(each, template(posterior, one, said)) for each, one in zip(every, found, strict=True)]


def known_or_drawn(
    posterior: Posterior,
    measures: list,
    *,
    of: str = "parameter",
    n: int | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> list:
    """Return the distributions of resolved measures: known, or else all from the same draws."""
    if check_draws(draws) is None or posterior.measured:
        known = [posterior.distribution(each, of=of, n=n) for each in measures]
    else:
        known = [None] * len(measures)
    missing = [each for each, have in zip(measures, known, strict=True) if have is None]
    if not missing:
        return known
    number = posterior.draws_by_default(of) if draws is None else draws
    rest = iter(_drawn(posterior, missing, number, random_seed, of, n))
    return [next(rest) if have is None else have for have in known]


def distribution_of(evidence: Any, measure: str | Callable, **keywords: Any) -> tuple[Any, Frame]:
    """Return the distribution of one measure and its labels; see `distributions_of`."""
    found = distributions_of(evidence, measure, **keywords)
    if len(found) > 1:
        names = [template.name for _, template in found]
        raise fail("only one measure at a time", names, "a name or a function", "ask for each")
    return found[0]


def wanted(posterior: Posterior, measures: Wanted | None, of: str) -> tuple[list, str]:
    """Return the measures and the estimand, or raise where the posterior lacks them."""
    if posterior.measured:
        return _measured(posterior.measured, measures), posterior.check_of(of)
    if measures is None:
        raise fail("no measures", ..., "one or more", 'pass e.g. "f1"', TypeError)
    if posterior.gives == "curve":
        todo = (
            "ask curves: curves.auc(scores), curves.compare(scores), curves.at_threshold(scores); "
            "if they are chances, pass them through from_probabilities"
        )
        raise fail(
            "these are scores, not counts", type(posterior).__name__, "counts", todo, TypeError
        )
    if posterior.gives != "cells":
        return of_variable(measures, posterior.gives), posterior.check_of(of)
    return kernels(measures, posterior.counts), posterior.check_of(of)


def _measured(having, measures):
    """Return those measures that the evidence was measured by: all unless some are named."""
    known = {each.__name__: each for each in having}
    names = list(known) if measures is None else several(measures)
    for name in names:
        if name not in known:
            raise fail("the results are not of this measure", name, known, "name no measure")
    return [known[name] for name in names]


def template(posterior: Posterior, measure: Callable, attrs: dict | None = None) -> Frame:
    """Return the dims, coords and name of a measure of the batch."""
    own = posterior.frame
    frame = Frame(own.coords, own.dims, own.shape, measure.__name__, attrs or {})
    labels = posterior.classes_of(measure)
    return frame if labels is None else frame.then("class", labels)


def common_template(templates: Sequence[Frame], measure: Any) -> Frame:
    """Return the dims and coords of the answer; a sequence of measures has a dim of its own."""
    if isinstance(measure, str) or callable(measure):
        return templates[0]
    if len({each.dims for each in templates}) > 1:
        names = [each.name for each in templates if "class" in each.dims]
        todo = "ask for them separately, or for averages over the classes such as f1_macro"
        raise fail("only some of the measures have one value per class", names, "all or none", todo)
    names = [each.name for each in templates]
    return replace(templates[0], name="interval").under("measure", names)


def check_draws(draws: Any) -> int | None:
    """Return a number of draws, or raise where it is not one."""
    return None if draws is None else check_whole("draws", draws, 2, "draws", 20000)


def _check_accuracy(accuracy):
    number = isinstance(accuracy, (float, np.floating))
    if accuracy is not None and not (number and 1e-12 <= accuracy <= 0.1):
        todo = "pass accuracy=1e-6, or draws= for Monte Carlo"
        raise fail("not a numerical accuracy", accuracy, "1e-12 to 0.1", todo)


def check_size(n: Any, of: str) -> Any:
    """Return the size of the next test set, or raise where it is not one or none is asked for."""
    if n is not None and of != "predictive":
        raise fail("n is of the next test set", of, ["predictive"], "pass of='predictive' with n")
    if n is None or (isinstance(n, (int, np.integer)) and n >= 1):
        return n
    raise fail("n must be the size of a test set", n, "1 or more", "pass n=100")


def check_room(posterior: Posterior, measures: Sequence[Callable], size: int) -> None:
    """Raise where the draws of the measures would take more memory than the machine has."""
    numbers = size * sum(math.prod(template(posterior, each).shape) for each in measures)
    todo = "ask for fewer members or measures at a time, or pass draws=1000"
    check_fits("these draws need", 2 * numbers, todo)  # in parts, and joined


def check_fits(what: str, numbers: int, todo: str) -> None:
    """
    Raise where so many numbers of 8 bytes would take more memory than the machine has.

    Parameters
    ----------
    what : str
        What they are and its verb, as in ``"these draws need"``.
    numbers : int
        How many are held at the same time.
    todo : str
    """
    need, there = 8 * numbers, _memory()
    if need > there:
        allowed = f"at most {_gigabytes(there)}, what the machine has"
        raise fail(f"{what} too much memory", _gigabytes(need), allowed, todo)


def _gigabytes(size):
    return f"{size / 1e9:,.0f} GB" if size > 1e10 else f"{size / 1e9:.2g} GB"


def _memory():
    """Return the bytes of memory of the machine; as good as endless where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _drawn(posterior, measures, size, seed, of, n):
    """Return distributions by draws, all measures from the same ones."""
    large = posterior.held * size > _LARGE
    if large and posterior.batch.ndim and posterior.part(np.arange(1)) is not None and n is None:
        return [LazyDraws(posterior, each, size, seed, of) for each in measures]
    check_room(posterior, measures, size)
    rng = np.random.default_rng(check_seed(seed))
    part = max(1, _LARGE // posterior.held) if large else size
    sizes = np.diff([*range(0, size, part), size])
    parts = [posterior.draw(measures, each, rng, of=of, n=n) for each in sizes]
    arrays = [np.concatenate(values) for values in zip(*parts, strict=True)]
    return [posterior.drawn(*each) for each in zip(measures, arrays, strict=True)]

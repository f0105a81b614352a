"""
Which examples to label next: shares of a budget by what a label in each stratum tells.

References
----------
Neyman, J. (1934). On the two different aspects of the representative method. Journal of the Royal
Statistical Society 97, 558-625. doi:10.2307/2342192
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.direct.partly_labelled import PartlyLabelled, partly_labelled
from bayescm.evidence.judged.partly_labelled import said_of
from bayescm.measures.labelled import kernels
from bayescm.validate import check_prob, check_seed, check_whole, fail

_DRAWS = 1000
_LEAST = 0.1  # of the labels that each stratum would have if all had the same
_STEPS = 5000  # of a large budget several labels are given out at a time


def plan_labels(
    evidence: xr.DataArray | xr.Dataset,
    measure: str | Callable,
    budget: int,
    *,
    batch: int | None = None,
    prob: float = 0.95,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Say how many examples to label next of each stratum, so that a measure is known best.

    A stratum is what the judge and the classifier said. The more uncertain the truth within it,
    the more examples it holds, and the more these matter to the measure, the more labels it gets.
    Labels tell where more of them are needed: label a batch, make the evidence anew, and ask again.

    A choice by stratum needs no weights. The model takes the labelled examples for a random choice
    *within* their stratum, and how many each stratum has does not matter (the choice is ignorable
    given the stratum). Within a stratum, choose at random, as `bayescm.planning.choose` does.

    Parameters
    ----------
    evidence : DataArray or Dataset
        From `bayescm.from_partly_labelled`, with a few labels of random examples to begin with.
    measure : name or function
        Of several classifiers, or classes, their variances are averaged.
    budget : int
        How many more examples can be labelled.
    batch : int, optional
        How many of these to choose now; by default all.
    prob : float, default 0.95
        Mass of the interval whose width is told.
    random_seed : int, default 0
    **keywords
        The model's own: ``concentration``.

    Returns
    -------
    DataFrame
        One row per stratum that holds examples: ``judge``, ``predicted`` (of several classifiers
        ``predicted_`` and the name), ``labelled``, ``unlabelled``, ``label_next``, and, the same in
        all rows, ``width`` of the interval now and ``width_after``, about what is to be expected
        when the whole budget is spent. Where a judge's labels stand in the place of predictions,
        ``predicted`` is what the judge said. No stratum is left with fewer labels than a
        tenth of an equal share.

    Raises
    ------
    ValueError
        If the evidence has no strata or several members, nothing is left to label, the budget is
        not positive, or the measure is unknown.

    See Also
    --------
    labels_worth : What the judge buys.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_partly_labelled_counts([[28, 1], [1, 5]], [1800, 165], labels=["-", "+"],
    ...     positive="+")
    >>> table = plan_labels(counts, "f1", 50)
    >>> int(table["label_next"].sum()), bool((table["width_after"] < table["width"]).all())
    (50, True)
    """
    from bayescm.answers.interval import interval

    posterior = _posterior(evidence, keywords)
    total = _whole("budget", budget)
    now = total if batch is None else min(total, _whole("batch", batch))
    if not posterior.others.any():
        todo = "there is nothing to plan; ask for the measure"
        raise fail("nothing is left to label", 0, "unlabelled examples", todo)
    (kernel,) = kernels([measure], posterior.counts)
    check_prob(prob)
    rng = np.random.default_rng(check_seed(random_seed))
    tells, fixed = posterior.tellings(kernel, _DRAWS, rng)
    seen, weight = posterior.known.sum(-1), (posterior.known + posterior.prior).sum(-1)
    following, at_last = (
        allocate(tells, weight, seen, posterior.others, number) for number in (now, total)
    )
    ends = interval(evidence, measure, prob=prob, **keywords)
    width = float((ends.sel(bound="upper") - ends.sel(bound="lower")).mean())
    before, after = ((tells / each).sum() + fixed for each in (weight, weight + at_last))
    table = _said(posterior).assign(
        labelled=seen.round().astype(int),
        unlabelled=posterior.others.round().astype(int),
        label_next=following,
        width=width,
        width_after=width * np.sqrt(after / before),
    )
    return table[posterior.sizes > 0].reset_index(drop=True)


def allocate(
    tells: np.ndarray, weight: np.ndarray, seen: np.ndarray, others: np.ndarray, budget: int
) -> np.ndarray:
    """
    Return how many labels each stratum gets, (K,), so that ``sum(tells / weight)`` is least.

    Parameters
    ----------
    tells : ndarray, shape (K,)
        The variance of which a stratum leaves ``tells / weight``.
    weight : ndarray, shape (K,)
        Its labels and pseudo-counts.
    seen, others : ndarray, shape (K,)
        Its labels, and the examples that have none.
    budget : int

    Examples
    --------
    >>> import numpy as np
    >>> ones, many = np.ones(2), np.full(2, 90)
    >>> allocate(np.array([9.0, 1.0]), ones, ones, many, 38).tolist()
    [29, 9]
    """
    room = np.floor(others).astype(int)
    left = min(int(budget), int(room.sum()))
    given = np.zeros(len(room), int)
    held = np.maximum((others > 0).sum(), 1)
    floor = np.ceil(_LEAST * (seen.sum() + left) / held)
    step = max(1, left // _STEPS)
    while left:
        free = given < room
        short = free & (seen + given < floor)
        gain = tells / (weight + given) - tells / (weight + given + 1)
        among = short if short.any() else free
        best = int(np.argmax(np.where(among, gain, -1.0)))
        more = min(step, left, int(room[best] - given[best]))
        given[best] += more
        left -= more
    return given


def choose(
    plan: pd.DataFrame,
    actual: Any,
    predicted: Any = None,
    judge: Any = None,
    *,
    random_seed: int = 0,
    **options: Any,
) -> np.ndarray:
    """
    Choose the examples that a plan asks for, at random within each stratum.

    Parameters
    ----------
    plan : DataFrame
        From `bayescm.plan_labels`.
    actual, predicted, judge
        The data that the evidence of the plan was made of.
    random_seed : int, default 0
    **options
        ``design``, ``labels`` and ``abstain``, if the evidence was made with these.

    Returns
    -------
    ndarray of int
        Places of the examples to label next, in the order of the data.

    Raises
    ------
    ValueError
        If a stratum has fewer unlabelled examples than the plan asks for.

    Examples
    --------
    >>> import bayescm as bcm
    >>> human, judge = [1, 0, 1, 0] + [None] * 6, [1, 0, 1, 1, 1, 0, 1, 0, 0, 1]
    >>> plan = bcm.plan_labels(bcm.from_partly_labelled(human, judge=judge), "prevalence", 3)
    >>> len(bcm.planning.choose(plan, human, judge=judge))
    3
    """
    rng = np.random.default_rng(check_seed(random_seed))
    said, seen = said_of(actual, predicted, judge, **options)
    missing = sorted({*said, "label_next"} - {*plan})
    if missing:
        todo = "pass the data that the plan was made of"
        raise fail("the plan lacks columns of these data", missing, list(plan), todo)
    places = []
    for stratum, number in zip(
        plan[[*said]].itertuples(index=False), plan["label_next"], strict=True
    ):
        same = [said[name] == value for name, value in zip(said, stratum, strict=True)]
        free = np.flatnonzero(np.logical_and.reduce(same) & ~seen)
        if len(free) < number:
            what = f"a stratum holds {len(free)} unlabelled examples"
            todo = "pass the data that the plan was made of"
            raise fail(what, tuple(stratum), f"at least {number}", todo)
        places.append(rng.choice(free, number, replace=False))
    return np.sort(np.concatenate(places))


def _posterior(evidence, keywords) -> PartlyLabelled:
    """Return the posterior of one set of examples, or raise where there are no strata."""
    if "unlabelled" not in getattr(evidence, "coords", ()) or "judge" not in evidence.dims:
        todo = "make it with from_partly_labelled(actual, predicted, judge)"
        raise fail("this evidence has no strata of a judge", ..., "partly labelled", todo)
    posterior = partly_labelled(evidence, **keywords)
    if posterior.others.ndim > 1:
        todo = "plan for each member by itself"
        raise fail("several sets of examples", posterior.others.shape[:-1], "one", todo)
    return posterior


def _whole(name, value):
    """Return a number of labels, or raise where it is none."""
    return check_whole(name, value, 1, "labels", 50)


def _said(posterior):
    """Return what the judge and the classifiers said in each stratum."""
    counts = posterior.counts
    table = {"judge": counts["judge"].values[posterior.judged]}
    names = ["predicted"]
    if "classifier" in counts.dims:
        names = [f"predicted_{name}" for name in counts["classifier"].values.tolist()]
    answers = counts["predicted"].values[posterior.answers]
    return pd.DataFrame(table | dict(zip(names, answers, strict=True)))

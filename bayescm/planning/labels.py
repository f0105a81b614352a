"""
Labels beside a judge: how many examples to label next in each stratum, and what the judge is worth.

A stratum is what the judge and the classifiers answered. The posterior variance of a measure is
about a sum over the strata of v_k / w_k, with the labels and pseudo-counts w_k of a stratum. As in
Neyman's allocation it is made least: every further label goes where v_k / w_k - v_k / (w_k + 1) is
largest.

References
----------
Neyman, J. (1934). On the two different aspects of the representative method. Journal of the Royal
Statistical Society 97, 558-625. doi:10.2307/2342192
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.counts import CELLS
from bayescm.evidence.partly_labelled import has_strata, is_partly_labelled, judgements
from bayescm.fitting.posterior_for import posterior_of
from bayescm.fitting.question import Question
from bayescm.measures.labelled import as_measures
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.posteriors.partly_labelled import PartlyLabelled, partly_labelled
from bayescm.validate import check_prob, check_seed, check_whole, fail

_VARIANCE_DRAWS = 1000
_WORTH_DRAWS = 10_000
_LEAST = 0.1  # of the labels that each stratum would have if all had the same
_STEPS = 5000  # of a large budget several labels are given out at a time


def plan_labels(
    evidence: xr.DataArray | xr.Dataset,
    measure: str | Callable,
    budget: int,
    *,
    batch: int | None = None,
    prob: float = 0.95,
    concentration: float | None = None,
    random_seed: int = 0,
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
        Mass of the interval whose width is reported.
    concentration : float, optional
        The prior; see `bayescm.models.partly_labelled`.
    random_seed : int, default 0

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
    >>> counts = bcm.evidence.from_partly_labelled_counts(
    ...     [[28, 1], [1, 5]], [1800, 165], labels=["-", "+"], positive="+"
    ... )
    >>> table = plan_labels(counts, "f1", 50)
    >>> int(table["label_next"].sum()), bool((table["width_after"] < table["width"]).all())
    (50, True)
    """
    from bayescm.answers.interval import interval

    posterior = _stratified_posterior(evidence, concentration)
    total = check_whole("budget", budget, 1, "labels", 50)
    now = total if batch is None else min(total, check_whole("batch", batch, 1, "labels", 50))
    if not posterior.unlabelled.any():
        todo = "there is nothing to plan; ask for the measure"
        raise fail("nothing is left to label", 0, "unlabelled examples", todo)
    (resolved,) = as_measures([measure], posterior.counts)
    check_prob(prob)
    rng = np.random.default_rng(check_seed(random_seed))
    variance, remainder = posterior.variance_by_stratum(resolved, _VARIANCE_DRAWS, rng)
    labelled, unlabelled = posterior.labelled.sum(-1), posterior.unlabelled
    weight = (posterior.labelled + posterior.prior).sum(-1)
    label_next, label_in_all = (
        allocate(variance, weight, labelled, unlabelled, number) for number in (now, total)
    )
    bounds = interval(evidence, measure, prob=prob, concentration=concentration)
    width = float((bounds.sel(bound="upper") - bounds.sel(bound="lower")).mean())
    before = (variance / weight).sum() + remainder
    after = (variance / (weight + label_in_all)).sum() + remainder
    table = _strata(posterior).assign(
        labelled=labelled.round().astype(int),
        unlabelled=unlabelled.round().astype(int),
        label_next=label_next,
        width=width,
        width_after=width * np.sqrt(after / before),
    )
    return table[posterior.sizes > 0].reset_index(drop=True)


def _stratified_posterior(evidence, concentration) -> PartlyLabelled:
    """Return the posterior of one set of examples, or raise where there are no strata."""
    if not has_strata(evidence):
        todo = "make it with `from_partly_labelled(actual, predicted, judge)`"
        raise fail("this evidence has no strata of a judge", ..., "partly labelled", todo)
    posterior = partly_labelled(evidence, concentration=concentration)
    if posterior.unlabelled.ndim > 1:
        todo = "plan for each member by itself"
        raise fail("several sets of examples", posterior.unlabelled.shape[:-1], "one", todo)
    return posterior


def _strata(posterior):
    """Return what the judge and the classifiers answered in each stratum."""
    counts = posterior.counts
    columns = {"judge": counts["judge"].values[posterior.verdicts]}
    names = ["predicted"]
    if "classifier" in counts.dims:
        names = [f"predicted_{name}" for name in counts["classifier"].values.tolist()]
    answers = counts["predicted"].values[posterior.answers]
    return pd.DataFrame(columns | dict(zip(names, answers, strict=True)))


def allocate(
    variance: np.ndarray,
    weight: np.ndarray,
    labelled: np.ndarray,
    unlabelled: np.ndarray,
    budget: int,
) -> np.ndarray:
    """
    Return how many labels each stratum gets, (K,), so that ``sum(variance / weight)`` is least.

    Parameters
    ----------
    variance : ndarray, shape (K,)
        Of the variance of the measure, a stratum contributes ``variance / weight``.
    weight : ndarray, shape (K,)
        Its labels and pseudo-counts.
    labelled, unlabelled : ndarray, shape (K,)
        Its examples with a label and without.
    budget : int

    Examples
    --------
    >>> import numpy as np
    >>> ones, many = np.ones(2), np.full(2, 90)
    >>> allocate(np.array([9.0, 1.0]), ones, ones, many, 38).tolist()
    [29, 9]
    """
    available = np.floor(unlabelled).astype(int)
    left = min(int(budget), int(available.sum()))
    allocated = np.zeros(len(available), int)
    n_strata = np.maximum((unlabelled > 0).sum(), 1)
    least = np.ceil(_LEAST * (labelled.sum() + left) / n_strata)
    step = max(1, left // _STEPS)
    while left:
        open_strata = allocated < available
        short = open_strata & (labelled + allocated < least)
        reduction = variance / (weight + allocated) - variance / (weight + allocated + 1)
        candidates = short if short.any() else open_strata
        best = int(np.argmax(np.where(candidates, reduction, -1.0)))
        labels = min(step, left, int(available[best] - allocated[best]))
        allocated[best] += labels
        left -= labels
    return allocated


def choose(
    plan: pd.DataFrame,
    actual: Any,
    predicted: Any = None,
    judge: Any = None,
    *,
    design: Any = None,
    labels: Sequence | None = None,
    abstain: Any = None,
    random_seed: int = 0,
) -> np.ndarray:
    """
    Choose the examples that a plan asks for, at random within each stratum.

    Parameters
    ----------
    plan : DataFrame
        From `bayescm.planning.plan_labels`.
    actual, predicted, judge
        The data that the evidence of the plan was made of.
    design, labels, abstain : optional
        As they were passed to `bayescm.from_partly_labelled`.
    random_seed : int, default 0

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
    >>> evidence = bcm.from_partly_labelled(human, judge=judge)
    >>> plan = bcm.planning.plan_labels(evidence, "prevalence", 3)
    >>> len(bcm.planning.choose(plan, human, judge=judge))
    3
    """
    rng = np.random.default_rng(check_seed(random_seed))
    options = {"design": design, "labels": labels, "abstain": abstain}
    answers, labelled = judgements(actual, predicted, judge, **options)
    missing = sorted({*answers, "label_next"} - {*plan})
    if missing:
        todo = "pass the data that the plan was made of"
        raise fail("the plan lacks columns of these data", missing, list(plan), todo)
    positions = []
    for stratum, number in zip(
        plan[[*answers]].itertuples(index=False), plan["label_next"], strict=True
    ):
        inside = [answers[name] == value for name, value in zip(answers, stratum, strict=True)]
        unlabelled = np.flatnonzero(np.logical_and.reduce(inside) & ~labelled)
        if len(unlabelled) < number:
            what = f"a stratum holds {len(unlabelled)} unlabelled examples"
            todo = "pass the data that the plan was made of"
            raise fail(what, tuple(stratum), f"at least {number}", todo)
        positions.append(rng.choice(unlabelled, number, replace=False))
    return np.sort(np.concatenate(positions))


def labels_worth(
    evidence: xr.DataArray | xr.Dataset,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Say how many labels alone would tell as much as the labels and the judge together.

    Parameters
    ----------
    evidence : DataArray or Dataset
        From `bayescm.from_partly_labelled`.
    measures : name, function, or sequence of these, optional
        By default those of `bayescm.summary`.
    model, concentration, positive
        See `bayescm.interval`.
    draws : int, optional
        Of a model that is sampled.
    random_seed : int, default 0
    **keywords
        The model's further keywords.

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
    >>> counts = bcm.evidence.from_partly_labelled_counts([[18, 4], [3, 25]], [880, 1070])
    >>> table = labels_worth(counts, "prevalence")
    >>> int(table.labels[0]), bool(table.worth[0] > 75)
    (50, True)
    """
    if not is_partly_labelled(evidence):
        todo = "make it with `from_partly_labelled(actual, predicted, judge)`"
        raise fail("this evidence has no unlabelled examples", ..., "partly labelled", todo)
    question = Question(
        "parameter", None, model, concentration, positive, draws, random_seed, None, keywords
    )
    posterior: Any = posterior_of(evidence, question)
    from bayescm.answers.interval import usual_measures

    names = usual_measures(evidence) if measures is None else measures
    resolved_measures = as_measures(names, posterior.counts)
    rng = np.random.default_rng(check_seed(random_seed))
    # What as many labels by themselves would show on average: the mean of the posterior.
    theta = posterior.cells("parameter", _WORTH_DRAWS, rng).mean(axis=0)
    n = posterior.pooled.sum((-2, -1))
    dims = (*posterior.batch.dims, *CELLS)
    coords = {k: v for k, v in posterior.counts.coords.items() if set(v.dims) <= set(dims)}
    counts = xr.DataArray(theta * n[..., None, None], dims=dims, coords=coords, name="counts")
    labels_alone = dirichlet_multinomial(counts)
    prior = (labels_alone.concentration - counts.values).sum((-2, -1))
    drawn, drawn_alone = (
        one.draw(resolved_measures, _WORTH_DRAWS, rng) for one in (posterior, labels_alone)
    )
    tables = []
    for measure, with_judge, without_judge in zip(
        resolved_measures, drawn, drawn_alone, strict=True
    ):
        classes, frame = posterior.classes_of(measure), posterior.template
        template = (frame if classes is None else frame.append_dim("class", classes)).to_dataarray()
        shape = (*frame.shape, *(1,) * (template.ndim - frame.ndim))
        size, pseudo_counts = n.reshape(shape), prior.reshape(shape)
        # The variance goes with one over the examples, pseudo-counts included.
        ratio = (np.nanstd(without_judge, axis=0) / np.nanstd(with_judge, axis=0)) ** 2
        equivalent = (size + pseudo_counts) * ratio - pseudo_counts
        tables.append(_worth_table(template.rename(measure.__name__), size, equivalent))
    return pd.concat(tables, ignore_index=True)


def _worth_table(template, labels, worth):
    """Return one row for each member of the batch."""
    values = {"labels": labels, "worth": np.round(worth)}
    variables = {
        name: (template.dims, np.broadcast_to(numbers, template.shape))
        for name, numbers in values.items()
    }
    coords = {dim: (dim, template[dim].values) for dim in template.dims if dim in template.coords}
    dataset = xr.Dataset(variables, coords=coords)
    if template.ndim:
        table = dataset.to_dataframe().reset_index()
    else:
        table = pd.DataFrame([{name: value.item() for name, value in dataset.data_vars.items()}])
    table.insert(0, "measure", template.name)
    return table.astype({"labels": int, "worth": int})

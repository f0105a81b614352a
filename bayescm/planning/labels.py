"""
Label planning with a judge: which examples to label next, and how many labels the judge replaces.

A stratum is a combination of labels of the judge and of the classifiers. The posterior variance of
a measure is approximately a sum of v_k / w_k over the strata, with w_k the labels and pseudo-counts
of stratum k. As in Neyman's allocation, this sum is minimised: each further label goes to the
stratum with the largest v_k / w_k - v_k / (w_k + 1).

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
_LEAST = 0.1  # minimum share of the labels of a stratum, relative to an equal allocation
_STEPS = 5000  # with a large budget, several labels are allocated per step


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
    Return the number of examples to label next in each stratum, for a given measure.

    A stratum is a combination of labels of the judge and the classifier. A stratum receives more
    labels if its true classes are more uncertain, if it contains more examples, and if it
    influences the measure more. The best allocation becomes clearer as labels accumulate: label a
    batch, update the evidence, and plan again.

    Stratified selection needs no weights. The model assumes that labelled examples are a random
    sample *within* their stratum, and the number of labels per stratum does not matter (selection
    is ignorable given the stratum). Select at random within strata, as `bayescm.planning.choose`
    does.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Result of `bayescm.from_partly_labelled`, with a few randomly chosen labels to start with.
    measure : name or function
        Measure. For several classifiers or classes, the variances are averaged.
    budget : int
        Number of further examples that can be labelled.
    batch : int, optional
        Number of these to select now. By default all.
    prob : float, default 0.95
        Probability of the interval whose width is reported.
    concentration : float, optional
        Prior. See `bayescm.models.partly_labelled`.
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        One row per stratum with examples: ``judge``, ``predicted`` (for several classifiers,
        ``predicted_`` followed by the name), ``labelled``, ``unlabelled`` and ``label_next``. Two
        columns are the same in all rows: ``width``, the current width of the interval, and
        ``width_after``, the approximate expected width when the whole budget is spent. If the
        judge's labels replace predictions, ``predicted`` contains the labels of the judge. Each
        stratum gets at least a tenth of an equal share of all labels, as far as the budget and its
        examples allow.

    Raises
    ------
    ValueError
        If the evidence has no strata or several sets of examples, if all examples are labelled, if
        the budget is not a positive integer, or if the measure is unknown.

    See Also
    --------
    labels_worth : Number of random labels that would be as informative as the labels and the judge.

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
        raise fail(
            "Every example is labelled, so there is nothing to plan",
            ...,
            "",
            "use bayescm.interval for the measure",
        )
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
    """Return the posterior of a single set of examples, or raise an error without strata."""
    if not has_strata(evidence):
        todo = "make it with `from_partly_labelled(actual, predicted, judge)`"
        raise fail("A plan of labels needs partly labelled examples with a judge", ..., "", todo)
    posterior = partly_labelled(evidence, concentration=concentration)
    if posterior.unlabelled.ndim > 1:
        raise fail(
            "The evidence has several sets of examples, of shape {}",
            posterior.unlabelled.shape[:-1],
            "",
            "plan for each set separately",
        )
    return posterior


def _strata(posterior):
    """Return the labels of the judge and the classifiers in each stratum."""
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
    Return the numbers of labels per stratum, (K,), that minimise ``sum(variance / weight)``.

    Each stratum first receives at least a tenth of an equal share of the labels, if possible.

    Parameters
    ----------
    variance : ndarray, shape (K,)
        Contribution of each stratum to the variance of the measure, times its ``weight``.
    weight : ndarray, shape (K,)
        Labels and pseudo-counts of each stratum.
    labelled, unlabelled : ndarray, shape (K,)
        Numbers of labelled and unlabelled examples.
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
    Select the examples that a plan requests, at random within each stratum.

    Parameters
    ----------
    plan : DataFrame
        Result of `bayescm.planning.plan_labels`.
    actual, predicted, judge
        Data that were used to make the evidence of the plan.
    design, labels, abstain : optional
        Arguments that were passed to `bayescm.from_partly_labelled`.
    random_seed : int, default 0

    Returns
    -------
    ndarray of int
        Indices of the examples to label next, in the order of the data.

    Raises
    ------
    ValueError
        If a stratum has fewer unlabelled examples than the plan requests.

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
        raise fail(
            "The plan lacks the columns {} of these data",
            missing,
            "",
            "pass the data that the plan was made from",
        )
    positions = []
    for stratum, number in zip(
        plan[[*answers]].itertuples(index=False), plan["label_next"], strict=True
    ):
        inside = [answers[name] == value for name, value in zip(answers, stratum, strict=True)]
        unlabelled = np.flatnonzero(np.logical_and.reduce(inside) & ~labelled)
        if len(unlabelled) < number:
            raise fail(
                f"The stratum {{}} has {len(unlabelled)} unlabelled examples, but the plan "
                f"needs {number}",
                tuple(stratum),
                "",
                "pass the data that the plan was made from",
            )
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
    Return the number of random labels that would be as informative as the labels and the judge.

    Parameters
    ----------
    evidence : DataArray or Dataset
        Result of `bayescm.from_partly_labelled`.
    measures : name, function, or sequence of these, optional
        Measures. By default, the default measures of `bayescm.summary`.
    model, concentration, positive
        See `bayescm.interval`.
    draws : int, optional
        Number of draws of a sampled model.
    random_seed : int, default 0
    **keywords
        Further keywords of the model.

    Returns
    -------
    DataFrame
        One row per measure and classifier: ``measure``, ``labels`` (their number) and ``worth``.
        ``worth`` is the number of labelled examples, randomly drawn from the same population, that
        alone would give the same posterior variance. An uninformative judge adds nothing, and
        labels of unrepresentative examples are worth less than their number.

    Raises
    ------
    ValueError
        If all examples in the evidence are labelled.

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
        raise fail("This evidence has no unlabelled examples", ..., "", todo)
    question = Question(
        "parameter", None, model, concentration, positive, draws, random_seed, None, keywords
    )
    posterior: Any = posterior_of(evidence, question)
    from bayescm.answers.interval import usual_measures

    names = usual_measures(evidence) if measures is None else measures
    resolved_measures = as_measures(names, posterior.counts)
    rng = np.random.default_rng(check_seed(random_seed))
    # Expected counts of the same number of labels without a judge, from the posterior mean.
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
        # The variance is inversely proportional to the examples, including pseudo-counts.
        ratio = (np.nanstd(without_judge, axis=0) / np.nanstd(with_judge, axis=0)) ** 2
        equivalent = (size + pseudo_counts) * ratio - pseudo_counts
        tables.append(_worth_table(template.rename(measure.__name__), size, equivalent))
    return pd.concat(tables, ignore_index=True)


def _worth_table(template, labels, worth):
    """Return one row per member of the batch."""
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

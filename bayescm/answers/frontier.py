r"""
Pareto frontier of quality and cost of several systems.

In each joint draw of the measure, a system is on the frontier if no other system is at least as
cheap and at least as good, and strictly better in one of the two. If costs are known for each item,
the mean costs have the posterior of the Bayesian bootstrap (Rubin 1981), with the same item weights
for all systems:

.. math:: w \sim \mathrm{Dirichlet}(1, \ldots, 1), \qquad \bar c_k = \sum_i w_i c_{ki}.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.compare import Evidence, draws_of, joint_posterior, positions, rng_of
from bayescm.distributions.empirical import Empirical
from bayescm.fitting.question import Question
from bayescm.validate import check_kind, check_prob, fail, suggest


def frontier(
    evidence: Evidence,
    measure: str | Callable,
    *,
    cost: Any,
    margin: float = 0.0,
    dim: str = "classifier",
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> pd.DataFrame:
    """
    Return the probability that each system is on the frontier of quality and cost.

    Parameters
    ----------
    evidence
        Evidence on several systems. See `bayescm.compare`.
    measure : str or callable
        Measure with one value per system.
    cost : mapping of system to float or array_like (items,), DataFrame or Series
        Cost of each system, such as dollars per 1,000 answers or seconds, or its costs on the
        individual items. A DataFrame has one column per system.
    margin : float >= 0, default 0
        A cheaper system is treated as not worse if its measure is worse by at most this margin.
    dim : str, default "classifier"
        Dimension of the systems.
    prob, kind, of, n, model, concentration, positive, draws, random_seed, **keywords
        See `bayescm.compare`.

    Returns
    -------
    DataFrame
        One row per system, in order of increasing cost:

        - The system, and ``measure``.
        - ``mean``, ``lower``, ``upper``: posterior of the measure.
        - ``cost``, ``cost_lower``, ``cost_upper``: mean cost and its interval. All three are equal
          if the cost is a single number.
        - ``p_frontier``: probability of being on the frontier.
        - ``cheaper``: the system with the highest probability of being cheaper and not worse;
          missing if no system is cheaper.
        - ``p_cheaper_not_worse``: this probability.

    Raises
    ------
    ValueError
        If a cost is negative or missing, if the measure has one value per class, or if there are
        fewer than two systems.
    TypeError
        If ``cost`` is not a mapping, DataFrame or Series.

    Notes
    -----
    Item costs are drawn independently of the measure. Draws with an undefined measure (0/0) for any
    system are excluded.

    See Also
    --------
    bayescm.plots.plot_frontier : Plot of this table.

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"small": [1, 0, 1, 0] * 20, "large": [1, 1, 1, 0] * 20}
    >>> both = bcm.from_classifiers([1, 1, 1, 0] * 20, answers, positive=1)
    >>> table = bcm.frontier(both, "accuracy", cost={"small": 0.2, "large": 3.0})
    >>> table[["classifier", "cost", "p_frontier"]].round(2).values.tolist()
    [['small', 0.2, 1.0], ['large', 3.0, 1.0]]
    """
    check_prob(prob), check_kind(kind)
    if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 <= margin < np.inf:
        raise fail("`margin` must be a finite number >= 0", margin, "", "pass `margin=0.01`")
    question = Question(of, n, model, concentration, positive, draws, random_seed, None, keywords)
    posterior, measures, of = joint_posterior(evidence, [measure], question, dim=dim)
    (resolved,) = measures
    found = list(positions(posterior, measures, dim))
    if len(found) > 1 or "class" in posterior.measure_template(resolved).dims:
        raise fail(
            f"{resolved.__name__} has several values for each system",
            ...,
            "",
            "select one member of the other dimensions, or pass an average, e.g. f1_macro",
        )
    (_, position, names) = found[0]
    size, rng = draws_of(question, posterior, of), rng_of(question)
    (values,) = posterior.draw_in_parts(measures, size, rng, of=of, n=question.n)
    template = posterior.measure_template(resolved)
    values = xr.DataArray(values, dims=("draw", *template.dims)).isel(position).values
    costs = _draw_costs(cost, names, size, rng)
    defined = ~np.isnan(values).any(axis=1)
    if not defined.any():
        raise fail(
            f"{resolved.__name__} is 0/0 for a system in every draw",
            ...,
            "",
            "use another measure, or leave the system out",
        )
    values, costs = values[defined], costs[defined]
    better = resolved.oriented(values)
    # Entry i, j: system i is at least as cheap as system j, and at least as good.
    as_cheap, as_good = costs[:, :, None] <= costs[:, None], better[:, :, None] >= better[:, None]
    strictly = (costs[:, :, None] < costs[:, None]) | (better[:, :, None] > better[:, None])
    dominated = (as_cheap & as_good & strictly).any(axis=1)
    cheaper = costs[:, :, None] < costs[:, None]
    not_worse = better[:, :, None] >= better[:, None] - margin
    p_cheaper = (cheaper & not_worse).mean(axis=0)
    best = p_cheaper.argmax(axis=0)
    is_cheaper = cheaper.any(axis=0).any(axis=0)
    ends, _ = Empirical(values).interval_with_error(prob, kind)
    cost_ends = np.quantile(costs, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    table = pd.DataFrame(
        {
            dim: names,
            "measure": resolved.__name__,
            "mean": values.mean(axis=0),
            "lower": ends[:, 0],
            "upper": ends[:, 1],
            "cost": costs.mean(axis=0),
            "cost_lower": cost_ends[0],
            "cost_upper": cost_ends[1],
            "p_frontier": 1 - dominated.mean(axis=0),
            "cheaper": [names[i] if has else None for i, has in zip(best, is_cheaper, strict=True)],
            "p_cheaper_not_worse": p_cheaper[best, np.arange(len(names))],
        }
    )
    table = table.sort_values("cost", kind="stable", ignore_index=True)
    table.attrs |= {"prob": prob, "kind": kind, "margin": margin}
    if doubts := posterior.caveats(of):
        table.attrs["caution"] = " ".join(doubts)
    return table


def _draw_costs(cost, names, size, rng):
    """Return draws of the mean cost of every system (S, K)."""
    if isinstance(cost, pd.DataFrame | pd.Series):
        labels = cost.index if isinstance(cost, pd.Series) else cost.columns
        cost = {name: cost[name] for name in labels}
    if not isinstance(cost, Mapping):
        todo = 'pass e.g. cost={"a": 0.2, "b": 3.0}'
        raise fail(
            f"`cost` must map systems to costs, not be a {type(cost).__name__}",
            ...,
            "",
            todo,
            TypeError,
        )
    by_name = {str(name): value for name, value in cost.items()}
    wanted = list(map(str, names))
    for name in by_name:
        if name not in wanted:
            raise fail(
                "`cost` contains {}, which is not a system", name, wanted, suggest(name, wanted)
            )
    if missing := [name for name in wanted if name not in by_name]:
        raise fail("`cost` lacks the systems {}", missing, "", "add their costs")
    arrays = {name: _as_costs(name, by_name[name]) for name in wanted}
    sizes = {len(array) for array in arrays.values()} - {1}
    weights = {number: rng.dirichlet(np.ones(number), size) for number in sorted(sizes)}
    return np.stack(
        [
            np.full(size, array[0]) if len(array) == 1 else weights[len(array)] @ array
            for array in arrays.values()
        ],
        axis=1,
    )


def _as_costs(name, value):
    try:
        array = np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError):
        todo = "pass numbers"
        raise fail(f"The cost of {name} must be a number >= 0", value, "", todo) from None
    if array.ndim > 1 or not array.size:
        todo = "pass one number, or one for each item"
        raise fail(
            f"The cost of {name} must be one number or have one value per item, but its "
            "shape is {}",
            array.shape,
            "",
            todo,
        )
    if not np.isfinite(array).all():
        todo = "correct them, or leave the item out for all systems"
        number = int((~np.isfinite(array)).sum())
        raise fail(f"Some costs of {name} are missing or infinite ({number})", ..., "", todo)
    if (array < 0).any():
        raise fail(f"Costs of {name} must be >= 0", array.min(), "", "pass costs >= 0")
    return array

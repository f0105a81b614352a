"""
Interval widths for other numbers of attempts per item, or of items.

Answers are simulated: the distribution of success rates is drawn from its posterior, items are
drawn from this distribution, and answers are drawn for each item.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.evidence.attempts import from_attempts
from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.inference import binomial_mixture
from bayescm.inference.binomial_mixture import Items, Mixtures
from bayescm.measures.attempts import Rates
from bayescm.measures.labelled import of_variable
from bayescm.measures.measure import Repeated
from bayescm.posteriors.repeated_items import (
    WRONG,
    RepeatedItems,
    draw_mixtures,
    equal_items,
    repeated_items,
)
from bayescm.validate import check_choice, check_kind, check_prob, check_seed, check_whole, fail

# Number of draws for each simulated data set. The standard error of a width is then about 7%, less
# than the variation between data sets. Widths are too short by 2% (equal-tailed) or 3%
# (highest-density), as measured with 400 samples of a normal distribution.
_DRAWS = 200
# Each chain provides eight of these draws, in a third of the time of separate chains.
_CHAINS = 25


def plan_attempts(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    items: int | Sequence[int] | None = None,
    attempts: int | Sequence[int] | None = None,
    of: str = "population",
    prob: float = 0.95,
    kind: str = "hdi",
    replications: int = 20,
    concentration: float = 1.0,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return expected interval widths for other numbers of items and attempts.

    Answers are simulated from the posterior of the items, and intervals are computed from them as
    from real answers.

    Parameters
    ----------
    evidence : Dataset
        Answers collected from one system so far, see `bayescm.from_attempts`. If items come in
        groups, new items come in new groups of the same sizes.
    measure : str or callable
        Measure of repeated answers, such as ``"pass_at(4)"``.
    items, attempts : int or sequence of int, optional
        Numbers to evaluate. By default one, two and four times the current number of items, and
        half, one and two times the current number of attempts, as far as the measure allows.
    of : {"population", "finite"}
        Mean over the population of items, or over the observed items.
    prob : float in (0, 1), default 0.95
    kind : {"hdi", "eti"}
    replications : int >= 2, default 20
        Number of data sets simulated for each row.
    concentration : float, default 1
        Prior. See `models.repeated_items`.
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        One row per combination: ``items``, ``attempts``, the total number of ``answers``, the mean
        ``width`` of the interval and its standard error ``width_se``. ``attrs["caution"]`` is set
        if there are too few items for reliable predictions of other items.

    Raises
    ------
    ValueError
        If the answers come from several systems, if most items have a single attempt, if the
        measure needs more answers than the planned attempts, or if a number is out of range.

    Notes
    -----
    For more attempts than observed, the plan relies on the prior for items that were never or
    always solved. Each interval is based on 200 draws, which makes it 2% to 3% shorter than with
    many draws.

    Examples
    --------
    >>> import bayescm as bcm
    >>> rng = np.random.default_rng(1)
    >>> table = (rng.random((30, 4)) < rng.random((30, 1))).astype(int)
    >>> asked = {"items": [30, 120], "attempts": 4, "replications": 5}
    >>> plan = plan_attempts(bcm.from_attempts(table), "mean", **asked)
    >>> bool(plan["width"][1] < 0.6 * plan["width"][0])
    True
    """
    check_choice("of", of, ["population", "finite"])
    check_prob(prob), check_kind(kind)
    check_whole("replications", replications, 2, "data sets", 20)
    posterior, resolved = _of_one_system(evidence, measure, concentration)
    rng = np.random.default_rng(check_seed(random_seed))
    default_items = [posterior.n_right.shape[1] * factor for factor in (1, 2, 4)]
    rows = []
    for n_attempts in _numbers("attempts", attempts, _default_attempts(posterior, resolved)):
        for n_items in _numbers("items", items, default_items):
            numbers = n_items, n_attempts, replications
            widths = _widths(posterior, resolved, numbers, rng, of=of, prob=prob, kind=kind)
            row = {"measure": resolved.__name__, "items": n_items, "attempts": n_attempts}
            row |= {"answers": n_items * n_attempts, "width": float(np.mean(widths))}
            rows.append(row | {"width_se": float(np.std(widths, ddof=1) / replications**0.5)})
    table = pd.DataFrame(rows)
    if doubts := posterior.caveats(of):
        table.attrs["caution"] = " ".join(doubts)
    return table


def simulated_widths(
    evidence: xr.Dataset,
    measure: str | Callable,
    *,
    prob: float,
    kind: str,
    replications: int,
    random_seed: int,
) -> tuple[int, Callable[[int], np.ndarray]]:
    """
    Return the attempts per item, and a function from numbers of items to widths (R,).

    These are the widths of the intervals in `plan_attempts`, with the median number of attempts per
    item in the pilot.
    """
    posterior, resolved = _of_one_system(evidence, measure, 1.0)
    n_attempts = int(np.median(posterior.n_attempts))

    def simulate(n: int) -> np.ndarray:
        rng = np.random.default_rng(check_seed(random_seed))
        numbers = n, n_attempts, replications
        return _widths(posterior, resolved, numbers, rng, of="population", prob=prob, kind=kind)

    return n_attempts, simulate


def _of_one_system(evidence, measure, concentration):
    """Return the posterior of a single system, and the measure."""
    if dims := slice_dims(evidence):
        raise fail(
            "A plan needs attempts of one slice; the evidence has slices along {}",
            dims,
            "",
            "select one slice",
        )
    posterior = cast(RepeatedItems, repeated_items(evidence, concentration=concentration))
    if posterior.reach < 2:
        raise fail(
            "Items with one attempt each do not show how attempts at an item vary",
            ...,
            "",
            "collect two attempts at most items, or plan the number of items: "
            'planning.plan("accuracy", `width=0.1`, `expect=0.8`)',
        )
    if len(posterior.n_right) > 1:
        todo = "select one: evidence.sel(classifier=...)"
        raise fail("A plan needs attempts of one system", posterior.names, "", todo)
    (resolved,) = of_variable(measure, posterior.measured_variable)
    return posterior, resolved


def _widths(posterior, measure, numbers, rng, *, of, prob, kind):
    """Return the widths (R,) of the intervals of R simulated data sets."""
    n_items, n_attempts, replications = numbers
    votes = posterior.counts_votes([measure])
    truth = posterior.mixtures(replications, rng, votes=votes)
    simulated = _simulate(posterior, truth, n_items, n_attempts, rng)
    simulated[0].check_reach(measure)
    rates = _draw_rates(simulated, of, rng, votes=votes)
    bounds, _ = posterior.empirical(measure, measure(rates)).interval_with_error(prob, kind)
    return np.diff(bounds)[..., 0]


def _default_attempts(posterior, measure):
    """Return half, equal and double the number of attempts, as far as the measure allows."""
    form, n_attempts = getattr(measure, "form", None), int(np.median(posterior.n_attempts))
    least = max(2, form.answers if isinstance(form, Repeated) else 2)
    numbers = (n_attempts // 2, n_attempts, 2 * n_attempts)
    return [number for number in numbers if number >= least] or [least]


def _numbers(name, numbers, default):
    """Return the requested or default numbers, without duplicates."""
    values: Any = np.atleast_1d(np.asarray(numbers, object)).tolist()
    if numbers is None:
        values = default
    for value in values:
        check_whole(name, value, 2, name, 30)
    return list(dict.fromkeys(int(value) for value in values))


def _draw_rates(simulated, of, rng, *, votes):
    """Draw the success rates of all data sets, (draws, data sets, components)."""
    if simulated[0].group is None or of == "finite":
        kinds = [equal_items(one.items(votes=votes)[0]) for one in simulated]
        prior = simulated[0].prior(votes=votes)
        drawn = draw_mixtures(kinds, prior, _DRAWS, rng, chains=_CHAINS)
        weight = drawn.share if of == "finite" else drawn.weight
        return Rates(drawn.rate, weight, WRONG if votes else (), drawn.way if votes else 0)
    parts = [one.rates(one.mixtures(_DRAWS, rng, votes=votes), of, rng) for one in simulated]
    weight = np.concatenate([part.weight for part in parts], axis=1)
    return Rates(parts[0].support, weight, parts[0].wrong, parts[0].way)  # with a common grid


def _simulate(
    posterior: RepeatedItems,
    truth: Mixtures,
    n_items: int,
    n_attempts: int,
    rng: np.random.Generator,
) -> list[RepeatedItems]:
    """Return posteriors of simulated answers, with one data set per draw of the mixture."""
    weight, rate = truth.weight[:, 0], truth.rate[:, 0]
    way = None if truth.way is None else truth.way[:, 0]
    simulated = []
    if posterior.group is not None:
        (observed,) = posterior.items(votes=way is not None)
    for draw in range(len(weight)):
        group = None
        if posterior.group is None:
            shares = weight[draw] / weight[draw].sum()
            component = rng.choice(len(shares), n_items, p=shares)
        else:
            position, group = _resample_groups(posterior.group, n_items, rng)
            draws = np.full(n_items, draw)
            arrays: list[Any] = [None if array is None else array[position] for array in observed]
            of_items = None if way is None else way[draws]
            probability = binomial_mixture.probabilities(
                weight[draws], rate[draws], Items(*arrays), of_items
            )
            edges = probability.cumsum(axis=1)[:, :-1]
            component = (edges < rng.random((n_items, 1))).sum(axis=1)
        right = rng.random((n_items, n_attempts)) < rate[draw, component][:, None]
        if way is None:
            evidence = from_attempts(right.astype(float), group=group)
        else:
            # A wrong answer is the most common one with probability p_common, and otherwise one of
            # n_others others.
            wrong = np.array(WRONG)[way[draw, component]]
            p_common, n_others = wrong.T[..., None]
            other = 2 + np.floor(n_others * rng.random(right.shape))
            answers = np.where(rng.random(right.shape) < p_common, 1, other)
            answers = np.where(right, 0, answers)
            evidence = from_attempts(answers, truth=np.zeros(n_items), group=group)
        simulated.append(RepeatedItems(evidence, posterior.concentration))
    return simulated


def _resample_groups(group, n_items, rng):
    """Return the positions of items drawn in whole groups, and the new groups."""
    positions: list[np.ndarray] = []
    left = n_items
    while left:
        members = np.flatnonzero(group == rng.integers(group.max() + 1))[:left]
        positions.append(members)
        left -= len(members)
    sizes = [len(members) for members in positions]
    return np.concatenate(positions), np.repeat(np.arange(len(sizes)), sizes)

"""Coverage for pairwise preferences: win rates, ranks, votes in clusters, and rankings."""

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.ranks import rank_sets, told_apart
from bayescm.evidence.preferences import from_preferences, from_rankings, places_of_pairs
from bayescm.measures.preferences import Strengths
from bayescm.posteriors.preferences import preferences
from bayescm.simulation import Experiment

DRAWS, RESAMPLES = 2000, 400
# Ridge penalty that keeps Bradley-Terry estimates finite, with negligible shrinkage.
RIDGE = 0.01
ENDS = (0.025, 0.975)


# Populations


class Population(NamedTuple):
    """Strengths in log odds, log nu of ties, advantage of the first, and shares of the votes."""

    strength: np.ndarray
    log_tie: float
    first: float
    share: np.ndarray

    def win_rates(self, effects: float = 0.0) -> dict[str, float]:
        """
        Return the true win rates of all pairs, averaged over both orders.

        Parameters
        ----------
        effects : float
            Standard deviation of the effect of a prompt on each system. Win rates are averaged over
            prompts.
        """
        nodes, weights = np.polynomial.hermite_e.hermegauss(40)
        shift, weights = 2**0.5 * effects * nodes, weights / weights.sum()
        number = len(self.strength)
        rates = np.zeros((number, number))
        for move, weight in zip(shift, weights, strict=True):
            for i in range(number):
                pair = np.array([[self.strength[i] + move, each] for each in self.strength])
                one = Strengths(
                    pair, np.full(number, self.first), np.full(number, np.exp(self.log_tie))
                )
                rates[i] += weight * one.win_rate(1)[:, 0]
        return {_pair(i, j): float(rates[i, j]) for i, j in combinations(range(number), 2)}


def _pair(i, j):
    return f"win rate of {i} over {j}"


_TEN = np.ones(10)
POPULATIONS = {
    # 435 Elo points between the best and the worst, with few ties.
    "spread": Population(np.linspace(1.25, -1.25, 10), np.log(0.2), 0.0, _TEN),
    # 104 Elo points, with 44% ties between equal systems.
    "close": Population(np.linspace(0.3, -0.3, 10), np.log(2 * 0.44 / 0.56), 0.0, _TEN),
    # One dominant and one very weak system, and two new systems with 2% of the votes each.
    "uneven": Population(
        np.r_[2.5, np.linspace(0.6, -0.6, 8), -2.5],
        np.log(0.5),
        0.4,
        np.where(np.isin(np.arange(10), [2, 7]), 0.01 / 0.98 * 8, 0.98),
    ),
}
SIZES = (100, 300, 1000, 3000)


def _names(number):
    return np.array([f"system {place}" for place in range(number)])


def draw_votes(
    rng: np.random.Generator, population: Population, size: int, effects: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Return the columns of votes. Pairs are sampled by the shares of their systems."""
    number = len(population.strength)
    chance = np.outer(population.share, population.share)
    np.fill_diagonal(chance, 0)
    flat = rng.choice(number**2, size, p=chance.ravel() / chance.sum())
    return vote_on(rng, population, flat // number, flat % number, effects)


def vote_on(rng, population, left, right, effects=None):
    """Return the columns of votes on given pairs. Effects (n, K) are added to the strengths."""
    rows = np.arange(len(left))
    at = population.strength + np.zeros((len(left), 1)) + (0 if effects is None else effects)
    eta = at[rows, left] - at[rows, right] + population.first
    logits = np.stack([eta / 2, -eta / 2, np.full(len(eta), population.log_tie)], axis=1)
    winner = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    names = _names(len(population.strength))
    outcomes = np.array(["left", "right", "tie"])[winner]
    return {"left": names[left], "right": names[right], "winner": outcomes}


# Methods


def by_posterior(evidence: tuple) -> dict[str, tuple]:
    """Return intervals of win rates and ranks from the posterior."""
    votes, true_rank = evidence
    drawn = preferences(votes).strengths(DRAWS, np.random.default_rng(0))
    return intervals(drawn, true_rank)


def by_independent_votes(evidence: tuple) -> dict[str, tuple]:
    """Return the intervals of the posterior that treats votes as independent."""
    votes, true_rank = evidence
    return by_posterior((votes.drop_vars(["group", "vote_pair", "vote_winner"]), true_rank))


def intervals(drawn: Strengths, true_rank: np.ndarray | None) -> dict[str, tuple]:
    """
    Return 95% equal-tailed intervals of the win rates, and two results for sets of ranks.

    These are the number of true ranks outside their sets, as an interval of length 0, and the mean
    size of a set, as the upper end of an interval.
    """
    found = {}
    number = drawn.strength.shape[1]
    for j in range(1, number):
        rates = np.quantile(drawn.win_rate(j, slice(0, j)), ENDS, axis=0)
        found |= {_pair(i, j): tuple(rates[:, i].tolist()) for i in range(j)}
    if true_rank is None:
        return found
    rank = number - drawn.strength.argsort(axis=1).argsort(axis=1)
    low, high = np.quantile(rank, ENDS[0], axis=0), np.quantile(rank, ENDS[1], axis=0)
    sets = rank_sets(told_apart(drawn.strength))
    for words, (best, worst) in (("rank", (np.floor(low), np.ceil(high))), ("joint rank", sets)):
        out = int(((true_rank < best) | (true_rank > worst)).sum())
        size = float(np.mean(worst - best + 1))
        found[f"all {words}s"] = (out, out)
        found[f"size of a {words} set"] = (0.0, size)
    return found


def by_bootstrap(evidence: tuple, clusters: bool = False) -> dict[str, tuple]:
    """Return bootstrap intervals of a Bradley-Terry model in which a tie is half a win."""
    votes, true_rank = evidence
    rng = np.random.default_rng(0)
    counts = votes["vote_count"].values
    if clusters:
        _, group = np.unique(votes["group"].values, return_inverse=True)
        weight = rng.multinomial(group.max() + 1, np.full(group.max() + 1, 1 / (group.max() + 1)),
                                 RESAMPLES)  # fmt: skip
        cell = votes["vote_pair"].values * 3 + votes["vote_winner"].values
        of_cluster = np.zeros((group.max() + 1, counts.size))
        np.add.at(of_cluster, (group, cell), 1)
        resampled = (weight @ of_cluster).reshape(RESAMPLES, *counts.shape)
    else:
        share = counts.ravel() / counts.sum()
        resampled = rng.multinomial(counts.sum(), share, RESAMPLES).reshape(-1, *counts.shape)
    strength, first = bradley_terry(votes, resampled)
    return intervals(Strengths(strength, first, np.zeros(RESAMPLES)), true_rank)


def bradley_terry(votes: xr.Dataset, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum-likelihood strengths (B, K) and advantages (B,) of counts (B, P, 3)."""
    left, right = places_of_pairs(votes)
    number, ordered = votes.sizes["classifier"], bool(votes["ordered"])
    design = np.zeros((len(left), number + ordered))
    design[np.arange(len(left)), left] = 1
    design[np.arange(len(left)), right] -= 1
    design[:, number:] = 1
    squares = (design[:, :, None] * design[:, None]).reshape(len(left), -1)
    won, total = counts[..., 0] + counts[..., 2] / 2, counts.sum(axis=-1)
    estimate = np.zeros((len(counts), design.shape[1]))
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(estimate @ design.T, -30, 30)))
        gradient = (won - total * chance) @ design - RIDGE * estimate
        hessian = ((total * chance * (1 - chance)) @ squares).reshape(
            len(counts), *[len(design.T)] * 2
        )
        hessian += RIDGE * np.eye(design.shape[1])
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        step *= np.minimum(1, 2 / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-9))
        estimate += step
        if np.abs(step).max() < 1e-6:
            break
    strength = estimate[:, :number] - estimate[:, :number].mean(axis=1, keepdims=True)
    return strength, estimate[:, number] if ordered else np.zeros(len(counts))


# Tables "boards" and "equal": independent votes


@lru_cache
def _true_rates(population):
    return POPULATIONS[population].win_rates()


def _true_ranks(population):
    return len(population.strength) - population.strength.argsort().argsort()


def _ranks_are_right(population):
    sizes = {"size of a rank set": 1.0, "size of a joint rank set": 1.0}
    return {"all ranks": 0, "all joint ranks": 0} | sizes


def draw_board(rng: np.random.Generator, population: str, votes: int) -> tuple[Any, dict]:
    """Return the votes of a leaderboard, and the true win rates and ranks."""
    of = POPULATIONS[population]
    evidence = from_preferences(**draw_votes(rng, of, votes), ordered=bool(of.first))
    evidence = with_all_systems(evidence, len(of.strength))
    return (evidence, _true_ranks(of)), _true_rates(population) | _ranks_are_right(of)


def with_all_systems(evidence: xr.Dataset, number: int) -> xr.Dataset:
    """Return votes with all systems of a leaderboard, including systems without votes."""
    return evidence.drop_vars("classifier").assign_coords(classifier=_names(number))


def draw_equal(rng: np.random.Generator, systems: int, votes: int) -> tuple[Any, dict]:
    """Return votes on equal systems. A fifth of the votes are ties."""
    equal = Population(np.zeros(systems), np.log(0.5), 0.0, np.ones(systems))
    evidence = from_preferences(**draw_votes(rng, equal, votes), ordered=False)
    return (with_all_systems(evidence, systems), None), equal.win_rates()


# Tables "clusters" and "rankings": votes in clusters, and rankings


_PROMPTED = Population(np.linspace(1.25, -1.25, 10), np.log(0.5), 0.0, np.ones(10))


@lru_cache(1)
def _true_rates_of_prompts():
    return _PROMPTED.win_rates(effects=1.0)


def draw_prompts(rng: np.random.Generator, prompts: int, votes: int) -> tuple[Any, dict]:
    """
    Return votes on prompts, with random effects of a prompt on each system.

    The effects have standard deviation 1 in log odds. With 45 votes on a prompt, there is one vote
    on each pair.
    """
    pairs = np.array([*combinations(range(10), 2)])
    chosen = np.concatenate([rng.permutation(45)[:votes] for _ in range(prompts)])
    left, right = pairs[chosen].T
    swap = rng.random(len(left)) < 0.5
    left, right = np.where(swap, right, left), np.where(swap, left, right)
    prompt = np.repeat(np.arange(prompts), votes)
    effects = rng.standard_normal((prompts, 10))[prompt]
    columns = vote_on(rng, _PROMPTED, left, right, effects)
    evidence = from_preferences(**columns, ordered=False, group=prompt)
    return (with_all_systems(evidence, 10), None), _true_rates_of_prompts()


def draw_rankings(rng: np.random.Generator, systems: int, rankings: int) -> tuple[Any, dict]:
    """Return rankings of some of ten systems, sampled from the Plackett-Luce model."""
    strength = np.linspace(1.25, -1.25, 10)
    scores = strength + rng.gumbel(size=(rankings, 10))
    chosen = rng.random((rankings, 10)).argsort(axis=1) < systems
    ranked = np.where(chosen, scores, np.nan)
    frame = pd.DataFrame(ranked, columns=_names(10)).rank(axis=1, ascending=False)
    truth = Population(strength, -np.inf, 0.0, np.ones(10)).win_rates()
    return (with_all_systems(from_rankings(frame), 10), None), truth


def summarized(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per case and method, with the mean and the worst coverage over pairs."""
    setting = list(table.columns[: list(table.columns).index("measure")])
    rows = []
    for key, part in table.groupby([*setting, "method"], sort=False):
        by_measure = part.set_index("measure")
        pairs = by_measure[by_measure.index.str.startswith("win rate")]
        row = dict(zip([*setting, "method"], key, strict=True))
        row |= {"pairs": len(pairs), "coverage": pairs["doc"].mean(), "worst": pairs["doc"].min()}
        row |= {"width": pairs["il"].mean(), "undefined": pairs["undefined"].mean()}
        for words in ("rank", "joint rank"):
            if f"all {words}s" in by_measure.index:
                name = words.replace(" ", "_")
                row[f"all_{name}s"] = by_measure.loc[f"all {words}s", "doc"]
                row[f"{name}_set"] = by_measure.loc[f"size of a {words} set", "il"]
        facts = ("replications", "seed", "version")
        rows.append(row | {name: part[name].iloc[0] for name in facts})
    return pd.DataFrame(rows)


_BOOTSTRAP = "Bradley-Terry, bootstrap of votes"
_OF_CLUSTERS: dict[str, Callable] = {
    "posterior, clusters": by_posterior,
    "posterior, independent votes": by_independent_votes,
    _BOOTSTRAP: by_bootstrap,
    "Bradley-Terry, bootstrap of clusters": partial(by_bootstrap, clusters=True),
}
_BOARDS = [(population, votes) for votes in SIZES for population in POPULATIONS]
_EQUAL = [(systems, votes) for systems in (2, 3) for votes in (30, 100, 300)]
_PROMPTS = [(80, 45), (30, 45), (80, 12)]
EXPERIMENTS = [
    Experiment(
        "preferences",
        dict(enumerate(_BOARDS, start=1)),
        draw_board,
        {"posterior": by_posterior, _BOOTSTRAP: by_bootstrap},
        columns=("population", "votes"),
        table="boards",
        reshape=summarized,
    ),
    Experiment(
        "preferences",
        dict(enumerate(_EQUAL, start=1)),
        draw_equal,
        {"posterior": by_posterior, _BOOTSTRAP: by_bootstrap},
        columns=("systems", "votes"),
        table="equal",
        reshape=summarized,
    ),
    Experiment(
        "preferences",
        dict(enumerate(_PROMPTS, start=1)),
        draw_prompts,
        _OF_CLUSTERS,
        columns=("prompts", "votes_each"),
        table="clusters",
        reshape=summarized,
    ),
    Experiment(
        "preferences",
        {1: (4, 60), 2: (8, 60)},
        draw_rankings,
        _OF_CLUSTERS,
        columns=("systems", "rankings"),
        table="rankings",
        reshape=summarized,
    ),
]

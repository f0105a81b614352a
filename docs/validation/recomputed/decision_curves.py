"""
Decision curves and expected costs of weighted probabilities, by draws of three beta distributions.

At a threshold, the sensitivity, the false positive rate and the prevalence have independent beta
posteriors, with half an example added to either side. Weights that are counts represent examples.
With importance weights, each rate has Kish's effective number of examples of its class, and the
prevalence has the effective number of the sample. The net benefit in the sample is computed by the
formula of Vickers and Elkin.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, figures_of_draws, rows, summarised

THRESHOLDS = (0.12, 0.2, 0.35, 0.5, 0.8)
COSTS = {"fn": 5.0, "fp": 1.0, "tp": 0.5}
PACKAGE_DRAWS = 40_000


class Setting(NamedTuple):
    """Meaning of the weights, number of examples, and whether the prevalence is known (0.1)."""

    weights: str
    n: int
    known: bool


CASES = {
    1: Setting("none", 120, False),
    2: Setting("counts", 120, False),
    3: Setting("importance", 120, False),
    4: Setting("importance", 600, False),
    5: Setting("importance", 120, True),
}


def kish(weight: np.ndarray) -> np.ndarray:
    """Return weights, scaled to sum to Kish's effective number of examples."""
    return weight * weight.sum() / (weight**2).sum()


def share(draws: np.ndarray) -> Figure:
    """Return the proportion of draws in which an event occurs, with its standard error."""
    value = float(draws.mean())
    return Figure(value, np.sqrt(max(value * (1 - value), 1 / len(draws)) / len(draws)))


def figures(replications: Replications, weights: str, n: int, known: bool) -> Iterator[Any]:
    """Yield a row for every figure."""
    rng, size = replications.generator(), 1000 * replications.number
    probability = rng.beta(1.2, 2, n)
    actual = (rng.random(n) < probability).astype(int)
    weight, options = np.ones(n), {}
    if weights != "none":
        values = [1.0, 2.0, 5.0] if weights == "importance" else [1, 2, 3]
        weight = rng.choice(values, n)
        options = {"weights": weight, "weights_are": weights}
    evidence = bcm.from_probabilities(actual, probability, **options)
    keywords: dict[str, Any] = {"thresholds": THRESHOLDS, "draws": PACKAGE_DRAWS, "random_seed": 1}
    prevalence = {"prevalence": 0.1} if known else {}
    curve = bcm.curves.decision_curve(evidence, **keywords, **prevalence)
    at_prevalence = bcm.at_prevalence(evidence, 0.1) if known else evidence
    costs = bcm.curves.expected_cost(at_prevalence, COSTS, **keywords)
    positive = actual == 1
    effective = weight.astype(float)
    total = effective
    if weights == "importance":
        total = kish(effective)
        of_class = [kish(np.where(side, weight, 0)) for side in (positive, ~positive)]
        effective = of_class[0] + of_class[1]
    prior = 0.5
    for at, threshold in enumerate(THRESHOLDS):
        acted, odds = probability >= threshold, threshold / (1 - threshold)

        def rate(side, acted=acted):
            return rng.beta(
                effective[side & acted].sum() + prior, effective[side & ~acted].sum() + prior, size
            )

        sick = rng.beta(total[positive].sum() + prior, total[~positive].sum() + prior, size)
        if known:
            sick = np.full(size, 0.1)
        sensitivity, false = rate(positive), rate(~positive)
        net = sick * sensitivity - (1 - sick) * false * odds
        treat_all = sick - (1 - sick) * odds
        paid = COSTS["fn"] * sick * (1 - sensitivity) + COSTS["tp"] * sick * sensitivity
        paid = paid + COSTS["fp"] * (1 - sick) * false
        quantities = {
            "net benefit": (net, curve["interval"], curve["mean"]),
            "treat all": (treat_all, curve["treat_all_interval"], None),
            "standardized net benefit": (net / sick, curve["standardized_interval"], None),
            "avoided": ((net - treat_all) / odds, curve["avoided_interval"], None),
            "cost": (paid, costs["interval"], costs["mean"]),
        }
        scale = np.sqrt(size / PACKAGE_DRAWS)
        for question, (draws, limits, mean) in quantities.items():
            own = dict(figures_of_draws(draws))
            answers = dict(zip(("lower", "upper"), limits.values[at], strict=True))
            if mean is None:
                del own["mean"]
            else:
                answers["mean"] = float(mean[at])
            package = {key: Figure(answers[key], own[key].error * scale) for key in own}
            yield from rows(question, package, own)
        useful = share(net > np.maximum(treat_all, 0))
        best = share(net > np.maximum(treat_all, 0)), share(treat_all > np.maximum(net, 0))
        gain = np.maximum(np.maximum(net, treat_all), 0)
        strategies = np.stack([net, treat_all, np.zeros(size)])
        gain = gain - strategies[strategies.mean(1).argmax()]
        recomputed = {
            "useful": useful,
            "best": best[0],
            "treat all best": best[1],
            "evpi": Figure(gain.mean(), gain.std() / np.sqrt(size)),
        }
        chances = curve["p_best"].isel(threshold=at).values
        answers = {"useful": curve["p_useful"][at], "evpi": curve["evpi"][at]}
        answers |= {"best": chances[0], "treat all best": chances[1]}
        package = {
            key: Figure(float(answers[key]), own.error * scale) for key, own in recomputed.items()
        }
        yield from rows("probabilities and value of information", package, recomputed)
        if not known:
            true, wrong = weight[positive & acted].sum(), weight[~positive & acted].sum()
            sampled = {"net benefit": (true - wrong * odds) / weight.sum()}
            missed = weight[positive & ~acted].sum()
            spent = COSTS["fn"] * missed + COSTS["tp"] * true + COSTS["fp"] * wrong
            sampled["cost"] = spent / weight.sum()
            theirs = {"net benefit": float(curve["net_benefit"][at])}
            theirs["cost"] = float(costs["cost"][at])
            yield from rows(
                "in the sample",
                {key: Figure(value) for key, value in theirs.items()},
                {key: Figure(value) for key, value in sampled.items()},
            )


def table_rows(replications: Replications, *setting: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question of a case."""
    yield from summarised(figures(replications, *setting))


EXPERIMENTS = [Repeated("recomputed", CASES, table_rows, table="decision_curves")]

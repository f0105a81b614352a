r"""
Plans for item scores, for labels with a judge and for repeated answers, by separate simulations.

Item scores. The scores of the pilot and the ends of their range, with half an item at each end, get
Dirichlet proportions. A test set of n items is sampled with these proportions. The posterior of its
mean uses Dirichlet proportions again. The assurance is the proportion of test sets in which the
interval is as narrow as planned, or excludes 0. For differences between two systems, there are two
pseudo-items instead of the ends. Each has the largest absolute difference of the items, with a
random sign.

Labels. The strata of a judge have probabilities :math:`\pi` and class probabilities t, with
Dirichlet priors of half an example per cell. Labels are sampled from t in the strata of the plan,
and the posterior given these labels is sampled. The worth of a judge is the number of examples for
which a Dirichlet table has the same posterior variance.

Repeated answers. The rates of items have a mixture distribution with the prior of
`bayescm.models.repeated_items`. It is sampled from its posterior by a Polya urn, with one chain per
data set. Answers to new items are sampled from the mixture, and their posterior is again sampled by
the urn.

The intervals of a plan for repeated answers are computed from 200 draws. They are shorter by the
proportion `FEW_DRAWS` than with thousands of draws, which is counted as an error. The expected
width of a plan for labels comes from the delta method, and the proportion `ROUGH` of the width is
counted as its error.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import optimize, special

import bayescm as bcm
from bayescm.evidence.partly_labelled import from_partly_labelled_counts
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, rows, summarised

planning = bcm.planning
CASES = dict(enumerate([("item scores",), ("labels",), ("worth",), ("attempts",)], start=1))
TAILS = [0.025, 0.975]
ROUGH, FEW_DRAWS = 0.05, 0.03
PACKAGE_SETS, PACKAGE_REPLICATIONS, WORTH_DRAWS = 400, 40, 10_000
# Labelled counts by actual class and judge's label, and unlabelled counts by judge's label.
LABELLED, UNLABELLED = np.array([[28, 4], [3, 15]]), np.array([1500, 400])
PSEUDO_COUNT = 0.5
PRIOR = np.array([0.02, 0.02, *[0.96 / 22] * 22])  # components with rates 0 and 1, then others
BURN, SWEEPS = 100, 1000


# Item scores


def limits_of_means(
    rng: np.random.Generator, values: np.ndarray, weight: np.ndarray, draws: int
) -> np.ndarray:
    """Return equal-tailed limits (2,) of the mean of values with Dirichlet shares."""
    positive = weight > 0
    gammas = rng.standard_gamma(weight[positive], (draws, positive.sum()))
    return np.quantile(gammas @ values[positive] / gammas.sum(1), TAILS)


def of_item_scores(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield the assurance of plans for a width and for a difference."""
    pilot = np.random.default_rng(7)
    first = pilot.beta(5, 2, 40)
    second = np.clip(first - 0.05 + pilot.normal(0, 0.12, 40), 0, 1)
    one = bcm.from_item_scores(first, range=(0, 1))
    two = bcm.from_item_scores({"a": first, "b": second}, range=(0, 1))
    plan = planning.plan_item_scores(one, replications=PACKAGE_SETS, width=0.1).iloc[0]
    population = np.concatenate([first, [0, 1]])
    ends = np.where(np.arange(len(population)) < len(first), 0.0, PSEUDO_COUNT)
    reached = []
    for _ in range(size):
        shares = rng.dirichlet(np.where(ends > 0, PSEUDO_COUNT, 1.0))
        sample = rng.multinomial(int(plan["n"]), shares)
        low, high = limits_of_means(rng, population, sample + ends, 8000)
        reached.append(high - low <= 0.1)
    yield from _assurance("width of a mean score", plan, reached)
    plan = planning.plan_item_scores(two, replications=PACKAGE_SETS, difference=0.05).iloc[0]
    reached = []
    for _ in range(size):
        population = np.concatenate([first - second, pseudo_differences(rng, first - second)])
        shares = rng.dirichlet(np.r_[np.ones(len(first)), PSEUDO_COUNT, PSEUDO_COUNT])
        sample = rng.multinomial(int(plan["n"]), shares)
        low, _ = limits_of_differences(rng, population, sample, 8000)
        reached.append(low - shares @ population + 0.05 > 0)
    yield from _assurance("difference of mean scores", plan, reached)


def pseudo_differences(rng: np.random.Generator, differences: np.ndarray) -> np.ndarray:
    """Return random differences (2,) in the pseudo-items."""
    return rng.choice([-1.0, 1.0], 2) * np.abs(differences).max()


def limits_of_differences(
    rng: np.random.Generator, values: np.ndarray, number: np.ndarray, draws: int
) -> np.ndarray:
    """Return equal-tailed limits (2,) of the mean of differences with given counts."""
    seen = number > 0
    weights = rng.standard_gamma(number[seen], (draws, seen.sum()))
    pseudo = rng.standard_gamma(PSEUDO_COUNT, (draws, 2))
    sides = rng.choice([-1.0, 1.0], (draws, 2)) * np.abs(values[seen]).max()
    totals = weights.sum(1) + pseudo.sum(1)
    return np.quantile((weights @ values[seen] + (pseudo * sides).sum(1)) / totals, TAILS)


def _assurance(question, plan, reached):
    """Yield the rows that compare the assurance of a plan with a separate simulation."""
    own = Figure(np.mean(reached), np.sqrt(0.9 * 0.1 / len(reached)))
    package = Figure(float(plan["assurance"]), np.sqrt(0.9 * 0.1 / PACKAGE_SETS))
    yield from rows(question, {"assurance": package}, {"assurance": own})


# Labels with a judge


def judged_tables(rng: np.random.Generator, labelled: np.ndarray, size: int) -> np.ndarray:
    """Return draws (size, actual, judge) of the judge's confusion matrix."""
    number = LABELLED.sum(0) + UNLABELLED
    shares = rng.dirichlet(number + 2 * PSEUDO_COUNT, size)
    truth = np.stack([rng.dirichlet(column + PSEUDO_COUNT, size) for column in labelled.T], -1)
    return shares[:, None] * truth


def f1(table: np.ndarray) -> np.ndarray:
    """Return F1 of tables (..., 2, 2)."""
    return 2 * table[..., 1, 1] / (2 * table[..., 1, 1] + table[..., 0, 1] + table[..., 1, 0])


def recall(table: np.ndarray) -> np.ndarray:
    """Return the recall of tables (..., 2, 2)."""
    return table[..., 1, 1] / table[..., 1, :].sum(-1)


def prevalence(table: np.ndarray) -> np.ndarray:
    """Return the prevalence of tables (..., 2, 2)."""
    return table[..., 1, :].sum(-1)


MEASURES: dict[str, Callable] = {"f1": f1, "recall": recall, "prevalence": prevalence}


def shortest(draws: np.ndarray) -> float:
    """Return the length of the shortest interval that contains 95% of the draws."""
    ordered = np.sort(draws)
    inside = int(np.ceil(0.95 * len(ordered)))
    return float((ordered[inside:] - ordered[:-inside]).min())


def expected_width(
    rng: np.random.Generator, measure: Callable, labels: np.ndarray, size: int
) -> tuple[Figure, Figure]:
    """Return the expected interval length and sd after ``labels`` new labels by stratum."""
    truth = judged_tables(rng, LABELLED, size)
    share_positive = truth[:, 1] / truth.sum(1)
    widths, deviations = [], []
    for chance in share_positive:
        positive = rng.binomial(labels, chance)
        labelled = LABELLED + np.stack([labels - positive, positive])
        values = measure(judged_tables(rng, labelled, 4000))
        widths.append(shortest(values))
        deviations.append(values.std())
    return tuple(  # type: ignore[return-value]
        Figure(np.mean(values), np.std(values) / np.sqrt(size)) for values in (widths, deviations)
    )


def of_labels(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield expected widths, and the gain from labels in other strata, which should be 0."""
    evidence = from_partly_labelled_counts(LABELLED, UNLABELLED, labels=["-", "+"], positive="+")
    for name, measure in MEASURES.items():
        for budget in (40, 200):
            plan = planning.plan_labels(evidence, name, budget)
            labels = plan["label_next"].to_numpy()
            width, deviation = expected_width(rng, measure, labels, size)
            expected = float(plan["width_after"].iloc[0])
            package = {"width after": Figure(expected, ROUGH * expected)}
            yield from rows(f"labels for {name}", package, {"width after": width})
            # Labels in other strata should not give a smaller standard deviation.
            excess, error = 0.0, deviation.error
            for moved in (-1, 1):
                step = moved * max(1, budget // 4)
                other = np.clip(labels + np.array([step, -step]), 0, budget)
                _, elsewhere = expected_width(rng, measure, other, size)
                if deviation.value - elsewhere.value > excess:
                    excess = deviation.value - elsewhere.value
                    error = float(np.hypot(deviation.error, elsewhere.error))
            yield from rows(
                f"labels for {name}",
                {"elsewhere": Figure(0.0)},
                {"elsewhere": Figure(excess, error)},
            )


def of_worth(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield the package's worth of a judge, relative to the recomputed number of labels."""
    evidence = from_partly_labelled_counts(LABELLED, UNLABELLED, labels=["-", "+"], positive="+")
    table = planning.labels_worth(evidence, list(MEASURES)).set_index("measure")
    drawn = judged_tables(rng, LABELLED, 1000 * size)
    mean = drawn.mean(0)
    for name, measure in MEASURES.items():
        variance = measure(drawn).var()

        def excess(log_number, measure=measure, variance=variance):
            fixed = np.random.default_rng(5)
            alone = fixed.dirichlet(np.ravel(mean * np.exp(log_number) + PSEUDO_COUNT), 1000 * size)
            return np.log(measure(alone.reshape(-1, 2, 2)).var() / variance)

        number = float(np.exp(optimize.brentq(excess, np.log(10), np.log(5000), xtol=1e-3)))
        # A generous standard error of the ratio of two variances.
        error = np.sqrt(2 * (2 + 2) / (1000 * size))
        package = Figure(float(table.loc[name, "worth"]) / number, np.sqrt(8 / WORTH_DRAWS))
        yield from rows("worth of a judge", {name: package}, {name: Figure(1.0, error)})
    positive = prevalence(drawn)
    share, variance = positive.mean(), positive.var()
    exact = share * (1 - share) / variance - 1 - 4 * PSEUDO_COUNT
    package = Figure(float(table.loc["prevalence", "worth"]) / exact, np.sqrt(8 / WORTH_DRAWS))
    error = np.sqrt(2 / (1000 * size))
    yield from rows("worth of a judge", {"beta": package}, {"beta": Figure(1.0, error)})


# Repeated answers


def urn(
    rng: np.random.Generator, right: np.ndarray, attempts: int, burn: int, sweeps: int
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return draws (sweeps, R, M) of weights and rates, for data sets (R, items) of correct answers.

    The Polya urn allocates items to components one by one, with weights and rates integrated out.
    Mu and rho are updated on the logit scale.
    """
    sets, row = len(right), np.arange(len(right))
    component = np.full(right.shape, 2) + rng.integers(0, len(PRIOR) - 2, right.shape)
    number, won, lost = np.zeros((3, sets, len(PRIOR)))
    for item, own in enumerate(component.T):
        number[row, own] += 1
        won[row, own] += right[:, item]
        lost[row, own] += attempts - right[:, item]
    place, alike = np.zeros(sets), rng.normal(size=sets)  # logits of mu and rho
    weights, rates = [], []
    for sweep in range(burn + sweeps):
        first, second = beta_of(place, alike)
        for item in range(right.shape[1]):
            x, f = right[:, item], attempts - right[:, item]
            own = component[:, item]
            number[row, own] -= 1
            won[row, own] -= x
            lost[row, own] -= f
            logs = np.empty(number.shape)
            logs[:, 0], logs[:, 1] = np.where(x > 0, -np.inf, 0), np.where(f > 0, -np.inf, 0)
            one, two = first[:, None] + won[:, 2:], second[:, None] + lost[:, 2:]
            logs[:, 2:] = special.betaln(one + x[:, None], two + f[:, None])
            logs[:, 2:] -= special.betaln(one, two)
            edges = ((PRIOR + number) * np.exp(logs)).cumsum(axis=1)
            own = (edges < rng.random((sets, 1)) * edges[:, -1:]).sum(axis=1)
            component[:, item] = own
            number[row, own] += 1
            won[row, own] += x
            lost[row, own] += f
        for step in (0.3, 1.0, 3.0):
            proposal = place + step * rng.normal(size=sets), alike + step * rng.normal(size=sets)
            ratio = log_target(*proposal, won, lost) - log_target(place, alike, won, lost)
            accepted = np.log(rng.random(sets)) < ratio
            place, alike = (
                np.where(accepted, new, old)
                for new, old in zip(proposal, (place, alike), strict=True)
            )
        if sweep >= burn:
            first, second = beta_of(place, alike)
            inner = rng.beta(first[:, None] + won[:, 2:], second[:, None] + lost[:, 2:])
            rates.append(np.column_stack([np.zeros(sets), np.ones(sets), inner]))
            gammas = np.maximum(rng.standard_gamma(PRIOR + number), 1e-300)
            weights.append(gammas / gammas.sum(axis=1, keepdims=True))
    return np.stack(weights), np.stack(rates)


def beta_of(place: np.ndarray, alike: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of the distribution of rates, from the logits of mu and rho."""
    mu, odds = special.expit(place), np.exp(-np.maximum(alike, -16))
    return 0.5 + mu * odds, 0.5 + (1 - mu) * odds


def log_target(
    place: np.ndarray, alike: np.ndarray, won: np.ndarray, lost: np.ndarray
) -> np.ndarray:
    """Return the log density of the logits of mu ~ Beta(1/2, 1/2) and rho ~ Beta(1/4, 1)."""
    log_mu, log_other = special.log_expit(place), special.log_expit(-place)
    log_rho, log_rest = special.log_expit(alike), special.log_expit(-alike)
    first, second = (array[:, None] for array in beta_of(place, alike))
    counts = special.betaln(first + won[:, 2:], second + lost[:, 2:]) - special.betaln(
        first, second
    )
    return 0.5 * (log_mu + log_other) + 0.25 * log_rho + log_rest + counts.sum(axis=1)


def of_attempts(rng: np.random.Generator, size: int) -> Iterator[Any]:
    """Yield widths of intervals for other numbers of items and attempts."""
    pilot = np.random.default_rng(4)
    answers = (pilot.random((20, 4)) < pilot.beta(1, 0.7, (20, 1))).astype(int)
    evidence = bcm.from_attempts(answers)
    copies = np.broadcast_to(answers.sum(1), (3 * size, 20))
    weights, rates = (draws[-1] for draws in urn(rng, copies, 4, 4 * BURN, 1))
    measures = {"mean": lambda p: p, "pass_at(4)": lambda p: 1 - (1 - p) ** 4}
    for items, attempts in ((20, 4), (80, 4), (20, 8)):
        plans = {
            name: planning.plan_attempts(
                evidence,
                name,
                items=items,
                attempts=attempts,
                kind=kind,
                replications=PACKAGE_REPLICATIONS,
            ).iloc[0]
            for name, kind in (("mean", "eti"), ("pass_at(4)", "hdi"))
        }
        (weight, weights), (rate, rates) = (
            (draws[:size], draws[size:]) for draws in (weights, rates)
        )
        drawn = zip(rate, weight, strict=True)
        right = np.array([rng.binomial(attempts, rng.choice(q, items, p=w)) for q, w in drawn])
        posterior = urn(rng, right, attempts, BURN, SWEEPS)
        for name, measure in measures.items():
            of_sets = (posterior[0] * measure(posterior[1])).sum(axis=-1).T
            if name == "mean":
                widths = np.array([np.ptp(np.quantile(draws, TAILS)) for draws in of_sets])
            else:
                widths = np.array([shortest(draws) for draws in of_sets])
            own = Figure(widths.mean(), widths.std(ddof=1) / np.sqrt(size))
            width, error = float(plans[name]["width"]), float(plans[name]["width_se"])
            package = Figure(width, float(np.hypot(error, FEW_DRAWS * width)))
            answer = f"{items} items, {attempts} attempts"
            yield from rows(f"attempts, {name}", {answer: package}, {answer: own})


def figures(replications: Replications, plan: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every figure."""
    rng, number = replications.generator(), replications.number
    simulate: dict[str, tuple[Callable, int]] = {
        "item scores": (of_item_scores, 20 * number),
        "labels": (of_labels, 10 * number),
        "worth": (of_worth, number),
        "attempts": (of_attempts, 3 * number),
    }
    function, size = simulate[plan]
    yield from function(rng, size)


def table_rows(replications: Replications, plan: str) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every question of a case."""
    yield from summarised(figures(replications, plan))


EXPERIMENTS = [Repeated("recomputed", CASES, table_rows, columns=["plan"], table="simulated_plans")]

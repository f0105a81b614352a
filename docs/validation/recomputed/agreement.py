r"""
Agreement of raters: published formulas by loops over labels, and draws of a Dirichlet process.

Point estimates are recomputed label by label. Fleiss' kappa and Gwet's AC1 use the class shares of
each example's labels. Alpha uses Krippendorff's coincidences of ordered pairs of labels. The
posterior of the label patterns is a Dirichlet process with a prior of weight two, sampled by stick
breaking. A prior example has the raters of a random example in the sample, and random labels. The
published table of twelve subjects, four raters and five classes is from Gwet (2014), Handbook of
Inter-Rater Reliability (4th ed.), Advanced Analytics. Its figures are from there and, for ordered
classes, from Krippendorff (2011), Computing Krippendorff's alpha-reliability.
"""

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

import bayescm as bcm
from bayescm.simulation import Repeated, Replications
from validation.recomputed import Figure, figures_of_draws, rows, summarised

MISSING = -1
PUBLISHED = (
    np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 0],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    ).T
    + MISSING
)
# Printed values, with their numbers of digits.
PRINTED = {
    "agreement": (0.81818, 5),
    "fleiss_kappa": (0.76117, 5),
    "gwet_ac1": (0.77544, 5),
    "krippendorff_alpha": (0.74342, 5),
    "krippendorff_alpha_ordinal": (0.815, 3),
    "krippendorff_alpha_interval": (0.849, 3),
}
PRIOR_EXAMPLES, STICKS = 2.0, 40
PACKAGE_DRAWS, CHUNK = 4000, 500


class Setting(NamedTuple):
    """Numbers of classes, raters and examples, and proportion of missing labels."""

    classes: int
    raters: int
    n: int
    missing: float


CASES = {
    1: Setting(2, 2, 30, 0.0),
    2: Setting(5, 4, 12, 0.0),  # the published table
    3: Setting(3, 2, 40, 0.2),
    4: Setting(5, 3, 40, 0.3),
    5: Setting(7, 6, 50, 0.5),
    6: Setting(12, 2, 80, 0.1),
}


def sample_of(rng: np.random.Generator, setting: Setting) -> np.ndarray:
    """Return labels (example, rater), with `MISSING` for missing ones."""
    shape = (setting.n, setting.raters)
    truth = rng.integers(setting.classes, size=(setting.n, 1))
    guess = rng.integers(setting.classes, size=shape)
    labels = np.where(rng.random(shape) < 0.6, truth, guess)
    labels[rng.random(shape) < setting.missing] = MISSING
    return labels


def beyond_chance(observed: Any, chance: Any) -> Any:
    """Return the chance-corrected agreement."""
    return (observed - chance) / (1 - chance)


def points(labels: np.ndarray, classes: int) -> dict[str, float]:
    """Return the point estimates from labels (example, rater), by the published formulas."""
    of_examples = [row[row != MISSING] for row in labels]
    several = [row for row in of_examples if len(row) > 1]
    pairs = [[(a, b) for a, b in permutations(row, 2)] for row in several]
    agreement = float(np.mean([np.mean([a == b for a, b in pair]) for pair in pairs]))
    shares = np.mean(
        [np.bincount(row, minlength=classes) / len(row) for row in of_examples if len(row)], axis=0
    )
    coincidences = np.zeros((classes, classes))
    for row, pair in zip(several, pairs, strict=True):
        for a, b in pair:
            coincidences[a, b] += 1 / (len(row) - 1)
    result = {
        "agreement": agreement,
        "fleiss_kappa": beyond_chance(agreement, (shares**2).sum()),
        "gwet_ac1": beyond_chance(agreement, (shares * (1 - shares)).sum() / (classes - 1)),
    }
    number = coincidences.sum(0)
    for name, distance in distances(number).items():
        expected = np.outer(number, number) - np.diag(number)
        expected /= number.sum() - 1
        result[name] = 1 - (coincidences * distance).sum() / (expected * distance).sum()
    if labels.shape[1] == 2:
        one, two = labels[(labels != MISSING).all(1)].T
        chance = float(np.mean(one[:, None] == two))
        result["cohen_kappa"] = beyond_chance(float(np.mean(one == two)), chance)
    return result


def distances(number: np.ndarray) -> dict[str, np.ndarray]:
    """Return the squared distances between classes (..., C, C), given the numbers of labels."""
    classes = number.shape[-1]
    rank = np.arange(classes)
    ordinal = np.zeros((*number.shape, classes))
    for a, b in permutations(range(classes), 2):
        low, high = min(a, b), max(a, b)
        between = number[..., low : high + 1].sum(-1) - (number[..., a] + number[..., b]) / 2
        ordinal[..., a, b] = between**2
    return {
        "krippendorff_alpha": 1.0 - np.eye(classes),
        "krippendorff_alpha_interval": (rank[:, None] - rank) ** 2.0,
        "krippendorff_alpha_ordinal": ordinal,
    }


def of_population(labels: np.ndarray, mass: np.ndarray, classes: int) -> dict[str, np.ndarray]:
    """
    Return the measures of populations.

    Parameters
    ----------
    labels : ndarray, shape (S, N, R)
        Labels of N kinds of examples, in S populations.
    mass : ndarray, shape (S, N)
        Proportion of each kind.
    """
    votes = (labels[..., None] == np.arange(classes)).astype(float)  # (S, N, R, C)
    number = votes.sum(2)
    total = number.sum(-1)
    rated, several = mass * (total > 0), mass * (total > 1)
    same = (number * (number - 1)).sum(-1) / np.maximum(total * (total - 1), 1)
    agreement = (several * same).sum(-1) / several.sum(-1)
    shares = np.einsum("sn,snc->sc", rated / np.maximum(total, 1), number)
    shares /= shares.sum(-1, keepdims=True)
    each = several / np.maximum(total - 1, 1)
    coincidences = np.einsum("sn,snc,snd->scd", each, number, number)
    coincidences -= np.einsum("sn,snc->sc", each, number)[..., None] * np.eye(classes)
    single = np.einsum("sn,snc->sc", several, number)
    expected = single[:, :, None] * single[:, None] / single.sum(-1)[:, None, None]
    result = {
        "agreement": agreement,
        "fleiss_kappa": beyond_chance(agreement, (shares**2).sum(-1)),
        "gwet_ac1": beyond_chance(agreement, (shares * (1 - shares)).sum(-1) / (classes - 1)),
    }
    for name, distance in distances(single).items():
        observed = (coincidences * distance).sum((1, 2))
        result[name] = 1 - observed / (expected * distance).sum((1, 2))
    if labels.shape[-1] == 2:
        table = np.einsum("sn,snc,snd->scd", mass, votes[:, :, 0], votes[:, :, 1])
        table /= table.sum((1, 2), keepdims=True)
        chance = (table.sum(1) * table.sum(2)).sum(-1)
        result["cohen_kappa"] = beyond_chance(np.trace(table, axis1=1, axis2=2), chance)
    return result


def populations(
    rng: np.random.Generator, labels: np.ndarray, classes: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return kinds of examples (S, N, R) in posterior draws of populations, and their masses."""
    seen = rng.gamma(1.0, size=(size, len(labels)))
    left = np.cumprod(rng.beta(PRIOR_EXAMPLES, 1, (size, STICKS)), axis=1)
    sticks = np.concatenate([np.ones((size, 1)), left[:, :-1]], axis=1) - left
    unseen = rng.gamma(PRIOR_EXAMPLES, size=(size, 1)) * sticks
    like = labels[rng.integers(len(labels), size=(size, STICKS))]
    at_random = np.where(like == MISSING, MISSING, rng.integers(classes, size=like.shape))
    kinds = np.concatenate([np.broadcast_to(labels, (size, *labels.shape)), at_random], axis=1)
    mass = np.concatenate([seen, unseen], axis=1)
    return kinds, mass / mass.sum(1, keepdims=True)


def figures(replications: Replications, *setting: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a row for every figure."""
    rng, of_case = replications.generator(), Setting(*setting)
    classes = of_case.classes
    published = of_case == CASES[2]
    labels = PUBLISHED if published else sample_of(rng, of_case)
    own = points(labels, classes)
    parts = [
        of_population(*populations(rng, labels, classes, CHUNK), classes)
        for _ in range(max(1, 1000 * replications.number // CHUNK))
    ]
    answers = [[None if label == MISSING else int(label) for label in rater] for rater in labels.T]
    table = bcm.raters.agreement(
        {f"rater {number}": answer for number, answer in enumerate(answers)},
        list(own),
        labels=list(range(classes)),
        pairs=of_case.raters == 2,
        kind="eti",
    ).set_index("measure")
    for measure, point in own.items():
        row = table.loc[measure]
        yield from rows("point", {measure: Figure(row["point"])}, {measure: Figure(point)})
        if published:
            value, digits = PRINTED[measure]
            printed = Figure(value, 10.0**-digits / 2)
            yield from rows("printed", {measure: Figure(row["point"])}, {measure: printed})
        draws = np.concatenate([part[measure] for part in parts])
        recomputed = figures_of_draws(draws)
        scale = np.sqrt(len(draws) / PACKAGE_DRAWS)
        package = {key: Figure(row[key], recomputed[key].error * scale) for key in recomputed}
        yield from (
            row | {"answer": f"{measure}, {row['answer']}"}
            for row in rows("posterior", package, recomputed)
        )


def table_rows(replications: Replications, *setting: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a row each for the point estimates, the printed figures and the posteriors."""
    yield from summarised(figures(replications, *setting))


EXPERIMENTS = [Repeated("recomputed", CASES, table_rows, table="agreement")]

"""
Agreement between raters of the same examples, and estimates of the true classes.

`agreement` treats the examples as a random sample. The frequencies of label patterns have a
Dirichlet posterior, and measures such as kappa are functions of these frequencies. `true_classes`
and `assumed_dependence` use the model `noisy_labels`, which allows every rater to be wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescm.answers.summary import summary
from bayescm.distributions.empirical import Empirical
from bayescm.evidence.raters import as_ratings, count_patterns
from bayescm.measures.agreement import AMONG_ALL, EVERY, Labelled
from bayescm.posteriors.noisy_labels import noisy_labels
from bayescm.validate import check_kind, check_prob, check_seed, fail, suggest

_DEFAULT = ("agreement", "cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha")
_DRAWS = 4000  # number of posterior draws
_PRIOR_KINDS = 16  # number of unseen label patterns with prior mass
_PRIOR_EXAMPLES = 2.0  # weight of the prior, in examples
_CLASS_DRAWS = 2000
_DEPENDENCES = (0.0, 0.1, 0.2, 0.4)


# Agreement beyond chance.


def agreement(
    raters: Mapping[str, Any] | xr.Dataset,
    measures: str | Sequence[str] | None = None,
    *,
    labels: Sequence | None = None,
    pairs: bool | None = None,
    prob: float = 0.95,
    kind: str = "hdi",
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return measures of agreement between raters, with posterior intervals.

    Examples are treated as a random sample. The frequencies of label patterns have a Dirichlet
    posterior, whose prior has the weight of two examples that are labelled at random.

    Parameters
    ----------
    raters : mapping of str to array_like, shape (n,) or (n, k), or Dataset
        Labels of each rater, with None, NaN or NA for missing labels, or a table in any form that
        `bayescm.from_raters` accepts. A Dataset returned by that function is also accepted; its
        gold labels are ignored.
    measures : str or sequence of str, optional
        Measures of agreement. By default the first five:

        - ``"agreement"``: the probability that two labels of an example agree.
        - ``"cohen_kappa"``: for two raters only.
        - ``"fleiss_kappa"``, ``"gwet_ac1"``, ``"krippendorff_alpha"``.
        - ``"krippendorff_alpha_ordinal"``, ``"krippendorff_alpha_interval"``: for ordered classes.
    labels : sequence, optional
        All classes, in order. By default the sorted labels in the data. AC1 depends on the number
        of classes.
    pairs : bool, optional
        Whether to include every pair of raters. By default pairs are included for up to five
        raters.
    prob : float, default 0.95
    kind : {"hdi", "eti"}
    random_seed : int, default 0

    Returns
    -------
    DataFrame
        Columns are ``measure``, ``raters`` ("all" or two names), ``examples`` (number of examples
        with at least two labels), ``point`` (estimate by the published formula), ``mean``,
        ``sd``, ``lower`` and ``upper``.

    Raises
    ------
    ValueError
        If there are fewer than two raters or classes, if raters that are compared have no labelled
        example in common, or if a measure is unknown or only compares two raters.

    References
    ----------
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th edition. Advanced Analytics.

    Examples
    --------
    >>> ann = ["a", "b", "a", "a", "b", "a", None, "b"] * 5
    >>> bob = ["a", "b", "a", "b", "b", "a", "a", "b"] * 5
    >>> table = agreement({"ann": ann, "bob": bob}, ["cohen_kappa", "gwet_ac1"])
    >>> table[["measure", "point", "lower", "upper"]].round(2).values.tolist()
    [['cohen_kappa', 0.72, 0.46, 0.88], ['gwet_ac1', 0.72, 0.46, 0.9]]
    """
    check_prob(prob), check_kind(kind)
    names = _measure_names(measures)
    ratings = raters if isinstance(raters, xr.Dataset) else count_patterns(raters, labels=labels)
    ratings = as_ratings(ratings)
    people = ratings["classifier"].values.tolist()
    if len(people) < 2 or ratings.sizes["actual"] < 2:
        got = {"raters": len(people), "classes": ratings.sizes["actual"]}
        raise fail(
            "Agreement needs at least two raters and two classes",
            got,
            "",
            "add a rater, or name all classes with `labels=`",
        )
    votes, weight = (ratings[variable].values.astype(float) for variable in ("votes", "counts"))
    groups = [] if len(people) == 2 else [("all", list(range(len(people))), AMONG_ALL)]
    if pairs or (pairs is None and len(people) <= 5) or len(people) == 2:
        groups += [
            (f"{people[i]}, {people[j]}", [i, j], EVERY)
            for i, j in combinations(range(len(people)), 2)
        ]
    rows = []
    for raters_named, indices, applicable in groups:
        rng = np.random.default_rng(check_seed(random_seed))
        of_group = [name for name in names if name in applicable]
        rows += _rows(of_group, raters_named, votes[indices], weight, prob, kind, rng)
    if not rows:
        todo = "pass `pairs=True`"
        raise fail(
            "This measure compares two raters, but there are more: {}",
            names,
            sorted(AMONG_ALL),
            todo,
        )
    return pd.DataFrame(rows)


def _measure_names(measures):
    names = list(_DEFAULT) if measures is None else measures
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in EVERY:
            todo = suggest(name, EVERY)
            raise fail("{} is not a measure of agreement", name, sorted(EVERY), todo)
    return names


def _rows(names, raters, votes, weight, prob, kind, rng):
    """Return a row per measure for a set of raters."""
    size = float(weight @ (votes.sum((0, -1)) > 1))
    if not size:
        raise fail(
            f"No example has labels from both {raters}",
            ...,
            "",
            "let both raters label some of the same examples",
        )
    sample = Labelled(votes, weight, sample=True)
    population = _frequencies(votes, weight, rng)
    rows = []
    for name in names:
        distribution = Empirical(EVERY[name](population))
        ends, _ = distribution.interval_with_error(prob, kind)
        numbers = {"point": float(EVERY[name](sample)), "mean": float(distribution.mean())}
        numbers |= {"sd": float(distribution.sd()), "lower": ends[0], "upper": ends[1]}
        rows.append({"measure": name, "raters": raters, "examples": int(size), **numbers})
    return rows


def _frequencies(votes, weight, rng):
    """Return draws of the frequencies of observed and unseen label patterns."""
    raters, kinds, classes = votes.shape
    ratings = votes.sum(-1).astype(int)  # (R, P)
    unseen_kinds = rng.choice(kinds, (_DRAWS, _PRIOR_KINDS), p=weight / weight.sum())
    chances = np.full(classes, 1 / classes)
    unseen = rng.multinomial(ratings[:, unseen_kinds], chances)  # (R, S, U, C)
    observed = np.broadcast_to(votes[:, None], (raters, _DRAWS, kinds, classes))
    shape = np.concatenate([weight, np.full(_PRIOR_KINDS, _PRIOR_EXAMPLES / _PRIOR_KINDS)])
    mass = rng.standard_gamma(shape, (_DRAWS, kinds + _PRIOR_KINDS))
    all_kinds = np.concatenate([observed, unseen.astype(float)], axis=2)
    return Labelled(all_kinds, mass / mass.sum(-1, keepdims=True))


# Estimates of the true classes with the model `noisy_labels`.


def true_classes(
    evidence: xr.Dataset,
    *,
    concentration: float | None = None,
    random_seed: int = 0,
    **keywords: Any,
) -> xr.DataArray:
    """
    Return the posterior probability of each class for every example.

    Probabilities are averaged over the posterior of the raters' error rates. For an example with a
    gold label, the class is known. For an example without ratings, the class probabilities are the
    prevalences.

    Parameters
    ----------
    evidence : Dataset
        Result of `bayescm.from_raters`.
    concentration : float, optional
        Prior. See `bayescm.models.noisy_labels`.
    random_seed : int, default 0
    **keywords
        Further keywords of the model: ``dependence``.

    Returns
    -------
    DataArray, dims (example, actual)
        Class probabilities. Each row sums to 1.

    Raises
    ------
    ValueError, TypeError
        If the evidence does not contain ratings or the coordinate ``pattern_of``, or if a keyword
        is invalid.

    Examples
    --------
    >>> import bayescm as bcm
    >>> ann, bob = [1, 0, 1, 1, 0, 0, 1, 0] * 9, [1, 0, 1, 0, 0, 0, 1, 0] * 9
    >>> eve, judge = [1, 0, 1, 1, 0, 1, 1, 0] * 9, [1, 1, 1, 1, 0, 0, 1, 0] * 9
    >>> ratings = bcm.from_raters({"ann": ann, "bob": bob, "eve": eve, "judge": judge})
    >>> chances = true_classes(ratings)
    >>> chances.sel(actual=1).values[:4].round(1)
    array([1., 0., 1., 1.])
    """
    ratings = as_ratings(evidence)
    if "pattern_of" not in ratings.coords:
        raise fail(
            "The ratings do not identify the examples, because they lack the coordinate pattern_of",
            ...,
            "",
            "build them with `from_raters`, and keep this coordinate",
        )
    posterior = noisy_labels(ratings, concentration=concentration, **keywords)
    chances = posterior.true_classes(_CLASS_DRAWS, np.random.default_rng(check_seed(random_seed)))
    return xr.DataArray(
        chances[ratings["pattern_of"].values],
        dims=("example", "actual"),
        coords={"actual": ratings["actual"].values},
        name="probability",
    )


def assumed_dependence(
    evidence: xr.Dataset,
    measures: str | Callable | Sequence[str | Callable] = ("prevalence", "recall", "specificity"),
    *,
    dependence: Sequence[float] = _DEPENDENCES,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    concentration: float | None = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> pd.DataFrame:
    """
    Return estimates for several assumed dependences between rater errors.

    With three raters and no gold labels, the data cannot show whether examples that are hard for
    one rater are hard for all. This sensitivity analysis repeats the estimates for several assumed
    degrees of dependence.

    Parameters
    ----------
    evidence : Dataset
        Result of `bayescm.from_raters`, with two classes.
    measures : name, function, or sequence of these
    dependence : sequence of float, default (0, 0.1, 0.2, 0.4)
        Assumed correlations between the errors of two raters, on the latent normal scale.
    prob, kind, of, concentration, positive, draws, random_seed
        See `bayescm.summary`.

    Returns
    -------
    DataFrame
        Table as returned by `bayescm.summary`, preceded by a column ``dependence``.

    Raises
    ------
    ValueError
        If there are more than two classes, or a dependence is not in [0, 1).

    Examples
    --------
    >>> import bayescm as bcm
    >>> ann, bob = [1, 0, 1, 1, 0, 0, 1, 0] * 9, [1, 0, 1, 0, 0, 0, 1, 0] * 9
    >>> eve, judge = [1, 0, 1, 1, 0, 1, 1, 0] * 9, [1, 1, 1, 1, 0, 0, 1, 0] * 9
    >>> ratings = bcm.from_raters({"ann": ann, "bob": bob, "eve": eve, "judge": judge})
    >>> table = assumed_dependence(ratings, "recall", dependence=(0, 0.3))
    >>> means = table[table["classifier"] == "judge"]["mean"]
    >>> bool(means.iloc[0] > means.iloc[1])  # ignoring dependence is optimistic
    True
    """
    options: dict[str, Any] = {"prob": prob, "kind": kind, "of": of, "concentration": concentration}
    options |= {"positive": positive, "draws": draws, "random_seed": random_seed}
    parts = []
    names = measures if isinstance(measures, str) or callable(measures) else list(measures)
    for share in dependence:
        part = summary(evidence, names, model="noisy_labels", dependence=float(share), **options)
        part.insert(0, "dependence", float(share))
        parts.append(part)
    if not parts:
        raise fail(
            "`dependence` must contain at least one number", list(dependence), "", "pass (0, 0.2)"
        )
    return pd.concat(parts, ignore_index=True)

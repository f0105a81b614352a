"""
Where importance weights leave an interval without the examples that it hangs on.

Counts. A rate such as the recall is a share of the weight of a class, whose heaviest example weighs
w_max. Where one side of it, the misses say, weighs less than two such examples,

    W_misses / w_max < 2,

the next heavy miss moves the rate by as much as all misses that are known, and most samples have
none. 95 % intervals of recall and specificity held .860 of the true values there and .948 elsewhere
(300 data sets each of 30 designs: three strata of which one was sampled up to 20 times as often as
another, with scores that follow the strata or not, and log-normal weights; 100 to 1,600 examples).
Kish's effective number of the same cells separates them less well: a cell of few examples none of
which could have been much heavier is no worse than one of a plain sample.

Scores. A model of scores takes the weight of an example for how many there are of it, which is
right where weights do not go with the scores. For the area A under the curve, with v_i the share of
the other class that example i of a class of weight W is on the right side of, the variances are, by
linearisation and summed over the classes,

    of the sample  sum w_i**2 (v_i - A)**2 / W**2
    of the model   sum w_i (v_i - A)**2 / W  sum w_i**2 / W**2.

95 % intervals of the area held .875 of the true values where the first was less than .5 or more
than 1.4 of the second, and .946 elsewhere (200 data sets each of 9 of these designs).

The limits 2, .5 and 1.4 were chosen on these. Of samples of another seed, 60 of each of 16 designs
(`docs/results/recomputed_heavy_weights.csv`), intervals of recall and specificity that are
cautioned of held .857 and the others .942; those of the area .893 and .944.

References
----------
Kish, L. (1965). Survey Sampling. Wiley. (section 11.7)

DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more
correlated receiver operating characteristic curves. Biometrics 44, 837-845. doi:10.2307/2531595
(the variance of the area)
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from bayescm.evidence.counts import classes
from bayescm.evidence.scores import one_vs_rest, score_arrays
from bayescm.evidence.slices import samples

FEWEST_HEAVY = 2.0  # of the heaviest examples that a cell must weigh
# Ratios of the variances between which intervals cover.
LEAST_RATIO = 0.5
LARGEST_RATIO = 1.4
# The heaviest example of a class outweighs the mean one by more where the weights vary in earnest:
# those that say how often a whole class was sampled do not.
UNEVEN = 1.5
MOST_NAMED = 6
TINY = 1e-300  # in place of 0 in a denominator
ROUNDING = 1e-20  # a variance that is no larger is due to rounding


def of_counts(counts: xr.DataArray, pooled: Sequence[str] = ()) -> list[str]:
    """
    Say which cells weigh less than two of the heaviest examples of their class.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        With the coords ``effective`` and ``heaviest``; of others nothing is said.
    pooled : sequence of str
        Dims whose members are taken together.
    """
    if not {"effective", "heaviest"} <= set(counts.coords):
        return []
    summed = [dim for dim in pooled if dim in counts.dims]
    weight = counts.drop_vars(("effective", "heaviest")).sum(summed)
    effective = counts["effective"].broadcast_like(counts).sum(summed)
    heaviest = counts["heaviest"].broadcast_like(counts.isel(predicted=0, drop=True)).max(summed)
    light = []
    for label in classes(counts).tolist():
        row, largest = weight.sel(actual=label), heaviest.sel(actual=label)
        # The mean weight of examples drawn in proportion to their weights: the largest, if equal.
        mean = row.sum("predicted") / np.maximum(effective.sel(actual=label).sum("predicted"), TINY)
        uneven = largest > UNEVEN * mean
        right = row.sel(predicted=label)
        sides = {f"predicted {label}": right, "predicted otherwise": row.sum("predicted") - right}
        for predicted, side in sides.items():
            number = (side / largest).where(uneven & (side < FEWEST_HEAVY * largest)).min()
            if bool(number.notnull()):
                light.append(f"examples of class {label} {predicted} ({float(number):.2g})")
    if not light:
        return []
    more = f" and {len(light) - MOST_NAMED} others" if len(light) > MOST_NAMED else ""
    return [
        f"Weighing less than {FEWEST_HEAVY:g} of the heaviest examples of their class: "
        f"{', '.join(light[:MOST_NAMED])}{more}. Few samples hold enough of such heavy examples: "
        f"intervals of the recall of the class, and of whatever else depends on these examples, "
        f"may be too short."
    ]


def of_scores(evidence: xr.Dataset) -> list[str]:
    """
    Say so where heavy examples have other scores than light ones of their class.

    Parameters
    ----------
    evidence : Dataset
        Scores or probabilities; without importance weights nothing is said of them.
    """
    if "importance" not in evidence:
        return []
    ratios = [ratio for sample in samples(evidence) for ratio in _ratios(sample)]
    if all(LEAST_RATIO <= ratio <= LARGEST_RATIO for ratio in ratios):
        return []
    return [
        "The weights go with the scores: examples that weigh much have other scores than those of "
        "their class that weigh little, so that the few heavy ones decide. Intervals of the area "
        "under the curve and of what else hangs on them may be too short."
    ]


def _ratios(sample):
    """Return the ratio of the variances of each classifier and, of more than two, each class."""
    if "class" in sample.dims:
        views = [one_vs_rest(sample, label) for label in sample["class"].values.tolist()]
        return [ratio for view in views for ratio in _ratios(view)]
    matrix, _, codes = score_arrays(sample)
    weight = sample["importance"].values
    return [variance_ratio(row, codes == 1, weight) for row in matrix]


def variance_ratio(scores: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    """
    Return the variance of the area under a curve over that of the model, 1 where neither varies.

    Parameters
    ----------
    scores, positive, weight : ndarray, shape (n,)
    """
    sides = (positive, ~positive)
    if not all(weight[side].any() for side in sides):
        return 1.0
    above = _share_below(scores[positive], scores[~positive], weight[~positive])
    below = 1 - _share_below(scores[~positive], scores[positive], weight[positive])
    sample = model = 0.0
    for side, share in zip(sides, (above, below), strict=True):
        weights = weight[side] / weight[side].sum()
        square = (share - weights @ share) ** 2
        sample += weights**2 @ square
        model += (weights @ square) * (weights @ weights)
    return float(sample / model) if model > ROUNDING else 1.0


def _share_below(scores, others, weight):
    """Return the share of the weight of the others below each score, of ties one half."""
    order = np.argsort(others)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    ends = [np.searchsorted(others[order], scores, end) for end in ("left", "right")]
    return (total[ends[0]] + total[ends[1]]) / (2 * total[-1])

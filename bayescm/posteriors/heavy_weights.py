"""
Cautions about intervals that depend on a few examples with heavy weights.

**Counts.** A rate such as the recall is a proportion of the weight of a class, whose heaviest
example weighs w_max. Suppose that one side of the rate, such as the misses, weighs less than two of
these examples,

    W_misses / w_max < 2.

Then one further heavy miss changes the rate about as much as all observed misses, but most samples
contain none. In this case, 95% intervals of recall and specificity had a coverage of 0.860,
compared with 0.948 otherwise. This was measured on 300 data sets of 100 to 1,600 examples, for each
of 30 designs of two kinds:

- three strata, one of them sampled up to 20 times as often as another, with scores that may depend
  on the stratum
- log-normal weights

Kish's effective sample size of the same cells is a worse criterion. If the examples of a small cell
could not have been much heavier, coverage is the same as in an unweighted sample.

**Scores.** A model of scores treats the weight of an example as a number of equal examples. This is
correct if weights and scores are independent. Consider the area A under the curve and a class of
weight W. Let v_i be the proportion of the other class that example i is ranked correctly against.
By linearization, and summed over the classes, the variances are

    of the sample  sum w_i**2 (v_i - A)**2 / W**2
    of the model   sum w_i (v_i - A)**2 / W  sum w_i**2 / W**2.

If their ratio was below 0.5 or above 1.4, 95% intervals of the area had a coverage of 0.875,
compared with 0.946 otherwise. These figures are from 200 data sets for each of 9 of these designs.

The limits 2, 0.5 and 1.4 were chosen on these data sets. The table gives the coverage for new
samples, 60 for each of 16 designs (`docs/results/recomputed_heavy_weights.csv`).

======================  ============  ===============
interval                with caution  without caution
======================  ============  ===============
recall and specificity  0.857         0.942
area under the curve    0.893         0.944
======================  ============  ===============

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

FEWEST_HEAVY = 2.0  # smallest weight of a cell without a caution, relative to the heaviest example
# A caution is added if the ratio of the sampling variance to the variance in the model is outside
# this range, in which coverage is sufficient.
LEAST_RATIO = 0.5
LARGEST_RATIO = 1.4
# For a caution, the heaviest example of a class must outweigh the mean example by this factor. If
# weights only reflect how often a whole class was sampled, they do not vary within the class.
UNEVEN = 1.5
MOST_NAMED = 6
TINY = 1e-300  # replaces 0 in a denominator
ROUNDING = 1e-20  # a smaller variance is due to rounding


def of_counts(counts: xr.DataArray, pooled: Sequence[str] = ()) -> list[str]:
    """
    Return a caution about cells that weigh less than two of the heaviest examples.

    Parameters
    ----------
    counts : DataArray, dims (..., actual, predicted)
        Counts. Without the coords ``effective`` and ``heaviest``, the result is empty.
    pooled : sequence of str
        Dims whose members are summed.
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
        # Mean weight of examples sampled in proportion to their weights. If all weights are equal,
        # it is the largest weight.
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
        (
            "In some classes, a few heavy examples dominate a cell of the matrix. In units of the "
            f"heaviest weight, the total weight is less than {FEWEST_HEAVY:g} for "
            f"{', '.join(light[:MOST_NAMED])}{more}. "
            "Few samples contain such heavy examples, so intervals of the recall of the class, and "
            "of measures that depend on these examples, may be too short."
        )
    ]


def of_scores(evidence: xr.Dataset) -> list[str]:
    """
    Return a caution if the scores of heavy examples differ within a class.

    Parameters
    ----------
    evidence : Dataset
        Scores or probabilities. Without importance weights, the result is empty.
    """
    if "importance" not in evidence:
        return []
    ratios = [ratio for sample in samples(evidence) for ratio in _ratios(sample)]
    if all(LEAST_RATIO <= ratio <= LARGEST_RATIO for ratio in ratios):
        return []
    return [
        (
            "The weights are related to the scores: within a class, the scores of heavy examples "
            "differ from those of light ones, so a few heavy examples determine the result. "
            "Intervals of the area under the curve and related measures may be too short."
        )
    ]


def _ratios(sample):
    """Return the variance ratio of each classifier and, with several classes, of each class."""
    if "class" in sample.dims:
        views = [one_vs_rest(sample, label) for label in sample["class"].values.tolist()]
        return [ratio for view in views for ratio in _ratios(view)]
    matrix, _, codes = score_arrays(sample)
    weight = sample["importance"].values
    return [variance_ratio(row, codes == 1, weight) for row in matrix]


def variance_ratio(scores: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    """
    Return the sampling variance of the area, divided by its variance in the model of scores.

    It is 1 if a class is empty or the variance of the model is 0.

    Parameters
    ----------
    scores, positive, weight : ndarray, shape (n,)

    Returns
    -------
    float
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
    """Return the share of the weight of `others` below each score; ties count one half."""
    order = np.argsort(others)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    ends = [np.searchsorted(others[order], scores, end) for end in ("left", "right")]
    return (total[ends[0]] + total[ends[1]]) / (2 * total[-1])

"""
Comparable counts for the rule `change`, with added classes or seasons.

The rule `change` compares counts of parts (predictions for each class) before and after each batch,
using the marginal likelihood of a Dirichlet-multinomial distribution. In two situations, some of
the counts are not comparable.

**Classes.** A class that was added later could not be predicted before, so its zero counts are not
observations. The distribution factors into the predictions among the first classes and, for each
addition, the predictions among the new classes and the sum of all earlier ones,

    Dirichlet(a_1, ..., a_K):   (x_1, ..., x_k) given their sum, and (sum, x_k+1, ..., x_K),

which are independent. Batches from before an addition contribute nothing to its second factor.

**Seasons.** Each phase, such as a day of the week, has a separate table. A change affects all
tables at the same batch.

With added classes and with seasons, the Bayes factor remains a ratio of marginal likelihoods of the
same batches, so the bound on false alarms is still valid (see `bayes_factor`).
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import xarray as xr

from bayescm.evidence.evidence_type import ChangeStatistic
from bayescm.online.bayes_factor import log_evidence_of_events, score_of

CLASSES, PHASE = "classes", "phase"  # coordinates of the batches


def comparable(
    statistic: ChangeStatistic, prior: np.ndarray | None, batches: xr.DataArray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """
    Return the counts compared by the rule `change`, and their log likelihood.

    Parameters
    ----------
    statistic : ChangeStatistic
        Statistic of the batches that is tested for changes.
    prior : ndarray, shape (..., K), optional
        Prior pseudo-counts, if the statistic consists of counts of parts.
    batches : DataArray, dims (step, ...)
        The batches. If classes were added, the coordinate ``classes`` contains the number of
        classes that existed when each batch was recorded, or -1 for all. With seasons, the
        coordinate ``phase`` contains the phases.

    Returns
    -------
    numbers : ndarray, shape (T, rows, columns)
        Comparable counts of each batch.
    score : callable
        Maps sums of the counts (..., rows, columns) to log marginal likelihoods (...).
    """
    numbers = statistic.numbers
    phase, classes = _values(batches, PHASE), _values(batches, CLASSES)
    if phase is None and classes is None:
        return numbers, log_evidence_of_events if prior is None else score_of(prior, "answers")
    if classes is not None and not statistic.parts_are_classes:
        # The counts refer to all classes together, so batches with other classes are not
        # comparable.
        phase = classes if phase is None else _together(phase, classes)
        classes = None
    if prior is None:
        return _by_phase(numbers, phase), log_evidence_of_events
    factors = [(numbers, prior)] if classes is None else _factors(numbers, prior, classes)
    parts, scores, first = [], [], 0
    for part, part_prior in factors:
        columns = slice(first, first + part.shape[-1])
        first = columns.stop
        number = 1 if phase is None else len(np.unique(phase))
        parts.append(_by_phase(part, phase))
        tiled = np.concatenate([part_prior] * number)
        scores.append((columns, score_of(tiled, "answers")))

    def score(cells, *log_ratio):
        return sum(each(cells[..., columns], *log_ratio) for columns, each in scores)

    return np.concatenate(parts, axis=-1), score


def _values(batches, name):
    return batches.coords[name].values if name in batches.coords else None


def _together(first, second):
    """Return one integer for each distinct pair of values."""
    pairs = np.stack([np.unique(part, return_inverse=True)[1] for part in (first, second)], axis=1)
    return np.unique(pairs, axis=0, return_inverse=True)[1].ravel()


def _by_phase(numbers, phase):
    """Return counts (T, R, K) with separate rows for each phase, (T, P R, K)."""
    if phase is None:
        return numbers
    phases, index = np.unique(phase, return_inverse=True)
    rows = np.zeros((len(numbers), len(phases), *numbers.shape[1:]), numbers.dtype)
    rows[np.arange(len(numbers)), index] = numbers
    return rows.reshape(len(numbers), -1, numbers.shape[-1])


def _factors(numbers, prior, classes):
    """Return the counts of the first classes and of each addition, with their priors."""
    size = numbers.shape[-1]
    known = np.where(classes < 0, size, classes)
    ends = sorted({*known.tolist(), size})
    factors = [(numbers[..., : ends[0]], prior[..., : ends[0]])]
    for before, after in pairwise(ends):
        could = (known >= after).reshape(-1, *[1] * (numbers.ndim - 1))
        factors.append(
            (_one_and_others(numbers, before, after) * could, _one_and_others(prior, before, after))
        )
    return factors


def _one_and_others(values, before, after):
    """Return the sum over the earlier classes, followed by the values of the added ones."""
    earlier = values[..., :before].sum(axis=-1, keepdims=True)
    return np.concatenate([earlier, values[..., before:after]], axis=-1)

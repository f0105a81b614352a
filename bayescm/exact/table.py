"""Which measure has which exact law: one entry per measure."""

import numpy as np

from bayescm import measures
from bayescm.exact.laws import F1, Beta

# Of a two-class Dirichlet: the cells whose parameters are summed, for either parameter of a beta.
_TN, _FP, _FN, _TP = (0, 0), (0, 1), (1, 0), (1, 1)
_BETAS = {
    measures.precision: ([_TP], [_FP]),
    measures.recall: ([_TP], [_FN]),
    measures.specificity: ([_TN], [_FP]),
    measures.npv: ([_TN], [_FN]),
    measures.fpr: ([_FP], [_TN]),
    measures.fnr: ([_FN], [_TP]),
    measures.fdr: ([_FP], [_TP]),
    measures.for_: ([_FN], [_TN]),
    measures.jaccard: ([_TP], [_FP, _FN]),
    measures.prevalence: ([_TP, _FN], [_FP, _TN]),
    measures.predicted_prevalence: ([_TP, _FP], [_FN, _TN]),
}
# Within the rows: what does not depend on the prevalence.
_ROW_BETAS = [measures.recall, measures.specificity, measures.fpr, measures.fnr]


def law(kernel, weights):
    """Return the law of a measure under Dirichlet(weights), or None."""
    if kernel in (measures.accuracy, measures.error_rate):
        right = np.trace(weights, axis1=-2, axis2=-1)
        wrong = np.where(np.eye(weights.shape[-1], dtype=bool), 0, weights).sum(axis=(-2, -1))
        return Beta(right, wrong) if kernel is measures.accuracy else Beta(wrong, right)
    if weights.shape[-1] > 2:
        return None
    if kernel in _BETAS:
        return Beta(*(_sum(weights, cells) for cells in _BETAS[kernel]))
    if kernel is measures.f1:
        return F1(_sum(weights, [_TP]), _sum(weights, [_FP, _FN]))
    return None


def law_at_prevalence(kernel, weights, prevalence):
    """Return the law of a measure where the law of the prevalence is given, or None."""
    if kernel is measures.prevalence:
        return prevalence
    if kernel in _ROW_BETAS:
        return Beta(*(_sum(weights, cells) for cells in _BETAS[kernel]))
    return None


def _sum(weights, cells):
    return sum(weights[..., row, column] for row, column in cells)

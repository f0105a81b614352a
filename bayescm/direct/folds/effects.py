"""The folds' own effects of training: integrated out of the likelihood, or drawn."""

import numpy as np
from scipy import special
from scipy.special import log_softmax

_STEPS = 6  # of Newton
_NEAR = 1e-3  # logits; the next step would be of the order of its square


def moved(rates: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """Return log rates (..., C, C) after effects (..., 1 + C), up to a constant in each row."""
    diagonal = effects[..., :1, None] * np.eye(rates.shape[-1])
    return rates + effects[..., None, 1:] + diagonal


def fold_likelihood(cells, level, own):
    """
    Return the log likelihood of all folds, each fold's own effects integrated out.

    By Laplace's method: the effects are small beside what one fold can tell, or else the fold is
    large, so that their distribution is close to normal either way.

    Parameters
    ----------
    cells : ndarray, shape (M, C, C)
    level : ndarray, shape (N, C, C)
        Log rates.
    own : ndarray, shape (N, 1 + C)
        Standard deviations of the own effects.

    Returns
    -------
    ndarray, shape (N,)
        Up to a constant.
    """
    folds, times = np.unique(cells, axis=0, return_counts=True)
    by_fold = _two_classes if cells.shape[-1] == 2 else _many_classes
    return times @ by_fold(folds, level, own)


def _two_classes(folds, level, own):
    """Return the log likelihood of each fold, (M, N), with threshold t and separation a."""
    logit = level[:, [0, 1], [0, 1]] - level[:, [0, 1], [1, 0]]
    hits = folds[:, [0, 1], [0, 1], None]
    n = folds.sum(-1)[..., None]
    threshold, separation = np.hypot(own[:, 1], own[:, 2]), own[:, 0]
    t = a = np.zeros((len(folds), len(level)))
    for _ in range(_STEPS):
        well = special.expit(logit[:, 0] - threshold * t + separation * a)
        sick = special.expit(logit[:, 1] + threshold * t + separation * a)
        gap = [hits[:, 0] - n[:, 0] * well, hits[:, 1] - n[:, 1] * sick]
        heavy = [n[:, 0] * well * (1 - well), n[:, 1] * sick * (1 - sick)]
        both = heavy[0] + heavy[1]
        tt, aa = 1 + threshold**2 * both, 1 + separation**2 * both
        ta = threshold * separation * (heavy[1] - heavy[0])
        down = threshold * (gap[1] - gap[0]) - t, separation * (gap[1] + gap[0]) - a
        determinant = tt * aa - ta**2
        step = aa * down[0] - ta * down[1], tt * down[1] - ta * down[0]
        # A step of a logit at most: where a fold is far off, Newton's is far too long.
        far = (threshold * abs(step[0]) + separation * abs(step[1])) / determinant
        shorter = determinant * np.maximum(1, far)
        t, a = t + step[0] / shorter, a + step[1] / shorter
        if far.max() < _NEAR:
            break
    well, sick = (
        logit[:, 0] - threshold * t + separation * a,
        logit[:, 1] + threshold * t + separation * a,
    )
    logs = hits[:, 0] * well - n[:, 0] * np.logaddexp(0, well)
    logs += hits[:, 1] * sick - n[:, 1] * np.logaddexp(0, sick)
    return logs - (t**2 + a**2 + np.log(determinant)) / 2


def _many_classes(folds, level, own):
    """Return the log likelihood of each fold, (M, N), with the effects as they are."""
    logs = np.empty((len(folds), len(level)))
    unit = np.eye(own.shape[-1])
    for row, fold in enumerate(folds):
        effects = np.zeros_like(own)
        for _ in range(_STEPS):
            rates = log_softmax(moved(level, own * effects), axis=-1)
            gradient, curvature = _expansion(fold, np.exp(rates))
            hessian = curvature * own[:, :, None] * own[:, None, :] + unit
            step = np.linalg.solve(hessian, (gradient * own - effects)[..., None])[..., 0]
            far = abs(own * step).sum(-1, keepdims=True)
            effects = effects + step / np.maximum(1, far)
        rates = log_softmax(moved(level, own * effects), axis=-1)
        logs[row] = (fold * rates).sum((-2, -1)) - (effects**2).sum(-1) / 2
        logs[row] -= np.linalg.slogdet(hessian)[1] / 2
    return logs


def _expansion(fold, rates):
    """Return gradient (N, 1 + C) and curvature (N, 1 + C, 1 + C) in the effects."""
    n, hits = fold.sum(-1), np.diagonal(fold)
    right = np.diagonal(rates, axis1=-2, axis2=-1)
    expected = np.einsum("i,nij->nj", n, rates)
    gradient = np.column_stack([(hits - n * right).sum(-1), fold.sum(0) - expected])
    curvature = np.empty((*gradient.shape, gradient.shape[-1]))
    curvature[:, 0, 0] = (n * right * (1 - right)).sum(-1)
    mixed = n * right - np.einsum("i,ni,nij->nj", n, right, rates)
    curvature[:, 0, 1:] = curvature[:, 1:, 0] = mixed
    outer = np.einsum("i,nij,nil->njl", n, rates, rates)
    curvature[:, 1:, 1:] = expected[..., None] * np.eye(len(n)) - outer
    return gradient, curvature


def own_effects(fold, level, own, rng, tries=100):
    """Draw a fold's own effects given all else: draws of the prior, chosen by likelihood."""
    effects = rng.standard_normal((len(level), tries, own.shape[-1]))
    rates = log_softmax(moved(level[:, None], own[:, None] * effects), axis=-1)
    logs = (fold * rates).sum((-2, -1))
    # The largest of Gumbel-perturbed logs is a draw in proportion to the likelihoods.
    chosen = (logs + rng.gumbel(size=logs.shape)).argmax(-1)
    return np.take_along_axis(effects, chosen[:, None, None], 1)[:, 0]

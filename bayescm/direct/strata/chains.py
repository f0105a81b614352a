"""The classes of unlabelled examples and the error rates drawn in turn, by many chains."""

import numpy as np

_CHAINS, _LEAST, _MOST, _THIN = 400, 100, 2000, 10


def in_turn(
    weights: np.ndarray, rest: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    """
    Return draws of shares (size, C) and rates (size, C, K), and how much the chains remember.

    Every chain begins with rates that the labels alone allow and with any shares. What it remembers
    is the correlation, over the chains, of the shares halfway and when the first are kept.

    Parameters
    ----------
    weights : ndarray, shape (C, K)
        Labelled examples of each class by stratum, and pseudo-counts.
    rest : ndarray of int, shape (K,)
        The unlabelled ones of each stratum.
    size : int
    rng : Generator
    """
    burn = int(np.clip(20 * rest.sum() / weights.sum(), _LEAST, _MOST))
    rates = _shares(np.broadcast_to(weights, (_CHAINS, *weights.shape)), rng)
    shares = _shares(np.ones((_CHAINS, len(weights))), rng)
    kept, halfway = [], shares
    for sweep in range(burn + -(-size // _CHAINS) * _THIN):
        joint = shares[:, None] * rates.swapaxes(1, 2) + 1e-300
        own = rng.multinomial(rest, joint / joint.sum(-1, keepdims=True)).swapaxes(1, 2)
        rates, shares = _shares(weights + own, rng), _shares(1 + own.sum(-1), rng)
        if sweep == burn // 2:
            halfway = shares
        if sweep >= burn and (sweep - burn) % _THIN == 0:
            kept.append((shares, rates))
    order = rng.permutation(len(kept) * _CHAINS)[:size]
    first, both = kept[0][0], [np.concatenate(each)[order] for each in zip(*kept, strict=True)]
    remembered = max(np.corrcoef(*each)[0, 1] for each in zip(halfway.T, first.T, strict=True))
    return both[0], both[1], float(remembered)


def _shares(weights, rng):
    drawn = rng.standard_gamma(weights) + 1e-300
    return drawn / drawn.sum(-1, keepdims=True)

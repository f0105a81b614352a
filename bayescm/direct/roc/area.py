"""The area under one curve by its moments: what `curve.auc` draws, without draws."""

import numpy as np

from bayescm.distributions.integrals.near_beta import NearBeta, beta_of, excess

_BEND = 1.5  # of the excess kurtosis on the squared skewness, as of gamma distributions


def area(weights: np.ndarray) -> NearBeta:
    """
    Return the distribution of the area under a curve, by its first three moments.

    Parameters
    ----------
    weights : ndarray, shape (2, J)
        Of the negatives and of the positives on every slot, the highest first.

    Notes
    -----
    The area is p' W q, where p and q are Dirichlet distributed weights of the positives and the
    negatives on the slots, the highest first, and W is 1 above the diagonal and 1/2 on it. Less the
    mean m of the area it is p' V q, with V = W - m, as the weights of each side sum to 1: so
    nothing cancels. The moments of a Dirichlet distribution are sums over the slots.
    """
    negative, positive = weights
    size, other = positive.sum(), negative.sum()
    above = np.cumsum(positive) - positive
    share = negative / other
    mean = float(share @ (above + positive / 2)) / size

    def over(weights, before, after, power):
        """Sum weights times V**power over the slots of the positives, for each of the negatives."""
        ends = (1 - mean) ** power, (0.5 - mean) ** power, (-mean) ** power
        return before * ends[0] + weights * ends[1] + after * ends[2]

    row = 1 - np.cumsum(share) + share / 2 - mean  # the mean of V over the negatives
    leaning = positive * row
    led = np.cumsum(leaning) - leaning
    found = positive, above, size - above - positive
    led_by = leaning, led, -led - leaning
    first, second, third = (over(*found, power) for power in (1, 2, 3))
    pairs, triples = size * (size + 1), size * (size + 1) * (size + 2)
    # Over the positives: the mean of the sums e of share * (p' V)**k, and of their products.
    square_of_one = leaning @ row / pairs
    of_two = share @ (first**2 + second) / pairs
    cube_of_one = 2 * (leaning @ row**2) / triples
    with_one = share @ (first * over(*led_by, 1) + over(*led_by, 2)) * 2 / triples
    of_three = share @ (first * (first**2 + 3 * second) + 2 * third) / triples
    variance = (other * square_of_one + of_two) / (other + 1)
    lean = other**2 * cube_of_one + 3 * other * with_one + 2 * of_three
    lean /= (other + 1) * (other + 2) * variance**1.5
    spread = np.sqrt(variance)
    bent = _BEND * (lean**2 - beta_of(mean, spread).skewness() ** 2)
    return NearBeta(np.asarray(mean), spread, lean, excess(mean, spread) + bent)

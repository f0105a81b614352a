"""Batches of counts with a known recall."""

import numpy as np

import bayescm as bcm


def series(rng, recall, n=50):
    recall = np.asarray(recall)
    tp, tn = rng.binomial(n, recall), rng.binomial(n, 0.9, len(recall))
    return bcm.from_cells(tp=tp, fn=n - tp, fp=n - tn, tn=tn).rename(batch="step")

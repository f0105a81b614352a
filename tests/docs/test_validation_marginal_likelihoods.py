"""Bridge sampling agrees with importance sampling and with a closed form, and the table says so."""

import numpy as np
import pandas as pd
import pytest
from validation.recomputed.marginal_likelihoods import (
    LOGISTIC_NORMAL,
    MODELS,
    by_importance_sampling,
    table_rows,
)

from bayescm.simulation import Replications


@pytest.mark.long
@pytest.mark.parametrize("model", [LOGISTIC_NORMAL, "pooled_folds"])
def test_marginal_likelihoods_are_within_their_errors(model):
    table = pd.DataFrame(table_rows(Replications(500, 5, 1), model))
    assert (table["error"] < 0.05).all()
    assert (table["difference"].abs() < 4).all()


@pytest.mark.long
def test_importance_sampling_agrees_with_itself():
    first, second = (by_importance_sampling(np.random.default_rng(seed)) for seed in (1, 2))
    assert first.error < 0.005
    assert abs(first.value - second.value) < 4 * np.hypot(first.error, second.error)


def test_the_committed_table_is_within_a_fifth_or_three_errors(pytestconfig):
    path = pytestconfig.rootpath / "docs" / "results" / "recomputed_marginal_likelihoods.csv"
    table = pd.read_csv(path, comment="#")
    assert set(table["model"]) == {*MODELS, LOGISTIC_NORMAL}
    apart = (table["package"] - table["recomputed"]).abs()
    assert ((apart < 0.2) | (table["difference"].abs() < 3)).all()

import numpy as np
import pytest

from bayescm.studies.ours import hard_counts
from bayescm.studies.tables import Settings


@pytest.mark.long
@pytest.mark.parametrize("name", ["diagnostic_odds_ratio", "f1"])
def test_no_interval_of_hostile_matrices_is_wrong(name):
    (case,) = (number for number, each in hard_counts.CASES.items() if each == name)
    table = hard_counts.table(case=case, settings=Settings(replications=6, seed=5))
    wrong = table[["missing", "reversed", "outside", "unknown_error", "wrong", "understated"]]
    assert wrong.to_numpy().sum() == 0


def test_a_wrong_interval_is_found():
    values = np.random.default_rng(0).random(50_000)
    assert not hard_counts.tail_is_wrong(values, np.array([0.05, 0.95]), 0.9, "eti")
    assert hard_counts.tail_is_wrong(values, np.array([0.0, 0.95]), 0.9, "eti")
    assert hard_counts.tail_is_wrong(values, np.array([0.2, 0.8]), 0.9, "hdi")
    off = {"prob": 0.9, "kind": "eti", "share": 0.0}
    assert hard_counts.tail_is_wrong(values, np.array([0.06, 0.95]), slack=0.002, **off)
    assert not hard_counts.tail_is_wrong(values, np.array([0.06, 0.95]), slack=0.02, **off)

import numpy as np
import pytest

from bayescm.studies.ours import online
from bayescm.studies.tables import Settings


@pytest.mark.parametrize("name", online.TABLES)
def test_every_case_has_a_row_for_each_measure_and_method(name):
    frame = online.table(name, settings=Settings(replications=1, seed=2))
    cases = online.studies(name)
    assert frame["case"].unique().tolist() == list(cases)
    for case, study in cases.items():
        _, truth = study.generate(np.random.default_rng(0))
        assert (frame["case"] == case).sum() == len(truth) * len(study.methods)


def test_batches_are_of_twenty_and_the_recall_is_that_of_the_path():
    counts, truth = online.batches(
        np.random.default_rng(1), theta=np.array(online.TRUTHS["rare"]), prior=np.ones((2, 2))
    )
    assert counts.sum(["actual", "predicted"]).values.tolist() == [20, 200, 2000]
    assert truth["recall after 1"] == pytest.approx(0.8)
    counts, truth = online.moving(np.random.default_rng(1), path=online._jump)
    assert counts.sizes["step"] == online.STEPS
    assert (truth["recall at 20"], truth["recall at 21"]) == pytest.approx((0.9, 0.7))


@pytest.mark.long
def test_the_truth_of_the_prior_is_covered_and_a_jump_is_not_by_what_pools():
    frame = online.table("truth from the prior", 1, Settings(replications=80, seed=4))
    nominal = frame["method"].str.rstrip("%").astype(float) / 100
    error = np.sqrt(nominal * (1 - nominal) / 80)
    assert (np.abs(frame["doc"] - nominal) < 4 * error).all()
    drift = online.table("drift", 3, Settings(replications=10, seed=4))
    after = drift[drift["measure"] == "recall at 30"].set_index("method")["doc"]
    assert after["drifting, filtered"] > 0.5
    assert after["all batches pooled"] < 0.45


def test_a_case_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no such case"):
        online.table("drift", 9)

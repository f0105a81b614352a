import numpy as np
import pytest

from bayescm.studies.ours import run_length
from bayescm.studies.tables import Settings


@pytest.mark.long
def test_drops_are_seen_and_quiet_series_are_quiet():
    frame = run_length.table(settings=Settings(replications=6, seed=1))
    assert len(frame) == 32
    frame = frame[frame["rate"] == 0.005].set_index(["rule", "recall"])
    assert frame.loc[("change", 0.9), "alarmed"] <= 0.5
    assert (frame.xs(0.7, level="recall")["alarmed"] > 0.6).all()
    assert (frame.xs(0.7, level="recall")["median"] <= 20).all()
    larger, smaller = frame.loc[("change", 0.7), "median"], frame.loc[("change", 0.85), "median"]
    assert larger < smaller


def test_batches_are_as_asked():
    counts = run_length.series(np.random.default_rng(1), np.full(5, 0.9), size=40)
    assert counts.sum(["actual", "predicted"]).values.tolist() == [40] * 5


def test_a_case_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no such case"):
        run_length.table(case=5)

"""The evidence in force: windows, and room for what comes."""

import numpy as np
import pytest
from weekly_batches import WEEKS

from bayescm import online


@pytest.mark.parametrize("window", [1, 3, 12, 50])
@pytest.mark.parametrize("weeks", [WEEKS, WEEKS * 0.1, WEEKS.expand_dims(classifier=["a", "b"])])
def test_a_window_is_the_sum_of_its_batches(weeks, window):
    got = online.accumulate(weeks, window=window)
    for t in range(12):
        want = weeks.isel(step=slice(max(0, t - window + 1), t + 1)).sum("step")
        np.testing.assert_allclose(got.isel(step=t), want, atol=1e-12)
    assert (got >= 0).all()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"window": 0}, "window must be a whole number of batches"),
        ({"window": 1.5}, "window must be a whole number of batches"),
        ({"window": 3, "forgetting": 0.9}, "window and forgetting cannot be combined"),
    ],
)
def test_windows_that_are_none_are_refused(keywords, message):
    with pytest.raises(ValueError, match=message):
        online.accumulate(WEEKS, **keywords)
    with pytest.raises(ValueError, match="The counts need a dimension step"):
        online.accumulate(WEEKS[0])


def test_room_is_batches_of_nothing():
    roomy = online.with_room(WEEKS, 3)
    assert roomy.sizes["step"] == 15
    np.testing.assert_array_equal(roomy[:12], WEEKS)
    assert not roomy[12:].any()
    assert roomy.dtype == np.int64
    with pytest.raises(ValueError, match="steps must be a whole number of batches"):
        online.with_room(WEEKS, -1)

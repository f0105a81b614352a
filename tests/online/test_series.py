"""Whole series: windows, histories, room for what comes, and what their intervals cover."""

import numpy as np
import pytest
from weekly_batches import PETS, WEEKS

import bayescm as bcm
from bayescm import online, priors


@pytest.mark.parametrize("window", [1, 3, 12, 50])
@pytest.mark.parametrize("weeks", [WEEKS, WEEKS * 0.1, WEEKS.expand_dims(classifier=["a", "b"])])
def test_a_window_is_the_sum_of_its_batches(weeks, window):
    got = online.accumulate(weeks, window=window)
    for t in range(12):
        want = weeks.isel(step=slice(max(0, t - window + 1), t + 1)).sum("step")
        np.testing.assert_allclose(got.isel(step=t), want, atol=1e-12)
    assert (got >= 0).all()


@pytest.mark.parametrize("keywords", [{}, {"forgetting": 0.7}])
@pytest.mark.parametrize("weeks", [WEEKS, PETS])
def test_the_history_is_every_update(weeks, keywords):
    measures = ["recall", "accuracy"]
    history = online.history(weeks, measures, **keywords)
    state = priors.default(weeks)
    for t in range(weeks.sizes["step"]):
        state = online.update(state, weeks.isel(step=t), **keywords)
        ends = online.intervals(state, measures)
        for name in measures:
            np.testing.assert_allclose(history[name].isel(step=t), ends[name])
    assert history["n"].values.tolist() == weeks.sum(["actual", "predicted"]).values.tolist()
    assert history["recall"].dims == ("step", *(["class"] if weeks is PETS else []), "bound")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"window": 0}, "window must be a whole number of batches"),
        ({"window": 1.5}, "window must be a whole number of batches"),
        ({"window": 3, "forgetting": 0.9}, "window and forgetting exclude each other"),
    ],
)
def test_windows_that_are_none_are_refused(keywords, message):
    with pytest.raises(ValueError, match=message):
        online.accumulate(WEEKS, **keywords)
    with pytest.raises(ValueError, match="no steps"):
        online.accumulate(WEEKS[0])


def test_room_is_batches_of_nothing():
    roomy = online.with_room(WEEKS, 3)
    assert roomy.sizes["step"] == 15
    np.testing.assert_array_equal(roomy[:12], WEEKS)
    assert not roomy[12:].any()
    assert roomy.dtype == np.int64
    with pytest.raises(ValueError, match="steps must be a whole number of batches"):
        online.with_room(WEEKS, -1)


@pytest.mark.slow
def test_sequential_intervals_cover_what_they_say():
    """Truth drawn from the prior; after 1, 10 and 100 batches of 20 examples; 1,000 runs."""
    rng, runs = np.random.default_rng(12), 1000
    prior = priors.elicit(precision=0.7, recall=0.75, accuracy=0.8, weight=12)
    theta = rng.dirichlet(prior.values.ravel(), runs)
    batches = rng.multinomial(20, theta[:, None], (runs, 100)).reshape(runs, 100, 2, 2)
    counts = bcm.from_matrix(
        batches, labels=["negative", "positive"], positive="positive", dims=("batch", "step")
    )
    in_force = online.accumulate(counts).isel(step=[0, 9, 99])
    for name in ("recall", "accuracy", "f1"):
        truth = bcm.measures.resolve(name)(theta.reshape(runs, 2, 2))
        for prob in (0.1, 0.5, 0.95):
            ends = bcm.interval(in_force, name, concentration=prior, prob=prob, kind="eti")
            hit = (ends[..., 0] < truth[:, None]) & (truth[:, None] < ends[..., 1])
            error = np.sqrt(prob * (1 - prob) / runs)
            assert np.abs(hit.mean("batch") - prob).max() < 3 * error
    # The prior must be the one that made the truth: this one is not.
    wrong = priors.elicit(precision=0.3, recall=0.3, accuracy=0.8, weight=40)
    ends = bcm.interval(in_force[:, 0], "recall", concentration=wrong, prob=0.95)
    truth = theta.reshape(runs, 2, 2)[:, 1, 1] / theta.reshape(runs, 2, 2)[:, 1].sum(-1)
    assert ((ends[:, 0] < truth) & (truth < ends[:, 1])).mean() < 0.9

"""Sequential updates: the same as all at once; forgetting, many members, histories, coverage."""

import numpy as np
import pytest
import xarray as xr
from weekly_batches import PETS, WEEKS

import bayescm as bcm
from bayescm import online, priors

MEASURES = ["precision", "recall", "specificity", "accuracy", "f1"]


def one_by_one(batches, prior, order=None, **keywords):
    state = prior
    for index in range(batches.sizes["step"]) if order is None else order:
        state = online.update(state, batches.isel(step=index), **keywords)
    return state


@pytest.mark.parametrize("weeks", [WEEKS, PETS])
@pytest.mark.parametrize("seed", range(3))
def test_any_order_and_any_split_is_the_batch(weeks, seed):
    rng = np.random.default_rng(seed)
    prior = priors.default(weeks)
    whole = online.update(prior, weeks.sum("step"))
    order = rng.permutation(weeks.sizes["step"])
    assert one_by_one(weeks, prior, order).identical(whole)
    cut = int(rng.integers(1, weeks.sizes["step"]))
    halves = online.update(
        online.update(prior, weeks[order[:cut]].sum("step")), weeks[order[cut:]].sum("step")
    )
    assert halves.identical(whole)
    assert whole["counts"].dtype == np.int64


def test_a_state_answers_like_its_counts():
    state = one_by_one(WEEKS, priors.uniform(WEEKS))
    for kind in ("hdi", "eti"):
        ends = online.intervals(state, MEASURES, kind=kind)
        for name in MEASURES:
            want = bcm.interval(WEEKS.sum("step"), name, concentration=1, kind=kind)
            np.testing.assert_allclose(ends[name], want)


def test_forgetting_is_a_geometric_sum():
    state = one_by_one(WEEKS, priors.default(WEEKS), forgetting=0.8)
    weights = 0.8 ** np.arange(11, -1, -1)
    np.testing.assert_allclose(state["counts"], np.tensordot(weights, WEEKS.values, 1))
    np.testing.assert_allclose(state["concentration"], 0.5)
    np.testing.assert_allclose(
        online.accumulate(WEEKS, forgetting=0.8).isel(step=-1), state["counts"]
    )


def test_many_members_at_once_are_each_by_itself():
    names = ["a", "b", "c"]
    batch = WEEKS[:3].rename(step="classifier").assign_coords(classifier=names)
    prior = priors.default(WEEKS)
    both = online.update(online.update(prior, batch), batch)
    ends = online.intervals(both, MEASURES)
    assert ends["f1"].dims == ("classifier", "bound")
    for name in names:
        alone = online.update(prior, 2 * batch.sel(classifier=name))
        want = online.intervals(alone, "f1")["f1"]
        np.testing.assert_allclose(ends["f1"].sel(classifier=name), want)


def test_other_members_are_refused():
    batch = WEEKS[:3].rename(step="classifier")
    state = online.update(priors.default(WEEKS), batch.assign_coords(classifier=list("abc")))
    with pytest.raises(ValueError, match="The batch and the state have different members"):
        online.update(state, batch.assign_coords(classifier=list("abd")))


def test_every_member_may_have_its_own_prior():
    batch = WEEKS[:2].rename(step="classifier").assign_coords(classifier=["a", "b"])
    prior = priors.from_counts(batch, 0.1)
    state = online.update(prior, batch)
    want = bcm.interval(batch[1], "f1", concentration=prior[1])
    np.testing.assert_allclose(online.intervals(state, "f1")["f1"][1], want)


def test_a_posterior_is_handed_on_as_a_prior():
    state = one_by_one(WEEKS[:6], priors.default(WEEKS))
    then = online.update(priors.from_posterior(state), WEEKS[6:].sum("step"))
    whole = online.update(priors.default(WEEKS), WEEKS.sum("step"))
    np.testing.assert_allclose(
        online.intervals(then, "f1")["f1"], online.intervals(whole, "f1")["f1"]
    )


@pytest.mark.long
def test_a_state_fits():
    state = one_by_one(WEEKS, priors.default(WEEKS))
    tree = bcm.fit(state["counts"], concentration=state["concentration"], draws=50, random_seed=1)
    assert tree.attrs["sampling_method"] != "nuts"


def test_labels_in_another_order_are_the_same_labels():
    turned = WEEKS[0].isel(actual=[1, 0], predicted=[1, 0])
    prior = priors.default(WEEKS)
    assert online.update(prior, turned).equals(online.update(prior, WEEKS[0]))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (bcm.from_cells(tp=1, fn=2, fp=3, tn=4), "The batch has the labels"),
        (PETS[0], "The batch has the labels"),
        (WEEKS[0].assign_coords(positive="well"), "The batch has the positive class"),
        (WEEKS, "A batch must not have the dimension step"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(batch, message):
    with pytest.raises(ValueError, match=message):
        online.update(priors.default(WEEKS), batch)


@pytest.mark.parametrize("state", [None, 0.5, xr.Dataset({"counts": WEEKS[0]})])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(TypeError, match="The state must be"):
        online.update(state, WEEKS[0])


@pytest.mark.parametrize("forgetting", [0, -1, 1.1, np.nan, "slow"])
def test_forgetting_that_is_no_share_is_refused(forgetting):
    with pytest.raises(ValueError, match="forgetting must be above 0"):
        online.update(priors.default(WEEKS), WEEKS[0], forgetting=forgetting)


@pytest.mark.long
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


@pytest.mark.parametrize("model", ["dirichlet_multinomial", "fixed_totals"])
def test_the_posterior_of_one_batch_is_the_prior_of_the_next(model):
    """By any conjugate model of one table; prevalences of fixed totals are those of the sample."""
    first, second = (WEEKS.isel(step=index, drop=True) for index in (0, 1))
    prior, names = priors.default(WEEKS), ["recall", "specificity"]
    later = bcm.interval(second, names, model=model, concentration=prior + first)
    at_once = bcm.interval(first + second, names, model=model, concentration=prior)
    np.testing.assert_allclose(later, at_once, rtol=1e-9)
    state = online.update(online.update(prior, first), second)
    updated = online.intervals(state, names)
    np.testing.assert_allclose([updated[name] for name in names], at_once, rtol=1e-9)

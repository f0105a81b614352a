"""The posterior of strengths: its model, quadrature, symmetries, clusters, and cautions."""

import time

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.measures.preferences import Strengths


def board(systems, size, seed=0, *, first=0.2, nu=0.7, sd=0.8):
    """Return a table of votes."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, sd, systems)
    left = rng.integers(systems, size=size)
    right = (left + rng.integers(1, systems, size=size)) % systems
    eta = strength[left] - strength[right] + first
    log_tie = np.full(size, np.log(nu) if nu else -np.inf)
    logits = np.stack([eta / 2, -eta / 2, log_tie], axis=1)
    winner = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
    names = np.array([f"m{place:03d}" for place in range(systems)])
    outcomes = np.array(["left", "right", "tie"])[winner]
    return pd.DataFrame({"left": names[left], "right": names[right], "winner": outcomes})


VOTES = {
    "order and ties": bcm.from_preferences(board(4, 60), ordered=True),
    "order": bcm.from_preferences(board(4, 60, nu=0), ordered=True),
    "ties": bcm.from_preferences(board(3, 60), ordered=False),
    "neither": bcm.from_preferences(board(5, 40, nu=0), ordered=False),
}
PRIORS = {"spread": 0.4, "first": 0.2, "ties": 0.7}


@pytest.mark.parametrize(
    "name",
    [
        "order and ties",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("order", "ties", "neither")),
    ],
)
def test_the_density_is_that_of_the_model(name):
    votes, rng = VOTES[name], np.random.default_rng(1)
    model = remove_value_transforms(models.preferences(votes, **PRIORS))
    log_joint = model.compile_logp(jacobian=False, mode=Mode("py", None))
    posterior = posteriors.preferences(votes, **PRIORS)
    free = {variable.name for variable in model.free_RVs}
    drawn = {key: values for key, values in posterior.variables(6, rng).items()}
    assert set(drawn) == free
    # Points far from the mode as well: another density would not differ by a constant there.
    drawn = {
        key: np.abs(v) if key == "spread" else v + rng.normal(size=v.shape)
        for key, v in drawn.items()
    }
    joint = np.array([log_joint({key: v[i] for key, v in drawn.items()}) for i in range(6)])
    np.testing.assert_allclose(np.ptp(joint - posterior.log_density(drawn)), 0, atol=1e-7)
    other = posteriors.preferences(votes)
    assert np.ptp(joint - other.log_density(drawn)) > 0.1


@pytest.mark.parametrize("name", VOTES)
def test_gradient_and_hessian_are_those_of_the_density(name):
    posterior, scale = posteriors.preferences(VOTES[name], **PRIORS), 0.7
    point = np.random.default_rng(2).normal(size=len(posterior.precision))

    def density(points):
        return posterior._log_density(points, np.full(len(points), scale))

    step = 1e-4 * np.eye(len(point))
    numeric = (density(point + step) - density(point - step)) / 2e-4
    gradient, hessian = posterior._derivatives(scale)(point)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)
    for k, row in enumerate(step):
        ahead, behind = (posterior._derivatives(scale)(point + s * row)[0] for s in (1, -1))
        np.testing.assert_allclose(hessian[k], -(ahead - behind) / 2e-4, rtol=1e-5, atol=1e-5)


@pytest.mark.long
def test_two_systems_agree_with_quadrature():
    votes = bcm.from_preferences([[0, 14], [6, 0]])
    found = bcm.distribution(votes, "win_rate[1]", draws=100_000)
    # The difference d of two strengths is Normal(0, sqrt(2) s) given the scale s.
    scale = np.linspace(1e-3, 8, 1500)[:, None]
    d = np.linspace(-12, 12, 2401)
    prior = scale * np.exp(-(scale**2) / 2) * np.exp(-((d / scale) ** 2) / 4) / scale
    density = prior.sum(axis=0) * (1 / (1 + np.exp(-d))) ** 14 * (1 / (1 + np.exp(d))) ** 6
    share = np.cumsum(density) / density.sum()
    ends = 1 / (1 + np.exp(-np.interp([0.025, 0.5, 0.975], share, d)))
    first = found.quantile([0.025, 0.5, 0.975]).sel(classifier="0")
    np.testing.assert_allclose(first, ends, atol=0.005)


@pytest.mark.long
@pytest.mark.parametrize(("systems", "size"), [(6, 250), (20, 1500)])
def test_nuts_agrees(systems, size):
    votes = bcm.from_preferences(board(systems, size, seed=3))
    tree = bcm.fit(votes, method="nuts", draws=3000, chains=4, random_seed=1, progressbar=False)
    sampled = tree["posterior"].to_dataset().stack(sample=("chain", "draw"))
    nuts = Strengths(
        sampled["strength"].transpose("sample", "classifier").values,
        sampled["first"].values,
        np.exp(sampled["log_tie"].values),
    )
    direct = posteriors.preferences(votes).strengths(40_000, np.random.default_rng(0))
    for of in (
        lambda s: s.strength,
        lambda s: s.win_rate(0)[:, 1:],
        lambda s: s.first[:, None],
        lambda s: s.tie_rate(0)[:, 1:],
    ):
        one, other = of(direct), of(nuts)
        apart = np.abs(one.mean(axis=0) - other.mean(axis=0)) / one.std(axis=0)
        assert apart.max() < 0.1
        np.testing.assert_allclose(one.std(axis=0), other.std(axis=0), rtol=0.1)


def rating(votes, **options):
    return bcm.distribution(votes, "rating", **options).mean().to_series()


@pytest.mark.long
def test_names_and_their_order_do_not_matter():
    table = board(5, 200)
    renamed = {f"m{k:03d}": f"n{4 - k}" for k in range(5)}
    other = table.replace({"left": renamed, "right": renamed})
    first, second = (rating(bcm.from_preferences(t)) for t in (table, other))
    np.testing.assert_allclose(second[[renamed[name] for name in first.index]], first, atol=2)


@pytest.mark.long
def test_swapped_sides_turn_the_advantage_around():
    table = board(5, 400, first=0.6)
    swapped = table.rename(columns={"left": "right", "right": "left"})
    swapped["winner"] = swapped["winner"].map({"left": "right", "right": "left", "tie": "tie"})
    votes, other = bcm.from_preferences(table), bcm.from_preferences(swapped)
    np.testing.assert_allclose(rating(votes), rating(other), atol=2)
    ends, turned = (bcm.interval(v, "position_advantage") for v in (votes, other))
    np.testing.assert_allclose(turned, 1 - ends[::-1].values, atol=0.006)
    assert ends[0] > 0.5


@pytest.mark.long
def test_twice_the_votes_make_intervals_shorter_by_the_root_of_two():
    table = board(6, 3000)
    widths = [
        np.ptp(bcm.interval(bcm.from_preferences(t), "win_rate").values, axis=1)
        for t in (table, pd.concat([table, table]))
    ]
    np.testing.assert_allclose(widths[0] / widths[1], 2**0.5, rtol=0.06)


@pytest.mark.long
def test_undefeated_systems_have_finite_ratings_and_a_caution():
    votes = bcm.from_preferences([[0, 12], [0, 0]])
    low, high = bcm.interval(votes, "win_rate[1]", kind="eti").sel(classifier="0").values
    # A uniform prior would give 0.75 and 0.998.
    assert 0.6 < low < 0.8
    assert 0.98 < high < 1
    summary = bcm.summary(votes)
    assert np.isfinite(summary[["point", "mean", "lower", "upper"]]).all(axis=None)
    assert "0 won all votes" in summary.attrs["caution"]
    assert "1 lost all votes" in summary.attrs["caution"]


@pytest.mark.long
def test_groups_that_never_met_get_a_caution_that_names_them():
    wins = [[0, 9, 0, 0], [5, 0, 0, 0], [0, 0, 0, 4], [0, 0, 7, 0]]
    votes = bcm.from_preferences(pd.DataFrame(wins, list("abcd"), list("abcd")))
    table = bcm.summary(votes, "win_rate[c]")
    assert "a, b; c, d" in table.attrs["caution"]
    # Across the groups the interval is nearly that of the prior.
    row = table.set_index("classifier").loc["a"]
    assert row["upper"] - row["lower"] > 0.5
    met = bcm.from_preferences(board(4, 60))
    assert "caution" not in bcm.summary(met).attrs


@pytest.mark.long
def test_measures_of_an_opponent():
    votes = bcm.from_preferences(board(3, 90).replace("m001", "Alpaca (7B), old"))
    name = "win_rate[Alpaca (7B), old]"
    against = bcm.distribution(votes, name, random_seed=1).mean()
    other = bcm.distribution(votes, "win_rate[m000]", random_seed=1).mean()
    assert against.sel(classifier="Alpaca (7B), old") == pytest.approx(0.5)
    total = against.sel(classifier="m000") + other.sel(classifier="Alpaca (7B), old")
    assert float(total) == pytest.approx(1, abs=1e-9)
    ties = bcm.distribution(votes, "tie_rate[m000]").mean()
    assert (ties > 0.1).all()
    with pytest.raises(ValueError, match="Unknown system"):
        bcm.interval(votes, "win_rate[m0]")
    assert bcm.measures.display_name(name) == "win rate against Alpaca (7B), old"
    assert bcm.measures.display_name("recall[cat (tabby)]") == "recall of cat (tabby)"
    with pytest.raises(ValueError, match="rating has no opponent"):
        bcm.interval(votes, "rating[m000]")


@pytest.mark.long
def test_the_mean_win_rate_is_that_of_the_opponents():
    votes = bcm.from_preferences(board(4, 90))
    names = votes["classifier"].values.tolist()
    for measure in ("win_rate", "tie_rate"):
        values = posteriors.preferences(votes).strengths(50, np.random.default_rng(0))
        kernel = bcm.measures.resolve(measure, "preferences")
        of_pairs = [kernel.of_labels([name]).bound(names)(values) for name in names]
        total = np.stack(of_pairs, axis=-1)
        total[:, np.arange(4), np.arange(4)] = 0
        np.testing.assert_allclose(kernel(values), total.sum(axis=-1) / 3, rtol=1e-10)


def test_what_the_votes_do_not_know_is_an_error():
    votes = bcm.from_preferences([[0, 5], [4, 0]])
    with pytest.raises(ValueError, match="No vote is a tie"):
        bcm.interval(votes, "tie_rate")
    with pytest.raises(ValueError, match="order in which systems were shown is unknown"):
        bcm.interval(votes, "position_advantage")
    with pytest.raises(ValueError, match="spread"):
        bcm.interval(votes, "rating", spread=0)


def in_clusters(number, size, seed=0):
    table = board(5, number, seed)
    rows = table.loc[table.index.repeat(size)]
    return rows.assign(group=np.repeat(np.arange(number), size))


@pytest.mark.long
def test_repeated_votes_of_a_cluster_count_once():
    table = in_clusters(600, 3)
    once = bcm.from_preferences(table.groupby("group").first())
    clustered = bcm.from_preferences(table, group="group")
    independent = bcm.from_preferences(table)
    widths = {
        name: np.ptp(bcm.interval(votes, "strength", kind="eti").values, axis=1)
        for name, votes in {"once": once, "clustered": clustered, "all": independent}.items()
    }
    np.testing.assert_allclose(widths["clustered"] / widths["once"], 1, atol=0.12)
    np.testing.assert_allclose(widths["once"] / widths["all"], 3**0.5, atol=0.2)


@pytest.mark.long
def test_clusters_of_one_vote_change_little():
    table = board(5, 2000)
    plain = bcm.interval(bcm.from_preferences(table), "strength", kind="eti")
    alone = bcm.from_preferences(table, group=np.arange(2000))
    apart = bcm.interval(alone, "strength", kind="eti")
    width = np.ptp(plain.values, axis=1)
    np.testing.assert_allclose(np.ptp(apart.values, axis=1) / width, 1, atol=0.08)


@pytest.mark.long
def test_few_clusters_are_an_error_or_get_a_caution():
    table = board(4, 80)
    with pytest.raises(ValueError, match="At least 5 clusters of votes"):
        bcm.summary(bcm.from_preferences(table, group=np.arange(80) % 4))
    few = bcm.summary(bcm.from_preferences(table, group=np.arange(80) % 8))
    assert "With only 8 clusters" in few.attrs["caution"]
    many = bcm.summary(bcm.from_preferences(table, group=np.arange(80) % 20))
    assert "caution" not in many.attrs
    with pytest.raises(ValueError, match="treats votes as independent"):
        models.preferences(bcm.from_preferences(table, group=np.arange(80) % 20))


@pytest.mark.long
def test_the_time_depends_on_pairs_and_not_on_votes():
    votes = bcm.from_preferences(board(130, 20_000))
    started = time.process_time()
    table = bcm.summary(votes)
    # About 2.5 s on one core that nothing else uses.
    assert time.process_time() - started < 6
    assert len(table) == 260
    many = votes.assign(vote_count=votes["vote_count"] * 50)
    started = time.process_time()
    bcm.summary(many)
    assert time.process_time() - started < 6


@pytest.mark.long
def test_a_mapping_compares_people_and_a_judge():
    parts = {
        name: bcm.from_preferences(board(4, 300, seed))
        for name, seed in (("people", 0), ("judge", 1))
    }
    table = bcm.summary(parts, "position_advantage", dim="voter")
    assert table["voter"].tolist() == ["people", "judge"]
    ratings = bcm.summary(parts, "rating", dim="voter")
    assert len(ratings) == 8


@pytest.mark.long
def test_a_saved_fit_answers_as_the_evidence():
    votes = bcm.from_preferences(board(4, 200))
    tree = bcm.fit(votes, draws=1000, random_seed=2)
    assert tree.attrs["sampling_method"] == "importance"
    expected = bcm.summary(votes, ["win_rate[m001]", "position_advantage"])
    found = bcm.summary(tree, ["win_rate[m001]", "position_advantage"])
    np.testing.assert_allclose(found["mean"], expected["mean"], atol=0.01)
    assert isinstance(tree["posterior"].to_dataset(), xr.Dataset)


@pytest.mark.long
def test_the_next_votes_have_the_noise_of_their_number():
    votes = VOTES["order and ties"]
    measures = ["win_rate", "win_rate[m001]", "tie_rate[m001]"]
    now = bcm.summary(votes, measures).set_index(["measure", "classifier"])
    for number in (10, 10**6):
        asked = {"of": "predictive", "n": number}
        then = bcm.summary(votes, measures, **asked).set_index(["measure", "classifier"])
        np.testing.assert_allclose(then["mean"], now["mean"], atol=0.01)
    np.testing.assert_allclose(then["sd"], now["sd"], rtol=0.03, atol=1e-3)
    # The variance of a share of ties is that of the rate, and that of the next votes given it.
    few = bcm.summary(votes, measures, of="predictive", n=10).set_index(["measure", "classifier"])
    mean, sd = now.loc[("tie_rate[m001]", "m000"), ["mean", "sd"]].to_numpy(float)
    expected = sd**2 + (mean * (1 - mean) - sd**2) / 10
    found = float(few.loc[("tie_rate[m001]", "m000"), "sd"])
    assert found**2 == pytest.approx(expected, rel=0.05)
    # Votes of both systems are the same votes.
    drawn = posteriors.preferences(votes.sel(classifier=["m000", "m001"])).draw(
        [bcm.measures.resolve("win_rate", "preferences")],
        200,
        np.random.default_rng(0),
        of="predictive",
        n=7,
    )[0]
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    assert np.allclose(drawn * 14, np.round(drawn * 14))


@pytest.mark.long
def test_what_the_next_votes_do_not_have_is_an_error():
    votes, table = VOTES["order and ties"], board(4, 60)
    with pytest.raises(ValueError, match="not available for rating"):
        bcm.interval(votes, "rating", of="predictive")
    with pytest.raises(ValueError, match="n"):
        bcm.interval(votes, "win_rate", of="predictive", n=0)
    clustered = bcm.from_preferences(table, group=np.arange(60) % 12)
    with pytest.raises(ValueError, match="in clusters of unknown sizes"):
        bcm.interval(clustered, "win_rate", of="predictive")


@pytest.mark.long
def test_the_votes_that_a_requirement_needs_settle_it():
    table = board(3, 150, 4)
    votes = bcm.from_preferences(table)
    best = bcm.summary(votes, "win_rate").sort_values("mean")["classifier"].iloc[-1]
    other = next(name for name in ("m000", "m001") if name != best)
    rates = bcm.summary(votes, f"win_rate[{other}]").set_index("classifier")
    threshold = round(float(rates.loc[best, "mean"]) - 0.02, 2)
    (row,) = bcm.check(
        votes, f"win_rate[{other}] > {threshold} @ 0.95", classifier=best
    ).itertuples()
    assert row.outcome == "not yet known"
    more = int(row.needed.split()[0].replace(",", ""))
    times = (150 + more) / 150
    scaled = votes.assign(vote_count=(votes["vote_count"] * times).round().astype(int))
    above = bcm.prob_above(scaled, f"win_rate[{other}]", threshold).sel(classifier=best)
    # The number leaves out that the prior counts for less with more votes.
    assert 0.93 < float(above) < 0.995
    clustered = bcm.from_preferences(table, group=np.arange(150) // 5)
    (row,) = bcm.check(
        clustered, f"win_rate[{other}] > {threshold} @ 0.95", classifier=best
    ).itertuples()
    assert "more clusters" in row.needed

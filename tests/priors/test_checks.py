"""What a prior predicts, whether the evidence contradicts it, and what it changes."""

import numpy as np
import pytest

import bayescm as bcm
from bayescm import priors

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
PETS = bcm.from_matrix(np.arange(1, 10).reshape(3, 3), labels=["cat", "cow", "dog"])


def test_the_prior_predictive_is_that_of_an_empty_test():
    prior = priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20, like=COUNTS)
    drawn = priors.predictive(prior, ["recall", "accuracy"], n=50, draws=40_000, random_seed=1)
    assert drawn["accuracy"].dims == ("draw",)
    a, b = 12.0, 8.0  # accuracy is beta-binomial
    assert float(drawn["accuracy"].mean()) == pytest.approx(a / 20, abs=0.003)
    variance = a * b / 400 * (70 / 21) / 50
    assert float(drawn["accuracy"].var()) == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_a_size_that_is_none_is_refused(n):
    with pytest.raises(ValueError, match="n must be a whole number of examples"):
        priors.predictive(priors.uniform(), "f1", n=n)


def test_an_improper_prior_predicts_nothing():
    with pytest.raises(ValueError, match="improper and has no predictive distribution"):
        priors.predictive(priors.haldane(), "f1", n=10)
    with pytest.raises(ValueError, match="improper and has no predictive distribution"):
        priors.conflict(COUNTS, priors.haldane())


@pytest.mark.long
def test_conflict_of_one_binomial_is_its_beta_binomial_tail():
    from scipy.stats import betabinom

    counts = bcm.from_cells(tp=12, fn=8, fp=0, tn=0)
    prior = priors.from_rates(recall=(18, 2))
    distribution = betabinom(20, 18, 2)
    mass = distribution.pmf(np.arange(21))
    exact = mass[mass <= distribution.pmf(12) * (1 + 1e-9)].sum()
    tail = priors.conflict(counts, prior, draws=100_000)
    assert float(tail.sel(part="positive")) == pytest.approx(exact, abs=0.003)
    assert np.isnan(tail.sel(part="negative"))


@pytest.mark.long
def test_conflict_is_uniform_where_the_prior_is_right_and_small_where_it_is_wrong():
    rng = np.random.default_rng(1)
    prior = priors.elicit(precision=0.8, recall=0.8, accuracy=0.85, weight=40)
    theta = rng.dirichlet(prior.values.ravel(), 150)
    tables = rng.multinomial(200, theta).reshape(150, 2, 2)
    counts = bcm.from_matrix(tables, labels=["negative", "positive"], positive="positive")
    tail = priors.conflict(counts, prior, draws=400)
    below = (tail < 0.1).mean("batch")
    assert ((below > 0.04) & (below < 0.19)).all()
    other = priors.elicit(precision=0.4, recall=0.4, accuracy=0.5, weight=40)
    wrong = priors.conflict(counts, other, draws=400)
    assert (wrong.sel(part="all") < 0.1).mean() > 0.9


@pytest.mark.long
def test_sensitivity_answers_for_a_flat_prior_and_sees_a_strong_one():
    flat = bcm.fit(COUNTS, concentration=1.0, random_seed=1)
    table = priors.sensitivity(flat, ["f1", "recall"])
    assert table["measure"].tolist() == ["f1", "recall"]
    assert (table["prior"] == 0).all()
    assert (table["likelihood"] > 0.05).all()
    wrong = priors.elicit(precision=0.2, recall=0.2, accuracy=0.5, weight=100)
    table = priors.sensitivity(bcm.fit(COUNTS, concentration=wrong, random_seed=1), "f1")
    assert table["diagnosis"].tolist() == ["prior and evidence disagree"]


@pytest.mark.long
def test_sensitivity_has_a_row_for_every_class():
    table = priors.sensitivity(bcm.fit(PETS, random_seed=1), ["recall", "accuracy"])
    assert table["measure"].tolist() == ["recall[cat]", "recall[cow]", "recall[dog]", "accuracy"]


@pytest.mark.long
def test_sensitivity_says_what_the_tree_lacks():
    counts = bcm.from_cells(tp=6.5, fn=1.5, fp=3.5, tn=3, fractional=True)
    with pytest.raises(ValueError, match="has no group log_likelihood"):
        priors.sensitivity(bcm.fit(counts, random_seed=1), "f1")
    batch = bcm.from_cells(tp=[6, 7], fn=1, fp=3, tn=3)
    with pytest.raises(ValueError, match="several matrices"):
        priors.sensitivity(bcm.fit(batch, random_seed=1), "f1")


def test_the_table_of_priors_is_the_summary_under_each():
    experts = priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5, like=COUNTS)
    table = priors.table(COUNTS, {"default": None, "flat": 1, "experts": experts}, ["f1", "recall"])
    assert table["prior"].tolist() == ["default", "default", "flat", "flat", "experts", "experts"]
    assert table["examples"].tolist()[::2] == pytest.approx([2, 4, 72.5])
    alone = bcm.summary(COUNTS, "recall", concentration=experts)
    assert table["lower"].iloc[-1] == alone["lower"].iloc[0]


@pytest.mark.long
def test_the_table_of_priors_takes_those_of_the_model_by_keyword():
    sites = bcm.combine([COUNTS, 2 * COUNTS, COUNTS + 9], dim="group")
    spreads = {"alike": {"spread": 0.1}, "apart": {"spread": 2.0, "concentration": 1.0}}
    table = priors.table(sites, spreads, "recall", of="new")
    alone = bcm.summary(sites, "recall", of="new", spread=2.0, concentration=1.0)
    assert table["lower"].iloc[1] == alone["lower"].iloc[0]
    assert table["sd"][0] < table["sd"][1]
    assert np.isnan(table["examples"][0])
    assert table["examples"][1] == 4


def test_keywords_of_models_are_no_names_of_priors():
    with pytest.raises(ValueError, match=r"'spread' is a keyword of models.*\{'mine'"):
        priors.predictive({"spread": 1.0}, "recall", n=50)
    with pytest.raises(ValueError, match="a keyword of models"):
        priors.table(COUNTS, {"spread": 1.0}, "recall")


def test_a_table_of_no_priors_is_refused():
    with pytest.raises(ValueError, match="No priors"):
        priors.table(COUNTS, {}, "f1")


def test_sensitivity_is_that_of_a_fit():
    with pytest.raises(TypeError, match="Fit the counts first"):
        priors.sensitivity(COUNTS, "f1")


def test_one_prior_or_several_by_name_are_taken_alike():
    flat = priors.uniform(COUNTS)
    several = {"flat": 1.0, "same": flat}
    alone = priors.predictive(flat, "f1", n=20, draws=50)["f1"]
    by_name = priors.predictive(several, "f1", n=20, draws=50)["f1"]
    assert by_name.dims == ("prior", "draw")
    for name in several:
        np.testing.assert_array_equal(by_name.sel(prior=name), alone)
    table = priors.table(COUNTS, flat, "f1")
    assert table["prior"].tolist() == ["uniform"]
    both = priors.table(COUNTS, several, "f1")
    assert both["mean"].tolist() == pytest.approx([table["mean"][0]] * 2)
    with pytest.raises(ValueError, match="No priors"):
        priors.predictive({}, "f1", n=20)


def test_sensitivity_takes_the_positive_class():
    tree = bcm.fit(COUNTS, random_seed=1)
    first, second = COUNTS["actual"].values.tolist()
    table = priors.sensitivity(tree, "recall", positive=first)
    other = priors.sensitivity(tree, "specificity", positive=second)
    assert table["prior"].tolist() == pytest.approx(other["prior"].tolist())

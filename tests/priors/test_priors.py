"""Priors as pseudo-counts, and what they do."""

import numpy as np
import pytest
import xarray as xr
from reference_cases import cases

import bayescm as bcm
from bayescm import priors
from bayescm.answers.asking import distribution_of
from bayescm.distributions.beta import Beta
from bayescm.measures import resolve

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
SICK = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
PETS = bcm.from_matrix(np.arange(1, 10).reshape(3, 3), labels=["cat", "cow", "dog"])


def order(values):
    """Bring (tp, tn, fp, fn), Caelen's order, into a matrix with the positive class last."""
    tp, tn, fp, fn = map(float, values)
    return np.array([[tn, fp], [fn, tp]])


@pytest.mark.parametrize(
    ("prior", "cell"),
    [(priors.uniform, 1), (priors.jeffreys, 0.5), (priors.haldane, 0), (priors.default, None)],
)
@pytest.mark.parametrize("like", [None, ["a", "b"], COUNTS, SICK, PETS, PETS.expand_dims(step=3)])
def test_flat_priors(prior, cell, like):
    made = prior(like)
    size = made.sizes["actual"]
    assert made.dims == ("actual", "predicted")
    np.testing.assert_allclose(made, 2 / size**2 if cell is None else cell)
    assert made.attrs["examples"] == pytest.approx(float(made.sum()))
    assert made.attrs["examples"] == pytest.approx(priors.examples(made))
    assert "worth" in made.attrs["description"]


@pytest.mark.parametrize("prior", [priors.uniform, priors.jeffreys, priors.default])
@pytest.mark.parametrize("counts", [COUNTS, SICK, PETS])
def test_every_prior_is_taken_as_concentration(prior, counts):
    measure = "accuracy"
    given = bcm.interval(counts, measure, concentration=prior(counts))
    same = bcm.interval(counts, measure, concentration=float(prior(counts)[0, 0]))
    np.testing.assert_allclose(given, same)


@pytest.mark.parametrize("case", cases("caelen-zero-cell"))
def test_a_zero_cell_has_no_posterior_under_haldane(case):
    table = order(case["inputs"]["v_tp_tn_fp_fn"]).astype(int)
    counts = bcm.from_matrix(table, labels=["no", "yes"], positive="yes")
    assert case["expected"]["improper"]
    with pytest.raises(ValueError, match="improper"):
        bcm.interval(counts, "mcc", concentration=priors.haldane(counts))


@pytest.mark.parametrize("case", cases("caelen-elicit-m"))
def test_elicitation_as_in_caelen(case):
    given, expected = case["inputs"], case["expected"]
    known = {name: given[name] for name in ("precision", "recall", "accuracy")}
    counts = bcm.from_matrix(order(given["v_tp_tn_fp_fn"]).astype(int), labels=[0, 1])
    prior = priors.elicit(**known, weight=given["m"], like=counts)
    np.testing.assert_allclose(prior, order(expected["alpha_tp_tn_fp_fn"]), rtol=1e-9)
    np.testing.assert_allclose(prior + counts, order(expected["omega"]), rtol=1e-9)
    assert prior.attrs["examples"] == pytest.approx(given["m"])
    distribution, _ = distribution_of(counts, "mcc", concentration=prior)
    ends = distribution.eti(0.95)
    error = max(1e-5, 4 * float(np.max(distribution.error_at(ends))))
    np.testing.assert_allclose(ends, expected["mcc_posterior_et95"], atol=error)


@pytest.mark.parametrize("case", cases("caelen-elicit-infeasible"))
def test_an_infeasible_elicitation_says_which_condition_fails(case):
    given = dict(case["inputs"])
    with pytest.raises(ValueError, match=r"must exceed 1.*accuracy above 0.7347"):
        priors.elicit(weight=given.pop("m"), **given)


@pytest.mark.parametrize(
    "names",
    [
        ("precision", "recall", "accuracy"),
        ("prevalence", "recall", "specificity"),
        ("prevalence", "sensitivity", "ppv"),
        ("f1", "accuracy", "prevalence"),
        ("precision", "npv", "predicted_prevalence"),
        ("mcc", "prevalence", "predicted_prevalence"),
    ],
)
@pytest.mark.parametrize("cells", [[[0.6, 0.1], [0.1, 0.2]], [[0.05, 0.02], [0.13, 0.8]]])
def test_elicitation_inverts_any_measures_that_determine_the_cells(names, cells):
    values = {name: float(resolve(name)(np.array(cells))) for name in names}
    np.testing.assert_allclose(priors.elicit(weight=10, **values), 10 * np.array(cells), atol=1e-6)


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"precision": 1.0, "recall": 0.9, "accuracy": 0.95}, "precision leaves a cell empty"),
        ({"precision": 1.0, "recall": 1.0, "accuracy": 1.0}, "leaves a cell empty"),
        ({"prevalence": 0.2, "recall": 1.2, "specificity": 0.9}, "no table has these.*nearest"),
        ({"prevalence": 0.2, "recall": 1.0, "specificity": 0.9}, "no table has these"),
        ({"recall": 0.8, "specificity": 0.9, "informedness": 0.7}, "do not determine"),
        ({"recall": 0.8, "specificity": 0.9}, "three different measures"),
        ({"recall": 0.8, "tpr": 0.8, "specificity": 0.9}, "three different measures"),
        ({"recall": np.nan, "prevalence": 0.8, "specificity": 0.9}, "recall must be a number"),
        ({"recal": 0.8, "prevalence": 0.8, "specificity": 0.9}, "recall"),
    ],
)
def test_elicitations_that_make_no_sense_are_refused(measures, message):
    with pytest.raises(ValueError, match=message):
        priors.elicit(weight=10, **measures)


@pytest.mark.parametrize("weight", [0, -1, np.nan, np.inf, "ten"])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(ValueError, match="weight must be a number of examples"):
        priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=weight)


def test_elicitation_of_many_classes_has_these_sizes_and_recalls():
    sizes, recalls = [0.5, 0.3, 0.2], {"cat": 0.9, "dog": 0.8, "owl": 0.6}
    cells = priors.elicit(prevalence=sizes, sensitivity=recalls, weight=1, like=[*recalls]).values
    np.testing.assert_allclose(cells.sum(axis=1), sizes)
    np.testing.assert_allclose(np.diag(cells) / cells.sum(axis=1), [*recalls.values()])
    errors = cells[~np.eye(3, dtype=bool)].reshape(3, 2)
    np.testing.assert_allclose(errors[:, 0], errors[:, 1])


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ({"precision": 0.6, "recall": 0.65, "accuracy": 0.6}, "more than two classes"),
        ({"prevalence": [0.5, 0.5], "recall": [0.6, 0.7, 0.8]}, "a value for every class"),
        ({"prevalence": [0.5, 0.3, 0.3], "recall": [0.6, 0.7, 0.8]}, "sum to 1"),
        ({"prevalence": [0.5, 0.3, 0.2], "recall": [1.0, 0.7, 0.8]}, "leaves a cell empty"),
        ({"prevalence": [0.5, 0.3, 0.2], "recall": {"cat": 0.7}}, "other classes"),
        ({"prevalence": 0.2, "recall": 0.7}, "a value for every class"),
    ],
)
def test_elicitations_of_many_classes_that_make_no_sense_are_refused(measures, message):
    with pytest.raises(ValueError, match=message):
        priors.elicit(**measures, weight=1, like=PETS)


@pytest.mark.parametrize("prior", [priors.uniform(PETS), priors.uniform(["no", "yes"])])
def test_a_prior_of_other_labels_or_shape_is_refused(prior):
    with pytest.raises(ValueError, match="labels"):
        bcm.interval(COUNTS, "f1", concentration=prior)


def test_an_elicited_prior_goes_by_labels_not_by_place():
    prior = priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=20, like=SICK)
    turned = prior.isel(actual=[1, 0], predicted=[1, 0])
    one = bcm.interval(SICK, "recall", concentration=prior)
    other = bcm.interval(SICK, "recall", concentration=turned)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "bounds", [(0.6, 0.8, 0.9), (0.0, 0.3, 0.95), (0.9, 1.0, 0.5), (0.01, 0.02, 0.9)]
)
def test_a_beta_from_an_interval_has_its_mass(bounds):
    lower, upper, prob = bounds
    found = priors.beta(lower, upper, prob=prob)
    assert float(found.cdf(upper) - found.cdf(lower)) == pytest.approx(prob, abs=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bounds", [(0.6, 0.8, 0.9), (0.0, 0.8, 0.9), (0.95, 0.99, 0.9)])
def test_a_beta_from_an_interval_is_that_of_preliz(bounds):
    preliz = pytest.importorskip("preliz")
    lower, upper, prob = bounds
    theirs, ours = preliz.Beta(), priors.beta(lower, upper, prob=prob)
    preliz.maxent(theirs, lower, upper, mass=prob, plot=False)
    np.testing.assert_allclose([theirs.alpha, theirs.beta], [ours.a, ours.b], rtol=2e-3)


@pytest.mark.parametrize("bounds", [(0.8, 0.6), (-0.1, 0.5), (0.5, 1.1), (0, 1), (0.5, 0.5)])
def test_an_interval_that_is_none_is_refused(bounds):
    with pytest.raises(ValueError, match="not an interval between 0 and 1"):
        priors.beta(*bounds)


def test_rates_are_their_beta_distributions_under_both_models():
    prior = priors.from_rates(recall=(8, 2), specificity=Beta(np.array(5.0), np.array(3.0)))
    nothing = COUNTS * 0
    for model in ("dirichlet_multinomial", "fixed_totals"):
        keywords = {"model": model, "concentration": prior, "kind": "eti"}
        counts = nothing if model == "dirichlet_multinomial" else bcm.at_prevalence(nothing, 0.3)
        for name, distribution in {"recall": Beta(8, 2), "specificity": Beta(5, 3)}.items():
            np.testing.assert_allclose(
                bcm.interval(counts, name, **keywords), distribution.eti(0.95)
            )


@pytest.mark.parametrize("recall", [(1,), (0, 1), (1, -1), "high"])
def test_rates_that_are_no_beta_distribution_are_refused(recall):
    with pytest.raises((ValueError, TypeError)):
        priors.from_rates(recall=recall)


@pytest.mark.parametrize("discount", [0.0, 0.3, 1.0])
def test_the_power_prior_of_counts_and_of_their_posterior_is_one(discount):
    made = priors.from_counts(SICK, discount)
    tree = bcm.fit(SICK, draws=10, chains=1, random_seed=1)
    xr.testing.assert_allclose(priors.from_posterior(tree, discount), made)
    np.testing.assert_allclose(made.sel(actual="sick", predicted="sick"), 0.5 + discount * 65)
    assert made.attrs["examples"] == pytest.approx(2 + discount * 145)


@pytest.mark.long
def test_a_saved_posterior_is_handed_on(tmp_path):
    tree = bcm.fit(SICK, draws=10, chains=1, random_seed=1)
    bcm.save(tree, tmp_path / "yesterday.nc")
    prior = priors.from_posterior(bcm.load(tmp_path / "yesterday.nc"))
    today = bcm.interval(SICK, "f1", concentration=prior)
    np.testing.assert_allclose(today, bcm.interval(SICK * 2, "f1"))


def test_folds_hand_on_their_discounted_sum():
    folds = bcm.from_cells(tp=[9, 8], fn=[1, 2], fp=[2, 1], tn=[8, 9]).rename(batch="fold")
    tree = bcm.fit(folds, "pooled_folds", omega=0.6, draws=10, chains=1, random_seed=1)
    np.testing.assert_allclose(priors.from_posterior(tree), 0.5 + 0.6 * folds.sum("fold"))


def test_a_concentration_is_discounted_whole():
    np.testing.assert_allclose(priors.from_posterior(priors.uniform(), 0.25), 0.25)


def test_a_posterior_that_is_no_dirichlet_is_refused_unless_approximate():
    tree = bcm.fit(SICK, "fixed_totals", random_seed=1)
    with pytest.raises(ValueError, match=r"not a Dirichlet distribution.*approximate=True"):
        priors.from_posterior(tree)
    matched = priors.from_posterior(tree, approximate=True)
    theta = tree["posterior"]["theta"].mean(("chain", "draw"))
    np.testing.assert_allclose(
        matched / matched.sum(), theta.sel(actual=["well", "sick"], predicted=["well", "sick"])
    )
    assert "approximate" in matched.attrs["prior"]


@pytest.mark.long
def test_a_dirichlet_distribution_is_matched_by_itself():
    tree = bcm.fit(COUNTS, draws=4000, random_seed=1)
    tree.attrs["model"] = "another"
    matched = priors.from_posterior(tree, approximate=True)
    np.testing.assert_allclose(matched, COUNTS + 0.5, rtol=0.04)


@pytest.mark.parametrize("discount", [-0.1, 1.1, np.nan, "half"])
def test_a_discount_that_is_none_is_refused(discount):
    with pytest.raises(ValueError, match="discount must lie between 0 and 1"):
        priors.from_counts(COUNTS, discount)


def test_what_is_no_posterior_is_refused():
    with pytest.raises(TypeError, match="not a posterior"):
        priors.from_posterior([[1, 2], [3, 4]])


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
    with pytest.raises(ValueError, match="an improper prior has no predictive distribution"):
        priors.predictive(priors.haldane(), "f1", n=10)
    with pytest.raises(ValueError, match="an improper prior has no predictive distribution"):
        priors.conflict(COUNTS, priors.haldane())


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
    with pytest.raises(ValueError, match="has no log_likelihood"):
        priors.sensitivity(bcm.fit(counts, random_seed=1), "f1")
    batch = bcm.from_cells(tp=[6, 7], fn=1, fp=3, tn=3)
    with pytest.raises(ValueError, match="several matrices"):
        priors.sensitivity(bcm.fit(batch, random_seed=1), "f1")


def test_the_table_of_priors_is_the_summary_under_each():
    experts = priors.elicit(precision=0.6, recall=0.65, accuracy=0.6, weight=72.5, like=COUNTS)
    table = priors.table(COUNTS, ["f1", "recall"], {"default": None, "flat": 1, "experts": experts})
    assert table["prior"].tolist() == ["default", "default", "flat", "flat", "experts", "experts"]
    assert table["examples"].tolist()[::2] == pytest.approx([2, 4, 72.5])
    alone = bcm.summary(COUNTS, "recall", concentration=experts)
    assert table["lower"].iloc[-1] == alone["lower"].iloc[0]


def test_a_table_of_no_priors_is_refused():
    with pytest.raises(ValueError, match="no priors"):
        priors.table(COUNTS, "f1", {})


def test_sensitivity_is_that_of_a_fit():
    with pytest.raises(TypeError, match="fit the counts first"):
        priors.sensitivity(COUNTS, "f1")

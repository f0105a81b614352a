"""Labels that are wrong at some rate: the truth behind them, against brute force."""

from dataclasses import replace

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import models, posteriors

COUNTS = bcm.from_matrix([[9, 3], [1, 7]])
ANSWERS = {"a": [1, 0, 1, 1, 0, 0] * 20, "b": [1, 0, 1, 0, 0, 1] * 20}
PAIRS = bcm.from_classifiers([1, 0, 1, 1, 0, 1] * 20, ANSWERS)
QUANTILES = [0.025, 0.25, 0.5, 0.75, 0.975]


def from_the_prior(table, beta, size=150_000):
    """Return draws of cells and rates: of the prior, each as often as its likelihood says."""
    rng = np.random.default_rng(3)
    cells = rng.dirichlet(np.full(4, 0.5), size).reshape(size, 2, 2)
    rates = np.full((size, 2), beta) if np.ndim(beta) == 0 else rng.beta(*beta, (size, 2))
    right = np.eye(2) * (1 - rates[..., None])
    errors = right + np.eye(2)[::-1] * rates[..., None]
    seen = np.einsum("sak,sal->slk", cells, errors)
    weight = np.exp((table * np.log(seen)).sum((1, 2))) * (rates < 0.5).all(1)
    chosen = rng.choice(size, 20_000, p=weight / weight.sum())
    return cells[chosen], rates[chosen]


@pytest.mark.long
@pytest.mark.parametrize("error", [0.1, (2, 6)], ids=["known", "beta"])
def test_draws_are_those_of_brute_force(error):
    cells, rates = from_the_prior(COUNTS.values, error)
    posterior = posteriors.mislabelled(COUNTS, label_error=error)
    drawn = posterior.variables(20_000, np.random.default_rng(0))
    ends = [np.quantile(each, QUANTILES, axis=0) for each in (cells, drawn["theta"])]
    np.testing.assert_allclose(*ends, atol=0.03)
    if isinstance(error, tuple):
        ends = [np.quantile(each, QUANTILES, axis=0) for each in (rates, drawn["label_error"])]
        np.testing.assert_allclose(*ends, atol=0.04)


@pytest.mark.long
def test_many_classes_are_those_of_brute_force():
    counts = bcm.from_matrix([[9, 1, 0], [2, 7, 3], [0, 0, 5]])
    posterior = posteriors.mislabelled(counts, label_error={0: 0.05, 1: {2: 0.2}, 2: 0.1})
    theta = posterior.variables(6000, np.random.default_rng(0))["theta"][:, :, 2]
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(3, 2 / 9), 100_000)
    errors = posterior.errors.matrix(posterior.errors.rates)
    np.testing.assert_allclose(errors[1], [0, 0.8, 0.2])
    weight = np.exp((counts.values[:, 2] * np.log(shares @ errors)).sum(1))
    shares = shares[rng.choice(len(shares), 20_000, p=weight / weight.sum())]
    theta = theta / theta.sum(1, keepdims=True)
    ends = [np.quantile(each, QUANTILES[1:-1], axis=0) for each in (shares, theta)]
    np.testing.assert_allclose(*ends, atol=0.04)


@pytest.mark.long
@pytest.mark.parametrize("evidence", [COUNTS, PAIRS], ids=["counts", "outcomes"])
def test_the_model_has_the_same_density(evidence):
    options = {"label_error": {0: 0.1, 1: (2, 18)}}
    posterior = posteriors.mislabelled(evidence, **options)
    drawn = posterior.variables(4, np.random.default_rng(1))
    model = remove_value_transforms(models.mislabelled(evidence, **options))
    logp = model.compile_logp(jacobian=False, mode=Mode("py", None))
    points = [{name: drawn[name][i] for name in ("theta_cell", "label_error")} for i in range(4)]
    shapes = {each.name: each.type.ndim for each in model.value_vars}
    ours = [posterior.log_density(point) for point in points]
    theirs = [
        logp({name: np.reshape(each, (-1,) * shapes[name]) for name, each in point.items()})
        for point in points
    ]
    assert np.ptp(np.subtract(theirs, ours)) < 1e-6


@pytest.mark.long
def test_no_error_is_the_plain_model_and_errors_widen():
    names, columns = ["recall", "f1"], ["mean", "lower", "upper"]
    plain = bcm.summary(COUNTS, names)[columns]
    none = bcm.summary(COUNTS, names, label_error=0.0)[columns]
    np.testing.assert_allclose(none, plain, atol=0.02)
    large = COUNTS * 50
    ends = [bcm.interval(large, "specificity", label_error=e) for e in (0.0, 0.1, (5, 45))]
    lengths = [float(each[1] - each[0]) for each in ends]
    # What is not known of the rates does not go away with more examples.
    assert lengths[1] > 1.05 * lengths[0]
    assert lengths[2] > 1.2 * lengths[1]


def test_another_prevalence_moves_the_true_shares():
    rare = bcm.at_prevalence(COUNTS, 0.01)
    here, there = (
        bcm.summary(each, ["recall", "prevalence"], label_error=0.1) for each in (COUNTS, rare)
    )
    assert there["mean"][1] == pytest.approx(0.01)
    assert there["mean"][0] == pytest.approx(here["mean"][0], abs=0.01)


@pytest.mark.long
def test_everything_follows():
    table = bcm.compare(PAIRS, ["accuracy", "f1"], label_error=(2, 38))
    assert table["paired"].all()
    tree = bcm.fit(PAIRS, label_error=0.05, draws=200, chains=2)
    assert tree.attrs["model"] == "mislabelled"
    assert tree.attrs["sampling_method"] == "quadrature"
    np.testing.assert_allclose(
        bcm.summary(tree, "f1")["mean"],
        bcm.summary(PAIRS, "f1", label_error=0.05)["mean"],
        atol=0.02,
    )
    groups = bcm.combine([COUNTS, COUNTS], dim="group")
    assert bcm.interval(groups, "f1", label_error=0.1).dims == ("group", "bound")
    following = bcm.interval(PAIRS, "accuracy", label_error=0.1, of="predictive", n=20)
    assert (following.sel(bound="upper") <= 1).all()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (0.5, "0.5"),
        (-0.1, "rate of wrong labels"),
        (True, "rate of wrong labels"),
        ("5%", "rate of wrong labels"),
        ((2, 1), "which is not below 0.5"),
        ((2,), "Beta"),
        ({2: 0.1}, "unknown class"),
        ({0: {0: 0.1}}, "gives an error rate for a correct label"),
    ],
)
def test_rates_that_are_none_are_refused(error, said):
    with pytest.raises(ValueError, match=said):
        bcm.interval(COUNTS, "f1", label_error=error)


def test_what_the_model_does_not_know_is_refused():
    three = bcm.from_matrix(np.full((3, 3), 4))
    with pytest.raises(ValueError, match="nuts"):
        bcm.interval(three, "f1_macro", label_error=(2, 18))
    with pytest.raises(ValueError, match="fold"):
        bcm.interval(bcm.combine([COUNTS, COUNTS], dim="fold"), "f1", label_error=0.1)
    with pytest.raises(ValueError, match="> 0"):
        bcm.interval(COUNTS, "f1", label_error=0.1, concentration=0)


def test_labels_that_contradict_the_rates_are_said():
    clean = bcm.from_matrix([[500, 2], [3, 495]])
    assert "contradict" in bcm.interval(clean, "f1", label_error=0.2).attrs["caution"]
    assert "caution" not in bcm.interval(clean, "f1", label_error=(2, 98)).attrs


def test_matrices_of_classifiers_are_a_batch():
    cells = np.array([[[30, 35], [15, 65]], [[40, 25], [25, 55]]])
    both = bcm.from_matrix(cells, dims=("classifier",))
    found = bcm.interval(both, "recall", label_error=0.1)
    alone = [bcm.interval(each, "recall", label_error=0.1) for each in both]
    np.testing.assert_allclose(found, alone, atol=0.02)
    bare = bcm.interval(cells[0], "recall", model="mislabelled", label_error=0.1)
    np.testing.assert_allclose(bare, alone[0], atol=1e-6)


def test_draws_at_the_same_uncertain_rates_do_not_count_as_independent():
    counts = bcm.from_cells(tp=650, fn=150, fp=350, tn=300)
    recall = bcm.measures.resolve("recall")
    drawn = posteriors.mislabelled(counts, label_error=(2, 18)).distribution(recall)
    alone = replace(drawn, draw_clusters=1)
    errors = [each.interval_with_error(0.95, "eti")[1].max() for each in (drawn, alone)]
    assert errors[0] > 1.5 * errors[1]

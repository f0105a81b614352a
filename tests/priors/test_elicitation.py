"""Priors from statements about measures and rates."""

import numpy as np
import pytest
from reference_cases import cases

import bayescm as bcm
from bayescm import priors
from bayescm.answers.interval import distribution_of
from bayescm.distributions.beta import Beta
from bayescm.fitting.question import Question
from bayescm.measures import resolve

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
SICK = bcm.from_matrix([[65, 15], [35, 30]], labels=["sick", "well"], positive="sick")
PETS = bcm.from_matrix(np.arange(1, 10).reshape(3, 3), labels=["cat", "cow", "dog"])


def order(values):
    """Bring (tp, tn, fp, fn), Caelen's order, into a matrix with the positive class last."""
    tp, tn, fp, fn = map(float, values)
    return np.array([[tn, fp], [fn, tp]])


@pytest.mark.parametrize("case", cases("caelen-elicit-m"))
def test_elicitation_as_in_caelen(case):
    inputs, expected = case["inputs"], case["expected"]
    measures = {name: inputs[name] for name in ("precision", "recall", "accuracy")}
    counts = bcm.from_matrix(order(inputs["v_tp_tn_fp_fn"]).astype(int), labels=[0, 1])
    prior = priors.elicit(**measures, weight=inputs["m"], like=counts)
    np.testing.assert_allclose(prior, order(expected["alpha_tp_tn_fp_fn"]), rtol=1e-9)
    np.testing.assert_allclose(prior + counts, order(expected["omega"]), rtol=1e-9)
    assert prior.attrs["examples"] == pytest.approx(inputs["m"])
    distribution, _ = distribution_of(counts, "mcc", Question(concentration=prior))
    ends = distribution.eti(0.95)
    error = max(1e-5, 4 * float(np.max(distribution.error_at(ends))))
    np.testing.assert_allclose(ends, expected["mcc_posterior_et95"], atol=error)


@pytest.mark.parametrize("case", cases("caelen-elicit-infeasible"))
def test_an_infeasible_elicitation_says_which_condition_fails(case):
    inputs = dict(case["inputs"])
    with pytest.raises(ValueError, match=r"must exceed 1.*accuracy above 0.7347"):
        priors.elicit(weight=inputs.pop("m"), **inputs)


@pytest.mark.long
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
        ({"precision": 1.0, "recall": 0.9, "accuracy": 0.95}, "so that no cell is empty"),
        ({"precision": 1.0, "recall": 1.0, "accuracy": 1.0}, "so that no cell is empty"),
        (
            {"prevalence": 0.2, "recall": 1.2, "specificity": 0.9},
            r"No table with all cells positive.*nearest",
        ),
        pytest.param(
            {"prevalence": 0.2, "recall": 1.0, "specificity": 0.9},
            "No table with all cells",
            marks=pytest.mark.long,
        ),
        ({"recall": 0.8, "specificity": 0.9, "informedness": 0.7}, "do not determine"),
        ({"recall": 0.8, "specificity": 0.9}, "three different measures"),
        ({"recall": 0.8, "tpr": 0.8, "specificity": 0.9}, "three different measures"),
        (
            {"recall": np.nan, "prevalence": 0.8, "specificity": 0.9},
            "recall must be a finite number",
        ),
        ({"recal": 0.8, "prevalence": 0.8, "specificity": 0.9}, "recall"),
    ],
)
def test_elicitations_that_make_no_sense_are_refused(measures, message):
    with pytest.raises(ValueError, match=message):
        priors.elicit(weight=10, **measures)


@pytest.mark.parametrize("weight", [0, -1, np.nan, np.inf, "ten"])
def test_a_weight_that_is_none_is_refused(weight):
    with pytest.raises(ValueError, match="weight must be a finite number"):
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
        (
            {"prevalence": [0.5, 0.5], "recall": [0.6, 0.7, 0.8]},
            "prevalence must have a value for each",
        ),
        ({"prevalence": [0.5, 0.3, 0.3], "recall": [0.6, 0.7, 0.8]}, "sum to 1"),
        ({"prevalence": [0.5, 0.3, 0.2], "recall": [1.0, 0.7, 0.8]}, "so that no cell is empty"),
        ({"prevalence": [0.5, 0.3, 0.2], "recall": {"cat": 0.7}}, "which are not the classes"),
        ({"prevalence": 0.2, "recall": 0.7}, "prevalence must have a value for each"),
    ],
)
def test_elicitations_of_many_classes_that_make_no_sense_are_refused(measures, message):
    with pytest.raises(ValueError, match=message):
        priors.elicit(**measures, weight=1, like=PETS)


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
    result = priors.beta(lower, upper, prob=prob)
    assert float(result.cdf(upper) - result.cdf(lower)) == pytest.approx(prob, abs=1e-6)


@pytest.mark.long
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
    with pytest.raises(ValueError, match="An interval must have"):
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

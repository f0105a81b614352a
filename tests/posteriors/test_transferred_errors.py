"""Labels of elsewhere: only the error rates carry over."""

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy.special import gammaln

import bayescm as bcm
from bayescm import models, posteriors
from bayescm.posteriors.transferred_errors import Allocations, draw_gibbs

COUNTS = bcm.evidence.from_partly_labelled_counts([[90, 10], [20, 80]], [750, 250])
COUNTS = COUNTS.assign_coords(transfer="errors")
SIZES = [7500, 2500], [7501, 2500]  # as many as are told out one by one, and one more
HUMAN = [0, 1, 0, 1, 1] * 8 + [None] * 100
SAID = [0, 1, 0, 0, 1] * 8 + [0, 0, 1, 0] * 25
JUDGE = [0, 1, 1, 1, 1] * 8 + [0, 0, 0, 1, 0] * 20


@pytest.mark.long
def test_the_rate_is_that_of_brute_force_and_of_rogan_and_gladen():
    rng, size = np.random.default_rng(0), 200_000
    wrong, right, rate = rng.beta(10.5, 90.5, size), rng.beta(80.5, 20.5, size), rng.random(size)
    said = rate * right + (1 - rate) * wrong
    logs = 250 * np.log(said) + 750 * np.log(1 - said)
    weight = np.exp(logs - logs.max())
    drawn = rate[rng.choice(size, 20_000, p=weight / weight.sum())]
    ends = bcm.interval(COUNTS, "prevalence", kind="eti").values
    np.testing.assert_allclose(ends, np.quantile(drawn, [0.025, 0.975]), atol=0.015)
    np.testing.assert_allclose(ends, bcm.classical.rogan_gladen(COUNTS), atol=0.02)
    point = bcm.summary(COUNTS, "prevalence")["point"].item()
    assert point == pytest.approx((0.25 + 0.9 - 1) / (0.8 + 0.9 - 1), abs=0.01)
    # Where the labels are is another place: the share of positives there does not matter.
    assert bcm.measure(COUNTS.sum("judge"), "prevalence").prevalence == 0.5


def test_two_classes_are_told_out_exactly():
    """Against all ways to share the unlabelled examples; a stratum that nobody labelled too."""
    known, rest = np.array([[6.0, 0, 3], [1, 0, 9]]) + 0.3, np.array([9, 12, 4])
    second = np.stack(np.meshgrid(*(np.arange(each + 1) for each in rest)), -1).reshape(-1, 3)
    counts = np.stack([rest - second, second], axis=1)
    logs = (gammaln(known + counts) - gammaln(counts + 1)).sum((1, 2))
    logs += (gammaln(1 + counts.sum(-1)) - gammaln((known + counts).sum(-1))).sum(-1)
    mass = np.exp(logs - logs.max())
    posterior = Allocations(known, rest)
    drawn = posterior.draw(40_000, np.random.default_rng(1))
    for found, wanted in zip(drawn, (1.0 + counts.sum(-1), known + counts), strict=True):
        mean = (wanted / wanted.sum(-1, keepdims=True)).T @ mass / mass.sum()
        np.testing.assert_allclose(found.mean(0), mean.T, atol=5 * 0.5 / 200)
    own = np.bincount(second[:, 1], mass)  # either class may own the stratum
    assert own[[0, -1]].min() > 2 * own[6]


def test_factors_that_no_number_holds_are_told_out_too():
    """Against the sum over all pairs in logs; many labels of one place, next to none of another."""
    known, rest = np.array([[2300.0, 16000], [5, 2]]), np.array([81, 935])
    first, second = np.meshgrid(np.arange(82), np.arange(936), indexing="ij")
    counts = np.stack([rest - np.stack([first, second], -1), np.stack([first, second], -1)], 2)
    logs = (gammaln(known + counts) - gammaln(counts + 1)).sum((-2, -1))
    sums = counts.sum(-1)
    logs += (gammaln(1 + sums) - gammaln(known.sum(-1) + sums)).sum(-1)
    mass = np.exp(logs - logs.max())
    shares, _ = Allocations(known, rest).draw(20_000, np.random.default_rng(1))
    wanted = ((1 + sums[..., 1]) / (2 + rest.sum()) * mass).sum() / mass.sum()
    assert shares[:, 1].mean() == pytest.approx(wanted, abs=5 * shares[:, 1].std() / 141)


@pytest.mark.long
def test_more_examples_than_are_told_out_are_sampled():
    both = [bcm.evidence.from_partly_labelled_counts([[90, 10], [20, 80]], each) for each in SIZES]
    both = [each.assign_coords(transfer="errors") for each in both]
    methods = [posteriors.transferred_errors(each).sampling_method for each in both]
    assert methods == ["conjugate", "importance"]
    np.testing.assert_allclose(*(bcm.interval(each, "prevalence") for each in both), atol=0.015)


@pytest.mark.long
def test_the_model_has_the_same_density():
    evidence = bcm.from_partly_labelled(HUMAN, SAID, JUDGE, transfer="errors")
    posterior = posteriors.transferred_errors(evidence)
    drawn = posterior.variables(4, np.random.default_rng(1))
    model = remove_value_transforms(models.transferred_errors(evidence))
    logp = model.compile_logp(jacobian=False, mode=Mode("py", None))
    names = ("prevalence", "rates")
    points = [{name: drawn[name][place] for name in names} for place in range(4)]
    assert np.ptp([logp(point) - posterior.log_density(point) for point in points]) < 1e-6


@pytest.mark.long
def test_everything_follows():
    evidence = bcm.from_partly_labelled(HUMAN, SAID, JUDGE, transfer="errors")
    table = bcm.summary(evidence, ["prevalence", "f1"])
    assert ((table["lower"] > 0) & (table["upper"] < 1)).all()
    tree = bcm.fit(evidence, draws=300, chains=2)
    assert tree.attrs["model"] == "transferred_errors"
    np.testing.assert_allclose(bcm.summary(tree, "f1")["mean"], table["mean"][1], atol=0.05)
    inside = bcm.interval(evidence, "f1", of="finite")
    assert 0 <= inside[0] < inside[1] <= 1
    judged = bcm.from_partly_labelled(HUMAN, judge=JUDGE, transfer="errors")
    assert bcm.interval(judged, "prevalence")[1] < 0.5


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"transfer": "everything"}, "transfer"),
        ({"predicted": {"a": SAID, "b": JUDGE}}, "supports only one classifier|needs exactly one"),
        ({"actual": [1] * 40 + [None] * 100, "labels": [0, 1]}, "so its errors are unknown"),
        ({"actual": [0, 1] * 70}, "Every example is labelled"),
    ],
)
def test_what_cannot_be_carried_over_is_refused(changed, said):
    options = {"actual": HUMAN, "predicted": SAID, "judge": JUDGE, "transfer": "errors"} | changed
    with pytest.raises(ValueError, match=said):
        bcm.interval(bcm.from_partly_labelled(**options), "f1")


@pytest.mark.long
def test_three_classes_and_a_kind_that_nobody_labelled():
    labels = [[9, 1, 0], [1, 9, 0], [2, 2, 0]]  # by class and what the judge said
    evidence = bcm.evidence.from_partly_labelled_counts(np.array(labels), [20, 20, 30])
    with pytest.warns(UserWarning, match="Some combinations of judge label"):
        bcm.interval(evidence.assign_coords(transfer="errors"), "accuracy")


@pytest.mark.long
def test_gibbs_draws_are_those_of_the_exact_posterior():
    """Of two classes, for which there are exact draws."""
    known, rest = np.array([[30.0, 8.0], [6.0, 26.0]]) + 0.5, np.array([90, 60])
    rng, many = np.random.default_rng(0), 4000
    shares, rates, correlation = draw_gibbs(known, rest, many, rng)
    wanted = Allocations(known, rest).draw(many, rng)
    assert correlation < 0.25
    for found, exact in zip((shares, rates), wanted, strict=True):
        # Kept sweeps of a chain are correlated: 0.2 standard deviations are about five errors.
        np.testing.assert_allclose(found.mean(0), exact.mean(0), atol=0.2 * exact.std(0).max())
        np.testing.assert_allclose(found.std(0), exact.std(0), rtol=0.15)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The Gibbs chains have not converged:UserWarning")
def test_three_classes_are_as_uncertain_as_their_labels():
    labelled = np.array([[40, 5, 5], [5, 40, 5], [5, 5, 40]])
    evidence = bcm.evidence.from_partly_labelled_counts(labelled, [400, 350, 250])
    evidence = evidence.assign_coords(transfer="errors")
    alone = bcm.interval(bcm.from_matrix(labelled), "recall_macro", draws=4000)
    ends = bcm.interval(evidence, "recall_macro", draws=4000)
    assert 0.5 < np.ptp(ends.values) / np.ptp(alone.values) < 1.2

"""Labels of elsewhere: only the error rates carry over."""

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode

import bayescm as bcm
from bayescm import direct, models

COUNTS = bcm.from_partly_labelled_counts([[90, 10], [20, 80]], [750, 250])
COUNTS = COUNTS.assign_coords(transfer="errors")
HUMAN = [0, 1, 0, 1, 1] * 8 + [None] * 100
SAID = [0, 1, 0, 0, 1] * 8 + [0, 0, 1, 0] * 25
JUDGE = [0, 1, 1, 1, 1] * 8 + [0, 0, 0, 1, 0] * 20


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


def test_the_model_has_the_same_density():
    evidence = bcm.from_partly_labelled(HUMAN, SAID, JUDGE, transfer="errors")
    posterior = direct.transferred_errors(evidence)
    drawn = posterior.variables(4, np.random.default_rng(1))
    model = remove_value_transforms(models.transferred_errors(evidence))
    logp = model.compile_logp(jacobian=False, mode=Mode("py", None))
    names = ("prevalence", "rates")
    points = [{name: drawn[name][place] for name in names} for place in range(4)]
    assert np.ptp([logp(point) - posterior.log_density(point) for point in points]) < 1e-6


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
        ({"predicted": {"a": SAID, "b": JUDGE}}, "one at most"),
        ({"actual": [1] * 40 + [None] * 100, "labels": [0, 1]}, "nothing is known of the errors"),
        ({"actual": [0, 1] * 70}, "nothing is unlabelled"),
    ],
)
def test_what_cannot_be_carried_over_is_refused(changed, said):
    options = {"actual": HUMAN, "predicted": SAID, "judge": JUDGE, "transfer": "errors"} | changed
    with pytest.raises(ValueError, match=said):
        bcm.interval(bcm.from_partly_labelled(**options), "f1")

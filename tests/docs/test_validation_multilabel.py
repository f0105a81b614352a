"""What several labels are simulated to be: measures by definition, as scikit-learn has them."""

import numpy as np
import pytest
from sklearn import metrics
from validation.multilabel import COMPARED, DESIGNS, MEASURES, values


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS)
def test_values_are_those_of_scikit_learn_and_weights_are_repetitions(design):
    rng = np.random.default_rng(3)
    actual, predicted = DESIGNS[design](rng, 60, 5, 60)
    weight = rng.integers(0, 3, (4, 60))
    got = values(actual, predicted, weight)
    for row, number in zip(got, weight, strict=True):
        again = np.repeat(np.arange(60), number)
        first, second = (_by_scikit_learn(actual[again], each[again]) for each in predicted)
        differences = [first[name] - second[name] for name in COMPARED]
        np.testing.assert_allclose(row, [*first.values(), *differences], rtol=1e-12)


def _by_scikit_learn(actual, predicted):
    averages = {
        f"f1_{how}": metrics.f1_score(actual, predicted, average=how, zero_division=np.nan)
        for how in ("micro", "macro", "samples")
    }
    of_examples = (metrics.accuracy_score, metrics.hamming_loss)
    return dict(
        zip(
            MEASURES,
            [*averages.values(), *(f(actual, predicted) for f in of_examples)],
            strict=True,
        )
    )


def test_every_third_of_the_rare_labels_has_four_positives_and_errors_go_together():
    actual, predicted = DESIGNS["rare"](np.random.default_rng(0), 100_000, 6, 50)
    np.testing.assert_allclose(actual.mean(axis=0)[::3], 4 / 50, atol=0.003)
    wrong = actual != predicted[0]
    together = np.corrcoef(wrong.T)[np.triu_indices(6, 1)]
    assert (together > 0.005).all()  # the standard error of each is .003

"""DeLong's method against its definition, pair of examples by pair of examples."""

import numpy as np
import pytest
from scipy.special import logit

import bayescm as bcm
from bayescm.classical import delong, delong_compare


def sample(size=40, ties=False, seed=1):
    rng = np.random.default_rng(seed)
    actual = (rng.random(size) < 0.4).astype(int)
    first = rng.normal(actual, 1)
    second = first + rng.normal(size=size)
    return actual, (np.round(first), np.round(second)) if ties else (first, second)


def by_definition(actual, scores):
    wins = []
    for score in scores:
        gap = score[actual == 1][:, None] - score[actual == 0]
        wins.append((gap > 0) + (gap == 0) / 2)
    wins = np.array(wins)
    covariance = np.cov(wins.mean(2)) / wins.shape[1] + np.cov(wins.mean(1)) / wins.shape[2]
    return wins.mean((1, 2)), covariance


@pytest.mark.parametrize("ties", [False, True])
def test_pairs_by_definition(ties):
    actual, scores = sample(ties=ties)
    areas, covariance = by_definition(actual, scores)
    row = delong_compare(bcm.from_scores(actual, dict(zip("ab", scores, strict=True)))).iloc[0]
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert row["difference"] == pytest.approx(areas[0] - areas[1])
    assert row["sd"] == pytest.approx(np.sqrt(variance))
    assert row["z"] == pytest.approx(row["difference"] / row["sd"])
    assert 0 < row["p_value"] < 1


@pytest.mark.parametrize("ties", [False, True])
def test_intervals_by_definition(ties):
    actual, scores = sample(ties=ties)
    areas, covariance = by_definition(actual, scores)
    evidence = bcm.from_scores(actual, dict(zip("ab", scores, strict=True)))
    sd = np.sqrt(np.diag(covariance))
    plain, on_logits = delong(evidence, transform="none"), delong(evidence)
    np.testing.assert_allclose(plain[:, 1] - plain[:, 0], 2 * 1.959964 * sd, rtol=1e-6)
    np.testing.assert_allclose(plain.mean("bound"), areas)
    np.testing.assert_allclose(logit(on_logits).mean("bound"), logit(areas))
    assert ((on_logits > 0) & (on_logits < 1)).all()


def test_weights_are_copies():
    actual, (score, _) = sample()
    copies = np.arange(40) % 3 + 1
    once = delong(bcm.from_scores(actual, score, weights=copies))
    many = delong(bcm.from_scores(np.repeat(actual, copies), np.repeat(score, copies)))
    np.testing.assert_allclose(once, many)


def test_separated_classes_have_no_interval_here():
    evidence = bcm.from_scores([0, 0, 1, 1], [1, 2, 3, 4])
    assert np.isnan(delong(evidence)).all()
    assert delong(evidence, transform="none").values.tolist() == [1, 1]
    lower, upper = bcm.curves.auc(evidence).values
    assert lower < 0.9 < upper


def test_copies_have_no_p_value():
    actual, (score, _) = sample()
    row = delong_compare(bcm.from_scores(actual, {"a": score, "b": 2 * score})).iloc[0]
    assert row["difference"] == 0
    assert np.isnan(row["p_value"])


def test_folds_keep_their_dim():
    actual, (score, other) = sample()
    evidence = bcm.from_scores(actual, {"a": score, "b": other}, fold=np.arange(40) % 2)
    assert delong(evidence).dims == ("fold", "classifier", "bound")


def test_bad_evidence_is_refused():
    with pytest.raises(ValueError, match="two examples"):
        delong(bcm.from_scores([0, 0, 1], [1, 2, 3]))
    with pytest.raises(ValueError, match="more than two classes"):
        delong(bcm.from_scores([0, 1, 2], np.eye(3)))
    with pytest.raises(ValueError, match="nothing to compare"):
        delong_compare(bcm.from_scores([0, 0, 1, 1], [1, 2, 3, 4]))
    with pytest.raises(ValueError, match="transform"):
        delong(bcm.from_scores([0, 0, 1, 1], [1, 2, 3, 4]), transform="log")

import numpy as np
import pytest

import bayescm as bcm
from bayescm import validate


def test_an_error_has_four_parts():
    error = validate.fail("a thing is wrong", [1, 2], "other things", "change it")
    assert isinstance(error, ValueError)
    assert str(error) == ("a thing is wrong: [1, 2]. Expected other things. Change it.")


def test_long_values_are_shortened_to_one_line():
    message = str(validate.fail("wrong", np.arange(10_000).reshape(100, 100), "less", "cut"))
    assert len(message) < 250
    assert "\n" not in message


def test_an_error_may_be_of_another_class():
    assert isinstance(validate.fail("a", 1, "b", "c", TypeError), TypeError)


@pytest.mark.parametrize("prob", [0.5, 0.95, np.float64(0.9), np.float32(0.5)])
def test_a_probability_passes(prob):
    assert validate.check_prob(prob) == float(prob)


@pytest.mark.parametrize("prob", [0, 1, -0.1, 1.5, 95, float("nan"), float("inf")])
def test_prob_outside_the_unit_interval_is_refused(prob):
    with pytest.raises(ValueError, match=r"between 0 and 1.*prob=0\.95"):
        validate.check_prob(prob)


@pytest.mark.parametrize("prob", [None, "0.95", True, [0.9, 0.95], 1j])
def test_prob_that_is_no_number_is_refused(prob):
    with pytest.raises((TypeError, ValueError), match="between 0 and 1"):
        validate.check_prob(prob)


def test_kind():
    assert validate.check_kind("eti") == "eti"
    for kind in ("ETI", "hpd", None, 3):
        with pytest.raises(ValueError, match="Unknown kind"):
            validate.check_kind(kind)


@pytest.mark.parametrize(
    "array", [[1, 2], np.array([1.0, 2.0]), np.array([1, 2], np.uint8), np.array([1, 2], object)]
)
def test_whole_numbers_become_int64(array):
    counts = validate.check_counts(array)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, [1, 2])


def test_fractions_stay_where_they_may():
    counts = validate.check_counts([1.5, 2], fractional=True)
    assert counts.dtype == np.float64
    assert validate.check_counts([1.0, 2.0], fractional=True).dtype == np.int64


@pytest.mark.parametrize(
    ("array", "said"),
    [
        ([[1, 2], [-3, 4]], r"negative in cell \(1, 0\): -3"),
        ([[1, 2], [-3.0, 4]], r"negative in cell \(1, 0\): -3"),
        ([[1, np.nan], [3, 4]], r"NaN.* in cell \(0, 1\)"),
        ([1, None], r"NaN.* in cell \(1,\)"),
        ([1, np.inf], "infinite"),
        ([1, 0.5], r"not a whole number in cell \(1,\): 0\.5.*fractional=True"),
        ([1, 1e20], "too large"),
        (np.array([2**63], np.uint64), "too large"),
        ([[1, 2], [3]], "The rows of the counts have different lengths"),
        ([], "empty"),
    ],
)
def test_a_wrong_count_is_named(array, said):
    with pytest.raises(ValueError, match=said):
        validate.check_counts(array)


@pytest.mark.parametrize("array", [["a", "b"], [True, False], [1j], [{}]])
def test_counts_must_be_numbers(array):
    with pytest.raises(TypeError, match="must be a number"):
        validate.check_counts(array)


def test_counts_that_a_double_holds_pass():
    assert validate.check_counts([2**53]).item() == 2**53


def function(data, concentration=None, *, omega=1.0):
    pass


def test_keywords_of_a_function_pass():
    for keyword in ("concentration", "omega"):
        assert validate.check_keywords(function, {keyword: 2}) == {keyword: 2}
    with pytest.raises(TypeError, match="function has no keyword"):
        validate.check_keywords(function, {"data": 1})
    assert validate.check_keywords(lambda data, **rest: 0, {"anything": 1}) == {"anything": 1}


def test_an_unknown_keyword_is_refused_with_the_nearest():
    with pytest.raises(
        TypeError, match=r"Did you mean 'concentration'.*'concentration' or 'omega'"
    ):
        validate.check_keywords(function, {"concentraton": 1})
    with pytest.raises(TypeError, match=r"has no keyword.*Leave it out"):
        validate.check_keywords(lambda data: 0, {"x": 1})


def test_nearest_ignores_case():
    assert validate.nearest("MCC", ["mcc", "f1"]) == ["mcc"]
    assert validate.nearest("zzz", ["mcc", "f1"]) == []


@pytest.mark.parametrize("seed", [-1, "x", 1.5, True])
def test_what_is_no_seed_is_named(seed):
    counts = bcm.from_cells(tp=9, fn=1, fp=2, tn=8)
    for ask in (
        lambda: bcm.interval(counts, "f1", draws=10, random_seed=seed),
        lambda: bcm.compare({"a": counts, "b": counts + 1}, "f1", random_seed=seed),
        lambda: bcm.fit(counts, random_seed=seed),
    ):
        with pytest.raises(ValueError, match="The seed must be a whole number"):
            ask()


def test_labels_beyond_64_bits_are_named():
    labels = np.array([2**63, 1], np.uint64)
    with pytest.raises(ValueError, match="Labels in actual must be below"):
        bcm.from_predictions(labels, labels)


def test_weights_worth_no_example_are_named():
    weights = {"weights": [1e-12] * 4, "weights_are": "counts"}
    with pytest.raises(ValueError, match="less than one example"):
        bcm.from_scores([0, 1, 1, 0], [0.1, 0.3, 0.2, 0.4], **weights)


STEPS = bcm.from_matrix([[[9, 2], [3, 8]]] * 4, dims=("step",))
TWO = bcm.from_cells(tp=9, fn=2, fp=3, tn=8)


@pytest.mark.parametrize("bad", [None, "x", np.nan, np.inf, [0.5], True])
@pytest.mark.parametrize(
    "call",
    [
        # A floor that is not a number would never be fallen below.
        lambda bad: bcm.online.prob_below(STEPS, "recall", floor=bad),
        lambda bad: bcm.online.alarms(STEPS, "recall", floor={"recall": bad}),
        lambda bad: bcm.interval(TWO, "recall", prob=bad),
        lambda bad: bcm.check(TWO, "recall > 0.5", level=bad),
        lambda bad: bcm.priors.conflict(TWO, draws=bad),
        lambda bad: bcm.classical.bootstrap(TWO, "recall", resamples=bad),
    ],
    ids=["prob_below", "alarms", "interval", "check", "conflict", "bootstrap"],
)
def test_what_is_no_number_is_refused_in_words(call, bad):
    with pytest.raises((TypeError, ValueError), match="must be"):
        call(bad)

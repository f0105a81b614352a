"""Intervals and tests from the folds of a cross-validation."""

import csv
from contextlib import nullcontext

import numpy as np
import pytest
import xarray as xr
from reference_cases import REFERENCE, cases
from scipy import integrate, stats

import bayescm as bcm
from bayescm.classical import correlated_t
from bayescm.classical.folds import (
    blocked_t,
    corrected_t,
    five_by_two_t,
    fold_t,
    plain_t,
    resampled_t,
)
from bayescm.distributions.differences import StudentT
from bayescm.measures.over_folds import fold_macro
from bayescm.posteriors.correlated_t import mean_difference

RNG = np.random.default_rng(5)


def counts_of(inputs):
    cells = {name.lower(): inputs[name] for name in ("TP", "FN", "FP", "TN")}
    return bcm.from_cells(**cells).rename(batch="fold")


def repeated(repeats, folds, size=40):
    cells = RNG.multinomial(size, [0.3, 0.1, 0.2, 0.4], (repeats, folds)).reshape(
        repeats, folds, 2, 2
    )
    return bcm.from_matrix(cells, dims=("repeat", "fold"))


@pytest.mark.parametrize("measure", ["precision", "recall"])
@pytest.mark.parametrize("case", cases("kfold-"))
def test_reference_intervals_of_k_folds(case, measure):
    counts, expected = counts_of(case["inputs"]), case["expected"][measure]
    conventions = expected.get("t_undefined_folds", {"drop": expected.get("t")})
    for undefined, values in conventions.items():
        for method, key in [("plain", "t"), ("corrected", "corrected_t")]:
            answer = fold_t(counts, measure, method=method, undefined=undefined).values
            if values is None:
                assert np.isnan(answer).all()
            else:
                bounds = [float(end) for end in values[key]]
                np.testing.assert_allclose(answer, bounds, atol=case["tol"]["abs"], rtol=0)
        if values is not None:
            mean = fold_macro(counts, measure, undefined=undefined)
            assert mean.item() == pytest.approx(float(values["macro"]), abs=1e-11)


@pytest.mark.parametrize("case", cases("cvf1-"))
def test_reference_intervals_of_f1(case):
    inputs, expected = case["inputs"], case["expected"]
    answers = {
        "t_10cv": plain_t(inputs["ten_fold_f1"]),
        "t_5x2": five_by_two_t(inputs["f1_5x2"]),
        "t_3x2": blocked_t(inputs["f1_3x2"]),
    }
    for name, answer in answers.items():
        bounds = [float(end) for end in expected[name]["interval"]]
        np.testing.assert_allclose(answer, bounds, atol=case["tol"]["abs"], rtol=0)


def test_intervals_are_not_clipped():
    assert blocked_t([[0.99, 0.9], [0.97, 0.93], [1.0, 0.91]])[1] > 1


def test_plain_t_is_scipys():
    values = RNG.random(10)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    np.testing.assert_allclose(plain_t(values, prob=0.9), expected)


def test_lengths_stand_in_the_ratios_of_their_corrections():
    values = RNG.random((4, 10))
    plain, corrected, resampled = (
        np.ptp(function(values), axis=-1) for function in (plain_t, corrected_t, resampled_t)
    )
    np.testing.assert_allclose(corrected / plain, 1 / np.sqrt(0.3))
    np.testing.assert_allclose(resampled / plain, np.sqrt(1 + 10 / 9))


def test_resampled_t_of_repeats_narrows_only_to_the_share_of_the_test_set():
    values = np.resize([0.4, 0.6], 2000)
    half = np.ptp(resampled_t(values, test_share=0.1)) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, 1999) * 0.1 * (1 / 9) ** 0.5, rel=0.01)


@pytest.mark.parametrize("method", ["resampled", "5x2", "3x2"])
def test_labelled_face_of_repeated_folds(method):
    counts = repeated({"5x2": 5, "3x2": 3}.get(method, 4), 2)
    answer = fold_t(counts, "accuracy", method=method)
    values = bcm.measure(counts, "accuracy")["accuracy"].values
    expected = {
        "resampled": lambda v: resampled_t(v.ravel(), test_share=0.5),
        "5x2": five_by_two_t,
        "3x2": blocked_t,
    }[method](values)
    np.testing.assert_allclose(answer, expected)
    assert answer.dims == ("bound",)


def test_test_share_of_the_design_is_used():
    counts = repeated(1, 10).isel(repeat=0, drop=True)
    ends = [
        fold_t(counts.assign_coords(test_share=share), "f1", method="resampled").values
        for share in (0.1, 0.3)
    ]
    lengths = np.ptp(ends, axis=-1)
    assert lengths[1] / lengths[0] == pytest.approx(((0.1 + 3 / 7) / (0.1 + 1 / 9)) ** 0.5)


def test_leading_dims_and_classes_are_kept():
    cells = RNG.integers(1, 9, (3, 6, 4, 4))
    counts = bcm.from_matrix(cells, dims=("classifier", "fold"))
    answer = fold_t(counts, "recall")
    assert answer.dims == ("classifier", "class", "bound")
    one = fold_t(counts.isel(classifier=1), "recall")
    xr.testing.assert_allclose(answer.isel(classifier=1), one)


def test_any_measure_will_do():
    def hits(cells):
        return cells[..., 1, 1]

    counts = repeated(1, 5).isel(repeat=0, drop=True)
    np.testing.assert_allclose(fold_t(counts, hits), corrected_t(counts.values[:, 1, 1]))


def test_undefined_folds_are_counted():
    counts = bcm.from_cells(tp=[3, 0, 2], fn=[2, 5, 3], fp=[1, 0, 1], tn=[4, 5, 4])
    answer = fold_t(counts.rename(batch="fold"), "precision", method="plain")
    assert answer.undefined_folds == 1
    np.testing.assert_allclose(answer, plain_t([3 / 4, 2 / 3]))


def test_one_defined_fold_gives_no_interval():
    with pytest.warns(UserWarning, match="NaN in 2 of 3 folds"):
        assert np.isnan(plain_t([0.5, np.nan, np.nan])).all()
    with pytest.warns(UserWarning, match="NaN in 2 of 2 folds"):
        assert np.isnan(corrected_t([np.nan, np.nan])).all()


@pytest.mark.parametrize("function", [plain_t, corrected_t, resampled_t])
def test_folds_that_are_left_out_are_reported(function):
    values = [[0.7, np.nan, 0.8, 0.6], [0.7, 0.9, 0.8, np.nan], [0.5, 0.6, 0.8, 0.7]]
    keywords = {"test_share": 0.25} if function is resampled_t else {}
    with pytest.warns(UserWarning, match="NaN in 2 of 4 folds. These folds are left out"):
        found = function(values, **keywords)
    np.testing.assert_allclose(found[0], function([0.7, 0.8, 0.6], **keywords))
    np.testing.assert_allclose(found[2], function(values[2], **keywords))  # without a warning


def test_a_difference_of_folds_reports_those_that_are_left_out():
    with pytest.warns(UserWarning, match="NaN in 2 of 5 folds"):
        found = mean_difference([0.1, np.nan, 0.3, np.nan, 0.2], 0.2)
    expected = mean_difference([0.1, 0.3, 0.2], 0.2)
    assert found.freedom == expected.freedom == 2
    np.testing.assert_allclose(found.eti(0.9), expected.eti(0.9))


@pytest.mark.parametrize("ask", [bcm.compare, bcm.ranks])
def test_comparisons_of_classifiers_report_folds_without_a_value(ask):
    rng = np.random.default_rng(2)
    actual, fold = np.tile([0, 1], 60), np.arange(120) // 20
    first, second = (np.where(rng.random(120) < right, actual, 1 - actual) for right in (0.8, 0.7))
    second[fold == 3] = 0  # precision is 0/0
    both = bcm.from_classifiers(actual, {"a": first, "b": second}, positive=1, by={"fold": fold})
    with pytest.warns(UserWarning, match="precision is 0/0 in 1 of 6 folds"):
        ask(both, "precision")
    ask(both, "recall")  # without a warning


def test_folds_that_agree_give_a_point_as_printed():
    np.testing.assert_allclose(corrected_t([0.5] * 10), 0.5)


@pytest.mark.parametrize(
    ("counts", "keywords", "message"),
    [
        (repeated(2, 5), {"method": "corrected"}, "a single cross-validation"),
        (repeated(2, 5), {"method": "plain"}, "a single cross-validation"),
        (repeated(2, 5), {"method": "5x2"}, "5 repeats of 2 folds"),
        (repeated(5, 2), {"method": "3x2"}, "3 repeats of 2 folds"),
        (repeated(1, 5)[0], {"method": "student"}, "Unknown method"),
        (repeated(1, 5)[0], {"rho": 1.0}, "rho must be a correlation"),
        (repeated(1, 5)[0], {"rho": -0.1}, "rho must be a correlation"),
        (repeated(1, 5)[0], {"rho": "x"}, "rho must be a correlation"),
        (repeated(1, 5)[0], {"prob": 1.0}, "prob must be a number"),
        (repeated(1, 5)[0], {"undefined": "ignore"}, "Unknown undefined"),
        (repeated(1, 1)[0], {}, "A cross-validation needs two or more folds"),
        (repeated(1, 5)[0, 0], {}, "Use cross_confusion, or name the axis"),
    ],
)
def test_bad_input(counts, keywords, message):
    with pytest.raises(ValueError, match=message):
        fold_t(counts, "f1", **keywords)


def scores(classifier, data_set):
    with (REFERENCE / "accuracies.csv").open() as lines:
        for row in csv.reader(lines):
            if row[:2] == [classifier, data_set]:
                return np.array(row[2:], float)
    raise KeyError(classifier)


def two_on_single(x, y, rope, runs):
    """Return what baycomp computes, written from its documentation."""
    difference = y - x
    n = len(difference)
    variance = difference.var(ddof=1) * (1 / n + 1 / (n / runs - 1))
    distribution = stats.t(n - 1, difference.mean(), variance**0.5)
    left, right = distribution.cdf(-rope), distribution.sf(rope)
    return left, 1 - left - right, right


def test_the_numbers_of_baycomps_guide():
    x, y = scores("nbc", "sonar"), scores("aode", "sonar")
    keys = ["p_better", "p_rope", "p_worse"]
    plain = correlated_t(x, y, n_folds=10)[keys]
    np.testing.assert_allclose(plain, [0.024471493163386815, 0, 0.97552850683661319], atol=1e-12)
    rope = correlated_t(x, y, n_folds=10, rope=0.5)[keys]
    published = [0.0023685180162288377, 0.13517773046085313, 0.86245375152291803]
    np.testing.assert_allclose(rope, published, atol=1e-12)


@pytest.mark.parametrize("pair", [("nbc", "j48"), ("hnb", "j48gr"), ("aode", "hnb")])
@pytest.mark.parametrize("data_set", ["sonar", "iris"])
def test_every_data_set_agrees(pair, data_set):
    x, y = (scores(name, data_set) for name in pair)
    result = correlated_t(x, y, n_folds=10, rope=1.0)
    expected = two_on_single(x, y, 1.0, 10)
    np.testing.assert_allclose(result[["p_better", "p_rope", "p_worse"]], expected, atol=1e-10)


def test_the_loss_is_the_mean_shortfall():
    distribution = StudentT(0.3, 0.5, 7)
    expected, _ = integrate.quad(lambda x: -x * stats.t.pdf(x, 7, 0.3, 0.5), -80, 0)
    assert distribution.expected_loss() == pytest.approx(expected, abs=1e-8)
    assert distribution.sd() == pytest.approx(stats.t.std(7, 0.3, 0.5))


@pytest.mark.parametrize("difference", [0.02, 0.0, -0.02])
def test_folds_that_all_agree_leave_no_doubt(difference):
    """As baycomp has it: no difference in any fold is half for each, unless there is a rope."""
    inputs = np.full(10, 0.5 + difference), np.full(10, 0.5)
    with (
        pytest.warns(UserWarning, match="The scores differ by the same number on")
        if difference
        else nullcontext()
    ):
        result = correlated_t(*inputs, n_folds=10)
        within = correlated_t(*inputs, n_folds=10, rope=0.01)["p_rope"]
    half = 0.5 * (difference == 0)
    expected = [(difference > 0) + half, 0, (difference < 0) + half]
    assert result[["p_better", "p_rope", "p_worse"]].tolist() == expected
    assert result["sd"] == 0
    assert within == (difference == 0)


BAD = {
    "length": (([1.0, 2], [1.0, 2, 3]), {"n_folds": 2}, "The scores must be two arrays of equal"),
    "repeats": (
        ([1.0, 2, 3], [1.0, 2, 4]),
        {"n_folds": 2},
        "The number of scores is not a multiple",
    ),
    "one fold": (([1.0, 2], [1.0, 3]), {"n_folds": 1}, "The number of scores is not a multiple"),
    "negative rope": (
        ([1.0, 2], [1.0, 3]),
        {"n_folds": 2, "rope": -0.1},
        "The rope must be a number",
    ),
    "reversed": (
        ([1.0, 2], [1.0, 3]),
        {"n_folds": 2, "rope": (0.1, -0.1)},
        "The rope must be a number",
    ),
    "beside": (([1.0, 2], [1.0, 3]), {"n_folds": 2, "rope": (0.1, 0.2)}, "The rope must contain"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    inputs, keywords, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        correlated_t(*inputs, **keywords)


def test_rho_is_a_correlation():
    with pytest.raises(ValueError, match="rho must be a correlation"):
        mean_difference([1.0, 2.0], 1.0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 7])
@pytest.mark.parametrize("which", ["first", "second"])
def test_the_correlated_t_leaves_out_no_fold(value, place, which):
    scores = {"first": np.linspace(0.7, 0.9, 10), "second": np.linspace(0.75, 0.85, 10)}
    scores[which][place] = value
    with pytest.raises(
        ValueError, match=f"The {which} scores have no finite value in fold {place}"
    ):
        correlated_t(**scores, n_folds=5)

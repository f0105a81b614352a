"""What numpy would turn into something else is refused for what it is, by every door."""

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import bayescm as bcm
from bayescm import classical
from bayescm.cli import main
from bayescm.evidence.labels import MISSING_TEXTS
from bayescm.online import forecast_table
from bayescm.validate import check_reals

TRUTH = [0, 1, 0, 1, 1, 0, 1, 0]
NUMBERS = [0.21, 0.64, 0.05, 0.88, 0.43, 0.52, 0.97, 0.31]
DECIDED = [each > 0.5 for each in NUMBERS]
DAYS = [datetime.date(2024, 2, 1 + each % 2) for each in TRUTH]

NO_NUMBERS = {
    "a list of booleans": (DECIDED, "booleans"),
    "an array of booleans": (np.array(DECIDED), "booleans"),
    "nullable booleans": (pd.array(DECIDED, "boolean"), "booleans"),
    "one boolean among numbers": ([*NUMBERS[:-1], True], "booleans"),
    "booleans as objects": (np.array([*NUMBERS[:-1], False], object), "booleans"),
    "a list of texts": ([str(each) for each in NUMBERS], "strings"),
    "one text among numbers": ([*NUMBERS[:-1], "0.31"], "strings"),
    "a column of texts": (pd.Series(NUMBERS).astype(str), "strings"),
    "bytes": (np.array(NUMBERS).astype("S"), "strings"),
    "dates": (pd.date_range("2024-02-01", periods=8), "dates"),
    "dates as objects": (DAYS, "dates"),
    "durations": (np.arange(8).astype("m8[h]"), "dates"),
    "complex numbers": (np.array(NUMBERS) + 0j, "complex numbers"),
}
OF_NUMBERS = {
    "from_scores": lambda values: bcm.from_scores(TRUTH, values),
    "a mapping to from_scores": lambda values: bcm.from_scores(TRUTH, {"a": values, "b": NUMBERS}),
    "from_probabilities": lambda values: bcm.from_probabilities(TRUTH, values),
    "forecast_table": lambda values: forecast_table(TRUTH, values),
    "correlated_t": lambda values: classical.correlated_t(NUMBERS, values, n_folds=4),
    "from_results": lambda values: bcm.from_results(
        pd.DataFrame(
            {"data_set": list("aaaabbbb"), "classifier": "x", "fold": [1, 2, 3, 4] * 2}
        ).assign(score=values)
    ),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize("door", OF_NUMBERS)
def test_what_is_no_number_is_no_score(door, kind):
    values, name = NO_NUMBERS[kind]
    if door == "from_results" and kind in ("bytes", "dates as objects"):
        name = "(strings|dates)|A table of results needs columns"
    with pytest.raises((TypeError, ValueError), match=f"must be numbers, not {name}|not a table"):
        OF_NUMBERS[door](values)
    OF_NUMBERS[door](NUMBERS)


@pytest.mark.parametrize(
    "values", [NUMBERS, np.float32(NUMBERS), [0, 1, 1, 0], pd.array([0.5, 1], "Float64"), [2**53]]
)
def test_numbers_pass_as_they_are(values):
    np.testing.assert_array_equal(check_reals(values, "x", ""), np.asarray(values, float))


def test_a_table_of_probabilities_with_a_column_of_booleans():
    table = pd.DataFrame({"a": NUMBERS[:3], "b": [1 - each for each in NUMBERS[:3]]})
    bcm.from_probabilities(["a", "b", "c"], table.assign(c=0.0))
    with pytest.raises(TypeError, match="probabilities must be numbers, not booleans"):
        bcm.from_probabilities(["a", "b", "c"], table.assign(c=False))


def test_thresholds_weights_and_prevalences_are_numbers():
    evidence = bcm.from_probabilities(TRUTH, NUMBERS)
    with pytest.raises(ValueError, match="a threshold must be a probability"):
        bcm.curves.decision_curve(evidence, thresholds=["0.3", "0.6"])
    with pytest.raises(TypeError, match="A weight must be a number"):
        bcm.from_predictions(TRUTH, TRUTH, weights=pd.Series(["1", "2"] * 4))
    three = bcm.from_matrix(np.eye(3, dtype=int) * 9, labels=list("abc"))
    with pytest.raises(TypeError, match="must be numbers, not strings"):
        bcm.at_prevalence(three, {"a": "0.5", "b": "0.3", "c": "0.2"})


@pytest.mark.parametrize("number", [2**53 + 1, 2**60 + 3, -(2**53) - 1])
def test_whole_numbers_that_a_float_rounds(number):
    with pytest.raises(ValueError, match="scores are too large"):
        bcm.from_scores(TRUTH, np.array([number, number - 1, *range(6)]))
    bcm.from_scores(TRUTH, [number // 2 * 2.0, *NUMBERS[1:]])  # as a float nothing is lost
    with pytest.raises(ValueError, match="which does not store all whole numbers exactly"):
        bcm.from_predictions([float(number), *TRUTH[1:]], [number, *TRUTH[1:]])
    with pytest.raises(ValueError, match="which does not store all whole numbers exactly"):
        bcm.from_predictions(TRUTH, np.array([float(number), *TRUTH[1:]]))
    with pytest.raises(ValueError, match="which does not store all whole numbers exactly"):
        bcm.from_scores([float(number), *TRUTH[1:]], NUMBERS, positive=1)
    columns = {"ann": [number, *TRUTH[1:]], "bob": [float(number), *TRUTH[1:]]}
    with pytest.raises(ValueError, match="which does not store all whole numbers exactly"):
        bcm.raters.agreement(columns)
    for labels in ([number, *TRUTH[1:]], pd.array([number, *TRUTH[1:]], "Int64")):
        assert number in bcm.from_predictions(labels, labels)["actual"].values.tolist()


def test_a_label_as_a_short_float():
    with pytest.raises(ValueError, match="16777216 or more as float32"):
        bcm.from_predictions(TRUTH, np.float32([2**24 + 1, *TRUTH[1:]]))


def test_answers_that_are_whole_numbers_are_compared_exactly():
    large = 2**53
    table = pd.DataFrame({"first": [large + 1, 3], "second": [large, 4], "third": [0.5, 3.0]})
    found = bcm.from_attempts(table, truth=[large, 3])
    np.testing.assert_array_equal(found["correct"].values, [[0, 1, 0], [1, 0, 1]])
    with pytest.raises(ValueError, match="Answers and truth mix whole numbers and floats"):
        bcm.from_attempts([[large + 3, 5], [1, 2]], truth=[float(large + 4), 1])
    with pytest.raises(ValueError, match="If answers are graded, name the grades"):
        bcm.from_attempts(pd.DataFrame([["1", "0"], ["1", "nan"]]))


def _judged(gone):
    return bcm.from_partly_labelled(gone * 5 + [None], [*"aab"] * 5 + ["a"], positive="b")


OF_LABELS = {
    "from_predictions": lambda gone: bcm.from_predictions(gone, gone),
    "from_classifiers": lambda gone: bcm.from_classifiers(["a", "b", "a"], {"x": gone}),
    "from_scores": lambda gone: bcm.from_scores(gone, np.full((3, 3), 1 / 3)),
    "from_probabilities": lambda gone: bcm.from_probabilities(gone, np.full((3, 3), 1 / 3)),
    "from_frame": lambda gone: bcm.from_frame({"actual": gone, "predicted": gone}),
    "from_partly_labelled": _judged,
    "judge": lambda gone: bcm.from_partly_labelled([*"aba"] * 5, [*"aab"] * 5, gone * 5),
    "from_raters": lambda gone: bcm.from_raters(dict.fromkeys("wxyz", gone * 4)),
    "classification_report": lambda gone: bcm.classification_report(gone, gone),
    "forecast_table": lambda gone: forecast_table(gone[1:], NUMBERS[:2], positive="b"),
    "cross_confusion": lambda gone: bcm.cross_confusion(
        GaussianNB(), np.array(NUMBERS + NUMBERS[:4])[:, None], gone * 4, 2
    ),
}
OF_SLICES = {
    "by": lambda gone: bcm.from_predictions([0, 1, 1], [0, 1, 0], by={"site": gone}),
    "group of scores": lambda gone: bcm.from_scores(
        [0, 1] * 3, NUMBERS[:6], by={"group": gone * 2}
    ),
    "group of raters": lambda gone: bcm.from_raters(
        {name: [0, 1, 1] for name in "wxyz"}, group=gone
    ),
    "groups of a cross-validation": lambda gone: bcm.cross_confusion(
        GaussianNB(), np.array(NUMBERS[:6])[:, None], TRUTH[:6], 2, groups=gone * 2
    ),
    "item": lambda gone: bcm.from_attempts([1, 0, 1], item=gone),
    "group of items": lambda gone: bcm.from_attempts([1, 0, 1], item=[1, 2, 3], group=gone),
    "design": lambda gone: bcm.from_partly_labelled([0, 1, 1], [0, 1, 1], design=gone),
}


@pytest.mark.filterwarnings("ignore:The judge:UserWarning")
@pytest.mark.parametrize("text", MISSING_TEXTS)
@pytest.mark.parametrize("door", [*OF_LABELS, *OF_SLICES])
def test_a_missing_value_that_became_text_is_named(door, text):
    with pytest.raises(ValueError, match=rf"The text '{text}' in .* looks like a missing value"):
        {**OF_LABELS, **OF_SLICES}[door](["a", "b", text])


def test_numpy_and_pandas_write_these_texts():
    assert np.array(["a", np.nan])[1] == MISSING_TEXTS[0]
    assert str(pd.NaT) == MISSING_TEXTS[1]
    assert str(pd.NA) == MISSING_TEXTS[2]


def test_a_class_of_that_name_is_taken_where_it_is_named():
    labels = ["a", "nan", "a", "b"]
    counts = bcm.from_predictions(labels, labels, labels=["a", "b", "nan"])
    assert counts["actual"].values.tolist() == ["a", "b", "nan"]
    counts = bcm.from_predictions(["a", "b", "a", "b"], labels, abstain="nan")
    assert counts["abstain"].item() == "nan"
    # Classes are named by these words, which mean something else to pandas.read_csv.
    assert bcm.from_predictions(["NA", "None"], ["NA", "None"]).shape == (2, 2)
    with pytest.warns(UserWarning, match="1 of 4 answers are the text 'nan'"):
        found = bcm.from_attempts([["4", "nan"], ["7", "7"]], truth=["4", "7"])
    assert found["correct"].values.tolist() == [[1, 0], [1, 1]]


OF_DATES = {
    "objects": DAYS,
    **{unit: np.array(DAYS, f"M8[{unit}]") for unit in ("D", "s", "us", "ns")},
    "with a zone": pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC"),
    "periods": pd.PeriodIndex(DAYS, freq="D"),
    "categorical": pd.Categorical(np.array(DAYS, "M8[ns]")),
    "durations": np.array(TRUTH, "m8[D]"),
}


@pytest.mark.parametrize("kind", OF_DATES)
def test_dates_are_refused_for_what_they_are(kind):
    dates = OF_DATES[kind]
    for door in (
        lambda: bcm.from_predictions(dates, dates),
        lambda: bcm.from_classifiers(dates, {"a": dates, "b": dates}),
        lambda: bcm.from_scores(dates, NUMBERS),
        lambda: bcm.from_raters(dict.fromkeys("wxyz", dates)),
        lambda: bcm.from_partly_labelled(dates, dates),
        lambda: bcm.from_partly_labelled(TRUTH, TRUTH, judge=dates),
        lambda: bcm.from_matrix([[3, 1], [2, 4]], labels=list(pd.unique(pd.Series(dates)))),
        lambda: forecast_table(dates, NUMBERS),
        lambda: bcm.cross_confusion(GaussianNB(), np.array(NUMBERS)[:, None], dates, 2),
    ):
        with pytest.raises(ValueError, match="are dates"):
            door()


def test_labels_of_one_type_that_is_none_of_labels_are_not_called_mixed():
    with pytest.raises(ValueError, match="The labels have the type float"):
        bcm.from_matrix([[3, 1], [2, 4]], labels=[0.5, 1.5])
    with pytest.raises(ValueError, match="mixed types"):
        bcm.from_matrix([[3, 1], [2, 4]], labels=["a", 1])


def test_slices_by_date_keep_their_dates():
    days = np.array(DAYS, "M8[ns]")
    counts = bcm.from_predictions(TRUTH, TRUTH, by={"step": days})
    np.testing.assert_array_equal(counts["step"].values, np.unique(days))


def test_scores_of_a_judge_as_texts():
    texts = [f"{each:.2f}" for each in NUMBERS]
    with pytest.raises(ValueError, match="The values of judge are scores stored as text"):
        bcm.from_partly_labelled(TRUTH, TRUTH, judge=texts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    frame = pd.DataFrame({"actual": TRUTH, "predicted": TRUTH, "score": NUMBERS, "yes": DECIDED})
    frame["day"] = np.array(DAYS, "M8[us]")
    frame["large"] = [2**53 + 1, *range(7)]
    frame["word"] = ["nan", *"abababa"]
    frame["gaps"] = pd.Series(DECIDED).astype(object).where(frame["score"] > 0.1)
    frame["mixed"] = ["True", *NUMBERS[1:]]
    frame["text"] = frame["score"].astype(str)
    frame["right"], frame["item"] = DECIDED, np.arange(8) // 2
    frame.drop(columns="text").to_csv(folder / "a.csv", index=False)
    frame.drop(columns=["gaps", "mixed"]).to_parquet(folder / "a.parquet")
    return folder


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("curve a.csv --score yes", "scores must be numbers, not booleans"),
        ("curve a.csv --score gaps", "scores must be numbers, not booleans"),
        ("curve a.csv --score mixed", "text where a number belongs: 'True'"),
        ("curve a.csv --score day", "text where a number belongs: '2024-02-0"),
        ("curve a.csv --score large", "scores are too large: 9007199254740993"),
        ("curve a.parquet --score yes", "scores must be numbers, not booleans"),
        ("curve a.parquet --score text", "scores must be numbers, not strings"),
        ("curve a.parquet --score day", "scores must be numbers, not dates"),
        ("calibration a.csv --probability yes", "probabilities must be numbers, not booleans"),
        ("summary a.csv --weights yes", "A weight must be a number"),
        ("summary a.csv --actual word --predicted word", "The text 'nan' in"),
        ("summary a.csv --group word", "The text 'nan' in"),
        ("summary a.parquet --actual day --predicted day", "labels are dates"),
        ("curve a.csv --actual word --score score --positive a", "The text 'nan' in"),
    ],
)
def test_the_command_line_says_so_too(folder, monkeypatch, capsys, command, message):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as left:
        main(command.split())
    assert left.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "curve a.csv --score score",
        "curve a.parquet --score score",
        "attempts a.csv --correct right",
    ],
)
def test_columns_of_numbers_in_files_stay_numbers(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as left:
        main(command.split())
    assert left.value.code == 0

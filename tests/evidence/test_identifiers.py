"""Columns that name or number the rows are no data, in every constructor that takes a table."""

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm import classical
from bayescm.evidence.identifiers import long_form

RNG = np.random.default_rng(11)
SIZE = 12
SCORES = pd.DataFrame(RNG.random((SIZE, 3)).round(2), columns=["a", "b", "c"])
RATED = pd.DataFrame(RNG.integers(0, 3, (SIZE, 4)), columns=["ann", "bob", "eve", "llm"])
NUMBERS = RNG.permutation(SIZE) + 1  # numbers the rows in another order
IDS = 1000 + 7 * NUMBERS  # names the rows with gaps between
FINDINGS = pd.DataFrame(RNG.integers(0, 2, (SIZE, 3)), columns=["x", "y", "z"])
PREDICTIONS = RATED.assign(**{"llm": RATED["ann"]})


def results(frame):
    long = frame.assign(data_set="iris").melt("data_set", var_name="classifier", value_name="f1")
    return long.assign(fold=np.tile(np.arange(SIZE), len(frame.columns)))


def wide_results(frame):
    return frame.assign(data_set=np.repeat(["iris", "wine"], SIZE // 2), fold=[*range(6)] * 2)


CALLS = {
    "friedman": (classical.friedman, SCORES),
    "nemenyi": (classical.nemenyi, SCORES),
    "signed_rank": (classical.signed_rank, SCORES),
    "from_item_scores": (bcm.from_item_scores, SCORES),
    "from_raters": (bcm.from_raters, RATED),
    "agreement": (bcm.raters.agreement, RATED),
    "from_attempts": (bcm.from_attempts, FINDINGS),
    "from_attempts, graded": (lambda f: bcm.from_attempts(f, passing=[1]), FINDINGS),
    "from_multilabel": (lambda f: bcm.from_multilabel(f, f), FINDINGS),
    "from_classifiers": (
        lambda f: bcm.from_classifiers(RATED["ann"], f, labels=range(2000)),
        PREDICTIONS,
    ),
    "from_results": (lambda f: bcm.from_results(wide_results(f)), SCORES),
}
OF_ITEMS = (
    "from_item_scores",
    "from_raters",
    "agreement",
    "from_attempts",
    "from_attempts, graded",
)
OF_DATA_SETS = ("friedman", "nemenyi", "signed_rank")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_a_column_that_numbers_the_rows_is_rejected(name):
    call, frame = CALLS[name]
    call(frame)  # which works without it
    for place in (0, len(frame.columns)):
        wrong = frame.copy()
        wrong.insert(place, "weekday", NUMBERS)
        if name != "from_multilabel":
            with pytest.raises(ValueError, match=r"'weekday' numbers the rows|neither right"):
                call(wrong)


NAMES = [(name, "id") for name in CALLS] + [(name, "Unnamed: 0") for name in CALLS]
NAMES += [(name, "question") for name in OF_ITEMS] + [(name, "Item ID") for name in OF_ITEMS]
NAMES += [(name, "data_set") for name in OF_DATA_SETS] + [(name, "task") for name in OF_DATA_SETS]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "column"), NAMES)
def test_a_column_that_names_the_rows_is_rejected(name, column):
    call, frame = CALLS[name]
    for values in (IDS, IDS.astype(float)):
        with pytest.raises(ValueError, match=f"{column}.* seems to identify the rows"):
            call(frame.assign(**{column: values}))
    pl = pytest.importorskip("polars")
    if name != "from_results":
        with pytest.raises(ValueError, match=f"{column}.* seems to identify the rows"):
            call(pl.from_pandas(frame.assign(**{column: IDS})))


@pytest.mark.filterwarnings("ignore")
def test_numbers_that_name_nothing_are_data():
    marks = pd.DataFrame({"image": [1, 0, 1, 1], "text": [0, 1, 1, 0]})
    assert bcm.from_item_scores(marks).sizes["classifier"] == 2
    counted = pd.DataFrame({"a": [3, 1, 2], "b": [0, 2, 1], "c": [1, 0, 2]})  # 0, 1, 2 by chance
    assert bcm.from_raters(counted).sizes["classifier"] == 3


# The long form


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", [("task", "worker", "label"), ("Item", "annotator_id", "rating")])
def test_labels_in_rows(names):
    item, rater, label = names
    rows = RATED.reset_index().melt("index", var_name=rater, value_name=label)
    rows = rows.rename(columns={"index": item}).sample(frac=1, random_state=3)
    found = bcm.raters.agreement(rows, ["fleiss_kappa", "krippendorff_alpha"], pairs=False)
    known = bcm.raters.agreement(RATED, ["fleiss_kappa", "krippendorff_alpha"], pairs=False)
    np.testing.assert_allclose(found["point"], known["point"])
    pl = pytest.importorskip("polars")
    assert dict(bcm.from_raters(pl.from_pandas(rows)).sizes) == dict(bcm.from_raters(RATED).sizes)


@pytest.mark.filterwarnings("ignore")
def test_labels_in_rows_have_gaps_repetitions_and_a_truth_by_item():
    rows = pd.DataFrame(
        [("p", "ann", 1), ("p", "bob", 1), ("q", "ann", 0), ("r", "bob", 0), ("q", "ann", 1),
         ("r", "eve", 0), ("p", "eve", 0)],
        columns=["item", "rater", "label"],
    )  # fmt: skip
    found = bcm.from_raters(rows, gold={"q": 1, "p": 1})
    assert found["votes"].dot(found["counts"]).sum() == len(rows)
    by_example = found.isel(pattern=found["pattern_of"].values)
    assert by_example["gold"].values.tolist() == [1, 1, -1]
    assert by_example["votes"].sel(classifier="ann").values.tolist() == [[0, 1], [1, 1], [0, 0]]
    with pytest.raises(ValueError, match="gold must be labelled by item"):
        bcm.from_raters(rows, gold=[1] * 7)


def test_answers_in_rows():
    frame = pd.DataFrame({"item": [0, 0, 1, 1], "correct": [1, 0, 1, 1]})
    assert bcm.summary(bcm.from_attempts(frame), "mean")["point"].item() == 0.75
    told = frame.assign(model=["u", "v"] * 2).rename(columns={"item": "question"})
    both = bcm.from_attempts(told)
    assert dict(both.sizes) == {"classifier": 2, "item": 2, "attempt": 1}
    assert both.equals(bcm.from_attempts(told, item="question", system="model", correct="correct"))
    with pytest.raises(ValueError, match=r"'item' seems to identify the rows.*item='item'"):
        bcm.from_attempts(frame.rename(columns={"correct": "outcome"}))


def test_scores_in_rows():
    rows = SCORES.reset_index(names="query").melt("query", var_name="system", value_name="score")
    wide = bcm.from_item_scores(SCORES)
    assert (bcm.from_item_scores(rows)["item_score"].values == wide["item_score"].values).all()


def test_results_in_rows():
    rows = SCORES.reset_index(names="data_set").melt(
        "data_set", var_name="classifier", value_name="score"
    )
    pd.testing.assert_frame_equal(classical.friedman(rows), classical.friedman(SCORES))
    with pytest.raises(ValueError, match="A classifier has several scores on one data"):
        classical.nemenyi(pd.concat([rows, rows]))


def test_a_row_of_means_is_no_item():
    table = SCORES.set_axis([f"q{i}" for i in range(SIZE)]).round(4)
    bcm.from_item_scores(table)
    for name, row in {"all": table.mean().round(4), "Total": table.sum()}.items():
        with pytest.raises(ValueError, match=f"Item '{name}' is the .* of the other items"):
            bcm.from_item_scores(pd.concat([table, row.to_frame(name).T]))
    other = pd.concat([table, (table.mean() + 0.2).to_frame("all").T])
    assert bcm.from_item_scores(other).sizes["item"] == SIZE + 1


def test_item_counts_of_two_systems_go_by_their_items():
    first = pd.DataFrame({"image": list("pqr"), "tp": [3, 0, 5], "fp": [1, 0, 2], "fn": [0, 2, 1]})
    found = bcm.from_item_counts({"a": first, "b": first})
    assert found["item"].values.tolist() == list("pqr")
    with pytest.raises(ValueError, match="b and a have different items"):
        bcm.from_item_counts({"a": first, "b": first[::-1].reset_index(drop=True)})


def test_a_long_form_needs_all_of_its_columns():
    frame = pd.DataFrame(columns=["task", "worker", "label", "seconds"])
    assert long_form(frame, ["item", "rater", "label"]) is None
    assert long_form(frame[["task", "worker"]], ["item", "rater", "label"]) is None
    assert long_form(frame[["task", "worker", "label"]].assign(item=1), ["item", "rater"]) is None

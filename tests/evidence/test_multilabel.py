"""Several labels for each example: the door, its tables, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import sparse

import bayescm as bcm

ACTUAL = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
PREDICTED = np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 0, 0]])
NAMES = ["cat", "dog", "eel"]


def sets(table):
    return [{NAMES[place] for place in np.flatnonzero(row)} for row in table]


def test_every_door_gives_the_same_evidence():
    named = bcm.from_multilabel(ACTUAL, PREDICTED, labels=NAMES)
    actual, predicted = (pd.DataFrame(x, columns=NAMES) for x in (ACTUAL, PREDICTED))
    for other in (
        bcm.from_multilabel(actual, predicted),
        bcm.from_multilabel(actual, predicted[NAMES[::-1]]),  # matched by name
        bcm.from_multilabel(actual, PREDICTED.astype(bool)),
        bcm.from_multilabel(sets(ACTUAL), sets(PREDICTED)),
        bcm.from_multilabel([sorted(x) for x in sets(ACTUAL)], sets(PREDICTED)),
        bcm.from_multilabel(sparse.csr_array(ACTUAL), PREDICTED.astype(float), labels=NAMES),
        bcm.from_multilabel(ACTUAL.tolist(), PREDICTED.tolist(), labels=NAMES),
    ):
        xr.testing.assert_identical(other, named)
    both = bcm.from_multilabel(ACTUAL, {"a": PREDICTED, "b": ACTUAL})
    assert both["predicted"].dims == ("classifier", "example", "label")
    assert both["label"].values.tolist() == [0, 1, 2]


def test_labels_of_sets_may_be_more_than_occur():
    evidence = bcm.from_multilabel(sets(ACTUAL), sets(PREDICTED), labels=["yak", *NAMES])
    assert evidence["label"].values.tolist() == ["yak", *NAMES]
    assert not evidence["actual"].values[:, 0].any()


@pytest.mark.parametrize(
    ("actual", "predicted", "keywords", "words"),
    [
        (ACTUAL, PREDICTED[:3], {}, "The columns have different lengths"),
        (ACTUAL, PREDICTED[:, :2], {}, "The tables have different numbers of labels"),
        (ACTUAL, PREDICTED * 0.7, {}, "Indicators in predicted"),
        (ACTUAL, np.where(PREDICTED, 1, np.nan), {}, "missing indicators"),
        (ACTUAL, sets(PREDICTED), {}, "Indicators and sets of labels cannot be combined"),
        ([0, 1, 2], [0, 1, 1], {}, "from_predictions"),
        (["cat", "dog"], ["cat", "cat"], {}, "from_predictions"),
        ([[0, 1], [1, 0]], [[0, 1], [0, 1]], {}, "The values of actual"),
        (sets(ACTUAL), sets(PREDICTED), {"labels": ["cat", "dog"]}, "unknown label.*eel"),
        (ACTUAL, PREDICTED, {"labels": ["cat", "dog"]}, "labels are needed, one per column"),
        (ACTUAL, PREDICTED, {"labels": ["cat", "cat", "dog"]}, "occurs twice"),
        (ACTUAL, {}, {}, "No systems"),
        (ACTUAL, PREDICTED, {"group": [1, 2]}, "The columns have different lengths"),
        (ACTUAL, PREDICTED, {"by": {"label": [1, 2, 1, 2]}}, "The dimension name"),
    ],
)
def test_what_is_refused(actual, predicted, keywords, words):
    with pytest.raises((ValueError, TypeError), match=words):
        bcm.from_multilabel(actual, predicted, **keywords)


def test_columns_of_other_labels_are_refused():
    table = pd.DataFrame(PREDICTED, columns=["cat", "dog", "elk"])
    with pytest.raises(ValueError, match="predicted has a column"):
        bcm.from_multilabel(pd.DataFrame(ACTUAL, columns=NAMES), table)


TAGS = [["B-PER", "I-PER", "O"], ["O", "O", "B-LOC"]]


@pytest.mark.parametrize(
    ("actual", "predicted"),
    [
        (TAGS, TAGS),
        ([["DET", "NOUN", "DET"]], [["DET", "NOUN", "NOUN"]]),
        ([("DET", "NOUN")], [("DET", "DET")]),
        ([["B-PER", "O"], ["O"]], [["O"], ["B-PER", "O"]]),
        ([set(tags) for tags in TAGS], [set(tags) for tags in TAGS]),
    ],
)
def test_tags_of_words_are_for_item_counts(actual, predicted):
    with pytest.raises(ValueError, match="from_item_counts"):
        bcm.from_multilabel(actual, predicted)
    with pytest.raises(ValueError, match="from_item_counts"):
        bcm.from_multilabel(actual, {"a": predicted, "b": predicted})


def test_lists_as_text_are_to_be_parsed():
    with pytest.raises(TypeError, match=r"Parse the texts of actual first: \[json.loads"):
        bcm.from_multilabel(['["cat", "dog"]'], ['["cat"]'])


def test_tables_of_polars_are_matched_by_their_columns():
    pl = pytest.importorskip("polars")
    truth = pl.DataFrame({"x": [1, 0], "y": [0, 1]})
    evidence = bcm.from_multilabel(truth, pl.DataFrame({"y": [0, 1], "x": [1, 0]}))
    assert (evidence["actual"] == evidence["predicted"]).all()

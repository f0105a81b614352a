"""A ledger with batches of every type that an earlier version wrote, and what it concluded."""

import json
import math
import warnings

import pytest
import specimen_ledger
from specimen_ledger import BATCHES, FIGURES, SAMPLED, day_name

from bayescm import online
from bayescm.online.encoding import describe, encode

RECORDED = json.loads(FIGURES.read_text(encoding="utf-8"))
# Those that take more than some seconds.
LONG = (*SAMPLED, "counts")
EACH = [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in BATCHES]
# Ends of intervals are integrals, which are good to 1e-4 of the length. The values that alarms are
# raised by are more accurate; some are tail probabilities near 1e-7.
TOLERANCE, OF_INTERVALS = 1e-6, 1e-4
_OF_ALARMS = ("alarms/value", "alarms/threshold")


def differences(found, recorded, path=""):
    """Return the paths at which two nested figures differ."""
    if isinstance(recorded, dict):
        if not isinstance(found, dict) or set(found) != set(recorded):
            return [f"{path}: {sorted(set(found) ^ set(recorded))}"]
        return [
            text
            for key in recorded
            for text in differences(found[key], recorded[key], f"{path}/{key}")
        ]
    if isinstance(recorded, list):
        if len(found) != len(recorded):
            return [f"{path}: {len(found)} values, {len(recorded)} were recorded"]
        pairs = enumerate(zip(found, recorded, strict=True))
        return [text for at, pair in pairs for text in differences(*pair, f"{path}[{at}]")]
    if isinstance(recorded, float) and isinstance(found, int | float):
        is_same = math.isclose(found, recorded, rel_tol=OF_INTERVALS, abs_tol=1e-5)
        if any(column in path for column in _OF_ALARMS):
            is_same = math.isclose(found, recorded, rel_tol=TOLERANCE)
        both_unknown = found != found and recorded != recorded
        is_numerical = "/error" in path  # the numerical error itself
        return [] if is_same or both_unknown or is_numerical else [f"{path}: {found}, {recorded}"]
    return [] if found == recorded else [f"{path}: {found!r}, {recorded!r}"]


def plain(value):
    """Return figures as they are in the file."""
    return json.loads(json.dumps(value))


def test_a_difference_is_noticed():
    recorded = RECORDED["marks: concluded"]
    changed = json.loads(json.dumps(recorded))
    changed["alarms"]["value"][0] *= 1 + 1e-5
    assert not differences(recorded, recorded)
    assert [text.split(":")[0] for text in differences(changed, recorded)] == ["/alarms/value[0]"]


# Conclusions of each type have quick tests of their own.
QUICK = ("two classes", "probabilities", "marks")
OF_EACH = [
    pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long]) for name in BATCHES
]


@pytest.mark.long
@pytest.mark.parametrize("name", OF_EACH)
def test_conclusions_are_those_that_were_recorded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plain(specimen_ledger.concluded(name))
    assert not differences(found, RECORDED[f"{name}: concluded"])


@pytest.mark.long
@pytest.mark.parametrize("name", EACH)
def test_a_saved_monitor_is_continued(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plain(specimen_ledger.continued(name))
    assert not differences(found, RECORDED[f"{name}: continued"])


@pytest.mark.long
@pytest.mark.parametrize("name", BATCHES)
def test_the_text_of_a_batch_is_the_recorded_text(name):
    with specimen_ledger.ledger() as store, online.Monitor(store, name) as monitor:
        table = monitor.ledger.table().set_index(["classifier", "batch_id"])
        row = table.loc[(name, day_name(2))]
        first, batch = (
            monitor._as_table(BATCHES[name](day), monitor.labels(), may_be_empty=False)
            for day in (0, 2)
        )
        description = describe(name, first)
        assert description.text == row["labels"]
        assert encode(batch, description)["payload"] == row["cells"]


@pytest.mark.long
def test_checks_copies_and_sums_of_the_whole_ledger():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plain(specimen_ledger.whole_ledger())
    recorded = RECORDED["whole"]
    assert set(found["rolled up"]) == set(recorded["rolled up"])
    assert not differences(found, recorded)

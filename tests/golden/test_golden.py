"""Tests that every golden output is as recorded, and that known errors are unchanged."""

import copy

import golden_saved
import numpy as np
import pytest
import recorded
from golden_figures import TOLERANCE, differences, flatten
from golden_wrong import WRONG

import bayescm as bcm

_QUICK = 0.05  # seconds; slower outputs are marked long
# One saved ledger and one saved tree are always read.
_ALWAYS = {"ledgers: tags, continued", "trees: item scores"}


def _entries():
    for part in recorded.PARTS:
        for name, entry in recorded.load(part).items():
            id = f"{part}: {name}"
            is_quick = entry["seconds"] <= _QUICK or id in _ALWAYS
            yield pytest.param(
                part, name, entry, id=id, marks=[] if is_quick else [pytest.mark.long]
            )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("part", "name", "entry"), list(_entries()))
def test_the_output_is_as_recorded(part, name, entry):
    answer, kind = recorded.answers(part)[name]
    new = recorded.made(answer, kind)
    errors = entry.get("errors", {})
    changed = differences(entry["figures"], new["figures"], entry["class"], errors)
    assert not changed, "\n".join(changed[:20])


def test_a_saved_ledger_that_was_changed_is_noticed():
    text = golden_saved.LEDGER.read_text(encoding="utf-8")
    changed = text.replace('"score": [', '"score": [1.0, ', 1)
    assert changed != text
    with golden_saved.ledger(changed) as store:
        assert not bcm.online.verify(store)["whole"].all()


def test_everything_is_recorded():
    for part in recorded.PARTS:
        assert recorded.load(part).keys() == recorded.answers(part).keys()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_known_to_be_wrong(name):
    known = WRONG[name]
    off = np.abs(known.answer() - np.array(known.right)).max()
    assert off > known.within, f"right at last (off by {off:.1g}): record it, and take it out"


@pytest.mark.parametrize("kind", ["exact", "integrated", "sampled"])
def test_the_fence_sees_a_broken_number(kind):
    entry = next(
        each
        for part in ("calls", "commands")
        for each in recorded.load(part).values()
        if each["class"] == kind and (kind != "sampled" or each.get("errors"))
    )
    figures, errors = entry["figures"], entry.get("errors", {})
    assert not differences(figures, figures, kind, errors)
    path = next(iter(errors)) if errors else next(k for k, v in figures.items() if type(v) is list)
    for by, seen in ((0.5, False), (20, True)):
        broken = copy.deepcopy(figures)
        tolerance = TOLERANCE.get(kind, TOLERANCE["exact"])
        broken[path][0] += by * max(tolerance * broken[path][1], errors.get(path, 0))
        assert bool(differences(figures, broken, kind, errors)) is seen
    words = next(k for k, v in figures.items() if type(v) is str)
    assert differences(figures, figures | {words: "other"}, kind, errors)
    assert differences(figures, {k: v for k, v in figures.items() if k != path}, kind, errors)


def test_figures_in_texts_may_differ_by_their_last_digit_only():
    old, new, wrong = (flatten(f"recall {each} of 9 [a]") for each in ("0.123", "0.1235", "0.126"))
    assert not differences(old, new, "sampled", {})
    assert differences(old, wrong, "sampled", {})
    assert differences(old, flatten("precision 0.123 of 9 [a]"), "sampled", {})

"""pytest fixture that checks requirements on a classifier."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import bayescm as bcm
from bayescm.validate import fail

_CHOICES = ("fail", "skip", "pass")


@pytest.fixture
def bayescm_check() -> Callable:
    """
    Check requirements on a classifier, and let the test fail if one of them is not met.

    ``bayescm_check(evidence, requirements, unknown="fail", **keywords)`` has the parameters of
    `bayescm.check` and returns its table. The argument ``unknown`` determines what happens if no
    requirement failed, but the evidence is insufficient for a decision. By default the test fails;
    with ``"skip"`` it is skipped, and with ``"pass"`` it passes.
    """
    return _check


def _check(
    evidence: Any, requirements: str | Sequence[str], *, unknown: str = "fail", **keywords: Any
) -> Any:
    __tracebackhide__ = True
    if unknown not in _CHOICES:
        raise fail(
            '`unknown` must be "fail", "skip" or "pass"', unknown, "", 'pass e.g. `unknown="skip"`'
        )
    table = bcm.check(evidence, requirements, **keywords)
    outcomes = set(table["outcome"])
    text = "\n" + table.to_string(index=False, float_format="{:.4g}".format)
    if "failed" in outcomes or ("not yet known" in outcomes and unknown == "fail"):
        pytest.fail(text, pytrace=False)
    if "not yet known" in outcomes and unknown == "skip":
        pytest.skip(text)
    return table

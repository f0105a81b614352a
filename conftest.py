"""What holds for tests and for the examples in docstrings alike."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    """Leave no figure open, whichever test or example comes next in the same process."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")

"""What holds for tests and for the examples in docstrings alike."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    """Leave no figure and no colour of a name to whatever comes next in the same process."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
    if style := sys.modules.get("bayescm.plots.style"):
        style.numbers_of_names.clear()

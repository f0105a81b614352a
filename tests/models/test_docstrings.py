"""The docstrings of the model files have one form and name the estimands of the posteriors."""

import inspect
import re
import sys

import pytest

from bayescm import models, posteriors

SECTIONS = [
    "Parameters",
    "When to use it",
    "When not to use it",
    "Estimands",
    "Notes",
    "References",
]
# A posterior of several labels has the estimands of its weights, which depend on the evidence.
OF_ITS_WEIGHTS = {"multilabel": {"parameter", "population"}}


def docstring(name):
    return inspect.getdoc(sys.modules[getattr(models, name).__module__])


def section(text, heading):
    """Return the text below a heading, up to the next one."""
    return re.split(r"\n[^\n]+\n-{3,}\n", text.split(f"\n{heading}\n{'-' * len(heading)}\n")[1])[0]


def estimands(name):
    """Return the names of the estimands of the direct posterior."""
    if name in OF_ITS_WEIGHTS:
        return OF_ITS_WEIGHTS[name]
    function = getattr(posteriors, name)
    classes = vars(sys.modules[function.__module__])
    returned = str(function.__annotations__["return"]).split(" | ")[0].split(".")[-1].strip("'>")
    # Some functions return a base class in their annotation.
    own = "".join(word.capitalize() for word in name.split("_"))
    return set(classes[own if own in classes else returned].estimands)


@pytest.mark.parametrize("name", models.__all__)
def test_sections_come_in_one_order(name):
    text = docstring(name)
    assert re.findall(r"\n([^\n]+)\n-{3,}\n", text) == SECTIONS
    first, equations, *_ = text.split("\n\n.. math::\n")
    assert first.startswith("Model for ")
    assert len(first.split("\n\n")[0].splitlines()) == 1
    assert equations


@pytest.mark.parametrize("name", models.__all__)
def test_every_keyword_of_a_prior_is_in_the_table(name):
    table = section(docstring(name), "Parameters")
    parameters = inspect.signature(getattr(models, name)).parameters.values()
    keywords = {one.name for one in parameters if one.kind == one.KEYWORD_ONLY}
    design = {"halves", "smooth"} | ({"prevalence"} if name.endswith("_groups") else set())
    named = {word for code in re.findall(r"``([^`]+)``", table) for word in re.split(r"\W", code)}
    assert keywords - design - named == set()


@pytest.mark.parametrize("name", models.__all__)
def test_estimands_are_those_of_the_posterior(name):
    listed = set(re.findall(r'``(?:of=)?"(\w+)"``', section(docstring(name), "Estimands")))
    assert listed - {"group", "fold"} == estimands(name)

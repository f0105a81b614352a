"""The estimands that models have are those that the page on models says."""

import re
from pathlib import Path
from sys import modules

import pytest

from bayescm import posteriors
from bayescm.posteriors.base import CountsPosterior
from bayescm.posteriors.hierarchical_groups import HierarchicalGroups
from bayescm.posteriors.repeated_items import RepeatedItems

PAGE = Path(__file__).parents[2] / "docs" / "estimands.md"
WITHOUT_NEXT_TEST_SET = {"averaged_folds", "paired_folds"}


def posterior_classes():
    """Return the class that each function of the catalogue returns, by the name of the model."""
    classes = {}
    for name in posteriors.__all__:
        function = getattr(posteriors, name)
        annotation = function.__annotations__["return"]
        if isinstance(annotation, str):  # some functions return another class for summed batches
            annotation = annotation.split(" | ")[0]
        module = vars(modules[function.__module__])
        classes[name] = module[annotation] if isinstance(annotation, str) else annotation
    # Of one classifier, and of items without slices.
    return classes | {"hierarchical_groups": HierarchicalGroups, "repeated_items": RepeatedItems}


def models_on_page():
    """Return the models that the first table of estimands lists, by ``of``."""
    rows = re.findall(r'^\| `"(\w+)"` \|[^|]*\|([^|]*)\|$', PAGE.read_text(), re.MULTILINE)
    return {of: set(re.findall(r"`(\w+)`", models)) for of, models in rows}


@pytest.mark.parametrize("of", ["finite", "population", "typical", "new"])
def test_page_lists_the_models_that_answer(of):
    answering = {name for name, cls in posterior_classes().items() if of in cls.estimands}
    assert models_on_page()[of] == answering


def test_page_lists_the_models_of_counts_without_a_next_test_set():
    counts = {name for name, cls in posterior_classes().items() if issubclass(cls, CountsPosterior)}
    answering = {name for name in counts if "predictive" in posterior_classes()[name].estimands}
    assert counts - answering == WITHOUT_NEXT_TEST_SET == models_on_page()["predictive"]

"""Experiments on groups: what is drawn has the sizes of the setting, and truth is its own."""

import numpy as np
import pytest
from validation.groups import ITEMS, SITES, TYPICAL, groups_of_equal_size, items, sites

from bayescm.simulation import generator


@pytest.mark.parametrize("case", TYPICAL)
def test_groups_are_of_equal_size(case):
    counts, truth = groups_of_equal_size(generator(0, 0), *TYPICAL[case])
    assert counts.sizes["group"] == TYPICAL[case].groups
    np.testing.assert_array_equal(counts.sum(["actual", "predicted"]), TYPICAL[case].size)
    assert all(0 < value < 1 for value in truth.values())


@pytest.mark.long
def test_the_population_mean_is_that_of_very_many_groups():
    setting = SITES[3]._replace(sites=20_000)
    _, truth = sites(generator(0, 0), *setting)
    assert truth["recall, finite"] == pytest.approx(truth["recall, population"], abs=5e-3)
    assert abs(truth["recall, typical"] - truth["recall, population"]) > 5e-3
    _, truth = items(generator(0, 0), *ITEMS[1]._replace(items=100_000))
    assert truth["accuracy, finite"] == pytest.approx(truth["accuracy, population"], abs=5e-3)

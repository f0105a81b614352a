"""Every public function on every kind of evidence answers, or says in plain words why not."""

import os
import zlib

import every_call
import numpy as np
import pytest
from matplotlib import pyplot as plt

# BAYESCM_TEST_CALLS=300 tries so many of every function, on fits of every model too.
CALLS = int(os.environ.get("BAYESCM_TEST_CALLS", "0"))
FUNCTIONS = [*every_call.ALONE, *every_call.PLAIN, *every_call.ASKED]
SLOW = {*every_call.ASKED, "plan", "plot_plan", "plot_omega", "plot_folds"}


@pytest.fixture(scope="module")
def known():
    found = every_call.evidence()
    return found | every_call.fits(found, None if CALLS else {"fit"})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_call_answers_or_explains_itself(name, known):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    every = list(every_call.calls(known, name))
    number = min(CALLS or (1 if name in SLOW else 2), len(every))
    for place in rng.choice(len(every), number, replace=False):
        said, call, keywords = every[place]
        assert not every_call.trouble(call, keywords), said
        plt.close("all")


def test_the_sweep_tells_errors_of_the_package_from_those_of_others():
    def inside(data):
        return np.linalg.inv(np.zeros((2, 2)))

    def silent(data):
        return np.float64(0.0) / np.float64(0.0)

    assert "LinAlgError" in every_call.trouble((inside, None), {})
    assert "RuntimeWarning" in every_call.trouble((silent, None), {})
    assert every_call.trouble((lambda data: None, None), {}) == "no answer"
    assert not every_call.trouble((every_call.bcm.from_matrix, "counts.csv"), {})

"""What all tests share: where workers find the helpers, and seeds other than those written."""

import os
from pathlib import Path

import numpy as np
import pytest

# Processes that a test starts (of joblib, of Dask) unpickle functions of the helpers by name.
_PATH = [str(Path(__file__).parent / "support"), os.environ.get("PYTHONPATH")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, _PATH))

# BAYESCM_TEST_SEED=1 shifts every seed, of the tests and of the package: what only holds for the
# draws of one seed fails then.
SHIFT = int(os.environ.get("BAYESCM_TEST_SEED", "0"))
_ORIGINAL = np.random.default_rng, np.random.SeedSequence


def _shifted(seed):
    if isinstance(seed, int | np.integer):
        return int(seed) + SHIFT
    return [*map(int, seed), SHIFT] if isinstance(seed, list | tuple) else seed


class _Sequence(np.random.SeedSequence):
    def __init__(self, entropy=None, **keywords):
        super().__init__(_shifted(entropy), **keywords)


def _shift_seeds():
    np.random.default_rng = lambda seed=None: _ORIGINAL[0](_shifted(seed))
    np.random.SeedSequence = _Sequence


if SHIFT:
    _shift_seeds()


@pytest.fixture(autouse=bool(SHIFT))
def _seeds_as_written_in_doctests(request):
    """Docstrings print what the seeds written there give."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    np.random.default_rng, np.random.SeedSequence = _ORIGINAL
    yield
    _shift_seeds()

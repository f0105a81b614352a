"""What all tests share: where workers find the helpers, and seeds other than those written."""

import os
import sys
from pathlib import Path

import shifted_seeds  # noqa: F401
from hypothesis import settings

# The same examples on every machine; others by --hypothesis-profile default --hypothesis-seed 1.
settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")

# Processes that a test starts (of joblib, of Dask) unpickle functions of the helpers by name.
_PATH = [str(Path(__file__).parent / "support"), os.environ.get("PYTHONPATH")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, _PATH))

# Some machines forbid Python to keep compiled modules. Here that is most of the time: the suite
# starts some hundred processes, and to compile the modules of PyMC anew takes ten seconds in each.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A fit by NUTS of the size that tests make is compiled for longer than it samples: without LLVM's
# optimisation a model of five groups is compiled in 8 seconds, with it in 20, and sampled in 1.
os.environ.setdefault("NUMBA_OPT", "0")

"""What the quick commands load: a second is most of what they take."""

import json
import subprocess
import sys

import pytest

SLOW = {"dask.array", "matplotlib", "numba", "pymc", "scipy.optimize", "scipy.stats", "sklearn"}
RUN = """
import json, sys
from bayescm.__main__ import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["bayescm", *arguments]
    try:
        main()
    except SystemExit as left:
        assert not left.code, left.code
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "commands",
    [
        {"interval --tp 65 --fn 15 --fp 35 --tn 30 -m f1": {"sqlalchemy"}},
        {
            "monitor add a.csv --store e.db --batch 1": {"bayescm.posteriors", "psycopg"},
            "monitor status --store e.db": {"psycopg"},
        },
    ],
    ids=["interval", "monitor"],
)
def test_quick_commands_load_little(tmp_path, commands):
    (tmp_path / "a.csv").write_text("actual,predicted\n1,1\n0,0\n1,0\n")
    script = [sys.executable, "-c", RUN, json.dumps([command.split() for command in commands])]
    done = subprocess.run(script, cwd=tmp_path, check=True, capture_output=True, text=True)
    for modules, unwanted in zip(done.stderr.splitlines(), commands.values(), strict=True):
        assert not (SLOW | unwanted) & set(modules.split())


@pytest.mark.long
def test_pytest_loads_little_of_it():
    # Its plugin is loaded whenever pytest starts, in any project.
    script = "import sys, bayescm.integrations.pytest_plugin; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not (SLOW | {"pandas", "scipy", "xarray"}) & set(done.stdout.split())

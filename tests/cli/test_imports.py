"""What the quick commands load: a second is most of what they take."""

import subprocess
import sys

import pytest

SLOW = {"matplotlib", "numba", "pymc", "scipy.optimize", "scipy.stats", "sklearn"}
RUN = """
import sys
from bayescm.cli import main
try:
    main({arguments!r})
except SystemExit as left:
    assert not left.code, left.code
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        ("interval --tp 65 --fn 15 --fp 35 --tn 30 -m f1", {"sqlalchemy"}),
        ("monitor add a.csv --store e.db --batch 1", {"bayescm.direct", "psycopg"}),
        ("monitor status --store e.db", {"psycopg"}),
    ],
)
def test_quick_commands_load_little(tmp_path, arguments, unwanted):
    (tmp_path / "a.csv").write_text("actual,predicted\n1,1\n0,0\n1,0\n")
    if "status" in arguments:
        add = ["monitor", "add", "a.csv", "--store", "e.db", "--batch", "1"]
        script = RUN.format(arguments=add)
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(arguments=arguments.split())],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert not (SLOW | unwanted) & set(done.stderr.split())

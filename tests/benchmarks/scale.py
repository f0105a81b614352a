"""
Rows upon rows: time and memory of counting Parquet files, beside the engine's own scan and group.

    python tests/benchmarks/scale.py FOLDER ROWS [ROWS ...]

Files of a million rows are generated where they are missing, so that a later call goes on from
there. Every measurement runs in a process of its own; the table is printed as CSV.
"""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np

PIECE, SLICES = 1_000_000, 100
START = """
import resource, sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from scale import chosen, PIECE
import numpy as np
rows, folder = {rows}, Path({folder!r})
"""
END = """
print(time.perf_counter() - start, time.process_time() - used,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, base)
"""
TIMED = """
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
start, used = time.perf_counter(), time.process_time()
"""
COLUMNS = "actual='y', predicted='yhat', by={'group': 'site'}, positive='sick'"
ENGINES = {
    "read": (
        f"import bayescm as bcm; bcm.read(chosen(folder, PIECE), {COLUMNS})",
        f"bcm.read(chosen(folder, rows), {COLUMNS})",
    ),
    "pyarrow": (
        "import pyarrow.dataset as ds; from pyarrow import acero",
        "acero.Declaration.from_sequence([acero.Declaration('scan', acero.ScanNodeOptions("
        "ds.dataset(chosen(folder, rows)), columns=['y', 'yhat', 'site'])), "
        "acero.Declaration('project', acero.ProjectNodeOptions("
        "[ds.field(n) for n in ('y', 'yhat', 'site')], ['y', 'yhat', 'site'])), "
        "acero.Declaration('aggregate', acero.AggregateNodeOptions("
        "[([], 'hash_count_all', None, 'n')], keys=['y', 'yhat', 'site']))]).to_table()",
    ),
    "polars": (
        "import polars as pl",
        "pl.scan_parquet(chosen(folder, rows) / '*.parquet').group_by('y', 'yhat', 'site')"
        ".len().collect(engine='streaming')",
    ),
    "from_frame of polars": (
        "import polars as pl, bayescm as bcm; "
        f"bcm.from_frame(pl.scan_parquet(chosen(folder, PIECE) / '*.parquet'), {COLUMNS})",
        f"bcm.from_frame(pl.scan_parquet(chosen(folder, rows) / '*.parquet'), {COLUMNS})",
    ),
    "duckdb": (
        "import duckdb; duckdb.sql('set enable_progress_bar = false')",
        "duckdb.sql(f\"select y, yhat, site, count(*) from '{chosen(folder, rows)}/*.parquet' "
        'group by all").fetchall()',
    ),
    "from_frame of duckdb": (
        "import duckdb, bayescm as bcm; duckdb.sql('set enable_progress_bar = false'); "
        "bcm.from_frame(duckdb.sql(f\"from '{chosen(folder, PIECE)}/*.parquet'\"), "
        + COLUMNS
        + ")",
        "bcm.from_frame(duckdb.sql(f\"from '{chosen(folder, rows)}/*.parquet'\"), " + COLUMNS + ")",
    ),
    "bincount": (
        "rng = np.random.default_rng(0); y = rng.integers(0, 2, rows, dtype=np.int8); "
        "yhat = rng.integers(0, 2, rows, dtype=np.int8)",
        "np.bincount(2 * y + yhat, minlength=4)",
    ),
    "from_predictions": (
        "import bayescm as bcm; rng = np.random.default_rng(0); "
        "y = rng.integers(0, 2, rows, dtype=np.int8); "
        "yhat = rng.integers(0, 2, rows, dtype=np.int8); "
        "bcm.from_predictions(y[:9], yhat[:9])",
        "bcm.from_predictions(y, yhat, positive=1)",
    ),
}


def chosen(folder: Path, rows: int) -> Path:
    """Return a folder of links to as many of the files as hold so many rows."""
    part = folder / f"first_{rows}"
    part.mkdir(exist_ok=True)
    for number in range(-(-rows // PIECE)):
        link = part / f"{number:05d}.parquet"
        if not link.exists():
            link.symlink_to(folder / f"{number:05d}.parquet")
    return part


def generate(folder: Path, rows: int) -> None:
    """Write the files that are missing: labels and 100 sites as dictionaries."""
    import pyarrow as pa
    from pyarrow import parquet

    sites = pa.array([f"site {place}" for place in range(SLICES)])
    classes = pa.array(["well", "sick"])
    for number in range(-(-rows // PIECE)):
        path = folder / f"{number:05d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        truth = rng.random(PIECE) < 0.3
        answer = truth ^ (rng.random(PIECE) < 0.15)
        site = rng.integers(0, SLICES, PIECE, dtype=np.int8)
        columns = {"y": (truth, classes), "yhat": (answer, classes), "site": (site, sites)}
        table = pa.table(
            {
                name: pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), labels)
                for name, (codes, labels) in columns.items()
            }
        )
        part = path.with_suffix(".part")
        parquet.write_table(table, part)
        part.rename(path)


def main(folder: Path, sizes: list[int]) -> None:
    """Measure every way at every size."""
    folder.mkdir(exist_ok=True)
    out = csv.writer(sys.stdout)
    out.writerow(["rows", "way", "seconds", "cpu", "peak_mb", "before_mb"])
    for rows in sizes:
        generate(folder, rows)
        for way, (prepare, run) in ENGINES.items():
            known = {"here": str(Path(__file__).parent), "rows": rows, "folder": str(folder)}
            code = START.format(**known) + prepare + TIMED + run + END
            done = subprocess.run(
                [sys.executable, "-c", code], check=True, capture_output=True, text=True
            )
            found = [f"{float(each):.4g}" for each in done.stdout.split()]
            out.writerow([rows, way, *found])
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(float(each)) for each in sys.argv[2:]])

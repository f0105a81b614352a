"""Import every module of the installed wheel and use it once."""

import pkgutil
from importlib import import_module, metadata

import bayescm as bcm

# These need an extra that the wheel does not ask for, or are for those who have pytest.
OPTIONAL = {"dask", "distributed", "docx", "prometheus_client", "psycopg", "pytest"}
OPTIONAL |= {"starlette", "uvicorn"}
RUN_BY_ALEMBIC = "bayescm.online.migrations.env"
modules = [m.name for m in pkgutil.walk_packages(bcm.__path__, "bayescm.")]
modules.remove(RUN_BY_ALEMBIC)
for module in [*modules, "bayescm.models"]:
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
for name in bcm.__all__:
    getattr(bcm, name)

counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
interval = bcm.interval(counts, "f1", prob=0.95, kind="eti", concentration=0.5)
assert abs(float(interval.sel(bound="lower")) - 0.641013854834) < 1e-9
tree = bcm.fit(counts, random_seed=1)
assert tree.posterior["theta"].dims == ("chain", "draw", "actual", "predicted")
with bcm.online.Monitor("sqlite:///smoke.db", "classifier") as monitor:  # its tables by Alembic
    monitor.add("monday", counts)
    assert monitor.batches().sum() == counts.sum()
print(f"bayescm {metadata.version('bayescm')}: {len(modules)} modules import and answer")

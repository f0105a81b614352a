import ast
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import bayescm as bcm


def stubbed(package=bcm):
    """Return the public names of a stub and the modules that it takes them from."""
    found = {}
    for line in ast.parse(Path(package.__file__).with_suffix(".pyi").read_text()).body:
        if isinstance(line, ast.ImportFrom):
            home = (
                f"{package.__name__}.{line.module or ''}".rstrip(".") if line.level else line.module
            )
            for alias in line.names:
                found[alias.asname] = home if line.module else f"{home}.{alias.name}"
    return found


@pytest.mark.parametrize("package", [bcm, bcm.answers, bcm.online], ids=lambda each: each.__name__)
def test_the_stub_has_every_public_name_and_no_other(package):
    assert sorted(stubbed(package)) == package.__all__ == dir(package)


@pytest.mark.parametrize("name", bcm.__all__)
def test_the_stub_takes_a_name_from_where_it_is(name):
    module = import_module(stubbed()[name])
    assert getattr(bcm, name) is (module if module is getattr(bcm, name) else getattr(module, name))


def test_the_stub_is_shipped():
    assert Path(bcm.__file__).with_name("py.typed").exists()
    pyproject = Path(bcm.__file__).parents[1] / "pyproject.toml"
    assert '"__init__.pyi"' in pyproject.read_text()


def test_every_package_is_in_the_wheel():
    root = Path(bcm.__file__).parent
    listed = tomllib.loads((root.parent / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {
        ".".join(each.parent.relative_to(root.parent).parts) for each in root.rglob("__init__.py")
    }
    assert found | {"bayescm.models"} == set(listed["packages"])


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"has no attribute 'zyx'$"):
        _ = bcm.zyx


@pytest.mark.parametrize(
    ("name", "place"),
    {
        "plot_omega": "it is bcm.plots.plot_omega",
        "heterogeneity": "it is bcm.meta.heterogeneity",
        "recalibrated": "it is bcm.calibration.recalibrated",
        "as_metrics": "it is bcm.answers.as_metrics",
        "quantile": r"use bcm.distribution\(evidence, measure\).quantile\(\)",
    }.items(),
)
def test_a_name_that_is_not_at_the_top_says_where_it_is(name, place):
    with pytest.raises(AttributeError, match=f"'{name}': {place}$"):
        getattr(bcm, name)


def test_modules_for_writers_of_models_are_there_and_not_listed():
    for name in ("posteriors", "distributions", "evidence", "simulation"):
        assert getattr(bcm, name) is import_module(f"bayescm.{name}")
        assert name not in bcm.__all__


@pytest.mark.long
def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "bayescm", "--help"]
    environment = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "interval" in done.stdout

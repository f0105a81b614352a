"""Imports between files: none runs upward, and none in a circle, not even inside a function."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import bayescm

ROOT = Path(bayescm.__file__).parent
# From the lowest to the highest; files of the same rank do not import each other's folders.
RANKS = [
    ["validate", "parallel"],
    ["evidence"],
    ["measures"],
    ["distributions", "inference"],
    ["posteriors"],
    ["fitting"],
    ["answers"],
    ["curves", "classical", "priors", "planning", "online"],
    ["simulation", "papers", "plots"],
    ["reporting"],
    ["integrations", "cli"],
]


def _modules():
    for path in ROOT.rglob("*.py"):
        parts = ["bayescm", *path.relative_to(ROOT).with_suffix("").parts]
        yield ".".join(part for part in parts if part != "__init__"), path


def _imported(path, names):
    """Return the modules that a file imports, inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                of_package = f"{node.module}.{alias.name}"
                yield of_package if of_package in names else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def imports():
    modules = dict(_modules())
    return {
        name: {other for other in _imported(path, modules) if other in modules} - {name}
        for name, path in modules.items()
    }


@pytest.mark.long
@pytest.mark.parametrize("folder", ["evidence", "fitting", "posteriors", "measures"])
def test_no_imports_in_a_circle(folder):
    inside = f"bayescm.{folder}."
    graph = {
        name: {other for other in others if other.startswith(inside)}
        for name, others in imports().items()
        if name.startswith(inside)
    }
    assert len(graph) > 5
    TopologicalSorter(graph).prepare()


def test_a_circle_is_noticed():
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()


def test_no_import_runs_upward():
    rank = {folder: place for place, folders in enumerate(RANKS) for folder in folders}
    upward = [
        (name, other)
        for name, others in imports().items()
        for other in others
        if (here := rank.get(_folder(name))) is not None and rank.get(_folder(other), -1) > here
    ]
    assert not upward


def _folder(module):
    return module.split(".")[1] if "." in module else ""

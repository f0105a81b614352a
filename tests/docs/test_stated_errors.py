"""The recomputation of stated errors changes constants of posteriors that exist."""

from importlib import import_module

from validation.recomputed.stated_errors import DESIGNS


def test_finer_computations_change_constants_that_exist():
    for design in DESIGNS:
        for name, constants in design.finer.items():
            module = import_module(f"bayescm.posteriors.{name}")
            assert [constant for constant in constants if not hasattr(module, constant)] == []

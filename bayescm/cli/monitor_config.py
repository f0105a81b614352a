"""
The file ``monitor.toml``, with the settings of a monitor for all commands.

The option ``--config`` names the file. The default is the file in the working directory. Its values
replace the defaults of options. Options on the command line and in the environment take precedence
over the file. A list, such as the floors, is replaced as a whole. Values in the table of a
classifier, ``[classifiers.NAME]``, take precedence over values for all classifiers.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from bayescm.validate import fail, suggest

NAME = "monitor.toml"
_TEXTS = (
    *("classifier", "order", "kind", "positive", "actual", "predicted", "probability"),
    *("silence", "season"),
)
_SCORES = ("score", "item", "range", "lower_is_better", "separator", "correct")
_RATED = ("raters", "gold", "judge")
_VOTES = ("left", "right", "winner", "ordered")
_NUMBERS = ("forgetting", "window", "rate", "reference", "prob")
_FLAGS = ("allow_empty", "log", "lower_is_better", "ordered", "improvements")
_LIMITS = ("floor", "tolerance")  # tables of measures and numbers
_HOOKS = ("command", "url", "log", "format", "improvements")  # keys of the table [notify]
TABLES = "classifiers"  # tables with settings of single classifiers
_KEYS = (
    *("store", *_TEXTS, *_SCORES, *_RATED, *_VOTES, *_NUMBERS),
    *("measures", "concentration", *_LIMITS),
    "allow_empty",
    "notify",
    TABLES,
)
_OF_ALL = ("store", "classifier", "prob", "kind", "notify", TABLES)


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Use the values in the file as default values of the options, and return the file."""
    file = config_file(path)
    if file is not None:
        context.default_map = defaults(file)
    return file


def config_file(path: Path | None) -> Path | None:
    """Return the given file, the file in the working directory, or None if neither exists."""
    file = Path(NAME) if path is None else path
    if file.is_file():
        return file
    if path is None:
        return None
    raise fail("--config {} does not exist", str(file), "", "check the path of the TOML file")


def defaults(file: Path) -> dict[str, Any]:
    """
    Return the settings for all classifiers in a file, by the keywords of the options.

    Raises
    ------
    ValueError
        If the file is not valid TOML, or contains an unknown key or a value of the wrong type.
    """
    return _read(file)[0]


def tables(file: Path | None) -> dict[str, dict[str, Any]]:
    """Return the settings for single classifiers in a file, by classifier."""
    return {} if file is None else _read(file)[1]


def names_of(file: Path | None) -> set[str]:
    """Return the names of the classifiers that a file mentions."""
    if file is None:
        return set()
    of_all, of_single = _read(file)
    return {*of_single, *[of_all[name] for name in ("classifier",) if name in of_all]}


def _read(file):
    """Return the settings in a file for all classifiers, and for single classifiers."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise fail(
            f"{file.name} is not valid TOML: {{}}", str(problem), "", "correct its syntax"
        ) from None
    _check_keys(file, content, _KEYS)
    hooks = content.pop("notify", {})
    _check(file, "notify", hooks, isinstance(hooks, Mapping), "a table [notify]")
    _check_keys(file, hooks, _HOOKS)
    of_single = content.pop(TABLES, {})
    allowed = f"tables such as [{TABLES}.spam]"
    are_tables = isinstance(of_single, Mapping) and all(
        isinstance(table, Mapping) for table in of_single.values()
    )
    _check(file, TABLES, of_single, are_tables, allowed)
    for table in of_single.values():
        _check_keys(file, table, [name for name in _KEYS if name not in _OF_ALL])
    if "format" in hooks:
        hooks = {**hooks, "page_format": hooks["format"]}
        del hooks["format"]
    return _values(file, content | hooks), {
        name: _values(file, table) for name, table in of_single.items()
    }


def _values(file, table):
    return {name: _value(file, name, value) for name, value in table.items()}


def _check_keys(file, content, keys):
    for name in content:
        if name not in keys:
            raise fail(f"{file.name} has an unknown key {{}}", name, keys, suggest(name, keys))


def _check(file, name, value, is_right, allowed):
    if not is_right:
        raise fail(f"{name} in {file.name} must be {allowed}", value, "", "change it in the file")


def _value(file, name, value):
    """Return a value in the form in which it is written on the command line."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _LIMITS:
        is_right = isinstance(value, Mapping) and all(
            isinstance(size, int | float) and not isinstance(size, bool) for size in value.values()
        )
        _check(file, name, value, is_right, f"a table [{name}] such as recall = 0.8")
        return [f"{measure}={size}" for measure, size in value.items()]
    if name in ("measures", "command", "url"):
        texts = [value] if isinstance(value, str) else value
        is_right = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        _check(file, name, value, is_right, "a string, or a list of strings")
        return texts
    if name == "concentration":
        numbers = value if isinstance(value, list) else [value]
        are_right = all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers)
        _check(file, name, value, are_right, "a number, or a list TP, FN, FP, TN")
        return ",".join(map(str, numbers))
    if name == "range":
        is_right = (
            isinstance(value, list)
            and len(value) == 2
            and all(isinstance(end, int | float) and not isinstance(end, bool) for end in value)
        )
        _check(file, name, value, is_right, "the lowest and the highest score, as in [0, 1]")
        return f"{value[0]},{value[1]}"
    if name in _FLAGS:
        _check(file, name, value, isinstance(value, bool), "true or false")
    elif name in _NUMBERS:
        _check(file, name, value, is_number, "a number")
    elif name in ("positive", "season"):  # labels and seasons may be numbers
        allowed = "a label" if name == "positive" else "a number of batches, or weekday"
        _check(file, name, value, is_number or isinstance(value, str), allowed)
        return str(value)
    else:
        _check(file, name, value, isinstance(value, str), "a text")
    return _beside(file, value) if name == "store" else value


def _beside(file, store):
    """Return the address of a store. File names are relative to the configuration file."""
    is_file = "://" not in store and not re.match(r"\w+\s*=", store)
    return str(file.parent / store) if is_file else store

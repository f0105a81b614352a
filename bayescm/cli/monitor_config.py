"""
``monitor.toml``: what the commands of a monitor are called with every time.

The file is named by ``--config``, or else is that of the working directory. What stands in it takes
the place of the defaults of options: an option on the command line, or in the environment, goes
before it. A list, such as the floors, is replaced as a whole.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from bayescm.validate import fail, suggest

NAME = "monitor.toml"
_TEXTS = ("classifier", "order", "kind", "positive", "actual", "predicted", "probability")
_SCORES = ("score", "item", "range", "lower_is_better")
_NUMBERS = ("forgetting", "window", "rate", "reference", "prob")
_LIMITS = ("floor", "tolerance")  # tables of measures and numbers
_HOOKS = ("command", "url", "log")  # of the table [notify]
_KEYS = ("store", *_TEXTS, *_SCORES, *_NUMBERS, "measures", "concentration", *_LIMITS, "notify")


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the values of the file the defaults of the options of a command."""
    file = Path(NAME) if path is None else path
    if path is None and not file.is_file():
        return None
    if not file.is_file():
        allowed = f"a TOML file such as {NAME}"
        raise fail("no such file", str(file), allowed, "check the path of --config")
    context.default_map = defaults(file)
    return path


def defaults(file: Path) -> dict[str, Any]:
    """
    Return what a file says, by the keywords of the options.

    Raises
    ------
    ValueError
        If it is no TOML, has a key that is not known, or a value of another kind.
    """
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise fail(f"{file.name} cannot be read", str(problem), "TOML", "check it") from None
    _check_keys(file, content, _KEYS)
    hooks = content.pop("notify", {})
    _check(file, "notify", hooks, isinstance(hooks, Mapping), "a table [notify]")
    _check_keys(file, hooks, _HOOKS)
    values: dict[str, Any] = {}
    for name, value in (content | hooks).items():
        values[name] = _value(file, name, value)
    return values


def _check_keys(file, content, keys):
    for name in content:
        if name not in keys:
            raise fail(f"unknown key in {file.name}", name, keys, suggest(name, keys))


def _check(file, name, value, is_right, allowed):
    if not is_right:
        raise fail(f"{name} in {file.name}", value, allowed, "change it there")


def _value(file, name, value):
    """Return a value as the command line would write it."""
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
        _check(file, name, value, is_right, "a text, or a list of texts")
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
    if name in ("log", "lower_is_better"):
        _check(file, name, value, isinstance(value, bool), "true or false")
    elif name in _NUMBERS:
        _check(file, name, value, is_number, "a number")
    elif name == "positive":  # of labels that are numbers too
        _check(file, name, value, is_number or isinstance(value, str), "a label")
        return str(value)
    else:
        _check(file, name, value, isinstance(value, str), "a text")
    return _beside(file, value) if name == "store" else value


def _beside(file, store):
    """Return an address, the name of a file as it is from the folder of the configuration."""
    is_file = "://" not in store and not re.match(r"\w+\s*=", store)
    return str(file.parent / store) if is_file else store

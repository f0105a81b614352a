"""
Records of JSON and JSON Lines files, as written by evaluation programs.

Each record is a row. Nested fields have dotted names: ``{"score": {"value": 1}}`` becomes the
column ``score.value``.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bayescm.evidence.engines import NUMBER
from bayescm.evidence.text_files import open_text, plainly, suffixes
from bayescm.validate import fail

JSON_LINES = (".jsonl", ".ndjson")
JSON = (".json", *JSON_LINES)
# Maximum depth of the search for lists of records, for an error message.
_DEPTH = 4


def is_json(path: Path) -> bool:
    """Return True if a file name has a JSON suffix, ignoring compression."""
    return bool(set(suffixes(path)[-1:]) & {*JSON})


class JsonTable:
    """
    Table of the records in a JSON file.

    Parameters
    ----------
    path : Path
    records : str, optional
        Dotted path of the list of records in the file, such as ``"results.results"``. By default
        the file has one of these forms:

        - A list of records, or one record per line (``.jsonl``).
        - An object with the keys ``columns`` and ``data``.
        - A mapping from items to scores, or from systems to such mappings.

    Raises
    ------
    ValueError
        If the file has no records, or none at this path.
    """

    def __init__(self, path: Path, records: str | None = None):
        self.path = path
        with plainly(path), open_text(path) as file:
            text = file.read()
        parse = _lines if suffixes(path)[-1] in JSON_LINES else _parsed
        content = parse(text, path.name)
        if records is not None:
            content = _at(content, records, path.name)
        self.frame = pd.json_normalize(_rows(content, path.name))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    def columns(self, names: Sequence[str]) -> pd.DataFrame:
        """Return selected columns."""
        return self.frame[list(dict.fromkeys(names))]

    def head(self, rows: int) -> pd.DataFrame:
        """Return all columns of the first rows."""
        return self.frame.head(rows)

    def counted(self, names: Sequence[str]) -> pd.DataFrame:
        """Return the frequency of each combination of labels, in the column ``NUMBER``."""
        frame = self.columns(names)
        for name in frame:
            if frame[name].map(lambda value: isinstance(value, list | dict)).any():
                todo = "name a column with one value for each record"
                raise fail(
                    f"Column {name!r} of {self.path.name} contains lists, e.g. {{}}",
                    frame[name].iloc[0],
                    "",
                    todo,
                )
        counts = frame.groupby(list(frame), dropna=False, sort=False, observed=True).size()
        return counts.rename(NUMBER).reset_index()


def _lines(text, name):
    """Return the records of a text with one record per line."""
    lines = enumerate(text.split("\n"), 1)
    return [_parsed(line, f"line {number} of {name}") for number, line in lines if line.strip()]


def _parsed(text, where):
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        todo = "write the file again, or name it .jsonl if each line is a record"
        raise fail(f"{where} is not valid JSON: {{}}", str(problem), "", todo) from None


def _at(content, records, name):
    """Return the content of a file at a dotted path."""
    place = content
    for key in records.split("."):
        if isinstance(place, Mapping) and key in place:
            place = place[key]
        elif isinstance(place, list) and key.isdigit() and int(key) < len(place):
            place = place[int(key)]
        else:
            allowed = ", ".join(_paths_of_records(content)) or "a path of a list of records"
            todo = "pass one of these as `records`"
            raise fail(f"{name} contains nothing at {{}}", records, allowed, todo)
    return place


def _rows(content: Any, name: str) -> list[dict]:
    """Return records from any of the supported forms."""
    if isinstance(content, Mapping):
        if {"columns", "data"} <= content.keys():
            columns = content["columns"]
            return [dict(zip(columns, row, strict=True)) for row in content["data"]]
        if content and all(_is_number(value) for value in content.values()):
            return _scores(content)
        if content and all(_is_scores(value) for value in content.values()):
            return [
                {**row, "system": system}
                for system, scores in content.items()
                for row in _scores(scores)
            ]
    if isinstance(content, list) and content and all(isinstance(row, Mapping) for row in content):
        return list(map(dict, content))
    paths = _paths_of_records(content)
    todo = "write a list of records, or one record in each line of a .jsonl file"
    if paths:
        todo = f"pass `records={paths[0]!r}`"
    raise fail(f"{name} contains {{}}, not a list of records", _kind(content), "", todo)


def _scores(content):
    return [{"item": item, "score": score} for item, score in content.items()]


def _is_scores(value):
    return isinstance(value, Mapping) and bool(value) and all(map(_is_number, value.values()))


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(content):
    if isinstance(content, Mapping):
        return f"an object with {', '.join(map(str, content)) or 'no keys'}"
    return "an empty list" if content == [] else type(content).__name__


def _paths_of_records(content: Any) -> list[str]:
    """Return the dotted paths of the lists of records in a file, longest list first."""
    lengths = {
        path: len(value)
        for path, value in _places(content, "", 0)
        if path and isinstance(value, list) and value and isinstance(value[0], Mapping)
    }
    return sorted(lengths, key=lambda path: -lengths[path])


def _places(content, path, depth):
    yield path, content
    if isinstance(content, Mapping) and depth < _DEPTH:
        for key, value in content.items():
            yield from _places(value, f"{path}.{key}" if path else str(key), depth + 1)

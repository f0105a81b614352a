"""
Evidence specified by the options of a command: its type, file and columns.

The type is determined from the columns that are passed (`type_of_options`), because every type
declares the columns that it needs (`EvidenceType.columns`). `READERS` lists the function that reads
each type.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import xarray as xr

from bayescm.cli.columns import given
from bayescm.validate import fail


def read(options: Any, name: str | None = None, *, measures: Any = None) -> Any:
    """
    Return the evidence specified by options.

    Parameters
    ----------
    options : Options
        A group with some or all options of `bayescm.cli.columns.Evidence`.
    name : str, optional
        The type of the evidence if the command has a single one. By default it is determined from
        the options.
    measures : Measures, optional
        The options of measures, one of which may be a column of a table of results.
    """
    if options.file is None:
        return from_cells_options(options)
    if counts := sorted({"tn", "matrix"} & given(options)):
        raise fail(
            f"The counts are given twice, in {{}} and with --{counts[0]}",
            str(options.file),
            "",
            f"leave FILE or --{counts[0]} out",
        )
    is_by_options = name is None
    name = name or type_of_options(options)
    columns = _columns_of_types()
    options.refuse(set().union(*columns.values()) - columns[name], columns[name])
    if name == "results":
        return results(options, measures and measures.measures)
    if name == "multilabel":
        return multilabel(options, separator_means_type=is_by_options)
    return READERS[name](options)


def _columns_of_types():
    """Return the columns of each type of evidence, by the name of the type."""
    from bayescm.evidence.registry import TYPES

    names = {entry.name: entry.columns.names for entry in TYPES if entry.columns is not None}
    return names | {"counts": names["counts"] | names["outcomes"]}


def type_of_options(options: Any) -> str:
    """Return the name of the type of evidence whose columns are passed."""
    from bayescm.evidence.registry import TYPES

    passed = given(options)
    found = {
        entry.name: max(matched, key=len)
        for entry in TYPES
        if entry.columns is not None
        and (matched := [need for need in entry.columns.needed if passed >= {*need}])
    }
    most = max(map(len, found.values()), default=0)
    names = [name for name, need in found.items() if len(need) == most]
    if len(names) > 1:
        # The options specify several types equally well, such as --judge and --raters.
        columns = sorted({options.written(word) for name in names for word in found[name]})
        raise fail(
            f"{' and '.join(columns)} are for different types of evidence",
            ...,
            "",
            "leave one of them out",
        )
    if names:
        return names[0]
    for word in ("item", "system"):
        if word in passed:
            todo = f"add --score, --correct, or --tp, --fp and --fn to --{word}"
            raise fail(f"--{word} is for scores, attempts or counts of items", ..., "", todo)
    return "counts"


def from_cells_options(options: Any) -> xr.DataArray:
    """Return the counts given by ``--tp --fn --fp --tn`` or by ``--matrix``."""
    from bayescm.evidence import from_cells, from_matrix

    cells = {name: options.get(name) for name in ("tp", "fn", "fp", "tn")}
    missing = [f"--{name}" for name, count in cells.items() if count is None]
    if options.get("matrix") is None:
        if len(missing) == len(cells) or not options.has("tn"):
            check_file(options)
        if missing:
            raise fail(
                f"Missing option {' '.join(missing)}",
                ...,
                "",
                "pass all of --tp, --fn, --fp and --tn, or --matrix",
            )
        return from_cells(**{name: _whole(name, count) for name, count in cells.items()})
    if len(missing) < len(cells):
        single = " ".join(f"--{name}" for name in cells if f"--{name}" not in missing)
        raise fail(
            f"Two matrices are given, with --matrix and {single}", ..., "", "leave one of them out"
        )
    labels, positive = options.labels, options.positive
    if labels is None and str(positive).isdecimal():
        positive = int(positive)  # without --label, the classes are 0, 1, ...
    return from_matrix(_counts(options.matrix), labels=labels, positive=positive)


def _whole(name, text):
    try:
        return int(text)
    except ValueError:
        todo = f"write --{name} 65, or pass FILE if it is a column"
        raise fail(f"--{name} must be a whole number", text, "", todo) from None


def _counts(text):
    try:
        return [[int(count) for count in row.split(",")] for row in text.strip(";").split(";")]
    except ValueError:
        todo = 'write it as --matrix "50,2,1;3,40,7;0,5,45"'
        raise fail("--matrix {} cannot be read as rows of counts", text, "", todo) from None


def predictions(options: Any, by: Mapping[str, str] | None = None) -> Any:
    """
    Return the counts in a file of predictions, or the outcomes for several classifiers.

    Parameters
    ----------
    options : Predictions
    by : mapping of str to str, optional
        Columns of further dimensions. By default, the columns named by the options.
    """
    predicted = options.get("predicted")
    if predicted and len(predicted) > 1:
        return outcomes(options, by=by)
    return counts(options, predicted=predicted[0] if predicted else None, by=by)


def parts_of(options: Any) -> dict[str, str]:
    """Return the columns of parts by dimension, which is group for a single column of groups."""
    dims, groups = options.keywords("fold"), _several(options, "group")
    groups_and_slices(options)
    dims |= {"group": groups[0]} if len(groups) == 1 else {name: name for name in groups}
    return dims | {name: name for name in _several(options, "by")}


def groups_and_slices(options: Any) -> list[str]:
    """Return the columns of ``--group`` and ``--by``, or raise an error if one is named twice."""
    columns = [*_several(options, "group"), *_several(options, "by")]
    if twice := [name for name in columns if columns.count(name) > 1]:
        raise fail(
            "--group and --by both name the column {}", twice[0], "", "name each column once"
        )
    return columns


def _several(options, name):
    """Return the columns of an option."""
    columns = options.get(name) or []
    return [columns] if isinstance(columns, str) else columns


def _single(options, name, default=None):
    """Return the column of an option that may be repeated only for other types of evidence."""
    columns = _several(options, name)
    if len(columns) > 1:
        raise fail(f"--{name} takes one column; got {{}}", columns, "", f"pass --{name} once")
    return columns[0] if columns else default


def _needed(options, name):
    """Return the columns of an option, or raise an error if it is missing."""
    if not (columns := _several(options, name)):
        raise fail(f"Missing option --{name}", ..., "", f"name the column with --{name}")
    return columns


def _columns(options, *names):
    """Return the columns that are named, by keyword, or raise an error for repeated options."""
    columns = {name: _single(options, name) for name in names}
    return {name: column for name, column in columns.items() if column is not None}


def counts(
    options: Any, *, predicted: str | None = None, by: Mapping[str, str] | None = None
) -> xr.DataArray:
    """Return the counts in a file of predictions of one classifier, or of a confusion matrix."""
    from bayescm.evidence.files import File, is_table, read

    classes = options.keywords("labels", "positive")
    by = parts_of(options) if by is None else by
    if is_table(File(options.file, **_records(options)), options.get("actual"), predicted):
        if by:
            raise fail(
                "A confusion matrix has no columns {}",
                [*by.values()],
                "",
                "pass the file of predictions, with one row per example",
            )
        table = read(
            options.file,
            **classes,
            **_separators(options),
            **_records(options),
            **options.keywords("classifier"),
        )
        return _noted(table, options.file)
    columns = options.keywords("actual", "numeric_labels", "abstain", "weights")
    if "weights" in columns:
        columns |= options.keywords("weights_are") | _separators(options)
    columns |= _records(options)
    return read(options.file, predicted=predicted, by=by, **classes, **columns)


def _separators(options):
    """Return the separators of numbers in a text file, by keyword."""
    return options.keywords("decimal", "thousands")


def _records(options):
    """Return the path of the records in a JSON file, by keyword."""
    return options.keywords("records")


def _noted(counts, file):
    """Print a note on how the axes and cells of a table were read, and return its counts."""
    from bayescm.cli.output import note

    if "as_read" in counts.attrs:
        note(f"{Path(file).name}: {counts.attrs['as_read']}")
    return counts


def outcomes(
    options: Any,
    *,
    predicted: list[str] | None = None,
    by: Mapping[str, str] | None = None,
    numeric_labels: bool = False,
) -> xr.Dataset:
    """Return the outcomes of one or more classifiers on the examples of a file."""
    from bayescm.evidence.files import kind_of, read_columns
    from bayescm.evidence.outcomes import from_classifiers

    actual, predicted = (
        options.get("actual") or "actual",
        predicted or options.get("predicted") or ["predicted"],
    )
    by = parts_of(options) if by is None else by
    columns = list(dict.fromkeys([actual, *predicted]))
    numeric = numeric_labels or bool(options.get("numeric_labels"))
    keywords = {"numeric_labels": numeric, **_records(options)}
    frame = read_columns(options.file, columns, by=list(by.values()), **keywords)
    return from_classifiers(
        frame[actual],
        [(name, frame[name]) for name in predicted],
        **_labels(options, kind_of(frame[actual])),
        by={dim: frame[column] for dim, column in by.items()} or None,
    )


def _labels(options, kind):
    """Return the classes, the positive class and the abstention as labels of the file's type."""
    from bayescm.evidence.files import as_label

    labels = options.keywords("labels", "positive", "abstain")
    return {
        name: [as_label(text, kind) for text in label]
        if isinstance(label, list)
        else as_label(label, kind)
        for name, label in labels.items()
    }


def partly_labelled(options: Any) -> Any:
    """Return the evidence in a file that a judge has labelled completely, and people in part."""
    from bayescm.evidence import from_partly_labelled

    (actual, predicted, judge), labels = partly_labelled_columns(options)
    keywords = {**options.keywords("transfer"), **labels}
    return from_partly_labelled(actual, predicted, judge, **keywords)


def partly_labelled_columns(options: Any) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
    """Return the columns of a file, and the keywords, for `from_partly_labelled`."""
    import pandas as pd

    from bayescm.evidence.files import kind_of, read_columns

    actual, predicted = options.get("actual") or "actual", options.get("predicted") or []
    judges, numeric = options.get("judge") or [], options.get("numeric_labels")
    names = list(dict.fromkeys([actual, *predicted, *judges]))
    frame = read_columns(options.file, names, **_records(options))
    separators = _separators(options) if judges else {}
    for name in frame:
        text = _without_blanks(frame[name])
        if name in judges:
            text = _with_points(text, separators, Path(options.file).name)
        numbers = pd.to_numeric(text, errors="coerce")
        score = name in judges and bool((numbers % 1 > 0).any()) and bool(numbers.notna().all())
        frame[name] = numbers if score or numeric else text
    labels = _labels(options, kind_of(frame[actual]))
    return (
        frame[actual],
        _one_or_several(frame, predicted),
        _one_or_several(frame, judges),
    ), labels


def _with_points(column, separators, file):
    """Convert scores of a judge to numbers if separators are given, or reject decimal commas."""
    from bayescm.evidence.number_format import NotANumberError, number_format, with_decimal_comma

    if separators:
        try:
            return number_format(**{"decimal": None, "thousands": None} | separators).numbers(
                column
            )
        except NotANumberError as problem:
            raise problem.refusal(file) from None
    if (text := with_decimal_comma(column)) is not None:
        raise NotANumberError(str(column.name), text).refusal(file)
    return column


def _without_blanks(column):
    text = column.astype(object)
    return text.where(text.notna() & (text.astype(str) != ""), None)


def _one_or_several(frame, names):
    """Return one column, a mapping of several columns by name, or None."""
    columns = {name: frame[name] for name in names}
    return columns if len(columns) > 1 else next(iter(columns.values()), None)


def ratings(options: Any) -> Any:
    """Return the labels of the raters, and of the classifiers, in a file."""
    from bayescm.evidence import from_raters
    from bayescm.evidence.files import kind_of, read_columns

    raters = [name.strip() for name in options.raters.split(",") if name.strip()]
    predicted = options.get("predicted") or []
    gold, group = options.get("gold"), _single(options, "group")
    optional = [name for name in (gold, group) if name is not None]
    columns = list(dict.fromkeys([*raters, *predicted, *optional]))
    frame = read_columns(options.file, columns, numeric_labels=False, **_records(options))
    numeric = options.get("numeric_labels")
    for name in frame:
        frame[name] = _without_blanks(frame[name])
        if numeric and name != group:
            frame[name] = [None if label is None else int(label) for label in frame[name]]
    return from_raters(
        {name: frame[name] for name in raters},
        predicted={name: frame[name] for name in predicted},
        gold=None if gold is None else frame[gold],
        group=None if group is None else frame[group],
        **_labels(options, kind_of(frame[raters[0]].dropna())),
    )


def scores(
    options: Any, columns: list[str], constructor: Callable[..., xr.Dataset] | None = None
) -> xr.Dataset:
    """
    Return the scores, or the probabilities, in columns of a file.

    Parameters
    ----------
    options : Truth
    columns : list of str
        One column for each classifier or, if ``constructor`` requires it, for each class.
    constructor : callable, optional
        Function that returns the evidence. By default, `bayescm.from_scores`.
    """
    from bayescm.evidence.files import as_label, kind_of, read_columns
    from bayescm.evidence.scores import from_scores

    actual, by = options.get("actual") or "actual", _columns(options, "fold", "group")
    weights = options.get("weights")
    weighted = {} if weights is None else options.keywords("weights_are")
    frame = read_columns(
        options.file,
        [actual],
        by=list(by.values()),
        numbers=columns,
        weights=weights,
        numeric_labels=bool(options.get("numeric_labels")),
        **_separators(options),
        **_records(options),
    )
    values = {name: frame[name].to_numpy() for name in columns}
    if weights is not None:
        weighted["weights"] = frame[weights].to_numpy()
    return (constructor or from_scores)(
        frame[actual].to_numpy(),
        values if len(columns) > 1 else values[columns[0]],
        positive=as_label(options.get("positive"), kind_of(frame[actual])),
        **_places(constructor, {dim: frame[column].to_numpy() for dim, column in by.items()}),
        **weighted,
    )


def _places(constructor, places):
    """Return folds and groups as keywords of a constructor. For scores, groups are slices."""
    if constructor is not None or "group" not in places:
        return places
    return {"by": {"group": places.pop("group")}, **places}


def probabilities(options: Any) -> xr.Dataset:
    """Return the probabilities named by ``--probability COLUMN`` or ``CLASS=COLUMN``."""
    from bayescm.evidence.scores import from_probabilities

    constructor: Any = partial(from_probabilities, **options.keywords("clip"))
    probability = _needed(options, "probability")
    pairs = [text.partition("=") for text in probability]
    named = [bool(sign) for _, sign, _ in pairs]
    if not any(named):
        return scores(options, probability, constructor)
    if not all(named) or len(pairs) < 3:
        todo = "write --probability cat=p_cat --probability dog=p_dog --probability fox=p_fox"
        raise fail(
            "--probability {} must be CLASS=COLUMN for three or more classes", probability, "", todo
        )

    columns = [column for _, _, column in pairs]

    def of_classes(truth, values, **parts):
        import numpy as np

        are_codes = truth.dtype.kind in "iu"
        labels = [type(truth[0].item())(name) if are_codes else name for name, _, _ in pairs]
        table = np.stack([values[column] for column in columns], axis=1)
        return constructor(truth, table, labels=labels, **parts)

    return scores(options, columns, of_classes)


def results(options: Any, measures: list[str] | None = None) -> xr.Dataset:
    """Return the results in a file: one measure of every classifier on every data set."""
    from bayescm.evidence.files import File, read_columns
    from bayescm.evidence.results import from_results

    if measures is not None and len(measures) > 1:
        raise fail(
            "A table of results has one measure, but --measure names {}",
            measures,
            "",
            "pass one --measure",
        )
    file, separators = options.file, _separators(options) | _records(options)
    data_set, classifier = options.data_set, options.classifier or "classifier"
    measure, names = measures[0] if measures else None, File(file, **_records(options)).names
    keys = [name for name in (data_set, classifier, "repeat", "fold", "run") if name in names]
    if data_set not in names:
        raise fail(
            "The file has no column named {} for the data sets",
            data_set,
            names,
            "name another column with --data-set",
        )
    if classifier != "classifier" and classifier not in names:
        raise fail(
            "The file has no column named {} for the classifiers",
            classifier,
            names,
            "name another column with --classifier",
        )
    values = [name for name in names if name not in keys]
    if measure in values and classifier in keys:
        values = [measure]
    table = read_columns(file, [], by=keys, numbers=values, **separators)
    table = table.astype({name: str for name in keys[:2] if name in (data_set, classifier)})
    columns: dict[str, Any] = {"data_set": data_set, "classifier": classifier}
    return from_results(table, measure=measure, test_share=options.test_share, **columns)


def item_scores(options: Any) -> Any:
    """Return the item scores in a file with one row per item, or per item and system."""
    from bayescm.evidence.files import read_columns
    from bayescm.evidence.item_scores import from_item_scores

    slices, columns = _several(options, "by"), _columns(options, "group", "system")
    item, score = options.get("item") or "item", _single(options, "score", "score")
    numbers: dict[str, Any] = {"numbers": [score], "weights": options.get("weights")}
    numbers |= _separators(options) | _records(options)
    frame = read_columns(options.file, [item], by=[*columns.values(), *slices], **numbers)
    frame = _in_order(frame, [item], options)
    keywords: dict[str, Any] = columns | options.keywords("weights", "weights_are", "missing")
    if slices:
        keywords["by"] = slices
    if options.range is not None:
        keywords["range"] = _two_numbers("--range", options.range)
    lower = bool(options.lower_is_better)
    return from_item_scores(frame, item=item, score=score, lower_is_better=lower, **keywords)


def item_counts(options: Any) -> Any:
    """Return the counts in a file with one row per item, or per item and system."""
    from bayescm.evidence.files import read_columns
    from bayescm.evidence.item_counts import from_item_counts

    columns = {name: options.get(name) or name for name in ("tp", "fp", "fn")}
    names = _columns(options, "item", "system", "group")
    if "system" in names and "item" not in names:
        raise fail(
            "--system needs --item, because systems are compared item by item",
            ...,
            "",
            "name the column of items with --item",
        )
    keywords = {"numbers": [*columns.values()], **_separators(options), **_records(options)}
    frame = read_columns(options.file, [], by=[*names.values()], **keywords)
    frame = frame.rename(columns={column: name for name, column in columns.items()})
    frame = _in_order(frame, [names["item"]] if "item" in names else [], options)
    if "system" not in names:
        further = {name: frame[names[name]] for name in ("item", "group") if name in names}
        return from_item_counts(frame[["tp", "fp", "fn"]], **further)
    systems = dict([*frame.groupby(names["system"], sort=False)])
    first = next(iter(systems.values()))
    items = first[names["item"]]
    tables = {}
    for name, rows in systems.items():
        of_item = rows.set_index(names["item"])
        if of_item.index.has_duplicates or {*of_item.index} != {*items}:
            raise fail(
                f"System {name!r} does not have exactly one row for each item of "
                f"{next(iter(systems))!r}",
                ...,
                "",
                "write one row for each item and system",
            )
        tables[name] = of_item.loc[items, ["tp", "fp", "fn"]].reset_index(drop=True)
    group = {"group": first[names["group"]]} if "group" in names else {}
    return from_item_counts(tables, item=items, **group)


def _in_order(frame, names, options):
    """Convert labels of items and systems to strings, which keep their order of appearance."""
    names = [*names, *options.keywords("system").values()]
    return frame.assign(**{name: frame[name].astype(str).astype(object) for name in names})


def _two_numbers(option, text):
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise fail(f"{option} must be two numbers", text, "", f"write e.g. {option} 0,1") from None
    return low, high


def multilabel(options: Any, *, separator_means_type: bool = False) -> Any:
    """
    Return the labels in a file with one row per example.

    A field contains labels with a separator between them, or a list, which is stored as a list or
    as text in JSON or Python syntax. With ``--indicators``, each label has its own column.

    Parameters
    ----------
    options : LabelColumns
    separator_means_type : bool
        Whether ``--separator`` specifies the type of the evidence, and need not occur in the file.
    """
    from bayescm.evidence.files import read_columns
    from bayescm.evidence.multilabel import from_multilabel

    if options.get("indicators"):
        return _of_indicators(options)
    predicted, slices = _several(options, "predicted") or ["predicted"], _several(options, "by")
    actual, separator = options.get("actual") or "actual", options.get("separator")
    columns, separator = _columns(options, "group"), ";" if separator is None else separator
    fields = list(dict.fromkeys([actual, *predicted]))
    weights = options.keywords("weights")
    read: dict[str, Any] = {"by": [*columns.values(), *slices], "weights": options.get("weights")}
    read |= _records(options) | (_separators(options) if weights else {})
    frame = read_columns(options.file, fields, **read)
    sets, are_lists = {}, False
    for name in fields:
        sets[name], of_lists = _sets_of_labels(frame[name], separator)
        are_lists |= of_lists
    if are_lists and not separator_means_type and "separator" in options.on_command_line():
        todo = "leave --separator out"
        raise fail(
            "--separator has no effect, because the fields are lists of labels", ..., "", todo
        )
    if not any(len(labels) > 1 for rows in sets.values() for labels in rows):
        got = f"--separator {separator!r}"
        raise fail(
            "No field contains several labels: {} occurs nowhere in the file",
            got,
            "",
            "name the text between labels with --separator; if every row has one label, "
            "use `bayescm summary`",
        )
    keywords = {name: frame[column] for name, column in {**columns, **weights}.items()}
    keywords |= options.keywords("weights_are")
    if slices:
        keywords["by"] = {name: frame[name] for name in slices}
    answers = {name: sets[name] for name in predicted}
    return from_multilabel(
        sets[actual],
        answers if len(predicted) > 1 else answers[predicted[0]],
        **options.keywords("labels"),
        **keywords,
    )


def _of_indicators(options):
    """Return the actual and predicted labels in a file with one 0/1 column for each label."""
    from bayescm.evidence.files import File, read_columns
    from bayescm.evidence.multilabel import from_multilabel

    predicted, slices = _several(options, "predicted") or ["predicted_*"], _several(options, "by")
    actual = options.get("actual")
    actual = "actual_*" if actual in (None, "actual") else actual
    for option, pattern in [("actual", actual), *(("predicted", each) for each in predicted)]:
        if pattern.count("*") != 1:
            todo = f"write e.g. --{option} '{pattern.replace('*', '')}_*'"
            raise fail(
                "Patterns of --indicators must contain exactly one *, in place of the label",
                pattern,
                "",
                todo,
            )
    names = File(options.file, **_records(options)).names
    columns = _columns_of_labels(names, [actual, *predicted])
    labels = _several(options, "labels") or list(columns[actual])
    if not labels:
        raise fail(
            "No column matches the pattern {} of true labels",
            actual,
            names,
            "name the columns with --actual; * is replaced by the label",
        )
    for pattern, found in columns.items():
        if absent := [label for label in labels if label not in found]:
            name = pattern.replace("*", absent[0])
            raise fail(
                f"The file has no column {name!r} for the label {absent[0]!r}",
                ...,
                "",
                "add the column, or name the labels that have all columns: --label cat --label dog",
            )
        further = [name for label, name in found.items() if label not in labels]
        if further and not options.get("labels"):
            raise fail(
                f"Column {further[0]!r} belongs to a label without a column of true values",
                ...,
                "",
                "name the labels to use: --label cat --label dog",
            )
    keys, weights = _columns(options, "group"), options.keywords("weights")
    fields = list(dict.fromkeys(columns[name][label] for name in columns for label in labels))
    numbers = _records(options) | (_separators(options) if weights else {})
    numbers |= {"weights": options.get("weights")}
    frame = read_columns(options.file, [], by=[*keys.values(), *slices], numbers=fields, **numbers)
    tables = {
        pattern: frame[[found[label] for label in labels]].set_axis(labels, axis=1)
        for pattern, found in columns.items()
    }
    keywords = {name: frame[column] for name, column in {**keys, **weights}.items()}
    keywords |= options.keywords("weights_are")
    if slices:
        keywords["by"] = {name: frame[name] for name in slices}
    systems = {pattern.replace("*", "").strip("_-. ") or pattern: pattern for pattern in predicted}
    answers = {name: tables[pattern] for name, pattern in systems.items()}
    several = answers if len(predicted) > 1 else tables[predicted[0]]
    return from_multilabel(tables[actual], several, **keywords)


def _columns_of_labels(names, patterns):
    """Return the column of each label by pattern. The longest matching pattern is used."""
    if twice := [pattern for pattern in patterns if patterns.count(pattern) > 1]:
        raise fail("The pattern {} is named twice", twice[0], "", "name each pattern once")
    columns: dict[str, dict[str, str]] = {pattern: {} for pattern in patterns}
    for name in names:
        matched = {}
        for pattern in patterns:
            start, _, end = pattern.partition("*")
            if re.fullmatch(f"{re.escape(start)}.+{re.escape(end)}", name):
                matched[pattern] = name[len(start) : len(name) - len(end)]
        if matched:  # y_hat_cat belongs to y_hat_*, and not to y_*
            pattern = max(matched, key=len)
            columns[pattern][matched[pattern]] = name
    return columns


def _sets_of_labels(column, separator):
    """Return the labels of each field, which may be empty, and whether the fields are lists."""
    if not separator:
        raise fail(
            "--separator is empty", ..., "", "pass the text between labels, e.g. --separator ';'"
        )
    fields = column.astype(object).tolist()
    lists = {
        place: listed
        for place, field in enumerate(fields)
        if (listed := _list_of_labels(field, column.name)) is not None
    }
    sets = []
    for place, field in enumerate(fields):
        is_empty = place not in lists and (field is None or field != field)
        if lists and not is_empty and place not in lists:
            raise fail(
                f"Column {column.name!r} has lists, but the field {{}} is not a list",
                field,
                "",
                "write all fields of the column as lists, or all as text",
            )
        labels = [] if is_empty else lists.get(place)
        labels = str(field).split(separator) if labels is None else labels
        labels = [label.strip() for label in labels]
        if len(set(labels)) < len(labels) or "" in labels:
            todo = "correct the field, or name another --separator; tags of tokens, with a tag "
            todo += "for each word, are counted by entity: bayescm.from_item_counts in Python"
            raise fail(
                f"A field of column {column.name!r} contains an empty or repeated label: {{}}",
                field,
                "",
                todo,
            )
        sets.append(set(labels))
    return sets, bool(lists)


def _list_of_labels(field, column):
    """Return the labels of a list, stored as such or as text (JSON or Python), or None."""
    if isinstance(field, list | tuple | set | frozenset) or hasattr(field, "tolist"):
        labels = field.tolist() if hasattr(field, "tolist") else list(field)
        return [str(label) for label in labels] if isinstance(labels, list) else None
    text = field.strip() if isinstance(field, str) else ""
    if (text[:1] + text[-1:]) not in ("[]", "{}", "()") or len(text) < 2:
        return None
    labels = _parsed(text)
    if labels is not None:
        return [str(label) for label in labels]
    if re.search(r"[,'\"]", text):
        todo = 'write JSON, ["cat", "dog"], or labels with a separator between them, cat;dog'
        raise fail(
            f"Column {column!r} has a list of labels that cannot be read: {{}}", text, "", todo
        )
    return None


def _parsed(text):
    """Return the members of a list in JSON or Python syntax, or None."""
    if re.search(r"""['"]\s*['"]""", re.sub(r"""(''|"")(?=\s*[],])""", "x", text)):
        return None  # text from numpy lacks commas, and Python would join the strings
    for parse in (json.loads, ast.literal_eval):
        try:
            labels = parse(text)
        except (ValueError, SyntaxError):
            continue
        if isinstance(labels, list | tuple | set) and all(
            isinstance(label, str | int | float) for label in labels
        ):
            return list(labels)
    return None


def attempts(options: Any) -> Any:
    """Return the attempts in a file with one row per attempt, for one or several systems."""
    from bayescm.evidence.attempts import from_attempts
    from bayescm.evidence.files import read_columns

    if options.get("metric") is not None:
        from bayescm.integrations.evaluation_logs import lm_eval

        return lm_eval(options.file, **options.keywords("metric", "filter"))
    item, slices = options.get("item") or "item", _several(options, "by")
    keywords: dict[str, Any] = _columns(options, "system", "attempt", "group")
    columns = [*keywords.values(), *slices]
    if options.get("answer") is None and options.get("truth") is None:
        answer, passing = options.correct or "correct", options.keywords("passing")
        # Grades are read as labels, whereas 1 and 0 are read as numbers.
        kinds: dict[str, Any] = {"by": [*columns, answer]} if passing else {"numbers": [answer]}
        kinds = {"by": columns} | kinds | _records(options)
        frame = read_columns(options.file, [item], **kinds)
        if passing:
            frame[answer] = frame[answer].astype(str)
        keywords |= passing
    else:
        answer, truth = _answer_and_truth(options)
        frame = read_columns(options.file, [item, answer, truth], by=columns, **_records(options))
        frame[answer] = frame[answer].astype(object)
        keywords["truth"] = truth
    frame = _in_order(frame, [item], options)
    if slices:
        keywords["by"] = slices
    return from_attempts(frame, item=item, correct=answer, **keywords)


def preferences(options: Any) -> Any:
    """Return the votes in a file with one row per vote."""
    from bayescm.evidence.files import read_columns
    from bayescm.evidence.preferences import from_preferences

    for name in ("left", "right"):
        _needed(options, name)
    winner, columns = options.get("winner") or "winner", _columns(options, "left", "right", "group")
    weights = options.keywords("weights")
    # Some commands lack the option --ordered, whose default is None.
    order = {"ordered": options.ordered} if options.has("ordered") else {}
    texts = [winner, *columns.values()]
    numbers = {"weights": weights.get("weights"), **_records(options)}
    frame = read_columns(options.file, [], by=texts, **numbers)
    frame = frame.assign(**{name: frame[name].astype(str).astype(object) for name in texts})
    return from_preferences(frame, winner=winner, **columns, **weights, **order)


def _answer_and_truth(options):
    if options.answer is None or options.truth is None:
        missing_option = "--truth" if options.answer is None else "--answer"
        raise fail(
            f"{missing_option} is missing: --answer and --truth belong together",
            ...,
            "",
            "name both columns",
        )
    if options.correct is not None:
        todo = "leave --correct out"
        raise fail("--correct and --answer both define which attempts are correct", ..., "", todo)
    return options.answer, options.truth


# The function that reads each type of evidence, by the name of the type.
READERS: dict[str, Callable[..., Any]] = {
    "counts": predictions,
    "partly labelled": partly_labelled,
    "ratings": ratings,
    "scores": lambda options: scores(options, _needed(options, "score")),
    "probabilities": probabilities,
    "attempts": attempts,
    "item scores": item_scores,
    "item counts": item_counts,
    "multilabel": multilabel,
    "preferences": preferences,
    "results": results,
}


def check_file(options: Any) -> Path:
    """Return the file, or raise an error if there is none."""
    if options.file is None:
        counts = "; --tp, --fn, --fp and --tn; or --matrix" if options.has("matrix") else ""
        raise fail("Missing argument FILE", ..., "", f"pass FILE{counts}")
    return options.file


def type_name(evidence: Any) -> str:
    """Return the name of the type of evidence."""
    from bayescm.evidence.registry import type_of

    return type_of(evidence).name


def is_results(evidence: Any) -> bool:
    """Return True if evidence is a table of results, whose measure is a column."""
    return type_name(evidence) == "results"


def has_cells(evidence: Any) -> bool:
    """Return True if the measures of evidence are functions of confusion matrices."""
    from bayescm.evidence.registry import type_of

    return type_of(evidence).has_cells


def dim_of_parts(options: Any, evidence: Any) -> str:
    """Return the dimension of the groups or slices of one system, or raise an error."""
    slices = [name for name in _several(options, "by") if name in evidence.dims]
    if "group" in evidence.dims or slices:
        return "group" if "group" in evidence.dims else slices[0]
    check_several(options, evidence)
    return "classifier"


def check_several(options: Any, evidence: Any) -> None:
    """Raise an error if there is only one system to compare."""
    if evidence.sizes.get("classifier", 1) > 1:
        return
    if not has_cells(evidence):
        option = "--system" if "item" in evidence.dims else "several columns"
        todo = f"name the column of the systems with {option}, or name several columns"
        if option != "--system":
            todo = "repeat the option for each system"
        raise fail("Only one system is given, so there is nothing to compare", ..., "", todo)
    names = options.get("predicted") or ["predicted"]
    judge = " with --judge" if options.get("judge") else ""
    raise fail(
        f"Only one classifier is given{judge}, {{}}, so there is nothing to compare",
        names,
        "",
        "repeat --predicted for each classifier",
    )


def at_target(evidence: Any, prevalence: float) -> Any:
    """Return counts or scores at the prevalence of a target population."""
    from bayescm import at_prevalence, curves
    from bayescm.evidence.counts import COUNTS
    from bayescm.evidence.registry import type_of
    from bayescm.evidence.scores import PROBABILITIES, SCORES

    entry = type_of(evidence)
    if entry in (SCORES, PROBABILITIES):
        return curves.at_prevalence(evidence, prevalence)
    if entry is not COUNTS:
        what = f"--prevalence has no effect on {entry.name}"
        raise fail(what, ..., "", "leave it out")
    return at_prevalence(evidence, prevalence)


def prior(options: Any, counts: Any) -> dict[str, Any]:
    """Return the keywords for ``--concentration`` and ``--label-error``."""
    from bayescm.evidence.raters import RATINGS
    from bayescm.evidence.registry import type_of

    read = {"concentration": _concentration, "label_error": _label_error}
    entry = type_of(counts)
    if entry is RATINGS or not entry.has_cells:  # the errors of raters are estimated
        del read["label_error"]
    values = options.keywords(*read)
    return {name: read[name](value, counts) for name, value in values.items()}


def _concentration(text, counts):
    from bayescm.evidence.outcomes import matrices_of
    from bayescm.evidence.registry import type_of
    from bayescm.priors import default

    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 4):
        todo = "write --concentration 0.5, or --concentration 24,13,16,19"
        raise fail("--concentration {} must be a number, or TP,FN,FP,TN", text, "", todo)
    if len(numbers) == 1:
        return numbers[0]
    if not type_of(counts).has_cells:
        todo = "write --concentration 0.5"
        raise fail(
            "--concentration {} gives one number per cell, but the evidence has no cells",
            text,
            "",
            todo,
        )
    empty = default(matrices_of(counts))
    if empty.shape != (2, 2) or "positive" not in empty.coords:
        todo = "give one number for all cells"
        labels = empty["actual"].values.tolist()
        raise fail(
            "TP,FN,FP,TN needs two classes, one of them positive; the classes are {}",
            labels,
            "",
            todo,
        )
    tp, fn, fp, tn = numbers
    return empty.copy(data=[[tn, fp], [fn, tp]])


def _label_error(texts, counts):
    if "=" not in texts[0]:
        if len(texts) > 1:
            todo = "name the class of each: --label-error sick=0.05 --label-error well=0.01"
            raise fail("--label-error is given several rates, but no classes: {}", texts, "", todo)
        return _rate(texts[0])
    from bayescm.evidence.outcomes import matrices_of

    labels = matrices_of(counts)["actual"].values.tolist()
    names = {str(label): label for label in labels}
    pairs = [text.rpartition("=") for text in texts]
    return {names.get(name, name): _rate(rate) for name, _, rate in pairs}


def _rate(text):
    try:
        numbers = tuple(float(number) for number in text.split(","))
    except ValueError:
        todo = "write --label-error 0.05, or --label-error sick=2,38"
        raise fail("--label-error {} cannot be read as a rate or as A,B", text, "", todo) from None
    return numbers if len(numbers) > 1 else numbers[0]


def halves(options: Any, counts: Any) -> dict[str, Any]:
    """Return the keyword for ``--halves``: counts with the same classes as the folds."""
    if "fold" not in counts.dims or "classifier" in counts.dims or options.halves is None:
        return {}
    from bayescm.evidence import read
    from bayescm.evidence.counts import positive

    labels = counts["actual"].values.tolist()
    columns: dict[str, Any] = {"actual": options.get("actual"), "by": ["repeat", "half"]}
    columns["predicted"] = options.predicted[0] if options.predicted else None
    numeric = True if isinstance(labels[0], int) else None
    classes = {"labels": labels, "positive": positive(counts), "numeric_labels": numeric}
    return {"halves": read(options.halves, **columns, **classes)}


def typical_study(counts: xr.DataArray, pairs: Sequence[str]) -> dict[str, Any]:
    """Return the value of each covariate in the typical study."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise fail("--covariate {} must be NAME=VALUE", pair, "", "write e.g. year=2000")
        numeric = name in counts.coords and counts[name].dtype.kind in "iuf"
        try:
            values[name] = float(value) if numeric else value
        except ValueError:
            raise fail(
                f"The value of {name} must be a number", value, "", "write e.g. year=2000"
            ) from None
    return values

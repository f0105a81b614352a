"""
LaTeX tables for papers: intervals such as "0.64 [0.58, 0.70]", differences and ranks.

The best member of a column has the lowest expected rank, which is equivalent to the largest sum of
pairwise probabilities P(better than another). Another member is distinguished from the best if its
probability of being worse is at least the level required for a verdict.
"""

import math
import re
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayescm.answers.compare import below_each_other
from bayescm.answers.tables import check_digits, decimals, is_mean_unusable, text_of
from bayescm.distributions.decision import chance
from bayescm.measures.display_names import (
    DisplayNames,
    check_display_names,
    display_dim,
    display_label,
    distinct_display_names,
)
from bayescm.validate import check_choice, check_is, fail, suggest

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "−": "$-$",
    "–": "--",
    "\n": " ",
}
_KINDS = {"hdi": "highest-density", "eti": "equal-tailed"}
_NUMBERS = ("lower", "upper")
# A member ties with the best if the probability of being exactly equal exceeds this value. For
# example, two median grades are often equal.
_EQUAL = 0.5
_TIE = 1e-9  # tolerance for rounding errors in sums of probabilities
_OF_PAIRS = ("first", "second", "p_better", "p_worse")
# Widths in points, within 5% of the widths in pdflatex (see tests/answers/test_latex.py).
# Symbols are assumed to be as wide as a digit.
_TEXT_WIDTH = 345  # text width of ``article``
_FOOTNOTE = 0.85  # size of footnotes, relative to the text
_WIDE = 6.9  # width of a capital letter at 10 points
_USUAL = 4.9  # width of any other letter
_NARROW = 3.0  # width of a narrow letter
_NARROW_LETTERS = " .,:;'[]()-ijl"
_SYMBOL, _SYNTAX = re.compile(r"\\[a-z]+"), re.compile(r"[{}$\\^]")
_UNDEFINED = r"$^{\ast}$"


_PLAIN = {written: plain for plain, written in _ESCAPED.items() if plain != "\n"}
_WRITTEN = re.compile("|".join(map(re.escape, sorted(_PLAIN, key=len, reverse=True))))


def unescape_latex(text: str) -> str:
    r"""
    Undo the escaping of `escape_latex`.

    Examples
    --------
    >>> unescape_latex(r"f1\_macro, 95\%")
    'f1_macro, 95%'
    """
    return _WRITTEN.sub(lambda match: _PLAIN[match[0]], text)


class Markup(NamedTuple):
    """Formats of cells and notes in one type of document."""

    escape: Callable[[object], str]
    bold: str
    mark: str
    undefined: str
    minus: str
    infinity: str
    percent: str
    dash: str
    less: str
    greater: str


def escape_latex(text: object) -> str:
    r"""
    Escape text for LaTeX text mode.

    Examples
    --------
    >>> print(escape_latex("f1_macro, 95 %"))
    f1\_macro, 95 \%
    """
    return "".join(_ESCAPED.get(character, character) for character in str(text))


LATEX = Markup(
    escape_latex,
    bold=r"\textbf{{{}}}",
    mark=r"$^{\dagger}$",
    undefined=_UNDEFINED,
    minus="$-$",
    infinity=r"$\infty$",
    percent=r"\%",
    dash="--",
    less="$<$ ",
    greater="$>$ ",
)


class Parts(NamedTuple):
    """
    Parts of a table for a paper, for any type of document.

    Attributes
    ----------
    corner : str
        Heading of the row labels.
    levels : list of str
        Columns of the summary whose values become columns of the table.
    columns : list of tuple
        Values of these levels, one tuple per column of the table.
    members : list
        Members in the rows.
    notes : list of str
        Explanations of cells, bold type and marks.
    text : callable
        Function that formats a value, given the name of its column and the value.
    cell : callable
        Function that returns the text of a cell, given a member and a column.
    row : callable
        Function that returns the label of a row, given a member.
    """

    corner: str
    levels: list
    columns: list
    members: list
    notes: list
    text: Callable[[Hashable, Any], str]
    cell: Callable[[Any, tuple], str]
    row: Callable[[Any], str]


def latex_table(
    frame: pd.DataFrame | Sequence[pd.DataFrame],
    *,
    comparison: pd.DataFrame | Sequence[pd.DataFrame] | Mapping[Any, pd.DataFrame] | None = None,
    rows: str | None = None,
    center: str = "mean",
    digits: int | None = None,
    caption: str | None = None,
    label: str | None = None,
    display_names: DisplayNames = None,
) -> str:
    r"""
    Return a LaTeX table of a summary, comparison or ranking.

    A summary has classifiers as rows, data sets or measures as columns, and an interval in each
    cell. A comparison or ranking has one row per result.

    Parameters
    ----------
    frame : DataFrame or sequence of DataFrame
        Table returned by `bayescm.summary`, `bayescm.compare` or `bayescm.ranks`. Pass a list to
        put several tables into one, e.g. F1 from labels and AUC from scores. Do not concatenate
        them with pandas, which drops ``attrs`` if they differ.
    comparison : DataFrame, sequence of DataFrame or mapping of label to DataFrame, optional
        Comparison of all pairs by `bayescm.compare`, for the same evidence and measures. The best
        member of each column is set in bold (several if they tie), and members that are not
        distinguished from it are marked. If ``frame`` summarises a mapping of evidence, pass a
        mapping of comparisons.
    rows : str, optional
        Column of ``frame`` whose values become rows. By default ``"classifier"`` or, if there is
        none, ``"measure"``. The values of all other label columns become columns of the table, with
        the measure as the top level.
    center : {"mean", "point"}
        Number before the interval: the posterior mean or the point estimate.
    digits : int, optional
        Number of decimals. By default two, or three for differences and ranks. Cells with a large
        numerical ``error`` have fewer decimals, but at least two, and a warning states the number
        of such cells. Probabilities always have three decimals.
    caption, label : str, optional
        Caption and reference label. Explanations of cells, bold type and marks are added to the
        caption. ``label`` is inserted without escaping.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels. By default, see
        `bayescm.measures.display_name`.

    Returns
    -------
    str
        A ``table`` environment in the style of booktabs; it needs ``\usepackage{booktabs}``. Text
        is escaped. Names with non-Latin letters need lualatex or xelatex. Tables wider than the
        text of ``article`` are set in smaller type or, if still too wide, with the measures below
        each other.

    Warns
    -----
    UserWarning
        If the numerical error allows fewer than ``digits`` decimals, or if the table is still too
        wide.

    Raises
    ------
    TypeError
        If ``frame`` or ``comparison`` has an unsupported type.
    ValueError
        If a frame is not one of these tables or lacks its ``attrs``, or a comparison lacks a pair.
        If two rows would share a cell. If an argument for summaries is passed with another type of
        table.

    See Also
    --------
    bayescm.to_markdown, bayescm.to_word : The same table for other documents.
    bayescm.table : Table for notebooks and web pages.

    Examples
    --------
    >>> import bayescm as bcm
    >>> answers = {"a": [1, 1, 0, 0] * 9, "b": [1, 0, 0, 0] * 9}
    >>> both = bcm.from_classifiers([1, 1, 0, 0] * 9, answers)
    >>> comparison = bcm.compare(both, ["accuracy", "f1"])
    >>> text = latex_table(bcm.summary(both, ["accuracy", "f1"]), comparison=comparison)
    >>> print(text[text.index("    \\toprule"):text.index("  \\end{tabular}")].rstrip())
        \toprule
        Classifier & accuracy & F1 \\
        \midrule
        a & \textbf{0.97} [0.92, 1.00] & \textbf{0.97} [0.92, 1.00] \\
        b & 0.74 [0.60, 0.87] & 0.65 [0.45, 0.84] \\
        \bottomrule
    """
    stated = check_display_names(display_names)
    frame = one_table(frame)
    if is_rows(frame):
        check_of_rows(frame, comparison, rows, center)
        return _table_of_rows(frame, digits, caption, label, stated)
    parts = parts_of(frame, comparison, rows, center, digits, stated, LATEX, caption)
    corner, levels, columns, members, notes, text, cell, row = parts

    def lines_of(part: list) -> list:
        return [[row(member), *(cell(member, column) for column in part)] for member in members]

    flat = [
        *_heads(corner, levels, columns, text),
        r"\midrule",
        *map(_line, body := lines_of(columns)),
    ]
    layouts = [(flat, body)]
    if len(levels) > 1:  # values of the upper level become separate blocks of rows
        blocks, widest = [], []
        inner = list(dict.fromkeys(column[1:] for column in columns))
        for upper in dict.fromkeys(column[0] for column in columns):
            body = lines_of([(upper, *column) for column in inner])
            title = (
                rf"\multicolumn{{{len(inner) + 1}}}{{l}}{{\emph{{{text(levels[0], upper)}}}}} \\"
            )
            blocks += [r"\midrule", title, *map(_line, body)]
            widest += body
        layouts.append(([*_heads(corner, levels[1:], inner, text), *blocks], widest))
    return _environment(layouts, caption, notes, label)


def one_table(tables: Any) -> Any:
    """Concatenate a list of tables. Return any other object unchanged."""
    if not isinstance(tables, list | tuple) or not tables:
        return tables
    for table in tables:
        allowed, todo = "a summary, comparison or ranking", "pass tables of bayescm"
        check_is(table, pd.DataFrame, "a table", allowed, todo)
    return below_each_other(dict(enumerate(tables)), None)


def _check_facts(frame, what, names):
    """Raise an error if a table lacks attributes that its caption or marks need."""
    missing = [name for name in names if name not in frame.attrs]
    if missing:
        raise fail(
            f"The {what} lacks {' and '.join(missing)} in its `attrs`. pandas drops them, e.g. "
            "when tables with different `attrs` are concatenated or a table is saved to a file",
            ...,
            "",
            f"pass a list of tables, or the {what} as bayescm returned it",
        )


def is_rows(frame: Any) -> bool:
    """Return True if a table is a comparison or ranking, with one row per result."""
    return isinstance(frame, pd.DataFrame) and bool({"p_better", "p_best"} & {*frame})


def check_of_rows(frame: pd.DataFrame, comparison: Any, rows: Any, center: str) -> None:
    """Raise an error if an argument for summaries is passed with a comparison or ranking."""
    check_choice("center", center, ["mean", "point"])
    asked = {"comparison": comparison is not None, "rows": rows is not None}
    asked |= {"center": center != "mean"}
    for name in [name for name, is_asked in asked.items() if is_asked]:
        todo = f"leave `{name}` out, or pass bcm.summary(...)"
        raise fail(
            f"`{name}` needs a summary; this table has the columns {{}}",
            list(frame.columns),
            "",
            todo,
        )


def parts_of(
    frame: pd.DataFrame,
    comparison: Any,
    rows: str | None,
    center: str,
    digits: int | None,
    stated: Mapping[str, str],
    markup: Markup,
    caption: str | None = None,
) -> Parts:
    """Return the parts of the table of a summary. See `latex_table`."""
    check_choice("center", center, ["mean", "point"])
    digits = 2 if digits is None else digits
    check_digits(digits)
    methods = {*frame["how"]} if isinstance(frame, pd.DataFrame) and "how" in frame else set()
    frame, index = _summary(frame, center)
    rows = _rows_of(rows, index)
    levels = [name for name in index if name != rows and frame[name].nunique(dropna=False) > 1]
    if not levels and rows != "measure":
        levels = ["measure"]
    cells: dict[tuple, dict] = {}
    for record in frame.to_dict("records"):
        key = (record[rows], tuple(record[name] for name in levels))
        if key in cells:
            raise fail(
                "Two rows of the summary belong to the cell {}",
                key,
                "",
                "select one of them, e.g. one estimand",
            )
        cells[key] = record
    _warn_of_fewer_digits(cells.values(), digits)
    members = list(dict.fromkeys(frame[rows]))
    columns = _ordered(frame, levels)
    marks: dict[tuple, str] = {}
    pairs, ties = None, False
    if comparison is not None:
        pairs = _one_comparison(comparison, frame, index)
        compared = _compared(pairs, frame, rows, index)
        others = [name for name in index if name != compared]
        alternatives: dict[tuple, dict] = {}
        for place, record in cells.items():
            where = tuple(record[name] for name in others)
            alternatives.setdefault(where, {})[record[compared]] = place
        for where, present in alternatives.items():
            labels = dict(zip(others, where, strict=True))
            best, similar = _verdict(pairs, labels, list(present), _prob(pairs))
            ties = ties or len(best) > 1
            marks |= {present[one]: "best" for one in best}
            marks |= {present[one]: "similar" for one in similar}
    written = distinct_display_names(frame["measure"], stated)

    def text(name: Hashable, value: Any) -> str:
        if value is None:
            return ""
        shown = written[value] if name == "measure" else display_label(value, stated)
        return markup.escape(shown)

    def cell(member: Any, column: tuple) -> str:
        if (member, column) not in cells:
            return ""
        return _cell(cells[member, column], digits, marks.get((member, column)), markup)

    unusable = dict.fromkeys(frame.loc[frame["has no mean"], "measure"])
    medians = ", ".join(markup.escape(written[name]) for name in unusable)
    notes = [_meaning(frame, center, markup)]
    notes += (
        [(f"For {medians}, the median is given if the mean is infinite or outside the interval.")]
        if medians
        else []
    )
    notes += [] if pairs is None else [_meaning_of_marks(pairs, ties, methods, markup)]
    if levels != ["measure"] and frame["measure"].nunique() == 1:
        name = markup.escape(written[frame["measure"].iloc[0]])
        is_named = caption is not None and name in markup.escape(caption)
        notes[:0] = [] if is_named else [f"{_with_capital(name)}."]
    corner = _head(rows, stated, markup)

    drawn = (cell(member, column) for member in members for column in columns)
    if any(markup.undefined in text_of_cell for text_of_cell in drawn):
        notes.append(f"{markup.undefined}: 0/0 in the sample, so the result depends on the prior.")
    in_row = partial(text, rows)
    return Parts(corner, levels, columns, members, notes, text, cell, in_row)


def _environment(layouts, caption, notes, label, stacklevel=3):
    """Return the table in the first layout that fits, or else in the narrowest layout."""
    stop = "" if caption is None or caption.rstrip().endswith((".", "!", "?")) else "."
    notes = [escape_latex(caption) + stop if caption else "", *notes]
    widths = [
        (lines, body, small, _width(body, small))
        for lines, body in layouts
        for small in (False, True)
    ]
    fitting = [layout for layout in widths if layout[-1] <= _TEXT_WIDTH]
    lines, body, small, width = fitting[0] if fitting else min(widths, key=itemgetter(-1))
    if not fitting:
        warnings.warn(
            f"The table is about {width:.0f} pt wide, but the text of an article is "
            f"{_TEXT_WIDTH} pt wide. Use a wide page, fewer measures, or another column in "
            "rows=.",
            UserWarning,
            stacklevel=stacklevel,
        )
    columns = f"l{'c' * (len(body[0]) - 1)}"
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{' '.join(filter(None, notes))}}}",
            *([rf"  \label{{{label}}}"] if label else []),
            *([r"  \footnotesize\setlength{\tabcolsep}{3pt}"] if small else []),
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            *(f"    {line}" for line in lines),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _width(body, small):
    """Return the approximate width of a table in points, from the widest cell per column."""
    columns = [max(map(_points, column)) for column in zip(*body, strict=True)]
    scale, gap = (_FOOTNOTE, 6) if small else (1, 12)
    return sum(columns) * scale + len(columns) * gap


def _points(cell):
    """Return the approximate width of a cell at 10 points."""
    letters = cell.replace("$-$", "00").replace(r"\textbf", "").replace(r"\dagger", "i")
    letters = _SYNTAX.sub("", _SYMBOL.sub("0", letters))
    return sum(
        _WIDE if letter.isupper() else _NARROW if letter in _NARROW_LETTERS else _USUAL
        for letter in letters
    )


def _line(cells):
    return " & ".join(cells) + r" \\"


def _head(name, stated, markup):
    """Return the heading of a label column, capitalised unless the user specified it."""
    text = display_dim(name, stated)
    return markup.escape(text if name in stated else _with_capital(text))


def _with_capital(text):
    return text[:1].upper() + text[1:]


# Comparisons and rankings: one row per result.


def _table_of_rows(frame, digits, caption, label, stated):
    """Return the table of a comparison or ranking."""
    rows, heads, leading, notes = rows_of(frame, digits, stated, LATEX)
    layouts = [_layout({"": written_once(rows, leading)}, heads)]
    if leading:  # labels above the rows of each block
        inner = rows.drop(columns=leading)
        blocks = {
            ", ".join(labels): inner.loc[block.index]
            for labels, block in rows.groupby(leading, sort=False, dropna=False)
        }
        layouts.append(_layout(blocks, heads))
    return _environment(layouts, caption, notes, label, stacklevel=4)


def rows_of(
    frame: pd.DataFrame, digits: int | None, stated: Mapping[str, str], markup: Markup
) -> tuple[pd.DataFrame, dict[str, str], list[str], list[str]]:
    """Return rows of text, the column headings, the leading columns and the notes."""
    digits = 3 if digits is None else digits
    check_digits(digits)
    if frame.empty:
        raise fail("The table has no rows", ..., "", "pass a table with rows")
    is_comparison = "p_better" in frame
    if is_comparison:
        _check_facts(frame, "comparison", ("prob", "rope"))
    else:
        _check_facts(frame, "ranking", ("prob",))
    written = distinct_display_names(frame["measure"], stated)
    last = "second" if is_comparison else "mean"
    index = list(frame.columns[: frame.columns.get_loc(last) + is_comparison])
    dropped = [name for name in index if name == "measure" and frame[name].nunique() == 1]
    shown = [name for name in index if name not in dropped]
    columns = {name: _texts(frame, name, written, stated, markup) for name in shown}
    if is_comparison:
        numbers, notes = _columns_of_differences(frame, digits, markup)
    else:
        numbers, notes = _columns_of_ranks(frame, digits, markup)
    leading = [name for name in shown if name not in ("first", "second")][
        : None if is_comparison else -1
    ]
    heads = {name: _head(name, stated, markup) for name in shown}
    heads |= {name: name for name in numbers}
    if dropped:
        name = markup.escape(written[frame["measure"].iloc[0]])
        notes = [f"{_with_capital(name)}.", *notes]
    return pd.DataFrame(columns | numbers), heads, leading, notes


def written_once(rows: pd.DataFrame, leading: list[str]) -> pd.DataFrame:
    """Blank out repeated leading labels in consecutive rows."""
    flat = rows.copy()
    for depth, name in enumerate(leading, start=1):
        repeated = rows[leading[:depth]].eq(rows[leading[:depth]].shift()).all(axis=1)
        flat[name] = rows[name].where(~repeated, "")
    return flat


def _layout(blocks, heads):
    """Return the lines of titled blocks of rows, and the cells of all rows."""
    names = list(next(iter(blocks.values())))
    cells = [[heads[name] for name in names]]
    lines = [_line(cells[0])]
    for title, block in blocks.items():
        rows = block.to_numpy(object).tolist()
        lines += [r"\midrule"]
        lines += [rf"\multicolumn{{{len(names)}}}{{l}}{{\emph{{{title}}}}} \\"] if title else []
        lines += map(_line, rows)
        cells += rows
    return lines, cells


def _texts(frame, name, written, stated, markup):
    values = frame[name]
    texts = (
        [written[x] for x in values]
        if name == "measure"
        else [display_label(x, stated) for x in values]
    )
    return [markup.escape(text) for text in texts]


def _columns_of_differences(frame, digits, markup):
    """Return the number columns of a comparison by heading, and their explanations."""
    facts = frame.attrs
    contrast, kind = facts.get("contrast", "difference"), facts.get("kind")
    low, high = _rope(frame)
    ends = frame[["mean", "lower", "upper"]].itertuples(index=False, name=None)
    triples = [[_number(value, math.nan, digits, markup) for value in row] for row in ends]
    columns = {
        contrast.capitalize(): [f"{mean} [{lower}, {upper}]" for mean, lower, upper in triples]
    }
    columns["P(better)"] = [_probability(value, markup) for value in frame["p_better"]]
    if low < high:
        columns["P(equiv.)"] = [_probability(value, markup) for value in frame["p_rope"]]
    columns["P(worse)"] = [_probability(value, markup) for value in frame["p_worse"]]
    of = "First over second" if contrast == "ratio" else "First minus second"
    mass = f"{100 * _prob(frame):.4g}{markup.percent} {_KINDS[kind]} " if kind else ""
    notes = [
        f"{of}: posterior mean and {mass}interval. P: the probability that the first is better"
    ]
    within = (
        f", nearer than {high:g} to the second"
        if low == -high
        else f", between {low:g} and {high:g} off"
    )
    notes[0] += f"{within if low < high else ''} or worse than the second."
    if "how" in facts:
        notes.append(f"By the {facts['how']} over the folds.")
    return columns, notes


def _columns_of_ranks(frame, digits, markup):
    """Return the number columns of a ranking by heading, and their explanations."""
    columns = {
        "Mean": [_number(value, math.nan, digits, markup) for value in frame["mean"]],
        "P(best)": [_probability(value, markup) for value in frame["p_best"]],
        "Expected rank": [f"{value:.2f}" for value in frame["expected_rank"]],
        "Ranks": [
            f"{best}" if best == worst else f"{best}{markup.dash}{worst}"
            for best, worst in zip(frame["best_rank"], frame["worst_rank"], strict=True)
        ],
        "Tiers": list(frame["tiers"]),
    }
    mass = f"{100 * _prob(frame):.4g}{markup.percent}"
    mean = frame.attrs.get("mean", "that of the posterior")
    notes = [
        (
            f"Mean: {mean}. Ranks: the set of possible ranks of each (1 is best), "
            f"simultaneous with probability {mass}. Members of the same tier are not "
            "distinguished."
        )
    ]
    return columns, notes


def _probability(value, markup):
    """Format a probability, without rounding it to 0 or 1."""
    text = chance(value).removeprefix("= ")
    if math.isnan(value):
        return markup.dash
    return text.replace("> ", markup.greater).replace("< ", markup.less)


# Summaries, and the positions of their rows.


def _summary(frame, center):
    """Return the labels, centres and ends of a summary as a table, and the names of the labels."""
    allowed, todo = "a summary", "pass bcm.summary(...)"
    check_is(frame, pd.DataFrame, "a table", allowed, todo)
    missing = [name for name in ("measure", center, *_NUMBERS) if name not in frame]
    if missing:
        raise fail(
            f"A summary needs a column {missing[0]}; this table has {{}}",
            list(frame.columns),
            "",
            todo,
        )
    if frame.empty:
        raise fail("The summary has no rows", ..., "", "pass a summary with rows")
    _check_facts(frame, "summary", ("prob", "kind"))
    numbers = [name for name in ("point", "mean", *_NUMBERS) if name in frame]
    first = min(frame.columns.get_loc(name) for name in numbers)
    index = list(frame.columns[:first])
    columns = [*index, *_NUMBERS, *(["error"] if "error" in frame else [])]
    plain = pd.DataFrame(frame)[columns].astype(dict.fromkeys(index, object))
    plain = plain.assign(**{"center of the cell": frame[center], "has no mean": False})
    plain["is 0/0"] = frame["point"].isna() if "point" in frame else False
    if center == "mean" and "median" in frame:
        unusable = is_mean_unusable(frame)
        middle = frame["mean"].where(~unusable, frame["median"])
        plain = plain.assign(**{"center of the cell": middle, "has no mean": unusable})
    plain[index] = plain[index].where(plain[index].notna(), None)
    plain.attrs = dict(frame.attrs)
    return plain, index


def _rows_of(rows, index):
    if rows is None:
        return "classifier" if "classifier" in index else "measure"
    if rows not in index:
        raise fail(
            "`rows` must be a label column of the summary", rows, index, suggest(rows, index)
        )
    return rows


def _ordered(frame, levels):
    """Return the columns of the table, grouped by upper level."""
    ranks = [{value: i for i, value in enumerate(dict.fromkeys(frame[name]))} for name in levels]
    columns = set(frame[levels].itertuples(index=False, name=None)) if levels else {()}
    return sorted(
        columns, key=lambda column: [rank[x] for rank, x in zip(ranks, column, strict=True)]
    )


def _heads(corner, levels, columns, text):
    """Return one line per level of the columns, with rules below the upper levels."""
    if not levels:
        return [f"{corner} & \\\\"]
    lines = []
    for depth, name in enumerate(levels[:-1]):
        groups = [list(group) for _, group in groupby(columns, key=itemgetter(slice(depth + 1)))]
        spans = [
            rf"\multicolumn{{{len(group)}}}{{c}}{{{text(name, group[0][depth])}}}"
            for group in groups
        ]
        lines.append(" & ".join(["", *spans]).strip() + r" \\")
        ends = np.cumsum([len(group) for group in groups]) + 1
        rules = [
            rf"\cmidrule(lr){{{end - len(group) + 1}-{end}}}"
            for end, group in zip(ends.tolist(), groups, strict=True)
        ]
        lines.append(" ".join(rules))
    lowest = [text(levels[-1], column[-1]) for column in columns]
    return [*lines, _line([corner, *lowest])]


def _cell(record, digits, mark, markup):
    """Return a cell such as "0.64 [0.58, 0.70]", with bold type or marks if they apply."""
    middle, low, high = (record[name] for name in ("center of the cell", *_NUMBERS))
    if any(map(math.isnan, (middle, low, high))):
        return markup.dash
    error = float(record.get("error", math.nan))
    middle, low, high = (_number(value, error, digits, markup) for value in (middle, low, high))
    middle = markup.bold.format(middle) if mark == "best" else middle
    marks = (markup.mark if mark == "similar" else "") + markup.undefined * record["is 0/0"]
    return f"{middle} [{low}, {high}]{marks}"


def _warn_of_fewer_digits(records, digits):
    """Warn if requested decimals are beyond the numerical error."""
    errors = [float(record.get("error", math.nan)) for record in records]
    fewer = [error for error in errors if decimals(error, digits) < digits]
    if fewer:
        warnings.warn(
            f"{len(fewer)} of {len(errors)} cells have fewer than {digits} decimals, "
            f"because the numerical error is up to {max(fewer):.1g}. Pass draws=200_000 to "
            "summary for folds, groups and draws, or accuracy=1e-4 for functions of one "
            "table.",
            UserWarning,
            stacklevel=3,
        )


def _number(value, error, digits, markup):
    if math.isinf(value):
        text = (markup.minus if value < 0 else "") + markup.infinity
        return text.replace("$$", "")
    if 0 < abs(value) < 0.5 * 10.0**-digits:  # published tables do not contain 4e-03
        return f"{0:.{decimals(error, digits)}f}"
    text = text_of(value, error, digits)
    return f"{markup.minus}{text[1:]}" if text.startswith("-") else text


# Comparisons: the best member of a column, and the members not distinguished from it.


def _one_comparison(comparison, frame, index):
    """Return a single comparison, after concatenating a mapping of comparisons."""
    if index == ["measure"]:
        raise fail(
            "`comparison` needs a summary with several members; measures are not compared "
            "with each other",
            ...,
            "",
            "leave `comparison` out",
        )
    if not isinstance(comparison, Mapping):
        return _checked(comparison)
    columns = [name for name in index if name != "measure" and set(frame[name]) <= {*comparison}]
    if len(columns) != 1:
        allowed = {name: list(dict.fromkeys(frame[name])) for name in index if name != "measure"}
        todo = "pass a comparison for each label of one of these columns"
        raise fail(
            "The comparisons {} do not match a column of the summary",
            [*comparison],
            str(allowed),
            todo,
        )
    tables = {name: _checked(table) for name, table in comparison.items()}
    facts = {(_prob(table), _rope(table)) for table in tables.values()}
    if len(facts) > 1:
        raise fail(
            "The comparisons have different values of prob or rope: {}",
            sorted(facts),
            "",
            "make all comparisons with the same prob and rope",
        )
    return below_each_other(tables, columns[0])


def _compared(pairs, frame, rows, index):
    """Return the column of the summary whose values are compared."""
    labels = {*pairs["first"], *pairs["second"]}
    names = [name for name in index if name != "measure" and set(frame[name]) <= labels]
    return names[0] if len(names) == 1 and rows not in names else rows


def _checked(comparison):
    """Return a comparison, or raise an error if it is invalid. Lists are joined."""
    comparison = one_table(comparison)
    todo = "pass bcm.compare(evidence, measures) of the same evidence"
    check_is(comparison, pd.DataFrame, "a comparison", "a table of bcm.compare", todo)
    missing = [name for name in ("measure", *_OF_PAIRS) if name not in comparison]
    if missing:
        got = list(comparison.columns)
        raise fail(f"A comparison needs a column {missing[0]}; this table has {{}}", got, "", todo)
    _check_facts(comparison, "comparison", ("prob", "rope"))
    return comparison


def _verdict(pairs, where, members, prob):
    """Return the best members of a column, and the members not distinguished from them."""
    names = [where["measure"]]
    if where.get("class") is not None:
        names.append(f"{where['measure']}[{where['class']}]")
    rows = pairs[pairs["measure"].isin(names)]
    for name, value in where.items():
        if name in rows and name != "measure":
            rows = rows[rows[name] == value]
    better: dict[tuple, float] = {}
    for first, second, p_better, p_worse in rows[list(_OF_PAIRS)].itertuples(index=False):
        if (first, second) in better:
            raise fail(
                "The comparison contains the pair {} twice",
                (first, second),
                "",
                "pass the comparison of the evidence in the summary",
            )
        better |= {(first, second): p_better, (second, first): p_worse}
    for first, second in combinations(members, 2):
        if (first, second) not in better:
            todo = "compare all pairs, without `reference=`, in every measure of the summary"
            got = (where["measure"], first, second)
            raise fail("The comparison lacks the pair {}", got, "", todo)
    wins = {
        one: sum(np.nan_to_num(better[one, other], nan=0.5) for other in members if other != one)
        for one in members
    }
    most = max(wins.values())
    best = [one for one in members if wins[one] >= most - _TIE]
    if _rope(pairs) == (0, 0):  # both are equal with the remaining probability
        first = best[0]
        best += [
            one
            for one in members
            if one not in best and better[first, one] + better[one, first] < 1 - _EQUAL
        ]
    others = [one for one in members if one not in best]
    similar = [one for one in others if not better[best[0], one] >= prob]
    return best, similar


def _prob(comparison):
    return comparison.attrs["prob"]


def _rope(comparison):
    return tuple(comparison.attrs["rope"])


# Explanations of cells and marks, for the caption.


def _meaning(frame, center, markup):
    facts = frame.attrs
    middle = "Posterior mean" if center == "mean" else "Estimate"
    mass = f"{100 * facts['prob']:.4g}{markup.percent}"
    return f"{middle} and {mass} {_KINDS[facts['kind']]} interval."


def _meaning_of_marks(comparison, ties, methods, markup):
    mass = f"{100 * _prob(comparison):.4g}{markup.percent}"
    rope = max(map(abs, _rope(comparison)))
    margin = f" by more than {rope:g}" if rope else ""
    meaning = "Bold: best expected rank"
    meaning += "; several in a column are tied. " if ties else ". "
    meaning += f"{markup.mark}: worse than the best{margin} with a probability below {mass}."
    how = comparison.attrs.get("how")
    if how is not None and how not in methods:
        meaning += (
            f" Bold and marks use the {how} of the differences over the folds, which pairs "
            "the classifiers. The intervals come from a separate model of each classifier."
        )
    return meaning

"""
Directives of committed tables of results.

``coverage`` shows a part of one as a table of the page, ``simulated-tables`` lists them all: the
file that makes each, the call with its seed, and the pages on which it stands.
"""

import re
from pathlib import Path
from typing import ClassVar

import pandas as pd
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).parent / "results"


class Coverage(SphinxDirective):
    """
    Show a table of results.

    The argument is a file in docs/results. ``keep`` selects rows (``method=pooled, n=50``, each
    with alternatives parted by ``|``), ``columns`` the columns in order (``old as new, ...``);
    with ``wide`` the values of one column become columns. Below the table stands the file, with the
    call and the seed that made it. A file that is not there yet says so.
    """

    required_arguments = 1
    option_spec: ClassVar = {
        "keep": directives.unchanged,
        "columns": directives.unchanged_required,
        "wide": directives.unchanged,
    }

    def run(self):
        """Return the nodes of the table."""
        path = RESULTS / self.arguments[0]
        self.env.note_dependency(str(path))
        given = pd.read_csv(path, comment="#") if path.is_file() else pd.DataFrame()
        table = _chosen(given, self.options) if len(given) else given
        if not len(table):
            return [nodes.paragraph(text="Not measured yet.")]
        lines = [".. csv-table::", "   :header-rows: 1", "   :class: coverage", ""]
        lines += [f"   {line}" for line in _text(table).splitlines()]
        holder = nodes.container(classes=["coverage"])
        lines += ["", ".. rst-class:: table-origin", "", f"   {_origin(path)}"]
        self.state.nested_parse(StringList(lines, source=path.name), 0, holder)
        return holder.children


def _origin(path):
    """Say which file the table is from, and by which call with which seed that was made."""
    with path.open() as file:
        first = file.readline().strip()
    call = f": {first.removeprefix('#').strip()}" if first.startswith("#") else ""
    text = f"docs/results/{path.name}{call}".replace("*", "\\*").replace("_", "\\_")
    return _literal_options(text)


def _literal_options(text):
    """Return a text whose options are literals, because Sphinx turns -- into a dash elsewhere."""
    options = r"(?<!\S)--[a-z][\w\\-]*"
    return re.sub(options, lambda found: f"``{found[0]}``".replace("\\", ""), text)


def _chosen(table, options):
    for condition in filter(None, map(str.strip, options.get("keep", "").split(","))):
        column, values = condition.split("=", 1)
        table = table[table[column].astype(str).isin(values.split("|"))]
    pairs = [each.strip().split(" as ") for each in options["columns"].split(",")]
    names = {pair[0]: pair[-1] for pair in pairs if pair[0] in table}
    wide = options.get("wide")
    if not wide:
        return table[list(names)].rename(columns=names)
    *index, value = names
    kept = table.pivot_table(index=index, columns=wide, values=value, sort=False)
    kept.columns = [f"{column}" for column in kept.columns]
    return kept.reset_index().rename(columns=names)


def _text(table):
    """Return the table as CSV with three decimals, numbers that are whole without any."""
    shown = table.copy()
    for name in shown.select_dtypes("number"):
        column = shown[name].dropna()
        digits = 0 if (column % 1 == 0).all() and column.max() > 1 else 3
        shown[name] = shown[name].map(f"{{:.{digits}f}}".format).replace("nan", "")
    return shown.to_csv(index=False)


# Tables that are made by other files than those of docs/validation.
_OTHER_FILES = {
    "averages_by_moments.csv": "tests/benchmarks/moments.py",
    "averages_by_moments_held_out.csv": "tests/benchmarks/moments.py",
    "comparison_speed.csv": "tests/benchmarks/test_comparisons.py",
    "growth.csv": "tests/benchmarks/growth.py",
    "ledger_growth.csv": "tests/support/ledger_growth.py",
    "scale.csv": "tests/benchmarks/scale.py",
}


class SimulatedTables(SphinxDirective):
    """List every table of docs/results with its file, its call and its pages."""

    def run(self):
        """Return the nodes of the list."""
        rows = ["table,made by,call,pages"]
        for name, maker, call, pages in simulated_tables():
            cells = name, maker, _literal_options(call), pages
            rows.append(",".join(f'"{text}"' for text in cells))
        lines = [".. csv-table::", "   :header-rows: 1", "   :class: coverage", ""]
        lines += [f"   {row}" for row in rows]
        holder = nodes.container(classes=["coverage"])
        self.state.nested_parse(StringList(lines, source="results"), 0, holder)
        return holder.children


def simulated_tables() -> list[tuple[str, str, str, str]]:
    """Return the name of each table, the file that makes it, the call and the pages."""
    from validation import files

    docs = RESULTS.parent
    pages = {
        path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8")
        for folder in ("", "background", "howto", "models", "papers", "runs", "validation")
        for suffix in ("md", "rst")
        for path in sorted((docs / folder).glob(f"*.{suffix}"))
    }
    makers = files() | _OTHER_FILES
    table = []
    for path in sorted(RESULTS.glob("*.csv")):
        with path.open() as file:
            first = file.readline().strip()
        call = first.removeprefix("#").strip() if first.startswith("#") else ""
        columns = pd.read_csv(path, comment="#", nrows=0).columns
        if "seed" in columns and "--seed" not in call:
            call = f"{call}; seed in a column" if call else "seed in a column"
        command = " ".join(call.split()[:3])  # of pages that show the call, not the table
        signs = (path.name, f'"{path.stem}"', command)
        places = [page for page, text in pages.items() if any(sign in text for sign in signs)]
        maker = makers.get(path.name) or ("bayescm/papers" if " paper " in call else "")
        table.append((path.name, maker, call.replace('"', "'"), "; ".join(places)))
    return table


def setup(app):
    """Register the directives."""
    app.add_directive("coverage", Coverage)
    app.add_directive("simulated-tables", SimulatedTables)
    return {"parallel_read_safe": True}

"""The directive ``coverage``: part of a committed table of results, as a table of the page."""

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
        lines = [".. csv-table::", "   :header-rows: 1", ""]
        lines += [f"   {line}" for line in _text(table).splitlines()]
        holder = nodes.container(classes=["coverage"])
        lines += ["", f"*{_origin(path)}*"]
        self.state.nested_parse(StringList(lines, source=path.name), 0, holder)
        return holder.children


def _origin(path):
    """Say which file the table is from, and by which call with which seed that was made."""
    with path.open() as file:
        first = file.readline().strip()
    call = f": {first.removeprefix('#').strip()}" if first.startswith("#") else ""
    return f"docs/results/{path.name}{call}".replace("*", "\\*").replace("_", "\\_")


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


def setup(app):
    """Register the directive."""
    app.add_directive("coverage", Coverage)
    return {"parallel_read_safe": True}

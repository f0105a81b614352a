"""The directive ``unsupported``: the table of functions that do not support some evidence."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from bayescm.evidence.unsupported import UNSUPPORTED, UNSUPPORTED_BY_NUTS


def rows() -> list[tuple[str, str, str]]:
    """Return functions, evidence and reason of each row as reStructuredText."""
    by_nuts = [(entry, " of a fit by NUTS") for entry in UNSUPPORTED_BY_NUTS]
    return [
        (f"{_code(entry.functions)}{fit}", _evidence(entry), entry.reason)
        for entry, fit in [*((entry, "") for entry in UNSUPPORTED), *by_nuts]
    ]


def _code(names):
    return ", ".join(f"``{name}``" for name in names)


def _evidence(entry):
    """Return the types and the designs of a row in words."""
    return " in ".join(filter(None, [_listed(entry.types) or "evidence", _listed(entry.designs)]))


def _listed(names):
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


class Unsupported(SphinxDirective):
    """Show `bayescm.evidence.unsupported.UNSUPPORTED` as a table."""

    def run(self):
        """Return the nodes of the table."""
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 20 50", ""]
        for row in [("function", "evidence", "reason"), *rows()]:
            lines += [f"   * - {row[0]}", *(f"     - {cell}" for cell in row[1:])]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source="unsupported"), 0, holder)
        return holder.children


def setup(app):
    """Add the directive."""
    app.add_directive("unsupported", Unsupported)
    return {"parallel_read_safe": True}

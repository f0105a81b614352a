"""The directive ``unsupported``: the table of functions that do not support some evidence."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from bayescm.evidence.unsupported import UNSUPPORTED


def rows() -> list[tuple[str, str, str]]:
    """Return functions, evidence and reason of each row as reStructuredText."""
    return [
        (
            ", ".join(f"``{function}``" for function in entry.functions),
            " in ".join(
                [_listed(entry.types) or "evidence", *filter(None, [_listed(entry.designs)])]
            ),
            entry.reason,
        )
        for entry in UNSUPPORTED
    ]


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

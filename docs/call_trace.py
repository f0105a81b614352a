"""The directive ``call-trace``: files and functions of a warm call of `interval`."""

import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import bayescm as bcm

PACKAGE = Path(bcm.__file__).parent


def trace() -> dict[str, list[str]]:
    """Return the functions of ``interval(counts, "f1")`` by file, in the order of the calls."""
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    bcm.interval(counts, "f1")  # the first call loads modules
    called: dict[str, list[str]] = {}

    def record(frame, event, argument):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            functions = called.setdefault(str(file.relative_to(PACKAGE)), [])
            name = frame.f_code.co_qualname.partition(".<locals>")[0]
            if name not in functions and not name.endswith(("<lambda>", "<genexpr>")):
                functions.append(name)

    earlier = sys.getprofile()
    sys.setprofile(record)
    try:
        bcm.interval(counts, "f1")
    finally:
        sys.setprofile(earlier)
    return called


class CallTrace(SphinxDirective):
    """Show the trace as a table."""

    def run(self):
        """Return the nodes of the table."""
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 70", ""]
        rows = [("file", "functions, in the order of their first calls")]
        rows += [
            (f"``{file}``", ", ".join(f"``{name}``" for name in functions))
            for file, functions in trace().items()
        ]
        for first, second in rows:
            lines += [f"   * - {first}", f"     - {second}"]
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source="call_trace"), 0, holder)
        return holder.children


def setup(app):
    """Add the directive."""
    app.add_directive("call-trace", CallTrace)
    return {"parallel_read_safe": True}

"""The directive ``call-trace``: files and functions that a warm call runs through."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import bayescm as bcm

PACKAGE = Path(bcm.__file__).parent


COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
ANSWERS = {"a": [1, 1, 1, 0, 0, 0, 1, 0], "b": [1, 0, 1, 0, 1, 0, 0, 0]}
BOTH = bcm.from_classifiers([1, 1, 1, 1, 0, 0, 0, 0], ANSWERS, positive=1)


def _interval():
    bcm.interval(COUNTS, "f1")


def _compare():
    bcm.compare(BOTH, "f1")


def _add():
    with TemporaryDirectory() as folder:
        store = f"{folder}/ledger.db"
        with bcm.online.Monitor(store, "spam") as monitor:
            monitor.add("monday", COUNTS)


CALLS = {"interval": _interval, "compare": _compare, "monitor add": _add}


def trace(name: str = "interval") -> dict[str, list[str]]:
    """Return the functions of a call in `CALLS` by file, in the order of the calls."""
    call = CALLS[name]
    call()  # the first call loads modules
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
        call()
    finally:
        sys.setprofile(earlier)
    return called


class CallTrace(SphinxDirective):
    """Show the trace of a call as a table; the argument is its name in `CALLS`."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Return the nodes of the table."""
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 70", ""]
        rows = [("file", "functions, in the order of their first calls")]
        rows += [
            (f"``{file}``", ", ".join(f"``{name}``" for name in functions))
            for file, functions in trace(*self.arguments).items()
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

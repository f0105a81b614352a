"""The command line: one file per command, each a thin face over the library."""

import os
import sys
import warnings
from typing import Annotated

import typer
from typer.exceptions import TyperException

from bayescm import __version__
from bayescm.cli.attempts import attempts
from bayescm.cli.calibration import calibration
from bayescm.cli.check import check
from bayescm.cli.compare import compare
from bayescm.cli.curve import curve
from bayescm.cli.decide import decide
from bayescm.cli.demo import demo
from bayescm.cli.elicit import elicit
from bayescm.cli.gap import gap
from bayescm.cli.heterogeneity import heterogeneity
from bayescm.cli.interval import interval
from bayescm.cli.label import label
from bayescm.cli.monitor import monitor
from bayescm.cli.papers import paper
from bayescm.cli.plan import plan
from bayescm.cli.prob_above import prob_above
from bayescm.cli.ranks import ranks
from bayescm.cli.report import report
from bayescm.cli.slices import slices
from bayescm.cli.summary import summary

COMMANDS = (
    demo,
    interval,
    prob_above,
    summary,
    compare,
    ranks,
    gap,
    slices,
    heterogeneity,
    attempts,
    check,
    curve,
    calibration,
    decide,
    plan,
    label,
    elicit,
    report,
    paper,
)  # in the order of the help


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bayescm {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Take what is not of one command."""


def _with(commands, groups):
    made = typer.Typer(
        name="bayescm",
        help="The posterior distribution of any performance measure of a classifier.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    made.callback()(options)
    for command in commands:
        made.command()(command)
    for name, group in groups.items():
        made.add_typer(group, name=name)
    return made


GROUPS = {"monitor": monitor}
app = _with(COMMANDS, GROUPS)
app.command("study", hidden=True)(paper)  # its former name


def _asked(arguments):
    """Return the command line with the one command asked for: to make all ready takes longer."""
    first = (sys.argv[1:] if arguments is None else arguments)[:1]
    commands = [each for each in COMMANDS if [each.__name__.replace("_", "-")] == first]
    groups = {name: group for name, group in GROUPS.items() if [name] == first}
    return _with(commands, groups) if commands or groups else app


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 when all went well, 2 with one line on stderr if not."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn_once()
            code = _asked(arguments)(arguments, standalone_mode=False)
    except TyperException as error:
        code = _complain(error.format_message())
    except (ValueError, TypeError, OSError, ImportError) as error:
        if os.environ.get("BAYESCM_TRACEBACK"):
            raise
        code = _complain(str(error))
    except MemoryError as error:
        code = _complain(f"there is not enough memory: {error}")
    except KeyboardInterrupt:
        code = 130
    sys.exit(code or 0)


def _warn_once():
    """Return what prints a warning, once: a table and its picture may compute the same numbers."""
    printed = set()

    def warn(message, *_):
        from bayescm.cli.output import printable

        if str(message) not in printed:
            printed.add(str(message))
            print(f"bayescm: {printable(str(message))}", file=sys.stderr)

    return warn


def _complain(message):
    from bayescm.cli.output import printable

    print("bayescm: " + printable(" ".join(message.split())), file=sys.stderr)
    return 2

"""The command line, a thin layer over the library: commands that share groups of options."""

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import Abort, TyperException

from bayescm import __version__
from bayescm.cli.options import in_options, message_in_options
from bayescm.validate import message_of, without_backticks

COMMANDS = {  # commands and their modules, in the order of the help
    "demo": "demo",
    "interval": "answers",
    "prob-above": "answers",
    "summary": "answers",
    "compare": "answers",
    "ranks": "answers",
    "gap": "groups",
    "slices": "groups",
    "heterogeneity": "groups",
    "attempts": "items",
    "items": "items",
    "item-counts": "items",
    "multilabel": "items",
    "check": "check",
    "curve": "scores",
    "calibration": "scores",
    "decide": "scores",
    "plan": "planning",
    "label": "planning",
    "elicit": "planning",
    "report": "report",
    "paper": "papers",
}
# Exit statuses. Status 1 is reserved for the results of commands, such as a failed requirement in
# `check`.
_WRONG_CALL = 2
_INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h
_INTERRUPTED = 130  # 128 plus the number of the signal SIGINT, as in shells
_BROKEN_PIPE = 141  # 128 plus the number of the signal SIGPIPE

GROUPS = {"monitor": "monitor"}  # groups of commands and their modules
FORMER = {"study": "paper"}  # former names, which still work but are not in the help
_MONITOR = "Monitor classifiers batch by batch. All batches are recorded in a ledger."


def load(name: str) -> Callable:
    """Return the function of a command. Its module is imported only if the command is used."""
    module = importlib.import_module(f"bayescm.cli.{COMMANDS[name]}")
    return getattr(module, name.replace("-", "_"))


def load_group(name: str) -> tuple[Callable, ...]:
    """Return the functions of a group of commands."""
    return importlib.import_module(f"bayescm.cli.{GROUPS[name]}").COMMANDS


def _print_version(flag: bool) -> None:
    if flag:
        print(f"bayescm {__version__}")
        raise typer.Exit


def _main_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Handle the options that do not belong to a command."""


class Command(TyperCommand):
    """Command that rejects repeated single-value options, whereas Typer uses the last value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, or raise an error if an option with a single value is repeated."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for parameter in order:
            single = not (parameter.multiple or getattr(parameter, "is_flag", False))
            if parameter.param_type_name == "option" and single and order.count(parameter) > 1:
                ctx.fail(f"{max(parameter.opts, key=len)} takes one value, but was passed twice")
        return super().parse_args(ctx, args)


def application(commands: Iterable[str] = COMMANDS, groups: Iterable[str] = GROUPS) -> typer.Typer:
    """Return the Typer application with all commands, or with some of them."""
    app = typer.Typer(
        name="bayescm",
        help="Posterior distributions of performance measures of classifiers.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_main_options)
    for name in commands:
        function = load(name)
        app.command(cls=Command, epilog=_epilog(function))(function)
    for former, name in FORMER.items():
        if name in commands:
            app.command(former, hidden=True, cls=Command)(load(name))
    for name in groups:
        group = typer.Typer(help=_MONITOR, no_args_is_help=True)
        for function in load_group(name):
            group.command(name_of(function), cls=Command, epilog=_epilog(function))(function)
        app.add_typer(group, name=name)
    return app


def name_of(function: Any) -> str:
    """Return the name of a command in a group, such as `import` for the function `import_`."""
    return function.__name__.strip("_").replace("_", "-")


def _epilog(function):
    """Return the examples of a command, which are shown at the end of its help."""
    examples = getattr(function, "examples", ())
    return "\n\n".join(["Examples:", *examples]) if examples else None


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with a status: 0 after success, 2 after an error message."""
    arguments = sys.argv[1:] if arguments is None else arguments
    first = [FORMER.get(name, name) for name in arguments[:1]]
    commands, groups = ([name for name in names if [name] == first] for names in (COMMANDS, GROUPS))
    app = application(commands, groups) if commands or groups else application()
    options = _options(arguments)

    def say(message: str) -> None:
        from bayescm.cli.output import printable

        print("bayescm: " + printable(" ".join(message.split())), file=sys.stderr)

    printed = set()

    def warn(warning: Warning | str) -> None:
        # A table and its plot may compute the same numbers, so print each warning only once.
        if (message := message_in_options(warning, options)) not in printed:
            printed.add(message)
            say(message)

    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: warn(message)
            code = app(arguments, standalone_mode=False)
    except TyperException as error:
        say(_of_call(error))
        code = _WRONG_CALL
    except SystemExit as left:  # status 1 by Typer or rich if the pipe was closed, e.g. by head
        code = _BROKEN_PIPE if left.code == 1 else left.code
    except (ValueError, TypeError, OSError, ImportError) as error:
        if os.environ.get("BAYESCM_TRACEBACK"):
            traceback.print_exc()
        say(_of_columns(error, arguments, options))
        code = _WRONG_CALL
    except MemoryError as error:
        say(f"there is not enough memory: {error}")
        code = _WRONG_CALL
    except (KeyboardInterrupt, Abort):
        code = _INTERRUPTED
    except Exception as error:
        traceback.print_exc()
        say(f"an error of bayescm itself, not of this call: {type(error).__name__}: {error}")
        code = _INTERNAL_ERROR
    sys.exit(code or 0)


# Columns that commands use if no other column is named.
_USUAL_COLUMNS = ("actual", "predicted", "item", "score", "correct", "classifier")


def _of_call(error: TyperException) -> str:
    """Return the message for a wrong call, with our name for an option of another program."""
    from bayescm.validate import called_here

    message, name = error.format_message(), str(getattr(error, "option_name", ""))
    here = called_here(name.strip("-").replace("-", "_"))
    if not here:
        return message
    here = here.replace("the second argument, such as 'f1'", "-m f1 -m recall")
    in_terminal = in_options(here, {"prob": "--prob", "kind": "--kind"})
    if in_terminal != without_backticks(here) or "name" in here or "-m" in here:
        return f"No such option: {name}. {in_terminal[0].upper()}{in_terminal[1:]}."
    return message


def _of_columns(error: Exception, arguments: list[str], options: Mapping[str, str]) -> str:
    """Return the message of an error. For a missing default column, it names the option to use."""
    what, column = getattr(error, "what", None), getattr(error, "value", None)
    is_column = what == "There is no column {}" and column in _USUAL_COLUMNS
    if is_column and f"--{column}" not in arguments:
        return message_of(what, column, error.expected, [f"name the column with --{column}"])  # type: ignore
    return message_in_options(error, options)


def _options(arguments: list[str]) -> dict[str, str]:
    """Return the option of the requested command for each keyword of the library."""
    name, second = [*arguments, "", ""][:2]
    name = FORMER.get(name, name)
    functions = [load(name)] if name in COMMANDS else []
    if name in GROUPS:
        functions = [f for f in load_group(name) if name_of(f) == second]
    return getattr(functions[0], "options", {}) if functions else {}

"""
Options of the commands: how commands declare them, and the options that commands share.

A *group* is a dataclass in which every field is one option::

    class Interval(Options):
        prob: Annotated[float, option("--prob", "Probability.", QUESTION)] = 0.95

A field is named after a keyword of the library, and its annotation describes the option to Typer.
Groups are combined by inheritance. A *command* is a function of groups, which ``@command`` expands
into the signature that Typer reads::

    @command("bayescm interval --tp 65 --fn 15 --fp 35 --tn 30")
    def interval(columns: Evidence, interval: Interval, output: TableOutput) -> None: ...

**An option without effect is an error.** Many options require others: ``--gold`` has no effect
without ``--raters``. A group records which of its fields are read. If an option on the command line
has not been read by the end of the computation, it had no effect, and an error names it before
anything is printed or written. Commands must therefore read options only where they use them.
"""

import ast
import copy
import functools
import inspect
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self, dataclass_transform, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

from bayescm.validate import arguments_in, fail, message_of


class BelongsWith(str):
    """Annotation of an option with the options or data that it requires, for the error message."""


class Invocation:
    """Options on the command line, with a record of the options that were read."""

    def __init__(self, options: Mapping[str, str], reasons: Mapping[str, str], names: list[str]):
        self.options, self.reasons, self.names = options, reasons, names
        self.read: set[str] = set()

    def refuse_unread(self, later: Iterable[str] = ()) -> None:
        """Raise an error if a passed option has not been read, and will not be read later."""
        unread = [name for name in self.names if name not in self.read and name not in later]
        self.refuse(unread, [name for name in self.names if name in self.read])

    def refuse(self, unread: list[str], read: list[str]) -> None:
        """Raise an error if options are unread. The message mentions the options that were read."""
        if not unread:
            return
        read_options = [self.options[name] for name in read]
        what = f"{_listed(self.options[name] for name in unread)} "
        what += "has no effect" if len(unread) == 1 else "have no effect"
        reason = self.reasons.get(unread[0]) if len(unread) == 1 else None
        if reason:
            what += f" here: it belongs with {reason}"
        else:
            what += f" with {_listed(read_options)}" if read_options else " here"
        raise fail(what, ..., "", f"leave {'it' if len(unread) == 1 else 'them'} out")


@dataclass_transform(kw_only_default=True)
class Options:
    """Group of options: a dataclass that records which of its fields are read."""

    _invocation = Invocation({}, {}, [])

    def __init_subclass__(cls) -> None:
        dataclass(cls, kw_only=True, eq=False, repr=False)

    def __getattribute__(self, name: str) -> Any:
        if name in type(self).__dict__.get("__dataclass_fields__", ()):
            super().__getattribute__("_invocation").read.add(name)
        return super().__getattribute__(name)

    def keywords(self, *names: str) -> dict[str, Any]:
        """Return all options that are set, by keyword, or only the given names."""
        options = [field.name for field in fields(self)]  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names or options if name in options}
        return {
            name: value
            for name, value in values.items()
            if value is not None and value is not False
        }

    def get(self, name: str) -> Any:
        """Return the value of an option, or None if it is not set or the group does not have it."""
        return self.keywords(name).get(name)

    def has(self, name: str) -> bool:
        """Return True if the group has an option, without reading it."""
        return name in {field.name for field in fields(self)}  # type: ignore[arg-type]

    def names(self) -> list[str]:
        """Return the names of the fields, without reading them."""
        return [field.name for field in fields(self)]  # type: ignore[arg-type]

    def on_command_line(self) -> set[str]:
        """Return the fields of this group that are on the command line, without reading them."""
        return {*self._invocation.names} & {field.name for field in fields(self)}  # type: ignore[arg-type]

    def with_defaults(self, values: Mapping[str, Any]) -> Self:
        """Return a copy of the group with values for fields that are not on the command line."""
        group = copy.copy(self)
        names = {field.name for field in fields(self)} - self.on_command_line()  # type: ignore[arg-type]
        for name in names & {*values}:
            setattr(group, name, values[name])
        return group

    def fill(self, values: Mapping[str, Any]) -> None:
        """Set the given fields if their values are None."""
        for name, value in values.items():
            if vars(self).get(name, ...) is None:
                setattr(self, name, value)

    def passed(self) -> set[str]:
        """Return the names of all options on the command line, without reading them."""
        return {*self._invocation.names}

    def written(self, name: str) -> str:
        """Return the declared option of a field, or an option named after the field."""
        return self._invocation.options.get(name, f"--{name.replace('_', '-')}")

    def refuse(self, names: Iterable[str], beside: Iterable[str]) -> None:
        """Raise an error if options were passed that have no effect in combination with others."""
        passed, unread = self._invocation.names, set(names) - self._invocation.read
        with_effect = [name for name in passed if name in {*beside}]
        self._invocation.refuse([name for name in passed if name in unread], with_effect)

    def refuse_unread(self, later: "Options | None" = None) -> None:
        """Raise an error if an option had no effect, except for options in the group ``later``."""
        names = () if later is None else [field.name for field in fields(later)]  # type: ignore[arg-type]
        self._invocation.refuse_unread(names)


# Panels of the help screens.
QUESTION = "Question"
MODEL = "Model and prior"
OUTPUT = "Output"


def option(names: str, help: str, panel: str, metavar: str | None = None, **more: Any) -> Any:
    """Return an option, such as ``"--measure -m"``, for the annotation of a field."""
    more |= {"help": help, "rich_help_panel": panel, "metavar": metavar}
    return typer.Option(*names.split(), **more)


def command(*examples: str) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Return the decorator that makes a command, with examples at the end of its help."""

    def decorate(function: Callable[..., int | None]) -> Callable[..., int | None]:
        made: Any = _made_command(function)
        made.examples = examples
        return made

    return decorate


def _made_command(function):
    """Return the command for a function whose parameters are groups of options."""
    groups = {name: kind for name, kind in get_type_hints(function).items() if name != "return"}
    all_fields = {field.name: field for group in groups.values() for field in fields(group)}
    if len(all_fields) < sum(len(fields(group)) for group in groups.values()):
        raise TypeError(f"two groups of {function.__name__} share an option")
    options = {name: _option(field) for name, field in all_fields.items()}
    reasons = {
        name: note
        for name, field in all_fields.items()
        for note in field.type.__metadata__  # type: ignore[union-attr]
        if isinstance(note, BelongsWith)
    }

    # Eager options have had their effect before the command is called.
    eager = {
        name
        for name, field in all_fields.items()
        for info in field.type.__metadata__  # type: ignore[union-attr]
        if isinstance(info, ParameterInfo) and getattr(info, "is_eager", False)
    }

    @functools.wraps(function)
    def run(context: typer.Context, **values: Any) -> int | None:
        names = [name for name in values if _on_command_line(context, name)]
        names = [name for name in names if name not in eager]
        invocation = Invocation(options, reasons, names)
        arguments = {}
        for parameter, group in groups.items():
            arguments[parameter] = group(**{f.name: values[f.name] for f in fields(group)})
            arguments[parameter]._invocation = invocation
        status = function(**arguments)
        invocation.refuse_unread()
        return status

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context", kind, annotation=typer.Context)]
    for name, field in all_fields.items():
        _hide_type_of_flag(field)
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=field.type))
    described: Any = run
    described.__signature__ = inspect.Signature(parameters)
    described.__annotations__ = {p.name: p.annotation for p in parameters}
    described.options = options
    return run


def _hide_type_of_flag(field):
    """Hide the type of an option without a value in the help."""
    for info in field.type.__metadata__:
        if isinstance(info, OptionInfo) and field.type.__origin__ in (bool, bool | None):
            info.metavar = " "


def _on_command_line(context, name):
    """Return True if an option is on the command line, and not only in the environment."""
    return context.get_parameter_source(name).name == "COMMANDLINE"


def _option(field):
    """Return the name of an option on the command line, or of an argument in the help."""
    (info,) = (i for i in field.type.__metadata__ if isinstance(i, ParameterInfo))
    return info.default if isinstance(info, OptionInfo) else field.name.upper()


def _listed(options):
    *first, last = options
    return f"{', '.join(first)} and {last}" if first else last


# Options that correspond to the functions of the library that construct evidence.
_OPTIONS_OF_FUNCTIONS = {
    "from_cells": "--tp, --fn, --fp and --tn",
    "from_matrix": "--matrix",
    "from_predictions": "--predicted",
    "from_classifiers": "several --predicted",
    "from_scores": "--score",
    "from_probabilities": "--probability",
    "from_attempts": "--correct",
    "from_item_scores": "--score and --item",
    "from_item_counts": "--tp, --fp and --fn",
    "from_multilabel": "--separator",
    "from_raters": "--raters",
    "from_partly_labelled": "--judge",
    "from_results": "--data-set",
    "from_preferences": "--left, --right and --winner",
}


def message_in_options(problem: Any, options: Mapping[str, str]) -> str:
    """
    Return the message of an error or a warning, with options in place of keywords.

    Parameters
    ----------
    problem : Exception
        Errors built by `bayescm.validate.fail` consist of parts. The text of other errors is
        returned unchanged.
    options : mapping of str to str
        Option for each keyword of the library. Advice that needs other keywords is left out, unless
        there is no other advice.
    """
    if not hasattr(problem, "advice"):
        return str(problem)
    advice = [text for text in problem.advice if _is_possible(text, options)] or problem.advice
    written = functools.partial(in_options, options=options)
    return message_of(problem.what, problem.value, problem.expected, advice, written)


def _is_possible(text, options):
    """Return True if a command has an option for every argument in a text."""
    names = [argument.partition("=")[0] for argument in arguments_in(text)]
    return all(name in options or not name.isidentifier() for name in names)


def in_options(text: str, options: Mapping[str, str]) -> str:
    """
    Return a text in which the arguments in backticks are replaced by options.

    Examples
    --------
    >>> options = {"positive": "--positive", "labels": "--label", "range": "--range"}
    >>> in_options("no positive class; pass `positive=None`", options)
    'no positive class; leave --positive out'
    >>> in_options("pass `labels=['a', 'b']` and `range=(0, 1)`", options)
    'pass --label a --label b and --range 0,1'
    >>> in_options("leave `positive` out", options)
    'leave --positive out'
    >>> in_options("it needs the scores: `from_scores(actual, scores)`", options)
    'it needs the scores: --score'
    >>> in_options("pass `draws=1000`", options)
    'pass draws=1000'
    """
    if not arguments_in(text):
        return text
    written, *pieces = text.split("`")
    for argument, after in zip(pieces[::2], pieces[1::2], strict=True):
        option = _argument_as_option(argument, options)
        if argument.endswith(("=None", "=False")) and option != argument:
            is_advice = written.endswith("pass ")
            written = written.removesuffix("pass ") if is_advice else written
            option = f"leave {option} out" if is_advice else f"no {option}"
        written += option + after
    return written


def _argument_as_option(argument, options):
    """Return an argument such as ``prob=0.95`` as an option, or unchanged if there is no option."""
    function, _, inside = argument.partition("(")
    if function.startswith("from_"):
        keyword = inside.partition("..., ")[2].removesuffix(")")
        if not keyword:
            return _OPTIONS_OF_FUNCTIONS.get(function, argument)
        return _argument_as_option(keyword, options)
    name, _, value = argument.partition("=")
    value = value.partition(" to from_")[0]
    if name == "by" and value.startswith("{"):  # a dimension and its column
        dim = value[1:].partition(":")[0].strip("'\"")
        return options.get(dim, options.get(name, argument))
    if name not in options:
        return argument
    return " ".join(f"{options[name]} {text}".rstrip() for text in _as_words(value))


def _as_words(value):
    """Convert the value of a keyword to the values of an option on the command line."""
    try:
        literal = ast.literal_eval(value)
    except (ValueError, SyntaxError):  # an expression, or nothing
        return [value]
    if literal is None or isinstance(literal, bool):
        return [""]
    if isinstance(literal, tuple):
        return [value.strip("()").replace(" ", "")]
    if isinstance(literal, list):
        return ["..." if item is ... else shlex.quote(str(item)) for item in literal]
    return [shlex.quote(literal) if isinstance(literal, str) else value]


PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: Path | None) -> Path | None:
    """Raise an error for an unsupported file type or a missing folder before any computation."""
    if path is None:
        return None
    path = Path(path)
    if path.suffix not in PICTURES:
        allowed = f"a name ending in {', '.join(PICTURES)}"
        raise fail("A plot cannot be saved as {}", str(path), allowed, "rename the file")
    if not path.parent.is_dir():
        todo = "create it first"
        raise fail("The folder {} does not exist", str(path.parent), "", todo)
    return path


class Measures(Options):
    """The requested measures."""

    measures: Annotated[
        list[str] | None,
        option(
            "--measure -m",
            "Measure, e.g. f1, mcc, auc, mean, pass@4 or fbeta(0.5). Repeat for several.",
            QUESTION,
            "NAME",
        ),
    ] = None


class Covariates(Options):
    """Covariates of the differences between groups, such as studies."""

    covariate: Annotated[
        list[str] | None,
        option(
            "--covariate",
            "Covariate of the studies and its typical value, e.g. year=2000. Repeat for several.",
            MODEL,
            "NAME=VALUE",
        ),
        BelongsWith("a table of studies"),
    ] = None


class Model(Options):
    """The model of the evidence."""

    model: Annotated[
        str | None,
        option("--model", "Name of the model. Default: determined by the evidence.", MODEL, "NAME"),
    ] = None


class Estimand(Model):
    """The model, and the estimand."""

    of: Annotated[
        str | None,
        option(
            "--of",
            "Estimand: parameter, predictive (the next test set), finite (the observed groups "
            "or items), population, typical, new, or group.",
            QUESTION,
            "ESTIMAND",
        ),
    ] = None


class NextTestSet(Estimand):
    """The model, the estimand, and the size of the next test set."""

    n: Annotated[
        int | None,
        option(
            "--n", "Number of examples in the next test set. Needs --of predictive.", QUESTION, "N"
        ),
        BelongsWith("--of predictive"),
    ] = None

    def keywords(self, *names: str) -> dict[str, Any]:
        """Return the options that are set, including ``n`` only if the estimand is predictive."""
        all_names = names or ("model", "of", "n")
        return super().keywords(*(n for n in all_names if n != "n" or self.of == "predictive"))


class Contrast(Options):
    """Range of negligible differences in a comparison, and the reference system."""

    rope: Annotated[
        str,
        option(
            "--rope",
            "Range of differences that are negligible in practice: 0.01 for ±0.01, or LOW,HIGH.",
            QUESTION,
            "WIDTH",
        ),
    ] = "0"
    reference: Annotated[
        str | None,
        option(
            "--reference",
            "System to compare the others with. Default: all pairs.",
            QUESTION,
            "NAME",
        ),
    ] = None

    def ends(self) -> float | tuple[float, ...]:
        """Return the rope as one number or two ends, which the library validates."""
        try:
            numbers = tuple(float(end) for end in self.rope.split(","))
        except ValueError:
            todo = "write e.g. --rope 0.01"
            what = "The rope must be one or two numbers"
            raise fail(what, self.rope, "", todo) from None
        return numbers[0] if len(numbers) == 1 else numbers


class Probability(Options):
    """The probability of an interval."""

    prob: Annotated[
        float, option("--prob", "Posterior probability of the interval.", QUESTION, "SHARE")
    ] = 0.95


class Interval(Probability):
    """The probability and the kind of an interval."""

    kind: Annotated[
        Literal["hdi", "eti"],
        option("--kind", "Highest-density (hdi) or equal-tailed (eti) interval.", QUESTION),
    ] = "hdi"


class Prior(Options):
    """The prior for the cells."""

    concentration: Annotated[
        str | None,
        option(
            "--concentration",
            "Prior pseudo-counts: one number, or TP,FN,FP,TN from `bayescm elicit`.",
            MODEL,
            "NUMBERS",
        ),
    ] = None


class PriorAndLabelErrors(Prior):
    """The prior for the cells, and how often labels are wrong."""

    label_error: Annotated[
        list[str] | None,
        option(
            "--label-error",
            "Error rate of the labels, e.g. 0.05, or 2,38 for Beta(2, 38). For a single "
            "class, e.g. sick=0.05. Repeat for several.",
            MODEL,
            "RATE",
        ),
    ] = None


class Targets(Options):
    """The target populations."""

    prevalence: Annotated[
        list[float] | None,
        option(
            "--prevalence",
            "Prevalence of the target population. Repeat for several.",
            QUESTION,
            "SHARE",
        ),
    ] = None


class Target(Options):
    """The target population."""

    prevalence: Annotated[
        float | None,
        option("--prevalence", "Prevalence of the target population.", QUESTION, "SHARE"),
    ] = None


class Format(StrEnum):
    """Formats of a printed table."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


FormatOption = Annotated[Format, option("--format", "Format of the table.", OUTPUT)]


class Output(Options):
    """How a table is printed."""

    style: FormatOption = Format.table


class SafeOutput(Output):
    """How a table that may contain untrusted text is printed."""

    safe_csv: Annotated[
        bool,
        option(
            "--safe-csv", "Put ' before text that a spreadsheet would read as a formula.", OUTPUT
        ),
        BelongsWith("--format csv"),
    ] = False


class Plot(Options):
    """A plot in addition to the table."""

    plot: Annotated[
        Path | None,
        option(
            "--plot",
            "Output file for a plot (.png, .svg or .pdf).",
            OUTPUT,
            "FILE",
            callback=check_picture,
        ),
    ] = None


class TableAndPlot(SafeOutput, Plot):
    """How a table is printed, and the file of its plot."""

"""
The options of the commands: how a command declares them, and every option that commands share.

A *group* is a dataclass, of which every field is one option::

    class Interval(Options):
        prob: Annotated[float, typer.Option("--prob", help="Mass of the interval.")] = 0.95

A field has the name of the keyword of the library, its annotation is what Typer needs to know of
the option, and groups are put together by inheritance. A *command* is a function of groups, which
``@command`` expands into the signature that Typer reads::

    @command
    def interval(matrix: Matrix, interval: Interval, output: TableOutput) -> None: ...

**An option without effect is an error.** Many options belong with others: ``--gold`` means nothing
without ``--raters``. A group notes which of its fields are read. What stands on the command line,
and was not read when the command has computed, had no effect: it is refused by name, before
anything is printed or written. A command therefore reads an option only where it uses it.
"""

import copy
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self, dataclass_transform, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from bayescm.validate import fail


class BelongsWith(str):
    """In the annotation of an option: what it has an effect with, for the message."""


class Invocation:
    """Which options stand on the command line, and which of them were read."""

    def __init__(self, options: Mapping[str, str], reasons: Mapping[str, str], names: list[str]):
        self.options, self.reasons, self.names = options, reasons, names
        self.read: set[str] = set()

    def refuse_unread(self, later: Iterable[str] = ()) -> None:
        """Raise where an option stands on the command line and nothing has read or will read it."""
        unread = [name for name in self.names if name not in self.read and name not in later]
        if not unread:
            return
        read_options = [self.options[name] for name in self.names if name in self.read]
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
    """A group of options: a dataclass that notes which of its fields are read."""

    _invocation = Invocation({}, {}, [])

    def __init_subclass__(cls) -> None:
        dataclass(cls, kw_only=True, eq=False, repr=False)

    def __getattribute__(self, name: str) -> Any:
        if name in type(self).__dict__.get("__dataclass_fields__", ()):
            super().__getattribute__("_invocation").read.add(name)
        return super().__getattribute__(name)

    def keywords(self, *names: str) -> dict[str, Any]:
        """Return what was asked for, by keyword: of all fields, or of those named that it has."""
        options = [field.name for field in fields(self)]  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names or options if name in options}
        return {
            name: value
            for name, value in values.items()
            if value is not None and value is not False
        }

    def get(self, name: str) -> Any:
        """Return the value of an option, None where the group has no such option."""
        return self.keywords(name).get(name)

    def has(self, name: str) -> bool:
        """Return whether the group has an option, without reading it."""
        return name in {field.name for field in fields(self)}  # type: ignore[arg-type]

    def on_command_line(self) -> set[str]:
        """Return the fields that stand on the command line, without reading them."""
        return {*self._invocation.names} & {field.name for field in fields(self)}  # type: ignore[arg-type]

    def with_defaults(self, values: Mapping[str, Any]) -> Self:
        """Return the group with values for those of its fields that the command line lacks."""
        group = copy.copy(self)
        names = {field.name for field in fields(self)} - self.on_command_line()  # type: ignore[arg-type]
        for name in names & {*values}:
            setattr(group, name, values[name])
        return group

    def fill(self, values: Mapping[str, Any]) -> None:
        """Set the fields that the command line leaves open."""
        for name, value in values.items():
            if vars(self).get(name, ...) is None:
                setattr(self, name, value)

    def refuse_unread(self, later: "Options | None" = None) -> None:
        """Raise where an option had no effect, before writing; a group may be read later."""
        names = () if later is None else [field.name for field in fields(later)]  # type: ignore[arg-type]
        self._invocation.refuse_unread(names)


def command(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Make a command of a function whose parameters are groups of options."""
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

    # An eager option has had its effect before the command is called.
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
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=field.type))
    described: Any = run
    described.__signature__ = inspect.Signature(parameters)
    described.__annotations__ = {p.name: p.annotation for p in parameters}
    described.options = options
    return run


def _on_command_line(context, name):
    """Return whether an option stands on the command line; the environment is not refused."""
    return context.get_parameter_source(name).name == "COMMANDLINE"


def _option(field):
    """Return what an option is called on the command line, and an argument in the help."""
    (info,) = (i for i in field.type.__metadata__ if isinstance(i, ParameterInfo))
    return info.default if isinstance(info, OptionInfo) else field.name.upper()


def _listed(options):
    *first, last = options
    return f"{', '.join(first)} and {last}" if first else last


# Advice about abstentions, and what it is of a command without --abstain.
_ABSTENTIONS = (
    (r"pass abstain=\S+ if it is no answer", "leave its rows out if it is no answer"),
    (r", or give abstentions a label of their own and pass (it as )?abstain=", ""),
    (r"make the counts with abstain=\S+", "leave its rows out."),
)
# The commands that read the evidence which a function of the library makes.
_COMMANDS = {
    "from_scores": "bayescm curve",
    "from_probabilities": "bayescm calibration",
    "from_attempts": "bayescm attempts",
    "from_item_scores": "bayescm items",
    "from_multilabel": "bayescm multilabel",
}
_VALUE = r"""'[^']*'|"[^"]*"|\[[^]]*\]|\([^)]*\)|[^\s,;)]*[^\s,;).?:]|"""


def in_options(message: str, options: Mapping[str, str]) -> str:
    """
    Return a message of the library in the options of a command: of ``prob=0.95``, ``--prob 0.95``.

    Parameters
    ----------
    message : str
    options : mapping of str to str
        What the keywords of the library are called on the command line. Others stay as they are.

    Examples
    --------
    >>> options = {"positive": "--positive", "labels": "--label", "weights_are": "--weights-are"}
    >>> in_options("no positive class; pass positive=None.", options)
    'no positive class; leave --positive out.'
    >>> in_options("say what they are by weights_are='counts', or labels=['a', 'b']", options)
    'say what they are by --weights-are counts, or --label a --label b'
    >>> in_options("pass abstain='refused' if it is no answer", options)
    'leave its rows out if it is no answer'
    >>> in_options("leave positive out", options)
    'leave --positive out'
    >>> in_options("it needs the scores: from_scores(actual, scores)", options)
    'it needs the scores: bayescm curve'
    """
    if not options:
        return message
    if "abstain" not in options:
        for advice, replacement in _ABSTENTIONS:
            message = re.sub(advice, replacement, message)
    by_length = sorted(options, key=len, reverse=True)
    names, words = "|".join(by_length), "|".join(name for name in by_length if "_" in name)

    def assignment(match):
        option, value = options[match["name"]], match["value"]
        if value in ("None", "False"):
            return f"leave {option} out" if match["verb"] else f"no {option}"
        verb = match["verb"] or ""
        if value in ("", "True"):
            return f"{verb}{option}"
        values = re.findall(r"[^\s,]+", value[1:-1]) if value[0] in "[(" else [value]
        values = [text if " " in text else _unquoted(text) for text in values]
        return verb + " ".join(f"{option} {text}" for text in values)

    def word(match):
        return options[match[0]]

    pattern = rf"(?P<verb>\b[Pp]ass )?(?<![\w.=-])(?P<name>{names})=(?P<value>{_VALUE})"
    message = re.sub(pattern, assignment, message)
    # What the library takes where evidence is made is an option like any other.
    message = re.sub(r"(--[\w-]+(?: [\w.+-]+)?) to from_\w+", r"\1", message)
    message = re.sub(
        rf"\b({'|'.join(_COMMANDS)})\b(\([^()]*\))?", lambda match: _COMMANDS[match[1]], message
    )
    message = re.sub(rf"(?<=\b[Ll]eave )(?:{names})(?= out\b)", word, message)
    return (
        re.sub(rf"(?<![\w'\"./-])(?:{words})(?![\w'\"/.(=])", word, message) if words else message
    )


def _unquoted(text):
    """Return a text without the quotes around it, unless it is a quote itself."""
    is_quoted = len(text) > 2 and text[0] == text[-1] and text[0] in "'\""
    inside = text[1:-1] if is_quoted else text
    return text if inside in "'\"" else inside


PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: Path | None) -> Path | None:
    """Refuse an unknown ending or a missing folder before any work is done."""
    if path is None:
        return None
    path = Path(path)
    if path.suffix not in PICTURES:
        allowed = f"a name ending in {', '.join(PICTURES)}"
        raise fail("unknown picture format", str(path), allowed, "rename the file")
    if not path.parent.is_dir():
        todo = "create it first"
        raise fail("no such folder", str(path.parent), "an existing folder", todo)
    return path


def file_with(rows: str) -> ArgumentInfo:
    """Return the argument of a file, by what its rows are."""
    formats = "CSV, Parquet or Arrow file, a folder of these, or a table of DuckDB "
    formats += "(answers.duckdb::table), with"
    return typer.Argument(help=f"{formats} {rows}", show_default=False)


_EXAMPLES = "one row per example; in text files labels are text."
_OR_TABLE = f"{_EXAMPLES} Or a confusion table: a row for each actual class, its label first."


class Separators(Options):
    """How numbers are written in a text file."""

    decimal: Annotated[
        str | None,
        typer.Option("--decimal", help="Decimal separator in a text file: . or , [default: .]"),
        BelongsWith("counts, scores or weights in a text file"),
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option("--thousands", help="Separator between thousands in a text file, e.g. ."),
        BelongsWith("counts, scores or weights in a text file"),
    ] = None


class Source(Separators):
    """The file of the evidence."""

    file: Annotated[Path, file_with(_EXAMPLES)]


class SourceOrTable(Separators):
    """The file of the evidence, or of a confusion table."""

    file: Annotated[Path, file_with(_OR_TABLE)]


class OptionalSource(Separators):
    """The file of the evidence, where it may come from elsewhere."""

    file: Annotated[Path | None, file_with(_OR_TABLE)] = None


class Positive(Options):
    """The positive class."""

    positive: Annotated[str | None, typer.Option("--positive", help="The positive class.")] = None


class Classes(Positive):
    """The classes, of which one may be positive."""

    labels: Annotated[
        list[str] | None,
        typer.Option("--label", help="A class; repeat for all, in order, to keep absent ones."),
    ] = None


class Truth(Positive):
    """The column of the true classes."""

    actual: Annotated[
        str | None, typer.Option("--actual", help="Column of the true classes; default actual.")
    ] = None
    numeric_labels: Annotated[
        bool,
        typer.Option(
            "--numeric-labels", help="Labels are whole numbers: 01 and 1 are the same class."
        ),
    ] = False


class Predictions(Truth, Classes):
    """The columns of the true classes and of the predictions of classifiers."""

    predicted: Annotated[
        list[str] | None,
        typer.Option(
            "--predicted",
            help="Column of a classifier's predictions; default predicted. Repeat for several.",
        ),
    ] = None


class Matrix(Classes):
    """The counts of a confusion matrix."""

    tp: Annotated[int | None, typer.Option("--tp", help="True positives.")] = None
    fn: Annotated[int | None, typer.Option("--fn", help="False negatives.")] = None
    fp: Annotated[int | None, typer.Option("--fp", help="False positives.")] = None
    tn: Annotated[int | None, typer.Option("--tn", help="True negatives.")] = None
    matrix: Annotated[
        str | None,
        typer.Option(
            "--matrix",
            help='Instead of four counts a table of any number of classes: "50,2,1;3,40,7;0,5,45", '
            "a row for each actual class.",
        ),
    ] = None


class Folds(Options):
    """The column of the folds."""

    fold: Annotated[str | None, typer.Option("--fold", help="Column of the folds.")] = None


class Groups(Options):
    """The column of the groups."""

    group: Annotated[str | None, typer.Option("--group", help="Column of the groups.")] = None


class Abstentions(Options):
    """The answer that is none."""

    abstain: Annotated[
        str | None, typer.Option("--abstain", help="The answer that is none, such as refused.")
    ] = None


class Weights(Options):
    """The column of weights."""

    weights: Annotated[
        str | None,
        typer.Option("--weights", help="Column of weights."),
        BelongsWith("the predictions of one classifier"),
    ] = None
    weights_are: Annotated[
        str | None,
        typer.Option(
            "--weights-are",
            help="What weights are: counts (how many examples a row stands for) or importance "
            "(sampling weights).",
        ),
        BelongsWith("--weights"),
    ] = None


class Judges(Options):
    """The columns of judges that have seen all examples, of which people labelled a part."""

    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="Column of a judge's answers or scores, where --actual is empty for what nobody "
            "labelled; repeat for several judges.",
        ),
    ] = None


class Transfer(Options):
    """How the labelled rows are related to the others."""

    transfer: Annotated[
        str | None,
        typer.Option(
            "--transfer",
            help="errors: the labelled rows come from elsewhere, and only the judge's error rates "
            "carry over.",
        ),
        BelongsWith("--judge"),
    ] = None


class Raters(Options):
    """The columns of raters, of whom none need be right."""

    raters: Annotated[
        str | None,
        typer.Option(
            "--raters",
            help="Columns of several raters' labels, ANN,BOB,LLM, where none need be the truth; "
            "--predicted are raters, too.",
        ),
    ] = None
    gold: Annotated[
        str | None,
        typer.Option("--gold", help="With --raters: column of the truth, empty where not known."),
        BelongsWith("--raters"),
    ] = None


class Clip(Options):
    """What becomes of probabilities of exactly 0 and 1."""

    clip: Annotated[
        float | None,
        typer.Option("--clip", help="Moves probabilities into [clip, 1 - clip]."),
        BelongsWith("--probability"),
    ] = None


class Halves(Options):
    """The file of classifiers that were trained on halves."""

    halves: Annotated[
        Path | None,
        typer.Option(
            "--halves",
            help="File of predictions of classifiers trained on the other half, with columns "
            "repeat and half and those of the first file: says how far training sets move the "
            "measures.",
        ),
        BelongsWith("--fold and one --predicted"),
    ] = None


class Results(Options):
    """The columns of a table of results on several data sets."""

    data_set: Annotated[
        str | None,
        typer.Option(
            "--data-set",
            help="Column of the data sets: the file is a table of results, long (columns of the "
            "classifier, of repeat, fold or run, and of the score) or wide.",
        ),
    ] = None
    classifier: Annotated[
        str | None,
        typer.Option("--classifier", help="Column of the classifiers, with --data-set."),
        BelongsWith("--data-set"),
    ] = "classifier"
    test_share: Annotated[
        float | None,
        typer.Option("--test-share", help="With --data-set: share of examples tested in a run."),
        BelongsWith("--data-set"),
    ] = None


class Measures(Options):
    """The measures asked for."""

    measures: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="A measure: f1, mcc, fbeta(0.5) ... May be repeated."),
    ] = None


class Covariates(Options):
    """What goes with the differences between groups, such as studies."""

    covariate: Annotated[
        list[str] | None,
        typer.Option(
            "--covariate",
            help="A column of studies and its value in the typical one: year=2000, test=ELISA.",
        ),
        BelongsWith("a table of studies"),
    ] = None


class Model(Options):
    """The model of the evidence."""

    model: Annotated[
        str | None,
        typer.Option("--model", help="The model; by default the one that fits the evidence."),
    ] = None


class Estimand(Model):
    """The model, and what the numbers are of."""

    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            help="What the numbers are of: parameter (the measure itself, the default), predictive "
            "(that of the next test set); with groups or folds also finite, population or new; "
            "with groups typical or group.",
        ),
    ] = None


class NextTestSet(Estimand):
    """The model, what the numbers are of, and the size of the next test set."""

    n: Annotated[
        int | None,
        typer.Option("--n", help="Size of the next test set, with --of predictive."),
        BelongsWith("--of predictive"),
    ] = None

    def keywords(self, *names: str) -> dict[str, Any]:
        """Return what was asked for, the size of the next test set only where it is asked about."""
        all_names = names or ("model", "of", "n")
        return super().keywords(*(n for n in all_names if n != "n" or self.of == "predictive"))


class Contrast(Options):
    """What is compared with what, and which differences count."""

    rope: Annotated[
        str,
        typer.Option("--rope", help="Differences below this, or within LOW,HIGH, count as none."),
    ] = "0"
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="Compare all others with this classifier only."),
    ] = None

    def ends(self) -> float | tuple[float, ...]:
        """Return the rope as one number, or its two ends; the library checks them."""
        try:
            numbers = tuple(float(end) for end in self.rope.split(","))
        except ValueError:
            todo = "write e.g. --rope 0.01"
            what = "the rope must be one or two numbers"
            raise fail(what, self.rope, "WIDTH or LOW,HIGH", todo) from None
        return numbers[0] if len(numbers) == 1 else numbers


class Probability(Options):
    """The mass of an interval."""

    prob: Annotated[float, typer.Option("--prob", help="Mass of the interval.")] = 0.95


class Interval(Probability):
    """The mass and the kind of an interval."""

    kind: Annotated[Literal["hdi", "eti"], typer.Option("--kind", help="Kind of interval.")] = "hdi"


class Prior(Options):
    """The prior of the cells."""

    concentration: Annotated[
        str | None,
        typer.Option(
            "--concentration",
            help="Prior pseudo-count per cell, default 2/C^2; or of two classes TP,FN,FP,TN, as "
            "`bayescm elicit` prints them.",
        ),
    ] = None


class PriorAndLabelErrors(Prior):
    """The prior of the cells, and how often labels are wrong."""

    label_error: Annotated[
        list[str] | None,
        typer.Option(
            "--label-error",
            help="How often labels are wrong: 0.05, or 2,38 for a Beta(2, 38); sick=0.05 of one "
            "class, repeated for others.",
        ),
    ] = None


class Target(Options):
    """The population that is meant."""

    prevalence: Annotated[
        float | None, typer.Option("--prevalence", help="Prevalence of the target population.")
    ] = None


class Format(StrEnum):
    """How a table is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


FormatOption = Annotated[Format, typer.Option("--format", help="Format of the table.")]


class Output(Options):
    """How a table is printed."""

    style: FormatOption = Format.table


class SafeOutput(Output):
    """How a table is printed, of which cells may be somebody else's text."""

    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="Write text that a spreadsheet takes for a formula after a '."
        ),
        BelongsWith("--format csv"),
    ] = False


class Plot(Options):
    """A picture beside the table."""

    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", callback=check_picture, help="Write a picture here (.png, .svg or .pdf)."
        ),
    ] = None


class TableAndPlot(SafeOutput, Plot):
    """How a table is printed, and where its picture goes."""

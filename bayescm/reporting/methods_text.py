"""
Methods paragraphs for papers: design, measures, model with formula, software, and BibTeX.

Formulas and references are taken from the module docstrings of the models, which are also part of
the documentation.
"""

import ast
import importlib.metadata
import json
import platform
import re
import unicodedata
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from bayescm.answers.compare import Evidence
from bayescm.answers.latex import escape_latex
from bayescm.distributions.hdi import SEVERAL_MODES
from bayescm.evidence.clusters_and_slices import clusters_of
from bayescm.evidence.registry import is_members
from bayescm.fitting.fitted import TreeDraws
from bayescm.fitting.models_by_name import is_ours
from bayescm.fitting.posterior_for import select_estimand
from bayescm.measures.catalogue import resolve
from bayescm.measures.display_names import (
    DisplayNames,
    display_label,
    display_name,
    displaying,
)
from bayescm.reporting import methods
from bayescm.reporting.methods import today
from bayescm.reporting.methods_formats import FORMATS, in_format, merged
from bayescm.reporting.symbols import OF_MANY_CLASSES, SYMBOLS
from bayescm.validate import check_choice, check_kind, check_prob, fail

_KINDS = {"hdi": "highest-density", "eti": "equal-tailed"}
# Phrases for the estimands; {} is replaced by the members, such as items or groups.
_ESTIMANDS = {
    "predictive": "The intervals are for the measure in a future test set.",
    "finite": "The intervals are for the observed {}.",
    "population": "The intervals are for the population of {}, observed or not.",
    "typical": "The intervals are for a typical one of the {}.",
    "new": "The intervals are for a new one of the {}.",
}
_PERSONS = ("Matthews", "Cohen", "Youden", "Jaccard", "Brier", "Hamming")
_SOFTWARE = {
    "pymc": r"""@article{pymc,
  author = {Abril-Pla, O. and others},
  title = {{PyMC}: a modern, and comprehensive probabilistic programming framework in {Python}},
  journal = {PeerJ Computer Science},
  volume = {9},
  pages = {e1516},
  year = {2023},
  doi = {10.7717/peerj-cs.1516},
}""",
    "arviz": r"""@article{arviz,
  author = {Kumar, R. and Carroll, C. and Hartikainen, A. and Martin, O.},
  title = {{ArviZ} a unified library for exploratory analysis of {Bayesian} models in {Python}},
  journal = {Journal of Open Source Software},
  volume = {4},
  number = {33},
  pages = {1143},
  year = {2019},
  doi = {10.21105/joss.01143},
}""",
    # Entry types and fields of the standard BibTeX styles, such as plain.bst.
    "bayescm": r"""@misc{bayescm,
  title = {bayescm: the posterior distribution of any performance measure of a classifier},
  author = {{The bayescm developers}},
  note = {Version VERSION},
  year = {YEAR},
}""",
    "numpy": """@article{numpy,
  author = {Harris, C. R. and others},
  title = {Array programming with {NumPy}},
  journal = {Nature},
  volume = {585},
  pages = {357--362},
  year = {2020},
  doi = {10.1038/s41586-020-2649-2},
}""",
    "scipy": """@article{scipy,
  author = {Virtanen, P. and others},
  title = {{SciPy} 1.0: fundamental algorithms for scientific computing in {Python}},
  journal = {Nature Methods},
  volume = {17},
  pages = {261--272},
  year = {2020},
  doi = {10.1038/s41592-019-0686-2},
}""",
}


class MethodsParagraph(NamedTuple):
    r"""
    Methods paragraph with its references.

    The sum of two paragraphs contains both texts, and each reference once.

    Attributes
    ----------
    text : str
        LaTeX (with amsmath and ``\cite``), Markdown or plain text.
    bibtex : str
        BibTeX entries of the works cited in the text.
    """

    text: str
    bibtex: str

    def __add__(self, other):
        """Concatenate two paragraphs."""
        if not isinstance(other, MethodsParagraph):
            return NotImplemented
        text = f"{self.text}\n{other.text}"
        return MethodsParagraph(text, merged(self.bibtex, other.bibtex))


def methods_paragraph(
    evidence: Evidence,
    measures: str | Callable | Sequence[str | Callable] | None = None,
    *,
    prob: float = 0.95,
    kind: str = "hdi",
    of: str = "parameter",
    n: int | None = None,
    model: str | Callable | None = None,
    concentration: Any = None,
    positive: Any = None,
    draws: int | None = None,
    random_seed: int = 0,
    format: str = "latex",
    display_names: DisplayNames = None,
    **keywords: Any,
) -> MethodsParagraph:
    r"""
    Return a methods paragraph for a paper, with BibTeX entries of its references.

    Parameters
    ----------
    evidence : DataArray, Dataset, DataTree or mapping
        See `bayescm.report`. Several data sets, ``{"wdbc": ..., "heart": ...}``, are described
        together.
    measures : str, callable or a sequence of these, optional
        Measures, by default the same as for `bayescm.report`.
    prob, kind, of, n, model, concentration, positive, draws, random_seed, **keywords
        See `bayescm.interval`. Pass the same values as for the results in the paper.
    format : {"latex", "markdown", "text"}
        Format of the text. Markdown contains formulas in dollar signs and Pandoc citations. Plain
        text contains formulas in Unicode, and cites authors and years.
    display_names : mapping of str to str, optional
        Display names of measures, dimensions and labels.

    Returns
    -------
    MethodsParagraph
        ``text`` describes the design, the measures, the model with its formula, prior and estimand,
        the computation of intervals, and the software. ``bibtex`` contains an entry for each cited
        work. Other information about the study must be added by the authors. The paragraphs of
        several analyses can be added, ``first + second``, to obtain a common bibliography. For
        custom models, ``text`` contains a placeholder in brackets for the description.

    Raises
    ------
    ValueError
        If a measure is unknown, all measures are undefined, or no data set is given.

    Examples
    --------
    >>> import bayescm as bcm
    >>> counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    >>> paragraph = methods_paragraph(counts, ["recall", "f1"])
    >>> print(paragraph.text.splitlines()[0])
    The evaluation is of 145 examples of 2 classes: negative (65), positive (80). The positive...
    >>> paragraph.bibtex.count("@")
    4
    """
    from bayescm.reporting.recipe import recipe_of

    check_prob(prob), check_kind(kind), check_choice("format", format, FORMATS)
    settings = {"prob": prob, "kind": kind, "rope": 0.0, "random_seed": random_seed}
    asked = {"n": n, "model": model, "concentration": concentration, "positive": positive}
    asked |= {"of": None if of == "parameter" else of, "draws": draws}
    keywords |= {name: value for name, value in asked.items() if value is not None}
    data_sets = evidence if is_members(evidence) else {"": evidence}
    if not data_sets:
        raise fail(
            "A methods paragraph needs at least one data set", ..., "", 'pass e.g. {"wdbc": counts}'
        )
    with displaying(display_names):
        recipes = {
            name: recipe_of(of_data_set, measures, settings, keywords)
            for name, of_data_set in data_sets.items()
        }
        for recipe in recipes.values():
            if of != "parameter" and _tree_of(recipe) is not None:
                # Raises an error if the fit lacks the estimand.
                select_estimand(recipe.posterior, of)  # type: ignore[attr-defined]
        table = pd.concat([recipe.table for recipe in recipes.values()])
        facts = _common_facts({name: recipe.facts() for name, recipe in recipes.items()})
        tables = (table, *_comparisons(recipes.values()))
        is_seeded = any(map(_is_drawn, tables))
        names = list(dict.fromkeys(table["measure"]))
        models = [] if _is_own(model) else _models(str(facts.get("Model", "")))
        trees = [] if models else list(map(_tree_of, recipes.values()))
        entries: dict[str, str] = {}
        parts = [_design({name: r.evaluation().sentences for name, r in recipes.items()})]
        parts += [_of_measures(names, next(iter(recipes.values())).type)]
        parts += [_of_classes_left_out(table)]
        many = any(_n_classes(recipe) > 2 for recipe in recipes.values())
        parts += [
            _of_model(
                name,
                entries,
                first=name == models[0],
                many=many,
                values=_values(name, recipes.values()) if name == models[0] else {},
            )
            for name in models
        ]
        parts += [] if models else ["The model is [describe the model and its priors here]."]
        parts += dict.fromkeys(_of_sampling(tree, entries) for tree in trees if tree is not None)
        facts |= {} if models else {"Prior": ""}
        parts += dict.fromkeys(_beyond_the_formula(r) for r in recipes.values())
        measured = "the differences in each measure" if "first" in table else "each measure"
        kinds = facts.get("Intervals", _KINDS[kind])
        parts.append(_of_intervals(facts, prob, kinds, table, measured))
        parts.append(_of_estimand(of, table, next(iter(recipes.values()))))
        fits = [tree for tree in map(_tree_of, recipes.values()) if tree is not None]
        seeds = [tree.attrs["random_seed"] for tree in fits if "random_seed" in tree.attrs]
        seeds += [random_seed] if is_seeded and len(fits) < len(recipes) else []
        parts.append(_of_software(list(dict.fromkeys(map(str, seeds)))))
    entries |= {name: entry for name, entry in _SOFTWARE.items() if name in ("numpy", "scipy")}
    version = importlib.metadata.version("bayescm")
    software = _SOFTWARE["bayescm"].replace("VERSION", version)
    entries["bayescm"] = software.replace("YEAR", today()[:4])
    text = "\n".join(filter(None, parts)) + "\n"
    return MethodsParagraph(in_format(text, entries, format), "\n\n".join(entries.values()))


def _common_facts(of_data_sets):
    """Return the facts of all data sets, listing the data sets for each prior."""
    names = dict.fromkeys(name for facts in of_data_sets.values() for name in facts)
    common = {}
    for name in names:
        places: dict[str, list[str]] = {}
        for data_set, facts in of_data_sets.items():
            if name in facts:
                places.setdefault(str(facts[name]), []).append(display_label(data_set))
        common[name] = "; or ".join(places)
        if name == "Prior" and len(places) > 1:
            of_places = [f"or {', '.join(where)}: {value}" for value, where in places.items()]
            common[name] = "f" + ". F".join(of_places)
    return common


def _comparisons(recipes):
    return [recipe.comparison for recipe in recipes if recipe.comparison is not None]


def _is_drawn(table):
    """Return True if the values of a summary or comparison come from random draws."""
    return "draws" in table.attrs or any("draw" in str(how) for how in table.get("how", ()))


def _design(sentences):
    """Describe the common design of the data sets, followed by their differences."""
    lists = list(sentences.values())
    if len(lists) == 1:
        first, *rest = lists[0]
        words = [f"The evaluation is of {first}", *rest]
    else:
        common = [line for line in lists[0] if all(line in other for other in lists)]
        words = [f"The evaluation is of {len(lists)} data sets."]
        for name, lines in sentences.items():
            particular = [line for line in lines if line not in common]
            words.append(f"{display_label(name)}: {' '.join(particular)}" if particular else "")
        words += ["For each data set:", " ".join(common)] if common else []
    return " ".join(escape_latex(line) for line in words if line)


def _of_classes_left_out(table):
    """Return a sentence on the classes that averages exclude, if any."""
    caution = str(table.attrs.get("caution", ""))
    found = re.search(r"Averages leave out classes .*?in the sample\. .*?\.(?= [A-Z]|$)", caution)
    return escape_latex(found[0]) if found else ""


def _of_measures(names, entry):
    """Describe the measures. The same name may have another meaning for other evidence."""
    described = []
    for name in names:
        try:
            measure = resolve(name, entry.measured_variable)
        except ValueError:  # custom measure
            meaning = ""
        else:
            meaning = _inside((measure.__doc__ or "").strip().split("\n")[0].rstrip("."))
            if meaning and measure.__name__.endswith(f"_{measure.average}"):
                meaning = _AVERAGES[measure.average].format(meaning)
            meaning = meaning.replace(*_WORDS_OF_TYPE.get(entry.name, ("", "")))
        described.append(display_name(name) + (f" ({meaning})" if meaning else ""))
    be = "measure is" if len(described) == 1 else "measures are"
    return escape_latex(f"The {be} {'; '.join(described)}.")


# Descriptions of averages, given the description of the measure, by suffix of the name.
_AVERAGES = {
    "macro": "mean over the classes of the {}",
    "weighted": "mean over the classes, weighted by their examples, of the {}",
    "micro": "{}, of the counts of all classes together",
    "samples": "mean over the examples of the {}",
    "top_label": "{}, for the most probable class of each forecast",
}
# Terms for classes and examples in other types of evidence.
_WORDS_OF_TYPE = {"multilabel": ("classes", "labels"), "item counts": ("examples", "items")}


def _inside(sentence):
    """Lower-case the first letter of a sentence, except for names, to embed it in another."""
    first = sentence.partition(" ")[0]
    is_name = first.startswith(_PERSONS) or first[1:] != first[1:].lower()
    return sentence if is_name else sentence[:1].lower() + sentence[1:]


# Models: the first line, formula and references of their modules.


def _models(words):
    """Return the models named in the text, in order, including the correlated t."""
    # A name after a dot belongs to a custom model and its module.
    names = re.findall(r"(?<![\w.])[a-z_]+\b(?!\.)", words.replace("correlated t", "correlated_t"))
    return [name for name in dict.fromkeys(names) if _file(name) is not None]


def _file(name):
    for package in ("models", "posteriors"):
        spec = find_spec(f"bayescm.{package}")
        for folder in (spec.submodule_search_locations or []) if spec else []:
            path = Path(folder) / f"{name}.py"
            if path.is_file() and (package == "models" or name == "correlated_t"):
                return path
    return None


def _is_own(model):
    """Return True if a model is a function outside the catalogue."""
    return callable(model) and not is_ours(model)


def _tree_of(recipe):
    """Return the tree that contains the results of a recipe, or None."""
    posterior = getattr(recipe, "posterior", None)
    return posterior.tree if isinstance(posterior, TreeDraws) else None


def _of_sampling(tree, entries):
    """Describe how a tree was sampled, and its convergence diagnostics."""
    drawn = tree["posterior"]
    chains, draws = drawn.sizes["chain"], drawn.sizes["draw"]
    method = tree.attrs.get("sampling_method", "nuts")
    if method != "nuts":
        return f"Its posterior has {chains * draws:,} independent draws ({escape_latex(method)})."
    if "sample_stats" not in tree.children:  # another program may have sampled
        return f"Its posterior has {chains} chains of {draws:,} draws each [describe the sampler]."
    entries |= {name: _SOFTWARE[name] for name in ("pymc", "arviz")}
    library = drawn.attrs.get("inference_library", "")
    number = drawn.attrs.get("inference_library_version", "")
    by = f" by {escape_latex(f'{library} {number}')}" if library not in ("", "pymc") else ""
    versions = json.loads(tree.attrs.get("versions", "{}"))
    pymc, arviz = (
        versions.get(name) or importlib.metadata.version(name) for name in ("pymc", "arviz")
    )
    tuned = drawn.attrs.get("tuning_steps")
    after = f" after {tuned:,} draws of adaptation" if tuned else ""
    words = [
        rf"It was sampled with the No-U-Turn sampler of PyMC {pymc}~\cite{{pymc}}{by}: "
        f"{chains} chains of {draws:,} draws each{after}."
    ]
    if found := methods.diagnostics(tree).get("Diagnostics"):
        words.append(rf"The diagnostics of ArviZ {arviz}~\cite{{arviz}} are: {found}.")
    return " ".join(words)


def _n_classes(recipe):
    return getattr(recipe, "counts", recipe.evidence).sizes.get("actual", 0)


_DEFAULT = re.compile(r"\$\\texttt\{(?P<name>\w+)\}\$(?P<be> is)? (?P<value>[\d.]+\d|\d)")


def _values(name, recipes):
    """Return the values of the keywords of a model that differ from the defaults in its clause."""
    found: dict[str, dict[str, None]] = {}
    for match in _DEFAULT.finditer(SYMBOLS[name]):
        for recipe in recipes:
            value = _value(match["name"], recipe)
            text = match["value"] if value is None else value
            found.setdefault(match["name"], {})[text] = None
        if {*found[match["name"]]} == {match["value"]}:
            del found[match["name"]]
    return {keyword: " or ".join(texts) for keyword, texts in found.items()}


def _value(keyword, recipe):
    """Return the value of a keyword of the model in words, or None for the default."""
    tree = _tree_of(recipe)
    if tree is not None:
        value = json.loads(tree.attrs.get("model_keywords", "{}")).get(keyword)
    else:
        own = recipe.keywords
        design = (
            {} if own.get("model") else recipe.type.default_model(recipe.evidence, own).keywords
        )
        value = own.get(keyword, design.get(keyword))
    if isinstance(value, int | float):
        return f"{value:.6g}"
    if value is None:
        return None
    is_prior = callable(value) or isinstance(value, str)
    return "replaced by another prior" if is_prior else "given by the analyst"


def _with_values(clause, values):
    """Return a clause with the values of keywords instead of the defaults."""
    if not values:
        return clause

    def given(match):
        be, value = match["be"] or "", values.get(match["name"], match["value"])
        return rf"$\texttt{{{match['name']}}}${be} {value}"

    return _DEFAULT.sub(given, clause).removesuffix(" by default")


def _of_model(name, entries, *, first, many=False, values=None):
    text = ast.get_docstring(ast.parse(_file(name).read_text(encoding="utf-8"))) or ""
    head = " ".join(text.split("\n\n")[0].split()).rstrip(".").removeprefix("Model ")
    # The references of such a model are for two classes.
    differs = many and name in OF_MANY_CLASSES
    references = {} if differs else _references(text)
    entries |= references
    cited = rf"~\cite{{{','.join(references)}}}" if references else ""
    subject = "The model is" if first else "Differences between two classifiers use another model,"
    written = escape_latex(name.replace("_", " "))
    lines = [f"{subject} {written} ({escape_latex(_inside(head))}){cited}."]
    formula = _formula(text.partition("With C > 2 classes:")[2] if differs else text)
    if formula:
        clause = (OF_MANY_CLASSES if differs else SYMBOLS)[name]
        lines[0] = lines[0].removesuffix(".") + ":"
        lines += [r"\begin{align*}", formula, r"\end{align*}", f"{_with_values(clause, values)}."]
    return "\n".join(lines)


def _formula(text):
    """Return the first formula of a docstring, without indentation."""
    match = re.search(r"\.\. math::\n\n((?:[ ]{4}.*\n|\n)+)", text)
    if match is None:
        return ""
    lines = [line.strip() for line in match[1].strip().splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines).rstrip(",.") + ","


_KEY_WORD = re.compile("[a-z]{4}")  # first long word of a title, used in the key of a reference
_WORK = re.compile(r"(?P<authors>.+?) \((?P<year>\d{4})\)\. (?P<title>.+?)\. (?P<rest>.+)")
_IN_JOURNAL = re.compile(r"(?P<journal>.+?),? (?P<volume>\d+)(?:\(\d+\))?, (?P<pages>\d[\d-]*)\.?$")


def _references(text):
    """Convert the references of a docstring to BibTeX entries, by key."""
    _, _, listed = text.partition("References\n----------\n")
    entries = {}
    for paragraph in filter(str.strip, listed.split("\n\n")):
        match = _WORK.match(" ".join(paragraph.split()))
        if match is None:
            continue
        rest, _, doi = match["rest"].partition("doi:")
        letters = unicodedata.normalize("NFD", match["authors"].split(",")[0].lower())
        surname = re.sub(r"[^a-z]", "", letters)
        # A word of the title distinguishes works of an author in the same year.
        word = next(filter(_KEY_WORD.match, match["title"].lower().split()), "")
        key = f"{surname}{match['year']}{re.sub('[^a-z]', '', word)}"
        authors = re.sub(r"(?<=\.)(?:,| &) (?=[A-Z])", " and ", match["authors"])
        fields = {"author": authors, "title": match["title"], "year": match["year"]}
        journal = _IN_JOURNAL.match(rest.strip())
        if journal:
            name = journal["journal"].removeprefix("The ")  # omitted in some references
            fields |= (
                journal.groupdict()
                | {"journal": name}
                | {"pages": journal["pages"].replace("-", "--")}
            )
        else:
            fields["note"] = rest.strip().rstrip(".")
        fields |= {"doi": doi.strip()} if doi else {}
        kind = "article" if journal else "misc"
        lines = [f"  {name} = {{{_bibtex(name, value)}}}," for name, value in fields.items()]
        entries[key] = "\n".join([f"@{kind}{{{key},", *lines, "}"])
    return entries


_CAPITAL = re.compile(r"[\w'-]*[A-Z][\w'-]*")  # a word with a capital letter
# BibTeX accents by Unicode combining character, and special letters.
_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"'}
_ACCENTS |= {"\u030a": "r ", "\u030c": "v ", "\u0327": "c "}
_LETTERS = {"ß": r"{\ss}", "ø": r"{\o}", "Ø": r"{\O}", "æ": r"{\ae}", "ł": r"{\l}", "&": r"\&"}


def _bibtex(field, text):
    """Escape text for BibTeX, with accents as commands."""
    if field == "doi":
        return text
    letters = []
    for letter in unicodedata.normalize("NFC", text):
        parts = unicodedata.normalize("NFD", letter)
        if len(parts) == 2 and parts[1] in _ACCENTS:
            letters.append(rf"{{\{_ACCENTS[parts[1]]}{parts[0]}}}")
        else:
            letters.append(_LETTERS.get(letter, letter))
    written = "".join(letters)
    return _with_capitals(written) if field == "title" else written


def _with_capitals(title):
    """Protect the capitals of a title by braces, because BibTeX styles would lower-case them."""
    first, *rest = title.split(" ")
    words = [first if first[1:].islower() or len(first) == 1 else _CAPITAL.sub(r"{\g<0>}", first)]
    return " ".join(words + [_CAPITAL.sub(r"{\g<0>}", word) for word in rest])


# Formulas describe independent units of a single system, but the evidence may have more structure.
_UNIT = {"item scores": "item", "item counts": "item", "multilabel": "example"}


def _beyond_the_formula(recipe):
    """Describe what clusters, weights and several systems add to the formula."""
    evidence, unit = recipe.evidence, _UNIT.get(recipe.type.name)
    if unit is None:
        return ""
    words = []
    if recipe.type.name == "item counts":
        words.append(
            "Items are used instead of examples, and their objects that were found, missed "
            "or reported in error instead of labels."
        )
    if clusters_of(evidence, unit) is not None:
        words.append(
            f"All {unit}s of a cluster share one weight, so clusters are sampled and not "
            f"single {unit}s."
        )
    if "weight" in evidence:
        importance = evidence["weights_are"].item() == "importance"
        stands = "in proportion to its importance" if importance else "according to its weight"
        words.append(f"Each {unit} counts {stands}.")
    if evidence.sizes.get("classifier", 1) > 1:
        words.append(f"The weights of the {unit}s are the same for all systems, which pairs them.")
    return " ".join(words)


def _of_estimand(of, table, recipe):
    """Describe the estimand of the intervals, which may be the default."""
    if of == "parameter" and "of" in table:
        of = table["of"].iloc[0]
    dims = getattr(recipe, "counts", recipe.evidence).dims
    members = next((f"{dim}s" for dim in ("group", "fold") if dim in dims), recipe.type.unit)
    if recipe.type.name in ("probabilities",):
        members = "sites" if "group" in recipe.evidence else recipe.type.unit
    return _ESTIMANDS.get(of, "").format(members)


# Computation and software.


def _of_intervals(facts, prob, kind, table, measured):
    prior = f" The prior is: {facts['Prior']}." if facts.get("Prior") else ""
    ways = dict.fromkeys(way for how in table["how"] for way in _ways(str(how).partition(";")[0]))
    how = " or ".join(ways)
    if "Draws" in facts:
        how = f"from {facts['Draws']}" if how == "from draws" else f"{how} from {facts['Draws']}"
    mass = f"{100 * prob:.4g}%"
    return escape_latex(
        f"We report {mass} {kind} intervals of the posterior distribution of {measured}, "
        f"computed {how}.{prior}"
    )


# Remarks on the shape of an interval, which do not describe the method of computation.
_REMARKS = re.compile(rf", (?:{SEVERAL_MODES}|equal tails: .*)$")


def _ways(how):
    """Return the methods of computation, with their prepositions."""
    how = _REMARKS.sub("", how)
    if how.startswith("moments, draws for"):
        return ["by moments", "from draws"]
    if how == "closed form":
        return ["in closed form"]
    return [f"from {how}" if how.startswith("draws") else f"by {how}"]


def _of_software(seeds):
    numbers = {name: importlib.metadata.version(name) for name in ("bayescm", "numpy", "scipy")}
    programs = ", ".join(
        rf"{escape_latex(name)} {escape_latex(number)}~\cite{{{name}}}"
        for name, number in numbers.items()
    )
    be = "seed of random draws is" if len(seeds) == 1 else "seeds of random draws are"
    seed = f"; the {be} {', '.join(seeds)}" if seeds else ""
    return f"Computations were done in Python {platform.python_version()} with {programs}{seed}."

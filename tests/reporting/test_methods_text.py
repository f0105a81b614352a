"""The methods paragraph: what is in it, that its LaTeX and BibTeX hold together."""

import ast
import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayescm as bcm
from bayescm.measures import catalogue, curves, probabilities
from bayescm.posteriors.base import Posterior
from bayescm.reporting import methods_text
from bayescm.reporting.methods_formats import in_format, merged
from bayescm.reporting.symbols import OF_MANY_CLASSES, SYMBOLS

COUNTS = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
FOLD = {"fold": np.arange(80) // 2 % 4}


def outcomes(by=None):
    rng, actual = np.random.default_rng(0), np.arange(80) % 2
    answers = {name: np.where(rng.random(80) < 0.8, actual, 1 - actual) for name in "ab"}
    return bcm.from_classifiers(actual, answers, labels=[0, 1], by=by)


def cited(text):
    return {key for keys in re.findall(r"\\cite{([^}]+)}", text) for key in keys.split(",")}


@pytest.mark.long
@pytest.mark.parametrize("evidence", [COUNTS, outcomes(), outcomes(FOLD)], ids=repr)
def test_every_work_that_is_cited_is_listed_and_no_other(evidence):
    text, bibtex = bcm.methods_paragraph(evidence, ["recall", "f1"])
    assert cited(text) == set(re.findall(r"@\w+{(\w+),", bibtex))
    assert text.count("{") == text.count("}")
    assert bibtex.count("{") == bibtex.count("}")
    prose = re.sub(r"\\begin{align.*?\\end{align\*}", "", text, flags=re.DOTALL)
    prose = re.sub(r"\$[^$]+\$", "", prose)
    assert not re.search(r"(?<!\\)[_%&#]", prose)


def test_design_measures_model_prior_and_software_are_named():
    text = bcm.methods_paragraph(COUNTS, ["recall", "f1"], prob=0.9, kind="eti").text
    assert text.startswith("The evaluation is of 145 examples of 2 classes")
    assert "recall (proportion of positives that are found)" in text
    assert "F1 (harmonic mean of precision and recall)" in text
    assert r"\mathrm{Dirichlet}" in text
    assert r"We report 90\% equal-tailed intervals" in text
    assert "computed in closed form" in text
    assert "concentration 0.5 per cell" in text
    assert r"\cite{bayescm}" in text


@pytest.mark.long
def test_paired_folds_have_the_models_of_both():
    text = bcm.methods_paragraph(outcomes(FOLD), "accuracy").text
    assert "Cross-validation with 4 folds" in text
    assert "The model is hierarchical folds" in text
    assert "Differences between two classifiers use another model, correlated t" in text


@pytest.mark.long
def test_display_names():
    text = bcm.methods_paragraph(COUNTS, ["f1", "mcc"], display_names={"f1": "F-measure"}).text
    assert "F-measure (harmonic mean" in text
    assert "MCC (Matthews correlation" in text
    assert "F1" not in text
    text = bcm.methods_paragraph(outcomes(), "accuracy", display_names={"a": "the first"}).text
    assert "2 classifiers on the same examples: the first, b." in text


def test_every_reference_of_a_model_is_read():
    folder = methods_text._file("dirichlet_multinomial").parent
    for path in sorted(folder.glob("*.py")):
        head = path.read_text(encoding="utf-8").split('"""')[1]
        listed = head.partition("References\n----------\n")[2].strip()
        entries = methods_text._references(head)
        works = [work for work in listed.split("\n\n") if work.strip()]
        assert len(entries) == len(works), path.name
        text = "".join(entries.values())
        assert [doi for doi in re.findall(r"doi:(\S+)", listed) if doi not in text] == [], path.name


def test_a_reference_becomes_an_entry():
    text = "Head.\n\nReferences\n----------\nFerguson, T. S. & Rubin, D. B. (1973). A Bayesian"
    text += " analysis. Annals\nof Statistics 1, 209-230. doi:10.1214/aos/1176342360"
    assert methods_text._references(text)["ferguson1973bayesian"].splitlines() == [
        "@article{ferguson1973bayesian,",
        "  author = {Ferguson, T. S. and Rubin, D. B.},",
        "  title = {A {Bayesian} analysis},",
        "  year = {1973},",
        "  journal = {Annals of Statistics},",
        "  volume = {1},",
        "  pages = {209--230},",
        "  doi = {10.1214/aos/1176342360},",
        "}",
    ]


def test_a_model_of_ones_own_has_one_place_for_its_description():
    def mine(counts) -> Posterior:
        return bcm.posteriors.dirichlet_multinomial(counts)

    text = bcm.methods_paragraph(COUNTS, "f1", model=mine).text
    assert text.count("[") == 1 + text.count("intervals [")
    assert "The model is [describe the model and its priors here]." in text
    assert "Dirichlet" not in text


@pytest.mark.long
def test_a_tree_of_ones_own_is_described_by_its_sampler_and_chains():
    rng = np.random.default_rng(1)
    theta = rng.dirichlet([30, 35, 15, 65], (2, 200)).reshape(2, 200, 2, 2)
    dims, labels = ("actual", "predicted"), ["negative", "positive"]
    coords = {dim: labels for dim in dims}
    origin = {"inference_library": "nutpie", "inference_library_version": "0.16"}
    posterior = xr.Dataset({"theta": (("chain", "draw", *dims), theta)}, coords)
    posterior = posterior.assign_attrs(origin, tuning_steps=500)
    stats = xr.Dataset({"diverging": (("chain", "draw"), np.zeros((2, 200), bool))})
    groups = {"posterior": posterior, "sample_stats": stats}
    groups["constant_data"] = xr.Dataset({"counts": COUNTS.drop_vars("positive")})
    tree = xr.DataTree.from_dict(groups)
    for name in ("my_models.hierarchical_groups", None):
        tree.attrs = {"model": name, "random_seed": 7} if name else {}
        paragraph = bcm.methods_paragraph(tree, "f1", positive="positive")
        text = paragraph.text
        assert text.count("[describe the model and its priors here]") == 1
        assert "145 examples" in text
        assert r"of PyMC 6" in text
        assert "by nutpie 0.16: 2 chains of 200 draws each after 500 draws of adaptation." in text
        assert "0 divergences, r-hat up to 1.0" in text
        assert "The prior is" not in text
        assert ("the seed of random draws is 7" in text) == ("the seed" in text) == bool(name)
        assert {"@article{pymc,", "@article{arviz,"} <= {*paragraph.bibtex.split("\n")}


def formulas():
    """Return the formula of every model that the paragraph can name, by its name."""
    folder = methods_text._file("dirichlet_multinomial").parent
    names = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    texts = {
        name: methods_text._file(name).read_text(encoding="utf-8")
        for name in [*names, "correlated_t"]
    }
    return {name: methods_text._formula(text.split('"""')[1]) for name, text in texts.items()}


def symbols(formula):
    """Return the Greek and single Latin letters of a formula that are no index or constant."""
    plain = re.sub(
        r"\\(?:begin|end){.*?}|\\operatorname{.*?}|\\text{.*?}|\\mathrm{.*?}", " ", formula
    )
    plain = re.sub(r"_(?:{[^{}]*}|.)|\[i = j\]", " ", plain)
    greek = re.findall(
        r"\\(theta|lambda|eta|alpha|beta|sigma|tau|omega|mu|delta|rho|pi|phi)\b", plain
    )
    letters = re.findall(r"(?<![\\A-Za-z])[a-zA-Z](?![A-Za-z])", re.sub(r"\\[a-zA-Z]+", " ", plain))
    return {*greek, *letters} - {"N", "P", "k", "i", "t"}


def test_every_symbol_of_a_formula_is_defined():
    assert formulas().keys() == SYMBOLS.keys()
    for name, formula in formulas().items():
        formula = re.sub(r"\bp\(|\\sin\^2", "function(", formula)
        formula = formula.replace(r"\pi m", "m")  # the number
        defined = symbols(" ".join(re.findall(r"\$([^$]+)\$", SYMBOLS[name])))
        assert symbols(formula) - defined == set(), name


def test_several_data_sets_are_described_together():
    larger = bcm.from_cells(tp=165, fn=15, fp=35, tn=30)
    text = bcm.methods_paragraph({"wdbc": COUNTS, "heart": larger}, "f1").text
    assert text.startswith("The evaluation is of 2 data sets. wdbc: 145 examples of 2 classes")
    assert "heart: 245 examples" in text
    assert text.count("The model is") == 1
    with pytest.raises(ValueError, match="A methods paragraph needs at least one data"):
        bcm.methods_paragraph({}, "f1")


def test_results_on_several_data_sets_are_described():
    rng = np.random.default_rng(1)
    rows = [(d, c, f, rng.normal(0.8, 0.05)) for d in range(4) for c in "ab" for f in range(5)]
    table = pd.DataFrame(rows, columns=["data_set", "classifier", "fold", "accuracy"])
    text = bcm.methods_paragraph(bcm.from_results(table)).text
    assert "2 classifiers on 4 data sets, 5 runs on each" in text
    assert "intervals of the posterior distribution of the differences in each measure" in text
    assert "The model is hierarchical differences" in text


@pytest.mark.long
def test_averages_are_described_as_averages():
    counts = bcm.from_matrix([[10, 2, 1], [0, 12, 1], [0, 1, 16]], labels=list("abc"))
    text = str(bcm.methods_paragraph(counts, ["f1_macro", "recall_micro"]))
    assert "mean over the classes of the harmonic mean of precision and recall" in text
    assert "proportion of positives that are found, of the counts of all classes together" in text


@pytest.mark.long
def test_the_prior_is_that_of_each_data_set_and_of_pairs():
    three = bcm.from_classifiers(list("xyz") * 20, {"a": list("xyy") * 20, "b": list("xxz") * 20})
    text = bcm.methods_paragraph({"two": outcomes(), "more": three}, "f1_macro").text
    assert "for two: concentration 0.5 per cell, worth 2 examples in all; for two class" in text
    assert (
        "true and both predicted labels, 0.25 per cell. For more: concentration 0.2222 per cell"
        in text
    )
    assert "true and both predicted labels, 0.07407 per cell." in text


@pytest.mark.long
def test_the_seed_is_that_of_draws_where_there_are_any():
    assert "seed" not in bcm.methods_paragraph(outcomes(), ["recall", "f1"]).text
    assert "seed" not in bcm.methods_paragraph(COUNTS, ["recall", "f1"]).text
    asked = {"draws": 300, "random_seed": 7}
    assert "the seed of random draws is 7" in bcm.methods_paragraph(outcomes(), "f1", **asked).text


def test_software_has_a_year_and_accents_are_commands(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert "year = {2023}," in bcm.methods_paragraph(COUNTS, "f1").bibtex
    assert methods_text._bibtex("author", "Sköld, Bühlmann & Renée") == (
        r"Sk{\"o}ld, B{\"u}hlmann \& Ren{\'e}e"
    )


def test_every_average_has_words():
    families = (catalogue.AVERAGES, probabilities._AVERAGES, curves._AVERAGES)
    averages = {"samples"}.union(*families)
    assert averages <= {*methods_text._AVERAGES}


@pytest.mark.parametrize("name", SYMBOLS)
def test_formulas_are_text_and_markdown_without_commands(name):
    entries: dict = {}
    latex = methods_text._of_model(name, entries, first=True)
    text = in_format(latex, entries, "text")
    assert not re.search(r"[\\${}]", text)
    assert ".," not in latex
    markdown = in_format(latex, entries, "markdown")
    assert "\\begin{align*}" not in markdown
    assert not re.search(r"\\cite|~@", markdown)
    assert markdown.count("$") % 2 == 0
    # The works and the sentence stay.
    assert len(re.findall(r"(?<=\[|\s)@\w", markdown)) == len(entries)
    assert len(re.findall(r", \d{4}", text)) >= len(entries)


@pytest.mark.long
@pytest.mark.parametrize("style", ["markdown", "text"])
def test_other_formats_say_the_same(style):
    latex = bcm.methods_paragraph(outcomes(), ["f1_macro", "recall"])
    other = bcm.methods_paragraph(outcomes(), ["f1_macro", "recall"], format=style)
    assert other.bibtex == latex.bibtex
    prose = [
        re.sub(r"\[@.*?\]|\\cite{.*?}|\\", "", each.text.partition("We report")[2])
        for each in (latex, other)
    ]
    numbers = [set(re.findall(r"\d+\.\d+|\d+%", text)) for text in prose]
    assert numbers[0] == numbers[1]
    with pytest.raises(ValueError, match="latex"):
        bcm.methods_paragraph(COUNTS, "f1", format="html")


def test_bibliographies_are_merged_and_have_types_of_plain_bst():
    first, second = (bcm.methods_paragraph(each, "recall") for each in (COUNTS, outcomes(FOLD)))
    both = first + second
    keys = re.findall(r"@\w+{(\w+),", both.bibtex)
    assert len(keys) == len(set(keys))
    assert set(keys) == cited(both.text)
    assert set(re.findall(r"@(\w+){", both.bibtex)) <= {"article", "book", "misc", "inproceedings"}
    assert both.text.startswith(first.text)
    assert merged(both.bibtex, first.bibtex) == both.bibtex
    with pytest.raises(ValueError, match="Two different references have the key"):
        merged(first.bibtex, first.bibtex.replace("Array programming", "Another work"))


def test_a_key_is_one_work_in_all_models():
    works: dict = {}
    for name in SYMBOLS:
        entries: dict = {}
        methods_text._of_model(name, entries, first=True)
        for key, entry in entries.items():
            assert works.setdefault(key, entry) == entry


def groups(classes):
    """Return counts of a number of classes in three groups."""
    tables = np.arange(1, 3 * classes**2 + 1).reshape(3, classes, classes)
    labels = list("xyz")[:classes]
    return bcm.from_matrix(tables, labels=labels, positive="y").rename(batch="group")


@pytest.mark.parametrize("classes", [2, 3])
def test_the_formula_of_groups_is_for_the_number_of_classes_and_has_the_given_spread(classes):
    asked = {"of": "new", "spread": 0.4, "random_seed": 7, "draws": 500}
    text = bcm.methods_paragraph(groups(classes), "recall[y]", format="text", **asked).text
    assert "spread is 0.4." in text
    assert "by default" not in text
    assert ("Reitsma" in text) == ("MvNormal" in text) == (classes == 2)
    assert ("BetaBinomial" in text) == (classes == 3)
    assert "the seed of random draws is 7" in text


def test_symbols_of_many_classes_are_defined():
    for name, clause in OF_MANY_CLASSES.items():
        whole = ast.get_docstring(ast.parse(methods_text._file(name).read_text(encoding="utf-8")))
        formula = methods_text._formula(whole.partition("With C > 2 classes:")[2])
        defined = symbols(" ".join(re.findall(r"\$([^$]+)\$", clause)))
        assert symbols(formula) - defined - {"j"} == set()


def test_a_fit_has_the_seed_and_the_keywords_of_its_own(tmp_path):
    bcm.save(bcm.fit(groups(3), spread=0.4, draws=50, random_seed=20251), tmp_path / "h.nc")
    tree = bcm.load(tmp_path / "h.nc")
    text = bcm.methods_paragraph(tree, "recall[y]", of="typical", format="text").text
    assert "the seed of random draws is 20251" in text
    assert "spread is 0.4." in text
    assert "computed from 200 draws (importance)" in text
    assert "a typical one of the groups" in text
    with pytest.raises(ValueError, match="of='new' is not available"):
        bcm.methods_paragraph(tree, "recall[y]", of="new")


def test_formulas_in_text_keep_roots_and_fractions():
    entries: dict = {}
    latex = methods_text._of_model("paired_folds", entries, first=True)
    text = in_format(latex, entries, "text")
    assert "(s_m)/(u sqrt(n_j)) sqrt(ρ_m + (1 - ρ_m)/K) (sqrt(χ) z_j + sqrt(1 - χ) z_mj)" in text
    latex = methods_text._of_model("hierarchical_folds", entries, first=True)
    assert "Bühlmann" in in_format(latex, entries, "text")


def test_values_of_keywords_are_read_from_the_call_and_not_from_attributes_of_posteriors():
    text = bcm.methods_paragraph(outcomes(FOLD), "accuracy", spread=0.2, format="text").text
    assert "spread is 0.2 and separation 1." in text
    text = bcm.methods_paragraph(outcomes(FOLD), "accuracy", format="text").text
    assert "spread is 0.3 and separation 1 by default." in text


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("No unbiased estimator of K-fold variance", "No unbiased estimator of {K-fold} variance"),
        ("A Bayesian comparison: ROC", "A {Bayesian} comparison: {ROC}"),
        ("ROC curves", "{ROC} curves"),
        ("Bühlmann's models", "B{\\\"u}hlmann's models"),
    ],
)
def test_capitals_of_titles_are_protected(title, written):
    assert methods_text._bibtex("title", title) == written

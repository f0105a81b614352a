"""Tables of LaTeX: that they parse, what is bold and marked, and what is refused."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import bayescm as bcm
from bayescm.answers.latex import escape_latex

RNG = np.random.default_rng(5)
PAPER = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{textcomp,booktabs}"


def outcomes(size):
    actual = RNG.integers(0, 2, size)
    right = {"good": 0.9, "also_good": 0.88, "bad": 0.55}
    answers = {k: np.where(RNG.random(size) < p, actual, 1 - actual) for k, p in right.items()}
    return bcm.from_classifiers(actual, answers, labels=[0, 1])


SETS = {"wdbc": outcomes(150), "adult & co": outcomes(200)}
MEASURES = ["f1", "mcc"]


@pytest.fixture(scope="module")
def summary():
    return bcm.summary(SETS, MEASURES, dim="data_set")


@pytest.fixture(scope="module")
def comparisons():
    return {name: bcm.compare(both, MEASURES, draws=2000) for name, both in SETS.items()}


def cells(text):
    """Return the cells of a table, after a check that it is one of LaTeX."""
    plain = re.sub(r"\\[{}&%$#_]", "  ", text)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    assert begun == ended[::-1] == ["table", "tabular"]
    (columns,) = re.findall(r"\\begin{tabular}{(\w+)}", text)
    body = text[text.index("\\toprule") + 8 : text.index("\\bottomrule")]
    rows = [line.strip() for line in body.splitlines() if line.strip().endswith("\\\\")]
    split = [re.split(r"(?<!\\)&", row.removesuffix("\\\\")) for row in rows]
    for row in split:
        spans = [int(n) for cell in row for n in re.findall(r"\\multicolumn{(\d+)}", cell)]
        assert len(row) - len(spans) + sum(spans) == len(columns)
        assert not any(re.search(r"(?<!\\)[%#_^~]", re.sub(r"\$.*?\$", "", cell)) for cell in row)
    return [[cell.strip() for cell in row] for row in split]


@pytest.mark.long
def test_classifiers_by_data_sets_below_the_measures(summary, comparisons):
    table = cells(bcm.latex_table(summary, comparison=comparisons))
    assert table[0][1:] == [r"\multicolumn{2}{c}{F1}", r"\multicolumn{2}{c}{MCC}"]
    assert table[1] == ["Classifier", "wdbc", r"adult \& co", "wdbc", r"adult \& co"]
    assert [row[0] for row in table[2:]] == ["good", r"also\_good", "bad"]
    row = summary.query("measure == 'mcc' and data_set == 'wdbc' and classifier == 'bad'").iloc[0]
    written = f"{row['mean']:.2f} [{row['lower']:.2f}, {row['upper']:.2f}]".replace("[-", "[$-$")
    assert table[4][3] == written


def test_the_best_is_bold_and_those_not_told_apart_from_it_are_marked(summary, comparisons):
    table = cells(bcm.latex_table(summary, comparison=comparisons))
    columns = [(measure, name) for measure in MEASURES for name in SETS]
    for column, (measure, name) in enumerate(columns, start=1):
        rows = comparisons[name]
        rows = rows[rows["measure"] == measure]
        by_name = {"good": table[2][column], "also_good": table[3][column]}
        (row,) = rows.query("first == 'good' and second == 'also_good'").to_dict("records")
        best, other = ("good", "also_good") if row["p_better"] > 0.5 else ("also_good", "good")
        assert by_name[best].startswith(r"\textbf{")
        assert ("dagger" in by_name[other]) == (max(row["p_better"], row["p_worse"]) < 0.95)
        assert "textbf" not in table[4][column] + by_name[other]
        assert "dagger" not in table[4][column] + by_name[best]


def test_the_best_of_a_loss_is_the_lowest():
    both = SETS["wdbc"]
    text = bcm.latex_table(
        bcm.summary(both, "error_rate"), comparison=bcm.compare(both, "error_rate")
    )
    bold = [row[0] for row in cells(text)[1:] if "textbf" in row[1]]
    assert bold != ["bad"]
    assert len(bold) == 1


@pytest.mark.long
def test_the_caption_says_what_cells_bold_and_marks_mean(summary, comparisons):
    text = bcm.latex_table(summary, caption="Results, 95 % sure.", label="tab:all")
    assert "\\caption{Results, 95 \\% sure. Posterior mean and 95\\% highest-density" in text
    assert "\\label{tab:all}" in text
    assert "Bold" not in text
    assert "Bold: best" in bcm.latex_table(summary, comparison=comparisons)
    both = SETS["wdbc"]
    near = bcm.compare(both, MEASURES, rope=0.02, prob=0.9, draws=2000)
    text = bcm.latex_table(bcm.summary(both, MEASURES), comparison=near)
    assert "worse than the best by more than 0.02 with a probability below 90\\%." in text
    with pytest.raises(ValueError, match="different values of prob or rope"):
        bcm.latex_table(summary, comparison=comparisons | {"wdbc": near})
    lost = pd.DataFrame(summary.to_dict("list"))
    with pytest.raises(ValueError, match="The summary lacks prob and kind in its attrs"):
        bcm.latex_table(lost)


def test_a_list_of_tables_is_one_table_and_pandas_concat_is_refused():
    both = SETS["wdbc"]
    parts = [bcm.summary(both, one, prob=0.9) for one in MEASURES]
    pairs = [bcm.compare(both, one, rope=0.02, prob=0.9, draws=2000) for one in MEASURES]
    together = bcm.compare(both, MEASURES, rope=0.02, prob=0.9, draws=2000)
    for write in (bcm.latex_table, bcm.to_markdown):
        text = write(parts, comparison=pairs)
        assert text == write(bcm.summary(both, MEASURES, prob=0.9), comparison=together)
        assert write(pairs) == write(together)
        with pytest.raises(ValueError, match="The comparison lacks prob and rope in its attrs"):
            write(parts, comparison=drop_facts(pairs))
        with pytest.raises(ValueError, match="The comparison lacks prob and rope in its attrs"):
            write(drop_facts(pairs))
        with pytest.raises(ValueError, match="The ranking lacks prob in its attrs"):
            write(drop_facts([bcm.ranks(both, "f1")]))
    with pytest.raises(ValueError, match="The tables have different prob"):
        bcm.latex_table([parts[0], bcm.summary(both, "mcc")])


def drop_facts(tables):
    """Return the tables below each other, without their ``attrs``."""
    joined = pd.concat(map(pd.DataFrame, tables), ignore_index=True)
    joined.attrs = {}
    return joined


def test_one_measure_is_named_in_the_caption_or_has_the_column():
    one = bcm.summary(SETS, "f1", dim="data_set")
    assert "\\caption{F1. Posterior mean" in bcm.latex_table(one)
    alone = cells(bcm.latex_table(bcm.summary(SETS["wdbc"], "f1")))
    assert alone[0] == ["Classifier", "F1"]


def test_display_names_of_measures_dims_and_labels(summary):
    names = {"f1": "F 1", "classifier": "system", "bad": "the worst", "wdbc": "Wisconsin"}
    table = cells(bcm.latex_table(summary, display_names=names))
    assert table[0][1] == r"\multicolumn{2}{c}{F 1}"
    assert table[1][:2] == ["system", "Wisconsin"]
    assert table[4][0] == "the worst"


def test_measures_have_the_rows_of_one_classifier_and_wherever_it_is_asked_for(summary):
    counts = bcm.from_cells(tp=65, fn=15, fp=35, tn=30)
    table = cells(bcm.latex_table(bcm.summary(counts, ["f1", "lr_minus"])))
    assert [row[0] for row in table] == ["Measure", "F1", "LR$-$"]
    turned = cells(bcm.latex_table(summary, rows="data_set"))
    assert [row[0] for row in turned[-2:]] == ["wdbc", r"adult \& co"]


def test_infinite_and_undefined_numbers():
    frame = bcm.summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["f1", "lift"])
    frame.loc[0, "upper"], frame.loc[1, "mean"] = np.inf, np.nan
    first, second = cells(bcm.latex_table(frame))[1:]
    assert first[1].endswith(r"$\infty$]")
    assert second[1] == "--"


def test_classes_have_columns():
    counts = bcm.from_matrix(np.diag([5, 6, 7]) + 1, labels=list("abc"))
    table = cells(bcm.latex_table(bcm.summary(counts, ["recall", "accuracy"])))
    assert table[0] == ["Measure", "a", "b", "c", ""] or table[0] == ["Measure", "", "a", "b", "c"]


@pytest.mark.long
def test_each_class_and_system_has_a_cell_whatever_measure_comes_first():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 3, 90)
    answers = {name: np.where(rng.random(90) < 0.7, truth, 0) for name in ("new", "old")}
    both = bcm.from_classifiers(truth, answers, labels=[0, 1, 2])
    summary = bcm.summary(both, ["mcc", "recall", "accuracy"])
    text = bcm.latex_table(summary, comparison=bcm.compare(both, ["mcc", "recall", "accuracy"]))
    *_, new, old = cells(text)
    for name, row in (("new", new), ("old", old)):
        means = [float(re.sub(r"\\textbf\{|\}", "", cell).split()[0]) for cell in row[1:]]
        expected = summary.loc[summary["classifier"] == name, "mean"]
        np.testing.assert_allclose(means, expected, atol=0.006)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda s, c: {"comparison": c["wdbc"].query("first == 'good'")},
            "Compare all pairs, without reference=, in every measure",
        ),
        (lambda s, c: {"comparison": {"iris": c["wdbc"]}}, "do not match a column of the summary"),
        (lambda s, c: {"rows": "site"}, "rows must be a label column of the summary"),
        (lambda s, c: {"center": "median"}, "Unknown center"),
        (lambda s, c: {"digits": -1}, "digits"),
        (lambda s, c: {"comparison": s}, "A comparison needs a column first"),
    ],
)
def test_what_could_be_misread_is_refused(summary, comparisons, change, said):
    with pytest.raises(ValueError, match=said):
        bcm.latex_table(summary, **change(summary, comparisons))


def test_a_table_without_intervals_is_refused():
    with pytest.raises(ValueError, match="A summary needs a column mean"):
        bcm.latex_table(pd.DataFrame({"measure": ["f1"]}))
    with pytest.raises(TypeError, match="not a table"):
        bcm.latex_table("f1")


def test_text_is_escaped():
    assert escape_latex("a_b & 5% of $x^2$ {~}") == (
        r"a\_b \& 5\% of \$x\textasciicircum{}2\$ \{\textasciitilde{}\}"
    )


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_pdflatex_sets_it(tmp_path, summary, comparisons):
    names = {"bad": '~worst\\one {<|>} "^" #1 −'}
    text = bcm.latex_table(summary, comparison=comparisons, label="tab:x", display_names=names)
    joined = bcm.compare(SETS, MEASURES)
    text += bcm.latex_table(joined, display_names={"good": "logistic regression"})
    text += bcm.latex_table(bcm.ranks(SETS, MEASURES))
    more = {f"set {number}": SETS["wdbc"] for number in range(4)}
    text += bcm.latex_table(bcm.summary(more, MEASURES, dim="data_set"))
    (tmp_path / "paper.tex").write_text(f"{PAPER}\\begin{{document}}{text}\\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 5000
    assert "Overfull" not in run.stdout.partition("[1")[0]


@pytest.mark.long
@pytest.mark.parametrize("rows", ["data_set", "measure"])
def test_a_table_that_is_turned_marks_the_same_cells(rows):
    rng, sets = np.random.default_rng(3), {}
    for name in ("wdbc", "wine"):
        actual = rng.integers(0, 2, 150)
        answers = {
            label: np.where(rng.random(150) < right, actual, 1 - actual)
            for label, right in (("good", 0.9), ("bad", 0.7))
        }
        sets[name] = bcm.from_classifiers(actual, answers, positive=1)
    table = bcm.summary(sets, "f1", dim="data_set")
    comparison = {name: bcm.compare(both, "f1") for name, both in sets.items()}
    texts = [
        bcm.latex_table(table, comparison=comparison, rows=name) for name in ("classifier", rows)
    ]
    bold = [sorted(re.findall(r"\\textbf\{([^}]*)\}", text)) for text in texts]
    assert bold[0] == bold[1]
    assert len(bold[0]) == 2


def test_digits_stop_where_the_error_of_an_interval_begins():
    table = bcm.summary(bcm.from_cells(tp=65, fn=15, fp=35, tn=30), ["recall", "f1"])
    table.loc[0, "error"] = 0.004
    with pytest.warns(UserWarning, match="1 of 2 cells have fewer than 4 decimals"):
        (_, recall, f1) = cells(bcm.latex_table(table, digits=4))
    assert recall[-1] == "0.81 [0.72, 0.89]"
    assert f1[-1] == "0.7187 [0.6440, 0.7910]"


def test_members_that_tie_are_all_bold_and_the_caption_says_so():
    actual = [1, 1, 0, 0] * 9
    answers = {"a": [1, 1, 0, 0] * 9, "twin": [1, 1, 0, 0] * 9, "b": [1, 0, 0, 0] * 9}
    both = bcm.from_classifiers(actual, answers)
    text = bcm.latex_table(bcm.summary(both, "accuracy"), comparison=bcm.compare(both, "accuracy"))
    assert [("textbf" in row[1], "dagger" in row[1]) for row in cells(text)[1:]] == [
        (True, False),
        (True, False),
        (False, False),
    ]
    assert "Bold: best expected rank; several in a column are tied." in text


@pytest.mark.long
def test_the_caption_says_where_marks_are_by_another_model_than_intervals():
    actual = RNG.integers(0, 2, 60)
    answers = {
        k: np.where(RNG.random(60) < p, actual, 1 - actual) for k, p in (("a", 0.9), ("b", 0.7))
    }
    folds = bcm.from_classifiers(actual, answers, by={"fold": np.arange(60) % 5})
    comparison = bcm.compare(folds, "accuracy")
    summary = bcm.summary(folds, "accuracy")
    said = "Bold and marks use the correlated t of the differences over the folds"
    assert said in bcm.latex_table(summary, comparison=comparison)
    sets = {"x": folds, "y": folds}
    by_set = bcm.latex_table(
        bcm.summary(sets, "accuracy", dim="data_set"), comparison=dict.fromkeys(sets, comparison)
    )
    assert said in by_set
    same = bcm.summary(folds, "accuracy", model="correlated_t")
    assert said not in bcm.latex_table(same, comparison=comparison)
    whole = bcm.from_classifiers(actual, answers)
    assert "correlated" not in bcm.latex_table(
        bcm.summary(whole, "accuracy"), comparison=bcm.compare(whole, "accuracy")
    )


def test_small_numbers_are_decimals_and_what_is_undefined_is_marked():
    actual = [0, 1] * 100
    never = bcm.from_classifiers(actual, {"a": actual, "never": [0] * 200}, positive=1)
    text = bcm.latex_table(bcm.summary(never, ["precision", "recall"]))
    assert r"never & 0.50 [0.00, 0.99]$^{\ast}$ & 0.00 [0.00, 0.02]" in text
    assert "0/0 in the sample, so the result depends on the prior." in text


# Differences and ranks.


@pytest.mark.long
def test_a_comparison_has_its_pairs_below_each_other():
    table = bcm.compare(SETS, "f1")
    text = bcm.latex_table(table)
    head, *rows = cells(text)
    assert head == ["Data set", "First", "Second", "Difference", "P(better)", "P(worse)"]
    assert [row[0] for row in rows] == ["wdbc", "", "", r"adult \& co", "", ""]
    assert rows[1][1:3] == ["good", "bad"]
    mean, lower, upper = table.loc[1, ["mean", "lower", "upper"]]
    assert rows[1][3] == f"{mean:.3f} [{lower:.3f}, {upper:.3f}]"
    assert rows[1][4] == "$>$ 0.999"
    assert "\\caption{F1. First minus second: posterior mean and 95\\% highest-density" in text
    near = bcm.latex_table(bcm.compare(SETS["wdbc"], "f1", rope=0.01))
    assert cells(near)[0][3:] == ["P(better)", "P(equiv.)", "P(worse)"]
    assert "is better, nearer than 0.01 to the second or worse than the second." in near


def test_ranks_have_a_row_for_each_classifier():
    table = bcm.ranks(SETS["wdbc"], "mcc", prob=0.9)
    text = bcm.latex_table(table, display_names={"classifier": "system"})
    head, *rows = cells(text)
    assert head == ["system", "Mean", "P(best)", "Expected rank", "Ranks", "Tiers"]
    assert [row[0] for row in rows] == ["good", r"also\_good", "bad"]
    assert [row[4:] for row in rows] == [["1--2", "1"], ["1--2", "1"], ["3", "2"]]
    assert r"simultaneous with probability 90\%" in text


def test_what_is_of_summaries_is_refused_of_others(comparisons):
    for options in ({"rows": "first"}, {"center": "point"}, {"comparison": comparisons}):
        with pytest.raises(ValueError, match="this table has the columns"):
            bcm.latex_table(comparisons["wdbc"], **options)


@pytest.mark.long
def test_wide_tables_have_smaller_letters_then_measures_below_each_other_then_a_warning():
    more = {f"data set {number}": SETS["wdbc"] for number in range(9)}
    by_number = {
        number: bcm.summary(dict(list(more.items())[:number]), MEASURES, dim="data_set")
        for number in (1, 2, 4, 9)
    }
    assert "footnotesize" not in bcm.latex_table(by_number[1])
    assert "footnotesize" in (text := bcm.latex_table(by_number[2]))
    assert "emph" not in text
    table = cells(text := bcm.latex_table(by_number[4]))
    assert table[0] == ["Classifier", *list(more)[:4]]
    assert [row[0] for row in table if "emph" in row[0]] == [
        r"\multicolumn{5}{l}{\emph{F1}}",
        r"\multicolumn{5}{l}{\emph{MCC}}",
    ]
    flat = by_number[4].query("measure == 'mcc' and classifier == 'bad'")
    assert table[-1][1:] == [
        f"{mean:.2f} [{low:.2f}, {high:.2f}]".replace("[-", "[$-$")
        for mean, low, high in flat[["mean", "lower", "upper"]].itertuples(index=False)
    ]
    with pytest.warns(UserWarning, match="The table is about"):
        bcm.latex_table(by_number[9])

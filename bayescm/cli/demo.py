"""``bayescm demo``: a complete analysis of real data."""

import ast
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bayescm.cli.options import MODEL, Options, command, option
from bayescm.fitting.sampler_options import OPTIONS, check_options
from bayescm.validate import fail, suggest

NEXT = """What to try next
  bayescm interval --tp 65 --fn 15 --fp 35 --tn 30 -m f1 -m mcc
  bayescm summary {folder}/predictions.csv --actual actual --predicted logistic --positive malignant
  bayescm compare {folder}/predictions.csv --actual actual --predicted logistic --predicted tree \\
      --positive malignant -m f1 --rope 0.01"""


class Demo(Options):
    """Output folder, random seed and sampler options of the demo."""

    out: Annotated[Path, typer.Option("--out", help="Folder for tables and plots.")] = Path(
        "bayescm-demo"
    )
    seed: Annotated[
        int, typer.Option("--seed", help="Random seed for the split and for all draws.")
    ] = 1
    sampler: Annotated[
        list[str] | None,
        option(
            "--sampler",
            "Option of the sampler, e.g. target_accept=0.99 or chains=4. Repeat for several.",
            MODEL,
            "NAME=VALUE",
        ),
    ] = None


@command()
def demo(options: Demo) -> None:
    """Train two classifiers on scikit-learn's breast-cancer data, and evaluate and compare them."""
    import bayescm as bcm
    from bayescm.cli.output import console, say_table
    from bayescm.evidence.counts import REPORTED

    out, seed, of_sampler = options.out, options.seed, sampler_options(options.sampler or [])
    out.mkdir(parents=True, exist_ok=True)
    say = console().print
    title = partial(say, style="bold", highlight=False)
    with console().status("training two classifiers on 60% of scikit-learn's breast-cancer data"):
        frame = predictions(seed)
    frame.to_csv(out / "predictions.csv", index=False)
    truth, answers = frame["actual"], {name: frame[name] for name in ("logistic", "tree")}
    classifiers = bcm.combine(
        {
            name: bcm.from_predictions(truth, answer, positive="malignant")
            for name, answer in answers.items()
        },
        dim="classifier",
    )

    title(f"1. The evidence: {len(frame)} test examples, positive class malignant")
    for name in answers:
        say(name, highlight=False)
        say_table(matrix(classifiers.sel(classifier=name)))

    title("2. What is known about each measure (95% highest-density intervals)")
    measures = REPORTED.with_positive
    table = bcm.summary(classifiers, measures)
    table.to_csv(out / "measures.csv", index=False)
    say_table(table, hidden=["error", "undefined"])

    title("3. Is one better? (paired: both were tested on the same examples)")
    paired = bcm.from_classifiers(truth, answers, positive="malignant")
    comparison = bcm.compare(paired, ["recall", "f1", "mcc"], rope=0.01, random_seed=seed)
    comparison.to_csv(out / "comparison.csv", index=False)
    say_table(comparison.drop(columns=["sentence", "paired", "expected_loss_second"]))
    for sentence in comparison["sentence"]:
        say("  " + sentence, highlight=False)

    title("4. The logistic classifier as a PyMC model, sampled by NUTS")
    tree = nuts(classifiers.sel(classifier="logistic", drop=True), seed, of_sampler)
    sampled = bcm.summary(tree, measures).drop(columns=["how", "undefined"])
    say("error is the Monte Carlo error of the interval bounds", highlight=False)
    say_table(sampled)
    bcm.save(tree, out / "fit.nc")

    with console().status("drawing"):
        pictures(classifiers, tree, measures, out)
    title(f"Written to {out}/: " + ", ".join(sorted(path.name for path in out.iterdir())))
    say(NEXT.format(folder=out), highlight=False)


def predictions(seed):
    """Return the true classes and the predictions of two classifiers on a held-out 40%."""
    import pandas as pd
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    data = load_breast_cancer()
    names = data.target_names[data.target]
    split = train_test_split(data.data, names, test_size=0.4, stratify=names, random_state=seed)
    train_x, test_x, train_y, test_y = split
    classifiers = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=seed),
    }
    answers = {
        name: model.fit(train_x, train_y).predict(test_x) for name, model in classifiers.items()
    }
    return pd.DataFrame({"actual": test_y, **answers})


def matrix(counts):
    """Return a confusion matrix as a table with a column of the actual classes."""
    frame = counts.reset_coords(drop=True).to_pandas()
    frame.columns = [f"predicted {label}" for label in frame.columns]
    return frame.rename_axis("actual").reset_index()


def sampler_options(texts):
    """Return sampler options written as NAME=VALUE, or raise an error if one is invalid."""
    options = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in OPTIONS:
            todo = suggest(name, OPTIONS) or "write e.g. --sampler target_accept=0.99"
            raise fail("The sampler has no option {}", name, OPTIONS, todo)
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):  # a name, such as "pymc"
            options[name] = value
    check_options(options)
    return options


def nuts(counts, seed, options):
    """Sample the Dirichlet-multinomial model, to show that it is an ordinary PyMC model."""
    import bayescm as bcm

    return bcm.fit(counts, method="nuts", random_seed=seed, **{"chains": 2, **options})


def pictures(classifiers, tree, measures, out):
    """Save one plot of each kind."""
    import bayescm as bcm
    from bayescm.cli.output import save_picture

    one = classifiers.sel(classifier="logistic", drop=True)
    save_picture(bcm.plot_forest(classifiers, measures), out / "measures.png")
    save_picture(bcm.plot_posterior(tree, ["f1", "mcc"]), out / "posterior.png")
    save_picture(bcm.plots.plot_region(one), out / "precision-recall.png")
    save_picture(bcm.plot_matrix(one), out / "matrix.png")

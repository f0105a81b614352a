"""
Recipes for reports: a common recipe, which each type of evidence extends.

The order of sections is that of `Recipe.sections`:

============= =============================================================================
method        section
============= =============================================================================
`evaluation`  What was evaluated: examples, classes, classifiers, design
`summary`     Results for each measure
`extras`      Sections specific to a type, such as gaps between groups, or the judge
`differences` Comparison of classifiers, if there are several
`advice`      What is uncertain, and which sample size would resolve it
`pictures`    Plots
curves        Curves of scores of the same examples, if scores are passed
`computation` Methods of computation, from `facts`
`cautions`    Cautions
checklist     Items of STARD or TRIPOD, which `bayescm.report` adds on request
============= =============================================================================

`Recipe` itself is used for types without a specific recipe. Its sections follow from a summary and
a comparison. Subclasses override methods for specific types. `RECIPES`, at the end of the
module, lists them by name of the type. The recipes for batches of a monitor are in
`bayescm.reporting.monitors`.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import bayescm as bcm
from bayescm.answers.interval import ASKED
from bayescm.answers.summary import by_site
from bayescm.answers.tables import decimals
from bayescm.curves.decisions import DRAWS_OF_A_TABLE
from bayescm.evidence.attempts import reach
from bayescm.evidence.clusters_and_slices import slice_dims
from bayescm.evidence.counts import CELLS, as_counts, positive
from bayescm.evidence.outcomes import OUTCOMES, matrices_of
from bayescm.evidence.partly_labelled import (
    judge_as_classifier,
    select_classifier,
)
from bayescm.evidence.preferences import as_preferences, groups_that_never_met
from bayescm.evidence.registry import type_of
from bayescm.evidence.scores import SCORES, every_class_occurs
from bayescm.evidence.slices import slice_name
from bayescm.evidence.trees import with_positive_class
from bayescm.fitting.posterior_for import members_of, posterior_of
from bayescm.fitting.question import Question
from bayescm.fitting.sampled import several_fits
from bayescm.fitting.sampler_options import OPTIONS
from bayescm.measures.display_names import display_label, display_name
from bayescm.measures.labelled import several
from bayescm.planning.labels import labels_worth
from bayescm.posteriors.correlated_t import CorrelatedT
from bayescm.reporting import cautions, figures, methods, sections
from bayescm.reporting.progress import progress
from bayescm.reporting.sample_size_advice import open_questions, uncertain
from bayescm.reporting.sections import MANY_GROUPS, Picture, Section, Table
from bayescm.validate import fail

# With more cells than this, fewer draws are taken, because a report would otherwise take minutes.
_MANY_CELLS = 2_500
_FEWER_DRAWS = 500
# Dimensions that a report can describe, in addition to those over which a model pools.
_DIMS = ("fold", "repeat", "group", "classifier", "step")
# Default measures of raters with two classes and with more, and the number of raters needed to
# detect dependent errors.
_OF_TWO, _OF_MANY = ["prevalence", "recall", "specificity", "f1"], ["accuracy", "f1_macro"]
_FEW_RATERS = 4
# Default thresholds of net benefit, and largest number of classes or classifiers in a plot.
_THRESHOLDS, _PANELS = (0.1, 0.2, 0.5), 11
# Priors of votes, and largest numbers of systems for a matrix of all pairs and for a table of their
# differences.
_PRIORS_OF_VOTES, _SYSTEMS_IN_MATRIX, _FEW_SYSTEMS = ("spread", "first", "ties"), 60, 6
# Largest number of labels with separate rows.
_LABELS = 30

# Models for differences between classifiers with folds (True) or without (False), and their
# descriptions in reports.
_PAIR_MODELS = {True: ("paired_folds", "correlated_t"), False: ("paired_outcomes",)}
_BY_CORRELATED_T = [
    "The intervals of single classifiers and of their differences come from two models. A single "
    "classifier is modelled with its tables of all folds. Two classifiers on the same folds are "
    "compared with the correlated t of the differences fold by fold, in which effects of a fold on "
    "both cancel out. A mean difference here is the mean over the folds, which can differ from the "
    "difference of the two posterior means.",
    "Another model for the same folds is paired_folds, which counts the examples on which only one "
    "of the two is right. Its intervals of differences are shorter. They are too short if learners "
    "depend strongly on their training examples, unless training on disjoint halves measures this.",
]
_BY_PAIRED_FOLDS = [
    "The intervals of single classifiers and of their differences come from two models. A single "
    "classifier is modelled with its tables of all folds. Two classifiers on the same folds are "
    "compared with paired_folds, which uses examples on which only one of the two is right and "
    "the effects of training. The usual alternative is the correlated t of the differences fold by "
    "fold, whose intervals are usually longer.",
]


def sections_of(
    evidence: Any,
    measures: Any,
    scores: xr.Dataset | None,
    settings: Mapping[str, Any],
    keywords: Mapping[str, Any],
) -> list[Section]:
    """
    Return the sections of a report, using the recipe for the type of the evidence.

    Parameters
    ----------
    evidence : DataArray, Dataset or DataTree
    measures : measures or None
        One or more measures. By default a selection that suits the evidence.
    scores : Dataset or None
        Scores of the same examples, to add sections on curves.
    settings : mapping
        Settings ``prob``, ``kind``, ``rope`` and ``random_seed``.
    keywords : mapping
        The model and its keywords.
    """
    recipe = recipe_of(evidence, measures, settings, keywords)
    curves = [] if scores is None else ScoresRecipe(scores, None, settings, {}).curves()
    return recipe.sections(curves)


def recipe_of(
    evidence: Any, measures: Any, settings: Mapping[str, Any], keywords: Mapping[str, Any]
) -> "Recipe":
    """Return the recipe for evidence. See `sections_of`."""
    recipe = RECIPES.get(type_of(evidence).name, Recipe)
    return recipe(evidence, measures, settings, keywords)


class Recipe:
    """
    Recipe common to all reports, used directly for types without a specific recipe.

    Attributes
    ----------
    evidence, settings, keywords
        See `sections_of`.
    measures : list
        Measures to report. Empty if none are requested and the defaults of the type are used.
    type : EvidenceType
    asked : dict
        Arguments for `bayescm.summary` and `bayescm.compare`.
    """

    title = "What is known"

    def __init__(
        self,
        evidence: Any,
        measures: Any,
        settings: Mapping[str, Any],
        keywords: Mapping[str, Any],
    ):
        self.evidence, self.type = evidence, type_of(evidence)
        self.measures: list = [] if measures is None else several(measures)
        self.settings, self.keywords = settings, dict(keywords)
        self.prob, self.kind, self.rope = (settings[name] for name in ("prob", "kind", "rope"))
        self.random_seed = settings["random_seed"]
        self.asked: dict[str, Any] = {
            "prob": self.prob,
            "kind": self.kind,
            "random_seed": self.random_seed,
            **keywords,
        }

    def sections(self, curves: Sequence[Section] = ()) -> list[Section]:
        """Return all sections in order."""
        return [
            self.evaluation(),
            self.summary(),
            *self.extras(),
            *self.differences(),
            *self.advice(),
            *self.pictures(),
            *curves,
            self.computation(),
            self.cautions(),
        ]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Summary of the measures."""
        progress("intervals")
        table = bcm.summary(self.evidence, self.measures or None, **self.asked)
        sections.check_defined(table)
        return table

    @cached_property
    def comparison(self) -> pd.DataFrame | None:
        """Comparison of the classifiers, if there are several."""
        if self.evidence.sizes.get("classifier", 1) < 2:
            return None
        progress("comparison")
        measures = self.measures or list(dict.fromkeys(self.table["measure"]))
        return bcm.compare(self.evidence, measures, rope=self.rope, **self.asked)

    @cached_property
    def description(self) -> list[str]:
        """Description of the evidence in sentences, with display names of its labels."""
        return self.type.describe(self.evidence, display_label)

    @property
    def mass(self) -> str:
        """Probability of the intervals in words."""
        return f"{100 * self.prob:.4g}%"

    def evaluation(self) -> Section:
        """Return the section that describes the evaluation."""
        return Section("What was evaluated", self.description)

    def summary(self) -> Section:
        """Return the section on the results for each measure."""
        return sections.posterior_summary(self.table, self.prob, self.asked["kind"], self.title)

    def extras(self) -> list[Section]:
        """Return the sections that are specific to this type of evidence."""
        return []

    def differences(self) -> list[Section]:
        """Return the section on the comparison of classifiers."""
        if self.comparison is None:
            return []
        return [sections.differences(self.comparison, self.rope, self.prob, self.type.unit)]

    def advice(self) -> list[Section]:
        """Return the section on uncertain results and the sample sizes to resolve them."""
        return []

    def pictures(self) -> list[Section]:
        """Return the sections with plots that are not part of other sections."""
        return []

    def computation(self) -> Section:
        """Return the section on methods of computation."""
        return sections.computation(self.table, self.facts())

    def facts(self) -> dict[str, Any]:
        """Return the model, the seed and the versions."""
        return methods.facts(self.model(), self.random_seed)

    def model(self) -> Any:
        """Return the user's model, or the default for the evidence."""
        default_model = self.type.default_model(self.evidence, self.keywords).model
        return self.keywords.get("model") or default_model

    def cautions(self) -> Section:
        """Return the cautions reported by the posterior."""
        caution = self.table.attrs.get("caution")
        return cautions.section([caution] if caution else [])


class CountsRecipe(Recipe):
    """Confusion matrices, and outcomes of classifiers on the same examples."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        # A model of pairs is used for differences; single classifiers use the default model.
        self.pair_model = None
        pair_models = _PAIR_MODELS["fold" in self.evidence.dims]
        if self.type is OUTCOMES and self.keywords.get("model") in pair_models:
            self.pair_model = self.keywords.pop("model")
            del self.asked["model"]
        self.batches = as_counts(matrices_of(self.evidence))
        self.counts = self.batches.sum("step") if "step" in self.batches.dims else self.batches
        # Arguments of the posterior of the results, and sampler options if it is sampled.
        self.of_model = {k: value for k, value in self.keywords.items() if k not in ASKED}
        sampler = {"draws": self.keywords.get("draws"), "random_seed": self.random_seed}
        self.question = Question.of_keywords(**sampler, **self.of_model)
        # Number of fits if sampled: one for all, one for a comparison, and one per matrix.
        number = self.counts.sizes.get("classifier", 1)
        with several_fits(number + 2 if number > 1 else 1):
            self.posterior = posterior_of(self.counts, self.question)
        _check_dims(self.batches, self.posterior)
        self.measures = sections.check_measures(self.measures or None, self.counts)
        if self.counts.sizes["actual"] ** 2 > _MANY_CELLS:
            self.asked.setdefault("draws", _FEWER_DRAWS)

    @property
    def is_paired(self) -> bool:
        """Whether classifiers are compared on the same examples or folds."""
        same_examples = self.type is OUTCOMES
        return same_examples or (self.comparison is not None and self.comparison["paired"].all())

    @cached_property
    def table(self) -> pd.DataFrame:
        """Summary of the measures over all batches."""
        progress("intervals")
        table = bcm.summary(self.counts, self.measures, **self.asked)
        sections.check_defined(table)
        return table

    @cached_property
    def comparison(self) -> pd.DataFrame | None:
        """Comparison with the prior of the report, if the comparison model has such a prior."""
        if self.counts.sizes.get("classifier", 1) < 2 or not self.single_measures:
            return None
        progress("comparison")
        names = ["concentration"]
        if callable(self.keywords.get("concentration")):  # the posterior is sampled
            names += ["draws", *OPTIONS]
        prior = {name: self.keywords[name] for name in names if name in self.keywords}
        prior |= {"model": self.pair_model} if self.pair_model else {}
        with warnings.catch_warnings():
            # The problem is stated in the cautions.
            warnings.filterwarnings("ignore", message=".*have the same class totals")
            return bcm.compare(self.evidence, self.single_measures, **self.settings, **prior)

    @cached_property
    def single_measures(self) -> list:
        """Measures with a single value, rather than one per class."""
        square = np.ones((self.counts.sizes["actual"],) * 2)
        return [m for m in self.measures if not np.ndim(bcm.measures.resolve(m)(square))]

    @cached_property
    def prior(self) -> np.ndarray | None:
        """Prior pseudo-counts, if the model has any."""
        if not self.posterior.cell_prior:
            return None
        return methods.prior_of(self.counts, self.keywords.get("concentration"))

    def evaluation(self) -> Section:
        """Return the section on examples, classes and design, with the matrices."""
        lines = [*self.description, *_pooling(self.batches, self.posterior)]
        return sections.evaluation(lines, self.batches)

    def extras(self) -> list[Section]:
        """Return the sections on individual classes, if there are many, and on gaps."""
        return [*sections.per_class(self.counts, self.measures, self.asked), *self.groups()]

    def groups(self) -> list[Section]:
        """Return the section on gaps between groups, if the posterior contains each group."""
        posterior, counts, measures = self.posterior, self.counts, self.single_measures
        knows_groups = (
            "group" not in posterior.pooled_dims or "theta_group" in posterior.estimands.values()
        )
        if counts.sizes.get("group", 1) < 2 or "fold" in counts.dims:
            return []
        if not (knows_groups and measures):
            return []
        if self.of_model.get("model"):
            members = posterior.by("group")
        else:
            members = members_of(counts, "group", self.question)
        parts = [sections.gaps(members, measures, self.settings)]
        if counts.sizes["group"] >= MANY_GROUPS and not self.of_model:
            parts.append(sections.worst_groups(counts, measures, self.settings))
        return parts

    def differences(self) -> list[Section]:
        """Return the comparison of classifiers, and why folds use another model."""
        parts = super().differences()
        if self.comparison is not None and self.is_paired and "fold" in self.evidence.dims:
            is_by_folds = self.comparison.attrs.get("how") == CorrelatedT.how
            sentences = _BY_CORRELATED_T if is_by_folds else _BY_PAIRED_FOLDS
            # Without the joint outcomes of examples, only this model supports these folds.
            parts[0].sentences += sentences if self.type is OUTCOMES else sentences[:1]
            if self.type is OUTCOMES and "halves" in self.evidence:
                parts[0].sentences.append(
                    "Halves are used for the differences only; bcm.summary of the same evidence "
                    "also uses them for the interval of each classifier."
                )
        return parts

    def advice(self) -> list[Section]:
        """Return the advice on the widest interval and on open comparisons."""
        progress("what remains open")
        advice = uncertain(self.counts, self.table, self.measures, self.prob, self.kind)
        if self.comparison is not None:
            advice.sentences += open_questions(
                self.evidence, self.comparison, self.measures, self.prob, self.rope
            )
        return [advice]

    def pictures(self) -> list[Section]:
        """Return the plots that the evidence supports."""
        question = (self.measures, self.asked, self.posterior, self.comparison)
        return [figures.of_counts(self.batches, *question)]

    def facts(self) -> dict[str, Any]:
        """Return the model and the weight of its prior."""
        model = self.keywords.get("model")
        model = model or type_of(self.counts).default_model(self.counts, self.keywords).model
        facts = methods.of_counts(model, self.prior, self.random_seed, self.posterior)
        if covariates := methods.covariates(self.keywords):
            facts["Covariates"] = f"numbers are of groups with {covariates}"
        if self.comparison is not None and self.is_paired:
            pairs = "paired_folds" if "fold" in self.evidence.dims else "paired_outcomes"
            if "how" in self.comparison.attrs:
                pairs = "the correlated t"
                facts["Prior"] += "; for a difference, flat in its mean and log standard deviation"
            elif self.prior is not None and np.ptp(self.prior) == 0:
                # The joint table of C x C x C cells gets the total weight of one C x C matrix.
                of_cell = self.prior.flat[0] / self.counts.sizes["actual"]
                facts["Prior"] += (
                    f"; for two classifiers together, distributed over the joint table of the true "
                    f"and both predicted labels, {of_cell:.4g} per cell"
                )
            facts["Model"] += f" for each classifier, {pairs} for their differences"
        return facts

    def cautions(self) -> Section:
        """Return the cautions on few examples, strong priors, undefined measures and others."""
        of_pairs = "" if self.comparison is None else self.comparison.attrs.get("caution", "")
        doubts = cautions.without_repetition(self.table.attrs.get("caution", ""), of_pairs)
        return cautions.of_counts(
            self.batches,
            self.table,
            prior=self.prior,
            apart=self.posterior.template.dims,
            paired=self.is_paired,
            fixed=_has_fixed_totals(self.posterior),
            doubts=doubts,
        )


def _pooling(counts, posterior):
    """Describe whether groups are pooled, which depends on the model."""
    if "group" not in counts.dims:
        return []
    if "group" in posterior.template.dims:
        return ["Each group is estimated separately."]
    return ["The groups are partially pooled."]


def _check_dims(counts, posterior):
    """Raise an error for dimensions that neither the model nor the report supports."""
    allowed = {*_DIMS, *CELLS, *posterior.pooled_dims}
    dim = next((dim for dim in counts.dims if dim not in allowed), None)
    if dim is not None:
        todo = (
            f"select one with counts.isel({dim}=0), or, if these are groups, rename the dimension: "
        )
        todo += f'counts.rename({dim}="group")'
        if dim == "data_set":
            todo = f"select one with isel({dim}=0), or report the results of the folds: "
            todo += "`from_results(measure(evidence, 'f1'))`"
        raise fail(
            "A report covers one evaluation, but the evidence has a dimension {}",
            dim,
            "",
            todo,
        )


def _has_fixed_totals(posterior):
    """Return True if class shares are fixed rather than estimated."""
    name = posterior.resolve_estimand("parameter")
    shares = posterior.cells(name, 2, np.random.default_rng(0))[:2].sum(axis=-1)
    return bool(np.ptp(shares, axis=0).max() < 1e-12)


class FitRecipe(Recipe):
    """Fitted model of counts, with its chains if it was sampled."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.evidence = with_positive_class(self.evidence, self.keywords.get("positive"))
        self.counts = _observed(self.evidence)
        self.measures = sections.check_measures(self.measures or None, self.counts)
        self.asked = {"prob": self.prob, "kind": self.kind}  # the summary uses all draws
        self.posterior = posterior_of(self.evidence)
        self.prior: np.ndarray | None = None
        concentration = self.evidence["constant_data"].get("concentration")
        if concentration is not None and set(CELLS) <= set(concentration.dims):
            self.prior = methods.prior_of(self.counts, concentration)

    def evaluation(self) -> Section:
        """Return the section on examples, classes and design, with the matrices."""
        lines = [*self.description, *_pooling(self.counts, self.posterior)]
        return sections.evaluation(lines, self.counts)

    def differences(self) -> list[Section]:
        """Return no section: a fit describes its matrices, not a comparison."""
        return []

    def advice(self) -> list[Section]:
        """Return the advice on the widest interval."""
        return [uncertain(self.counts, self.table, self.measures, **self.asked)]

    def pictures(self) -> list[Section]:
        """Return plots of intervals, densities and chains."""
        question = (self.counts, self.measures, self.asked, self.posterior)
        return [figures.of_fit(self.evidence, *question)]

    def facts(self) -> dict[str, Any]:
        """Return the model, the weight of its prior, and diagnostics of its chains."""
        return methods.of_fit(self.evidence, self.prior, self.posterior)

    def cautions(self) -> Section:
        """Return the cautions about counts."""
        return cautions.of_counts(
            self.counts,
            self.table,
            prior=self.prior,
            apart=self.posterior.template.dims,
            fixed=_has_fixed_totals(self.posterior),
            doubts=cautions.without_repetition(self.table.attrs.get("caution", "")),
        )


def _observed(tree):
    """Return the observed confusion matrices of a fit."""
    data = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    if "counts" not in data or "predicted" not in data["counts"].dims:
        raise fail(
            "A report needs the counts, but the fit of {} does not contain them",
            tree.attrs.get("model", ...),
            "",
            "pass the evidence itself. A model of your own needs "
            '`pm.Data("counts", ..., dims=("actual", "predicted"))`',
        )
    counts = data["counts"]
    return as_counts(counts.astype(np.int64) if (counts == counts.round()).all() else counts)


class ScoresRecipe(Recipe):
    """Scores: sections on curves, which can also be added to reports of other evidence."""

    title = "Curves: what is known"

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        if self.keywords:
            raise fail(
                "{} has no effect on a report of scores, which has one model",
                [*self.keywords],
                "",
                "leave it out, or use interval(scores, ...)",
            )
        self.measures = self.measures or SCORES.default_measures(self.evidence)
        self.asked["model"] = "scores"  # even if the scores are probabilities

    def curves(self) -> list[Section]:
        """Return the sections that are added to reports of other evidence."""
        return [self.summary(), *self.differences()]

    def evaluation(self) -> Section:
        """Return the section on examples, classes and classifiers, and on any folds."""
        section = super().evaluation()
        if "fold" in self.evidence:
            section.sentences.append(
                "The curves are computed fold by fold, because scores of different folds need "
                "not be comparable."
            )
        return section

    def summary(self) -> Section:
        """Return the section on areas, the least certain area, and the curves."""
        progress("curves")
        section, table = super().summary(), self.table
        row = table.loc[(table["upper"] - table["lower"]).idxmax()]
        section.sentences.append(
            f"The least certain is {display_name(row['measure'])}{_labels_of(row)}, with an "
            f"interval {row['upper'] - row['lower']:.3f} wide. Halving the width takes "
            "about four times as many examples."
        )
        if not every_class_occurs(self.evidence):
            return section
        progress("pictures of curves")
        band = f"curve with its {self.mass} simultaneous band"
        roc = bcm.plot_roc(self.evidence, prob=self.prob)
        precision = bcm.plots.plot_precision_recall(self.evidence, prob=self.prob)
        section.pictures = [
            Picture("roc", f"ROC {band}.", roc),
            Picture("precision-recall-curve", f"Precision-recall {band}.", precision),
        ]
        return section

    def differences(self) -> list[Section]:
        """Return the section that compares the curves of classifiers."""
        parts = super().differences()
        for section in parts:
            section.title = "Curves: which is better"
        return parts

    def computation(self) -> Section:
        """Describe the model in words."""
        return _list_of_facts(
            {
                "Model": "scores, which uses only the order of the scores",
                "Draws": "4000 per curve, where the moments say less",
                "Seed": self.random_seed,
                **methods.versions(),
            }
        )

    def cautions(self) -> Section:
        """Return the cautions on classes with few examples."""
        return cautions.section(cautions.few(_class_totals(self.evidence)))


def _class_totals(scores):
    weight = scores["weight"] if "weight" in scores else xr.ones_like(scores["actual"], float)
    labels, index = np.unique(scores["actual"].values, return_inverse=True)
    sums = np.bincount(index, np.asarray(weight.values, float))
    return xr.DataArray(sums, dims="actual", coords={"actual": labels})


def _labels_of(row):
    dims = ("classifier", "class", "fold", "group")
    labels = [display_label(row[name]) for name in dims if name in row]
    return f" of {', '.join(labels)}" if labels else ""


def _list_of_facts(facts):
    return Section("How it was computed", [f"{name}: {value}." for name, value in facts.items()])


class ProbabilitiesRecipe(Recipe):
    """Probabilities: the results that TRIPOD+AI requires, with equal-tailed intervals."""

    title = "The prediction model"

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.thresholds = list(self.keywords.pop("thresholds", _THRESHOLDS))
        self.asked.pop("thresholds", None)
        self.asked["kind"] = "eti"
        self.measures = self.measures or self.type.default_measures(self.evidence)
        self.is_one_sample = slice_name(self.evidence) is None
        # Threshold decisions and a calibration test are for two classes in a single sample.
        self.has_decisions = self.is_one_sample and "class" not in self.evidence.dims

    def summary(self) -> Section:
        """Return the results on discrimination, calibration and, if applicable, net benefit."""
        section = super().summary()
        names = [name for name in ("classifier", "class") if name in self.table]
        columns = ["measure", *names, "point", "mean", "lower", "upper", "error"]
        caption = f"Discrimination and calibration, {self.mass} intervals"
        section.tables = [Table(caption, self.table[columns])]
        if self.has_decisions:
            progress("decisions")
            section.tables.append(self.net_benefit())
        elif "group" in self.evidence and "class" not in self.evidence.dims:
            section.sentences.append(
                "Net benefit and the calibration curve need one sample; a report without the "
                "sites has them."
            )
        section.pictures = self.calibration_pictures()
        return section

    def net_benefit(self) -> Table:
        """Return the net benefit at some thresholds, compared with treating all or none."""
        options: dict[str, Any] = {"prob": self.prob, "random_seed": self.random_seed}
        options |= {"thresholds": self.thresholds, "draws": DRAWS_OF_A_TABLE}
        curve = bcm.curves.decision_curve(self.evidence, **options)
        data = curve[["net_benefit", "mean"]].rename(net_benefit="point")
        for end in ("lower", "upper"):
            data[end] = curve["interval"].sel(bound=end, drop=True)
        data["error"], data["treat all"] = curve["error"], curve["treat_all"]
        dims = [dim for dim in ("classifier", "threshold") if dim in data.dims]
        frame = data.reset_coords(drop=True).to_dataframe(dim_order=dims).reset_index()
        frame["threshold"] = [f"{threshold:g}" for threshold in frame["threshold"]]
        frame["treat none"] = "0"
        useful = curve["p_useful"].transpose(*dims).values.ravel()
        frame["P(useful)"] = [sections.probability(value) for value in useful]
        caption = (
            f"Net benefit, {self.mass} intervals. P(useful): the probability that acting from the "
            "threshold on is worth more than treating all and than treating none"
        )
        return Table(caption, frame)

    def calibration_pictures(self) -> list[Picture]:
        """Return the plots of calibration curves and, for two classes, of net benefit."""
        if not self.is_one_sample or self.evidence.sizes.get("class", 0) > _PANELS:
            return []
        progress("pictures")
        figure = bcm.plot_calibration(self.evidence, prob=self.prob)
        pictures = [Picture("calibration", "Calibration curve.", figure)]
        if self.has_decisions:
            figure = bcm.plots.plot_decision_curve(self.evidence, prob=self.prob)
            pictures.append(Picture("decision-curve", "Net benefit.", figure))
        return pictures

    def extras(self) -> list[Section]:
        """Return the results of each site, the population of sites and a new site."""
        if "group" not in self.evidence:
            return []
        progress("sites")
        options = {"prob": self.prob, "random_seed": self.random_seed}
        table = by_site(self.evidence, self.measures, **options)
        slope = "calibration_slope"
        figure = bcm.plot_forest(self.evidence, slope, of="group", kind="eti", **options)
        lines = ["Sites are shrunk towards each other, small sites the most."]
        picture = Picture("sites", "Calibration slope of each site.", figure)
        tables = [Table(f"Sites, {self.mass} intervals", table)]
        return [Section("Site by site", lines, tables, [picture])]

    def facts(self) -> dict[str, Any]:
        """Return the model, and that its intervals are equal-tailed."""
        facts = super().facts()
        if facts["Model"] == "fold_forecasts":
            facts["Model"] = "correlated t of the folds"
        return {"Model": facts["Model"], "Intervals": "equal-tailed"} | facts

    def cautions(self) -> Section:
        """Return the cautions of the posterior or, for one sample, of the calibration test."""
        if not self.has_decisions:
            return super().cautions()
        caution = bcm.calibration.test(self.evidence).attrs.get("caution")
        return cautions.section([caution] if caution else [])


class AttemptsRecipe(Recipe):
    """Several attempts per item: results for the population of items and for observed items."""

    title = "Results for the population of items"

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.measures = self.measures or self.type.default_measures(self.evidence)

    def extras(self) -> list[Section]:
        """Return the results for the observed items, if most items have several attempts."""
        if reach(self.evidence) < 2 or "of" in self.asked:
            return []
        table = bcm.summary(self.evidence, self.measures, of="finite", **self.asked)
        title = "Results for the observed items"
        return [sections.posterior_summary(table, self.prob, self.kind, title)]

    def cautions(self) -> Section:
        """Return the assumptions, and the cautions of the posterior."""
        assumed = (
            "Answers to an item are treated as independent, given its rate of correct answers."
        )
        caution = self.table.attrs.get("caution")
        return cautions.section([assumed, *([caution] if caution else [])])


class ItemScoresRecipe(Recipe):
    """Item scores: the measures, gaps between slices, and the score distribution."""

    title = "Results for the population of items"

    def extras(self) -> list[Section]:
        """Return the gaps between slices in the mean score, if there are three slices or more."""
        dims = [dim for dim in slice_dims(self.evidence) if self.evidence.sizes[dim] > 2]
        if not dims or self.keywords:
            return []
        gaps = {
            dim: bcm.gap(self.evidence, "mean", dim=dim, **self.asked)
            for dim in dims
            if len(slice_dims(self.evidence)) == 1
        }
        tables = [Table(f"Gap of the mean by {dim}", gap_table(gap)) for dim, gap in gaps.items()]
        lines = ["The largest mean of a slice minus the smallest; slices are partially pooled."]
        return [Section("How far slices are apart", lines, tables)] if tables else []

    def pictures(self) -> list[Section]:
        """Return plots of the intervals, the differences and the scores."""
        progress("pictures")
        section = Section("Pictures")
        interval = {"prob": self.prob, "kind": self.kind}
        alt = f"Posterior mean and {self.mass} interval of the mean score."
        figure = bcm.plot_forest(self.evidence, ["mean"], **self.asked)
        section.pictures.append(Picture("forest", alt, figure))
        if self.comparison is not None and len(self.comparison) <= figures.MOST_ROWS:
            alt = f"Differences between systems with their {self.mass} interval."
            figure = bcm.plot_differences(self.comparison, **interval)
            section.pictures.append(Picture("differences", alt, figure))
        designed = slice_dims(self.evidence) or {"group", "weights_are"} & {*self.evidence.coords}
        if not designed and self.evidence.sizes.get("classifier", 1) <= _PANELS:
            alt = "The proportion of items with each score, and the mean."
            figure = bcm.plots.plot_item_scores(self.evidence, **interval)
            section.pictures.append(Picture("scores", alt, figure))
        return [section]

    def cautions(self) -> Section:
        """Return the assumptions, and the cautions of the posterior."""
        assumed = "The items are assumed to be a random sample from their population."
        caution = self.table.attrs.get("caution")
        return cautions.section([assumed, *([caution] if caution else [])])


class MultilabelRecipe(Recipe):
    """Multilabel examples: averages, and results and frequencies of individual labels."""

    title = "Results for the population of examples"

    def extras(self) -> list[Section]:
        """Return the results for individual labels, the most common ones if there are many."""
        progress("labels")
        positives = self.evidence["actual"].sum("example").to_series()
        labels = positives.sort_values(ascending=False, kind="stable").index[:_LABELS]
        table = bcm.summary(self.evidence, ["precision", "recall", "f1"], **self.asked)
        table = table[table["class"].isin(labels)].rename(columns={"class": "label"})
        dims = [name for name in (*slice_dims(self.evidence), "classifier") if name in table]
        if not slice_dims(self.evidence):
            dims = ["positives", *dims]
            table["positives"] = positives.loc[table["label"]].to_numpy()
        table = table[["measure", "label", *dims, "point", "mean", "lower", "upper"]]
        lines = ["Labels are estimated separately, on the same examples."]
        if len(labels) < self.evidence.sizes["label"]:
            lines.append(f"These are the {_LABELS} most common ones.")
        caption = f"Precision, recall and F1 of each label, with {self.mass} intervals"
        return [Section("Label by label", lines, [Table(caption, table)])]

    def pictures(self) -> list[Section]:
        """Return plots of the intervals and the differences."""
        progress("pictures")
        section = Section("Pictures")
        alt = f"Posterior mean and {self.mass} interval of each measure."
        names = list(dict.fromkeys(self.table["measure"]))
        figure = bcm.plot_forest(self.evidence, names, **self.asked)
        section.pictures.append(Picture("forest", alt, figure))
        if self.comparison is not None and len(self.comparison) <= figures.MOST_ROWS:
            alt = f"Differences between systems with their {self.mass} interval."
            figure = bcm.plot_differences(self.comparison, prob=self.prob, kind=self.kind)
            section.pictures.append(Picture("differences", alt, figure))
        return [section]

    def cautions(self) -> Section:
        """Return the assumptions, and the cautions of the posterior."""
        assumed = "The examples are assumed to be a random sample from their population."
        caution = self.table.attrs.get("caution")
        return cautions.section([assumed, *([caution] if caution else [])])


def gap_table(gap: xr.DataArray) -> pd.DataFrame:
    """Return the gap of each system as a table."""
    table = gap.to_dataset("bound").to_dataframe().reset_index()
    names = [
        name for name in ("classifier", "observed", "point", "lower", "upper") if name in table
    ]
    return table[names].rename(columns={"point": "mean"})


class ResultsRecipe(Recipe):
    """Results of several classifiers on several data sets: comparisons and ranks."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.of_ranks = {k: value for k, value in self.asked.items() if k != "kind"}

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """Comparison of all pairs."""
        progress("comparison")
        return bcm.compare(self.evidence, self.measures or None, rope=self.rope, **self.asked)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Comparison: results have no summary, because they only determine differences."""
        return self.comparison.assign(how=posterior_of(self.evidence).how)

    @cached_property
    def ranked(self) -> pd.DataFrame:
        """Ranks of all classifiers."""
        progress("ranks")
        return bcm.ranks(self.evidence, self.measures or None, **self.of_ranks)

    def evaluation(self) -> Section:
        """Return the section on classifiers, data sets, runs and measures."""
        section = super().evaluation()
        measured = display_name(self.evidence["measured"].item())
        section.sentences.append(f"The results are values of {measured}.")
        return section

    def summary(self) -> Section:
        """Return the section on ranks and the best classifiers."""
        ranked = self.ranked.sort_values("expected_rank", ignore_index=True)
        best = [*map(display_label, ranked.loc[ranked["best_rank"] == 1, "classifier"])]
        sentence = f"{', '.join(best[:-1])} and {best[-1]} may each be the best."
        if len(best) == 1:
            sentence = f"{best[0]} is found to be the best."
        columns = ["classifier", "expected_rank", "best_rank", "worst_rank", "tiers", "p_best"]
        caption = "Ranks (1 is best); best_rank to worst_rank are simultaneous for all classifiers"
        return Section("Distinguished classifiers", [sentence], [Table(caption, ranked[columns])])

    def pictures(self) -> list[Section]:
        """Return plots of the tiers, and of the differences of all pairs."""
        progress("pictures")
        measure, section = self.evidence["measured"].item(), Section("Pictures")
        if self.evidence.sizes["classifier"] <= figures.MOST_ROWS:
            name = display_name(measure)
            alt = f"The set of possible ranks of every classifier in {name}, and the tiers."
            figure = bcm.plots.plot_tiers(self.evidence, measure, **self.of_ranks)
            section.pictures.append(Picture("tiers", alt, figure))
        if len(self.comparison) <= figures.MOST_ROWS:
            options = {"prob": self.prob, "kind": self.kind, "rope": self.rope}
            figure = bcm.plot_differences(self.comparison, **options)
            section.pictures.append(Picture("differences", "Differences of all pairs.", figure))
        return [section]

    def computation(self) -> Section:
        """Return the model. Results have no summary with methods of computation."""
        return _list_of_facts(self.facts())

    def cautions(self) -> Section:
        """Return the assumptions about data sets and runs."""
        share = f"{100 * self.evidence['test_share'].item():.3g}%"
        assumed = "The data sets are assumed to be a random sample from their population."
        if self.evidence.sizes["data_set"] == 1:
            assumed = "Results on one data set say nothing about other data sets."
        return cautions.section(
            [
                assumed,
                f"Runs share training examples; {share} of the examples are tested in each run.",
                *([caution] if (caution := self.ranked.attrs.get("caution")) else []),
            ]
        )


class RatingsRecipe(Recipe):
    """Raters without ground truth: their accuracy and agreement."""

    title = "Results for each rater, compared with the unobserved true labels"

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        two_classes = self.evidence.sizes["actual"] == 2
        has_positive = two_classes and "positive" in self.evidence.coords
        self.measures = self.measures or (_OF_TWO if has_positive else _OF_MANY)
        with warnings.catch_warnings(record=True) as caught:  # repeated in the cautions
            warnings.simplefilter("always")
            _ = self.table
            self.agreement = bcm.raters.agreement(self.evidence, prob=self.prob, kind=self.kind)
            self.dependence = (
                bcm.raters.assumed_dependence(self.evidence, self.measures, **self.asked)
                if two_classes
                else None
            )
        self.warnings = [*dict.fromkeys(str(warning.message) for warning in caught)]

    def extras(self) -> list[Section]:
        """Return the sections on agreement, and on assumed dependence of errors."""
        caption = f"Agreement beyond chance, {self.mass} intervals"
        parts = [Section("How far they agree", [], [Table(caption, self.agreement)])]
        if self.dependence is not None:
            line = (
                "Some examples may be hard for all raters. The table shows how the results "
                "would change."
            )
            columns = ["dependence", "measure", "classifier", "mean", "lower", "upper", "error"]
            table = Table(
                "By the correlation between the errors of two raters", self.dependence[columns]
            )
            parts.append(Section("If they err together", [line], [table]))
        return parts

    def differences(self) -> list[Section]:
        """Return no section: raters are not candidates for a choice."""
        return []

    def cautions(self) -> Section:
        """Return the warnings of the posterior, or its assumptions."""
        doubts = [*self.warnings]
        has_gold = bool((self.evidence["gold"] >= 0).any())
        if self.evidence.sizes["classifier"] < _FEW_RATERS and not has_gold:
            doubts.append(
                "The model assumes that raters err independently, which cannot be tested with "
                "these data."
            )
        return cautions.section(
            doubts or ["Given the true label, raters are assumed to err independently."]
        )


class PreferencesRecipe(Recipe):
    """Votes on pairs of systems: ratings with ranks, all pairs, and goodness of fit."""

    title = "Results for each system"

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.evidence = as_preferences(self.evidence)  # systems may have been selected

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Pairs with votes, in order of increasing fit."""
        priors = {name: self.asked[name] for name in _PRIORS_OF_VOTES if name in self.asked}
        return bcm.preferences.check_fit(self.evidence, random_seed=self.random_seed, **priors)

    def extras(self) -> list[Section]:
        """Return the sections on ranks, votes, all pairs, and goodness of fit."""
        asked = {name: value for name, value in self.asked.items() if name not in ("of", "n")}
        return [self._ranks(asked), *self._votes(asked), self._pairs(asked), self._fit()]

    def _ranks(self, asked):
        """List the systems by rating, with their ranks and tiers."""
        progress("ranks")
        of_ranks = {name: value for name, value in asked.items() if name != "kind"}
        ranks = bcm.ranks(self.evidence, "rating", **of_ranks).sort_values("expected_rank")
        columns = ["classifier", "expected_rank", "p_best", "lower_rank", "upper_rank"]
        columns += [name for name in ("best_rank", "worst_rank", "tier") if name in ranks]
        line = (
            "lower_rank to upper_rank is the interval of the rank of one system. best_rank to "
            f"worst_rank are sets that contain the ranks of all systems at once with {self.mass}."
        )
        return Section("Ranks", [line], [Table("Ranks by rating", ranks[columns])])

    def _votes(self, asked):
        """Report the position advantage, and the design effect of clusters of votes."""
        lines = []
        if bool(self.evidence["ordered"]):
            row = bcm.summary(self.evidence, "position_advantage", **asked).iloc[0]
            lines.append(
                "Between equal systems, the system shown first wins "
                f"{100 * row['mean']:.0f}% of decided votes ({100 * row['lower']:.0f}% to "
                f"{100 * row['upper']:.0f}%)."
            )
        if "group" in self.evidence.coords:
            alone = self.evidence.drop_vars(["group", "vote_pair", "vote_winner"])
            sds = [bcm.summary(each, "rating", **asked)["sd"] for each in (self.evidence, alone)]
            effect = float((sds[0].astype(float) ** 2 / sds[1].astype(float) ** 2).mean())
            lines.append(
                "Clusters multiply the variance of ratings by "
                f"{effect:.2g} on average, compared with independent votes (design effect)."
            )
        groups = groups_that_never_met(self.evidence)
        if len(groups) > 1:
            lines.append(f"The systems are in {len(groups)} groups without votes between them.")
        return [Section("Order, clusters and groups", lines)] if lines else []

    def _pairs(self, asked):
        """Show the win rate of every pair, unless there are too many systems."""
        section = Section("Win rates of all pairs")
        if self.evidence.sizes["classifier"] <= _SYSTEMS_IN_MATRIX:
            progress("pictures")
            alt = "Win rate of the system of the row over the system of the column, in percent."
            figure = bcm.preferences.plot_preferences(self.evidence, **asked)
            section.pictures.append(Picture("win_rates", alt, figure))
        else:
            section.sentences.append(f"There are more than {_SYSTEMS_IN_MATRIX} systems to show.")
        return section

    def _fit(self):
        """Report whether a single ranking fits the votes, and list the pairs that do not fit."""
        progress("fit")
        p, largest = (self.pairs.attrs[name] for name in ("p_pairs", "p_largest"))
        lines = [
            (
                "One order of strength predicts the votes on every pair. The posterior "
                f"predictive p-value is {p:.3f} for all residuals together and {largest:.3f} "
                "for the largest."
            )
        ]
        lines += [self.pairs.attrs["caution"]] if "caution" in self.pairs.attrs else []
        caption = f"Pairs with the largest residuals (of {len(self.pairs)}), in standard deviations"
        return Section("How well one order fits", lines, [Table(caption, self.pairs.head(8))])

    def differences(self) -> list[Section]:
        """Return the comparison of systems if there are few pairs. The matrix shows all pairs."""
        return super().differences() if self.evidence.sizes["classifier"] <= _FEW_SYSTEMS else []


class PartlyLabelledRecipe(Recipe):
    """Examples that are all labelled by a judge and partly by people."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        expected = ("judge", "predicted", "answers")
        if self.evidence["unlabelled"].ndim > 2:
            dims = [dim for dim in self.evidence["unlabelled"].dims if dim not in expected]
            raise fail(
                "A report covers one set of partly labelled examples, but the evidence has "
                "slices along {}",
                dims,
                "",
                "report each slice separately with evidence.sel(...), or use bcm.summary",
            )
        self.counts = matrices_of(self.evidence).sum("judge")
        self.measures = sections.check_measures(self.measures or None, self.counts)

    @cached_property
    def comparison(self) -> pd.DataFrame | None:
        """Comparison of the classifiers, with the model and prior of the report."""
        if self.counts.sizes.get("classifier", 1) < 2:
            return None
        progress("comparison")
        names = [name for name in ("model", "concentration") if name in self.keywords]
        of_model = {name: self.keywords[name] for name in names}
        return bcm.compare(self.evidence, self.measures, **self.settings, **of_model)

    def evaluation(self) -> Section:
        """Return the section on labelled examples, with their matrices."""
        section = sections.evaluation(self.description, self.counts)
        section.sentences.append("The tables show the labelled examples.")
        return section

    def extras(self) -> list[Section]:
        """Return the section on the accuracy of the judge, and the number of labels it replaces."""
        progress("the judge")
        asked = {k: value for k, value in self.asked.items() if k not in ("prob", "kind")}
        table = labels_worth(self.evidence, self.measures, **asked)
        number = table["labels"].iloc[0]
        lines = []
        for row in table.to_dict("records"):
            numbers = ("measure", "labels", "worth")
            index = [display_label(v) for k, v in row.items() if k not in numbers]
            name = " of ".join([display_name(row["measure"]), *index])
            lines.append(
                f"For {name}, {number:,} labels are worth {row['worth']:,} with the judge."
            )
        lines = sections.shortened(lines, "The table has the other measures.")
        caption = (
            "How many labels alone would be as informative as the labels and the judge together"
        )
        section = Section("The judge", lines, [Table(caption, table)])
        judge = judge_as_classifier(self.evidence)
        if judge is None:
            answers = ", ".join(str(answer) for answer in self.evidence["judge"].values[:12])
            section.sentences.append(f"The judge is not a classifier; its labels are: {answers}.")
            return [section]
        names = ["accuracy"] if positive(judge) is None else ["recall", "specificity", "accuracy"]
        columns = ["measure", "mean", "lower", "upper", "error"]
        table = bcm.summary(judge, names, **self.asked)[columns]
        for row in table.to_dict("records"):
            digits = decimals(row["error"], 3)
            ends = f"{row['lower']:.{digits}f} and {row['upper']:.{digits}f}"
            section.sentences.append(
                f"The judge's {display_name(row['measure'])} lies between {ends} with probability "
                f"{self.mass}."
            )
        caption = f"The judge compared with the true labels, with {self.mass} intervals"
        section.tables.append(Table(caption, table))
        return [section]

    def pictures(self) -> list[Section]:
        """Return plots of the intervals."""
        progress("pictures")
        figure = bcm.plot_forest(self.evidence, self.measures, **self.asked)
        alt = f"Posterior mean and {self.mass} interval."
        return [Section("Pictures", pictures=[Picture("forest", alt, figure)])]

    def facts(self) -> dict[str, Any]:
        """Return the model, and that it defines its own prior."""
        return methods.of_counts(self.model(), None, self.random_seed)

    def cautions(self) -> Section:
        """Return the cautions on classes with few labels, and strata without labels."""
        totals = self.counts.sum("predicted")
        totals = totals.isel(classifier=0) if "classifier" in totals.dims else totals
        return cautions.section(cautions.few(totals) + _strata_without_labels(self.evidence))


def _strata_without_labels(evidence):
    """Return a caution about examples in strata without any label."""
    one = select_classifier(evidence)
    labelled, unlabelled = one.sum("actual"), one["unlabelled"]
    blank = float(unlabelled.where(labelled == 0, 0).sum())
    share = 100 * blank / float(one.sum(("judge", *CELLS)) + unlabelled.sum())
    if share < 1:
        return []
    return [
        (
            f"{share:.3g}% of the examples are in strata without a label, where the results "
            "depend on the prior."
        )
    ]


# Recipes by name of the type of evidence. `Recipe` is used for all other types.
RECIPES: dict[str, type[Recipe]] = {
    "counts": CountsRecipe,
    "outcomes": CountsRecipe,
    "scores": ScoresRecipe,
    "probabilities": ProbabilitiesRecipe,
    "attempts": AttemptsRecipe,
    "item scores": ItemScoresRecipe,
    "multilabel": MultilabelRecipe,
    "results": ResultsRecipe,
    "ratings": RatingsRecipe,
    "preferences": PreferencesRecipe,
    "partly labelled": PartlyLabelledRecipe,
    "fit": FitRecipe,
}

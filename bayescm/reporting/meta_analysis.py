"""
Reports of meta-analyses of diagnostic accuracy studies, using the bivariate model.

The studies are the groups of `bayescm.models.hierarchical_groups`. The report contains the results
that PRISMA-DTA requires: the table of studies, summary sensitivity and specificity with credible
and prediction regions, and the heterogeneity between studies.

References
----------
McInnes, M. D. F. et al. (2018). Preferred reporting items for a systematic review and meta-analysis
of diagnostic test accuracy studies: the PRISMA-DTA statement. JAMA 319, 388-396.
doi:10.1001/jama.2017.19163
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import bayescm as bcm
from bayescm.evidence.counts import positive
from bayescm.evidence.trees import with_positive_class
from bayescm.measures.catalogue import resolve
from bayescm.measures.display_names import display_name
from bayescm.plots.studies import MEDICAL_NAMES, MOST_STUDIES, studies_of
from bayescm.plots.style import interval_words
from bayescm.posteriors.hierarchical_groups import few_groups, hierarchical_groups
from bayescm.reporting import cautions, methods, sections
from bayescm.reporting.progress import progress
from bayescm.reporting.recipe import Recipe
from bayescm.reporting.sections import Picture, Section, Table
from bayescm.validate import check_keywords, fail

TITLE = "Meta-analysis of a diagnostic test"
MEASURES = ("sensitivity", "specificity", "LR+", "LR-", "dor")
_ESTIMANDS = {"typical": "typical study", "population": "mean of all studies", "new": "new study"}


def medical_names(measures: Sequence[str | Callable]) -> dict[str, str]:
    """Return medical display names, except for measures named otherwise in the call."""
    if "recall" in measures:
        return {"group": "study", "recall": "recall", "fpr": "false positive rate"}
    return {"group": "study", **MEDICAL_NAMES}


class MetaAnalysisRecipe(Recipe):
    """Studies of a diagnostic test with two outcomes."""

    title = "Summary accuracy"

    def __init__(
        self,
        evidence: Any,
        measures: Any,
        settings: Mapping[str, Any],
        keywords: Mapping[str, Any],
    ):
        keywords = dict(keywords)
        for name in ("of", "n"):
            if name in keywords:
                raise fail(
                    f"`{name}` has no effect on a meta-analysis",
                    ...,
                    "",
                    "leave it out: the report covers the typical study, the mean of all studies "
                    "and a new study",
                )
        if keywords.pop("model", "hierarchical_groups") != "hierarchical_groups":
            raise fail(
                "A meta-analysis always uses the model hierarchical_groups",
                ...,
                "",
                "leave `model` out, or leave `meta_analysis` out",
            )
        counts, _ = studies_of(with_positive_class(evidence, keywords.pop("positive", None)), None)
        if positive(counts) is None:
            labels, todo = counts["actual"].values.tolist(), "pass `positive=`"
            raise fail("A meta-analysis needs a positive class", ..., labels, todo)
        super().__init__(counts, measures, settings, keywords)
        self.of_model = {name: value for name, value in keywords.items() if name != "draws"}
        check_keywords(hierarchical_groups, self.of_model)
        self.posterior = hierarchical_groups(counts, **self.of_model)
        self.measures = sections.check_measures(self.measures or list(MEASURES), counts)

    @cached_property
    def proportions(self) -> pd.DataFrame | None:
        """Summary of bounded measures: typical study, population mean and a new study."""
        measures = [measure for measure in self.measures if not _is_ratio(measure)]
        return self._summary(measures, self.kind) if measures else None

    @cached_property
    def ratios(self) -> pd.DataFrame | None:
        """
        Summary of unbounded measures, with equal tails and a median.

        A ratio in a new study may range over orders of magnitude, so that its mean is dominated by
        the largest values and highest-density intervals start near 0. Equal-tailed intervals are
        invariant to taking logarithms.
        """
        measures = [measure for measure in self.measures if _is_ratio(measure)]
        if not measures:
            return None
        table = self._summary(measures, "eti")
        resolved_measures = [resolve(measure) for measure in measures]
        seed = {"random_seed": self.random_seed}
        medians = [
            [
                answer.quantile(0.5)
                for answer in self.posterior.distributions(resolved_measures, of=of, **seed)
            ]
            for of in _ESTIMANDS
        ]
        table["median"] = np.transpose(medians).ravel()
        return table

    @property
    def tables(self) -> list[pd.DataFrame]:
        """Tables of proportions and of ratios."""
        return [table for table in (self.proportions, self.ratios) if table is not None]

    def computation(self) -> Section:
        """Return the section on methods of computation, with numerical errors by measure."""
        table = pd.concat(self.tables, ignore_index=True)
        section = sections.computation(table, self.facts())
        section.sentences.pop()  # the largest error would always be for a ratio
        worst = table.loc[table.groupby("measure", sort=False)["error"].idxmax()]
        errors = [
            f"{row['error']:.2g} of {display_name(row['measure'])} ({_ESTIMANDS[row['of']]})"
            for row in worst.to_dict("records")
        ]
        text = f"The largest numerical error of a bound is {', '.join(errors)}."
        section.sentences.append(text)
        return section

    def _summary(self, measures, kind):
        progress("intervals")
        asked = {**self.asked, "kind": kind, "of": [*_ESTIMANDS]}
        table = bcm.summary(self.evidence, measures, **asked)
        sections.check_defined(table)
        return table

    @cached_property
    def heterogeneity(self) -> pd.DataFrame:
        """Heterogeneity between studies, and its association with covariates."""
        progress("heterogeneity")
        return bcm.meta.heterogeneity(self.evidence, **self.asked)

    def evaluation(self) -> Section:
        """Return the section on studies and participants, with a table of all studies."""
        counts, label = self.evidence, positive(self.evidence)
        (tn, fp), (fn, tp) = counts.values.transpose(1, 2, 0)
        ill, well = (tp + fn).sum(), (tn + fp).sum()
        other = next(name for name in counts["actual"].values.tolist() if name != label)
        lines = [
            f"{counts.sizes['group']} studies of {ill + well:,.6g} participants: {ill:,.6g} with "
            f"the condition ({label}) and {well:,.6g} without it ({other})."
        ]
        names = counts["group"].values if "group" in counts.coords else range(len(tp))
        frame = pd.DataFrame({"group": [str(name) for name in names]})
        for name, cell in {"TP": tp, "FP": fp, "FN": fn, "TN": tn}.items():
            frame[name] = cell.astype(int) if (cell == cell.round()).all() else cell
        covariates = self.keywords.get("covariates")
        for name in covariates if isinstance(covariates, Mapping) else ():
            frame[name] = [str(value) for value in counts[name].values]
        return Section("What was evaluated", lines, [Table("The studies", frame)])

    def summary(self) -> Section:
        """Return the section on the typical study, the population mean and a new study."""
        pairs = (("mean", self.proportions), ("median", self.ratios))
        tables = {middle: table for middle, table in pairs if table is not None}
        lines = [
            _sentence(part, middle)
            for middle, table in tables.items()
            for _, part in table.groupby("measure", sort=False)
        ]
        lines.append(
            "The typical study is the middle one, and its values are the summary point. "
            "The interval of a new study shows what to expect where the test is used next."
        )
        if covariates := methods.covariates(self.keywords):
            lines.append(f"These are values for studies with {covariates}.")
        shown = []
        for middle, table in tables.items():
            frame = pd.DataFrame({"measure": table["measure"]})
            frame["of"] = [_ESTIMANDS[of] for of in table["of"]]
            for name in (middle, "lower", "upper"):
                errors = zip(table[name], table["error"], strict=True)
                frame[name] = [_rounded(value, error) for value, error in errors]
            what = "Summary of the studies" if middle == "mean" else "Ratios"
            words = interval_words(self.prob, table.attrs["kind"])
            shown.append(Table(f"{what}; lower and upper bound the {words}", frame))
        return Section(self.title, lines, shown)

    def extras(self) -> list[Section]:
        """Return the section on heterogeneity and its association with covariates."""
        table, words = self.heterogeneity, interval_words(self.prob, self.kind)
        slopes = table[table.index.str.startswith("odds_ratio")]
        spread = table.drop(slopes.index)
        rates = {"sensitivity": display_name("recall"), "specificity": display_name("specificity")}
        rate_names = " and ".join(rates.values())
        rows = {f"sd_{rate}": f"standard deviation of logit {name}" for rate, name in rates.items()}
        rows |= {"correlation": f"correlation of logit {rate_names}"}
        rows |= {f"i2_{rate}": f"I² of {name}" for rate, name in rates.items()}
        rows |= {"i2": f"I² of {rate_names} together"}
        shares = 100 * spread.loc[["i2_sensitivity", "i2_specificity", "i2"]]
        of_each = [*rates.values(), "both together"]
        columns = ["median", "lower", "upper"]
        numbers = shares[columns].itertuples(index=False)
        parts = [
            f"{median:.0f}% [{lower:.0f}%, {upper:.0f}%] of {name}"
            for name, (median, lower, upper) in zip(of_each, numbers, strict=True)
        ]
        lines = [
            (
                "I², the proportion of the variation between the studies' estimates beyond "
                f"chance, is {', '.join(parts)}."
            ),
            (
                "I² increases with the size of the studies; the standard deviations between "
                "them do not."
            ),
        ]
        caption = f"Heterogeneity: medians and {words}s"
        section = Section(
            "How far the studies differ", lines, [Table(caption, _shown(spread, rows))]
        )
        if len(slopes):
            lines += table.attrs["sentences"]
            names = {f"odds_ratio_{rate}": name for rate, name in rates.items()}
            caption = (
                f"Odds ratios for one unit more of a number, and of a label against that of the "
                f"typical study; medians and {words}s"
            )
            frame = _shown(slopes, names)
            frame.insert(0, "covariate", slopes["covariate"].to_numpy())
            frame["P(odds ratio > 1)"] = [sections.probability(p) for p in slopes["p_above_1"]]
            section.tables.append(Table(caption, frame))
        return [section]

    def pictures(self) -> list[Section]:
        """Plot the studies in ROC space with the summary curve, and as a forest plot."""
        progress("pictures")
        options = {"prob": self.prob, "random_seed": self.random_seed, **self.of_model}
        recall, specificity = display_name("recall"), display_name("specificity")
        across = display_name("fpr")
        alt = (
            f"{recall} over {across}: the studies, the typical and a new one with their "
            f"{self.mass} regions, and the summary ROC curve."
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # mentioned in the cautions
            figure = bcm.plots.plot_sroc(self.evidence, **options)
        section = Section("Pictures", pictures=[Picture("sroc", alt, figure)])
        if self.evidence.sizes["group"] <= MOST_STUDIES:
            alt = f"{recall} and {specificity} of every study, and of all of them together."
            figure = bcm.plots.plot_studies(self.evidence, kind=self.kind, **options)
            section.pictures.append(Picture("studies", alt, figure))
        return [section]

    def facts(self) -> dict[str, Any]:
        """Return the model, prior, seed and versions."""
        prior = methods.prior_of(self.evidence, self.keywords.get("concentration"))
        facts = methods.of_counts("hierarchical_groups", prior, self.random_seed, self.posterior)
        facts["Model"] += ", bivariate normal logits between studies and binomial within them"
        return facts

    def cautions(self) -> Section:
        """Return the cautions on few studies, dependence on prevalence, and assumptions."""
        of_tables = [table.attrs.get("caution", "") for table in self.tables]
        for few in few_groups(self.evidence.sizes["group"]):  # already in `heterogeneity`
            of_tables = [caution.replace(few, "").strip() for caution in of_tables]
        lines = [self.heterogeneity.attrs.get("caution", ""), *dict.fromkeys(of_tables)]
        lines = [line for line in lines if line]
        names = [display_name(name) for name in self.measures if _depends_on_prevalence(name)]
        if names and "prevalence" not in (*self.keywords, *self.evidence.coords):
            lines.append(
                f"{', '.join(names)} also depend on the prevalence. The values are for the "
                "prevalence in the studies, not for a place with another one."
            )
        lines.append(
            "Publication bias is not modelled: the studies are assumed to be a random "
            "sample of all studies."
        )
        return cautions.section(lines)


def _sentence(rows, middle):
    """Return a sentence on one measure in the typical study, on average, and in a new study."""
    texts = []
    for row in rows.to_dict("records"):
        center, *ends = (_rounded(row[name], row["error"]) for name in (middle, "lower", "upper"))
        texts.append(f"{center} [{', '.join(ends)}]")
    typical, average, new = texts
    name = display_name(rows["measure"].iloc[0])
    return (
        f"{name} is {typical} in the typical study, {average} on average over the "
        f"population of studies, and {new} in a new one."
    )


def _rounded(value, error):
    """Round a number to two decimals, or fewer if its numerical error requires it."""
    digits = int(np.clip(np.ceil(-np.log10(max(error, 1e-9))), 0, 2))
    return f"{round(value, digits) + 0:.{digits}f}"


def _shown(table, names):
    """Return the table of heterogeneity as text, with two decimals because it comes from draws."""
    columns = ["median", "lower", "upper"]
    frame = pd.DataFrame({"quantity": [names[name] for name in table.index]})
    for column in columns:
        frame[column] = [f"{value:.2f}" for value in table[column]]
    return frame


def _is_ratio(measure):
    """Return True if a measure is unbounded above, such as a likelihood ratio."""
    return np.isinf(getattr(resolve(measure), "range", (0.0, 1.0))[1])


def _depends_on_prevalence(measure):
    """Return True if a measure changes with the prevalence if both rates are constant."""
    cells = np.array([[90.0, 10.0], [3.0, 12.0]])
    resolved = resolve(measure)
    return not np.isclose(resolved(cells), resolved(cells * [[1.0], [10.0]])).all()

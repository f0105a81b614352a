r"""
Direct posterior of `bayescm.models.multilabel`: several labels per example.

Labels of the same example are not independent, so examples are resampled, not labels. The shares of
the examples in the population have a Dirichlet(1, ..., 1) distribution, as in the Bayesian
bootstrap. With gamma weights :math:`g_i \sim \mathrm{Gamma}(1)`, the mass in cell c of label l is

.. math:: c_l = \sum_i g_i c_{il} + p_{cl}, \qquad p_{cl} \sim \mathrm{Gamma}(e).

There are e pseudo-examples in each cell. The table of a single label then has the posterior
Dirichlet(tp + e, fn + e, fp + e, tn + e), as in a model of counts. Sums over labels also have e
pseudo-examples in each cell, for any number of labels. The bias of macro averages is corrected
(`bayescm.measures.example_cells`).

**Several systems** on the same examples share the weights. The pseudo-examples have the same labels
for all systems, but the systems predict them independently. Each system is correct for a proportion
Beta(e, e) of the pseudo-examples with a label, and for an independent Beta(e, e) proportion of
those without it. In the table of truth and two predictions, each cell then has about e / 2
pseudo-examples, as in `bayescm.posteriors.paired_outcomes`. If all systems made the same
predictions on the pseudo-examples, differences would appear too certain. For example, if two
systems miss the same positives of a label, the difference between their recalls would be exactly 0.

**Means over examples** (``_samples``, subset accuracy, Hamming loss) use
`bayescm.posteriors.item_scores`. In that model, e pseudo-examples have the lowest value, and e the
highest. On two further pseudo-examples, the systems disagree. If the value of an example is
undefined for a system (0/0), its weight is 0 for this system only.

**Micro and weighted averages** weight examples unequally. The pseudo-examples with disagreement
affect them through their influence (`bayescm.measures.example_cells.ExampleCells.influence`).

**Clusters and weights** of examples are treated as for item scores.

- If a weight :math:`w_i` is a number of examples, :math:`g_i \sim \mathrm{Gamma}(w_i)`.
- If examples were sampled with unequal probabilities or differ in importance, the weights are
  :math:`w_i g_i`. A pseudo-example then has the mean weight of an example.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. The Annals of Statistics 9, 130-134.
doi:10.1214/aos/1176345338
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import gammaln

from bayescm.distributions.base import Distribution
from bayescm.evidence.clusters_and_slices import SLICE, clusters_of, slice_dims
from bayescm.evidence.counts import make_counts
from bayescm.evidence.item_counts import as_item_counts, is_item_counts
from bayescm.evidence.item_scores import as_item_scores
from bayescm.evidence.multilabel import as_multilabel
from bayescm.measures import example_cells
from bayescm.measures.display_names import display_name
from bayescm.measures.example_cells import CELL_NAMES, ExampleCells
from bayescm.measures.item_scores import mean as MEAN
from bayescm.measures.measure import OverExamples, OverLabels
from bayescm.posteriors.base import DRAWS
from bayescm.posteriors.dirichlet_multinomial import dirichlet_multinomial
from bayescm.posteriors.item_scores import ItemScores, check_clusters
from bayescm.posteriors.sliced_items import SlicedItems
from bayescm.posteriors.summed_labels import SummedLabels
from bayescm.validate import fail

# Largest default number of products of weights and cells, which takes some seconds.
_PRODUCTS = 2e10
_FEWEST_DRAWS = 500
# A caution is added for labels with fewer positives than this, because averages over these labels
# have too low a coverage.
_FEW_POSITIVES = 4


def multilabel(
    evidence: xr.Dataset | xr.DataArray, *, concentration: float = 0.5
) -> "Multilabel | SummedLabels":
    """
    Return the posterior of the cells of each label in the population of examples.

    Use it if an example may have any number of labels, or for counts of detected objects.

    Parameters
    ----------
    evidence : xarray.Dataset or DataArray
        Evidence from :func:`bayescm.from_multilabel` or :func:`bayescm.from_item_counts`. Slices
        have separate posteriors. Also sums of the batches of a monitor
        (`bayescm.evidence.sums_of_items`), dims (..., statistic).
    concentration : float, default 0.5
        Number of prior pseudo-examples, > 0, in each cell of each label.

    Returns
    -------
    Multilabel
        For sums, a `SummedLabels`, which computes the same posterior of ratios over the examples
        from moments.

    Raises
    ------
    ValueError
        If the concentration is not a finite number > 0, or a slice has fewer than five clusters of
        examples.

    Examples
    --------
    >>> import bayescm as bcm
    >>> evidence = bcm.from_multilabel([{"a"}, {"a", "b"}, {"b"}], [{"a"}, {"b"}, {"b"}])
    >>> float(multilabel(evidence).point(bcm.measures.resolve("f1_micro", "example_cells")))
    0.8571428571428571
    """
    number = isinstance(concentration, int | float | np.number)
    if not number or isinstance(concentration, bool) or not 0 < concentration < np.inf:
        raise fail(
            "`concentration` must be a finite number > 0",
            concentration,
            "",
            "pass e.g. `concentration=0.5`",
        )
    if isinstance(evidence, xr.DataArray):
        return SummedLabels(evidence, float(concentration))
    return Multilabel(evidence, float(concentration))


class Multilabel(SlicedItems):
    """
    Posterior of the cells of each label in the population of examples.

    Attributes
    ----------
    evidence : Dataset
        Canonical evidence.
    cells : mapping of str to ndarray, shape (K, n, L), or None
        Cells tp, fn, fp and tn of each system, example and label, and the scores of the labels.
        None for tn if objects are counted, and for the scores if there are none.
    labels : ndarray, shape (L,), or None
        Labels. None if objects are counted.
    weights : ItemScores
        Posterior of item scores, which provides the weights of the examples.
    weighted : bool
        Whether the evidence has weights of the examples.
    """

    measured_variable = "example_cells"
    equal_differences = False  # a missing and an additional label have different effects
    how = "draws by the Bayesian bootstrap of examples"

    def __init__(self, evidence: xr.Dataset, concentration: float = 0.5):
        self.concentration = concentration
        self.labels: np.ndarray | None = None
        if is_item_counts(evidence):
            self.evidence, self.unit = as_item_counts(evidence), "item"
            self.cells = _cells_of_items(self.evidence)
        else:
            self.evidence, self.unit = as_multilabel(evidence), "example"
            self.labels = self.evidence["label"].values
            self.cells = _cells_of_labels(self.evidence)
        # Clusters are weighted as for item scores.
        check_clusters(self.evidence, self.unit)
        self.weights = self.of_values(np.zeros(self.cells["tp"].shape[:2]), (0.0, 1.0))
        self.weighted = "weight" in self.evidence
        self.estimands = self.weights.estimands

    @property
    def has_model(self) -> bool:
        """Whether there is a PyMC model: labels of one system, no slices, clusters or weights."""
        return super().has_model and self.unit == "example" and not self.weighted

    # Labels

    @property
    def observed(self) -> xr.DataArray:
        """The predicted labels, or the detected objects."""
        return self.evidence["tp" if self.unit == "item" else "predicted"]

    @cached_property
    def batch(self) -> xr.DataArray:
        """The number of examples of each slice and system."""
        sizes = [len(items) for items in self.slices]
        numbers = np.repeat(sizes, len(self.cells["tp"]))
        return self.template.to_dataarray(numbers.reshape(self.template.shape))

    def classes_of(self, measure: Any) -> np.ndarray | None:
        """Return the labels if a measure has one value per label, else None."""
        return self.labels if measure.one_class else None

    def bound(self, measure: Any) -> Any:
        """Return a measure with its selected labels checked against the evidence."""
        if self.labels is None:
            return example_cells.without_labels(measure)
        return example_cells.bound(measure, list(self.labels))

    def left_out(self, measure: Any) -> xr.DataArray | None:
        """Return the labels that a measure omits from its average, or None."""
        samples = [self.sample(items) for items in self.slices]
        by_slice = [
            labels
            for sample in samples
            if (labels := example_cells.labels_left_out(measure, sample)) is not None
        ]
        if self.labels is None or not by_slice:
            return None
        template = self.template.append_dim("class", self.labels)
        values = np.stack(by_slice).reshape(template.shape)
        if measure.form.labels:
            values = values & np.isin([str(label) for label in self.labels], measure.form.labels)
        return template.to_dataarray(values) if values.any() else None

    @property
    def values_per_draw(self) -> int:
        """The number of values per draw: weights of examples, cells and pseudo-examples."""
        systems, examples, labels = self.cells["tp"].shape
        return examples + 8 * systems * labels

    def draws_by_default(self, of: str, *, joint: bool = False) -> int:
        """Return the default number of draws."""
        return int(np.clip(_PRODUCTS / (4 * self.cells["tp"].size), _FEWEST_DRAWS, DRAWS))

    def distance(self, first: int, second: int) -> np.ndarray:
        """Return the number of cells in which two systems differ, for each example."""
        pairs = [
            values[[first, second]].astype(float)
            for name in CELL_NAMES
            if (values := self.cells[name]) is not None
        ]
        return sum(np.abs(pair[0] - pair[1]) for pair in pairs).sum(axis=-1)

    def caveats(self, of: str = "parameter") -> list[str]:
        """Return cautions about few clusters and few positives."""
        of_weights = self.weights.caveats(of)
        if self.unit == "example":
            of_weights = [sentence.replace("items", "examples") for sentence in of_weights]
        return of_weights + self._few_positives()

    def _few_positives(self):
        if self.labels is None:
            return []
        positives, weight = (self.cells["tp"] | self.cells["fn"])[0], self.weights.weight
        square = weight**2 if self.weights.importance else weight
        counts = np.array(
            [
                example_cells.effective_number(
                    weight[items] @ positives[items], square[items] @ positives[items]
                )
                for items in self.slices
            ]
        )
        few = (counts < _FEW_POSITIVES).any(axis=0)
        if not few.any():
            return []
        names = [str(label) for label in self.labels[few]]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
        return [
            (
                f"Some labels have fewer than {_FEW_POSITIVES} examples ({shown}). Their "
                "results depend strongly on the prior, and macro averages are less certain "
                "than their intervals show."
            )
        ]

    def caveats_of_pairs(self, measure: Callable) -> list[str]:
        """Return a caution if systems share only the weights of the examples."""
        form = measure.form  # type: ignore[attr-defined]
        if not isinstance(form, OverLabels) or form.measure.takes != "curve":
            return []
        return [
            (
                f"Draws of {display_name(measure.__name__)} share only the weights of the "
                "examples. Systems that differ in few examples may look more different than "
                "they are."
            )
        ]

    # Draws

    def draw_given(
        self,
        variables: Mapping[str, np.ndarray],
        measures: Sequence[Callable],
        rng: np.random.Generator,
        *,
        of: str = "parameter",
        n: Any = None,
    ) -> list[np.ndarray]:
        """
        Return draws of measures, given draws of the weights.

        See `Posterior.draw_given`. The weight of a pattern is divided among its examples by a
        uniform Dirichlet distribution. The weights of the examples are then exponential, as in
        `draw`.
        """
        pattern, _ = self._pattern_of_examples
        size, examples = len(variables["weight"]), np.arange(len(pattern))
        weight = rng.standard_exponential((size, len(pattern)))
        totals = weight @ np.eye(pattern.max() + 1)[pattern]
        weight *= (variables["weight"] / totals)[:, pattern]
        prior_cells = variables["pseudo"].swapaxes(1, 2)[:, None]
        concentration = self.concentration
        if self.estimands[self.resolve_estimand(of)] != "share":
            prior_cells, concentration = np.zeros_like(prior_cells), 0.0
        end_weight = rng.standard_gamma(concentration, (size, 2))
        cells = self._cells_of(examples, weight, examples, prior_cells, end_weight, concentration)
        return [self._by_labels([self.value(one, cells, examples)], 1) for one in measures]

    def population(
        self, items: np.ndarray, size: int, rng: np.random.Generator, of: str
    ) -> ExampleCells:
        """Sample the cells in the population of the given examples."""
        weight, unit = self.weights.unit_weights(items, size, rng, of)
        of_examples = weight.shape[1] == len(items) and self.weights.cluster is None
        if self.weighted and of_examples and not self.weights.importance:
            # The weights are gamma variates with the numbers of examples as shapes. Divide by these
            # numbers, because `ExampleCells` multiplies by them.
            weight = weight / np.maximum(self.weights.weight[items], np.finfo(float).tiny)
        concentration = self.concentration if self.estimands[of] == "share" else 0.0
        prior_cells = self._prior_cells(size, rng, concentration)
        end_weight = rng.standard_gamma(concentration, (size, 2))
        cells = self._cells_of(items, weight, unit, prior_cells, end_weight, concentration)
        if not concentration:
            return cells
        return replace(cells, disagreement=self.weights.draw_disagreement(items, size, rng))

    def _prior_cells(self, size, rng, concentration):
        """Sample the pseudo-examples (S, K, 4, L), with the same labels for all systems."""
        systems, _, labels = self.cells["tp"].shape
        first = rng.standard_gamma(concentration, (size, 4, labels))
        prior_cells = np.repeat(first[:, None], systems, axis=1)
        if systems > 1 and concentration:
            # The total mass of the pseudo-examples with and without each label.
            of_label = first.reshape(size, 1, 2, 2, labels).sum(axis=3)
            hit = rng.beta(concentration, concentration, (size, systems - 1, 2, labels))
            prior_cells[:, 1:, [0, 2]] = of_label * hit
            prior_cells[:, 1:, [1, 3]] = of_label * (1 - hit)
        return prior_cells

    def _cells_of(self, items, weight, unit, prior_cells, end_weight, concentration):
        cells: dict[str, Any] = {
            name: None if values is None else values[:, items]
            for name, values in self.cells.items()
        }
        if self.weighted:
            count = self.weights.weight[items]
            if self.weights.importance and count.any():  # a pseudo-example has the mean weight
                count = count / count[count > 0].mean()
            cells |= {"count": count, "importance": self.weights.importance}
        return ExampleCells(
            **cells,
            weight=weight,
            unit=unit,
            prior_cells=prior_cells,
            end_weight=end_weight,
            concentration=concentration,
        )

    def sample(self, items: np.ndarray) -> ExampleCells:
        """Return the cells of some examples in the sample, as one draw without a prior."""
        systems, _, labels = self.cells["tp"].shape
        weight, unit = np.ones((1, len(items))), np.arange(len(items))
        nothing = {"prior_cells": np.zeros((1, systems, 4, labels))}
        nothing["end_weight"] = np.zeros((1, 2))
        return self._cells_of(items, weight, unit, **nothing, concentration=0.0)

    # Exact distributions, and means over examples.

    def exact_distribution(self, measure: Any, *, of: str = "parameter", n: Any = None) -> Any:
        """
        Return the distribution of a measure, or None if it has to be estimated from draws.

        It is available for measures of each label and for means over examples.
        """
        form = measure.form
        if isinstance(form, OverExamples):
            return self._over_examples(measure).exact_distribution(MEAN, of=of)
        if (
            not isinstance(form, OverLabels)
            or form.how != "each"
            or form.measure.takes == "curve"
            or self.weights.cluster is not None
            or self.weights.importance
            or self.labels is None
        ):
            return None
        label_index = None
        if form.labels:
            label_index = [str(label) for label in self.labels].index(form.labels[0])
        tables = dirichlet_multinomial(self._tables(label_index), concentration=self.concentration)
        return tables.exact_distribution(form.measure)

    def _tables(self, label_index=None):
        """Return the counts (slices, K, [L], 2, 2) of each label, or of one label."""
        cells = {
            name: np.stack(
                [
                    np.einsum("knl,n->kl", self.cells[name][:, items], self.weights.weight[items])
                    for items in self.slices
                ]
            )
            for name in CELL_NAMES
        }
        rows = [[cells["tn"], cells["fp"]], [cells["fn"], cells["tp"]]]
        tables = np.moveaxis(np.array(rows), (0, 1), (-2, -1)).astype(float)
        dims = [*self.template.dims, *([] if label_index is not None else ["label"])]
        tables = tables[:, :, label_index] if label_index is not None else tables
        shape = (*self.template.shape, *tables.shape[2:])
        return make_counts(tables.reshape(shape), np.arange(2), 1, dims)

    def of_values(self, values: np.ndarray, ends: tuple[float, float]) -> ItemScores:
        """Return the posterior of example scores (K, n) within a range."""
        evidence = xr.Dataset({"item_score": (("classifier", "item"), values)})
        if self.names is None:
            evidence = evidence.isel(classifier=0)
        else:
            evidence = evidence.assign_coords(classifier=self.names)
        evidence = evidence.assign_coords(
            item=np.arange(values.shape[1]), lowest=ends[0], highest=ends[1], lower_is_better=False
        )
        if (group := clusters_of(self.evidence, self.unit)) is not None:
            evidence = evidence.assign_coords(group=("item", group))
        if "weight" in self.evidence:
            weight = self.evidence["weight"].values
            evidence = evidence.assign(weight=("item", weight))
            evidence = evidence.assign_coords(weights_are=self.evidence["weights_are"].item())
        for dim in slice_dims(self.evidence):
            codes = self.evidence[SLICE + dim].values
            evidence = evidence.assign({SLICE + dim: ("item", codes)})
            evidence = evidence.assign_coords({dim: self.evidence[dim].values})
        return ItemScores(as_item_scores(evidence), self.concentration)

    def _over_examples(self, measure):
        """Return the posterior of the item scores whose mean is a mean over examples."""
        _, examples, labels = self.cells["tp"].shape
        whole = self.sample(np.arange(examples))
        with np.errstate(invalid="ignore", divide="ignore"):
            values = whole.of_examples(measure.form.formula)
        return self.of_values(values, example_cells.ends_of(measure.form, values, labels))

    def exact_difference(
        self, measure: Any, first: Mapping, second: Mapping, *, of: str = "parameter"
    ) -> Distribution | None:
        """Return the distribution from moments for a mean over examples, else None."""
        if not isinstance(measure.form, OverExamples):
            return None
        return self._over_examples(measure).exact_difference(MEAN, first, second, of=of)

    # Variables of the PyMC model, for one system.

    @cached_property
    def patterns(self) -> tuple[np.ndarray, np.ndarray]:
        """The cells (pattern, L, 4) of sets of equal examples, and the sizes of the sets."""
        unfit = {
            "several systems": self.names is not None,
            "slices": len(self.slices) > 1,
            "weights of examples": self.weighted,
            "clusters of examples": self.weights.cluster is not None,
            "counts without true negatives": self.cells["tn"] is None,
        }
        for what, is_so in unfit.items():
            if is_so:
                raise fail(
                    f"The PyMC model does not support {what}",
                    ...,
                    "",
                    "use interval, summary or compare, which sample from the posterior directly",
                )
        pattern, first = self._pattern_of_examples
        table = np.stack([self.cells[name][0, first] for name in CELL_NAMES], axis=-1)
        return table.astype(float), np.bincount(pattern).astype(float)

    @property
    def _pattern_of_examples(self) -> tuple[np.ndarray, np.ndarray]:
        """The pattern (n,) of each example, and the first example of each pattern."""
        pairs = [self.evidence[name].values for name in ("actual", "predicted")]
        together = np.concatenate(pairs, axis=1)
        found = np.unique(together, axis=0, return_index=True, return_inverse=True)
        return found[2].ravel(), found[1]

    def variables(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return draws (size, ...) of the variables of the corresponding PyMC model."""
        table, count = self.patterns
        weight = rng.standard_gamma(count, (size, len(count)))
        pseudo = rng.standard_gamma(self.concentration, (size, *table.shape[1:]))
        cells = np.einsum("sp,plc->slc", weight, table) + pseudo
        return {
            "weight": weight,
            "pseudo": pseudo,
            "cells": cells / cells.sum(axis=-1, keepdims=True),
        }

    def log_density(self, variables: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the log posterior density of the weights and the pseudo-examples."""
        weight, pseudo = (np.asarray(variables[name]) for name in ("weight", "pseudo"))
        of_weight = _log_gamma_density(weight, self.patterns[1]).sum(axis=-1)
        return of_weight + _log_gamma_density(pseudo, self.concentration).sum(axis=(-2, -1))

    def log_marginal_likelihood(self) -> np.ndarray:
        """Return 0, because the model has no likelihood: its prior is the posterior."""
        return np.zeros(())


def _cells_of_labels(evidence):
    """Return the cells (K, n, L) of labels, 0 or 1."""
    actual, predicted = evidence["actual"].values, evidence["predicted"].values
    predicted = predicted.reshape(-1, *actual.shape)
    score = None
    if "label_score" in evidence:
        score = evidence["label_score"].values.reshape(predicted.shape)
    return {
        "label_score": score,
        "tp": actual & predicted,
        "fn": actual & ~predicted,
        "fp": ~actual & predicted,
        "tn": ~actual & ~predicted,
    }


def _cells_of_items(evidence):
    """Return the cells (K, n, 1) of items, without true negatives."""
    items = evidence.sizes["item"]
    cells = {name: evidence[name].values.reshape(-1, items, 1) for name in ("tp", "fn", "fp")}
    return {**cells, "tn": None}


def _log_gamma_density(values, shape):
    return (shape - 1) * np.log(values) - values - gammaln(shape)

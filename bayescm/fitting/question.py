"""Estimand, model and precision of a result, collected once in the public function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from bayescm.fitting.sampler_options import split
from bayescm.validate import check_whole, fail


@dataclass(frozen=True, eq=False)
class Question:
    """
    Estimand, model with its keywords, and precision of a result.

    The fields have the same names, order and defaults as the keywords of all public functions,
    which are described in `bayescm.interval`. Private functions take a question and pass it on
    unchanged.

    Attributes
    ----------
    of : str or tuple of str
        Estimand, or several estimands of a summary.
    n : int, optional
        Size of the next test set.
    model : str or callable, optional
    concentration : float, array_like, DataArray or callable, optional
    positive : label, optional
    draws : int, optional
    random_seed : int
    accuracy : float, optional
    keywords : mapping of str to object
        Further keywords of the model, and options of the sampler.

    Raises
    ------
    ValueError
        If the number of draws, the size of the test set or the accuracy is invalid.

    Examples
    --------
    >>> Question("predictive", 100).n
    100
    """

    of: Any = "parameter"
    n: int | None = None
    model: str | Callable | None = None
    concentration: Any = None
    positive: Any = None
    draws: int | None = None
    random_seed: Any = 0
    accuracy: float | None = None
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        check_draws(self.draws)
        if isinstance(self.of, str):  # several estimands are split into questions first
            check_size(self.n, self.of)
        _check_accuracy(self.accuracy)

    @classmethod
    def of_keywords(cls, **keywords: Any) -> "Question":
        """Return a question from the keywords of a public function and of its model."""
        names = {each.name for each in fields(cls)}
        own = {name: value for name, value in keywords.items() if name in names}
        return cls(**own, keywords={k: v for k, v in keywords.items() if k not in names})

    @property
    def of_model(self) -> dict[str, Any]:
        """Keywords of the model, including the prior if one is given."""
        prior = {} if self.concentration is None else {"concentration": self.concentration}
        return {**prior, **split(self.keywords)[0]}

    @property
    def of_sampler(self) -> dict[str, Any]:
        """Options of the sampler."""
        return split(self.keywords)[1]


def check_draws(draws: Any) -> int | None:
    """Return a number of draws, or raise an error if it is invalid."""
    return None if draws is None else check_whole("draws", draws, 2, "draws", 20000)


def check_size(n: Any, of: str) -> Any:
    """Return the size of the next test set, or raise an error if it is invalid."""
    if n is not None and of != "predictive":
        raise fail(
            f"`n` needs `of='predictive'`, not `of={of!r}`",
            ...,
            "",
            "leave `n` out, or pass `of='predictive'`",
        )
    if n is None or (isinstance(n, (int, np.integer)) and n >= 1):
        return n
    raise fail("`n` must be the size of a test set, 1 or more", n, "", "pass `n=100`")


def _check_accuracy(accuracy):
    number = isinstance(accuracy, (float, np.floating))
    if accuracy is not None and not (number and 1e-12 <= accuracy <= 0.1):
        todo = "pass `accuracy=1e-6`, or `draws=` for Monte Carlo"
        raise fail("`accuracy` must be a number from 1e-12 to 0.1", accuracy, "", todo)


# Question for parameter estimates with the default model.
USUAL = Question()

"""
Evidence: labelled counts from cells, matrices, predictions, tables and files.

The module ``counts`` defines counts, and validates them at every public entry point.
"""

from bayescm.evidence.combining import combine
from bayescm.evidence.counts import align, as_counts, from_cells, from_matrix, positive
from bayescm.evidence.files import read
from bayescm.evidence.frames import from_frame
from bayescm.evidence.partly_labelled import (
    from_partly_labelled,
    from_partly_labelled_counts,
)
from bayescm.evidence.predictions import from_predictions
from bayescm.evidence.raters import from_raters
from bayescm.evidence.scores import at_prevalence

__all__ = [
    "align",
    "as_counts",
    "at_prevalence",
    "combine",
    "from_cells",
    "from_frame",
    "from_matrix",
    "from_partly_labelled",
    "from_partly_labelled_counts",
    "from_predictions",
    "from_raters",
    "positive",
    "read",
]

"""Figures whose letters are embedded in PDF and PostScript as fonts that journals take."""

from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure


class EmbeddedFontsFigure(Figure):
    """
    A figure of matplotlib that embeds fonts as TrueType ("type 42").

    Matplotlib's own default are fonts of type 3, which many journals refuse and which cannot be
    searched or edited.
    """

    def savefig(self, fname: Any, **keywords: Any) -> None:
        """Save the figure, see `matplotlib.figure.Figure.savefig`."""
        with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(fname, **keywords)

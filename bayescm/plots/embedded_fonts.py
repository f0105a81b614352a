"""Figures that embed fonts in PDF and PostScript in a format that journals accept."""

from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure


class EmbeddedFontsFigure(Figure):
    """
    Matplotlib figure that embeds fonts as TrueType ("type 42").

    By default, Matplotlib embeds type 3 fonts, which many journals reject and whose text cannot be
    searched or edited.
    """

    def savefig(self, fname: Any, **keywords: Any) -> None:
        """Save the figure. See `matplotlib.figure.Figure.savefig`."""
        with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(fname, **keywords)

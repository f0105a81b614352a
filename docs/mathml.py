"""Formulas as MathML, which browsers draw themselves: pages need neither a network nor a script."""

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def inline(formula):
    """Return the MathML of a formula in a sentence."""
    return convert(formula, display="inline")


def block(formula):
    """Return the MathML of a formula on lines of its own, aligned at its ampersands."""
    if "&" in formula or r"\\" in formula:
        formula = rf"\begin{{split}}{formula}\end{{split}}"
    return convert(formula, display="block")


def _inline(self, node):
    self.body.append(inline(node.astext()))
    raise SkipNode


def _block(self, node):
    self.body.append(f'<div class="math">{block(node.astext())}</div>\n')
    raise SkipNode


def setup(app):
    """Register the renderer beside Sphinx's own ones."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

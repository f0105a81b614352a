"""Formulas as MathML: browsers lay them out themselves, so pages need no network and no script."""

from xml.etree import ElementTree

from docutils.nodes import SkipNode
from latex2mathml.commands import FUNCTIONS
from latex2mathml.converter import convert

_MATHML = "http://www.w3.org/1998/Math/MathML"
_MI, _MO, _MROW, _MSPACE = (f"{{{_MATHML}}}{tag}" for tag in ("mi", "mo", "mrow", "mspace"))
_FUNCTIONS = {command.removeprefix("\\") for command in FUNCTIONS}
# The thin space of TeX, between the name of a function and its argument.
_THIN = "0.167em"

ElementTree.register_namespace("", _MATHML)


def inline(formula):
    """Return the MathML of a formula in a sentence."""
    return _spaced(convert(formula, display="inline"))


def block(formula):
    """Return the MathML of a formula on lines of its own, aligned at its ampersands."""
    if "&" in formula or r"\\" in formula:
        formula = rf"\begin{{split}}{formula}\end{{split}}"
    return _spaced(convert(formula, display="block"))


def _spaced(mathml):
    """
    Return the MathML with the spaces of TeX around relations and names of functions.

    The converter writes ``\\sim`` and ``\\log`` as identifiers, around which browsers leave no
    space, and ``\\mathrm{Beta}`` as four identifiers. ``\\operatorname`` is an unknown operator,
    around which browsers leave the space of a relation. They also leave space around a slash.
    """
    root = ElementTree.fromstring(mathml)
    for parent in list(root.iter()):
        _join_letters(parent)
        for child in parent:
            if child.tag == _MI and child.text == "~":
                child.tag, child.text = _MO, "\N{TILDE OPERATOR}"
            if child.tag == _MO and child.text == "/":
                child.set("lspace", "0")
                child.set("rspace", "0")
        _space_functions(parent)
    return ElementTree.tostring(root, encoding="unicode")


def _join_letters(row):
    """Make one identifier of a row of upright letters: browsers set a word upright."""
    letters = list(row)
    upright = [one.tag == _MI and one.get("mathvariant") == "normal" for one in letters]
    if row.tag == _MROW and len(letters) > 1 and all(upright):
        row.tag, row.text = _MI, "".join(one.text for one in letters)
        for one in letters:
            row.remove(one)


def _space_functions(row):
    """Leave a thin space between the name of a function and its neighbours, as TeX does."""
    children = list(row)
    if row.tag not in (_MROW, f"{{{_MATHML}}}mtd"):
        children = children[:1]  # the base of an index; it has no neighbours
    place = 0
    for index, child in enumerate(children):
        name = child.text or ""
        is_operator_name = child.tag == _MO and len(name) > 1 and name.isalpha()
        if is_operator_name or (child.tag == _MI and name in _FUNCTIONS):
            child.tag = _MI
            before = children[index - 1] if index else None
            after = children[index + 1] if index + 1 < len(children) else None
            if _is_operand(before, ")]"):
                row.insert(place, ElementTree.Element(_MSPACE, width=_THIN))
                place += 1
            if _is_operand(after, ""):
                row.insert(place + 1, ElementTree.Element(_MSPACE, width=_THIN))
                place += 1
        place += 1


def _is_operand(element, brackets):
    """Return whether an element is a number, a variable or one of these brackets."""
    if element is None or element.tag == _MSPACE:
        return False
    if element.tag == _MO:
        return bool(element.text) and element.text in brackets
    return bool(len(element) or element.text)


def _inline(self, node):
    self.body.append(inline(node.astext()))
    raise SkipNode


def _block(self, node):
    self.body.append(f'<div class="math">{block(node.astext())}</div>\n')
    raise SkipNode


def setup(app):
    """Register the renderer in addition to the renderers of Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

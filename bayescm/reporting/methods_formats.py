"""Conversion of methods paragraphs to LaTeX, Markdown or plain text."""

import re
import unicodedata
from collections.abc import Mapping

from bayescm.answers.latex import unescape_latex
from bayescm.reporting.paper_tables import escape_markdown
from bayescm.validate import fail

FORMATS = ["latex", "markdown", "text"]

_PARTS = re.compile(
    r"(?P<block>\\begin\{align\*\}\n(?P<lines>.*?)\n\\end\{align\*\})"
    r"|(?<!\\)\$(?P<inline>.*?)(?<!\\)\$"
    r"|~?\\cite\{(?P<keys>[^}]*)\}",
    re.DOTALL,
)
# LaTeX commands in the formulas of models, with their plain text.
_GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "varepsilon": "ε",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "Sigma": "Σ",
    "tau": "τ",
    "phi": "φ",
    "chi": "χ",
    "omega": "ω",
}
_SIGNS = {
    "sim": " ~ ",
    "mid": " | ",
    "propto": " ∝ ",
    "dots": "…",
    "ldots": "…",
    "cdot": "·",
    "times": " × ",
    "le": " ≤ ",
    "ge": " ≥ ",
    "ne": " ≠ ",
    "in": " ∈ ",
    "infty": "∞",
    "sum": "sum",
    "prod": "product",
    "log": "log ",
    "exp": "exp ",
    "quad": "  ",
    "qquad": "    ",
    ",": " ",
    ";": " ",
    "{": "{",
    "}": "}",
}
_NAMES = re.compile(r"\\(?:mathrm|mathbf|text|texttt|operatorname|mathcal)\{([^{}]*)\}")
# The arguments of these commands are innermost braces, or single letters.
_ARGUMENT = r"\s*(?:\{([^{}]*)\}|(\w))"
_FRACTION = re.compile(rf"\\t?frac{_ARGUMENT}{_ARGUMENT}")
_ROOT = re.compile(rf"\\sqrt{_ARGUMENT}")
_LETTER = re.compile(rf"\\({'|'.join(_GREEK)})(?![a-zA-Z])")
_SIZES = re.compile(r"\\(?:[bB]igg?[lr]?|left|right|textstyle|displaystyle)(?![a-zA-Z])")
_COMMAND = re.compile(r"\\([a-zA-Z]+|[,;{}])")
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def in_format(text: str, entries: Mapping[str, str], style: str) -> str:
    r"""
    Convert a LaTeX paragraph to another format.

    Parameters
    ----------
    text : str
        Text with ``align*``, inline formulas, and citations by ``\\cite``.
    entries : mapping of key to entry
        BibTeX entries of the cited works.
    style : {"latex", "markdown", "text"}
    """
    if style == "latex":
        return text
    parts, end = [], 0
    for match in _PARTS.finditer(text):
        parts.append(_words(text[end : match.start()], style))
        parts.append(_formula_or_works(match, entries, style))
        end = match.end()
    parts.append(_words(text[end:], style))
    return "".join(parts)


def _words(text, style):
    plain = unescape_latex(text)
    if style == "text":
        return plain
    return "\n".join(escape_markdown(line) for line in plain.split("\n"))


def _formula_or_works(match, entries, style):
    if match["keys"]:
        keys = match["keys"].split(",")
        if style == "markdown":
            return f" [{'; '.join(f'@{key}' for key in keys)}]"
        return f" ({'; '.join(_author_and_year(entries[key]) for key in keys)})"
    if match["block"] is None:
        if match["inline"] == "-":
            return "−"
        return f"${match['inline']}$" if style == "markdown" else plain_formula(match["inline"])
    if style == "markdown":
        return f"\n$$\n\\begin{{aligned}}\n{match['lines']}\n\\end{{aligned}}\n$$\n"
    lines = re.split(r"\\\\(?:\[[^\]]*\])?", match["lines"])
    return "\n".join(["", *(f"    {plain_formula(line)}" for line in lines if line.strip()), ""])


def plain_formula(formula: str) -> str:
    r"""
    Convert a LaTeX formula to plain text.

    Examples
    --------
    >>> print(plain_formula(r"\theta_k &\sim \mathrm{Beta}(a, \tfrac{1}{2})"))
    θ_k ~ Beta(a, 1/2)
    >>> print(plain_formula(r"\frac{s_{m} u}{\sqrt{n_j + \sqrt\chi}} z"))
    (s_m u)/(sqrt(n_j + sqrt(χ))) z
    """
    text = _SIZES.sub("", " ".join(formula.split()).replace("&", " ").replace("~", " "))
    text = _LETTER.sub(lambda match: _GREEK[match[1]], text)
    text = re.sub(r"(?<=[\w)}])\s*(?=\\(?:sqrt|t?frac))", " ", text)
    before = ""
    while text != before:  # from the inner braces to the outer ones
        before = text
        text = _NAMES.sub(r"\1", text)
        text = re.sub(r"([_^])\{\s*(\w+)\s*\}", r"\1\2", text)
        text = re.sub(r"([_^])\{([^{}\\]*)\}", r"\1(\2)", text)
        text = _ROOT.sub(lambda match: f"sqrt({(match[1] or match[2]).strip()})\0", text)
        text = _FRACTION.sub(_quotient, text)
    text = re.sub(r"\0+(?=\w)", " ", text).replace("\0", "")
    text = re.sub(r"\\bar\s*\{?(\w)\}?", "\\1\u0304", text)
    text = re.sub(r"\\(?:hat|tilde)\s*\{?(\w)\}?", r"\1", text)
    text = _COMMAND.sub(_sign, text)
    text = re.sub(r"\^(\d)", lambda match: match[1].translate(_POWERS), text)
    text = re.sub(r"([_^])\{(\w+)\}", r"\1\2", text)
    text = re.sub(r"([_^])\{([^{}]*)\}", r"\1(\2)", text)
    return re.sub(r"(?<=\S)  ? ?(?=\S)", " ", text.replace("{", "").replace("}", "").strip())


def _quotient(match):
    parts = ((match[1] or match[2]).strip(), (match[3] or match[4]).strip())
    return "/".join(part if part.isalnum() else f"({part})" for part in parts) + "\0"


def _sign(match):
    name = match[1]
    return _GREEK.get(name) or _SIGNS.get(name) or name


def _author_and_year(entry):
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", entry, re.MULTILINE))
    authors = re.sub(r"\{\\(.) ?(\w)\}", _letter, fields["author"])
    first, *rest = re.sub(r"[{}\\]", "", authors).split(" and ")
    surname = first.partition(",")[0]
    return f"{surname}{' et al.' if rest else ''}, {fields['year']}"


def _letter(match):
    accents = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308"}
    accents |= {"r": "\u030a", "v": "\u030c", "c": "\u0327"}
    return unicodedata.normalize("NFC", match[2] + accents.get(match[1], ""))


def merged(*texts: str) -> str:
    r"""
    Merge several BibTeX texts, keeping each work once.

    Raises
    ------
    ValueError
        If two different works have the same key.

    Examples
    --------
    >>> print(merged("@misc{a,\n  year = {2020},\n}", "@misc{a,\n  year = {2020},\n}"))
    @misc{a,
      year = {2020},
    }
    """
    entries: dict[str, str] = {}
    for entry in (part.strip() for text in texts for part in re.split(r"\n(?=@)", text)):
        if not entry:
            continue
        match = re.match(r"@\w+\s*\{\s*([^,\s]+)", entry)
        key = match[1] if match else entry
        if " ".join(entries.setdefault(key, entry).split()) != " ".join(entry.split()):
            raise fail("Two different references have the key {}", key, "", "rename one of them")
    return "\n\n".join(entries.values())

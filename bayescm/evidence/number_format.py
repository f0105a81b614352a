"""
Number formats in text files: decimal and thousands separators.

``1.000`` is a thousand in some countries and one in others, and files do not record which
convention they use. By default, numbers have a decimal point and no thousands separator.
`NumberFormat` stores another convention. `may_have_thousands` finds columns whose points are
ambiguous.
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from bayescm.validate import check_choice, fail

_DECIMAL = (".", ",")
_THOUSANDS = (".", ",", " ", "'", "_", "\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}")
# Numbers whose point may separate thousands. They do not begin with 0.
_GROUPED = r"[+-]?[1-9]\d{0,2}\.\d{3}"
# If there are integers of at least this size without a point, the point in numbers such as 1.250
# probably separates thousands.
_HUNDRED = 100
_THOUSAND = 1000
# Tolerance for numbers with three decimals: 1000 times a float64 below 1000 deviates from an
# integer by up to 1e-10.
_ROUNDING = 1e-6


class NumberFormat(NamedTuple):
    """Decimal and thousands separators, or None if not specified."""

    decimal: str | None = None
    thousands: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether the user specified a convention."""
        return self.decimal is not None or self.thousands is not None

    def without_effect(self, reason: str) -> Exception:
        """Return the error for a convention that does not apply to any number in the file."""
        name = "decimal" if self.decimal is not None else "thousands"
        value = getattr(self, name)
        return fail(f"`{name}={value!r}` has no effect: {reason}", ..., "", f"leave `{name}` out")

    def numbers(self, texts: pd.Series) -> pd.Series:
        """
        Convert strings to numbers, with NaN for missing values.

        Raises
        ------
        NotANumberError
            If a string is not a number in this convention, such as ``1.5`` if points separate
            thousands.

        Examples
        --------
        >>> NumberFormat(",", ".").numbers(pd.Series(["1.000", "12", "0,5"])).tolist()
        [1000.0, 12.0, 0.5]
        """
        thousands = self.thousands or ""
        decimal = self.decimal or ("," if thousands == "." else ".")
        plain, grouped = r"\d+", rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+"
        whole = rf"(?:{grouped}|{plain})" if thousands else plain
        fraction = rf"{re.escape(decimal)}\d*"
        # Digits before the decimal separator are optional, as in ",5".
        pattern = rf"[+-]?(?:{whole}(?:{fraction})?|{fraction}\d)(?:[eE][+-]?\d+)?"
        texts = texts.astype("str").str.strip()
        present = texts.notna()
        wrong = present & ~texts.str.fullmatch(pattern).fillna(False).astype(bool)
        if wrong.any():
            raise NotANumberError(str(texts.name), texts[wrong].iloc[0], self)
        if thousands:
            texts = texts.str.replace(thousands, "", regex=False)
        return pd.to_numeric(texts.str.replace(decimal, ".", regex=False))

    def numbers_or_texts(self, texts: pd.Series) -> pd.Series:
        """Convert strings to numbers if all are numeric, or return them unchanged."""
        try:
            return self.numbers(texts)
        except NotANumberError:
            return texts


class NotANumberError(ValueError):
    """Error for a string in place of a number, with the name of its column."""

    def __init__(self, column: str, text: str, number_format: NumberFormat | None = None):
        super().__init__(f"could not convert string to float: {text!r}")
        self.column, self.text, self.number_format = column, text, number_format or NumberFormat()

    def refusal(self, file: str) -> Exception:
        """Return the error for users, which names the file, the column and the option."""
        what = f"Column {self.column!r} of {file} has text where a number belongs"
        return fail(what, self.text, "", advice_about(self.text, self.number_format))


def number_format(decimal: str | None, thousands: str | None) -> NumberFormat:
    """
    Validate the separators of numbers.

    Raises
    ------
    ValueError
        If a separator is not supported, or both are the same.
    """
    if decimal is not None:
        check_choice("decimal", decimal, _DECIMAL)
    if thousands is not None:
        check_choice("thousands", thousands, _THOUSANDS)
    point = decimal or ("," if thousands == "." else ".")
    if thousands == point:
        todo = f"pass `decimal={',' if thousands == '.' else '.'!r}`, or leave one of them out"
        what = f"`decimal={point!r}` and `thousands={point!r}` are the same separator"
        raise fail(what, ..., "", todo)
    return NumberFormat(decimal, thousands)


def may_have_thousands(texts: pd.Series) -> str | None:
    """
    Return the first number with a point if all points could separate thousands, or None.

    Examples
    --------
    >>> may_have_thousands(pd.Series(["1.000", "12"]))
    '1.000'
    >>> may_have_thousands(pd.Series(["1.000", "0.500"])) is None
    True
    """
    texts = texts.dropna().astype("str").str.strip()
    texts = texts[texts.str.contains(".", regex=False)]
    if not len(texts) or not texts.str.fullmatch(_GROUPED).all():
        return None
    return str(texts.iloc[0])


def may_be_thousandths(numbers: pd.Series) -> bool:
    """Return True if all fractional numbers are from 1 to 1000 and have at most three decimals."""
    if numbers.dtype.kind != "f":
        return False
    values = numbers[np.isfinite(numbers)].to_numpy()
    fractional = np.abs(values[values % 1 != 0])
    if (fractional < 1).any() or (fractional >= _THOUSAND).any():
        return False
    return bool((np.abs(fractional * 1000 - np.round(fractional * 1000)) < _ROUNDING).all())


def has_hundreds(numbers: pd.Series) -> bool:
    """Return True if there are integers that suggest thousands separators in other numbers."""
    return bool(((numbers.abs() >= _HUNDRED) & (numbers % 1 == 0)).any())


def with_decimal_comma(texts: pd.Series) -> str | None:
    """
    Return the first number with a decimal comma, or None.

    The result is None unless all values other than integers have a decimal comma.

    Examples
    --------
    >>> with_decimal_comma(pd.Series(["0,5", "1"]))
    '0,5'
    >>> with_decimal_comma(pd.Series(["0,5", "Doe"])) is None
    True
    """
    texts = texts.dropna().astype("str").str.strip()
    texts = texts[~texts.str.fullmatch(r"[+-]?\d+")]
    is_decimal = texts.str.fullmatch(r"[+-]?\d*,\d+")
    return str(texts.iloc[0]) if len(texts) and is_decimal.all() else None


def two_meanings(text: str) -> str:
    """Return both readings of a number such as 1.250, with the option for each."""
    joined = text.replace(".", "")
    return f"pass `thousands='.'` if {text} is {joined}, or `decimal='.'` if it is {float(text):g}"


def advice_about(text: str, number_format: NumberFormat) -> str:
    """
    Return advice about a string that is not a number.

    Examples
    --------
    >>> advice_about("0,85", NumberFormat())
    "pass `decimal=','` if the comma is a decimal comma"
    >>> advice_about("x", NumberFormat())
    'correct that row'
    """
    text = text.strip()
    patterns = {
        r"\d{1,3}(\.\d{3})+,\d+": "pass `thousands='.'` and `decimal=','`",
        r"\d{1,3}(,\d{3})+\.\d+": "pass `thousands=','`",
        r"\d{1,3}(\.\d{3}){2,}": "pass `thousands='.'`",
        r"\d{1,3}(,\d{3}){2,}": "pass `thousands=','`",
        r"[1-9]\d{0,2},\d{3}": "pass `thousands=','` if the comma separates thousands, or "
        "`decimal=','` if it is a decimal comma",
        r"\d*,\d+": "pass `decimal=','` if the comma is a decimal comma",
        r"[1-9]\d{0,2}\.\d{3}": "pass `thousands='.'` if the point separates thousands",
        r"\d*\.\d+": "leave `decimal` and `thousands` out if the point is a decimal point",
    }
    for pattern, todo in patterns.items():
        if re.fullmatch(rf"[+-]?{pattern}", text):
            given = [name for name in ("decimal", "thousands") if getattr(number_format, name)]
            is_passed = any(f"{name}=" in todo for name in given)
            return "correct that row, or the separators that were passed" if is_passed else todo
    if re.fullmatch(r"[+-]?\d{1,3}(\D\d{3})+", text):
        return f"pass `thousands={re.sub(r'^[+-]?[0-9]+', '', text)[0]!r}`"
    return "correct that row"

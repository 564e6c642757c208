"""Numbers and labels in the CSV files of a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

import numpy as np

from ...exact.arrays import Array, BoolArray, FloatArray, IntArray

#: Significant digits of numbers that are not integers.
_DIGITS = 6


def csv_label(value: object) -> str:
    """Return a label as a CSV field that is safe to open in a spreadsheet and loses nothing."""
    if value is None:
        return "NULL"
    text = str(value)
    if isinstance(value, str) and _needs_mark(text):
        text = "'" + text
    if any(mark in text for mark in ',"\n\r') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _needs_mark(text: str) -> bool:
    """Return True for labels that need an apostrophe in front (:mod:`...bundle.contents` has the rule)."""
    return text == "NULL" or text.lstrip()[:1] in tuple("=+-@'＝＋－＠") or text[:1] in ("\t", "\r", "\n")


def csv_integers(values: IntArray, empty: BoolArray) -> list[str]:
    """Return integers as CSV fields, empty where marked."""
    texts = list(map(str, values.tolist()))
    for k in np.flatnonzero(empty).tolist():
        texts[k] = ""
    return texts


def csv_decimals(values: FloatArray, empty: BoolArray, direction: str) -> list[str]:
    """Return numbers as CSV fields of six digits; each distinct number is formatted once, as there are few."""
    distinct, which = np.unique(values, return_inverse=True)
    texts = np.array([_decimal(value, direction) for value in distinct.tolist()], dtype=object)[which.reshape(-1)]
    texts[empty] = ""
    return list(texts.tolist())


def _decimal(value: float, direction: str) -> str:
    """Round a number to six digits in a direction, and format it."""
    # from the shortest decimal of the double, so that 1.1 stays 1.1
    return decimal_text(float(Context(prec=_DIGITS, rounding=direction).create_decimal(Decimal(repr(value)))))


def decimal_text(rounded: float) -> str:
    """Format a number of at most six digits."""
    return f"{rounded + 0.0:.{_DIGITS}g}"  # no minus before zero


def distinct_rows(columns: Sequence[Array]) -> tuple[IntArray, IntArray]:
    """Return the index of the first of each distinct row, and for each row which of these it equals.

    A million noisy counts have a few thousand values, and the rest of a line mostly follows from the count, so each
    distinct line is formatted once.
    """
    _, first, which = np.unique(columns[0], return_index=True, return_inverse=True)
    which = which.reshape(-1)
    for column in columns[1:]:
        if not np.array_equal(column[first][which], column):
            _, codes = np.unique(column, return_inverse=True)
            _, first, which = np.unique(which * (codes.max() + 1) + codes, return_index=True, return_inverse=True)
    return first, which


def table_files(number: int) -> list[str]:
    """Return the names of the CSV files of this number of tables."""
    return ["counts.csv"] if number == 1 else [f"counts_{k}.csv" for k in range(1, number + 1)]


def rounded_file(name: str) -> str:
    """Return the name of the file of rounded counts of the table with this file."""
    return f"{name.removesuffix('.csv')}_rounded.csv"

"""Numbers and labels as the CSV files of a bundle have them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

import numpy as np

from ...exact.arrays import Array, BoolArray, FloatArray, IntArray

_DIGITS = 6


def written(value: object) -> str:
    """A label in a CSV file: safe to open in a spreadsheet, and read back without loss."""
    if value is None:
        return "NULL"
    text = str(value)
    if isinstance(value, str) and _needs_mark(text):
        text = "'" + text
    if any(mark in text for mark in ',"\n\r') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _needs_mark(text: str) -> bool:
    return text == "NULL" or text.lstrip()[:1] in tuple("=+-@'＝＋－＠") or text[:1] in ("\t", "\r", "\n")


def integers(values: IntArray, empty: BoolArray) -> list[str]:
    """Whole numbers, and nothing where a cell is empty."""
    texts = list(map(str, values.tolist()))
    for k in np.flatnonzero(empty).tolist():
        texts[k] = ""
    return texts


def rounded(values: FloatArray, empty: BoolArray, direction: str) -> list[str]:
    """Six digits of each; few values are different, so each is written once."""
    distinct, places = np.unique(values, return_inverse=True)
    texts = np.array([_decimal(value, direction) for value in distinct.tolist()], dtype=object)[places.reshape(-1)]
    texts[empty] = ""
    return list(texts.tolist())


def _decimal(value: float, direction: str) -> str:
    # the shortest decimal that is this double, so that 1.1 stays 1.1
    return decimal_text(float(Context(prec=_DIGITS, rounding=direction).create_decimal(Decimal(repr(value)))))


def decimal_text(rounded: float) -> str:
    """A number of six digits as tables have it."""
    return f"{rounded + 0.0:.{_DIGITS}g}"  # no minus before zero


def distinct_rows(columns: Sequence[Array]) -> tuple[IntArray, IntArray]:
    """Where each different row stands first, and which of those each row is like.

    A million noisy counts have a few thousand values, and what is said of a count mostly follows from it: each such
    line is put together once.
    """
    _, first, alike = np.unique(columns[0], return_index=True, return_inverse=True)
    alike = alike.reshape(-1)
    for column in columns[1:]:
        if not np.array_equal(column[first][alike], column):
            _, codes = np.unique(column, return_inverse=True)
            _, first, alike = np.unique(alike * (codes.max() + 1) + codes, return_index=True, return_inverse=True)
    return first, alike

"""Reading somebody else's matrix: its decimals are taken as they are."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from ..errors import InvalidInput, WrongType
from ..exact.rationals import as_fraction
from ..exact.tables import Table


@dataclass(frozen=True, eq=False)
class DecimalTable(Table):
    """The exact table of a matrix that was written in decimals.

    Its privacy is judged exactly, as the decimals stand. Equalities that decimals can only show rounded, such as
    P[0, 0] = P[1, 1] = 1/3, are for whoever checks properties to forgive.
    """


#: Rows whose sum is further from one than this are not distributions.
ROW_TOLERANCE = 1e-6


def read_matrix(matrix: object) -> tuple[Table, tuple[str, ...]]:
    """An exact table from a row-stochastic matrix, and what had to be said about it.

    A float stands for its shortest decimal (0.1 is 1/10), text and fractions for themselves. A row that adds up to
    one only within 1e-6 is divided by its sum, and a note says so; a row further off is refused. Without a single
    fraction (1/3 as text, a Fraction) the matrix is one of decimals, and the table a :class:`DecimalTable`.
    """
    if isinstance(matrix, np.ma.MaskedArray):
        raise WrongType("a matrix must not be masked.", "Fill or drop the masked entries first.")
    values = matrix.to_numpy() if hasattr(matrix, "to_numpy") else matrix
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidInput(
            "every row of a matrix needs the same number of columns; these differ.", "Give rows of one length."
        ) from None
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidInput(
            f"a matrix needs rows (truths) and columns (reports); got an array of shape {array.shape}.",
            "Give a row for each true value.",
        )
    if array.shape[0] < 2:
        raise InvalidInput("a mechanism needs at least two truths (rows); got one.", "Give a row for each true value.")
    if array.dtype.kind == "b" or array.dtype.kind not in "fiuOUS":
        raise WrongType(
            f"a matrix must hold numbers; got {array.dtype} values.", "Give numbers, or texts such as '1/3'."
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise InvalidInput(
            f"probabilities must be finite; row {row}, column {column} is {array[row, column]}.", "Fill it in first."
        )
    if array.dtype.kind in "OUS":
        weights, codes, one = _exact_weights(array)
    else:
        weights, codes, one = _decimal_weights(array)
    kind = Table if has_fractions(array) else DecimalTable
    least = min(range(len(weights)), key=weights.__getitem__)
    if weights[least] < 0:
        row, column = np.argwhere(codes == least)[0]
        value = float(Fraction(weights[least], one))
        raise InvalidInput(
            f"probabilities must not be negative; row {row}, column {column} is {value:.9g}.",
            "If that is rounding, set it to 0 and divide the row by its sum.",
        )
    table = kind.from_codes(weights, codes)
    off = [abs(Fraction(total, one) - 1) for total in table.totals]
    worst = max(range(len(off)), key=off.__getitem__)
    if off[worst] > ROW_TOLERANCE:
        total = float(Fraction(table.totals[worst], one))
        raise InvalidInput(
            f"every row must add up to 1 (rows are true values, columns reports); row {worst} adds up to {total:.9g}.",
            "If columns are the true values, transpose the matrix.",
        )
    if off[worst] == 0:
        return table, ()
    count = sum(x > 0 for x in off)
    return table, (
        f"{count} of {len(off)} rows did not add up to exactly 1 (the furthest is off by {float(off[worst]):.2g}) "
        "and were divided by their sums",
    )


def has_fractions(array: Any) -> bool:
    """Whether an entry is a fraction, or text written as one; decimals and whole numbers are not."""
    if array.dtype.kind not in "OUS":
        return False
    return any(
        isinstance(value, Fraction) or "/" in (value.decode("ascii", "replace") if isinstance(value, bytes) else value)
        for value in array.ravel().tolist()
        if isinstance(value, Fraction | str | bytes)
    )


def _decimal_weights(array: Any) -> tuple[list[int], Any, int]:
    distinct, codes = np.unique(array, return_inverse=True)
    decimals = [Decimal(str(v)).as_tuple() for v in distinct]  # the shortest that rounds to v in its own precision
    places = max(0, *(-int(d.exponent) for d in decimals))
    weights = []
    for d in decimals:
        digits = int("".join(map(str, d.digits))) * (-1 if d.sign else 1)
        weights.append(digits * 10 ** (places + int(d.exponent)))
    return weights, codes.reshape(array.shape), 10**places


def _exact_weights(array: Any) -> tuple[list[int], Any, int]:
    number: dict[Fraction, int] = {}
    codes = np.empty(array.shape, np.int64)
    for place, value in np.ndenumerate(array):
        what = f"the probability at row {place[0]}, column {place[1]}"
        if isinstance(value, bytes):
            value = value.decode("ascii", "replace")
        elif isinstance(value, str | float | np.floating):
            value = str(value)  # a float by its decimals
        exact = as_fraction(value, what)
        codes[place] = number.setdefault(exact, len(number))
    one = lcm(*(p.denominator for p in number))
    return [p.numerator * (one // p.denominator) for p in number], codes, one

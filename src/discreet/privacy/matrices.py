"""Reading a user's matrix: its decimals are exact numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from ..errors import InvalidInput, WrongType
from ..exact.arrays import as_float
from ..exact.integers import is_integer
from ..exact.rationals import as_fraction
from ..exact.tables import Table
from ..spaces import Counts, Labels, Space
from ..wording import first_of


@dataclass(frozen=True)
class Names:
    """The names of the rows and the columns of a matrix; empty where it has none.

    Rows with names are labels, unless the names are consecutive numbers; rows without are counts.
    """

    rows: tuple[str | int, ...] = ()
    columns: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, matrix: object, shape: tuple[int, ...]) -> Names:
        """Read the index and the columns of a data frame."""
        return cls(_names(getattr(matrix, "index", None), shape[0]), _names(getattr(matrix, "columns", None), shape[1]))

    @cached_property
    def labels(self) -> tuple[str | int, ...]:
        """The names of the rows; empty if they have none or are numbered consecutively."""
        return () if not self.rows or are_consecutive(self.rows) else self.rows

    def inputs(self, rows: int, space: Space | None = None) -> Space:
        """Return the space of the rows: the given one, whose order names must have, or else labels or counts."""
        if space is None:
            return Labels(self.labels) if self.labels else Counts(rows - 1)
        if self.labels and space.size == rows:
            _refuse_other_order(space, self.labels)
        return space

    def outputs(self, columns: int, inputs: Space) -> Space:
        """Return the space of the columns: labels if rows have labels, else that of the rows if it fits, or counts."""
        if self.labels and self.columns and not are_consecutive(self.columns):
            return Labels(self.columns)
        return inputs if inputs.size == columns else Counts(columns - 1)

    def notes(self, inputs: Space, outputs: Space | None) -> tuple[str, ...]:
        """Return notes on how the names of rows and columns were read, where that is not obvious."""
        rows: tuple[str, ...] = ()
        if self.labels:
            rows = (
                f"rows are named {first_of([str(name) for name in self.labels])}: they were judged as labels, any two "
                "of which are compared; rows named 0, 1, 2, ... are counts",
            )
        elif renamed := _renamed(self.rows, inputs):
            rows = (f"rows are {renamed}, in this order",)
        renamed = _renamed(self.columns, outputs)
        return (*rows, f"columns are {renamed}, in this order") if renamed else rows


@dataclass(frozen=True, eq=False)
class MatrixTable(Table):
    """The exact table of a user's matrix, with the names of its rows and columns.

    Attributes
    ----------
    decimal
        True if its entries were decimals. Its privacy is judged exactly for these decimals. Equalities that decimals
        can only show rounded, such as P[0, 0] = P[1, 1] = 1/3, are checked with a tolerance.
    names
        The names of its rows and columns in a data frame or a file.
    """

    decimal: bool = False
    names: Names = Names()


#: Largest distance from one of the sum of a row that is read as a distribution.
ROW_TOLERANCE = 1e-6


def read_matrix(matrix: object) -> tuple[MatrixTable, tuple[str, ...]]:
    """Return an exact table from a row-stochastic matrix, and notes about it.

    A float stands for its shortest decimal (0.1 is 1/10); text and fractions are exact. A row that adds up to one only
    within 1e-6 is divided by its sum, with a note; a row further off is refused. A matrix without a single fraction
    (1/3 as text, a Fraction) counts as one of decimals. The index and the columns of a data frame are its names.
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
    least = min(range(len(weights)), key=weights.__getitem__)
    if weights[least] < 0:
        row, column = np.argwhere(codes == least)[0]
        value = as_float(Fraction(weights[least], one))
        raise InvalidInput(
            f"probabilities must not be negative; row {row}, column {column} is {value:.9g}.",
            "If that is rounding, set it to 0 and divide the row by its sum.",
        )
    exact = MatrixTable.from_codes(weights, codes)
    table = replace(exact, decimal=not has_fractions(array), names=Names.of(matrix, array.shape))
    off = [abs(Fraction(total, one) - 1) for total in table.totals]
    worst = max(range(len(off)), key=off.__getitem__)
    if off[worst] > ROW_TOLERANCE:
        total = as_float(Fraction(table.totals[worst], one))
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


def _names(labels: Any, size: int) -> tuple[str | int, ...]:
    """Return the index or the columns of a data frame as texts and integers; nothing for anything else."""
    if callable(labels) or labels is None or len(labels) != size:  # a list has a method named index
        return ()
    return tuple(int(name) if is_integer(name) else str(name) for name in labels)


def are_consecutive(names: Sequence[str | int]) -> bool:
    """Return whether names are consecutive whole numbers: 0, 1, 2 or "5", "6", "7.0"."""
    texts = [str(name).strip() for name in names]
    if not all(re.fullmatch(r"-?\d{1,18}(\.0+)?", text) for text in texts):
        return False
    return all(int(b.split(".")[0]) - int(a.split(".")[0]) == 1 for a, b in pairwise(texts))


def _renamed(names: tuple[str | int, ...], space: Space | None) -> str:
    """Return the values that names were read as, in words; nothing if they are the names of the values of the space."""
    if space is None or space.size != len(names):
        return ""
    labels, values = [str(name) for name in names], [str(space.value(place)) for place in range(len(names))]
    if labels == values:
        return ""
    return f"named {first_of(labels)}: they were taken as {first_of(values)}"


def names_of(table: Table) -> Names:
    """Return the names that came with a table."""
    return table.names if isinstance(table, MatrixTable) else Names()


def _refuse_other_order(space: Space, names: tuple[str | int, ...]) -> None:
    values = [str(space.value(i)) for i in range(len(names))]
    labels = [str(name) for name in names]
    if values != labels and sorted(values) == sorted(labels):
        raise InvalidInput(
            "the rows have the names of the values of the space, in another order.",
            "Sort the rows as the values of the space are.",
            argument="inputs",
        )


def has_fractions(array: Any) -> bool:
    """Return whether an entry is a fraction, also as text; decimals and whole numbers are not."""
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
    decimal_places = max(0, *(-int(d.exponent) for d in decimals))
    weights = []
    for d in decimals:
        digits = int("".join(map(str, d.digits))) * (-1 if d.sign else 1)
        weights.append(digits * 10 ** (decimal_places + int(d.exponent)))
    return weights, codes.reshape(array.shape), 10**decimal_places


def _exact_weights(array: Any) -> tuple[list[int], Any, int]:
    number: dict[Fraction, int] = {}
    codes = np.empty(array.shape, np.int64)
    for entry, value in np.ndenumerate(array):
        label = f"the probability at row {entry[0]}, column {entry[1]}"
        if isinstance(value, bytes):
            value = value.decode("ascii", "replace")
        elif isinstance(value, str | float | np.floating):
            value = str(value)  # a float by its decimals
        exact = as_fraction(value, label)
        codes[entry] = number.setdefault(exact, len(number))
    one = lcm(*(p.denominator for p in number))
    return [p.numerator * (one // p.denominator) for p in number], codes, one

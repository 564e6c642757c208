"""Channels: the probabilities of a mechanism, a table or a matrix, exact if possible, in floats on demand.

Properties and utility take "a mechanism, an exact table, or a matrix". A channel is their common form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from .errors import ON_A_RANGE, InvalidInput, InWords, Unsupported, WrongType
from .exact.arrays import FloatArray, as_floats
from .exact.base import Kernel
from .exact.tables import Table, refuse_large
from .privacy.matrices import ROW_TOLERANCE, Names, names_of, read_matrix
from .spaces import Space


@dataclass(frozen=True, eq=False)
class Channel:
    """The probabilities of reports given truths: exact if possible, floats on demand."""

    inputs: Space
    outputs: Space
    source: Any = field(repr=False)

    @classmethod
    def of(cls, subject: object) -> Channel:
        """Read a mechanism, an exact Table, or a row-stochastic matrix (rows are truths)."""
        if isinstance(subject, Channel):
            return subject
        if isinstance(subject, Table):
            _refuse_narrow(subject.shape)
            return cls(*_spaces(names_of(subject), subject.shape), subject)
        if hasattr(subject, "kernel") and hasattr(subject, "inputs") and hasattr(subject, "outputs"):
            if subject.inputs.size is None or subject.outputs.size is None:
                raise Unsupported(
                    "this mechanism has no end of true or reported values, so it has no finite table.",
                    f"Use {ON_A_RANGE} for counts in 0..n first.",
                )
            return cls(subject.inputs, subject.outputs, subject)
        entries = subject.to_numpy() if hasattr(subject, "to_numpy") else subject  # a data frame, also with names
        if _is_exact(entries):
            return cls.of(read_matrix(subject)[0])
        matrix = read_stochastic(entries)
        return cls(*_spaces(Names.of(subject, matrix.shape), matrix.shape), matrix)

    @cached_property
    def table(self) -> Table | None:
        """The exact table; None for a float matrix or irrational probabilities."""
        if isinstance(self.source, Table):
            return self.source
        if isinstance(self.source, np.ndarray):
            return None
        kernel: Kernel = self.source.kernel
        return kernel.table() if kernel.rational else None

    @property
    def reports_are_sets(self) -> bool:
        """True if a report is a set of truths, so that it has no distance from any of them."""
        kernel = getattr(self.source, "kernel", None)
        return kernel is not None and kernel.reports_are_sets

    @property
    def decimal(self) -> bool:
        """True if its probabilities were decimals, which are rounded numbers."""
        if isinstance(self.source, np.ndarray | Table):
            return getattr(self.source, "decimal", isinstance(self.source, np.ndarray))
        if getattr(self.source, "family", None) != "from_matrix":
            return False
        return self.source.certificate.details.get("decimals") is True

    @cached_property
    def matrix(self) -> FloatArray:
        """The probabilities as floats; rows are truths."""
        if isinstance(self.source, Table):
            return self.source.matrix()
        return self.source if isinstance(self.source, np.ndarray) else np.asarray(self.source.matrix)

    @cached_property
    def screen(self) -> FloatArray:
        """The exact table in floats, close enough to rule rows out."""
        return self.matrix if self.table is None or self.table is self.source else self.table.matrix()

    @property
    def shape(self) -> tuple[int, int]:
        truths, reports = self.inputs.size, self.outputs.size
        assert truths is not None  # Channel.of refuses spaces without end
        assert reports is not None
        return truths, reports

    def refuse_if_large(self) -> Channel:
        """Return the channel itself; refuse it if its table would be too large."""
        refuse_large(*self.shape)
        return self

    def probability(self, place: tuple[int, int]) -> float:
        """Return the probability of a report given a truth, by their indices, as a float."""
        kernel = getattr(self.source, "kernel", None)
        return float(self.matrix[place] if kernel is None else kernel.approximate(*place))

    def words(self, place: tuple[int, int]) -> str:
        return f"P(report {self.outputs.value(place[1])} | truth {self.inputs.value(place[0])})"


def _is_exact(subject: object) -> bool:
    """Return whether this is a matrix of text or fractions, which are exact, and not of floats."""
    if not isinstance(subject, list | tuple | np.ndarray):
        return False
    entries = np.asarray(subject, dtype=object)
    return entries.ndim == 2 and any(isinstance(entry, str | Fraction) for entry in entries.ravel().tolist())


def _spaces(names: Names, shape: tuple[int, ...]) -> tuple[Space, Space]:
    inputs = names.inputs(shape[0])
    return inputs, names.outputs(shape[1], inputs)


def _refuse_narrow(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or min(shape) < 2:
        raise InvalidInput.must_be(
            "a mechanism",
            "for at least two true and two reported values",
            InWords(f"shape {shape}"),
            argument="mechanism",
        )


def read_stochastic(values: object) -> FloatArray:
    """Read a matrix of probabilities, a row per truth; divide rows that add up to one within 1e-6 by their sums."""
    try:
        matrix = as_floats(values)
    except (TypeError, ValueError):
        raise WrongType.must_be(
            "what is given",
            "a mechanism, an exact Table or a matrix of probabilities",
            InWords(type(values).__name__),
            argument="mechanism",
        ) from None
    _refuse_narrow(matrix.shape)
    if isinstance(values, np.ma.MaskedArray) or not np.all(np.isfinite(matrix)):
        raise InvalidInput(
            "probabilities must be finite numbers; the matrix has NaN, infinite or masked entries.",
            "Fill them in, or drop them first.",
            argument="mechanism",
        )
    if matrix.min() < 0:
        i, j = np.unravel_index(int(matrix.argmin()), matrix.shape)
        raise InvalidInput(
            f"probabilities must not be negative; row {i}, column {j} is {matrix[i, j]}.",
            "If that is rounding, set it to 0 and divide the row by its sum.",
            argument="mechanism",
        )
    sums = matrix.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROW_TOLERANCE:
        is_transposed = np.all(np.abs(matrix.sum(axis=0) - 1) <= ROW_TOLERANCE)
        hint = (
            "The columns do. Give the transpose: rows are true values."
            if is_transposed
            else "Divide it by its sum, if you mean that."
        )
        raise InvalidInput(
            f"every row must add up to 1 (within {ROW_TOLERANCE}); row {worst} sums to {sums[worst]}.",
            hint,
            argument="mechanism",
        )
    return np.asarray(matrix / sums[:, None])

"""From a value to the number of its band, in SQL: comparisons with constants, which no value can make fail.

A column is read once as the type of its edges and compared with both ends; then half of the edges that are left are
ruled out by each further comparison. NaN is above every number in every engine and so beyond the last end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..questions.bands import Bands
from ..questions.expressions import Literal
from .dialect import Dialect


class BandSql:
    """The SQL of one banded column.

    Parameters
    ----------
    bands
        Its edges.
    column, kind
        The column, and its kind in the dialect.
    dialect
        The engine's dialect.

    Attributes
    ----------
    reading
        SQL that reads the column: NULL where it holds no number, or no day.

    Examples
    --------
    >>> from .duckdb.dialect import DUCKDB
    >>> ages = BandSql(Bands((18, 30, 45, 65)), "age", "integer", DUCKDB)
    >>> ages.reading, ages.inside("x"), ages.place("x")
    ('"age"', '(x >= 18 AND x < 65)', 'CASE WHEN x < 45 THEN CASE WHEN x < 30 THEN 0 ELSE 1 END ELSE 2 END')
    """

    def __init__(self, bands: Bands, column: str, kind: str, dialect: Dialect) -> None:
        self._bands = bands
        self._dialect = dialect
        self._missing = f"{dialect.quoted(column)} IS NULL"
        self._whole = kind == "integer" and bands.whole
        self.reading = dialect.quoted(column) if self._whole else dialect.reading(column, bands.type, kind)

    def _constant(self, literal: Literal) -> str:
        return self._dialect.literal(literal, whole=self._whole)

    def inside(self, x: str) -> str:
        """Return a test that holds where a value that was read, called ``x``, is in some band."""
        low, high = self._bands.ends
        tests = []
        if not (self._bands.below and self._whole):
            tests.append(f"{x} >= {self._constant(low)}")
        if not (self._bands.above and self._whole):
            tests.append(f"{x} {'<=' if self._bands.above else '<'} {self._constant(high)}")
        return f"({' AND '.join(tests)})" if tests else f"({x} IS NOT NULL)"

    def place(self, x: str) -> str:
        """Return the number of the band of ``x``, which is in one."""
        return self._search(x, self._bands.inner, 0)

    def _search(self, x: str, edges: Sequence[Literal], first: int) -> str:
        if not edges:
            return str(first)
        half = len(edges) // 2
        below, above = self._search(x, edges[:half], first), self._search(x, edges[half + 1 :], first + half + 1)
        return f"CASE WHEN {x} < {self._constant(edges[half])} THEN {below} ELSE {above} END"

    def code_of(self, x: str, missing: tuple[str, int] | None, rest: int | None) -> str:
        """Return the place of a row's value among the declared ones; NULL for a row in no group.

        Parameters
        ----------
        x
            The name of the column's reading.
        missing
            The test for missing values and their place, where they are declared.
        rest
            The place of all other values, where they are declared.
        """
        first = "" if missing is None else f"WHEN {missing[0]} THEN {missing[1]} "
        other = "NULL" if rest is None else str(rest)
        return f"CASE {first}WHEN {self.inside(x)} THEN {self.place(x)} ELSE {other} END"

    def code(self, missing: int | None, rest: int | None) -> str:
        """Return the same from the column itself."""
        return self.code_of(self.reading, None if missing is None else (self._missing, missing), rest)

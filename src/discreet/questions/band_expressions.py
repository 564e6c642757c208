"""Bands that are written in SQL: date_trunc, width_bucket, floor(age / 10) * 10, and CASE with constant conditions.

Each is read into the definition of ``bands``, so that the same bands are one question however they were written. What
is not bands, or would put missing values into one, is refused with the ``--bands`` line to write instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from ..errors import InvalidInput, arg
from ..sources.parsing import duckdb_sql
from .bands import MAX_BANDS, PERIODS, Bands, DeclaredBands, Edge, bands_text, read_bands
from .conditions import bare, column_name, only, piece, read_condition, refusal
from .expressions import AndOr, Compare, Literal, Member, Test, atoms

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

#: Nodes that may be bands.
BAND_NODES = frozenset({"TimestampTrunc", "DateTrunc", "WidthBucket", "Mul", "Case"})


@dataclass(frozen=True)
class BandExpression:
    """Bands of a column as a question writes them.

    Attributes
    ----------
    column
        The column.
    text
        Its SQL, for messages.
    declared
        The bands, if the expression states all of them.
    period, width
        Otherwise the period of the calendar, or the width of each band.
    whole
        True if these are bands of whole numbers only: ``age <= 17`` is below 18.
    """

    column: str
    text: str
    declared: DeclaredBands | None = None
    period: str | None = None
    width: int | None = None
    whole: bool = False

    def complete(self, column: str, ends: DeclaredBands | None) -> DeclaredBands:
        """Return the bands, with the ends declared outside the question if it does not state them itself."""
        if self.declared is not None:
            if ends is not None:
                raise InvalidInput(
                    f"the question has the bands of {column!r} in it, {self.text}.",
                    f"Leave {arg('bands')} out, or write {column} alone in the question.",
                )
            return self.declared
        if self.period is not None:
            line = f"{column}={self.period}:{PERIODS[self.period].example}"
            fits = ends is not None and ends.period == self.period
        else:
            line = f"{column}=0..{10 * (self.width or 1)}:{self.width}"
            fits = ends is not None and _steps_of(ends.bands, self.width or 1)
        if ends is None or not fits:
            raise InvalidInput(
                f"{self.text} does not state where its bands begin and end"
                f"{'' if ends is None else ', and other bands are declared'}.",
                f"State it outside the question, such as {arg('bands', [line])}.",
                argument="bands",
            )
        return ends

    def check_kind(self, column: str, kind: str) -> None:
        """Refuse an expression with another meaning for a column that may hold fractions."""
        if self.whole and kind != "integer" and self.declared is not None:
            line = bands_text(column, self.declared.bands)
            raise InvalidInput(
                f"{self.text} leaves out fractions between its bands, and {column!r} may hold some.",
                f"Write {column} alone in the question and {arg('bands', [line])}, or < and >= only.",
                argument="bands",
            )


def _steps_of(bands: Bands, width: int) -> bool:
    wholes = [edge for edge in bands.edges if isinstance(edge, int)]
    regular = all(high - low == width for low, high in pairwise(wholes)) and not (bands.below or bands.above)
    return regular and len(wholes) == len(bands.edges) and wholes[0] % width == 0


def read_band_expression(node: Expression, tables: frozenset[str]) -> BandExpression:
    """Read a parsed expression as bands, or refuse it with what to write instead.

    >>> from sqlglot import parse_one
    >>> written = "CASE WHEN age < 18 THEN 'minor' WHEN age >= 18 THEN 'adult' END"
    >>> found = read_band_expression(parse_one(written, read="duckdb"), frozenset())
    >>> found.column, found.declared.bands
    ('age', Bands(edges=(18,), below=True, above=True))
    """
    name = type(node).__name__
    if name in ("TimestampTrunc", "DateTrunc"):
        return _truncated(node, tables)
    if name == "WidthBucket":
        return _bucket(node, tables)
    if name == "Mul":
        return _floor(node, tables)
    return _case(node, tables)


def no_bands(node: Expression) -> InvalidInput:
    """Return the error for an expression that is not bands."""
    columns = sorted({str(inner.name) for inner in node.find_all(_column_type())})
    column = columns[0] if len(columns) == 1 else "age"
    is_date = any(word in type(node).__name__ for word in ("Date", "Time", "Year", "Month", "Day", "Extract"))
    line = f"{column}=month:{PERIODS['month'].example}" if is_date else f"{column}=18,30,45,65"
    return refusal(
        f"GROUP BY {piece(node)} is not by a column",
        f"Group by {column} itself and declare its bands: {arg('bands', [line])}.",
    )


def _column_type() -> type[Expression]:
    from sqlglot.expressions import Column

    return Column


def _column(node: Expression, whole: Expression, tables: frozenset[str]) -> str:
    node = bare(node)
    if type(node).__name__ != "Column":
        raise no_bands(whole)
    return column_name(node, tables)


def _truncated(node: Expression, tables: frozenset[str]) -> BandExpression:
    only(node, "this", "unit")
    unit, inside = str(node.args["unit"].name).lower(), bare(node.this)
    if type(inside).__name__ in ("Cast", "TryCast"):  # a timestamp is read as its day under any cast
        inside = bare(inside.this)
    column = _column(inside, node, tables)
    if unit not in PERIODS:
        raise refusal(
            f"{piece(node)} is of a period that has no bands here",
            f"Write one of {', '.join(PERIODS)}, and {arg('bands', [f'{column}=month:2024-01..2024-12'])}.",
        )
    return BandExpression(column, piece(node)[1:-1], period=unit)


def _constant(node: Expression | None) -> int | None:
    """Return a whole number that is written out."""
    if node is None:
        return None
    text = duckdb_sql(bare(node))
    text = text.removesuffix(".0")
    return int(text) if text.lstrip("-").isdigit() and len(text) < 16 else None


def _bucket(node: Expression, tables: frozenset[str]) -> BandExpression:
    only(node, "this", "min_value", "max_value", "num_buckets")
    low, high, many = (_constant(node.args.get(part)) for part in ("min_value", "max_value", "num_buckets"))
    column = _column(node.this, node, tables)
    if low is None or high is None or many is None or not (low < high and 1 <= many <= MAX_BANDS):
        raise refusal(
            f"{piece(node)} is not made of whole numbers, the first below the second",
            f"Declare the edges outside the question: {arg('bands', [f'{column}=18,30,45,65'])}.",
        )
    edges = [low + Fraction(k * (high - low), many) for k in range(many + 1)]
    if any(Fraction(repr(float(edge))) != edge for edge in edges):
        raise refusal(
            f"{piece(node)} has edges that no decimal number is",
            f"Declare them outside the question: {arg('bands', [f'{column}={low},...,{high}'])}.",
        )
    edge_list = ",".join(str(int(edge)) if edge.denominator == 1 else repr(float(edge)) for edge in edges)
    return BandExpression(column, piece(node)[1:-1], read_bands(column, edge_list))


def _floor(node: Expression, tables: frozenset[str]) -> BandExpression:
    """Read ``floor(column / w) * w``, in either order."""
    only(node, "this", "expression")
    call, factor = bare(node.this), bare(node.expression)
    if type(factor).__name__ == "Floor":
        call, factor = factor, call
    width = _constant(factor)
    if type(call).__name__ != "Floor" or width is None or width < 1:
        raise no_bands(node)
    only(call, "this")
    inside = bare(call.this)
    if type(inside).__name__ != "Div" or _constant(inside.expression) != width:
        raise no_bands(node)
    return BandExpression(_column(inside.this, node, tables), piece(node)[1:-1], width=width)


# ------------------------------------------------------------------------------------------------ CASE


def _case(node: Expression, tables: frozenset[str]) -> BandExpression:
    """Read a CASE whose conditions compare one column with constants, and whose results are texts."""
    if node.args.get("this") is not None:
        raise no_bands(node)
    only(node, "ifs", "default")
    branches: list[tuple[Test, str]] = []
    for branch in node.args["ifs"]:
        only(branch, "this", "true")
        branches.append((read_condition(branch.this, tables).test, _label(branch.args["true"], node)))
    comparisons = [atom for test, _ in branches for atom in atoms(test)]
    columns = {atom.left.column for atom in comparisons}
    literals = [atom.right for atom in comparisons if isinstance(atom, Compare) and isinstance(atom.right, Literal)]
    all_plain = len(literals) == len(comparisons) and all(atom.left.function == "" for atom in comparisons)
    types = {literal.type for literal in literals}
    column = min(columns)
    if "VARCHAR" in types or (len(columns) == 1 and any(isinstance(atom, Member) for atom in comparisons)):
        raise refusal(
            f"{piece(node)} puts values together, which is done beforehand",
            f"Group by {column} itself and add up the published counts: {arg('domain', [f'{column}=a,b,c'])}.",
        )
    if not all_plain or len(columns) > 1 or types not in ({"DOUBLE"}, {"DATE"}) or not _by_size(comparisons):
        raise refusal(
            f"{piece(node)} is not bands of one column",
            f"Compare one column with numbers or dates by <, <=, > and >=; or declare its bands: "
            f"{arg('bands', [f'{column}=18,30,45,65'])}.",
        )
    whole = types == {"DOUBLE"} and any(atom.op not in ("<", ">=") for atom in comparisons if isinstance(atom, Compare))
    if (default := node.args.get("default")) is not None:
        try:
            line = bands_text(
                column, _bands_of_case(node, column, branches, literals, whole, _label(default, node)).bands
            )
        except InvalidInput:  # it covers several bands
            line = bands_text(column, _bands_of_case(node, column, branches, literals, whole).bands) + ",*"
        raise refusal(
            f"ELSE in {piece(node)} counts missing values too",
            f"Write WHEN and a condition instead of ELSE; or {column} alone in the question and "
            f"{arg('bands', [line])}.",
        )
    declared = _bands_of_case(node, column, branches, literals, whole)
    return BandExpression(column, piece(node)[1:-1], declared, whole=whole)


def _label(node: Expression, whole: Expression) -> str:
    node = bare(node)
    if type(node).__name__ != "Literal" or not node.args.get("is_string"):
        raise refusal(f"{piece(whole)} has a result that is not a text", "Write a text in quotes after THEN.")
    return str(node.this)


def _by_size(comparisons: Sequence[object]) -> bool:
    return all(isinstance(atom, Compare) and atom.op in ("<", "<=", ">", ">=", "=") for atom in comparisons)


def _following(edge: Edge) -> Edge:
    """Return the next whole number or day."""
    return edge + timedelta(days=1) if isinstance(edge, date) else edge + 1


def _bands_of_case(
    node: Expression,
    column: str,
    branches: Sequence[tuple[Test, str]],
    literals: Sequence[Literal],
    whole: bool,
    other: str | None = None,
) -> DeclaredBands:
    """Return the name of the band between two neighbouring edges: the first condition that holds, else ``other``."""
    values: list[Edge] = [_edge(node, literal, whole) for literal in literals]
    days = isinstance(values[0], date)
    points = sorted({*values, *(map(_following, values) if whole or days else ())})
    before: Edge = points[0] - timedelta(days=1) if isinstance(points[0], date) else points[0] - 1
    names = [next((label for test, label in branches if _holds(test, at)), other) for at in (before, *points)]
    runs: list[tuple[str | None, int]] = [(names[0], 0)]
    for place, name in enumerate(names[1:], 1):
        if name != runs[-1][0]:
            runs.append((name, place))
    labels = [name for name, _ in runs if name is not None]
    below, above = runs[0][0] is not None, runs[-1][0] is not None
    inside = runs[0 if below else 1 : None if above else -1]
    if not labels or any(name is None for name, _ in inside) or len(set(labels)) < len(labels):
        raise refusal(
            f"{piece(node)} has a gap between its bands, or one text for two of them",
            f"Give each band one WHEN, side by side; or declare them: {arg('bands', [f'{column}=18,30,45,65'])}.",
        )
    edges = tuple(points[place - 1] for _, place in runs[1:])
    return DeclaredBands(Bands(edges, below, above), tuple(labels))


def _edge(node: Expression, literal: Literal, whole: bool) -> Edge:
    value = literal.value
    if isinstance(value, date) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and not whole:
        return value
    raise refusal(f"{piece(node)} mixes fractions with <=, > or =", "Write fractions with < and >= only.")


def _holds(test: Test, at: Edge) -> bool:
    if isinstance(test, AndOr):
        return (all if test.word == "AND" else any)(_holds(part, at) for part in test.parts)
    assert isinstance(test, Compare) and isinstance(test.right, Literal)
    edge = test.right.value
    below, equal = at < edge, at == edge  # type: ignore[operator]
    return {"<": below, "<=": below or equal, ">": not (below or equal), ">=": not below, "=": equal}[test.op]

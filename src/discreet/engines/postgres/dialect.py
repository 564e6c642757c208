"""The SQL dialect of PostgreSQL, which has no TRY_CAST: every reading is guarded, so that no value can fail."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context
from typing import ClassVar

from ...errors import Unsupported
from ...questions.expressions import INTEGERS, KINDS, LARGEST_WHOLE, READINGS
from ...sources.sql import quoted, text_literal
from ..base import HASH_DIGITS
from ..columns import DECIMAL, TIMESTAMPTZ
from ..dialect import Dialect
from ..readings import boolean_sql, lower_case_operands, refuse_text_of_numbers

#: Decimals from which a conversion to double overflows to infinity, or underflows to zero.
_TOO_LARGE = str(2**1024 - 2**970)
_TOO_SMALL = f"{Context(prec=800).power(2, -1075):f}"

#: Texts that are numbers. With at most this many characters they are numerics, which have up to 16,383 decimals.
_PLAIN = r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+) *$"
_SCIENTIFIC = r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?0*[0-9]{1,4})? *$"
_BEYOND = r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+ *$"
_MAX_DOUBLE_CHARACTERS, _MAX_NUMERIC_CHARACTERS = 300, 5000

_DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"

_SQL_TYPES = {
    "DOUBLE": "float8", "BIGINT": "int8", "INTEGER": "int8", "BOOLEAN": "bool", "DATE": "date", "TIMESTAMP": "timestamp"
}  # fmt: skip


class PostgresDialect(Dialect):
    """PostgreSQL's words: texts by their bytes (the collation ``C``), readings that are guarded by CASE.

    Parameters
    ----------
    case_collation
        A collation that knows upper and lower case of all letters, one by one; None if the server has none.
    """

    name = "postgres"
    kinds: ClassVar[frozenset[str]] = frozenset({*KINDS, DECIMAL, TIMESTAMPTZ})
    direct: ClassVar[Mapping[str, frozenset[str]]] = dict.fromkeys(READINGS, kinds)
    # keeps the planner from testing every row for what is tested of few groups afterwards
    barrier: ClassVar[str] = " OFFSET 0"

    def __init__(self, case_collation: str | None = None) -> None:
        self.case_collation = case_collation

    def quoted(self, name: str) -> str:
        return quoted(name)

    def text(self, value: str) -> str:
        return text_literal(value)

    def double(self, digits: str) -> str:
        return f"CAST({text_literal(digits)} AS float8)"

    def as_text(self, expression: str, kind: str) -> str:
        refuse_text_of_numbers(expression, kind)
        if kind == "date":
            return f"(replace(CAST({expression} AS text), ' BC', ' (BC)') COLLATE \"C\")"
        if kind == "timestamp":
            era = r"'^([^ ]+) (.+) BC$', '\1 (BC) \2'"
            return f'(regexp_replace(CAST({expression} AS text), {era}) COLLATE "C")'
        return f'(CAST({expression} AS text) COLLATE "C")'

    def safe_cast(self, expression: str, kind: str, type_: str) -> str:
        if type_ == "VARCHAR":
            return self.as_text(expression, kind)
        if type_ in ("DATE", "TIMESTAMP"):
            return _as_moment(expression, kind, type_)
        if kind in ("date", "timestamp", TIMESTAMPTZ):
            return f"CAST(NULL AS {_SQL_TYPES[type_]})"
        if type_ == "BOOLEAN":
            return boolean_sql(expression, kind)
        return _as_double(expression, kind) if type_ == "DOUBLE" else _as_whole(expression, kind, type_)

    def whole_number(self, column: str, kind: str) -> str:
        if kind == "integer":
            return quoted(column)  # unchanged: the planner cannot estimate the number of values of an expression
        number = self.reading(column, "DOUBLE", kind)
        # declared numbers are below 2^53, where doubles are exact
        return (
            f"CASE WHEN abs({number}) <= {LARGEST_WHOLE} AND {number} = trunc({number}) THEN CAST({number} AS int8) END"
        )

    def bounding_hash(self, unit: str, key: bytes) -> str:
        return self.hash_with(unit, text_literal(key.hex()))

    def hash_with(self, unit: str, key: str) -> str:
        """Return the bounding hash with the key as a parameter of the query, which no list of queries shows."""
        return (
            f"CAST(CAST('x' || substr(md5({key} || ':' || CAST({unit} AS text)), 1, {HASH_DIGITS}) AS bit(60)) AS int8)"
        )

    def compare(self, left: str, operator: str, right: str) -> str:
        return super().compare(*lower_case_operands(self, left, operator, right))

    def function(self, name: str, text: str) -> str:
        if name == "TRIM":
            return f"btrim({text}, ' ')"
        if self.case_collation is None:
            raise Unsupported(
                "this server knows upper and lower case of ASCII letters only, so that LOWER, UPPER and ILIKE would "
                "differ from other engines.",
                "Use PostgreSQL 17 or newer, or a server with the locale C.utf8.",
            )
        other = f"{name}({text} COLLATE {quoted(self.case_collation)})"
        if name == "UPPER":
            other = f"replace({other}, 'ß', 'ẞ')"
        return f'({other} COLLATE "C")'


# ------------------------------------------------------------------------------------------------ readings


def _as_double(x: str, kind: str) -> str:
    if kind in ("integer", "number"):
        return f"CAST({x} AS float8)"
    if kind == "boolean":
        return f"CAST(CAST({x} AS int4) AS float8)"
    if kind == DECIMAL:
        return f"CASE {_double_of_decimal(x)} END"
    trimmed = f"btrim({x}, ' ')"
    zero = rf"{x} ~ '^ *[+-]?[0.]*[eE]'"
    return (
        f"CASE WHEN {x} ~ '{_PLAIN}' AND length({x}) <= {_MAX_DOUBLE_CHARACTERS} THEN CAST({trimmed} AS float8) "
        f"WHEN length({x}) > {_MAX_NUMERIC_CHARACTERS} THEN NULL "
        f"WHEN {x} ~ '{_SCIENTIFIC}' THEN CASE {_double_of_decimal(f'CAST({trimmed} AS numeric)')} END "
        f"WHEN {x} ~ '{_BEYOND}' THEN CASE WHEN {zero} OR {x} ~ '[eE]-' THEN 0e0 "
        f"WHEN {x} ~ '^ *-' THEN CAST('-Infinity' AS float8) ELSE CAST('Infinity' AS float8) END "
        f"WHEN lower({trimmed}) = 'nan' THEN CAST('NaN' AS float8) "
        f"WHEN lower({trimmed}) IN ('inf', 'infinity', '+inf', '+infinity') THEN CAST('Infinity' AS float8) "
        f"WHEN lower({trimmed}) IN ('-inf', '-infinity') THEN CAST('-Infinity' AS float8) END"
    )


def _double_of_decimal(x: str) -> str:
    """Return the branches of CASE: a conversion out of range would fail."""
    return (
        f"WHEN {x} = CAST('NaN' AS numeric) THEN CAST('NaN' AS float8) "
        f"WHEN {x} >= {_TOO_LARGE} THEN CAST('Infinity' AS float8) "
        f"WHEN {x} <= -{_TOO_LARGE} THEN CAST('-Infinity' AS float8) "
        f"WHEN abs({x}) <= {_TOO_SMALL} THEN 0e0 ELSE CAST({x} AS float8)"
    )


def _as_whole(x: str, kind: str, type_: str) -> str:
    """Return the nearest whole number, if the type holds it; every one is an int8."""
    if kind == "boolean":
        return f"CAST(CAST({x} AS int4) AS int8)"
    if kind == "integer":
        whole = f"CAST({x} AS int8)"
    elif kind == "number":
        largest = _as_text_of_double(2**63)
        whole = f"CASE WHEN {x} >= -{largest} AND {x} < {largest} THEN CAST({x} AS int8) END"
    elif kind == DECIMAL:
        whole = f"CASE {_whole_of_decimal(x)} END"
    else:
        number = f"CAST(btrim({x}, ' ') AS numeric)"
        readable = f"{x} ~ '{_SCIENTIFIC}' AND length({x}) <= {_MAX_NUMERIC_CHARACTERS}"
        whole = f"CASE WHEN {readable} THEN CASE {_whole_of_decimal(number)} END END"
    if type_ == "BIGINT":
        return whole
    return f"CASE WHEN {whole} BETWEEN {-INTEGERS[type_]} AND {INTEGERS[type_] - 1} THEN {whole} END"


def _whole_of_decimal(x: str) -> str:
    return f"WHEN {x} > {-(2**63)}.5 AND {x} < {2**63 - 1}.5 THEN CAST({x} AS int8)"


def _as_text_of_double(value: int) -> str:
    return f"CAST('{float(value)!r}' AS float8)"


def _as_moment(x: str, kind: str, type_: str) -> str:
    sql_type = _SQL_TYPES[type_]
    if kind == TIMESTAMPTZ:
        return f"CAST(({x} AT TIME ZONE 'UTC') AS {sql_type})"
    if kind == "timestamp":
        return f"CAST({x} AS {sql_type})"
    if kind == "date":
        if type_ == "DATE":
            return x
        # the last days are beyond the last moment
        return f"CASE WHEN {x} < DATE '294276-12-31' OR {x} = DATE 'infinity' THEN CAST({x} AS timestamp) END"
    if kind != "text":
        return f"CAST(NULL AS {sql_type})"
    trimmed = f"btrim({x}, ' ')"
    year, month, day = (f"CAST(substr({trimmed}, {at}, {length}) AS int4)" for at, length in ((1, 4), (6, 2), (9, 2)))
    leap = f"({year} % 4 = 0 AND {year} % 100 <> 0 OR {year} % 400 = 0)"
    last = f"CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} <> 2 THEN 31 WHEN {leap} THEN 29 ELSE 28 END"
    return (
        f"CASE WHEN {x} ~ '^ *{_DAY}([ T]{_TIME})? *$' THEN CASE WHEN {year} > 0 AND {day} <= {last} "
        f"THEN CAST(CAST({trimmed} AS timestamp) AS {sql_type}) END END"
    )

"""The SQL dialect of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...questions.expressions import KINDS
from ...sources.sql import quoted, text_literal
from ..base import HASH_DIGITS
from ..dialect import Dialect

_NUMBERS = frozenset({"integer", "number", "boolean", "text"})


class DuckDbDialect(Dialect):
    """DuckDB's words: ``TRY_CAST`` for readings that cannot fail, the collation ``binary`` for texts."""

    name = "duckdb"
    # dates are read as moments through their text, because DuckDB simplifies the comparison of a day with a moment that
    # is not midnight to FALSE even where the day is too far away to be a moment, and reads as NULL
    direct: ClassVar[Mapping[str, frozenset[str]]] = {
        "VARCHAR": frozenset(KINDS),
        "DOUBLE": _NUMBERS,
        "BIGINT": _NUMBERS,
        "INTEGER": _NUMBERS,
        "BOOLEAN": _NUMBERS,
        "DATE": frozenset({"date", "timestamp", "text"}),
        "TIMESTAMP": frozenset({"timestamp", "text"}),
    }

    def quoted(self, name: str) -> str:
        return quoted(name)

    def text(self, value: str) -> str:
        return text_literal(value)

    def double(self, digits: str) -> str:
        """Write a double in scientific notation; without it the engine would read a decimal."""
        return digits if "e" in digits else digits + "e0"

    def as_text(self, expression: str, kind: str) -> str:
        # a column may have been declared with a collation under which 'a' and 'A' are one value: then two
        # conditions that look exclusive would both hold for one row
        return f'({expression if kind == "text" else self.safe_cast(expression, kind, "VARCHAR")} COLLATE "binary")'

    def safe_cast(self, expression: str, kind: str, type_: str) -> str:
        return f"TRY_CAST({expression} AS {type_})"

    def whole_number(self, column: str, kind: str) -> str:
        if kind == "integer":
            return quoted(column)
        number = self.reading(column, "DOUBLE", kind)  # declared numbers are below 2^53, where doubles are exact
        return f"CASE WHEN {number} = trunc({number}) THEN TRY_CAST({number} AS BIGINT) END"

    def bounding_hash(self, unit: str, key: bytes) -> str:
        return f"CAST('0x' || substr(md5('{key.hex()}:' || CAST({unit} AS VARCHAR)), 1, {HASH_DIGITS}) AS BIGINT)"


DUCKDB = DuckDbDialect()

"""Columns of Spark by their types. Types with an equality, a text or a padding of their own are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..columns import DECIMAL, TIMESTAMPTZ, SourceColumn

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

#: Types as Spark writes them -> kinds.
_KINDS = {
    "tinyint": "integer", "smallint": "integer", "int": "integer", "bigint": "integer", "float": "number",
    "double": "number", "string": "text", "boolean": "boolean", "date": "date", "timestamp_ntz": "timestamp",
    "timestamp": TIMESTAMPTZ,
}  # fmt: skip

#: Spark's metadata key of a column declared as CHAR or VARCHAR.
_DECLARED_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"


def columns_of(schema: StructType, unsafe: Mapping[str, str]) -> dict[str, SourceColumn]:
    """Return the columns of a table; ``unsafe`` has the reason to refuse each whose values could make Spark fail."""
    return {field.name: _column(field, unsafe.get(field.name)) for field in schema.fields}


def _column(field: StructField, reason: str | None) -> SourceColumn:
    stored = field.dataType.simpleString()
    if reason is not None:
        return SourceColumn(stored, "other", False, reason)
    declared = str(field.metadata.get(_DECLARED_LENGTH, stored))
    if declared.startswith("char"):
        return SourceColumn(declared, "other", False, f"is stored as {declared}, whose blanks at the end are padding")
    if stored.startswith("string "):
        return SourceColumn(stored, "other", False, f"is stored as {stored}, a collation of its own")
    if re.fullmatch(r"decimal\([0-9, ]+\)", stored):
        return SourceColumn(stored, DECIMAL, True)
    if stored not in _KINDS:
        reason = f"is stored as {stored}, which has an equality or a text of its own"
        return SourceColumn(stored, "other", False, reason)
    kind = _KINDS[stored]
    return SourceColumn(stored, kind, kind not in ("number", TIMESTAMPTZ))

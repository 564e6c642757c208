"""Readings of columns that PostgreSQL and Spark write alike, in SQL that both understand."""

from __future__ import annotations

from ..errors import InvalidInput
from .dialect import Dialect


def boolean_sql(x: str, kind: str) -> str:
    """Return a truth value read from a column; text that cannot be read as one gives NULL."""
    if kind == "boolean":
        return x
    if kind == "text":
        return (
            f"CASE WHEN lower({x}) IN ('true', 't', '1', 'yes', 'y') THEN TRUE "
            f"WHEN lower({x}) IN ('false', 'f', '0', 'no', 'n') THEN FALSE END"
        )
    return f"({x} <> 0)"


def refuse_text_of_numbers(expression: str, kind: str) -> None:
    """Refuse to read floating-point numbers as text, which each engine writes in its own way."""
    if kind == "number":
        raise InvalidInput(
            f"{expression} holds floating-point numbers, whose text differs from engine to engine (50, 50.0).",
            "Compare it with a number.",
        )


def lower_case_operands(dialect: Dialect, left: str, operator: str, right: str) -> tuple[str, str, str]:
    """Return a comparison whose ILIKE is a LIKE of lower-case letters, which the dialect maps itself."""
    if "ILIKE" not in operator:
        return left, operator, right
    return dialect.function("LOWER", left), operator.replace("ILIKE", "LIKE"), dialect.function("LOWER", right)

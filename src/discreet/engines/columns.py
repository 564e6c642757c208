"""Columns judged by their types: how each is read, whether it can name people, and why it is refused."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidInput

#: Kinds that only some engines distinguish: decimal numbers, and timestamps with a time zone.
DECIMAL, TIMESTAMPTZ = "decimal", "moment"

#: These kinds -> their kinds in all other engines.
_COMMON = {DECIMAL: "number", TIMESTAMPTZ: "other"}


@dataclass(frozen=True)
class SourceColumn:
    """A column of a table.

    Attributes
    ----------
    stored
        Its type as the engine writes it.
    kind
        Its kind in this engine's dialect; "other" if it cannot be read.
    names_people
        True if two values have the same text exactly when they are equal.
    refusal
        Why it cannot be read; None if it can.
    """

    stored: str
    kind: str
    names_people: bool
    refusal: str | None = None

    @property
    def common_kind(self) -> str:
        """One of ``expressions.KINDS``."""
        return _COMMON.get(self.kind, self.kind)

    def check_readable(self, table: str, name: str) -> None:
        """Refuse a column that has an equality or a text of its own."""
        if self.refusal is not None:
            raise InvalidInput(
                f"{name!r} of {table} {self.refusal}.",
                "Add a column of a plain type to the table, such as text, integer or date.",
            )

    def check_unit(self, name: str) -> None:
        """Refuse a column that cannot name people."""
        if not self.names_people:
            raise InvalidInput(
                f"{name!r} is stored as {self.stored} and cannot name people: two values may have one text, or one "
                "value two.",
                "Store it as text or whole numbers.",
            )

"""The privacy unit and its words: a row, a person, a household, the values of a column, or one month of these."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .errors import InvalidInput
from .periods import Per
from .wording import article

#: The unit of a release in which each row is protected separately.
ROW = "row"

_NAME = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,4}")

#: Irregular plurals.
_PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women"}

#: Maximum number of letters in the name of a unit.
_MAX_LETTERS = 40


def read_unit_name(name: object) -> str:
    """Return the name of a unit unchanged, if it is a noun in the singular.

    >>> read_unit_name("household")
    'household'
    >>> read_unit_name("user_month")
    Traceback (most recent call last):
    discreet.errors.InvalidInput: unit_name must be a noun such as person or household; got 'user_month'.
    """
    if not isinstance(name, str) or len(name) > _MAX_LETTERS or not _NAME.fullmatch(name) or name.casefold() == ROW:
        raise InvalidInput.must_be("unit_name", "a noun such as person or household", name)
    return name


@dataclass(frozen=True)
class Unit:
    """The unit of a release: its column (or "row"), its name from the curator, and the period that is part of it.

    A unit without a name is called by its column, and never a person. With a period it is one month, say, of a person.

    Examples
    --------
    >>> Unit("pid", "person").several, Unit("row").one, Unit("row", "person").protected
    ('people', 'row', 'one person: the curator states that every row is a different person')
    >>> Unit("user_month").protected
    'one `user_month` (all rows with the same user_month)'
    >>> month = Unit("pid", "person", Per("month", "visit_date"))
    >>> month.one, month.several, month.protected
    ('person-month', 'person-months', 'one month of one person (rows with the same pid and month of visit_date)')
    """

    column: str
    name: str | None = None
    per: Per | None = None

    @property
    def is_row(self) -> bool:
        """True if each row is a unit."""
        return self.column == ROW

    @property
    def one(self) -> str:
        """The noun for one unit."""
        noun = self.name or (ROW if self.is_row else f"`{self.column}`")
        return noun if self.per is None else f"{noun}-{self.per.granularity}"

    @property
    def whole(self) -> Unit:
        """The unit without its period."""
        return replace(self, per=None)

    @property
    def several(self) -> str:
        """The noun for several units."""
        if self.per is not None:
            return f"{self.one}s"
        if self.name is None:
            return "rows" if self.is_row else f"`{self.column}` values"
        rest, last = self.name[: (cut := max(self.name.rfind(" "), self.name.rfind("-")) + 1)], self.name[cut:]
        if last.casefold() in _PLURALS:
            return rest + _PLURALS[last.casefold()]
        if re.search(r"[^aeiou]y$", last):
            return f"{rest}{last[:-1]}ies"
        return f"{rest}{last}{'es' if last.endswith(('s', 'x', 'z', 'ch', 'sh')) else 's'}"

    @property
    def a(self) -> str:
        """The noun for one unit, with its article."""
        return f"{article(self.one)} {self.one}"

    @property
    def is_person(self) -> bool:
        """True if the units are people by their name."""
        return self.several.endswith("people")

    @property
    def protected(self) -> str:
        """The protected unit, in full."""
        if self.per is not None:
            granularity = self.per.granularity
            same = f"rows with the same {self.column} and {granularity} of {self.per.column}"
            return f"one {granularity} of one {self.whole.one} ({same})"
        if not self.is_row:
            return f"one {self.one} (all rows with the same {self.column})"
        if self.name is None:
            return "one row of the table"
        return f"one {self.one}: the curator states that every row is a different {self.one}"

    @property
    def they_have(self) -> str:
        """The pronoun with its verb."""
        return "they have" if self.is_person else "it has"

    @property
    def their(self) -> str:
        """The possessive pronoun."""
        return "their" if self.is_person else "its"

    @property
    def others(self) -> str:
        """The words for the data of all other units."""
        return "everyone else's data" if self.is_person else f"all other {self.several}"

    @property
    def with_several(self) -> str:
        """The words for someone who is several units."""
        if self.per is not None:
            return f"Someone with rows in k {self.per.granularity}s"
        return "Someone with k rows in the table" if self.is_row else f"Someone with k values of {self.column}"

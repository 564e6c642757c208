"""Whose data is protected, against which change, and how many cells that change can move."""

from __future__ import annotations

from dataclasses import dataclass

from ...engines.base import ROW
from ...errors import InvalidInput, arg
from ...exact.integers import positive_integer
from ...ledger.budget import RELATIONS
from ...questions.groups import Groups
from ...questions.question import Question

#: What to say when no unit was named.
WHOSE = (
    f"say whose data is protected: {arg('unit', 'row')}, or {arg('unit', 'COLUMN')} for the column that names the "
    "person."
)


@dataclass(frozen=True)
class Protection:
    """The unit, the neighbour relation, and the bound on contributions: what the guarantee is about.

    Attributes
    ----------
    unit
        ``"row"``, or the column that says which person a row belongs to.
    relation
        ``"add-remove"`` (the number of units is private) or ``"substitution"`` (it is public).
    max_groups
        In how many groups a unit counts at most; the rest of its rows are left out by a rule that looks at no one else.
    """

    unit: str
    relation: str
    max_groups: int

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str) or not self.unit:
            raise InvalidInput(WHOSE)
        if self.relation not in RELATIONS:
            raise InvalidInput.must_be(
                "the neighbour relation", f"one of {', '.join(RELATIONS)}", self.relation, argument="relation"
            )
        object.__setattr__(self, "max_groups", positive_integer(self.max_groups, "max_groups"))
        if self.unit == ROW and self.max_groups != 1:
            raise InvalidInput(
                f"a row is in one group only, so {arg('max_groups', self.max_groups)} means nothing with "
                f"{arg('unit', 'row')}; leave "
                f"it out, or name the person's column with {arg('unit', 'COLUMN')}."
            )

    def sensitivity(self, question: Question, groups: Groups) -> int:
        """The most cells that one change can move, each by one.

        A unit counts in at most ``k = max_groups`` groups, with one row in each, and a row in at most ``c`` of the
        aggregates (``question.most_at_once``): joining or leaving moves ``k c`` cells. A substitution is a leaving and
        a joining, ``2 k c`` cells, never more than there are. No cell moves by more than one: it counts units.
        """
        live = groups.live
        one_way = min(self.max_groups, live) * question.most_at_once
        cells = live * len(question.aggregates)
        return min(2 * one_way, cells) if self.relation == "substitution" else one_way

    def sentences(self, groups: int, tables: int = 1) -> tuple[str, ...]:
        """In how many of so many groups (of each of the tables) a unit is counted, who is protected, and the rule."""
        if self.unit == ROW:
            return (
                f"This protects one row of the table. {_HIDDEN_ROW[self.relation]}",
                "Each row that matches WHERE and a declared group is counted once. Other rows are not counted.",
            )
        most = min(self.max_groups, groups)
        if groups == 1:
            first = f"Each person is counted once{' in each table' if tables > 1 else ''}."
        elif most == 1:
            only = "one group only" if tables == 1 else "only one group of each table"
            first = f"Each person is counted in {only}."
        else:
            first = f"Each person is counted in at most {most} groups{' of each table' if tables > 1 else ''}."
        if most == groups > 1:
            first = "Each person is counted in every group where they have rows."
        missing = (
            "People with rows in more groups are missing from the rest, so a count can be far below the number of "
            "people with rows in its group. Noise and intervals refer to the counts after this rule. A larger "
            "contribution bound (max_groups) counts people in more groups, and adds more noise."
        )
        return (
            first,
            *([missing] if groups > most else []),
            f"This protects one person (all rows with the same {self.unit}). {_HIDDEN[self.relation]}",
            *([_CHOICE] if groups > most else []),
            f"Rows without a {self.unit}, and rows outside WHERE or the declared groups, are not counted. We "
            "cannot say how many rows were left out: that number is itself private.",
        )


_CHOICE = (
    "If a person has rows in more groups than that, a secret key and their own rows choose which, and nothing else."
)
_LIMITS = "It limits how well readers can tell"
_HIDDEN = {
    "add-remove": f"{_LIMITS} whether someone is in the table, or what their values are: neighbouring tables differ by "
    "one person added or removed.",
    "substitution": f"{_LIMITS} what someone's values are: neighbouring tables differ by one person replaced by "
    "another. How many people there are is public.",
}
_HIDDEN_ROW = {
    "add-remove": f"{_LIMITS} whether a row is in the table, or what its values are: neighbouring tables differ by one "
    "row added or removed.",
    "substitution": f"{_LIMITS} what the values of a row are: neighbouring tables differ by one row replaced by "
    "another. How many rows there are is public.",
}

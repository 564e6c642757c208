"""Whose data is protected, against which change, and how many cells that change can move."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidInput
from ..spaces import positive_integer
from .groups import Groups
from .question import Question

#: The change that must stay hidden: one unit joins or leaves the table, or one is replaced by any other.
RELATIONS = ("add-remove", "substitution")

#: The unit that is a row, not a person with a column of their own.
ROW = "row"


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
    max_groups: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str) or not self.unit:
            raise InvalidInput(
                "say whose data is protected: unit='row', or unit='COLUMN' for the column that names the person."
            )
        if self.relation not in RELATIONS:
            raise InvalidInput(f"the neighbour relation must be one of {', '.join(RELATIONS)}; got {self.relation!r}.")
        object.__setattr__(self, "max_groups", positive_integer(self.max_groups, "max_groups"))
        if self.unit == ROW and self.max_groups != 1:
            raise InvalidInput(
                f"a row is in one group only, so max_groups={self.max_groups} means nothing with unit='row'; leave "
                "it out, or name the person's column with unit='COLUMN'."
            )

    def touched(self, question: Question, groups: Groups) -> int:
        """The most cells that one change can move, each by one.

        A unit counts in at most ``k = max_groups`` groups, with one row in each, and a row in at most ``c`` of the
        aggregates (``question.most_at_once``): joining or leaving moves ``k c`` cells. A substitution is a leaving and
        a joining, ``2 k c`` cells, never more than there are. No cell moves by more than one: it counts units.
        """
        live = groups.size - len(groups.zeros)
        one_way = min(self.max_groups, live) * question.most_at_once
        cells = live * len(question.aggregates)
        return min(2 * one_way, cells) if self.relation == "substitution" else one_way

    def sentences(self) -> tuple[str, ...]:
        """The unit, the relation and the rule of bounding, in words."""
        who = "one row of the table" if self.unit == ROW else f"one person: all rows with the same {self.unit}"
        change = {
            "add-remove": "Hidden is whether they are in the table at all, and with which values (add-remove).",
            "substitution": "Hidden is which values they have; how many there are is public (substitution).",
        }[self.relation]
        if self.unit == ROW:
            change = change.replace("they are", "it is").replace("they have", "it has")
        first = f"Protected is {who}. {change}"
        if self.unit == ROW:
            return first, "Every row counts in one group. Rows of groups that were not declared are left out."
        groups = "one group" if self.max_groups == 1 else f"at most {self.max_groups} groups"
        return (
            first,
            f"Everyone counts once in {groups}: after WHERE and the declared groups, a keyed hash of the person alone "
            "chooses which. Rows without a person, and of groups that were not declared, are left out. How many rows "
            "that concerns is itself a count of people and is not told.",
        )

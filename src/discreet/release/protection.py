"""The privacy unit, the neighbour relation, the contribution bound, and the sensitivity that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..engines.base import ROW, Counting, refuse_period
from ..errors import InvalidInput, arg
from ..exact.integers import positive_integer
from ..periods import Per
from ..privacy.relations import RELATIONS
from ..questions.groups import Groups
from ..questions.question import Question
from ..unit import Unit
from ..wording import article, plural
from .levels.shape import Shape

#: The message when a request names no unit.
WHOSE = (
    f"say whose data is protected: {arg('unit', 'row')}, or {arg('unit', 'COLUMN')} for the column that names the "
    "person."
)


class Change(NamedTuple):
    """The change of cells by one unit: its L1 norm and squared L2 norm, which are equal if each cell changes by one.

    Attributes
    ----------
    l1, squared_l2
        The norms.
    cells
        The maximum number of cells that change, where each changes by at most ``l1 / cells``; None where cells can
        change by different amounts, as totals do.
    """

    l1: int
    squared_l2: int
    cells: int | None = None

    @classmethod
    def uniform(cls, cells: int, step: int | None) -> Change:
        """Return the change of this many cells, each by at most ``step``; by one if it is None."""
        return cls(cells, cells) if step is None else cls(cells * step, cells * step**2, cells)

    @property
    def by_one(self) -> bool:
        return self.l1 == self.squared_l2

    @property
    def step(self) -> int | None:
        """The maximum change of each cell; None where cells can change by different amounts."""
        return 1 if self.by_one else None if self.cells is None else self.l1 // max(self.cells, 1)


NO_CHANGE = Change(0, 0)

#: Largest cap on rows: beyond it noise hides every count.
MAX_ROWS = 10_000


def read_max_rows(value: object) -> int:
    """Read the maximum number of rows of a unit that one count has in a group."""
    rows = positive_integer(value, "max_rows")
    if rows > MAX_ROWS:
        raise InvalidInput.must_be("max_rows", f"a whole number from 1 to {MAX_ROWS:,}", value)
    return rows


@dataclass(frozen=True)
class Protection:
    """The unit, the neighbour relation and the contribution bound of a guarantee.

    Attributes
    ----------
    unit
        ``"row"``, or the column that says which person a row belongs to.
    relation
        ``"add-remove"`` (the number of units is private) or ``"substitution"`` (it is public).
    max_groups
        Contribution bound: the maximum number of groups in which a unit is counted. The rule that leaves out its other
        rows looks at no other unit.
    unit_name
        The curator's noun for the unit; None for the name of its column.
    max_rows
        Maximum number of rows of a unit that one count has in a group; None to count units, not rows.
    per
        The period that is part of the unit: one month of one person. None if the unit is the whole person.
    """

    unit: str
    relation: str
    max_groups: int
    unit_name: str | None = None
    max_rows: int | None = None
    per: Per | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str) or not self.unit:
            raise InvalidInput(WHOSE, argument="unit")
        if self.relation not in RELATIONS:
            raise InvalidInput.must_be(
                "the neighbour relation", f"one of {', '.join(RELATIONS)}", self.relation, argument="relation"
            )
        if self.per is not None and self.unit == ROW:
            raise refuse_period()
        object.__setattr__(self, "max_groups", positive_integer(self.max_groups, "max_groups"))
        if self.unit == ROW and self.max_groups != 1:
            raise InvalidInput(
                f"a row is in one group only, so {arg('max_groups', self.max_groups)} means nothing with "
                f"{arg('unit', 'row')}.",
                f"Leave it out, or name the person's column with {arg('unit', 'COLUMN')}.",
            )
        if self.max_rows is not None:
            object.__setattr__(self, "max_rows", read_max_rows(self.max_rows))
            if self.unit == ROW:
                raise InvalidInput(
                    f"{arg('unit', ROW)} counts every row, so {arg('max_rows', self.max_rows)} means nothing with it.",
                    f"Leave it out, or name the person's column with {arg('unit', 'COLUMN')}.",
                    argument="max_rows",
                )

    @property
    def who(self) -> Unit:
        """The unit, for texts."""
        return Unit(self.unit, self.unit_name, self.per)

    @property
    def granularity(self) -> str | None:
        """The granularity of its periods, which the ledger has too; None without periods."""
        return None if self.per is None else self.per.granularity

    def counting(self, question: Question, groups: Groups, key: bytes) -> Counting:
        """Return the count of a question's groups under this bound, to ask of a source."""
        return Counting(question, groups, self.unit, self.max_groups, key, max_rows=self.max_rows, per=self.per)

    def change(self, question: Question, groups: Groups) -> Change:
        """Return the maximum change of the cells of a table by one unit.

        A unit is counted in at most ``k = max_groups`` groups, with one row in each, and a row in at most ``a`` of the
        aggregates (``question.most_at_once``): joining or leaving changes ``k a`` cells. A substitution is a leaving
        and a joining, ``2 k a`` cells (``Relation.moves``), but at most all cells. No cell changes by more than one,
        since it counts units.

        Where rows are counted, each aggregate has up to ``max_rows`` rows of the unit in a group, so ``a`` is the
        number of aggregates, exclusive or not: two rows can meet conditions that no row meets together. Each cell
        changes by at most ``max_rows``, also in a substitution.
        """
        live = groups.live
        one_way = min(self.max_groups, live) * self._aggregates_at_once(question)
        cells = live * len(question.aggregates)
        return Change.uniform(min(RELATIONS[self.relation].moves * one_way, cells), self.max_rows)

    def _aggregates_at_once(self, question: Question) -> int:
        """Return the maximum number of aggregates that count one unit in a group."""
        return question.most_at_once if self.max_rows is None else len(question.aggregates)

    def level_changes(self, question: Question, shape: Shape) -> tuple[Change, ...]:
        """Return the maximum change by one unit, for each level of a table with totals.

        A node adds up leaves, so that a unit in ``k`` groups changes it by up to ``step = r min(k, its leaves)``, where
        ``r`` is 1 or ``max_rows``. With ``a`` aggregates at once, the change of a level has L1 norm ``r k a``, no entry
        above ``step``, and so a squared L2 norm of at most ``r k a step``. Both double for a substitution, but are at
        most the change of all nodes together.
        """
        moves, many = RELATIONS[self.relation].moves, len(question.aggregates)
        rows = self.max_rows or 1
        one_way = rows * min(self.max_groups, shape.groups.live) * self._aggregates_at_once(question)
        changes = []
        for nodes, leaves in zip(shape.nodes, shape.most_leaves, strict=True):
            step = rows * min(self.max_groups, leaves)
            cells = nodes.live * many
            changes.append(Change(min(moves * one_way, cells * step), min(moves * one_way * step, cells * step**2)))
        return tuple(changes)

    def sentences(self, groups: int, tables: int = 1) -> tuple[str, ...]:
        """State in how many groups a unit is counted, what is protected, and how rows are left out."""
        who = self.who
        protects = f"This protects {who.protected}. {_hidden(self.relation, who)}"
        if who.is_row:
            return (
                protects,
                "Each row that matches WHERE and a declared group is counted once. Other rows are not counted.",
            )
        most = min(self.max_groups, groups)
        if groups == 1:
            first = f"Each {who.one} is counted once{' in each table' if tables > 1 else ''}."
        elif most == 1:
            only = "one group only" if tables == 1 else "only one group of each table"
            first = f"Each {who.one} is counted in {only}."
        else:
            first = f"Each {who.one} is counted in at most {most} groups{' of each table' if tables > 1 else ''}."
        if most == groups > 1:
            first = f"Each {who.one} is counted in every group where {who.they_have} rows."
        several = who.several
        if self.max_rows is not None:
            return (*self._row_sentences(first, groups > most), protects, *self._choice(groups > most))
        missing = (
            f"{several[0].upper()}{several[1:]} with rows in more groups are missing from the rest, so a count can be "
            f"far below the number of {several} with rows in its group. Noise and intervals refer to the counts after "
            f"this rule. A larger contribution bound (max_groups) counts {several} in more groups, and adds more noise."
        )
        return (first, *([missing] if groups > most else []), protects, *self._choice(groups > most))

    def _choice(self, bounded: bool) -> tuple[str, ...]:
        """State how groups are chosen, where there is a choice, and which rows are in no group."""
        who = self.who
        choice = (
            f"If {who.a} has rows in more groups than that, a secret key and {who.their} own rows choose which, and "
            "nothing else."
        )
        undated = "" if self.per is None else f" or without a day in {self.per.column}"
        return (
            *([choice] if bounded else []),
            f"Rows without {article(self.unit)} {self.unit}{undated}, and rows outside WHERE or the declared groups, "
            "are not counted. We cannot say how many rows were left out: that number is itself private.",
        )

    def _row_sentences(self, first: str, bounded: bool) -> tuple[str, ...]:
        """State that rows are counted, and which are missing. ``first`` says in which groups a unit is counted."""
        who, rows = self.who, plural(self.max_rows or 0, "row")
        groups = " Rows in more groups are missing too." if bounded else ""
        bounds = "Larger bounds (max_groups, max_rows) count" if bounded else "A larger bound (max_rows) counts"
        return (
            f"The counts are of rows, not of {who.several}: each has at most {rows} of one {who.one} in a group.",
            first,
            f"Rows beyond these are missing, so a count can be far below the number of rows in its group.{groups} "
            f"Noise and intervals refer to the counts after this rule. {bounds} more rows, and "
            f"{'add' if bounded else 'adds'} more noise.",
        )


def hidden_in_words(name: str, who: Unit) -> str:
    """Return what readers can hardly tell under a neighbour relation, as a clause."""
    one, whose = ("someone", "someone's values") if who.is_person else (who.a, f"the values of {who.a}")
    if RELATIONS[name].hides_presence:
        return f"whether {one} is in the table, or what {who.their} values are"
    return f"what {whose} are"


def _hidden(name: str, who: Unit) -> str:
    """State what readers cannot tell, and how neighbouring tables differ."""
    relation = RELATIONS[name]
    period = "" if who.per is None else f" in each {who.per.granularity}"
    public = "" if relation.hides_presence else f" How many {who.several} there are{period} is public."
    other = "" if who.per is None or relation.hides_presence else f" of the same {who.per.granularity}"
    differ = f"neighbouring tables differ by one {who.one} {relation.change}{other}"
    return f"It limits how well readers can tell {hidden_in_words(name, who)}: {differ}.{public}"

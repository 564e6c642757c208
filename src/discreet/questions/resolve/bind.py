"""From the joins that a question writes to the look-ups and tables of people that the data set declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...errors import InvalidInput
from ...periods import Per
from ...unit import ROW
from ..conditions import refusal
from ..joins.clauses import Join, JoinedTable, RelatedTable, refuse_other_periods
from ..joins.lookups import Lookup, PublicTable
from ..question import Question, find_column


def bind_joins(
    question: Question,
    public: Mapping[str, PublicTable],
    kinds: Mapping[str, str],
    related: Mapping[str, RelatedTable] | None = None,
    unit: str = ROW,
) -> Question:
    """Return the same question with its joins as look-ups of public tables, and as tables of the same people.

    A column that no table has is looked up without a join in the text, where one look-up has it and the counted table
    has its key.

    Parameters
    ----------
    question
        The question as it was read.
    public
        The declared look-ups, by name.
    kinds
        The columns of the counted table, and the kind of each; empty if they are not known.
    related
        The declared tables of the same people, by name.
    unit
        The column of the counted table that names people, or ``"row"``.
    """
    _refuse_names_of_cases(question, kinds)
    stored = {name.casefold() for name in kinds}
    if not question.joins and (not public or {name.casefold() for name in question.columns} <= stored):
        return question
    return _Binding(question, public, kinds, related or {}, unit).bound()


@dataclass
class _Binding:
    """The joins of one question while they are bound; the fields are the parameters of :func:`bind_joins`."""

    question: Question
    public: Mapping[str, PublicTable]
    kinds: Mapping[str, str]
    related: Mapping[str, RelatedTable]
    unit: str
    lookups: dict[str, Join] = field(default_factory=dict)
    tables: dict[str, Join] = field(default_factory=dict)
    used: dict[str, list[str]] = field(default_factory=dict)

    def bound(self) -> Question:
        for join in self.question.joins:
            self._add(join)
        spelled: dict[str, str] = {}
        cases = {one.column for one in self.question.lookups}
        for name in sorted((self.question.columns - set(self.question.looked_up)) | cases):
            owner = self._owner(name)
            if owner is not None:
                table, spelling = owner
                spelled[name] = spelling
                self.used.setdefault(table, []).append(spelling)
        self._refuse_shared(spelled)
        lookups = []
        for join in self.lookups.values():
            kinds = self.related[join.other].kinds if join.other in self.tables else self.kinds
            column = find_column(join.column, kinds) if kinds else join.column
            columns = sorted(set(self.used.get(join.table, ())))
            lookups.append(
                Lookup.of_file(replace(join, column=column), self.public[join.table], columns, kinds.get(column))
            )
        tables = [
            JoinedTable(join, tuple(sorted(set(self.used.get(name, ())))), self.related[name].per)
            for name, join in self.tables.items()
        ]
        renamed = self.question.renamed(lambda name: spelled.get(name, name))
        return replace(renamed, joins=(), lookups=(*renamed.lookups, *lookups), tables=tuple(tables))

    def _add(self, join: Join) -> None:
        """Add a join that the question writes."""
        lookup, table = _alike(join.table, self.public), _alike(join.table, self.related)
        if lookup is not None and not join.qualified:
            self._add_lookup(join, self.public[lookup])
        elif table is not None:
            self._add_table(join, self.related[table])
        else:
            raise refusal(
                f"{join.table!r} is neither a declared table nor a declared look-up",
                f"Declare it in the dataset file: [tables.{join.table}] with data and unit, or [lookups.{join.table}] "
                "with data and key.",
            )

    def _add_lookup(self, join: Join, table: PublicTable) -> None:
        if join.key.casefold() != table.key.casefold():
            raise refusal(
                f"the look-up {table.name!r} is joined on {join.key!r}, and its key is {table.key!r}",
                f"Write {table.name}.{table.key}.",
            )
        if _alike(join.other, self.lookups) is not None:
            raise refusal(
                f"{table.name!r} is joined with another look-up, {join.other!r}",
                "Look up a column of a table of people.",
            )
        other = _alike(join.other, self.tables) or self.question.table
        self.lookups[table.name] = replace(join, table=table.name, key=table.key, other=other)

    def _add_table(self, join: Join, table: RelatedTable) -> None:
        """Add a table of the same people: on the declared columns alone, of one kind."""
        if self.unit == ROW:
            raise refusal(
                f"{table.name!r} cannot be joined where each row is its own unit: one of its rows could move many",
                "Declare the column that names people in every table.",
            )
        if not self.kinds:
            raise refusal(
                f"{self.question.table!r} is not there, and a join needs to know its columns", "Plan where the data is."
            )
        other = _alike(join.other, self.tables)
        left = self.unit if other is None else self.related[other].unit
        if (join.column.casefold(), join.key.casefold()) != (left.casefold(), table.unit.casefold()):
            raise refusal(
                f"{table.name!r} is joined on {join.column} = {join.key}, which are not the columns that name people",
                f"Write ON {self.question.table}.{self.unit} = {table.name}.{table.unit}: a joined row then belongs to "
                "one person.",
            )
        if other is not None and self.tables[other].outer:
            raise refusal(
                f"{table.name!r} is joined with {other!r}, which may have no row of a person",
                f"Write ON {self.question.table}.{self.unit} = {table.name}.{table.unit}.",
            )
        ours, theirs = self.kinds.get(self.unit), table.kinds.get(table.unit)
        if ours != theirs or ours not in _UNIT_KINDS:
            what, other_what = (_KIND_IN_WORDS.get(str(kind), "other values") for kind in (ours, theirs))
            raise refusal(
                f"{self.question.table}.{self.unit} holds {what} and {table.name}.{table.unit} {other_what}, which are "
                "not compared",
                "Store both as text or both as whole numbers: '007' is not 7.",
            )
        self.tables[table.name] = replace(
            join, table=table.name, key=table.unit, other=self.question.table, column=self.unit
        )  # fmt: skip

    def _owner(self, name: str) -> tuple[str, str] | None:
        """Return the joined table or look-up that has a column, and its spelling there; None for the counted table."""
        qualifier = dict(self.question.owners).get(name.casefold())
        if qualifier is not None and qualifier.casefold() == self.question.table.casefold():
            return None
        places: list[tuple[str, str]] = []
        for table in self.tables:
            if (column := _alike(name, self.related[table].kinds)) is not None:
                places.append((table, column))
        for table in self.lookups:
            if (column := self.public[table].find(name)) is not None:
                places.append((table, column))
        if qualifier is not None:
            return next((place for place in places if place[0].casefold() == qualifier.casefold()), None)
        if _alike(name, self.kinds) is not None:
            if places:
                raise refusal(
                    f"{name!r} is a column of {self.question.table} and of {places[0][0]}",
                    f"Say which: {self.question.table}.{name}, or {places[0][0]}.{name}.",
                )
            return None
        return self._only(name, places or self._implied(name))

    def _implied(self, name: str) -> list[tuple[str, str]]:
        """Return the look-ups that have a column and are not joined in the text."""
        places = []
        for table in self.public.values():
            column = table.find(name)
            if column is not None and (not self.kinds or _alike(table.key, self.kinds) is not None):
                places.append((table.name, column))
        return places

    def _only(self, name: str, places: list[tuple[str, str]]) -> tuple[str, str] | None:
        if len(places) > 1:
            first, second = (table for table, _ in places[:2])
            raise refusal(f"{name!r} is a column of {first} and of {second}", f"Say which: {first}.{name}.")
        if not places:
            return None
        (place,) = places
        if place[0] not in self.lookups and place[0] not in self.tables:
            key = self.public[place[0]].key
            self.lookups[place[0]] = Join(place[0], self.question.table, key, key)
        return place

    def _refuse_shared(self, spelled: Mapping[str, str]) -> None:
        """Refuse columns of two tables whose names differ in case alone, which SQL ignores."""
        names = [spelled.get(name, name) for name in self.question.columns]
        keys = {name.casefold() for name in names}
        if len(keys) < len(set(names)) and len(keys) < len({name.casefold() for name in self.question.columns}):
            raise refusal("two tables have columns whose names differ in case alone", "Rename one in a view.")


#: Kinds of columns whose text is the same in every table and engine, so that units may be compared by it. Of other
#: columns the engine knows the types: it accepts UUIDs.
_UNIT_KINDS = ("integer", "text", "date", "other")

_KIND_IN_WORDS = {"integer": "whole numbers", "text": "text", "number": "numbers", "date": "dates"}


def _alike(name: str, names: Mapping[str, object]) -> str | None:
    """Return the one of the names that is spelled so, or so ignoring case."""
    if name in names:
        return name
    return next((one for one in names if one.casefold() == name.casefold()), None)


def with_bound_joins(
    question: Question, lookups: Mapping[str, object], tables: Mapping[str, object], unit: str, per: Per | None
) -> Question:
    """Return the same question with the look-ups and tables that a request states, by the names of its joins."""
    joins = {join.table: join for join in question.joins}
    if sorted([*lookups, *tables]) != sorted(joins):
        raise InvalidInput("the joins of this request are not those of its question.", argument="request")
    people = {question.table, *tables}
    joined = []
    for name in (join.table for join in question.joins if join.table in tables):
        join, entry = joins[name], tables[name]
        misfit = InvalidInput(f"the join with {name!r} in this request is not one of people.", argument="request")
        if not isinstance(entry, Mapping) or set(entry) - {"per"} != {"unit", "columns"} or unit == ROW:
            raise misfit
        columns = entry["columns"]
        if (join.other, join.column, join.key) != (question.table, unit, entry["unit"]):
            raise misfit
        if not isinstance(columns, list) or set(map(type, columns)) - {str} or columns != sorted(set(columns)):
            raise misfit
        dated = Per.read(entry["per"]) if "per" in entry else None
        if dated is not None and dated.text != entry["per"]:
            raise misfit
        joined.append(JoinedTable(join, tuple(columns), dated))
    if any(joins[name].other not in people for name in lookups):
        raise InvalidInput("a look-up of this request is of another look-up.", argument="request")
    bound = replace(
        question,
        joins=(),
        lookups=(
            *question.lookups,
            *(Lookup.from_json(join, lookups[name]) for name, join in joins.items() if name in lookups),
        ),
        tables=tuple(joined),
    )
    refuse_other_periods(bound, per)
    names = [column.name for lookup in bound.lookups for column in lookup.columns]
    names += [column for table in bound.tables for column in table.columns]
    used = bound.columns | {one.column for one in bound.lookups if one.join is None}
    if len({name.casefold() for name in names}) < len(names) or not set(names) <= used:
        raise InvalidInput("the joins of this request give other columns than it uses.", argument="request")
    return bound


def refuse_looked_up_unit(question: Question, unit: str) -> None:
    """Refuse a look-up of a column that names people: a public table about each of them is not public."""
    units = {question.table: unit, **{table.join.table: table.join.key for table in question.tables}}
    for lookup in question.lookups:
        if lookup.join is not None and lookup.column.casefold() == units.get(lookup.join.other, unit).casefold():
            raise refusal(
                f"{lookup.join.table!r} is looked up by {lookup.column}, which names people",
                "Look up what several people share, such as their county.",
            )


def _refuse_names_of_cases(question: Question, kinds: Mapping[str, str]) -> None:
    """Refuse a CASE that is called like a column of the table."""
    for name in question.looked_up:
        if _alike(name, kinds) is not None:
            raise refusal(
                f"{name!r} is the name of a CASE and of a column of {question.table}", "Give the CASE another name."
            )

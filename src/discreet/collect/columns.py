"""One column of people's values, wherever it is kept: how it is named, counted and replaced by reports.

What a file and a cluster have in common is here; how rows are fetched is theirs. An error names a row by its number or
says how many rows it is about, never by its value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..errors import DiscreetError, InvalidInput, InWords, arg
from ..exact.arrays import Array, IntArray
from ..mechanism import Mechanism
from ..names import nearest
from ..sources.sql import quoted
from ..spaces import Space
from ..wording import first_of, plural
from .readings import Reading, Row, reading_of

#: Called with how much has been read, from 0 to 1.
Tell = Callable[[float], None]

#: The name of the column of reports.
REPORT = "report"

#: What is wrong with a row: the kind of error, and its words.
Problem = tuple[type[DiscreetError], str]


class Batch(NamedTuple):
    """Some rows: the indices of their values in a space, and the numbers of their groups if there are groups."""

    indices: IntArray
    groups: IntArray | None


@dataclass
class Tally:
    """How often each value occurs in each group, and how many rows are wrong.

    Attributes
    ----------
    counts
        Numbers of groups and values -> how many rows have them.
    wrong
        What is wrong -> with how many rows.
    """

    counts: Counter[tuple[int, object]] = field(default_factory=Counter)
    wrong: Counter[Problem] = field(default_factory=Counter)

    def add(
        self, rows: Iterable[Row], readings: Sequence[Reading], names: Sequence[str | None], group: str | None
    ) -> None:
        """Count rows: each is its values, the name of its group if there are groups, and how often it occurs.

        Parameters
        ----------
        rows
            The rows.
        readings
            How the values of each group are read.
        names
            The groups by name; None where there are none.
        group
            The column that names them.
        """
        for row in rows:
            name = None if group is None else row[-2]
            number = names.index(name) if name in names else None
            problem = no_mechanism(str(group), names) if number is None else readings[number].wrong(row[:-1])
            if problem is not None:
                self.wrong[type(problem), problem.message] += int(row[-1])
            elif number is not None:
                self.counts[number, readings[number].value(row[:-1])] += int(row[-1])


class ColumnSource(ABC):
    """One column of a table, or the two columns of a place, and perhaps a column that names a group.

    Parameters
    ----------
    place
        Where the table is, for messages.
    names
        The columns of the table whose names are theirs alone.
    shared_names
        Names that several columns have, in one case.
    column
        The column's name, or the names of two, how far east and north a place is; may be left out where there is one
        column only.
    group
        The column that says by which mechanism a row is reported, where there are several.

    Attributes
    ----------
    columns, kinds
        The column, or both, and DuckDB's types of them.
    group
        The column of groups.
    typed
        Whether columns have types of their own; all of CSV is text.
    """

    kinds: tuple[str, ...]
    typed = True

    def __init__(
        self,
        place: str,
        names: Sequence[str],
        shared_names: Iterable[str],
        column: str | Sequence[str] | None,
        group: str | None,
    ) -> None:
        self.place, self._shared_names = place, set(shared_names)
        # several options of the command line name a column of groups, so its errors are about none of them
        self.group = None if group is None else self._find_column(group, names, argument=None)
        given = [column] if isinstance(column, str) else list(column or ())
        if given:
            self.columns = tuple(self._find_column(name, names) for name in given)
        else:
            self.columns = (self._only([name for name in names if name != self.group]),)
        self._refuse_one_column_twice()

    def _refuse_data_as_heading(self, names: Sequence[str], problem: str = "") -> None:
        """Refuse names that may be somebody's row; where columns have types, names are names."""
        return

    def _only(self, names: list[str]) -> str:
        """The column that need not be named, because there is no other."""
        self._refuse_data_as_heading(names)
        if len(names) == 1:
            return names[0]
        if not names and self._shared_names:
            raise self._shared(min(self._shared_names))
        raise InvalidInput(f"{self.place} has {len(names)} columns; name one with {arg('column')}: {first_of(names)}.")

    def _shared(self, name: str, argument: str | None = "column") -> InvalidInput:
        return InvalidInput(
            f"{self.place} has several columns called {name!r}.", "Give each a name of its own.", argument=argument
        )

    def _refuse_one_column_twice(self) -> None:
        """The column of groups is written as it is, so it must never be one of true values, in whatever case."""
        names = [name.casefold() for name in self.columns]
        if len(set(names)) < len(names):
            raise InvalidInput.must_be("columns", "two different ones for a place", InWords(self.column))
        if self.group is not None and self.group.casefold() in names:
            raise InvalidInput.must_be(
                "group",
                "another column than that of the values",
                InWords(f"{self.group!r} for both"),
                "It names each person's mechanism, and is written as it is.",
            )

    def _find_column(self, given: str, names: Sequence[str], argument: str | None = "column") -> str:
        """The column of that name: exactly, or the only one that differs in case."""
        alike = [name for name in names if name.casefold() == given.casefold()]
        if given in names or len(alike) == 1:
            return given if given in names else alike[0]
        if given.casefold() in self._shared_names:
            raise self._shared(given, argument)
        self._refuse_data_as_heading(names, f" has no column {given!r}")
        near = nearest(given, names)
        meant = f"did you mean {near!r}? Its" if near else "its"
        raise InvalidInput(
            f"{self.place} has no column {given!r}; {meant} columns are {first_of(list(names))}.", argument=argument
        )

    @property
    def column(self) -> str:
        """The name of the column, or of both."""
        return ", ".join(self.columns)

    @property
    def needed(self) -> list[str]:
        """The columns that are read."""
        return [*self.columns, *([] if self.group is None else [self.group])]

    def reading(self, space: Space) -> Reading:
        """How the column is read as values of a space."""
        return reading_of(space, self.columns, self.kinds, self.typed, f"column {self.column!r} of {self.place}")

    def select(self, reading: Reading, relation: str) -> str:
        """SQL of the values, and of the name of the group where there are groups.

        Parameters
        ----------
        reading
            How the values are read.
        relation
            What stands after FROM.
        """
        wanted = [*reading.expressions, *([] if self.group is None else [f"CAST({quoted(self.group)} AS VARCHAR)"])]
        named = ", ".join(f"{sql} AS v{k}" for k, sql in enumerate(wanted))
        return f"SELECT {named} FROM {relation}"

    @abstractmethod
    def _distinct_groups(self, most: int) -> list[str | None]:
        """What the column of groups holds, up to so many different values; None is for no value."""

    def group_names(self) -> list[str]:
        """The groups that the column of groups names.

        Raises
        ------
        InvalidInput
            If they are more than ``MOST_GROUPS``, or some rows have none.
        """
        found = self._distinct_groups(MOST_GROUPS + 1)
        if len(found) > MOST_GROUPS:
            raise InvalidInput(
                f"column {self.group!r} of {self.place} names more than {MOST_GROUPS} groups.",
                "Use fewer.",
                argument="group",
            )
        if None in found:
            raise InvalidInput(
                f"some rows of {self.place} have nothing in column {self.group!r}.",
                "Give them a name there, or leave them out.",
                argument="group",
            )
        return sorted(map(str, found))

    @abstractmethod
    def _tally(
        self, spaces: Sequence[Space], readings: Sequence[Reading], groups: Sequence[str | None], tell: Tell | None
    ) -> Tally:
        """Count all rows."""

    def counts(self, space: Space, tell: Tell | None = None) -> dict[object, int]:
        """How often each value occurs. Counted where the rows are: only the distinct values reach this process."""
        return self.counts_by_group([space], [None], tell)[0]

    def counts_by_group(
        self, spaces: Sequence[Space], groups: Sequence[str | None], tell: Tell | None = None
    ) -> list[dict[object, int]]:
        """How often each value occurs in each group.

        Parameters
        ----------
        spaces
            What the values of each group are.
        groups
            The groups by name; None where there are none.
        tell
            Called with how much has been read.
        """
        if len({space.is_text for space in spaces}) > 1:
            raise InvalidInput(
                "some of the mechanisms report whole numbers and others text.",
                "Estimate them apart.",
                argument="mechanism",
            )
        found = self._tally(spaces, [self.reading(space) for space in spaces], groups, tell)
        if found.wrong:
            raise self.of_rows(found.wrong)
        if not found.counts:
            raise self.no_rows()
        counts: list[dict[object, int]] = [{} for _ in spaces]
        for (number, value), rows in found.counts.items():
            counts[number][value] = rows
        return counts

    def no_rows(self) -> InvalidInput:
        """The column is empty."""
        return InvalidInput(f"column {self.column!r} of {self.place} has no rows.", argument="data")

    def of_rows(self, wrong: Mapping[Problem, int]) -> DiscreetError:
        """What is wrong with how many rows, the most common first."""
        (kind, words), *others = sorted(wrong, key=lambda one: (-wrong[one], one[1]))
        also = "".join(f" Of {plural(wrong[one], 'row')} more: {one[1]}" for one in others)
        return kind(
            f"{plural(wrong[kind, words], 'row')} of column {self.column!r} of {self.place}: {words}{also}",
            argument="column",
        )


#: The most groups of people that are estimated one by one.
MOST_GROUPS = 50


def no_mechanism(column: str, groups: Iterable[str | None]) -> InvalidInput:
    """The error for a group that nobody gave a mechanism for."""
    return InvalidInput(
        f"the group, in column {column!r}, has no mechanism. Groups with one are "
        f"{first_of([str(name) for name in groups])}.",
        "Give its mechanism too, or drop such rows.",
        argument="mechanism",
    )


@dataclass(frozen=True)
class Devices:
    """What people's devices use: one mechanism, or one for each group.

    Attributes
    ----------
    mechanisms
        By the name of the group; without a name where there is one only.
    """

    mechanisms: Mapping[str, Mechanism]

    @classmethod
    def of(cls, mechanism: Mechanism | Mapping[str, Mechanism], group: str | None) -> Devices:
        """The mechanisms of a column, refused where they do not fit together.

        Parameters
        ----------
        mechanism
            One, or one for each group.
        group
            The column of groups, which is written beside the reports.
        """
        devices = cls(dict(mechanism) if isinstance(mechanism, Mapping) else {"": mechanism})
        first, *others = [one.inputs for one in devices.mechanisms.values()]
        for other in others:
            if other != first:
                raise InvalidInput(
                    f"all mechanisms must take the same true values; one takes {first!r} and another {other!r}.",
                    argument="mechanism",
                )
        if group is not None and group.casefold() == REPORT:
            raise InvalidInput(
                f"the group column cannot be called {group!r}, the name of the reports' column.",
                "Rename it.",
                argument="group",
            )
        return devices

    @property
    def names(self) -> list[str]:
        """The groups, in the order they are numbered."""
        return list(self.mechanisms)

    @property
    def truths(self) -> Space:
        """What the true values are."""
        return next(iter(self.mechanisms.values())).inputs

    @property
    def text(self) -> bool:
        """Whether reports are written as text; otherwise they are whole numbers."""
        return any(mechanism.outputs.is_text for mechanism in self.mechanisms.values())

    def reports(self, batch: Batch) -> Array:
        """A report for each row, by the mechanism of its group."""
        reports = np.empty(len(batch.indices), object if self.text else np.int64)
        for k, mechanism in enumerate(self.mechanisms.values()):
            mine = slice(None) if batch.groups is None else np.flatnonzero(batch.groups == k)
            truths = batch.indices[mine]
            if truths.size:
                drawn = mechanism.release(mechanism.inputs.values(truths))
                reports[mine] = [str(report) for report in drawn.tolist()] if self.text else drawn
        return reports

"""One column of people's values, in a file or on a cluster: its name, its counts, and the reports that replace it.

This is the part that files and clusters share; each fetches rows in its own way. An error names a row by its number or
states how many rows it concerns, never a value.
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
from ..sources.sql import quoted
from ..spaces import Space
from ..wording import first_of, nearest, plural
from .readings import Reading, Row, reading_of

#: A function that is called with the share that has been read, from 0 to 1.
ProgressCallback = Callable[[float], None]

#: The name of the column of reports.
REPORT = "report"

#: The error in a row: its class and its message.
RowProblem = tuple[type[DiscreetError], str]


class RowBatch(NamedTuple):
    """A batch of rows: the indices of their values in a space, and the numbers of their groups if there are any."""

    indices: IntArray
    groups: IntArray | None


@dataclass
class ValueCounts:
    """Counts of the values in each group, and of rows with errors.

    Attributes
    ----------
    counts
        (Number of the group, value) -> number of rows.
    wrong
        Error -> number of rows.
    """

    counts: Counter[tuple[int, object]] = field(default_factory=Counter)
    wrong: Counter[RowProblem] = field(default_factory=Counter)

    def add(
        self, rows: Iterable[Row], readings: Sequence[Reading], names: Sequence[str | None], group: str | None
    ) -> None:
        """Count rows: each is its values, the name of its group if there are groups, and how often it occurs.

        Parameters
        ----------
        rows
            The rows.
        readings
            The reading of each group's values.
        names
            The names of the groups; None without groups.
        group
            The column of group names.
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
        The location of the table, for messages.
    names
        The columns of the table with unique names.
    shared_names
        Names that several columns have, in one case.
    column
        The column's name, or the names of two, how far east and north a place is; may be left out where there is one
        column only.
    group
        The column that determines the mechanism of each row, where there are several.

    Attributes
    ----------
    columns, kinds
        The one or two columns, and their DuckDB types.
    group
        The column of groups.
    typed
        True if columns have types of their own; all of CSV is text.
    """

    kinds: tuple[str, ...]
    has_types = True

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
        columns = [column] if isinstance(column, str) else list(column or ())
        if columns:
            self.columns = tuple(self._find_column(name, names) for name in columns)
        else:
            self.columns = (self._only([name for name in names if name != self.group]),)
        self._refuse_one_column_twice()

    def _refuse_data_as_heading(self, names: Sequence[str], problem: str = "") -> None:
        """Refuse names that may be somebody's row; columns with types have real names."""
        return

    def _only(self, names: list[str]) -> str:
        """Return the only column, which need not be named."""
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
        """Refuse a group column that is also a column of true values (ignoring case), as it is written unchanged."""
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

    def _find_column(self, column: str, names: Sequence[str], argument: str | None = "column") -> str:
        """Return the column of that name: exactly, or the only one that differs in case."""
        matches = [name for name in names if name.casefold() == column.casefold()]
        if column in names or len(matches) == 1:
            return column if column in names else matches[0]
        if column.casefold() in self._shared_names:
            raise self._shared(column, argument)
        self._refuse_data_as_heading(names, f" has no column {column!r}")
        suggestion = nearest(column, names)
        hint = f"did you mean {suggestion!r}? Its" if suggestion else "its"
        raise InvalidInput(
            f"{self.place} has no column {column!r}; {hint} columns are {first_of(list(names))}.",
            argument=argument,
        )

    @property
    def column(self) -> str:
        """The name of the column, or of both columns."""
        return ", ".join(self.columns)

    @property
    def columns_to_read(self) -> list[str]:
        """The columns to read."""
        return [*self.columns, *([] if self.group is None else [self.group])]

    def reading(self, space: Space) -> Reading:
        """Return how the column is read as values of a space."""
        return reading_of(space, self.columns, self.kinds, self.has_types, f"column {self.column!r} of {self.place}")

    def select(self, reading: Reading, relation: str) -> str:
        """Return SQL of the values, and of the name of the group where there are groups.

        Parameters
        ----------
        reading
            The reading of the values.
        relation
            The FROM item.
        """
        group = [] if self.group is None else [f"CAST({quoted(self.group)} AS VARCHAR)"]
        expressions = [*reading.expressions, *group]
        aliased = ", ".join(f"{sql} AS v{k}" for k, sql in enumerate(expressions))
        return f"SELECT {aliased} FROM {relation}"

    @abstractmethod
    def _distinct_groups(self, most: int) -> list[str | None]:
        """Return up to ``most`` distinct values of the group column, with None for a missing value."""

    def group_names(self) -> list[str]:
        """Return the groups that the column of groups names.

        Raises
        ------
        InvalidInput
            If there are more than ``MAX_GROUPS``, or some rows have none.
        """
        groups = self._distinct_groups(MAX_GROUPS + 1)
        if len(groups) > MAX_GROUPS:
            raise InvalidInput(
                f"column {self.group!r} of {self.place} names more than {MAX_GROUPS} groups.",
                "Use fewer.",
                argument="group",
            )
        if None in groups:
            raise InvalidInput(
                f"some rows of {self.place} have nothing in column {self.group!r}.",
                "Give them a name there, or leave them out.",
                argument="group",
            )
        return sorted(map(str, groups))

    @abstractmethod
    def _tally(
        self, spaces: Sequence[Space], readings: Sequence[Reading], groups: Sequence[str | None],
        on_progress: ProgressCallback | None,
    ) -> ValueCounts:  # fmt: skip
        """Count all rows."""

    def counts(self, space: Space, on_progress: ProgressCallback | None = None) -> dict[object, int]:
        """Return the count of each value, counted where the rows are: only distinct values reach this process."""
        return self.counts_by_group([space], [None], on_progress)[0]

    def counts_by_group(
        self, spaces: Sequence[Space], groups: Sequence[str | None], on_progress: ProgressCallback | None = None
    ) -> list[dict[object, int]]:
        """Return how often each value occurs in each group.

        Parameters
        ----------
        spaces
            The space of each group's values.
        groups
            The names of the groups; None without groups.
        on_progress
            Called with the share that has been read.
        """
        if len({space.is_text for space in spaces}) > 1:
            raise InvalidInput(
                "some of the mechanisms report whole numbers and others text.",
                "Estimate them apart.",
                argument="mechanism",
            )
        tally = self._tally(spaces, [self.reading(space) for space in spaces], groups, on_progress)
        if tally.wrong:
            raise self.of_rows(tally.wrong)
        if not tally.counts:
            raise self.no_rows()
        counts: list[dict[object, int]] = [{} for _ in spaces]
        for (number, value), rows in tally.counts.items():
            counts[number][value] = rows
        return counts

    def no_rows(self) -> InvalidInput:
        """Return the error for an empty column."""
        return InvalidInput(f"column {self.column!r} of {self.place} has no rows.", argument="data")

    def of_rows(self, wrong: Mapping[RowProblem, int]) -> DiscreetError:
        """Return the error for rows that cannot be used: how many have which problem, the most common first."""
        (kind, words), *rest = sorted(wrong, key=lambda error: (-wrong[error], error[1]))
        also = "".join(f" Of {plural(wrong[error], 'row')} more: {error[1]}" for error in rest)
        return kind(
            f"{plural(wrong[kind, words], 'row')} of column {self.column!r} of {self.place}: {words}{also}",
            argument="column",
        )


#: Maximum number of groups that are estimated one by one.
MAX_GROUPS = 50


def no_mechanism(column: str, groups: Iterable[str | None]) -> InvalidInput:
    """Return the error for a group without a mechanism."""
    return InvalidInput(
        f"the group, in column {column!r}, has no mechanism. Groups with one are "
        f"{first_of([str(name) for name in groups])}.",
        "Give its mechanism too, or drop such rows.",
        argument="mechanism",
    )


@dataclass(frozen=True)
class Devices:
    """The mechanisms of people's devices: one, or one for each group.

    Attributes
    ----------
    mechanisms
        Name of the group -> mechanism; the name is empty where there is only one.
    """

    mechanisms: Mapping[str, Mechanism]

    @classmethod
    def of(cls, mechanism: Mechanism | Mapping[str, Mechanism], group: str | None) -> Devices:
        """Return the mechanisms of a column, refused where they do not fit together.

        Parameters
        ----------
        mechanism
            One, or one for each group.
        group
            The column of groups, which is written next to the reports.
        """
        devices = cls(dict(mechanism) if isinstance(mechanism, Mapping) else {"": mechanism})
        first, *rest = [one.inputs for one in devices.mechanisms.values()]
        for truths in rest:
            if truths != first:
                raise InvalidInput(
                    f"all mechanisms must take the same true values; one takes {first!r} and another {truths!r}.",
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
        """The names of the groups, in the order of their numbers."""
        return list(self.mechanisms)

    @property
    def truths(self) -> Space:
        """The space of the true values."""
        return next(iter(self.mechanisms.values())).inputs

    @property
    def text(self) -> bool:
        """True if reports are written as text; otherwise they are whole numbers."""
        return any(mechanism.outputs.is_text for mechanism in self.mechanisms.values())

    def reports(self, batch: RowBatch) -> Array:
        """Return a report for each row, by the mechanism of its group."""
        reports = np.empty(len(batch.indices), object if self.text else np.int64)
        for k, mechanism in enumerate(self.mechanisms.values()):
            mine = slice(None) if batch.groups is None else np.flatnonzero(batch.groups == k)
            truths = batch.indices[mine]
            if truths.size:
                noisy = mechanism.release(mechanism.inputs.values(truths))
                reports[mine] = [str(report) for report in noisy.tolist()] if self.text else noisy
        return reports

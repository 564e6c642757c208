"""A released cross table for programs: whole counts by row and column, as data frames of pandas and polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import InvalidInput
from ...plots.counts import label
from ...questions.groups import Value
from ...report import Bullets, Json, Part, Prose, Report, Result, Section, TextTable, stamped
from ...wording import percent, plural
from ..plan.report import plan_facts
from ..tables.levelled_counts import TOTAL_LABEL
from ..tables.released import Row
from ..tables.typed_columns import COLUMN_TYPES, error_type
from .cross import MAX_COLUMNS, count_and_interval, figure
from .frames import load_package
from .introduction import opening_sentences
from .report import near_zero_notes

if TYPE_CHECKING:
    from ..tables.released import ReleasedTable
    from .released import Release

#: Maximum number of rows of a cross table in a report; its data frame has all.
_MAX_ROWS = 200

#: The values of a row or a column of the table; None where it is a total.
_Key = tuple[Value, ...] | None


@dataclass(frozen=True, eq=False)
class CrossTable(Result):
    """A released table with some group columns down and the others across: :func:`discreet.crosstab` returns it.

    Attributes
    ----------
    release
        The release: ``release.total``, ``release.percentage`` and ``release.save`` go on from here.
    depth
        The number of group columns whose values are the rows; those of the others are the columns.

    Examples
    --------
    >>> import discreet as dc, polars, pathlib, tempfile
    >>> book = pathlib.Path(tempfile.mkdtemp()) / "visits.ledger"
    >>> ledger = dc.Ledger.create(book, dataset="visits", unit="row", epsilon=3)
    >>> visits = polars.DataFrame({"site": [1, 2, 2], "sex": ["f", "m", "f"]})
    >>> domain = {"site": [1, 2, 3], "sex": ["f", "m"]}
    >>> table = dc.crosstab(visits, "site", "sex", domain=domain, unit="row", epsilon=1, ledger=ledger)
    >>> table
    <CrossTable: Counts of visits by site and sex, 3 rows x 2 columns, epsilon 1>
    >>> table.to_polars().columns, table.intervals().shape
    (['site', 'f', 'm'], (3, 4))
    >>> table.release.total({"site": 2}).level
    Fraction(19, 20)
    """

    release: Release
    depth: int = field(default=1, repr=False)

    @property
    def table(self) -> ReleasedTable:
        """The released table, with a row for each count."""
        return self.release.table()

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the group columns whose values are the rows."""
        return self.table.by[: self.depth]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the group columns whose values are the columns."""
        return self.table.by[self.depth :]

    def to_pandas(self, figure: str = "count") -> Any:
        """Return one figure of each count as a DataFrame of pandas: by default the whole counts that people see.

        Parameters
        ----------
        figure
            ``"count"``, ``"low"`` or ``"high"`` (the ends of the interval), ``"sd"``, or another column of
            ``release.rows()``.
        """
        pandas = load_package("pandas")
        cells, kind = self._figures(figure)
        dtype = COLUMN_TYPES[kind][0]
        frame = pandas.DataFrame(
            {k: pandas.array([line[k] for line in cells], dtype=dtype) for k in range(len(self._across))},
            index=_index(pandas, self.rows, self._row_labels),
        )
        frame.columns = _index(pandas, self.columns, self._column_labels) if self.columns else pandas.Index([figure])
        return frame

    def intervals(self) -> Any:
        """Return the interval of each count as a DataFrame of pandas with the columns low and high under each column.

        A missing upper end means that the interval has none.
        """
        pandas = load_package("pandas")
        ends = [self.to_pandas(end) for end in ("low", "high")]
        if not self.columns:
            return pandas.concat(ends, axis=1)
        names = [*self.columns, "interval"]
        keys = [(*key, end) for key in self._column_labels for end in ("low", "high")]
        frame = pandas.concat([end.iloc[:, k] for k in range(len(self._across)) for end in ends], axis=1)
        frame.columns = pandas.MultiIndex.from_tuples(keys, names=names)
        return frame

    def to_polars(self, figure: str = "count") -> Any:
        """Return one figure of each count as a DataFrame of polars: the row columns, then a column for each column.

        A column is named by its values; an underscore follows a name that is taken.
        """
        polars = load_package("polars")
        cells, kind = self._figures(figure)
        series = []
        for k, name in enumerate(self.rows):
            values = [key[k] for key in self._row_labels]
            whole = all(value is None or type(value) is int for value in values)
            texts = [value if value is None else str(value) for value in values]
            series.append(polars.Series(name, values if whole else texts, dtype=None if whole else polars.String))
        taken = list(self.rows)
        for k, key in enumerate(self._across):
            name = _text(key) if self.columns else figure
            while name in taken:
                name += "_"
            taken.append(name)
            series.append(
                polars.Series(name, [line[k] for line in cells], dtype=getattr(polars, COLUMN_TYPES[kind][1]))
            )
        return polars.DataFrame(series)

    def to_json(self) -> dict[str, Json]:
        """Return the counts and the ends of their intervals, by row and column, with the guarantee and the receipt."""
        release = self.release
        content: dict[str, Json] = {
            "title": release.title,
            "dataset": release.plan.dataset,
            "edition": release.edition,
            "recorded": not release.fresh,
            "cost": release.cost.to_json(),
            "level": str(release.plan.level),
            "rows": _axis(self.rows, self._down),
            "columns": _axis(self.columns, self._across),
            "counts": self._figures("count")[0],
            "low": self._figures("low")[0],
            "high": self._figures("high")[0],
            "guarantee": list(release.guarantee),
            "notes": list(self._notes),
            "ledger": dict(release.ledger),
        }
        return stamped("cross-table", 1, content)

    def report(self) -> Report:
        """Report the cross table with the interval under each count, what it protects and what it cost."""
        release = self.release
        edition = f", edition {release.edition}" if release.edition else ""
        parts: list[Part] = [self._text_table()]
        with_each = f"With each count: its {percent(self.table.level, 6)} interval. {self.table.error_sentence}"
        parts.append(Prose(with_each, tone="note"))
        if len(self._across) > MAX_COLUMNS:
            more = plural(len(self._across) - MAX_COLUMNS, "more column")
            parts.append(Prose(f"The data frame has {more}.", tone="note"))
        return Report(
            f"{release.title}{edition}",
            kind=f"Private counts of {release.plan.dataset}",
            facts=plan_facts(release.plan),
            sections=(
                Section(parts=tuple(parts)),
                Section("What is protected", (Bullets(opening_sentences(release)),)),
            ),
            notes=(*self._notes, *(() if release.fresh else (release.payment,))),
        )

    def __str__(self) -> str:
        return self.describe()

    @property
    def _notes(self) -> tuple[str, ...]:
        """The notes of the plan, which nobody sees otherwise, and those on the counts."""
        return (*self.release.plan.notes, *near_zero_notes(self.release))

    def _headline(self) -> str:
        shape = f"{plural(len(self._down), 'row')} x {plural(len(self._across), 'column')}"
        return f"{self.release.title}, {shape}, epsilon {float(self.release.cost.epsilon):.6g}"

    # -------------------------------------------------------------------------------------------- rows and columns

    @cached_property
    def _cells(self) -> dict[tuple[_Key, _Key], Row]:
        """Rows of the released table by row and column, as people see them, without totals over a part of either."""
        depth, table = self.depth, self.table
        cells: dict[tuple[_Key, _Key], Row] = {}
        for row in table.rows_for_people():
            sums = [table.is_summed_over(row, k) for k in range(len(table.by))]
            key = []
            for at in (slice(depth), slice(depth, None)):
                whole_axis = set(sums[at])
                if len(whole_axis) > 1:
                    break
                key.append(None if True in whole_axis else tuple(row[name] for name in table.by[at]))
            else:
                cells[key[0], key[1]] = row
        return cells

    @cached_property
    def _down(self) -> list[_Key]:
        return self._ordered(0)

    @cached_property
    def _across(self) -> list[_Key]:
        return self._ordered(1)

    def _ordered(self, axis: int) -> list[_Key]:
        """Return the keys of the rows (0) or the columns (1) in the order of the declared values, totals last."""
        first = self.depth if axis else 0
        places = [{value: k for k, value in enumerate(values)} for values in self.table.groups.values[first:]]

        def place(key: _Key) -> tuple[int, ...]:
            return tuple(order[value] for order, value in zip(places, key or (), strict=False))

        keys = dict.fromkeys(key[axis] for key in self._cells)
        return sorted(keys, key=lambda key: (key is None, place(key)))

    @property
    def _row_labels(self) -> list[tuple[Value, ...]]:
        return [_labels(key, self.rows) for key in self._down]

    @property
    def _column_labels(self) -> list[tuple[Value, ...]]:
        return [_labels(key, self.columns) for key in self._across]

    def _figures(self, name: str) -> tuple[list[list[Json]], str]:
        """Return a figure for each row and column, None where there is none, and its type."""
        types = {"count": "integer", "status": "text"}
        types |= {column.name: error_type(column) for column in self.table.columns}
        if name not in types:
            raise InvalidInput.must_be("figure", f"one of {', '.join(types)}", name)
        cells = self._cells
        rows = [[cells.get((down, across)) for across in self._across] for down in self._down]
        return [[None if row is None else row[name] for row in line] for line in rows], types[name]

    def _text_table(self) -> TextTable:
        """Return the table as text: each count with its interval."""
        down = self._down[:_MAX_ROWS]
        labels = list(map(_text, down))
        total = len(self._down) if len(self._down) > len(down) else None
        heading = ", ".join(map(label, self.rows))
        if not self.columns:
            cells = [count_and_interval(self._cells[one, ()]) for one in down]
            rows = tuple((name, *cell) for name, cell in zip(labels, cells, strict=True))
            headings = (heading, "count", f"{percent(self.table.level, 6)} interval")
            return TextTable(headings, rows, numbers=(1, 2), strong=(1,), total=total)
        across = self._across[:MAX_COLUMNS]
        lines = [[self._cells.get((one, other)) for other in across] for one in down]
        cross_rows = tuple(
            (name, *("\n" if row is None else figure(row) for row in line))
            for name, line in zip(labels, lines, strict=True)
        )
        numbers = tuple(range(1, len(across) + 1))
        over = ", ".join(map(label, self.columns))
        return TextTable((heading, *map(_text, across)), cross_rows, numbers=numbers, over=over, total=total)


def _labels(key: _Key, names: Sequence[str]) -> tuple[Value, ...]:
    """Return the values of a row or a column; a total reads "Total" in each."""
    return (TOTAL_LABEL,) * len(names) if key is None else key


def _text(key: _Key) -> str:
    """Return the label of a row or a column for people."""
    return TOTAL_LABEL if key is None else ", ".join(map(label, key))


def _index(pandas: Any, names: Sequence[str], keys: Sequence[tuple[Value, ...]]) -> Any:
    """Return labels as an index: whole numbers stay whole numbers next to missing values and totals."""
    if len(names) > 1:
        return pandas.MultiIndex.from_tuples(keys, names=list(names))
    values = [key[0] for key in keys]
    mixed = len({type(value) for value in values}) > 1
    return pandas.Index(values, name=names[0], dtype="object" if mixed else None)


def _axis(names: Sequence[str], keys: Sequence[_Key]) -> dict[str, Json]:
    """Return the rows or the columns as JSON; a total, the last of them, has no values of its own."""
    return {
        "names": list(names),
        "values": [[str(one) if isinstance(one, str) else one for one in key] for key in keys if key is not None],
        "total": None in keys,
    }

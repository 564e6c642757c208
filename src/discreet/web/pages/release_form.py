"""The form of a release, read as a question and the fields of a request."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, QueryParams

from ...engines.base import ROW
from ...errors import DiscreetError, InvalidInput, arg
from ...periods import GRANULARITIES
from ...questions.expressions import name_text
from ..frame.fields import whole_number

#: Way to declare the groups of a column -> field of a request.
REQUEST_FIELDS = {"values": "domain", "bands": "bands", "discover": "discover"}

#: Way to declare the groups of a column -> title.
WAY_TITLES = {"values": "values", "bands": "bands", "discover": "found in the data"}

#: The way that uses the groups of the dataset's declaration; a request omits them.
AS_DECLARED = "declared"

#: The way that uses some of the declared values, which are ticked.
SOME_DECLARED = "some"

#: Shares of the quantiles to find in the counts of a column -> title.
QUANTILE_TITLES = {
    "": "counts only", "0.5": "and the median", "0.25,0.5,0.75": "and the quartiles",
    "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9": "and the deciles",
}  # fmt: skip

#: Largest number of columns of a table -> title; empty for one table of all ticked columns.
TABLES_TITLES = {
    "": "one table of all ticked columns", "1": "a table of each column", "2": "all tables of up to 2 columns",
    "3": "all tables of up to 3 columns",
}  # fmt: skip

#: Granularity of the protected period -> title; empty for none.
PERIOD_TITLES = {"": "all of it together"} | {name: f"each {name} by itself" for name in GRANULARITIES}

#: Field of the form and of a request -> default, which a request omits.
DEFAULTS = {
    "epsilon": "", "error": "", "delta": "0", "mechanism": "geometric", "counts": "", "max_groups": "", "max_rows": "",
    "level": "0.95", "edition": "", "title": "", "publisher": "", "source": "", "contact": "", "totals": "",
    "one_row_each": "", "relation": "add-remove", "tables": "",
}  # fmt: skip

#: Way to declare the groups of a column -> advice if they are missing.
_EXAMPLES = {
    "values": "Type its public values, one on each line, such as good, or a range such as 1..6; a * is for all others.",
    "bands": "Type the edges, such as 18,30,45,65, or month:2024-01..2024-12.",
}

#: The fields that are whole numbers.
INTEGER_FIELDS = ("error", "max_groups", "max_rows", "tables")

#: The fields that do not matter for all tables at once, where each person counts with one record.
_FIELDS_OF_ONE_TABLE = frozenset({"max_groups", "max_rows", "totals", "one_row_each", "counts"})

#: Fields of the form that only its preview reads.
PREVIEW_FIELDS = ("total", "sizes", "draw")

#: Maximum number of characters of a field, and of an address that holds a form.
MAX_FIELD, MAX_QUERY = 20_000, 30_000

#: Pattern of a folder's name.
FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}")


class IncompleteForm(InvalidInput):
    """A field that must be filled in, and is not yet."""


@dataclass(frozen=True)
class ColumnChoice:
    """A column to group by, as the form has it.

    Attributes
    ----------
    name
        The column.
    way
        The way its groups are declared.
    text
        The text that declares them.
    quantiles
        The shares of the quantiles to find in its counts, with commas; empty for none.
    """

    name: str
    way: str
    text: str
    quantiles: str = ""


@dataclass(frozen=True)
class ReleaseForm:
    """A form that was filled in.

    Attributes
    ----------
    data, table, unit
        The data, the table and the privacy unit, which is empty if a dataset declares it.
    per
        The granularity of the protected period and its date column; both empty if none was chosen.
    by
        The columns to group by, in order.
    where
        A condition in SQL; empty for all rows.
    options
        All other fields as text, by their names in a request.
    ledger, folder
        The ledger that pays, and the name of the bundle.
    unit_word
        The word of the form for one unit.
    preview
        The fields of the preview.
    query
        The whole form as the query of an address, which fills it in again.
    """

    data: str
    table: str
    unit: str
    per: tuple[str, str]
    by: tuple[ColumnChoice, ...]
    where: str
    options: tuple[tuple[str, str], ...]
    ledger: str
    folder: str
    unit_word: str
    preview: Mapping[str, str]
    query: str

    @staticmethod
    def read(form: FormData | QueryParams) -> ReleaseForm:
        """Read the form as a browser sends it."""

        def text(name: str, usual: str = "") -> str:
            value = form.get(name, usual)
            return value.strip()[:MAX_FIELD] if isinstance(value, str) else usual

        def texts(name: str) -> list[str]:
            return [value.strip()[:MAX_FIELD] for value in form.getlist(name) if isinstance(value, str)]

        def choice(column: str) -> ColumnChoice:
            way, values = text(f"how:{column}", "values"), text(f"values:{column}")
            if way == SOME_DECLARED:
                way, values = "values", ",".join(texts(f"pick:{column}"))
            return ColumnChoice(column, way, values, text(f"quantile:{column}"))

        columns = [column for column in form.getlist("by") if isinstance(column, str)]
        options = tuple((name, text(name, usual)) for name, usual in DEFAULTS.items())
        return ReleaseForm(
            text("data"), text("table"), text("unit"), (text("per"), text("per_column")), tuple(map(choice, columns)),
            text("where"), options, text("ledger"), text("folder"), text("unit_word", "person"),
            {name: text(name) for name in PREVIEW_FIELDS}, _query(form),
        )  # fmt: skip

    @property
    def sql(self) -> str:
        """The question."""
        columns = [name_text(column.name) for column in self.by]
        where = f" WHERE {self.where}" if self.where else ""
        group_by = f" GROUP BY {', '.join(columns)}" if columns else ""
        return f"SELECT {', '.join([*columns, 'COUNT(*)'])} FROM {name_text(self.table)}{where}{group_by}"

    @property
    def quantiles(self) -> list[str]:
        """The quantiles to find, as a request has them; none in all tables at once."""
        return [
            f"{column.name}:{share}"
            for column in self.by
            if not self.has_many_tables and column.way != "discover"
            for share in column.quantiles.split(",")
            if share
        ]

    @property
    def has_many_tables(self) -> bool:
        """True if all tables of up to some columns are asked for at once."""
        return bool(dict(self.options)["tables"])

    @property
    def tables_in_words(self) -> str:
        """The choice of tables, as the form says it."""
        wanted = dict(self.options)["tables"]
        return TABLES_TITLES.get(wanted, f"tables of up to {wanted} columns")

    def who(self) -> dict[str, str]:
        """Return the fields of the request that say who is protected: the unit, and its period if it has one."""
        if not self.unit:
            raise IncompleteForm(
                "say who is protected.", "Choose the column that tells them apart, or each row.", argument="unit"
            )
        granularity, column = self.per
        if not granularity or self.unit == ROW:
            return {"unit": self.unit}
        if not column:
            raise IncompleteForm(
                f"say which column dates a row: its {granularity} is protected.", "Choose the date column.",
                argument="per",
            )  # fmt: skip
        return {"unit": self.unit, "per": f"{granularity}:{column}"}

    def fields(self, unit: str) -> dict[str, Any]:
        """Return the fields of the request that differ from their defaults, without the unit.

        Fields that the form hides because they do not matter are left out.
        """
        if self.has_many_tables and not self.by:
            raise IncompleteForm(
                "tick the columns of the tables.", "All tables of up to so many of them are counted at once.",
                argument="tables",
            )  # fmt: skip
        declared: dict[str, list[str]] = {}
        for column in self.by:
            self._declare(column, declared)
        request: dict[str, Any] = dict(declared)
        if self.quantiles:
            request["quantile"] = self.quantiles
        irrelevant = self._irrelevant_fields(unit)
        if "max_groups" not in irrelevant and not dict(self.options)["max_groups"]:
            raise IncompleteForm(
                f"say in how many groups one {self.unit_word} is counted.",
                f"With {arg('max_groups', 1)}, a {self.unit_word} with rows in several groups is counted in one of "
                "them only; more groups need more noise.",
                argument="max_groups",
            )
        for name, value in self.options:
            if value and value != DEFAULTS[name] and name not in irrelevant:
                request[name] = whole_number(name, value) if name in INTEGER_FIELDS else value
        if "one_row_each" in request:
            request["one_row_each"] = True
        return request

    def _irrelevant_fields(self, unit: str) -> set[str]:
        """Return the fields that do not matter for this question, as the style of the form hides them."""
        if self.has_many_tables:
            return set(_FIELDS_OF_ONE_TABLE)
        discovers = any(column.way == "discover" for column in self.by)
        fields = {"max_rows"} if unit == ROW else set()
        if unit == ROW or not self.by or self.quantiles:
            fields.add("max_groups")
        if not self.by or discovers:
            fields.add("totals")
        if not discovers:
            fields.add("one_row_each")
        return fields

    def _declare(self, column: ColumnChoice, request: dict[str, list[str]]) -> None:
        """Add the groups of a column to a request."""
        name, way = column.name, column.way
        if way == AS_DECLARED:
            return
        if way not in REQUEST_FIELDS:
            raise InvalidInput.must_be("domain", "values, or one of the other ways", way)
        if way == "discover":
            request.setdefault("discover", []).append(name)
            return
        text = one_line(column.text)
        if not text:
            raise IncompleteForm(f"declare the groups of {name!r}.", _EXAMPLES[way], argument=REQUEST_FIELDS[way])
        if text.startswith("@"):
            raise InvalidInput("a file is chosen with the button next to the field.", argument=REQUEST_FIELDS[way])
        quoted_name = name if re.fullmatch(r"\w+", name) else '"' + name.replace('"', '""') + '"'
        request.setdefault(REQUEST_FIELDS[way], []).append(f"{quoted_name}={text}")

    def field_of(self, problem: DiscreetError) -> str:
        """Return the name of the field that an error is about; empty if it is about none."""
        argument = problem.argument or ""
        if argument in ("domain", "bands", "discover", "columns", "groups", "quantile"):
            message = str(problem)
            columns = sorted(self.by, key=lambda column: (column.name not in message, column.way == AS_DECLARED))
            prefix = "quantile" if argument == "quantile" else "values"
            return f"{prefix}:{columns[0].name}" if columns else ""
        field = _FIELD_OF_ARGUMENT.get(argument, argument)
        is_field = field in _FIELDS or any(field == name for name, _ in self.options)
        return field if is_field else "where" if self.where else ""


#: Fields of the form that are not fields of a request.
_FIELDS = ("unit", "per_column", "ledger", "folder", "where", *PREVIEW_FIELDS)

#: Argument of an error -> the field of the form, where their names differ.
_FIELD_OF_ARGUMENT = {"out": "folder", "name": "folder", "per": "per_column"}


def one_line(text: str) -> str:
    r"""Return values that are typed on several lines as a request has them: with commas, in quotes where needed.

    >>> one_line("good\npoor\nAalst, east\n*"), one_line("1..6"), one_line("good, poor")
    ("good,poor,'Aalst, east',*", '1..6', 'good, poor')
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return text.strip() if len(lines) < 2 else ",".join(map(_line_item, lines))


def _line_item(line: str) -> str:
    """Return a line as one item of a list: in quotes if it would be read as several."""
    if line == "*" or re.fullmatch(r"""[^,'"*@\s][^,'"]*|'([^']|'')*'|"([^"]|"")*\"""", line):
        return line
    escaped = line.replace("'", "''")
    return f"'{escaped}'"


def _query(form: FormData | QueryParams) -> str:
    """Return the fields that matter as the query of an address; only the table if it would be too long."""
    columns = {column for column in form.getlist("by") if isinstance(column, str)}
    fields = [
        (name, value)
        for name, value in form.multi_items()
        if isinstance(value, str) and value and _matters(name, columns, form)
    ]
    query = urlencode(fields)
    kept = [(name, value) for name, value in fields if name in ("data", "table")]
    return query if len(query) <= MAX_QUERY else urlencode(kept)


def _matters(name: str, columns: Collection[str], form: FormData | QueryParams) -> bool:
    """Return whether a field is part of the question: not one of a column that is not ticked."""
    what, _, column = name.partition(":")
    if not column:
        return name not in ("key", "folder", "draw", "unit_word")
    return column in columns and (what != "pick" or form.get(f"how:{column}") == SOME_DECLARED)


class FilledForm:
    """What the form shows in its fields: the values of an address, or those it has at first.

    Parameters
    ----------
    fields
        The fields of the address.
    """

    def __init__(self, fields: QueryParams) -> None:
        self._fields = fields
        #: Whether the address fills in more than the table.
        self.is_filled = bool(set(fields) - {"data", "table"})

    def get(self, name: str, usual: str = "") -> str:
        """Return the text of a field; ``usual`` if the address fills in nothing."""
        return str(self._fields.get(name, "" if self.is_filled else usual))

    def all(self, name: str) -> list[str]:
        """Return all values of a field."""
        return list(map(str, self._fields.getlist(name)))

    def has(self, name: str, value: str, usual: bool = False) -> bool:
        """Return whether a choice has a value; ``usual`` if the address has no such field."""
        return value in self._fields.getlist(name) if name in self._fields else usual
